#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lessons/generate.hpp"

/// What the page of the lesson generate says and shows.
namespace lessons {

/// The page of a run that writes so many tokens: it goes into the first step that reads the cache.
void choose_generate_page(Workbench& bench, std::size_t steps);

/// What a decoder does, and the notes `cache-idea` and `decoder`.
void tell_generate_idea(Workbench& bench);

/// The way of the tokens that a step reads, with shapes.
std::vector<std::string> generate_flow(const Workbench& bench, const CausalDecoder& decoder,
                                       std::size_t steps);

/// `written` [token]: what was written behind the prompt.
void show_text(Workbench& bench, const CausalDecoder& decoder, const Decoding& decoding);

/// `logits` [step×vocabulary]: the logits of all steps below each other.
void show_logits(Workbench& bench, const CausalDecoder& decoder, const Decoding& decoding);

void try_after_generate(Workbench& bench);

}  // namespace lessons
