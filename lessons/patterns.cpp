/// What attention looks like, in numbers: how much falls on the diagonal and beside it, how many weights are
/// large, how widely the rest spreads; and the two ways in which it goes wrong. Sources: Dong et al. 2021
/// (tokens that become alike), Zhai et al. 2023 (entropy collapse to a single key).

#include "lessons/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "attn/error.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/patterns/heads_of_models.hpp"
#include "lessons/patterns/kinds.hpp"
#include "lessons/patterns/verdict.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/self_attention.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/head_axis.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/worked.hpp"
#include "trace/diagnosis/arithmetic.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// What much analysis code adds inside the logarithm.
constexpr double inside_logarithm = 1e-9, its_bias = -9e-10;

/// "√8", "(√8 · 0.02)".
std::string divisor_in_words(const Workbench& bench) {
  const auto root = fmt::format("√{}", bench.d_k());
  const double T = bench.options.temperature;
  return T == 1.0 ? root : fmt::format("({} · {:g})", root, T);
}

/// The inputs, and the scaled scores [batch×head×query×key] that they lead to.
Tensor<4> draw_scaled_scores(Workbench& bench) {
  const auto X = bench.input<3>({.id = "X", .title = "The sentence as vectors"});
  const auto W_Q = bench.input<2>({.id = "W_Q", .title = "Makes queries"});
  const auto W_K = bench.input<2>({.id = "W_K", .title = "Makes keys"});
  const auto b_Q = bench.input_if_given<1>({.id = "b_Q", .title = "Added to every query"});
  const auto b_K = bench.input_if_given<1>({.id = "b_K", .title = "Added to every key"});
  const auto Q = attn::split_heads(LinearMap{W_Q, b_Q}(X), bench.heads());
  const auto K = attn::split_heads(LinearMap{W_K, b_K}(X), bench.heads());
  return attn::divide(attn::matmul(Q, attn::transpose(K)),
                      divisor_of(bench.d_k(), bench.options.temperature));
}

/// Throws attn::Error, with `name`, unless every row sums to 1, or is 0 where nothing may be seen.
void require_shares(const Tensor<4>& weights, attn::Dtype dtype, const std::string& name) {
  const bool is_half = dtype == attn::Dtype::float16 || dtype == attn::Dtype::bfloat16;
  const double rounding_of_others = is_half ? 1e-2 : 1e-3;
  const auto n_k = weights.shape(3);
  for (auto row = weights.begin(); row != weights.end(); row += static_cast<std::ptrdiff_t>(n_k)) {
    const auto end = row + static_cast<std::ptrdiff_t>(n_k);
    const double sum = std::accumulate(row, end, 0.0), smallest = *std::min_element(row, end);
    if (smallest < 0.0 || (sum != 0.0 && std::abs(sum - 1.0) > rounding_of_others))
      throw attn::Error(
          fmt::format("{} has a row with the sum {:g} and the smallest weight {:g}; valid: rows of weights "
                      "of 0 or more that sum to 1",
                      name, sum, smallest));
  }
}

/// What rounding explains in the sums of the rows: weights that are given may have been rounded before.
attn::Limit rounding_of_rows(const Workbench& bench) {
  const auto given = bench.plan.given.find("weights");
  const auto limit = rounding(bench.trace);
  if (given == bench.plan.given.end() || !given->second.tensor) return limit;
  const auto of_given = rounding(attn::arithmetic_of({&*given->second.tensor}));
  return of_given.bound > limit.bound ? of_given : limit;
}

/// The weights [batch×head×query×key], or the ones that are given.
Tensor<4> show_weights(Workbench& bench, const Tensor<4>& drawn, const std::string& formula) {
  const auto weights =
      input_of_heads(bench,
                     {.id = "weights",
                      .title = bench.options.heads ? "The weights of each head" : "The weights of attention",
                      .formula = formula,
                      .axes = {"query", "key"},
                      .note = "All numbers below come from this table.",
                      .distribution = true},
                     drawn);
  if (bench.trace.is_given("weights"))
    require_shares(weights, bench.trace.dtype(), bench.trace.given_name("weights"));
  return weights;
}

