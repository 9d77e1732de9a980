#include "attn/layers/lstm.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/steps.hpp"
#include "tests/unit/layers/random_lstm.hpp"

using attn::Direction;
using attn::Tensor;
using Catch::Contains;

namespace {

constexpr double rounding = std::is_same_v<double, double> ? 1e-13 : 1e-5;

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

/// The first `length` rows of one sample, as a batch of its own.
Tensor<3> alone(const Tensor<3>& x, std::size_t sample, std::size_t length) {
  const auto rows = attn::rows(attn::sample(x, sample), 0, length);
  Tensor<3> result({1, length, x.shape(2)});
  std::copy(rows.begin(), rows.end(), result.begin());
  return result;
}

}  // namespace

TEST_CASE("the gates of a cell are i, f, g and o in that order", "[lstm]") {
  const attn::LstmWeights<double> weights = {.W_ih = {{1.0}, {2.0}, {3.0}, {4.0}},
                                             .W_hh = {{0.1}, {0.2}, {0.3}, {0.4}},
                                             .b_ih = {0.01, 0.02, 0.03, 0.04},
                                             .b_hh = {0.5, 0.6, 0.7, 0.8}};
  const auto step = attn::lstm_cell<double>({{0.5}}, {.h = {{-1.0}}, .c = {{2.0}}}, weights);
  const double i = sigmoid(0.5 - 0.1 + 0.51), f = sigmoid(1.0 - 0.2 + 0.62);
  const double g = std::tanh(1.5 - 0.3 + 0.73), o = sigmoid(2.0 - 0.4 + 0.84);
  CHECK(step.i(0, 0) == Approx(i).epsilon(1e-14));
  CHECK(step.f(0, 0) == Approx(f).epsilon(1e-14));
  CHECK(step.g(0, 0) == Approx(g).epsilon(1e-14));
  CHECK(step.o(0, 0) == Approx(o).epsilon(1e-14));
  CHECK(step.c(0, 0) == Approx(f * 2.0 + i * g).epsilon(1e-14));
  CHECK(step.h(0, 0) == Approx(o * std::tanh(f * 2.0 + i * g)).epsilon(1e-14));
}

TEST_CASE("with all weights 0 half of the memory is kept and half of nothing is written", "[lstm]") {
  const attn::LstmWeights<double> weights = {.W_ih = xt::zeros<double>({8, 3}),
                                             .W_hh = xt::zeros<double>({8, 2}),
                                             .b_ih = xt::zeros<double>({8}),
                                             .b_hh = xt::zeros<double>({8})};
  const auto step =
      attn::lstm_cell<double>({{1.0, 2.0, 3.0}}, {.h = {{9.0, 9.0}}, .c = {{4.0, -1.0}}}, weights);
  CHECK((step.c == Tensor<2>{{2.0, -0.5}}));
}

TEST_CASE("gates driven beyond the range of exp saturate", "[lstm]") {
  auto weights = random_lstm<double>(1, 1, 1);
  weights.W_ih = {{-1e6}, {1e6}, {1e6}, {-1e6}};
  const auto step = attn::lstm_cell<double>({{1.0}}, {.h = {{0.0}}, .c = {{2.0}}}, weights);
  CHECK(step.i(0, 0) == 0.0);
  CHECK(step.f(0, 0) == 1.0);
  CHECK(step.c(0, 0) == 2.0);
  CHECK(step.h(0, 0) == 0.0);
}

TEST_CASE("a sequence is its cell step by step", "[lstm]") {
  const auto x = random_tensor<3>({1, 4, 3}, 1);
  const auto weights = random_lstm(3, 2, 2);
  const attn::LstmState initial = {random_tensor<2>({1, 2}, 3),
                                             random_tensor<2>({1, 2}, 4)};
  const auto run = attn::lstm(x, initial, weights, {4});
  auto state = initial;
  for (std::size_t t = 0; t < 4; ++t) {
    const auto step = attn::lstm_cell(attn::step_of(x, t), state, weights);
    state = step.state();
    CHECK((attn::step_of(run.g, t) == step.g));
    CHECK((attn::step_of(run.h, t) == step.h));
  }
  CHECK((run.last.h == state.h));
  CHECK((run.last.c == state.c));
}

TEST_CASE("in reverse a sequence is the reversed sequence", "[lstm]") {
  const auto x = random_tensor<3>({1, 3, 2}, 1);
  Tensor<3> reversed(x.shape());
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t c = 0; c < 2; ++c) reversed(0, t, c) = x(0, 2 - t, c);
  const auto weights = random_lstm(2, 2, 2);
  const auto initial = attn::zero_state(1, 2);
  const auto backwards = attn::lstm(x, initial, weights, {3}, Direction::reverse);
  const auto forwards = attn::lstm(reversed, initial, weights, {3});
  for (std::size_t t = 0; t < 3; ++t)
    CHECK((attn::step_of(backwards.h, t) == attn::step_of(forwards.h, 2 - t)));
  CHECK((backwards.last.c == forwards.last.c));
}

