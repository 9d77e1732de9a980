#!/usr/bin/env python3
"""Cases for backward: the gradients are those of PyTorch's autograd, which is told no formula of them."""

import math

import torch
import torch.nn.functional as F
from attention import mask_of, options, torch_of, unbatched
from draws import Cases, Draws

CAT = "The cat sat on the mat".split()


def gradients(Q, K, V, mask, temperature, d_output):
    """The tensors of attention by id, and `d_…` of each that autograd sends a gradient to."""
    t = {"Q": Q.clone().requires_grad_(), "K": K.clone().requires_grad_(), "V": V.clone().requires_grad_()}
    t["scores"] = t["Q"] @ t["K"].transpose(-2, -1)
    t["scaled"] = t["scores"] / (math.sqrt(Q.shape[-1]) * temperature)
    seen = t["scaled"]
    if mask is not None:
        seen = t["masked"] = t["scaled"].masked_fill(~mask, -math.inf)
    empty = torch.isinf(seen).all(dim=-1, keepdim=True)  # softmax of such a row is NaN, and so would be its gradient
    t["weights"] = F.softmax(seen.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)
    t["output"] = t["weights"] @ t["V"]
    t["L"] = (t["output"] * d_output).sum()
    wanted = ("V", "weights", "scaled", "scores", "Q", "K")
    for name in wanted:
        t[name].retain_grad()
    t["L"].backward()
    return {**{id: x.detach() for id, x in t.items()}, **{"d_" + name: t[name].grad for name in wanted}}


def case(cases, sentences=None, pair=None, d_k=8, d_v=8, seed=42, causal=False, window=None, temperature=1.0,
         dtype="float64"):
    queries, keys = pair if pair else (sentences, sentences)
    batch, n_q, n_k = len(keys), max(map(len, queries)), max(map(len, keys))
    draws = Draws(seed)
    Q, K, V, d_output = (torch_of(draws.normal(batch, n, d)) for n, d in ((n_q, d_k), (n_k, d_k), (n_k, d_v), (n_q, d_v)))
    is_masked = causal or window is not None or min(map(len, keys)) < n_k
    mask = mask_of([len(k) for k in keys], n_q, n_k, causal, window) if is_masked else None
    t = {**gradients(Q, K, V, mask, temperature, d_output), "d_output": d_output}
    loss = t.pop("L")
    named = (
        {"source": [" ".join(s) for s in keys], "target": [" ".join(s) for s in queries]}
        if pair
        else {"sentence": [" ".join(s) for s in sentences]}
    )
    arguments = options(**named, d_k=d_k, d_v=d_v, seed=seed, causal=causal, window=window, temperature=temperature,
                        dtype=dtype)
    cases.add("backward " + arguments, {**unbatched(t, batch), "L": loss})


def main():
    batch = ["I love small cats".split(), "Cats sleep".split(), "We do too".split()]
    cases = Cases("backward")
    case(cases, [CAT])
    case(cases, [CAT], d_k=5, d_v=3, seed=7)
    case(cases, [["Hello"]], d_k=1, d_v=1)
    case(cases, [["one", "two"]], d_k=3, d_v=1, temperature=0.05)
    case(cases, [CAT], d_k=3, d_v=5, temperature=2.5, seed=1)
    case(cases, [CAT], causal=True, d_k=4, d_v=4)
    case(cases, [CAT], window=1, d_k=4, d_v=6, seed=2)
    case(cases, [CAT], causal=True, window=0, d_k=2, d_v=2)
    case(cases, batch, d_k=4, d_v=3)
    case(cases, batch, causal=True, d_k=3, d_v=4, temperature=0.5, seed=0)
    case(cases, pair=([["x", "y"]], [["a", "b", "c", "d"]]), causal=True, d_k=4, d_v=3)
    case(cases, pair=([["x", "y", "z"]], [["a"]]), causal=True, d_k=4, d_v=3)
    case(cases, pair=([["x", "y", "z"], ["x"]], [["a", "b"], ["c"]]), causal=True, d_k=2, d_v=3, seed=5)
    case(cases, [CAT], d_k=4, d_v=4, dtype="float32")
    case(cases, batch, causal=True, d_k=3, d_v=2, dtype="float32", seed=3)
    cases.save()


main()
