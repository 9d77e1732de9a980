"""Attention of a target to a source, with and without heads."""

import torch.nn.functional as F
from attention import attention, dropout, mask_of, multihead, multihead_weights, repeated


def add(lesson, n_q, n_k, d_model, d_k, d_v, batch=None, lengths=None, tag="", scale=1.0, **options):
    batch, heads = len(lengths) if lengths else batch, options.get("heads")
    case = lesson.case(f"{n_q}x{n_k}", f"d{d_model}", f"{d_k}x{d_v}", batch and f"batch-{batch}", lengths and "padded",
                       tag, **options)
    case.lengths(lengths)
    X_target = case.normal("X_target", batch, n_q, d_model, scale=scale)
    X_source = case.normal("X_source", batch, n_k, d_model, scale=scale)
    mask = repeated(mask_of(n_q, n_k, lengths), batch)
    temperature, drop = options.get("temperature", 1.0), dropout(case, options.get("dropout"))
    if heads:
        weights = multihead_weights(case, d_model, heads, options.get("kv_heads"), d_k, d_v)
        steps = multihead(X_target, X_source, weights, heads, options.get("kv_heads"), mask, temperature, drop)
    else:
        W_Q, W_K, W_V = (case.weight(id, d_model, d) for id, d in (("W_Q", d_k), ("W_K", d_k), ("W_V", d_v)))
        steps = {"Q": F.linear(X_target, W_Q.T), "K": F.linear(X_source, W_K.T), "V": F.linear(X_source, W_V.T)}
        steps.update(attention(steps["Q"], steps["K"], steps["V"], mask, temperature, drop))
    case.expect(steps if mask is None else {"mask": mask, **steps})


def make(lesson):
    for n_q, n_k, d_model, d_k, d_v in ((1, 1, 1, 1, 1), (2, 5, 6, 3, 4), (7, 3, 4, 5, 2), (1, 8, 8, 8, 8),
                                        (6, 1, 3, 2, 7)):
        add(lesson, n_q, n_k, d_model, d_k, d_v)
    add(lesson, 3, 4, 5, 4, 3, batch=3)
    add(lesson, 3, 4, 5, 4, 3, lengths=[2, 4])
    add(lesson, 2, 5, 4, 3, 3, lengths=[5, 1, 3, 2], temperature=2)
    add(lesson, 4, 3, 5, 4, 4, temperature=0.2)
    add(lesson, 4, 3, 5, 4, 4, tag="large", scale=25)
    add(lesson, 4, 3, 5, 4, 4, dropout=0.25)
    add(lesson, 3, 4, 4, 4, 4, heads=1)
    add(lesson, 3, 5, 6, 3, 3, heads=2)
    add(lesson, 5, 2, 6, 3, 5, heads=3)
    add(lesson, 2, 6, 8, 2, 2, heads=4, kv_heads=2)
    add(lesson, 4, 3, 8, 1, 3, heads=8, kv_heads=1)
    add(lesson, 3, 4, 6, 3, 3, heads=2, lengths=[4, 1])
    add(lesson, 3, 4, 6, 3, 3, heads=2, lengths=[3, 4, 2], dropout=0.5)
    add(lesson, 2, 3, 4, 2, 2, heads=2, source="I love cats", target="les chats")
    add(lesson, 4, 6, 5, 3, 4, dtype="float32")
    add(lesson, 4, 5, 6, 3, 3, heads=2, dtype="float32", lengths=[5, 3])
    add(lesson, 3, 4, 8, 4, 2, heads=4, kv_heads=2, dtype="float32", temperature=0.5)
