#pragma once

#include <string>
#include <vector>

#include "lessons/scoring.hpp"

/// What the page of scoring functions says and shows.
namespace lessons {

/// The page goes into one function; the others are a --scoring away. The inputs are drawn later.
void choose_scoring_page(Workbench& bench, const ScoringInputs& in);

void tell_scoring_idea(Workbench& bench);

std::vector<std::string> scoring_flow(const Workbench& bench);

/// The numbers that the hidden layer works with, where a page has room for them.
void show_hidden_parameters(Workbench& bench, const ScoringInputs& in);

/// What the queries' part of the hidden layer is for the query on the page, where it is short, and what W_q
/// is for, where it was set by hand.
std::string about_query_part(const Workbench& bench, const ScoringInputs& in);

}  // namespace lessons
