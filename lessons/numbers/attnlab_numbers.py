"""Every number that a lesson of attnlab starts from, drawn with NumPy.

A lesson starts from inputs: vectors for the words, weights, masks. Each word
and each tensor is drawn from a stream of its own, whose seed is made of --seed
and its name, so NumPy can draw the same numbers, bit for bit. These are those
of self-attention, whose d_model is 4:

    from zlib import crc32
    def rng(name):  # with --rng pcg64: np.random.default_rng
        return np.random.RandomState([42, crc32(name.encode())])
    words = "the cat sat on the mat".split()
    X = np.array([rng("token " + word).normal(0, 1, 4) for word in words])
    W_Q = rng("W_Q").normal(0, 1 / np.sqrt(4), (4, 4))
    W_K = rng("W_K").normal(0, 1 / np.sqrt(4), (4, 4))
    W_V = rng("W_V").normal(0, 1 / np.sqrt(4), (4, 4))

So a number depends on the seed and its name only: a word has the same vector
in every sentence and every lesson. The name of a tensor is its id in the trace
("attention/W_Q"). What has an axis of words is drawn a word at a time, called
"output/W chat", and what has an axis of positions a position at a time, called
"Q 0", "Q 1" and so on. From the second sample of a batch on, " sample 1" and so
on stands behind the name, but for words. A dropout mask is drawn whole.

With --draws stream everything comes from one stream in a fixed order, as in
the code of tutorials. With six different words:

    rng = np.random.RandomState(42)  # with --rng pcg64: np.random.default_rng
    X = rng.normal(0, 1, (6, 4))
    W_Q = rng.normal(0, 1 / np.sqrt(4), (4, 4))
    W_K = rng.normal(0, 1 / np.sqrt(4), (4, 4))
    W_V = rng.normal(0, 1 / np.sqrt(4), (4, 4))

The order is the same in all lessons:

1. A vector for each distinct word, where the lesson has words: those of the
   source before those of the target, those of --memory before all others.
2. The weights: W_Q, W_K, W_V, W_O, and then what else there is.
3. Dropout masks, as they are used.

With --rng torch that stream is PyTorch's, after torch.manual_seed(42): randn in
the place of normal, and rand for what is 0 or 1. Its numbers are the lab's to
3e-7, where PyTorch's vectorised logarithm, sine and cosine round otherwise.

Every array is filled in C order, row by row. NumPy's numbers are drawn in
float64, and with another --dtype rounded once. What is not random (a bias, a
gain, a mask) costs no draw. What --input or --set replaces is drawn all the
same, so that the other inputs keep their numbers.

Below stands the code for every input of every lesson. Copy what you need into
a notebook, or take the whole page, which compares the inputs in a trace with
its own:

    attnlab --help numbers > attnlab_numbers.py
    attnlab multihead --heads 4 --seed 7 --output trace.json
    python3 attnlab_numbers.py trace.json

Or have it draw them for you. The config of a trace holds the value of every
option, by its long name, and the tokens of the sentences; more is not needed:

    from attnlab_numbers import inputs_of
    trace = json.load(open("trace.json"))
    inputs = inputs_of(trace["lesson"], trace["config"])
    X, W_Q = inputs["X"], inputs["W_Q"]
"""

import json
import math
import sys
import unicodedata
import zlib

import numpy as np

# The streams of random numbers, and what is drawn from them.


def draws_by_name(config):
    """A trace that does not say it is older than --draws."""
    return config.get("draws", "stream") == "name"


def generator(config, name=None):
    """The stream of a run, or that of a name: --rng and --seed decide it."""
    seed = config["seed"]
    if name is not None:
        seed = [seed, zlib.crc32(name.encode())]
    if config["rng"] == "torch":
        return Torch(seed)
    if config["rng"] == "pcg64":
        return np.random.default_rng(seed)
    return np.random.RandomState(seed)


