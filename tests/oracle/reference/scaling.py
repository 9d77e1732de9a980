"""The lesson's own NumPy recipe, with the softmax and its Jacobian by PyTorch. Its inputs are counts, which options
say as well; the vectors are drawn with numpy.random.RandomState."""

import numpy as np
import torch


def statistics(scores, d_k):
    """Mean, variance and standard deviation of the scores, and what softmax makes of rows of 16, raw and scaled."""
    rows = torch.from_numpy(scores[: len(scores) // 16 * 16].reshape(-1, 16))
    found = {"mean": scores.mean(), "variance": scores.var(), "std": scores.std()}
    for name, row_scores in (("raw", rows), ("scaled", rows / np.sqrt(d_k))):
        weights = torch.softmax(row_scores, dim=-1)
        jacobians = torch.diag_embed(weights) - weights[:, :, None] * weights[:, None, :]
        found[f"entropy_{name}"] = torch.special.entr(weights).sum(dim=-1).mean().item()
        found[f"max_weight_{name}"] = weights.max(dim=-1).values.mean().item()
        found[f"jacobian_{name}"] = torch.linalg.matrix_norm(jacobians).mean().item()
    return found


def add(lesson, dimensions, samples, seed=42, from_file=False):
    if from_file:
        case = lesson.case("from-file", "d_k", *dimensions, "samples", samples, seed=seed)
        case.give("d_k", dimensions, [("<i4", "C")])
        case.give("samples", samples, [("<i8", "C")])
    else:
        case = lesson.case(d_k=",".join(map(str, dimensions)), samples=samples, seed=seed)
    random = np.random.RandomState(seed)
    columns = []
    for d_k in dimensions:
        query = random.normal(0, 1, (samples, d_k))
        key = random.normal(0, 1, (samples, d_k))
        columns.append(statistics((query * key).sum(axis=1), d_k))
    case.expect({"d_k": dimensions, "samples": samples})
    case.expect({name: np.array([column[name] for column in columns]) for name in columns[0]})


def make(lesson):
    add(lesson, [4, 16, 64, 256], 4096)
    add(lesson, [1], 16, seed=0)
    add(lesson, [64, 2, 64], 1000, seed=7)
    add(lesson, [512, 3], 333, seed=4294967295)
    add(lesson, [9, 25, 100], 500, seed=3)
    add(lesson, [8, 128], 640, seed=5, from_file=True)
