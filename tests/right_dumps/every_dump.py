"""tests/right_dumps/every_dump.py PROGRAM [SEED …]: right dumps, of which `PROGRAM check` must call none wrong. Of several
seeds ATTNLAB_TEST_SEED says which one it takes; "all" takes them all.

Probes of random seeds and dimensions are computed here, independently of the lab: in float64, float32, float16 and
bfloat16, every operation rounded, in several orders of summation, in each way that is as right as the lesson's, and as
frameworks do it, for --like. All steps are saved, many in another form (forms.py), or weights and output, or the output alone; as npz of the type or of a
wider one, as safetensors, or as JSON. Prints how many dumps there are of each kind, and what was said of those that were
called wrong. Status 1 if there is any, or if a kind is missing.
"""

import collections
import dataclasses
import json
import os
import pathlib
import random
import string
import struct
import subprocess
import sys
import tempfile

import numpy as np

import forms
import lessons
from arithmetic import ORDERS, ROUNDINGS, Arithmetic
from lessons import Way

FEWEST_DUMPS, FEWEST_OF_A_KIND = 1000, 3

AS_LESSON = "as the lesson"
KEPT = ["all steps", "weights and output", "output"]
STORED = ["npz", "npz of a wider type", "safetensors", "json"]
NUMPY_TYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": np.float32}
WIDER = {"float64": np.float64, "float32": np.float64, "float16": np.float32, "bfloat16": np.float64}
SAFETENSORS_TYPES = {"float64": ("F64", "<f8"), "float32": ("F32", "<f4"), "float16": ("F16", "<f2")}

COMMON_WAYS = ["plain", "fill"]
WAYS_OF_SCORES = ["mask-after-softmax", "online", "row-constant", "scale-in-query", "scaled-scores"]
WAYS_OF_PROJECTIONS = ["scale-in-weight", "fused"]


def sentence(draw, words):
    return " ".join(draw.choices(string.ascii_lowercase, k=words))


def sentences(draw, option, count, longest):
    """A batch: the first is the longest, others may be shorter."""
    lengths = [longest] + [draw.randint(2, longest) for _ in range(count - 1)]
    return [argument for words in lengths for argument in (option, sentence(draw, words))]


def dimensions(draw, names):
    return [argument for name in names for argument in (f"--{name}", str(draw.randint(2, 9)))]


def grouped_heads(draw):
    kv_heads = draw.randint(1, 3)
    return ["--heads", str(kv_heads * draw.randint(1, 3)), "--kv-heads", str(kv_heads)]


class Subject:
    """A lesson: its function here, the ways that it may be computed in, and its results."""

    def __init__(self, name, compute, ways, arguments, weights=("weights",), output=("output",)):
        self.name, self.compute, self.ways, self.arguments = name, compute, ways, arguments
        self.weights, self.output = weights, output


def two_sentences(draw):
    batch = draw.randint(1, 3)
    source, target = sentences(draw, "--source", batch, draw.randint(3, 9)), sentences(draw, "--target", batch, draw.randint(2, 9))
    return source + target


def rows_of(draw, *shape):
    """Numbers in JSON for --set."""
    return json.dumps(np.random.RandomState(draw.randint(0, 10**6)).normal(size=shape).round(3).tolist())


def long_table(draw):
    """Positions beyond the sentence, or as many as it has words."""
    words, d_model = draw.randint(3, 12), 2 * draw.randint(2, 5)
    more = ["--set", "learned/table=" + rows_of(draw, words + draw.randint(1, 9), d_model)] if draw.random() < 0.5 else []
    return sentences(draw, "--sentence", 3, words) + ["--d-model", str(d_model), "--heads", str(draw.randint(2, 6))] + more


def heads_of_a_block(draw):
    """Heads that share d_model, or of widths of their own, shared and with biases on some projections."""
    if draw.random() < 0.4:
        return ["--d-model", "12", "--heads", draw.choice("234")]
    d_model, d_k, d_v, kv_heads = (draw.randint(low, high) for low, high in ((6, 12), (2, 6), (2, 6), (2, 3)))
    heads = kv_heads * draw.randint(1, 3)
    widths = {"Q": heads * d_k, "K": kv_heads * d_k, "V": kv_heads * d_v, "O": d_model}
    biases = [argument for name in "QKVO" if draw.random() < 0.5
              for argument in ("--set", f"attention/b_{name}=" + rows_of(draw, widths[name]))]
    numbers = {"d-model": d_model, "d-k": d_k, "d-v": d_v, "heads": heads, "kv-heads": kv_heads}
    return [argument for name, number in numbers.items() for argument in (f"--{name}", str(number))] + biases


