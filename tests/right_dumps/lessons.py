"""Lessons computed from the inputs of their probes, in a given arithmetic and in one of the ways that are right.

Each function takes the inputs `x` by id, the options of the probe's run, an Arithmetic and a Way, and returns the steps
by id.
"""

import dataclasses
import math

import numpy as np


@dataclasses.dataclass(frozen=True)
class Way:
    """How the lesson is computed: one of NAMES; and what a row that sees no key becomes, "zero", "nan" or "uniform"."""

    name: str = "plain"
    empty_row: str = "zero"
    corner: str = "bottom right"  # of the causal mask
    pairing: str = "adjacent"  # of RoPE


# What each way changes. A lesson that has no place for one computes as it is.
NAMES = [
    "plain",
    "fill",  # −1e9 for −∞
    "mask-after-softmax",  # multiplied by the mask and divided by the sum
    "online",  # softmax over blocks of keys, which never holds the weights
    "row-constant",  # a constant added to each row of scores
    "scale-in-query",  # Q / √d_k
    "scale-in-weight",  # W_Q / √d_k
    "scaled-scores",  # scores that are divided already
    "fused",  # one product with W_Q, W_K and W_V side by side
    "common-offset",  # RoPE counted from another start
]

ONLINE_BLOCK = 3


def filled(a, scaled, mask, way):
    """Masked scores."""
    return np.where(mask, scaled, a.r(-1e9) if way.name == "fill" else -np.inf)


def rows_that_see_nothing(a, weights, mask, way):
    otherwise = {"zero": 0.0, "nan": np.nan, "uniform": a.r(1.0 / weights.shape[-1])}[way.empty_row]
    return np.where(mask.any(-1, keepdims=True), weights, otherwise)


class DigitsAreLost(ArithmeticError):
    """The way is right in exact arithmetic and not in this one."""


def masked_after_softmax(a, scores, mask):
    """Where hidden scores are much larger than the others, exp leaves nothing of these."""
    shares = np.where(mask, a.softmax(scores), 0.0)
    total = a.sum(shares)[..., None]
    if (mask.any(-1, keepdims=True) & (total < a.smallest_with_all_digits())).any():
        raise DigitsAreLost
    return a.r(shares / np.where(total > 0, total, 1.0))


def online(a, scaled, mask, v):
    """Softmax and the average of values in one pass over the keys."""
    largest = np.full(scaled.shape[:-1] + (1,), -np.inf)
    total, output = np.zeros_like(largest), np.zeros(scaled.shape[:-1] + (v.shape[-1],))
    with np.errstate(invalid="ignore"):
        for begin in range(0, scaled.shape[-1], ONLINE_BLOCK):
            keys = slice(begin, begin + ONLINE_BLOCK)
            block = np.where(mask[..., keys], scaled[..., keys], -np.inf)
            new = np.maximum(largest, block.max(-1, keepdims=True))
            base = np.where(np.isfinite(new), new, 0.0)
            correction, shares = a.r(np.exp(a.r(largest - base))), a.r(np.exp(a.r(block - base)))
            total = a.r(a.r(total * correction) + a.sum(shares)[..., None])
            output = a.r(a.r(output * correction) + a.matmul(shares, v[..., keys, :]))
            largest = new
    return a.r(output / np.where(total > 0, total, 1.0))


