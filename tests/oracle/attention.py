"""Attention computed step by step with PyTorch, for the cases of several lessons."""

import math
import shlex

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def mask_of(lengths, n_q, n_k, causal=False, window=None):
    """[batch, query, key], True where a key may be seen; the last query stands beside the last key."""
    position = torch.arange(n_q)[:, None] + n_k - n_q
    key = torch.arange(n_k)[None, :]
    mask = torch.ones(len(lengths), n_q, n_k, dtype=torch.bool)
    if causal:
        mask &= key <= position
    if window is not None:
        mask &= (position - key).abs() <= window
    for b, length in enumerate(lengths):
        mask[b, :, length:] = False
    return mask


def attention(Q, K, V, mask=None, temperature=1.0, heads=False):
    """All steps of scaled dot-product attention, by id. A row without a key has weights 0."""
    steps = {"scores": Q @ K.transpose(-2, -1)}
    steps["scaled"] = steps["scores"] / (math.sqrt(Q.shape[-1]) * temperature)
    seen = steps["scaled"]
    if mask is not None and not mask.all():
        seen = seen.masked_fill(~(mask.unsqueeze(1) if heads else mask), -math.inf)
        steps["masked"] = seen
    steps["weights"] = torch.nan_to_num(F.softmax(seen, dim=-1), nan=0.0)
    steps["heads" if heads else "output"] = steps["weights"] @ V
    return steps


def unbatched(tensors, batch):
    """Without the batch axis where the batch has one sample; weights have none."""

    def is_shared(id):
        name = id.split("/")[-1]
        return name.startswith(("W_", "b_")) or name in ("gain", "bias", "positions")

    return {id: t if batch > 1 or is_shared(id) else t[0] for id, t in tensors.items()}


def options(**given):
    """Keyword arguments as a command line; lists repeat the option, True is a flag."""
    words = []
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        for one in value if isinstance(value, list) else [value]:
            words.append(flag if one is True else f"{flag} {shlex.quote(str(one))}")
    return " ".join(words)


def torch_of(array):
    return torch.from_numpy(np.ascontiguousarray(array))


def split(x, heads):
    batch, n, width = x.shape
    return x.reshape(batch, n, heads, width // heads).permute(0, 2, 1, 3)


def multihead_tensors(draws, X_query, X_key, heads, kv_heads, d_k, d_v, mask, dropout=0.0):
    d_model = X_query.shape[-1]
    W_Q = torch_of(draws.weight(d_model, heads * d_k))
    W_K = torch_of(draws.weight(d_model, kv_heads * d_k))
    W_V = torch_of(draws.weight(d_model, kv_heads * d_v))
    W_O = torch_of(draws.weight(heads * d_v, d_model))
    t = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O, "Q": X_query @ W_Q, "K": X_key @ W_K, "V": X_key @ W_V}
    t["Q_heads"], t["K_heads"], t["V_heads"] = split(t["Q"], heads), split(t["K"], kv_heads), split(t["V"], kv_heads)
    group = heads // kv_heads
    K, V = t["K_heads"].repeat_interleave(group, 1), t["V_heads"].repeat_interleave(group, 1)
    t.update(attention(t["Q_heads"], K, V, mask, heads=True))
    if dropout:
        t["dropout_mask"] = torch_of(draws.dropout_mask(dropout, tuple(t["weights"].shape)))
        t["dropped"] = t["weights"] * t["dropout_mask"] / (1 - dropout)
        t["heads"] = t["dropped"] @ V
    batch, _, n_q, _ = t["heads"].shape
    t["concat"] = t["heads"].permute(0, 2, 1, 3).reshape(batch, n_q, heads * d_v)
    t["output"] = t["concat"] @ W_O
    return t
