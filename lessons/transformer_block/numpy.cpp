#include "lessons/transformer_block/numpy.hpp"

#include <fmt/format.h>

#include "attn/ops/mask.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/transformer_block.hpp"
#include "lessons/transformer_block/sublayers.hpp"

namespace lessons {

std::vector<std::string> given_biases(const Workbench& bench, const std::string& group) {
  std::vector<std::string> ids;
  for (const std::string id : {"b_Q", "b_K", "b_V", "b_O"})
    if (bench.plan.given.count(group + id) > 0) ids.push_back(id);
  return ids;
}

std::vector<std::string> multihead_call(const Workbench& bench, const std::string& group,
                                        const std::string& query, const std::string& key, bool is_masked) {
  std::vector<std::string> lines = {
      fmt::format("{0}_output = multihead({1}, {2}, {0}_W_Q, {0}_W_K,", group, query, key),
      fmt::format("    {0}_W_V, {0}_W_O{1}", group, is_masked ? fmt::format(", {}_mask", group) : "")};
  for (const auto& b : given_biases(bench, group + "/")) {
    lines.back() += ",";
    lines.push_back(fmt::format("    {}={}_{}", b, group, b));
  }
  lines.back() += ")";
  return lines;
}

std::vector<std::string> multihead_definition(const Workbench& bench, const std::optional<Mask<3>>& mask,
                                              bool takes_biases) {
  const bool sees_nothing = mask && attn::has_empty_row(*mask);
  const auto heads = bench.heads(), kv_heads = bench.kv_heads();
  const auto as_heads = kv_heads == heads ? std::string() : fmt::format(", {}", kv_heads);
  auto lines = softmax_code();
  std::vector<std::string> more = {
      "",
      kv_heads == heads ? "def split(x):" : fmt::format("def split(x, heads={}):", heads),
      fmt::format("    return x.reshape(len(x), {}, -1).transpose(1, 0, 2)",
                  kv_heads == heads ? std::to_string(heads) : "heads"),
      "",
      takes_biases ? "def multihead(X_query, X_key, W_Q, W_K, W_V, W_O, mask=True,\n"
                     "              b_Q=0, b_K=0, b_V=0, b_O=0):"
                   : "def multihead(X_query, X_key, W_Q, W_K, W_V, W_O, mask=True):",
      takes_biases ? fmt::format("    Q, K = split(X_query @ W_Q + b_Q), split(X_key @ W_K + b_K{0})\n"
                                 "    V = split(X_key @ W_V + b_V{0})",
                                 as_heads)
                   : fmt::format("    Q, K, V = split(X_query @ W_Q), split(X_key @ W_K{0}), "
                                 "split(X_key @ W_V{0})",
                                 as_heads)};
  if (kv_heads != heads)
    more.push_back(fmt::format("    K, V = K.repeat({0}, axis=0), V.repeat({0}, axis=0)", heads / kv_heads));
  const std::vector<std::string> rest = {
      "    scaled  = Q @ K.transpose(0, 2, 1) / np.sqrt(Q.shape[2])",
      "    weights = softmax(np.where(mask, scaled, -np.inf))",
      fmt::format("    return np.hstack({} @ V) @ W_O{}", sees_nothing ? "np.nan_to_num(weights)" : "weights",
                  takes_biases ? " + b_O" : ""),
      ""};
  lines.insert(lines.end(), more.begin(), more.end());
  lines.insert(lines.end(), rest.begin(), rest.end());
  return lines;
}

std::vector<std::string> attention_code_with_weights(std::size_t d_k, const std::string& x, bool is_masked,
                                                     const std::string& prefix) {
  const auto group = prefix + "attention";
  std::vector<std::string> lines;
  for (const char matrix : {'Q', 'K', 'V'})
    lines.push_back(fmt::format("{0}_heads = split({1} @ {2}_W_{0})", matrix, x, group));
  if (!prefix.empty())
    lines.push_back(
        fmt::format("{0}_Q_heads = Q_heads = turn(Q_heads)\n{0}_K_heads = K_heads = turn(K_heads)", group));
  lines.push_back(fmt::format("{}_scaled = Q_heads @ K_heads.transpose(0, 2, 1) / np.sqrt({})", group, d_k));
  if (is_masked) lines.push_back(fmt::format("{0}_masked = np.where({0}_mask, {0}_scaled, -np.inf)", group));
  lines.push_back(fmt::format("{0}_weights = softmax({0}_{1})", group, is_masked ? "masked" : "scaled"));
  lines.push_back(fmt::format("{0}_output = np.hstack({0}_weights @ V_heads) @ {0}_W_O", group));
  return lines;
}

std::vector<std::string> layer_norm_code() {
  return {"def LN(x, gain, bias):", "    centred = x - x.mean(axis=1, keepdims=True)",
          "    variance = (centred**2).mean(axis=1, keepdims=True)",
          "    return centred / np.sqrt(variance + 1e-5) * gain + bias"};
}

namespace {

/// A sublayer in NumPy: `f` makes of `x` what is called `found`.
void add_sublayer_code(std::vector<std::string>& lines, NormOrder order, const SublayerText& text,
                       const std::string& x, const std::vector<std::string>& f, const std::string& found,
                       const std::string& prefix = "") {
  const auto sum = prefix + text.residual_id;
  const auto norm = fmt::format("{0}{1} = LN({2}, {0}{3}_gain, {0}{3}_bias)", prefix, text.norm_id,
                                order == NormOrder::post ? sum : x, text.weights);
  if (order == NormOrder::pre) lines.push_back(norm);
  lines.insert(lines.end(), f.begin(), f.end());
  lines.push_back(fmt::format("{} = {} + {}", sum, x, found));
  if (order == NormOrder::post) lines.push_back(norm);
}

}  // namespace

void show_block_code(Workbench& bench, const std::optional<Mask<3>>& mask) {
  if (bench.is_mute()) return;
  const auto order = norm_order_of(bench);
  const bool is_post = order == NormOrder::post, is_gelu = activation_of(bench) == attn::Activation::gelu;
  const bool takes_biases =
      !given_biases(bench, "attention/").empty() || !given_biases(bench, "cross/").empty();
  bench.trace.within("attention", [&] { bench.code(multihead_definition(bench, mask, takes_biases)); });
  auto lines = layer_norm_code();
  if (is_gelu)
    lines.insert(lines.begin(), {"from math import erf, sqrt",
                                 "GELU = np.vectorize(lambda x: x / 2 * (1 + erf(x / sqrt(2))))"});
  lines.insert(lines.begin(),
               bench.options.model
                   ? "# --all shows softmax() and split(); hstack puts the heads side by side"
                   : "# multihead(): attention as in the lesson multihead; --all shows its code");
  lines.emplace_back("");
  const auto reads = [&](const SublayerText& text, const std::string& x) {
    return is_post ? x : text.norm_id;
  };
  const auto writes = [&](const SublayerText& text) { return is_post ? text.norm_id : text.residual_id; };

  const auto first = around_attention();
  const auto tokens = reads(first, "X");
  add_sublayer_code(lines, order, first, "X",
                    bench.options.model
                        ? attention_code_with_weights(bench.d_k(), tokens, mask.has_value())
                        : multihead_call(bench, "attention", tokens, tokens, mask.has_value()),
                    "attention_output");
  auto x = writes(first);
  if (bench.options.memory) {
    const auto text = around_cross_attention();
    add_sublayer_code(lines, order, text, x, multihead_call(bench, "cross", reads(text, x), "memory", false),
                      "cross_output");
    x = writes(text);
  }
  const auto last = around_feed_forward(order);
  add_sublayer_code(
      lines, order, last, x,
      {fmt::format("ffn_hidden = {}{} @ W_1 + b_1)", is_gelu ? "GELU(" : "np.maximum(0, ", reads(last, x)),
       "ffn_output = ffn_hidden @ W_2 + b_2"},
      "ffn_output");
  if (!is_post) lines.emplace_back("output = residual_2");
  bench.code(lines);
}

void show_code_of_layer_1(Workbench& bench, const MultiHeadWeights& weights,
                          const std::optional<Mask<3>>& mask) {
  if (bench.is_mute()) return;
  const auto d_k = 2 * weights.angles->shape(1);
  const std::string p = "layer_1_";
  auto lines = softmax_code();
  for (const auto& line : layer_norm_code()) lines.push_back(line);
  for (const auto& line :
       {fmt::format("def split(x):\n    return x.reshape(len(x), {}, -1).transpose(1, 0, 2)",
                    weights.W_Q.shape(1) / d_k),
        std::string(
            "def turn(rows):\n"
            "    cos, sin = np.cos(layer_1_attention_angles), np.sin(layer_1_attention_angles)\n"
            "    x, y = rows[..., 0::2], rows[..., 1::2]\n"
            "    return np.stack([x * cos - y * sin, x * sin + y * cos], axis=-1).reshape(rows.shape)\n")})
    lines.push_back(line);
  add_sublayer_code(lines, NormOrder::post, around_attention(), p + "X",
                    attention_code_with_weights(d_k, p + "X", mask.has_value(), p), p + "attention_output",
                    p);
  add_sublayer_code(lines, NormOrder::post, around_feed_forward(NormOrder::post), p + "norm_1",
                    {p + "ffn_hidden = np.maximum(0, " + p + "norm_1 @ " + p + "W_1 + " + p + "b_1)",
                     p + "ffn_output = " + p + "ffn_hidden @ " + p + "W_2 + " + p + "b_2"},
                    p + "ffn_output", p);
  lines.push_back("X = layer_1_output");
  bench.code(lines);
}

}  // namespace lessons
