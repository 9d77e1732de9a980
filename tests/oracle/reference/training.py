"""A training with PyTorch's autograd, clip_grad_norm_ and Adam; NumPy's binomial masks, PyTorch's matrix products and
clip_grad_value_, and the learning rate as published. Only scores and gradients are given; all else is drawn with
numpy.random.RandomState, which spends the draws of what is given too."""

import math

import numpy as np
import torch
import torch.nn.functional as F

KEYS, VECTORS, ATTENDING, FEATURES = 6, 256, 16, 4
SYMBOLS, POSITIONS, D_K, EXAMPLES, FRESH, BATCH, STEPS = 7, 6, 8, 128, 100, 16, 80
SHOWN = torch.tensor([[4, 2, 0, 6, 1, 3]])
NAMES = ["E", "P", "W_Q", "W_K", "W_V", "W_out"]


class Draws:
    """The program's stream of random numbers, rounded as the program rounds them."""

    def __init__(self, seed, dtype):
        self.random, self.dtype = np.random.RandomState(seed), dtype

    def normal(self, *shape):
        return self.normal_of_size(1, *shape)

    def normal_of_size(self, s, *shape):
        return torch.from_numpy(self.random.normal(0, s, shape).astype(self.dtype).astype(np.float64))

    def symbols(self, count):
        return torch.from_numpy(self.random.randint(0, SYMBOLS, (count, POSITIONS)))


def read(weights, symbols, p=0.0, random=None):
    """All that the model computes for the sequences."""
    t = {"X": F.embedding(symbols, weights["E"]) + weights["P"]}
    for name in "QKV":
        t[name] = F.linear(t["X"], weights[f"W_{name}"].T)
    t["scores"] = torch.einsum("bid,bjd->bij", t["Q"], t["K"])
    t["scaled"] = t["scores"] / math.sqrt(D_K)
    t["weights"] = F.softmax(t["scaled"], dim=-1)
    used = t["weights"]
    if p > 0:
        used = used * torch.from_numpy(random.binomial(1, 1 - p, tuple(used.shape))) / (1 - p)
    t["output"] = torch.bmm(used, t["V"])
    t["logits"] = F.linear(t["output"], weights["W_out"].T)
    t["probabilities"] = F.softmax(t["logits"], dim=-1)
    t["losses"] = F.cross_entropy(t["logits"].transpose(1, 2), symbols.flip(1), reduction="none")
    t["loss"] = t["losses"].mean()
    return t


def reading(group, weights):
    return {f"{group}/{id}": tensor[0] if tensor.ndim else tensor for id, tensor in read(weights, SHOWN).items()}


class Training:
    """A run of STEPS steps, and what was seen on the way."""

    def __init__(self, start, examples, warmup, max_norm, p=0.0, seed=0):
        weights = {name: torch.nn.Parameter(start[name].clone()) for name in NAMES}
        optimizer = torch.optim.Adam(weights.values(), betas=(0.9, 0.98), eps=1e-9)
        random = np.random.RandomState(seed)
        self.loss, self.norm, self.clipped_norm, self.first = [], [], [], {}
        self.midway = None
        for step in range(1, STEPS + 1):
            before = {name: weight.detach().clone() for name, weight in weights.items()}
            first = BATCH * (step - 1) % EXAMPLES
            loss = read(weights, examples[first : first + BATCH], p, random)["loss"]
            optimizer.zero_grad()
            loss.backward()
            found = {name: weight.grad.clone() for name, weight in weights.items()}
            norm = torch.nn.utils.clip_grad_norm_(weights.values(), max_norm)
            rate = learning_rate(step, start["E"].shape[1], warmup)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            self.loss.append(loss.item())
            self.norm.append(norm.item())
            self.clipped_norm.append(math.sqrt(sum(weight.grad.square().sum().item() for weight in weights.values())))
            if self.midway is None and (loss.item() < math.log(SYMBOLS) / 2 or step == STEPS):
                self.midway = before
            if step == 1:
                W_out = weights["W_out"]
                self.first = {
                    "d_W_out": found["W_out"], "norm": norm, "factor": torch.clamp(max_norm / (norm + 1e-6), max=1.0),
                    "clipped": W_out.grad.clone(), "rate": torch.tensor(rate, dtype=torch.float64),
                    "m": optimizer.state[W_out]["exp_avg"].clone(), "v": optimizer.state[W_out]["exp_avg_sq"].clone(),
                    "updated": W_out.detach().clone(),
                }
        self.after = {name: weight.detach() for name, weight in weights.items()}

    def right(self, sequences):
        return (read(self.after, sequences)["logits"].argmax(dim=-1) == sequences.flip(1)).double().mean()


