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
#include "lessons/claims.hpp"
#include "lessons/positional/measure.hpp"
#include "lessons/sdpa.hpp"

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
  double by_order;                  ///< change of some score when two words change places
  std::optional<double> by_moving;  ///< change of some score when the sentence begins later
  double largest_score;

  /// What rounding alone may change. The angles of far positions are less exact.
  attn::Limit order_limit, moving_limit;

  bool order_is_certain;  ///< whether by_order must be beyond its limit
};

Measured measure(const attn::Trace& trace, const Encoding& encoding, const Tensor<3>& X,
                 const OtherOrder& other) {
  const auto& scores = encoding.scores;
  const auto reordered = encoding.scores_of(attn::permute_rows(X, other.order));
  const double largest = attn::max_abs(scores);
  const auto limit = rounding(trace, largest);
  return {.by_order = change_by_order(scores, reordered, other.order),
          .by_moving = encoding.has_more_positions
                           ? std::optional(change_by_moving(scores, encoding.scores_of(attn::rows_twice(X))))
                           : std::nullopt,
          .largest_score = largest,
          .order_limit = limit,
          .moving_limit = rounding(trace, largest * room_for_angles(X.shape(1))),
          .order_is_certain =
              other.most_words >= words_for_an_order && encoding.certain_change >= 2.0 * limit.bound};
}

/// "0.1234", or "none" for what rounding explains.
std::string change(double value, const attn::Limit& limit) {
  if (limit.holds(value)) return "none";
  return value < 1000.0 ? fmt::format("{:.4f}", value) : fmt::format("{:.4g}", value);
}

std::string comparison_row(const Encoding& encoding, const Measured& measured, bool has_other_order) {
  return fmt::format("\n{:<12}{:<35}{:>8}{:>10}{:>8}", encoding.name, encoding.score, encoding.parameters,
                     has_other_order ? change(measured.by_order, measured.order_limit) : "–",
                     measured.by_moving ? change(*measured.by_moving, measured.moving_limit) : "no row");
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

/// "5 places · 4, 9 distances · 4": where the numbers to learn come from.
std::string sums_of_parameters(const Workbench& bench, const std::vector<Encoding>& encodings) {
  const auto n = bench.plan.sentence.length(), d = bench.d_model(), heads = bench.heads();
  std::vector<std::string> sums;
  for (const auto& encoding : encodings) {
    if (encoding.name == "learned") sums.push_back(fmt::format("{} places · {}", n, d));
    if (encoding.name == "relative")
      sums.push_back(fmt::format("{} distances · {}", static_cast<std::size_t>(encoding.parameters) / d, d));
    if (encoding.name == "t5")
      sums.push_back(
          fmt::format("{} classes · {} head{}", attn::t5_bucket_count, heads, heads == 1 ? "" : "s"));
  }
  return fmt::format("{}", fmt::join(sums, ", "));
}

/// What the columns of the comparison mean, a line a column.
std::string legend(const Workbench& bench, const std::vector<Encoding>& encodings, const OtherOrder& other) {
  const auto& options = bench.options;
  const bool has_all = options.encoding == "all";
  const auto n = bench.plan.sentence.length();
  constexpr std::size_t widest_line = 74;
  std::string text = "\n";
  const auto sums = sums_of_parameters(bench, encodings), learned = "to learn how many: " + sums;
  const bool has_room = attn::display_width(learned) <= widest_line;
  text += sums.empty() ? "\nto learn how many numbers"
          : has_room   ? '\n' + learned
                       : "\nto learn how many:\n         " + sums;
  const auto swap = [](const std::string& words) {
    return fmt::format("swap     largest change of a pair's score, any head: {} swap", words);
  };
  const auto with_words = swap(words_that_swap(bench, other));
  text += '\n' + (attn::display_width(with_words) <= widest_line ? with_words : swap("two words"));
  const bool has_learned = has_all || options.encoding == "learned";
  text += fmt::format("\nlater    largest change if the sentence starts at place {}{}", n,
                      has_learned ? " (learned: no row)" : " instead of 0");
  return text;
}

std::string signed_number(double x) {
  return fmt::format("{}{:.4f}", x < 0.0 ? "−" : "", std::abs(x));
}

/// "(0.6085, −0.3434) of "cat" at place 1 becomes (0.6178, 0.3265)": the first pair of the second word.
std::string turned_pair(const Workbench& bench, const Tensor<3>& X) {
  const auto& words = bench.plan.sentence.tokens[0];
  const std::size_t p = words.size() > 1 ? 1 : 0;
  const std::size_t second = bench.options.pairing == "halves" ? X.shape(2) / 2 : 1;
  const double x = X(0, p, 0), y = X(0, p, second), angle = static_cast<double>(p);
  return fmt::format("({}, {}) of \"{}\" at place {} becomes ({}, {})", signed_number(x), signed_number(y),
                     attn::shorten(words[p], 20), p, signed_number(x * std::cos(angle) - y * std::sin(angle)),
                     signed_number(x * std::sin(angle) + y * std::cos(angle)));
}

std::string explanation(const Workbench& bench, const PositionalInputs& in,
                        const std::vector<Measured>& measured, const OtherOrder& other) {
  const auto& options = bench.options;
  const std::string text =
      options.encoding == "all"
          ? fmt::format(
                "sinusoidal adds a computed row, for any place; learned adds a row of a trained table, which "
                "ends; the other four use only the distance j − i.\n"
                "t5 has a number for each head and each of {} classes of distance (near ones single, far "
                "ones grouped), alibi (attention with linear biases) a slope for each head: heads={}. X is "
                "not cut into heads.\n"
                "rope (rotary position embedding) turns each pair of columns, a point (x, y), by p · ωᵢ: {}. "
                "Turning two points alike keeps their dot product: only (j − i) · ωᵢ counts.",
                attn::t5_bucket_count, bench.heads(), turned_pair(bench, in.X))
          : "All encodings stand here without --encoding.";
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
  auto table = fmt::format("{:<12}{:<35}{:>8}{:>10}{:>8}", "", "score of the words i and j", "to learn",
                           "swap", "later");
  for (std::size_t i = 0; i < encodings.size(); ++i)
    table += comparison_row(encodings[i], measured[i], other.most_words > 0);
  bench.trace.note("comparison", "Side by side", explanation(bench, in, measured, other),
                   table + legend(bench, encodings, other));
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
                     .limit = rounding(bench.trace, attn::max_abs(in.scores) * attn::max_abs(in.X))});
}

void claim_encoding(attn::Trace& trace, const Encoding& encoding, const Measured& measured) {
  encoding.claim_property();
  if (encoding.is_relative)
    trace.claim({.id = "distance-only",
                 .claim = encoding.name + ": scores depend on the distance of two words, not on where they "
                                          "stand",
                 .formula = "max |scores of X said twice, second time − scores|",
                 .value = *measured.by_moving,
                 .limit = measured.moving_limit});
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
    bench.trace.within(encodings[i].name, [&] { claim_encoding(bench.trace, encodings[i], measured[i]); });
}

}  // namespace lessons
