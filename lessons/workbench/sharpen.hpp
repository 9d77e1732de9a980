#pragma once

#include "lessons/workbench/options.hpp"
#include "trace/diagnosis/replay.hpp"

namespace lessons {

/// Makes one scaled score of the first sample 100 by making a query and a key longer: Q [batch×query×d_k],
/// K [batch×key×d_k].
void sharpen_queries_and_keys(attn::Tensors& inputs, const Options& options);

/// The same by making the vector of one token longer: X [batch×token×d_model], W_Q, W_K [d_model×…], of which
/// the first head counts.
void sharpen_token(attn::Tensors& inputs, const Options& options);

/// The same where queries come from `X_query` and keys from `X_key`, and the weights are in `group`.
void sharpen_tokens(attn::Tensors& inputs, const Options& options, const std::string& X_query,
                    const std::string& X_key, const std::string& group);

}  // namespace lessons