def learning(draws, d, p, warmup, max_norm, seed):
    examples, fresh = draws.symbols(EXAMPLES), draws.symbols(FRESH)
    shapes = [(SYMBOLS, d), (POSITIONS, d), (d, D_K), (d, D_K), (d, D_K), (D_K, SYMBOLS)]
    start = {name: draws.normal_of_size(1 / math.sqrt(shape[0]), *shape) for name, shape in zip(NAMES, shapes)}
    trainings = [
        Training(start, examples, warmup, max_norm), Training(start, examples, 1, max_norm),
        Training(start, examples, warmup, math.inf),
    ]
    if p > 0:
        trainings.append(Training(start, examples, warmup, max_norm, p, seed))
    main = trainings[0]
    t = {"examples": examples, "fresh": fresh, "shown": SHOWN[0], **start}
    t |= reading("before", start) | {f"first_step/{id}": tensor for id, tensor in main.first.items()}
    for group, weights in (("midway", main.midway), ("after", main.after)):
        t |= {f"{group}/{id}": tensor for id, tensor in weights.items()} | reading(group, weights)
    t["loss"] = np.array(main.loss)
    t["losses"] = np.array([one.loss for i, one in enumerate(trainings) if i != 2])
    t["gradient_norm"] = np.array([main.norm, main.clipped_norm])
    t["right"] = np.array([one.right(fresh) for one in trainings])
    return t


def dropout(scores, draws, p, samples):
    weights = F.softmax(scores, dim=-1).numpy()
    masks = draws.random.binomial(1, 1 - p, (samples, KEYS))
    dropped = weights * masks / (1 - p)
    return {
        "scores": scores, "weights": weights, "mask": masks[0], "dropped": dropped[0], "mean": dropped.mean(axis=0),
        "variance": dropped.var(axis=0), "variance_theory": weights**2 * p / (1 - p),
    }


def through_layers(x, Z, s, relu=False):
    variance, errors = [x.pow(2).mean()], [torch.tensor(0.0)]
    for layer, z in enumerate(Z):
        if relu and layer > 0:
            x = F.relu(x)
        eigenvalues = torch.linalg.eigvalsh(x.T @ x)
        errors.append(math.sqrt(2 / x.shape[1]) * eigenvalues.norm() / eigenvalues.sum())
        x = F.linear(x, s * z.T)
        variance.append(x.pow(2).mean())
    return torch.stack(variance), torch.stack(errors)


def initialisation(draws, d, layers):
    x, Z = draws.normal(VECTORS, d), draws.normal(layers, d, d)
    xavier, he = (torch.nn.init.calculate_gain(gain) / math.sqrt(d) for gain in ("linear", "relu"))
    t = {}
    for name, s in (("xavier", xavier), ("he", he), ("0.02", 0.02)):
        t[f"{name}/variance"], errors = through_layers(x, Z, s)
        if name == "xavier":
            t["xavier/standard_error"] = errors
    for name, s in (("xavier", xavier), ("he", he)):
        t[f"relu/{name}/variance"], _ = through_layers(x, Z, s, relu=True)

    Z_Q, Z_K = draws.normal(d, d), draws.normal(d, d)
    first = x[:ATTENDING]
    scaled = [s * first @ Z_Q @ (s * first @ Z_K).T / math.sqrt(d) for s in (xavier, he, 0.02)]
    t["score_std"] = torch.stack([one.pow(2).mean().sqrt() for one in scaled])
    t["entropy"] = torch.stack([torch.special.entr(F.softmax(one, dim=-1)).sum(dim=-1).mean() for one in scaled])
    return t