/// The weights that the page reads its numbers off, and the mask behind them. Weights that are given without
/// an X have nothing else before them.
std::pair<Tensor<4>, std::optional<Mask<3>>> weights_and_mask(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  const auto n = sentence.length();
  if (bench.trace.is_given("weights") && !bench.trace.is_given("X")) {
    const auto mask = bench.mask(sentence, sentence);
    const Tensor<4> none({sentence.size(), bench.heads(), n, n}, 0.0);
    return {show_weights(bench, none, ""), mask};
  }
  const auto scaled = draw_scaled_scores(bench);
  const auto mask = bench.mask(sentence, sentence);
  const auto formula =
      fmt::format("softmax({} {}ᵀ / {}{}){}", bench.trace.is_given("b_Q") ? "(X W_Q + b_Q)" : "X W_Q",
                  bench.trace.is_given("b_K") ? "(X W_K + b_K)" : "(X W_K)", divisor_in_words(bench),
                  mask ? " where mask" : "", bench.options.heads ? " for each head" : "");
  const auto weights = attn::softmax(mask ? attn::apply_mask(scaled, *mask) : scaled);
  return {show_weights(bench, weights, formula), mask};
}

/// What the rest of the page needs of the measures.
struct MeasuredPattern {
  Tensor<2> entropy;      ///< [batch×head]
  Integers<3> strongest;  ///< [batch×head×query]
};

/// "0.3333", or "0.3333 to 0.5000" where the samples differ.
std::string range_of(const Tensor<2>& measures) {
  const auto [least, most] = std::minmax_element(measures.begin(), measures.end());
  const auto low = fmt::format("{:.4f}", *least), high = fmt::format("{:.4f}", *most);
  return low == high ? low : low + " to " + high;
}

/// "Equal shares would give 1/6 = 0.1667.", or under a mask "Equal shares of the keys that a query may see
/// would give 0.6111."
std::string with_equal_shares(const Tensor<2>& measures, std::size_t keys, bool hides) {
  return hides
             ? fmt::format("Equal shares of the keys that a query may see would give {}.", range_of(measures))
             : fmt::format("Equal shares would give 1/{} = {}.", keys, range_of(measures));
}

/// What is true of sentences of one length, and of no others.
std::string if_of_one_length(const std::vector<std::size_t>& lengths, const std::string& words) {
  const bool is_one_length = std::all_of(lengths.begin(), lengths.end(),
                                         [&](std::size_t length) { return length == lengths.front(); });
  return is_one_length && lengths.front() > 1 ? words + " " : "";
}

/// The weights of one head as entries, and what is read off them, each for [batch, head].
struct WorkedMeasures {
  attn::Known<4> weights;
  const std::vector<std::size_t>& lengths;

  std::vector<attn::Worked> row(const attn::Index& at, std::size_t i, std::size_t keys) const {
    std::vector<attn::Worked> row;
    for (std::size_t j = 0; j < keys; ++j) row.push_back(weights({at[0], at[1], i, j}));
    return row;
  }

  attn::Worked diagonal(const attn::Index& at) const {
    std::vector<attn::Worked> of;
    for (std::size_t i = 0; i < lengths[at[0]]; ++i) of.push_back(weights({at[0], at[1], i, i}));
    return mean_of(std::move(of));
  }

  attn::Worked local(const attn::Index& at) const {
    std::vector<attn::Worked> of;
    for (std::size_t i = 0; i + 1 < lengths[at[0]]; ++i)
      for (const auto& [query, key] : {std::pair(i, i + 1), std::pair(i + 1, i)})
        of.push_back(weights({at[0], at[1], query, key}));
    return of.empty() ? attn::Worked(0.0) : mean_of(std::move(of));
  }

  attn::Worked sparse_ratio(const attn::Index& at) const {
    std::vector<attn::Worked> of;
    for (std::size_t i = 0; i < lengths[at[0]]; ++i)
      for (const auto& weight : row(at, i, lengths[at[0]])) of.push_back(attn::Worked::less(0.1, weight));
    return mean_of(std::move(of));
  }