def attention(a, way, q, k, v, mask, prefix=""):
    """The steps from scores to output. In some ways not all of them exist."""
    root = a.r(math.sqrt(k.shape[-1]))
    steps = {}
    if way.name in ("scale-in-query", "scale-in-weight"):
        scaled = a.matmul(a.r(q / root) if way.name == "scale-in-query" else q, k.swapaxes(-1, -2))
        steps["scores"] = scaled
    else:
        scores = a.matmul(q, k.swapaxes(-1, -2))
        if way.name == "row-constant":
            scores = a.r(scores + np.arange(scores.shape[-2])[:, None] / 4)
        scaled = a.r(scores / root)
        steps["scores"] = scaled if way.name == "scaled-scores" else scores
    steps["scaled"] = scaled
    mask = np.broadcast_to(mask, scaled.shape)
    if way.name == "online":
        return {prefix + "output": online(a, scaled, mask, v)}
    if way.name == "mask-after-softmax":
        weights = masked_after_softmax(a, scaled, mask)
    else:
        steps["masked"] = filled(a, scaled, mask, way)
        weights = a.softmax(steps["masked"])
    weights = rows_that_see_nothing(a, weights, mask, way)
    steps["weights"], steps["output"] = weights, a.matmul(weights, v)
    return {prefix + name: tensor for name, tensor in steps.items()}


def linear(a, x, w, b):
    """x w, and + b where there is a bias."""
    return a.matmul(x, w) if b is None else a.r(a.matmul(x, w) + b)


def projections(a, way, x_q, x_kv, w_q, w_k, w_v, d_k, b_q=None, b_k=None, b_v=None):
    if way.name == "scale-in-weight":
        w_q = a.r(w_q / a.r(math.sqrt(d_k)))
        b_q = None if b_q is None else a.r(b_q / a.r(math.sqrt(d_k)))
    if way.name == "fused" and x_q is x_kv:
        biases = [np.zeros(w.shape[1]) if b is None else b for w, b in ((w_q, b_q), (w_k, b_k), (w_v, b_v))]
        fused = linear(a, x_q, np.concatenate([w_q, w_k, w_v], axis=1), np.concatenate(biases))
        return np.split(fused, [w_q.shape[1], w_q.shape[1] + w_k.shape[1]], axis=-1)
    return linear(a, x_q, w_q, b_q), linear(a, x_kv, w_k, b_k), linear(a, x_kv, w_v, b_v)


def split(x, heads):
    return x.reshape(*x.shape[:-1], heads, -1).swapaxes(-2, -3)


def merge(x):
    merged = x.swapaxes(-2, -3)
    return merged.reshape(*merged.shape[:-2], -1)


