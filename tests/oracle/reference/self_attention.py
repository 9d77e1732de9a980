"""Attention of a sentence to itself: F.linear for the projections, F.softmax over masked scores."""

import torch.nn.functional as F
from attention import attention, biases_of, dropout, mask_of, repeated


def add(lesson, n, d_model, d_k, d_v, batch=None, lengths=None, random_mask=False, tag="", scale=1.0, has_biases=False,
        **options):
    batch = len(lengths) if lengths else batch
    case = lesson.case(f"{n}-tokens", f"d{d_model}", f"{d_k}x{d_v}", batch and f"batch-{batch}", lengths and "padded",
                       random_mask and "random-mask", has_biases and "biases", tag, **options)
    case.lengths(lengths)
    X = case.normal("X", batch, n, d_model, scale=scale)
    W_Q, W_K, W_V = case.weight("W_Q", d_model, d_k), case.weight("W_K", d_model, d_k), case.weight("W_V", d_model, d_v)
    biases = biases_of(case, (W_Q, W_K, W_V)) if has_biases else [None] * 3
    mask = repeated(mask_of(n, n, lengths, options.get("causal"), options.get("window")), batch)
    if random_mask:
        mask = case.mask("mask", batch, n, n)
    steps = {name: F.linear(X, W.T, b) for name, W, b in zip("QKV", (W_Q, W_K, W_V), biases)}
    steps.update(attention(steps["Q"], steps["K"], steps["V"], mask, options.get("temperature", 1.0),
                           dropout(case, options.get("dropout"))))
    case.expect(steps if mask is None else {"mask": mask, **steps})


def make(lesson):
    for n, d_model, d_k, d_v in ((1, 1, 1, 1), (2, 3, 5, 4), (5, 6, 7, 2), (6, 8, 8, 8), (9, 4, 1, 3), (14, 16, 5, 8)):
        add(lesson, n, d_model, d_k, d_v)
    add(lesson, 6, 5, 4, 3, causal=True)
    add(lesson, 6, 5, 4, 3, window=1)
    add(lesson, 6, 5, 4, 3, causal=True, window=1)
    add(lesson, 6, 5, 4, 3, random_mask=True)
    add(lesson, 4, 5, 3, 3, batch=2, random_mask=True)
    add(lesson, 5, 4, 3, 5, batch=4)
    add(lesson, 5, 4, 3, 5, lengths=[3, 5, 1])
    add(lesson, 5, 4, 3, 5, lengths=[5, 4], causal=True, temperature=0.5)
    add(lesson, 5, 4, 4, 4, temperature=0.1)
    add(lesson, 5, 4, 4, 4, temperature=30, window=2)
    add(lesson, 5, 6, 4, 4, tag="large", scale=20)
    add(lesson, 5, 6, 4, 4, dropout=0.2)
    add(lesson, 4, 3, 2, 5, lengths=[2, 4], causal=True, dropout=0.5)
    add(lesson, 3, 4, 3, 2, sentence="the cat sat")
    add(lesson, 5, 4, 3, 2, has_biases=True, lengths=[4, 5])
    add(lesson, 7, 8, 6, 5, dtype="float32")
    add(lesson, 6, 7, 3, 4, dtype="float32", lengths=[6, 1, 3], causal=True)
    add(lesson, 6, 4, 5, 3, dtype="float32", random_mask=True)