  attn::Worked entropy(const attn::Index& at) const {
    std::vector<attn::Worked> of;
    for (std::size_t i = 0; i < lengths[at[0]]; ++i)
      of.push_back(attn::worked_entropy(row(at, i, weights.tensor.shape(3))));
    return mean_of(std::move(of));
  }

  /// −Σⱼ wⱼ (ln(wⱼ + inside) − ln wⱼ), the mean over queries: the two entropies' difference, term by term.
  attn::Worked entropy_bias(const attn::Index& at) const {
    std::vector<attn::Worked> of;
    for (std::size_t i = 0; i < lengths[at[0]]; ++i)
      for (const auto& w : row(at, i, weights.tensor.shape(3)))
        if (w.value() != 0.0)
          of.push_back(attn::Worked::product({w, log(attn::Worked::sum({w, inside_logarithm})) - log(w)}));
    if (of.empty()) return 0.0;
    return -attn::Worked::sum(std::move(of)) / attn::Worked(static_cast<double>(lengths[at[0]]));
  }

  attn::Worked strongest(const attn::Index& at) const {
    return attn::argmax(row(at, at[2], weights.tensor.shape(3)));
  }
};

/// " In row “saw” it is −(0.2 log 0.2 + …) ≈ 1.6.", of the first head. Nothing where it would be long.
std::string entropy_of_a_row(const Workbench& bench, const Tensor<4>& weights) {
  constexpr std::size_t most_keys = 6;
  const auto n = weights.shape(3);
  constexpr double seen_in_4_digits = 5e-5;
  if (weights.shape(0) != 1 || n > most_keys) return "";
  bool is_whole = true;
  const auto query = attn::token_to_work_out(n);
  std::vector<std::string> terms;
  double sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double w = weights(0, 0, query, j);
    if (w == 0.0) continue;
    if (w >= seen_in_4_digits) terms.push_back(fmt::format("{0:.4f} log {0:.4f}", w));
    is_whole = is_whole && w >= seen_in_4_digits;
    sum -= w * std::log(w);
  }
  if (!is_whole) terms.emplace_back("…");
  return fmt::format(" For row \"{}\"{} it is −({}) ≈ {:.4f}.", bench.plan.sentence.tokens[0][query],
                     bench.options.heads ? " of head 0" : "", fmt::join(terms, " + "), sum + 0.0);
}

/// The note `entropies`: the entropy of rows that need no calculator.
void explain_entropy(const Workbench& bench, std::size_t n) {
  const auto line = [](const std::string& row, const std::string& sum, const std::string& keys) {
    return fmt::format("{:<19}{:<49}{:>5}", row, sum, keys);
  };
  auto table = line("weights of a row", "entropy", "keys") + '\n' + line("1", "−(1 log 1) = 0", "1") + '\n' +
               line("0.5  0.5", "−(0.5 log 0.5 + 0.5 log 0.5) = log 2 ≈ 0.6931", "2");
  if (n > 2)
    table +=
        '\n' + line(fmt::format("{} equal weights", n),
                    fmt::format("log {} ≈ {:.4f}", n, std::log(static_cast<double>(n))), std::to_string(n));
  bench.trace.note(
      "entropies", "Entropy: do few keys share a row, or many?",
      "The entropy of a row of weights is −Σⱼ wⱼ log wⱼ (natural log). A weight of 0 adds nothing. The "
      "entropy is 0 where one key has all, and largest where all keys have the same. exp(entropy) says how "
      "many keys are in use:",
      table);
}

