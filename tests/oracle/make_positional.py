#!/usr/bin/env python3
"""Cases for positional, each encoding computed the way that programs in PyTorch usually do it.

Sinusoidal as in the PyTorch tutorials (exp and log for the power), learned and relative through F.embedding with a
vector for every pair of tokens, T5's buckets as in Hugging Face's transformers, ALiBi with the authors' slopes, RoPE
as a product of complex numbers (adjacent pairs) or with rotate_half (halves).
"""

import math

import torch
import torch.nn.functional as F
from attention import mask_of, options, torch_of
from draws import Cases, Draws

MAN = "the dog bites the man".split()
COUNT = "one two three four five six seven eight nine ten eleven twelve".split()
BATCH = ["I love small cats".split(), "Cats sleep".split(), "We do too".split()]
ENCODINGS = ["sinusoidal", "learned", "relative", "t5", "alibi", "rope"]


def product(Q, K):
    return torch.einsum("...id,...jd->...ij", Q, K) / math.sqrt(Q.shape[-1])


def sinusoidal(X):
    n, d = X.shape[-2:]
    frequencies = torch.exp(torch.arange(0, d, 2) * -(math.log(10000.0) / d))
    angles = torch.arange(n).unsqueeze(1) * frequencies
    encoding = torch.zeros(n, d)
    encoding[:, 0::2], encoding[:, 1::2] = torch.sin(angles), torch.cos(angles)
    encoded = X + encoding
    return {"frequencies": frequencies, "angles": angles, "encoding": encoding, "similarity": encoding @ encoding.T,
            "encoded": encoded, "scores": product(encoded, encoded)}


def learned(X, draws):
    n, d = X.shape[-2:]
    table = torch_of(draws.weight(n, d))
    encoded = X + F.embedding(torch.arange(n), table)
    return {"table": table, "encoded": encoded, "scores": product(encoded, encoded)}


def distances_of(n):
    position = torch.arange(n)
    return position[None, :] - position[:, None]


def relative(X, draws):
    n, d = X.shape[-2:]
    keys = torch_of(draws.weight(9, d))
    distances = distances_of(n).clamp(-4, 4)
    key_of_pair = X[:, None, :, :] + F.embedding(distances + 4, keys)
    scores = torch.einsum("bid,bijd->bij", X, key_of_pair) / math.sqrt(d)
    return {"distances": distances, "keys": keys, "by_distance": torch.einsum("bid,rd->bir", X, keys),
            "scores": scores}


def t5_bucket(relative_position, num_buckets=32, max_distance=128):
    num_buckets //= 2
    buckets = (relative_position > 0).long() * num_buckets
    relative_position = relative_position.abs()
    max_exact = num_buckets // 2
    if_large = max_exact + (torch.log(relative_position.clamp(min=1).float() / max_exact)
                            / math.log(max_distance / max_exact) * (num_buckets - max_exact)).long()
    if_large = if_large.clamp(max=num_buckets - 1)
    return buckets + torch.where(relative_position < max_exact, relative_position, if_large)


def t5(X, draws, heads):
    table = torch_of(draws.weight(32, heads))
    buckets = t5_bucket(distances_of(X.shape[-2]))
    bias = F.embedding(buckets, table).permute(2, 0, 1)
    growth = t5_bucket(-torch.tensor([1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91, 128, 256]))
    return {"table": table, "buckets": buckets, "bias": bias, "growth": growth,
            "scores": product(X, X).unsqueeze(1) + bias}


def alibi(X, heads):
    start = 2 ** (-8 / heads)
    slopes = torch.tensor([start * start**i for i in range(heads)])
    bias = -slopes[:, None, None] * distances_of(X.shape[-2]).abs()
    return {"slopes": slopes, "bias": bias, "scores": product(X, X).unsqueeze(1) + bias}


