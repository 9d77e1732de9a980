#include "lessons/sdpa/mistakes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/generate/mistakes.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double usual_fill = -1e9;

template <std::size_t N, class F>
Tensor<N> each(Tensor<N> x, F f) {
  std::transform(x.begin(), x.end(), x.begin(), f);
  return x;
}

/// K as a reshape turns [key×d_k] into [d_k×key]: the numbers stay in their order.
template <std::size_t N>
Tensor<N> reshaped_for_product(const Tensor<N>& K) {
  auto shape = K.shape();
  std::swap(shape[N - 1], shape[N - 2]);
  auto reshaped = Tensor<N>::from_shape(shape);
  std::copy(K.begin(), K.end(), reshaped.begin());
  return reshaped;
}

/// Every head's tensor is that of head 0.
Tensor<4> head_0_for_all(Tensor<4> x) {
  const auto size = x.shape(2) * x.shape(3);
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t h = 1; h < x.shape(1); ++h)
      std::copy_n(x.data() + b * x.shape(1) * size, size, x.data() + (b * x.shape(1) + h) * size);
  return x;
}

/// The heads of `x`, in which key and value heads are repeated already, in another order: head i is what
/// `source_of(i)` was.
template <class SourceOf>
Tensor<4> heads_in_order(const Tensor<4>& x, SourceOf source_of) {
  auto result = x;
  const auto heads = x.shape(1), size = x.shape(2) * x.shape(3);
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t h = 0; h < heads; ++h)
      std::copy_n(x.data() + (b * heads + source_of(h)) * size, size, result.data() + (b * heads + h) * size);
  return result;
}

/// Key and value heads that follow one another in turns, 0 1 0 1, where each should be repeated, 0 0 1 1.
Tensor<4> tiled_heads(const Workbench& bench, const Tensor<4>& repeated) {
  const auto group = bench.heads() / bench.kv_heads();
  return heads_in_order(repeated, [&](std::size_t h) { return h % bench.kv_heads() * group; });
}

/// Key and value heads [kv_head×key×d] whose keys are repeated, 0 0 1 1, and read as [head×key×d]: each head
/// has a part of the keys.
Tensor<4> repeated_along_keys(const Workbench& bench, const Tensor<4>& repeated) {
  const auto group = bench.heads() / bench.kv_heads();
  const auto keys = repeated.shape(2), d = repeated.shape(3);
  auto result = repeated;
  for (std::size_t b = 0; b < repeated.shape(0); ++b)
    for (std::size_t h = 0; h < bench.heads(); ++h)
      for (std::size_t key = 0; key < keys; ++key)
        std::copy_n(&repeated(b, h, (h % group * keys + key) / group, 0), d, &result(b, h, key, 0));
  return result;
}

bool has_shared_heads(const Workbench& bench) {
  return bench.kv_heads() != bench.heads();
}

/// A mask [batch×query×key] from a rule.
template <class MaySee>
Mask<3> masked_by(const Mask<3>& like, MaySee may_see) {
  auto mask = like;
  for (std::size_t b = 0; b < mask.shape(0); ++b)
    for (std::size_t i = 0; i < mask.shape(1); ++i)
      for (std::size_t j = 0; j < mask.shape(2); ++j) mask(b, i, j) = may_see(b, i, j);
  return mask;
}

/// What a mask is made of: the rule on positions and the padding of the keys.
struct Rules {
  bool is_causal;
  std::optional<std::size_t> window;
  std::vector<std::vector<bool>> is_real;  ///< [batch][key]: no padding
  std::ptrdiff_t offset;                   ///< query i sits at position i + offset

  bool sees(std::size_t i, std::size_t j, std::ptrdiff_t of_queries, std::ptrdiff_t later = 0,
            std::ptrdiff_t wider = 0) const {
    const auto behind = static_cast<std::ptrdiff_t>(i) + of_queries - static_cast<std::ptrdiff_t>(j);
    if (is_causal && behind < -later) return false;
    return !window || std::abs(behind) <= static_cast<std::ptrdiff_t>(*window) + wider;
  }
};

bool has_padding(const Rules& rules) {
  return std::any_of(rules.is_real.begin(), rules.is_real.end(), [](const auto& keys) {
    return std::find(keys.begin(), keys.end(), false) != keys.end();
  });
}

