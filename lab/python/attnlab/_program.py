"""Asks the program: finds it, makes its command line, hands it arrays in files."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

ELEMENTS = {"bool": "BOOL", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
            **{f"{sign}int{bits}": f"{'U' if sign else 'I'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}}
PROGRESS = re.compile(rb"\r\x1b\[K([^\n]*\r\x1b\[K)?")


class Refused(Exception):
    """What was asked for is no good (exit status 2). The message is the program's own."""


class Text(str):
    """A text of several lines, which consoles and notebooks show as it is."""
    __repr__ = str.__str__

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))


def program():
    """The path of attnlab: $ATTNLAB, else below a folder that this module is in, else on PATH."""
    named = os.environ.get("ATTNLAB")
    below = [folder / place for folder in Path(__file__).resolve().parents for place in ("bin", "build/lab")]
    places = os.pathsep.join(map(str, [*below, os.environ.get("PATH", os.defpath)]))
    found = shutil.which(named or "attnlab", path=None if named else places)
    if not found:
        raise FileNotFoundError((f"ATTNLAB={named} is no program" if named else "there is no program attnlab") +
                                "; valid: install its .deb, put it on PATH, or set ATTNLAB to its path"
                                " (from its source, lab/run makes build/lab/attnlab)")
    return found


def ask(*words, **environment):
    """What the program prints for these words, and whether all holds (exit status 0, not 1). Its progress shows on
    stderr where that is a terminal, elsewhere with ATTNLAB_PROGRESS=1. Ctrl-C ends the program."""
    with tempfile.NamedTemporaryFile() as printed, subprocess.Popen(
            [program(), *map(os.fspath, words)], stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.PIPE,
            env={"ATTNLAB_PROGRESS": "01"[sys.stderr.isatty()], **os.environ, **environment}) as child:
        said = b""
        try:
            while piece := child.stderr.read1():
                said += piece
                progress = (b"\r" in piece) * (b"\r\x1b[K" if b"\n" in piece else piece)
                print(end=progress.decode(errors="replace"), file=sys.stderr, flush=True)
            status = child.wait()
        except BaseException:
            child.send_signal(signal.SIGINT)  # which ends it; training saves what it has
            child.wait()
            raise
        text = Path(printed.name).read_bytes().decode()
    message = PROGRESS.sub(b"", said).decode(errors="replace").removeprefix("attnlab: ").strip()
    if status not in (0, 1):
        raise Refused(message) if status == 2 else RuntimeError(f"attnlab: {status}, {message}")
    print(message, end="\n" * bool(message), file=sys.stderr)
    return text, status == 0


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
        value = value.contiguous().view(sys.modules["torch"].int16) if kind == "bfloat16" else value
    array = as_array(value)
    kind = kind or array.dtype.name
    if kind not in ELEMENTS:
        raise Refused(f"{name} holds {kind}; valid: {', '.join(ELEMENTS)}")
    return ELEMENTS[kind], list(array.shape), array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


class Files(tempfile.TemporaryDirectory):
    """A folder of files that lives as long as what was made of them."""

    def path(self, name):
        return os.path.join(self.name, name)

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
            header[id] = {"dtype": kind, "shape": shape, "data_offsets": [end, (end := end + len(body))]}
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
