"""What each layer should take, by the formulas of the papers and, for the ways between tokens, by powers of the matrix
of who reads whom. The inputs are counts, which options say as well."""

import numpy as np


def reads(n, mask):
    i, j = np.indices((n, n))
    return mask(i, j)


def layers_between_ends(mask):
    """The smallest L for which the last row of mask^L has its first element."""
    n = len(mask)
    reached = np.eye(n, dtype=int)
    for layers in range(1, n + 2):
        reached = (mask.astype(int) @ reached > 0).astype(int)
        if reached[n - 1, 0]:
            return layers
    raise ValueError("never")


class Costs:
    """(multiply_adds, bytes, sequential steps, path length) of each layer for n tokens of d numbers."""

    def __init__(self, window, block, rank, features, heads, bytes_each):
        self.window, self.block, self.rank, self.heads, self.bytes_each = window, block, rank, heads, bytes_each
        self.features = features

    def masked(self, mask, d, held=None):
        pairs = int(mask.sum())
        return pairs * 2 * d, (pairs if held is None else held) * self.bytes_each, 1, layers_between_ends(mask)

    def of(self, n, d):
        w, b, r, m = self.window, self.block, self.rank, self.features or 2 * d
        band = reads(n, lambda i, j: abs(i - j) <= w)
        everything = np.ones((n, n), dtype=bool)
        blocks = -(-n // b)
        numbers = self.bytes_each
        summed = n * d * (2 * d + 1), d * (d + 1) * numbers
        return {
            "recurrence": (2 * n * d * d, d * numbers, n, n),
            "convolution": (int(band.sum()) * d * d, 0, 1, layers_between_ends(band)),
            "projections": (4 * n * d * d,),
            "full": self.masked(everything, d),
            "local": self.masked(band, d),
            "sliding": self.masked(reads(n, lambda i, j: (i >= j) & (i - j <= w)), d),
            "sparse": self.masked(reads(n, lambda i, j: (abs(i - j) < b) | (abs(i - j) % b == 0)), d),
            "linear": (*summed, 2, 2),
            "linear/causal": (*summed, n + 1, n + 1),
            "chunked": self.masked(everything, d, min(b, n) * n),
            "flash": (2 * n * n * d + n * (blocks - 1) * (d + 1), min(b, n) ** 2 * numbers, blocks, blocks),
            "linformer": (4 * n * r * d, n * r * numbers, 2, 2),
            "performer": (2 * n * d * (m + 1) + n * m * (2 * d + 1), m * (d + 1) * numbers, 2, 2),
            "gqa": (2 * n * n * d, self.heads * n * n * numbers, 1, 1),
        }


def add(lesson, lengths=(4, 8, 16, 32, 64), d_model=8, window=2, block=4, rank=4, features=None, heads=2, kv_heads=1,
        from_file=False, **options):
    settings = {"window": window, "block": block, "rank": rank, "features": features, "heads": heads,
                "kv_heads": kv_heads}
    if from_file:
        case = lesson.case("from-file", "n", *lengths, f"d{d_model}", **settings, **options)
        case.give("n", lengths, [("<i4", "C")])
        case.give("d", d_model, [("<i8", "C")])
    else:
        case = lesson.case(lengths=",".join(map(str, lengths)), d_model=d_model, **settings, **options)
    costs = Costs(window, block, rank, features, heads, case.dtype.itemsize)
    table = [costs.of(n, d_model) for n in lengths]
    t = {"n": list(lengths), "d": d_model}
    for layer in table[0]:
        rows = list(zip(*(column[layer] for column in table)))
        for quantity, row in zip(("multiply_adds", "score_bytes", "sequential_steps", "path_length"), rows):
            t[f"{layer}/{quantity}"] = row
    for n in range(1, max(lengths) + 1):
        here = costs.of(n, d_model)
        for layer, (multiply_adds, *_) in here.items():
            if layer != "projections" and multiply_adds < here["full"][0]:
                t.setdefault(f"{layer}/crossing", n)
    t["multiply_adds"] = [t[f"{layer}/multiply_adds"] for layer in ("recurrence", "full", "local", "linear")]
    t["layer/multiply_adds"] = [[8 * n * d_model ** 2 for n in lengths],
                                [4 * n * d_model ** 2 + 2 * n ** 2 * d_model for n in lengths]]
    t["score_bytes"] = [t[f"{layer}/score_bytes"] for layer in ("full", "chunked", "local", "flash")]
    by_d = [costs.of(lengths[0], factor * d_model) for factor in (1, 2, 4)]
    t["multiply_adds_by_d"] = [[column[layer][0] for column in by_d] for layer in (
        "recurrence", "convolution", "projections", "full", "local", "sparse", "linear", "flash", "linformer",
        "performer")]
    case.expect({id: np.array(tensor) for id, tensor in t.items()})


def make(lesson):
    add(lesson)
    add(lesson, (1,))
    add(lesson, (1, 2, 3, 5, 11, 23), d_model=6, window=1, block=3, rank=2, features=5, heads=3)
    add(lesson, (40, 7), d_model=12, window=4, block=7, rank=9, heads=4, kv_heads=2, dtype="float32")
    add(lesson, (5, 9), d_model=3, window=100, block=100, rank=1, heads=1)
    add(lesson, (3, 50), d_model=1, window=7, block=1, heads=1)
    add(lesson, (2, 20), d_model=4, from_file=True)
