#include "lessons/sdpa.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <vector>
#include <xtensor/xview.hpp>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/width.hpp"
#include "tests/unit/fixture.hpp"
#include "tests/unit/lessons/parts.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Mask;
using attn::Tensor;
using Catch::Contains;
using fixture::relative_error;

namespace {

/// The page's attention, told to nobody.
template <std::size_t N>
Attention<N> attend(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V,
                    const std::optional<Mask<3>>& mask = std::nullopt, double temperature = 1.0) {
  auto options = lesson_called("sdpa").defaults;
  options.temperature = temperature;
  return attend(Page("sdpa", options), Q, K, V, mask);
}

/// Row i of each sample is its row order[sample][i].
Tensor<3> permute_rows(const Tensor<3>& x, const std::vector<std::vector<std::size_t>>& order) {
  auto permuted = x;
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t i = 0; i < x.shape(1); ++i) xt::view(permuted, b, i) = xt::view(x, b, order[b][i]);
  return permuted;
}

}  // namespace

TEST_CASE("attention and all that it is made of agree with PyTorch", "[attention]") {
  const auto tolerance = fixture::tolerance<double>;
  for (const auto& one : fixture::cases("attention")) {
    INFO(one["name"]);
    const auto attention =
        attend(fixture::tensor<3>(one["Q"]), fixture::tensor<3>(one["K"]), fixture::tensor<3>(one["V"]),
               fixture::mask(one["mask"]), one["temperature"]);
    CHECK(relative_error(attention.scores, one["scores"]) <= tolerance);
    CHECK(relative_error(attention.scaled, one["scaled"]) <= tolerance);
    CHECK(relative_error(attention.weights, one["weights"]) <= tolerance);
    CHECK(relative_error(attention.output, one["output"]) <= tolerance);
    CHECK(attention.masked.has_value() == !one["mask"].is_null());
  }
}

TEST_CASE("masked scores are the scaled ones, −∞ where the mask is false", "[attention]") {
  const auto x = random_tensor<3>({2, 4, 3}, 1);
  const auto mask = attn::padding_mask({4, 2}, 4, 4);
  const auto attention = attend(x, x, x, {mask});
  REQUIRE(attention.masked.has_value());
  for (std::size_t i = 0; i < mask.size(); ++i)
    CHECK(attention.masked->data()[i] ==
          (mask.data()[i] ? attention.scaled.data()[i] : -std::numeric_limits<double>::infinity()));
}

TEST_CASE("each head of several attends as it would alone", "[attention]") {
  const auto Q = random_tensor<4>({2, 3, 4, 5}, 1), K = random_tensor<4>({2, 3, 6, 5}, 2);
  const auto V = random_tensor<4>({2, 3, 6, 2}, 3);
  const std::optional mask =
      attn::both(attn::padding_mask({6, 3}, 4, 6), attn::repeat_mask(attn::causal_mask(4, 6), 2));
  const auto together = attend(Q, K, V, mask);
  for (std::size_t h = 0; h < 3; ++h) {
    const auto alone = attend(attn::head(Q, h), attn::head(K, h), attn::head(V, h), mask);
    CHECK((attn::head(together.weights, h) == alone.weights));
    CHECK((attn::head(together.output, h) == alone.output));
  }
}

TEST_CASE("no weight falls on the future, and a later token changes no earlier output", "[attention]") {
  auto Q = random_tensor<3>({1, 5, 4}, 1), K = random_tensor<3>({1, 5, 4}, 2);
  auto V = random_tensor<3>({1, 5, 3}, 3);
  const std::optional mask = attn::repeat_mask(attn::causal_mask(5, 5), 1);
  const auto before = attend(Q, K, V, mask);
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = i + 1; j < 5; ++j) CHECK(before.weights(0, i, j) == 0);
  CHECK(before.weights(0, 0, 0) == 1);

  for (std::size_t c = 0; c < 4; ++c) Q(0, 4, c) = K(0, 4, c) = 9;
  for (std::size_t c = 0; c < 3; ++c) V(0, 4, c) = -9;
  const auto after = attend(Q, K, V, mask);
  const auto earlier = [](const Tensor<3>& x) { return Tensor<3>(xt::view(x, xt::all(), xt::range(0, 4))); };
  CHECK((earlier(after.output) == earlier(before.output)));
  CHECK(attn::max_abs_difference(after.output, before.output) > 0.1);
}

