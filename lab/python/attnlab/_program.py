"""Asks the program: finds it, makes its command line, hands it arrays in files."""
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

ELEMENTS = {"bool": "BOOL", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
            **{f"{sign}int{bits}": f"{'U' if sign else 'I'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}}


class Refused(Exception):
    """What was asked for is no good (exit status 2). The message is the program's own."""


def shown(value, printer, cycle):
    """How a notebook and IPython show as text what has this as its _repr_pretty_."""
    printer.text(str(value))


class Text(str):
    """A text of several lines, which consoles show as it is."""
    __repr__, _repr_pretty_ = str.__str__, shown


def program():
    """The path of attnlab: $ATTNLAB, else below a folder that this module is in, else on PATH."""
    named = os.environ.get("ATTNLAB")
    below = [folder / place for folder in Path(__file__).resolve().parents for place in ("bin", "build/lab")]
    places = os.pathsep.join(map(str, [*below, os.environ.get("PATH", os.defpath)]))
    found = shutil.which(named or "attnlab", path=None if named else places)
    if not found:
        lacking = f"ATTNLAB={named} is no program" if named else "there is no program attnlab"
        raise FileNotFoundError(lacking + "; valid: install its .deb, put it on PATH, or set ATTNLAB to its path"
                                " (from its source, lab/run makes build/lab/attnlab)")
    return found


def ask(*words):
    """What the program prints for these words, and whether all holds (exit status 0, not 1)."""
    ended = subprocess.run([program(), *map(os.fspath, words)], capture_output=True, stdin=subprocess.DEVNULL)
    message = ended.stderr.decode(errors="replace").removeprefix("attnlab: ").strip()
    if ended.returncode not in (0, 1):
        raise Refused(message) if ended.returncode == 2 else RuntimeError(f"attnlab: {ended.returncode}, {message}")
    print(message, end="\n" * bool(message), file=sys.stderr)
    return ended.stdout.decode(), ended.returncode == 0


def is_array(value):
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def as_array(value):
    return np.asarray(value) if hasattr(value, "__array__") or not is_array(value) else np.from_dlpack(value)


def listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def bytes_of(name, value):
    """The type of an array's elements, by its name in safetensors, its shape and its bytes in the order of C."""
    kind = None
    if hasattr(value, "detach"):  # torch, whose bfloat16 NumPy lacks
        value, kind = value.detach().cpu(), str(value.dtype).removeprefix("torch.")
        if kind == "bfloat16":
            value = value.contiguous().view(sys.modules["torch"].int16)
    array = as_array(value)
    kind = kind or array.dtype.name
    if kind not in ELEMENTS:
        raise Refused(f"{name} holds {kind}; valid: {', '.join(ELEMENTS)}")
    return ELEMENTS[kind], list(array.shape), array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


class Files:
    """A folder of files that lives as long as what was made of them."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="attnlab-")
        self.path = functools.partial(os.path.join, self.folder.name)

    def of(self, value, name, **metadata):
        """The path that value is; or of a new file with this trace, or with these arrays, which safetensors has all."""
        if hasattr(value, "json"):
            Path(self.path(f"{name}.json")).write_text(value.json, encoding="utf-8")
            return self.path(f"{name}.json")
        if not isinstance(value, Mapping):
            return os.fspath(value)
        header, bodies, end = {"__metadata__": metadata} if metadata else {}, [], 0
        for id in value:
            kind, shape, body = bytes_of(id, value[id])
            begin, end = end, end + len(body)
            header[id] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
            bodies.append(body)
        path, head = self.path(f"{name}.safetensors"), json.dumps(header).encode()
        Path(path).write_bytes(len(head).to_bytes(8, "little") + head + b"".join(bodies))
        return path

    def inputs(self, given, arrays=None):
        """The words for input=…, a path, a trace or arrays by name, or a list of those; and for arrays."""
        given = [one for one in [*listed(given), arrays] if one]
        return [word for i, one in enumerate(given) for word in ("--input", self.of(one, f"input{i or ''}"))]


def spelled(option, value, known):
    """The words that give an option this value."""
    if value is None or isinstance(value, bool):
        option = option if value else "no-" + option
        return ["--" + option] if value or (value is False and option in known()) else []
    sign = " = " if option == "define" else "="
    values = [f"{key}{sign}{one}" for key, one in value.items()] if isinstance(value, Mapping) else listed(value)
    if option == "steps" or not any(isinstance(one, (str, os.PathLike)) for one in values):
        values = [",".join(str(one.item() if is_array(one) else one) for one in values)] if values else []
    return [word for one in values for word in ("--" + option, os.fspath(one))]


def parted(words, given, taken=()):
    """Parts keywords into options, as words, and arrays by id. An array with axes is never an option. Of an array
    without axes and a list of other things than texts the help of these words knows it by the name."""
    def known():
        return re.findall(r"^ +(?:-\w,)?--([a-z][a-z-]*)", ask(*words, "--help")[0], re.MULTILINE)

    options, arrays = [], {}
    for name, value in given.items():
        option = name.replace("_", "-")
        is_list = isinstance(value, (list, tuple)) and not all(isinstance(one, (str, os.PathLike)) for one in value)
        has_axes = is_array(value) and len(getattr(value, "shape", (1,))) > 0
        if has_axes or ((is_list or is_array(value)) and option not in known()):
            arrays[name] = value
        elif option in ("output", "format", "help", *taken):
            raise Refused(f"{name}={value!r} is no option here; valid: an array of that id, what the result offers")
        else:
            options += spelled(option, value, known)
    return options, arrays
