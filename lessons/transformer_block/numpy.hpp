#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/multihead.hpp"

/// A transformer's block in NumPy.
namespace lessons {

/// The ids of the biases of multi-head attention that are given in the group "attention/": "b_Q", …
std::vector<std::string> given_biases(const Workbench& bench, const std::string& group);

/// The functions `softmax`, `split` and `multihead` in NumPy: multi-head attention of one sample, with as
/// many heads as the run has.
std::vector<std::string> multihead_definition(const Workbench& bench, const std::optional<Mask<3>>& mask,
                                              bool takes_biases = false);

/// The call of that function on these tokens and on the weights of the group: GROUP_output = multihead(…).
std::vector<std::string> multihead_call(const Workbench& bench, const std::string& group,
                                        const std::string& query, const std::string& key, bool is_masked);

/// The steps of the group `attention` of `x` in NumPy, as far as a page with trained weights shows them; they
/// call `softmax` and `split`. With a prefix they are those of a layer of rotary attention, and call `turn`.
std::vector<std::string> attention_code_with_weights(std::size_t d_k, const std::string& x, bool is_masked,
                                                     const std::string& prefix = "");

/// The function `LN` in NumPy, the layer norm of each row.
std::vector<std::string> layer_norm_code();

/// The note `code`: the block in NumPy, and in the group `attention` the functions that it calls.
void show_block_code(Workbench& bench, const std::optional<Mask<3>>& mask);

/// The note `code` of the group `layer_1`: a layer of rotary attention, with all functions that it calls, up
/// to X.
void show_code_of_layer_1(Workbench& bench, const MultiHeadWeights& weights,
                          const std::optional<Mask<3>>& mask);

}  // namespace lessons
