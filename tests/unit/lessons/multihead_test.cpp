#include "lessons/multihead.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "tests/unit/fixture.hpp"
#include "tests/unit/lessons/parts.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"
#include "trace/stored_trace.hpp"

using attn::Mask;
using attn::Tensor;
using Catch::Contains;
using fixture::relative_error;
using lessons::owned_view;

namespace {

MultiHead multihead_attention(const Tensor<3>& X_query, const Tensor<3>& X_key, const Views& weights,
                              const Heads& heads, const std::optional<Mask<3>>& mask = std::nullopt,
                              double temperature = 1.0) {
  const Page page("multihead", {.sentence = {"a b"}, .temperature = temperature});
  return multihead(page, X_query, X_key, weights, heads, mask);
}

/// The same with one head, given its queries, keys and values.
Tensor<3> single_attention(const Tensor<3>& Q, const Tensor<3>& K, const Tensor<3>& V,
                           const std::optional<Mask<3>>& mask = std::nullopt) {
  return attend(Page("sdpa", {.sentence = {"a b"}}), Q, K, V, mask).output;
}

MultiHead run(const fixture::json& one) {
  Views weights;
  for (const auto* name : {"W_Q", "W_K", "W_V", "W_O"})
    weights.emplace(name, owned_view(fixture::tensor<2>(one[name])));
  return multihead_attention(fixture::tensor<3>(one["X_query"]), fixture::tensor<3>(one["X_key"]), weights,
                             {one["heads"], one["kv_heads"]}, fixture::mask(one["mask"]));
}

/// Weights for d_model = 6, d_k = 4 and d_v = 3.
struct HeadsWeights {
  Tensor<2> W_Q, W_K, W_V, W_O;

  operator Views() const {
    return {{"W_Q", owned_view(W_Q)},
            {"W_K", owned_view(W_K)},
            {"W_V", owned_view(W_V)},
            {"W_O", owned_view(W_O)}};
  }
};

HeadsWeights random_weights(std::size_t heads, std::size_t kv_heads) {
  return {random_tensor<2>({6, heads * 4}, 1), random_tensor<2>({6, kv_heads * 4}, 2),
          random_tensor<2>({6, kv_heads * 3}, 3), random_tensor<2>({heads * 3, 6}, 4)};
}

/// Each block of `width` columns `times` times in a row.
Tensor<2> repeat_blocks(const Tensor<2>& x, std::size_t width, std::size_t times) {
  Tensor<2> repeated({x.shape(0), x.shape(1) * times});
  for (std::size_t i = 0; i < x.shape(0); ++i)
    for (std::size_t j = 0; j < repeated.shape(1); ++j)
      repeated(i, j) = x(i, j / (width * times) * width + j % width);
  return repeated;
}

}  // namespace

TEST_CASE("multi-head attention agrees with nn.MultiheadAttention", "[multihead]") {
  for (const auto& one : fixture::cases("multihead_attention")) {
    INFO(one["name"]);
    const auto result = run(one);
    CHECK(relative_error(result.weights, one["weights"]) <= fixture::tolerance<double>);
    CHECK(relative_error(result.output, one["output"]) <= fixture::tolerance<double>);
  }
}

namespace {

/// A tensor of expected.npz, what PyTorch's nn.MultiheadAttention had and returned
/// (tests/fixtures/make_dumps.py).
template <class T, std::size_t N>
attn::Array<T, N> torch_tensor(const std::string& id) {
  const auto file = attn::open_trace(ATTN_FIXTURES "/dumps/expected.npz");
  const auto* const stored = file->find("torch_multihead/" + id);
  REQUIRE(stored != nullptr);
  const auto tensor = file->read(static_cast<std::size_t>(stored - file->tensors().data()));
  std::array<std::size_t, N> shape{};
  std::copy(tensor.shape().begin(), tensor.shape().end(), shape.begin());
  auto array = attn::Array<T, N>::from_shape(shape);
  for (std::size_t i = 0; i < array.size(); ++i) array.data()[i] = static_cast<T>(tensor.view().at(i));
  return array;
}

}  // namespace

