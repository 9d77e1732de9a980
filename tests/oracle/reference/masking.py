"""The three masks and what softmax makes of them; NaN where PyTorch's softmax meets a row without a key."""

import math

import torch
import torch.nn.functional as F
from attention import mask_of, repeated, softmax

LARGE_NEGATIVE = -1e9


def steps_of(Q, K, V, batch, lengths):
    n = Q.shape[-2]
    scores = Q @ K.mT
    scaled = scores / math.sqrt(Q.shape[-1])
    causal, padding = torch.ones(n, n, dtype=torch.bool).tril(), mask_of(n, n, lengths)
    causal = causal.expand_as(padding) if batch else causal
    padding = padding if batch else padding[0]
    t = {"Q": Q, "K": K, "V": V, "scores": scores, "scaled": scaled, "causal_mask": causal, "padding_mask": padding,
         "combined_mask": causal & padding, "without_mask": F.softmax(scaled, dim=-1)}
    for name, mask in (("causal", causal), ("padding", padding), ("combined", causal & padding)):
        t[f"{name}/masked"] = scaled.masked_fill(~mask, -math.inf)
        t[f"{name}/weights"] = F.softmax(t[f"{name}/masked"], dim=-1)
        t[f"{name}/output"] = t[f"{name}/weights"] @ V
    t["causal/masked_1e9"] = scaled.masked_fill(~causal, LARGE_NEGATIVE)
    t["causal/weights_1e9"] = F.softmax(t["causal/masked_1e9"], dim=-1)

    first_hidden = torch.ones(n, n, dtype=torch.bool).tril()
    first_hidden[:, 0] = False
    t["fully_masked/mask"] = repeated(first_hidden, batch)
    seen = scaled.masked_fill(~first_hidden, -math.inf)
    t["fully_masked/weights"] = softmax(seen)
    t["fully_masked/weights_1e9"] = F.softmax(scaled.masked_fill(~first_hidden, LARGE_NEGATIVE), dim=-1)
    t["fully_masked/weights_nan"] = F.softmax(seen, dim=-1)

    two_heads = t["broadcast/scaled"] = torch.stack([scaled, scaled], dim=-3)
    of_heads = t["broadcast=4D/mask"] = torch.stack([causal, padding], dim=-3)
    masks = {"2D": causal[0] if batch else causal, "3D": causal.unsqueeze(-3), "4D": of_heads}
    for name, mask in masks.items():
        t[f"broadcast={name}/weights"] = F.softmax(two_heads.masked_fill(~mask, -math.inf), dim=-1)
    return t


def add(lesson, n, d_model, d_k, d_v, batch=None, lengths=None, tag="", scale=1.0, **options):
    batch = len(lengths) if lengths else batch
    case = lesson.case(f"{n}-tokens", f"d{d_model}", f"{d_k}x{d_v}", batch and f"batch-{batch}", lengths and "padded",
                       tag, **options)
    case.lengths(lengths)
    X = case.normal("X", batch, n, d_model, scale=scale)
    W_Q, W_K, W_V = case.weight("W_Q", d_model, d_k), case.weight("W_K", d_model, d_k), case.weight("W_V", d_model, d_v)
    lengths = lengths or [max(1, n - 1)] * (batch or 1)  # the last token plays the padding
    case.expect(steps_of(X @ W_Q, X @ W_K, X @ W_V, batch, lengths))


def make(lesson):
    for n, d_model, d_k, d_v in ((1, 1, 1, 1), (2, 3, 4, 2), (4, 5, 3, 7), (6, 8, 8, 8)):
        add(lesson, n, d_model, d_k, d_v)
    add(lesson, 3, 4, 3, 2, batch=2)
    add(lesson, 4, 3, 3, 2, lengths=[4, 2])
    add(lesson, 4, 5, 2, 3, lengths=[1, 3, 4, 2])
    add(lesson, 4, 4, 4, 4, tag="large", scale=20)
    add(lesson, 5, 4, 3, 3, dtype="float32")
    add(lesson, 3, 6, 4, 2, dtype="float32", lengths=[3, 1])
