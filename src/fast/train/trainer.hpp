#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "attn/random/random.hpp"
#include "fast/train/operations.hpp"

namespace attn::train {

/// How to train. The same settings and threads give the same weights, bit for bit.
struct Settings {
  std::size_t steps = 2000;
  std::size_t batch = 64;
  double rate = 8e-3;  ///< the highest
  std::size_t warm_up = 100;
  double largest_norm = 1.0;  ///< of a batch's gradient; a longer one is shortened
  double dropout = 0.0;
  double weight_decay = 0.0;     ///< the share of the rate by which a step shortens all weights
  double table_deviation = 1.0;  ///< of the numbers that tables are drawn with
  std::uint32_t seed = 42;
  int threads = 1;

  /// Of step 1, 2, …, steps: a linear rise to the highest rate over the warm-up, then half a cosine down to 0
  /// at the last step (Loshchilov & Hutter 2017, without restarts).
  double rate_at(std::size_t step) const;
};

/// Adam (Kingma & Ba 2015) with gradients clipped by their common norm (Pascanu et al. 2013), and
/// with weight decay apart from the gradients (Loshchilov & Hutter 2019).
template <class T>
struct Adam {
  std::size_t steps_done = 0;
  std::vector<T> first, second;  ///< running means of the gradient and of its square

  /// One step of all weights; `gradients` are those of the loss. Returns their norm before clipping.
  double step(const Settings& settings, T* weights, const T* gradients);
};

extern template struct Adam<float>;
extern template struct Adam<double>;

/// How many of what was looked at are right.
struct Share {
  std::size_t right, all;

  /// 0 where nothing was looked at.
  double value() const { return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all); }

  void count(bool is_right) {
    ++all;
    right += is_right;
  }
};

/// What is trained on: numbered examples.
struct Examples {
  std::vector<std::size_t> lengths;      ///< a batch is made of examples of like length
  std::vector<std::size_t> predictions;  ///< how many each asks for

  /// scale · Σ cross-entropy of the predictions of some examples. Without `random` there is no dropout.
  std::function<Variable<float>(Tape<float>& tape, const Weights<float>& weights,
                                const std::vector<std::size_t>& examples, float scale, double dropout,
                                Random* random)>
      loss;

  std::size_t count() const { return lengths.size(); }
};

/// The examples of each step: all in a new random order each time they are used up, and within a stretch of
/// that order those of like length together, in batches that come in a random order again.
class Batches {
 public:
  Batches(const Examples& examples, std::size_t batch, std::uint32_t seed);
  std::vector<std::size_t> next();

 private:
  void refill();

  std::vector<std::size_t> lengths_;  ///< of all examples
  std::size_t batch_;
  std::uint32_t seed_;
  std::uint32_t round_ = 0;
  std::vector<std::vector<std::size_t>> batches_;  ///< taken from the end
};

/// What a step did.
struct StepReport {
  std::size_t step;
  double loss;  ///< mean of the batch's predictions, before the step
  std::size_t predictions;
};

/// Weights in training.
class Trainer {
 public:
  /// Weights are drawn from normal(0, 1/√fan_in), tables from normal(0, table_deviation); biases are
  /// 0 but those of forget gates, which are 1 (Jozefowicz et al. 2015), gains are 1.
  Trainer(const WeightTable& table, const Examples& examples, Settings settings);

  StepReport step();

  std::size_t steps_done() const { return state_.adam.steps_done; }
  bool is_done() const { return steps_done() >= settings_.steps; }
  const std::vector<float>& values() const { return state_.values; }
  Weights<float> weights() { return {&table_, state_.values.data(), nullptr}; }

  /// Everything that the steps to come depend on.
  struct State {
    std::vector<float> values;
    Adam<float> adam;
  };
  const State& state() const { return state_; }

  /// Goes on where a training with the same settings stood.
  void restore(State state);

 private:
  void draw_weights();

  WeightTable table_;
  const Examples& examples_;
  Settings settings_;
  State state_;
  std::vector<std::vector<float>> gradients_;  ///< of each thread
  std::vector<std::unique_ptr<Tape<float>>> tapes_;
  Batches batches_;
};

/// Mean loss of examples, without dropout.
double mean_loss(const Examples& examples, const Weights<float>& weights);

}  // namespace attn::train
