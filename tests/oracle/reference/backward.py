"""Gradients of attention by PyTorch's autograd, which is told no formula of them."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from attention import mask_of, multihead, multihead_weights, repeated
from seq2seq import GATES, Model
from transformer_block import Block


def gradients(Q, K, V, mask, temperature, d_output):
    """The tensors of attention by id, and `d_…` of each that autograd sends a gradient to."""
    given = {"Q": Q, "K": K, "V": V}
    t = {id: tensor.clone().requires_grad_() for id, tensor in given.items()}
    t["scores"] = t["Q"] @ t["K"].mT
    t["scaled"] = t["scores"] / (math.sqrt(Q.shape[-1]) * temperature)
    seen = t["scaled"]
    if mask is not None:
        seen = t["masked"] = t["scaled"].masked_fill(~mask, -math.inf)
    empty = torch.isinf(seen).all(dim=-1, keepdim=True)  # softmax of such a row is NaN, and so would be its gradient
    t["weights"] = F.softmax(seen.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)
    t["output"] = t["weights"] @ t["V"]
    t["L"] = (t["output"] * d_output).sum()
    wanted = ("V", "weights", "scaled", "scores", "Q", "K")
    for name in wanted:
        t[name].retain_grad()
    t["L"].backward()
    steps = {id: tensor.detach() for id, tensor in t.items() if id not in given}
    return {**steps, **{"d_" + name: t[name].grad for name in wanted}}


def add(lesson, n_q, n_k, d_k, d_v, batch=None, lengths=None, random_mask=False, tag="", scale=1.0, **options):
    batch = len(lengths) if lengths else batch
    case = lesson.case(f"{n_q}x{n_k}", f"d{d_k}x{d_v}", batch and f"batch-{batch}", lengths and "padded",
                       random_mask and "random-mask", tag, **options)
    case.lengths(lengths)
    Q, K = case.normal("Q", batch, n_q, d_k, scale=scale), case.normal("K", batch, n_k, d_k, scale=scale)
    V, d_output = case.normal("V", batch, n_k, d_v), case.normal("d_output", batch, n_q, d_v)
    mask = repeated(mask_of(n_q, n_k, lengths, options.get("causal"), options.get("window")), batch)
    if random_mask:
        mask = case.mask("mask", batch, n_q, n_k)
    if mask is not None:
        case.expect({"mask": mask})
    case.expect(gradients(Q, K, V, mask, options.get("temperature", 1.0), d_output))


def gradient_id(id):
    """That of ffn/hidden is ffn/d_hidden."""
    group, slash, name = id.rpartition("/")
    return f"{group}{slash}d_{name}"


# Steps that nothing goes back through, or whose gradient is that of the step before.
WITHOUT_GRADIENT = ("masked", "mean_weights", "output")


def expect_gradients(case, inputs, steps, loss):
    """The forward steps, L, and what autograd says of every input and of those steps that it goes through."""
    known = {**inputs, **{id: step for id, step in steps.items() if id.rpartition("/")[2] not in WITHOUT_GRADIENT
                          or id in ("attention/output", "ffn/output")}}
    for tensor in known.values():
        tensor.retain_grad()
    loss.backward()
    case.expect({id: step.detach() for id, step in steps.items()})
    case.expect({gradient_id(id): t.grad for id, t in known.items() if t.grad is not None})
    case.expect({"L": loss.detach()})


def expect_kept(case, X, always, weights, log_sum_exp):
    """How many bytes are kept with the weights, with a number a row in their place, and with the input alone."""
    size = case.dtype.itemsize
    bytes_of = lambda *tensors: np.int64(size * sum(tensor.numel() for tensor in tensors))
    case.expect({"kept/everything": bytes_of(*always, weights), "kept/flash": bytes_of(*always, log_sum_exp),
                 "kept/checkpoint": bytes_of(X)})


def add_multihead(lesson, n, d_model, heads, kv_heads=None, d_k=None, d_v=None, batch=None, lengths=None,
                  random_mask=False, **options):
    batch, sizes = len(lengths) if lengths else batch, (d_k or d_v) and f"{d_k}x{d_v}"
    case = lesson.case(f"{n}-tokens", f"d{d_model}", sizes, batch and f"batch-{batch}", lengths and "padded",
                       random_mask and "random-mask", through="multihead", heads=heads, kv_heads=kv_heads, **options)
    case.lengths(lengths)
    X = case.normal("X", batch, n, d_model).requires_grad_()
    weights = [W.requires_grad_() for W in multihead_weights(case, d_model, heads, kv_heads, d_k, d_v)]
    d_output = case.normal("d_output", batch, n, d_model)
    mask = repeated(mask_of(n, n, lengths, options.get("causal"), options.get("window")), batch)
    if random_mask:
        mask = case.mask("mask", batch, n, n, empty_row=False)
    if mask is not None:
        case.expect({"mask": mask})
    steps = multihead(X, X, weights, heads, kv_heads, mask, options.get("temperature", 1.0))
    inputs = {"X": X, **dict(zip(("W_Q", "W_K", "W_V", "W_O"), weights))}
    expect_gradients(case, inputs, steps, (steps["output"] * d_output).sum())
    log_sum_exp = torch.logsumexp(steps.get("masked", steps["scaled"]).detach(), -1)
    case.expect({"flash/log_sum_exp": log_sum_exp})
    expect_kept(case, X, [X] + [steps[id] for id in ("Q_heads", "K_heads", "V_heads", "heads")], steps["weights"],
                log_sum_exp)


def make_multihead(lesson):
    for n, d_model, heads in ((1, 1, 1), (3, 4, 2), (5, 6, 3), (4, 6, 1)):
        add_multihead(lesson, n, d_model, heads)
    add_multihead(lesson, 4, 8, 4, 1)
    add_multihead(lesson, 3, 8, 4, 2, causal=True)
    add_multihead(lesson, 4, 5, 2, d_k=3, d_v=4)
    add_multihead(lesson, 3, 6, 4, 2, d_k=5, d_v=3, batch=2)
    add_multihead(lesson, 4, 6, 2, lengths=[4, 1, 3])
    add_multihead(lesson, 5, 6, 2, random_mask=True)
    add_multihead(lesson, 4, 6, 2, window=1, temperature=0.5)
    add_multihead(lesson, 4, 8, 2, 1, dtype="float32", lengths=[2, 4], causal=True)


def add_block(lesson, n, d_model, heads, d_ff, batch=None, lengths=None, random_mask=False, norm="post",
              activation="relu", **options):
    batch = len(lengths) if lengths else batch
    case = lesson.case(f"{n}-tokens", f"d{d_model}", f"ff{d_ff}", batch and f"batch-{batch}", lengths and "padded",
                       random_mask and "random-mask", through="transformer-block", heads=heads, d_ff=d_ff, norm=norm,
                       activation=activation, **options)
    case.lengths(lengths)
    X = case.normal("X", batch, n, d_model)
    block = Block(case, d_model, heads, d_ff, False, norm, activation)
    d_output = case.normal("d_output", batch, n, d_model)
    mask = repeated(mask_of(n, n, lengths, options.get("causal")), batch)
    if random_mask:
        mask = case.mask("attention/mask", batch, n, n, empty_row=False)
    if mask is not None:
        case.expect({"attention/mask": mask})
    inputs = {"X": X, **dict(zip([f"attention/W_{name}" for name in "QKVO"], block.attention)), "W_1": block.W_1,
              "b_1": block.b_1, "W_2": block.W_2, "b_2": block.b_2}
    for name in ("norm_1", "norm_2"):
        inputs.update(zip((f"{name}/gain", f"{name}/bias"), getattr(block, name)))
    for tensor in inputs.values():
        tensor.requires_grad_()
    linear = []
    steps = block.steps(X, None, mask, linear)
    loss = (steps["output"] * d_output).sum()
    linear[0].retain_grad()
    through_attention = [steps[f"attention/{name}"] for name in "QKV"]
    expect_gradients(case, inputs, steps, loss)
    case.expect({"ffn/d_linear": linear[0].grad})
    W = [inputs[f"attention/W_{name}"].detach() for name in "QKV"]
    attended = sum(t.grad @ weight.T for t, weight in zip(through_attention, W))
    case.expect({f"attention/d_{'norm_1' if norm == 'pre' else 'X'}": attended})
    if norm == "pre":  # norm_1 goes nowhere else: this is its gradient
        assert torch.allclose(case_gradient(case, "d_norm_1"), attended)
        del case.expected["d_norm_1"]
    log_sum_exp = torch.logsumexp(steps.get("attention/masked", steps["attention/scaled"]).detach(), -1)
    case.expect({"attention/flash/log_sum_exp": log_sum_exp})
    kept = [X] + [steps[f"attention/{id}"] for id in ("Q_heads", "K_heads", "V_heads", "heads")]
    kept += [steps[id] for id in ("residual_1", "norm_1", "ffn/hidden", "norm_2" if norm == "pre" else "residual_2")]
    expect_kept(case, X, kept, steps["attention/weights"], log_sum_exp)


def case_gradient(case, id):
    return torch.from_numpy(case.expected[id]).double()


def make_blocks(lesson):
    for norm in ("post", "pre"):
        for activation in ("relu", "gelu"):
            add_block(lesson, 3, 4, 2, 5, norm=norm, activation=activation)
        add_block(lesson, 3, 6, 3, 4, lengths=[3, 1], norm=norm, causal=True)
        add_block(lesson, 4, 4, 4, 7, random_mask=True, norm=norm)
        add_block(lesson, 2, 3, 1, 4, batch=2, norm=norm, activation="gelu", dtype="float32")


def cell(x, h, c, weights, real):
    """A row of an LSTM; all of it 0 where no word is real."""
    z = x @ weights["W_ih"].T + weights["b_ih"] + h @ weights["W_hh"].T + weights["b_hh"]
    z.retain_grad()
    row = {"gates": z}
    for gate, part in zip(GATES, z.chunk(4, dim=-1)):
        row[gate] = (torch.tanh(part) if gate == "g" else torch.sigmoid(part)) * real
    row["c"] = row["f"] * c + row["i"] * row["g"]
    row["h"] = row["o"] * torch.tanh(row["c"])
    for tensor in row.values():
        tensor.retain_grad()
    return row


def add_seq2seq(lesson, n, m, d_model=3, hidden=2, d_a=None, batch=None, lengths=None, **options):
    """A source of n words and a target of m − 1, all different: the right word of step t is number t."""
    given_batch, d_a = len(lengths) if lengths else batch, d_a or hidden
    case = lesson.case(f"{n}-to-{m}", f"d{d_model}", f"h{hidden}", f"a{d_a}", given_batch and f"batch-{given_batch}",
                       lengths and "padded", through="seq2seq", **options)
    case.lengths(lengths)
    X_source, X_target = case.normal("X_source", given_batch, n, d_model), case.normal("X_target", given_batch, m, d_model)
    model = Model(case, d_model, hidden, "bahdanau", False, d_a, 1, m)
    inputs = {"X_source": X_source, "X_target": X_target, "output/W": model.W, "output/b": model.b}
    inputs.update({f"encoder/{id}": w for id, w in model.encoder.items()})
    inputs.update({f"decoder/{id}": w for id, w in model.lstm.items()})
    inputs.update({f"attention/{id}": w for id, w in model.attention.weights.items()})
    for tensor in inputs.values():
        tensor.requires_grad_()
    source, target = (x if given_batch else x[None] for x in (X_source, X_target))
    samples = len(source)
    real = torch.arange(n)[None] < torch.tensor(lengths or [n] * samples)[:, None]

    h = c = torch.zeros(samples, hidden)
    read = []
    for t in range(n):
        read.append(cell(source[:, t], h, c, model.encoder, real[:, t, None].double()))
        h, c = read[-1]["h"], read[-1]["c"]
    at_end = [int(length) - 1 for length in real.sum(1)]
    s_0, c_0 = (torch.stack([read[last][id][b] for b, last in enumerate(at_end)]) for id in "hc")
    states = torch.stack([row["h"] for row in read], 1)
    w = model.attention.weights
    keys = states @ w["W_k"]
    whole = {"decoder/s_0": s_0, "decoder/c_0": c_0, "encoder/states": states, "encoder/keys": keys}
    for tensor in whole.values():
        tensor.retain_grad()

    s, c, written, loss = s_0, c_0, [], 0.0
    for t in range(m):
        row = {"queries": s.clone(), }
        row["projected"] = row["queries"] @ w["W_q"]
        row["scores"] = torch.tanh(row["projected"][:, None] + keys) @ w["v_a"]
        seen = row["scores"]
        if lengths:
            seen = row["masked"] = row["scores"].masked_fill(~real, -math.inf)
        row["weights"] = F.softmax(seen, -1)
        row["context"] = torch.einsum("bn,bnd->bd", row["weights"], states)
        row.update(cell(torch.cat([target[:, t], row["context"]], -1), s, c, model.lstm, 1.0))
        s, c = row["h"], row["c"]
        row["logits"] = torch.cat([s, row["context"]], -1) @ model.W + model.b
        loss = loss + F.cross_entropy(row["logits"], torch.full((samples,), t), reduction="sum")
        for tensor in row.values():
            tensor.retain_grad()
        row["probabilities"] = F.softmax(row["logits"], -1).detach()
        written.append(row)
    loss.backward()

    alone = lambda x: x if given_batch else x[0]
    without_value, without_gradient = ("gates", "projected"), ("masked", "probabilities")
    for group, rows in (("encoder", read), ("decoder", written)):
        for id in rows[0]:
            if id not in without_value:
                case.expect({f"{group}/{id}": alone(torch.stack([row[id].detach() for row in rows], 1))})
            if id not in without_gradient:
                case.expect({f"{group}/d_{id}": alone(torch.stack([row[id].grad for row in rows], 1))})
    case.expect({id: alone(whole[id].detach()) for id in ("decoder/s_0", "decoder/c_0")})
    case.expect({gradient_id(id): alone(tensor.grad) for id, tensor in whole.items()})
    case.expect({gradient_id(id): tensor.grad for id, tensor in inputs.items()})
    case.expect({"L": loss.detach(), "words": alone(torch.arange(m).expand(samples, m))})
    if lengths:
        case.expect({"mask": mask_of(m, n, lengths)})


def make_seq2seq(lesson):
    add_seq2seq(lesson, 3, 4)
    add_seq2seq(lesson, 1, 2, d_model=1, hidden=1)
    add_seq2seq(lesson, 5, 3, d_model=4, hidden=3, d_a=5)
    add_seq2seq(lesson, 3, 3, hidden=4, batch=2)
    add_seq2seq(lesson, 4, 3, hidden=4, lengths=[4, 2, 1])
    add_seq2seq(lesson, 3, 4, hidden=3, dtype="float32", lengths=[3, 2])


def make(lesson):
    make_multihead(lesson)
    make_blocks(lesson)
    make_seq2seq(lesson)
    for n_q, n_k, d_k, d_v in ((1, 1, 1, 1), (2, 5, 3, 4), (5, 2, 7, 1), (6, 6, 8, 8), (1, 4, 2, 3)):
        add(lesson, n_q, n_k, d_k, d_v)
    add(lesson, 5, 5, 3, 4, causal=True)
    add(lesson, 5, 3, 3, 4, causal=True)
    add(lesson, 5, 5, 4, 3, window=1)
    add(lesson, 4, 4, 2, 2, causal=True, window=0)
    add(lesson, 4, 5, 3, 2, random_mask=True)
    add(lesson, 3, 4, 3, 2, batch=3)
    add(lesson, 3, 4, 3, 2, batch=2, random_mask=True)
    add(lesson, 4, 4, 3, 3, lengths=[4, 1, 2])
    add(lesson, 2, 4, 3, 3, lengths=[4, 3], causal=True, temperature=0.5)
    add(lesson, 4, 3, 3, 2, temperature=0.1)
    add(lesson, 4, 3, 3, 2, temperature=10)
    add(lesson, 3, 4, 4, 3, tag="large", scale=5)
    add(lesson, 5, 4, 4, 3, dtype="float32")
    add(lesson, 4, 4, 3, 2, dtype="float32", lengths=[4, 2], causal=True)
    add(lesson, 4, 5, 3, 2, dtype="float32", random_mask=True)
