#pragma once

#include <optional>
#include <string>

#include "attn/layers/multihead_attention.hpp"
#include "lessons/workbench.hpp"

namespace lessons {

/// The inputs `W_Q`, `W_K`, `W_V`, `W_O`, drawn in that order.
template <class T>
attn::MultiHeadWeights<T> draw_multihead_weights(Workbench<T>& bench);

/// A tensor of token vectors [batch×n×d_model] and its id in the trace.
template <class T>
struct Named {
  std::string id;
  const Tensor<T, 3>& tensor;
};

/// Shows multi-head attention step by step from `Q` to `output`, and `mean_weights`, the mean over the heads.
/// Returns the output.
template <class T>
Tensor<T, 3> show_multihead(Workbench<T>& bench, const Named<T>& X_query, const Named<T>& X_key,
                            const attn::MultiHeadWeights<T>& weights,
                            const std::optional<Tensor<bool, 3>>& mask);

/// Elements of the tensors that show_multihead shows, for `batch` samples of n_q queries and n_k keys.
double multihead_element_count(const Options& options, double batch, double n_q, double n_k);

}  // namespace lessons