ALL_MASKS = ["padding", "causal", "combined"]
ENCODINGS = ["sinusoidal", "learned", "relative", "t5", "alibi", "rope"]
SCORINGS = ["dot", "scaled_dot", "general", "additive", "concat"]
EVERY_WAY = COMMON_WAYS + WAYS_OF_SCORES + WAYS_OF_PROJECTIONS

SUBJECTS = [
    Subject("sdpa", lessons.sdpa, COMMON_WAYS + WAYS_OF_SCORES,
            lambda draw: two_sentences(draw) + dimensions(draw, ["d-k", "d-v", "window"])),
    Subject("self-attention", lessons.self_attention, EVERY_WAY,
            lambda draw: sentences(draw, "--sentence", 3, draw.randint(3, 9)) +
            dimensions(draw, ["d-model", "d-k", "d-v", "window"])),
    Subject("cross-attention", lessons.cross_attention, COMMON_WAYS + WAYS_OF_SCORES + ["scale-in-weight"],
            lambda draw: two_sentences(draw) + dimensions(draw, ["d-model", "d-k", "d-v"]) + grouped_heads(draw)),
    Subject("multihead", lessons.multihead, EVERY_WAY,
            lambda draw: sentences(draw, "--sentence", 3, draw.randint(3, 9)) +
            dimensions(draw, ["d-model", "d-k", "d-v"]) + grouped_heads(draw)),
    Subject("masking", lessons.masking, COMMON_WAYS + ["mask-after-softmax", "online", "fused"],
            lambda draw: sentences(draw, "--sentence", 3, draw.randint(3, 9)) + dimensions(draw, ["d-model", "d-k", "d-v"]),
            [f"{name}/weights" for name in ALL_MASKS], [f"{name}/output" for name in ALL_MASKS]),
    Subject("positional", lessons.positional, COMMON_WAYS + ["mask-after-softmax", "common-offset"], long_table,
            [f"{name}/scores" for name in ENCODINGS],
            [f"{name}/weights" for name in ENCODINGS] + ["rope/output"]),
    Subject("transformer-block", lessons.transformer_block, EVERY_WAY,
            lambda draw: sentences(draw, "--sentence", 3, draw.randint(3, 7)) + heads_of_a_block(draw) +
            dimensions(draw, ["d-ff"]) + ["--norm", draw.choice(["pre", "post"]), "--activation", draw.choice(["relu", "gelu"])],
            ["attention/weights"]),
    Subject("scoring", lessons.scoring, ["plain", "row-constant"],
            lambda draw: two_sentences(draw) + dimensions(draw, ["d-model", "d-a"]),
            [f"{name}/weights" for name in SCORINGS], [f"{name}/context" for name in SCORINGS]),
]

# What a framework does otherwise, for the lessons that show it.
FRAMEWORKS = {
    "torch": ({"empty_row": "nan", "corner": "top left"}, ["sdpa", "self-attention", "multihead"]),
    "keras": ({"empty_row": "uniform", "corner": "top left"}, ["sdpa", "self-attention", "multihead"]),
    "onnx": ({"corner": "top left"}, ["sdpa", "self-attention", "multihead"]),
    "hf-llama": ({"empty_row": "uniform", "pairing": "halves"}, ["positional", "self-attention"]),
    "gptj": ({"empty_row": "uniform"}, ["positional", "self-attention"]),
    "numpy": ({}, ["sdpa", "multihead"]),
}


def is_right(way, has_empty_rows):
    """Whether the way is as right as the lesson's: a fill makes a row that sees nothing uniform, and where no weights are
    computed, frameworks have no convention for such a row.
    """
    if way.name == "fill" and has_empty_rows:
        return way.empty_row == "uniform"
    return way.name != "online" or way.empty_row == "zero"


def save_npz(path, steps, numpy_type):
    np.savez(path, **{name: step.astype(numpy_type) if step.dtype.kind == "f" else step for name, step in steps.items()})


