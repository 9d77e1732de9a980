#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/workbench/model.hpp"

namespace lessons {

/// The names of the weights of multi-head attention and the axes that documents declare them with: W_Q, W_K,
/// W_V, W_O, then the biases, which are there where they are given.
const std::vector<std::pair<std::string, formula::Axes>>& multihead_weights();

/// Those that `of` gives by their names, "W_Q" to "b_O"; it may give no bias.
attn::MultiHeadWeights weights_by_name(
    std::size_t heads,
    const std::function<std::optional<attn::AnyRank<double>>(const std::string& name)>& of);

/// The mistake `cross-attends-itself` in the step `output` of the group `prefix`, which reads these queries.
void add_cross_attends_itself(Functions& functions, const std::string& X_query, const std::string& prefix);

/// Gives X and those weights of all heads of the second layer of the model about that the lesson has.
void give_about_heads(ModelInputs& inputs);

/// Gives X and all weights of the second layer of the model about.
void give_block(ModelInputs& inputs);

}  // namespace lessons
