#!/usr/bin/env python3
"""Cases for the lesson training: NumPy's binomial masks, PyTorch's matrix products, clip_grad_norm_ and
clip_grad_value_, and the learning rate as published."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from attention import options, torch_of
from draws import Cases, Draws

KEYS, VECTORS, ATTENDING, FEATURES = 6, 256, 16, 4


def dropout(draws, p, samples):
    scores = draws.normal(KEYS)
    weights = F.softmax(torch_of(scores), dim=-1).numpy()
    masks = draws.dropout_mask(p, (samples, KEYS))
    dropped = weights * masks / (1 - p)
    return {
        "scores": scores, "weights": weights, "mask": masks[0], "dropped": dropped[0], "mean": dropped.mean(axis=0),
        "variance": dropped.var(axis=0), "variance_theory": weights**2 * p / (1 - p),
    }


def through_layers(x, Z, s, relu=False):
    variance, errors = [x.pow(2).mean()], [torch.tensor(0.0)]
    for layer, z in enumerate(Z):
        if relu and layer > 0:
            x = F.relu(x)
        eigenvalues = torch.linalg.eigvalsh(x.T @ x)
        errors.append(math.sqrt(2 / x.shape[1]) * eigenvalues.norm() / eigenvalues.sum())
        x = F.linear(x, s * z.T)
        variance.append(x.pow(2).mean())
    return torch.stack(variance), torch.stack(errors)


def initialisation(draws, d, layers):
    x, Z = torch_of(draws.normal(VECTORS, d)), torch_of(draws.normal(layers, d, d))
    xavier, he = (torch.nn.init.calculate_gain(gain) / math.sqrt(d) for gain in ("linear", "relu"))
    t = {}
    for name, s in (("xavier", xavier), ("he", he), ("0.02", 0.02)):
        t[f"{name}/variance"], errors = through_layers(x, Z, s)
        if name == "xavier":
            t["xavier/standard_error"] = errors
    for name, s in (("xavier", xavier), ("he", he)):
        t[f"relu/{name}/variance"], _ = through_layers(x, Z, s, relu=True)

    Z_Q, Z_K = torch_of(draws.normal(d, d)), torch_of(draws.normal(d, d))
    first = x[:ATTENDING]
    scaled = [s * first @ Z_Q @ (s * first @ Z_K).T / math.sqrt(d) for s in (xavier, he, 0.02)]
    t["score_std"] = torch.stack([one.pow(2).mean().sqrt() for one in scaled])
    t["entropy"] = torch.stack([torch.special.entr(F.softmax(one, dim=-1)).sum(dim=-1).mean() for one in scaled])
    return t


def learning_rate(step, d_model, warmup_steps):
    return d_model ** (-0.5) * min(step ** (-0.5), step * warmup_steps ** (-1.5))


def schedule(d, warmup):
    steps = sorted({(i * warmup + 2) // 4 for i in range(17)})
    rate = [0.0 if step == 0 else learning_rate(step, d, warmup) for step in steps]
    return {
        "step": np.array(steps), "rate": np.array(rate), "rising": np.array([step * warmup**-1.5 for step in steps]),
        "falling": np.array([math.inf if step == 0 else step**-0.5 for step in steps]),
    }


def clipping(draws, layers, max_norm):
    gradients = torch_of(draws.normal(layers, FEATURES))

    def parameters():
        rows = [torch.nn.Parameter(torch.zeros(FEATURES)) for _ in gradients]
        for row, gradient in zip(rows, gradients):
            row.grad = gradient.clone()
        return rows

    by_norm, by_value = parameters(), parameters()
    norm = torch.nn.utils.clip_grad_norm_(by_norm, max_norm)
    torch.nn.utils.clip_grad_value_(by_value, max_norm)
    t = {
        "gradients": gradients, "layer_norms": gradients.norm(dim=1), "norm": norm,
        "factor": torch.clamp(max_norm / (norm + 1e-6), max=1.0),
        "clipped": torch.stack([row.grad for row in by_norm]),
        "by_value": torch.stack([row.grad for row in by_value]),
    }
    t["cosine_by_value"] = F.cosine_similarity(gradients.flatten(), t["by_value"].flatten(), dim=0, eps=0.0)
    return t


def case(cases, d_model=64, samples=4096, dropout_p=0.1, layers=6, warmup=4000, max_norm=1.0, seed=42,
         dtype="float64"):
    draws = Draws(seed)
    groups = {
        "dropout": dropout(draws, dropout_p, samples),
        "initialisation": initialisation(draws, d_model, layers),
        "schedule": schedule(d_model, warmup),
        "clipping": clipping(draws, layers, max_norm),
    }
    t = {f"{group}/{id}": tensor for group, tensors in groups.items() for id, tensor in tensors.items()}
    arguments = options(d_model=d_model, samples=samples, dropout=dropout_p, layers=layers, warmup=warmup,
                        max_norm=max_norm, seed=seed, dtype=dtype)
    cases.add("training " + arguments, t)


def main():
    cases = Cases("training")
    for dtype in ("float64", "float32"):
        case(cases, dtype=dtype)
        case(cases, d_model=8, samples=50, dropout_p=0.5, layers=2, warmup=10, max_norm=0.25, seed=7, dtype=dtype)
    case(cases, d_model=1, samples=1, layers=1, warmup=1, max_norm=100, seed=1)
    case(cases, d_model=24, samples=1000, dropout_p=0.0, layers=12, warmup=7, max_norm=3, seed=2)
    case(cases, d_model=100, samples=500, dropout_p=0.9, layers=4, warmup=1001, max_norm=2.5, seed=3)
    cases.save()


main()
