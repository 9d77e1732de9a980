#pragma once

#include <string>
#include <vector>

#include "lessons/training/training_run.hpp"

namespace lessons {

/// How many sequences the model is tried on.
constexpr std::size_t fresh_sequences = 100;

/// What the small model learns from, what it is asked, and where it starts.
struct LearningInputs {
  Integers<2> examples;  ///< [training_sequences×position], symbols from 0
  Integers<2> fresh;     ///< [sequence×position], never trained on
  Integers<2> shown;     ///< [1×position], the sequence whose attention the page shows
  Parameters start;
};

/// A training of the page beside others.
struct NamedTraining {
  std::string name;
  TrainingSettings settings;
  Training training;
  double right;  ///< share of fresh symbols
};

/// The trainings of the page; the first is the one that it is about.
using Trainings = std::vector<NamedTraining>;

/// The inputs of the training: `examples`, `fresh`, `shown` and the parameters.
LearningInputs draw_task(Workbench& bench);

/// The flow, the parameters counted, and the code.
void show_model(Workbench& bench, const LearningInputs& in);

/// `before/…`: what the model makes of the shown sequence before it has learned anything.
void show_before(Workbench& bench, const LearningInputs& in);

/// `first_step/…`: the gradient, clipping, and Adam on W_out. Returns the gradient of all parameters.
Parameters show_first_step(Workbench& bench, const LearningInputs& in);

/// What the page shows of the trainings, and claims something of.
struct ShownLearning {
  Tensor<1> loss;           ///< [step] of the first training
  Tensor<2> gradient_norm;  ///< [gradient×step], as found and clipped
  Tensor<1> right;          ///< [training]
  Tensor<3> weights_after;  ///< [1×query×key], of the shown sequence
};

/// Trains with warm-up and clipping, and then without the one, without the other, and with dropout.
Trainings train_all(const Workbench& bench, const LearningInputs& in);

/// `loss`, `losses` of all, `midway/…` and `after/…` for the shown sequence, `gradient_norm`, `right` and
/// `comparison`.
ShownLearning show_trainings(Workbench& bench, const LearningInputs& in, const Trainings& trainings);

/// What to notice in the attention of a model that has learned nothing, in its losses, in the first step of
/// Adam, and in the attention of one that has learned its task.
std::string look_of_chance(const attn::Event& weights);
std::string loss_beside_guessing(const attn::Event& losses);
std::string size_of_first_step(const attn::Event& updated);
std::string look_at_mirror(const attn::Event& weights);

/// The note of the event, also where its table is not shown.
std::string note_of(const attn::Event& event);

/// What is claimed of the training and of the gradient of its first step.
void claim_learning(Workbench& bench, const LearningInputs& in, const Parameters& first_gradient,
                    const ShownLearning& shown);

}  // namespace lessons
