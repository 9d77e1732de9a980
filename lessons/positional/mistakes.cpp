#include "lessons/positional/mistakes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional_bias.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/sdpa/mistakes.hpp"

namespace lessons {

namespace {

double root_of(std::size_t d) {
  return std::sqrt(static_cast<double>(d));
}

/// What `then` makes of the tensors [N axes] of mistakes in a step before, which is not shown.
template <std::size_t N, class Then>
attn::Mistakes carried_on(const attn::Mistakes& mistakes, Then then) {
  attn::Mistakes carried;
  for (const auto& mistake : mistakes)
    if (!mistake.is_fitted())
      carried.emplace_back(mistake.id(),
                           [mistake, then]() -> decltype(std::optional(then(std::declval<Tensor<N>>()))) {
                             const auto result = mistake.result(nullptr);
                             if (!result) return std::nullopt;
                             return then(attn::array_of<double, N>(*result));
                           });
  return carried;
}

/// The frequencies [pair] with base^(−exponent(i)).
template <class Exponent>
Tensor<1> frequencies_with(std::size_t d, double base, Exponent exponent) {
  auto frequencies = Tensor<1>::from_shape({d / 2});
  for (std::size_t i = 0; i < d / 2; ++i) frequencies(i) = std::pow(base, -exponent(static_cast<double>(i)));
  return frequencies;
}

constexpr double usual_base = 10000.0;

/// The angles of the positions `first`, `first` + 1, …
Tensor<2> angles_from(double first, std::size_t n, const Tensor<1>& frequencies) {
  auto angles = Tensor<2>::from_shape({n, frequencies.size()});
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t i = 0; i < frequencies.size(); ++i)
      angles(p, i) = (static_cast<double>(p) + first) * frequencies(i);
  return angles;
}

/// The table [position×d] of n positions whose second pair has somebody's sines and cosines: `pair(p)` gives
/// them for position p, each of which makes the frequency more precise. None where they are of no base.
template <class PairOf>
std::optional<Tensor<2>> table_of_base_in(std::size_t n, std::size_t d, PairOf pair) {
  if (n < 2 || d < 4) return std::nullopt;
  double frequency = 0.0;
  for (std::size_t p = 1; p < n; ++p) {
    const auto [sine, cosine] = pair(p);
    const double position = static_cast<double>(p), angle = std::atan2(sine, cosine);
    const double turns = std::round((position * frequency - angle) / (2.0 * std::numbers::pi));
    frequency = (angle + 2.0 * std::numbers::pi * turns) / position;
  }
  if (!(frequency > 0.0 && frequency <= 1.0)) return std::nullopt;
  const auto frequencies = frequencies_with(d, frequency, [](double i) { return -i; });
  return attn::sines_and_cosines(angles_from(0.0, n, frequencies));
}

/// X [batch×token×d] with row `row_of(b, p)` of the table added to token p of sample b.
template <class RowOf>
Tensor<3> with_rows_of(const Tensor<3>& X, const Tensor<2>& table, RowOf row_of) {
  auto sum = X;
  for (std::size_t b = 0; b < X.shape(0); ++b)
    for (std::size_t p = 0; p < X.shape(1); ++p)
      for (std::size_t j = 0; j < X.shape(2); ++j) sum(b, p, j) += table(row_of(b, p), j);
  return sum;
}

/// X ∘ table, token by token.
Tensor<3> times_positions(const Tensor<3>& X, const Tensor<2>& table) {
  auto product = X;
  for (std::size_t b = 0; b < X.shape(0); ++b)
    for (std::size_t p = 0; p < X.shape(1); ++p)
      for (std::size_t j = 0; j < X.shape(2); ++j) product(b, p, j) *= table(p, j);
  return product;
}

/// The positions [batch][token] of sentences that are filled up on the left, if the filling counts. None
/// where nothing is filled up.
std::optional<std::vector<std::vector<std::size_t>>> positions_with_padding(
    const std::vector<std::size_t>& lengths, std::size_t n) {
  if (std::all_of(lengths.begin(), lengths.end(), [n](std::size_t length) { return length == n; }))
    return std::nullopt;
  std::vector<std::vector<std::size_t>> positions;
  for (const auto length : lengths) {
    positions.emplace_back(n);
    for (std::size_t p = 0; p < n; ++p) positions.back()[p] = (p + n - length) % n;
  }
  return positions;
}

/// Each token turned by the angle of its position in `positions` [batch][token].
Tensor<3> rotated_at(const Tensor<3>& X, const Tensor<2>& angles,
                     const std::vector<std::vector<std::size_t>>& positions, attn::Pairing pairing) {
  auto rotated = X;
  for (std::size_t b = 0; b < X.shape(0); ++b) {
    const auto sample =
        attn::rotate_pairs(attn::as_batch(attn::sample(X, b)), attn::rows(angles, positions[b]), pairing);
    std::copy(sample.begin(), sample.end(), &rotated(b, 0, 0));
  }
  return rotated;
}

attn::Pairing other_than(attn::Pairing pairing) {
  return pairing == attn::Pairing::adjacent ? attn::Pairing::halves : attn::Pairing::adjacent;
}

/// Keys of a cache that is rotated again, as a whole, whenever a token is added to the first `prompt` ones.
Tensor<3> rotated_at_each_step(const Tensor<3>& X, const Tensor<2>& angles, attn::Pairing pairing,
                               std::size_t prompt) {
  const auto n = X.shape(1);
  auto total = angles;
  for (std::size_t p = 0; p < n; ++p) {
    const auto times = static_cast<double>((p < prompt ? 1 : 0) + n - std::max(p, prompt));
    for (std::size_t i = 0; i < angles.shape(1); ++i) total(p, i) *= times;
  }
  return rotate_pairs(X, total, pairing);
}

/// The same after the prompt that fits somebody's keys best.
std::optional<Tensor<3>> rotated_at_steps_of(const Tensor<3>& theirs, const Tensor<3>& X,
                                             const Tensor<2>& angles, attn::Pairing pairing) {
  if (theirs.shape() != X.shape()) return std::nullopt;
  std::optional<Tensor<3>> best;
  for (std::size_t prompt = 1; prompt < X.shape(1); ++prompt) {
    auto keys = rotated_at_each_step(X, angles, pairing, prompt);
    if (!best || attn::max_abs_difference(keys, theirs) < attn::max_abs_difference(*best, theirs))
      best = std::move(keys);
  }
  return best;
}

/// Of queries and keys alike.
attn::Mistakes mistakes_of_rotated(const Workbench& bench, const Tensor<3>& X, const Tensor<2>& angles,
                                   attn::Pairing pairing) {
  return {
      {"rope-pairing", [&X, &angles, pairing] { return rotate_pairs(X, angles, other_than(pairing)); }},
      {"rope-twice:rotation",
       [&X, &angles, pairing] { return rotate_pairs(X, attn::divide(angles, 0.5), pairing); }},
      {"rope-sign", [&X, &angles, pairing] { return rotate_pairs(X, attn::divide(angles, -1.0), pairing); }},
      {"pe-missing", [&X] { return X; }},
      {"positions-count-padding",
       [&X, &angles, pairing, lengths = bench.plan.sentence.lengths()]() -> std::optional<Tensor<3>> {
         const auto positions = positions_with_padding(lengths, X.shape(1));
         if (!positions) return std::nullopt;
         return rotated_at(X, angles, *positions, pairing);
       }},
      {"rope-wrong-axis", [&X, &angles, pairing]() -> std::optional<Tensor<3>> {
         if (X.shape(0) == 1 || X.shape(0) > X.shape(1)) return std::nullopt;
         std::vector<std::vector<std::size_t>> samples;
         for (std::size_t b = 0; b < X.shape(0); ++b) samples.emplace_back(X.shape(1), b);
         return rotated_at(X, angles, samples, pairing);
       }}};
}

/// ALiBi's slopes as its authors' program has them where the number of heads is no power of two: those of the
/// power below it, and then every other one of those of the power above it.
Tensor<1> slopes_between_powers(std::size_t heads) {
  std::size_t below = 1;
  while (2 * below <= heads) below *= 2;
  const auto of_below = attn::alibi_slopes(below), of_above = attn::alibi_slopes(2 * below);
  auto slopes = Tensor<1>::from_shape({heads});
  for (std::size_t h = 0; h < heads; ++h) slopes(h) = h < below ? of_below(h) : of_above(2 * (h - below));
  return slopes;
}

/// slopeₕ · cost(j − i).
template <class Cost>
Tensor<3> bias_by_distance(const Tensor<1>& slopes, std::size_t n, Cost cost) {
  auto bias = Tensor<3>::from_shape({slopes.size(), n, n});
  for (std::size_t h = 0; h < slopes.size(); ++h)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        bias(h, i, j) = slopes(h) * cost(static_cast<double>(j) - static_cast<double>(i));
  return bias;
}

/// By what scores are divided when it is not by √d. `product` gives them undivided.
template <class Product>
attn::Mistakes mistakes_of_scale(Product product, std::size_t d) {
  const auto over = [product](double divisor) { return attn::divide(product(), divisor); };
  const double root = root_of(d);
  return {{"no-scale", [=] { return over(1.0); }},
          {"scale-d-k", [=] { return over(root * root); }},
          {"scale-twice", [=] { return over(root * root); }},
          {"scale-multiplied", [=] { return over(1.0 / root); }},
          {"scale-keys",
           [product] {
             auto scores = product();
             const auto keys = static_cast<double>(scores.shape().back());
             return attn::divide(std::move(scores), std::sqrt(keys));
           }},
          {"scale-after-softmax", [=] { return over(1.0); }}};
}

/// `theirs` [head×query×key] with each head of `bias`, which has fewer, in the place of the head that is most
/// like it.
Tensor<3> with_heads_of(Tensor<3> theirs, const Tensor<3>& bias) {
  const auto size = static_cast<std::ptrdiff_t>(bias.shape(1) * bias.shape(2));
  const auto heads = static_cast<std::ptrdiff_t>(theirs.shape(0));
  const auto given = theirs;
  for (const auto* head = bias.data(); head != bias.data() + bias.size(); head += size) {
    std::vector<double> distances;
    for (std::ptrdiff_t other = 0; other < heads; ++other)
      distances.push_back(std::inner_product(head, head + size, given.data() + other * size, 0.0,
                                             std::plus<>(),
                                             [](double a, double b) { return std::abs(a - b); }));
    const auto nearest = std::min_element(distances.begin(), distances.end()) - distances.begin();
    std::copy_n(head, size, theirs.data() + nearest * size);
  }
  return theirs;
}

}  // namespace

