"""tests/right_dumps/shapes.py PROGRAM [SEED…]: dumps in the shapes that real models have, with their inputs and without a probe.

Each is computed here, independently of the lab, right and in ways that are wrong for such a shape: `PROGRAM LESSON
--input` must compute the same from the inputs, and `PROGRAM check` must call the first right and the others wrong. Inputs of a bad shape, and indices beyond a vocabulary, must be refused by name, with what would be valid. A list stands
for its numbers, a tuple for a shape.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import lessons
from arithmetic import Arithmetic
from lessons import Way

EXACT, PLAIN = Arithmetic("float64", "forward"), Way()


class Inputs:
    """normal(0, 1) of any shape."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)

    def __call__(self, *shape):
        return self.random.normal(size=shape)

    def attention(self, d_model, heads, kv_heads, d_k, d_v, biases, prefix=""):
        widths = {"Q": heads * d_k, "K": kv_heads * d_k, "V": kv_heads * d_v}
        x = {f"{prefix}W_{name}": self(d_model, width) for name, width in widths.items()}
        x[f"{prefix}W_O"] = self(heads * d_v, d_model)
        widths["O"] = d_model
        return x | {f"{prefix}b_{name}": self(widths[name]) for name in biases}


def with_lengths(x, tokens):
    """As lessons.py takes them: with a batch, and with lengths."""
    batch = {name: tensor[None] if name == tokens and tensor.ndim == 2 else tensor for name, tensor in x.items()}
    return {"lengths": np.array([batch[tokens].shape[1]])} | batch


def unbatched(steps, x, tokens):
    if x[tokens].ndim == 3:
        return steps
    return {name: step[0] if step.ndim > 2 and step.shape[0] == 1 else step for name, step in steps.items()}


def compute(function, x, options, tokens):
    if tokens is None:
        return function(x, options, EXACT, PLAIN)
    return unbatched(function(with_lengths(x, tokens), options, EXACT, PLAIN), x, tokens)


def positional(inputs):
    x = {"X": inputs(7, 6), "learned/table": inputs(16, 6), "relative/keys": inputs(9, 6), "t5/table": inputs(32, 2)}
    wrong = {"the last rows": x | {"learned/table": x["learned/table"][9:]},
             "rows from 2 on": x | {"learned/table": x["learned/table"][2:]}}
    return "positional", lessons.positional, x, {"heads": 2}, [], wrong, "X"


def block(inputs, biases):
    heads, kv_heads = 6, 2
    x = {"X": inputs(2, 5, 8), "lengths": np.array([5, 3]), "W_1": inputs(8, 9), "b_1": inputs(9), "W_2": inputs(9, 8),
         "b_2": inputs(8)}
    x |= inputs.attention(8, heads, kv_heads, 5, 3, biases, "attention/")
    x |= {f"norm_{number}/{name}": inputs(8) for number in (1, 2) for name in ("gain", "bias")}
    options = {"heads": heads, "kv_heads": kv_heads, "activation": "gelu", "norm": "pre"}
    arguments = ["--heads", "6", "--kv-heads", "2", "--norm", "pre", "--activation", "gelu"]
    wrong = {f"without b_{name}": {id: tensor for id, tensor in x.items() if id != f"attention/b_{name}"}
             for name in biases if name != "K"}  # softmax forgets what b_K adds, but for padding's sake K itself shows it
    tiled = [(head % kv_heads) * 5 + i for head in range(heads) for i in range(5)]
    spread = {"attention/W_K": x["attention/W_K"][:, tiled]}
    spread |= {"attention/b_K": x["attention/b_K"][tiled]} if "K" in biases else {}
    of_values = [(head % kv_heads) * 3 + i for head in range(heads) for i in range(3)]
    spread["attention/W_V"] = x["attention/W_V"][:, of_values]
    spread |= {"attention/b_V": x["attention/b_V"][of_values]} if "V" in biases else {}
    wrong["heads that share by turns"] = (x | spread, options | {"kv_heads": heads})
    return "transformer-block", lessons.transformer_block, x, options, arguments, wrong, "X"


def scoring(inputs):
    x = {"queries": inputs(3, 4, 6), "keys": inputs(3, 7, 6), "lengths": np.array([7, 4, 2]), "W_a": inputs(6, 6),
         "W_q": inputs(6, 5), "W_k": inputs(6, 5), "v_a": inputs(5)}
    wrong = {"padding is seen": x | {"lengths": np.array([7, 7, 7])}, "W_q and W_k": x | {"W_q": x["W_k"], "W_k": x["W_q"]}}
    return "scoring", lessons.scoring, x, {}, [], wrong, "keys"


