#pragma once

#include <limits>
#include <vector>

#include "lab/train/train.hpp"
#include "trace/model.hpp"

namespace lab {

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
