#include "fast/attention.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "tests/unit/fast/draws.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/numbers.hpp"

using attn::max_abs;
using attn::max_abs_difference;
using attn::Tensor;
using attn::fast::attention;
using attn::fast::attention_backward;
using attn::fast::block_sparse_attention;
using attn::fast::BlockPattern;
using attn::fast::linear_attention;
using attn::fast::Outcome;
using attn::fast::Unsupported;
using attn::fast::Visibility;
using Catch::Contains;

namespace {

template <class Result>
const Result& computed(const Outcome<Result>& outcome) {
  if (const auto* unsupported = std::get_if<Unsupported>(&outcome)) FAIL(unsupported->reason);
  return std::get<Result>(outcome);
}

template <class Result>
std::string reason(const Outcome<Result>& outcome) {
  REQUIRE(std::holds_alternative<Unsupported>(outcome));
  return std::get<Unsupported>(outcome).reason;
}

/// By the definition of `Visibility`.
bool sees(const Visibility& visible, const Tensor<4>& Q, const Tensor<4>& K, std::size_t sample,
          std::size_t query, std::size_t key) {
  const auto ahead = static_cast<double>(key) - static_cast<double>(query) - static_cast<double>(K.shape(2)) +
                     static_cast<double>(Q.shape(2));
  return !(visible.causal && ahead > 0.0) &&
         !(visible.window && std::abs(ahead) > static_cast<double>(*visible.window)) &&
         (visible.key_lengths.empty() || key < visible.key_lengths[sample]);
}

double dot(const Tensor<4>& x, const Tensor<4>& y, const std::array<std::size_t, 3>& x_row,
           const std::array<std::size_t, 3>& y_row) {
  double sum = 0.0;
  for (std::size_t c = 0; c < x.shape(3); ++c)
    sum += x(x_row[0], x_row[1], x_row[2], c) * y(y_row[0], y_row[1], y_row[2], c);
  return sum;
}

/// Attention and its gradients pair by pair.
struct Plain {
  Tensor<4> output, d_Q, d_K, d_V;
};

Plain plain(const Tensor<4>& Q, const Tensor<4>& K, const Tensor<4>& V, double divisor,
            const Visibility& visible, const Tensor<4>& d_output) {
  Plain all = {Tensor<4>(d_output.shape(), 0.0), Tensor<4>(Q.shape(), 0.0), Tensor<4>(K.shape(), 0.0),
               Tensor<4>(V.shape(), 0.0)};
  const std::size_t heads = Q.shape(1), n_k = K.shape(2), d_k = Q.shape(3), d_v = V.shape(3);
  for (std::size_t b = 0; b < Q.shape(0); ++b)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < Q.shape(2); ++i) {
        const std::size_t g = h * K.shape(1) / heads;
        std::vector<double> weights(n_k, 0.0);
        double sum = 0.0, mean = 0.0;
        for (std::size_t j = 0; j < n_k; ++j)
          if (sees(visible, Q, K, b, i, j))
            sum += weights[j] = std::exp(dot(Q, K, {b, h, i}, {b, g, j}) / divisor);
        if (sum == 0.0) continue;
        for (std::size_t j = 0; j < n_k; ++j) {
          weights[j] /= sum;
          mean += weights[j] * dot(d_output, V, {b, h, i}, {b, g, j});
          for (std::size_t c = 0; c < d_v; ++c) {
            all.output(b, h, i, c) += weights[j] * V(b, g, j, c);
            all.d_V(b, g, j, c) += weights[j] * d_output(b, h, i, c);
          }
        }
        for (std::size_t j = 0; j < n_k; ++j) {
          const double d_score = weights[j] * (dot(d_output, V, {b, h, i}, {b, g, j}) - mean) / divisor;
          for (std::size_t c = 0; c < d_k; ++c) {
            all.d_Q(b, h, i, c) += d_score * K(b, g, j, c);
            all.d_K(b, g, j, c) += d_score * Q(b, h, i, c);
          }
        }
      }
  return all;
}