attn::Mistakes mistakes_of_frequencies(std::size_t d) {
  const auto width = static_cast<double>(d);
  const auto usual = [width](double i) { return 2.0 * i / width; };
  attn::Mistakes mistakes = {
      {"pe-exponent:i/d",
       [=] { return frequencies_with(d, usual_base, [=](double i) { return i / width; }); }},
      {"pe-exponent:4i/d",
       [=] { return frequencies_with(d, usual_base, [=](double i) { return 4.0 * i / width; }); }},
      {"pe-base:100", [=] { return frequencies_with(d, 100.0, usual); }},
      {"pe-base:1000", [=] { return frequencies_with(d, 1000.0, usual); }},
      {"pe-base:100000", [=] { return frequencies_with(d, 100000.0, usual); }},
      {"pe-base:100000000", [=] { return frequencies_with(d, 1e8, usual); }},
      {"pe-base:floor",  // -log(10000.0) / d // 2, which is -1
       [=] { return frequencies_with(d, std::exp(1.0), [](double i) { return 2.0 * i; }); }},
      {"pe-base",
       [=](const Tensor<1>& theirs) -> std::optional<Tensor<1>> {
         if (theirs.size() < 2 || !(theirs(1) > 0.0)) return std::nullopt;
         return frequencies_with(d, std::pow(theirs(1), -width / 2.0), usual);
       }},
      {"pe-integer-division", [=] { return frequencies_with(d, usual_base, [](double) { return 0.0; }); }},
  };
  if (d > 2)
    mistakes.emplace_back("pe-last-frequency", [=] {
      return frequencies_with(d, usual_base, [=](double i) { return 2.0 * i / (width - 2.0); });
    });
  return mistakes;
}

