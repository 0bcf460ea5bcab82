"""The residual network in PyTorch, float64: the values quoted in crates/gnsm/src/network/tests.rs.

    pip install torch && python network.py
"""
import math

import torch

WIDTH, DEPTH, EMBEDDING, INPUTS, OUTPUTS, LEVELS, ROWS = 24, 2, 8, 7, 5, 3, 130
torch.set_default_dtype(torch.float64)
next_index = 0


def take(*shape):
    """The next parameters of the flat vector: 0.3·sin(0.37·i + 0.1)."""
    global next_index
    n = math.prod(shape)
    i = torch.arange(next_index, next_index + n, dtype=torch.float64)
    next_index += n
    return (0.3 * torch.sin(0.37 * i + 0.1)).reshape(shape).requires_grad_()


embed = [(take(EMBEDDING, EMBEDDING), take(EMBEDDING)) for _ in range(2)]
films = [(take(EMBEDDING, 2 * WIDTH), take(2 * WIDTH)) for _ in range(DEPTH)]
projection = take(INPUTS, WIDTH)
dense = [(take(WIDTH, WIDTH), take(WIDTH, WIDTH)) for _ in range(DEPTH)]
head = take(WIDTH, OUTPUTS)
projection_bias = take(WIDTH)
vectors = [tuple(take(WIDTH) for _ in range(4)) for _ in range(DEPTH)]
head_gain, head_shift, head_bias = take(WIDTH), take(WIDTH), take(OUTPUTS)

frequencies = torch.sin(1.7 * torch.arange(EMBEDDING // 2, dtype=torch.float64) + 0.3)
inputs = torch.sin(0.91 * torch.arange(ROWS * INPUTS, dtype=torch.float64)).reshape(ROWS, INPUTS)
levels = torch.arange(ROWS) % LEVELS
weight = torch.cos(0.53 * torch.arange(ROWS * OUTPUTS, dtype=torch.float64)).reshape(ROWS, OUTPUTS)

angle = 2 * math.pi * torch.arange(LEVELS)[:, None] * frequencies[None]
t = torch.cat([angle.sin(), angle.cos()], dim=1)
for w, b in embed:
    t = torch.nn.functional.silu(t @ w + b)
t = t[levels]
x = inputs @ projection + projection_bias
for (film_w, film_b), (w1, w2), (gain, shift, b1, b2) in zip(films, dense, vectors):
    h = torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (WIDTH,), gain, shift))
    h = h @ w1 + b1
    gamma, beta = (t @ film_w + film_b).split(WIDTH, dim=1)
    x = x + (h * gamma + beta) @ w2 + b2
h = torch.nn.functional.leaky_relu(torch.nn.functional.layer_norm(x, (WIDTH,), head_gain, head_shift))
logits = h @ head + head_bias
loss = (logits * weight).sum()
loss.backward()

print("parameters", next_index)
print("logits of row 0", logits[0].tolist())
print("loss", loss.item())
named = {
    "embed_1": embed[0][0], "embed_bias_1": embed[0][1], "embed_2": embed[1][0], "embed_bias_2": embed[1][1],
    "film_weight": films[1][0], "film_bias": films[0][1], "projection": projection,
    "dense_1": dense[0][0], "dense_2": dense[1][1], "head": head, "projection_bias": projection_bias,
    "gain": vectors[0][0], "shift": vectors[1][1], "bias_1": vectors[0][2], "bias_2": vectors[1][3],
    "head_gain": head_gain, "head_shift": head_shift, "head_bias": head_bias,
}
for name, parameter in named.items():
    g = parameter.grad.flatten()
    check = (g * torch.cos(torch.arange(len(g), dtype=torch.float64))).sum().item()
    print(f"{name}: sum of gradient[i]*cos(i) = {check!r}")

# AdamW, clipping and the weight average on a small vector.
p = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
average = p.detach().clone()
optimiser = torch.optim.AdamW([p], lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)
for step in range(3):
    p.grad = torch.tensor([3.0, -0.2, 0.1 * step])
    torch.nn.utils.clip_grad_norm_([p], 1.0)
    optimiser.step()
    average = 0.9 * average + 0.1 * p.detach()
print("adamw", p.tolist(), "average", average.tolist())
