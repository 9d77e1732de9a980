#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lessons/backward/multihead.hpp"
#include "lessons/documents/document_run.hpp"

namespace lessons {

/// A tensor that a forward pass keeps until the backward pass reads it.
struct KeptTensor {
  std::string id;
  std::size_t numbers;
};

/// What has to be kept of multi-head attention where nothing is computed again, and of FlashAttention (Dao et
/// al. 2022), which keeps the log-sum-exp of each row of scores [batch×head×query] in place of the weights.
/// `group` is the one that they stand in: "attention/".
std::vector<KeptTensor> kept_by_attention(const MultiHeadKept& kept, const std::string& group = "");
std::vector<KeptTensor> kept_by_flash(const MultiHeadKept& kept, const Tensor<3>& log_sum_exp,
                                      const std::string& group = "");

/// What goes through the backward pass in each way.
struct Recomputation {
  std::vector<KeptTensor> everything, flash, checkpoint;
  Tensor<3> log_sum_exp;  ///< [batch×head×query]
  std::function<void(Workbench& mute, Gradients& again)> from_checkpoint;
  std::function<void(Workbench& mute, Gradients& again, const Tensor<3>& log_sum_exp)> from_flash;
};

/// The step `flash/log_sum_exp` [head×query] of the group in which the trace is, from the scores as softmax
/// reads them.
Tensor<3> show_log_sum_exp(Workbench& bench, const Attention<4>& attention);

/// The weights once more, from Q, K and the log-sum-exp of each row.
Tensor<4> weights_again(Workbench& mute, const MultiHeadKept& kept, const Tensor<3>& log_sum_exp);

/// The note `recomputation`, the steps `kept/everything`, `kept/flash`, `kept/checkpoint` in bytes of the
/// run's dtype, and the claims that both ways to compute again give the same gradients.
void show_recomputation(Workbench& bench, const Gradients& shown, const Recomputation& ways);

/// The same for a document that has `flash/log_sum_exp`: `{do kept/everything}`, where that is these tensors,
/// `{do kept/flash}`, `{do kept/checkpoint}`, and both claims.
void add_recomputation(Functions& functions, const std::vector<std::string>& everything);

}  // namespace lessons