class Torch:
    """PyTorch's stream, called as NumPy's are."""

    def __init__(self, seed):
        import torch

        torch.manual_seed(seed)
        self.torch = torch

    def normal(self, mean, s, shape):
        return mean + s * self.torch.randn(shape).double().numpy()

    def uniform(self, *shape):
        return self.torch.rand(shape).double().numpy()

    def linear(self, fan_in, fan_out):
        layer = self.torch.nn.Linear(fan_in, fan_out, bias=False)
        return layer.weight.detach().double().numpy()

    def binomial(self, trials, p, shape):
        assert trials == 1
        return (self.torch.rand(tuple(shape)) < p).long().numpy()

    def randint(self, low, high, shape):
        return self.torch.randint(low, high, shape).numpy()

    def permutation(self, n):
        return self.torch.randperm(n).numpy()


def standard_deviation(config, fan_in, fan_out):
    """How large the weights are that lead from fan_in numbers to fan_out."""
    scale = config.get("weight_scale")
    if scale is None:
        return 1 / math.sqrt(fan_in)
    if scale == "xavier":
        return math.sqrt(2 / (fan_in + fan_out))
    if scale == "he":
        return math.sqrt(2 / fan_in)
    return float(scale)


class Inputs:
    """The inputs of one run as `arrays`, by their ids."""

    def __init__(self, config):
        self.config = config
        self.stream = generator(config) if not draws_by_name(config) else None
        self.vectors = {}
        self.arrays = {}

    def random(self, name):
        """The stream of that name, from its beginning, or the one stream."""
        return self.stream or generator(self.config, name)

    def draw(self, name, s, shape, axis=None, entries=None, sample=0):
        """normal(0, s); entry by entry along an axis of words or positions."""
        behind = f" sample {sample}" if sample > 0 else ""
        if axis is None or self.stream:
            return self.random(name + behind).normal(0, s, shape)
        rest = shape[:axis] + shape[axis + 1:]
        names = [f"{name} {entry}{behind}" for entry in
                 (range(shape[axis]) if entries is None else entries)]
        slices = [self.random(each).normal(0, s, rest) for each in names]
        return np.stack(slices, axis)

    def add(self, id, array):
        """Real numbers get the dtype of the run; other arrays keep theirs."""
        array = np.asarray(array)
        if array.dtype == np.float64:
            array = array.astype(self.config["dtype"])
        self.arrays[id] = array

    def add_batch(self, id, array):
        """A run on a single sentence has no batch axis."""
        sentences = self.config.get("tokens") or self.config["source_tokens"]
        self.add(id, array if len(sentences) > 1 else array[0])

    def normal(self, id, *shape, axis=None):
        self.add(id, self.draw(id, 1, shape, axis))

    def symbols(self, id, count, shape):
        """Whole numbers from 0 to below count."""
        random = self.random(id)
        pcg64 = isinstance(random, np.random.Generator)
        draw = random.integers if pcg64 else random.randint
        self.add(id, draw(0, count, shape))

    def normal_batch(self, id, samples, n, d):
        """A row for each position of each sample."""
        if self.stream:
            return self.add_batch(id, self.draw(id, 1, (samples, n, d)))
        rows = [self.draw(id, 1, (n, d), 0, None, b) for b in range(samples)]
        self.add_batch(id, np.stack(rows))

    def weight(self, id, fan_in, fan_out, axis=None, entries=None):
        """A matrix that multiplies from the right: X W."""
        shape = (fan_in, fan_out)
        scale = self.config.get("weight_scale")
        if scale == "uniform":
            return self.add(id, self.stream.uniform(*shape))
        if scale == "linear":
            return self.add(id, self.stream.linear(fan_in, fan_out).T)
        s = standard_deviation(self.config, fan_in, fan_out)
        self.add(id, self.draw(id, s, shape, axis, entries))

    def left_weight(self, id, fan_out, fan_in):
        """A matrix that multiplies from the left, W x, as PyTorch keeps it."""
        self.weight(id, fan_in, fan_out)
        if self.config.get("weight_scale") == "linear":
            self.arrays[id] = self.arrays[id].T
        else:
            self.arrays[id] = self.arrays[id].reshape(fan_out, fan_in)

    def weight_vector(self, id, fan_in):
        self.weight(id, fan_in, 1)
        self.arrays[id] = self.arrays[id].reshape(fan_in)

    def constant(self, id, length, value):
        self.add(id, np.full(length, float(value)))

    def layer_norm(self, group):
        self.constant(group + "/gain", self.config["d_model"], 1)
        self.constant(group + "/bias", self.config["d_model"], 0)


