"""Softmax in finite numbers, by NumPy with its own float32 and float16.

Every number is computed in float64 from rounded numbers and rounded once; NumPy's float16 functions, which compute in
float32, and PyTorch's softmax and logsumexp must agree.
"""

import numpy as np
import torch
import torch.nn.functional as F

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
        "weights": weights,
        "entropy": torch.special.entr(weights).sum(dim=-1),
        "jacobian": torch.linalg.matrix_norm(jacobians) / torch.from_numpy(TEMPERATURES),
    }


def add(lesson, n, sizes=SIZES, tag="", dtype="float64"):
    case = lesson.case(f"{n}-keys", tag, dtype=dtype)
    row = case.random.normal(size=n)
    scores = case.give("scores", np.outer(sizes, row)).numpy()
    with np.errstate(all="ignore"):
        t = forms(scores, case.dtype)
        check_torch(scores, t, 1e-12 if dtype == "float64" else 1e-5)
        case.expect(t)
        if dtype == "float64":
            case.expect(narrower(scores, np.float32), "float32/")
        half = narrower(scores, np.float16)
        case.expect({**half, **fills(half["scores"][0])}, "float16/")
        case.expect(temperatures(scores[0]), "temperature/")


def make(lesson):
    for dtype in ("float64", "float32"):
        for n in (1, 2, 6, 31):
            add(lesson, n, dtype=dtype)
        add(lesson, 5, SIZES * 1.7, "larger", dtype=dtype)
        add(lesson, 7, -SIZES, "negative", dtype=dtype)
