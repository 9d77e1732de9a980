"""A classifier of sentences: attention, layer norm, the mean over the real tokens, nn.Linear."""

import torch
from attention import layer_norm, mask_of, multihead, multihead_weights, norm_inputs
from positional import sinusoidal_table
from torch import nn


def pool(x, lengths):
    """The mean over the first tokens of each sample."""
    if lengths is None:
        return x.mean(-2)
    return torch.stack([sample[:length].mean(0) for sample, length in zip(x, lengths)])


@torch.no_grad()
def add(lesson, n, d_model, heads, classes, batch=None, lengths=None, own_positions=True, tag="", **options):
    batch = len(lengths) if lengths else batch
    case = lesson.case(f"{n}-tokens", f"d{d_model}", f"{classes}-classes", batch and f"batch-{batch}",
                       lengths and "padded", not own_positions and "sinusoidal", tag, heads=heads, **options)
    case.lengths(lengths)
    X = case.normal("X", batch, n, d_model)
    positions = case.normal("positions", n, d_model) if own_positions else sinusoidal_table(n, d_model)[0]
    weights = multihead_weights(case, d_model, heads, group="attention/")
    gain_and_bias = norm_inputs(case, "attention/norm", d_model)
    W_class = case.weight("W_class", d_model, classes)
    mask = mask_of(n, n, lengths)

    t = {"positions": positions, "encoded": X + positions}
    steps = multihead(t["encoded"], t["encoded"], weights, heads, mask=mask)
    t.update({f"attention/{id}": step for id, step in steps.items()})
    if mask is not None:
        t["attention/mask"] = mask
    t["attention/residual"] = t["encoded"] + steps["output"]
    t["attention/normalized"] = layer_norm(t["attention/residual"], *gain_and_bias)
    t["pooled"] = pool(t["attention/normalized"], lengths)
    classify = nn.Linear(d_model, classes, bias=False)
    classify.weight.copy_(W_class.T)
    t["logits"] = classify(t["pooled"])
    t["probabilities"] = torch.softmax(t["logits"], dim=-1)
    case.expect(t)


def make(lesson):
    add(lesson, 1, 2, 1, 1)
    add(lesson, 3, 4, 1, 2)
    add(lesson, 5, 6, 2, 3)
    add(lesson, 4, 6, 3, 5, own_positions=False)
    add(lesson, 6, 8, 4, 2)
    add(lesson, 2, 8, 8, 4)
    add(lesson, 3, 4, 2, 3, batch=3)
    add(lesson, 4, 6, 2, 2, lengths=[4, 1])
    add(lesson, 3, 4, 4, 3, lengths=[1, 2, 3, 3], own_positions=False)
    add(lesson, 5, 6, 3, 4, dtype="float32")
    add(lesson, 4, 8, 2, 2, dtype="float32", lengths=[2, 4])
