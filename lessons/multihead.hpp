#pragma once

#include <optional>
#include <string>
#include <utility>

#include "lessons/documents/document_run.hpp"
#include "lessons/self_attention.hpp"

namespace lessons {

/// The weights of multi-head attention.
struct MultiHeadWeights {
  Tensor<2> W_Q;                                        ///< [d_model×head·d_k]
  Tensor<2> W_K;                                        ///< [d_model×kv_head·d_k]
  Tensor<2> W_V;                                        ///< [d_model×kv_head·d_v]
  Tensor<2> W_O;                                        ///< [head·d_v×d_model]
  std::optional<Tensor<1>> b_Q{}, b_K{}, b_V{}, b_O{};  ///< where they are given
  /// Of rotary attention, [position×pair]: by how much each pair of numbers of a head's queries and keys is
  /// turned (attn::rotate_pairs).
  std::optional<Tensor<2>> angles{};

  LinearMap Q() const { return {W_Q, b_Q}; }
  LinearMap K() const { return {W_K, b_K}; }
  LinearMap V() const { return {W_V, b_V}; }
  LinearMap O() const { return {W_O, b_O}; }
};

/// The inputs `W_Q`, `W_K`, `W_V`, `W_O`, drawn in that order, and `b_Q`, `b_K`, `b_V`, `b_O` where a lesson
/// declares them and they are given.
MultiHeadWeights draw_multihead_weights(Workbench& bench);

/// Takes those biases, and `angles` in the same way.
void take_biases(Workbench& bench, MultiHeadWeights& weights);

/// The declarations of the weights, and those of the biases.
std::vector<Input> multihead_input_list();
std::vector<Input> multihead_bias_list();

/// How many heads there are.
struct Heads {
  std::size_t query;      ///< heads that ask
  std::size_t key_value;  ///< heads that answer, each read by query / key_value of them
};

/// What multi-head attention goes through. The keys and values of `attention` have as many heads as the
/// queries.
struct MultiHeadAttention {
  Tensor<3> Q;                 ///< [batch×query×head·d_k]
  Tensor<4> Q_heads;           ///< [batch×head×query×d_k]
  Tensor<4> K_heads, V_heads;  ///< [batch×kv_head×key×d_k], [batch×kv_head×key×d_v]
  Attention<4> attention;      ///< of the heads, side by side
  Tensor<3> output;            ///< [batch×query×d_model]
};

/// Multi-head attention (Vaswani et al. 2017, section 3.2.2) step by step from `Q` to `output`, and
/// `mean_weights`, the mean over the heads. X_query [batch×query×d_model], X_key [batch×key×d_model],
/// mask [batch×query×key], true = may be seen.
MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const Heads& heads,
                                       const std::optional<Mask<3>>& mask);

/// The same with the heads of the options.
MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask);

/// What the part attention_in_heads.md takes and makes in the group `prefix` of a run, with the heads of the
/// options.
void set_multihead_weights(DocumentRun& run, const std::string& prefix, const MultiHeadWeights& weights);
MultiHeadAttention take_multihead_attention(DocumentRun& run, const std::string& prefix);

/// The biases of multi-head attention that are given in the group "attention/": "b_Q", …
std::vector<std::string> given_biases(const Workbench& bench, const std::string& group);

/// The mistake `cross-attends-itself` in the step `output` of the group `prefix`, which reads these queries.
void add_cross_attends_itself(Functions& functions, const std::string& X_query, const std::string& prefix);

/// Lessons that are documents: multihead.md, classifier.md.
const Lesson& multihead_lesson();
const Lesson& classifier_lesson();

/// Gives X and the weights of all heads of the second layer of the model about.
void give_about_heads(ModelInputs& inputs);

}  // namespace lessons