/// The rules without one of them, where there are several, by the id of the mistake.
std::vector<std::pair<const char*, Rules>> with_one_forgotten(const Rules& rules) {
  const bool is_padded = has_padding(rules), has_window = rules.window.has_value();
  if (rules.is_causal + has_window + is_padded < 2) return {};
  std::vector<std::pair<const char*, Rules>> all;
  if (rules.is_causal) all.emplace_back("causal-missing", rules).second.is_causal = false;
  if (has_window) all.emplace_back("window-missing", rules).second.window.reset();
  if (is_padded)
    for (auto& keys : all.emplace_back("padding-missing", rules).second.is_real)
      keys.assign(keys.size(), true);
  return all;
}

/// A key that no query sees, and none could by the rule on positions, is padding if the sentence has ended.
void add_keys_out_of_reach(Rules& rules, const attn::TokenBatch& keys, std::size_t queries) {
  const auto lengths = keys.lengths();
  if (lengths.size() != rules.is_real.size()) return;
  for (std::size_t b = 0; b < lengths.size(); ++b)
    for (std::size_t j = 0; j < rules.is_real[b].size(); ++j) {
      bool is_in_reach = false;
      for (std::size_t i = 0; i < queries; ++i) is_in_reach = is_in_reach || rules.sees(i, j, rules.offset);
      if (!is_in_reach) rules.is_real[b][j] = j < lengths[b];
    }
}

Rules rules_of(const Workbench& bench, const Mask<3>& mask) {
  const auto n_q = mask.shape(1), n_k = mask.shape(2);
  Rules rules{
      true, bench.options.window, {}, static_cast<std::ptrdiff_t>(n_k) - static_cast<std::ptrdiff_t>(n_q)};
  rules.is_real.assign(mask.shape(0), std::vector<bool>(n_k, false));
  bool keeps_window = true;
  for (std::size_t b = 0; b < mask.shape(0); ++b)
    for (std::size_t i = 0; i < n_q; ++i)
      for (std::size_t j = 0; j < n_k; ++j) {
        if (!mask(b, i, j)) continue;
        rules.is_real[b][j] = true;
        const auto behind = static_cast<std::ptrdiff_t>(i) + rules.offset - static_cast<std::ptrdiff_t>(j);
        rules.is_causal = rules.is_causal && behind >= 0;
        keeps_window =
            keeps_window && rules.window && std::abs(behind) <= static_cast<std::ptrdiff_t>(*rules.window);
      }
  if (!keeps_window) rules.window.reset();
  if (n_q == 1) rules.is_causal = bench.options.causal;  // the last query sees every key, causal or not
  const auto& plan = bench.plan;
  add_keys_out_of_reach(rules, plan.lesson->uses("source") ? plan.source : plan.sentence, n_q);
  return rules;
}

/// Whether a mask [batch×query×key], which holds for every head, lets the element at offset `i` of `x` be
/// seen.
template <std::size_t N>
bool is_seen(const Tensor<N>& x, const Mask<3>& mask, std::size_t i) {
  const auto per_sample = x.size() / mask.shape(0), pairs = mask.shape(1) * mask.shape(2);
  return mask.data()[i / per_sample * pairs + i % pairs];
}

/// `x` where the mask is true, elsewhere what `hidden` makes of it.
template <std::size_t N, class Hidden>
Tensor<N> where_seen(Tensor<N> x, const Mask<3>& mask, Hidden hidden) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!is_seen(x, mask, i)) x.data()[i] = hidden(x.data()[i]);
  return x;
}

/// Softmax along another axis than the last. A line in which everything is hidden becomes `of_hidden`.
template <std::size_t N>
Tensor<N> softmax_along(const Tensor<N>& scores, std::size_t axis, double of_hidden = 0.0) {
  std::size_t run = 1;
  for (std::size_t after = axis + 1; after < N; ++after) run *= scores.shape(after);
  const auto length = scores.shape(axis);
  auto result = scores;
  auto line = Tensor<1>::from_shape({length});
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (i / run % length != 0) continue;
    for (std::size_t k = 0; k < length; ++k) line(k) = scores.data()[i + k * run];
    const bool is_hidden = std::all_of(line.begin(), line.end(), [](double x) { return x == -infinity; });
    const auto shares = attn::softmax(line);
    for (std::size_t k = 0; k < length; ++k) result.data()[i + k * run] = is_hidden ? of_hidden : shares(k);
  }
  return result;
}

