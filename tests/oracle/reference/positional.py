"""Each encoding of positions computed the way that programs in PyTorch usually do it.

Sinusoidal as in the PyTorch tutorials (exp and log for the power), learned and relative through F.embedding with a
vector for every pair of tokens, T5's buckets as in Hugging Face's transformers, ALiBi with the authors' slopes, RoPE
as a product of complex numbers (adjacent pairs) or with rotate_half (halves).
"""

import math

import torch
import torch.nn.functional as F
from attention import mask_of

ENCODINGS = ["sinusoidal", "learned", "relative", "t5", "alibi", "rope"]


def product(Q, K):
    return torch.einsum("...id,...jd->...ij", Q, K) / math.sqrt(Q.shape[-1])


def frequencies_of(d):
    return torch.exp(torch.arange(0, d, 2) * -(math.log(10000.0) / d))


def sinusoidal_table(n, d):
    angles = torch.arange(n).unsqueeze(1) * frequencies_of(d)
    table = torch.zeros(n, d)
    table[:, 0::2], table[:, 1::2] = torch.sin(angles), torch.cos(angles)
    return table, angles


def sinusoidal(X):
    n, d = X.shape[-2:]
    encoding, angles = sinusoidal_table(n, d)
    encoded = X + encoding
    return {"frequencies": frequencies_of(d), "angles": angles, "encoding": encoding,
            "similarity": encoding @ encoding.T, "encoded": encoded, "scores": product(encoded, encoded)}


def learned(X, table):
    encoded = X + F.embedding(torch.arange(len(table)), table)
    return {"encoded": encoded, "scores": product(encoded, encoded)}


def distances_of(n):
    position = torch.arange(n)
    return position[None, :] - position[:, None]


def relative(X, keys):
    distances = distances_of(X.shape[-2]).clamp(-4, 4)
    key_of_pair = X[..., None, :, :] + F.embedding(distances + 4, keys)
    scores = torch.einsum("...id,...ijd->...ij", X, key_of_pair) / math.sqrt(X.shape[-1])
    return {"distances": distances, "by_distance": torch.einsum("...id,rd->...ir", X, keys), "scores": scores}


def t5_bucket(relative_position, num_buckets=32, max_distance=128):
    num_buckets //= 2
    buckets = (relative_position > 0).long() * num_buckets
    relative_position = relative_position.abs()
    max_exact = num_buckets // 2
    if_large = max_exact + (torch.log(relative_position.clamp(min=1).float() / max_exact)
                            / math.log(max_distance / max_exact) * (num_buckets - max_exact)).long()
    if_large = if_large.clamp(max=num_buckets - 1)
    return buckets + torch.where(relative_position < max_exact, relative_position, if_large)


def t5(X, table):
    buckets = t5_bucket(distances_of(X.shape[-2]))
    bias = F.embedding(buckets, table).permute(2, 0, 1)
    growth = t5_bucket(-torch.tensor([1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91, 128, 256]))
    return {"buckets": buckets, "bias": bias, "growth": growth, "scores": product(X, X).unsqueeze(-3) + bias}


def alibi(X, heads):
    start = 2 ** (-8 / heads)
    slopes = torch.tensor([start * start**i for i in range(heads)])
    bias = -slopes[:, None, None] * distances_of(X.shape[-2]).abs()
    return {"slopes": slopes, "bias": bias, "scores": product(X, X).unsqueeze(-3) + bias}


def rope(X, pairing):
    n, d = X.shape[-2:]
    angles = torch.outer(torch.arange(n, dtype=torch.float64), 10000.0 ** (-torch.arange(0, d, 2) / d))
    if pairing == "halves":
        both = torch.cat([angles, angles], dim=-1)
        rotate_half = torch.cat([-X[..., d // 2:], X[..., : d // 2]], dim=-1)
        rotated = X * both.cos() + rotate_half * both.sin()
    else:
        turns = torch.polar(torch.ones_like(angles), angles)
        rotated = torch.view_as_real(torch.view_as_complex(X.reshape(*X.shape[:-1], -1, 2)) * turns).flatten(-2)
    return {"angles": angles, "Q_rotated": rotated, "K_rotated": rotated, "scores": product(rotated, rotated)}


def reordered(X, lengths):
    """The second and the last word of each sentence exchanged, or the only two."""
    samples = X.clone().reshape(-1, *X.shape[-2:])
    for sample, n in zip(samples, lengths):
        first, second = (1, n - 1) if n > 2 else (0, n - 1)
        sample[[first, second]] = sample[[second, first]]
    return samples.reshape(X.shape)


def add(lesson, n, d_model, batch=None, lengths=None, tag="", heads=2, **options):
    batch, encoding = len(lengths) if lengths else batch, options.get("encoding")
    case = lesson.case(f"{n}-tokens", f"d{d_model}", batch and f"batch-{batch}", lengths and "padded", tag, heads=heads,
                       **options)
    case.lengths(lengths)
    X = case.normal("X", batch, n, d_model)
    shown = [encoding] if encoding else ENCODINGS
    makers = {"sinusoidal": lambda: sinusoidal(X),
              "learned": lambda: learned(X, case.weight("learned/table", n, d_model)),
              "relative": lambda: relative(X, case.weight("relative/keys", 9, d_model)),
              "t5": lambda: t5(X, case.weight("t5/table", 32, heads)), "alibi": lambda: alibi(X, heads),
              "rope": lambda: rope(X, options.get("pairing"))}
    groups = {"without": {"scores": product(X, X)}, **{name: makers[name]() for name in shown}}
    mask = mask_of(n, n, lengths)
    if mask is not None:
        case.expect({"mask": mask})
    for name, group in groups.items():
        has_heads = name in ("t5", "alibi")
        seen = group["scores"]
        if mask is not None:
            seen = seen.masked_fill(~(mask.unsqueeze(-3) if has_heads else mask), -math.inf)
        weights = F.softmax(seen, dim=-1)
        output = {"output": weights @ X} if name == "rope" else {}
        case.expect({**group, "weights": weights, **output}, f"{name}/")
    if n > 1:
        moved = reordered(X, lengths or [n] * (batch or 1))
        case.expect({"without/reordered": product(moved, moved)})


def make(lesson):
    add(lesson, 5, 8)
    add(lesson, 1, 2, heads=1)
    add(lesson, 2, 4, heads=3, pairing="halves")
    add(lesson, 12, 6, heads=4, pairing="halves")
    add(lesson, 4, 6, batch=2)
    add(lesson, 4, 4, lengths=[4, 1, 3])
    add(lesson, 3, 2, lengths=[2, 3], heads=8, pairing="halves")
    for encoding in ("learned", "relative", "t5", "alibi"):
        add(lesson, 6, 5, heads=3, encoding=encoding)
    add(lesson, 24, 1, heads=1, encoding="t5")
    add(lesson, 40, 2, heads=1, encoding="t5")
    add(lesson, 7, 3, heads=6, encoding="alibi")
    add(lesson, 16, 10, encoding="sinusoidal")
    add(lesson, 20, 4, encoding="rope")
    add(lesson, 9, 12, encoding="rope", pairing="halves", lengths=[9, 4])
    add(lesson, 5, 6, heads=2, dtype="float32")
    add(lesson, 6, 10, heads=1, dtype="float32", lengths=[6, 2], pairing="halves")
