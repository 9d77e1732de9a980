#include "lessons/generate/numpy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "attn/text/width.hpp"
#include "lessons/sdpa.hpp"

namespace lessons {

std::string prompt_code(const Decoding& decoding) {
  return fmt::format("[{}]", fmt::join(decoding.tokens, ", "));
}

namespace {

/// What earlier lessons taught, and what the page's code starts from.
std::vector<std::string> earlier_code(const Workbench& bench) {
  const auto layers = bench.options.layers.value_or(1);
  auto lines = softmax_code();
  const auto more = std::vector<std::string>{
      "",
      "def split(x, heads):",
      "    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)",
      "",
      layers == 1 ? "layers = [(W_Q, W_K, W_V, W_O)]"
                  : fmt::format("layers = [[globals()[f\"layer_{{i}}_W_{{name}}\"] for name in \"QKVO\"]\n"
                                "          for i in range(1, {})]",
                                layers + 1),
      fmt::format("empty = [(np.zeros(({0}, 0, {1})), np.zeros(({0}, 0, {2})))] * len(layers)",
                  bench.kv_heads(), bench.d_k(), bench.d_v())};
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

/// A layer that reads the tokens x behind those of its cache.
std::vector<std::string> layer_code(const Workbench& bench) {
  const auto heads = bench.heads(), kv_heads = bench.kv_heads();
  const auto shared = heads == kv_heads ? "" : fmt::format(".repeat({}, axis=0)", heads / kv_heads);
  return {"# tokens: places in the vocabulary; softmax(), split() [heads, n, d]: --all",
          "def layer(x, K_before, V_before, W_Q, W_K, W_V, W_O):",
          fmt::format("    Q, K, V = split(x @ W_Q, {0}), split(x @ W_K, {1}), split(x @ W_V, {1})", heads,
                      kv_heads),
          "    cache_K, cache_V = np.append(K_before, K, 1), np.append(V_before, V, 1)",
          fmt::format("    scores = Q @ cache_K{}.transpose(0, 2, 1)", shared),
          "    scaled = scores / np.sqrt(Q.shape[2])",
          "    n, known = len(x), K_before.shape[1]",
          "    # query i is token known + i: it sees the keys 0 to known + i",
          "    masked = np.where(np.tri(n, known + n, known), scaled, -np.inf)",
          "    weights = softmax(masked)",
          fmt::format("    heads = weights @ cache_V{}", shared),
          "    output = np.hstack(heads) @ W_O  # heads side by side",
          "    residual = x + output",
          "    return locals()",
          ""};
}

/// "tokens, caches, passes = [0, 1, 2], empty, []": a long prompt takes several lines.
std::vector<std::string> start_code(const Decoding& decoding) {
  constexpr std::size_t most_columns = 74;
  const auto prompt = prompt_code(decoding);
  const auto whole = fmt::format("tokens, caches, passes = {}, empty, []", prompt);
  if (attn::display_width(whole) <= most_columns) return {whole};
  std::vector<std::string> lines = {"tokens, caches, passes = (", "    "};
  for (const auto& line : attn::wrap(prompt, most_columns - 4)) {
    lines.back() += line;
    lines.push_back("    ");
  }
  lines.back() += ", empty, [])";
  return lines;
}

/// All layers, and the steps of decoding.
std::vector<std::string> decoding_code(const Decoding& decoding, std::size_t steps) {
  auto lines = start_code(decoding);
  lines.insert(
      lines.end(),
      {fmt::format("for step in range({}):", steps), "    known, passed = caches[0][0].shape[1], []",
       "    x = embedding[tokens[known:]] + positions[known:len(tokens)]",
       "    for cache, weights in zip(caches, layers):", "        passed.append(layer(x, *cache, *weights))",
       "        x = passed[-1][\"residual\"]", "    logits = x[-1] @ W_vocabulary",
       "    caches = [(p[\"cache_K\"], p[\"cache_V\"]) for p in passed]",
       "    passes.append((logits, passed))", "    tokens.append(logits.argmax())"});
  return lines;
}

/// What the page's code has computed under the names of this page.
std::vector<std::string> names_code(const Workbench& bench, std::size_t steps) {
  const auto n = bench.plan.sentence.length();
  const char* layer = bench.options.layers.value_or(1) == 1 ? "" : "layer_{i}_";
  return {
      "x = embedding[tokens[:-1]] + positions[:len(tokens) - 1]",
      "for before, weights in zip(empty, layers):",
      "    x = layer(x, *before, *weights)[\"residual\"]",
      fmt::format("full_logits = (x @ W_vocabulary)[-{}:]", steps),
      "logits = [row for row, passed in passes]",
      fmt::format("written = tokens[{}:]", n),
      "for step, (row, passed) in enumerate(passes):",
      fmt::format("    named = {{\"x\": passed[0][\"x\"], \"logits\": row, \"token\": tokens[{} + step],", n),
      "             \"probabilities\": softmax(row)}",
      "    for i, p in enumerate(passed, 1):",
      fmt::format("        named.update({{f\"{}{{name}}\": p[name] for name in p if name != \"x\"}})", layer),
      "    globals().update({f\"step_{step}_{name}\": named[name] for name in named})"};
}

}  // namespace

void show_generate_code(Workbench& bench, const Decoding& decoding, std::size_t steps) {
  bench.trace.within("earlier", [&] { bench.code(earlier_code(bench)); });
  auto lines = layer_code(bench);
  const auto more = decoding_code(decoding, steps);
  lines.insert(lines.end(), more.begin(), more.end());
  bench.code(lines);
  bench.trace.within("names", [&] { bench.code(names_code(bench, steps)); });
}

}  // namespace lessons