# Words. A batch is a list of sentences, and a sentence a list of tokens.


def longest(batch):
    return max(len(sentence) for sentence in batch)


def is_padded(batch):
    return any(len(sentence) < longest(batch) for sentence in batch)


def distinct_words(batch):
    words = []
    for sentence in batch:
        for word in sentence:
            if word not in words:
                words.append(word)
    return words


def draw_vectors(inputs, *batches):
    """A vector for each distinct word, in the order in which they come.

    The same word has the same vector wherever it stands. The vectors of an
    --embeddings file cost no draw.
    """
    config = inputs.config
    if config["embeddings"] is not None:
        path, d_model = config["embeddings"], config["d_model"]
        inputs.vectors = vectors_in_file(path, d_model)
        return
    for batch in batches:
        for word in distinct_words(batch):
            if word not in inputs.vectors:
                vector = inputs.draw("token " + word, 1, (config["d_model"],))
                inputs.vectors[word] = vector


def vectors_in_file(path, d_model):
    """Each line is a word and its numbers; a first line may hold two counts."""
    vectors = {}
    with open(path, encoding="utf-8-sig") as file:
        for line in file:
            fields = line.split()
            if len(fields) > d_model:
                word = unicodedata.normalize("NFC", " ".join(fields[:-d_model]))
                numbers = [float(field) for field in fields[-d_model:]]
                vectors.setdefault(word, np.array(numbers))
    return vectors


def vector_of(inputs, word):
    """As the word is written, or else in lower case."""
    if word in inputs.vectors:
        return inputs.vectors[word]
    if word == "<s>":
        return np.zeros(inputs.config["d_model"])
    return inputs.vectors[word.lower()]


def embed(inputs, id, batch):
    """Shorter sentences are filled up with rows of zeros."""
    X = np.zeros((len(batch), longest(batch), inputs.config["d_model"]))
    for b, sentence in enumerate(batch):
        for i, word in enumerate(sentence):
            X[b, i] = vector_of(inputs, word)
    inputs.add_batch(id, X)


def show_lengths(inputs, batch):
    """How many tokens are real, where some sentence is padded."""
    if is_padded(batch):
        inputs.add("lengths", [len(sentence) for sentence in batch])


# Masks.


def attention_mask(inputs, id, queries, keys):
    """True where a query may look at a key; no mask where it always may.

    Both sequences end together: the last query stands beside the last key.
    """
    causal = inputs.config.get("causal", False)
    window = inputs.config.get("window")
    if not causal and window is None and not is_padded(keys):
        return
    n_q, n_k = longest(queries), longest(keys)
    i = np.arange(n_q)[:, None] + n_k - n_q
    j = np.arange(n_k)
    mask = np.ones((len(keys), n_q, n_k), dtype=bool)
    if causal:
        mask &= j <= i
    if window is not None:
        mask &= abs(i - j) <= window
    inputs.add_batch(id, mask & padding_mask(keys, n_q))


def padding_mask(keys, n_q):
    lengths = np.array([len(sentence) for sentence in keys])
    mask = np.arange(longest(keys)) < lengths[:, None, None]
    return np.repeat(mask, n_q, axis=1)