/// Each kind of visibility for two samples, and all together.
std::vector<Visibility> visibilities(std::size_t n_k) {
  return {{},
          {.causal = true},
          {.window = 1},
          {.key_lengths = {n_k, n_k / 2}},
          {.causal = true, .window = 1},
          {.causal = true, .window = 1, .key_lengths = {n_k, n_k / 2}},
          {.key_lengths = {0, 0}}};
}

/// softmax(Q Kᵀ / √d_k) V where `keeps(query, key)`.
Tensor<2> plain(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                const std::function<bool(std::size_t, std::size_t)>& keeps) {
  Tensor<2> output({Q.shape(0), V.shape(1)}, 0.0);
  for (std::size_t i = 0; i < Q.shape(0); ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < K.shape(0); ++j) {
      if (!keeps(i, j)) continue;
      double score = 0.0;
      for (std::size_t c = 0; c < Q.shape(1); ++c) score += Q(i, c) * K(j, c);
      const double weight = std::exp(score / std::sqrt(static_cast<double>(Q.shape(1))));
      for (std::size_t c = 0; c < V.shape(1); ++c) output(i, c) += weight * V(j, c);
      sum += weight;
    }
    for (std::size_t c = 0; c < V.shape(1) && sum > 0.0; ++c) output(i, c) /= sum;
  }
  return output;
}

/// Σⱼ φ(q)ᵀφ(kⱼ) vⱼ / Σⱼ φ(q)ᵀφ(kⱼ), 0 where all weights are.
Tensor<2> plain_linear(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V, bool causal) {
  Tensor<2> output({phi_Q.shape(0), V.shape(1)}, 0.0);
  for (std::size_t i = 0; i < phi_Q.shape(0); ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < phi_K.shape(0); ++j) {
      if (causal && j + phi_Q.shape(0) > i + phi_K.shape(0)) continue;
      double weight = 0.0;
      for (std::size_t f = 0; f < phi_Q.shape(1); ++f) weight += phi_Q(i, f) * phi_K(j, f);
      for (std::size_t c = 0; c < V.shape(1); ++c) output(i, c) += weight * V(j, c);
      sum += weight;
    }
    for (std::size_t c = 0; c < V.shape(1) && sum > 0.0; ++c) output(i, c) /= sum;
  }
  return output;
}

/// elu + 1, rounded to float32 as a run in float32 rounds it.
Tensor<2> float32_features(const Tensor<2>& x) {
  Tensor<2> features(x.shape());
  std::transform(x.begin(), x.end(), features.begin(), [](double element) {
    const double feature = element > 0.0 ? element + 1.0 : std::exp(element);
    return static_cast<double>(static_cast<float>(feature));
  });
  return features;
}

}  // namespace

TEST_CASE("fast attention and its gradients equal plain loops under every visibility", "[fast]") {
  const std::size_t n_q = GENERATE(1, 3, 40), n_k = GENERATE(1, 7, 40), d = GENERATE(1, 5);
  const std::size_t kv_heads = GENERATE(1, 2, 4);
  CAPTURE(n_q, n_k, d, kv_heads);
  const auto Q = normal_tensor<4>({2, 4, n_q, d}, 1), K = normal_tensor<4>({2, kv_heads, n_k, d}, 2),
             V = normal_tensor<4>({2, kv_heads, n_k, 3}, 3), d_output = normal_tensor<4>({2, 4, n_q, 3}, 4);
  for (const auto& visible : visibilities(n_k)) {
    CAPTURE(visible.causal, visible.window.has_value(), visible.key_lengths);
    const auto expected = plain(Q, K, V, 2.0, visible, d_output);
    for_each_isa([&] {
      const auto output = computed(attention(Q, K, V, 2.0, visible));
      CHECK(output.kernel == "simd");
      CHECK(max_abs_difference(output.output, expected.output) <= 1e-13);
      const auto gradients = computed(attention_backward(Q, K, V, 2.0, visible, d_output));
      CHECK(gradients.kernel == "simd");
      CHECK(max_abs_difference(gradients.d_Q, expected.d_Q) <= 1e-12);
      CHECK(max_abs_difference(gradients.d_K, expected.d_K) <= 1e-12);
      CHECK(max_abs_difference(gradients.d_V, expected.d_V) <= 1e-12);
    });
  }
}