attn::Mistakes mistakes_of_angles(std::size_t n, const Tensor<1>& frequencies) {
  return {{"pe-off-by-one", [=, &frequencies] { return angles_from(1.0, n, frequencies); }},
          {"pe-base:angles", [=](const Tensor<2>& theirs) -> std::optional<Tensor<2>> {
             if (theirs.shape(0) < 2 || theirs.shape(1) < 2 || !(theirs(1, 1) > 0.0)) return std::nullopt;
             return angles_from(
                 0.0, n, frequencies_with(2 * theirs.shape(1), theirs(1, 1), [](double i) { return -i; }));
           }}};
}

attn::Mistakes mistakes_of_encoding(const Tensor<2>& angles) {
  return {{"pe-base:table",
           [](const Tensor<2>& theirs) {
             return table_of_base_in(theirs.shape(0), theirs.shape(1), [&theirs](std::size_t p) {
               return std::pair(theirs(p, 2), theirs(p, 3));
             });
           }},
          {"pe-halves",
           [&angles] {
             const auto in_turns = attn::sines_and_cosines(angles);
             const auto pairs = angles.shape(1);
             auto halves = in_turns;
             for (std::size_t p = 0; p < angles.shape(0); ++p)
               for (std::size_t j = 0; j < 2 * pairs; ++j)
                 halves(p, j) = in_turns(p, j < pairs ? 2 * j : 2 * (j - pairs) + 1);
             return halves;
           }},
          {"pe-cos-exponent", [&angles] {
             const double slower = std::pow(usual_base, 1.0 / static_cast<double>(2 * angles.shape(1)));
             auto encoding = attn::sines_and_cosines(angles);
             for (std::size_t p = 0; p < angles.shape(0); ++p)
               for (std::size_t i = 0; i < angles.shape(1); ++i)
                 encoding(p, 2 * i + 1) = std::cos(angles(p, i) / slower);
             return encoding;
           }}};
}

