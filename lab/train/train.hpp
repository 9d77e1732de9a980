#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fast/train/tasks/task.hpp"

namespace lab {

/// A model to be trained.
struct RunTraining {
  const attn::train::TaskEntry* task;
  attn::train::Settings settings;
  attn::train::TaskOptions options{};
  std::string output;                   ///< where the weights go
  std::optional<std::string> resume{};  ///< a file of a training that was interrupted
  std::optional<std::string> dtype{};   ///< "float16" or "float32"; by default float16 if no score changes
  bool without_weights = false;         ///< write only what was measured
  bool pharaoh = false;                 ///< print alignments and nothing else
  std::string command;                  ///< as it was typed, for the file
};

std::vector<std::string> task_names();

/// Trains, with a bar on stderr where that is a terminal and lines elsewhere, writes the weights and prints
/// what was measured. The weights that predict the validation examples best so far are written ten times on
/// the way; after Ctrl-C they are kept. Returns the exit status: 1 where it was interrupted. Throws
/// attn::Error.
int run_training(const RunTraining& run);

}  // namespace lab