TEST_CASE("a single attention is one head", "[fast]") {
  const auto Q = normal_tensor<3>({2, 5, 4}, 1), K = normal_tensor<3>({2, 7, 4}, 2),
             V = normal_tensor<3>({2, 7, 3}, 3);
  const auto with_heads = [](const Tensor<3>& x) {
    Tensor<4> heads({x.shape(0), 1, x.shape(1), x.shape(2)});
    std::copy(x.begin(), x.end(), heads.begin());
    return heads;
  };
  for (const auto& visible : visibilities(7)) {
    const auto one = computed(attention(Q, K, V, 2.0, visible)).output;
    const auto head = computed(attention(with_heads(Q), with_heads(K), with_heads(V), 2.0, visible)).output;
    CHECK(std::equal(one.begin(), one.end(), head.begin(), head.end()));
  }
}

TEST_CASE("axes of fast attention may be empty", "[fast]") {
  const auto Q = normal_tensor<3>({2, 5, 4}, 1), V = normal_tensor<3>({2, 3, 2}, 2);
  const auto output = [](const Tensor<3>& q, const Tensor<3>& k, const Tensor<3>& v) {
    return computed(attention(q, k, v, 2.0)).output;
  };
  CHECK((output(Q, Tensor<3>({2, 0, 4}), Tensor<3>({2, 0, 2})) == Tensor<3>({2, 5, 2}, 0.0)));
  const auto means = output(Tensor<3>({2, 5, 0}), Tensor<3>({2, 3, 0}), V);
  CHECK(means(1, 4, 0) == Approx((V(1, 0, 0) + V(1, 1, 0) + V(1, 2, 0)) / 3.0));
  CHECK(output(Q, Q, Tensor<3>({2, 5, 0})).shape(2) == 0);
  CHECK(output(Tensor<3>({2, 5, 0}), Tensor<3>({2, 3, 0}), Tensor<3>({2, 3, 0})).shape(2) == 0);
}

TEST_CASE("rows too long for registers are computed in tiles", "[fast]") {
  const auto Q = normal_tensor<4>({1, 1, 3, 257}, 1), K = normal_tensor<4>({1, 1, 4, 257}, 2),
             V = normal_tensor<4>({1, 1, 4, 2}, 3);
  const auto fast = computed(attention(Q, K, V, 16.0));
  CHECK(fast.kernel == "tiled");
  const auto expected = plain(Q, K, V, 16.0, {}, Tensor<4>({1, 1, 3, 2}, 0.0));
  CHECK(max_abs_difference(fast.output, expected.output) <= 1e-13);
}

TEST_CASE("numbers that may overflow are unsupported, forward and backward", "[fast]") {
  const double huge = GENERATE_COPY(1e160, 1e290, infinity, not_a_number);
  const auto which = GENERATE(0, 1, 2);
  CAPTURE(huge, which);
  std::array<Tensor<3>, 3> in = {normal_tensor<3>({1, 3, 2}, 1), normal_tensor<3>({1, 4, 2}, 2),
                                 normal_tensor<3>({1, 4, 2}, 3)};
  in[static_cast<std::size_t>(which)](0, 1, 0) = huge;
  const auto& [Q, K, V] = in;
  const auto d_output = normal_tensor<3>({1, 3, 2}, 4);
  if (which == 2 && huge == 1e160) {
    CHECK(computed(attention(Q, K, V, 1.0)).kernel == "simd");
    CHECK_THAT(reason(attention_backward(Q, K, V, 1.0, {}, d_output)), Contains("a gradient of a weight"));
    return;
  }
  CHECK_THAT(reason(attention(Q, K, V, 1.0)), Contains(which == 2 ? "a number" : "a score"));
  CHECK_FALSE(reason(attention_backward(Q, K, V, 1.0, {}, d_output)).empty());
}

