#include "lessons/transformer_block/mistakes.hpp"

#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "lessons/self_attention.hpp"

namespace lessons {

namespace {

using attn::Activation;

constexpr double usual_epsilon = 1e-5;

/// By what (x − mean) is divided, from the sum of squared deviations of `count` numbers.
using Spread = std::function<double(double squares, double count)>;

double usual_spread(double squares, double count) {
  return std::sqrt(squares / count + usual_epsilon);
}

/// Layer norm over groups of numbers: `group_of` says in which of `groups` the number at an offset is.
template <class GroupOf>
Tensor<3> norm_by_group(const Tensor<3>& x, const attn::LayerNormWeights& weights, std::size_t groups,
                        GroupOf group_of, const Spread& spread = usual_spread, bool is_centred = true) {
  std::vector<double> sums(groups, 0.0), counts(groups, 0.0), squares(groups, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    sums[group_of(i)] += is_centred ? x.data()[i] : 0.0;
    counts[group_of(i)] += 1.0;
  }
  const auto centred = [&](std::size_t i) { return x.data()[i] - sums[group_of(i)] / counts[group_of(i)]; };
  for (std::size_t i = 0; i < x.size(); ++i) squares[group_of(i)] += centred(i) * centred(i);
  auto result = x;
  const auto d = x.shape(2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto group = group_of(i);
    result.data()[i] =
        centred(i) / spread(squares[group], counts[group]) * weights.gain(i % d) + weights.bias(i % d);
  }
  return result;
}

Tensor<3> norm_of_rows(const Tensor<3>& x, const attn::LayerNormWeights& weights, const Spread& spread,
                       bool is_centred = true) {
  const auto d = x.shape(2);
  return norm_by_group(
      x, weights, x.size() / d, [d](std::size_t i) { return i / d; }, spread, is_centred);
}

Tensor<3> gelu_by_tanh(Tensor<3> x) {
  for (auto& number : x)
    number = number / 2.0 *
             (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (number + 0.044715 * std::pow(number, 3))));
  return x;
}

Tensor<1> zeros_like(const Tensor<1>& x) {
  return Tensor<1>(x.shape(), 0.0);
}

}  // namespace

attn::Mistakes mistakes_of_layer_norm(const Tensor<3>& x, const attn::LayerNormWeights& weights) {
  const auto rows = [&x, &weights](const Spread& spread) {
    return [&x, &weights, spread] { return norm_of_rows(x, weights, spread); };
  };
  const auto d = x.shape(2), n = x.shape(1);
  attn::Mistakes mistakes = {
      {"norm-unbiased",
       rows([](double squares, double count) { return std::sqrt(squares / (count - 1.0) + usual_epsilon); })},
      {"norm-unbiased:eps-outside",
       rows([](double squares, double count) { return std::sqrt(squares / count) + usual_epsilon; })},
      {"norm-unbiased:torch-std",
       rows([](double squares, double count) { return std::sqrt(squares / (count - 1.0)) + 1e-6; })},
      {"norm-mean-kept", [&x, &weights] { return norm_of_rows(x, weights, usual_spread, false); }},
      {"norm-axis:tokens",
       [&x, &weights, d, n] {
         return norm_by_group(x, weights, x.size() / n,
                              [d, n](std::size_t i) { return i / (n * d) * d + i % d; });
       }},
      {"norm-axis:batch",
       [&x, &weights, d] { return norm_by_group(x, weights, d, [d](std::size_t i) { return i % d; }); }},
      {"norm-axis:sample",
       [&x, &weights, d, n] {
         return norm_by_group(x, weights, x.shape(0), [d, n](std::size_t i) { return i / (n * d); });
       }},
      {"norm-gain-missing", [&x] { return attn::standardize(x); }},
  };
  for (const auto& [name, epsilon] :
       {std::pair("1e-3", 1e-3), std::pair("1e-6", 1e-6), std::pair("1e-8", 1e-8), std::pair("1e-12", 1e-12)})
    mistakes.emplace_back(std::string("norm-epsilon:") + name,
                          rows([epsilon = epsilon](double squares, double count) {
                            return std::sqrt(squares / count + epsilon);
                          }));
  return mistakes;
}

attn::Mistakes mistakes_of_residual(const Tensor<3>& x, const Tensor<3>& found) {
  return {{"residual-missing", [&found] { return found; }},
          {"residual-twice", [&x, &found] { return attn::add(attn::add(x, x), found); }}};
}

attn::Mistakes mistakes_of_norm_before(const Tensor<3>& x) {
  return {{"norm-after-sum", [&x] { return x; }}};
}

attn::Mistakes mistakes_of_residual_around_norm(const Tensor<3>& x, const Tensor<3>& found,
                                                const Tensor<3>& normed,
                                                const attn::LayerNormWeights& weights) {
  return {{"residual-normed", [&normed, &found] { return attn::add(normed, found); }},
          {"norm-after-sum", [&x, &found, &weights] {
             return attn::layer_norm(attn::add(x, found), weights.gain, weights.bias);
           }}};
}

attn::Mistakes mistakes_of_hidden(Activation activation, const Tensor<3>& x,
                                  const FeedForwardWeights& weights) {
  const auto sums = [&x, &weights] { return attn::linear(x, weights.W_1, weights.b_1); };
  attn::Mistakes mistakes = {
      {"activation-missing", sums},
      {"bias-missing",
       [=, &x, &weights] {
         return attn::activate(activation, attn::linear(x, weights.W_1, zeros_like(weights.b_1)));
       }},
      {"weight-transposed:ffn", [=, &x, &weights] {
         return attn::activate(activation, attn::linear(x, read_as_transposed(weights.W_1), weights.b_1));
       }}};
  if (activation == Activation::relu) {
    mistakes.emplace_back("activation-other", [=] { return attn::gelu(sums()); });
  } else {
    mistakes.emplace_back("activation-other", [=] { return attn::relu(sums()); });
    mistakes.emplace_back("gelu-by-tanh", [=] { return gelu_by_tanh(sums()); });
  }
  return mistakes;
}

attn::Mistakes mistakes_of_feed_forward(const Tensor<3>& hidden, const FeedForwardWeights& weights) {
  return {{"bias-missing",
           [&hidden, &weights] { return attn::linear(hidden, weights.W_2, zeros_like(weights.b_2)); }},
          {"weight-transposed:ffn", [&hidden, &weights] {
             return attn::linear(hidden, read_as_transposed(weights.W_2), weights.b_2);
           }}};
}

}  // namespace lessons