attn::Mistakes mistakes_of_encoded(const Workbench& bench, const Tensor<3>& X, const Tensor<2>& table) {
  return {
      {"pe-missing", [&X] { return X; }},
      {"pe-multiplied", [&] { return times_positions(X, table); }},
      {"pe-one-row", [&] { return with_rows_of(X, table, [](auto, auto) { return std::size_t{0}; }); }},
      {"pe-one-row:batch",
       [&]() -> std::optional<Tensor<3>> {
         if (X.shape(0) > table.shape(0)) return std::nullopt;
         return with_rows_of(X, table, [](auto b, auto) { return b; });
       }},
      {"positions-count-padding", [&, lengths = bench.plan.sentence.lengths()]() -> std::optional<Tensor<3>> {
         const auto positions = positions_with_padding(lengths, X.shape(1));
         if (!positions) return std::nullopt;
         return with_rows_of(X, table, [&](auto b, auto p) { return (*positions)[b][p]; });
       }}};
}

attn::Mistakes mistakes_of_sinusoidal_sum(const Workbench& bench, const Tensor<3>& X,
                                          const Tensor<2>& table) {
  auto mistakes = mistakes_of_encoded(bench, X, table);
  mistakes.emplace_back("pe-base:sum", [&X](const Tensor<3>& theirs) -> std::optional<Tensor<3>> {
    if (theirs.shape() != X.shape()) return std::nullopt;
    const auto added = [&](std::size_t p, std::size_t j) { return theirs(0, p, j) - X(0, p, j); };
    const auto other = table_of_base_in(X.shape(1), X.shape(2),
                                        [&](std::size_t p) { return std::pair(added(p, 2), added(p, 3)); });
    if (!other) return std::nullopt;
    return with_rows_of(X, *other, [](auto, auto p) { return p; });
  });
  return mistakes;
}

attn::Mistakes mistakes_of_scaled_product(const Tensor<3>& x, const Tensor<3>& y) {
  const auto product = [&] { return attn::matmul(x, attn::transpose(y)); };
  const auto d = x.shape(2);
  auto mistakes = mistakes_of_scale(product, d);
  mistakes.emplace_back("scores-shifted", [=](const Tensor<3>& theirs) {
    return shifted_as(theirs, attn::divide(product(), root_of(d)));
  });
  return mistakes;
}

