/// Scaled dot-product attention on its own: no words, no weight matrices, only Q, K and V.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1, equation 1.

#include "lessons/sdpa.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/dropout.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/text/width.hpp"
#include "fast/attention.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa/mistakes.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

double divisor_of(std::size_t d_k, double temperature) {
  return std::sqrt(static_cast<double>(d_k)) * temperature;
}

namespace {

/// Several heads have an axis more, and names of their own.
template <std::size_t N>
constexpr bool has_heads = N == 4;

template <std::size_t N>
std::string suffix() {
  return has_heads<N> ? "_heads" : "";
}

template <std::size_t N>
std::vector<std::string> axes_of_query_by(const std::string& last) {
  if constexpr (has_heads<N>) return {"head", "query", last};
  return {"query", last};
}

/// "scores / √d_k = scores / √4 = scores / 2", and with the temperature where there is one.
std::string scaling_formula(std::size_t d_k, double temperature) {
  const double divisor = divisor_of(d_k, temperature);
  if (temperature == 1.0) return fmt::format("scores / √d_k = scores / √{} = scores / {:.6g}", d_k, divisor);
  return fmt::format("scores / (√d_k · T) = scores / (√{} · {:g}) = scores / {:.6g}", d_k, temperature,
                     divisor);
}

attn::Worked worked_divisor(std::size_t d_k, double temperature) {
  const auto root = sqrt(attn::Worked(static_cast<double>(d_k)));
  return temperature == 1.0 ? root : attn::Worked::product({root, attn::Worked(temperature)});
}

/// Query heads that share a key and value head read the same entries: K_heads and V_heads are shown once for
/// each head of their own.
template <std::size_t N>
attn::WorkedOut with_shared_heads(const Workbench& bench, const attn::WorkedOut& worked) {
  if (!has_heads<N> || bench.kv_heads() == bench.heads()) return worked;
  return [=, &bench](const attn::Index& at) {
    auto result = worked(at);
    result.for_each_operand([&bench](attn::Operand& operand) {
      if (operand.tensor == "K_heads" || operand.tensor == "V_heads")
        operand.index[1] = operand.index[1] * bench.kv_heads() / bench.heads();
    });
    return result;
  };
}

template <std::size_t N>
Integers<N> draw_dropout_mask(Workbench& bench, const Tensor<N>& weights) {
  const double p = bench.options.dropout;
  auto mask = bench.trace.input({.id = "dropout_mask",
                                 .title = "Which weights survive dropout",
                                 .formula = fmt::format("binomial(1, 1 − p), p = {:g}", p),
                                 .axes = axes_of_query_by<N>("key"),
                                 .note = "Each weight is kept (1) or dropped (0) by a draw of its own."},
                                attn::dropout_mask<N>(bench.random("dropout_mask"), p, weights.shape()));
  if (std::any_of(mask.begin(), mask.end(), [](std::int64_t kept) { return kept != 0 && kept != 1; }))
    throw attn::Error(fmt::format("{} has other elements than 0 and 1; valid: 1 for a weight that is kept",
                                  bench.trace.given_name("dropout_mask")));
  return mask;
}

template <std::size_t N>
Tensor<N> drop(Workbench& bench, const Tensor<N>& weights, const Integers<N>& mask) {
  const double p = bench.options.dropout;
  const auto dropped = bench.trace.step(
      {.id = "dropped",
       .title = "Weights after dropout",
       .formula = fmt::format("weights · dropout_mask / (1 − p) = weights · dropout_mask / {:g}", 1.0 - p),
       .from = {"weights", "dropout_mask"},
       .axes = axes_of_query_by<N>("key"),
       .note = "The survivors grow by 1 / (1 − p), so that a weight keeps its expected value.",
       .distribution = true,
       .worked = attn::worked_dropout(attn::Known{"weights", weights}, "dropout_mask", mask, p)},
      attn::dropout(weights, mask, p));
  bench.trace.note(
      "dropout-at-inference", "These rows are no longer shares",
      fmt::format("With dropout a row need not sum to 1: the sums here are off by up to {:.4f}. That is "
                  "right in training, where it keeps the model from leaning on single tokens. Left on when a "
                  "model is used or looked at, it is a mistake: what you read as attention is partly chance. "
                  "Run again with --dropout 0 for the weights themselves.",
                  attn::row_sum_deviation(dropped)));
  return dropped;
}

/// max |softmax(scores + amount) − weights|, a row at a time: scores may fill a good part of the memory.
template <std::size_t N>
double change_by_shift(const Tensor<N>& scores, const Tensor<N>& weights, double amount) {
  const std::size_t length = scores.shape().back();
  auto row = Tensor<1>::from_shape({length}), row_of_weights = row;
  double largest = 0.0;
  for (std::size_t begin = 0; begin < scores.size(); begin += length) {
    std::copy_n(scores.data() + begin, length, row.begin());
    std::copy_n(weights.data() + begin, length, row_of_weights.begin());
    largest = attn::maximum(
        {largest, attn::max_abs_difference(attn::softmax(attn::shift(row, amount)), row_of_weights)});
  }
  return largest;
}

}  // namespace

