#include "lessons/seq2seq/numpy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "lessons/sdpa.hpp"

namespace lessons {

namespace {

using Lines = std::vector<std::string>;

void append(Lines& lines, const Lines& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

/// "np.array([0.5, 1.5]).reshape(-1, 2)".
std::string array_literal(std::span<const double> numbers, std::size_t columns) {
  return fmt::format("np.array([{}]).reshape(-1, {})", fmt::join(numbers, ", "), columns);
}

/// "encoder = encoder_W_ih, …": the weights of an LSTM, both biases in one.
std::string cell_code(const std::string& name) {
  return fmt::format("{0} = {0}_W_ih, {0}_W_hh, {0}_b_ih + {0}_b_hh", name);
}

Lines lstm_lines() {
  return {"def lstm(x, h, c, W_ih, W_hh, b):",
          "    i, f, g, o = np.split(W_ih @ x + W_hh @ h + b, 4)",
          "    i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)",
          "    c = f * c + i * g",
          "    return i, f, g, o, c, o * np.tanh(c)",
          ""};
}

Lines earlier_lines(const Workbench& bench, const std::optional<GreedyReading>& greedy) {
  auto lines = softmax_code();
  append(lines, {"", "def sigmoid(x):", "    return 1 / (1 + np.exp(-x))", ""});
  append(lines, lstm_lines());
  append(lines, {"def run(X, cell):", fmt::format("    rows = [np.zeros((6, {}))]", *bench.options.hidden),
                 "    for x in X:", "        rows.append(lstm(x, rows[-1][5], rows[-1][4], *cell))",
                 "    return np.array(rows[1:])", ""});
  if (attends_as(bench, "multihead"))
    append(lines,
           {"def split(x):",
            fmt::format("    return x.reshape(len(x), {}, -1).transpose(1, 0, 2)", bench.heads()), ""});
  if (bench.plan.source.is_padded())
    append(lines, {"def pad(x):", "    return np.pad(x, ((0, len(X_source) - len(x)), (0, 0)))", ""});
  append(lines, {cell_code("encoder"), cell_code("decoder"),
                 "def decoder_lstm(x, h, c):", "    return lstm(x, h, c, *decoder)", ""});
  if (bench.options.bidirectional) lines.push_back(cell_code("encoder_reverse"));
  if (!greedy) return lines;
  if (greedy->id != nullptr) {
    append(lines, {"vectors = target_embedding", "start = vectors[-1]"});
    return lines;
  }
  const auto d_model = greedy->vectors.shape(1);
  lines.push_back("start = " + array_literal({greedy->start.data(), d_model}, d_model) + "[0]");
  lines.push_back("vectors = " + array_literal({greedy->vectors.data(), greedy->vectors.size()}, d_model));
  return lines;
}

/// The lines of a step that attend with the state h.
Lines attend_lines(const Workbench& bench) {
  const auto states = bench.options.bidirectional ? "encoder_states" : "encoder_h";
  const bool is_padded = bench.plan.source.is_padded();
  const auto last = is_padded ? "masked" : "scores";
  const auto hide = [is_padded](const char* scores) {
    return is_padded ? Lines{fmt::format("    masked = np.where(mask[0], {}, -np.inf)", scores)} : Lines{};
  };
  const auto with = [&](Lines lines) {
    append(lines, hide("scores"));
    append(lines, {fmt::format("    weights = softmax({})", last),
                   fmt::format("    context = weights @ {}", states)});
    return lines;
  };
  const auto bias = [&](const char* name) { return plus_bias(bench, name, "attention_"); };
  if (!(bias("q") + bias("k")).empty())
    return with({fmt::format("    asked = query @ attention_W_q{}", bias("q")),
                 fmt::format("    energy = np.tanh(asked + {} @ attention_W_k{})", states, bias("k")),
                 "    scores = energy @ attention_v_a"});
  if (attends_before_the_cell(bench.options))
    return with({fmt::format("    energy = np.tanh(query @ attention_W_q + {} @ attention_W_k)", states),
                 "    scores = energy @ attention_v_a"});
  if (attends_as(bench, "luong-dot")) return with({fmt::format("    scores = {} @ h", states)});
  if (attends_as(bench, "luong-general"))
    return with({fmt::format("    scores = {} @ (h @ attention_W_a{})", states, bias("a"))});
  if (attends_as(bench, "luong-concat"))
    return with({fmt::format("    pairs = np.hstack([np.tile(h, (len({0}), 1)), {0}])", states),
                 fmt::format("    energy = np.tanh(pairs @ attention_W_a{})", bias("a")),
                 "    scores = energy @ attention_v_a"});
  Lines lines = {fmt::format("    Q = split(h[None] @ attention_W_Q{})", bias("Q")),
                 fmt::format("    K = split({} @ attention_W_K{})", states, bias("K")),
                 fmt::format("    V = split({} @ attention_W_V{})", states, bias("V")),
                 "    scores = (Q @ K.transpose(0, 2, 1))[:, 0]",
                 "    scaled = scores / np.sqrt(Q.shape[2])"};
  append(lines, hide("scaled"));
  append(lines, {fmt::format("    weights = softmax({})", is_padded ? "masked" : "scaled"),
                 "    context = (weights[:, None] @ V).ravel() @ attention_W_O" + bias("O")});
  return lines;
}

/// "return dict(query=query, …)": what a step computes, by the names of the page.
Lines return_lines(const Workbench& bench) {
  constexpr std::size_t room = 76;
  const bool attends_first = attends_before_the_cell(bench.options),
             has_heads = attends_as(bench, "multihead");
  Lines names;
  if (attends_first) names.emplace_back("query");
  if (compares_by_energy(bench)) names.emplace_back("energy");
  names.emplace_back("scores");
  if (has_heads) names.emplace_back("scaled");
  if (bench.plan.source.is_padded()) names.emplace_back("masked");
  append(names, {"weights", "context", "i", "f", "g", "o", "c", "h"});
  if (!attends_first) names.emplace_back("attentional");
  append(names, {"logits", "probabilities"});
  const std::string start = "    return dict(";
  Lines lines = {start};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto item = fmt::format("{0}={0}{1}", names[i], i + 1 < names.size() ? "," : ")");
    if (lines.back().size() + 1 + item.size() > room) lines.emplace_back(start.size(), ' ');
    if (lines.back().size() > start.size()) lines.back() += ' ';
    lines.back() += item;
  }
  return lines;
}

Lines step_lines(const Workbench& bench) {
  const bool attends_first = attends_before_the_cell(bench.options);
  Lines lines = {"def step(y, h_before, c_before):"};
  if (attends_first) {
    lines.emplace_back(asks_with_word(bench) ? "    query = np.concatenate([h_before, y])"
                                             : "    query = h_before");
    append(lines, attend_lines(bench));
    append(lines, {"    x = np.concatenate([y, context])",
                   "    i, f, g, o, c, h = decoder_lstm(x, h_before, c_before)",
                   "    logits = np.concatenate([h, context]) @ output_W + output_b"});
  } else {
    lines.emplace_back("    i, f, g, o, c, h = decoder_lstm(y, h_before, c_before)");
    append(lines, attend_lines(bench));
    append(lines, {fmt::format("    attentional = np.tanh(np.concatenate([context, h]) @ attention_W_c{})",
                               plus_bias(bench, "c", "attention_")),
                   fmt::format("    logits = attentional @ output_W{}",
                               bench.has_given("output/b") ? " + output_b" : "")});
  }
  lines.emplace_back("    probabilities = softmax(logits)");
  append(lines, return_lines(bench));
  lines.emplace_back("");
  return lines;
}

Lines encode_lines(const Workbench& bench) {
  const bool is_padded = bench.plan.source.is_padded();
  const std::string X = is_padded ? "X_source[:lengths]" : "X_source";
  const auto padded = [&](const std::string& x) { return is_padded ? "pad(" + x + ")" : x; };
  if (!bench.options.bidirectional)
    return {fmt::format("encoded = run({}, encoder)", X), "encoder_h = " + padded("encoded[:, 5]"),
            "encoder_c = " + padded("encoded[:, 4]"), "c, h = encoded[-1, 4:]"};
  return {fmt::format("encoded = run({}, encoder)", X),
          fmt::format("backwards = run({}[::-1], encoder_reverse)", X),
          "encoder_h, encoder_reverse_h = " + padded("encoded[:, 5]") + ", " + padded("backwards[::-1, 5]"),
          "encoder_c, encoder_reverse_c = " + padded("encoded[:, 4]") + ", " + padded("backwards[::-1, 4]"),
          "encoder_states = np.hstack([encoder_h, encoder_reverse_h])",
          "c, h = np.hstack([encoded[-1], backwards[-1]])[4:]"};
}

Lines decode_lines(const Workbench& bench, const std::optional<GreedyReading>& greedy, std::size_t steps) {
  const Lines pass = {"    passed.append(step(y, h, c))", "    h, c = passed[-1][\"h\"], passed[-1][\"c\"]"};
  Lines lines = {"passed = []"};
  if (!greedy) {
    lines.emplace_back("for y in X_target:");
    append(lines, pass);
    return lines;
  }
  const bool is_batch = bench.plan.source.size() > 1;
  append(lines,
         {is_batch ? "y, is_done = start, False" : "y = start", fmt::format("for t in range({}):", steps)});
  append(lines, pass);
  lines.emplace_back("    word = passed[-1][\"probabilities\"].argmax()");
  if (!is_batch) {
    lines.emplace_back("    y = vectors[word]");
    return lines;
  }
  const auto further = greedy->words_beyond_the_source - 1;
  append(lines, {fmt::format("    is_done = is_done or word == len(vectors) - 1 or t == {}{}",
                             bench.plan.source.is_padded() ? "lengths" : "len(X_source)",
                             further == 0 ? "" : fmt::format(" + {}", further)),
                 "    y = np.zeros_like(start) if is_done else vectors[word]"});
  return lines;
}

/// How much of what each word wrote into the memory is left: the product of the later forget gates.
Lines kept_lines(const Workbench& bench) {
  const bool is_padded = bench.plan.source.is_padded();
  const auto padded = [&](const std::string& x) { return is_padded ? "pad(" + x + ")" : x; };
  Lines lines = {"def left(f):", "    later = np.cumprod(f[:0:-1], axis=0)[::-1]",
                 "    return np.vstack([later, np.ones((1, f.shape[1]))])", ""};
  const auto forward = padded("left(encoded[:, 1])"), reverse = padded("left(backwards[:, 1])[::-1]");
  lines.push_back(bench.options.bidirectional
                      ? fmt::format("bottleneck_kept = np.hstack([{}, {}])", forward, reverse)
                      : "bottleneck_kept = " + forward);
  return lines;
}

/// The tensors of all steps and of step t, as the page calls them.
Lines name_lines(const Workbench& bench, std::size_t t) {
  auto lines = kept_lines(bench);
  append(lines, {"for name in passed[0]:", "    rows = np.array([p[name] for p in passed])"});
  if (attends_as(bench, "multihead"))
    append(lines, {"    if name in (\"scores\", \"scaled\", \"masked\", \"weights\"):",
                   "        rows = rows.swapaxes(0, 1)"});
  append(lines, {"    globals()[f\"decoder_{name}\"] = rows",
                 fmt::format("    globals()[f\"one_step_{{name}}\"] = passed[{}][name]", t),
                 fmt::format("one_step_gates = np.array([passed[{}][gate] for gate in \"ifgo\"])", t)});
  return lines;
}

}  // namespace

void show_seq2seq_code(Workbench& bench, const std::optional<GreedyReading>& greedy, std::size_t steps,
                       std::size_t t) {
  auto earlier = earlier_lines(bench, greedy);
  append(earlier, encode_lines(bench));
  bench.trace.within("earlier", [&] { bench.code(earlier); });
  Lines lines = {greedy ? "# start: vector of <s>; vectors: of each word; first h, c: the encoder's"
                        : "# called for each row y of X_target, with h and c of the step before",
                 "# decoder_lstm(): the LSTM above, with the decoder's weights (--all)"};
  append(lines, step_lines(bench));
  const auto loop = decode_lines(bench, greedy, steps);
  Lines names;
  append(greedy ? lines : names, loop);
  if (!greedy) lines.pop_back();
  bench.code(lines);
  append(names, name_lines(bench, t));
  bench.trace.within("names", [&] { bench.code(names); });
}

}  // namespace lessons
