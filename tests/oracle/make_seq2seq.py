#!/usr/bin/env python3
"""Cases for seq2seq.

The encoder is PyTorch's nn.LSTM on a packed sequence, Bahdanau's decoder nn.LSTMCell, Luong's nn.LSTM, and the
multi-head attention nn.MultiheadAttention. Gates, which those do not show, follow from their states.
"""

import torch
import torch.nn.functional as F
from attention import mask_of, options, torch_of
from draws import Cases, Draws
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

GATES = "ifgo"


def lstm_weights(draws, d_in, hidden):
    """By id; PyTorch's layout, so fan_in is the columns. Biases are 0 and cost no draw."""
    zeros = torch.zeros(4 * hidden)
    return {"W_ih": torch_of(draws.weight(d_in, 4 * hidden, shape=(4 * hidden, d_in))),
            "W_hh": torch_of(draws.weight(hidden, 4 * hidden, shape=(4 * hidden, hidden))),
            "b_ih": zeros, "b_hh": zeros}


def load(module, suffix, weights):
    names = {"W_ih": "weight_ih", "W_hh": "weight_hh", "b_ih": "bias_ih", "b_hh": "bias_hh"}
    with torch.no_grad():
        for id, name in names.items():
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
    """Draws the weights of one kind of attention, and scores."""

    def __init__(self, kind, draws, width, d_a, heads):
        self.kind, self.heads = kind, heads
        shapes = {"bahdanau": {"W_q": (width, d_a), "W_k": (width, d_a), "v_a": (d_a,)},
                  "luong-dot": {},
                  "luong-general": {"W_a": (width, width)},
                  "luong-concat": {"W_a": (2 * width, d_a), "v_a": (d_a,)},
                  "multihead": {name: (width, width) for name in ("W_Q", "W_K", "W_V", "W_O")}}[kind]
        self.weights = {name: torch_of(draws.weight(*shape)) for name, shape in shapes.items()}

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
        with torch.no_grad():
            module.in_proj_weight.copy_(torch.cat([w["W_Q"].T, w["W_K"].T, w["W_V"].T]))
            module.out_proj.weight.copy_(w["W_O"].T)
        context, weights = module(queries, states, states, key_padding_mask=~visible, average_attn_weights=False)
        parts = [x.reshape(*x.shape[:2], self.heads, -1).transpose(1, 2) for x in (queries @ w["W_Q"], states @ w["W_K"])]
        scores = parts[0] @ parts[1].transpose(-2, -1)
        scaled = scores / (width // self.heads) ** 0.5
        t = {"scores": scores, "scaled": scaled, "weights": weights, "mean_weights": weights.mean(1), "context": context}
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
    c, memory = [], last[1]
    before = torch.cat([last[0][:, None], h[:, :-1]], 1)
    t = {name: [] for name in GATES}
    for step in range(X.shape[1]):
        row = gates(X[:, step], before[:, step], memory, lstm)
        memory = row["c"]
        c.append(memory)
        for name in GATES:
            t[name].append(row[name])
    t = {"h": h, "c": torch.stack(c, 1), **{name: torch.stack(t[name], 1) for name in GATES}}
    if attention.kind == "multihead":
        t.update(attention.attend_with_heads(h, states, visible))
    else:
        rows = [attention.attend(h[:, step], states, visible) for step in range(h.shape[1])]
        t.update({name: torch.stack([row[name] for row in rows], 1) for name in rows[0]})
    t["attentional"] = torch.tanh(torch.cat([t["context"], h], -1) @ W_c)
    t["logits"] = t["attentional"] @ W
    return t


def distinct(sentences):
    return list(dict.fromkeys(token for sentence in sentences for token in sentence))


def kept(f, lengths, reverse=False):
    """The product of the forget gates of all words read later."""
    result = torch.zeros_like(f)
    for b, length in enumerate(lengths):
        for t in range(length):
            result[b, t] = (f[b, :t] if reverse else f[b, t + 1 : length]).prod(0)
    return result


class Model:
    """Everything that is drawn, in the order of the draws, and the encoder's states."""

    def __init__(self, source, target, d_model, hidden, attention, bidirectional, heads, seed, weight_scale):
        draws = Draws(seed, weight_scale)
        self.lengths = [len(s) for s in source]
        self.reads = [["<s>"] + words for words in target or [[]] * len(source)]
        self.vocabulary = distinct(target or source) + ["</s>"]
        self.X_source, self.X_target = (torch_of(X) for X in draws.embed(d_model, source, self.reads))
        self.vectors = {word: self.X_source[b, t] for b, words in enumerate(source) for t, word in enumerate(words)}
        width = hidden * (2 if bidirectional else 1)
        self.encoder = lstm_weights(draws, d_model, hidden)
        self.reverse = lstm_weights(draws, d_model, hidden) if bidirectional else None
        is_bahdanau = attention == "bahdanau"
        self.lstm = lstm_weights(draws, d_model + (width if is_bahdanau else 0), width)
        self.attention = Attention(attention, draws, width, hidden, heads)
        self.W_c = None if is_bahdanau else torch_of(draws.weight(2 * width, width))
        self.W = torch_of(draws.weight(2 * width if is_bahdanau else width, len(self.vocabulary)))
        self.b = torch.zeros(len(self.vocabulary))
        self.encode()

    def encode(self):
        self.forward_steps, last = encode(self.X_source, self.lengths, self.encoder)
        self.states = self.forward_steps["h"]
        if self.reverse:
            self.reverse_steps, reverse_last = encode(self.X_source, self.lengths, self.reverse, reverse=True)
            self.states = torch.cat([self.states, self.reverse_steps["h"]], -1)
            last = tuple(torch.cat(pair, -1) for pair in zip(last, reverse_last))
        self.last = last
        check_encoder(self.X_source, self.lengths, self.encoder, self.reverse, self.states, last)

    def decode(self, X_target):
        visible = mask_of(self.lengths, 1, self.X_source.shape[1])[:, 0]
        shared = X_target, self.states, visible, self.last, self.lstm, self.attention
        t = bahdanau(*shared, self.W, self.b) if self.W_c is None else luong(*shared, self.W_c, self.W)
        t["probabilities"] = F.softmax(t["logits"], -1)
        return t

    def write_greedily(self):
        """Every sentence alone and from the beginning for each word; then X_target of all of them."""
        rows = []
        for b, length in enumerate(self.lengths):
            written = []
            while len(written) <= length and "</s>" not in written:
                read = [self.vectors[word] for word in written]
                X = torch.stack([self.X_target[b, 0]] + read)[None].expand(len(self.lengths), -1, -1)
                written.append(self.vocabulary[self.decode(X)["logits"][b, -1].argmax()])
            rows.append([self.X_target[b, 0]] + [self.vectors[word] for word in written[:-1]])
        X = torch.zeros(len(rows), max(map(len, rows)), self.X_source.shape[-1])
        for b, read in enumerate(rows):
            X[b, : len(read)] = torch.stack(read)
        return X

    def weights(self):
        t = {f"encoder/{id}": w for id, w in self.encoder.items()}
        if self.reverse:
            t.update({f"encoder/reverse/{id}": w for id, w in self.reverse.items()})
        t.update({f"decoder/{id}": w for id, w in self.lstm.items()})
        t.update({f"attention/{id}": w for id, w in self.attention.weights.items()})
        t["output/W"] = self.W
        if self.W_c is None:
            t["output/b"] = self.b
        else:
            t["attention/W_c"] = self.W_c
        return t

    def tensors(self, X_target):
        t = {"X_source": self.X_source, "X_target": X_target}
        t.update({f"encoder/{id}": x for id, x in self.forward_steps.items()})
        left = kept(self.forward_steps["f"], self.lengths)
        if self.reverse:
            t.update({f"encoder/reverse/{id}": x for id, x in self.reverse_steps.items()})
            t["encoder/states"] = self.states
            left = torch.cat([left, kept(self.reverse_steps["f"], self.lengths, reverse=True)], -1)
        t["decoder/s_0"], t["decoder/c_0"] = self.last
        t.update({f"decoder/{id}": x for id, x in self.decode(X_target).items()})
        t["bottleneck/context"] = self.last[0][:, None].expand(-1, X_target.shape[1], -1)
        t["bottleneck/kept"] = left
        if min(self.lengths) < self.X_source.shape[1]:
            t["lengths"] = torch.tensor(self.lengths)
            t["mask"] = mask_of(self.lengths, X_target.shape[1], self.X_source.shape[1])
        return t


@torch.no_grad()
def case(cases, source, target=None, d_model=4, hidden=None, attention="bahdanau", bidirectional=False, heads=None,
         seed=42, weight_scale=None, dtype="float64"):
    hidden = hidden or d_model
    model = Model(source, target, d_model, hidden, attention, bidirectional, heads or 2, seed, weight_scale)
    X_target = model.X_target if target else model.write_greedily()
    tensors = model.tensors(X_target)
    if len(source) == 1:
        tensors = {id: x[0] for id, x in tensors.items()}
    arguments = options(source=[" ".join(s) for s in source], target=[" ".join(s) for s in target or []],
                        d_model=d_model, hidden=hidden, attention=attention, bidirectional=bidirectional, heads=heads,
                        seed=seed, weight_scale=weight_scale, dtype=dtype)
    cases.add("seq2seq " + arguments, {**tensors, **model.weights()})


def main():
    cats, chats = "I love cats".split(), ["J'aime", "les", "chats"]
    sources = ["I love small cats".split(), ["Sleep"], "We do too".split()]
    targets = [["J'aime", "les"], "Dors un peu".split(), ["Nous", "aussi"]]
    kinds = ("bahdanau", "luong-dot", "luong-general", "luong-concat", "multihead")
    cases = Cases("seq2seq")
    for kind in kinds:
        case(cases, [cats], [chats], d_model=3 if kind == "bahdanau" else 2, attention=kind)
        case(cases, sources, targets, d_model=3, hidden=2, attention=kind, bidirectional=True, seed=1)
        case(cases, [cats], d_model=3, hidden=2, attention=kind, weight_scale=2, seed=5)
    for kind in ("bahdanau", "luong-concat", "multihead"):
        case(cases, sources, d_model=2, attention=kind, weight_scale="xavier", seed=2)
    case(cases, [["one"]], [["two"]], d_model=1)
    case(cases, [["one"]], [["one"]], d_model=2, hidden=1, attention="luong-dot", bidirectional=True)
    case(cases, ["the cat sat on the mat".split()], d_model=3, attention="multihead", hidden=3, heads=3, weight_scale=3)
    case(cases, sources, targets, d_model=3, weight_scale="he", dtype="float32")
    case(cases, [cats], [chats], d_model=3, hidden=2, attention="luong-concat", bidirectional=True, dtype="float32")
    cases.save()


main()
