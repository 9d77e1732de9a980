#!/usr/bin/env python3
"""Cases for the lesson stability, computed by NumPy with its own float32 and float16.

Every number is computed in float64 from rounded numbers and rounded once; NumPy's float16 functions, which compute in
float32, and PyTorch's softmax and logsumexp must agree.
"""

import numpy as np
import torch
import torch.nn.functional as F
from attention import options
from draws import Cases, Draws

SIZES = np.array([1.0, 10.0, 100.0, 1000.0])
TEMPERATURES = np.array([0.01, 0.1, 1.0, 10.0, 100.0])


def rounded(x, dtype):
    return np.asarray(x).astype(dtype).astype(np.float64)


def forms(scores, dtype):
    """Both forms of softmax, each element rounded to `dtype`."""
    t = {"naive/exp": rounded(np.exp(scores), dtype)}
    t["naive/sum"] = rounded(t["naive/exp"].sum(axis=-1), dtype)
    t["naive/weights"] = rounded(t["naive/exp"] / t["naive/sum"][:, None], dtype)
    t["stable/max"] = scores.max(axis=-1)
    t["stable/shifted"] = rounded(scores - t["stable/max"][:, None], dtype)
    t["stable/exp"] = rounded(np.exp(t["stable/shifted"]), dtype)
    t["stable/sum"] = rounded(t["stable/exp"].sum(axis=-1), dtype)
    t["stable/weights"] = rounded(t["stable/exp"] / t["stable/sum"][:, None], dtype)
    log_sum = rounded(np.log(t["stable/sum"]), dtype)
    t["logsumexp/naive"] = rounded(np.log(t["naive/sum"]), dtype)
    t["logsumexp/stable"] = rounded(t["stable/max"] + log_sum, dtype)
    t["logsumexp/log_of_weights"] = rounded(np.log(t["stable/weights"]), dtype)
    t["logsumexp/log_weights"] = rounded(t["stable/shifted"] - log_sum[:, None], dtype)
    return t


def check_half(scores, t):
    """NumPy's own half precision gives the same exponentials and shares."""
    half = scores.astype(np.float16)
    assert np.array_equal(np.exp(half).astype(np.float64), t["naive/exp"])
    shares = t["stable/exp"].astype(np.float16) / t["stable/sum"].astype(np.float16)[:, None]
    assert np.array_equal(shares.astype(np.float64), t["stable/weights"])


def check_torch(scores, t, tolerance):
    scores = torch.from_numpy(scores)
    expected = {
        "stable/weights": F.softmax(scores, dim=-1), "logsumexp/log_weights": F.log_softmax(scores, dim=-1),
        "logsumexp/stable": torch.logsumexp(scores, dim=-1),
    }
    for id, tensor in expected.items():
        assert np.allclose(tensor, t[id], rtol=tolerance, atol=tolerance)


def narrower(scores, dtype):
    """What a group holds that is not the run's own."""
    own = rounded(scores, dtype)
    t = forms(own, dtype)
    if dtype == np.float16:
        check_half(own, t)
    shown = ("naive/exp", "naive/sum", "naive/weights", "stable/shifted", "stable/weights")
    return {"scores": own, **{id: t[id] for id in shown}}


def fills(row):
    """The scores [key] of two queries in half precision: the last key hidden, all keys hidden."""
    mask = np.zeros((2, len(row)), dtype=bool)
    mask[0, :-1] = True
    half = np.float16
    row = row.astype(half)
    t = {"mask": mask}
    filled = {
        "fill=-1e9": np.where(mask, row, half(-1e9)),
        "fill=-65504": np.where(mask, row, half(-65504)),
        "added": np.where(mask, row, row + half(-65504) + half(-65504)),
    }
    for group, masked in filled.items():
        assert masked.dtype == half
        masked = masked.astype(np.float64)
        t[f"{group}/masked"] = masked
        t[f"{group}/weights"] = forms(masked, half)["stable/weights"]
    return t


def temperatures(row):
    weights = F.softmax(torch.from_numpy(row / TEMPERATURES[:, None]), dim=-1)
    jacobians = torch.diag_embed(weights) - weights[:, :, None] * weights[:, None, :]
    return {
        "temperature/weights": weights,
        "temperature/entropy": torch.special.entr(weights).sum(dim=-1),
        "temperature/jacobian": torch.linalg.matrix_norm(jacobians) / torch.from_numpy(TEMPERATURES),
    }


def grouped(group, tensors):
    return {f"{group}/{id}": tensor for id, tensor in tensors.items()}


def case(cases, sentence, seed=42, dtype="float64"):
    scores = SIZES[:, None] * Draws(seed).normal(len(sentence))
    scores = rounded(scores, dtype)
    t = {"scores": scores, **forms(scores, dtype)}
    check_torch(scores, t, 1e-12 if dtype == "float64" else 1e-5)
    if dtype == "float64":
        t.update(grouped("float32", narrower(scores, np.float32)))
    t.update(grouped("float16", narrower(scores, np.float16)))
    t.update(grouped("float16", fills(t["float16/scores"][0])))
    t.update(temperatures(scores[0]))
    cases.add("stability " + options(sentence=" ".join(sentence), seed=seed, dtype=dtype), t)


def main():
    cases = Cases("stability")
    with np.errstate(all="ignore"):
        for dtype in ("float64", "float32"):
            case(cases, "The cat sat on the mat".split(), dtype=dtype)
            case(cases, ["Word"], seed=1, dtype=dtype)
            case(cases, ["Word"], seed=2, dtype=dtype)  # a negative score
            case(cases, "I love cats".split(), seed=7, dtype=dtype)
            case(cases, [f"w{i}" for i in range(40)], seed=3, dtype=dtype)
    cases.save()


main()
