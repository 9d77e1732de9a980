#pragma once

#include <cstdint>

#include "lessons/backward/moved.hpp"
#include "lessons/training/model.hpp"

namespace lessons {

/// A training goes that many steps, each on a batch of that many sequences, which come round again when all
/// of them were seen.
constexpr std::size_t training_steps = 80, sequences_of_batch = 16, training_sequences = 128;

/// What one training has and another has not.
struct TrainingSettings {
  std::int64_t warmup;
  double max_norm;  ///< may be infinite: no clipping
  double dropout;
};

/// What happened in a training.
struct Training {
  Tensor<1> loss;           ///< [step], of the batch before the step is made
  Tensor<1> gradient_norm;  ///< [step], as the gradient was found
  Tensor<1> clipped_norm;   ///< [step], as it was used
  std::size_t halfway;      ///< the first step whose loss is below half of what guessing has, or the last one
  Parameters midway;        ///< before that step
  Parameters after;         ///< after the last one
};

/// The loss of guessing: log of the number of symbols.
double loss_of_guessing();

/// The sequences of the batch of this step, 1 being the first: [sequences_of_batch×position].
Integers<2> batch_of_step(const Integers<2>& examples, std::size_t step);

/// Trains from `start` on the examples [training_sequences×position]. Each step is one of
/// `loss_and_gradient`, `clip_by_norm`, `learning_rate` and `adam`, under a mute trace in float64. With
/// dropout the mask of step 7 is drawn as "dropout/step=7/dropout_mask".
Training train(const Workbench& bench, const Integers<2>& examples, const Parameters& start,
               const TrainingSettings& settings);

/// The share of symbols that the model gets right in sequences [sequence×position], without dropout.
double share_right(const Workbench& bench, const Parameters& parameters, const Integers<2>& sequences);

/// Holds the gradient of the loss of a batch against central differences, without dropout.
MovedCheck check_gradient(Workbench& bench, const Parameters& parameters, const Parameters& gradient,
                          const Integers<2>& batch);

}  // namespace lessons