def generate(inputs, layers, biases, by_place):
    x = {"embedding": inputs(23, 6), "positions": inputs(64, 6), "W_vocabulary": inputs(6, 23)}
    for layer in range(layers):
        x |= inputs.attention(6, 4, 2, 5, 3, biases, "" if layers == 1 else f"layer={layer + 1}/")
    tokens = np.array([17, 4, 17, 9] if by_place else [0, 1, 2, 3])
    options = {"heads": 4, "kv_heads": 2, "layers": layers, "new_tokens": 3}
    arguments = ["--heads", "4", "--kv-heads", "2", "--layers", str(layers), "--new-tokens", "3"]
    arguments += [] if by_place else ["--sentence", "a b c d"]
    dumped = x | ({"tokens": tokens} if by_place else {})
    x["tokens"] = tokens
    wrong = {"positions from 1": x | {"positions": x["positions"][1:]}}
    wrong |= {f"without b_{name}": {id: tensor for id, tensor in x.items() if not id.endswith(f"b_{name}")}
              for name in biases if name != "K"}
    if by_place:
        wrong["the first rows"] = x | {"tokens": np.array([0, 1, 0, 2])}
    return "generate", lessons.generate, (x, dumped), options, arguments, wrong, None


def classifier(inputs, biases):
    x = {"X": inputs(2, 5, 8), "lengths": np.array([5, 3]), "positions": inputs(11, 8), "W_class": inputs(8, 3),
         "b_class": inputs(3), "attention/norm/gain": inputs(8), "attention/norm/bias": inputs(8)}
    x |= inputs.attention(8, 6, 2, 5, 3, biases, "attention/")
    return "classifier", lessons.classifier, x, {"heads": 6, "kv_heads": 2}, ["--heads", "6", "--kv-heads", "2"], {}, "X"


def seq2seq_with_heads(inputs, biases):
    hidden, d_model, words = 4, 5, 30
    x = {"X_source": inputs(6, d_model), "X_target": inputs(4, d_model), "output/W": inputs(hidden, words),
         "attention/W_c": inputs(2 * hidden, hidden)}
    x |= recurrent_cells(inputs, hidden, {"encoder": d_model, "decoder": d_model})
    x |= inputs.attention(hidden, 2, 2, 2, 2, biases, "attention/")
    arguments = ["--source", "a b c d e f", "--target", "x y z", "--attention", "multihead", "--heads", "2"]
    wrong = {f"without b_{name}": {id: tensor for id, tensor in x.items() if id != f"attention/b_{name}"}
             for name in biases if name != "K"}
    return "seq2seq", lessons.seq2seq, x, {"hidden": hidden, "attention": "multihead", "heads": 2}, arguments, wrong, None


def recurrent_cells(inputs, hidden, reads):
    return {f"{name}/{id}": inputs(*shape) for name, width in reads.items()
            for id, shape in {"W_ih": (4 * hidden, width), "W_hh": (4 * hidden, hidden), "b_ih": (4 * hidden,), "b_hh": (4 * hidden,)}.items()}


def seq2seq(inputs, by_column):
    hidden, d_model, d_a, words = 4, 5, 3, 30
    x = {"X_source": inputs(6, d_model), "X_target": inputs(4, d_model)}
    x |= recurrent_cells(inputs, hidden, {"encoder": d_model, "decoder": d_model + hidden})
    x |= {"attention/W_q": inputs(hidden, d_a), "attention/W_k": inputs(hidden, d_a), "attention/v_a": inputs(d_a),
          "output/W": inputs(2 * hidden, words), "output/b": inputs(words)}
    if by_column:
        x["words"] = np.array([12, 29, 3, 1])
    arguments = ["--source", "a b c d e f", "--target", "x y z"]
    wrong = {"the bias turned round": x | {"output/b": x["output/b"][::-1]}}
    return "seq2seq", lessons.seq2seq, x, {"hidden": hidden, "attention": "bahdanau"}, arguments, wrong, None


def subjects(seed):
    inputs = Inputs(seed)
    yield positional(inputs)
    for biases in ("", "QKV", "O", "KO"):
        yield block(inputs, biases)
        yield classifier(inputs, biases)
        yield seq2seq_with_heads(inputs, biases)
        for layers in (1, 2):
            for by_place in (False, True):
                yield generate(inputs, layers, biases, by_place)
    yield scoring(inputs)
    for by_column in (False, True):
        yield seq2seq(inputs, by_column)


