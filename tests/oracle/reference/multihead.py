"""Multi-head attention, which nn.functional.multi_head_attention_forward confirms where it can, and F.layer_norm."""

from attention import biases_of, dropout, layer_norm, mask_of, multihead, multihead_weights, norm_inputs, repeated


def add(lesson, n, d_model, heads, kv_heads=None, d_k=None, d_v=None, batch=None, lengths=None, random_mask=False,
        tag="", scale=1.0, has_biases=False, **options):
    batch, sizes = len(lengths) if lengths else batch, (d_k or d_v) and f"{d_k}x{d_v}"
    case = lesson.case(f"{n}-tokens", f"d{d_model}", sizes, batch and f"batch-{batch}", lengths and "padded",
                       random_mask and "random-mask", has_biases and "biases", tag, heads=heads, kv_heads=kv_heads, **options)
    case.lengths(lengths)
    X = case.normal("X", batch, n, d_model, scale=scale)
    weights = multihead_weights(case, d_model, heads, kv_heads, d_k, d_v)
    biases = biases_of(case, weights) if has_biases else None
    mask = repeated(mask_of(n, n, lengths, options.get("causal"), options.get("window")), batch)
    if random_mask:
        mask = case.mask("mask", batch, n, n)
    steps = multihead(X, X, weights, heads, kv_heads, mask, options.get("temperature", 1.0),
                      dropout(case, options.get("dropout")), biases)
    last = steps["output"]
    if options.get("residual"):
        last = steps["residual"] = X + last
    if options.get("norm"):
        steps["normalized"] = layer_norm(last, *norm_inputs(case, "norm", d_model))
    case.expect(steps if mask is None else {"mask": mask, **steps})


def make(lesson):
    for n, d_model, heads in ((1, 1, 1), (3, 4, 1), (5, 6, 2), (2, 9, 3), (6, 8, 4), (4, 8, 8), (10, 12, 4)):
        add(lesson, n, d_model, heads)
    for heads, kv_heads in ((2, 1), (4, 1), (4, 2), (8, 2), (6, 3)):
        add(lesson, 4, 24 if heads == 6 else 8, heads, kv_heads)
    add(lesson, 4, 5, 2, d_k=3, d_v=4)
    add(lesson, 4, 7, 3, d_k=1, d_v=5)
    add(lesson, 3, 6, 4, 2, d_k=5, d_v=3)
    for heads in (1, 2, 3):
        add(lesson, 5, 6, heads, causal=True)
        add(lesson, 5, 6, heads, random_mask=True)
    add(lesson, 6, 8, 4, 2, window=1)
    add(lesson, 6, 8, 4, 1, causal=True, window=2)
    add(lesson, 4, 6, 2, batch=3)
    add(lesson, 4, 6, 3, batch=2, random_mask=True)
    add(lesson, 4, 6, 2, lengths=[4, 1, 3])
    add(lesson, 4, 8, 4, 2, lengths=[2, 4], causal=True)
    add(lesson, 3, 8, 8, 1, lengths=[3, 2, 1, 3], temperature=0.5)
    add(lesson, 4, 6, 2, temperature=5)
    add(lesson, 4, 6, 2, tag="large", scale=25)
    add(lesson, 4, 6, 3, dropout=0.1)
    add(lesson, 4, 6, 2, lengths=[4, 2], dropout=0.5, causal=True)
    add(lesson, 4, 6, 2, residual=True)
    add(lesson, 4, 6, 2, norm=True)
    add(lesson, 4, 6, 3, lengths=[3, 4], residual=True, norm=True, causal=True)
    add(lesson, 5, 8, 4, 2, residual=True, norm=True, dropout=0.2)
    add(lesson, 4, 6, 3, has_biases=True)
    add(lesson, 5, 8, 2, has_biases=True, lengths=[5, 3], causal=True)
    add(lesson, 4, 8, 4, 2, d_k=3, d_v=5, has_biases=True)
    add(lesson, 6, 8, 2, dtype="float32")
    add(lesson, 5, 6, 3, dtype="float32", lengths=[5, 2], causal=True, residual=True, norm=True)
    add(lesson, 5, 8, 4, 2, dtype="float32", random_mask=True)
    add(lesson, 4, 8, 8, dtype="float32", temperature=0.5, dropout=0.25)
