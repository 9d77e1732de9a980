#include <catch2/catch.hpp>

#include "tests/unit/lessons/page.hpp"
#include "tests/unit/watches.hpp"

using lessons::Options;

namespace {

constexpr std::size_t d_model = 8, d_k = 3, d_v = 2, heads = 4;

Options options(std::size_t layers, std::size_t kv_heads) {
  return {.sentence = {"a b c"},
          .d_model = d_model,
          .d_k = d_k,
          .d_v = d_v,
          .heads = heads,
          .kv_heads = kv_heads,
          .new_tokens = 1,
          .layers = layers};
}

}  // namespace

TEST_CASE("what the cache takes up is counted in numbers of the run's type", "[generate]") {
  auto shown = options(1, 1);
  shown.dtype = GENERATE("float64", "float32");
  const double item = shown.dtype == "float64" ? 8 : 4;
  const auto told = told_by("generate", shown);
  CHECK(told.elements("cache/bytes") ==
        std::vector<double>{4 * 3 * (d_k + d_v) * item, 2 * 3 * (d_k + d_v) * item, 3 * (d_k + d_v) * item});
  CHECK(told.holds("cache-in-proportion"));
}

TEST_CASE("the limit for the logits follows from rounding, however many layers there are", "[generate]") {
  const std::size_t layers = GENERATE(1, 8);
  const std::string dtype = GENERATE("float64", "float32");
  const std::size_t width = GENERATE(8, 96);
  const Options run = {.sentence = {"a rose is a"},
                       .d_model = width,
                       .heads = 2,
                       .dtype = dtype,
                       .new_tokens = 3,
                       .layers = layers};
  const auto told = told_by("generate", run);
  const auto logits = told.elements("step=2/logits");
  const double largest = std::abs(*std::max_element(
      logits.begin(), logits.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
  REQUIRE(told.holds("cached-equals-full"));
  CHECK(told.measurements.at("cached-equals-full").limit.bound <= 0.01 * largest);
  CHECK_FALSE(told_by("generate", run, {}, one_percent_more("step=2/logits")).holds("cached-equals-full"));
}

TEST_CASE("options that code leaves empty are the lesson's own", "[generate]") {
  const auto told = told_by("generate", {.sentence = {"a rose is a"}, .heads = 2, .model = "none"});
  const auto& own = lesson_called("generate").defaults;
  const auto writes = [&](std::size_t step) { return told.has("step=" + std::to_string(step) + "/token"); };
  CHECK(writes(*own.new_tokens - 1));
  CHECK_FALSE(writes(*own.new_tokens));
  CHECK_FALSE(told.has("step=0/layer=2/weights"));
  CHECK(told.holds("cached-equals-full"));
}

TEST_CASE("a step of decoding that is off by 1 % is noticed", "[generate]") {
  const Options run = {.sentence = {"a rose is a"}, .heads = 2, .new_tokens = 3, .layers = 2};
  for (const auto* step : {"step=1/x", "step=0/layer=1/K", "step=0/layer=1/cache/V", "step=1/layer=1/cache/K",
                           "step=1/layer=2/scores", "step=1/layer=1/weights", "step=2/layer=1/heads",
                           "step=1/layer=2/residual"}) {
    INFO(step);
    CHECK_FALSE(told_by("generate", run, {}, one_percent_more(step)).holds("cached-equals-full"));
  }
  const auto weights = told_by("generate", run, {}, one_percent_more("step=1/layer=2/weights"));
  CHECK_FALSE(weights.holds("rows-sum-to-1"));
}

TEST_CASE("what decoding without formulas writes is held to the page's logits", "[generate]") {
  const Options run = {.sentence = {"a rose is a"}, .heads = 2, .new_tokens = 3, .layers = 2};
  CHECK(told_by("generate", run).holds("code-writes-the-same"));
  const auto turned =
      attn::replacing([](const std::string& step, const attn::Shape& shape, double* elements) {
        for (std::size_t i = 0; step == "step=1/logits" && i < attn::element_count(shape); ++i)
          elements[i] *= -1.0;
      });
  CHECK_FALSE(told_by("generate", run, {}, turned).holds("code-writes-the-same"));
}
