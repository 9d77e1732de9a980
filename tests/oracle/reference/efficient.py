"""Attention for long sequences, from dense matrices and masks.

Nothing here saves anything: every variant is computed from all n² pairs, and what it should have taken follows from
the number of pairs that are left.
"""

import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from attention import attention, merge, split

VARIANTS = ("local", "sliding", "sparse", "linear", "chunked", "flash", "linformer", "performer", "gqa")
PATTERN = "tests/oracle/pattern.txt"


def distance(n):
    position = torch.arange(n)
    return position[:, None] - position[None, :]


def pattern_of_file(path):
    lines = (pathlib.Path(__file__).resolve().parents[3] / path).read_text().splitlines()
    return torch.tensor([[digit == "1" for digit in line if digit != " "] for line in lines])


class Run:
    """One run of the lesson, variant by variant."""

    def __init__(self, case, n, d_k, d_v, causal=False, seed=42, window=2, pattern="strided", block=2, rank=2,
                 features=None, heads=2, kv_heads=1):
        self.case, self.n, self.d_k, self.d_v, self.causal, self.seed = case, n, d_k, d_v, causal, seed
        self.window, self.pattern, self.block, self.rank = window, pattern, block, rank
        self.features, self.heads, self.kv_heads = features or 2 * d_k, heads, kv_heads
        self.Q, self.K, self.V = case.normal("Q", n, d_k), case.normal("K", n, d_k), case.normal("V", n, d_v)
        self.visible = distance(n) >= 0 if causal else torch.ones(n, n, dtype=torch.bool)
        full = attention(self.Q, self.K, self.V, self.visible)
        self.full = full["output"]
        self.t = {"full/weights": full["weights"], "full/output": self.full}
        self.count("full", self.pairs(self.visible) * (d_k + d_v), self.pairs(self.visible))

    def pairs(self, mask):
        return int(mask.sum())

    def count(self, variant, multiply_adds, held):
        self.t[f"{variant}/multiply_adds"] = multiply_adds
        self.t[f"{variant}/score_bytes"] = held * self.case.dtype.itemsize

    def result(self, variant, output, multiply_adds, held, reference=None):
        error = (output - (self.full if reference is None else reference)).abs().max()
        self.t[f"{variant}/output"], self.t[f"{variant}/error"] = output, error
        self.count(variant, multiply_adds, held)

    def chosen(self, variant, mask):
        steps = attention(self.Q, self.K, self.V, mask)
        self.t.update({f"{variant}/mask": mask, f"{variant}/weights": steps["weights"]})
        self.result(variant, steps["output"], self.pairs(mask) * (self.d_k + self.d_v), self.pairs(mask))

    def local(self):
        self.chosen("local", (distance(self.n).abs() <= self.window) & self.visible)

    def sliding(self):
        self.chosen("sliding", (distance(self.n) >= 0) & (distance(self.n) <= self.window))

    def sparse(self):
        n, block = self.n, self.block
        gap, position = distance(n).abs(), torch.arange(n)
        if self.pattern == "strided":
            mask = (gap < block) | (gap % block == 0)
        elif self.pattern == "fixed":
            mask = (position[:, None] // block == position // block) | (position % block == block - 1)
        elif self.pattern == "random":
            mask = self.random_pattern()
        else:
            mask = pattern_of_file(self.pattern)
        self.chosen("sparse", mask & self.visible)

    def random_pattern(self):
        """Drawn after Q, K and V, which use up their draws although they are given."""
        random = np.random.RandomState(self.seed)
        random.normal(0, 1, self.n * (2 * self.d_k + self.d_v))
        mask = torch.eye(self.n, dtype=torch.bool)
        for i in range(self.n):
            mask[i, torch.from_numpy(random.permutation(self.n)[:self.block])] = True
        return mask

    def summed(self, variant, phi_Q, phi_K, multiply_adds_of_features=0):
        m = phi_K.shape[1]
        products = (phi_Q @ phi_K.T) * self.visible
        weights = products / products.sum(dim=1, keepdim=True)
        self.t.update({f"{variant}/phi_Q": phi_Q, f"{variant}/phi_K": phi_K, f"{variant}/weights": weights,
                       f"{variant}/S": phi_K.T @ self.V, f"{variant}/z": phi_K.sum(dim=0)})
        work = multiply_adds_of_features + self.n * m * (2 * self.d_v + 1)
        self.result(variant, weights @ self.V, work, m * (self.d_v + 1))

    def linear(self):
        phi_Q, phi_K = F.elu(self.Q) + 1, F.elu(self.K) + 1
        self.summed("linear", phi_Q, phi_K)
        states = torch.einsum("jf,jd->jfd", phi_K, self.V).cumsum(dim=0)
        for tokens in {1, min(2, self.n), self.n}:
            self.t[f"linear/causal/token={tokens}/S"] = states[tokens - 1]
        numerator = torch.einsum("if,ifd->id", phi_Q, states)
        denominator = torch.einsum("if,if->i", phi_Q, phi_K.cumsum(dim=0))
        self.t["linear/causal/output"] = numerator / denominator[:, None]
        self.count("linear/causal", self.n * self.d_k * (2 * self.d_v + 1), self.d_k * (self.d_v + 1))

    def chunked(self):
        held = max(self.pairs(self.visible[begin:begin + self.block]) for begin in range(0, self.n, self.block))
        self.result("chunked", self.full, self.pairs(self.visible) * (self.d_k + self.d_v), held)

    def flash(self):
        n, block = self.n, min(self.block, self.n)
        scores = (self.Q @ self.K.T / math.sqrt(self.d_k)).masked_fill(~self.visible, -math.inf)
        begins = range(0, n, block)
        computed = F.max_pool2d(self.visible[None].double(), block, ceil_mode=True)[0]
        number = computed.flatten().cumsum(dim=0).reshape(computed.shape)
        tile = number.repeat_interleave(block, dim=0).repeat_interleave(block, dim=1)[:n, :n] * self.visible
        ends = [min(begin + block, n) for begin in begins]
        maximum = torch.stack([scores[:, :end].max(dim=1).values for end in ends])
        before = torch.cat([torch.full((1, n), -math.inf), maximum[:-1]])
        total = torch.stack([torch.exp(scores[:, :end] - m[:, None]).sum(dim=1) for end, m in zip(ends, maximum)])
        last = torch.stack([torch.exp(scores[-1, :end] - m[-1]) @ self.V[:end] for end, m in zip(ends, maximum)])
        self.t.update({"flash/scores": scores, "flash/tile": tile.long()})
        self.t.update({"flash/maximum": maximum, "flash/rescaling": torch.exp(before - maximum), "flash/sum": total,
                       "flash/accumulated": last})
        blocks_seen = sum(int(self.visible[i, begin]) for i in range(n) for begin in begins)
        rescaled = (blocks_seen - n) * (self.d_v + 1)
        self.result("flash", self.full, self.pairs(self.visible) * (self.d_k + self.d_v) + rescaled, block * block)

    def linformer(self):
        if self.causal:
            return
        r, n = self.rank, self.n
        E, F_ = self.case.weight("linformer/E", r, n), self.case.weight("linformer/F", r, n)
        keys, values = E @ self.K, F_ @ self.V
        steps = attention(self.Q, keys, values)
        self.t.update({"linformer/projected_K": keys, "linformer/projected_V": values,
                       "linformer/weights": steps["weights"]})
        self.result("linformer", steps["output"], 2 * n * r * (self.d_k + self.d_v), n * r)

    def performer(self):
        m = self.features
        omega = self.case.normal("performer/omega", m, self.d_k)

        def features(x):
            y = x * self.d_k ** -0.25
            return torch.exp(y @ omega.T - y.square().sum(dim=1, keepdim=True) / 2) / math.sqrt(m)

        self.summed("performer", features(self.Q), features(self.K), 2 * self.n * (m + 1) * self.d_k)

    def gqa(self):
        h, h_kv = self.heads, self.kv_heads
        if self.d_k % h or self.d_v % h:
            return
        Q, K, V = (split(x, h) for x in (self.Q, self.K, self.V))
        K_mean, V_mean = (x.unflatten(0, (h_kv, h // h_kv)).mean(dim=1) for x in (K, V))

        def attended(K, V):
            return attention(Q, K, V, self.visible)

        full = merge(attended(K, V)["output"])
        steps = attended(*(x.repeat_interleave(h // h_kv, 0) for x in (K_mean, V_mean)))
        self.t.update({"gqa/K_grouped": K_mean, "gqa/V_grouped": V_mean, "gqa/full": full,
                       "gqa/weights": steps["weights"],
                       "gqa/kv_bytes": self.n * h_kv * (self.d_k + self.d_v) // h * self.case.dtype.itemsize})
        self.result("gqa", merge(steps["output"]), self.pairs(self.visible) * (self.d_k + self.d_v),
                    h * self.pairs(self.visible), full)


def add(lesson, n, d_k, d_v, tag="", **options):
    case = lesson.case(f"{n}-tokens", f"{d_k}x{d_v}", tag, **options)
    settings = {name: value for name, value in options.items() if name not in ("variant", "dtype")}
    run = Run(case, n, d_k, d_v, **settings)
    variant = options.get("variant")
    for name in [variant] if variant else VARIANTS:
        getattr(run, name)()
    case.expect(run.t)


def make(lesson):
    add(lesson, 6, 4, 4)
    add(lesson, 6, 4, 4, causal=True)
    add(lesson, 1, 4, 4)
    add(lesson, 1, 1, 2, causal=True, heads=1, features=3)
    add(lesson, 2, 3, 5, heads=1, window=0, block=1, rank=5)
    add(lesson, 9, 6, 3, heads=3, kv_heads=3, window=3, pattern="fixed", block=4, rank=3)
    add(lesson, 9, 5, 2, causal=True, pattern="random", block=3, features=7)
    add(lesson, 7, 4, 4, pattern="random", block=100, window=100, rank=1, features=1, seed=5)
    add(lesson, 6, 4, 4, pattern=PATTERN, variant="sparse")
    add(lesson, 6, 3, 5, pattern=PATTERN, variant="sparse", causal=True)
    for variant in VARIANTS:
        add(lesson, 11, 8, 4, variant=variant, block=4, heads=4, kv_heads=2)
    add(lesson, 6, 4, 4, dtype="float32")
    add(lesson, 9, 8, 4, dtype="float32", causal=True, heads=4, kv_heads=2, block=5)
