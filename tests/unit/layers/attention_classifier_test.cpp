#include "attn/layers/attention_classifier.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "attn/ops/permute.hpp"
#include "attn/ops/slice.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::attention_classifier;
using attn::Tensor;

namespace {

attn::AttentionClassifierWeights random_weights() {
  return {{random_tensor<2>({6, 6}, 1), random_tensor<2>({6, 6}, 2), random_tensor<2>({6, 6}, 3),
           random_tensor<2>({6, 6}, 4)},
          {random_tensor<1>({6}, 5), random_tensor<1>({6}, 6)},
          random_tensor<2>({6, 3}, 7)};
}

}  // namespace

TEST_CASE("the probabilities of each sentence sum to 1", "[attention_classifier]") {
  const auto result =
      attention_classifier(random_tensor<3>({2, 4, 6}, 8), random_weights(), 2, {4, 2});
  CHECK(result.probabilities.shape() == std::array<std::size_t, 2>{2, 3});
  CHECK(attn::row_sum_deviation(result.probabilities) <= 1e-6);
  CHECK(attn::row_sum_deviation(result.logits) > 1e-3);
}

TEST_CASE("padding changes nothing, and where it counts as a word the measure says so", "[attention_classifier]") {
  const auto weights = random_weights();
  const auto X = random_tensor<3>({2, 4, 6}, 8);
  const auto padded = attn::with_zero_rows(X, 2);
  const auto pooled = attention_classifier(X, weights, 2, {4, 2}).pooled;
  CHECK(attn::max_abs_difference(attention_classifier(padded, weights, 2, {4, 2}).pooled, pooled) <= 1e-5);
  CHECK(attn::max_abs_difference(attention_classifier(padded, weights, 2, {6, 6}).pooled, pooled) > 1e-2);
}

TEST_CASE("what stands in the padding does not matter", "[attention_classifier]") {
  const auto weights = random_weights<double>();
  auto X = random_tensor<3>({1, 4, 6}, 8);
  const auto before = attention_classifier(X, weights, 3, {3}).probabilities;
  for (std::size_t c = 0; c < 6; ++c) X(0, 3, c) = 1e3;
  CHECK((attention_classifier(X, weights, 3, {3}).probabilities == before));
}

TEST_CASE("the order of the rows does not matter to the mean", "[attention_classifier]") {
  const auto weights = random_weights<double>();
  const auto X = random_tensor<3>({1, 4, 6}, 8);
  const auto backwards = attn::permute_rows(X, attn::reversal({4}, 4));
  CHECK(attn::max_abs_difference(attention_classifier(backwards, weights, 2, {4}).pooled,
                                 attention_classifier(X, weights, 2, {4}).pooled) <= 1e-13);
}

TEST_CASE("lengths that do not fit the batch are refused by the classifier", "[attention_classifier]") {
  const auto X = random_tensor<3>({1, 4, 6}, 8);
  CHECK_THROWS_AS(attention_classifier(X, random_weights<double>(), 2, {5}), std::invalid_argument);
}
