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

/// What heads make of tokens: output [batch×query×d_model], weights [batch×head×query×key].
struct InHeads {
  Tensor<3> output;
  Tensor<4> weights;
};

/// Multi-head attention (Vaswani et al. 2017, section 3.2.2) of X_query [batch×query×d_model] to X_key
/// [batch×key×d_model], number for number what the part attention_in_heads.md computes. Of rotary attention
/// `angles` [position×pair] say by how much each pair of numbers of a head's queries and keys is turned.
InHeads attend_in_heads(const Tensor<3>& X_query, const Tensor<3>& X_key,
                        const attn::MultiHeadWeights& weights, const attn::AttentionOptions& options = {},
                        const std::optional<Tensor<2>>& angles = std::nullopt);

/// The mistake `cross-attends-itself` in the step `output` of the group `prefix`, which reads these queries.
void add_cross_attends_itself(Functions& functions, const std::string& X_query, const std::string& prefix);

/// Gives X and the weights of all heads of the second layer of the model about.
void give_about_heads(ModelInputs& inputs);

/// Gives X and all weights of the second layer of the model about.
void give_block(ModelInputs& inputs);

}  // namespace lessons