std::size_t followed_row(std::size_t queries) {
  return std::min<std::size_t>(1, queries - 1);
}

namespace {

/// With trained weights the entry to work out is where the second query looks: the first head's largest
/// score.
template <std::size_t N>
std::optional<attn::Index> where_it_looks(const Workbench& bench, const Tensor<N>& scores) {
  if (!bench.options.model) return std::nullopt;
  const std::size_t keys = scores.shape(N - 1), query = followed_row(scores.shape(N - 2));
  const double* row = scores.data() + query * keys;
  attn::Index index(N - 1, 0);
  index[N - 3] = query;
  index[N - 2] = attn::argmax(row, keys);
  return index;
}

/// The first number that the same query takes home.
template <std::size_t N>
std::optional<attn::Index> first_of_where_it_looks(const Workbench& bench, const Tensor<N>& scores) {
  auto index = where_it_looks<N>(bench, scores);
  if (index) index->back() = 0;
  return index;
}

/// Of `scaled`: divided by something else than √d_k, or elsewhere. Where the queries were divided before, a
/// mistake may divide the scores once more.
template <std::size_t N>
attn::Mistakes mistakes_of_scaled(const Workbench& bench, const Tensor<N>& scores, std::size_t d_k) {
  const double T = bench.options.temperature, root = std::sqrt(static_cast<double>(d_k));
  attn::Mistakes mistakes;
  const auto divided_before = [&](const char* id) {
    mistakes.emplace_back(id, [&scores] { return scores; });
  };
  if (bench.plan.lesson->uses("d-model") && bench.trace.speaks_of("Q")) {  // where Q shows it, too
    divided_before("scale-in-weights");
    divided_before("scale-in-weights:split");
  }
  if (has_heads<N> && bench.trace.speaks_of("Q_heads")) {
    divided_before("scale-in-weights:heads");
    divided_before("scale-in-weights:split-heads");
  }
  const auto of_divisor = mistakes_of_divisor(bench, scores, d_k);
  mistakes.insert(mistakes.end(), of_divisor.begin(), of_divisor.end());
  mistakes.emplace_back("scale-after-softmax", [=, &scores] { return attn::divide(scores, T); });
  mistakes.emplace_back("scores-already-scaled", [&scores] { return scores; });
  mistakes.emplace_back("scale-by-layer", [=, &scores](const Tensor<N>& theirs) {
    return divided_by_a_layer(theirs, attn::divide(scores, root * T));
  });
  mistakes.emplace_back("dropout-before-softmax", [=, &scores](const Tensor<N>& theirs) {
    return with_dropout_of(theirs, attn::divide(scores, root * T));
  });
  mistakes.emplace_back("scores-shifted", [=, &scores](const Tensor<N>& theirs) {
    return shifted_as(theirs, attn::divide(scores, root * T));
  });
  return mistakes;
}

}  // namespace

