#!/usr/bin/env python3
"""Cases for transformer-block and classifier.

The output of a block is that of nn.TransformerEncoderLayer or nn.TransformerDecoderLayer in eval mode; the steps on the
way there are computed one by one and must lead to the same.
"""

import math

import torch
import torch.nn.functional as F
from attention import mask_of, multihead_tensors, options, torch_of, unbatched
from draws import Cases, Draws
from torch import nn

CAT = "The cat sat on the mat".split()
CATS, CHATS = "I love cats".split(), ["J'aime", "les", "chats"]
BATCH = [CATS, "Cats sleep".split()]
THREE = ["I love small cats".split(), "Cats sleep".split(), "We do too".split()]


def layer_norm(x):
    return F.layer_norm(x, x.shape[-1:], eps=1e-5)


def norm_inputs(name, d_model):
    return {f"{name}/gain": torch.ones(d_model), f"{name}/bias": torch.zeros(d_model)}


class Given:
    """Draws that have been made already, to be handed out in order."""

    def __init__(self, arrays):
        self.arrays = iter(arrays)

    def weight(self, *_):
        return next(self.arrays)


def draw_attention(draws, d_model):
    return [draws.weight(d_model, d_model) for _ in range(4)]


def attention_steps(group, weights, X_query, X_key, heads, mask):
    """Every step of multi-head attention with these weights, in a group."""
    d = X_query.shape[-1] // heads
    steps = multihead_tensors(Given(weights), X_query, X_key, heads, heads, d, d, mask)
    steps["mean_weights"] = steps["weights"].mean(1)
    if not mask.all():
        steps["mask"] = mask
    return {f"{group}/{id}": step for id, step in steps.items()}


def block_steps(X, memory, attention, cross, W_1, W_2, heads, norm, activation, mask):
    """Every step of the block by id, each sublayer as x + f(LN(x)) or LN(x + f(x))."""
    steps = {"X": X}

    def sublayer(x, residual_id, norm_id, f):
        if norm == "pre":
            steps[norm_id] = layer_norm(x)
            steps[residual_id] = x + f(steps[norm_id])
            return steps[residual_id]
        steps[residual_id] = x + f(x)
        steps[norm_id] = layer_norm(steps[residual_id])
        return steps[norm_id]

    def attend(group, weights, x, keys, keys_mask):
        steps.update(attention_steps(group, weights, x, keys, heads, keys_mask))
        return steps[f"{group}/output"]

    def feed_forward(x):
        steps["ffn/hidden"] = {"relu": F.relu, "gelu": F.gelu}[activation](x @ W_1)
        steps["ffn/output"] = steps["ffn/hidden"] @ W_2
        return steps["ffn/output"]

    x = sublayer(X, "residual_1", "norm_1", lambda x: attend("attention", attention, x, x, mask))
    if memory is not None:
        steps["memory"] = memory
        everything = torch.ones(X.shape[0], X.shape[1], memory.shape[1], dtype=torch.bool)
        x = sublayer(x, "residual_cross", "norm_cross", lambda x: attend("cross", cross, x, memory, everything))
    x = sublayer(x, "residual_2", "norm_2" if norm == "pre" else "output", feed_forward)
    steps["output"] = x
    return steps


def module_output(X, memory, attention, cross, W_1, W_2, heads, norm, activation, mask):
    """The same by PyTorch's own layer, whose weights multiply from the left."""
    Layer = nn.TransformerEncoderLayer if memory is None else nn.TransformerDecoderLayer
    layer = Layer(X.shape[-1], heads, W_1.shape[1], activation=activation, norm_first=norm == "pre", batch_first=True)
    layer.eval()

    def fill(module, weights):
        W_Q, W_K, W_V, W_O = (torch_of(W) for W in weights)
        module.in_proj_weight.data = torch.cat([W_Q.T, W_K.T, W_V.T])
        module.out_proj.weight.data = W_O.T.contiguous()

    for name, parameter in layer.named_parameters():
        if name.endswith("bias"):
            parameter.data.zero_()
    fill(layer.self_attn, attention)
    layer.linear1.weight.data, layer.linear2.weight.data = W_1.T.contiguous(), W_2.T.contiguous()
    hidden = (~mask).repeat_interleave(heads, 0)
    if memory is None:
        return layer(X, src_mask=hidden).detach()
    fill(layer.multihead_attn, cross)
    return layer(X, memory, tgt_mask=hidden).detach()


