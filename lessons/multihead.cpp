/// Multi-head attention: several attentions side by side, each with its own view of the tokens.
/// Sources: Vaswani et al. 2017, section 3.2.2; shared key and value heads: Shazeer 2019 (multi-query) and
/// Ainslie et al. 2023 (grouped-query).

#include "lessons/multihead.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/width.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead/mistakes.hpp"
#include "lessons/self_attention.hpp"
#include "lessons/self_attention/mistakes.hpp"
#include "lessons/transformer_block.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "trace/entry.hpp"

namespace lessons {

std::string kv_head_axis(const Heads& heads) {
  return heads.key_value == heads.query ? "head" : "kv_head";
}

namespace {

/// The axis that counts the key and value heads.
Heads heads_of(const Workbench& bench) {
  return {bench.heads(), bench.kv_heads()};
}

/// "Q: [n×h·d] → [n×h×d] → [h×n×d]" with the sizes of this run.
std::string split_note(const std::string& id, std::size_t n, std::size_t heads, std::size_t d) {
  return fmt::format("{}: [{}×{}] → [{}×{}×{}] → [{}×{}×{}]", id, n, heads * d, n, heads, d, heads, n, d);
}

/// An entry of Q_heads that the cut has moved: of head 1, where there is one.
std::optional<attn::Index> in_head_1(std::size_t heads, std::size_t queries) {
  if (heads == 1) return std::nullopt;
  return attn::Index{1, attn::token_to_work_out(queries), 0};
}

/// The entry of concat that head 1 begins with.
std::optional<attn::Index> first_of_head_1(std::size_t heads, std::size_t queries, std::size_t d_v) {
  if (heads == 1) return std::nullopt;
  return attn::Index{attn::token_to_work_out(queries), d_v};
}

}  // namespace

MultiHeadWeights draw_multihead_weights(Workbench& bench) {
  const auto d_k = bench.d_k();
  auto W_Q =
      bench.input<2>({.id = "W_Q",
                      .title = "Makes the queries of all heads at once",
                      .note = fmt::format("Columns {}·i to {}·i + {} belong to head i.", d_k, d_k, d_k - 1)});
  auto W_K = bench.input<2>({.id = "W_K", .title = "Makes the keys of all heads at once"});
  auto W_V = bench.input<2>({.id = "W_V", .title = "Makes the values of all heads at once"});
  auto W_O = bench.input<2>({.id = "W_O",
                             .title = "Mixes what the heads found",
                             .note = "Without it the heads would only stand side by side."});
  auto b_Q = bench.input_if_given<1>({.id = "b_Q", .title = "Added to the queries of all heads"});
  auto b_K = bench.input_if_given<1>({.id = "b_K", .title = "Added to the keys of all heads"});
  auto b_V = bench.input_if_given<1>({.id = "b_V", .title = "Added to the values of all heads"});
  auto b_O = bench.input_if_given<1>({.id = "b_O", .title = "Added to every row of the output"});
  return {std::move(W_Q), std::move(W_K), std::move(W_V), std::move(W_O),
          std::move(b_Q), std::move(b_K), std::move(b_V), std::move(b_O)};
}

void explain_parameters(Workbench& bench) {
  const auto d_model = bench.d_model(), d_k = bench.d_k(), d_v = bench.d_v();
  const auto h = bench.heads(), h_kv = bench.kv_heads();
  const auto in_Q = d_model * h * d_k, in_K = d_model * h_kv * d_k, in_V = d_model * h_kv * d_v;
  const auto in_O = h * d_v * d_model;
  std::size_t in_biases = 0;
  std::string biases;
  for (const auto& [id, length] : {std::pair("b_Q", h * d_k), std::pair("b_K", h_kv * d_k),
                                   std::pair("b_V", h_kv * d_v), std::pair("b_O", d_model)}) {
    if (!bench.has_given(id)) continue;
    in_biases += length;
    biases += fmt::format("\n{} {}", id, length);
  }
  bench.trace.note(
      "parameters", "How many numbers there are to learn",
      fmt::format("{0} parameters. The number of heads does not change it as long as heads · d_k stays the "
                  "same: {1} heads of {2} have as many parameters as one head of {3}. They need as many "
                  "multiplications in Q Kᵀ, but make {1} tables of scores.",
                  in_Q + in_K + in_V + in_O + in_biases, h, d_k, h * d_k),
      fmt::format("W_Q {0}×{1} = {2}\nW_K {0}×{3} = {4}\nW_V {0}×{5} = {6}\nW_O {7}×{0} = {8}", d_model,
                  h * d_k, in_Q, h_kv * d_k, in_K, h_kv * d_v, in_V, h * d_v, in_O) +
          biases);
}

HeadProjections project_to_heads(Workbench& bench, const Named& X_query, const Named& X_key,
                                 const MultiHeadWeights& weights, const Heads& heads) {
  const auto [h, h_kv] = heads;
  const auto d_k = weights.W_Q.shape(1) / h, d_v = weights.W_O.shape(0) / h;
  const auto n_q = X_query.tensor.shape(1), n_k = X_key.tensor.shape(1);
  const auto kv_head = kv_head_axis(heads);
  const std::vector maps = {weights.Q(), weights.K(), weights.V()};
  auto& trace = bench.trace;

  const auto Q = show_linear(
      bench, {.id = "Q", .title = "The queries of all heads, side by side", .axes = {"query", "head·d_k"}},
      X_query, "Q", maps[0],
      mistakes_of_queries(X_query.tensor, maps,
                          std::sqrt(static_cast<double>(d_k)) * bench.options.temperature));
  const auto K = show_linear(
      bench, {.id = "K", .title = "The keys of all heads, side by side", .axes = {"key", kv_head + "·d_k"}},
      X_key, "K", maps[1], mistakes_of_keys_or_values(X_query, X_key, maps, 1));
  const auto V = show_linear(
      bench, {.id = "V", .title = "The values of all heads, side by side", .axes = {"key", kv_head + "·d_v"}},
      X_key, "V", maps[2], mistakes_of_keys_or_values(X_query, X_key, maps, 2));

  /// Out of the projection `id`, or where that is not shown out of what it is computed from.
  const auto worked_heads = [&](const std::string& id, const Tensor<3>& projected, const Named& X,
                                const LinearMap& map, std::size_t width) {
    const attn::WorkedOut shown = attn::Known{id, projected};
    return attn::worked_split_heads(
        trace.speaks_of(id) ? shown : worked_linear_map(attn::Known{X.id, X.tensor}, id, map), width);
  };
  auto Q_heads = trace.step({.id = "Q_heads",
                             .title = "Each row is cut into heads: reshape, transpose",
                             .formula = split_note("Q", n_q, h, d_k),
                             .from = {"Q"},
                             .axes = {"head", "query", "d_k"},
                             .note = "No number changes. The reshape cuts each token's row into heads; the "
                                     "transpose brings all tokens of one head together. A reshape alone has "
                                     "the same shape but hands each head a block of tokens: a mistake that "
                                     "no shape check finds.",
                             .worked = worked_heads("Q", Q, X_query, maps[0], d_k),
                             .worked_at = in_head_1(h, n_q)},
                            attn::split_heads(Q, h), mistakes_of_split(Q, h));
  auto K_heads = trace.step({.id = "K_heads",
                             .title = "The keys, cut into heads in the same way",
                             .formula = split_note("K", n_k, h_kv, d_k),
                             .from = {"K"},
                             .axes = {kv_head, "key", "d_k"},
                             .worked = worked_heads("K", K, X_key, maps[1], d_k)},
                            attn::split_heads(K, h_kv), mistakes_of_split(K, h_kv));
  auto V_heads = trace.step({.id = "V_heads",
                             .title = "The values, cut into heads in the same way",
                             .formula = split_note("V", n_k, h_kv, d_v),
                             .from = {"V"},
                             .axes = {kv_head, "key", "d_v"},
                             .worked = worked_heads("V", V, X_key, maps[2], d_v)},
                            attn::split_heads(V, h_kv), mistakes_of_split(V, h_kv));
  return {Q, std::move(Q_heads), std::move(K_heads), std::move(V_heads)};
}

std::pair<Attention<4>, Tensor<3>> attend_in_heads(Workbench& bench, const Tensor<4>& Q_heads,
                                                   const Tensor<4>& K_heads, const Tensor<4>& V_heads,
                                                   const LinearMap& to_output,
                                                   const std::optional<Mask<3>>& mask) {
  const auto h = Q_heads.shape(1), n_q = Q_heads.shape(2), d_v = V_heads.shape(3);
  auto& trace = bench.trace;
  auto attention = scaled_dot_product_attention(bench, Q_heads, attn::repeat_heads(K_heads, h),
                                                attn::repeat_heads(V_heads, h), mask);

  trace.step(
      {.id = "mean_weights",
       .title = "The heads' average, as tutorials plot it",
       .formula = fmt::format("Σᵢ weightsᵢ / {}", h),
       .from = {attention.dropped ? "dropped" : "weights"},
       .axes = {"query", "key"},
       .note = "For looking only; nothing below is computed from it. An average hides that heads disagree.",
       .distribution = true,
       .worked = attn::worked_mean_over_heads(
           attn::Known<4>{attention.dropped ? "dropped" : "weights", attention.used_weights()})},
      attn::mean_over_heads(attention.used_weights()));

  const auto concat = trace.step(
      {.id = "concat",
       .title = "The heads, side by side again: transpose, reshape",
       .formula = fmt::format("heads: [{1}×{0}×{2}] → [{0}×{1}×{2}] → [{0}×{3}]", n_q, h, d_v, h * d_v),
       .from = {"heads"},
       .axes = {"query", "head·d_v"},
       .note = "Each row holds what head 0 found for the token, then head 1, and so on.",
       .worked = attn::worked_merge_heads(attn::Known<4>{"heads", attention.output}),
       .worked_at = first_of_head_1(h, n_q, d_v)},
      attn::merge_heads(attention.output), mistakes_of_concat(attention.output));
  const auto shown_concat = trace.speaks_of("concat")
                                ? attn::WorkedOut(attn::Known{"concat", concat})
                                : attn::worked_merge_heads(attn::Known<4>{"heads", attention.output});
  auto output = show_linear(bench,
                            {.id = "output",
                             .title = "W_O mixes the heads",
                             .axes = {"query", "d_model"},
                             .worked = worked_linear_map(shown_concat, "O", to_output)},
                            {"concat", concat}, "O", to_output,
                            mistakes_of_head_output(attention.output, concat, to_output));
  return {std::move(attention), std::move(output)};
}

MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const Heads& heads,
                                       const std::optional<Mask<3>>& mask) {
  const auto [h, h_kv] = heads;
  auto [Q, Q_heads, K_heads, V_heads] = project_to_heads(bench, X_query, X_key, weights, heads);
  if (h_kv != h)
    bench.trace.note(
        "sharing", "Query heads share key and value heads",
        fmt::format(
            "{0} query heads read {1} key and value head{2}: query head i reads number ⌊i·{1}/{0}⌋. Keys and "
            "values are {3} times smaller, and so is the cache that keeps them during generation.",
            h, h_kv, h_kv == 1 ? "" : "s", h / h_kv));
  auto [attention, output] = attend_in_heads(bench, Q_heads, K_heads, V_heads, weights.O(), mask);
  return {std::move(Q),       std::move(Q_heads),   std::move(K_heads),
          std::move(V_heads), std::move(attention), std::move(output)};
}

MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  return multihead_attention(bench, X_query, X_key, weights, heads_of(bench), mask);
}

namespace {

/// The numbers of a bias that belong to part i, of `width` numbers.
std::optional<Tensor<1>> part_of_bias(const std::optional<Tensor<1>>& b, std::size_t i, std::size_t width) {
  if (!b) return std::nullopt;
  auto part = Tensor<1>::from_shape({width});
  std::copy_n(b->data() + i * width, width, part.begin());
  return part;
}

/// A bias with each part of `width` numbers `times` times in a row.
std::optional<Tensor<1>> repeat_parts(const std::optional<Tensor<1>>& b, std::size_t width,
                                      std::size_t times) {
  if (!b) return std::nullopt;
  auto repeated = Tensor<1>::from_shape({b->size() * times});
  for (std::size_t i = 0; i < repeated.size(); ++i)
    repeated(i) = (*b)(i / (width * times) * width + i % width);
  return repeated;
}

/// The columns of the weights that belong to head i.
ProjectionWeights weights_of_head(const Workbench& bench, const MultiHeadWeights& weights, std::size_t i) {
  const auto d_k = bench.d_k(), d_v = bench.d_v(), kv = i * bench.kv_heads() / bench.heads();
  return {attn::columns(weights.W_Q, i * d_k, (i + 1) * d_k),
          attn::columns(weights.W_K, kv * d_k, (kv + 1) * d_k),
          attn::columns(weights.W_V, kv * d_v, (kv + 1) * d_v),
          part_of_bias(weights.b_Q, i, d_k),
          part_of_bias(weights.b_K, kv, d_k),
          part_of_bias(weights.b_V, kv, d_v)};
}

/// The heads one by one, each as a single attention with its own columns of the weights.
double deviation_from_separate_heads(Workbench& mute, const Named& X_query, const Named& X_key,
                                     const MultiHeadWeights& weights, const Tensor<4>& heads,
                                     const std::optional<Mask<3>>& mask) {
  double deviation = 0.0;
  for (std::size_t i = 0; i < mute.heads(); ++i) {
    const auto single = single_head_attention(mute, X_query, X_key, weights_of_head(mute, weights, i), mask);
    deviation = attn::maximum({deviation, attn::max_abs_difference(attn::head(heads, i), single.output)});
  }
  return deviation;
}

/// Multi-head attention with nothing but head 0, beside the lesson self-attention with its weights.
double deviation_of_one_head(Workbench& mute, const Named& X_query, const Named& X_key,
                             const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  const auto own = weights_of_head(mute, weights, 0);
  const auto W_O = attn::rows(weights.W_O, 0, mute.d_v());
  const MultiHeadWeights of_one = {own.W_Q, own.W_K, own.W_V, W_O, own.b_Q, own.b_K, own.b_V};
  const auto multihead = multihead_attention(mute, X_query, X_key, of_one, {1, 1}, mask);
  const auto single = single_head_attention(mute, X_query, X_key, own, mask);
  return attn::max_abs_difference(multihead.output, attn::linear(single.output, W_O));
}

/// The heads of full multi-head attention whose key and value weights repeat those of the shared heads.
Tensor<4> heads_with_repeated_weights(Workbench& mute, const Named& X_query, const Named& X_key,
                                      const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  const auto h = mute.heads(), group = h / mute.kv_heads();
  const MultiHeadWeights full = {weights.W_Q,
                                 attn::repeat_column_blocks(weights.W_K, mute.d_k(), group),
                                 attn::repeat_column_blocks(weights.W_V, mute.d_v(), group),
                                 weights.W_O,
                                 weights.b_Q,
                                 repeat_parts(weights.b_K, mute.d_k(), group),
                                 repeat_parts(weights.b_V, mute.d_v(), group)};
  return multihead_attention(mute, X_query, X_key, full, {h, h}, mask).attention.output;
}

std::string grouping_claim(std::size_t heads, std::size_t kv_heads) {
  if (kv_heads == heads)
    return "with as many key and value heads as query heads it is plain multi-head attention";
  if (kv_heads == 1)
    return "multi-query attention is multi-head attention whose heads all share one key and value head";
  return "grouped-query attention is multi-head attention with each key and value head repeated for its "
         "group";
}

}  // namespace

