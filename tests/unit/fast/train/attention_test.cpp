#include <catch2/catch.hpp>

#include "fast/train/operations.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/fast/train/gradients.hpp"

namespace train = attn::train;
using gradients::project;
using gradients::Tape;
using Matrices = std::vector<gradients::Variable>;

namespace {

constexpr double tolerance = 1e-7;

/// For each instruction set.
void check_attention(const std::vector<gradients::Size>& sizes, const gradients::LossOfMatrices& loss) {
  for_each_isa([&] { CHECK(gradients::error(sizes, loss) < tolerance); });
}

gradients::Variable sum_of(Tape& tape, const Matrices& losses) {
  auto sum = losses.front();
  for (std::size_t i = 1; i < losses.size(); ++i) sum = tape.add(sum, losses[i]);
  return sum;
}

/// All states and the last cells count.
gradients::LossOfMatrices lstm_loss(train::Direction direction, const train::Lengths& lengths) {
  return [=](Tape& tape, const Matrices& m) {
    const std::size_t batch = lengths.size(), positions = m[0].rows / batch;
    const auto states =
        tape.lstm(m[0], {m[1], m[2]}, tape.lstm_weights(m[3], m[4], m[5], m[6]), lengths, direction);
    const std::size_t last = direction == train::Direction::forwards ? (positions - 1) * batch : 0;
    return sum_of(tape, {project(tape, states.h), project(tape, states.c.slice(last, batch))});
  };
}

/// Of output, weights and where the first queries are to look.
gradients::LossOfMatrices heads_loss(const train::HeadSizes& sizes, const train::Lengths& key_lengths) {
  return [=](Tape& tape, const Matrices& m) {
    const auto attended = tape.attend(m[0], m[1], m[2], sizes, key_lengths);
    return sum_of(tape, {project(tape, attended.output), project(tape, attended.weights),
                         tape.loss_of_looks(attended.weights, sizes, sizes.heads - 1,
                                            {{0, 0, 0.7}, {1, 0, 0.2}, {1, 1, 0.8}}, 0.4)});
  };
}

}  // namespace

TEST_CASE("training: gradients of an LSTM, both ways, over sentences of several lengths") {
  for (const auto direction : {train::Direction::forwards, train::Direction::backwards}) {
    check_attention({{12, 2}, {3, 3}, {3, 3}, {12, 2}, {12, 3}, {1, 12}, {1, 12}},
                    lstm_loss(direction, {4, 1, 3}));
    check_attention({{2, 4}, {1, 5}, {1, 5}, {20, 4}, {20, 5}, {1, 20}, {1, 20}}, lstm_loss(direction, {2}));
  }
}

TEST_CASE("training: gradients of additive and dot scores, softmax and the weighted sum") {
  const train::Lengths lengths = {3, 5, 1};
  check_attention({{3, 4}, {15, 4}, {1, 4}, {15, 6}}, [&](Tape& tape, const Matrices& m) {
    const auto weights = tape.softmax(tape.additive_scores(m[0], m[1], m[2], lengths), lengths);
    return sum_of(tape, {project(tape, weights), project(tape, tape.weighted_sum(weights, m[3], lengths))});
  });
  check_attention({{3, 4}, {15, 4}}, [&](Tape& tape, const Matrices& m) {
    const auto weights = tape.softmax(tape.dot_scores(m[0], m[1], lengths), lengths);
    return sum_of(tape, {project(tape, weights), project(tape, tape.weighted_sum(weights, m[1], lengths))});
  });
}

TEST_CASE("training: gradients of attention with heads: causal, padded, of another sentence") {
  check_attention({{8, 6}, {8, 6}, {8, 4}}, heads_loss({2, 4, 4, 2, true}, {4, 2}));
  check_attention({{8, 6}, {8, 6}, {8, 4}}, heads_loss({2, 4, 4, 2, false}, {3, 4}));
  check_attention({{6, 4}, {15, 4}, {15, 8}}, heads_loss({3, 2, 5, 4, false}, {3, 5, 1}));
  check_attention({{4, 3}, {10, 3}, {10, 2}}, heads_loss({2, 2, 5, 1, true}, {5, 5}));
}

TEST_CASE("training: gradients of rotary positions, and a rotation keeps lengths") {
  check_attention({{6, 8}},
                  [](Tape& tape, const Matrices& m) { return project(tape, tape.rotate(m[0], 3, 2)); });
  Tape tape;
  const auto x = tape.variable(4, 2);
  for (std::size_t i = 0; i < x.size(); ++i) x.value[i] = static_cast<double>(i) - 2.5;
  const auto y = tape.rotate(x, 4, 1);
  CHECK(y.value[0] == x.value[0]);  // position 0 stays
  for (std::size_t row = 0; row < 4; ++row) {
    const double *before = x.value + 2 * row, *after = y.value + 2 * row;
    CHECK(after[0] * after[0] + after[1] * after[1] == Approx(before[0] * before[0] + before[1] * before[1]));
  }
}

TEST_CASE("training: keys beyond a length and after a query have no weight") {
  Tape tape;
  const auto x = tape.variable(6, 4);
  for (std::size_t i = 0; i < x.size(); ++i) x.value[i] = static_cast<double>(i % 5);
  const auto attended = tape.attend(x, x, x, {2, 3, 3, 2, true}, {3, 2});
  for (std::size_t row = 0; row < attended.weights.rows; ++row) {
    const std::size_t query = row % 3, length = row < 6 ? 3 : 2;
    double sum = 0;
    for (std::size_t key = 0; key < 3; ++key) {
      const double weight = attended.weights.value[row * 3 + key];
      sum += weight;
      CHECK((weight > 0) == (key <= query && key < length));
    }
    CHECK(sum == Approx(1));
  }
}
