"""Numbers that sum up a table of weights, from their definitions."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from attention import attention, mask_of, split


def measures(weights, lengths):
    """Numbers [batch, head] read off weights [batch, head, query, key], padding left out."""
    names = ("diagonal", "local", "sparse_ratio", "entropy", "entropy_bias")
    t = {name: np.zeros(weights.shape[:2]) for name in names}
    for b, n in enumerate(lengths):
        for h in range(weights.shape[1]):
            w = weights[b, h, :n, :n].numpy()
            t["diagonal"][b, h] = np.diagonal(w).mean()
            neighbours = np.concatenate([np.diagonal(w, 1), np.diagonal(w, -1)])
            t["local"][b, h] = neighbours.mean() if n > 1 else 0.0
            t["sparse_ratio"][b, h] = (w > 0.1).mean()
            t["entropy"][b, h] = torch.special.entr(torch.from_numpy(w)).sum(dim=-1).mean()
            tutorial = -np.sum(w * np.log(w + 1e-9), axis=-1).mean()
            t["entropy_bias"][b, h] = tutorial - t["entropy"][b, h]
    t["strongest"] = np.argmax(weights.numpy(), axis=-1)
    return t


def steps_of(weights, mask, lengths):
    heads, n = weights.shape[1:3]
    t = measures(weights, lengths)
    shares = mask / mask.sum(dim=-1, keepdim=True)
    t["uniform/weights"] = shares[:, None].expand(-1, heads, -1, -1).contiguous()
    t["uniform/entropy"] = measures(t["uniform/weights"], lengths)["entropy"]
    t["one_hot/weights"] = F.one_hot(torch.from_numpy(t["strongest"]), n).double()
    t["one_hot/entropy"] = np.zeros(weights.shape[:2])
    largest = [np.mean([math.log(mask[b, i].sum()) for i in range(length)]) for b, length in enumerate(lengths)]
    assert np.allclose(t["uniform/entropy"], np.array(largest)[:, None])
    return t


def shown(t, batch, heads):
    """Without the axes that the run does not have."""
    if heads is None:
        t = {id: tensor[:, 0] for id, tensor in t.items()}
    return t if batch else {id: tensor[0] for id, tensor in t.items()}


def add(lesson, n, d_model, batch=None, lengths=None, random_mask=False, tag="", scale=1.0, **options):
    """Weights that follow from X, W_Q and W_K."""
    batch, heads = len(lengths) if lengths else batch, options.get("heads")
    case = lesson.case(f"{n}-tokens", f"d{d_model}", batch and f"batch-{batch}", lengths and "padded",
                       random_mask and "random-mask", tag, **options)
    case.lengths(lengths)
    X = case.normal("X", batch, n, d_model, scale=scale)
    W_Q, W_K = case.weight("W_Q", d_model, d_model), case.weight("W_K", d_model, d_model)
    every = lengths or [n] * (batch or 1)
    mask = mask_of(n, n, every, options.get("causal"))
    if random_mask:
        mask = case.mask("mask", batch, n, n, empty_row=False).reshape(-1, n, n)
    Q, K = (split((X if batch else X[None]) @ W, heads or 1) for W in (W_Q, W_K))
    weights = attention(Q, K, K, mask.unsqueeze(1), options.get("temperature", 1.0))["weights"]
    case.expect(shown({"weights": weights, **steps_of(weights, mask, every)}, batch, heads))
    if lengths or random_mask or options.get("causal"):
        case.expect({"mask": mask if batch else mask[0]})


def add_own(lesson, n, batch=None, sharpness=1.0, tag="", heads=None, dtype="float64"):
    """Weights that no attention made: rows of a Dirichlet distribution."""
    case = lesson.case("own-weights", f"{n}-tokens", batch and f"batch-{batch}", tag, heads=heads, dtype=dtype)
    shape = [size for size in (batch, heads, n) if size is not None]
    rows = case.random.dirichlet(np.full(n, 1 / sharpness), shape)
    weights = case.give("weights", rows, [("<f8", "F"), (">f8", "C")])
    weights = weights.reshape(batch or 1, heads or 1, n, n)
    lengths = [n] * len(weights)
    case.expect(shown(steps_of(weights, mask_of(n, n, lengths), lengths), batch, heads))


def make(lesson):
    add(lesson, 6, 8)
    add(lesson, 1, 3)
    add(lesson, 5, 5, causal=True)
    add(lesson, 6, 6, heads=3)
    add(lesson, 4, 8, heads=8, causal=True)
    add(lesson, 5, 4, heads=2, lengths=[3, 1, 5])
    add(lesson, 5, 3, lengths=[5, 4], causal=True)
    add(lesson, 3, 4, batch=4, heads=1)
    add(lesson, 5, 4, heads=2, random_mask=True)
    add(lesson, 4, 3, batch=2, random_mask=True)
    add(lesson, 6, 4, temperature=0.02)
    add(lesson, 6, 4, heads=2, temperature=100)
    add(lesson, 5, 4, tag="large", scale=20)
    add(lesson, 30, 6, heads=2)
    add_own(lesson, 5)
    add_own(lesson, 4, sharpness=20, tag="sharp", heads=2)
    add_own(lesson, 3, batch=2, sharpness=0.05, tag="even")
    add_own(lesson, 1, heads=1)
    add(lesson, 6, 8, heads=4, dtype="float32")
    add(lesson, 4, 6, lengths=[4, 2], causal=True, dtype="float32")
    add_own(lesson, 6, heads=2, dtype="float32")
