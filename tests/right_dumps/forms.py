"""Known re-expressions of right steps: what other programs save in the place of a lesson's tensors.

Each form takes the steps by id, a source of chance and an Arithmetic, and changes those steps that it is about in place;
it returns whether the lesson has any.
"""

import math

import numpy as np


WITH_HEADS = ["Q_heads", "K_heads", "V_heads", "scores", "scaled", "masked", "weights", "heads"]


def of_heads(steps):
    """Ids of what has an axis of heads behind the batch."""
    return [name for name, step in steps.items() if step.ndim == 4 and name.split("/")[-1] in WITH_HEADS]


def each(steps, names, change):
    for name in names:
        steps[name] = change(steps[name])
    return bool(names)


def heads_in_batch(steps, draw, a):
    return each(steps, of_heads(steps), lambda x: x.reshape(-1, *x.shape[2:]))


def batch_in_heads(steps, draw, a):
    return each(steps, of_heads(steps), lambda x: x.swapaxes(0, 1).reshape(-1, *x.shape[2:]))


def heads_before_batch(steps, draw, a):
    return each(steps, of_heads(steps), lambda x: x.swapaxes(0, 1))


def tokens_before_heads(steps, draw, a):
    names = [name for name in of_heads(steps) if name.split("/")[-1] in ("Q_heads", "K_heads", "V_heads", "heads")]
    return each(steps, names, lambda x: x.swapaxes(1, 2))


def repeated_heads(steps, draw, a):
    """Key and value heads stand there for each query head."""
    copies = {name: steps[name.replace("K_heads", "Q_heads").replace("V_heads", "Q_heads")].shape[1] // steps[name].shape[1]
              for name in of_heads(steps) if name.split("/")[-1] in ("K_heads", "V_heads")}
    for name, count in copies.items():
        steps[name] = np.repeat(steps[name], count, axis=1)
    return any(count > 1 for count in copies.values())


def angles_side_by_side(steps, draw, a):
    return each(steps, [name for name in steps if name == "rope/angles"], lambda x: np.repeat(x, 2, axis=-1))


def angles_twice(steps, draw, a):
    return each(steps, [name for name in steps if name == "rope/angles"], lambda x: np.concatenate([x, x], axis=-1))


def partners(steps):
    """Queries with the keys that they are multiplied with, where they have as many columns."""
    pairs = [(name, name.replace("Q", "K")) for name in steps if name.split("/")[-1] in ("Q", "Q_heads", "Q_rotated")]
    return [(q, k) for q, k in pairs if k in steps and steps[q].shape[-1] == steps[k].shape[-1]]


def heads_of(steps, name):
    whole = name + "_heads"
    return steps[whole].shape[1] if whole in steps else 1


def columns_permuted(steps, draw, a):
    """Alike in queries and keys, in each head, and before and after it is split off."""
    pairs = [pair for pair in partners(steps) if not pair[0].endswith("Q") or heads_of(steps, pair[0]) == heads_of(steps, pair[1])]
    orders = {}
    for q, k in pairs:
        width = steps[q].shape[-1] // (heads_of(steps, q) if q.endswith("Q") else 1)
        order = orders.setdefault(width, draw.sample(range(width), width))
        for name in (q, k):
            heads = steps[name].reshape(*steps[name].shape[:-1], -1, width)
            steps[name] = heads[..., order].reshape(steps[name].shape)
    return bool(pairs)


def factors_that_cancel(steps, draw, a):
    factor = draw.choice([2.0, 0.25, 8.0])
    pairs = partners(steps)
    for q, k in pairs:
        steps[q], steps[k] = steps[q] * factor, steps[k] / factor
    return bool(pairs)


def in_base_2(steps, draw, a):
    """Scaled and masked scores for a softmax of 2^x."""
    names = [name for name in steps if name.split("/")[-1] in ("scaled", "masked") and "fill" not in name]
    return each(steps, names, lambda x: a.r(x * math.log2(math.e)))


FORMS = [heads_in_batch, batch_in_heads, heads_before_batch, tokens_before_heads, repeated_heads,
         angles_side_by_side, angles_twice, columns_permuted, factors_that_cancel, in_base_2]
