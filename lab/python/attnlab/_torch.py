"""Checks attention in torch: runs a module once and hands to check what hooks see of it."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from ._program import Refused, listed
from ._results import check

HEADS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "kv_heads")


def count(module, names):
    """The first of these attributes that the module or its config has."""
    numbers = (getattr(place, name, None) for place in (module, getattr(module, "config", None)) for name in names)
    return next((number for number in numbers if isinstance(number, int)), None)


@contextmanager
def watched(places, functional):
    """What passes these places, by id: (module, id of its input or None, id of its output or None)."""
    seen = {}

    def keep(value, id):
        if id and hasattr(value, "detach"):
            seen[id] = value.detach().clone()
        return value

    def watching(query, *rest, **named):
        return keep(kernel(keep(query, "Q_heads"), *rest, **named), "heads")

    with ExitStack() as stack:
        for module, into, out_of in places:
            def hook(_, given, result, into=into, out_of=out_of):
                keep(given[0] if given else None, into)
                keep(listed(result)[0], out_of)
            stack.callback(module.register_forward_hook(hook).remove)
        kernel = getattr(functional, "scaled_dot_product_attention", None)
        if kernel:
            stack.enter_context(patch.object(functional, "scaled_dot_product_attention", watching))
        yield seen


def capture(module, X=None, *, call=None, causal=False, **options):
    """Runs a module of torch and checks what hooks see of it against its own weights: a Report, with it as `seen`.
    Knows nn.MultiheadAttention, nn.TransformerEncoderLayer and modules with q_proj, k_proj, v_proj and o_proj (or
    out_proj) inside. X is [batch × token × d_model], drawn where it is not given. `call(module, X)` runs a module
    that wants more than X; with causal=True the two of torch get a mask, and others are to have one of their own.
    Options are those of check: `heads=4` where no attribute of the module says it, `hint=1`. It stays as it is."""
    import torch
    lesson, part, turned = "multihead", module, False
    if isinstance(module, torch.nn.MultiheadAttention):
        places, width, turned = [(module, None, "output")], module.embed_dim, not module.batch_first
        call = call or (lambda module, X: module(X, X, X, attn_mask=mask, average_attn_weights=False))
    elif isinstance(module, torch.nn.TransformerEncoderLayer):
        lesson, inner, first = "transformer-block", module.self_attn, module.norm_first
        places = [(module.norm1, None if first else "residual_1", "norm_1"), (inner, None, "attention/output"),
                  (module.norm2, "residual_1" if first else "residual_2", "norm_2" if first else None),
                  (module.linear2, "ffn/hidden", "ffn/output"), (module, None, "output")]
        width, turned = inner.embed_dim, not inner.batch_first
        options = {"activation": "gelu" if module.activation is torch.nn.functional.gelu else "relu",
                   "norm": "pre" if first else "post", "heads": inner.num_heads, **options}
        call = call or (lambda module, X: module(X, src_mask=mask))
    else:
        inside = {name: one for name, one in module.named_modules() if isinstance(one, torch.nn.MultiheadAttention) or
                  all(hasattr(one, each + "_proj") for each in "qkv")}
        part = next(iter(inside.values()), None)
        if len(inside) != 1 or isinstance(part, torch.nn.MultiheadAttention):
            raise Refused(f"{type(module).__name__} has {len(inside)} attentions inside ({', '.join(inside)}); valid:"
                          " one nn.MultiheadAttention, nn.TransformerEncoderLayer, or q_proj, k_proj, v_proj, o_proj")
        last = getattr(part, "o_proj", None) or getattr(part, "out_proj", None)
        places = [(part.q_proj, "X", "Q"), (part.k_proj, None, "K"), (part.v_proj, None, "V")]
        places += [(last, "concat", "output")] if last else []
        width, options = part.q_proj.in_features, {"kv_heads": count(part, KV_HEADS), **options}
    options.setdefault("heads", count(part, HEADS))
    if options["heads"] is None:
        raise Refused(f"{type(part).__name__} has no number of heads; valid: heads=N, or one of {', '.join(HEADS)}")
    X = torch.randn(2, 5, width, generator=torch.Generator().manual_seed(42)) if X is None else X
    X = X.detach().to(next(part.parameters())).requires_grad_()  # with a gradient torch takes no path without hooks
    length, modes = X.shape[1], [(one, one.training) for one in module.modules()]
    mask = torch.ones(length, length, dtype=torch.bool, device=X.device).triu(1) if causal else None
    module.eval()
    try:
        with torch.enable_grad(), watched(places, lesson == "multihead" and torch.nn.functional) as seen:
            result = (call or (lambda module, X: module(X)))(module, X.transpose(0, 1) if turned else X)
    finally:
        for one, mode in modes:
            one.training = mode
    seen = {id: value.transpose(0, 1) if turned and value.ndim == 3 else value for id, value in seen.items()}
    seen.update({"weights": w for w in listed(result)[1:] if getattr(w, "ndim", 0) == 4 and w.shape[-1] == length})
    report = check(lesson, {"X": X, **seen}, input=dict(part.state_dict()), causal=causal, **options)
    report.seen = seen
    return report