/// The same by code that makes NaN of such a line.
template <std::size_t N>
Tensor<N> naive_softmax_along(const Tensor<N>& scores, std::size_t axis) {
  return softmax_along(scores, axis, not_a_number);
}

/// The numerators of softmax, exp(x − max), which nobody has divided by their sum; without `shifts` exp(x).
template <std::size_t N>
Tensor<N> undivided_softmax(Tensor<N> scores, bool shifts) {
  const auto length = scores.shape(N - 1);
  for (std::size_t begin = 0; begin < scores.size(); begin += length) {
    auto* row = scores.data() + begin;
    const double largest = *std::max_element(row, row + length);
    const double shift = shifts && largest > -infinity ? largest : 0.0;
    std::transform(row, row + length, row, [shift](double x) { return std::exp(x - shift); });
  }
  return scores;
}

/// exp(x) / Σ exp(x) without subtracting the maximum, with numbers of at most `largest`. None where nothing
/// overflows, so that it makes no difference.
template <std::size_t N>
std::optional<Tensor<N>> softmax_without_shift(const Tensor<N>& scores, double largest) {
  auto shares = each(scores, [&](double x) { return std::exp(x) > largest ? infinity : std::exp(x); });
  if (std::find(shares.begin(), shares.end(), infinity) == shares.end()) return std::nullopt;
  const auto length = shares.shape(N - 1);
  for (std::size_t begin = 0; begin < shares.size(); begin += length) {
    double sum = 0.0;
    for (std::size_t j = 0; j < length; ++j) sum += shares.data()[begin + j];
    if (sum > largest) sum = infinity;
    for (std::size_t j = 0; j < length; ++j) shares.data()[begin + j] /= sum;
  }
  return shares;
}

/// The weights where a row in which every score is −∞ is that of `others` and not 0. None where there is
/// none.
template <std::size_t N>
std::optional<Tensor<N>> with_empty_rows(const Tensor<N>& seen, const Tensor<N>& others) {
  auto weights = attn::softmax(seen);
  const auto length = seen.shape(N - 1);
  bool has_empty_row = false;
  for (std::size_t begin = 0; begin < seen.size(); begin += length) {
    const auto* row = seen.data() + begin;
    if (!std::all_of(row, row + length, [](double score) { return score == -infinity; })) continue;
    has_empty_row = true;
    std::copy_n(others.data() + begin, length, weights.data() + begin);
  }
  if (!has_empty_row) return std::nullopt;
  return weights;
}

/// The fill that somebody's masked scores have: one number in every hidden place.
template <std::size_t N>
std::optional<double> fill_of(const Tensor<N>& theirs, const Mask<3>& mask) {
  if (theirs.size() % mask.size() != 0) return std::nullopt;
  std::optional<double> fill;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (is_seen(theirs, mask, i)) continue;
    const double number = theirs.data()[i];
    if (!std::isfinite(number) || (fill && *fill != number)) return std::nullopt;
    fill = number;
  }
  return fill;
}

/// What somebody's masked scores have where nothing may be seen: large negative numbers, with a score or
/// without one added.
template <std::size_t N>
std::optional<Tensor<N>> filled_as(const Tensor<N>& theirs, const Tensor<N>& scaled, const Mask<3>& mask) {
  if (theirs.shape() != scaled.shape()) return std::nullopt;
  auto filled = scaled;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (is_seen(theirs, mask, i)) continue;
    if (!(theirs.data()[i] <= attn::usual_large_negative)) return std::nullopt;
    filled.data()[i] = theirs.data()[i];
  }
  return filled;
}

/// Attention across the samples: the queries of each see the keys of all. [batch…×query×(batch·key)] scores,
/// softmax, and the values of all.
template <std::size_t N>
Tensor<N> across_samples(const Tensor<N>& Q, const Tensor<N>& K) {
  auto shape = Q.shape();
  const auto batch = K.shape(0), keys = K.shape(N - 2), d = K.shape(N - 1);
  const auto heads = N == 4 ? K.shape(1) : 1, queries = Q.shape(N - 2);
  shape[N - 1] = batch * keys;
  auto scores = Tensor<N>::from_shape(shape);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < queries; ++i)
        for (std::size_t other = 0; other < batch; ++other)
          for (std::size_t j = 0; j < keys; ++j) {
            double sum = 0.0;
            for (std::size_t k = 0; k < d; ++k)
              sum += Q.data()[((b * heads + h) * queries + i) * d + k] *
                     K.data()[((other * heads + h) * keys + j) * d + k];
            scores.data()[(((b * heads + h) * queries + i) * batch + other) * keys + j] = sum;
          }
  return scores;
}

