"""Perceptrons, Deep SVDD and DAGMM in PyTorch, float64: the values quoted in crates/gnsm/src/network/perceptron_tests.rs and
crates/gnsm/src/detectors/{dsvdd,dagmm/tests}.rs. Gradients are summed as sum of gradient[i]*cos(i) over the whole parameter vector.

    pip install torch && python deep.py
"""
import torch
from torch.nn.functional import layer_norm, silu

torch.set_default_dtype(torch.float64)


class Parameters:
    """One flat vector, 0.3·sin(0.37·i + 0.1), handed out piece by piece."""

    def __init__(self, total):
        self.flat = (0.3 * torch.sin(0.37 * torch.arange(total) + 0.1)).requires_grad_()
        self.next = 0

    def take(self, *shape):
        n = 1
        for s in shape:
            n *= s
        self.next += n
        return self.flat[self.next - n:self.next].reshape(shape)

    def perceptron(self, inputs, layers):
        """layers: (outputs, bias, norm, activation); weights first, then biases, gains and shifts layer by layer."""
        weights = []
        for outputs, *_ in layers:
            weights.append(self.take(inputs, outputs))
            inputs = outputs
        vectors = [
            (self.take(o) if bias else None, *((self.take(o), self.take(o)) if norm else (None, None)))
            for o, bias, norm, _ in layers
        ]

        def run(x):
            for w, (b, gain, shift), (outputs, _, _, activation) in zip(weights, vectors, layers):
                x = x @ w
                x = x if b is None else x + b
                x = x if gain is None else layer_norm(x, (outputs,), gain, shift)
                x = activation(x)
            return x

        return run

    def report(self, name, value):
        value.backward()
        g = self.flat.grad
        assert self.next == len(g), (self.next, len(g))
        print(f"{name}: value {value.item()!r}, gradient {(g * torch.cos(torch.arange(len(g)))).sum().item()!r}")


def linear(x):
    return x


def inputs(rows, width):
    return torch.sin(0.91 * torch.arange(rows * width)).reshape(rows, width)


# A perceptron; the loss is the sum of outputs times weights.
p = Parameters(7 * 9 + 9 * 6 + 6 * 4 + 3 * 9 + 4)
network = p.perceptron(7, [(9, True, True, torch.tanh), (6, False, False, silu), (4, True, False, linear)])
out = network(inputs(130, 7))
weight = torch.cos(0.53 * torch.arange(130 * 4)).reshape(130, 4)
print("outputs of row 0", out[0].tolist())
p.report("perceptron", (out * weight).sum())

# Deep SVDD with a decoder.
p = Parameters(5 * 6 + 6 * 4 + 4 * 6 + 6 * 5 + 6 + 5)
encoder = p.perceptron(5, [(6, False, False, silu), (4, False, False, silu)])
decoder = p.perceptron(4, [(6, True, False, silu), (5, True, False, linear)])
x = inputs(7, 5)
code = encoder(x)
centre = torch.cos(torch.arange(4))
distance = ((code - centre) ** 2).sum(1)
print("dsvdd distances", distance[:2].tolist())
p.report("dsvdd", distance.mean() + 0.7 * ((decoder(code) - x) ** 2).mean())

# DAGMM.
LAMBDA_1, LAMBDA_2, EPSILON, SHARED, K = 0.1, 0.005, 1e-3, 1e-6, 2
p = Parameters((5 * 6 + 6 * 2 + 18 + 2) + (2 * 6 + 6 * 5 + 18 + 5) + (4 * 3 + 3 * K + 9 + K))
encoder = p.perceptron(5, [(6, True, True, torch.tanh), (2, True, False, linear)])
decoder = p.perceptron(2, [(6, True, True, torch.tanh), (5, True, False, linear)])
estimator = p.perceptron(4, [(3, True, True, torch.tanh), (K, True, False, linear)])
x = inputs(140, 5)
code = encoder(x)
seen = decoder(code)
norm_x, norm_seen = x.norm(dim=1), seen.norm(dim=1)
z = torch.cat([code, ((x - seen).norm(dim=1) / norm_x)[:, None], ((x * seen).sum(1) / (norm_x * norm_seen))[:, None]], 1)
gamma = (1 - SHARED) * torch.softmax(estimator(z), 1) + SHARED / K
phi = gamma.mean(0)
mu = (gamma.T @ z) / gamma.sum(0)[:, None]
centred = z[:, None] - mu[None]
sigma = torch.einsum("nk,nki,nkj->kij", gamma, centred, centred) / gamma.sum(0)[:, None, None] + EPSILON * torch.eye(4)
mixture = torch.distributions.MixtureSameFamily(
    torch.distributions.Categorical(phi), torch.distributions.MultivariateNormal(mu, sigma)
)
energy = -mixture.log_prob(z)
print("dagmm energies", energy[:3].tolist())
penalty = (1 / torch.diagonal(sigma, dim1=1, dim2=2)).sum()
p.report("dagmm", ((x - seen) ** 2).sum(1).mean() + LAMBDA_1 * energy.mean() + LAMBDA_2 * penalty)