void claim_multihead(Workbench& bench, const Named& X_query, const Named& X_key,
                     const MultiHeadWeights& weights, const MultiHeadAttention& shown,
                     const std::optional<Mask<3>>& mask) {
  const auto h = bench.heads();
  const auto V_shared = attn::repeat_heads(shown.V_heads, h);
  claim_attention(bench, shown.attention, shown.Q_heads, attn::repeat_heads(shown.K_heads, h), V_shared);

  auto mute = bench.mute();
  const auto& attention = shown.attention;
  const auto heads = attention.dropped ? attn::matmul(attention.weights, V_shared) : attention.output;
  const double magnitude = attn::max_abs(attention.scaled) * attn::max_abs(V_shared);
  auto& trace = bench.trace;
  trace.claim({.id = "merge-undoes-split",
               .claim = "merging the heads undoes splitting them",
               .formula = "max |merge(split(Q)) − Q|",
               .value = attn::max_abs_difference(attn::merge_heads(attn::split_heads(shown.Q, h)), shown.Q),
               .limit = attn::exactly(0.0)});
  trace.claim({.id = "equals-separate-heads",
               .claim = "each head is an attention with its own columns",
               .formula = "max |headᵢ − Attention(X W_Qⁱ, X W_Kⁱ, X W_Vⁱ)|",
               .value = deviation_from_separate_heads(mute, X_query, X_key, weights, heads, mask),
               .limit = rounding(bench.trace, magnitude)});
  trace.claim({.id = "one-head-equals-self-attention",
               .claim = "with one head it is the single attention of the lesson self-attention, times W_O",
               .formula = "max |multihead(h = 1) − Attention(Q, K, V) W_O|, with the weights of head 0",
               .value = deviation_of_one_head(mute, X_query, X_key, weights, mask),
               .limit = rounding(bench.trace, magnitude * attn::max_abs(weights.W_O))});
  const auto repeated = heads_with_repeated_weights(mute, X_query, X_key, weights, mask);
  trace.claim({.id = "kv-heads",
               .claim = grouping_claim(bench.heads(), bench.kv_heads()),
               .formula = "max |heads − multihead(weights repeated)|",
               .value = attn::max_abs_difference(repeated, heads),
               .limit = rounding(bench.trace, magnitude)});
}

