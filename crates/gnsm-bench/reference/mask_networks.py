"""The networks for masks in PyTorch, float64: the values quoted in the tests of crates/gnsm-masks/src/ncsn.rs and efficient.rs.

    pip install torch && python mask_networks.py

Both sides take weight i of the flat vector to be 0.2·sin(0.37·i² + 0.1·i), and number i of the pictures to be sin(0.91·i).
"""

import math

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


class Weights:
    """The flat vector of weights, and what is taken from it in order."""

    def __init__(self, total):
        i = torch.arange(total)
        self.flat = (0.2 * torch.sin(0.37 * i * i + 0.1 * i)).requires_grad_()
        self.next = 0

    def take(self, *shape):
        start, self.next = self.next, self.next + math.prod(shape)
        return self.flat[start : self.next].reshape(shape)

    def convolution(self, side, inputs, outputs, bias=True):
        """Weight [outputs, inputs, side, side] and bias; they lie as [side, side, inputs, outputs]."""
        weight = self.take(side, side, inputs, outputs).permute(3, 2, 0, 1)
        return weight, self.take(outputs) if bias else None


def convolve(x, layer):
    weight, bias = layer
    return F.conv2d(x, weight, bias, padding=weight.shape[2] // 2)


def dense(x, layer):
    weight, bias = layer
    return F.linear(x, weight[:, :, 0, 0], bias)


def normalise(x, gain=None, shift=None):
    channels = x.shape[1]
    groups = next(g for g in range(min(max(channels // 4, 1), 32), 0, -1) if channels % g == 0)
    return F.silu(F.group_norm(x, groups, gain, shift, eps=1e-6))


def resample(x, up):
    line = torch.tensor([1.0, 3.0, 3.0, 1.0]) / 8
    window = torch.outer(line, line)[None, None].repeat(x.shape[1], 1, 1, 1)
    if up:
        return 4 * F.conv_transpose2d(x, window, stride=2, padding=1, groups=x.shape[1])
    return F.conv2d(x, window, stride=2, padding=1, groups=x.shape[1])


class Block:
    def __init__(self, weights, inputs, outputs, embedding, up=None):
        self.up = up
        self.first_norm = weights.take(inputs), weights.take(inputs)
        self.first = weights.convolution(3, inputs, outputs)
        self.level = weights.convolution(1, embedding, outputs)
        self.second_norm = weights.take(outputs), weights.take(outputs)
        self.second = weights.convolution(3, outputs, outputs)
        self.shortcut = weights.convolution(1, inputs, outputs) if inputs != outputs or up is not None else None

    def __call__(self, x, levels):
        h = normalise(x, *self.first_norm)
        if self.up is not None:
            h, x = resample(h, self.up), resample(x, self.up)
        h = convolve(h, self.first) + dense(levels, self.level)[:, :, None, None]
        h = convolve(normalise(h, *self.second_norm), self.second)
        return (h + (convolve(x, self.shortcut) if self.shortcut else x)) / math.sqrt(2)


class Attention:
    def __init__(self, weights, channels):
        self.norm = weights.take(channels), weights.take(channels)
        self.query, self.key, self.value, self.output = (weights.convolution(1, channels, channels) for _ in range(4))

    def __call__(self, x):
        h = normalise(x, *self.norm)
        query, key, value = (convolve(h, layer).flatten(2).transpose(1, 2) for layer in (self.query, self.key, self.value))
        seen = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(x.shape)
        return (x + convolve(seen, self.output)) / math.sqrt(2)


class Stage:
    def __init__(self, weights, inputs, outputs, embedding, side):
        self.block = Block(weights, inputs, outputs, embedding)
        self.attention = Attention(weights, outputs) if side == 16 else None

    def __call__(self, x, levels):
        x = self.block(x, levels)
        return self.attention(x) if self.attention else x


def fold(x, side):
    """Squares of pixels as channels, [square's row, square's column, channel], of pictures [images, channels, rows, columns]."""
    n, c, height, width = x.shape
    x = x.reshape(n, c, height // side, side, width // side, side)
    return x.permute(0, 3, 5, 1, 2, 4).reshape(n, side * side * c, height // side, width // side)


def unfold(x, side):
    n, c, height, width = x.shape
    x = x.reshape(n, side, side, c // side**2, height, width)
    return x.permute(0, 3, 4, 1, 5, 2).reshape(n, c // side**2, height * side, width * side)


def ncsn(weights, x, levels, channels, multipliers, blocks, folded, outputs):
    """NCSN++ on pictures [images, channels, side, side]."""
    embedding, side = 4 * channels, x.shape[2] // folded
    frequencies = torch.sin(1.7 * torch.arange(channels) + 0.3)
    inputs, outputs = x.shape[1] * folded**2, outputs * folded**2
    embed = [weights.convolution(1, 2 * channels, embedding), weights.convolution(1, embedding, embedding)]
    enter = weights.convolution(3, inputs, channels)
    widths, now, kept_widths, down = [m * channels for m in multipliers], channels, [channels], []
    for i, width in enumerate(widths):
        stages = []
        for _ in range(blocks):
            stages.append(Stage(weights, now, width, embedding, side >> i))
            now = width
            kept_widths.append(width)
        shrink = None
        if i + 1 < len(widths):
            kept_widths.append(width)
            shrink = Block(weights, width, width, embedding, up=False), weights.convolution(1, inputs, width)
        down.append((stages, shrink))
    middle = Block(weights, now, now, embedding), Attention(weights, now), Block(weights, now, now, embedding)
    up = []
    for i, width in reversed(list(enumerate(widths))):
        stages = []
        for _ in range(blocks + 1):
            stages.append(Stage(weights, now + kept_widths.pop(), width, embedding, side >> i))
            now = width
        norm, leave = (weights.take(width), weights.take(width)), weights.convolution(3, width, outputs)
        grow = None
        if i > 0:
            now = widths[i - 1]
            grow = Block(weights, width, now, embedding, up=True)
        up.append((stages, norm, leave, grow))

    angle = 2 * math.pi * 16 * levels[:, None] * frequencies
    e = torch.cat([angle.sin(), angle.cos()], 1)
    for layer in embed:
        e = F.silu(dense(e, layer))
    pyramid = fold(x, folded)
    h = convolve(pyramid, enter)
    kept = [h]
    for stages, shrink in down:
        for stage in stages:
            h = stage(h, e)
            kept.append(h)
        if shrink:
            pyramid = resample(pyramid, False)
            h = shrink[0](h, e) + convolve(pyramid, shrink[1])
            kept.append(h)
    h = middle[2](middle[1](middle[0](h, e)), e)
    out = None
    for stages, norm, leave, grow in up:
        for stage in stages:
            h = stage(torch.cat([h, kept.pop()], 1), e)
        own = convolve(normalise(h, *norm), leave)
        out = own if out is None else resample(out, True) + own
        if grow:
            h = grow(h, e)
    return unfold(out, folded)


def encoder(weights, x, channels, blocks, fused, code):
    """The encoder of Deep SVDD, without biases."""
    stem = weights.convolution(3, x.shape[1], channels[0], bias=False)
    stages, before = [], channels[0]
    for i, (width, n_blocks) in enumerate(zip(channels, blocks)):
        narrow = weights.convolution(1, before, width, bias=False)
        inner = []
        for _ in range(n_blocks):
            wide = 4 * width
            expand = weights.convolution(3 if i < fused else 1, width, wide, bias=False)
            inside = None
            if i >= fused:
                window = weights.take(wide, 1, 3, 3)
                squeeze = weights.convolution(1, wide, width // 4, bias=False)
                inside = window, squeeze, weights.convolution(1, width // 4, wide, bias=False)
            inner.append((expand, inside, weights.convolution(1, wide, width, bias=False)))
        stages.append((narrow, inner))
        before = width
    last = weights.convolution(1, before, code, bias=False)

    h = convolve(x, stem)
    for narrow, inner in stages:
        h = convolve(resample(h, False), narrow)
        for expand, inside, project in inner:
            y = normalise(convolve(h, expand))
            if inside:
                window, squeeze, excite = inside
                y = normalise(F.conv2d(y, window, padding=1, groups=y.shape[1]))
                seen = F.silu(dense(y.mean((2, 3)), squeeze))
                y = y * torch.sigmoid(dense(seen, excite))[:, :, None, None]
            h = h + convolve(y, project)
    return dense(h.mean((2, 3)), last)


def pictures(images, side, channels):
    """sin(0.91·i) as [images, side, side, channels], with the channels first."""
    return torch.sin(0.91 * torch.arange(images * side * side * channels)).reshape(images, side, side, channels).permute(0, 3, 1, 2)


def show(name, weights, y):
    y = y.flatten()
    loss = (y * torch.cos(0.53 * torch.arange(len(y)))).sum()
    loss.backward()
    gradient = weights.flat.grad[: weights.next]
    print(name, "weights", weights.next)
    for what, values in (("outputs", y), ("gradient", gradient)):
        places = torch.linspace(0, len(values) - 1, 6).long()
        print(" ", what, "at", places.tolist(), values[places].tolist())
    print("  sum of y[i]*cos(0.53*i)", loss.item())
    print("  sum of gradient[i]*cos(i)", (gradient * torch.cos(torch.arange(len(gradient)))).sum().item())


if __name__ == "__main__":
    weights = Weights(100_000)
    y = ncsn(weights, pictures(2, 32, 5), torch.tensor([0.3, 0.8]), 8, (1, 2), 1, 2, 2)
    show("ncsn", weights, y.permute(0, 2, 3, 1))
    weights = Weights(100_000)
    show("efficient", weights, encoder(weights, pictures(2, 16, 5), (8, 16), (1, 2), 1, 6))
