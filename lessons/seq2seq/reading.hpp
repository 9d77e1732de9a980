#pragma once

#include <string>
#include <vector>

#include "lessons/seq2seq/claims.hpp"
#include "lessons/seq2seq/numpy.hpp"

/// What the decoder reads at each step: the true words, or those that it has written.
namespace lessons {

/// The input or the step `X_target`.
attn::About about_target(const Workbench& bench);

/// Sentences without a word yet.
attn::TokenBatch nothing_read(std::size_t count);

/// Teaches the decoder to write the target and then </s>.
void teach(Workbench& bench, Seq2SeqRun& run, const attn::TokenBatch& writes);

/// Lets the decoder write by itself: to </s>, or some words more than the source has. Returns what it could
/// read.
GreedyReading write_greedily(Workbench& bench, Seq2SeqRun& run, const std::vector<std::string>& words);

}  // namespace lessons
