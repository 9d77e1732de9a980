#!/usr/bin/env python3
"""Cases for sdpa, self-attention, cross-attention, multihead, masking, scoring and lookup.

Attention itself is computed by PyTorch: F.softmax, F.layer_norm and, for plain multi-head attention,
nn.functional.multi_head_attention_forward beside the formula.
"""

import math

import torch
import torch.nn.functional as F
from attention import attention, mask_of, multihead_tensors, options, torch_of, unbatched
from draws import Cases, Draws

CAT = "The cat sat on the mat".split()


def sdpa_case(cases, sentences, d_k=8, d_v=8, seed=42, causal=False, window=None, temperature=1.0, pair=None):
    queries, keys = pair if pair else (sentences, sentences)
    batch, n_q, n_k = len(keys), max(map(len, queries)), max(map(len, keys))
    draws = Draws(seed)
    Q, K, V = (torch_of(draws.normal(batch, n, d)) for n, d in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))
    mask = mask_of([len(k) for k in keys], n_q, n_k, causal, window)
    tensors = {"Q": Q, "K": K, "V": V, **attention(Q, K, V, mask, temperature)}
    named = (
        {"source": [" ".join(s) for s in keys], "target": [" ".join(s) for s in queries]}
        if pair
        else {"sentence": [" ".join(s) for s in sentences]}
    )
    arguments = options(**named, d_k=d_k, d_v=d_v, seed=seed, causal=causal, window=window, temperature=temperature)
    cases.add("sdpa " + arguments, unbatched(tensors, batch))


def self_attention_case(cases, sentences, d_model=8, d_k=None, d_v=None, seed=42, weight_scale=None, causal=False,
                        window=None, dtype="float64"):
    d_k, d_v = d_k or d_model, d_v or d_model
    draws = Draws(seed, weight_scale)
    X = torch_of(draws.embed(d_model, sentences))
    W_Q, W_K, W_V = (torch_of(draws.weight(d_model, d)) for d in (d_k, d_k, d_v))
    mask = mask_of([len(s) for s in sentences], X.shape[1], X.shape[1], causal, window)
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    tensors = {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "Q": Q, "K": K, "V": V, **attention(Q, K, V, mask)}
    arguments = options(sentence=[" ".join(s) for s in sentences], d_model=d_model, d_k=d_k, d_v=d_v, seed=seed,
                        weight_scale=weight_scale, causal=causal, window=window, dtype=dtype)
    cases.add("self-attention " + arguments, unbatched(tensors, len(sentences)))


def check_against_torch(X, t, heads):
    """PyTorch's own multi-head attention, whose weights multiply from the left, gives the same output."""
    expected, _ = F.multi_head_attention_forward(
        X.transpose(0, 1), X.transpose(0, 1), X.transpose(0, 1), X.shape[-1], heads,
        torch.cat([t["W_Q"].T, t["W_K"].T, t["W_V"].T]), None, None, None, False, 0.0, t["W_O"].T, None)
    assert torch.allclose(expected.transpose(0, 1), t["output"], rtol=1e-12, atol=1e-12)


def multihead_case(cases, sentences, d_model=8, heads=2, kv_heads=None, d_k=None, d_v=None, seed=42,
                   weight_scale=None, causal=False, window=None, dropout=0.0, residual=False, norm=False):
    kv_heads, d_k, d_v = kv_heads or heads, d_k or d_model // heads, d_v or d_model // heads
    draws = Draws(seed, weight_scale)
    X = torch_of(draws.embed(d_model, sentences))
    mask = mask_of([len(s) for s in sentences], X.shape[1], X.shape[1], causal, window)
    t = {"X": X, **multihead_tensors(draws, X, X, heads, kv_heads, d_k, d_v, mask, dropout)}
    if mask.all() and kv_heads == heads and not dropout and d_k * heads == d_v * heads == d_model:
        check_against_torch(X, t, heads)
    last = t["output"]
    if residual:
        last = t["residual"] = X + last
    if norm:
        t["normalized"] = F.layer_norm(last, (d_model,), eps=1e-5)
    arguments = options(sentence=[" ".join(s) for s in sentences], d_model=d_model, heads=heads, kv_heads=kv_heads,
                        d_k=d_k, d_v=d_v, seed=seed, weight_scale=weight_scale, causal=causal, window=window,
                        dropout=dropout, residual=residual, norm=norm)
    cases.add("multihead " + arguments, unbatched(t, len(sentences)))


