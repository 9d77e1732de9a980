#include "lessons/classifier.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/permute.hpp"
#include "attn/ops/slice.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;

namespace {

lessons::ClassifierWeights random_weights() {
  return {{random_tensor<2>({6, 6}, 1), random_tensor<2>({6, 6}, 2), random_tensor<2>({6, 6}, 3),
           random_tensor<2>({6, 6}, 4)},
          {random_tensor<1>({6}, 5), random_tensor<1>({6}, 6)},
          random_tensor<2>({6, 3}, 7)};
}

lessons::Options options(std::size_t heads) {
  return {.sentence = {"a b c d"}, .d_model = 6, .heads = heads, .classes = 3};
}

lessons::Classification classify(const Tensor<3>& encoded, std::size_t heads,
                                 const std::vector<std::size_t>& lengths) {
  Page page("classifier", options(heads));
  return lessons::classify(page.mute, encoded, random_weights(), lengths,
                           attn::padding_mask(lengths, encoded.shape(1), encoded.shape(1)));
}

}  // namespace

TEST_CASE("the probabilities of each sentence sum to 1", "[classifier]") {
  const auto result = classify(random_tensor<3>({2, 4, 6}, 8), 2, {4, 2});
  CHECK(result.probabilities.shape() == std::array<std::size_t, 2>{2, 3});
  CHECK(attn::row_sum_deviation(result.probabilities) <= 1e-12);
  CHECK(attn::row_sum_deviation(result.logits) > 1e-3);
}

TEST_CASE("padding changes nothing, and where it counts as a word the measure says so", "[classifier]") {
  const auto X = random_tensor<3>({2, 4, 6}, 8);
  const auto padded = attn::with_zero_rows(X, 2);
  const auto pooled = classify(X, 2, {4, 2}).pooled;
  CHECK(attn::max_abs_difference(classify(padded, 2, {4, 2}).pooled, pooled) <= 1e-12);
  CHECK(attn::max_abs_difference(classify(padded, 2, {6, 6}).pooled, pooled) > 1e-2);
}

TEST_CASE("what stands in the padding does not matter", "[classifier]") {
  auto X = random_tensor<3>({1, 4, 6}, 8);
  const auto before = classify(X, 3, {3}).probabilities;
  for (std::size_t c = 0; c < 6; ++c) X(0, 3, c) = 1e3;
  CHECK((classify(X, 3, {3}).probabilities == before));
}

TEST_CASE("the order of the rows does not matter to the mean", "[classifier]") {
  const auto X = random_tensor<3>({1, 4, 6}, 8);
  const auto backwards = attn::permute_rows(X, attn::reversal({4}, 4));
  CHECK(attn::max_abs_difference(classify(backwards, 2, {4}).pooled, classify(X, 2, {4}).pooled) <= 1e-13);
}

TEST_CASE("a bias of the classes is added to the logits of each sentence", "[classifier]") {
  Page page("classifier", options(2));
  const auto X = random_tensor<3>({2, 4, 6}, 8);
  auto weights = random_weights();
  const auto without = lessons::classify(page.mute, X, weights, {4, 4}, std::nullopt).logits;
  weights.b_class = random_tensor<1>({3}, 9);
  const auto with = lessons::classify(page.mute, X, weights, {4, 4}, std::nullopt).logits;
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t c = 0; c < 3; ++c)
      CHECK(with(b, c) == Approx(without(b, c) + (*weights.b_class)(c)).margin(1e-12));
}

TEST_CASE("lengths that do not fit the batch are refused by the classifier", "[classifier]") {
  CHECK_THROWS_AS(classify(random_tensor<3>({1, 4, 6}, 8), 2, {5}), std::invalid_argument);
}

TEST_CASE("the claims of the classifier hold with any gain", "[classifier]") {
  const auto options = lesson_called("classifier").defaults;
  const auto shape = told_by("classifier", options).tensors.at("attention/norm/gain").shape();
  for (const double gain : {1e6, 1e12, 1e-6}) {
    INFO(gain);
    const auto told = told_by(
        "classifier", options,
        given_tensor("attention/norm/gain", shape, std::vector<double>(attn::element_count(shape), gain)));
    for (const auto& [claim, measurement] : told.measurements) CHECK(measurement.holds());
  }
}

TEST_CASE("a step of the classifier that is off by 1 % is noticed", "[classifier]") {
  for (const auto* step : {"attention/weights", "attention/output", "attention/residual",
                           "attention/normalized", "pooled", "logits", "probabilities"}) {
    INFO(step);
    CHECK_FALSE(told_by("classifier", options(2), {}, one_percent_more(step)).holds("equals-layer"));
  }
  const auto changed = [](const std::string& step) {
    return told_by("classifier", options(2), {}, one_percent_more(step));
  };
  CHECK_FALSE(changed("pooled").holds("padding-changes-nothing"));
  CHECK_FALSE(changed("probabilities").holds("probabilities-sum-to-1"));
  CHECK_FALSE(changed("attention/weights").holds("attention/rows-sum-to-1"));
}
