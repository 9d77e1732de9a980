"""Gradients of attention by PyTorch's autograd, which is told no formula of them."""

import math

import torch
import torch.nn.functional as F
from attention import mask_of, repeated


def gradients(Q, K, V, mask, temperature, d_output):
    """The tensors of attention by id, and `d_…` of each that autograd sends a gradient to."""
    given = {"Q": Q, "K": K, "V": V}
    t = {id: tensor.clone().requires_grad_() for id, tensor in given.items()}
    t["scores"] = t["Q"] @ t["K"].mT
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
    steps = {id: tensor.detach() for id, tensor in t.items() if id not in given}
    return {**steps, **{"d_" + name: t[name].grad for name in wanted}}


def add(lesson, n_q, n_k, d_k, d_v, batch=None, lengths=None, random_mask=False, tag="", scale=1.0, **options):
    batch = len(lengths) if lengths else batch
    case = lesson.case(f"{n_q}x{n_k}", f"d{d_k}x{d_v}", batch and f"batch-{batch}", lengths and "padded",
                       random_mask and "random-mask", tag, **options)
    case.lengths(lengths)
    Q, K = case.normal("Q", batch, n_q, d_k, scale=scale), case.normal("K", batch, n_k, d_k, scale=scale)
    V, d_output = case.normal("V", batch, n_k, d_v), case.normal("d_output", batch, n_q, d_v)
    mask = repeated(mask_of(n_q, n_k, lengths, options.get("causal"), options.get("window")), batch)
    if random_mask:
        mask = case.mask("mask", batch, n_q, n_k)
    if mask is not None:
        case.expect({"mask": mask})
    case.expect(gradients(Q, K, V, mask, options.get("temperature", 1.0), d_output))


def make(lesson):
    for n_q, n_k, d_k, d_v in ((1, 1, 1, 1), (2, 5, 3, 4), (5, 2, 7, 1), (6, 6, 8, 8), (1, 4, 2, 3)):
        add(lesson, n_q, n_k, d_k, d_v)
    add(lesson, 5, 5, 3, 4, causal=True)
    add(lesson, 5, 3, 3, 4, causal=True)
    add(lesson, 5, 5, 4, 3, window=1)
    add(lesson, 4, 4, 2, 2, causal=True, window=0)
    add(lesson, 4, 5, 3, 2, random_mask=True)
    add(lesson, 3, 4, 3, 2, batch=3)
    add(lesson, 3, 4, 3, 2, batch=2, random_mask=True)
    add(lesson, 4, 4, 3, 3, lengths=[4, 1, 2])
    add(lesson, 2, 4, 3, 3, lengths=[4, 3], causal=True, temperature=0.5)
    add(lesson, 4, 3, 3, 2, temperature=0.1)
    add(lesson, 4, 3, 3, 2, temperature=10)
    add(lesson, 3, 4, 4, 3, tag="large", scale=5)
    add(lesson, 5, 4, 4, 3, dtype="float32")
    add(lesson, 4, 4, 3, 2, dtype="float32", lengths=[4, 2], causal=True)
    add(lesson, 4, 5, 3, 2, dtype="float32", random_mask=True)
