#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lessons/documents/part_run.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/model.hpp"

namespace lessons {

/// How many heads there are.
struct Heads {
  std::size_t query;      ///< heads that ask
  std::size_t key_value;  ///< heads that answer, each read by query / key_value of them
};

/// The names of the weights of multi-head attention and the axes that documents declare them with: W_Q, W_K,
/// W_V, W_O, then the biases, which are there where they are given.
const std::vector<std::pair<std::string, formula::Axes>>& multihead_weights();

/// Gives a run the weights `prefix`W_Q, …, for the part attention_in_heads.md. Of rotary attention `angles`
/// [position×pair] say by how much each pair of numbers of a head's queries and keys is turned.
void set_multihead_weights(DocumentRun& run, const std::string& prefix, const Views& weights,
                           const Heads& heads);

/// Multi-head attention (Vaswani et al. 2017, section 3.2.2), the part attention_in_heads.md, to the steps
/// `weights`, `heads` and `output`: X_query [batch×query×d_model], X_key [batch×key×d_model], mask
/// [batch×query×key], true = may be seen. Tokens and mask live as long as the run.
void tell_multihead(DocumentRun& run, const Named& X_query, const Named& X_key, const Views& weights,
                    const Heads& heads, const std::optional<Mask<3>>& mask);

/// The mistake `cross-attends-itself` in the step `output` of the group `prefix`, which reads these queries.
void add_cross_attends_itself(Functions& functions, const std::string& X_query, const std::string& prefix);

/// Gives X and the weights of all heads of the second layer of the model about.
void give_about_heads(ModelInputs& inputs);

}  // namespace lessons
