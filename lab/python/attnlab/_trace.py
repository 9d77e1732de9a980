"""A run of a lesson: its numbers, and each of its pages when somebody asks for it."""

import html
import json
import re
import shlex
from base64 import b64encode
from functools import lru_cache
from pathlib import Path

import numpy as np

from ._program import Files, Refused, Text, as_array, ask, is_array, parted, shown


class Picture(str):
    """A drawing as SVG, which a notebook shows in a frame of its own."""

    def save(self, path):
        """Writes it, by the ending of path: .svg, or .png and .pdf, for which the program wants rsvg-convert."""
        ask(*self.words, "--output", path)

    def _repr_html_(self):
        drawn = b64encode(self.encode()).decode()
        return f'<img alt="" style="max-width: 100%" src="data:image/svg+xml;base64,{drawn}"/>'


class Trace:
    """A run. `trace["weights"]` is the array of that id; `list(trace)` has the ids, inputs first.

    `inputs` and `steps` hold by id what is said of each tensor (title, formula, note, shape, axes, dtype, of a step
    its inputs and one entry worked out), `axes[id]` the names of its axes, `labels[id]` the tokens along each,
    `claims` by id what holds on this run, with value, limit and holds. A notebook shows the lesson's page.
    """

    def __init__(self, words, files=None):
        self.words, self._files = list(words), files
        self.json, self.holds = ask(*self.words, "--format", "json")
        document = json.loads(self.json)
        if document.get("schema") != "attnlab.trace/1":
            raise Refused("this run gives no trace; valid: without expect, and attnlab.diff to compare")
        self.lesson, self.title, self.config = document["lesson"], document["title"], document["config"]
        self.inputs, self.steps, self.claims = (
            {event["id"]: event for event in document["events"] if event["kind"] == kind}
            for kind in ("input", "step", "claim"))
        self._tensors = {**self.inputs, **self.steps}
        self.axes, self.labels = ({id: event[of] for id, event in self._tensors.items()} for of in ("axes", "labels"))
        self._printed = lru_cache(maxsize=64)(lambda *options: ask(*self.words, *options)[0])

    def __getitem__(self, id):
        """The array of that id, in its dtype (of bfloat16 as float32); `trace[id, "plot"]`, `[id, "arcs"]` draw it."""
        if isinstance(id, tuple):
            return self.picture(*(part for part in id if part != "plot"))
        if "data" not in (event := self._tensors.get(id, {})):
            raise KeyError(f"this run has no numbers of {id!r}; valid: {', '.join(self)}, without shapes=True")
        array = np.array(event["data"], event["dtype"].replace("bfloat16", "float32")).ravel()
        if event["dtype"] == "bfloat16":  # the nearest to its three digits
            bits = array.view(np.uint32)
            array = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)
        return array.reshape(event["shape"])

    def __iter__(self):
        return iter(self._tensors)

    def explain(self, *entries):
        """Entries worked out, term by term: `trace.explain("weights[sat, cat]")`, by tokens or places."""
        return Text(self._printed(*[word for entry in entries for word in ("--explain", entry)]))

    def worked(self, id, *places):
        """An entry worked out: `trace.worked("weights", "sat", "cat")`; without places the one on the page."""
        places = places or self._tensors.get(id, {}).get("worked", {}).get("index", [])
        return self.explain(f"{id}[{', '.join(map(str, places))}]")

    def numpy(self):
        """A script of NumPy that computes this run and asserts each step."""
        return Text(self._printed("--format", "python"))

    def picture(self, id, kind=None, **given):
        """A drawing of a tensor as "heatmap", "arcs", "lines", "bars" or what fits; also title="…", head=0."""
        words = ("--steps", id, *parted(self.words, {"picture": kind, **given})[0])
        drawn = Picture(self._printed("--format=svg", *words))
        drawn.words, drawn._files = (*self.words, *words), self._files
        return drawn

    keys, heatmap, _repr_pretty_ = __iter__, picture, shown

    def save(self, path):
        """Writes the run, by the ending of path: .json, .npz, .safetensors, .html, .svg, .py or .txt."""
        ask(*self.words, "--output", path)

    def __str__(self):
        return self._printed()

    def __repr__(self):
        held = sum(claim["holds"] for claim in self.claims.values())
        return f"<attnlab {shlex.join(self.words)}: {held} of {len(self.claims)} claims hold>"

    def _repr_html_(self):
        page = html.escape(self._printed("--format", "html"))
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40rem; border: 0"></iframe>'


def run(lesson, *, input=None, **given):
    """Runs a lesson, or a document (`"my-lesson.md"`), and returns its Trace.

    Keywords are the program's options (`attnlab LESSON --help`): `d_model=8` is --d-model 8, True is a flag, a list
    repeats an option, `define={"scaled": "scores / d_k"}` puts another formula in place of a step. Arrays are
    inputs by id, from NumPy or anything with `__array__` or `__dlpack__`:
        run("multihead", heads=2, X=X, W_Q=W_Q)   # X [token × d_model], W_Q [d_model × head·d_k]
    An id that is no name in Python goes in braces: `**{"norm/gain": gain}`. `input` takes a file, a dict of arrays, as
    a state dict, or a list of them. What is refused raises Refused; a run of which a claim fails has `holds` False.
    """
    words, files = [str(lesson)], Files()
    options, arrays = parted(words, given, taken=("explain", "expect"))
    return Trace([*words, *options, *files.inputs(input, arrays)], files)


def show(weights, tokens=None, **given):
    """Shows weights of your own as the lesson patterns does: heatmaps, strongest keys, entropy, what has failed.

    weights is [query × key], [head × query × key] or [layer × head × query × key], heads counted on from layer to
    layer, or a list of layers, each in a batch of one, too. tokens are labels, without signs that cut them (`##ing`).
    """
    if isinstance(weights, (list, tuple)) and is_array(weights[0]):
        weights = np.stack([as_array(one.detach().float().cpu() if hasattr(one, "detach") else one) for one in weights])
    weights = weights if hasattr(weights, "shape") else as_array(weights)
    weights = weights.reshape(-1, *weights.shape[-2:]) if len(weights.shape) > 3 else weights
    tokens = tokens.split() if isinstance(tokens, str) else tokens or []
    labels = ["".join(filter(str.isalnum, token)) or token.strip()[:1] or "_" for token in tokens]
    given = {"heads": weights.shape[0] if len(weights.shape) == 3 else None, **given}
    return run("patterns", weights=weights, sentence=" ".join(labels) or None, **given)


def magic(line, cell=None):
    """`%attnlab multihead --heads 2`; `%%attnlab` above such a line, or above a document, with options behind it."""
    words, files = shlex.split(line), Files()
    if cell and cell.lstrip().startswith("---"):
        words = [files.path("lesson.md"), *words]
        Path(words[0]).write_text(cell.lstrip(), encoding="utf-8")
    else:
        words += shlex.split(cell or "")
    names = ["run", *re.findall(r"^\S+", ask("list")[0], re.MULTILINE)]
    runs = words and (words[0] in names or words[0].endswith(".md"))
    prints = {"-h", "--help", "--explain", "--format", "--output", "-o", "--expect"}.intersection(words)
    return Trace(words, files) if runs and not prints else Text(ask(*words)[0])


def load_ipython_extension(ipython):
    ipython.register_magic_function(magic, "line_cell", "attnlab")
