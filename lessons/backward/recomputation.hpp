#pragma once

#include <string>
#include <vector>

#include "lessons/documents/document_run.hpp"

namespace lessons {

/// For a document that has `flash/log_sum_exp`, in the group `group`: `{do kept/everything}`, the bytes, in
/// the run's dtype, of these tensors, the first of which is the input; `{do kept/flash}`, of FlashAttention
/// (Dao et al. 2022), which keeps the log-sum-exp of each row of scores in place of the weights;
/// `{do kept/checkpoint}`; and the claims that both ways to compute again give the same gradients.
void add_recomputation(Functions& functions, const std::vector<std::string>& everything,
                       const std::string& group = "");

}  // namespace lessons
