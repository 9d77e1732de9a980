"""An LSTM that reads and one that writes, with attention between them.

The encoder is PyTorch's nn.LSTM on a packed sequence, Bahdanau's decoder nn.LSTMCell, Luong's nn.LSTM, and the
multi-head attention nn.MultiheadAttention. Gates, which those do not show, follow from their states.
"""

import numpy as np
import torch
import torch.nn.functional as F
from attention import mask_of, split
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

GATES = "ifgo"
NAMES = {"W_ih": "weight_ih", "W_hh": "weight_hh", "b_ih": "bias_ih", "b_hh": "bias_hh"}


def lstm_weights(case, group, d_in, hidden):
    """By name, given to the case. Gates stand in the order i, f, g, o."""
    return {"W_ih": case.normal(f"{group}/W_ih", 4 * hidden, d_in, scale=d_in**-0.5),
            "W_hh": case.normal(f"{group}/W_hh", 4 * hidden, hidden, scale=hidden**-0.5),
            "b_ih": case.normal(f"{group}/b_ih", 4 * hidden, scale=0.5),
            "b_hh": case.normal(f"{group}/b_hh", 4 * hidden, scale=0.5)}


def load(module, suffix, weights):
    for id, name in NAMES.items():
        getattr(module, name + suffix).copy_(weights[id])


def gates(x, before, memory_before, weights):
    """What nn.LSTM computes within: the four gates and the memory after, from the states before."""
    z = x @ weights["W_ih"].T + weights["b_ih"] + before @ weights["W_hh"].T + weights["b_hh"]
    activations = [torch.tanh if gate == "g" else torch.sigmoid for gate in GATES]
    t = {gate: f(part) for gate, f, part in zip(GATES, activations, z.chunk(4, dim=-1))}
    t["c"] = t["f"] * memory_before + t["i"] * t["g"]
    t["h"] = t["o"] * torch.tanh(t["c"])
    return t


def run_cells(X, order, weights, state):
    """nn.LSTMCell step by step over one sentence [n, d]; the steps in their places, and the last state."""
    cell = nn.LSTMCell(X.shape[-1], weights["W_hh"].shape[1])
    load(cell, "", weights)
    rows = {}
    for t in order:
        row = gates(X[t : t + 1], *state, weights)
        state = cell(X[t : t + 1], state)
        assert torch.allclose(row["h"], state[0], rtol=1e-13) and torch.allclose(row["c"], state[1], rtol=1e-13)
        rows[t] = row
    return {name: torch.cat([rows[t][name] for t in range(len(X))]) for name in "ifgoch"}, state


def encode(X, lengths, weights, reverse=False):
    """All steps [batch, n, hidden] with zeros for padding, and the last states."""
    hidden = weights["W_hh"].shape[1]
    steps = {name: torch.zeros(*X.shape[:2], hidden) for name in "ifgoch"}
    last = []
    for b, length in enumerate(lengths):
        order = range(length - 1, -1, -1) if reverse else range(length)
        rows, state = run_cells(X[b, :length], order, weights, (torch.zeros(1, hidden), torch.zeros(1, hidden)))
        last.append(state)
        for name in rows:
            steps[name][b, :length] = rows[name]
    return steps, tuple(torch.cat(parts) for parts in zip(*last))


def check_encoder(X, lengths, weights, reverse_weights, states, last):
    """PyTorch's own LSTM on the packed sequence has the same states and ends in the same state."""
    module = nn.LSTM(X.shape[-1], weights["W_hh"].shape[1], batch_first=True,
                     bidirectional=reverse_weights is not None)
    load(module, "_l0", weights)
    if reverse_weights is not None:
        load(module, "_l0_reverse", reverse_weights)
    packed = pack_padded_sequence(X, lengths, batch_first=True, enforce_sorted=False)
    output, (h, c) = module(packed)
    output, _ = pad_packed_sequence(output, batch_first=True)
    assert torch.allclose(output, states, rtol=1e-12, atol=1e-14)
    assert torch.allclose(torch.cat(list(h), -1), last[0], rtol=1e-12, atol=1e-14)
    assert torch.allclose(torch.cat(list(c), -1), last[1], rtol=1e-12, atol=1e-14)


