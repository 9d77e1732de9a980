"""A transformer's block. Its output is that of nn.TransformerEncoderLayer or nn.TransformerDecoderLayer in eval mode;
the steps on the way there are computed one by one and must lead to the same."""

import torch
import torch.nn.functional as F
from attention import layer_norm, mask_of, multihead, multihead_weights, norm_inputs, repeated
from torch import nn


class Block:
    """The weights of a block, given to the case."""

    def __init__(self, case, d_model, heads, d_ff, has_memory, norm, activation):
        self.heads, self.norm, self.activation = heads, norm, activation
        self.attention = multihead_weights(case, d_model, heads, group="attention/")
        self.cross = multihead_weights(case, d_model, heads, group="cross/") if has_memory else None
        self.W_1, self.b_1 = case.weight("W_1", d_model, d_ff), case.normal("b_1", d_ff, scale=0.3)
        self.W_2, self.b_2 = case.weight("W_2", d_ff, d_model), case.normal("b_2", d_model, scale=0.3)
        self.norm_1 = norm_inputs(case, "norm_1", d_model)
        self.norm_cross = norm_inputs(case, "norm_cross", d_model) if has_memory else None
        self.norm_2 = norm_inputs(case, "norm_2", d_model)

    def steps(self, X, memory, mask, linear=None):
        """Every step by id, each sublayer as x + f(LN(x)) or LN(x + f(x)). A list `linear` gets what the activation
        reads."""
        steps = {}

        def sublayer(x, residual_id, norm_id, norm_weights, f):
            if self.norm == "pre":
                steps[norm_id] = layer_norm(x, *norm_weights)
                steps[residual_id] = x + f(steps[norm_id])
                return steps[residual_id]
            steps[residual_id] = x + f(x)
            steps[norm_id] = layer_norm(steps[residual_id], *norm_weights)
            return steps[norm_id]

        def attend(group, weights, x, keys, keys_mask):
            attended = multihead(x, keys, weights, self.heads, mask=keys_mask)
            steps.update({f"{group}/{id}": step for id, step in attended.items()})
            return attended["output"]

        def feed_forward(x):
            before = F.linear(x, self.W_1.T, self.b_1)
            if linear is not None:
                linear.append(before)
            steps["ffn/hidden"] = {"relu": F.relu, "gelu": F.gelu}[self.activation](before)
            steps["ffn/output"] = F.linear(steps["ffn/hidden"], self.W_2.T, self.b_2)
            return steps["ffn/output"]

        x = sublayer(X, "residual_1", "norm_1", self.norm_1, lambda x: attend("attention", self.attention, x, x, mask))
        if memory is not None:
            x = sublayer(x, "residual_cross", "norm_cross", self.norm_cross,
                         lambda x: attend("cross", self.cross, x, memory, None))
        last_norm = "norm_2" if self.norm == "pre" else "output"
        steps["output"] = sublayer(x, "residual_2", last_norm, self.norm_2, feed_forward)
        return steps

    def module(self, d_model):
        """PyTorch's own layer with the same weights, which there multiply from the left."""
        Layer = nn.TransformerDecoderLayer if self.cross else nn.TransformerEncoderLayer
        layer = Layer(d_model, self.heads, self.W_1.shape[1], activation=self.activation,
                      norm_first=self.norm == "pre", batch_first=True).eval()

        def fill_attention(module, weights):
            W_Q, W_K, W_V, W_O = weights
            module.in_proj_weight.copy_(torch.cat([W_Q.T, W_K.T, W_V.T]))
            module.out_proj.weight.copy_(W_O.T)
            module.in_proj_bias.zero_()
            module.out_proj.bias.zero_()

        def fill(module, weight, bias):
            module.weight.copy_(weight)
            module.bias.copy_(bias)

        fill_attention(layer.self_attn, self.attention)
        fill(layer.linear1, self.W_1.T, self.b_1)
        fill(layer.linear2, self.W_2.T, self.b_2)
        fill(layer.norm1, *self.norm_1)
        if self.cross:
            fill_attention(layer.multihead_attn, self.cross)
            fill(layer.norm2, *self.norm_cross)
        fill(layer.norm3 if self.cross else layer.norm2, *self.norm_2)
        return layer

    def output(self, X, memory, mask):
        layer = self.module(X.shape[-1])
        hidden = None if mask is None else ~mask.repeat_interleave(self.heads, 0)
        if memory is None:
            return layer(X, src_mask=hidden)
        return layer(X, memory, tgt_mask=hidden)


@torch.no_grad()
def add(lesson, n, d_model, heads, d_ff, batch=None, lengths=None, memory=None, random_mask=False, norm="post",
        activation="relu", tag="", **options):
    batch = len(lengths) if lengths else batch
    case = lesson.case(f"{n}-tokens", f"d{d_model}", f"ff{d_ff}", memory and f"memory-{memory}",
                       batch and f"batch-{batch}", lengths and "padded", random_mask and "random-mask", tag,
                       heads=heads, norm=norm, activation=activation, **options)
    case.lengths(lengths)
    X = case.normal("X", batch, n, d_model)
    memory = case.normal("memory", batch, memory, d_model) if memory else None
    block = Block(case, d_model, heads, d_ff, memory is not None, norm, activation)
    mask = repeated(mask_of(n, n, lengths, options.get("causal")), batch)
    if random_mask:
        mask = case.mask("attention/mask", batch, n, n)
    steps = block.steps(X, memory, mask)
    if not random_mask:  # a row without a key is NaN there
        alone = [None if x is None else x[None] for x in (X, memory, mask)]
        output = block.output(X, memory, mask) if batch else block.output(*alone)[0]
        assert torch.allclose(steps["output"], output, rtol=1e-11, atol=1e-11)
    case.expect(steps if mask is None else {"attention/mask": mask, **steps})


def make(lesson):
    for norm in ("post", "pre"):
        for activation in ("relu", "gelu"):
            add(lesson, 3, 4, 2, 5, norm=norm, activation=activation)
            add(lesson, 3, 4, 2, 6, memory=2, causal=True, norm=norm, activation=activation)
        add(lesson, 3, 6, 3, 4, lengths=[3, 1], norm=norm, causal=True)
        add(lesson, 3, 4, 1, 3, lengths=[2, 3], memory=4, norm=norm, activation="gelu")
        add(lesson, 4, 4, 4, 7, random_mask=True, norm=norm)
    add(lesson, 1, 1, 1, 1)
    add(lesson, 1, 2, 1, 3, memory=1, norm="pre")
    add(lesson, 2, 8, 8, 2)
    add(lesson, 6, 6, 3, 24, activation="gelu")
    add(lesson, 3, 4, 2, 4, batch=2, memory=3)
    add(lesson, 3, 4, 2, 4, batch=4, causal=True, norm="pre")
    add(lesson, 3, 6, 2, 5, dtype="float32", causal=True)
    add(lesson, 3, 4, 2, 5, dtype="float32", norm="pre", activation="gelu", lengths=[3, 2])
    add(lesson, 2, 4, 1, 4, dtype="float32", memory=3)
