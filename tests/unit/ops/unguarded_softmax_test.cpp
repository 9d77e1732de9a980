#include "attn/ops/unguarded_softmax.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "attn/ops/softmax.hpp"

using attn::Tensor;

TEST_CASE("the unguarded softmax is softmax where a row has a key to see", "[softmax]") {
  const double hidden = -std::numeric_limits<double>::infinity();
  const Tensor<3> scores{{{1, 2, 4}, {-3, hidden, 5}}, {{hidden, 1000, hidden}, {0, 0, 0}}};
  CHECK((attn::unguarded_softmax(scores) == attn::softmax(scores)));
}

TEST_CASE("a row without a key to see becomes NaN, and the other rows do not", "[softmax]") {
  const double hidden = -std::numeric_limits<double>::infinity();
  const auto weights = attn::unguarded_softmax(Tensor<3>{{{hidden, hidden}, {hidden, 7}}});
  CHECK(std::isnan(weights(0, 0, 0)));
  CHECK(std::isnan(weights(0, 0, 1)));
  CHECK(weights(0, 1, 0) == 0);
  CHECK(weights(0, 1, 1) == 1);
}
