"""What the program gives back: runs with their pages, probes, and what it says of other people's numbers."""

import html
import json
import os
import re
import shlex
import shutil
from base64 import b64encode
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from ._program import Files, Refused, Text, as_array, ask, is_array, parted


class Trace:
    """A run. `trace["weights"]` is the array of that id; `list(trace)` has the ids, inputs first.
    `inputs` and `steps` hold by id what is said of each tensor (title, formula, …), `axes[id]` its axes, `labels[id]`
    the tokens along each, `claims` what holds on this run, with value, limit and holds. A notebook shows its page."""

    def __init__(self, words, files=None, **environment):
        self.words, self._files, self._ask = list(words), files, partial(ask, *words, **environment)
        self.json, self.holds = self._ask("--format", "json")
        document = json.loads(self.json)
        self.lesson, self.title, self.config = document["lesson"], document["title"], document["config"]
        self.inputs, self.steps, self.claims = (
            {event["id"]: event for event in document["events"] if event["kind"] == kind}
            for kind in ("input", "step", "claim"))
        self._tensors = {**self.inputs, **self.steps}
        self.axes, self.labels = ({id: event[of] for id, event in self._tensors.items()} for of in ("axes", "labels"))
        self._printed = lru_cache(maxsize=64)(lambda *options: self._ask(*options)[0])

    def __getitem__(self, id):
        """The array of that id, in its dtype (of bfloat16 as float32); `trace[id, "plot"]`, `[id, "arcs"]` draw it."""
        if isinstance(id, tuple):
            return self.picture(*(part for part in id if part != "plot"))
        if "data" not in (event := self._tensors.get(id, {})):
            raise KeyError(f"this run has no numbers of {id!r}; valid: {', '.join(self)}, without shapes=True")
        array = np.array(event["data"], event["dtype"].replace("bfloat16", "float32")).ravel()
        if event["dtype"] == "bfloat16":  # the nearest to its three digits
            array = ((array.view(np.uint32) + 0x8000) & 0xFFFF0000).view(np.float32)
        return array.reshape(event["shape"])

    def __iter__(self):
        return iter(self._tensors)

    def explain(self, *entries):
        """Entries worked out, term by term: `trace.explain("weights[sat, cat]")`, by tokens or places."""
        return Text(self._printed(*[word for entry in entries for word in ("--explain", entry)]))

    def worked(self, id, *places):
        """An entry worked out: `trace.worked("weights", "sat", "cat")`; leading places left out are the page's."""
        index = self._tensors.get(id, {}).get("worked", {}).get("index", [])
        places = [*index[:max(0, len(index) - len(places))], *places]
        along = zip([*self.labels.get(id, []), *[None] * len(places)], places)
        places = [f"#{tokens.index(one)}" if tokens and tokens.count(one) == 1 else str(one) for tokens, one in along]
        return self.explain(f"{id}[{', '.join(places)}]")

    def numpy(self):
        """A script of NumPy that computes this run and asserts each step."""
        return Text(self._printed("--format", "python"))

    def picture(self, id=None, kind=None, **given):
        """A drawing of a tensor, without an id of what the run is about, as "heatmap", "arcs", "lines", "bars" or what
        fits; also title="…", head=0, theme="dark"."""
        words = parted(self.words, {"steps": id, "picture": kind, **given})[0]
        drawn = Picture(self._printed("--format=svg", *words))
        drawn._ask, drawn._files = partial(self._ask, *words), self._files
        return drawn

    keys, heatmap, _repr_pretty_ = __iter__, picture, Text._repr_pretty_

    def save(self, path):
        """Writes the run, by the ending of path: .json, .npz, .safetensors, .html, .svg, .py or .txt."""
        self._ask("--output", os.path.abspath(path))

    def __str__(self):
        return self._printed()

    def __repr__(self):
        held = sum(claim["holds"] for claim in self.claims.values())
        return f"<attnlab {shlex.join(self.words)}: {held} of {len(self.claims)} claims hold>"

    def _repr_html_(self):
        page = html.escape(self._printed("--format", "html"))
        above = self.picture()._repr_html_() if self._ask.keywords and len(self.json) < 10**6 else ""
        return above + f'<iframe srcdoc="{page}" style="width: 100%; height: 40rem; border: 0"></iframe>'


class Picture(str):
    """A drawing as SVG, which a notebook shows in a frame of its own; `save` writes .svg, .png or .pdf."""
    save, __repr__ = Trace.save, object.__repr__

    def _repr_html_(self):
        drawn = b64encode(self.encode()).decode()
        return f'<img alt="" style="max-width: 100%" src="data:image/svg+xml;base64,{drawn}"/>'


