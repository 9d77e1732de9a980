"""Attention across machines, from whole matrices.

Nothing travels here. What a query carries after a hop follows from the scores of all keys that it has met by then, and
what is sent from the sizes of the blocks.
"""

import numpy as np
from attention import mask_of, repeated


def blocks_of(order, n, ranks):
    """The positions of each rank."""
    position = np.arange(n)
    if order == "striped":
        return [position[position % ranks == rank] for rank in range(ranks)]
    if order == "zigzag":
        ends = [i * n // (2 * ranks) for i in range(2 * ranks + 1)]
        parts = [position[begin:end] for begin, end in zip(ends, ends[1:])]
        return [np.concatenate([parts[rank], parts[-1 - rank]]) for rank in range(ranks)]
    return [position[rank * n // ranks:(rank + 1) * n // ranks] for rank in range(ranks)]


def exp_difference(x, y):
    """exp(x - y), 0 where x is -inf."""
    return np.where(np.isneginf(x), 0.0, np.exp(np.where(np.isneginf(x), 0.0, x) - np.where(np.isneginf(x), 0.0, y)))


def carried(scores, V):
    """m, l, o of queries that have met these scores."""
    m = scores.max(axis=-1)
    shares = exp_difference(scores, m[..., None])
    return {"m": m, "l": shares.sum(axis=-1), "o": shares @ V}


def by_ring(scores, mask, V, blocks, heads, width, item):
    """All steps of the ring, for arrays [batch(×head)×query×...]."""
    ranks, n = len(blocks), scores.shape[-1]
    rank_of = np.empty(n, int)
    for rank, block in enumerate(blocks):
        rank_of[block] = rank
    holds = (np.arange(ranks)[:, None] - np.arange(ranks)) % ranks
    met, steps, before = np.full(scores.shape, -np.inf), {"holds": holds}, None
    for hop in range(ranks):
        here = rank_of == holds[rank_of, hop][:, None]
        now = np.where(here, scores, -np.inf)
        met = np.where(here, scores, met)
        state = carried(met, V)
        steps |= {f"hop={hop}/{name}": array for name, array in state.items()} | {f"hop={hop}/scores": now}
        if before is not None:
            steps[f"hop={hop}/c"] = exp_difference(before["m"], state["m"])
        before = state
    member = np.equal.outer(np.arange(ranks), rank_of).astype(int)
    pairs = heads * member @ mask @ member.T  # by rank of the query and rank of the key
    steps["work"] = np.stack([pairs[:, np.arange(ranks), holds[:, hop]] for hop in range(ranks)], axis=-1)
    sent = [n - len(blocks[(rank + 1) % ranks]) for rank in range(ranks)]
    steps["bytes"] = np.array(sent) * len(mask) * heads * width * item
    return steps


def by_heads(Q, K, V, scores, mask, blocks, heads, item):
    """All steps of the exchange over heads, for arrays [batch×head×query×...]."""
    ranks, n = len(blocks), scores.shape[-1]
    some, steps = heads // ranks, {}
    for rank in range(ranks):
        mine = slice(rank * some, (rank + 1) * some)
        state = carried(scores[:, mine], V[:, mine])
        total = np.where(state["l"] == 0, 1, state["l"])[..., None]
        named = {"Q": Q[:, mine], "K": K[:, mine], "V": V[:, mine], "scores": scores[:, mine],
                 "weights": exp_difference(scores[:, mine], state["m"][..., None]) / total,
                 "heads": state["o"] / total}
        steps |= {f"rank={rank}/{name}": array for name, array in named.items()}
    steps["work"] = np.repeat(mask.sum(axis=(1, 2))[:, None] * some, ranks, axis=1)
    tokens = np.array([len(block) for block in blocks])
    there = tokens * (heads - some) * (2 * Q.shape[-1] + V.shape[-1])
    steps["bytes"] = (there + (n - tokens) * some * V.shape[-1]) * len(mask) * item
    return steps


def add(lesson, n, d_k, d_v, heads=None, lengths=None, random_mask=False, **options):
    case = lesson.case(f"{n}", f"d{d_k}x{d_v}", lengths and f"lengths-{len(lengths)}", random_mask and "random-mask",
                       heads=heads, **options)
    case.lengths(lengths)
    batch = len(lengths) if lengths else None
    Q, K = (np.asarray(case.normal(id, batch, heads, n, d_k)) for id in ("Q", "K"))
    V = np.asarray(case.normal("V", batch, heads, n, d_v))
    shown = mask_of(n, n, lengths, options.get("causal"), options.get("window"))
    shown = case.mask("mask", batch, n, n) if random_mask else repeated(shown, batch)
    many = heads or 1
    mask = np.ones((n, n), int) if shown is None else np.asarray(shown).astype(int)
    mask = np.broadcast_to(mask, (batch or 1, n, n))
    whole = [array.reshape(batch or 1, many, n, -1) for array in (Q, K, V)]
    scores = whole[0] @ whole[1].swapaxes(2, 3) / np.sqrt(d_k)
    scores = np.where(mask[:, None] != 0, scores, -np.inf)
    state = carried(scores, whole[2])
    blocks = blocks_of(options.get("order"), n, options.get("ranks", 4))
    item = case.dtype.itemsize
    if options.get("way") == "heads":
        steps = by_heads(*whole, scores, mask, blocks, many, item)
    else:
        steps = by_ring(scores, mask, whole[2], blocks, many, d_k + d_v, item)
    steps["output"] = state["o"] / np.where(state["l"] == 0, 1, state["l"])[..., None]
    for id in steps:
        if heads is None and id.startswith(("hop=", "output")):
            steps[id] = steps[id][:, 0]  # one attention has no axis of heads
        if batch is None and id not in ("holds", "bytes"):
            steps[id] = steps[id][0]
    if shown is not None:
        steps["mask"] = np.asarray(shown)
    case.expect(steps)


def make(lesson):
    for n, d_k, d_v in ((1, 1, 1), (4, 3, 2), (8, 4, 2), (13, 5, 7)):
        add(lesson, n, d_k, d_v)
    for order in ("contiguous", "striped", "zigzag"):
        add(lesson, 9, 3, 4, ranks=3, order=order, causal=True)
        add(lesson, 11, 2, 3, ranks=5, order=order, window=2)
        add(lesson, 7, 4, 4, ranks=2, order=order, random_mask=True)
        add(lesson, 6, 3, 2, heads=2, lengths=[6, 2], ranks=3, order=order, causal=True)
    add(lesson, 5, 4, 3, ranks=1)
    add(lesson, 3, 4, 3, ranks=8, causal=True)
    add(lesson, 8, 4, 3, heads=3, ranks=4)
    add(lesson, 6, 3, 3, lengths=[6, 1, 4], ranks=2)
    add(lesson, 8, 4, 2, ranks=4, dtype="float32")
    add(lesson, 8, 4, 2, heads=4, ranks=2, way="heads")
    add(lesson, 7, 3, 2, heads=3, ranks=3, way="heads", causal=True)
    add(lesson, 5, 2, 3, heads=2, lengths=[5, 3], ranks=2, way="heads", dtype="float32")
    add(lesson, 6, 3, 4, heads=4, ranks=4, way="heads", random_mask=True)
