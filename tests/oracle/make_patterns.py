#!/usr/bin/env python3
"""Cases for the lesson patterns, computed by PyTorch and NumPy from the definitions."""

import math

import numpy as np
import torch
from attention import attention, mask_of, options, split, torch_of
from draws import Cases, Draws

CAT = "The cat sat on the mat".split()


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


def uniform(mask, heads):
    shares = mask / mask.sum(dim=-1, keepdim=True)
    return shares[:, None].expand(-1, heads, -1, -1).contiguous()


def case(cases, sentences, d_model=8, heads=None, temperature=1.0, causal=False, seed=42, weight_scale=None,
         dtype="float64"):
    lengths, h = [len(s) for s in sentences], heads or 1
    draws = Draws(seed, weight_scale)
    X = torch_of(draws.embed(d_model, sentences))
    W_Q, W_K = (torch_of(draws.weight(d_model, d_model)) for _ in range(2))
    n = X.shape[1]
    mask = mask_of(lengths, n, n, causal)
    Q, K = split(X @ W_Q, h), split(X @ W_K, h)
    weights = attention(Q, K, K, mask, temperature, heads=True)["weights"]

    t = {"weights": weights, **measures(weights, lengths)}
    t["uniform/weights"] = uniform(mask, h)
    t["uniform/entropy"] = measures(t["uniform/weights"], lengths)["entropy"]
    t["one_hot/weights"] = torch.nn.functional.one_hot(torch.from_numpy(t["strongest"]), n)
    t["one_hot/entropy"] = np.zeros((len(sentences), h))
    largest = [np.mean([math.log(mask[b, i].sum()) for i in range(n)]) for b, n in enumerate(lengths)]
    assert np.allclose(t["uniform/entropy"], np.array(largest)[:, None])
    if heads is None:
        t = {id: tensor[:, 0] for id, tensor in t.items()}
    if len(sentences) == 1:
        t = {id: tensor[0] for id, tensor in t.items()}
    arguments = options(sentence=[" ".join(s) for s in sentences], d_model=d_model, heads=heads,
                        temperature=temperature, causal=causal, seed=seed, weight_scale=weight_scale, dtype=dtype)
    cases.add("patterns " + arguments, {**t, "W_Q": W_Q, "W_K": W_K})


def main():
    cases = Cases("patterns")
    batch = ["I love cats".split(), ["Sleep"], CAT]
    for dtype in ("float64", "float32"):
        case(cases, [CAT], dtype=dtype)
        case(cases, [CAT], heads=2, dtype=dtype)
        case(cases, [CAT], causal=True, dtype=dtype)
        case(cases, [CAT], heads=4, causal=True, seed=7, dtype=dtype)
        case(cases, batch, heads=2, dtype=dtype)
        case(cases, batch, causal=True, d_model=5, dtype=dtype)
    case(cases, [["Word"]])
    case(cases, [["Word"]], heads=2, causal=True)
    case(cases, [["same"] * 4])  # every key equally strong
    case(cases, [CAT], temperature=0.02)
    case(cases, [CAT], temperature=100, heads=2)
    case(cases, [CAT], weight_scale="0.02")
    case(cases, [CAT], weight_scale=3, causal=True)
    case(cases, [[f"w{i}" for i in range(30)]], d_model=16, heads=2, weight_scale="xavier", seed=5)
    cases.save()


main()
