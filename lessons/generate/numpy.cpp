#include "lessons/generate/numpy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "attn/text/width.hpp"
#include "lessons/multihead.hpp"
#include "lessons/sdpa.hpp"

namespace lessons {

std::string prompt_code(const Decoding& decoding) {
  return fmt::format("[{}]", fmt::join(decoding.tokens, ", "));
}

namespace {

/// Whether some layer has a bias.
bool takes_biases(const Workbench& bench) {
  for (std::size_t layer = 0; layer < *bench.options.layers; ++layer)
    if (!given_biases(bench, layer_group(bench.options, layer)).empty()) return true;
  return false;
}

/// "W_Q, W_K, W_V, W_O": what a layer is made of, and its biases where some layer has one.
std::string names_of_layer(const Workbench& bench) {
  return takes_biases(bench) ? "W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O" : "W_Q, W_K, W_V, W_O";
}

/// What earlier lessons taught, and what the page's code starts from.
std::vector<std::string> earlier_code(const Workbench& bench) {
  const auto layers = *bench.options.layers;
  auto lines = softmax_code();
  std::string code = "layers = [(W_Q, W_K, W_V, W_O)]";
  if (takes_biases(bench))
    code =
        fmt::format("names = \"{}\".split(\", \")\nlayers = [[globals().get({}name, 0) for name in names]{}]",
                    names_of_layer(bench), layers == 1 ? "" : "f\"layer_{i}_\" + ",
                    layers == 1 ? "" : fmt::format("\n          for i in range(1, {})", layers + 1));
  else if (layers > 1)
    code = fmt::format(
        "layers = [[globals()[f\"layer_{{i}}_W_{{name}}\"] for name in \"QKVO\"]\n"
        "          for i in range(1, {})]",
        layers + 1);
  lines.insert(lines.end(), {"", code});
  return lines;
}

/// " + b_Q" where some layer has biases.
std::string plus_bias(const Workbench& bench, const std::string& b) {
  return takes_biases(bench) ? " + " + b : "";
}

/// How one token goes through all layers.
std::vector<std::string> reading_code(const Workbench& bench) {
  const auto heads = bench.heads(), kv_heads = bench.kv_heads();
  const auto shared = heads == kv_heads ? std::string("h") : fmt::format("h // {}", heads / kv_heads);
  const auto line = [](const std::string& code, const std::string& comment) {
    return fmt::format("{:<50}  # {}", code, comment);
  };
  const auto plus = [&](const char* b) { return plus_bias(bench, b); };
  return {fmt::format("# layers: {} of each layer; softmax(): lesson lookup or --all",
                      takes_biases(bench) ? "matrices and biases" : "the four matrices"),
          line("def read(token, position, caches):", "reads a single token"),
          "    x = embedding[token] + positions[position]",
          fmt::format("    for ({}), cache in zip(layers, caches):", names_of_layer(bench)),
          line(fmt::format("        Q = (x @ W_Q{}).reshape({}, {})", plus("b_Q"), heads, bench.d_k()),
               "a row for each head"),
          fmt::format("        cache[\"K\"].append((x @ W_K{}).reshape({}, {}))", plus("b_K"), kv_heads,
                      bench.d_k()),
          fmt::format("        cache[\"V\"].append((x @ W_V{}).reshape({}, {}))", plus("b_V"), kv_heads,
                      bench.d_v()),
          line("        K, V = np.array(cache[\"K\"]), np.array(cache[\"V\"])",
               fmt::format("[tokens, {}, …]", kv_heads)),
          "        heads = []",
          fmt::format("        for h in range({}):", heads),
          fmt::format("            weights = softmax(K[:, {}] @ Q[h] / np.sqrt({}))", shared, bench.d_k()),
          fmt::format("            heads.append(weights @ V[:, {}])", shared),
          "        x = x + np.concatenate(heads) @ W_O" + plus("b_O"),
          line("    return x @ W_vocabulary", "the logits"),
          ""};
}

/// "text = [0, 1, 2]  # places of: the cat sat": a long prompt takes several lines.
std::vector<std::string> prompt_lines(const Workbench& bench, const Decoding& decoding) {
  constexpr std::size_t most_columns = 74, columns_with_words = 78;
  const auto prompt = prompt_code(decoding);
  const auto with_words =
      fmt::format("text = {}  # places of: {}", prompt, fmt::join(bench.plan.sentence.tokens.front(), " "));
  if (attn::display_width(with_words) <= columns_with_words) return {with_words};
  if (attn::display_width("text = " + prompt) <= most_columns) return {"text = " + prompt};
  std::vector<std::string> lines;
  for (const auto& line : attn::wrap(prompt, most_columns - 7))
    lines.push_back((lines.empty() ? "text = " : "        ") + line);
  return lines;
}

/// All steps of decoding: the prompt is read, and then each token that was written.
std::vector<std::string> decoding_code(const Workbench& bench, const Decoding& decoding, std::size_t steps) {
  const auto n = decoding.tokens.size();
  auto lines = prompt_lines(bench, decoding);
  lines.insert(lines.begin(),
               "# The prompt, token by token: as the mask is causal, the same as all at once.");
  lines.insert(lines.end(), {"caches = [{\"K\": [], \"V\": []} for layer in layers]",
                             fmt::format("for position in range({}):", n + steps - 1),
                             "    logits = read(text[position], position, caches)",
                             fmt::format("{:<50}  # {}", fmt::format("    if position >= {}:", n - 1),
                                         "the prompt is read"),
                             "        text.append(logits.argmax())"});
  return lines;
}

/// The same in passes over several tokens, as the trace has them: every step under its name.
std::vector<std::string> passes_code(const Workbench& bench) {
  const auto heads = bench.heads(), kv_heads = bench.kv_heads();
  const auto shared = heads == kv_heads ? "" : fmt::format(".repeat({}, axis=0)", heads / kv_heads);
  const auto split = [&](const char* name, std::size_t count) {
    return fmt::format("split(x @ W_{0}{1}, {2})", name, plus_bias(bench, std::string("b_") + name), count);
  };
  const auto Q = split("Q", heads), K = split("K", kv_heads), V = split("V", kv_heads);
  return {"def split(x, heads):",
          "    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)",
          "",
          fmt::format("def layer(x, K_before, V_before, {}):", names_of_layer(bench)),
          takes_biases(bench) ? fmt::format("    Q = {}\n    K, V = {}, {}", Q, K, V)
                              : fmt::format("    Q, K, V = {}, {}, {}", Q, K, V),
          "    cache_K, cache_V = np.append(K_before, K, 1), np.append(V_before, V, 1)",
          fmt::format("    scores = Q @ cache_K{}.transpose(0, 2, 1)", shared),
          "    scaled = scores / np.sqrt(Q.shape[2])",
          "    n, known = len(x), K_before.shape[1]",
          "    future = np.arange(known + n) > known + np.arange(n)[:, None]",
          "    masked = np.where(future, -np.inf, scaled)",
          "    weights = softmax(masked)",
          fmt::format("    heads = weights @ cache_V{}", shared),
          "    output = np.hstack(heads) @ W_O" + plus_bias(bench, "b_O"),
          "    residual = x + output",
          "    return dict(Q=Q, K=K, V=V, cache_K=cache_K, cache_V=cache_V,",
          "                scores=scores, scaled=scaled, masked=masked, weights=weights,",
          "                heads=heads, output=output, residual=residual)",
          "",
          fmt::format("empty = [(np.zeros(({0}, 0, {1})), np.zeros(({0}, 0, {2})))] * len(layers)", kv_heads,
                      bench.d_k(), bench.d_v())};
}

/// What the passes have computed under the names of this page. The last logits are those of the page's code.
std::vector<std::string> names_code(const Workbench& bench, std::size_t steps) {
  const auto n = bench.plan.sentence.length();
  const char* layer = bench.options.layers.value_or(1) == 1 ? "" : "layer_{i}_";
  auto lines = passes_code(bench);
  const std::vector<std::string> names = {
      "x = embedding[text[:-1]] + positions[:len(text) - 1]",
      "for before, weights in zip(empty, layers):",
      "    x = layer(x, *before, *weights)[\"residual\"]",
      fmt::format("full_logits = (x @ W_vocabulary)[-{}:]", steps),
      fmt::format("written = text[{}:]", n),
      "known, rows, before = 0, [], empty",
      fmt::format("for step in range({}):", steps),
      fmt::format("    end = {} + step", n),
      "    x = embedding[text[known:end]] + positions[known:end]",
      "    named, passed = {\"x\": x}, []",
      "    for i, (cache, weights) in enumerate(zip(before, layers), 1):",
      "        p = layer(x, *cache, *weights)",
      "        passed.append(p)",
      "        x = p[\"residual\"]",
      fmt::format("        named.update({{f\"{}{{name}}\": p[name] for name in p}})", layer),
      "    row = x[-1] @ W_vocabulary",
      "    rows.append(row)",
      "    known, before = end, [(p[\"cache_K\"], p[\"cache_V\"]) for p in passed]",
      "    named.update(logits=row, token=text[end], probabilities=softmax(row))",
      "    globals().update({f\"step_{step}_{name}\": named[name] for name in named})",
      "logits = rows[:-1] + [logits]"};
  lines.insert(lines.end(), names.begin(), names.end());
  return lines;
}

}  // namespace

void show_generate_code(Workbench& bench, const Decoding& decoding, std::size_t steps) {
  bench.trace.within("earlier", [&] { bench.code(earlier_code(bench)); });
  auto lines = reading_code(bench);
  const auto more = decoding_code(bench, decoding, steps);
  lines.insert(lines.end(), more.begin(), more.end());
  bench.code(lines);
  bench.trace.within("names", [&] { bench.code(names_code(bench, steps)); });
}

}  // namespace lessons
