"""Scaled dot-product attention: F.softmax over masked scores."""

from attention import attention, dropout, mask_of, repeated


def add(lesson, n_q, n_k, d_k, d_v, batch=None, lengths=None, random_mask=False, tag="", scale=1.0, **options):
    batch = len(lengths) if lengths else batch
    case = lesson.case(f"{n_q}x{n_k}", f"d{d_k}x{d_v}", batch and f"batch-{batch}", lengths and "padded",
                       random_mask and "random-mask", tag, **options)
    case.lengths(lengths)
    Q, K = case.normal("Q", batch, n_q, d_k, scale=scale), case.normal("K", batch, n_k, d_k, scale=scale)
    V = case.normal("V", batch, n_k, d_v)
    mask = repeated(mask_of(n_q, n_k, lengths, options.get("causal"), options.get("window")), batch)
    if random_mask:
        mask = case.mask("mask", batch, n_q, n_k)
    steps = attention(Q, K, V, mask, options.get("temperature", 1.0), dropout(case, options.get("dropout")))
    if mask is not None:
        steps["mask"] = mask
    if batch == 1:  # one sample is shown without its axis
        steps = {id: step[0] for id, step in steps.items()}
    case.expect(steps)


def make(lesson):
    for n_q, n_k, d_k, d_v in ((1, 1, 1, 1), (2, 5, 3, 4), (5, 2, 7, 1), (6, 6, 8, 8), (4, 9, 16, 5), (1, 7, 5, 3),
                               (7, 1, 2, 6), (12, 20, 11, 13)):
        add(lesson, n_q, n_k, d_k, d_v)
    for n_q, n_k in ((6, 6), (2, 5), (5, 2), (1, 4)):
        add(lesson, n_q, n_k, 4, 3, causal=True)
        add(lesson, n_q, n_k, 3, 4, window=1)
        add(lesson, n_q, n_k, 5, 2, random_mask=True)
    add(lesson, 7, 7, 3, 3, window=0)
    add(lesson, 7, 9, 3, 3, causal=True, window=2)
    add(lesson, 5, 5, 4, 3, batch=1)
    add(lesson, 4, 4, 3, 5, batch=3)
    add(lesson, 3, 6, 5, 2, batch=2, causal=True)
    add(lesson, 5, 5, 4, 4, lengths=[5, 2, 1])
    add(lesson, 2, 4, 3, 3, lengths=[1, 4, 3, 2])
    add(lesson, 4, 4, 3, 2, lengths=[4, 3], causal=True)
    add(lesson, 6, 6, 3, 2, lengths=[2, 6, 4], window=1)
    add(lesson, 4, 5, 6, 3, batch=4, random_mask=True)
    add(lesson, 4, 5, 3, 3, lengths=[5, 2], random_mask=True)
    for temperature in (0.05, 0.5, 3, 100):
        add(lesson, 4, 5, 6, 3, temperature=temperature)
    add(lesson, 3, 3, 5, 4, lengths=[3, 2], temperature=0.5, causal=True)
    add(lesson, 5, 6, 4, 4, tag="large", scale=15)  # scores of ±1e3
    add(lesson, 5, 6, 4, 4, tag="large", scale=15, random_mask=True)
    add(lesson, 5, 6, 4, 4, tag="tiny", scale=1e-3)
    add(lesson, 5, 4, 3, 2, dropout=0.3)
    add(lesson, 3, 4, 3, 2, lengths=[4, 2], dropout=0.5)
    add(lesson, 6, 6, 8, 8, dtype="float32")
    add(lesson, 3, 8, 5, 7, dtype="float32", causal=True)
    add(lesson, 5, 5, 4, 3, dtype="float32", lengths=[5, 3], temperature=2)
    add(lesson, 6, 4, 7, 3, dtype="float32", batch=2, random_mask=True)
