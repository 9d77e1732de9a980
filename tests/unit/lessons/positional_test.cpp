#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

#include "attn/ops/heads.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/positional_bias.hpp"
#include "attn/ops/positional_rotary.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/positional/measure.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Pairing;
using attn::Tensor;
using Catch::Contains;

namespace {

const attn::RowOrder exchanged = {{0, 4, 2, 3, 1}};

Tensor<3> sentence() {
  return random_tensor<3>({1, 5, 4}, 1);
}

Tensor<4> plain(const Tensor<3>& X) {
  return attn::split_heads(attn::matmul(X, attn::transpose(X)), 1);
}

Tensor<3> turned(const Tensor<3>& X, Pairing pairing) {
  const auto frequencies = attn::position_frequencies(X.shape(2));
  return attn::rotate_pairs(X, attn::position_angles(X.shape(1), frequencies), pairing);
}

/// Scores of queries and keys that are turned by the angles of their positions.
Tensor<4> rotary(const Tensor<3>& X, Pairing of_queries, Pairing of_keys) {
  return attn::split_heads(attn::matmul(turned(X, of_queries), attn::transpose(turned(X, of_keys))), 1);
}

Tensor<4> rotary(const Tensor<3>& X) {
  return rotary(X, Pairing::adjacent, Pairing::adjacent);
}

Tensor<4> sinusoidal(const Tensor<3>& X) {
  return plain(attn::add_positions(X, attn::sinusoidal_encoding(X.shape(1), X.shape(2))));
}

Tensor<4> alibi(const Tensor<3>& X) {
  return attn::add_bias(attn::matmul(X, attn::transpose(X)),
                        attn::alibi_bias(attn::alibi_slopes(2), X.shape(1)));
}

}  // namespace

TEST_CASE("without positions no score changes with the order, with positions some does", "[positional]") {
  const auto X = sentence(), reordered = attn::permute_rows(X, exchanged);
  CHECK(lessons::change_by_order(plain(X), plain(reordered), exchanged) == 0.0);
  CHECK(lessons::change_by_order(rotary(X), rotary(reordered), exchanged) > 0.01);
  CHECK(lessons::change_by_order(sinusoidal(X), sinusoidal(reordered), exchanged) > 0.01);
  CHECK(lessons::change_by_order(alibi(X), alibi(reordered), exchanged) == Approx(3 * 0.0625));
}

TEST_CASE("one score that is wrong is a change by order of that size", "[positional]") {
  const auto X = sentence();
  auto wrong = plain(attn::permute_rows(X, exchanged));
  wrong(0, 0, 1, 3) += 0.5;
  CHECK(lessons::change_by_order(plain(X), wrong, exchanged) == Approx(0.5));
  CHECK(lessons::change_by_order(plain(X), plain(X), exchanged) > 0.1);
}

TEST_CASE("scores that depend on the distance do not change further on, others do", "[positional]") {
  const auto X = sentence(), twice = attn::rows_twice(X);
  CHECK(lessons::change_by_moving(rotary(X), rotary(twice)) <= 10 * rounding);
  CHECK(lessons::change_by_moving(alibi(X), alibi(twice)) == 0.0);
  CHECK(lessons::change_by_moving(sinusoidal(X), sinusoidal(twice)) > 0.01);
}

TEST_CASE("rotating only the queries, or by a wrong pairing, breaks the dependence on the distance",
          "[positional]") {
  const auto queries_only = [](const Tensor<3>& X) {
    return attn::split_heads(attn::matmul(turned(X, Pairing::adjacent), attn::transpose(X)), 1);
  };
  const auto X = sentence(), twice = attn::rows_twice(X);
  const auto change = [&](Pairing of_queries, Pairing of_keys) {
    return lessons::change_by_moving(rotary(X, of_queries, of_keys), rotary(twice, of_queries, of_keys));
  };
  CHECK(change(Pairing::halves, Pairing::halves) <= 10 * rounding);
  CHECK(change(Pairing::halves, Pairing::adjacent) > 0.01);
  CHECK(lessons::change_by_moving(queries_only(X), queries_only(twice)) > 0.01);
}

TEST_CASE("a sinusoidal encoding moves by a rotation, a wrong one does not", "[positional]") {
  const auto encoding = attn::sinusoidal_encoding(7, 6);
  const auto longer = attn::sinusoidal_encoding(14, 6);
  for (const std::size_t k : {0, 1, 7}) CHECK(lessons::deviation_from_rotation(encoding, longer, k) <= 1e-13);

  auto one_wrong = encoding;
  one_wrong(3, 2) += 0.25;
  CHECK(lessons::deviation_from_rotation(one_wrong, longer, 1) > 0.2);
  const auto drawn = random_tensor<2>({14, 6}, 1);
  CHECK(lessons::deviation_from_rotation(attn::rows(drawn, 0, 7), drawn, 1) > 0.1);
}

TEST_CASE("the length of a row changes when the row is stretched, not when it is turned", "[positional]") {
  const auto X = sentence();
  CHECK(lessons::change_of_length(X, turned(X, Pairing::halves)) <= 10 * rounding);
  CHECK(lessons::change_of_length(Tensor<3>{{{3, 4}, {1, 0}}}, Tensor<3>{{{3, 4}, {0, 2}}}) == 1.0);
}

TEST_CASE("measures of positions refuse what does not fit with both shapes", "[positional]") {
  const auto X = sentence();
  CHECK_THROWS_WITH(lessons::change_by_order(plain(X), plain(attn::rows_twice(X)), exchanged),
                    Contains("[change_by_order]") && Contains("1×1×5×5") && Contains("1×1×10×10"));
  CHECK_THROWS_WITH(lessons::change_by_moving(plain(X), plain(X)), Contains("[change_by_moving]"));
  CHECK_THROWS_WITH(
      lessons::deviation_from_rotation(random_tensor<2>({3, 4}, 1), random_tensor<2>({3, 4}, 1), 1),
      Contains("[deviation_from_rotation]") && Contains("3×4"));
  CHECK_THROWS_WITH(lessons::change_of_length(X, attn::rows_twice(X)), Contains("[change_of_length]"));
}

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
