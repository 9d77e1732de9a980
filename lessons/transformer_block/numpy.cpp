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

std::vector<std::string> attention_code_with_weights(const Workbench& bench, const std::string& x,
                                                     bool is_masked) {
  std::vector<std::string> lines;
  for (const char matrix : {'Q', 'K', 'V'})
    lines.push_back(fmt::format("{0}_heads = split({1} @ attention_W_{0})", matrix, x));
  lines.push_back(
      fmt::format("attention_scaled = Q_heads @ K_heads.transpose(0, 2, 1) / np.sqrt({})", bench.d_k()));
  if (is_masked) lines.emplace_back("attention_masked = np.where(attention_mask, attention_scaled, -np.inf)");
  lines.push_back(fmt::format("attention_weights = softmax(attention_{})", is_masked ? "masked" : "scaled"));
  lines.emplace_back("attention_output = np.hstack(attention_weights @ V_heads) @ attention_W_O");
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
                       const std::string& x, const std::vector<std::string>& f, const std::string& found) {
  const auto norm = fmt::format("{} = LN({}, {}_gain, {}_bias)", text.norm_id,
                                order == NormOrder::post ? text.residual_id : x, text.weights, text.weights);
  if (order == NormOrder::pre) lines.push_back(norm);
  lines.insert(lines.end(), f.begin(), f.end());
  lines.push_back(fmt::format("{} = {} + {}", text.residual_id, x, found));
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
                        ? attention_code_with_weights(bench, tokens, mask.has_value())
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

}  // namespace lessons