TEST_CASE("scores without digits behind the point are unsupported, and the reason has their size", "[fast]") {
  auto Q = normal_tensor<3>({1, 6, 2}, 1);
  const auto K = normal_tensor<3>({1, 6, 2}, 2);
  CHECK_THAT(reason(attention(Q, K, K, 1e-300)), Contains("a score"));
  Q *= 1e20;
  CHECK_THAT(reason(attention(Q, K, K, 1.0)), Contains("e+20, beyond 1e+15"));
  const Tensor<2> matrix({6, 2}, 1e10);
  CHECK_THAT(reason(block_sparse_attention(matrix, matrix, matrix, {6, {{0}}})), Contains("beyond 1e+15"));
}

TEST_CASE("an infinite gradient of the output is unsupported", "[fast]") {
  const auto Q = normal_tensor<3>({2, 5, 4}, 1);
  auto d_output = normal_tensor<3>({2, 5, 4}, 3);
  d_output(0, 0, 0) = infinity;
  CHECK_FALSE(reason(attention_backward(Q, Q, Q, 2.0, {}, d_output)).empty());
}

TEST_CASE("fast attention refuses what does not match, with both shapes", "[fast]") {
  const auto x = normal_tensor<3>({2, 3, 4}, 1), narrow = normal_tensor<3>({2, 3, 5}, 1),
             longer = normal_tensor<3>({2, 6, 4}, 1), lone = normal_tensor<3>({1, 3, 4}, 1);
  CHECK_THROWS_WITH(attention(x, narrow, x, 1.0), Contains("2×3×4") && Contains("2×3×5"));
  CHECK_THROWS_WITH(attention(x, x, longer, 1.0), Contains("2×3×4") && Contains("2×6×4"));
  CHECK_THROWS_WITH(attention(x, lone, lone, 1.0),
                    Contains("Q is 2×3×4 but K is 1×3×4: the batch axes must match"));
  CHECK_THROWS_WITH(attention_backward(x, x, x, 1.0, {}, longer), Contains("2×6×4") && Contains("2×3×4"));
  CHECK_THROWS_WITH(attention(x, x, x, 1.0, {.key_lengths = {1}}), Contains("1 key lengths for 2 samples"));
  CHECK_THROWS_WITH(attention(x, x, x, 1.0, {.key_positions = std::vector<std::size_t>(x.shape(1) + 1)}),
                    Contains("positions for") && Contains("keys"));
  CHECK_THROWS_WITH(attention(x, x, x, 1.0, {.query_positions = std::vector<std::size_t>(x.shape(1) + 1)}),
                    Contains("positions for") && Contains("queries"));
  CHECK_THROWS_WITH(attention(x, x, x, 1.0, {.key_lengths = {1, 9}}), Contains("9") && Contains("3 keys"));
  const auto heads = normal_tensor<4>({1, 3, 2, 4}, 1), two = normal_tensor<4>({1, 2, 2, 4}, 1);
  CHECK_THROWS_AS(attention(heads, two, two, 1.0), std::invalid_argument);
}

TEST_CASE("float64 results of all instruction sets agree for large scores", "[fast]") {
  auto Q = normal_tensor<4>({1, 1, 9, 16}, 1);
  Q *= 20.0;
  const auto K = normal_tensor<4>({1, 1, 33, 16}, 2), V = normal_tensor<4>({1, 1, 33, 4}, 3);
  const auto expected = plain(Q, K, V, 4.0, {}, Tensor<4>({1, 1, 9, 4}, 0.0)).output;
  for_each_isa(
      [&] { CHECK(max_abs_difference(computed(attention(Q, K, V, 4.0)).output, expected) <= 1e-11); });
}

