"""A soft dictionary at three temperatures: F.softmax."""

import torch.nn.functional as F


def add(lesson, n, d_k, d_v, tag="", scale=1.0, **options):
    case = lesson.case(f"{n}-keys", f"{d_k}x{d_v}", tag, **options)
    query = case.normal("query", d_k, scale=scale)
    keys, values = case.normal("keys", n, d_k), case.normal("values", n, d_v)
    steps = {"scores": keys @ query}
    for T in ("1", "0.1", "0.01"):
        steps[f"temperature={T}/weights"] = F.softmax(steps["scores"] / float(T), dim=-1)
        steps[f"temperature={T}/output"] = steps[f"temperature={T}/weights"] @ values
    case.expect(steps)


def make(lesson):
    for n, d_k, d_v in ((1, 1, 1), (2, 3, 5), (5, 7, 2), (6, 8, 8), (17, 4, 3), (40, 16, 1)):
        add(lesson, n, d_k, d_v)
    add(lesson, 8, 5, 3, "large", scale=500)
    add(lesson, 8, 5, 3, "tiny", scale=1e-3)
    add(lesson, 3, 2, 4, dtype="float32", scale=0.02)
    add(lesson, 12, 6, 6, sentence="a b c d e f g h i j k l", dtype="float32", scale=0.02)