/// The fill of an additive or a replacing mask that scores can reach.
constexpr double small_fills[] = {-1e4, -1e3, -100.0, -10.0};

/// The lowest numbers of the types that people fill masks with.
constexpr std::pair<const char*, double> lowest_numbers[] = {
    {"mask-sum-overflow", -65504.0},
    {"mask-sum-overflow:bfloat16", -3.3895313892515355e38},
    {"mask-sum-overflow:float32", -3.4028234663852886e38}};

/// The scores under two additive masks of the lowest number, one of the rule on positions and one of the
/// padding: their sum overflows where both hide. None where they never do.
template <std::size_t N>
std::optional<Tensor<N>> with_overflowing_sum(const Tensor<N>& scaled, const Mask<3>& mask,
                                              const Rules& rules, double lowest) {
  const auto hides_once = masked_by(
      mask, [&](auto b, auto i, auto j) { return rules.is_real[b][j] || rules.sees(i, j, rules.offset); });
  if (std::all_of(hides_once.begin(), hides_once.end(), [](bool once) { return once; })) return std::nullopt;
  const auto filled = where_seen(scaled, mask, [lowest](double) { return lowest; });
  return attn::apply_mask(filled, hides_once);
}

}  // namespace

template <std::size_t N>
std::optional<Tensor<N>> with_dropout_of(const Tensor<N>& theirs, const Tensor<N>& right) {
  if (theirs.shape() != right.shape()) return std::nullopt;
  constexpr double smallest_factor = 1.005;  // of 1 / (1 − p), beyond what rounding does
  double factor = 0.0;
  for (std::size_t i = 0; i < right.size(); ++i)
    if (theirs.data()[i] != 0.0 && std::isfinite(theirs.data()[i]) && std::isfinite(right.data()[i]))
      factor = std::max(factor, theirs.data()[i] / right.data()[i]);
  const bool drops = std::any_of(right.begin(), right.end(), [&, i = std::size_t{0}](double number) mutable {
    return theirs.data()[i++] == 0.0 && number != 0.0;
  });
  if (!drops || factor < smallest_factor) return std::nullopt;
  auto dropped = right;
  for (std::size_t i = 0; i < right.size(); ++i)
    dropped.data()[i] = theirs.data()[i] == 0.0 ? 0.0 : right.data()[i] * factor;
  return dropped;
}

/// The median of what finite numbers of `a` have more than those of `b`: that of a single place may be
/// rounding.
double median_difference(const double* a, const double* b, std::size_t length) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < length; ++i)
    if (std::isfinite(a[i] - b[i])) differences.push_back(a[i] - b[i]);
  if (differences.empty()) return 0.0;
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  return *middle;
}

template <std::size_t N>
std::optional<Tensor<N>> shifted_as(const Tensor<N>& theirs, Tensor<N> right) {
  if (theirs.shape() != right.shape()) return std::nullopt;
  const auto length = right.shape(N - 1);
  for (std::size_t begin = 0; begin < right.size(); begin += length) {
    const double by = median_difference(theirs.data() + begin, right.data() + begin, length);
    if (by <= attn::usual_large_negative) return std::nullopt;  // what masks add
    for (std::size_t j = 0; j < length; ++j) right.data()[begin + j] += by;
  }
  return right;
}

/// Whether a row of finite numbers has moved by more than rounding in any type.
template <std::size_t N>
bool is_moved(const Tensor<N>& now, const Tensor<N>& before) {
  constexpr double most_of_rounding = 1.0 / 64.0;  // four units of bfloat16
  const auto length = before.shape(N - 1);
  for (std::size_t begin = 0; begin < before.size(); begin += length) {
    double largest = 0.0, moved = 0.0;
    for (std::size_t i = begin; i < begin + length; ++i) {
      if (!std::isfinite(before.data()[i])) continue;
      largest = std::max(largest, std::abs(before.data()[i]));
      moved = std::max(moved, std::abs(now.data()[i] - before.data()[i]));
    }
    if (moved > most_of_rounding * largest) return true;
  }
  return false;
}