def dropout_mask(inputs, queries, keys):
    """1 for each weight that stays, drawn after all the weights."""
    config = inputs.config
    p = config.get("dropout", 0)
    if p > 0:
        heads = [config["heads"]] if config.get("heads") else []
        shape = [len(keys), *heads, longest(queries), longest(keys)]
        random = inputs.random("dropout_mask")
        mask = random.binomial(1, 1 - p, shape)
        inputs.add_batch("dropout_mask", mask)


# What several lessons begin with.


def sentence_vectors(inputs):
    tokens = inputs.config["tokens"]
    draw_vectors(inputs, tokens)
    show_lengths(inputs, tokens)
    embed(inputs, "X", tokens)
    return tokens


def single_head_weights(inputs):
    config = inputs.config
    inputs.weight("W_Q", config["d_model"], config["d_k"])
    inputs.weight("W_K", config["d_model"], config["d_k"])
    inputs.weight("W_V", config["d_model"], config["d_v"])


def multihead_weights(inputs, group=""):
    """All heads side by side; --kv-heads makes W_K and W_V narrower."""
    config = inputs.config
    d_model, heads = config["d_model"], config["heads"]
    kv_heads = config.get("kv_heads") or heads
    d_k = config.get("d_k", d_model // heads)
    d_v = config.get("d_v", d_model // heads)
    inputs.weight(group + "W_Q", d_model, heads * d_k)
    inputs.weight(group + "W_K", d_model, kv_heads * d_k)
    inputs.weight(group + "W_V", d_model, kv_heads * d_v)
    inputs.weight(group + "W_O", heads * d_v, d_model)


def word_weights(inputs, id, fan_in, words):
    """A column for each word."""
    inputs.weight(id, fan_in, len(words), axis=1, entries=words)


def lstm_weights(inputs, group, d_in, hidden):
    """A block of rows for each gate, in the order i, f, g, o."""
    inputs.left_weight(group + "/W_ih", 4 * hidden, d_in)
    inputs.left_weight(group + "/W_hh", 4 * hidden, hidden)
    inputs.constant(group + "/b_ih", 4 * hidden, 0)
    inputs.constant(group + "/b_hh", 4 * hidden, 0)


def sinusoids(n, d):
    """Positions as sines and cosines: nothing is drawn.

    Sine and cosine are those of the C library, as in the lab. NumPy has its
    own for some processors, which may differ in the last bit.
    """
    table = np.zeros((n, d))
    for p in range(n):
        for i in range(0, d, 2):
            angle = p * math.pow(10000, -i / d)
            table[p, i] = math.sin(angle)
            table[p, i + 1] = math.cos(angle)
    return table


# The lessons, in the order of the curriculum.


def lookup(inputs, config):
    n = longest(config["tokens"])
    inputs.normal("query", config["d_k"])
    inputs.normal("keys", n, config["d_k"], axis=0)
    inputs.normal("values", n, config["d_v"], axis=0)


def scoring(inputs, config):
    source, target = config["source_tokens"], config["target_tokens"]
    d_model, d_a = config["d_model"], config["d_a"]
    draw_vectors(inputs, source, target)
    show_lengths(inputs, source)
    embed(inputs, "queries", target)
    embed(inputs, "keys", source)
    inputs.weight("W_a", d_model, d_model)
    inputs.weight("W_q", d_model, d_a)
    inputs.weight("W_k", d_model, d_a)
    inputs.weight_vector("v_a", d_a)
    attention_mask(inputs, "mask", target, source)


def scaling(inputs, config):
    """Its queries and keys are many; the trace itself says how to draw them."""
    inputs.add("d_k", config["d_k"])
    inputs.add("samples", config["samples"])


def queries_keys_values(inputs, config):
    """Of one sentence; or queries of the target and keys of the source."""
    queries = config.get("tokens") or config["target_tokens"]
    keys = config.get("tokens") or config["source_tokens"]
    batch, n_q, n_k = len(keys), longest(queries), longest(keys)
    d_k, d_v = config["d_k"], config["d_v"]
    show_lengths(inputs, keys)
    inputs.normal_batch("Q", batch, n_q, d_k)
    inputs.normal_batch("K", batch, n_k, d_k)
    inputs.normal_batch("V", batch, n_k, d_v)
    attention_mask(inputs, "mask", queries, keys)
    return queries, keys


def sdpa(inputs, config):
    queries, keys = queries_keys_values(inputs, config)
    dropout_mask(inputs, queries, keys)


def self_attention(inputs, config):
    tokens = sentence_vectors(inputs)
    single_head_weights(inputs)
    attention_mask(inputs, "mask", tokens, tokens)
    dropout_mask(inputs, tokens, tokens)


def cross_attention(inputs, config):
    source, target = config["source_tokens"], config["target_tokens"]
    draw_vectors(inputs, source, target)
    show_lengths(inputs, source)
    embed(inputs, "X_target", target)
    embed(inputs, "X_source", source)
    if config.get("heads") is None:
        single_head_weights(inputs)
    else:
        multihead_weights(inputs)
    attention_mask(inputs, "mask", target, source)
    dropout_mask(inputs, target, source)


def masking(inputs, config):
    """Its masks are steps, not inputs."""
    sentence_vectors(inputs)
    single_head_weights(inputs)


def multihead(inputs, config):
    tokens = sentence_vectors(inputs)
    multihead_weights(inputs)
    attention_mask(inputs, "mask", tokens, tokens)
    dropout_mask(inputs, tokens, tokens)
    if config["norm"]:
        inputs.layer_norm("norm")


def positional(inputs, config):
    tokens, d_model = sentence_vectors(inputs), config["d_model"]
    attention_mask(inputs, "mask", tokens, tokens)
    if config["encoding"] in ("all", "learned"):
        inputs.weight("learned/table", longest(tokens), d_model, axis=0)
    if config["encoding"] in ("all", "relative"):
        inputs.weight("relative/keys", 9, d_model)
    if config["encoding"] in ("all", "t5"):
        inputs.weight("t5/table", 32, config["heads"])


def seq2seq(inputs, config):
    """Without a target the decoder reads what it writes: X_target is a step.

    How many words it writes is not in the config. The mask is the same for
    each of them; it has one row here.
    """
    source, target = config["source_tokens"], config.get("target_tokens")
    is_greedy = not target
    reads = [["<s>"] + sentence for sentence in target or [[] for _ in source]]
    vocabulary = distinct_words(target or source) + ["</s>"]
    draw_vectors(inputs, source, reads)
    show_lengths(inputs, source)
    embed(inputs, "X_source", source)
    if not is_greedy:
        embed(inputs, "X_target", reads)
    if is_padded(source):
        inputs.add_batch("mask", padding_mask(source, longest(reads)))

    d_model, hidden = config["d_model"], config["hidden"]
    attention = config["attention"]
    width = 2 * hidden if config["bidirectional"] else hidden
    lstm_weights(inputs, "encoder", d_model, hidden)
    if config["bidirectional"]:
        lstm_weights(inputs, "encoder/reverse", d_model, hidden)
    reads_context = attention in ("bahdanau", "bahdanau-input")
    d_in = d_model + width if reads_context else d_model
    lstm_weights(inputs, "decoder", d_in, width)
    source_attention_weights(inputs, attention, width, d_model, config["d_a"])
    if reads_context:
        word_weights(inputs, "output/W", 2 * width, vocabulary)
        inputs.constant("output/b", len(vocabulary), 0)
    else:
        inputs.weight("attention/W_c", 2 * width, width)
        word_weights(inputs, "output/W", width, vocabulary)


def source_attention_weights(inputs, attention, width, d_model, d_a):
    """How the decoder of seq2seq attends; luong-dot has no weights."""
    if attention in ("bahdanau", "bahdanau-input"):
        asks = width if attention == "bahdanau" else width + d_model
        inputs.weight("attention/W_q", asks, d_a)
        inputs.weight("attention/W_k", width, d_a)
        inputs.weight_vector("attention/v_a", d_a)
    if attention == "luong-general":
        inputs.weight("attention/W_a", width, width)
    if attention == "luong-concat":
        inputs.weight("attention/W_a", 2 * width, d_a)
        inputs.weight_vector("attention/v_a", d_a)
    if attention == "multihead":
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            inputs.weight("attention/" + name, width, width)


def transformer_block(inputs, config):
    tokens, memory = config["tokens"], config.get("memory_tokens")
    d_model, d_ff = config["d_model"], config["d_ff"]
    draw_vectors(inputs, memory or [], tokens)
    show_lengths(inputs, tokens)
    embed(inputs, "X", tokens)
    if memory:
        embed(inputs, "memory", memory)
    multihead_weights(inputs, "attention/")
    if memory:
        multihead_weights(inputs, "cross/")
    inputs.weight("W_1", d_model, d_ff)
    inputs.constant("b_1", d_ff, 0)
    inputs.weight("W_2", d_ff, d_model)
    inputs.constant("b_2", d_model, 0)
    inputs.layer_norm("norm_1")
    if memory:
        inputs.layer_norm("norm_cross")
    inputs.layer_norm("norm_2")
    attention_mask(inputs, "attention/mask", tokens, tokens)


def classifier(inputs, config):
    tokens, d_model = sentence_vectors(inputs), config["d_model"]
    inputs.add("positions", sinusoids(longest(tokens), d_model))
    multihead_weights(inputs, "attention/")
    inputs.layer_norm("attention/norm")
    inputs.weight("W_class", d_model, config["classes"])
    attention_mask(inputs, "attention/mask", tokens, tokens)


def generate(inputs, config):
    """The first step reads the whole prompt, each token up to itself."""
    d_model, prompt = config["d_model"], config["tokens"]
    vocabulary, n = distinct_words(prompt), longest(prompt)
    draw_vectors(inputs, prompt)
    embed(inputs, "embedding", [vocabulary])
    inputs.add("positions", sinusoids(n + config["new_tokens"] - 1, d_model))
    if config["layers"] == 1:
        multihead_weights(inputs)
    else:
        for layer in range(config["layers"]):
            multihead_weights(inputs, f"layer={layer + 1}/")
    word_weights(inputs, "W_vocabulary", d_model, vocabulary)
    inputs.add("step=0/mask", np.tri(n, dtype=bool))


def efficient(inputs, config):
    n, d_k, d_v = longest(config["tokens"]), config["d_k"], config["d_v"]
    inputs.normal("Q", n, d_k, axis=0)
    inputs.normal("K", n, d_k, axis=0)
    inputs.normal("V", n, d_v, axis=0)
    if config["variant"] in ("all", "sparse") and config["pattern"] == "random":
        random = inputs.random("sparse/mask")
        for query in range(n):
            random.permutation(n)  # its first keys are those it sees
    if config["variant"] in ("all", "linformer") and not config["causal"]:
        inputs.weight("linformer/E", config["rank"], n, axis=1)
        inputs.weight("linformer/F", config["rank"], n, axis=1)
    if config["variant"] in ("all", "performer"):
        inputs.normal("performer/omega", config["features"] or 2 * d_k, d_k)


def ring(inputs, config):
    tokens = config["tokens"]
    n, d_k, d_v = longest(tokens), config["d_k"], config["d_v"]
    heads = [config["heads"]] if config.get("heads") else []
    show_lengths(inputs, tokens)
    for id, d in (("Q", d_k), ("K", d_k), ("V", d_v)):
        shape = (*heads, n, d)
        if inputs.stream:
            inputs.add_batch(id, inputs.draw(id, 1, (len(tokens), *shape)))
            continue
        samples = [inputs.draw(id, 1, shape, len(heads), None, b)
                   for b in range(len(tokens))]
        inputs.add_batch(id, np.stack(samples))
    attention_mask(inputs, "mask", tokens, tokens)


def stability(inputs, config):
    """The same scores in four sizes."""
    scores = inputs.draw("scores", 1, (longest(config["tokens"]),), axis=0)
    sizes = np.array([1, 10, 100, 1000])
    inputs.add("scores", sizes[:, None] * scores)


def patterns(inputs, config):
    """Its last input is computed: the weights of attention."""
    tokens, d_model = sentence_vectors(inputs), config["d_model"]
    width = (config["heads"] or 1) * config["d_k"]
    inputs.weight("W_Q", d_model, width)
    inputs.weight("W_K", d_model, width)
    attention_mask(inputs, "mask", tokens, tokens)
    inputs.add("weights", attention_weights(inputs.arrays, config))


def training(inputs, config):
    d_model, layers = config["d_model"], config["layers"]
    p, samples = config["dropout"], config["samples"]
    inputs.symbols("examples", 7, (128, 6))
    inputs.symbols("fresh", 7, (100, 6))
    inputs.add("shown", np.array([4, 2, 0, 6, 1, 3]))
    inputs.weight("E", 7, d_model)
    inputs.weight("P", 6, d_model)
    inputs.weight("W_Q", d_model, 8)
    inputs.weight("W_K", d_model, 8)
    inputs.weight("W_V", d_model, 8)
    inputs.weight("W_out", 8, 7)
    inputs.normal("dropout/scores", 6)
    random = inputs.random("dropout/mask")
    masks = random.binomial(1, 1 - p, (samples, 6))
    inputs.add("dropout/mask", masks[0])
    inputs.add("dropout/kept", masks.sum(axis=0))
    inputs.draw("initialisation/x", 1, (256, d_model))
    inputs.draw("initialisation/Z", 1, (layers, d_model, d_model))
    inputs.draw("initialisation/Z_Q", 1, (d_model, d_model))
    inputs.draw("initialisation/Z_K", 1, (d_model, d_model))
    inputs.normal("clipping/gradients", layers, 4)
    quarters = (np.arange(17) * config["warmup"] + 2) // 4
    inputs.add("schedule/step", np.unique(quarters))


def words_and_projections(inputs, config):
    """What Q, K and V are computed from."""
    if not config.get("tokens"):
        cross_attention(inputs, config)
        return config["target_tokens"], config["source_tokens"]
    self_attention(inputs, config)
    return config["tokens"], config["tokens"]


def backward(inputs, config):
    """From one stream come Q, K and V; by name, what they come from.

    With --through another lesson its inputs come first.
    """
    through = config.get("through", "sdpa")
    if through == "seq2seq":
        return seq2seq_and_words(inputs, config)
    if through != "sdpa":
        forward = multihead if through == "multihead" else transformer_block
        forward(inputs, {**config, "norm": False})
        tokens, d_model = config["tokens"], config["d_model"]
        inputs.normal_batch("d_output", len(tokens), longest(tokens), d_model)
        return None
    by_name = draws_by_name(config)
    start = words_and_projections if by_name else queries_keys_values
    queries, keys = start(inputs, config)
    inputs.normal_batch("d_output", len(keys), longest(queries), config["d_v"])
    return None


def seq2seq_and_words(inputs, config):
    """The inputs of seq2seq, and the column of each word to be written."""
    as_taught = {"attention": "bahdanau", "bidirectional": False}
    seq2seq(inputs, {**config, **as_taught})
    writes = [sentence + ["</s>"] for sentence in config["target_tokens"]]
    words = distinct_words(config["target_tokens"]) + ["</s>"]
    columns = np.full((len(writes), longest(writes)), -1)
    for b, sentence in enumerate(writes):
        columns[b, : len(sentence)] = [words.index(word) for word in sentence]
    inputs.add_batch("words", columns)


def complexity(inputs, config):
    """What its layers run on is random, but only counted."""
    inputs.add("n", config["lengths"])
    inputs.add("d", config["d_model"])


# The weights that the lesson patterns starts from. Their bits depend on the
# order in which a sum is added up: the lab adds from the first term to the
# last, in float64, and rounds the weights to the dtype of the run. (It leaves
# products of more than 2**18 multiply-adds to a BLAS, which has an order of its
# own: there the last bits may differ.)


def product(A, B):
    """A @ B in float64, added up in that order."""
    total = np.zeros((*A.shape[:-1], B.shape[-1]))
    for k in range(A.shape[-1]):
        total += A[..., k, None].astype(np.float64) * B[..., k, None, :]
    return total


def softmax(scores):
    """Over the last axis. A row in which nothing may be seen becomes 0."""
    weights = np.zeros(scores.shape)
    for row in np.ndindex(scores.shape[:-1]):
        largest = float(scores[row].max())
        if largest > -math.inf:
            shifted = [float(score) - largest for score in scores[row]]
            exponentials = np.array([math.exp(x) for x in shifted])
            weights[row] = exponentials / np.cumsum(exponentials)[-1]
    return weights


def attention_weights(arrays, config):
    heads = config["heads"] or 1
    X, d_k = arrays["X"], config["d_k"]
    divisor = math.sqrt(d_k) * config["temperature"]
    weights = []
    for h in range(heads):
        of_head = slice(h * d_k, (h + 1) * d_k)
        Q = product(X, arrays["W_Q"])[..., of_head]
        K = product(X, arrays["W_K"])[..., of_head]
        scaled = product(Q, np.swapaxes(K, -1, -2)) / divisor
        if "mask" in arrays:
            scaled = np.where(arrays["mask"], scaled, -math.inf)
        weights.append(softmax(scaled).astype(X.dtype))
    return weights[0] if config["heads"] is None else np.stack(weights, axis=-3)


# All together.

LESSONS = [
    lookup, scoring, scaling, sdpa, self_attention, cross_attention, masking,
    multihead, positional, seq2seq, transformer_block, classifier, generate,
    efficient, ring, stability, patterns, training, backward, complexity,
]


def inputs_of(lesson, config):
    """All inputs of a lesson, by their ids, from the config of its trace."""
    inputs = Inputs(config)
    for draw in LESSONS:
        if draw.__name__ == lesson.replace("-", "_"):
            draw(inputs, config)
    return inputs.arrays


def is_same(drawn, array, config):
    """Bit for bit: 0 and -0 are not the same. PyTorch's only nearly."""
    if drawn.dtype != array.dtype or drawn.shape != array.shape:
        return False
    if config["rng"] == "torch" and drawn.dtype.kind == "f":
        return np.allclose(drawn, array, rtol=1e-6, atol=1e-6)
    return drawn.tobytes() == array.tobytes()


def compare(trace):
    """Says of each input in a trace whether it was drawn here, too."""
    drawn = inputs_of(trace["lesson"], trace["config"])
    all_same = True
    for event in trace["events"]:
        if event["kind"] == "input":
            array = np.array(event["data"], dtype=event["dtype"])
            mine = drawn[event["id"]]
            if trace["lesson"] == "seq2seq" and event["id"] == "mask":
                mine = np.broadcast_to(mine, array.shape)
            same = is_same(mine, array, trace["config"])
            print(event["id"], "the same" if same else "DIFFERENT")
            all_same = all_same and same
    return all_same


if __name__ == "__main__":
    results = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            results.append(compare(json.load(file)))
    sys.exit(0 if all(results) else 1)
