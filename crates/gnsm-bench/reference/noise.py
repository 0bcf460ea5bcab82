"""Values quoted in crates/gnsm/src/noise: the ExpConcrete density and score by autograd, the Gaussian log-density, the losses.

    pip install torch numpy scipy && python noise.py
"""
import math

import numpy as np
import torch
from scipy.stats import norm

torch.set_default_dtype(torch.float64)
K, lam = 3, 2.0
alpha = torch.tensor([1 + 1e-5, 1e-5, 1e-5])
x = torch.log_softmax(torch.tensor([0.4, -1.0, 0.1]), 0).requires_grad_()


def log_density(x):
    eps = torch.log(alpha) - lam * x
    return math.lgamma(K) + (K - 1) * math.log(lam) + eps.sum() - K * torch.logsumexp(eps, 0)


value = log_density(x)
value.backward()
print("log density", value.item(), "score", x.grad.tolist())
print("geomspace", np.geomspace(20, 2, 20)[1], np.geomspace(1, 0.1, 20)[10])
print("normal", norm(0.4, 0.3).logpdf(0.91))

# The losses of one column at one level, for the network's logits.
x = x.detach()
target = torch.softmax(torch.log(alpha) - lam * x, 0)
logits = torch.tensor([0.2, -0.4, 0.7], requires_grad=True)


def expected_softmax(posterior):
    rows = []
    for k in range(K):
        a = torch.full((K,), 1e-5)
        a[k] = 1 + 1e-5
        rows.append(torch.softmax(torch.log(a) - lam * x, 0))
    return (posterior[:, None] * torch.stack(rows)).sum(0)


for parameterisation in ("noise", "posterior"):
    for objective in ("mse", "kl", "cross-entropy"):
        if logits.grad is not None:
            logits.grad = None
        p = torch.softmax(logits, 0)
        s = p if parameterisation == "noise" else expected_softmax(p)
        if objective == "mse":
            loss = lam**2 * K**2 * ((s - target) ** 2).sum()
        elif objective == "kl":
            loss = (target * (torch.log(target) - torch.log(s))).sum()
        elif parameterisation == "posterior":
            loss = -torch.log(p[0])
        else:
            continue
        loss.backward()
        print(parameterisation, objective, loss.item(), logits.grad.tolist())
