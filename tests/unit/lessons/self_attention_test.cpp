#include <catch2/catch.hpp>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "tests/unit/lessons/parts.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

namespace {

struct OneHeadWeights {
  Tensor<2> W_Q, W_K, W_V;

  operator Views() const {
    return {{"W_Q", lessons::owned_view(W_Q)},
            {"W_K", lessons::owned_view(W_K)},
            {"W_V", lessons::owned_view(W_V)}};
  }
};

/// For d_model = 6, d_k = 4 and d_v = 3.
OneHeadWeights random_weights() {
  return {random_tensor<2>({6, 4}, 1), random_tensor<2>({6, 4}, 2), random_tensor<2>({6, 3}, 3)};
}

/// The step `name` of one head.
Tensor<3> single_head(const Page& page, const Named& X_query, const Named& X_key, const char* name,
                      const std::optional<attn::Mask<3>>& mask = std::nullopt) {
  lessons::PartRun run(page.bench);
  const Views weights = random_weights();
  run.set("many_heads", 0.0);
  set_tokens(run, X_query, X_key);
  set_views(run, "", weights,
            {{"W_Q", {"d_model", "d_k"}},
             {"W_K", {"d_model", "d_k"}},
             {"W_V", {"d_model", "d_v"}},
             {"b_Q", {"d_k"}},
             {"b_K", {"d_k"}},
             {"b_V", {"d_v"}}});
  set_mask(run, mask);
  run.tell_part("parts/projections.md", {"X_query = " + X_query.id, "X_key = " + X_key.id, "head·d_k = d_k",
                                         "kv_head·d_k = d_k", "kv_head·d_v = d_v"});
  run.tell_part("parts/scores.md");
  run.tell_part("parts/mixture.md");
  return run.copy_of<double, 3>(name);
}

}  // namespace

TEST_CASE("queries come from one side, keys and values from the other", "[self_attention]") {
  const Page page("self-attention", {.sentence = {"a b c"}, .temperature = 2.0});
  const Named X_query = {"X_query", random_tensor<3>({2, 3, 6}, 4)},
              X_key = {"X_key", random_tensor<3>({2, 5, 6}, 5)};
  const std::optional mask = attn::padding_mask({5, 2}, 3, 5);
  const auto weights = random_weights();
  const auto expected =
      attend(page, attn::linear(X_query.tensor, weights.W_Q), attn::linear(X_key.tensor, weights.W_K),
             attn::linear(X_key.tensor, weights.W_V), mask);
  CHECK((single_head(page, X_query, X_key, "weights", mask) == expected.weights));
  const auto output = single_head(page, X_query, X_key, "output", mask);
  CHECK((output == expected.output));
  CHECK(output.shape() == std::array<std::size_t, 3>{2, 3, 3});
}

TEST_CASE("times W_O it is multi-head attention with one head", "[self_attention]") {
  const Page page("self-attention", {.sentence = {"a b c"}});
  const Named X = {"X", random_tensor<3>({2, 5, 6}, 4)};
  Views weights = random_weights();
  const auto W_O = random_tensor<2>({3, 6}, 7);
  weights.emplace("W_O", lessons::owned_view(W_O));
  const auto several = multihead(page, X.tensor, X.tensor, weights, {1, 1}).output;
  CHECK(attn::max_abs_difference(attn::linear(single_head(page, X, X, "output"), W_O), several) <= rounding);
}

TEST_CASE("weights that do not fit the tokens are refused", "[self_attention]") {
  const Page page("self-attention", {.sentence = {"a b c"}});
  const Named X = {"X", random_tensor<3>({2, 5, 7}, 4)};
  CHECK_THROWS_AS(single_head(page, X, X, "output"), attn::Error);
  CHECK_THROWS_WITH(single_head(page, X, X, "output"),
                    Contains("W_K is [d_model×d_k], [6×4]") && Contains("d_model has 7"));
}
