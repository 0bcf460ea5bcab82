"""The same mask network in PyTorch, and the ratio of the seconds of a training step: masks_speed.py EXAMPLE [THREADS]

EXAMPLE is the program built from examples/mask_step.rs. The network is `ncsn.rs` with the settings of the preset `fast`, channels-last as
PyTorch likes it best on a CPU; a step is forward, backward, clipping, AdamW and the average of the weights. Blocks of steps of either side alternate.
"""

import math
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

CHANNELS, MULTIPLIERS, FOLD, SIDE, BATCH = 32, (1, 2, 3), 2, 64, 16
EMBEDDING = 4 * CHANNELS


def norm(channels):
    groups = next(g for g in range(min(channels // 4, 32), 0, -1) if channels % g == 0)
    return nn.GroupNorm(groups, channels, eps=1e-6)


def resample(x, up):
    line = torch.tensor([1.0, 3.0, 3.0, 1.0]) / 8
    window = (line[:, None] * line)[None, None].repeat(x.shape[1], 1, 1, 1)
    if up:
        return 4 * F.conv_transpose2d(x, window, stride=2, padding=1, groups=x.shape[1])
    return F.conv2d(x, window, stride=2, padding=1, groups=x.shape[1])


class Block(nn.Module):
    def __init__(self, inputs, outputs, up=None):
        super().__init__()
        self.up = up
        self.norm1, self.norm2 = norm(inputs), norm(outputs)
        self.conv1, self.conv2 = nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.level = nn.Linear(EMBEDDING, outputs)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs or up is not None else None

    def forward(self, x, level):
        h = F.silu(self.norm1(x))
        if self.up is not None:
            h, x = resample(h, self.up), resample(x, self.up)
        h = self.conv1(h) + self.level(level)[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return ((x if self.shortcut is None else self.shortcut(x)) + h) / math.sqrt(2)


class Attention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = norm(channels)
        self.q, self.k, self.v, self.o = (nn.Conv2d(channels, channels, 1) for _ in range(4))

    def forward(self, x):
        n, c, height, width = x.shape
        h = F.silu(self.norm(x))
        q, k, v = (layer(h).flatten(2).transpose(1, 2) for layer in (self.q, self.k, self.v))
        seen = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(c), 2) @ v
        return (x + self.o(seen.transpose(1, 2).reshape(n, c, height, width))) / math.sqrt(2)


class Stage(nn.Module):
    def __init__(self, inputs, outputs, side):
        super().__init__()
        self.block, self.attention = Block(inputs, outputs), Attention(outputs) if side == 16 else None

    def forward(self, x, level):
        x = self.block(x, level)
        return x if self.attention is None else self.attention(x)


class Network(nn.Module):
    def __init__(self, classes):
        super().__init__()
        inputs, outputs, side = FOLD**2 * (3 + classes), FOLD**2 * classes, SIDE // FOLD
        widths = [m * CHANNELS for m in MULTIPLIERS]
        self.embed1, self.embed2 = nn.Linear(2 * CHANNELS, EMBEDDING), nn.Linear(EMBEDDING, EMBEDDING)
        self.register_buffer("frequencies", torch.randn(CHANNELS) * 16)
        self.input = nn.Conv2d(inputs, CHANNELS, 3, padding=1)
        self.down, self.shrink, self.add = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        channels, kept = CHANNELS, [CHANNELS]
        for i, width in enumerate(widths):
            self.down.append(Stage(channels, width, side >> i))
            kept.append(width)
            if i + 1 < len(widths):
                self.shrink.append(Block(width, width, up=False))
                self.add.append(nn.Conv2d(inputs, width, 1))
                kept.append(width)
            channels = width
        self.middle = nn.ModuleList([Block(channels, channels), Attention(channels), Block(channels, channels)])
        self.up, self.norms, self.outputs, self.grow = (nn.ModuleList() for _ in range(4))
        for i, width in reversed(list(enumerate(widths))):
            stages = nn.ModuleList()
            for _ in range(2):
                stages.append(Stage(channels + kept.pop(), width, side >> i))
                channels = width
            self.up.append(stages)
            self.norms.append(norm(width))
            self.outputs.append(nn.Conv2d(width, outputs, 3, padding=1))
            if i > 0:
                channels = widths[i - 1]
                self.grow.append(Block(width, channels, up=True))

    def forward(self, x, level):
        angle = 2 * math.pi * level[:, None] * self.frequencies
        e = F.silu(self.embed2(F.silu(self.embed1(torch.cat([angle.sin(), angle.cos()], 1)))))
        x = F.pixel_unshuffle(x, FOLD)
        pyramid, h = x, self.input(x)
        kept = [h]
        for i, stage in enumerate(self.down):
            h = stage(h, e)
            kept.append(h)
            if i < len(self.shrink):
                pyramid = resample(pyramid, False)
                h = self.shrink[i](h, e) + self.add[i](pyramid)
                kept.append(h)
        h = self.middle[2](self.middle[1](self.middle[0](h, e)), e)
        out = None
        for i, stages in enumerate(self.up):
            for stage in stages:
                h = stage(torch.cat([h, kept.pop()], 1), e)
            own = self.outputs[i](F.silu(self.norms[i](h)))
            out = own if out is None else resample(out, True) + own
            if i < len(self.grow):
                h = self.grow[i](h, e)
        return F.pixel_shuffle(out, FOLD)


def step_seconds(classes, steps):
    torch.manual_seed(0)
    network = Network(classes).to(memory_format=torch.channels_last)
    average = [p.detach().clone() for p in network.parameters()]
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4)
    x = torch.randn(BATCH, 3 + classes, SIDE, SIDE).contiguous(memory_format=torch.channels_last)
    truth, level = torch.randint(0, classes, (BATCH, SIDE, SIDE)), torch.rand(BATCH)
    start = 0.0
    for step in range(steps + 2):
        if step == 2:
            start = time.perf_counter()
        optimiser.zero_grad()
        F.cross_entropy(network(x, level), truth).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            torch._foreach_lerp_(average, list(network.parameters()), 0.005)
    return (time.perf_counter() - start) / steps, sum(p.numel() for p in network.parameters())


def main():
    example = sys.argv[1]
    for threads in [int(sys.argv[2])] if len(sys.argv) > 2 else [1, 2]:
        torch.set_num_threads(threads)
        for classes in (2, 21):
            ours, theirs = [], []
            for _ in range(3):
                theirs.append(step_seconds(classes, 6)[0])
                run = subprocess.run(
                    [example, str(classes), "6"],
                    env={"RAYON_NUM_THREADS": str(threads)},
                    capture_output=True,
                    text=True,
                    check=True,
                )
                ours.append(float(run.stdout))
            ours, theirs = statistics.median(ours), statistics.median(theirs)
            print(
                f"{threads} threads, {classes} classes: gnsm {ours:.3f} s, PyTorch {theirs:.3f} s, "
                f"ratio {ours / theirs:.2f} (bar 1.5)"
            )


if __name__ == "__main__":
    main()
