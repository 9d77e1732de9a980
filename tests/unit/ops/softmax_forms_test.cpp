#include "attn/ops/softmax_forms.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "attn/ops/half.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Precision;
using attn::Tensor;

namespace {

/// How closely the two forms agree where neither overflows.
constexpr double tolerance = std::is_same_v<double, double> ? 1e-15 : 1e-6;

/// Scores whose largest is well beyond the range of exp in float64.
Tensor<2> large_scores() {
  return {{double(1000), double(999), double(-1000)}, {double(-5000), double(-5001), double(-5000)}};
}

template <std::size_t N>
bool holds_halves_only(const Tensor<N>& x) {
  return attn::max_abs_difference(attn::round_to(Precision::float16, x), x) == 0.0;
}

}  // namespace

TEST_CASE("for small scores both forms are softmax", "[softmax_forms]") {
  const auto scores = random_tensor<2>({3, 5}, 1);
  const auto weights = attn::softmax(scores);
  CHECK(attn::max_abs_difference(attn::naive_softmax(scores).weights, weights) <= tolerance);
  CHECK(attn::max_abs_difference(attn::stable_softmax(scores).weights, weights) <= tolerance);
}

TEST_CASE("large scores break the naive form and not the stable one", "[softmax_forms]") {
  const auto scores = large_scores();
  const auto naive = attn::naive_softmax(scores);
  CHECK(std::isinf(naive.exp(0, 0)));
  CHECK(std::isinf(naive.sum(0)));
  CHECK(std::isnan(naive.weights(0, 0)));
  CHECK(naive.weights(0, 2) == 0);
  CHECK(naive.sum(1) == 0);
  CHECK(std::isnan(naive.weights(1, 0)));
  CHECK(std::isinf(naive.logsumexp(0)));

  const auto stable = attn::stable_softmax(scores);
  CHECK(attn::count_non_finite(stable.weights) == 0);
  CHECK(attn::max_abs_difference(stable.weights, attn::softmax(scores)) <= tolerance);
  CHECK(static_cast<double>(stable.logsumexp(0)) ==
        Approx(1000.0 + std::log1p(std::exp(-1.0))).epsilon(1e-7));
  CHECK(stable.max(1) == -5000);
  CHECK(stable.shifted(1, 1) == -1);
}

TEST_CASE("the logarithm of a weight is finite where the weight is not to be seen", "[softmax_forms]") {
  const auto stable = attn::stable_softmax(large_scores());
  CHECK(stable.weights(0, 2) == 0);
  CHECK(stable.log_of_weights(0, 2) == -std::numeric_limits<double>::infinity());
  CHECK(static_cast<double>(stable.log_weights(0, 2)) == Approx(-2000.3132617).epsilon(1e-7));
  CHECK(static_cast<double>(std::exp(stable.log_weights(1, 0))) ==
        Approx(static_cast<double>(stable.weights(1, 0))));
}

TEST_CASE("a narrower format overflows earlier, and all of its numbers are of it", "[softmax_forms]") {
  const Tensor<2> scores = {{12, 1, -20}};
  const auto naive = attn::naive_softmax(scores, Precision::float16);
  CHECK(std::isinf(naive.exp(0, 0)));
  CHECK(naive.exp(0, 2) == 0);
  CHECK(std::isfinite(attn::naive_softmax(scores).exp(0, 0)));
  const auto stable = attn::stable_softmax(scores, Precision::float16);
  CHECK(holds_halves_only(stable.exp));
  CHECK(holds_halves_only(stable.sum));
  CHECK(holds_halves_only(stable.weights));
  CHECK(holds_halves_only(stable.logsumexp));
  CHECK(holds_halves_only(stable.log_weights));
  CHECK_FALSE(holds_halves_only(attn::stable_softmax(scores).exp));
}

TEST_CASE("a sum overflows half precision where none of its terms does", "[softmax_forms]") {
  const auto naive = attn::naive_softmax(Tensor<2>{{11.0, 11.0}}, Precision::float16);
  CHECK(std::isfinite(naive.exp(0, 0)));
  CHECK(std::isinf(naive.sum(0)));
  CHECK((naive.weights == Tensor<2>{{0.0, 0.0}}));
}

TEST_CASE("float32 in a float64 tensor is what float32 is", "[softmax_forms]") {
  const auto scores = random_tensor<float, 2>({2, 4}, 3);
  const Tensor<2> wide = xt::cast<double>(scores);
  const auto narrow = attn::stable_softmax(scores),
             emulated_in = attn::stable_softmax(scores, Precision::float32);
  const auto emulated = attn::stable_softmax(wide, Precision::float32);
  CHECK((narrow.weights == emulated_in.weights));
  for (std::size_t i = 0; i < scores.size(); ++i)
    CHECK(static_cast<double>(narrow.weights.data()[i]) == emulated.weights.data()[i]);
}

TEST_CASE("a row without a key is NaN, as in NumPy", "[softmax_forms]") {
  const double hidden = -std::numeric_limits<double>::infinity();
  const auto stable = attn::stable_softmax(Tensor<2>{{hidden, hidden}, {hidden, 1.0}});
  CHECK(std::isnan(stable.weights(0, 0)));
  CHECK(stable.weights(1, 1) == 1.0);
}

TEST_CASE("log-sum-exp is a soft maximum, and a wrong one is not", "[softmax_forms]") {
  auto stable = attn::stable_softmax(random_tensor<2>({4, 6}, 2));
  CHECK(attn::distance_from_soft_maximum(stable) == 0.0);
  auto low = stable, high = stable, broken = stable;
  low.logsumexp(2) = low.max(2) - double(0.5);
  CHECK(attn::distance_from_soft_maximum(low) == Approx(0.5));
  high.logsumexp(3) = high.max(3) + double(2);
  CHECK(attn::distance_from_soft_maximum(high) == Approx(2.0 - std::log(6.0)));
  broken.logsumexp(0) = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(attn::distance_from_soft_maximum(broken)));
}