std::vector<Input> multihead_input_list() {
  return {{"W_Q", {"d_model", "head·d_k"}, Draw::weight},
          {"W_K", {"d_model", "kv_head·d_k"}, Draw::weight},
          {"W_V", {"d_model", "kv_head·d_v"}, Draw::weight},
          {"W_O", {"head·d_v", "d_model"}, Draw::weight}};
}

std::vector<Input> multihead_bias_list() {
  return {{"b_Q", {"head·d_k"}, Draw::given},
          {"b_K", {"kv_head·d_k"}, Draw::given},
          {"b_V", {"kv_head·d_v"}, Draw::given},
          {"b_O", {"d_model"}, Draw::given}};
}

namespace {

std::string shape_of(std::initializer_list<std::size_t> extents) {
  return fmt::format("[{}]", fmt::join(extents, "×"));
}

std::vector<std::string> multihead_flow(const Workbench& bench, bool is_masked) {
  const auto n = bench.plan.sentence.length(), h = bench.heads();
  struct Split {
    std::string whole, cut, heads;
  };
  const auto split = [n](std::size_t heads, std::size_t d) {
    return Split{shape_of({n, heads * d}), shape_of({n, heads, d}), shape_of({heads, n, d})};
  };
  const std::array splits = {split(h, bench.d_k()), split(bench.kv_heads(), bench.d_k()),
                             split(bench.kv_heads(), bench.d_v())};
  const auto widest = [&](std::string Split::*shape) {
    std::size_t width = 0;
    for (const auto& one : splits) width = std::max(width, attn::display_width(one.*shape));
    return width;
  };
  const auto whole = widest(&Split::whole), cut = widest(&Split::cut), heads = widest(&Split::heads);
  const std::array starts = {"├ W_Q → Q ", "├ W_K → K ", "└ W_V → V "};
  const std::array ends = {
      std::string("┐"),
      fmt::format("┼ {}softmax → weights {}", is_masked ? "mask → " : "", shape_of({h, n, n})),
      fmt::format("┴ heads {}", shape_of({h, n, bench.d_v()}))};

  auto lines = std::vector{attn::pad_right("X " + shape_of({n, bench.d_model()}), whole + 13) +
                           attn::pad_right("reshape", cut + 3) + "transpose"};
  for (std::size_t i = 0; i < splits.size(); ++i)
    lines.push_back(fmt::format("{}{} → {} → {} {}", starts[i], attn::pad_right(splits[i].whole, whole),
                                attn::pad_right(splits[i].cut, cut), attn::pad_right(splits[i].heads, heads),
                                ends[i]));
  lines.push_back(fmt::format("heads → transpose {} → reshape {} → W_O → output {}",
                              shape_of({n, h, bench.d_v()}), shape_of({n, h * bench.d_v()}),
                              shape_of({n, bench.d_model()})));
  const auto d_model = bench.d_model(), kv = bench.kv_heads();
  lines.push_back(fmt::format("with W_Q {}, W_K {}, W_V {}, W_O {}", shape_of({d_model, h * bench.d_k()}),
                              shape_of({d_model, kv * bench.d_k()}), shape_of({d_model, kv * bench.d_v()}),
                              shape_of({h * bench.d_v(), d_model})));
  return lines;
}

}  // namespace

