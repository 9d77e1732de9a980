"""What every lesson starts from, drawn with NumPy as the README documents it, and how cases are written down.

A case is a command line of attnlab and the tensors that its trace must hold, computed by NumPy or PyTorch code that
shares nothing with the program. tests/oracle/oracle_test.cpp runs each command line and compares every tensor.
"""

import json
import pathlib

import numpy as np


class Draws:
    """The random stream of one run."""

    def __init__(self, seed=42, weight_scale=None):
        self.random = np.random.RandomState(seed)
        self.weight_scale = weight_scale

    def embed(self, d_model, *batches):
        """A row normal(0, 1) for each distinct token in order of first appearance; padding is a row of zeros.

        Each batch is a list of sentences, each a list of tokens. Give the sources before the targets.
        Returns an array [batch, token, d_model] for each batch.
        """
        rows = {}
        for batch in batches:
            for sentence in batch:
                for token in sentence:
                    if token not in rows:
                        rows[token] = self.random.normal(0, 1, d_model)
        embedded = []
        for batch in batches:
            X = np.zeros((len(batch), max(map(len, batch)), d_model))
            for b, sentence in enumerate(batch):
                for i, token in enumerate(sentence):
                    X[b, i] = rows[token]
            embedded.append(X)
        return embedded[0] if len(embedded) == 1 else embedded

    def weight(self, fan_in, fan_out=None, shape=None):
        """A weight [fan_in, fan_out], a vector [fan_in], or any shape that is given, of standard deviation s."""
        columns = 1 if fan_out is None else fan_out
        if self.weight_scale is None:
            s = 1 / np.sqrt(fan_in)
        elif self.weight_scale == "xavier":
            s = np.sqrt(2 / (fan_in + columns))
        elif self.weight_scale == "he":
            s = np.sqrt(2 / fan_in)
        else:
            s = float(self.weight_scale)
        if shape is None:
            shape = (fan_in,) if fan_out is None else (fan_in, fan_out)
        return self.random.normal(0, s, shape)

    def normal(self, *shape):
        return self.random.normal(0, 1, shape)

    def dropout_mask(self, p, shape):
        return self.random.binomial(1, 1 - p, shape)


def written(array):
    """An array as shape and flat data; what is not finite as the strings of the trace."""
    array = np.asarray(array)
    names = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
    data = [value if np.isfinite(value) else names[str(value)] for value in array.ravel().tolist()]
    return {"shape": list(array.shape), "data": data}


class Cases:
    """The cases of one lesson, saved beside this file as NAME.json."""

    def __init__(self, name):
        self.path = pathlib.Path(__file__).parent / f"{name}.json"
        self.cases = []

    def add(self, arguments, tensors):
        """`tensors` by id, as NumPy arrays or PyTorch tensors, without a batch axis unless the run has a batch."""
        self.cases.append({"arguments": arguments, "tensors": {id: written(t) for id, t in tensors.items()}})

    def save(self):
        lines = ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in self.cases)
        self.path.write_text("[\n" + lines + "\n]\n")
        print(f"{self.path.name}: {len(self.cases)} cases, {self.path.stat().st_size // 1024} KiB")