MeasuredPattern measure(Workbench& bench, const Tensor<4>& weights, const Mask<3>& visible) {
  const auto n = bench.plan.sentence.length();
  const auto uniform = uniform_weights(visible, 1);
  const bool hides = std::find(visible.begin(), visible.end(), false) != visible.end();
  const auto lengths = bench.plan.sentence.lengths();
  const WorkedMeasures worked = {{"weights", weights}, lengths};
  const auto step = [&](attn::About about, attn::Worked (WorkedMeasures::*of)(const attn::Index&) const,
                        const auto& values) {
    about.from = {"weights"};
    const bool is_of_row = !about.axes.empty();
    about.worked = worked_of(is_of_row ? n : 2 * n * n,
                             [&worked, of](const attn::Index& at) { return (worked.*of)(at); });
    return step_of_heads(bench, about, values);
  };
  step({.id = "diagonal",
        .title = "How much a token looks at itself",
        .formula = "mean of wᵢᵢ",
        .note = with_equal_shares(diagonal_share(uniform, lengths), n, hides)},
       &WorkedMeasures::diagonal, diagonal_share(weights, lengths));
  step({.id = "local",
        .title = "What neighbours get",
        .formula = "mean of all wᵢ,ᵢ₊₁ and wᵢ₊₁,ᵢ",
        .note =
            n == 1
                ? std::string(
                      "A single token has no neighbour, so this is 0. Code that divides by 2 (n − 1) fails.")
                : if_of_one_length(
                      lengths,
                      fmt::format(
                          "{} words have {} pair{} of neighbours, and each pair has 2 weights: {} in all.", n,
                          n - 1, n == 2 ? "" : "s", 2 * (n - 1))) +
                      with_equal_shares(neighbour_share(uniform, lengths), n, hides) +
                      (bench.options.causal ? " The mask hides the next word." : "")},
       &WorkedMeasures::local, neighbour_share(weights, lengths));
  step({.id = "sparse_ratio",
        .title = "How many weights are large",
        .formula = "share of weights w with 0.1 < w",
        .note =
            "Each comparison counts 1 where it is true. " +
            if_of_one_length(lengths, fmt::format("There are {0} · {0} = {1} weights.", n, n * n)) +
            "Near 1 / n it says that a key or two get nearly all of a row. The name misleads: where "
            "attention is sparse, few weights are large. From 10 keys on, equal shares are not above 0.1." +
            (hides ? " Keys that the mask hides count as small weights." : "")},
       &WorkedMeasures::sparse_ratio, sparse_ratio(weights, lengths));
  explain_entropy(bench, n);
  const auto spread =
      step({.id = "entropy",
            .title = "Spread of attention",
            .formula = "mean over queries of −Σⱼ wⱼ log wⱼ",
            .note = "Each bracket is the entropy of one row, and the result is their mean." +
                    entropy_of_a_row(bench, weights) +
                    (hides ? " " + with_equal_shares(entropy(uniform, lengths), n, hides) : "") +
                    fmt::format(" With one more word a row could have up to log {}.", n + 1)},
           &WorkedMeasures::entropy, entropy(weights, lengths));
  const auto strongest = step({.id = "strongest",
                               .title = "Where each token looks most",
                               .formula = "argmaxⱼ wⱼ, the first of several",
                               .axes = {"query"},
                               .note = "The position of the key, counted from 0. Beside the weights it "
                                       "stands in words, but where several keys have the largest weight."},
                              &WorkedMeasures::strongest, strongest_key(weights));
  step({.id = "entropy_bias",
        .title = "What 1e-9 inside the logarithm changes",
        .formula = "(mean over queries of −Σⱼ wⱼ ln(wⱼ + 1e-9)) − entropy",
        .note = "Much code adds 1e-9 because ln 0 is −∞. It makes the entropy too small, by up to 1e-9 for "
                "each key, and for one-hot weights negative, which no entropy is. Leave out the weights that "
                "are 0 instead, and add nothing. (Measured in float64. In float32 the 1e-9 is lost beside "
                "any weight above 1/32.)"},
       &WorkedMeasures::entropy_bias, entropy_bias(weights, lengths, inside_logarithm));
  return {spread, strongest};
}

/// The two ends between which all attention lies.
struct Ends {
  Tensor<2> uniform_entropy;  ///< [batch×head]
  Tensor<4> one_hot;          ///< [batch×head×query×key]
  Tensor<2> one_hot_entropy;  ///< [batch×head]
};

/// 1 / keys that the query may see.
attn::WorkedOut worked_equal_shares(const Mask<3>& mask) {
  return [&mask](const attn::Index& at) {
    if (!mask(at[0], at[2], at[3])) return attn::Worked(0.0);
    const bool* row = &mask(at[0], at[2], 0);
    const auto visible = std::count(row, row + mask.shape(2), true);
    return attn::Worked(1.0) / attn::Worked(static_cast<double>(visible));
  };
}

