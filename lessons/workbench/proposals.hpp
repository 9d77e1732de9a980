#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lessons/workbench/options.hpp"

namespace lessons {

struct Lesson;
struct Plan;

/// A command and what to look for: {"sdpa --causal", "which weights become 0?"}.
using Proposal = std::pair<std::string, std::string>;

/// Whether a run of the lesson with these options is what the command asks for.
bool is_in_effect(const std::string& command, const Lesson& lesson, const Options& options);

/// The proposals without those that are in effect; in the place of each comes one of `spare` that is not, as
/// long as there are any.
std::vector<Proposal> without_those_in_effect(const std::vector<Proposal>& proposals,
                                              const std::vector<Proposal>& spare, const Lesson& lesson,
                                              const Options& options);

/// The command with the sentences and the seed of this run where they are not those that `lesson` has by
/// default, the command's lesson takes them, and it says nothing else of what a run starts from. A command of
/// the same lesson keeps its masks, its temperature, the tensors of --input and --set where it says no
/// dimension, and, where no model brings them, its dimensions.
std::string with_own_options(const std::string& command, const Options& options, const Lesson& lesson);

/// The command, whose --explain names tokens of the lesson's own sentence, with the tokens of this run that
/// stand in their places, and with the token for an index, "#2".
std::string with_own_tokens(const std::string& command, const Plan& plan);

}  // namespace lessons
