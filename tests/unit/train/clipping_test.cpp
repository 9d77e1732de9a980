#include "attn/train/clipping.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;

TEST_CASE("a long gradient is shortened by one factor", "[clipping]") {
  const Tensor<2> gradients = {{3, 0}, {0, 4}};
  const auto clipped = attn::clip_by_norm(gradients, 1.0);
  CHECK((clipped.row_norms == Tensor<1>{3, 4}));
  CHECK(clipped.norm == 5.0);
  CHECK(clipped.factor == 1.0 / (5.0 + 1e-6));
  CHECK(static_cast<double>(clipped.gradients(1, 1)) == Approx(0.8).epsilon(1e-6));
  CHECK(clipped.gradients(0, 1) == 0);
}

TEST_CASE("a short gradient stays as it is, bit for bit", "[clipping]") {
  const auto gradients = random_tensor<2>({3, 4}, 1);
  const auto clipped = attn::clip_by_norm(gradients, 100.0);
  CHECK(clipped.factor == 1.0);
  CHECK((clipped.gradients == gradients));
}

TEST_CASE("a clipped gradient is short enough and points the same way", "[clipping]") {
  const auto gradients = random_tensor<2>({6, 4}, 2);
  const double max_norm = GENERATE(1e-6, 0.1, 1.0, 3.0);
  const auto clipped = attn::clip_by_norm(gradients, max_norm).gradients;
  CHECK(std::sqrt(attn::sum_of_products(clipped, clipped)) <= max_norm * (1 + 1e-6));
  CHECK(attn::cosine(gradients, clipped) == Approx(1.0).epsilon(1e-7));
}

TEST_CASE("clipping by value turns a gradient", "[clipping]") {
  const Tensor<2> gradients = {{3, -1, double(0.5)}};
  const auto clipped = attn::clip_by_value(gradients, 1.0);
  CHECK((clipped == Tensor<2>{{1, -1, double(0.5)}}));
  CHECK(attn::cosine(gradients, clipped) < 0.9);
}

TEST_CASE("the cosine tells directions apart", "[clipping]") {
  const Tensor<2> x = {{1.0, 2.0}};
  CHECK(attn::cosine(x, {{2.0, 4.0}}) == Approx(1.0));
  CHECK(attn::cosine(x, {{-1.0, -2.0}}) == Approx(-1.0));
  CHECK(attn::cosine(x, {{2.0, -1.0}}) == Approx(0.0).margin(1e-15));
  CHECK(std::isnan(attn::cosine(x, {{0.0, 0.0}})));
  CHECK_THROWS_AS(attn::cosine(x, {{1.0}}), std::invalid_argument);
}

TEST_CASE("a limit that is not positive is refused", "[clipping]") {
  const double limit = GENERATE(0.0, -1.0, std::numeric_limits<double>::quiet_NaN());
  const Tensor<2> gradients = {{1.0}};
  CHECK_THROWS_AS(attn::clip_by_norm(gradients, limit), std::invalid_argument);
  CHECK_THROWS_AS(attn::clip_by_value(gradients, limit), std::invalid_argument);
}