template <std::size_t N>
std::pair<Tensor<N>, Tensor<N>> scaled_scores(Workbench& bench, const Tensor<N>& Q, const Tensor<N>& K) {
  const auto d_k = Q.shape().back();
  const auto temperature = bench.options.temperature;
  const auto query_key = axes_of_query_by<N>("key");

  const auto product = attn::matmul(Q, attn::transpose(K));
  auto scores =
      bench.trace.step({.id = "scores",
                        .title = "How well does each query match each key?",
                        .formula = fmt::format("Q{0} K{0}ᵀ", suffix<N>()),
                        .from = {"Q" + suffix<N>(), "K" + suffix<N>()},
                        .axes = query_key,
                        .note = "A dot product is the geometric length of the query times that of the key "
                                "times the cosine of the angle between them.",
                        .worked = with_shared_heads<N>(
                            bench, attn::worked_matmul_transposed(attn::Known{"Q" + suffix<N>(), Q},
                                                                  attn::Known{"K" + suffix<N>(), K})),
                        .worked_at = where_it_looks<N>(bench, product)},
                       product, mistakes_of_scores(bench, Q, K, product, divisor_of(d_k, temperature)));

  auto scaled = bench.trace.step(
      {.id = "scaled",
       .title = "Scores of one size for every d_k",
       .formula = scaling_formula(d_k, temperature),
       .from = {"scores"},
       .axes = query_key,
       .note = "The more numbers a query and a key have, the larger their dot product gets. With hundreds of "
               "numbers and no division, softmax would give nearly everything to one key (lesson scaling).",
       .worked = attn::worked_divide(attn::Known{"scores", scores}, worked_divisor(d_k, temperature)),
       .worked_at = where_it_looks<N>(bench, scores)},
      attn::divide(scores, divisor_of(d_k, temperature)), mistakes_of_scaled(bench, scores, d_k));
  return {std::move(scores), std::move(scaled)};
}

template <std::size_t N>
Attention<N> scaled_dot_product_attention(Workbench& bench, const Tensor<N>& Q, const Tensor<N>& K,
                                          const Tensor<N>& V, const std::optional<Mask<3>>& mask) {
  const auto query_key = axes_of_query_by<N>("key");
  auto& trace = bench.trace;
  Attention<N> attention;
  auto& [scores, scaled, masked, weights, dropout_mask, dropped, output] = attention;

  std::tie(scores, scaled) = scaled_scores(bench, Q, K);

  if (mask)
    masked = trace.step({.id = "masked",
                         .title = "What may not be seen gets −∞",
                         .formula = "scaled where mask, −∞ elsewhere",
                         .from = {"scaled", "mask"},
                         .axes = query_key,
                         .note = "exp(−∞) is exactly 0, so a hidden key gets no weight at all.",
                         .worked = attn::worked_mask(attn::Known<N>{"scaled", scaled}, *mask)},
                        attn::apply_mask(scaled, *mask), mistakes_of_masked(bench, scaled, *mask));

  const auto& seen = mask ? *masked : scaled;
  weights = trace.step(
      {.id = "weights",
       .title = "Each row becomes shares",
       .formula = mask ? "softmax(masked)" : "softmax(scaled)",
       .from = {mask ? "masked" : "scaled"},
       .axes = query_key,
       .note =
           "softmax(x)ⱼ = exp(xⱼ) / Σᵢ exp(xᵢ) along each row: no weight is negative, and a row sums to 1.",
       .distribution = true,
       .worked = attn::worked_softmax(attn::Known<N>{mask ? "masked" : "scaled", seen}),
       .worked_at = where_it_looks<N>(bench, seen)},
      attn::softmax(seen),
      mistakes_of_weights(bench, seen, scaled, mask,
                          divisor_of(Q.shape().back(), bench.options.temperature)));

  if (bench.options.dropout > 0.0) {
    dropout_mask = draw_dropout_mask(bench, weights);
    dropped = drop(bench, weights, *dropout_mask);
  }

  const std::string used = dropped ? "dropped" : "weights";
  const auto mixture = attn::matmul(attention.used_weights(), V);
  output = trace.step(
      {.id = has_heads<N> ? "heads" : "output",
       .title = "Each query gets its mixture of values",
       .formula = fmt::format("{} V{}", used, suffix<N>()),
       .from = {used, "V" + suffix<N>()},
       .axes = axes_of_query_by<N>("d_v"),
       .note = "Row i is the average of the rows of V, weighted with row i of the weights.",
       .worked = with_shared_heads<N>(bench, attn::worked_matmul(attn::Known{used, attention.used_weights()},
                                                                 attn::Known{"V" + suffix<N>(), V})),
       .worked_at = has_heads<N> ? std::nullopt : first_of_where_it_looks<N>(bench, seen)},
      mixture, mistakes_of_mixture(bench, attention.used_weights(), K, V, mixture));
  return attention;
}

