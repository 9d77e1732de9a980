#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tests/unit/lessons/page.hpp"

TEST_CASE("relative scores are those with a key vector for every pair", "[positional]") {
  const auto told =
      told_by("positional", {.sentence = {"a b c d e f g"}, .d_model = 4, .encoding = "relative"});
  const auto X = told.elements("X"), keys = told.elements("relative/keys"),
             scores = told.elements("relative/scores");
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t j = 0; j < 7; ++j) {
      const auto row =
          static_cast<std::size_t>(std::clamp(static_cast<int>(j) - static_cast<int>(i), -4, 4) + 4);
      double score = 0.0;
      for (std::size_t c = 0; c < 4; ++c) score += X[4 * i + c] * (X[4 * j + c] + keys[4 * row + c]);
      CHECK(scores[7 * i + j] == Approx(score / 2.0));
    }
}

TEST_CASE("a step of positions that is off by 1 % is noticed", "[positional]") {
  const auto dtype = GENERATE(as<std::string>(), "float64", "float32");
  const lessons::Options options = {.sentence = {"a b c d e"}, .d_model = 6, .dtype = dtype};
  const auto holds = [&](const std::string& step, const std::string& claim) {
    CAPTURE(step, claim);
    return told_by("positional", options, {}, one_percent_more(step)).holds(claim);
  };
  CHECK_FALSE(holds("without/scores", "without/order-is-lost"));
  CHECK_FALSE(holds("without/reordered", "without/order-is-lost"));
  CHECK_FALSE(holds("sinusoidal/angles", "sinusoidal/rotation"));
  CHECK_FALSE(holds("sinusoidal/encoding", "sinusoidal/rotation"));
  CHECK_FALSE(holds("sinusoidal/similarity", "sinusoidal/similarity-by-distance"));
  CHECK_FALSE(holds("learned/encoded", "learned/lookup"));
  CHECK_FALSE(holds("relative/by_distance", "relative/distance-only"));
  CHECK_FALSE(holds("t5/bias", "t5/distance-only"));
  CHECK_FALSE(holds("alibi/slopes", "alibi/mirror"));
  CHECK_FALSE(holds("alibi/scores", "alibi/distance-only"));
  CHECK_FALSE(holds("rope/Q_rotated", "rope/lengths-kept"));
  CHECK_FALSE(holds("rope/scores", "rope/distance-only"));
}

TEST_CASE("a table that has a row twice promises nothing of the order", "[positional]") {
  const auto options = lesson_called("positional").defaults;
  const auto plain = told_by("positional", options);
  CHECK(plain.has("learned/order-is-seen"));
  for (const std::string id : {"learned/table", "relative/keys", "t5/table"}) {
    INFO(id);
    const auto shape = plain.tensors.at(id).shape();
    const auto told = told_by("positional", options,
                              given_tensor(id, shape, std::vector<double>(attn::element_count(shape), 1.0)));
    CHECK_FALSE(told.has(id.substr(0, id.find('/')) + "/order-is-seen"));
    for (const auto& [claim, measurement] : told.measurements) CHECK(measurement.holds());
  }
}

TEST_CASE("what a step of positions hands back flows on into the next", "[positional]") {
  const lessons::Options options = {.sentence = {"a b c d e"}, .d_model = 6};
  const auto usual = told_by("positional", options);
  const auto changes = [&](const std::string& step, const std::string& later) {
    const auto told = told_by("positional", options, {}, one_percent_more(step));
    return told.elements(later) != usual.elements(later);
  };
  CHECK(changes("sinusoidal/frequencies", "sinusoidal/weights"));
  CHECK(changes("learned/encoded", "learned/weights"));
  CHECK(changes("relative/by_distance", "relative/weights"));
  CHECK(changes("without/scores", "t5/weights"));
  CHECK(changes("alibi/slopes", "alibi/weights"));
  CHECK(changes("rope/angles", "rope/scores"));
  CHECK_FALSE(changes("rope/angles", "alibi/scores"));
}
