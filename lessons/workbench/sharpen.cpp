#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/documents/front_matter.hpp"
#include "trace/mistake.hpp"

namespace lessons {

namespace {

constexpr double sharp_score = 100.0;

/// A token that is made longer than that makes the other scores of its row overflow in float16.
constexpr double largest_factor = 20.0;

/// A query and a key of the first sample.
struct Pair {
  std::size_t query, key;
  double score;
};

/// The pair with the largest score; a token with itself where queries and keys are the same tokens. Where
/// there is a mask, whose first sample is [query×key], the query sees the key.
Pair best_pair(const attn::Tensor<2>& Q, const attn::Tensor<2>& K, bool is_same_token,
               const attn::AnyTensor* mask = nullptr) {
  const auto scores = attn::matmul(Q, attn::transpose(K));
  Pair best{0, 0, std::numeric_limits<double>::lowest()};
  for (std::size_t i = 0; i < Q.shape(0); ++i)
    for (std::size_t j = 0; j < K.shape(0); ++j) {
      const bool is_seen = mask == nullptr || mask->view().at(i * K.shape(0) + j) != 0.0;
      if ((is_same_token && i != j) || !is_seen || scores(i, j) <= best.score) continue;
      best = {i, j, scores(i, j)};
    }
  return best;
}

/// Of a tensor that has a batch axis, or of one that has none.
attn::Tensor<2> first_sample(const attn::AnyTensor& tensor) {
  if (tensor.shape().size() == 2) return attn::array_of<double, 2>(tensor);
  return attn::sample(attn::array_of<double, 3>(tensor), 0);
}

/// The row of a tensor [row×d].
double* row_of(attn::AnyTensor& tensor, std::size_t row) {
  return tensor.elements<double>() + row * tensor.shape().back();
}

void lengthen_row(attn::AnyTensor& tensor, std::size_t row, double factor) {
  for (std::size_t i = 0; i < tensor.shape().back(); ++i) row_of(tensor, row)[i] *= factor;
}

void lengthen_columns(attn::AnyTensor& W, std::size_t columns, double factor) {
  const auto width = W.shape().back();
  for (std::size_t i = 0; i < attn::element_count(W.shape()); ++i)
    if (i % width < columns) W.elements<double>()[i] *= factor;
}

double factor_for(double score, std::size_t d_k) {
  return score > 0.0 ? std::sqrt(sharp_score * std::sqrt(static_cast<double>(d_k)) / score) : 1.0;
}

/// Makes the scaled score of the first head that is farthest from 0 a 100, by making its columns of W_Q and
/// W_K longer: no other score of the head is beyond it. X [token×d_model].
void sharpen_first_head(attn::Tensors& inputs, const attn::Tensor<2>& X, std::size_t d_k,
                        const std::string& group) {
  auto &W_Q = inputs.at(group + "W_Q"), &W_K = inputs.at(group + "W_K");
  const auto project = [&](const attn::AnyTensor& W) {
    return attn::linear(X, attn::columns(attn::array_of<double, 2>(W), 0, d_k));
  };
  const auto scores = attn::matmul(project(W_Q), attn::transpose(project(W_K)));
  const double farthest = *std::max_element(scores.begin(), scores.end(),
                                            [](double a, double b) { return std::abs(a) < std::abs(b); });
  const double factor = factor_for(std::abs(farthest), d_k);
  lengthen_columns(W_Q, d_k, factor);
  lengthen_columns(W_K, d_k, std::copysign(factor, farthest));
}

/// Adds the query to the key, and its squared length to their score.
void turn_towards(const double* query, double* key, std::size_t d_k, double& score) {
  std::transform(key, key + d_k, query, key, std::plus<>());
  score += std::inner_product(query, query + d_k, query, 0.0);
}

/// Makes a query and a key of Q [batch×query×d_k] and K [batch×key×d_k] longer. Of a pair that hardly matches
/// the key first turns towards the query: it would have to be so long that products overflow in float16.
void lengthen_pair(attn::AnyTensor& Q, attn::AnyTensor& K, const attn::AnyTensor* mask = nullptr) {
  constexpr double matching_score = 1.0;
  const auto d_k = Q.shape().back();
  auto [query, key, score] = best_pair(first_sample(Q), first_sample(K), false, mask);
  if (score < matching_score) turn_towards(row_of(Q, query), row_of(K, key), d_k, score);
  const double factor = factor_for(score, d_k);
  lengthen_row(Q, query, factor);
  lengthen_row(K, key, factor);
}

/// One scaled score 100 where queries come from `X_query` and keys from `X_key`, by making the vectors of a
/// token of each longer. Where the vector of the only one would be too long for float16, W_Q and W_K become
/// longer.
void sharpen_tokens(attn::Tensors& inputs, const Options& options, const std::string& X_query,
                    const std::string& X_key) {
  const auto W_Q = attn::array_of<double, 2>(inputs.at("W_Q"));
  const auto W_K = attn::array_of<double, 2>(inputs.at("W_K"));
  const auto d_k = std::min({options.d_k.value_or(W_Q.shape(1)), W_Q.shape(1), W_K.shape(1)});
  const auto Q = attn::linear(first_sample(inputs.at(X_query)), attn::columns(W_Q, 0, d_k));
  const auto K = attn::linear(first_sample(inputs.at(X_key)), attn::columns(W_K, 0, d_k));
  const bool is_same = X_query == X_key;
  const auto [query, key, score] = best_pair(Q, K, is_same);
  const double factor = factor_for(score, d_k);
  if (is_same && factor > largest_factor)
    return sharpen_first_head(inputs, first_sample(inputs.at(X_query)), d_k, "");
  lengthen_row(inputs.at(X_query), query, factor);
  if (!is_same) lengthen_row(inputs.at(X_key), key, factor);
}

}  // namespace

void sharpen_queries_and_keys(attn::Tensors& inputs, const Options&) {
  lengthen_pair(inputs.at("Q"), inputs.at("K"), attn::value_in(inputs, "mask"));
}

void sharpen_scoring(attn::Tensors& inputs, const Options&) {
  lengthen_pair(inputs.at("queries"), inputs.at("keys"));
}

void sharpen_source_and_target(attn::Tensors& inputs, const Options& options) {
  sharpen_tokens(inputs, options, "X_target", "X_source");
}

void sharpen_block(attn::Tensors& inputs, const Options& options) {
  auto X = attn::array_of<double, 3>(inputs.at("X"));
  if (options.norm_order == "pre")
    X = attn::layer_norm(X, attn::array_of<double, 1>(inputs.at("norm_1/gain")),
                         attn::array_of<double, 1>(inputs.at("norm_1/bias")));
  sharpen_first_head(inputs, attn::sample(X, 0), *options.d_k, "attention/");
}

void sharpen_prompt(attn::Tensors& inputs, const Options& options) {
  const auto embedding = first_sample(inputs.at("embedding"));
  const auto positions = attn::array_of<double, 2>(inputs.at("positions"));
  const auto words = std::min(embedding.shape(0), positions.shape(0));
  sharpen_first_head(inputs, attn::rows(embedding, 0, words) + attn::rows(positions, 0, words), *options.d_k,
                     options.layers.value_or(1) == 1 ? "" : "layer=1/");
}

void sharpen_word(attn::Tensors& inputs, const Options&) {
  const auto X = first_sample(inputs.at("X"));
  const auto best = best_pair(X, X, true);
  lengthen_row(inputs.at("X"), best.query, factor_for(best.score, X.shape(1)));
}

void sharpen_token(attn::Tensors& inputs, const Options& options) {
  sharpen_tokens(inputs, options, "X", "X");
}

}  // namespace lessons
