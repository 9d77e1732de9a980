#include "fast/train/operations.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "attn/random/random.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/fast/train/gradients.hpp"

namespace train = attn::train;
using gradients::project;
using gradients::Tape;
using Matrices = std::vector<gradients::Variable>;

namespace {

constexpr double tolerance = 1e-7;

/// For each instruction set.
void check(const std::vector<gradients::Size>& sizes, const gradients::LossOfMatrices& loss) {
  for_each_isa([&] { CHECK(gradients::error(sizes, loss) < tolerance); });
}

}  // namespace

TEST_CASE("training: gradients of linear maps with no, one and two biases") {
  check({{3, 4}, {4, 5}},
        [](Tape& tape, const Matrices& m) { return project(tape, tape.linear(m[0], m[1])); });
  check({{3, 4}, {4, 5}, {1, 5}},
        [](Tape& tape, const Matrices& m) { return project(tape, tape.linear(m[0], m[1], {m[2]})); });
  check({{3, 4}, {5, 4}, {1, 5}, {1, 5}}, [](Tape& tape, const Matrices& m) {
    return project(tape, tape.linear_transposed(m[0], m[1], tape.transpose(m[1]), {m[2], m[3]}));
  });
  check({{3, 4}, {5, 4}}, [](Tape& tape, const Matrices& m) {
    return project(tape, tape.linear_transposed(m[0], m[1], tape.transpose(m[1])));
  });
}

TEST_CASE("training: an embedding adds up the gradients of a word that is there twice; padding has none") {
  check({{4, 3}}, [](Tape& tape, const Matrices& m) {
    return project(tape, tape.embed(m[0], {2, -1, 0, 2}));
  });
  Tape tape;
  const auto table = tape.variable(2, 3);
  std::fill_n(table.value, table.size(), 5.0);
  const auto rows = tape.embed(table, {-1, 1});
  CHECK(std::vector<double>(rows.value, rows.value + 6) == std::vector<double>{0, 0, 0, 5, 5, 5});
}

TEST_CASE("training: gradients of sums, of what is put side by side and of block matrices") {
  check({{3, 4}, {3, 4}}, [](Tape& tape, const Matrices& m) { return project(tape, tape.add(m[0], m[1])); });
  check({{3, 4}}, [](Tape& tape, const Matrices& m) { return project(tape, tape.add(m[0], m[0])); });
  check({{3, 4}, {3, 4}},
        [](Tape& tape, const Matrices& m) { return project(tape, tape.add(m[0], m[1], -0.3)); });
  check({{3, 4}, {3, 1}, {3, 2}}, [](Tape& tape, const Matrices& m) {
    return project(tape, tape.concatenate({m[0], m[1], m[2], m[1]}));
  });
  check({{3, 4}, {1, 4}}, [](Tape& tape, const Matrices& m) {
    return project(tape, tape.block({{m[0]}, {m[1]}, {m[0]}}));
  });
  check({{3, 4}, {3, 1}, {2, 1}, {2, 4}}, [](Tape& tape, const Matrices& m) {
    return project(tape, tape.block({{m[0], m[1]}, {m[2], m[3]}}));
  });
}

TEST_CASE("training: gradients of tanh and relu") {
  check({{5, 7}}, [](Tape& tape, const Matrices& m) { return project(tape, tape.tanh(m[0])); });
  check({{5, 7}}, [](Tape& tape, const Matrices& m) { return project(tape, tape.relu(m[0])); });
}

TEST_CASE("training: dropout's gradient is its mask's") {
  check({{5, 7}}, [](Tape& tape, const Matrices& m) {
    attn::RandomState random(3);
    return project(tape, tape.dropout(m[0], 0.4, &random));
  });
}

TEST_CASE("training: dropout drops its share, keeps the mean, and does nothing in an evaluation") {
  attn::RandomState random(3);
  Tape tape;
  const auto x = tape.variable(100, 200);
  std::fill_n(x.value, x.size(), 1.0);
  const auto y = tape.dropout(x, 0.25, &random);
  double sum = 0, zeros = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    sum += y.value[i];
    zeros += y.value[i] == 0;
    if (y.value[i] != 0) REQUIRE(y.value[i] == Approx(1 / 0.75));
  }
  CHECK(zeros / 20000 == Approx(0.25).margin(0.015));
  CHECK(sum / 20000 == Approx(1).margin(0.02));
  CHECK(tape.dropout(x, 0.25, nullptr).value == x.value);
  CHECK(tape.dropout(x, 0.0, &random).value == x.value);
  Tape evaluation(false);
  CHECK(evaluation.dropout(x, 0.25, &random).value == x.value);
}

TEST_CASE("training: gradients of layer norm and of the mean of a sentence's rows") {
  check({{4, 6}, {1, 6}, {1, 6}},
        [](Tape& tape, const Matrices& m) { return project(tape, tape.layer_norm(m[0], m[1], m[2])); });
  check({{8, 3}}, [](Tape& tape, const Matrices& m) { return project(tape, tape.mean_rows(m[0], {3, 4})); });
  check({{8, 3}}, [](Tape& tape, const Matrices& m) {
    return project(tape, tape.mean_rows(m[0], {1, 2, 1, 2}));
  });
}

TEST_CASE("training: gradients of cross-entropy, with rows that ask for nothing") {
  check({{4, 5}}, [](Tape& tape, const Matrices& m) { return tape.cross_entropy(m[0], {3, -1, 0, 4}, 0.2); });
  Tape tape;
  const auto logits = tape.variable(2, 3);
  std::fill_n(logits.value, logits.size(), 700.0);  // beyond what exp can give
  CHECK(*tape.cross_entropy(logits, {0, 2}, 0.5).value == Approx(std::log(3.0)));
}