def block_case(cases, sentences, memory=None, d_model=8, heads=2, d_ff=None, norm="post", activation="relu", seed=42,
               weight_scale=None, causal=False, dtype="float64"):
    draws = Draws(seed, weight_scale)
    memories = [memory] * len(sentences) if memory else None
    embedded = [torch_of(X) for X in (draws.embed(d_model, memories, sentences) if memory
                                      else [draws.embed(d_model, sentences)])]
    X, memory_X = embedded[-1], embedded[0] if memory else None
    attention = draw_attention(draws, d_model)
    cross = draw_attention(draws, d_model) if memory else None
    width = d_ff or 4 * d_model
    W_1, W_2 = torch_of(draws.weight(d_model, width)), torch_of(draws.weight(width, d_model))
    mask = mask_of([len(s) for s in sentences], X.shape[1], X.shape[1], causal)

    given = (X, memory_X, attention, cross, W_1, W_2, heads, norm, activation, mask)
    steps, output = block_steps(*given), module_output(*given)
    assert torch.allclose(steps["output"], output, rtol=1e-12, atol=1e-12)
    tensors = {"W_1": W_1, "b_1": torch.zeros(width), "W_2": W_2, "b_2": torch.zeros(d_model), **steps,
               "output": output, **norm_inputs("norm_1", d_model), **norm_inputs("norm_2", d_model)}
    if memory:
        tensors.update(norm_inputs("norm_cross", d_model))
    arguments = options(sentence=[" ".join(s) for s in sentences], memory=" ".join(memory) if memory else None,
                        d_model=d_model, heads=heads, d_ff=d_ff, norm=norm, activation=activation, seed=seed,
                        weight_scale=weight_scale, causal=causal, dtype=dtype)
    cases.add("transformer-block " + arguments, unbatched(tensors, len(sentences)))


def sinusoidal(n, d):
    """As tutorials compute it."""
    encoding = torch.zeros(n, d)
    position = torch.arange(n).unsqueeze(1)
    divisor = torch.exp(torch.arange(0, d, 2) * -(math.log(10000.0) / d))
    encoding[:, 0::2] = torch.sin(position * divisor)
    encoding[:, 1::2] = torch.cos(position * divisor)
    return encoding


def classifier_case(cases, sentences, d_model=8, heads=2, classes=2, seed=42, weight_scale=None, dtype="float64"):
    draws = Draws(seed, weight_scale)
    X = torch_of(draws.embed(d_model, sentences))
    attention = draw_attention(draws, d_model)
    W_class = torch_of(draws.weight(d_model, classes))
    lengths = [len(s) for s in sentences]
    positions = sinusoidal(X.shape[1], d_model)
    encoded = X + positions
    t = {"X": X, "positions": positions, "W_class": W_class, "encoded": encoded,
         **attention_steps("attention", attention, encoded, encoded, heads,
                           mask_of(lengths, X.shape[1], X.shape[1])),
         **norm_inputs("attention/norm", d_model)}
    t["attention/residual"] = encoded + t["attention/output"]
    t["attention/normalized"] = layer_norm(t["attention/residual"])
    t["pooled"] = torch.stack([x[:length].mean(0) for x, length in zip(t["attention/normalized"], lengths)])
    classify = nn.Linear(d_model, classes, bias=False)
    classify.weight.data = W_class.T.contiguous()
    t["logits"] = classify(t["pooled"]).detach()
    t["probabilities"] = torch.softmax(t["logits"], dim=-1)
    arguments = options(sentence=[" ".join(s) for s in sentences], d_model=d_model, heads=heads, classes=classes,
                        seed=seed, weight_scale=weight_scale, dtype=dtype)
    cases.add("classifier " + arguments, unbatched(t, len(sentences)))


def main():
    cases = Cases("block")
    for norm in ("post", "pre"):
        for activation in ("relu", "gelu"):
            block_case(cases, [CAT[:4]], d_model=4, d_ff=5, norm=norm, activation=activation)
            block_case(cases, [CHATS], memory=CATS, d_model=4, d_ff=6, norm=norm, activation=activation, causal=True)
        block_case(cases, BATCH, d_model=6, heads=3, d_ff=5, norm=norm, causal=True, seed=3)
        block_case(cases, BATCH, memory=["cats", "Miau"], d_model=6, heads=1, d_ff=3, norm=norm, activation="gelu")
        block_case(cases, [CAT[:3]], d_model=4, norm=norm, activation="gelu", dtype="float32")
    block_case(cases, [CHATS], memory=CATS, d_model=4, d_ff=4, weight_scale="xavier", seed=7, dtype="float32")
    block_case(cases, [CAT[:4]], d_model=8, heads=8, d_ff=2, weight_scale="he", seed=0)
    block_case(cases, [CAT[:2]])
    block_case(cases, [["Hello"]], d_model=2, heads=1, d_ff=1, weight_scale=3)
    block_case(cases, [["Hello"]], memory=["World"], d_model=1, heads=1, d_ff=2, norm="pre")

    great = "The movie was really great".split()
    classifier_case(cases, [great[:3]])
    classifier_case(cases, [great], d_model=12, heads=3, classes=5, seed=9, weight_scale="xavier")
    classifier_case(cases, [["Good"]], d_model=2, heads=1, classes=1)
    classifier_case(cases, THREE, d_model=4, classes=3)
    classifier_case(cases, BATCH, d_model=6, heads=6, classes=2, weight_scale="he", seed=1)
    classifier_case(cases, BATCH, d_model=4, heads=4, classes=4, weight_scale=0.2, dtype="float32")
    cases.save()


main()
