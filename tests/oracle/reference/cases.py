"""How a case is written down.

A case is a run of attnlab: a command line, the inputs that it is given in a file, and every tensor that it must
compute. CASE.inputs.npz goes into the program as `--input`; CASE.expected.npz is what PyTorch and NumPy make of the
same inputs with code that shares nothing with the program. Both hold arrays under the ids of the trace.
cases/LESSON/arguments.json has the command line of each case.
"""

import json
import shlex
import zlib

import numpy as np
import torch

# How a file may hold a tensor: its dtype, and whether C or Fortran order.
FLOATS = [("<f8", "C"), ("<f4", "C"), ("<f2", "C"), (">f8", "F"), (">f4", "C"), ("<f8", "F"), (">f2", "F")]
MASKS = [("|b1", "C"), ("|u1", "F"), ("<i8", "C"), (">i4", "C"), ("<f4", "C"), ("|b1", "F")]
COUNTS = [("<i8", "C"), ("<i4", "C"), ("|u1", "C"), (">i8", "C"), (">u2", "C"), ("<f8", "C")]


class Case:
    """One run of a lesson. The numbers of its inputs depend on nothing but its name."""

    def __init__(self, lesson, name, arguments, dtype):
        self.name, self.arguments, self.dtype = name, arguments, np.dtype(dtype)
        self.random = np.random.default_rng(zlib.crc32(f"{lesson}/{name}".encode()))
        self.inputs, self.expected = {}, {}

    def give(self, id, array, ways=FLOATS):
        """Puts the array into the file, in one of the ways, and returns the numbers that the program then has."""
        dtype, order = ways[self.random.integers(len(ways))]
        stored = self.inputs[id] = np.asarray(array).astype(dtype, order=order)
        if ways is MASKS:
            return torch.from_numpy(stored.astype(bool, order="C"))
        if ways is COUNTS:
            return torch.from_numpy(stored.astype(np.int64, order="C"))
        return torch.from_numpy(stored.astype(self.dtype, order="C").astype(np.float64))

    def normal(self, id, *shape, scale=1.0):
        """An input drawn normal(0, scale). Axes that are None are left out."""
        return self.give(id, self.random.normal(0, scale, [n for n in shape if n is not None]))

    def weight(self, id, fan_in, fan_out):
        return self.normal(id, fan_in, fan_out, scale=fan_in**-0.5)

    def lengths(self, lengths):
        """The input `lengths`, where there are any."""
        if lengths:
            self.give("lengths", lengths, COUNTS)

    def mask(self, id, *shape, empty_row=True):
        """A mask that no option makes: about half of the pairs, and in each sample a query that sees nothing, or else
        itself at least."""
        mask = self.random.random([n for n in shape if n is not None]) < 0.55
        if empty_row:
            mask[..., mask.shape[-2] // 2, :] = False
        else:
            mask |= np.eye(*mask.shape[-2:], dtype=bool)
        return self.give(id, mask, MASKS)

    def binary(self, id, shape, probability):
        """A dropout mask."""
        return self.give(id, self.random.random(tuple(shape)) < probability, MASKS).double()

    def expect(self, tensors, group=""):
        """Tensors by id, which begins with the group."""
        for id, tensor in tensors.items():
            array = np.asarray(tensor)
            is_real = np.issubdtype(array.dtype, np.floating)
            self.expected[group + id] = array.astype(self.dtype if is_real else array.dtype)

    def save(self, folder):
        if self.inputs:
            np.savez_compressed(folder / f"{self.name}.inputs.npz", **self.inputs)
        np.savez_compressed(folder / f"{self.name}.expected.npz", **self.expected)


class Lesson:
    """The cases of one lesson."""

    def __init__(self, name):
        self.name, self.cases = name, []

    def case(self, *tags, dtype="float64", **options):
        """A new case, called after its tags and options, with those options. Options that are None or False are left
        out, True is a flag, and a list repeats the option."""
        given = {name.replace("_", "-"): value for name, value in options.items()
                 if value is not None and value is not False}
        if dtype != "float64":
            given["dtype"] = dtype
        words, arguments = [str(tag) for tag in tags if tag], []
        for option, value in given.items():
            values = value if isinstance(value, list) else [value]
            for one in values:
                arguments.append(f"--{option}" if one is True else f"--{option} {shlex.quote(str(one))}")
            words.append(spoken(option, value))
        name = "-".join(word for word in words if word)
        assert name not in [case.name for case in self.cases], f"{self.name} has {name} twice"
        self.cases.append(Case(self.name, name, " ".join(arguments), dtype))
        return self.cases[-1]

    def save(self, folder):
        folder = folder / self.name
        folder.mkdir(parents=True)
        for case in self.cases:
            case.save(folder)
        arguments = {case.name: case.arguments for case in self.cases}
        (folder / "arguments.json").write_text(json.dumps(arguments, ensure_ascii=False, indent=1) + "\n")


def spoken(option, value):
    """An option within the name of a case."""
    if option in ("sentence", "source", "target", "memory"):  # the case's tags say how long they are
        return ""
    if value is True:
        return option
    if option in ("dtype", "variant", "attention", "encoding", "activation"):
        return str(value)
    return f"{option}-{value}".replace(",", "-").replace("/", "-")
