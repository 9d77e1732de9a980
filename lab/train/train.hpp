#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "fast/train/tasks/task.hpp"
#include "trace/model.hpp"

namespace lab {

/// A model to be trained.
struct RunTraining {
  const attn::train::TaskEntry* task;
  attn::train::Settings settings;
  attn::train::TaskOptions options;
  std::string output;                 ///< where the weights go
  std::optional<std::string> resume;  ///< a file of a training that was interrupted
  std::optional<std::string>
      dtype;  ///< "float16" or "float32" of the file; where not given float16 if it changes no score
  bool without_weights = false;  ///< write only what was measured
  bool pharaoh = false;          ///< print alignments and nothing else
  std::string command;           ///< as it was typed, for the file
};

/// Trains, with a bar on stderr where that is a terminal and lines elsewhere, writes the weights and prints
/// what was measured. The weights that predict the validation examples best so far are written ten times on
/// the way; after Ctrl-C they are kept. Returns the exit status: 1 where it was interrupted. Throws
/// attn::Error.
int run_training(const RunTraining& run);

/// The weights that predict the validation examples best so far.
struct Best {
  std::vector<float> values;
  double loss = std::numeric_limits<double>::infinity();
  std::size_t step = 0;  ///< how far the training has come

  /// Throws attn::Error for a loss that is no number: from there no step leads back.
  void update(const attn::train::Trainer& trainer, double validation_loss);
};

/// The weights under the lessons' ids, with everything that is known about them.
attn::Model model_of(const RunTraining& run, const attn::train::Task& task, const std::vector<float>& values,
                     const std::vector<attn::train::Score>& scores);

/// The numbers of a model in the order of the table. Throws attn::Error where it has other weights.
std::vector<float> values_of(const attn::Model& model, const attn::train::WeightTable& table);

/// Writes the best weights, and beside them what a later training needs to go on.
void write_checkpoint(const RunTraining& run, const attn::train::Task& task,
                      const attn::train::Trainer& trainer, const Best& best);

/// The same where a training is interrupted between two looks at the held-out examples. Where the weights are
/// better now they are written; the training that goes on forgets that, and ends as it would have.
void write_interrupted(const RunTraining& run, const attn::train::Task& task, attn::train::Trainer& trainer,
                       const Best& best);

/// Writes the weights of a training that came to its end, before anything is measured.
void write_without_scores(const RunTraining& run, const attn::train::Task& task, const Best& best);

/// Brings a training to where the file of `--resume` left it. Throws attn::Error where that holds a finished
/// model, or one of another task or of other settings.
void resume(const RunTraining& run, const attn::train::Task& task, attn::train::Trainer& trainer, Best& best);

}  // namespace lab
