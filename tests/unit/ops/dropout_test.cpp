#include "attn/ops/dropout.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

#include "attn/random/random_state.hpp"
#include "tests/unit/fixture.hpp"

using attn::Integers;
using attn::RandomState;
using attn::Tensor;
using Catch::Contains;

TEMPLATE_TEST_CASE_SIG("masks and dropped weights are NumPy's", "[dropout]", ((std::size_t N), N), 3, 4) {
  const auto cases = fixture::cases_of_rank<N>("dropout", "weights");
  REQUIRE(!cases.empty());
  for (const auto& one : cases) {
    const double p = one["p"];
    CAPTURE(p);
    RandomState random(one["seed"]);
    const auto weights = fixture::tensor<N>(one["weights"]);
    const auto mask = attn::dropout_mask<N>(random, p, weights.shape());
    CHECK((mask == fixture::tensor<std::int64_t, N>(one["mask"])));
    CHECK((attn::dropout(weights, mask, p) == fixture::tensor<N>(one["dropped"])));
  }
}

TEST_CASE("survivors grow by 1 / (1 − p), the others vanish", "[dropout]") {
  const Tensor<3> weights = {{{0.5, 0.25, 0.25}}};
  const Integers<3> mask = {{{1, 0, 1}}};
  CHECK((attn::dropout(weights, mask, 0.75) == Tensor<3>{{{2, 0, 1}}}));
}

TEST_CASE("nothing is dropped with p = 0", "[dropout]") {
  RandomState random(42);
  const Tensor<3> weights = {{{0.3, 0.7}}};
  const auto mask = attn::dropout_mask<3>(random, 0.0, weights.shape());
  CHECK((attn::dropout(weights, mask, 0.0) == weights));
}

TEST_CASE("a weight keeps its expected value", "[dropout]") {
  RandomState random(42);
  const Tensor<3> ones = xt::ones<double>({10, 100, 100});
  const auto dropped = attn::dropout(ones, attn::dropout_mask<3>(random, 0.3, ones.shape()), 0.3);
  double sum = 0.0;
  for (const double weight : dropped) sum += weight;
  CHECK(sum / 1e5 == Approx(1.0).epsilon(0).margin(0.01));  // seven standard errors
}

TEST_CASE("p that is no probability below 1 is refused", "[dropout]") {
  const double p = GENERATE(-0.1, 1.0, 1.5, std::numeric_limits<double>::quiet_NaN());
  RandomState random(42);
  const Tensor<3> weights = {{{1.0}}};
  const Integers<3> mask = {{{1}}};
  CHECK_THROWS_AS(attn::dropout_mask<3>(random, p, weights.shape()), std::invalid_argument);
  CHECK_THROWS_WITH(attn::dropout(weights, mask, p), Contains("[dropout] p is "));
}

TEST_CASE("a dropout mask of another shape is refused with both shapes", "[dropout]") {
  const Tensor<3> weights = {{{1.0, 0.0}}};
  const Integers<3> mask = {{{1, 1, 1}}};
  CHECK_THROWS_WITH(attn::dropout(weights, mask, 0.5), Contains("1×1×2") && Contains("1×1×3"));
}
