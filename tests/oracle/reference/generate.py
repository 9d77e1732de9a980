"""A causal decoder that writes. The reference has no cache: for each new token it reads the whole text anew, with a
causal mask, and takes from that pass what the program computed for its last token alone."""

import numpy as np
import torch
import torch.nn.functional as F
from attention import multihead, multihead_weights
from positional import sinusoidal_table


def newest(t, known):
    """What a step shows that finds `known` tokens in its cache: the rows of the others, and the cache after it."""
    names = {"Q": "Q_heads", "K": "K_heads", "V": "V_heads", "masked": "masked"}
    shown = {id: t[names.get(id, id)][..., known:, :]
             for id in ("Q", "K", "V", "scores", "scaled", "weights", "heads", "output", "residual")}
    if known == 0:
        shown["masked"] = t["masked"]
    return {**shown, "cache/K": t["K_heads"], "cache/V": t["V_heads"]}


def add(lesson, prompt, d_model, heads, kv_heads=None, d_k=None, d_v=None, layers=1, new_tokens=3, own_positions=True,
        tag="", **options):
    words = list(dict.fromkeys(prompt))
    sizes = (d_k or d_v) and f"{d_k}x{d_v}"
    case = lesson.case(f"{len(prompt)}-tokens", f"{len(words)}-words", f"d{d_model}", sizes,
                       not own_positions and "sinusoidal", tag, sentence=" ".join(prompt), heads=heads,
                       kv_heads=kv_heads, layers=layers, new_tokens=new_tokens, **options)
    kv_heads, d_k, d_v = kv_heads or heads, d_k or d_model // heads, d_v or d_model // heads
    most = len(prompt) + new_tokens - 1
    embedding = case.normal("embedding", len(words), d_model)
    positions = case.normal("positions", most, d_model) if own_positions else sinusoidal_table(most, d_model)[0]
    groups = [f"layer={layer + 1}/" for layer in range(layers)] if layers > 1 else [""]
    weights = [multihead_weights(case, d_model, heads, kv_heads, d_k, d_v, group) for group in groups]
    W_vocabulary = case.weight("W_vocabulary", d_model, len(words))

    t = {"positions": positions}
    text, known = [words.index(token) for token in prompt], 0
    for step in range(new_tokens):
        x = embedding[text] + positions[:len(text)]
        later = torch.ones(len(text), len(text), dtype=torch.bool).triu(1)
        shown = {"x": x[known:]}
        if step == 0:
            shown["mask"] = ~later
        for group, layer_weights in zip(groups, weights):
            attended = multihead(x, x, layer_weights, heads, kv_heads, mask=~later)
            x = attended["residual"] = x + attended["output"]
            shown.update({group + id: tensor for id, tensor in newest(attended, known).items()})
            if step == new_tokens - 1:
                t.update({f"{group}cache/{name}": attended[f"{name}_heads"] for name in "KV"})
        shown["logits"] = x[-1] @ W_vocabulary
        shown["probabilities"] = F.softmax(shown["logits"], dim=0)
        shown["token"] = shown["logits"].argmax()
        t.update({f"step={step}/{id}": tensor for id, tensor in shown.items()})
        known = len(text)
        text.append(int(shown["token"]))
    t["written"] = np.array(text[len(prompt):])
    sharing = [h for h in range(heads, 0, -1) if heads % h == 0]
    t["cache/bytes"] = np.array([layers * h * known * (d_k + d_v) * case.dtype.itemsize for h in sharing])
    case.expect(t)


def make(lesson):
    rose, cat = "a rose is a".split(), "the cat sat on the mat".split()
    add(lesson, rose, 4, 1)
    add(lesson, rose, 6, 2)
    add(lesson, cat, 4, 2, new_tokens=1)
    add(lesson, ["word"], 2, 1, new_tokens=2)
    add(lesson, rose, 8, 4, kv_heads=2, new_tokens=2)
    add(lesson, rose, 8, 8, kv_heads=1, new_tokens=2)
    add(lesson, rose, 6, 3, layers=2, new_tokens=2)
    add(lesson, rose[:3], 4, 2, d_k=3, d_v=1, layers=3, new_tokens=2)
    add(lesson, cat, 4, 2, own_positions=False)
    add(lesson, rose, 6, 2, kv_heads=1, dtype="float32")
    add(lesson, rose, 4, 4, layers=2, new_tokens=2, dtype="float32")
