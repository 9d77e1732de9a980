#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>
#include <xtensor/xmath.hpp>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/random/random.hpp"
#include "attn/text/tokens.hpp"
#include "attn/text/word_vectors.hpp"
#include "tests/unit/fixture.hpp"
#include "tests/unit/lessons/parts.hpp"

using attn::RandomState;
using attn::Tensor;
using attn::WordVectors;
using fixture::json;
using Tokens = std::vector<std::string>;

namespace {

constexpr double dropout_probability = 0.1;
constexpr std::size_t heads = 2;

json example(const std::string& name) {
  return json::parse(std::ifstream(ATTN_FIXTURES "/tutorials.json")).at(name);
}

Tensor<3> embed(const WordVectors& vectors, const Tokens& tokens) {
  Tensor<3> X({1, tokens.size(), vectors.dimension()});
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto& vector = vectors.at(tokens[i]);
    std::copy(vector.begin(), vector.end(), &X(0, i, 0));
  }
  return X;
}

Tensor<2> draw_weight(RandomState& random, std::size_t d_model, double standard_deviation) {
  return random.normal<2>(0.0, standard_deviation, {d_model, d_model});
}

/// The tutorial's multi-head attention, which leaves dropout on.
struct DroppedAttention {
  Tensor<4> weights;
  attn::Integers<4> mask;
  Tensor<4> dropped;
  Tensor<3> average;
  Tensor<3> output;
};

DroppedAttention attend(RandomState& random, const Tensor<3>& X_query, const Tensor<3>& X_key) {
  const auto d_model = X_query.shape(2);
  const double scale = std::sqrt(2.0 / static_cast<double>(d_model));
  std::map<std::string, Tensor<2>> drawn;
  Views weights;
  for (const auto* id : {"W_Q", "W_K", "W_V", "W_O"})
    weights.emplace(id, lessons::owned_view(drawn[id] = draw_weight(random, d_model, scale)));
  const auto undropped =
      multihead(Page("multihead", {.sentence = {"a b"}}), X_query, X_key, weights, {heads, heads});
  DroppedAttention result;
  result.weights = undropped.weights;
  result.mask = attn::dropout_mask<4>(random, dropout_probability, result.weights.shape());
  result.dropped = result.weights * result.mask / (1.0 - dropout_probability);
  result.average = xt::mean(result.dropped, {1});
  result.output =
      attn::linear(attn::merge_heads(attn::matmul(result.dropped, undropped.V_heads)), drawn.at("W_O"));
  return result;
}

DroppedAttention translate(RandomState& random) {
  const auto source = random.normal<3>(0.0, 1.0, {1, 3, 6});
  const auto target = random.normal<3>(0.0, 1.0, {1, 3, 6});
  return attend(random, target, source);
}

template <std::size_t N>
void check_close(const Tensor<N>& actual, const json& expected) {
  CHECK(attn::max_abs_difference(actual, fixture::tensor<N>(expected)) <= 1e-12);
}

void check_agrees(const DroppedAttention& run, const json& expected) {
  check_close(run.weights, expected["weights"]);
  CHECK(run.mask == fixture::tensor<std::int64_t, 4>(expected["mask"]));
  check_close(run.dropped, expected["dropped"]);
  check_close(run.average, expected["average"]);
  check_close(run.output, expected["output"]);
}

/// The rows of the only sample with the three digits that the tutorial prints.
json printed(const Tensor<3>& matrix) {
  json rows = json::array();
  for (std::size_t i = 0; i < matrix.shape(1); ++i) {
    json row = json::array();
    for (std::size_t j = 0; j < matrix.shape(2); ++j) row.push_back(fmt::format("{:.3f}", matrix(0, i, j)));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

TEST_CASE("the tutorial's self-attention comes out digit for digit") {
  const auto expected = example("self_attention");
  const auto tokens = attn::tokenize(std::string_view("the cat sat"));
  REQUIRE(json(tokens) == expected["tokens"]);
  const auto X = embed(WordVectors::load(ATTN_DATA "/tutorial/cat_sat.vectors.txt"), tokens);

  RandomState random(42);
  const auto W_Q = draw_weight(random, 4, 0.1);
  const auto W_K = draw_weight(random, 4, 0.1);
  const auto W_V = draw_weight(random, 4, 0.1);
  const auto attention = ::attend(Page("sdpa", {.sentence = {"a b"}}), attn::linear(X, W_Q),
                                  attn::linear(X, W_K), attn::linear(X, W_V));

  check_close(attention.weights, expected["weights"]);
  check_close(attention.output, expected["output"]);
  CHECK(printed(attention.weights) == expected["printed_weights"]);
  CHECK(printed(attention.output) == expected["printed_output"]);
}

TEST_CASE("the tutorial's translation comes out digit for digit, dropout and all") {
  const auto expected = example("translation");
  CHECK(json(attn::tokenize(std::string_view("I love cats"))) == expected["source"]);
  CHECK(json(attn::tokenize(std::string_view("J'aime les chats"))) == expected["target"]);

  RandomState random(42);
  const auto run = translate(random);
  check_agrees(run, expected);
  CHECK(printed(run.average) == expected["printed_average"]);
  CHECK(printed(run.average)[0] == json{"0.637", "0.243", "0.204"});
}

TEST_CASE("the tutorial's sentiment analysis goes on with the stream of its translation") {
  const auto expected = example("sentiment");
  const auto tokens = attn::tokenize(std::string_view("The movie was really great"));
  REQUIRE(json(tokens) == expected["tokens"]);
  const auto X = embed(WordVectors::load(ATTN_DATA "/tutorial/movie.vectors.txt"), tokens);

  RandomState random(42);
  translate(random);
  const auto run = attend(random, X, X);
  check_agrees(run, expected);
  CHECK(printed(run.average) == expected["printed_average"]);

  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const double* row = &run.average(0, i, 0);
    const auto strongest = std::max_element(row, row + tokens.size()) - row;
    CHECK(tokens[static_cast<std::size_t>(strongest)] == expected["strongest"][i]);
  }
}

TEST_CASE("the rows of the tutorial's translation do not sum to one, because dropout is on") {
  RandomState random(42);
  const auto run = translate(random);
  CHECK(attn::row_sum_deviation(run.weights) <= 1e-12);
  CHECK(attn::row_sum_deviation(run.dropped) > 0.1);
}
