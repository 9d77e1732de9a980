#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "tests/unit/fixture.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

TEST_CASE("layer normalisation agrees with PyTorch", "[layer_norm]") {
  for (const auto& one : fixture::cases("layer_norm")) {
    const auto normalized = attn::layer_norm(fixture::tensor<3>(one["x"]), fixture::tensor<1>(one["gain"]),
                                             fixture::tensor<1>(one["bias"]));
    CHECK(fixture::relative_error(normalized, one["normalized"]) <= fixture::tolerance<double>);
  }
}

TEST_CASE("a normalised row has mean 0 and variance just below 1", "[layer_norm]") {
  const Tensor<1> gain = xt::ones<double>({16}), bias = xt::zeros<double>({16});
  const auto normalized = attn::layer_norm(random_tensor<3>({2, 3, 16}, 1), gain, bias);
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 3; ++i) {
      double sum = 0.0, sum_of_squares = 0.0;
      for (std::size_t c = 0; c < 16; ++c) {
        sum += normalized(b, i, c);
        sum_of_squares += normalized(b, i, c) * normalized(b, i, c);
      }
      CHECK(std::abs(sum / 16) < 1e-14);
      CHECK(sum_of_squares / 16 < 1.0);
      CHECK(sum_of_squares / 16 > 0.9999);
    }
}

TEST_CASE("a constant row is normalised to the bias", "[layer_norm]") {
  const Tensor<3> x = {{{7, 7, 7}}};
  CHECK((attn::layer_norm(x, {2.0, 2.0, 2.0}, {1.0, 2.0, 3.0}) == Tensor<3>{{{1, 2, 3}}}));
}

TEST_CASE("a gain or bias of another length is refused with both shapes", "[layer_norm]") {
  const auto x = random_tensor<3>({2, 3, 4}, 1);
  const Tensor<1> right = xt::ones<double>({4}), wrong = xt::ones<double>({5});
  CHECK_THROWS_AS(attn::layer_norm(x, wrong, right), std::invalid_argument);
  CHECK_THROWS_WITH(attn::layer_norm(x, wrong, right),
                    Contains("[layer_norm]") && Contains("2×3×4") && Contains("gain is 5"));
  CHECK_THROWS_WITH(attn::layer_norm(x, right, wrong), Contains("2×3×4") && Contains("bias is 5"));
}