TEST_CASE("the last queries alone get the same causal attention as among all", "[attention]") {
  const auto x = random_tensor<3>({1, 5, 4}, 1);
  Tensor<3> last({1, 2, 4});
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t c = 0; c < 4; ++c) last(0, i, c) = x(0, 3 + i, c);
  const auto all = attend(x, x, x, {attn::repeat_mask(attn::causal_mask(5, 5), 1)});
  const auto two = attend(last, x, x, {attn::repeat_mask(attn::causal_mask(2, 5), 1)});
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t c = 0; c < 4; ++c) CHECK(two.output(0, i, c) == all.output(0, 3 + i, c));
}

TEST_CASE("a query that may see nothing gets zeros", "[attention]") {
  const auto x = random_tensor<3>({1, 2, 3}, 1);
  const Mask<3> mask = {{{false, false}, {true, true}}};
  const auto attention = attend(x, x, x, {mask});
  for (std::size_t j = 0; j < 2; ++j) CHECK(attention.weights(0, 0, j) == 0);
  for (std::size_t c = 0; c < 3; ++c) CHECK(attention.output(0, 0, c) == 0);
  CHECK(attn::row_sum_deviation(attention.weights) < 1e-6);
}

TEST_CASE("permuting queries, keys and values permutes the output", "[attention]") {
  const auto Q = random_tensor<3>({2, 5, 4}, 1), K = random_tensor<3>({2, 5, 4}, 2);
  const auto V = random_tensor<3>({2, 5, 3}, 3);
  const std::vector<std::vector<std::size_t>> order = {{3, 1, 4, 0, 2}, {1, 2, 3, 4, 0}};
  const auto permuted = attend(permute_rows(Q, order), permute_rows(K, order), permute_rows(V, order));
  const auto expected = permute_rows(attend(Q, K, V).output, order);
  CHECK(attn::max_abs_difference(permuted.output, expected) < 1e-14);
}

TEST_CASE("a high temperature flattens the weights, a low one picks the best key", "[attention]") {
  const Tensor<3> Q = {{{1.0}}}, K = {{{1.0}, {2.0}}}, V = {{{0.0}, {1.0}}};
  CHECK(attend(Q, K, V, std::nullopt, 1e6).output(0, 0, 0) == Approx(0.5));
  CHECK(attend(Q, K, V, std::nullopt, 1e-3).output(0, 0, 0) == 1.0);
  CHECK(attend(Q, K, V, std::nullopt, 0.5).scaled(0, 0, 1) == 4.0);
}

TEST_CASE("attention refuses what does not fit, with the axis", "[attention]") {
  const auto Q = random_tensor<3>({1, 2, 3}, 1), K = random_tensor<3>({1, 4, 5}, 2);
  CHECK_THROWS_AS(attend(Q, K, K), attn::Error);
  CHECK_THROWS_WITH(attend(Q, K, K), Contains("K is") && Contains("d_k has 3 positions elsewhere"));
  CHECK_THROWS_WITH(attend(K, K, Q), Contains("V is") && Contains("key has 4 positions elsewhere"));
  CHECK_THROWS_WITH(attend(Q, Q, Q, {attn::padding_mask({2}, 2, 4)}),
                    Contains("mask is") && Contains("key has 2 positions elsewhere"));
}

TEST_CASE("the flow is no wider than a page of 80 columns, however long the sentence", "[attention]") {
  const auto flow_of = [](const char* lesson, std::size_t words, std::size_t d_model) {
    auto options = lesson_called(lesson).defaults;
    options.sentence = {""};
    for (std::size_t i = 0; i < words; ++i) options.sentence[0] += fmt::format("w{} ", i);
    if (lesson_called(lesson).uses("d-model")) options.d_model = options.d_k = options.d_v = d_model;
    options.causal = true;
    return told_by(lesson, options).formulas.at("flow");
  };
  for (const std::string lesson : {"sdpa", "self-attention", "multihead"})
    for (const auto& [words, d_model] : {std::pair<std::size_t, std::size_t>{4, 4}, {30, 16}, {120, 256}}) {
      const auto flow = flow_of(lesson.c_str(), words, d_model);
      CAPTURE(flow);
      std::istringstream lines(flow);
      for (std::string line; std::getline(lines, line);) CHECK(2 + attn::display_width(line) <= 80);
      const bool has_heads = lesson == "multihead";
      for (const auto& part : {fmt::format("weights [{1}{0}×{0}]", words, has_heads ? "2×" : ""),
                               std::string("→ mask → softmax"), fmt::format("output [{}×", words)})
        CHECK_THAT(flow, Contains(part));
    }
}
