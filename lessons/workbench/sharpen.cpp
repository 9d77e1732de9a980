#include "lessons/workbench/sharpen.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"
#include "trace/mistake.hpp"

namespace lessons {

namespace {

constexpr double sharp_score = 100.0;

/// A query and a key of the first sample.
struct Pair {
  std::size_t query, key;
};

/// The pair with the largest score; a token with itself where queries and keys are the same tokens.
Pair best_pair(const attn::Tensor<2>& Q, const attn::Tensor<2>& K, bool is_same_token, double& score) {
  const auto scores = attn::matmul(Q, attn::transpose(K));
  Pair best{0, 0};
  score = -1.0;
  for (std::size_t i = 0; i < Q.shape(0); ++i)
    for (std::size_t j = 0; j < K.shape(0); ++j)
      if ((!is_same_token || i == j) && scores(i, j) > score) {
        best = {i, j};
        score = scores(i, j);
      }
  return best;
}

attn::Tensor<2> first_sample(const attn::AnyTensor& tensor) {
  return attn::sample(attn::array_of<double, 3>(tensor), 0);
}

void lengthen_row(attn::AnyTensor& tensor, std::size_t row, double factor) {
  const auto width = tensor.shape().back();
  auto* numbers = tensor.elements<double>() + row * width;
  std::transform(numbers, numbers + width, numbers, [&](double number) { return number * factor; });
}

double factor_for(double score, std::size_t d_k) {
  return score > 0.0 ? std::sqrt(sharp_score * std::sqrt(static_cast<double>(d_k)) / score) : 1.0;
}

}  // namespace

void sharpen_queries_and_keys(attn::Tensors& inputs, const Options&) {
  auto &Q = inputs.at("Q"), &K = inputs.at("K");
  double score = 0.0;
  const auto [query, key] = best_pair(first_sample(Q), first_sample(K), false, score);
  const double factor = factor_for(score, Q.shape().back());
  lengthen_row(Q, query, factor);
  lengthen_row(K, key, factor);
}

void sharpen_tokens(attn::Tensors& inputs, const Options& options, const std::string& X_query,
                    const std::string& X_key, const std::string& group) {
  const auto W_Q = attn::array_of<double, 2>(inputs.at(group + "W_Q"));
  const auto W_K = attn::array_of<double, 2>(inputs.at(group + "W_K"));
  const auto d_k = std::min({options.d_k.value_or(W_Q.shape(1)), W_Q.shape(1), W_K.shape(1)});
  const auto Q = attn::linear(first_sample(inputs.at(X_query)), attn::columns(W_Q, 0, d_k));
  const auto K = attn::linear(first_sample(inputs.at(X_key)), attn::columns(W_K, 0, d_k));
  double score = 0.0;
  const bool is_same = X_query == X_key;
  const auto [query, key] = best_pair(Q, K, is_same, score);
  const double factor = factor_for(score, d_k);
  lengthen_row(inputs.at(X_query), query, factor);
  if (!is_same) lengthen_row(inputs.at(X_key), key, factor);
}

void sharpen_token(attn::Tensors& inputs, const Options& options) {
  sharpen_tokens(inputs, options, "X", "X", "");
}

}  // namespace lessons
