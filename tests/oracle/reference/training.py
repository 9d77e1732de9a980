"""NumPy's binomial masks, PyTorch's matrix products, clip_grad_norm_ and clip_grad_value_, and the learning rate as
published. Only scores and gradients can be given; masks and initial weights are drawn with numpy.random.RandomState,
which spends the draws of what is given too."""

import math

import numpy as np
import torch
import torch.nn.functional as F

KEYS, VECTORS, ATTENDING, FEATURES = 6, 256, 16, 4


class Draws:
    """The program's stream of random numbers, rounded as the program rounds them."""

    def __init__(self, seed, dtype):
        self.random, self.dtype = np.random.RandomState(seed), dtype

    def normal(self, *shape):
        return torch.from_numpy(self.random.normal(0, 1, shape).astype(self.dtype).astype(np.float64))


def dropout(scores, draws, p, samples):
    weights = F.softmax(scores, dim=-1).numpy()
    masks = draws.random.binomial(1, 1 - p, (samples, KEYS))
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
    x, Z = draws.normal(VECTORS, d), draws.normal(layers, d, d)
    xavier, he = (torch.nn.init.calculate_gain(gain) / math.sqrt(d) for gain in ("linear", "relu"))
    t = {}
    for name, s in (("xavier", xavier), ("he", he), ("0.02", 0.02)):
        t[f"{name}/variance"], errors = through_layers(x, Z, s)
        if name == "xavier":
            t["xavier/standard_error"] = errors
    for name, s in (("xavier", xavier), ("he", he)):
        t[f"relu/{name}/variance"], _ = through_layers(x, Z, s, relu=True)

    Z_Q, Z_K = draws.normal(d, d), draws.normal(d, d)
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


def clipping(gradients, max_norm):
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


def add(lesson, d_model, samples, p, layers, warmup, max_norm, given=True, seed=42, scale=1.0, **options):
    case = lesson.case(not given and "drawn", scale != 1.0 and "large", d_model=d_model,
                       samples=samples, dropout=p, layers=layers, warmup=warmup, max_norm=max_norm, seed=seed,
                       **options)
    draws = Draws(seed, case.dtype)
    drawn_scores = draws.normal(KEYS)
    scores = case.normal("dropout/scores", KEYS) if given else drawn_scores
    case.expect(dropout(scores, draws, p, samples), "dropout/")
    case.expect(initialisation(draws, d_model, layers), "initialisation/")
    case.expect(schedule(d_model, warmup), "schedule/")
    drawn_gradients = draws.normal(layers, FEATURES)
    gradients = case.normal("clipping/gradients", layers, FEATURES, scale=scale) if given else drawn_gradients
    case.expect(clipping(gradients, max_norm), "clipping/")


def make(lesson):
    add(lesson, 64, 4096, 0.1, 6, 4000, 1.0, given=False)
    add(lesson, 100, 500, 0.9, 4, 1001, 2.5, given=False, seed=3)
    add(lesson, 8, 50, 0.5, 2, 10, 0.25, seed=7)
    add(lesson, 1, 1, 0.1, 1, 1, 100, seed=1)
    add(lesson, 24, 1000, 0.0, 12, 7, 3, seed=2)
    add(lesson, 16, 400, 0.3, 3, 50, 5, scale=1000)
    add(lesson, 64, 4096, 0.1, 6, 4000, 1.0, dtype="float32")
    add(lesson, 8, 50, 0.5, 2, 10, 0.25, seed=7, dtype="float32")
