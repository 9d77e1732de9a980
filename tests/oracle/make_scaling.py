#!/usr/bin/env python3
"""Cases for scaling: the lesson's own NumPy recipe, with the softmax and its Jacobian by PyTorch."""

import numpy as np
import torch
from draws import Cases


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


def case(cases, dimensions, samples, seed=42):
    random = np.random.RandomState(seed)
    columns = []
    for d_k in dimensions:
        query = random.normal(0, 1, (samples, d_k))
        key = random.normal(0, 1, (samples, d_k))
        columns.append(statistics((query * key).sum(axis=1), d_k))
    tensors = {name: [column[name] for column in columns] for name in columns[0]}
    listed = ",".join(map(str, dimensions))
    cases.add(f"scaling --d-k {listed} --samples {samples} --seed {seed}",
              {"d_k": dimensions, "samples": samples, **tensors})


def main():
    cases = Cases("scaling")
    case(cases, [4, 16, 64, 256], 4096)
    case(cases, [1], 16, seed=0)
    case(cases, [64, 2, 64], 1000, seed=7)
    case(cases, [512, 3], 333, seed=4294967295)
    cases.save()


main()
