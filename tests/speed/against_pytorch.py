#!/usr/bin/env python3
"""Compares the kernels of `attnlab bench` with the fastest way to write the same attention in PyTorch.

    tests/speed/against_pytorch.py [--program PATH] [--threads N] [--pairs N] [--lengths N,N] [--cases NAME,NAME]

Run it with Debian's python3-torch on a machine that does nothing else. Both sides take turns: some runs of attnlab,
then some of PyTorch, and again. A ratio is taken within each pair of turns, from the median of either, and what is
printed is the median of these ratios with the lowest and the highest one. Of PyTorch the way that is the fastest in
that turn counts. `bound` is the ratio that the same operations would have at the processor's peak of multiply-adds,
which bench measures in the same run: a goal above it is out of reach on that machine. Below stands the ratio to each
way by itself; `in place` is one that nobody writes in a model, with all that is large in memory that was allocated
before, and does not count. float32, one sample, 8 heads, d_k = d_v = 64. Not part of tests/run: no test depends on
time.
"""

import argparse
import functools
import json
import os
import pathlib
import statistics
import subprocess
import time

HEADS, WIDTH = 8, 64
IN_PLACE = "in place"  # the way that is shown and does not count
SCALE = WIDTH ** -0.5

CASES = {  # what to pass to bench, its kernel, numbers of tokens, how many times as fast as PyTorch it is to be
    "full": ([], "simd", (1024, 2048, 4096), 3.5),
    "causal": (["--causal"], "simd", (1024, 2048, 4096), 7.5),
    "full-backward": (["--backward"], "simd", (1024, 2048), 2.7),
    "causal-backward": (["--backward", "--causal"], "simd", (1024, 2048), 6.0),
    "linear": ([], "linear-simd", (65536, 131072), 8.0),
}


def read_arguments():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", default=root / "build/lab/attnlab", help="the attnlab to compare")
    parser.add_argument("--threads", type=int, default=1, help="threads on both sides; default 1")
    parser.add_argument("--pairs", type=int, default=7, help="pairs of turns at each length; default 7")
    parser.add_argument("--lengths", help="numbers of tokens, with commas between; default what each case has")
    parser.add_argument("--cases", default=",".join(CASES), help="some of %(default)s")
    return parser.parse_args()


def attnlab_seconds(arguments, n, options, kernel):
    """The median time of a kernel, of both passes together where both are measured, and what its operations would
    take at the processor's peak."""
    command = [arguments.program, "bench", "--format", "json", "--lengths", n, "--heads", HEADS, "--d-k", WIDTH,
               "--threads", arguments.threads, "--kernels", kernel, "--rounds", 5, *options]
    run = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    measured = json.loads(run.stdout)["lengths"][0]
    passes = [one for one in measured["kernels"] if one["kernel"] == kernel]
    least = sum(one["operations"] for one in passes) / statistics.median(measured["peak_rates"])
    return sum(one["median_seconds"] for one in passes), least


def pytorch_seconds(call):
    """The median time of a call, over as many as fit into a second, but at least three and at most 25."""
    seconds, begin = [], time.perf_counter()
    while len(seconds) < 3 or (time.perf_counter() - begin < 1.0 and len(seconds) < 25):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def ways_with_gradients(torch, n, causal):
    """Functions of query, key and value that autograd can follow, each softmax(Q Kᵀ · scale) V."""
    softmax = torch.nn.functional.softmax
    later = torch.ones(n, n, dtype=torch.bool).triu(1) if causal else None
    hidden = torch.zeros(n, n).masked_fill(later, -torch.inf) if causal else None
    start = hidden.expand(HEADS, -1, -1) if causal else torch.zeros(1, 1, 1).expand(HEADS, n, n)

    def added(q, k, v):
        scores = q @ k.transpose(1, 2) * SCALE
        return softmax(scores + hidden if causal else scores, dim=-1) @ v

    def filled(q, k, v):
        scores = torch.bmm(q * SCALE, k.transpose(1, 2))
        return torch.bmm(softmax(scores.masked_fill(later, -torch.inf) if causal else scores, dim=-1), v)

    def fused(q, k, v):
        scores = torch.baddbmm(start, q, k.transpose(1, 2), beta=int(causal), alpha=SCALE)
        return torch.bmm(softmax(scores, dim=-1), v)

    def built_in(q, k, v):
        return torch.nn.functional._scaled_dot_product_attention(q, k, v, hidden)[0]

    return [added, filled, fused, built_in]


def way_in_place(torch, n, causal):
    """The same with nothing allocated: the scores are computed, masked and normalised in one place."""
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    scores, output = torch.empty(HEADS, n, n), torch.empty(HEADS, n, WIDTH)

    def in_place(q, k, v):
        torch.baddbmm(scores, q, k.transpose(1, 2), beta=0, alpha=SCALE, out=scores)
        if causal:
            scores.masked_fill_(later, -torch.inf)
        torch.softmax(scores, dim=-1, out=scores)
        return torch.bmm(scores, v, out=output)

    return in_place