def rope(X, pairing):
    n, d = X.shape[-2:]
    angles = torch.outer(torch.arange(n, dtype=torch.float64), 10000.0 ** (-torch.arange(0, d, 2) / d))
    if pairing == "adjacent":
        turns = torch.polar(torch.ones_like(angles), angles)
        rotated = torch.view_as_real(torch.view_as_complex(X.reshape(*X.shape[:-1], -1, 2)) * turns).flatten(-2)
    else:
        both = torch.cat([angles, angles], dim=-1)
        rotate_half = torch.cat([-X[..., d // 2:], X[..., : d // 2]], dim=-1)
        rotated = X * both.cos() + rotate_half * both.sin()
    return {"angles": angles, "Q_rotated": rotated, "K_rotated": rotated, "scores": product(rotated, rotated)}


def reordered(X, lengths):
    """The second and the last word of each sentence exchanged, or the only two. Those are different in all cases."""
    X = X.clone()
    for b, n in enumerate(lengths):
        first, second = (1, n - 1) if n > 2 else (0, n - 1)
        X[b, [first, second]] = X[b, [second, first]]
    return X


def positional_case(cases, sentences, d_model=8, heads=2, encoding="all", pairing="adjacent", seed=42,
                    weight_scale=None, dtype="float64"):
    draws = Draws(seed, weight_scale)
    X = torch_of(draws.embed(d_model, sentences))
    groups = {"without": {"scores": product(X, X)}}
    makers = {"sinusoidal": lambda: sinusoidal(X), "learned": lambda: learned(X, draws),
              "relative": lambda: relative(X, draws), "t5": lambda: t5(X, draws, heads),
              "alibi": lambda: alibi(X, heads), "rope": lambda: rope(X, pairing)}
    for name in ENCODINGS:
        if encoding in ("all", name):
            groups[name] = makers[name]()

    lengths = [len(s) for s in sentences]
    mask = mask_of(lengths, X.shape[1], X.shape[1])
    tensors = {"X": X}
    if not mask.all():
        tensors["mask"] = mask
    for name, group in groups.items():
        seen = mask.unsqueeze(1) if group["scores"].dim() == 4 else mask
        group["weights"] = F.softmax(group["scores"].masked_fill(~seen, -math.inf), dim=-1)
        tensors.update({f"{name}/{id}": tensor for id, tensor in group.items()})
    if max(lengths) > 1:
        moved = reordered(X, lengths)
        tensors["without/reordered"] = product(moved, moved)
    with_batch = ("X", "/reordered", "/encoded", "/by_distance", "_rotated", "/scores", "/weights")
    if len(sentences) == 1:
        tensors = {id: t[0] if id.endswith(with_batch) else t for id, t in tensors.items()}
    arguments = options(sentence=[" ".join(s) for s in sentences], d_model=d_model, heads=heads, encoding=encoding,
                        pairing=pairing, seed=seed, weight_scale=weight_scale, dtype=dtype)
    cases.add("positional " + arguments, tensors)


def main():
    cases = Cases("positional")
    positional_case(cases, [MAN])
    positional_case(cases, [MAN], dtype="float32", pairing="halves")
    positional_case(cases, [["Hello"]], d_model=2, heads=1)
    positional_case(cases, [COUNT], d_model=6, heads=3, pairing="halves", seed=7)
    positional_case(cases, BATCH, d_model=4, heads=2)
    positional_case(cases, BATCH, d_model=10, heads=1, pairing="halves", weight_scale="xavier", dtype="float32")
    for encoding in ("learned", "relative", "t5"):
        positional_case(cases, [MAN], d_model=5, heads=4, encoding=encoding, seed=3, weight_scale=0.3)
    positional_case(cases, [(COUNT * 2)[:20]], d_model=1, heads=1, encoding="t5")
    positional_case(cases, [MAN], d_model=3, heads=8, encoding="alibi")
    positional_case(cases, [COUNT], d_model=16, encoding="sinusoidal")
    positional_case(cases, [(COUNT * 2)[:20]], d_model=4, encoding="rope", seed=0)
    cases.save()


main()