attn::Mistakes mistakes_of_distances(std::size_t n, std::function<std::int64_t(std::int64_t)> of_distance) {
  const auto between = [n, of_distance = std::move(of_distance)](auto distance) {
    Integers<2> result({n, n});
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        result(i, j) = of_distance(distance(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)));
    return result;
  };
  // A decode step has one query, the last one or each in its turn, and counts its place from 0.
  const auto last = static_cast<std::int64_t>(n) - 1;
  return {{"relative-shift:transposed", [=] { return between([](auto i, auto j) { return i - j; }); }},
          {"relative-shift:up", [=] { return between([](auto i, auto j) { return j - i + 1; }); }},
          {"relative-shift:down", [=] { return between([](auto i, auto j) { return j - i - 1; }); }},
          {"relative-bias-zero-in-decode", [=] { return between([](auto, auto j) { return j; }); }},
          {"relative-bias-zero-in-decode:last",
           [=] { return between([=](auto i, auto j) { return i == last ? j : j - i; }); }},
          {"relative-bias-zero-in-decode:keys",
           [=] { return between([](auto, auto) { return std::int64_t{0}; }); }},
          {"relative-bias-zero-in-decode:last-keys",
           [=] { return between([=](auto i, auto j) { return i == last ? 0 : j - i; }); }}};
}

attn::Mistakes mistakes_of_t5_bias(const Tensor<3>& bias) {
  return {{"relative-bias-not-pruned", [&bias](const Tensor<3>& theirs) -> std::optional<Tensor<3>> {
             if (theirs.shape(0) <= bias.shape(0) || theirs.shape(1) != bias.shape(1) ||
                 theirs.shape(2) != bias.shape(2))
               return std::nullopt;
             return with_heads_of(theirs, bias);
           }}};
}

attn::Mistakes mistakes_of_relative_scores(const Tensor<3>& X, const Tensor<3>& from_distance) {
  const auto product = [&X] { return attn::matmul(X, attn::transpose(X)); };
  const auto d = X.shape(2);
  auto mistakes =
      mistakes_of_scale([product, &from_distance] { return attn::add(product(), from_distance); }, d);
  mistakes.emplace_back("pe-missing", [=] { return attn::divide(product(), root_of(d)); });
  mistakes.emplace_back("bias-scale", [=, &from_distance] {
    return attn::add(attn::divide(product(), root_of(d)), from_distance);
  });
  mistakes.emplace_back("scores-shifted", [=, &from_distance](const Tensor<3>& theirs) {
    return shifted_as(theirs, attn::divide(attn::add(product(), from_distance), root_of(d)));
  });
  return mistakes;
}

attn::Mistakes mistakes_of_bias(const Tensor<3>& scores, const Tensor<3>& bias, std::size_t d) {
  const auto with = [&scores](const Tensor<3>& other) { return attn::add_bias(scores, other); };
  return {{"scores-shifted", [=, &bias](const Tensor<4>& theirs) { return shifted_as(theirs, with(bias)); }},
          {"pe-missing", [=, &bias] { return with(xt::zeros_like(bias)); }},
          {"bias-scale", [=, &bias] { return with(attn::divide(bias, root_of(d))); }}};
}

attn::Mistakes mistakes_of_slopes(std::size_t heads) {
  attn::Mistakes mistakes = {{"alibi-slopes", [heads] {
                                auto slopes = Tensor<1>::from_shape({heads});
                                for (std::size_t h = 0; h < heads; ++h)
                                  slopes(h) =
                                      std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(heads));
                                return slopes;
                              }}};
  const bool is_power_of_two = (heads & (heads - 1)) == 0;
  if (!is_power_of_two)
    mistakes.emplace_back("alibi-slopes-between-powers", [heads] { return slopes_between_powers(heads); });
  return mistakes;
}

attn::Mistakes mistakes_of_alibi_bias(const Tensor<1>& slopes, std::size_t n) {
  const auto by = [&slopes, n](auto cost) { return bias_by_distance(slopes, n, cost); };
  return {{"alibi-sign", [=] { return by([](double distance) { return std::abs(distance); }); }},
          {"alibi-sign:later", [=] { return by([](double distance) { return distance; }); }},
          {"alibi-sign:earlier", [=] { return by([](double distance) { return -distance; }); }}};
}

