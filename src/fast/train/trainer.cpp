#include "fast/train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string_view>
#include <utility>

#include "attn/random/random.hpp"
#include "fast/parallel.hpp"
#include "fast/simd/isa.hpp"
#include "fast/train/loops.hpp"

namespace attn::train {

double Settings::rate_at(std::size_t step) const {
  if (step <= warm_up) return rate * static_cast<double>(step) / static_cast<double>(warm_up);
  const double done =
      static_cast<double>(step - warm_up) / static_cast<double>(std::max<std::size_t>(steps - warm_up, 1));
  return rate * (1 + std::cos(std::numbers::pi * std::min(done, 1.0))) / 2;
}

template <class T>
double Adam<T>::step(const Settings& settings, T* weights, const T* gradients) {
  constexpr double first_decay = 0.9, second_decay = 0.999;
  ++steps_done;
  const double norm = std::sqrt(static_cast<double>(loops<T>().dot(first.size(), gradients, gradients)));
  const auto t = static_cast<double>(steps_done);
  const double correction = std::sqrt(1 - std::pow(second_decay, t)) / (1 - std::pow(first_decay, t));
  const double rate = settings.rate_at(steps_done), largest = settings.largest_norm;
  const AdamStep<T> adam = {.rate = static_cast<T>(rate * correction),
                            .first_decay = static_cast<T>(first_decay),
                            .second_decay = static_cast<T>(second_decay),
                            .epsilon = static_cast<T>(1e-8),
                            .gradient_scale = static_cast<T>(norm > largest ? largest / norm : 1.0)};
  if (settings.weight_decay > 0) {
    const auto kept = static_cast<T>(1 - rate * settings.weight_decay);
    for (std::size_t i = 0; i < first.size(); ++i) weights[i] *= kept;
  }
  loops<T>().adam(first.size(), adam, gradients, first.data(), second.data(), weights);
  return norm;
}

template struct Adam<float>;
template struct Adam<double>;

namespace {

constexpr std::uint32_t drawing_weights = 0, ordering_examples = 1, dropping = 2;  ///< streams of a seed

std::size_t count_predictions(const Examples& examples, const std::vector<std::size_t>& batch) {
  std::size_t count = 0;
  for (const std::size_t example : batch) count += examples.predictions[example];
  return count;
}

/// 1/√fan_in, `of_tables` for tables, and 0 for biases. LSTM weights are read as W x, so their fan_in is the
/// columns.
double deviation(const WeightShape& shape, double of_tables) {
  if (shape.name.ends_with("embedding") || shape.name.ends_with("positions")) return of_tables;
  if (shape.is_vector)
    return shape.name.ends_with("/v_a") ? 1 / std::sqrt(static_cast<double>(shape.size())) : 0;
  const bool is_transposed = shape.name.ends_with("/W_ih") || shape.name.ends_with("/W_hh");
  return 1 / std::sqrt(static_cast<double>(is_transposed ? shape.columns : shape.rows));
}

}  // namespace

Batches::Batches(const Examples& examples, std::size_t batch, std::uint32_t seed)
    : lengths_(examples.lengths), batch_(std::min(batch, examples.count())), seed_(seed) {
  refill();
}

std::vector<std::size_t> Batches::next() {
  if (batches_.empty()) refill();
  auto batch = std::move(batches_.back());
  batches_.pop_back();
  return batch;
}

void Batches::refill() {
  constexpr std::size_t batches_of_a_stretch = 50;
  Generator generator(seed_, ordering_examples + 16 * ++round_);
  const auto order = generator.permutation(static_cast<std::int64_t>(lengths_.size()));
  const std::size_t stretch = batches_of_a_stretch * batch_;
  for (std::size_t first = 0; first + batch_ <= order.size(); first += stretch) {
    const std::size_t end = std::min(first + stretch, order.size());
    std::vector<std::size_t> near(order.data() + first, order.data() + end);
    std::stable_sort(near.begin(), near.end(),
                     [this](std::size_t a, std::size_t b) { return lengths_[a] < lengths_[b]; });
    for (std::size_t i = 0; i + batch_ <= near.size(); i += batch_)
      batches_.emplace_back(near.data() + i, near.data() + i + batch_);
  }
  const auto shuffled = generator.permutation(static_cast<std::int64_t>(batches_.size()));
  std::vector<std::vector<std::size_t>> batches;
  for (const auto i : shuffled) batches.push_back(std::move(batches_[static_cast<std::size_t>(i)]));
  batches_ = std::move(batches);
}

Trainer::Trainer(const WeightTable& table, const Examples& examples, Settings settings)
    : table_(table),
      examples_(examples),
      settings_(settings),
      state_{std::vector<float>(table.numbers()),
             {0, std::vector<float>(table.numbers()), std::vector<float>(table.numbers())}},
      batches_(examples, settings.batch, settings.seed) {
  for (int thread = 0; thread < settings.threads; ++thread) {
    gradients_.emplace_back(table.numbers());
    tapes_.push_back(std::make_unique<Tape<float>>());
  }
  draw_weights();
}

void Trainer::draw_weights() {
  Generator generator(settings_.seed, drawing_weights);
  for (const auto& shape : table_.shapes()) {
    float* weight = state_.values.data() + shape.offset;
    if (shape.name.ends_with("/gain")) {
      std::fill_n(weight, shape.size(), 1.0F);
    } else if (shape.name.ends_with("/b_ih")) {
      std::fill_n(weight + shape.size() / 4, shape.size() / 4, 1.0F);  // i, f, g, o
    } else if (deviation(shape, settings_.table_deviation) > 0) {
      for (std::size_t i = 0; i < shape.size(); ++i)
        weight[i] = static_cast<float>(generator.normal(0, deviation(shape, settings_.table_deviation)));
    }
  }
}

StepReport Trainer::step() {
  const auto batch = batches_.next();
  const std::size_t threads = gradients_.size(), predictions = count_predictions(examples_, batch);
  const float scale = 1.0F / static_cast<float>(std::max<std::size_t>(predictions, 1));
  const auto step_number = static_cast<std::uint32_t>(steps_done());
  std::vector<double> losses(threads);
  for_each_task(threads, settings_.threads, [&](std::size_t thread) {
    const simd::FlushDenormals flush;
    Generator random(settings_.seed, dropping + 16 * (step_number * static_cast<std::uint32_t>(threads) +
                                                      static_cast<std::uint32_t>(thread)));
    auto& tape = *tapes_[thread];
    tape.clear();
    std::fill(gradients_[thread].begin(), gradients_[thread].end(), 0.0F);
    std::vector<std::size_t> dealt;  // every so many, so that each thread has long and short ones
    for (std::size_t i = thread; i < batch.size(); i += threads) dealt.push_back(batch[i]);
    if (dealt.empty()) return;
    const auto loss = examples_.loss(tape, {&table_, state_.values.data(), gradients_[thread].data()}, dealt,
                                     scale, settings_.dropout, &random);
    tape.backward(loss);
    losses[thread] = static_cast<double>(*loss.value);
  });
  for (std::size_t thread = 1; thread < threads; ++thread)
    loops<float>().add_scaled(state_.values.size(), 1.0F, gradients_[thread].data(),
                              gradients_.front().data());
  state_.adam.step(settings_, state_.values.data(), gradients_.front().data());
  return {steps_done(), std::accumulate(losses.begin(), losses.end(), 0.0), predictions};
}

void Trainer::restore(State state) {
  state_ = std::move(state);
  for (std::size_t i = 0; i < steps_done(); ++i) batches_.next();
}

double mean_loss(const Examples& examples, const Weights<float>& weights) {
  constexpr std::size_t at_once = 100;
  double sum = 0;
  std::size_t predictions = 0;
  for (std::size_t first = 0; first < examples.count(); first += at_once) {
    std::vector<std::size_t> some(std::min(at_once, examples.count() - first));
    std::iota(some.begin(), some.end(), first);
    Tape<float> tape(false);
    sum += static_cast<double>(*examples.loss(tape, weights, some, 1.0F, 0, nullptr).value);
    predictions += count_predictions(examples, some);
  }
  return predictions == 0 ? 0 : sum / static_cast<double>(predictions);
}

}  // namespace attn::train
