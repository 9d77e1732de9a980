#pragma once

#include "lessons/workbench/options.hpp"
#include "trace/any_tensor.hpp"

namespace lessons {

/// Makes one scaled score of the first sample, of a key that its query sees, 100 by making both longer: Q
/// [batch×query×d_k], K [batch×key×d_k]; or both without the batch axis.
void sharpen_queries_and_keys(attn::Tensors& inputs, const Options& options);

/// The same of `queries` and `keys`, and of a score of the first head where `X_target` has the queries and
/// `X_source` the keys.
void sharpen_scoring(attn::Tensors& inputs, const Options& options);
void sharpen_source_and_target(attn::Tensors& inputs, const Options& options);

/// The same of a score X Xᵀ / √d_model by making the vector of one token longer: X [batch×token×d_model].
void sharpen_word(attn::Tensors& inputs, const Options& options);

/// The same by making the vector of one token longer: X [batch×token×d_model], W_Q, W_K [d_model×…], of which
/// the first head counts. Where the vector would be too long for float16, W_Q and W_K become longer instead.
void sharpen_token(attn::Tensors& inputs, const Options& options);

/// The same where queries come from `X_query` and keys from `X_key`, and the weights are in `group`.
void sharpen_tokens(attn::Tensors& inputs, const Options& options, const std::string& X_query,
                    const std::string& X_key, const std::string& group);

/// One scaled score 100 in the first head of a transformer's block, by making its columns of W_Q and W_K
/// longer: a layer norm before attention undoes a longer vector.
void sharpen_block(attn::Tensors& inputs, const Options& options);

/// The same in a decoder that writes, for the words of its prompt.
void sharpen_prompt(attn::Tensors& inputs, const Options& options);

}  // namespace lessons
