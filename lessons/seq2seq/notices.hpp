#pragma once

#include <string>

#include "lessons/documents/document_run.hpp"

namespace lessons {

/// The remarks of the lesson seq2seq that choose whom to speak of: on the alignment, on what the bottleneck
/// leaves, and on the likeliest words.
void add_notices(Functions& functions, const Workbench& bench);

/// "the the cat …" for each sentence, with a capital where its source has one.
std::string quoted(const attn::TokenBatch& batch, const attn::TokenBatch& sources);

}  // namespace lessons
