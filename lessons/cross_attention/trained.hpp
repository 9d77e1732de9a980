#pragma once

#include <optional>
#include <vector>

#include "lessons/workbench/model.hpp"
#include "lessons/workbench/workbench.hpp"

/// What the lesson cross-attention shows of a trained transformer: one head of its decoder that aligns the
/// words, and beside it one of the same layer that does not.
namespace lessons {

/// Gives the lesson the rows of both sentences where cross-attention of the model reads them, the weights of
/// the head with the least alignment error rate and of the one of its layer with the highest, and these
/// rates. Throws attn::Error for a model that is no transformer.
void give_cross_attention(ModelInputs& inputs);

/// Whether the lesson shows a trained head.
bool shows_trained_heads(const Options& options);

/// The inputs beside those of a single attention: the rates and the weights of the other head.
std::vector<Input> other_head_input_list();

/// The heads that the page shows.
struct AligningHeads {
  std::size_t layer;     ///< of the decoder, from 0
  std::size_t aligning;  ///< the head of the least alignment error rate
  std::size_t other;     ///< the one of the highest in that layer
  std::size_t count;     ///< heads of that layer
};

/// Throws attn::Error where the rates are not given.
AligningHeads aligning_heads(Workbench& bench);

/// The alignment error rates of all heads: the input `alignment_error_rates` [layer×head].
void show_error_rates(Workbench& bench);

/// The other head, step by step from `other/Q` to `other/output`. Returns its weights [batch×query×key].
Tensor<3> show_other_head(Workbench& bench, const Named& X_target, const Named& X_source,
                          const std::optional<Mask<3>>& mask);

/// The note `gold`: at which word both heads look most, beside the links of the lab's grammar. Only for one
/// sentence, where the grammar has it with this translation.
void show_gold_links(Workbench& bench, const AligningHeads& heads, const Tensor<3>& weights,
                     const Tensor<3>& other_weights);

}  // namespace lessons