TEST_CASE("padding has no states and changes none", "[lstm]") {
  const auto direction = GENERATE(Direction::forward, Direction::reverse);
  const auto x = random_tensor<3>({3, 4, 2}, 1);
  const auto weights = random_lstm(2, 3, 2);
  const std::vector<std::size_t> lengths = {4, 1, 3};
  const auto run = attn::lstm(x, attn::zero_state(3, 3), weights, lengths, direction);
  for (std::size_t b = 0; b < 3; ++b) {
    const auto single = attn::lstm(alone(x, b, lengths[b]), attn::zero_state(1, 3), weights,
                                   {lengths[b]}, direction);
    const auto states = attn::sample(run.h, b);
    CHECK((attn::rows(states, 0, lengths[b]) == attn::sample(single.h, 0)));
    CHECK(attn::max_abs(attn::rows(states, lengths[b], 4)) == 0.0);
    CHECK((attn::rows(run.last.h, b, b + 1) == single.last.h));
    CHECK((attn::rows(run.last.c, b, b + 1) == single.last.c));
  }
}

TEST_CASE("a run does not deviate from its cell, and a wrong one does", "[lstm]") {
  const auto direction = GENERATE(Direction::forward, Direction::reverse);
  const auto x = random_tensor<3>({2, 4, 3}, 1);
  const auto weights = random_lstm(3, 2, 2);
  const auto initial = attn::zero_state(2, 2);
  const std::vector<std::size_t> lengths = {4, 2};
  const auto deviation = [&](const attn::Lstm& run) {
    return attn::deviation_from_cell(run, x, initial, weights, lengths, direction);
  };
  const auto run = attn::lstm(x, initial, weights, lengths, direction);
  CHECK(deviation(run) <= rounding);

  auto wrong = run;
  wrong.h(1, 1, 0) += double(0.01);
  CHECK(deviation(wrong) > 1e-3);
  wrong = run;
  wrong.c(0, 3, 1) += double(0.01);
  CHECK(deviation(wrong) > 1e-3);
  const auto other_way = direction == Direction::forward ? Direction::reverse : Direction::forward;
  CHECK(deviation(attn::lstm(x, initial, weights, lengths, other_way)) > 1e-3);

  auto other_order = weights;  // PyTorch's blocks i, f, g, o read as i, f, o, g
  std::swap_ranges(&other_order.W_ih(4, 0), &other_order.W_ih(4, 0) + 6, &other_order.W_ih(6, 0));
  CHECK(deviation(attn::lstm(x, initial, other_order, lengths, direction)) > 1e-3);
}

TEST_CASE("what is kept is the product of the forget gates of all that is read later", "[lstm]") {
  attn::Lstm<double> run;
  run.f = {{{0.5}, {0.25}, {0.1}}, {{0.5}, {0.25}, {0.0}}};
  CHECK((attn::kept_to_the_end(run, {3, 2}) ==
         Tensor<3>{{{0.25 * 0.1}, {0.1}, {1.0}}, {{0.25}, {1.0}, {0.0}}}));
  CHECK((attn::kept_to_the_end(run, {3, 2}, Direction::reverse) ==
         Tensor<3>{{{1.0}, {0.5}, {0.25 * 0.5}}, {{1.0}, {0.5}, {0.0}}}));
}

TEST_CASE("the last memory is the sum of what is kept, and not of all that was written", "[lstm]") {
  const auto direction = GENERATE(Direction::forward, Direction::reverse);
  const auto x = random_tensor<3>({2, 4, 3}, 1);
  const auto run =
      attn::lstm(x, attn::zero_state(2, 2), random_lstm(3, 2, 2), {4, 3}, direction);
  const auto kept = attn::kept_to_the_end(run, {4, 3}, direction);
  CHECK(attn::max_abs_difference(attn::sum_of_kept(run, kept), run.last.c) <= rounding);
  const Tensor<3> everything = xt::ones(kept.shape());
  CHECK(attn::max_abs_difference(attn::sum_of_kept(run, everything), run.last.c) > 1e-3);
}

TEST_CASE("an LSTM refuses what does not fit with both shapes", "[lstm]") {
  const auto weights = random_lstm<double>(3, 2, 1);
  const auto state = attn::zero_state<double>(1, 2);
  CHECK_THROWS_WITH(attn::lstm_cell(random_tensor<2>({1, 4}, 1), state, weights),
                    Contains("[lstm_cell]") && Contains("1×4") && Contains("8×3"));
  CHECK_THROWS_WITH(attn::lstm_cell(random_tensor<2>({2, 3}, 1), state, weights),
                    Contains("2×3") && Contains("1×2"));
  CHECK_THROWS_AS(
      attn::lstm_cell(random_tensor<2>({1, 3}, 1), attn::zero_state<double>(1, 3), weights),
      std::invalid_argument);
  auto biases_missing = weights;
  biases_missing.b_hh = {0.0};
  CHECK_THROWS_AS(attn::lstm_cell(random_tensor<2>({1, 3}, 1), state, biases_missing),
                  std::invalid_argument);
  const auto x = random_tensor<3>({1, 5, 3}, 1);
  CHECK_THROWS_WITH(attn::lstm(x, state, weights, {6}),
                    Contains("[lstm]") && Contains("1×5×3") && Contains("6"));
  CHECK_THROWS_AS(attn::lstm(x, state, weights, {5, 5}), std::invalid_argument);
}
