#pragma once

#include <string>

#include "lessons/documents/document_run.hpp"

namespace lessons {

/// In which order the words of the target look at those of the source, by trained weights.
std::string about_learned_alignment(const attn::Event& weights);

/// "the the cat …" for each sentence, with a capital where its source has one.
std::string quoted(const attn::TokenBatch& batch, const attn::TokenBatch& sources);

}  // namespace lessons
