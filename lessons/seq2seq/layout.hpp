#pragma once

#include <string>
#include <vector>

#include "lessons/workbench/workbench.hpp"

/// What the page of seq2seq shows, with what to notice there, and its flow.
namespace lessons {

/// The page of this run, with trained weights or drawn ones.
void choose_seq2seq_page(Workbench& bench);

/// The way of the words with the shapes of one step.
std::vector<std::string> seq2seq_flow(const Workbench& bench);

}  // namespace lessons
