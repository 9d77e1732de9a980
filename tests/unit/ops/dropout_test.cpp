#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

#include "attn/ops/mask.hpp"
#include "attn/random/random.hpp"
#include "tests/unit/fixture.hpp"

using attn::Integers;
using attn::RandomState;
using attn::Tensor;
using Catch::Contains;

TEMPLATE_TEST_CASE_SIG("masks are NumPy's", "[dropout]", ((std::size_t N), N), 3, 4) {
  const auto cases = fixture::cases_of_rank<N>("dropout", "weights");
  REQUIRE(!cases.empty());
  for (const auto& one : cases) {
    const double p = one["p"];
    CAPTURE(p);
    RandomState random(one["seed"]);
    const auto weights = fixture::tensor<N>(one["weights"]);
    const auto mask = attn::dropout_mask<N>(random, p, weights.shape());
    CHECK((mask == fixture::tensor<std::int64_t, N>(one["mask"])));
  }
}

TEST_CASE("nothing is dropped with p = 0", "[dropout]") {
  RandomState random(42);
  CHECK((attn::dropout_mask<3>(random, 0.0, {1, 1, 2}) == Integers<3>{{{1, 1}}}));
}

TEST_CASE("p that is no probability below 1 is refused", "[dropout]") {
  const double p = GENERATE(-0.1, 1.0, 1.5, std::numeric_limits<double>::quiet_NaN());
  RandomState random(42);
  CHECK_THROWS_AS(attn::dropout_mask<3>(random, p, {1, 1, 1}), std::invalid_argument);
  CHECK_THROWS_WITH(attn::dropout_mask<3>(random, p, {1, 1, 1}), Contains("[dropout_mask] p is "));
}
