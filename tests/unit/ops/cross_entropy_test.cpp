#include "attn/ops/cross_entropy.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;
using Words = std::vector<std::vector<std::size_t>>;

TEST_CASE("cross-entropy is minus the log of the right words' probabilities", "[cross_entropy]") {
  const Tensor<3> logits = {{{0.0, std::log(3.0)}, {5.0, 5.0}}};
  CHECK(attn::cross_entropy(logits, Words{{0, 1}}) == Approx(std::log(4.0) + std::log(2.0)));
  CHECK(attn::cross_entropy(logits, Words{{1}}) == Approx(std::log(4.0 / 3.0)));
  const Tensor<3> far = {{{0.0, 2000.0}}};
  CHECK(attn::cross_entropy(far, Words{{0}}) == 2000.0);
}

TEST_CASE("cross-entropy goes back as central differences say", "[cross_entropy]") {
  const auto logits = random_tensor<3>({2, 3, 4}, 1);
  const Words words = {{3, 0, 2}, {1}};
  const auto d_logits = attn::cross_entropy_backward(attn::softmax(logits), words);
  constexpr double h = 1e-5;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    auto up = logits, down = logits;
    up.data()[i] += h;
    down.data()[i] -= h;
    const double slope = (attn::cross_entropy(up, words) - attn::cross_entropy(down, words)) / (2.0 * h);
    CHECK(d_logits.data()[i] == Approx(slope).margin(1e-9));
  }
  CHECK(attn::max_abs_row_sum(d_logits) <= 1e-15);
  CHECK(d_logits(1, 2, 0) == 0.0);
}

TEST_CASE("cross-entropy is worked out from the probabilities", "[cross_entropy]") {
  const auto logits = random_tensor<3>({1, 3, 4}, 1);
  const auto p = attn::softmax(logits);
  const Words words = {{3, 0}};
  const auto d_logits = attn::cross_entropy_backward(p, words);
  const auto worked = attn::worked_cross_entropy_backward({"p", p}, words);
  CHECK(attn::worked_cross_entropy({"p", p}, words)({}).value() ==
        Approx(attn::cross_entropy(logits, words)));
  CHECK(worked({0, 1, 0}).value() == d_logits(0, 1, 0));
  CHECK(worked({0, 1, 2}).value() == d_logits(0, 1, 2));
  CHECK(worked({0, 2, 1}).value() == 0.0);
}

TEST_CASE("words that fit no row are refused with the shape", "[cross_entropy]") {
  const auto logits = random_tensor<3>({1, 2, 3}, 1);
  for (const auto& words : {Words{}, Words{{0, 1, 2}}, Words{{3}}}) {
    CHECK_THROWS_WITH(attn::cross_entropy(logits, words), Contains("1×2×3"));
    CHECK_THROWS_AS(attn::cross_entropy_backward(logits, words), std::invalid_argument);
  }
}