def sentences(tokens):
    """Tokens by the option that they are for: of a sentence, or (targets, sources)."""
    tokens = tokens.split() if isinstance(tokens, str) else [] if tokens is None else list(tokens)
    is_pair = tokens and not isinstance(tokens[0], str)
    return dict(zip(("target", "source"), map(list, tokens))) if is_pair else {"sentence": tokens} if tokens else {}


def joined(tokens):
    """A text that the program cuts into these tokens and no others."""
    words = [one if one.isprintable() and one.strip() and "│" not in one else ascii(one) for one in tokens]
    mark = " " if all(one.isascii() and one.isalpha() for one in words) else "│"
    return mark.join(words) + mark * (len(words) == 1)


def run(lesson, *, input=None, tokens=None, **given):
    """Runs a lesson, or a document (`"my-lesson.md"`), and returns its Trace.
    Keywords are the program's options (`attnlab LESSON --help`): `d_model=8` is --d-model 8, True is a flag, a list
    repeats an option, `define={"scaled": "scores / d_k"}` puts another formula in place of a step. tokens are what your
    tokenizer makes of a sentence, `["play", "##ing"]`, or a pair, (targets, sources). Arrays are inputs by id, NumPy's
    or with `__array__` or `__dlpack__`: `X=X` [token × d_model], `W_Q=W_Q` [d_model × head·d_k]. An id that is no name
    in Python goes in braces: `**{"norm/gain": gain}`. `input` takes a file, a dict of arrays, as a state dict, or a
    list of them. What is refused raises Refused; a run of which a claim fails has `holds` False."""
    words, files = [str(lesson)], Files()
    texts = {option: joined(one) for option, one in sentences(tokens).items()}
    options, arrays = parted(words, {**texts, **given}, taken=("explain", "expect"))
    return Trace([*words, *options, *files.inputs(input, arrays)], files)


def show(weights, tokens=None, **given):
    """Shows weights of your own: heatmaps, how widely each head looks, how much at itself and the word before.
    weights is [query × key], [head × query × key], [layer × head × query × key], or a list of layers, each in a batch
    of one, too; `t["weights"]`, of several layers `t["layer=0/weights"]`. tokens are labels, kept as they are; of cross
    attention a pair, (targets, sources). `show(…).picture()` draws all heads, `.picture(kind="arcs")` as lines."""
    is_list = isinstance(weights, (list, tuple)) and weights and is_array(weights[0])
    tensors = [one if hasattr(one, "ndim") else as_array(one) for one in (weights if is_list else [weights])]
    layers = tensors if is_list or tensors[0].ndim < 4 else list(tensors[0]) or tensors
    layers = [one[0] if one.ndim > 3 and len(one) == 1 else one for one in layers]
    names = [f"layer={i}/weights" for i in range(len(layers))] if len(layers) != 1 else ["weights"]
    shape, files = [*layers[0].shape[-2:]], Files()
    texts = sentences([map(str, range(one)) for one in shape] if tokens is None and len({*shape}) == 2 else tokens)
    if texts and (counts := [len(one) for one in texts.values()] * (3 - len(texts))) != shape:
        raise Refused(f"tokens are {counts[0]} × {counts[1]}, the weights {' × '.join(map(str, shape))} (query × key);"
                      " valid: a token for each, of cross attention tokens=(targets, sources)")
    shutil.copytree(Path(__file__).with_name("lessons"), files.path("lessons"))
    document = Path(files.path("lessons/your-weights.md"))
    document.write_text(document.read_text("utf-8").replace("layers = 2", f"layers = {len(layers)}"), "utf-8")
    texts = {option: joined(one) for option, one in texts.items()}
    options, arrays = parted([str(document)], {**dict(zip(["heads"], layers[0].shape[-3:-2])), **given, **texts})
    words = ["your-weights", *options, *files.inputs({**arrays, **dict(zip(names, layers))})]
    return Trace(words, files, ATTNLAB_DATA=files.name)


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


def magic(line, cell=None):
    """`%attnlab multihead --heads 2`; `%%attnlab` above such a line, or above a document, with options behind it."""
    words, files = shlex.split(line), Files()
    if cell and cell.lstrip().startswith("---"):
        words = [files.path("lesson.md"), *words]
        Path(words[0]).write_text(cell.lstrip(), encoding="utf-8")
    else:
        words += shlex.split(cell or "")
    runs = words and (words[0].endswith(".md") or words[0] in ["run", *re.findall(r"(?m)^\S+", ask("list")[0])])
    prints = {"-h", "--help", "--explain", "--format", "--output", "-o", "--expect"}.intersection(words)
    return Trace(words, files) if runs and not prints else Text(ask(*words)[0])


def load_ipython_extension(ipython):
    ipython.register_magic_function(magic, "line_cell", "attnlab")
