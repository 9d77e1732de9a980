#include "lessons/training/training_run.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "lessons/training/adam.hpp"
#include "tests/unit/central_difference.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Integers;
using attn::Tensor;
using Catch::Contains;
using lessons::Parameters;

namespace {

lessons::Options usual_options() {
  return lesson_called("training").defaults;
}

Parameters random_parameters(std::size_t d_model) {
  return {.E = random_tensor<2>({lessons::symbol_count, d_model}, 1),
          .P = random_tensor<2>({lessons::positions_of_sequence, d_model}, 2),
          .attention = {random_tensor<2>({d_model, lessons::d_k_of_model}, 3),
                        random_tensor<2>({d_model, lessons::d_k_of_model}, 4),
                        random_tensor<2>({d_model, lessons::d_v_of_model}, 5)},
          .W_out = random_tensor<2>({lessons::d_v_of_model, lessons::symbol_count}, 6)};
}

/// Sequences in which the symbols take turns.
Integers<2> sequences(std::size_t count) {
  auto symbols = Integers<2>::from_shape({count, lessons::positions_of_sequence});
  for (std::size_t i = 0; i < symbols.size(); ++i)
    symbols.data()[i] = static_cast<std::int64_t>((5 * i + i / 7) % lessons::symbol_count);
  return symbols;
}

/// The largest difference between the gradient and central differences, a number of the parameters at a time.
double deviation_of_gradient(lessons::Workbench& bench, const Parameters& parameters) {
  const auto symbols = sequences(3), targets = lessons::said_backwards(symbols);
  const auto loss_at = [&](const Tensor<2>& row) {
    return Tensor<2>{
        {lessons::loss_and_gradient(bench, lessons::as_parameters(row, parameters), symbols, targets).loss}};
  };
  const auto gradient = lessons::loss_and_gradient(bench, parameters, symbols, targets).gradient;
  return attn::deviation_entry_by_entry<2>(
      {loss_at, lessons::as_one_row(parameters), Tensor<2>{{1.0}}, lessons::as_one_row(gradient), 1e-5});
}

Tensor<2> adam_step(lessons::Workbench& bench, const Tensor<2>& parameters, const Tensor<2>& gradient,
                    lessons::Moments& moments, std::int64_t step, double rate) {
  return lessons::adam(bench, {{"parameters", parameters}, {"gradient", gradient}, {}, step, rate}, moments);
}

}  // namespace

TEST_CASE("the gradient of the small model agrees with central differences in every number", "[training]") {
  Page page("training", {});
  auto bench = page.bench.mute_training(0.0);
  CHECK(deviation_of_gradient(bench, random_parameters(4)) < 1e-8);
}

TEST_CASE("so does the gradient through dropout, whose mask has one name and so stays", "[training]") {
  auto options = usual_options();
  options.typed.insert("draws");
  options.draws = "name";
  Page page("training", options);
  auto bench = page.bench.mute_training(0.4);
  CHECK(deviation_of_gradient(bench, random_parameters(4)) < 1e-8);
}

TEST_CASE("parameters in one row come back as they were", "[training]") {
  const auto parameters = random_parameters(3);
  const auto row = lessons::as_one_row(parameters);
  CHECK(row.size() == lessons::count_of(parameters));
  CHECK(row(0, 0) == parameters.E(0, 0));
  const auto again = lessons::as_parameters(row, parameters);
  for (std::size_t i = 0; i < again.all().size(); ++i) CHECK((*again.all()[i] == *parameters.all()[i]));
  CHECK_THROWS_WITH(lessons::as_parameters(Tensor<2>({1, 2}, 0.0), parameters), Contains("2 numbers"));
}

TEST_CASE("a sequence is said backwards", "[training]") {
  const Integers<2> symbols = {{0, 1, 2, 3, 4, 5}, {6, 6, 0, 1, 1, 2}};
  CHECK((lessons::said_backwards(symbols) == Integers<2>{{5, 4, 3, 2, 1, 0}, {2, 1, 1, 0, 6, 6}}));
}

TEST_CASE("who gives every symbol the same probability has the loss of guessing", "[training]") {
  Page page("training", {});
  const Tensor<3> even({2, lessons::positions_of_sequence, lessons::symbol_count}, 1.0 / 7.0);
  const auto targets = sequences(2);
  const auto losses = lessons::cross_entropy(page.mute, even, targets);
  CHECK(lessons::mean_loss(page.mute, losses) == Approx(lessons::loss_of_guessing()).epsilon(1e-14));
  CHECK_THROWS_WITH(lessons::cross_entropy(page.mute, even, sequences(3)),
                    Contains("2×6×7") && Contains("3×6"));
}

TEST_CASE("the likeliest symbol counts as right or wrong", "[training]") {
  Tensor<3> probabilities({1, lessons::positions_of_sequence, lessons::symbol_count}, 0.1);
  for (std::size_t i = 0; i < lessons::positions_of_sequence; ++i) probabilities(0, i, i) = 0.4;
  CHECK(lessons::count_right(probabilities, {{0, 1, 2, 3, 4, 5}}) == 6);
  CHECK(lessons::count_right(probabilities, {{0, 0, 2, 2, 4, 4}}) == 3);
}

TEST_CASE("the first step of Adam moves every number by the rate, whatever its gradient", "[training]") {
  Page page("training", {});
  const Tensor<2> parameters = {{1.0, -2.0, 3.0}}, gradient = {{1e-3, -40.0, 0.0}};
  auto moments = lessons::no_moments(parameters);
  const auto updated = adam_step(page.mute, parameters, gradient, moments, 1, 0.01);
  CHECK(updated(0, 0) == Approx(0.99).epsilon(1e-6));
  CHECK(updated(0, 1) == Approx(-1.99).epsilon(1e-6));
  CHECK(updated(0, 2) == 3.0);
}

