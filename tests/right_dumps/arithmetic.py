"""Floating-point arithmetic of any type, in any order of summation: every operation is rounded by itself."""

import math

import numpy as np


def to_bfloat16(values):
    """Rounded to the nearest bfloat16, ties to even; NaN and infinities stay."""
    single = np.array(values, np.float32)
    bits = single.view(np.uint32)
    rounded = (bits + (bits // 2**16 % 2 + 0x7FFF).astype(np.uint32)) // 2**16 * 2**16
    return np.where(np.isfinite(single), np.asarray(rounded, np.uint32).view(np.float32), single).astype(np.float64)


def to_float16(values):
    """Too large numbers become infinite, as −1e9 does."""
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float64).astype(np.float16).astype(np.float64)


ROUNDINGS = {
    "float64": lambda values: np.asarray(values, np.float64),
    "float32": lambda values: np.asarray(values, np.float64).astype(np.float32).astype(np.float64),
    "float16": to_float16,
    "bfloat16": to_bfloat16,
}

# The smallest number that has all digits, and how many binary digits that are.
SMALLEST = {"float64": (2.0**-1022, 53), "float32": (2.0**-126, 24), "float16": (2.0**-14, 11), "bfloat16": (2.0**-126, 8)}

ORDERS = ["forward", "backward", "pairwise", "strided", "wide"]

erf = np.vectorize(math.erf, otypes=[float])


class Arithmetic:
    """Numbers are float64 throughout; `r` rounds what an operation gave to the type.

    In the order "wide" products and sums are kept in full and rounded once, as matrix units do. `softmax_type` is the
    type that softmax is computed in: many programs take float32 for it. Where it is kept, as PyTorch's autocast does, the
    weights have that type and are rounded where they are multiplied.
    """

    def __init__(self, dtype, order, softmax_type=None, keeps_softmax=False):
        self.dtype, self.order = dtype, order
        self.r = ROUNDINGS[dtype]
        self.softmax_type = softmax_type or dtype
        self.of_softmax = ROUNDINGS[self.softmax_type] if keeps_softmax else self.r

    def smallest_with_all_digits(self):
        """A sum as large as this has all of its digits, whatever was too small to be added."""
        number, digits = SMALLEST[self.dtype]
        return number * 2.0**digits

    def sum(self, terms, axis=-1):
        terms = np.moveaxis(terms, axis, 0)
        if self.order == "wide":
            return self.r(terms.sum(0))
        if self.order == "pairwise":
            while len(terms) > 1:
                even = len(terms) // 2 * 2
                terms = np.concatenate([self.r(terms[:even:2] + terms[1:even:2]), terms[even:]])
            return terms[0]
        order = {"forward": terms, "backward": terms[::-1],
                 "strided": np.concatenate([terms[start::4] for start in range(4)])}[self.order]
        total = np.zeros_like(terms[0])
        for term in order:
            total = self.r(total + term)
        return total

    def matmul(self, a, b):
        a, b = self.r(a), self.r(b)
        products = a[..., :, :, None] * b[..., None, :, :]
        return self.sum(products if self.order == "wide" else self.r(products), axis=-2)

    def softmax(self, scores):
        """Rows of nothing but −∞ become 0."""
        inner = Arithmetic(self.softmax_type, self.order)
        with np.errstate(invalid="ignore", divide="ignore"):
            largest = scores.max(-1, keepdims=True)
            shares = inner.r(np.exp(inner.r(scores - np.where(np.isfinite(largest), largest, 0.0))))
            total = inner.sum(shares)[..., None]
            return self.of_softmax(inner.r(np.where(total > 0, shares / np.where(total > 0, total, 1.0), 0.0)))

    def layer_norm(self, x, gain, bias, epsilon=1e-5):
        d = x.shape[-1]
        centred = self.r(x - self.r(self.sum(x)[..., None] / d))
        variance = self.r(self.sum(self.r(centred * centred))[..., None] / d)
        deviation = self.r(np.sqrt(self.r(variance + epsilon)))
        return self.r(self.r(self.r(centred / deviation) * gain) + bias)

    def gelu(self, x):
        return self.r(self.r(x / 2) * self.r(1 + self.r(erf(self.r(x / self.r(math.sqrt(2)))))))