def ways_of_linear(torch):
    """Functions of query, key and value, each φ(Q) (φ(K)ᵀ V) divided by the sums of the weights, φ = elu + 1."""
    elu = torch.nn.functional.elu

    def products(q, k, v):
        phi_q, phi_k = elu(q) + 1, elu(k) + 1
        return phi_q @ (phi_k.transpose(1, 2) @ v) / (phi_q @ phi_k.sum(dim=1)[:, :, None])

    def sums_by_name(q, k, v):
        phi_q, phi_k = elu(q) + 1, elu(k) + 1
        inverse = 1 / torch.einsum("hnd,hd->hn", phi_q, phi_k.sum(dim=1))
        return torch.einsum("hnd,hdm,hn->hnm", phi_q, torch.einsum("hnd,hnm->hdm", phi_k, v), inverse)

    def overwriting(q, k, v):
        phi_q, phi_k = elu(q).add_(1), elu(k).add_(1)
        weighted = torch.bmm(phi_q, torch.bmm(phi_k.transpose(1, 2), v))
        return weighted.div_(torch.bmm(phi_q, phi_k.sum(dim=1)[:, :, None]))

    return [products, sums_by_name, overwriting]


def linear_in_place(torch, n):
    """The same, all that has a row for each token allocated beforehand."""
    phi_q, phi_k, output = (torch.empty(HEADS, n, WIDTH) for _ in range(3))
    sums = torch.empty(HEADS, n, 1)

    def in_place(q, k, v):
        for phi, x in ((phi_q, q), (phi_k, k)):
            torch.nn.functional.elu(phi.copy_(x), inplace=True).add_(1)
        torch.bmm(phi_q, torch.bmm(phi_k.transpose(1, 2), v), out=output)
        return output.div_(torch.bmm(phi_q, phi_k.sum(dim=1)[:, :, None], out=sums))

    return in_place


def pytorch_calls(torch, case, n):
    """Calls to be timed that compute what the case is about, by the name of their way."""
    torch.manual_seed(42)
    query, key, value, d_output = (torch.randn(HEADS, n, WIDTH) for _ in range(4))
    causal = case.startswith("causal")
    ways = ways_of_linear(torch) if case == "linear" else ways_with_gradients(torch, n, causal)

    def forward(way):
        with torch.no_grad():
            return way(query, key, value)

    def forward_and_backward(way):
        inputs = [x.detach().requires_grad_() for x in (query, key, value)]
        return torch.autograd.grad(way(*inputs), inputs, d_output)

    passes = forward_and_backward if case.endswith("backward") else forward
    calls = {way.__name__.replace("_", " "): functools.partial(passes, way) for way in ways}
    if passes is forward:
        in_place = linear_in_place(torch, n) if case == "linear" else way_in_place(torch, n, causal)
        calls[IN_PLACE] = functools.partial(forward, in_place)
    return calls


def compare(torch, arguments, case, n):
    options, kernel, _, goal = CASES[case]
    calls = pytorch_calls(torch, case, n)
    for call in calls.values():
        call()
    ours, theirs, ratios, bounds, ratios_by_way = [], [], [], [], {name: [] for name in calls}
    for _ in range(arguments.pairs):
        taken, least = attnlab_seconds(arguments, n, options, kernel)
        ours.append(taken)
        seconds = {name: pytorch_seconds(call) for name, call in calls.items()}
        theirs.append(min(seconds[name] for name in seconds if name != IN_PLACE))
        ratios.append(theirs[-1] / taken)
        bounds.append(theirs[-1] / least)
        for name in seconds:
            ratios_by_way[name].append(seconds[name] / taken)
    median = statistics.median(ratios)
    print(f"{case:16}{n:8}{statistics.median(ours) * 1e3:12.2f}{statistics.median(theirs) * 1e3:12.2f}{median:9.2f}"
          f"   {min(ratios):6.2f} …{max(ratios):6.2f}{goal:8.1f}{statistics.median(bounds):8.2f}"
          f"   {'yes' if median >= goal else 'no'}")
    each = (f"{name} {statistics.median(ratios_by_way[name]):.2f}" for name in ratios_by_way)
    print("    " + ", ".join(each), flush=True)
    return median >= goal


def main():
    arguments = read_arguments()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(arguments.threads)
    import torch  # reads the environment when it is loaded
    torch.set_num_threads(arguments.threads)

    print(f"PyTorch {torch.__version__}, {arguments.threads} thread(s), {arguments.pairs} pairs\n"
          f"{'case':16}{'n':>8}{'attnlab ms':>12}{'PyTorch ms':>12}{'ratio':>9}   {'lowest … highest':16}{'goal':>6}"
          f"{'bound':>8}")
    held = True
    for case in arguments.cases.split(","):
        for n in map(int, arguments.lengths.split(",")) if arguments.lengths else CASES[case][2]:
            held &= compare(torch, arguments, case, n)
    raise SystemExit(0 if held else 1)


if __name__ == "__main__":
    main()