attn::Mistakes mistakes_of_rope_angles(std::size_t n, std::size_t d) {
  auto mistakes = carried_on<1>(mistakes_of_frequencies(d), [n](const Tensor<1>& frequencies) {
    return attn::position_angles(n, frequencies);
  });
  mistakes.emplace_back("rope-twice:angle", [=] {
    return attn::divide(angles_from(0.0, n, attn::position_frequencies(d)), 0.5);
  });
  mistakes.emplace_back("rope-common-offset:1",
                        [=] { return angles_from(1.0, n, attn::position_frequencies(d)); });
  mistakes.emplace_back("rope-common-offset", [=](const Tensor<2>& theirs) -> std::optional<Tensor<2>> {
    if (theirs.size() == 0 || theirs(0, 0) == 0.0) return std::nullopt;
    return angles_from(theirs(0, 0), n, attn::position_frequencies(d));
  });
  return mistakes;
}

attn::Mistakes mistakes_of_rotated_queries(const Workbench& bench, const Tensor<3>& X,
                                           const Tensor<2>& angles, attn::Pairing pairing) {
  auto mistakes = mistakes_of_rotated(bench, X, angles, pairing);
  mistakes.emplace_back("rope-one-side:keys", [&X] { return X; });
  return mistakes;
}

attn::Mistakes mistakes_of_rotated_keys(const Workbench& bench, const Tensor<3>& X, const Tensor<2>& angles,
                                        attn::Pairing pairing) {
  auto mistakes = mistakes_of_rotated(bench, X, angles, pairing);
  mistakes.emplace_back("rope-one-side:queries", [&X] { return X; });
  const auto at_each_step = [&X, &angles, pairing](std::size_t prompt) {
    return [&X, &angles, pairing, prompt] { return rotated_at_each_step(X, angles, pairing, prompt); };
  };
  mistakes.emplace_back("rope-rerotated", at_each_step(0));
  if (X.shape(1) > 1) mistakes.emplace_back("rope-rerotated:last-step", at_each_step(X.shape(1) - 1));
  mistakes.emplace_back("rope-rerotated:prompt", [&X, &angles, pairing](const Tensor<3>& theirs) {
    return rotated_at_steps_of(theirs, X, angles, pairing);
  });
  return mistakes;
}

attn::Mistakes mistakes_of_rope_output(const Workbench& bench, const Tensor<3>& X, const Tensor<3>& weights,
                                       attn::Pairing pairing) {
  auto mistakes = mistakes_of_output(bench, weights, X);
  mistakes.emplace_back("rope-on-values", [&X, &weights, pairing] {
    const auto angles = attn::position_angles(X.shape(1), attn::position_frequencies(X.shape(2)));
    return attn::matmul(weights, attn::rotate_pairs(X, angles, pairing));
  });
  return mistakes;
}

template <std::size_t N>
attn::Mistakes mistakes_of_shares(const Workbench& bench, const Tensor<N>& scores, const Tensor<N>& seen,
                                  const std::optional<Mask<3>>& mask, std::size_t d) {
  auto mistakes = mistakes_of_weights(bench, seen, scores, mask, root_of(d));
  if (!mask) return mistakes;
  const auto weights_of = [&seen](const Tensor<N>& masked) -> std::optional<Tensor<N>> {
    constexpr double unseen = 1e-12;  // a fill that is small enough changes no weight
    auto weights = attn::softmax(masked);
    if (attn::max_abs_difference(weights, attn::softmax(seen)) <= unseen) return std::nullopt;
    return weights;
  };
  const auto own = mistakes;
  for (const auto& masked : carried_on<N>(mistakes_of_masked(bench, scores, *mask), weights_of))
    if (std::none_of(own.begin(), own.end(), [&](const auto& one) { return one.id() == masked.id(); }))
      mistakes.push_back(masked);
  return mistakes;
}

template attn::Mistakes mistakes_of_shares(const Workbench&, const Tensor<3>&, const Tensor<3>&,
                                           const std::optional<Mask<3>>&, std::size_t);
template attn::Mistakes mistakes_of_shares(const Workbench&, const Tensor<4>&, const Tensor<4>&,
                                           const std::optional<Mask<3>>&, std::size_t);

}  // namespace lessons
