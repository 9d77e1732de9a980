"""Attention computed step by step with PyTorch, for the cases of several lessons. Every function takes tensors with
and without a batch axis."""

import math

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def mask_of(n_q, n_k, lengths=None, causal=False, window=None):
    """[(batch,) query, key], True where a key may be seen; the last query stands beside the last key. None where no
    rule hides anything."""
    if not lengths and not causal and window is None:
        return None
    position = torch.arange(n_q)[:, None] + n_k - n_q
    key = torch.arange(n_k)
    mask = torch.ones(n_q, n_k, dtype=torch.bool)
    if causal:
        mask &= key <= position
    if window is not None:
        mask &= (position - key).abs() <= window
    if lengths:
        mask = mask & (key < torch.tensor(lengths)[:, None, None])
    return mask


def repeated(mask, batch):
    """The mask for each sample of a batch."""
    if mask is None or batch is None or mask.dim() == 3:
        return mask
    return mask.expand(batch, *mask.shape)


def softmax(scores):
    """A row that sees no key has weights 0."""
    return torch.nan_to_num(F.softmax(scores, dim=-1), nan=0.0)


def attention(Q, K, V, mask=None, temperature=1.0, drop=None, output="output"):
    """All steps of scaled dot-product attention, by id. `drop` makes `dropped` from the weights."""
    steps = {"scores": Q @ K.mT}
    steps["scaled"] = steps["scores"] / (math.sqrt(Q.shape[-1]) * temperature)
    seen = steps["scaled"]
    if mask is not None:
        seen = steps["masked"] = seen.masked_fill(~mask, -math.inf)
    steps["weights"] = softmax(seen)
    used = steps["weights"]
    if drop is not None:
        used = steps["dropped"] = drop(used)
    steps[output] = used @ V
    return steps


def dropout(case, probability):
    """Gives the case a dropout mask and returns what it does to weights; None without dropout."""
    if not probability:
        return None
    return lambda weights: weights * case.binary("dropout_mask", weights.shape, 1 - probability) / (1 - probability)


def split(x, heads):
    """[…, n, heads · d] to […, heads, n, d]."""
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def merge(x):
    return x.transpose(-3, -2).flatten(-2)


def multihead_weights(case, d_model, heads, kv_heads=None, d_k=None, d_v=None, group="", scale=1.0):
    """W_Q, W_K, W_V and W_O, given to the case."""
    kv_heads, d_k, d_v = kv_heads or heads, d_k or d_model // heads, d_v or d_model // heads
    shapes = {"W_Q": (d_model, heads * d_k), "W_K": (d_model, kv_heads * d_k), "W_V": (d_model, kv_heads * d_v),
              "W_O": (heads * d_v, d_model)}
    return [case.normal(group + id, *shape, scale=scale * shape[0]**-0.5) for id, shape in shapes.items()]


def biases_of(case, weights, group=""):
    """b_Q and so on, one for each of the weights, given to the case."""
    return [case.normal(f"{group}b_{name}", W.shape[1]) for name, W in zip("QKVO", weights)]


def multihead(X_query, X_key, weights, heads, kv_heads=None, mask=None, temperature=1.0, drop=None, biases=None):
    """All steps of multi-head attention, by id. Where nn.functional.multi_head_attention_forward can do the same, it
    must come to the same output."""
    W_Q, W_K, W_V, W_O = weights
    b_Q, b_K, b_V, b_O = biases or (0, 0, 0, 0)
    kv_heads = kv_heads or heads
    t = {"Q": X_query @ W_Q + b_Q, "K": X_key @ W_K + b_K, "V": X_key @ W_V + b_V}
    t["Q_heads"], t["K_heads"], t["V_heads"] = split(t["Q"], heads), split(t["K"], kv_heads), split(t["V"], kv_heads)
    K, V = (t[name].repeat_interleave(heads // kv_heads, -3) for name in ("K_heads", "V_heads"))
    mask_of_heads = None if mask is None else mask.unsqueeze(-3)
    t.update(attention(t["Q_heads"], K, V, mask_of_heads, temperature, drop, output="heads"))
    t["mean_weights"] = t.get("dropped", t["weights"]).mean(-3)
    t["concat"] = merge(t["heads"])
    t["output"] = t["concat"] @ W_O + b_O
    if kv_heads == heads and temperature == 1 and drop is None and W_Q.shape == W_V.shape == (W_O.shape[1],) * 2:
        check_multihead(X_query, X_key, weights, heads, mask, t, biases)
    return t


def check_multihead(X_query, X_key, weights, heads, mask, t, biases):
    """PyTorch's own, whose weights multiply from the left and whose masks are True where a key is hidden."""
    if X_query.dim() == 2:
        X_query, X_key, mask = X_query[None], X_key[None], None if mask is None else mask[None]
        t = {id: t[id][None] for id in ("output", "weights")}
    W_Q, W_K, W_V, W_O = weights
    hidden = None if mask is None else ~mask.repeat_interleave(heads, 0)
    queries, keys = X_query.transpose(0, 1), X_key.transpose(0, 1)
    in_bias, out_bias = (torch.cat(biases[:3]), biases[3]) if biases else (None, None)
    output, shares = F.multi_head_attention_forward(
        queries, keys, keys, W_O.shape[1], heads, torch.cat([W_Q.T, W_K.T, W_V.T]), in_bias, None, None, False, 0.0,
        W_O.T, out_bias, attn_mask=hidden, average_attn_weights=False)
    sees = ~output.transpose(0, 1).isnan()  # nothing to see is NaN there
    assert torch.allclose(output.transpose(0, 1)[sees], t["output"][sees], rtol=1e-11, atol=1e-11)
    assert torch.allclose(shares.nan_to_num(0.0), t["weights"], rtol=1e-11, atol=1e-11)


def layer_norm(x, gain, bias):
    return F.layer_norm(x, x.shape[-1:], gain, bias, eps=1e-5)


def norm_inputs(case, group, d_model):
    """A gain around 1 and a bias, given to the case."""
    gain = case.give(f"{group}/gain", 1 + 0.3 * case.random.normal(size=d_model))
    return gain, case.normal(f"{group}/bias", d_model, scale=0.3)
