#include "lessons/positional/claims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/ops/measure.hpp"
#include "attn/ops/positional_bias.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/width.hpp"
#include "lessons/positional/measure.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// Fewer words have a single pair, whose score need not change.
constexpr std::size_t words_for_an_order = 3;

bool is_same_word(const Tensor<3>& X, std::size_t b, std::size_t i, std::size_t j) {
  return std::equal(&X(b, i, 0), &X(b, i, 0) + X.shape(2), &X(b, j, 0));
}

/// Two different words of a sentence of n words to exchange: the second and the last, as in "the cat saw
/// the dog", or the first two that differ; nothing where there is one word only, however often.
std::optional<std::pair<std::size_t, std::size_t>> words_to_exchange(const Tensor<3>& X, std::size_t b,
                                                                     std::size_t n) {
  if (n > 2 && !is_same_word(X, b, 1, n - 1)) return std::pair(std::size_t{1}, n - 1);
  for (std::size_t j = 1; j < n; ++j)
    if (!is_same_word(X, b, 0, j)) return std::pair(std::size_t{0}, j);
  return std::nullopt;
}

/// What the comparison and the claims know of one encoding.
struct Measured {
  double by_order;          ///< change of some score when two words change places
  attn::Limit order_limit;  ///< what rounding alone may change

  bool order_is_certain;  ///< whether by_order must be beyond its limit
};

Measured measure(const attn::Trace& trace, const Encoding& encoding, const Tensor<3>& X,
                 const OtherOrder& other) {
  const auto& scores = encoding.scores;
  const auto reordered = encoding.scores_of(attn::permute_rows(X, other.order));
  const auto limit = rounding(trace, attn::max_abs(scores));
  return {.by_order = change_by_order(scores, reordered, other.order),
          .order_limit = limit,
          .order_is_certain =
              other.most_words >= words_for_an_order && encoding.certain_change >= 2.0 * limit.bound};
}

/// "0.1234", or "none" for what rounding explains.
std::string change(double value, const attn::Limit& limit) {
  if (limit.holds(value)) return "none";
  return value < 1000.0 ? fmt::format("{:.4f}", value) : fmt::format("{:.4g}", value);
}

std::string comparison_row(const Encoding& encoding, const Measured& measured, bool has_other_order) {
  return fmt::format("\n{:<12}{:<44}{:>8}{:>9}", encoding.name, encoding.change, encoding.parameters,
                     has_other_order ? change(measured.by_order, measured.order_limit) : "–");
}

/// "cat and dog" where there is one sentence.
std::string words_that_swap(const Workbench& bench, const OtherOrder& other) {
  if (bench.plan.sentence.size() > 1 || other.most_words == 0) return "two words";
  const auto& order = other.order[0];
  std::size_t first = 0;
  while (order[first] == first) ++first;
  const auto& tokens = bench.plan.sentence.tokens[0];
  return fmt::format("\"{}\" and \"{}\"", tokens[first], tokens[order[first]]);
}

/// "5 positions · 4, 9 distances · 4": where the numbers to learn come from.
std::string sums_of_parameters(const Workbench& bench, const std::vector<Encoding>& encodings) {
  const auto n = bench.plan.sentence.length(), d = bench.d_model(), heads = bench.heads();
  std::vector<std::string> sums;
  for (const auto& encoding : encodings) {
    if (encoding.name == "learned") sums.push_back(fmt::format("{} positions · {}", n, d));
    if (encoding.name == "relative")
      sums.push_back(fmt::format("{} distances · {}", static_cast<std::size_t>(encoding.parameters) / d, d));
    if (encoding.name == "t5")
      sums.push_back(
          fmt::format("{} classes · {} head{}", attn::t5_bucket_count, heads, heads == 1 ? "" : "s"));
  }
  return fmt::format("{}", fmt::join(sums, ", "));
}

/// The columns that a line of the comparison's legend may take.
constexpr std::size_t widest_line = 74;

/// The line with these words where it has room, else without.
std::string with_room(const std::string& line, const std::string& otherwise) {
  return '\n' + (attn::display_width(line) <= widest_line ? line : otherwise);
}

/// What the columns of the comparison mean.
std::string legend(const Workbench& bench, const std::vector<Encoding>& encodings, const OtherOrder& other) {
  const auto sums = sums_of_parameters(bench, encodings);
  const std::string to_learn = "to learn  ";
  const auto learned = to_learn + (sums.empty() ? "numbers that training has to find"
                                   : attn::display_width(sums) + 19 <= widest_line ? "numbers: " + sums
                                                                                   : sums);
  const auto swap = [](const std::string& words) {
    return fmt::format("swap      largest change of a pair's score if {} swap", words);
  };
  return "\n\n" + learned + with_room(swap(words_that_swap(bench, other)), swap("two words"));
}

std::string signed_number(double x) {
  return fmt::format("{}{:.4f}", x < 0.0 ? "−" : "", std::abs(x));
}

/// "alibi     slope of head 0, fixed: 2^(−8 · 1/2) = 0.0625", and a score below it: "cat with dog: 0.1667 −
/// 0.0625 · 3 ≈ −0.0208".
std::string example_of_alibi(const Workbench& bench, const PositionalInputs& in) {
  const auto& words = bench.plan.sentence.tokens[0];
  const auto key = words.size() - 1, query = std::min<std::size_t>(1, key);
  const double before = in.scores(0, query, key), slope = attn::alibi_slopes(bench.heads())(0),
               after = before - slope * static_cast<double>(key - query);
  const auto sum =
      fmt::format("{} − {:.4g} · {} ≈ {}", signed_number(before), slope, key - query, signed_number(after));
  const bool is_exact = bench.heads() == 2 || bench.heads() == 4 || bench.heads() == 8;
  return fmt::format("\nalibi     slope of head 0, fixed: 2^(−8 · 1/{}) {} {:.4g}", bench.heads(),
                     is_exact ? "=" : "≈", slope) +
         with_room(fmt::format("          {} with {}: {}", words[query], words[key], sum),
                   "          in head 0: " + sum);
}