std::vector<std::string> multihead_code(const Workbench& bench, const std::optional<Mask<3>>& mask) {
  const auto& options = bench.options;
  const auto n = bench.plan.sentence.length(), h = bench.heads(), h_kv = bench.kv_heads();
  const auto split = [n](const char* name, std::size_t heads, std::size_t d, const char* shape = "") {
    return fmt::format("{0}_heads = {0}.reshape({1}, {2}, {3}).swapaxes(0, 1){4}", name, n, heads, d, shape);
  };
  const auto shared = h == h_kv ? "" : fmt::format(".repeat({}, axis=0)", h / h_kv);
  const auto temperature = options.temperature == 1.0 ? "" : fmt::format(" / {}", options.temperature);
  const bool sees_nothing = mask && attn::has_empty_row(*mask);

  auto lines = projection_code(bench, "X", "X");
  lines.insert(
      lines.end(),
      {split("Q", h, bench.d_k(), "  # tokens, heads, d_k"), split("K", h_kv, bench.d_k()),
       split("V", h_kv, bench.d_v()), fmt::format("scores  = Q_heads @ K_heads{}.swapaxes(1, 2)", shared),
       fmt::format("scaled  = scores / np.sqrt({}){}  # d_k", bench.d_k(), temperature)});
  if (mask) lines.push_back("masked  = np.where(mask, scaled, -np.inf)");
  const std::string seen = mask ? "masked" : "scaled";
  lines.push_back(fmt::format("shares  = np.exp({0} - {0}.max(axis=2, keepdims=True))", seen));
  lines.push_back(sees_nothing ? "weights = np.nan_to_num(shares / shares.sum(axis=2, keepdims=True))"
                               : "weights = shares / shares.sum(axis=2, keepdims=True)");
  const bool drops = options.dropout > 0.0;
  if (drops) lines.push_back(fmt::format("dropped = weights * dropout_mask / {}", 1.0 - options.dropout));
  lines.push_back(fmt::format("heads   = {} @ V_heads{}", drops ? "dropped" : "weights", shared));
  lines.push_back(fmt::format("concat  = heads.swapaxes(0, 1).reshape({}, {})", n, h * bench.d_v()));
  lines.push_back("output  = concat @ W_O" + bias_code(bench, "O"));
  if (options.residual) lines.push_back("residual = X + output");
  if (options.norm) {
    const std::string x = options.residual ? "residual" : "output";
    lines.push_back(fmt::format("centred = {0} - {0}.mean(axis=1, keepdims=True)", x));
    lines.push_back("spread  = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)");
    lines.push_back("normalized = centred / spread * norm_gain + norm_bias");
  }
  return lines;
}