TEST_CASE("fast block-sparse attention equals plain loops over the pairs of its pattern", "[fast]") {
  const std::size_t n = GENERATE(1, 6, 20), block = GENERATE(1, 2, 5);
  const bool causal = GENERATE(false, true);
  CAPTURE(n, block, causal);
  const auto Q = normal_tensor<2>({n, 4}, 1), K = normal_tensor<2>({n, 4}, 2),
             V = normal_tensor<2>({n, 3}, 3);
  const auto pattern = attn::fast::strided_blocks(n, n, block, 1, 2);
  const auto fast = computed(block_sparse_attention(Q, K, V, pattern, causal));
  CHECK(fast.kernel == "sparse-simd");
  const auto expected = plain(Q, K, V, [&](std::size_t i, std::size_t j) {
    return (i / block) % 2 == (j / block) % 2 && !(causal && j > i);
  });
  CHECK(max_abs_difference(fast.output, expected) <= 1e-13);
}

TEST_CASE("a pattern with blocks of 1 takes any lists of keys", "[fast]") {
  const auto Q = normal_tensor<2>({4, 2}, 1), K = normal_tensor<2>({6, 2}, 2),
             V = normal_tensor<2>({6, 3}, 3);
  const std::vector<std::vector<std::size_t>> keys = {{0, 5}, {}, {1, 2, 4}, {3}};
  const auto expected = plain(Q, K, V, [&](std::size_t i, std::size_t j) {
    return std::find(keys[i].begin(), keys[i].end(), j) != keys[i].end();
  });
  CHECK(max_abs_difference(computed(block_sparse_attention(Q, K, V, {1, keys})).output, expected) <= 1e-13);
  const Tensor<2> wide({4, 257}, 0.0);
  CHECK_THAT(reason(block_sparse_attention(wide, wide, wide, {4, {{0}}})), Contains("d_k is 257"));
  CHECK_THROWS_WITH(block_sparse_attention(Q, K, V, {1, {{0}}}), Contains("1 lists for 4 blocks"));
}

TEST_CASE("fast linear attention equals all weights", "[fast]") {
  const std::size_t n = GENERATE(1, 6, 70);
  const bool causal = GENERATE(false, true);
  CAPTURE(n, causal);
  const auto phi_Q = float32_features(normal_tensor<2>({n, 4}, 1)),
             phi_K = float32_features(normal_tensor<2>({n, 4}, 2)), V = normal_tensor<2>({n, 3}, 3);
  for_each_isa([&] {
    const auto fast = computed(linear_attention(phi_Q, phi_K, V, causal));
    CHECK(fast.kernel == "linear-simd");
    CHECK(max_abs_difference(fast.output, plain_linear(phi_Q, phi_K, V, causal)) <= 1e-13);
  });
}

TEST_CASE("features that underflow give the same in fast and in plain linear attention", "[fast]") {
  // In float32 the features of −200 are 0 and those of −100 are denormal; float64 has neither.
  const double low = GENERATE(-200.0, -100.0, -60.0);
  const bool causal = GENERATE(false, true), of_keys = GENERATE(false, true);
  CAPTURE(low, causal, of_keys);
  auto Q = normal_tensor<2>({70, 4}, 1), K = normal_tensor<2>({70, 4}, 2);
  const auto V = normal_tensor<2>({70, 3}, 3);
  auto& underflowing = of_keys ? K : Q;
  for (std::size_t i = 0; i < 50; ++i)
    for (std::size_t c = 0; c < 4; ++c) underflowing(i, c) = low - static_cast<double>(c);
  const auto phi_Q = float32_features(Q), phi_K = float32_features(K);
  const auto expected = plain_linear(phi_Q, phi_K, V, causal);
  if (low == -200.0 && (causal || !of_keys)) CHECK(expected(0, 0) == 0.0);
  for_each_isa([&] {
    CHECK(max_abs_difference(computed(linear_attention(phi_Q, phi_K, V, causal)).output, expected) <= 1e-13);
  });
}

TEST_CASE("features whose products are too small or too large are unsupported", "[fast]") {
  Tensor<2> phi({3, 2}, 1.0);
  const auto V = normal_tensor<2>({3, 2}, 1);
  phi(1, 1) = 1e-160;
  CHECK_THAT(reason(linear_attention(phi, phi, V, false)), Contains("below 1e-290"));
  phi(1, 1) = 1e160;
  CHECK_THAT(reason(linear_attention(phi, phi, V, true)), Contains("beyond 1e+280"));
}