/// The same of masked scores, where large negative numbers may stand for −∞, and NaN where a row of nothing
/// but −∞ had its maximum subtracted. None where no row has moved.
template <std::size_t N>
std::optional<Tensor<N>> shifted_mask_as(const Tensor<N>& theirs, const Tensor<N>& masked) {
  auto shifted = shifted_as(theirs, masked);
  if (!shifted || !is_moved(*shifted, masked)) return std::nullopt;
  const auto length = masked.shape(N - 1);
  for (std::size_t begin = 0; begin < masked.size(); begin += length) {
    const auto* const row = masked.data() + begin;
    const bool is_empty = std::all_of(row, row + length, [](double x) { return x == -infinity; });
    for (std::size_t j = 0; j < length; ++j) {
      const double number = theirs.data()[begin + j];
      const bool is_fill = number <= attn::usual_large_negative || (is_empty && std::isnan(number));
      if (row[j] == -infinity && is_fill) shifted->data()[begin + j] = number;
    }
  }
  return shifted;
}

template <std::size_t N>
std::optional<Tensor<N>> divided_by_a_layer(const Tensor<N>& theirs, const Tensor<N>& right) {
  if (theirs.shape() != right.shape()) return std::nullopt;
  const auto largest = std::max_element(right.begin(), right.end(),
                                        [](double a, double b) { return std::abs(a) < std::abs(b); });
  const double layer = std::round(*largest / theirs.data()[largest - right.begin()]);
  if (!(layer >= 2.0 && layer <= 1000.0)) return std::nullopt;
  return attn::divide(right, layer);
}

template <std::size_t N>
attn::Mistakes mistakes_of_scores(const Workbench& bench, const Tensor<N>& Q, const Tensor<N>& K,
                                  const Tensor<N>& scores, double divisor) {
  attn::Mistakes mistakes = {
      {"qk-swapped", [&] { return attn::matmul(K, attn::transpose(Q)); }},
      {"key-not-transposed", [&] { return attn::matmul(Q, reshaped_for_product(K)); }},
      {"scores-already-scaled", [&scores, divisor] { return attn::divide(scores, divisor); }},
      {"scores-shifted", [&](const Tensor<N>& theirs) { return shifted_as(theirs, scores); }},
  };
  if (Q.shape(0) > 1) mistakes.emplace_back("batch-leak", [&] { return across_samples(Q, K); });
  if constexpr (N == 4) {
    mistakes.emplace_back("heads-tied:queries",
                          [&] { return attn::matmul(head_0_for_all(Q), attn::transpose(K)); });
    mistakes.emplace_back("heads-tied:keys",
                          [&] { return attn::matmul(Q, attn::transpose(head_0_for_all(K))); });
    mistakes.emplace_back(
        "heads-tied", [&] { return attn::matmul(head_0_for_all(Q), attn::transpose(head_0_for_all(K))); });
    if (has_shared_heads(bench)) {
      mistakes.emplace_back("gqa-tile",
                            [&] { return attn::matmul(Q, attn::transpose(tiled_heads(bench, K))); });
      mistakes.emplace_back("repeat-kv-axis",
                            [&] { return attn::matmul(Q, attn::transpose(repeated_along_keys(bench, K))); });
    }
  }
  return mistakes;
}

template <std::size_t N>
attn::Mistakes mistakes_of_divisor(const Workbench& bench, const Tensor<N>& scores, std::size_t d_k) {
  const double T = bench.options.temperature, root = std::sqrt(static_cast<double>(d_k));
  const auto over = [&scores, T](double divisor) { return attn::divide(scores, divisor * T); };
  attn::Mistakes mistakes = {
      {"no-scale", [=] { return over(1.0); }},
      {"scale-d-k", [=] { return over(root * root); }},
      {"scale-twice", [=] { return over(root * root); }},
      {"scale-multiplied", [=] { return over(1.0 / root); }},
      {"scale-keys", [=, keys = static_cast<double>(scores.shape(N - 1))] { return over(std::sqrt(keys)); }}};
  if (bench.options.d_model && bench.plan.lesson->uses("d-model"))
    mistakes.emplace_back("scale-d-model", [=, d_model = static_cast<double>(bench.d_model())] {
      return over(std::sqrt(d_model));
    });
  if (N == 4) {
    const auto h = static_cast<double>(bench.heads());
    mistakes.emplace_back("scale-heads", [=] { return over(std::sqrt(h)); });
    mistakes.emplace_back("scale-d-model:all-heads", [=] { return over(std::sqrt(h) * root); });
  }
  return mistakes;
}

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

