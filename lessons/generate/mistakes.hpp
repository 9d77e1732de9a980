#pragma once

#include <vector>

#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes of decoding with a cache. What is passed by reference must live as long as the
/// mistakes. `known` is the number of tokens that the cache holds when the step begins.

/// Of `x`, the vectors of the tokens that are read now: embedding [vocabulary×d_model], positions
/// [position×d_model].
attn::Mistakes mistakes_of_reading(const Tensor<2>& embedding, const Tensor<2>& positions,
                                   const std::vector<std::size_t>& tokens, std::size_t known);

/// Of `cache/K` and `cache/V` [batch×kv_head×key×d], the new tokens among them.
attn::Mistakes mistakes_of_cache(const Tensor<4>& kept, std::size_t known);

}  // namespace lessons