Ends show_extremes(Workbench& bench, const Mask<3>& mask, const Integers<3>& strongest) {
  const auto lengths = bench.plan.sentence.lengths();
  bench.trace.note("extremes", "The two ends",
                   "All attention lies between two ends: equal shares, which only average, and a single key "
                   "for each query, which only copies. The same measures, applied to both:");
  const auto uniform = step_of_heads(bench,
                                     {.id = "uniform/weights",
                                      .title = "Equal shares",
                                      .formula = "1 / (number of keys that the query may see)",
                                      .axes = {"query", "key"},
                                      .distribution = true,
                                      .worked = worked_equal_shares(mask)},
                                     uniform_weights(mask, bench.heads()));
  const auto uniform_entropy = step_of_heads(
      bench,
      {.id = "uniform/entropy",
       .title = "The entropy of equal shares is the largest possible",
       .formula = "mean over queries of −Σⱼ wⱼ ln wⱼ",
       .from = {"uniform/weights"},
       .note = bench.options.causal ? "Query i may see i + 1 keys, so this is the mean of ln(i + 1). Held "
                                      "against ln n, causal attention would always look focused."
                                    : "",
       .worked = worked_of(2 * mask.shape(1) * mask.shape(2),
                           [&](const attn::Index& at) {
                             return WorkedMeasures{{"uniform/weights", uniform}, lengths}.entropy(at);
                           })},
      entropy(uniform, lengths));
  const auto one_hot =
      step_of_heads(bench,
                    {.id = "one_hot/weights",
                     .title = "Everything to the strongest key",
                     .formula = "1 where key = strongest, 0 elsewhere",
                     .from = {"strongest"},
                     .axes = {"query", "key"},
                     .distribution = true,
                     .worked =
                         [&](const attn::Index& at) {
                           return equals(static_cast<double>(at[3]),
                                         attn::whole_entry("strongest", strongest, {at[0], at[1], at[2]}));
                         }},
                    one_hot_weights(strongest, mask.shape(2)));
  const auto one_hot_entropy = step_of_heads(
      bench,
      {.id = "one_hot/entropy",
       .title = "The entropy of a single key is the smallest possible",
       .formula = "mean over queries of −Σⱼ wⱼ ln wⱼ",
       .from = {"one_hot/weights"},
       .worked = worked_of(2 * mask.shape(1) * mask.shape(2),
                           [&](const attn::Index& at) {
                             return WorkedMeasures{{"one_hot/weights", one_hot}, lengths}.entropy(at);
                           })},
      entropy(one_hot, lengths));
  return {uniform_entropy, one_hot, one_hot_entropy};
}

void claim_patterns(Workbench& bench, const Tensor<4>& weights, const Ends& ends,
                    const Tensor<2>& largest_entropy) {
  auto& trace = bench.trace;
  trace.claim({.id = "rows-sum-to-1",
               .claim = "each row of weights sums to 1",
               .formula = "max |Σⱼ weights − 1|",
               .value = attn::row_sum_deviation(weights),
               .limit = rounding_of_rows(bench)});
  trace.claim({.id = "uniform-entropy",
               .claim = bench.options.causal ? "equal shares of i + 1 keys have the entropy log(i + 1)"
                                             : "equal shares of n keys have the entropy log n",
               .formula = bench.options.causal ? "max |uniform/entropy − mean of ln(i + 1)|"
                                               : "max |uniform/entropy − ln n|",
               .value = attn::max_abs_difference(ends.uniform_entropy, largest_entropy),
               .limit = rounding(bench.trace, attn::max_abs(largest_entropy))});
  trace.claim({.id = "one-hot-entropy",
               .claim = "weights on a single key have the entropy 0",
               .formula = "max |one_hot/entropy|",
               .value = attn::max_abs(ends.one_hot_entropy),
               .limit = attn::exactly(0.0)});
  trace.claim(
      {.id = "biased-entropy",
       .claim = "with 1e-9 inside the logarithm their entropy would be negative",
       .formula = "max of −Σⱼ wⱼ ln(wⱼ + 1e-9),  w = one_hot/weights",
       .value = -attn::max_abs(entropy_bias(ends.one_hot, bench.plan.sentence.lengths(), inside_logarithm)),
       .limit = attn::at_most(its_bias)});
  trace.claim({.id = "ends-recognised",
               .claim = "equal shares are judged uniform, a single key sharp",
               .formula = "number of heads judged to be anything else",
               .value = static_cast<double>(
                   count_misjudged(ends.uniform_entropy, largest_entropy, Spread::uniform) +
                   count_misjudged(ends.one_hot_entropy, largest_entropy, Spread::over_sparse)),
               .limit = attn::exactly(0.0)});
}