def learning_rate(step, d_model, warmup_steps):
    return d_model ** (-0.5) * min(step ** (-0.5), step * warmup_steps ** (-1.5))


def schedule(d, warmup):
    steps = sorted({(i * warmup + 2) // 4 for i in range(17)})
    rate = [0.0 if step == 0 else learning_rate(step, d, warmup) for step in steps]
    return {
        "step": np.array(steps), "rate": np.array(rate), "rising": np.array([step * warmup**-1.5 for step in steps]),
        "falling": np.array([math.inf if step == 0 else step**-0.5 for step in steps]),
    }


def clipping(gradients, max_norm):
    def parameters():
        rows = [torch.nn.Parameter(torch.zeros(FEATURES)) for _ in gradients]
        for row, gradient in zip(rows, gradients):
            row.grad = gradient.clone()
        return rows

    by_norm, by_value = parameters(), parameters()
    norm = torch.nn.utils.clip_grad_norm_(by_norm, max_norm)
    torch.nn.utils.clip_grad_value_(by_value, max_norm)
    t = {
        "gradients": gradients, "layer_norms": gradients.norm(dim=1), "norm": norm,
        "factor": torch.clamp(max_norm / (norm + 1e-6), max=1.0),
        "clipped": torch.stack([row.grad for row in by_norm]),
        "by_value": torch.stack([row.grad for row in by_value]),
    }
    t["cosine_by_value"] = F.cosine_similarity(gradients.flatten(), t["by_value"].flatten(), dim=0, eps=0.0)
    return t


def add(lesson, d_model, samples, p, layers, warmup, max_norm, given=True, seed=42, scale=1.0, **options):
    case = lesson.case(not given and "drawn", scale != 1.0 and "large", d_model=d_model,
                       samples=samples, dropout=p, layers=layers, warmup=warmup, max_norm=max_norm, seed=seed,
                       **options)
    draws = Draws(seed, case.dtype)
    learned = learning(draws, d_model, p, warmup, max_norm, seed)
    if case.dtype == np.float32:  # in which 1 minus a probability near 1 has few digits, and so have these
        del learned["after/losses"], learned["after/loss"]
    case.expect(learned)
    drawn_scores = draws.normal(KEYS)
    scores = case.normal("dropout/scores", KEYS) if given else drawn_scores
    case.expect(dropout(scores, draws, p, samples), "dropout/")
    case.expect(initialisation(draws, d_model, layers), "initialisation/")
    case.expect(schedule(d_model, warmup), "schedule/")
    drawn_gradients = draws.normal(layers, FEATURES)
    gradients = case.normal("clipping/gradients", layers, FEATURES, scale=scale) if given else drawn_gradients
    case.expect(clipping(gradients, max_norm), "clipping/")


def make(lesson):
    add(lesson, 64, 4096, 0.1, 6, 4000, 1.0, given=False)
    add(lesson, 100, 500, 0.9, 4, 1001, 2.5, given=False, seed=3)
    add(lesson, 8, 50, 0.5, 2, 10, 0.25, seed=7)
    add(lesson, 1, 1, 0.1, 1, 1, 100, seed=1)
    add(lesson, 24, 1000, 0.0, 12, 7, 3, seed=2)
    add(lesson, 16, 400, 0.3, 3, 50, 5, scale=1000)
    add(lesson, 64, 4096, 0.1, 6, 4000, 1.0, dtype="float32")
    add(lesson, 8, 50, 0.5, 2, 10, 0.25, seed=7, dtype="float32")