REFUSALS = [
    ("positional", {"X": (7, 6), "learned/table": (5, 6)}, [], ["learned/table", "(5×6)", "7 or more", "position"]),
    ("classifier", {"X": (7, 6), "positions": (5, 6)}, [], ["positions", "(5×6)", "7 or more", "position"]),
    ("generate", {"positions": (5, 4)}, ["--sentence", "a b c d"], ["positions", "(5×4)", "6 or more", "position"]),
    ("generate", {"embedding": (9, 4), "W_vocabulary": (4, 8)}, [], ["W_vocabulary", "(4×8)", "9 vocabulary"]),
    ("generate", {"W_vocabulary": (4, 3)}, ["--sentence", "a b c d"], ["W_vocabulary", "(4×3)", "4 or more", "vocabulary"]),
    ("generate", {"W_Q": (4, 8), "b_Q": (7,)}, ["--heads", "2"], ["b_Q", "a multiple of 2"]),
    ("generate", {"b_O": (3,)}, ["--d-model", "4"], ["b_O", "d_model"]),
    ("generate", {"embedding": (9, 4), "tokens": [0, 9]}, [], ["tokens", "has 9", "valid: 0 to 8"]),
    ("generate", {"embedding": (9, 4), "tokens": [-1, 0]}, [], ["tokens", "has -1", "valid: 0 to 8"]),
    ("generate", {"tokens": [0, 10**12]}, ["--sentence", "a b"], ["tokens", "has 1000000000000", "valid: 0 to 1"]),
    ("seq2seq", {"output/W": (8, 9), "words": [3, 9]}, ["--target", "a", "--source", "a", "--d-model", "4"],
     ["words", "has 9", "valid: 0 to 8"]),
    ("seq2seq", {"words": [-1, 1]}, ["--target", "a", "--source", "a"], ["words", "has -1", "valid: 0 to 1"]),
    ("seq2seq", {"attention/b_V": (3,)}, ["--attention", "multihead", "--hidden", "4"], ["attention/b_V", "--hidden 4"]),
    ("backward", {"b_Q": (3,), "W_Q": (4, 2)}, [], ["b_Q", "W_Q", "d_k"]),
    ("backward", {"b_O": (4,)}, [], ["b_O", "no input"]),
    ("backward", {"attention/b_K": (3,)}, ["--through", "transformer-block", "--heads", "2"], ["attention/b_K", "a multiple of 2"]),
    ("seq2seq", {"output/W": (8, 3)}, ["--target", "a b c", "--source", "a", "--d-model", "4"],
     ["output/W", "(8×3)", "4 or more", "vocabulary"]),
    ("seq2seq", {"output/W": (7, 9)}, ["--target", "a b c", "--source", "a", "--d-model", "4"],
     ["output/W", "(7×9)", "8 feature", "vocabulary"]),
    ("scoring", {"queries": (3, 4, 6), "keys": (2, 5, 6)}, [], ["keys", "queries", "batch"]),
    ("transformer-block", {"attention/W_Q": (8, 10)}, ["--heads", "4"], ["attention/W_Q", "a multiple of 4"]),
    ("transformer-block", {"attention/W_V": (8, 12), "attention/W_O": (10, 8)}, ["--heads", "2", "--kv-heads", "2"],
     ["attention/W_V", "attention/W_O", "d_v"]),
]


def differences(steps, path):
    """The steps of the lab's run that are not those computed here."""
    with np.load(path) as run:
        missing = [name for name in steps if name not in run.files]
        return missing + [name for name in steps if name in run.files and not np.allclose(run[name], steps[name], atol=1e-10)]


def main(program, *seeds):
    failures, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "dump.npz"

        def status_of(name, tensors, arguments):
            np.savez(path, **tensors)
            return subprocess.run([program, "check", name, str(path), *arguments], check=False, capture_output=True, text=True)

        for seed in seeds or ("1",):
            for name, function, x, options, arguments, wrong, tokens in subjects(int(seed)):
                x, dumped = x if isinstance(x, tuple) else (x, x)
                steps = compute(function, x, options, tokens)
                path_of_inputs = pathlib.Path(folder) / "inputs.npz"
                np.savez(path_of_inputs, **dumped)
                done = subprocess.run([program, name, "--input", str(path_of_inputs), "--output", str(path), *arguments],
                                      check=False, capture_output=True, text=True)
                count += 1
                others = differences(steps, path) if done.returncode == 0 else done.stderr
                if others:
                    failures.append(f"{name} {arguments}: from these inputs the lab computes otherwise: {others}")
                if name == "classifier":  # which check does not know
                    continue
                kinds = {"right": (x, options)} | {kind: of if isinstance(of, tuple) else (of, options) for kind, of in wrong.items()}
                for kind, (inputs, of_kind) in kinds.items():
                    found = steps if kind == "right" else compute(function, inputs, of_kind, tokens)
                    same_shapes = {id: step for id, step in found.items() if id in steps and step.shape == steps[id].shape}
                    done = status_of(name, dumped | same_shapes, arguments)
                    count += 1
                    if done.returncode != (0 if kind == "right" else 1):
                        failures.append(f"{name} {arguments}, {kind}: status {done.returncode}\n{done.stdout[-1500:]}{done.stderr}")
        for name, given, arguments, parts in REFUSALS:
            np.savez(path, **{id: np.array(of) if isinstance(of, list) else np.ones(of) for id, of in given.items()})
            done = subprocess.run([program, name, "--input", str(path), *arguments], check=False, capture_output=True, text=True)
            count += 1
            if done.returncode != 2 or not all(part in done.stderr for part in parts):
                failures.append(f"{name} {given} {arguments}: status {done.returncode}, not {parts}: {done.stderr}")
    print(*failures, sep="\n")
    print(f"{len(failures)} of {count} are judged otherwise than they are")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