std::vector<std::string> patterns_flow(const Workbench& bench) {
  const auto n = bench.plan.sentence.length();
  const auto heads = bench.options.heads ? fmt::format("{}×", bench.heads()) : "";
  const auto weights = fmt::format("weights [{}{}×{}] ", heads, n, n);
  const std::string margin(attn::display_width(weights), ' ');
  return {weights + "┬ diagonal      how much a token looks at itself",
          margin + "├ local         how much at its neighbours",
          margin + "├ entropy       how widely they spread",
          margin + fmt::format("└ strongest     the key that it looks at most [{}{}]", heads, n)};
}

std::vector<std::string> patterns_code(const Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  std::vector<std::string> lines = {
      "# weights: the table of step 1",
      sentence.is_padded() ? "n = int(lengths)        # words, without the padding"
                           : fmt::format("n = {}                   # words", sentence.length()),
      "i = np.arange(n)        # 0, 1, …, n − 1", "diagonal = weights[..., i, i].mean(axis=-1)"};
  if (sentence.length() > 1) {
    const std::vector<std::string> of_neighbours = {
        "to_next     = weights[..., i[:-1], i[1:]].sum(axis=-1)",
        "to_previous = weights[..., i[1:], i[:-1]].sum(axis=-1)",
        sentence.is_padded() ? "local = (to_next + to_previous) / max(2 * (n - 1), 1)"
                             : "local = (to_next + to_previous) / (2 * (n - 1))"};
    lines.insert(lines.end(), of_neighbours.begin(), of_neighbours.end());
  } else {
    lines.emplace_back("local = np.zeros(diagonal.shape)    # no neighbours");
  }
  lines.insert(lines.end(), {"positive = np.where(weights > 0, weights, 1)   # log 1 = 0: a 0 adds nothing",
                             "entropy_of_rows = -(weights * np.log(positive)).sum(axis=-1)",
                             sentence.is_padded() ? "entropy = entropy_of_rows[..., :n].mean(axis=-1)"
                                                  : "entropy = entropy_of_rows.mean(axis=-1)",
                             "strongest = weights.argmax(axis=-1)"});
  return lines;
}

void show_patterns_code(Workbench& bench) {
  bench.code(patterns_code(bench));
  bench.trace.within("sparse_ratio", [&] {
    bench.code({"sparse_ratio = (weights[..., :n, :n] > 0.1).mean(axis=(-2, -1))"});
  });
}

/// Which word looks most at an earlier or later one of the same name: the rows do not tell.
std::string look_at_twin(const attn::Event& weights) {
  const auto& labels = weights.labels.back();
  if (labels.empty()) return weights.note;
  const auto& tokens = labels.of(0);
  const auto n = weights.tensor->shape.back(), rows = attn::element_count(weights.tensor->shape) / n;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto query = row % n, key = strongest_in_row(weights, row);
    if (key != query && tokens[key] == tokens[query])
      return fmt::format("{} #2 marks the second of two equal words: {}{} looks at {}.", weights.note,
                         rows > n ? fmt::format("in head {} ", row / n) : "",
                         attn::numbered_token(tokens, query), attn::numbered_token(tokens, key));
  }
  return weights.note;
}