template <std::size_t N>
void claim_attention(Workbench& bench, const Attention<N>& attention, const Tensor<N>& Q, const Tensor<N>& K,
                     const Tensor<N>& V) {
  auto& trace = bench.trace;
  trace.claim({.id = "rows-sum-to-1",
               .claim = "each row of weights sums to 1",
               .formula = "max |Σⱼ weights − 1|",
               .value = attn::row_sum_deviation(attention.weights),
               .limit = rounding(trace)});

  const auto& seen_scores = attention.masked ? *attention.masked : attention.scaled;
  const double magnitude = attn::max_abs(attention.scaled);
  trace.claim({.id = "shift-invariance",
               .claim = "adding 10 to every score changes no weight",
               .formula = "max |softmax(scores + 10) − softmax(scores)|",
               .value = change_by_shift(seen_scores, attention.weights, 10.0),
               .limit = attn::within_rounding(std::min(rounding(trace, magnitude + 10.0).bound, 0.1))});

  const double divisor = divisor_of(Q.shape().back(), bench.options.temperature);
  const auto output = attention.dropped ? attn::matmul(attention.weights, V) : attention.output;
  claim_equals_kernel(
      trace,
      {.id = "equals-fused-kernel",
       .claim = "code that stores no scores (lesson efficient) agrees",
       .formula = "max |output − kernel {}(Q, K, V)|",
       .limit = rounding(trace, magnitude_of_scores(Q, K, divisor) * attn::max_abs(V))},
      attn::max_abs(V),
      with_rule(bench, [&](const auto& visible) { return attn::fast::attention(Q, K, V, divisor, visible); }),
      [&](const auto& fast) { return attn::max_abs_difference(trace.mute().step({}, fast.output), output); });
}

#define INSTANTIATE(N)                                                                                    \
  template std::pair<Tensor<N>, Tensor<N>> scaled_scores(Workbench&, const Tensor<N>&, const Tensor<N>&); \
  template Attention<N> scaled_dot_product_attention(Workbench&, const Tensor<N>&, const Tensor<N>&,      \
                                                     const Tensor<N>&, const std::optional<Mask<3>>&);    \
  template void claim_attention(Workbench&, const Attention<N>&, const Tensor<N>&, const Tensor<N>&,      \
                                const Tensor<N>&);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

AttentionInputs attention_inputs(Workbench& bench) {
  const auto& queries = bench.plan.query_tokens();
  const auto& keys = bench.plan.key_tokens();
  bench.label({"query"}, queries);
  bench.label({"key"}, keys);
  bench.show_lengths(keys);

  AttentionInputs in;
  in.Q = bench.input<3>({.id = "Q", .title = "What each query asks for"});
  in.K = bench.input<3>({.id = "K", .title = "What each entry can be found by"});
  in.V = bench.input<3>({.id = "V",
                         .title = "What each entry has to give",
                         .note = "A query and a key have equally many numbers (d_k). d_v is free."});
  in.mask = bench.mask(queries, keys);
  return in;
}

std::vector<std::string> softmax_code() {
  return {"def softmax(x):", "    shares = np.exp(x - x.max(axis=-1, keepdims=True))  # max: no overflow",
          "    return shares / shares.sum(axis=-1, keepdims=True)"};
}