namespace {

/// The rows of head 0 where Q [batch×query×head·d_k] becomes [head×query×d_k] by a reshape alone: row r is
/// part r mod heads of the token ⌊r / heads⌋. Of the first sample, as far as there is room.
void show_reshape_alone(Workbench& bench, const Tensor<3>& Q) {
  constexpr std::size_t most_rows = 3, most_numbers = 4;
  const auto n = Q.shape(1), h = bench.heads(), d_k = bench.d_k();
  if (h == 1 || n == 1) return;
  const auto tokens = bench.plan.sentence.labels().of(0);
  std::vector<std::string> rows;
  for (std::size_t row = 0; row < std::min(n, most_rows); ++row) {
    const auto token = row / h, first = row % h * d_k;
    std::string numbers;
    for (std::size_t j = first; j < first + std::min(d_k, most_numbers); ++j)
      numbers += fmt::format("{:9.4f}", Q(0, token, j));
    if (d_k > most_numbers) numbers += " …";
    rows.push_back(fmt::format("{}{}   is Q[{}, {}…{}]",
                               attn::pad_right(fmt::format("\"{}\" gets", attn::shorten(tokens[row], 8)), 15),
                               numbers, attn::shorten(tokens[token], 8), first, first + d_k - 1));
  }
  if (n > most_rows) rows.push_back("…");
  bench.trace.note("reshape-alone", "What a reshape without the transpose would give head 0",
                   fmt::format("A reshape from {} straight to {} gives the right shape but the wrong rows. "
                               "It cuts each row of Q into {} pieces. Head 0 gets the first {} pieces:",
                               shape_of({n, h * d_k}), shape_of({h, n, d_k}), h, n),
                   fmt::format("{}", fmt::join(rows, "\n")));
}

/// The key with the largest share of query `query` in head `head` of the first sample, the first of several.
std::size_t strongest_in_head(const attn::Event& weights, std::size_t head, std::size_t query) {
  const auto& shape = weights.tensor->shape;
  const std::size_t keys = shape.back(), queries = shape[shape.size() - 2];
  const std::size_t row = (head * queries + query) * keys;
  std::size_t strongest = 0;
  for (std::size_t j = 1; j < keys; ++j)
    if (weights.tensor->at(row + j) > weights.tensor->at(row + strongest)) strongest = j;
  return strongest;
}

/// A query that looks at one word in head 0 and at another in head 1; of one head the largest share.
std::string what_heads_disagree_on(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const auto axis = shape.size() - 1;
  const std::size_t keys = shape[axis], queries = shape[axis - 1], heads = shape[axis - 2];
  const auto share = [&](std::size_t head, std::size_t query, std::size_t key) {
    return weights.tensor->at((head * queries + query) * keys + key);
  };
  for (std::size_t query = 0; heads > 1 && query < queries; ++query) {
    const auto first = strongest_in_head(weights, 0, query), second = strongest_in_head(weights, 1, query);
    const auto first_name = name_along(weights, axis, first), second_name = name_along(weights, axis, second);
    if (first_name == second_name) continue;
    return fmt::format("In head 0 \"{}\" looks most at \"{}\" ({:.4f}), in head 1 at \"{}\" ({:.4f}).",
                       name_along(weights, axis - 1, query), first_name, share(0, query, first), second_name,
                       share(1, query, second));
  }
  return strongest_pair(weights);
}

/// Which columns of `whole` belong to head 0 and to the last head, of `width` columns each.
std::string columns_of_heads(const std::string& whole, std::size_t heads, std::size_t width) {
  if (heads == 1) return fmt::format("There is one head: it has all columns of {}.", whole);
  return fmt::format("Head 0 has columns 0 to {} of {}, head {} has columns {} to {}.", width - 1, whole,
                     heads - 1, (heads - 1) * width, heads * width - 1);
}

/// Which columns of Q became which head.
std::string about_the_cut(const attn::Event& Q_heads) {
  const auto& shape = Q_heads.tensor->shape;
  return columns_of_heads("Q", shape[shape.size() - 3], shape.back());
}

/// The name of the row whose entry is worked out: `"the"`.
std::string row_worked_out(const attn::Event& event) {
  const auto at = attn::entry_to_work_out(event);
  if (!at) return "i";
  const auto axis = event.axes.size() - 2;
  return fmt::format("\"{}\"", name_along(event, axis, (*at)[axis]));
}

/// Where the numbers of the worked entry of `heads` stand.
std::string where_its_numbers_are(const attn::Event& heads) {
  return fmt::format("Head 0: row {} of {} times column 0 of V_heads (--steps V_heads).",
                     row_worked_out(heads), heads.inputs.at(0));
}

void lay_out_multihead(Workbench& bench) {
  using attn::in_one_line;
  const auto h = bench.heads(), d_k = bench.d_k(), d_v = bench.d_v();
  const bool see_the_new_word = !bench.options.causal && !bench.options.window;
  const auto about_output = [n = bench.plan.sentence.length(), see_the_new_word](const attn::Event& output) {
    return fmt::format(
        "Row {0} of concat times column 0 of W_O (--steps concat,W_O).\nThe output has the shape of X again. "
        "One more word adds a row to it and makes each head's weights [{1}×{1}].{2}",
        row_worked_out(output), n + 1,
        see_the_new_word
            ? " Old scores stay, but the old words share with one key more: their rows of the output change."
            : "");
  };
  const auto why_that_root = [h, d_k](const auto&) {
    if (h == 1) return std::string();
    return fmt::format(
        "K_heads is cut out of K in the same way (--steps K_heads). A score is a sum of {1} products, so the "
        "next line divides by √{1} and not by √{0}.",
        h * d_k, d_k);
  };
  std::vector<std::string> claims = {"merge-undoes-split", "equals-separate-heads"};
  if (bench.kv_heads() != bench.heads()) claims.push_back("kv-heads");
  bench.trace.page(
      {{"Q_heads", about_the_cut},
       {"reshape-alone"},
       {"sharing"},
       in_one_line("mask"),
       attn::without_table("scores", why_that_root),
       in_one_line("scaled"),
       in_one_line("masked"),
       {"weights", what_heads_disagree_on},
       {"dropped"},
       {"dropout-at-inference"},
       attn::without_table("heads", where_its_numbers_are),
       attn::without_table("concat", [h, d_v](const auto&) { return columns_of_heads("concat", h, d_v); }),
       bench.options.model ? attn::without_table("output", about_output)
                           : attn::OnPage{"output", about_output},
       {"residual"},
       {"normalized"}},
      std::move(claims));
}

/// How many heads there are, and how many of them have keys of their own.
std::string count_of_heads(const Workbench& bench) {
  const auto h = bench.heads(), kv = bench.kv_heads();
  if (h == 1) return "Here there is one head.";
  return fmt::format("{}Here are {} heads{}.", kv == h ? "Each head has its own weights. " : "", h,
                     kv == h ? fmt::format(", each with its own keys and values (kv_heads={})", kv)
                             : fmt::format(". They share {} key and value head{} (kv_heads={})", kv,
                                           kv == 1 ? "" : "s", kv));
}

/// Which columns a head owns, and which it shares.
std::string about_columns(const Workbench& bench) {
  const std::string side_by_side =
      "The weights of all heads stand side by side: each head has its own columns of W_Q";
  return side_by_side +
         (bench.kv_heads() == bench.heads() ? ", W_K and W_V." : ". Columns of W_K and W_V are shared.");
}

/// "head 1: columns 4 to 7 of W_Q and W_K, 8 to 15 of W_V"
std::string columns_of_head(const Workbench& bench, std::size_t head) {
  const auto kv = head * bench.kv_heads() / bench.heads();
  const auto range = [](std::size_t part, std::size_t width) {
    return fmt::format("{} to {}", part * width, (part + 1) * width - 1);
  };
  const auto of_Q = range(head, bench.d_k()), of_K = range(kv, bench.d_k()), of_V = range(kv, bench.d_v());
  const auto start = fmt::format("head {}: columns {} of W_Q", head, of_Q);
  if (of_Q == of_K && of_K == of_V) return start + ", W_K and W_V";
  if (of_Q == of_K) return start + fmt::format(" and W_K, {} of W_V", of_V);
  return start + fmt::format(", {} of W_K", of_K) +
         (of_K == of_V ? " and W_V" : fmt::format(", {} of W_V", of_V));
}

/// Of head 0 and the last head.
std::string columns_of_weights(const Workbench& bench) {
  const auto h = bench.heads();
  return columns_of_head(bench, 0) + (h == 1 ? "" : "\n" + columns_of_head(bench, h - 1));
}

void run_multihead(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);
  lay_out_multihead(bench);
  bench.idea("Several attentions, called heads, give each word several mixtures of all words. " +
                 count_of_heads(bench) +
                 (bench.options.model ? " Head 0 is that of the lesson self-attention." : "") + "\n" +
                 about_columns(bench) +
                 " For head i they are written W_Qⁱ, W_Kⁱ and W_Vⁱ. The results of the h heads are "
                 "concatenated, and W_O mixes them.",
             "MultiHead(X) = Concat(head₀, …, headₕ₋₁) W_O\n"
             "headᵢ = Attention(X W_Qⁱ, X W_Kⁱ, X W_Vⁱ)\n" +
                 columns_of_weights(bench));