def of_heads(a, way, x_q, x_kv, x, heads, kv_heads, mask, prefix=""):
    """Multi-head attention, with key and value heads that several query heads share."""
    w_q, w_k, w_v, w_o = (x[f"{prefix}W_{name}"] for name in "QKVO")
    b_q, b_k, b_v, b_o = (x.get(f"{prefix}b_{name}") for name in "QKVO")
    d_k = w_q.shape[1] // heads
    q, k, v = projections(a, way, x_q, x_kv, w_q, w_k, w_v, d_k, b_q, b_k, b_v)
    steps = {"Q": q, "K": k, "V": v, "Q_heads": split(q, heads), "K_heads": split(k, kv_heads),
             "V_heads": split(v, kv_heads)}
    shared = [np.repeat(steps[name], heads // kv_heads, axis=-3) for name in ("K_heads", "V_heads")]
    inner = attention(a, way, steps["Q_heads"], *shared, mask[:, None])
    steps |= inner
    steps["heads"] = steps.pop("output")
    if "weights" in steps:
        steps["mean_weights"] = a.r(a.sum(steps["weights"], axis=1) / heads)
    steps["concat"] = merge(steps["heads"])
    steps["output"] = linear(a, steps["concat"], w_o, b_o)
    return {prefix + name: tensor for name, tensor in steps.items()}


def causal(queries, keys, way):
    offset = 0 if way.corner == "top left" else keys - queries
    return np.tri(queries, keys, offset, dtype=bool)


def mask_of(x, options, way, queries, keys):
    """[batch×query×key]"""
    mask = (np.arange(keys) < x["lengths"][:, None])[:, None, :].repeat(queries, axis=1)
    if options.get("causal"):
        mask &= causal(queries, keys, way)
    if options.get("window"):
        offset = 0 if way.corner == "top left" else keys - queries
        mask &= np.abs(np.arange(queries)[:, None] + offset - np.arange(keys)) <= options["window"]
    return mask


def sdpa(x, options, a, way):
    q, k, v = x["Q"], x["K"], x["V"]
    return attention(a, way, q, k, v, mask_of(x, options, way, q.shape[1], k.shape[1]))


def self_attention(x, options, a, way):
    tokens = x["X"].shape[1]
    q, k, v = projections(a, way, x["X"], x["X"], x["W_Q"], x["W_K"], x["W_V"], x["W_K"].shape[1])
    return {"Q": q, "K": k, "V": v} | attention(a, way, q, k, v, mask_of(x, options, way, tokens, tokens))


def cross_attention(x, options, a, way):
    mask = mask_of(x, options, way, x["X_target"].shape[1], x["X_source"].shape[1])
    return of_heads(a, way, x["X_target"], x["X_source"], x, options["heads"], options["kv_heads"], mask)


def multihead(x, options, a, way):
    tokens = x["X"].shape[1]
    mask = mask_of(x, options, way, tokens, tokens)
    return of_heads(a, way, x["X"], x["X"], x, options["heads"], options["kv_heads"], mask)


def masking(x, options, a, way):
    tokens = x["X"].shape[1]
    q, k, v = projections(a, way, x["X"], x["X"], x["W_Q"], x["W_K"], x["W_V"], x["W_K"].shape[1])
    masks = {"padding": mask_of(x, {}, way, tokens, tokens)}
    masks["causal"] = np.broadcast_to(causal(tokens, tokens, way), masks["padding"].shape)
    masks["combined"] = masks["causal"] & masks["padding"]
    steps = {"Q": q, "K": k, "V": v}
    for name, mask in masks.items():
        steps[f"{name}_mask"] = mask
        of_mask = attention(a, way, q, k, v, mask)
        for step in ("scores", "scaled"):
            if step in of_mask:
                steps[step] = of_mask[step]
        steps |= {f"{name}/{step}": of_mask[step] for step in ("masked", "weights", "output") if step in of_mask}
    return steps


def scoring(x, options, a, way):
    queries, keys, v = x["queries"], x["keys"], x["v_a"]
    mask = mask_of(x, {}, way, queries.shape[1], keys.shape[1])
    scores = {"dot": a.matmul(queries, keys.swapaxes(1, 2))}
    scores["scaled_dot"] = a.r(scores["dot"] / a.r(math.sqrt(queries.shape[2])))
    scores["general"] = a.matmul(a.matmul(queries, x["W_a"]), keys.swapaxes(1, 2))
    q, k = a.matmul(queries, x["W_q"]), a.matmul(keys, x["W_k"])
    hidden = a.r(np.tanh(a.r(q[:, :, None] + k[:, None])))
    scores["additive"] = a.matmul(hidden, v[:, None])[..., 0]
    pairs = np.concatenate(np.broadcast_arrays(queries[:, :, None], keys[:, None]), axis=-1)
    W_c = np.concatenate([x["W_q"], x["W_k"]])
    of_pairs = a.r(np.tanh(a.matmul(pairs, W_c)))
    scores["concat"] = a.matmul(of_pairs, v[:, None])[..., 0]
    steps = {"additive/projected_queries": q, "additive/projected_keys": k, "additive/hidden": hidden,
             "concat/W_c": W_c, "concat/pairs": pairs, "concat/hidden": of_pairs}
    for name, of_name in scores.items():
        if way.name == "row-constant":
            of_name = a.r(of_name + np.arange(queries.shape[1])[:, None] / 4)
        seen = filled(a, of_name, mask, way)
        if not mask.all():
            steps[f"{name}/masked"] = seen
        weights = a.softmax(seen)
        steps |= {f"{name}/scores": of_name, f"{name}/weights": weights, f"{name}/context": a.matmul(weights, keys)}
    return steps


def interleaved(sines, cosines):
    return np.stack([sines, cosines], axis=-1).reshape(*sines.shape[:-1], -1)


def turned(a, x, angles, pairing):
    """Pairs of numbers turned by the angles: neighbours, or number i with number i + d/2."""
    cosines, sines = a.r(np.cos(angles)), a.r(np.sin(angles))
    half = x.shape[-1] // 2
    left, right = (x[..., 0::2], x[..., 1::2]) if pairing == "adjacent" else (x[..., :half], x[..., half:])
    first = a.r(a.r(left * cosines) - a.r(right * sines))
    second = a.r(a.r(left * sines) + a.r(right * cosines))
    return interleaved(first, second) if pairing == "adjacent" else np.concatenate([first, second], axis=-1)


def positional(x, options, a, way):
    tokens, d = x["X"].shape[1:]
    heads, root = options["heads"], a.r(math.sqrt(d))
    mask = mask_of(x, {}, way, tokens, tokens)
    words, positions = x["X"], np.arange(tokens)
    frequencies = a.r(10000.0 ** (-2 * np.arange(d // 2) / d))
    angles = a.r(positions[:, None] * frequencies)
    encoding = a.r(interleaved(np.sin(angles), np.cos(angles)))
    scores = {"without": a.r(a.matmul(words, words.swapaxes(1, 2)) / root)}
    steps = {"sinusoidal/frequencies": frequencies, "sinusoidal/angles": angles, "sinusoidal/encoding": encoding}
    for name, table in (("sinusoidal", encoding), ("learned", x["learned/table"][:tokens])):
        encoded = a.r(words + table)
        steps[f"{name}/encoded"] = encoded
        scores[name] = a.r(a.matmul(encoded, encoded.swapaxes(1, 2)) / root)

    distances = positions - positions[:, None]
    clipped = np.clip(distances, -4, 4)
    by_distance = a.matmul(words, x["relative/keys"].T)
    from_distance = np.take_along_axis(by_distance, np.broadcast_to(clipped + 4, (len(words), tokens, tokens)), axis=2)
    scores["relative"] = a.r(a.r(a.matmul(words, words.swapaxes(1, 2)) + from_distance) / root)
    steps |= {"relative/distances": clipped, "relative/by_distance": by_distance}

    near = np.abs(distances)
    far = np.minimum(8 + (8 * np.log2(np.maximum(near, 8) / 8) / 4).astype(int), 15)
    buckets = np.where(near < 8, near, far) + 16 * (distances > 0)
    steps |= {"t5/buckets": buckets, "t5/bias": x["t5/table"][buckets].transpose(2, 0, 1)}
    slopes = a.r(2.0 ** (-8 * np.arange(1, heads + 1) / heads))
    steps |= {"alibi/slopes": slopes, "alibi/bias": a.r(-slopes[:, None, None] * near)}
    for name in ("t5", "alibi"):
        scores[name] = a.r(scores["without"][:, None] + steps[f"{name}/bias"])

    of_rope = a.r((positions + (3 if way.name == "common-offset" else 0))[:, None] * frequencies)
    rotated = turned(a, words, of_rope, way.pairing)
    steps |= {"rope/angles": of_rope, "rope/Q_rotated": rotated, "rope/K_rotated": rotated}
    scores["rope"] = a.r(a.matmul(rotated, rotated.swapaxes(1, 2)) / root)

    for name, of_name in scores.items():
        of_heads_mask = mask[:, None] if of_name.ndim == 4 else mask
        if way.name == "mask-after-softmax":
            weights = masked_after_softmax(a, of_name, np.broadcast_to(of_heads_mask, of_name.shape))
        else:
            weights = a.softmax(filled(a, of_name, of_heads_mask, way))
        steps |= {f"{name}/scores": of_name, f"{name}/weights": weights}
    steps["rope/output"] = a.matmul(steps["rope/weights"], words)
    return steps


def transformer_block(x, options, a, way):
    tokens = x["X"].shape[1]
    mask = mask_of(x, options, way, tokens, tokens)
    norm = lambda name, of: a.layer_norm(of, x[f"{name}/gain"], x[f"{name}/bias"])
    attend = lambda of: of_heads(a, way, of, of, x, options["heads"], options["kv_heads"], mask, "attention/")

    def network(of):
        inner = a.r(a.matmul(of, x["W_1"]) + x["b_1"])
        hidden = a.gelu(inner) if options["activation"] == "gelu" else np.maximum(inner, 0.0)
        return {"ffn/hidden": hidden, "ffn/output": a.r(a.matmul(hidden, x["W_2"]) + x["b_2"])}

    steps = {}
    if options["norm"] == "pre":
        steps["norm_1"] = norm("norm_1", x["X"])
        steps |= attend(steps["norm_1"])
        steps["residual_1"] = a.r(x["X"] + steps["attention/output"])
        steps["norm_2"] = norm("norm_2", steps["residual_1"])
        steps |= network(steps["norm_2"])
        steps["residual_2"] = a.r(steps["residual_1"] + steps["ffn/output"])
        steps["output"] = steps["residual_2"]
    else:
        steps |= attend(x["X"])
        steps["residual_1"] = a.r(x["X"] + steps["attention/output"])
        steps["norm_1"] = norm("norm_1", steps["residual_1"])
        steps |= network(steps["norm_1"])
        steps["residual_2"] = a.r(steps["norm_1"] + steps["ffn/output"])
        steps["output"] = norm("norm_2", steps["residual_2"])
    return steps


def classifier(x, options, a, way):
    """Of each sentence the mean of its real tokens, after attention."""
    tokens = x["X"].shape[1]
    steps = {"encoded": a.r(x["X"] + x["positions"][:tokens])}
    steps |= of_heads(a, way, steps["encoded"], steps["encoded"], x, options["heads"], options["kv_heads"],
                      mask_of(x, {}, way, tokens, tokens), "attention/")
    steps["attention/residual"] = a.r(steps["encoded"] + steps["attention/output"])
    steps["attention/normalized"] = a.layer_norm(steps["attention/residual"], x["attention/norm/gain"], x["attention/norm/bias"])
    steps["pooled"] = a.r(np.stack([of[:n].mean(0) for of, n in zip(steps["attention/normalized"], x["lengths"])]))
    steps["logits"] = a.r(a.matmul(steps["pooled"], x["W_class"]) + x["b_class"])
    return steps | {"probabilities": a.softmax(steps["logits"])}


def generate(x, options, a, way):
    """Every step reads one token more, against all keys and values before."""
    heads, kv_heads, layers = options["heads"], options["kv_heads"], options["layers"]
    text, known, logits, steps = list(x["tokens"]), 0, [], {}
    caches = [None] * layers
    for step in range(options["new_tokens"]):
        rows = np.arange(known, len(text))
        state = a.r(x["embedding"][np.array(text)[rows]] + x["positions"][rows])[None]
        found = {"x": state}
        for layer in range(layers):
            group = "" if layers == 1 else f"layer={layer + 1}/"
            weights = {name: x.get(group + name) for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O")}
            d_k = weights["W_Q"].shape[1] // heads
            q, k, v = projections(a, way, state, state, *(weights[f"W_{name}"] for name in "QKV"), d_k,
                                  *(weights[f"b_{name}"] for name in "QKV"))
            new = {"Q": split(q, heads), "K": split(k, kv_heads), "V": split(v, kv_heads)}
            before = caches[layer] or {name: new[name][..., :0, :] for name in "KV"}
            caches[layer] = {name: np.concatenate([before[name], new[name]], axis=-2) for name in "KV"}
            keys, values = (np.repeat(caches[layer][name], heads // kv_heads, axis=1) for name in "KV")
            seen = np.arange(len(text)) <= rows[:, None]
            inner = attention(a, way, new["Q"], keys, values, seen)
            inner["heads"] = inner.pop("output")
            inner["output"] = linear(a, merge(inner["heads"]), weights["W_O"], weights["b_O"])
            if len(rows) == 1 and step > 0:
                inner.pop("masked")
            inner |= new | {"cache/K": caches[layer]["K"], "cache/V": caches[layer]["V"]}
            state = inner["residual"] = a.r(state + inner["output"])
            found |= {group + name: tensor for name, tensor in inner.items()}
        row = a.matmul(state[:, -1:], x["W_vocabulary"])[:, 0]
        known, text = len(text), text + [int(row.argmax())]
        logits.append(row[0])
        steps |= {f"step={step}/{name}": tensor[0] for name, tensor in found.items()}
        steps |= {f"step={step}/logits": row[0], f"step={step}/probabilities": a.softmax(row)[0],
                  f"step={step}/token": np.array(text[-1])}
    return steps | {"logits": np.stack(logits), "written": np.array(text[len(x["tokens"]):])}


def lstm(a, x, h, c, w_ih, w_hh, b_ih, b_hh):
    gates = np.split(a.r(a.r(a.matmul(w_ih, x[:, None]) + a.matmul(w_hh, h[:, None]))[:, 0] + a.r(b_ih + b_hh)), 4)
    i, f, o = (a.r(1 / (1 + np.exp(-gates[gate]))) for gate in (0, 1, 3))
    c = a.r(a.r(f * c) + a.r(i * np.tanh(gates[2])))
    return a.r(o * np.tanh(c)), c


def bahdanau(x, options, a, h, states):
    hidden = a.r(np.tanh(a.r(a.matmul(h[None], x["attention/W_q"]) + a.matmul(states, x["attention/W_k"]))))
    scores = a.matmul(hidden, x["attention/v_a"][:, None])[:, 0]
    weights = a.softmax(scores)
    return {"scores": scores, "weights": weights, "context": a.matmul(weights[None], states)[0]}


def seq2seq(x, options, a, way):
    """A decoder that attends as Bahdanau's, or with heads, and is taught, on one pair of sentences."""
    cell = lambda name: [x[f"{name}/{part}"] for part in ("W_ih", "W_hh", "b_ih", "b_hh")]
    has_heads = options["attention"] == "multihead"
    h = c = np.zeros(options["hidden"])
    states = []
    for word in x["X_source"]:
        h, c = lstm(a, word, h, c, *cell("encoder"))
        states.append(h)
    states, rows = np.stack(states), []
    for word in x["X_target"]:
        if has_heads:
            h, c = lstm(a, word, h, c, *cell("decoder"))
            attention = {name: x[f"attention/{name}"] for name in [f"W_{name}" for name in "QKVO"]}
            attention |= {f"b_{name}": x[f"attention/b_{name}"] for name in "QKVO" if f"attention/b_{name}" in x}
            of = of_heads(a, way, h[None, None], states[None], attention, options["heads"], options["heads"],
                          np.ones((1, 1, len(states)), bool))
            row = {name: of[name][0][..., 0, :] for name in ("scores", "scaled", "weights", "mean_weights")}
            row["context"] = of["output"][0, 0]
            row["attentional"] = a.r(np.tanh(a.matmul(np.concatenate([row["context"], h])[None], x["attention/W_c"])[0]))
            row["logits"] = a.matmul(row["attentional"][None], x["output/W"])[0]
        else:
            row = bahdanau(x, options, a, h, states)
            h, c = lstm(a, np.concatenate([word, row["context"]]), h, c, *cell("decoder"))
            row["logits"] = a.r(a.matmul(np.concatenate([h, row["context"]])[None], x["output/W"])[0] + x["output/b"])
        rows.append(row | {"h": h, "c": c, "probabilities": a.softmax(row["logits"])})
    return {"encoder/h": states} | {f"decoder/{name}": np.stack([row[name] for row in rows], axis=-2) for name in rows[0]}