TEST_CASE("with biases it agrees with nn.MultiheadAttention in float32", "[multihead]") {
  Views weights;
  for (const auto* id : {"W_Q", "W_K", "W_V", "W_O"})
    weights.emplace(id, owned_view(torch_tensor<double, 2>(id)));
  for (const auto* id : {"b_Q", "b_K", "b_V", "b_O"})
    weights.emplace(id, owned_view(torch_tensor<double, 1>(id)));
  REQUIRE(attn::max_abs(torch_tensor<double, 1>("b_Q")) > 0.1);
  const auto X = torch_tensor<double, 3>("X");
  const auto result = multihead_attention(X, X, weights, {4, 4}, torch_tensor<bool, 3>("mask"));
  CHECK(attn::max_abs_difference(result.weights, torch_tensor<double, 4>("weights")) <= 1e-6);
  CHECK(attn::max_abs_difference(result.output, torch_tensor<double, 3>("output")) <= 1e-6);
}

TEST_CASE("grouped heads agree with PyTorch head by head", "[multihead]") {
  for (const auto& one : fixture::cases("grouped_heads")) {
    INFO(one["name"]);
    const auto result = run(one);
    CHECK(relative_error(result.weights, one["weights"]) <= fixture::tolerance<double>);
    CHECK(relative_error(result.output, one["output"]) <= fixture::tolerance<double>);
  }
}

TEST_CASE("one head is a single attention times W_O", "[multihead]") {
  const auto X = random_tensor<3>({2, 5, 6}, 5);
  const std::optional mask = attn::padding_mask({5, 3}, 5, 5);
  const auto weights = random_weights(1, 1);
  const auto single = single_attention(attn::linear(X, weights.W_Q), attn::linear(X, weights.W_K),
                                       attn::linear(X, weights.W_V), mask);
  CHECK((multihead_attention(X, X, weights, {1, 1}, mask).output == attn::linear(single, weights.W_O)));
}

TEST_CASE("every head is a single attention with its columns of the weights", "[multihead]") {
  const std::size_t kv_heads = GENERATE(1, 2, 4);
  const auto X_query = random_tensor<3>({2, 3, 6}, 5), X_key = random_tensor<3>({2, 5, 6}, 6);
  const auto weights = random_weights(4, kv_heads);
  const auto result = multihead_attention(X_query, X_key, weights, {4, kv_heads});
  CHECK(result.K_heads.shape() == std::array<std::size_t, 4>{2, kv_heads, 5, 4});
  CHECK(result.V_heads.shape() == std::array<std::size_t, 4>{2, kv_heads, 5, 3});
  for (std::size_t h = 0; h < 4; ++h) {
    const std::size_t kv = h * kv_heads / 4;
    const auto single = single_attention(attn::linear(X_query, attn::columns(weights.W_Q, h * 4, h * 4 + 4)),
                                         attn::linear(X_key, attn::columns(weights.W_K, kv * 4, kv * 4 + 4)),
                                         attn::linear(X_key, attn::columns(weights.W_V, kv * 3, kv * 3 + 3)));
    CHECK(attn::max_abs_difference(attn::head(result.heads, h), single) <= rounding);
  }
}

TEST_CASE("shared key and value heads are full ones with repeated weights", "[multihead]") {
  const std::size_t kv_heads = GENERATE(1, 2, 4);
  const auto X = random_tensor<3>({2, 5, 6}, 5);
  const std::optional mask = attn::repeat_mask(attn::causal_mask(5, 5), 2);
  const auto shared = random_weights(4, kv_heads);
  auto full = shared;
  full.W_K = repeat_blocks(shared.W_K, 4, 4 / kv_heads);
  full.W_V = repeat_blocks(shared.W_V, 3, 4 / kv_heads);
  CHECK((multihead_attention(X, X, shared, {4, kv_heads}, mask).output ==
         multihead_attention(X, X, full, {4, 4}, mask).output));
}

TEST_CASE("a temperature reaches the heads", "[multihead]") {
  const auto X = random_tensor<3>({1, 3, 6}, 5);
  const auto result = multihead_attention(X, X, random_weights(2, 2), {2, 2}, std::nullopt, 0.5);
  CHECK(result.scaled(0, 1, 2, 0) == result.scores(0, 1, 2, 0) / (2.0 * 0.5));
}

TEST_CASE("multi-head attention refuses tokens that do not fit the weights, and each other", "[multihead]") {
  const auto X = random_tensor<3>({1, 3, 6}, 5);
  CHECK_THROWS_WITH(multihead_attention(random_tensor<3>({1, 3, 5}, 5), X, random_weights(2, 2), {2, 2}),
                    Contains("1×3×6") && Contains("the axis d_model has 5 positions"));
}