std::vector<std::string> attention_code(const Workbench& bench, const std::optional<Mask<3>>& mask,
                                        const std::vector<std::string>& before) {
  const auto& options = bench.options;
  auto lines = before;
  lines.push_back("scores  = Q @ K.T");
  lines.push_back(options.temperature == 1.0
                      ? "scaled  = scores / np.sqrt(Q.shape[1])"
                      : fmt::format("scaled  = scores / (np.sqrt(Q.shape[1]) * {})", options.temperature));
  if (mask) lines.push_back("masked  = np.where(mask, scaled, -np.inf)");
  lines.push_back(
      fmt::format("shares  = np.exp({0} - {0}.max(axis=1, keepdims=True))", mask ? "masked" : "scaled"));
  const bool sees_nothing = mask && attn::has_empty_row(*mask);
  lines.push_back(sees_nothing
                      ? "weights = np.nan_to_num(shares / shares.sum(axis=1, keepdims=True))"
                      : fmt::format("weights = shares / shares.sum(axis=1, keepdims=True)  # = softmax({})",
                                    mask ? "masked" : "scaled"));
  if (options.dropout > 0.0)
    lines.push_back(fmt::format("dropped = weights * dropout_mask / {}", 1.0 - options.dropout));
  lines.push_back(options.dropout > 0.0 ? "output  = dropped @ V" : "output  = weights @ V");
  return lines;
}

namespace {

std::string matrix(const char* name, std::size_t rows, std::size_t columns) {
  return fmt::format("{} [{}×{}]", name, rows, columns);
}

/// The drawing of Q, K and V, of what follows from Q and K to the right of them, and of the output. `weights`
/// stands behind these steps or, as the drawing is narrower then, below them.
std::vector<std::string> drawn_flow(const std::array<std::string, 3>& inputs, const std::string& steps,
                                    const std::string& weights, const std::string& output, bool is_narrow) {
  const auto& [Q, K, V] = inputs;
  const auto left = std::max({attn::display_width(Q), attn::display_width(K), attn::display_width(V)}) + 1;
  const auto middle = is_narrow ? "┘ → " + weights + " " : "├ " + steps + " → " + weights + " ";
  const auto margin = std::string(attn::display_width(middle), ' ');
  std::string line;
  for (std::size_t i = attn::display_width(V) + 1; i < left + margin.size(); ++i) line += "─";
  const auto above = attn::pad_right("", left);
  if (is_narrow)
    return {attn::pad_right(Q, left) + "┐", above + "├ " + steps, attn::pad_right(K, left) + middle + "┐",
            V + " " + line + "┴ " + output};
  return {attn::pad_right(Q, left) + "┐", above + middle + "┐",
          attn::pad_right(K, left) + "┘" + margin.substr(1) + "├ " + output, V + " " + line + "┘"};
}

}  // namespace

std::size_t width_of_flow(const std::vector<std::string>& lines) {
  std::size_t width = 0;
  for (const auto& line : lines) width = std::max(width, attn::display_width(line));
  return width;
}

std::vector<std::string> attention_flow(const Workbench& bench, std::size_t queries, std::size_t keys,
                                        bool is_masked, std::size_t most_columns) {
  const std::array inputs = {matrix("Q", queries, bench.d_k()), matrix("K", keys, bench.d_k()),
                             matrix("V", keys, bench.d_v())};
  const auto steps = fmt::format("Q Kᵀ → / √{} {}→ softmax", bench.d_k(), is_masked ? "→ mask " : "");
  const auto weights = matrix("weights", queries, keys), output = matrix("output", queries, bench.d_v());
  const auto wide = drawn_flow(inputs, steps, weights, output, false);
  return width_of_flow(wide) <= most_columns ? wide : drawn_flow(inputs, steps, weights, output, true);
}

std::vector<Input> attention_input_list() {
  return {{"Q", {"query", "d_k"}},
          {"K", {"key", "d_k"}},
          {"V", {"key", "d_v"}},
          {"mask", {"query", "key"}, Draw::page}};
}