def cross_attention_case(cases, source, target, d_model=8, d_k=None, d_v=None, heads=None, kv_heads=None, seed=42,
                         weight_scale=None, dropout=0.0):
    draws = Draws(seed, weight_scale)
    X_source, X_target = (torch_of(X) for X in draws.embed(d_model, source, target))
    mask = mask_of([len(s) for s in source], X_target.shape[1], X_source.shape[1])
    t = {"X_target": X_target, "X_source": X_source}
    h = heads or 1
    width = d_k or d_model // h, d_v or d_model // h
    if heads:
        t.update(multihead_tensors(draws, X_target, X_source, h, kv_heads or h, *width, mask, dropout))
    else:
        W_Q, W_K, W_V = (torch_of(draws.weight(d_model, d)) for d in (width[0], width[0], width[1]))
        t.update({"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "Q": X_target @ W_Q, "K": X_source @ W_K, "V": X_source @ W_V})
        t.update(attention(t["Q"], t["K"], t["V"], mask))
    arguments = options(source=[" ".join(s) for s in source], target=[" ".join(s) for s in target], d_model=d_model,
                        d_k=d_k, d_v=d_v, heads=heads, kv_heads=kv_heads, seed=seed, weight_scale=weight_scale,
                        dropout=dropout)
    cases.add("cross-attention " + arguments, unbatched(t, len(source)))


def scoring_case(cases, source, target, d_model=8, seed=42, weight_scale=None):
    draws = Draws(seed, weight_scale)
    keys, queries = (torch_of(X[0]) for X in draws.embed(d_model, [source], [target]))
    W_a, W_q, W_k = (torch_of(draws.weight(d_model, d_model)) for _ in range(3))
    v_a = torch_of(draws.weight(d_model))
    additive = torch.tanh((queries @ W_q)[:, None, :] + (keys @ W_k)[None, :, :])
    pairs = torch.cat([queries[:, None, :].expand(-1, len(keys), -1), keys[None].expand(len(queries), -1, -1)], dim=-1)
    W_c = torch.cat([W_q, W_k])
    t = {"queries": queries, "keys": keys, "W_a": W_a, "W_q": W_q, "W_k": W_k, "v_a": v_a,
         "additive/projected_queries": queries @ W_q, "additive/projected_keys": keys @ W_k,
         "additive/hidden": additive, "concat/W_c": W_c, "concat/pairs": pairs,
         "concat/hidden": torch.tanh(pairs @ W_c)}
    scores = {"dot": queries @ keys.T, "scaled_dot": queries @ keys.T / math.sqrt(d_model),
              "general": queries @ W_a @ keys.T, "additive": additive @ v_a, "concat": t["concat/hidden"] @ v_a}
    for name, s in scores.items():
        t[f"{name}/scores"], t[f"{name}/weights"] = s, F.softmax(s, dim=-1)
        t[f"{name}/context"] = t[f"{name}/weights"] @ keys
    arguments = options(source=" ".join(source), target=" ".join(target), d_model=d_model, seed=seed,
                        weight_scale=weight_scale)
    cases.add("scoring " + arguments, t)


def lookup_case(cases, sentence, d_k=8, d_v=8, seed=42):
    draws = Draws(seed)
    query, keys, values = (torch_of(draws.normal(*s)) for s in ((d_k,), (len(sentence), d_k), (len(sentence), d_v)))
    t = {"query": query, "keys": keys, "values": values, "scores": keys @ query}
    for T in ("1", "0.1", "0.01"):
        t[f"temperature={T}/weights"] = F.softmax(t["scores"] / float(T), dim=-1)
        t[f"temperature={T}/output"] = t[f"temperature={T}/weights"] @ values
    cases.add("lookup " + options(sentence=" ".join(sentence), d_k=d_k, d_v=d_v, seed=seed), t)


def masking_case(cases, sentences, d_model=8, d_k=None, d_v=None, seed=42):
    d_k, d_v = d_k or d_model, d_v or d_model
    draws = Draws(seed)
    X = torch_of(draws.embed(d_model, sentences))
    batch, n = X.shape[:2]
    W_Q, W_K, W_V = (torch_of(draws.weight(d_model, d)) for d in (d_k, d_k, d_v))
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    lengths = [len(s) for s in sentences]
    if min(lengths) == n and n > 1:
        lengths = [n - 1] * batch  # the last token plays the padding
    causal, padding = mask_of([n] * batch, n, n, causal=True), mask_of(lengths, n, n)
    t = {"Q": Q, "K": K, "V": V, "causal_mask": causal, "padding_mask": padding, "combined_mask": causal & padding}
    for name, mask in (("causal", causal), ("padding", padding), ("combined", causal & padding)):
        scaled = Q @ K.transpose(-2, -1) / math.sqrt(d_k)
        t[f"{name}/masked"] = scaled.masked_fill(~mask, -math.inf)
        t[f"{name}/weights"] = F.softmax(t[f"{name}/masked"], dim=-1)
        t[f"{name}/output"] = t[f"{name}/weights"] @ V
    t["causal/masked_1e9"] = scaled.masked_fill(~causal, -1e9)
    t["causal/weights_1e9"] = F.softmax(t["causal/masked_1e9"], dim=-1)
    arguments = options(sentence=[" ".join(s) for s in sentences], d_model=d_model, d_k=d_k, d_v=d_v, seed=seed)
    cases.add("masking " + arguments, unbatched(t, batch))


def main():
    batch = ["I love small cats".split(), "Cats sleep".split(), "We do too".split()]
    cases = Cases("attention")

    for n, d_k, d_v in ((1, 1, 1), (2, 3, 5), (6, 8, 8), (9, 16, 4)):
        sdpa_case(cases, [CAT[:n] if n < 6 else CAT + ["a", "b", "c"][: n - 6]], d_k, d_v)
    sdpa_case(cases, [CAT], causal=True, seed=1)
    sdpa_case(cases, [CAT], window=1, seed=2)
    sdpa_case(cases, [CAT], causal=True, window=2, temperature=0.5, d_k=3)
    sdpa_case(cases, batch, causal=True, d_k=4, d_v=3)
    sdpa_case(cases, batch, window=1, temperature=3)
    sdpa_case(cases, None, pair=([["x", "y"]], [["a", "b", "c", "d"]]), causal=True, d_k=4, d_v=3)
    sdpa_case(cases, None, pair=([["x", "y", "z"]], [["a", "b"]]), causal=True, d_k=4, d_v=3)
    sdpa_case(cases, None, pair=([["x", "y"], ["z"]], [["a", "b", "c"], ["d"]]), d_k=5)

    for d_model, d_k, d_v in ((8, 8, 8), (1, 1, 1), (6, 4, 3), (5, 7, 2)):
        self_attention_case(cases, [CAT], d_model, d_k, d_v)
    self_attention_case(cases, [CAT], causal=True, weight_scale="xavier", d_k=3)
    self_attention_case(cases, [CAT], window=2, weight_scale="he", seed=7)
    self_attention_case(cases, [["Hello"]], seed=4294967295)
    self_attention_case(cases, batch, weight_scale=0.3)
    self_attention_case(cases, batch, causal=True, d_model=6, d_k=4, d_v=5, seed=0)
    self_attention_case(cases, [CAT], dtype="float32")
    self_attention_case(cases, batch, dtype="float32", causal=True)

    for heads in (1, 2, 4, 8):
        multihead_case(cases, [CAT], heads=heads)
    multihead_case(cases, [CAT], d_model=12, heads=3, causal=True)
    multihead_case(cases, [CAT], d_model=12, heads=6, kv_heads=2)
    multihead_case(cases, [CAT], d_model=12, heads=6, kv_heads=3, d_k=3, d_v=5, causal=True)
    multihead_case(cases, [CAT], heads=4, kv_heads=1, window=1)
    multihead_case(cases, batch, heads=4, kv_heads=2, residual=True)
    multihead_case(cases, batch, d_model=9, heads=3, causal=True, residual=True, norm=True)
    multihead_case(cases, [CAT], norm=True, d_k=3, d_v=7, weight_scale="xavier", seed=3)
    multihead_case(cases, [CAT], dropout=0.25)
    multihead_case(cases, batch, heads=4, dropout=0.5, seed=11)

    cats, chats = "I love cats".split(), ["J'aime", "les", "chats"]
    cross_attention_case(cases, [cats], [chats])
    cross_attention_case(cases, [CAT], [["Le", "chat"]], d_model=6, d_k=4, d_v=3, seed=5)
    cross_attention_case(cases, batch, [["a"], ["b", "c"], ["d", "e"]], d_model=6)
    cross_attention_case(cases, [cats], [chats], heads=2)
    cross_attention_case(cases, [cats], [chats], d_model=6, heads=2, weight_scale="he", dropout=0.1)
    cross_attention_case(cases, batch, [["a"], ["b", "c"], ["d", "e"]], heads=4, kv_heads=2, d_k=3)

    scoring_case(cases, cats, chats)
    scoring_case(cases, CAT, ["the", "mat"], d_model=5, seed=9, weight_scale="xavier")
    scoring_case(cases, ["one"], ["two"], d_model=1)
    lookup_case(cases, CAT)
    lookup_case(cases, ["one"], d_k=1, d_v=2)
    lookup_case(cases, CAT, d_k=3, d_v=5, seed=1)
    masking_case(cases, [CAT])
    masking_case(cases, batch, d_model=6, d_k=4, d_v=3)
    masking_case(cases, [["Hello"]], d_model=3)
    cases.save()


main()