TEST_CASE("the second step of Adam remembers the first", "[training]") {
  Page page("training", {});
  const Tensor<2> parameters = {{1.0}}, first = {{2.0}}, second = {{-1.0}};
  auto moments = lessons::no_moments(parameters);
  const auto once = adam_step(page.mute, parameters, first, moments, 1, 0.1);
  const auto twice = adam_step(page.mute, once, second, moments, 2, 0.1);
  const double m = 0.9 * 0.2 + 0.1 * -1.0, v = 0.98 * 0.08 + 0.02 * 1.0;
  CHECK(moments.m(0, 0) == Approx(m));
  CHECK(moments.v(0, 0) == Approx(v));
  const double change = 0.1 * (m / (1 - 0.81)) / (std::sqrt(v / (1 - 0.9604)) + 1e-9);
  CHECK(twice(0, 0) == Approx(once(0, 0) - change));
}

TEST_CASE("Adam refuses other shapes and a step before the first", "[training]") {
  Page page("training", {});
  const Tensor<2> parameters = {{1.0, 2.0}};
  auto moments = lessons::no_moments(parameters);
  CHECK_THROWS_WITH(adam_step(page.mute, parameters, {{1.0}}, moments, 1, 0.1),
                    Contains("1×2") && Contains("1×1"));
  CHECK_THROWS_WITH(adam_step(page.mute, parameters, parameters, moments, 0, 0.1), Contains("step is 0"));
}

TEST_CASE("batches come round again", "[training]") {
  auto examples = Integers<2>::from_shape({32, 1});
  for (std::size_t i = 0; i < 32; ++i) examples(i, 0) = static_cast<std::int64_t>(i);
  CHECK(lessons::batch_of_step(examples, 1)(0, 0) == 0);
  CHECK(lessons::batch_of_step(examples, 2)(15, 0) == 31);
  CHECK(lessons::batch_of_step(examples, 3)(0, 0) == 0);
}

TEST_CASE("no gradient that is used is longer than max_norm, and without a limit none is changed",
          "[training]") {
  Page page("training", {});
  const auto start = random_parameters(8);
  const auto examples = sequences(lessons::training_sequences);
  const auto clipped = lessons::train(page.bench, examples, start, {30, 0.3, 0.0});
  CHECK(attn::max_abs(clipped.clipped_norm) <= 0.3);
  CHECK(attn::max_abs(clipped.gradient_norm) > 0.3);
  const auto free =
      lessons::train(page.bench, examples, start, {30, std::numeric_limits<double>::infinity(), 0.0});
  CHECK((free.clipped_norm == free.gradient_norm));
  CHECK(free.loss(0) == clipped.loss(0));
}

TEST_CASE("each step of a training drops other weights out", "[training]") {
  auto options = usual_options();
  options.typed.insert("draws");
  options.draws = "name";
  Page page("training", options);
  const auto start = random_parameters(8);
  Integers<2> examples = sequences(lessons::training_sequences);
  const auto batch = lessons::batch_of_step(examples, 1);
  for (std::size_t i = 0; i < examples.shape(0); ++i)  // every batch is the same
    for (std::size_t j = 0; j < examples.shape(1); ++j)
      examples(i, j) = batch(i % lessons::sequences_of_batch, j);
  const auto without_steps = [&](double dropout) {
    return lessons::train(page.bench, examples, start, {1'000'000'000, 1.0, dropout}).loss;
  };
  const auto steady = without_steps(0.0), dropped = without_steps(0.5);
  CHECK(std::abs(steady(1) - steady(0)) < 1e-6);
  CHECK(std::abs(dropped(1) - dropped(0)) > 1e-3);
  CHECK(std::abs(dropped(2) - dropped(1)) > 1e-3);
}

TEST_CASE("the model learns its task from any seed", "[training][thorough]") {
  const auto seed = GENERATE(range(1U, 6U));
  auto options = usual_options();
  options.seed = seed;
  const auto told = told_by("training", options);
  for (const auto* claim :
       {"first-gradient", "never-longer-than-max-norm", "learns", "right-on-fresh", "looks-at-the-mirror"})
    CHECK(told.holds(claim));
}

TEST_CASE("attention after training is that of a model that is used: nothing is dropped out", "[training]") {
  const auto told = told_by("training", usual_options());
  CHECK(told.has("after/weights"));
  CHECK_FALSE(told.has("after/dropped"));
  const auto weights = told.elements("after/weights");
  for (std::size_t i = 0; i < 6; ++i) CHECK(weights[i * 6 + 5 - i] > 0.5);
}

TEST_CASE("nothing is promised of a training with other settings or inputs", "[training]") {
  auto options = usual_options();
  options.warmup = 4000;
  const auto slow = told_by("training", options);
  CHECK_FALSE(slow.has("learns"));
  CHECK(slow.has("no-promise"));
  const std::vector<double> zeros(7 * 32, 0.0);
  const auto given = told_by("training", usual_options(), given_tensor("E", {7, 32}, zeros));
  CHECK_FALSE(given.has("learns"));
  CHECK(given.holds("never-longer-than-max-norm"));
}

TEST_CASE("a symbol that there is not is refused", "[training]") {
  CHECK_THROWS_WITH(told_by("training", usual_options(), given_tensor("shown", {6}, {0, 1, 2, 3, 4, 7})),
                    Contains("7") && Contains("valid: 0 to 6"));
}
