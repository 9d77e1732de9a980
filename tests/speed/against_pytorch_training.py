#!/usr/bin/python3
"""Compares the steps per second of `attnlab train translation` with the same training in PyTorch.

    tests/speed/against_pytorch_training.py [--program PATH] [--threads N] [--pairs N] [--steps N]

Run it with Debian's python3-torch on a machine that does nothing else. The model is the default one: two LSTMs read
the source, Bahdanau's attention whose query also sees the word that is read, and teacher forcing; Adam, clipping,
batches of 64 sentences of 3 to 16 words, float32. PyTorch has nn.LSTM on packed sentences for the encoder (`fused`)
and nn.LSTMCell for the decoder, whose steps wait for each other; logits and loss are computed for all steps at once.
Both sides take turns; a ratio is taken within each pair of turns, and what is printed is the median of these ratios
with the lowest and the highest one. attnlab tells tokens/s, which are divided by the tokens of a mean batch, 64 times
words + 1; PyTorch's batches have the lengths that the grammar's translations have. The bound below them is what the
matrix products alone would allow. Not part of tests/run: no test depends on time.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import struct
import subprocess
import tempfile
import time

BATCH, GOAL = 64, 3.0


def read_arguments():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", default=root / "build/lab/attnlab", help="the attnlab to compare")
    parser.add_argument("--threads", type=int, default=1, help="threads on both sides; default 1")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of turns; default 5")
    parser.add_argument("--steps", type=int, default=100, help="steps of a turn; default 100")
    return parser.parse_args()


def attnlab_command(arguments, steps, path):
    return list(map(str, [arguments.program, "train", "translation", "--steps", steps, "--batch", BATCH, "--threads",
                          arguments.threads, "--output", path]))


def attnlab_tokens_per_second(arguments, folder):
    """What its first line of progress says, after a tenth of the steps and before the first look at the held-out
    sentences. Then it is ended."""
    command = attnlab_command(arguments, 10 * arguments.steps, pathlib.Path(folder) / "model.safetensors")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        told = re.search(r"(\d+) tokens/s", run.stderr.readline().decode())
        run.kill()
    return float(told.group(1))


def metadata_of_attnlab(arguments, folder):
    path = pathlib.Path(folder) / "model.safetensors"
    subprocess.run(attnlab_command(arguments, 1, path), check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8:8 + length])["__metadata__"]


def make_model(torch, sizes):
    nn, width = torch.nn, 2 * sizes["hidden"]

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.source = nn.Embedding(sizes["source"], sizes["d_model"])
            self.target = nn.Embedding(sizes["target"], sizes["d_model"])
            self.encoder = nn.LSTM(sizes["d_model"], sizes["hidden"], bidirectional=True)
            self.decoder = nn.LSTMCell(sizes["d_model"] + width, width)
            self.query = nn.Linear(width + sizes["d_model"], sizes["d_a"], bias=False)
            self.key = nn.Linear(width, sizes["d_a"], bias=False)
            self.score = nn.Linear(sizes["d_a"], 1, bias=False)
            self.output = nn.Linear(2 * width, sizes["target"])

        def forward(self, source, lengths, read):
            packed = nn.utils.rnn.pack_padded_sequence(self.source(source), lengths, enforce_sorted=False)
            states, (h, c) = self.encoder(packed)
            states, _ = nn.utils.rnn.pad_packed_sequence(states)
            h, c = torch.cat([h[0], h[1]], dim=1), torch.cat([c[0], c[1]], dim=1)
            keys = self.key(states)
            hidden = torch.arange(states.shape[0])[:, None] >= lengths[None, :]
            by_sample, shown = states.transpose(0, 1), []
            for y in self.target(read):
                query = self.query(torch.cat([h, y], dim=1))
                scores = self.score(torch.tanh(query + keys)).squeeze(2)
                weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=0)
                context = torch.bmm(weights.T[:, None, :], by_sample)[:, 0]
                h, c = self.decoder(torch.cat([y, context], dim=1), (h, c))
                shown.append(torch.cat([h, context], dim=1))
            return self.output(torch.stack(shown))

    return Translator()


def make_batches(torch, sizes, count=50):
    """Sentences of like length, as attnlab's batches have: source, lengths, what is read, what is to be written."""
    batches = []
    for i in range(count):
        words = 3 + i % 14
        lengths = torch.full((BATCH,), words)
        source = torch.randint(sizes["source"], (words, BATCH))
        target = torch.randint(sizes["target"] - 1, (words, BATCH))
        mark = torch.full((1, BATCH), sizes["target"] - 1)
        batches.append((source, lengths, torch.cat([mark, target]), torch.cat([target, mark])))
    return batches


