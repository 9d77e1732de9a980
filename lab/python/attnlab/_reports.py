"""Probes, and what the program says of other people's numbers."""

import json

import numpy as np

from ._program import Files, Refused, Text, ask, parted


class Probe(dict):
    """Inputs that expose mistakes: `probe["X"]` is an array. It prints as the task, its `sheet`, which has all
    shapes. `path` is its file, `config` holds the options."""
    _repr_pretty_ = Text._repr_pretty_

    def __init__(self, path, sheet, files):
        super().__init__(np.load(path))
        self.path, self.sheet, self._files = path, sheet, files
        self.config = json.loads(self.pop("config").tobytes())

    def __repr__(self):
        return self.sheet


class Report(Text):
    """What the program found, a text. True where all is right (check) or equal (diff).
    `data` is the same as data: of check `steps` with id, verdict and mistakes, of diff `tensors`."""
    data = property(lambda self: json.loads(ask(*self.words, "--format", "json")[0]))

    def __new__(cls, words, files):
        text, right = ask(*words)
        report = super().__new__(cls, text or "equal\n")
        report.words, report.right, report._files = words, right, files
        return report

    def __bool__(self):
        return self.right


def probe(lesson, *, output=None, input=None, **given):
    """Inputs of a lesson whose dimensions expose mistakes, as arrays, and the task as text: a Probe.
    Keywords are options and inputs as in run: `heads=4, causal=False`. output names a file of yours for them (.npz)."""
    words, files = ["probe", str(lesson)], Files()
    options, arrays = parted(words, given, taken=("audit", "names"))
    path = str(output or files.path("probe.npz"))
    sheet, _ = ask(*words, *options, *files.inputs(input, arrays), "--output", path)
    return Probe(path, Text(sheet if output else sheet.replace(files.path(""), "")), files)


def check(lesson, dump=None, *, probe=None, input=None, **given):
    """Checks what your program computed: a Report that is true when right and names wrong steps and their mistakes.
    Arrays are your tensors by id or a common name, in the shapes on the probe's sheet; or dump is a file or a dict:
        p = probe("multihead")                                 # X [batch × token × d_model], W_Q, …
        check("multihead", output=y, weights=w, probe=p)       # y [batch × query × d_model]
    Other keywords are options: `hint=1`, `like="torch"`, `rename={"attn": "weights"}`. Without a probe the inputs
    stand among the arrays, or in `input`: a file or a dict, a state dict too."""
    words, files = ["check", str(lesson)], Files()
    options, arrays = parted(words, given, taken=("folder",))
    if (dump is None) == (not arrays):
        raise Refused("valid: either arrays by id, as output=y, or one file or dict of them")
    dump, inputs, metadata = arrays or dump, files.inputs(input), {}
    if isinstance(probe, Probe):
        config = json.dumps({"probe": probe.config["probe"]})
        metadata, probe = {"schema": "attnlab.trace/1", "lesson": words[1], "title": "", "config": config}, probe.path
    inputs += ["--probe", files.of(probe, "probe")] if probe is not None else []
    return Report([*words, files.of(dump, "mine", **metadata), *options, *inputs], files)


def assert_right(lesson, dump=None, **given):
    """check for pytest and unittest, or what check or capture found: an AssertionError where something is wrong."""
    __tracebackhide__ = True  # of pytest
    if not (verdict := lesson if isinstance(lesson, Report) else check(lesson, dump, **given)):
        first = next((line.strip() for line in verdict.splitlines() if " wrong" in line), "not right")
        raise AssertionError(f"{first}\n\n{verdict}")


def diff(a, b, **given):
    """Compares traces, dicts of arrays or files: a Report that is true where they are equal.
    Keywords are options: `atol=1e-6`, `rtol`, `only_common=True`, `rename={"attn": "weights"}`."""
    files = Files()
    options, arrays = parted(["diff"], given, taken=("quiet",))
    return Report(["diff", files.of(a, "a"), files.of(b, "b"), *options, *files.inputs(None, arrays)], files)
