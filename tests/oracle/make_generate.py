#!/usr/bin/env python3
"""Cases for generate. The reference has no cache: for each new token it reads the whole text anew, with a causal
mask, and takes from that pass what the program computed for its last token alone.

With as many key and value heads as query heads, PyTorch's own multi-head attention is asked as well.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from attention import options, split, torch_of
from draws import Cases, Draws


def sinusoidal(n, d):
    p, i = np.arange(n)[:, None], np.arange(d // 2)[None, :]
    angles = p * 10000.0 ** (-2 * i / d)
    return torch_of(np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(n, d))


def check_against_torch(x, output, weights, heads):
    later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    W_Q, W_K, W_V, W_O = (W.T for W in weights)
    expected, _ = F.multi_head_attention_forward(
        x[:, None], x[:, None], x[:, None], x.shape[-1], heads, torch.cat([W_Q, W_K, W_V]), None, None, None, False,
        0.0, W_O, None, attn_mask=later)
    assert torch.allclose(expected[:, 0], output, rtol=1e-12, atol=1e-12)


def layer_pass(x, weights, heads, kv_heads):
    """Causal multi-head attention of all tokens x [token, d_model], by id."""
    W_Q, W_K, W_V, W_O = weights
    n = len(x)
    t = {"Q": split((x @ W_Q)[None], heads)[0], "K": split((x @ W_K)[None], kv_heads)[0],
         "V": split((x @ W_V)[None], kv_heads)[0]}
    K, V = (t[name].repeat_interleave(heads // kv_heads, 0) for name in "KV")
    t["scores"] = torch.einsum("hqd,hkd->hqk", t["Q"], K)
    t["scaled"] = t["scores"] / math.sqrt(K.shape[-1])
    t["masked"] = t["scaled"].masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -math.inf)
    t["weights"] = F.softmax(t["masked"], dim=-1)
    t["heads"] = torch.einsum("hqk,hkd->hqd", t["weights"], V)
    t["output"] = t["heads"].permute(1, 0, 2).reshape(n, -1) @ W_O
    t["residual"] = x + t["output"]
    if kv_heads == heads and W_Q.shape == W_V.shape == W_O.shape == W_O.T.shape:
        check_against_torch(x, t["output"], weights, heads)
    return t


def newest(t, known):
    """What a step computes that finds `known` tokens in its cache: the rows of the others, and the cache after it."""
    shown = {id: t[id][..., known:, :] for id in ("Q", "K", "V", "scores", "scaled", "weights", "heads", "output", "residual")}
    if known == 0:
        shown["masked"] = t["masked"]
    return {**shown, "cache/K": t["K"], "cache/V": t["V"]}


def case(cases, prompt, d_model=8, heads=2, kv_heads=None, d_k=None, d_v=None, layers=1, new_tokens=3, seed=42,
         weight_scale=None, dtype="float64"):
    kv_heads, d_k, d_v = kv_heads or heads, d_k or d_model // heads, d_v or d_model // heads
    words = list(dict.fromkeys(prompt))
    draws = Draws(seed, weight_scale)
    embedding = torch_of(draws.embed(d_model, [words])[0])
    shapes = ((d_model, heads * d_k), (d_model, kv_heads * d_k), (d_model, kv_heads * d_v), (heads * d_v, d_model))
    weights = [[torch_of(draws.weight(*shape)) for shape in shapes] for _ in range(layers)]
    W_vocabulary = torch_of(draws.weight(d_model, len(words)))
    positions = sinusoidal(len(prompt) + new_tokens - 1, d_model)

    group = (lambda layer: f"layer={layer + 1}/") if layers > 1 else (lambda layer: "")
    tensors = {"embedding": embedding, "positions": positions, "W_vocabulary": W_vocabulary}
    for layer in range(layers):
        tensors.update({group(layer) + name: W for name, W in zip(("W_Q", "W_K", "W_V", "W_O"), weights[layer])})

    text, known = [words.index(token) for token in prompt], 0
    for step in range(new_tokens):
        x = embedding[text] + positions[:len(text)]
        shown = {"x": x[known:]}
        if step == 0:
            shown["mask"] = torch.ones(len(text), len(text), dtype=torch.bool).tril()
        for layer in range(layers):
            t = layer_pass(x, weights[layer], heads, kv_heads)
            x = t["residual"]
            shown.update({group(layer) + id: tensor for id, tensor in newest(t, known).items()})
            if step == new_tokens - 1:
                tensors.update({group(layer) + "cache/" + name: t[name] for name in "KV"})
        shown["logits"] = x[-1] @ W_vocabulary
        shown["probabilities"] = F.softmax(shown["logits"], dim=0)
        shown["token"] = shown["logits"].argmax()
        tensors.update({f"step={step}/{id}": tensor for id, tensor in shown.items()})
        known = len(text)
        text.append(int(shown["token"]))
    tensors["written"] = np.array(text[len(prompt):])
    sharing = [h for h in range(heads, 0, -1) if heads % h == 0]
    size = {"float64": 8, "float32": 4}[dtype]
    tensors["cache/bytes"] = np.array([layers * h * known * (d_k + d_v) * size for h in sharing])

    arguments = options(sentence=" ".join(prompt), d_model=d_model, heads=heads, kv_heads=kv_heads, d_k=d_k, d_v=d_v,
                        layers=layers, new_tokens=new_tokens, seed=seed, weight_scale=weight_scale, dtype=dtype)
    cases.add("generate " + arguments, tensors)


def main():
    cat, rose = "The cat sat on the mat".split(), "a rose is a".split()
    cases = Cases("generate")
    case(cases, rose)
    case(cases, cat)
    case(cases, ["Hello"], d_model=2, heads=1, new_tokens=1)
    case(cases, ["Hello"], d_model=4, heads=2, new_tokens=3, seed=3)
    case(cases, rose, heads=4, kv_heads=2, new_tokens=5, seed=1)
    case(cases, rose, heads=4, kv_heads=1, layers=2, weight_scale="xavier")
    case(cases, rose, d_model=6, heads=3, layers=3, new_tokens=2, weight_scale=0.3, seed=5)
    case(cases, rose, d_model=10, heads=3, d_k=3, d_v=2, seed=6, weight_scale="he")
    case(cases, rose, heads=4, kv_heads=2, d_k=3, d_v=5, layers=2, new_tokens=2, seed=7)
    case(cases, rose, dtype="float32", kv_heads=1)
    case(cases, "we sang and we sang and".split(), dtype="float32", layers=2, new_tokens=6, seed=8)
    cases.save()


main()
