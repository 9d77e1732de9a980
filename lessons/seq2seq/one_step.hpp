#pragma once

#include <string>
#include <vector>

#include "lessons/seq2seq/claims.hpp"

namespace lessons {

/// A step in the middle of the shortest sentence: `lengths` are those of the sentences written.
std::size_t step_to_walk_through(const std::vector<std::size_t>& lengths);

/// What stands for the word that is read at step t: `“les”`, or `the word before` where there are several.
std::string word_read(const Workbench& bench, std::size_t t);

/// Step t of the decoder by itself, from the query to the probabilities, in the group `one-step`: row t of
/// what all steps show in the group `decoder`, [source], [hidden] or [vocabulary], and the four gates as one
/// table [gate×hidden]. Each entry is worked out from the rows of this step.
void show_one_step(Workbench& bench, const Seq2SeqRun& run, std::size_t t);

/// The steps of `show_one_step` as the page shows them, in the order in which they are computed.
std::vector<attn::OnPage> one_step_on_page(const Workbench& bench);

}  // namespace lessons