  bench.show_lengths(sentence);
  const auto X = bench.input<3>(
      {.id = "X",
       .title = "The sentence as vectors",
       .note = bench.options.model
                   ? "One row a token: the word's vector and, added to it, that of its position."
                   : "One row a token; the same word has the same row wherever it stands."});
  const auto weights = draw_multihead_weights(bench);
  const auto mask = bench.mask(sentence, sentence);

  bench.flow(multihead_flow(bench, mask.has_value()));
  bench.code(multihead_code(bench, mask));
  explain_parameters(bench);
  const auto attention = multihead_attention(bench, {"X", X}, {"X", X}, weights, mask);
  show_reshape_alone(bench, attention.Q);
  claim_multihead(bench, {"X", X}, {"X", X}, weights, attention, mask);

  Named last = {"output", attention.output};
  if (bench.options.residual) last = attention_residual(bench, {"X", X}, last);
  if (bench.options.norm) attention_norm(bench, last, layer_norm_weights(bench, "norm"));
  if (bench.options.model)
    return bench.try_next({{"multihead --sentence \"the cat ate an apple because it was hungry\"",
                            "whom does \"hungry\" look at? And \"rotten\" in its place?"},
                           {"multihead --model none --kv-heads 1", "heads share keys and values"},
                           {"positional", "tell attention where the words stand"}},
                          {{"multihead --sentence \"the cat ate an apple because it was rotten\"",
                            "whom does \"rotten\" look at?"}});
  bench.try_next({{"multihead --heads 4", "which shapes change, and which stay?"},
                  {"multihead --kv-heads 1", "both heads read the same keys and values"},
                  {"positional", "tell attention where the words stand"}});
}

