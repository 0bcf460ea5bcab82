"""The rival of `speed.py`: GNSM's residual network in eager PyTorch.

*Plain* is how one writes it down: the level's embedding is looked up for each row and goes through each block's FiLM layer there, AdamW and the
weight average are PyTorch's own. *Tuned* has what can be had for the asking: FiLM for each level instead of each row, as ours has it, fused AdamW,
and `foreach` for clipping and for the average. Scoring is tuned.
"""

import json
import math
import struct

import numpy as np
import torch
from torch.nn import functional


class Network:
    """The network, its weights cut from one flat vector in our order."""

    def __init__(self, flat, frequencies, width, depth, inputs, levels, tuned=True):
        embedding = 2 * len(frequencies)
        flat = torch.as_tensor(flat)
        def take(*shape):
            n = math.prod(shape)
            start = take.next
            take.next += n
            return flat[start : start + n].clone().reshape(shape).requires_grad_()

        take.next = 0
        self.embed = [(take(embedding, embedding), take(embedding)) for _ in range(2)]
        self.films = [(take(embedding, 2 * width), take(2 * width)) for _ in range(depth)]
        self.projection = take(inputs, width)
        self.dense = [(take(width, width), take(width, width)) for _ in range(depth)]
        self.head = take(width, inputs)
        self.projection_bias = take(width)
        self.vectors = [tuple(take(width) for _ in range(4)) for _ in range(depth)]
        self.head_gain, self.head_shift, self.head_bias = take(width), take(width), take(inputs)
        assert take.next == len(flat)
        angle = 2 * math.pi * torch.arange(levels)[:, None] * torch.as_tensor(frequencies)[None]
        self.features = torch.cat([angle.sin(), angle.cos()], dim=1)
        self.tuned = tuned
        self.width = width

    def parameters(self):
        layers = [*self.embed, *self.films, *self.dense, *self.vectors]
        ends = [self.projection, self.head, self.projection_bias, self.head_gain, self.head_shift, self.head_bias]
        return [tensor for layer in layers for tensor in layer] + ends

    def __call__(self, inputs, levels):
        width, t = (self.width,), self.features
        for weight, bias in self.embed:
            t = functional.silu(torch.addmm(bias, t, weight))
        if not self.tuned:
            t = t[levels]
        x = torch.addmm(self.projection_bias, inputs, self.projection)
        for film, (dense_1, dense_2), (gain, shift, bias_1, bias_2) in zip(self.films, self.dense, self.vectors):
            film = torch.addmm(film[1], t, film[0])
            gamma, beta = (film[levels] if self.tuned else film).chunk(2, dim=1)
            h = functional.gelu(functional.layer_norm(x, width, gain, shift))
            h = torch.addcmul(beta, torch.addmm(bias_1, h, dense_1), gamma)
            x = x + torch.addmm(bias_2, h, dense_2)
        h = functional.leaky_relu(functional.layer_norm(x, width, self.head_gain, self.head_shift))
        return torch.addmm(self.head_bias, h, self.head)


def wave(n, frequency, height):
    """The weights and frequencies that our side makes too."""
    return (height * np.sin(frequency * np.arange(n, dtype=np.float64) + 0.1)).astype(np.float32)


class Training:
    """Steps of training on the batch of `speed train`."""

    def __init__(self, width, depth, embedding, batch, inputs, levels, tuned):
        per_block = (embedding + 1) * 2 * width + 2 * width * width + 4 * width
        n = 2 * (embedding + 1) * embedding + depth * per_block + 2 * inputs * width + 3 * width + inputs
        frequencies = wave(embedding // 2, 1.7, 1.0)
        self.network = Network(wave(n, 0.37, 0.05), frequencies, width, depth, inputs, levels, tuned)
        self.weights = self.network.parameters()
        self.optimiser = torch.optim.AdamW(self.weights, lr=1e-4, weight_decay=1e-4, fused=tuned or None)
        self.tuned = tuned
        self.average = [weight.detach().clone() for weight in self.weights]
        self.inputs = (torch.arange(batch * inputs) % 7 - 3).float().reshape(batch, inputs)
        self.targets = (torch.arange(inputs) % 3).float().expand(batch, inputs)
        self.levels = torch.arange(batch) % levels

    def step(self):
        logits = self.network(self.inputs, self.levels)
        loss = 0.5 * (logits - self.targets).square().sum() / len(logits)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.weights, 1.0, foreach=self.tuned or None)
        self.optimiser.step()
        with torch.no_grad():
            if self.tuned:
                torch._foreach_lerp_(self.average, self.weights, 0.001)
            else:
                for average, weight in zip(self.average, self.weights):
                    average.lerp_(weight, 0.001)
        return loss.item()


class Scoring:
    """The mean surprise of rows of categories under a model file with `head = surprise` and without numbers."""

    BLOCK = 1024

    def __init__(self, path, codes, sizes):
        with open(path, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            data = file.read()

        def tensor(name):
            start, end = header[name]["data_offsets"]
            return np.frombuffer(data[start:end], dtype="<f4").copy()

        self.settings = find(json.loads(header["__metadata__"]["gnsm"]), "levels")
        size, schedule = self.settings["network"], self.settings["levels"]
        count = schedule["count"]
        parameters, frequencies = tensor("network.parameters"), tensor("network.frequencies")
        self.network = Network(parameters, frequencies, size["width"], size["depth"], sum(sizes), count)
        share = torch.arange(count, dtype=torch.float64)[:, None] / (count - 1)
        smoothing = schedule["smoothing"]
        delta = smoothing["first"] + share * (smoothing["last"] - smoothing["first"])
        sizes_of = torch.tensor(sizes, dtype=torch.float64)[None]
        # At the centre of a level's noise, the network sees log α less its mean: one number where the category is, one elsewhere.
        rise = torch.log((1 - delta + delta / sizes_of) / (delta / sizes_of))  # [levels, groups]
        self.on, self.off = (rise * (1 - 1 / sizes_of)).float(), (-rise / sizes_of).float()
        self.starts = torch.tensor(np.cumsum([0, *sizes[:-1]]))
        self.sizes, self.group_of = sizes, torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        self.codes = torch.as_tensor(codes.astype(np.int64))

    @torch.no_grad()
    def score(self):
        return torch.cat([self.block(codes) for codes in self.codes.split(self.BLOCK)])

    def block(self, codes):
        levels = len(self.on)
        places = codes + self.starts  # [rows, groups]
        total = torch.zeros(len(codes))
        for level in range(levels):
            inputs = self.off[level][self.group_of].repeat(len(codes), 1)
            inputs.scatter_(1, places, self.on[level].expand(len(codes), -1))
            logits = self.network(inputs, torch.full((len(codes),), level))
            here = logits.gather(1, places).sum(1)
            total += sum(group.logsumexp(1) for group in logits.split(self.sizes, dim=1)) - here
        return total / levels


def find(value, key):
    """The first object, however deep, that has this key."""
    if isinstance(value, dict):
        if key in value and isinstance(value[key], dict):
            return value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            found = find(item, key)
            if found:
                return found
    return None
