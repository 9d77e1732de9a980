#include "attn/ops/softmax.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>
#include <xtensor/xmath.hpp>

#include "attn/ops/measure.hpp"
#include "tests/unit/fixture.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;

namespace {}  // namespace

TEMPLATE_TEST_CASE_SIG("softmax agrees with PyTorch", "[softmax]", ((std::size_t N), N), 1, 2, 3, 4) {
  const auto cases = fixture::cases_of_rank<N>("softmax", "scores");
  REQUIRE(!cases.empty());
  for (const auto& one : cases)
    CHECK(fixture::relative_error(attn::softmax(fixture::tensor<N>(one["scores"])), one["weights"]) <=
          fixture::tolerance<double>);
}

TEST_CASE("each row of softmax sums to 1", "[softmax]") {
  const auto weights = attn::softmax(random_tensor<3>({4, 5, 60}, 1));
  CHECK(attn::row_sum_deviation(weights) <= rounding / 10);
}

TEST_CASE("adding one number to all scores of a row changes no weight", "[softmax]") {
  const double amount = GENERATE(-1e3, 10.0, 512.0);
  const Tensor<2> scores = {{1, 2, 3}, {-4, 0, double(0.5)}};  // exact after the shift, too
  const Tensor<2> shifted = scores + amount;
  CHECK((attn::softmax(shifted) == attn::softmax(scores)));
}

TEST_CASE("scores whose exponentials overflow give finite weights", "[softmax]") {
  const Tensor<1> scores = {30000, 30000, -30000};
  CHECK((attn::softmax(scores) == Tensor<1>{double(0.5), double(0.5), 0}));
}

TEST_CASE("a key with score −∞ gets exactly no weight", "[softmax]") {
  const Tensor<2> scores = {{2, -infinity, 2}, {-infinity, -1, -infinity}};
  const auto half = double(0.5);
  CHECK((attn::softmax(scores) == Tensor<2>{{half, 0, half}, {0, 1, 0}}));
}

TEST_CASE("a row with nothing to see becomes zeros and leaves the others alone", "[softmax]") {
  const auto masked = -infinity;
  const Tensor<2> scores = {{masked, masked}, {0, 0}};
  const auto half = double(0.5);
  CHECK((attn::softmax(scores) == Tensor<2>{{0, 0}, {half, half}}));
}

TEST_CASE("a NaN spoils its whole row and no other", "[softmax]") {
  const Tensor<2> scores = {{1, not_a_number}, {not_a_number, 1}, {-infinity, not_a_number}, {3, 3}};
  const auto weights = attn::softmax(scores);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 2; ++j) CHECK(std::isnan(weights(i, j)));
  CHECK(weights(3, 0) == double(0.5));
}

TEST_CASE("softmax of rows without keys is empty", "[softmax]") {
  CHECK(attn::softmax(Tensor<2>::from_shape({3, 0})).size() == 0);
}