void lay_out_patterns(Workbench& bench) {
  const auto weights =
      bench.plan.is_batched() ? attn::OnPage{"weights"} : attn::OnPage{"weights", look_at_twin};
  std::vector<attn::OnPage> page = {
      attn::in_one_line("mask"), weights, {"diagonal"}, {"local"}, {"entropies"}, {"entropy"}};
  if (is_as_trained(bench.options)) {
    page.insert(page.end(), {{"comparison"}, {"verdict"}, {"kinds"}, {"models"}});
    return bench.trace.page(
        page, {"rows-sum-to-1", "ends-recognised", "models/word-before", "models/what-came-next"});
  }
  page.insert(page.end(), {attn::in_one_line("strongest"),
                           {"comparison"},
                           {"verdict"},
                           {"collapse"},
                           {"over-sparse"},
                           {"kinds"}});
  bench.trace.page(page, {"rows-sum-to-1", "uniform-entropy", "one-hot-entropy", "ends-recognised"});
}

void run_patterns(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  const auto n = sentence.length();
  bench.label({"token", "query", "key"}, sentence);
  lay_out_patterns(bench);
  bench.idea(
      "A table of weights is soon too large to read. A few numbers sum it up: does a word look at itself, at "
      "its neighbours, at few words or at many? They also warn of two failures: a word looks at all words "
      "equally, or at one word only." +
      std::string(bench.options.model ? " The heads here are trained (attnlab train about)." : ""));
  bench.flow(patterns_flow(bench));
  show_patterns_code(bench);
  bench.show_lengths(sentence);
  const auto [weights, mask] = weights_and_mask(bench);
  const auto visible = mask ? *mask : Mask<3>({sentence.size(), n, n}, true);
  const auto [spread, strongest] = measure(bench, weights, visible);
  const auto ends = show_extremes(bench, visible, strongest);
  const auto largest = largest_entropy(visible, sentence.lengths(), bench.heads());
  compare_with_ends(bench, weights, uniform_weights(visible, bench.heads()), ends.one_hot, largest);
  show_kinds(bench, weights, largest);
  judge(bench, spread, largest);
  claim_patterns(bench, weights, ends, largest);
  if (bench.options.model) show_heads_of_models(bench);
  bench.try_next({{"patterns --causal", "what do equal shares give under the mask?"},
                  {"patterns --temperature 0.02", "which failure is that?"},
                  {"training", "how attention starts, and what keeps it learning"}});
}

void give_about_to_patterns(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", input_of_second_layer(inputs));
  for (const std::string id : {"W_Q", "W_K"}) inputs.give(id, inputs.matrix("layer=2/attention/" + id));
}

std::vector<Input> patterns_inputs(const Options&) {
  return {{"X", {"token", "d_model"}, Draw::embedding},
          {"W_Q", {"d_model", "head·d_k"}, Draw::weight},
          {"W_K", {"d_model", "head·d_k"}, Draw::weight},
          {"b_Q", {"head·d_k"}, Draw::given},
          {"b_K", {"head·d_k"}, Draw::given},
          {"mask", {"query", "key"}, Draw::page},
          {"weights", {"[head]", "query", "key"}, Draw::page}};
}

}  // namespace

extern const Lesson patterns;
const Lesson patterns = {
    .name = "patterns",
    .title = "what attention looks like in numbers, and its failures",
    .teaches =
        "Numbers that sum up a table of weights: how much falls on the diagonal and beside it, how many "
        "weights are large, the entropy, the strongest key of each token. Attention that has become nearly "
        "uniform and attention that has shrunk to a single key are recognised, with what leads there and "
        "what helps. The page goes through the heads of the model about, or of one trained for the same "
        "task. "
        "The heads of all other shipped models are in its last table, which --all shows whole.",
    .options = {"sentence", "d-model", "d-k", "heads", "causal", "temperature", "seed", "rng", "draws",
                "weight-scale", "embeddings", "model", "dtype"},
    .defaults = {.sentence = {"the cat saw the small dogs"}},
    .examples = {"patterns --sentence \"the cat sat on the mat\" --heads 2 --causal",
                 "patterns --temperature 0.02"},
    .inputs = patterns_inputs,
    .trained = Trained{.task = "about", .give = give_about_to_patterns, .reads = Reads::english},
    .run = run_patterns,
};

}  // namespace lessons