def save_safetensors(path, steps, dtype):
    header, data = {}, b""
    for name, step in steps.items():
        if step.dtype.kind != "f":
            continue
        if dtype == "bfloat16":
            stored, content = "BF16", (step.astype(np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
        else:
            stored, numpy_type = SAFETENSORS_TYPES[dtype]
            content = step.astype(numpy_type).tobytes()
        header[name] = {"dtype": stored, "shape": list(step.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def save_json(path, steps, dtype):
    """Every number with as many digits as its type needs."""
    as_lists = {name: step.astype(np.float32).astype(str).astype(float).tolist() if dtype != "float64" else step.tolist()
                for name, step in steps.items() if np.isfinite(step).all()}
    path.write_text(json.dumps(as_lists))


def save(folder, number, steps, dtype, stored):
    path = folder / f"{number:04}"
    if stored == "json":
        save_json(path.with_suffix(".json"), steps, dtype)
    elif stored == "safetensors":
        save_safetensors(path.with_suffix(".safetensors"), steps, dtype)
    else:
        save_npz(path.with_suffix(".npz"), steps, WIDER[dtype] if stored == "npz of a wider type" else NUMPY_TYPES[dtype])


def kept_of(steps, kept, subject):
    names = {"all steps": steps, "weights and output": [*subject.weights, *subject.output], "output": subject.output}[kept]
    return {name: steps[name] for name in names if name in steps}


TOKENS = ["Q", "K", "V", "X", "X_target", "X_source", "queries", "keys"]


class Run:
    """All dumps of one probe, checked at once."""

    def __init__(self, program, subject, draw, like=None):
        self.program, self.subject, self.draw, self.like = program, subject, draw, like
        self.arguments = [*subject.arguments(draw), "--seed", str(draw.randint(0, 10**6))]
        self.kinds = {}

    def make(self, folder, dumps_of_a_type):
        probe = folder / "probe.npz"
        command = [self.program, "probe", self.subject.name, "--output", str(probe), *self.arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with np.load(probe) as stored:
            self.inputs = {name: stored[name] for name in stored.files if name != "config"}
            self.options = json.loads(bytes(stored["config"]))
        self.add_batch_and_lengths()
        self.dumps = folder / "dumps"
        self.dumps.mkdir()
        for dtype in ROUNDINGS:
            for _ in range(dumps_of_a_type):
                self.make_dump(dtype)

    def add_batch_and_lengths(self):
        """A probe of one sentence has no batch, and one of equally long sentences no lengths.

        The lesson masking then takes the last token for padding.
        """
        keys = next((name for name in ("K", "X_source", "X", "keys") if name in self.inputs), None)
        if keys is None:
            return
        if self.inputs[keys].ndim == 2:
            self.inputs = {name: x[None] if name in TOKENS else x for name, x in self.inputs.items()}
        batch, length, _ = self.inputs[keys].shape
        self.inputs.setdefault("lengths", np.full(batch, length - (self.subject.name == "masking")))

    def has_empty_rows(self, way):
        if "lengths" not in self.inputs:
            return False
        queries, keys = (next(self.inputs[name].shape[1] for name in names if name in self.inputs)
                         for names in (("Q", "X_target", "X", "queries"), ("K", "X_source", "X", "keys")))
        return not lessons.mask_of(self.inputs, self.options, way, queries, keys).any(-1).all()

    def shows_its_type(self, kept):
        """Whether numbers of the type are in the dump beside softmax that is kept wider."""
        return kept == "all steps" and self.subject.name != "sdpa"

    def make_dump(self, dtype):
        draw = self.draw
        upcast = "float32" if dtype in ("float16", "bfloat16") and draw.random() < 0.5 else dtype
        kept = draw.choice(KEPT)
        is_kept = upcast != dtype and self.shows_its_type(kept) and draw.random() < 0.5
        arithmetic = Arithmetic(dtype, draw.choice(ORDERS), upcast, is_kept)
        framework = FRAMEWORKS[self.like][0] if self.like else {}
        way = Way(draw.choice(self.subject.ways), **framework)
        if not is_right(way, self.has_empty_rows(way)):
            way = dataclasses.replace(way, name="plain")
        x = {name: tensor if tensor.dtype.kind != "f" else arithmetic.r(tensor) for name, tensor in self.inputs.items()}
        try:
            steps = self.subject.compute(x, self.options, arithmetic, way)
        except lessons.DigitsAreLost:
            way = dataclasses.replace(way, name="plain")
            steps = self.subject.compute(x, self.options, arithmetic, way)
        stored = "npz of a wider type" if is_kept else draw.choice(STORED)
        chosen = kept_of(steps, kept, self.subject)
        form = self.express(chosen, way, arithmetic) if kept == "all steps" else AS_LESSON
        if stored == "json" and not any(np.isfinite(step).all() for step in chosen.values()):
            stored = "npz"
        number = len(self.kinds)
        save(self.dumps, number, chosen, dtype, stored)
        self.kinds[number] = {"lesson": self.subject.name, "arithmetic": dtype, "softmax": f"{dtype}, softmax {'kept' if is_kept else 'computed'} in {upcast}",
                              "order": arithmetic.order, "way": way.name, "form": form, "kept": kept, "stored": stored,
                              "like": self.like or "the lesson"}

    def express(self, steps, way, arithmetic):
        """Most often in one of the forms that there are of these steps; returns which."""
        if self.draw.random() < 0.3:
            return AS_LESSON
        for form in self.draw.sample(forms.FORMS, len(forms.FORMS)):
            has_other_factors = way.name in ("scale-in-weight", "common-offset")
            if has_other_factors and form in (forms.factors_that_cancel, forms.columns_permuted):
                continue
            if form(steps, self.draw, arithmetic):
                return form.__name__
        return AS_LESSON

    def check(self, probe):
        like = ["--like", self.like] if self.like else []
        command = [self.program, "check", self.subject.name, "--folder", str(self.dumps), "--probe", str(probe),
                   "--format", "json", *like]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        if result.stderr:
            sys.exit(f"{' '.join(command)}: {result.stderr}")
        return json.loads(result.stdout)["files"]


def all_runs(program, draw):
    for subject in SUBJECTS:
        for _ in range(7):
            yield Run(program, subject, draw), 5
    for like, (_, names) in FRAMEWORKS.items():
        for subject in SUBJECTS:
            if subject.name in names:
                yield Run(program, subject, draw, like), 4


def chosen_of(seeds):
    choice = os.environ.get("ATTNLAB_TEST_SEED", "0")
    return seeds if choice == "all" else [seeds[int(choice) % len(seeds)]]


def main(program, *seeds):
    count, accused = collections.Counter(), []
    runs = (run for seed in chosen_of(seeds or ["1"]) for run in all_runs(program, random.Random(seed)))
    for run, dumps_of_a_type in runs:
        with tempfile.TemporaryDirectory() as folder:
            run.make(pathlib.Path(folder), dumps_of_a_type)
            for grade in run.check(pathlib.Path(folder) / "probe.npz"):
                kinds = run.kinds[int(grade["file"][:4])]
                count["dumps"] += 1
                count.update(f"{name}: {kind}" for name, kind in kinds.items())
                if grade["status"] != "right":
                    accused.append(f"{grade['status']}: {grade['step']} {grade['mistakes']}; {', '.join(kinds.values())}; "
                                   f"probe {run.subject.name} {' '.join(run.arguments)}")
    for kind, number in sorted(count.items()):
        print(f"{number:5} {kind}")
    print(*accused, sep="\n")
    print(f"{len(accused)} of {count['dumps']} right dumps are called wrong")
    missing = [name for name in expected_kinds() if count[name] < FEWEST_OF_A_KIND]
    if missing or count["dumps"] < FEWEST_DUMPS:
        sys.exit(f"too few dumps: {count['dumps']} of {FEWEST_DUMPS}; fewer than {FEWEST_OF_A_KIND} of {', '.join(missing)}")
    sys.exit(1 if accused else 0)


def expected_kinds():
    return ([f"lesson: {subject.name}" for subject in SUBJECTS] + [f"arithmetic: {dtype}" for dtype in ROUNDINGS] +
            [f"softmax: {half}, softmax {what} in float32" for half in ("float16", "bfloat16") for what in ("kept", "computed")] +
            [f"order: {order}" for order in ORDERS] + [f"way: {name}" for name in lessons.NAMES] +
            [f"form: {form.__name__}" for form in forms.FORMS] + [f"kept: {kept}" for kept in KEPT] + [f"stored: {stored}" for stored in STORED] +
            [f"like: {like}" for like in FRAMEWORKS])


if __name__ == "__main__":
    main(*sys.argv[1:])