def pytorch_tokens_per_second(torch, model, optimizer, batches, steps):
    tokens, start = 0, time.perf_counter()
    for step in range(steps):
        source, lengths, read, wanted = batches[step % len(batches)]
        optimizer.zero_grad()
        logits = model(source, lengths, read)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tokens += wanted.numel()
    return tokens / (time.perf_counter() - start)


def operations_of_step(sizes, batches):
    """Floating-point operations in the matrix products of a step: two a multiplication; forward, and twice as many
    backward. The products of attention with weights of its own are there, those of states with shares are not."""
    d, h, d_a, width = sizes["d_model"], sizes["hidden"], sizes["d_a"], 2 * sizes["hidden"]
    of_source_token = 2 * 4 * h * (d + h) + width * d_a
    of_target_token = (width + d) * d_a + 4 * width * (d + 2 * width) + 2 * width * sizes["target"]
    source = statistics.mean(batch[0].numel() for batch in batches)
    target = statistics.mean(batch[2].numel() for batch in batches)
    return 3 * 2 * (source * of_source_token + target * of_target_token)


def operations_per_second(arguments):
    """What the processor can do, by a loop of multiply-adds in registers on each thread: the best of several."""
    command = [arguments.program, "bench", "--lengths", 128, "--kernels", "simd", "--threads", arguments.threads,
               "--format", "json"]
    result = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return max(json.loads(result.stdout)["lengths"][0]["peak_rates"])


def main():
    arguments = read_arguments()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(arguments.threads)
    import torch  # reads the environment when it is loaded
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(42)

    with tempfile.TemporaryDirectory() as folder:
        metadata = metadata_of_attnlab(arguments, folder)
        configuration, words = json.loads(metadata["configuration"]), json.loads(metadata["vocabularies"])
        sizes = {name: int(configuration[name]) for name in ("d_model", "hidden", "d_a")}
        sizes |= {"source": len(words["source_words"]), "target": len(words["target_words"])}
        model, batches = make_model(torch, sizes), make_batches(torch, sizes)
        optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
        pytorch_tokens_per_second(torch, model, optimizer, batches, 10)
        batch_tokens = statistics.mean(batch[3].numel() for batch in batches)
        ours, theirs = [], []
        for _ in range(arguments.pairs):
            ours.append(attnlab_tokens_per_second(arguments, folder) / batch_tokens)
            theirs.append(pytorch_tokens_per_second(torch, model, optimizer, batches, arguments.steps) / batch_tokens)
    ratios = [a / b for a, b in zip(ours, theirs)]
    best = operations_per_second(arguments)
    bound = best / operations_of_step(sizes, batches)
    weights = sum(parameter.numel() for parameter in model.parameters())
    print(f"PyTorch {torch.__version__}, {arguments.threads} thread(s), {arguments.pairs} pairs of {arguments.steps} "
          f"steps, {configuration['attention']}, {weights} weights, {sizes}\n"
          f"steps per second: attnlab {statistics.median(ours):.1f}, PyTorch {statistics.median(theirs):.1f}, ratio "
          f"{statistics.median(ratios):.2f} ({min(ratios):.2f} … {max(ratios):.2f}), goal {GOAL}\n"
          f"bound: {bound:.1f} steps per second, if there were only the matrix products and all at the processor's "
          f"peak, {best / 1e9:.0f} GFLOP/s; attnlab reaches {statistics.median(ours) / bound:.2f} of it")
    raise SystemExit(0 if statistics.median(ratios) >= GOAL else 1)


if __name__ == "__main__":
    main()
