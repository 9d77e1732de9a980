#include <catch2/catch.hpp>

#include "attn/ops/measure.hpp"
#include "tests/unit/lessons/page.hpp"

namespace {

lessons::Options options(std::size_t heads) {
  return {.sentence = {"a b c d"}, .d_model = 6, .heads = heads, .classes = 3};
}

}  // namespace

TEST_CASE("a bias of the classes is added to the logits of each sentence", "[classifier]") {
  auto of_two = options(2);
  of_two.sentence = {"a b c d", "e f"};
  const auto without = told_by("classifier", of_two).elements("logits");
  const auto with =
      told_by("classifier", of_two, given_tensor("b_class", {3}, {1.0, -2.0, 0.5})).elements("logits");
  const std::vector<double> bias = {1.0, -2.0, 0.5};
  for (std::size_t i = 0; i < 6; ++i) CHECK(with.at(i) == Approx(without.at(i) + bias[i % 3]).margin(1e-12));
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