template <std::size_t N>
attn::Mistakes mistakes_of_masked(const Workbench& bench, const Tensor<N>& scaled, const Mask<3>& mask) {
  const auto rules = rules_of(bench, mask);
  const auto filled = [&](auto fill) { return where_seen(scaled, mask, fill); };
  attn::Mistakes mistakes = {
      {"mask-missing", [&] { return scaled; }},
      {"mask-after-softmax", [&] { return scaled; }},
      {"mask-fill-zero", [=] { return filled([](double) { return 0.0; }); }},
      {"mask-fill-zero:1e-9", [=] { return filled([](double) { return 1e-9; }); }},
      {"mask-fill-zero:multiplied", [=] { return filled([](double x) { return x * 0.0; }); }},
      {"mask-fill-zero:-1e-9", [=] { return filled([](double) { return -1e-9; }); }},
      {"mask-fill-plus-inf", [=] { return filled([](double) { return infinity; }); }},
      {"mask-added-as-bool",
       [&] { return where_seen(attn::shift(scaled, 1.0), mask, [](double x) { return x - 1.0; }); }},
      {"mask-added-as-bool:hidden", [=] { return filled([](double x) { return x + 1.0; }); }},
      {"mask-zero-times-inf",
       [&] {
         return where_seen(each(scaled, [](double) { return not_a_number; }), mask,
                           [](double) { return -infinity; });
       }},
      {"mask-fill-too-small",
       [&](const Tensor<N>& theirs) -> std::optional<Tensor<N>> {
         const auto fill = fill_of(theirs, mask);
         if (!fill || *fill >= 0.0 || *fill <= attn::usual_large_negative) return std::nullopt;
         return where_seen(scaled, mask, [&](double) { return *fill; });
       }},
      {"large-negative-fill", [&](const Tensor<N>& theirs) { return filled_as(theirs, scaled, mask); }},
      {"large-negative-fill:unseen", [=] { return filled([](double) { return usual_fill; }); }},
      {"scores-shifted:masked",
       [&](const Tensor<N>& theirs) { return shifted_mask_as(theirs, attn::apply_mask(scaled, mask)); }},
      {"dropout-before-softmax",
       [&](const Tensor<N>& theirs) { return with_dropout_of(theirs, attn::apply_mask(scaled, mask)); }},
  };
  for (const double fill : small_fills) {
    mistakes.emplace_back("mask-fill-too-small:" + std::to_string(static_cast<int>(fill)),
                          [=] { return filled([=](double) { return fill; }); });
    mistakes.emplace_back("mask-fill-too-small:added" + std::to_string(static_cast<int>(fill)),
                          [=] { return filled([=](double x) { return x + fill; }); });
  }
  /// Of another mask. A row of nothing but −∞ is not what a row of nothing but a large negative number is.
  const auto add_mask = [&](const std::string& id, auto may_see) {
    const auto other = [&mask, rules, may_see] {
      return masked_by(mask, [&](auto b, auto i, auto j) { return may_see(rules, b, i, j); });
    };
    mistakes.emplace_back(id, [&scaled, other] { return attn::apply_mask(scaled, other()); });
    const auto add_filled = [&](const std::string& variant, auto fill) {
      mistakes.emplace_back(id + variant, [&scaled, other, fill]() -> std::optional<Tensor<N>> {
        const auto seen = other();
        if (!attn::has_empty_row(seen)) return std::nullopt;
        return where_seen(scaled, seen, fill);
      });
    };
    add_filled(":filled", [](double) { return usual_fill; });
    add_filled(":added:filled", [](double score) { return score + usual_fill; });
  };
  add_mask("mask-inverted", [&mask](const Rules&, auto b, auto i, auto j) { return !mask(b, i, j); });
  const auto add_shifted = [&](const std::string& id, std::ptrdiff_t later, std::ptrdiff_t wider) {
    add_mask(id, [later, wider](const Rules& r, auto b, auto i, auto j) {
      return r.is_real[b][j] && r.sees(i, j, r.offset, later, wider);
    });
  };
  if (rules.is_causal) {
    add_shifted("mask-diagonal", -1, 0);
    add_shifted("mask-leaks-one", 1, 0);
    if (rules.offset != 0)
      add_mask("mask-causal-corner",
               [](const Rules& r, auto b, auto i, auto j) { return r.is_real[b][j] && r.sees(i, j, 0); });
  } else if (mask.shape(1) == mask.shape(2)) {
    add_mask("causal-in-encoder",
             [&mask](const Rules&, auto b, auto i, auto j) { return mask(b, i, j) && j <= i; });
  }
  if (rules.window) {
    add_shifted("window-off-by-one:wide", 0, 1);
    add_shifted("window-off-by-one:narrow", 0, -1);
  }
  for (const auto& forgotten : with_one_forgotten(rules))
    mistakes.emplace_back(forgotten.first, [&, r = forgotten.second]() -> std::optional<Tensor<N>> {
      const auto other =
          masked_by(mask, [&](auto b, auto i, auto j) { return r.is_real[b][j] && r.sees(i, j, r.offset); });
      if (other == mask) return std::nullopt;
      return attn::apply_mask(scaled, other);
    });
  const bool is_padded = has_padding(rules);
  if (is_padded && mask.shape(1) == mask.shape(2))
    add_mask("mask-padding-on-queries", [](const Rules& r, auto b, auto i, auto j) {
      return r.is_real[b][i] && r.sees(i, j, r.offset);
    });
  if (is_padded)
    for (const auto& [id, lowest] : lowest_numbers)
      mistakes.emplace_back(id, [&scaled, &mask, rules, lowest = lowest] {
        return with_overflowing_sum(scaled, mask, rules, lowest);
      });
  const auto& target = bench.plan.target;
  if (is_padded && bench.plan.lesson->uses("target") && target.size() == mask.shape(0))
    add_mask("cross-mask-target", [lengths = target.lengths()](const Rules& r, auto b, auto i, auto j) {
      return j < lengths[b] && r.sees(i, j, r.offset);
    });
  if constexpr (N == 4)
    if (is_padded)
      mistakes.emplace_back("mask-batch-order", [&, rules] {
        auto result = scaled;
        const auto batch = scaled.shape(0), heads = scaled.shape(1);
        for (std::size_t b = 0; b < batch; ++b)
          for (std::size_t h = 0; h < heads; ++h)
            for (std::size_t i = 0; i < mask.shape(1); ++i)
              for (std::size_t j = 0; j < mask.shape(2); ++j)
                if (!rules.is_real[(b * heads + h) % batch][j] || !rules.sees(i, j, rules.offset))
                  result(b, h, i, j) = -infinity;
        return result;
      });
  return mistakes;
}