class Attention:
    """The weights of one kind of attention, given to the case, and how it scores."""

    def __init__(self, case, kind, width, d_a, heads):
        self.kind, self.heads = kind, heads
        shapes = {"bahdanau": {"W_q": (width, d_a), "W_k": (width, d_a), "v_a": (d_a, None)},
                  "luong-dot": {},
                  "luong-general": {"W_a": (width, width)},
                  "luong-concat": {"W_a": (2 * width, d_a), "v_a": (d_a, None)},
                  "multihead": {name: (width, width) for name in ("W_Q", "W_K", "W_V", "W_O")}}[kind]
        self.weights = {name: case.weight(f"attention/{name}", *shape) for name, shape in shapes.items()}

    def scores(self, query, states):
        """[batch, d] and [batch, n, d] to [batch, n]."""
        w = self.weights
        asked = query[:, None, :].expand(-1, states.shape[1], -1)
        if self.kind == "bahdanau":
            return torch.tanh(asked @ w["W_q"] + states @ w["W_k"]) @ w["v_a"]
        if self.kind == "luong-concat":
            return torch.tanh(torch.cat([asked, states], -1) @ w["W_a"]) @ w["v_a"]
        if self.kind == "luong-general":
            return torch.einsum("bi,ij,bnj->bn", query, w["W_a"], states)
        return torch.einsum("bi,bni->bn", query, states)

    def attend(self, query, states, visible):
        """All steps of one query for each sample, by id; `visible` [batch, n]."""
        t = {"scores": self.scores(query, states)}
        seen = t["scores"]
        if not visible.all():
            seen = t["masked"] = seen.masked_fill(~visible, float("-inf"))
        t["weights"] = F.softmax(seen, -1)
        t["context"] = torch.einsum("bn,bnd->bd", t["weights"], states)
        return t

    def attend_with_heads(self, queries, states, visible):
        """nn.MultiheadAttention, whose weights multiply from the left, for all queries [batch, m, d]."""
        w, width = self.weights, states.shape[-1]
        module = nn.MultiheadAttention(width, self.heads, bias=False, batch_first=True)
        module.in_proj_weight.copy_(torch.cat([w["W_Q"].T, w["W_K"].T, w["W_V"].T]))
        module.out_proj.weight.copy_(w["W_O"].T)
        context, weights = module(queries, states, states, key_padding_mask=~visible, average_attn_weights=False)
        scores = split(queries @ w["W_Q"], self.heads) @ split(states @ w["W_K"], self.heads).mT
        scaled = scores / (width // self.heads) ** 0.5
        t = {"scores": scores, "scaled": scaled, "weights": weights, "mean_weights": weights.mean(1)}
        t["context"] = context
        if not visible.all():
            t["masked"] = scaled.masked_fill(~visible[:, None, None, :], float("-inf"))
        return t


def bahdanau(X, states, visible, last, lstm, attention, W, b):
    cell = nn.LSTMCell(lstm["W_ih"].shape[1], lstm["W_hh"].shape[1])
    load(cell, "", lstm)
    s, c = last
    steps = []
    for t in range(X.shape[1]):
        row = {"queries": s, **attention.attend(s, states, visible)}
        x = torch.cat([X[:, t], row["context"]], -1)
        row.update(gates(x, s, c, lstm))
        s, c = cell(x, (s, c))
        assert torch.allclose(row["h"], s, rtol=1e-13)
        row["logits"] = torch.cat([s, row["context"]], -1) @ W + b
        steps.append(row)
    return {name: torch.stack([row[name] for row in steps], 1) for name in steps[0]}


def luong(X, states, visible, last, lstm, attention, W_c, W):
    module = nn.LSTM(X.shape[-1], lstm["W_hh"].shape[1], batch_first=True)
    load(module, "_l0", lstm)
    h, _ = module(X, (last[0][None], last[1][None]))
    memory, before = last[1], torch.cat([last[0][:, None], h[:, :-1]], 1)
    rows = []
    for step in range(X.shape[1]):
        rows.append(gates(X[:, step], before[:, step], memory, lstm))
        memory = rows[-1]["c"]
    t = {"h": h, **{name: torch.stack([row[name] for row in rows], 1) for name in GATES + "c"}}
    if attention.kind == "multihead":
        t.update(attention.attend_with_heads(h, states, visible))
    else:
        rows = [attention.attend(h[:, step], states, visible) for step in range(h.shape[1])]
        t.update({name: torch.stack([row[name] for row in rows], 1) for name in rows[0]})
    t["attentional"] = torch.tanh(torch.cat([t["context"], h], -1) @ W_c)
    t["logits"] = t["attentional"] @ W
    return t


def kept(f, lengths, reverse=False):
    """The product of the forget gates of all words read later."""
    result = torch.zeros_like(f)
    for b, length in enumerate(lengths):
        for t in range(length):
            result[b, t] = (f[b, :t] if reverse else f[b, t + 1 : length]).prod(0)
    return result


class Model:
    """Both LSTMs and what stands between them, with their weights given to the case."""

    def __init__(self, case, d_model, hidden, kind, is_bidirectional, d_a, heads, vocabulary):
        width, is_bahdanau = hidden * (2 if is_bidirectional else 1), kind == "bahdanau"
        self.encoder = lstm_weights(case, "encoder", d_model, hidden)
        self.reverse = lstm_weights(case, "encoder/reverse", d_model, hidden) if is_bidirectional else None
        self.lstm = lstm_weights(case, "decoder", d_model + (width if is_bahdanau else 0), width)
        self.attention = Attention(case, kind, width, d_a, heads)
        self.W_c = None if is_bahdanau else case.weight("attention/W_c", 2 * width, width)
        self.W = case.weight("output/W", (2 if is_bahdanau else 1) * width, vocabulary)
        self.b = case.normal("output/b", vocabulary, scale=0.5) if is_bahdanau else None

    def read(self, X_source, lengths):
        """The steps of the encoder; keeps what the decoder needs."""
        self.visible = mask_of(1, X_source.shape[1], lengths)[:, 0]
        steps, last = encode(X_source, lengths, self.encoder)
        t, self.states, left = steps, steps["h"], kept(steps["f"], lengths)
        if self.reverse:
            steps, reverse_last = encode(X_source, lengths, self.reverse, reverse=True)
            t = {**t, **{f"reverse/{id}": step for id, step in steps.items()}}
            self.states = t["states"] = torch.cat([self.states, steps["h"]], -1)
            last = tuple(torch.cat(pair, -1) for pair in zip(last, reverse_last))
            left = torch.cat([left, kept(steps["f"], lengths, reverse=True)], -1)
        self.last = last
        check_encoder(X_source, lengths, self.encoder, self.reverse, self.states, last)
        return {**{f"encoder/{id}": step for id, step in t.items()}, "bottleneck/kept": left,
                "decoder/s_0": last[0], "decoder/c_0": last[1]}

    def write(self, X_target):
        """The steps of the decoder."""
        shared = X_target, self.states, self.visible, self.last, self.lstm, self.attention
        t = bahdanau(*shared, self.W, self.b) if self.W_c is None else luong(*shared, self.W_c, self.W)
        t["probabilities"] = F.softmax(t["logits"], -1)
        context = self.last[0][:, None].expand(-1, X_target.shape[1], -1)
        return {**{f"decoder/{id}": step for id, step in t.items()}, "bottleneck/context": context}

    def write_greedily(self, start, X_source, words):
        """X_target of a model that begins with `start` and reads what it has written, word by word and each time from
        the beginning. Its vocabulary are the words of the one source, which are all different, and an end."""
        X, written = start[None, None], []
        while len(written) <= words:
            written.append(int(self.write(X)["decoder/logits"][0, -1].argmax()))
            if written[-1] == words or len(written) > words:
                return X
            X = torch.cat([X, X_source[:, written[-1]][:, None]], 1)
        return X


@torch.no_grad()
def add(lesson, n, m, d_model=3, hidden=2, attention="bahdanau", d_a=None, batch=None, lengths=None, tag="",
        vocabulary=None, **options):
    """A source of n words and a target that is read for m: `<s>` and m − 1 words."""
    batch = len(lengths) if lengths else batch
    case = lesson.case(f"{n}-to-{m}", f"d{d_model}", f"h{hidden}", d_a and f"a{d_a}", batch and f"batch-{batch}",
                       lengths and "padded", tag, attention=attention, **options)
    case.lengths(lengths)
    X_source, X_target = case.normal("X_source", batch, n, d_model), case.normal("X_target", batch, m, d_model)
    model = Model(case, d_model, hidden, attention, options.get("bidirectional"), d_a or hidden,
                  options.get("heads", 2), vocabulary or m)
    if batch is None:
        X_source, X_target = X_source[None], X_target[None]
    t = {**model.read(X_source, lengths or [n] * len(X_source)), **model.write(X_target)}
    if lengths:
        t["mask"] = mask_of(m, n, lengths)
    case.expect(t if batch else {id: step[0] for id, step in t.items()})


@torch.no_grad()
def add_greedy(lesson, words, d_model, hidden, attention, seed=42, **options):
    """`<s>` is the one vector that is drawn, after those of the source; the lesson writes with those of the source."""
    n = len(words)
    case = lesson.case("greedy", f"{n}-words", f"d{d_model}", f"h{hidden}", attention=attention, seed=seed,
                       source=" ".join(words), **options)
    X_source = case.normal("X_source", n, d_model, scale=2)[None]
    model = Model(case, d_model, hidden, attention, options.get("bidirectional"), hidden,
                  options.get("heads", 2), n + 1)
    draws = np.random.RandomState(seed).normal(0, 1, (n + 1, d_model)).astype(case.dtype)
    start = torch.from_numpy(draws[-1].astype(np.float64))
    t = model.read(X_source, [n])
    X_target = model.write_greedily(start, X_source, n)
    t.update({"X_target": X_target, **model.write(X_target)})
    case.expect({id: step[0] for id, step in t.items()})


def make(lesson):
    for kind in ("bahdanau", "luong-dot", "luong-general", "luong-concat", "multihead"):
        add(lesson, 3, 4, attention=kind)
        add(lesson, 4, 3, hidden=4, attention=kind, lengths=[4, 2, 1])
        add(lesson, 3, 2, attention=kind, bidirectional=True, lengths=[1, 3])
    add(lesson, 1, 2, d_model=1, hidden=1)
    add(lesson, 5, 3, d_model=4, hidden=3, d_a=5)
    add(lesson, 2, 3, hidden=3, d_a=1, attention="luong-concat", bidirectional=True)
    add(lesson, 4, 3, hidden=6, attention="multihead", heads=3)
    add(lesson, 3, 3, hidden=4, attention="multihead", heads=4, batch=2, bidirectional=True)
    add(lesson, 3, 4, batch=2, attention="luong-general")
    add(lesson, 4, 6, tag="repeated-words", vocabulary=4, source="do do re mi", target="la la si la do")
    add(lesson, 4, 5, dtype="float32", lengths=[4, 3])
    add(lesson, 3, 4, dtype="float32", attention="luong-concat", bidirectional=True)
    add(lesson, 3, 3, hidden=4, dtype="float32", attention="multihead")
    add_greedy(lesson, ["do", "re", "mi"], 3, 2, "bahdanau")
    add_greedy(lesson, ["do", "re", "mi", "fa"], 2, 3, "luong-general", seed=7)
    add_greedy(lesson, ["do", "re"], 4, 2, "multihead", bidirectional=True)
