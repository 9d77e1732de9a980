"""Five scores of queries and keys: sums over pairs by einsum and nn.Bilinear, then F.softmax."""

import math

import torch
import torch.nn.functional as F


def scores_of(queries, keys, W_a, W_q, W_k, v_a):
    """The scores by name, and the steps on the way to them."""
    pairs = torch.cat([queries[:, None].expand(-1, len(keys), -1), keys[None].expand(len(queries), -1, -1)], dim=-1)
    steps = {"additive/projected_queries": F.linear(queries, W_q.T), "additive/projected_keys": F.linear(keys, W_k.T),
             "concat/W_c": torch.cat([W_q, W_k]), "concat/pairs": pairs}
    steps["additive/hidden"] = torch.tanh(torch.einsum("id,da->ia", queries, W_q)[:, None] + keys @ W_k)
    steps["concat/hidden"] = torch.tanh(F.linear(pairs, steps["concat/W_c"].T))
    everyone, everything = pairs.chunk(2, dim=-1)
    scores = {
        "dot": torch.einsum("id,jd->ij", queries, keys),
        "scaled_dot": torch.einsum("id,jd->ij", queries, keys) / math.sqrt(queries.shape[1]),
        "general": F.bilinear(everyone.contiguous(), everything.contiguous(), W_a[None])[..., 0],
        "additive": steps["additive/hidden"] @ v_a,
        "concat": steps["concat/hidden"] @ v_a,
    }
    return scores, steps


def add(lesson, n_q, n_k, d, d_a, tag="", scale=1.0, **options):
    case = lesson.case(f"{n_q}x{n_k}", f"d{d}", f"a{d_a}", tag, **options)
    queries, keys = case.normal("queries", n_q, d, scale=scale), case.normal("keys", n_k, d)
    W_a, W_q, W_k = case.weight("W_a", d, d), case.weight("W_q", d, d_a), case.weight("W_k", d, d_a)
    v_a = case.normal("v_a", d_a, scale=d_a**-0.5)
    scores, steps = scores_of(queries, keys, W_a, W_q, W_k, v_a)
    for name, s in scores.items():
        steps[f"{name}/scores"], steps[f"{name}/weights"] = s, F.softmax(s, dim=-1)
        steps[f"{name}/context"] = steps[f"{name}/weights"] @ keys
    case.expect(steps)


def make(lesson):
    for n_q, n_k, d, d_a in ((1, 1, 1, 1), (2, 5, 3, 3), (5, 2, 7, 7), (6, 6, 8, 8), (1, 9, 4, 4), (3, 4, 5, 2),
                             (4, 3, 2, 9)):
        add(lesson, n_q, n_k, d, d_a)
    add(lesson, 3, 4, 6, 6, "large", scale=300)
    add(lesson, 3, 4, 6, 6, "tiny", scale=1e-4)
    add(lesson, 2, 3, 4, 4, source="I love cats", target="les chats")
    add(lesson, 4, 6, 5, 3, dtype="float32")
    add(lesson, 3, 3, 8, 8, dtype="float32")
