#!/usr/bin/env python3
"""Cases for the lesson efficient: attention for long sequences, by PyTorch from dense matrices and masks.

Nothing here saves anything: every variant is computed from all n² pairs, and what it should have taken follows from
the number of pairs that are left.
"""

import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from attention import attention, options, split, torch_of
from draws import Cases, Draws

CAT = "The cat sat on the mat".split()
VARIANTS = ("local", "sliding", "sparse", "linear", "chunked", "flash", "linformer", "performer", "gqa")


def masked_attention(Q, K, V, mask):
    steps = attention(Q[None], K[None], V[None], mask[None])
    return steps["weights"][0], steps["output"][0]


def distance(n):
    position = torch.arange(n)
    return position[:, None] - position[None, :]


def sparse_mask(draws, pattern, block, n):
    gap, position = distance(n).abs(), torch.arange(n)
    if pattern == "strided":
        return (gap < block) | (gap % block == 0)
    if pattern == "fixed":
        return (position[:, None] // block == position[None, :] // block) | (position[None, :] % block == block - 1)
    if pattern == "random":
        mask = torch.eye(n, dtype=torch.bool)
        for i in range(n):
            mask[i, torch_of(draws.random.permutation(n)[:block])] = True
        return mask
    lines = (pathlib.Path(__file__).parents[2] / pattern).read_text().splitlines()
    return torch.tensor([[digit == "1" for digit in line if digit != " "] for line in lines])


class Run:
    """One run of the lesson, variant by variant in the order of its draws."""

    def __init__(self, words, d_k, d_v, seed, causal, bytes_each, **settings):
        self.n, self.d_k, self.d_v, self.causal, self.bytes_each = len(words), d_k, d_v, causal, bytes_each
        self.settings = settings
        self.draws = Draws(seed)
        self.Q, self.K, self.V = (torch_of(self.draws.normal(self.n, d)) for d in (d_k, d_k, d_v))
        self.visible = distance(self.n) >= 0 if causal else torch.ones(self.n, self.n, dtype=torch.bool)
        self.t = {"Q": self.Q, "K": self.K, "V": self.V}
        weights, self.full = masked_attention(self.Q, self.K, self.V, self.visible)
        self.t.update({"full/weights": weights, "full/output": self.full})
        self.count("full", self.pairs(self.visible) * (d_k + d_v), self.pairs(self.visible))

    def pairs(self, mask):
        return int(mask.sum())

    def count(self, variant, multiply_adds, held):
        self.t[f"{variant}/multiply_adds"], self.t[f"{variant}/score_bytes"] = multiply_adds, held * self.bytes_each

    def result(self, variant, output, multiply_adds, held, reference=None):
        reference = self.full if reference is None else reference
        error = float((output - reference).abs().max())
        self.t[f"{variant}/output"], self.t[f"{variant}/error"] = output, error if error > 1e-11 else 0.0
        self.count(variant, multiply_adds, held)

    def chosen(self, variant, mask):
        weights, output = masked_attention(self.Q, self.K, self.V, mask)
        self.t.update({f"{variant}/mask": mask, f"{variant}/weights": weights})
        self.result(variant, output, self.pairs(mask) * (self.d_k + self.d_v), self.pairs(mask))

    def local(self):
        self.chosen("local", (distance(self.n).abs() <= self.settings["window"]) & self.visible)

    def sliding(self):
        self.chosen("sliding", (distance(self.n) >= 0) & (distance(self.n) <= self.settings["window"]))

    def sparse(self):
        mask = sparse_mask(self.draws, self.settings["pattern"], self.settings["block"], self.n)
        self.chosen("sparse", mask & self.visible)

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
        block = self.settings["block"]
        held = max(self.pairs(self.visible[begin:begin + block]) for begin in range(0, self.n, block))
        self.result("chunked", self.full, self.pairs(self.visible) * (self.d_k + self.d_v), held)

    def flash(self):
        n, block = self.n, min(self.settings["block"], self.n)
        scores = (self.Q @ self.K.T / math.sqrt(self.d_k)).masked_fill(~self.visible, -math.inf)
        ends = [min(begin + block, n) for begin in range(0, n, block)]
        maximum = torch.stack([scores[:, :end].max(dim=1).values for end in ends])
        before = torch.cat([torch.full((1, n), -math.inf), maximum[:-1]])
        total = torch.stack([torch.exp(scores[:, :end] - m[:, None]).sum(dim=1) for end, m in zip(ends, maximum)])
        last = torch.stack([torch.exp(scores[-1, :end] - m[-1]) @ self.V[:end] for end, m in zip(ends, maximum)])
        self.t.update({"flash/maximum": maximum, "flash/rescaling": torch.exp(before - maximum), "flash/sum": total,
                       "flash/accumulated": last})
        blocks_seen = sum(int(self.visible[i, end - block if end % block == 0 else end - end % block]) for i in range(n)
                          for end in ends)
        rescaled = (blocks_seen - n) * (self.d_v + 1)
        self.result("flash", self.full, self.pairs(self.visible) * (self.d_k + self.d_v) + rescaled, block * block)

    def linformer(self):
        if self.causal:
            return
        r, n = self.settings["rank"], self.n
        E, F_ = (torch_of(self.draws.weight(r, n)) for _ in range(2))
        keys, values = E @ self.K, F_ @ self.V
        weights, output = masked_attention(self.Q, keys, values, torch.ones(n, r, dtype=torch.bool))
        self.t.update({"linformer/E": E, "linformer/F": F_, "linformer/projected_K": keys,
                       "linformer/projected_V": values, "linformer/weights": weights})
        self.result("linformer", output, 2 * n * r * (self.d_k + self.d_v), n * r)

    def performer(self):
        m = self.settings["features"] or 2 * self.d_k
        omega = torch_of(self.draws.normal(m, self.d_k))
        self.t["performer/omega"] = omega

        def features(x):
            y = x * self.d_k ** -0.25
            return torch.exp(y @ omega.T - y.square().sum(dim=1, keepdim=True) / 2) / math.sqrt(m)

        self.summed("performer", features(self.Q), features(self.K), 2 * self.n * (m + 1) * self.d_k)

    def gqa(self):
        h, h_kv = self.settings["heads"], self.settings["kv_heads"]
        if self.d_k % h or self.d_v % h:
            return
        Q, K, V = (split(x[None], h) for x in (self.Q, self.K, self.V))
        K_mean, V_mean = (x.unflatten(1, (h_kv, h // h_kv)).mean(dim=2) for x in (K, V))
        everywhere = self.visible[None]

        def merged(K, V):
            steps = attention(Q, K, V, everywhere, heads=True)
            return steps["weights"][0], steps["heads"][0].permute(1, 0, 2).flatten(1)

        _, full = merged(K, V)
        weights, output = merged(K_mean.repeat_interleave(h // h_kv, 1), V_mean.repeat_interleave(h // h_kv, 1))
        self.t.update({"gqa/K_grouped": K_mean[0], "gqa/V_grouped": V_mean[0], "gqa/full": full, "gqa/weights": weights,
                       "gqa/kv_bytes": self.n * h_kv * (self.d_k + self.d_v) // h * self.bytes_each})
        self.result("gqa", output, self.pairs(self.visible) * (self.d_k + self.d_v), h * self.pairs(self.visible), full)


def case(cases, words=CAT, d_k=4, d_v=4, variant="all", window=2, pattern="strided", block=2, rank=2, features=None,
         heads=2, kv_heads=1, causal=False, seed=42, dtype="float64"):
    run = Run(words, d_k, d_v, seed, causal, 4 if dtype == "float32" else 8, window=window, pattern=pattern,
              block=block, rank=rank, features=features, heads=heads, kv_heads=kv_heads)
    for name in VARIANTS if variant == "all" else [variant]:
        getattr(run, name)()
    if variant != "all":  # full attention and the inputs are in every case
        run.t = {id: tensor for id, tensor in run.t.items() if id.startswith(variant) or id == "full/output"}
    arguments = options(sentence=" ".join(words), d_k=d_k, d_v=d_v, variant=variant, window=window, pattern=pattern,
                        block=block, rank=rank, features=features, heads=heads, kv_heads=kv_heads, causal=causal,
                        seed=seed, dtype=dtype)
    cases.add("efficient " + arguments, {id: np.asarray(tensor) for id, tensor in run.t.items()})


def main():
    eleven = [f"w{i}" for i in range(11)]
    cases = Cases("efficient")
    case(cases)
    case(cases, causal=True)
    case(cases, ["Hello"], seed=3)
    case(cases, ["Hello"], causal=True, d_k=1, d_v=2, heads=1, features=3)
    case(cases, ["two", "words"], d_k=3, d_v=5, heads=1, window=0, block=1, rank=5, seed=1)
    case(cases, eleven, d_k=6, d_v=3, heads=3, kv_heads=3, window=3, pattern="fixed", block=4, rank=3, seed=2)
    case(cases, eleven, d_k=5, d_v=2, pattern="random", block=3, causal=True, features=7, seed=4)
    case(cases, eleven, pattern="random", block=100, window=100, rank=1, features=1, seed=5)
    case(cases, dtype="float32")
    case(cases, eleven, dtype="float32", causal=True, d_k=8, d_v=4, heads=4, kv_heads=2, block=5)
    case(cases, pattern="tests/oracle/pattern.txt", variant="sparse")
    case(cases, pattern="tests/oracle/pattern.txt", variant="sparse", causal=True, seed=9)
    for variant in VARIANTS:  # alone, a variant draws nothing for the others
        case(cases, eleven, d_k=8, d_v=4, variant=variant, pattern="random", block=4, heads=4, kv_heads=2, seed=6)
    cases.save()


main()