template <std::size_t N>
attn::Mistakes mistakes_of_weights(const Workbench& bench, const Tensor<N>& seen, const Tensor<N>& scaled,
                                   const std::optional<Mask<3>>& mask, double divisor) {
  attn::Mistakes mistakes = {
      {"softmax-axis", [&] { return softmax_along(seen, N - 2); }},
      {"softmax-axis:naive", [&] { return naive_softmax_along(seen, N - 2); }},
      {"softmax-not-divided", [&] { return undivided_softmax(seen, true); }},
      {"softmax-not-divided:no-shift", [&] { return undivided_softmax(seen, false); }},
      {"softmax-no-shift", [&] { return softmax_without_shift(seen, 3.4028234663852886e38); }},
      {"softmax-no-shift:float16", [&] { return softmax_without_shift(seen, 65504.0); }},
      {"dropout-at-inference",
       [&](const Tensor<N>& theirs) { return with_dropout_of(theirs, attn::softmax(seen)); }},
      {"empty-row-nan",
       [&] { return with_empty_rows(seen, each(seen, [](double) { return not_a_number; })); }},
      {"empty-row-uniform",
       [&] { return with_empty_rows(seen, attn::softmax(attn::Tensor<N>(seen.shape(), 0.0))); }},
      {"empty-row-uniform:added",
       [&] { return with_empty_rows(seen, attn::softmax(attn::shift(scaled, usual_fill))); }},
  };
  if (seen.shape(0) > 1) {
    mistakes.emplace_back("softmax-axis:batch", [&] { return softmax_along(seen, 0); });
    mistakes.emplace_back("softmax-axis:batch-naive", [&] { return naive_softmax_along(seen, 0); });
  }
  if (divisor != 1.0)
    mistakes.emplace_back("scale-after-softmax",
                          [&seen, divisor] { return attn::divide(attn::softmax(seen), divisor); });
  if constexpr (N == 4) {
    mistakes.emplace_back("softmax-axis:heads", [&] { return softmax_along(seen, 1); });
    mistakes.emplace_back("softmax-axis:heads-naive", [&] { return naive_softmax_along(seen, 1); });
  }
  if constexpr (N == 4)
    if (bench.plan.lesson->uses("new-tokens") && !mask) {
      const auto of_new_row = mistakes_of_new_row(seen);
      mistakes.insert(mistakes.end(), of_new_row.begin(), of_new_row.end());
    }
  if (mask) {
    mistakes.emplace_back("mask-after-softmax", [&] {
      return where_seen(attn::softmax(scaled), *mask, [](double) { return 0.0; });
    });
    mistakes.emplace_back("mask-missing:unused", [&] { return attn::softmax(scaled); });
  } else if (seen.shape(N - 1) == seen.shape(N - 2)) {
    mistakes.emplace_back("causal-in-encoder", [&] {
      return attn::softmax(attn::apply_mask(seen, attn::causal_mask(seen.shape(N - 2), seen.shape(N - 1))));
    });
  }
  return mistakes;
}