void give_gloss_heads(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", inputs.encoded_words(inputs.sentence()));
  for (const std::string id : {"W_Q", "W_K", "W_V", "W_O"})
    inputs.give(id, inputs.matrix("layer=1/attention/" + id));
}

std::vector<Input> multihead_inputs(const Options&) {
  return joined({{{"X", {"token", "d_model"}, Draw::embedding}},
                 multihead_input_list(),
                 multihead_bias_list(),
                 {{"mask", {"query", "key"}, Draw::page},
                  {"dropout_mask", {"head", "query", "key"}, Draw::page},
                  {"norm/gain", {"d_model"}, Draw::ones},
                  {"norm/bias", {"d_model"}, Draw::zeros}}});
}

}  // namespace

extern const Lesson multihead;
const Lesson multihead = {
    .name = "multihead",
    .title = "several attentions side by side, then concatenated",
    .teaches =
        "How one wide projection is split into heads by a reshape and a transpose, how every head attends on "
        "its own, and how the heads are concatenated and mixed. With --kv-heads, heads share keys and values "
        "(grouped-query attention; 1 is multi-query). With --residual and --norm, the sublayer of a "
        "transformer as the first paper has it.",
    .options = {"sentence", "d-model", "d-k", "d-v", "heads", "kv-heads", "causal", "window", "dropout",
                "temperature", "residual", "norm", "seed", "rng", "draws", "weight-scale", "embeddings",
                "model", "dtype"},
    .defaults = {.sentence = {"girls saw the small cat"}, .heads = 2},
    .examples = {"multihead --sentence \"the cat sat on the mat\" --heads 2",
                 "multihead --heads 4 --kv-heads 2 --causal --residual --norm"},
    .inputs = multihead_inputs,
    .trained = Trained{"gloss", give_gloss_heads},
    .probe = Probe{{.sentence = {"a b c d e f g", "h i j k l", "m n o p"},
                    .d_model = 6,
                    .d_k = 5,
                    .d_v = 5,
                    .heads = 4,
                    .kv_heads = 2,
                    .causal = true},
                   sharpen_token},
    .worksheet = Worksheet{{.sentence = {"cats sleep"}, .d_model = 2, .d_k = 4, .d_v = 1, .heads = 2}},
    .run = run_multihead,
};

}  // namespace lessons
