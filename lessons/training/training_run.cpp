/// The training itself: forward, backward, clipping, warm-up and Adam, again and again. Sources: Kingma and
/// Ba 2015; Vaswani et al. 2017, section 5.3; Pascanu et al. 2013.

#include "lessons/training/training_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/ops/measure.hpp"
#include "lessons/training.hpp"
#include "lessons/training/adam.hpp"

namespace lessons {

namespace {

/// A training under way: all parameters in one row, and what Adam remembers of each.
class TrainingState {
 public:
  TrainingState(Workbench& bench, const Parameters& start)
      : bench_(bench), shapes_(start), row_(as_one_row(start)), moments_(no_moments(row_)) {}

  Parameters parameters() const { return as_parameters(row_, shapes_); }

  /// Writes down the loss and the norms of the step, and makes it.
  void make_step(std::size_t step, const Integers<2>& batch, const TrainingSettings& settings,
                 Training& training) {
    const auto [loss, gradient] = loss_and_gradient(bench_, parameters(), batch, said_backwards(batch));
    const auto found = as_one_row(gradient);
    const auto clipped = clip_by_norm(bench_, found, settings.max_norm);
    const auto number = static_cast<std::int64_t>(step),
               d_model = static_cast<std::int64_t>(shapes_.d_model());
    const double rate = learning_rate(number, d_model, settings.warmup);
    row_ = adam(bench_, {{"parameters", row_}, {"clipped", clipped}, {}, number, rate}, moments_);
    training.loss(step - 1) = loss;
    training.gradient_norm(step - 1) = norm_of(found);
    training.clipped_norm(step - 1) = norm_of(clipped);
  }

 private:
  Workbench& bench_;
  const Parameters& shapes_;
  Tensor<2> row_;
  Moments moments_;
};

}  // namespace

double loss_of_guessing() {
  return std::log(static_cast<double>(symbol_count));
}

Integers<2> batch_of_step(const Integers<2>& examples, std::size_t step) {
  const std::size_t first = (step - 1) * sequences_of_batch % examples.shape(0);
  auto batch = Integers<2>::from_shape({sequences_of_batch, examples.shape(1)});
  std::copy_n(&examples(first, 0), batch.size(), batch.begin());
  return batch;
}

Training train(const Workbench& bench, const Integers<2>& examples, const Parameters& start,
               const TrainingSettings& settings) {
  auto mute = bench.mute_training(settings.dropout);
  const auto one_per_step = [] { return Tensor<1>::from_shape({training_steps}); };
  Training training = {one_per_step(), one_per_step(), one_per_step(), 0, start, start};
  TrainingState state(mute, start);
  for (std::size_t step = 1; step <= training_steps; ++step) {
    const auto before = state.parameters();
    mute.trace.within(fmt::format("dropout/step={}", step),
                      [&] { state.make_step(step, batch_of_step(examples, step), settings, training); });
    const bool is_half_learned = training.loss(step - 1) < 0.5 * loss_of_guessing();
    if (training.halfway == 0 && (is_half_learned || step == training_steps)) {
      training.halfway = step;
      training.midway = before;
    }
  }
  training.after = state.parameters();
  return training;
}

double share_right(const Workbench& bench, const Parameters& parameters, const Integers<2>& sequences) {
  auto mute = bench.mute_training(0.0);
  const auto reading = read_symbols(mute, parameters, sequences);
  return static_cast<double>(count_right(reading.probabilities, said_backwards(sequences))) /
         static_cast<double>(sequences.size());
}

MovedCheck check_gradient(Workbench& bench, const Parameters& parameters, const Parameters& gradient,
                          const Integers<2>& batch) {
  const auto& names = names_of_parameters();
  const auto targets = said_backwards(batch);
  Gradients gradients(bench);
  for (std::size_t i = 0; i < names.size(); ++i) gradients.keep(names[i], *gradient.all()[i]);
  const auto loss = [&](Workbench& mute, const Move& move) {
    auto moved = parameters;
    for (std::size_t i = 0; i < names.size(); ++i) *moved.all()[i] = move(names[i], *moved.all()[i]);
    return mean_loss(mute, cross_entropy(mute, read_symbols(mute, moved, batch).probabilities, targets));
  };
  return check_by_moving(bench, {.loss = loss, .curved = {"scaled", "logits"}}, gradients);
}

}  // namespace lessons