template <std::size_t N>
attn::Mistakes mistakes_of_output(const Workbench& bench, const Tensor<N>& weights, const Tensor<N>& V,
                                  const Tensor<N>& output) {
  attn::Mistakes mistakes = {
      {"dropout-on-output", [&](const Tensor<N>& theirs) { return with_dropout_of(theirs, output); }}};
  if (weights.shape(N - 1) == weights.shape(N - 2))
    mistakes.emplace_back("weights-transposed", [&] { return attn::matmul(attn::transpose(weights), V); });
  if constexpr (N == 4)
    if (has_shared_heads(bench)) {
      mistakes.emplace_back("gqa-tile", [&] { return attn::matmul(weights, tiled_heads(bench, V)); });
      mistakes.emplace_back("repeat-kv-axis",
                            [&] { return attn::matmul(weights, repeated_along_keys(bench, V)); });
    }
  return mistakes;
}

template <std::size_t N>
attn::Mistakes mistakes_of_mixture(const Workbench& bench, const Tensor<N>& weights, const Tensor<N>& K,
                                   const Tensor<N>& V, const Tensor<N>& output) {
  auto mistakes = mistakes_of_output(bench, weights, V, output);
  mistakes.emplace_back("keys-for-values", [&] { return attn::matmul(weights, K); });
  return mistakes;
}

#define INSTANTIATE(N)                                                                              \
  template std::optional<Tensor<N>> shifted_as(const Tensor<N>&, Tensor<N>);                        \
  template std::optional<Tensor<N>> with_dropout_of(const Tensor<N>&, const Tensor<N>&);            \
  template std::optional<Tensor<N>> divided_by_a_layer(const Tensor<N>&, const Tensor<N>&);         \
  template attn::Mistakes mistakes_of_scores(const Workbench&, const Tensor<N>&, const Tensor<N>&,  \
                                             const Tensor<N>&, double);                             \
  template attn::Mistakes mistakes_of_divisor(const Workbench&, const Tensor<N>&, std::size_t);     \
  template attn::Mistakes mistakes_of_scaled(const Workbench&, const Tensor<N>&, std::size_t);      \
  template attn::Mistakes mistakes_of_masked(const Workbench&, const Tensor<N>&, const Mask<3>&);   \
  template attn::Mistakes mistakes_of_weights(const Workbench&, const Tensor<N>&, const Tensor<N>&, \
                                              const std::optional<Mask<3>>&, double);               \
  template attn::Mistakes mistakes_of_output(const Workbench&, const Tensor<N>&, const Tensor<N>&,  \
                                             const Tensor<N>&);                                     \
  template attn::Mistakes mistakes_of_mixture(const Workbench&, const Tensor<N>&, const Tensor<N>&, \
                                              const Tensor<N>&, const Tensor<N>&);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE
template std::optional<Tensor<2>> shifted_as(const Tensor<2>&, Tensor<2>);

}  // namespace lessons