namespace {

std::vector<Input> sdpa_inputs(const Options&) {
  return joined({attention_input_list(), {{"dropout_mask", {"query", "key"}, Draw::page}}});
}

/// The queries, keys and values of one head of the model, for each word of the sentence.
void give_head_of_about(ModelInputs& inputs) {
  const auto X = input_of_second_layer(inputs);
  for (const std::string id : {"Q", "K", "V"})
    inputs.give_rows(id, attn::linear(X, inputs.columns_of_head("layer=2/attention/W_" + id, 0)));
}

void run_sdpa(Workbench& bench) {
  const bool is_masked = bench.options.causal || bench.options.window ||
                         bench.plan.key_tokens().is_padded() || bench.trace.is_given("mask");
  const bool says_no_more = is_masked || !bench.options.source.empty();
  bench.trace.page(
      {{"Q"},
       {"K"},
       {"V", nothing_to_notice},
       {"mask"},
       {"scores", nothing_to_notice},
       bench.options.model ? attn::in_one_line("scaled") : attn::OnPage{"scaled"},
       {"masked"},
       {"weights",
        [is_trained = bench.options.model.has_value()](const auto& weights) {
          return is_trained ? who_is_about_whom(weights) : weights.note;
        }},
       {"dropped"},
       {"dropout-at-inference"},
       {"output", [says_no_more, is_trained = bench.options.model.has_value()](const auto& output) {
          if (says_no_more) return output.note;
          return output.note +
                 " One more word at the end adds a row to every table, and a column to scores "
                 "and weights." +
                 (is_trained ? "" : " Old scores stay, old weights shrink.");
        }}});
  bench.idea(
      "This is the lookup of the first lesson, for many queries at once.\n"
      "The rows of Q are the queries, the rows of K are the keys, and the rows of V are the values. A query "
      "and a key have d_k numbers. A value has d_v.\n" +
          std::string(bench.options.model
                          ? "Here each word has a query, a key and a value. They come from a model that "
                            "learned to say which word each one is about: an adjective its noun, a verb its "
                            "subject, \"it\" what it stands for. A small loss on the weights taught it to "
                            "look there. Take them as given; the next lesson computes them."
                          : "The numbers are random; the words only name the rows."),
      "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V");

  const auto [Q, K, V, mask] = attention_inputs(bench);
  bench.flow(attention_flow(bench, Q.shape(1), K.shape(1), mask.has_value()));
  bench.code(attention_code(bench, mask));
  const auto attention = scaled_dot_product_attention(bench, Q, K, V, mask);
  claim_attention(bench, attention, Q, K, V);
  if (bench.options.model)
    return bench.try_next(
        {{"sdpa --sentence \"the dog chased the ball: it was hungry\"",
          "whom does \"it\" look at? And with \"round\" in place of \"hungry\"?"},
         {"self-attention", "where queries, keys and values come from"}},
        {{"sdpa --sentence \"the dog chased the ball: it was round\"", "whom does \"it\" look at?"}});
  bench.try_next({{"sdpa --causal", "which weights become 0, which ones grow?"},
                  {"sdpa --explain 'weights[the, cat]'", "another entry, worked out"},
                  {"self-attention", "where queries, keys and values come from"}},
                 {{"sdpa --window 1", "each token sees its neighbours: which weights become 0?"}});
}

}  // namespace

extern const Lesson sdpa;
const Lesson sdpa = {
    .name = "sdpa",
    .title = "scaled dot-product attention: queries, keys, values",
    .teaches =
        "The formula that all the other lessons contain, on nothing but three matrices: match queries with "
        "keys, scale, mask, turn the scores into shares, average the values. The tokens are labels only.",
    .options = {"sentence", "source", "target", "d-k", "d-v", "causal", "window", "dropout", "temperature",
                "seed", "rng", "draws", "model", "dtype"},
    .defaults = {.sentence = {"girls saw the small cat"}, .d_k = 4, .d_v = 2},
    .examples = {"sdpa --sentence \"the cat sat\" --d-k 4 --d-v 3",
                 "sdpa --source \"one two three four\" --target \"five six\" --causal"},
    .inputs = sdpa_inputs,
    .trained = Trained{.task = "about", .give = give_head_of_about, .reads = Reads::english},
    .probe = Probe{{.source = {"a b c d e f g", "h i j k l", "m n o p"},
                    .target = {"q r s t u", "v w x", "y z"},
                    .d_k = 6,
                    .d_v = 3,
                    .window = 3,
                    .causal = true},
                   sharpen_queries_and_keys},
    .worksheet = Worksheet{{.sentence = {"the cat slept"}, .d_k = 4, .d_v = 2}},
    .run = run_sdpa,
};

}  // namespace lessons