std::string explanation(const Options& options, const std::vector<Measured>& measured,
                        const OtherOrder& other) {
  const std::string text =
      options.encoding == "all"
          ? "The distance is the key's position minus the query's. t5 has a class for each near distance and "
            "one for several far ones: 32 in all, for any sentence. In t5 and alibi each head has its own "
            "numbers. rope takes each pair of columns as a point and turns it. Two points turned by the same "
            "angle keep their product, so only the distance counts."
          : "Without --encoding all six encodings stand here.";
  if (other.most_words == 0) return text;
  if (other.most_words < words_for_an_order)
    return text +
           " With two words there is only one pair, and its score need not change when they swap: for ALiBi, "
           "they are as far apart as before. So nothing is claimed about it.";
  const bool is_certain = std::all_of(measured.begin() + 1, measured.end(),
                                      [](const Measured& one) { return one.order_is_certain; });
  return is_certain ? text
                    : text +
                          " Vectors or tables may be such that the order is lost in them. Where that is "
                          "possible, nothing is claimed.";
}

void show_comparison(Workbench& bench, const PositionalInputs& in, const std::vector<Encoding>& encodings,
                     const std::vector<Measured>& measured, const OtherOrder& other) {
  auto table = fmt::format("{:<12}{:<44}{:>8}{:>9}", "", "what it changes", "to learn", "swap");
  for (std::size_t i = 0; i < encodings.size(); ++i)
    table += comparison_row(encodings[i], measured[i], other.most_words > 0);
  table += legend(bench, encodings, other);
  if (bench.options.encoding == "all") table += example_of_alibi(bench, in);
  bench.trace.note("comparison", "Side by side", explanation(bench.options, measured, other), table);
}

/// That of X Xᵀ / √d.
double magnitude_of(const Tensor<3>& X) {
  return magnitude_of_scores(X, X, std::sqrt(static_cast<double>(X.shape(2))));
}

void claim_order_is_lost(Workbench& bench, const PositionalInputs& in, const OtherOrder& other) {
  auto mute = bench.mute();
  const auto reordered = attn::permute_rows(in.X, other.order);
  const auto output = scaled_dot_product_attention(mute, in.X, in.X, in.X, in.mask).output;
  const auto moved = scaled_dot_product_attention(mute, reordered, reordered, reordered, in.mask).output;

  bench.trace.claim({.id = "without/order-is-lost",
                     .claim = "without positions, a swap only moves the numbers",
                     .formula = "max |scores(X reordered) − scores|, and of outputs",
                     .value = attn::maximum(
                         {change_by_order(of_one_head(in.scores), of_one_head(other.scores), other.order),
                          attn::max_abs_difference(moved, attn::permute_rows(output, other.order))}),
                     .limit = rounding(bench.trace, magnitude_of(in.X) * attn::max_abs(in.X))});
}

void claim_encoding(attn::Trace& trace, const Encoding& encoding, const Measured& measured,
                    const Tensor<3>& X) {
  encoding.claim_property();
  const double magnitude = std::max(attn::max_abs(encoding.scores), magnitude_of(X));
  if (encoding.is_relative)
    claim_unless_lost(
        trace,
        {.id = "distance-only",
         .claim = encoding.name + ": scores depend on the distance of two words, not on where they "
                                  "stand",
         .formula = "max |scores of X said twice, second time − scores|",
         .value = change_by_moving(encoding.scores, encoding.scores_of(attn::rows_twice(X))),
         .limit = rounding(trace, magnitude * encoding.room)},
        magnitude);
  if (measured.order_is_certain)
    trace.claim({.id = "order-is-seen",
                 .claim = encoding.name + ": a swap changes some pair's score",
                 .formula = "max |scores(X reordered) − scores|, of the same pairs of words",
                 .value = measured.by_order,
                 .limit = attn::at_least(measured.order_limit.bound)});
}

}  // namespace

OtherOrder other_order(const Tensor<3>& X, const std::vector<std::size_t>& lengths) {
  OtherOrder other;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    auto& order = other.order.emplace_back(X.shape(1));
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto words = words_to_exchange(X, b, lengths[b]);
    if (!words) continue;
    std::swap(order[words->first], order[words->second]);
    if (other.most_words == 0) other.example = b;
    other.most_words = std::max(other.most_words, lengths[b]);
  }
  return other;
}

void compare_encodings(Workbench& bench, const PositionalInputs& in, const OtherOrder& other,
                       const std::vector<Encoding>& encodings) {
  std::vector<Measured> measured;
  for (const auto& encoding : encodings) measured.push_back(measure(bench.trace, encoding, in.X, other));
  show_comparison(bench, in, encodings, measured, other);

  claim_order_is_lost(bench, in, other);
  for (std::size_t i = 1; i < encodings.size(); ++i)
    bench.trace.within(encodings[i].name,
                       [&] { claim_encoding(bench.trace, encodings[i], measured[i], in.X); });
}

}  // namespace lessons
