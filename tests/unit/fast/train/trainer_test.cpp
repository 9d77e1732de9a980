#include "fast/train/trainer.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "attn/random/random.hpp"
#include "fast/train/models.hpp"

using namespace attn::train;

namespace {

const TransformerSizes copying_sizes = {
    .words = 6, .classes = 6, .d_model = 8, .heads = 2, .d_k = 4, .d_v = 4, .d_ff = 8};

/// Sentences of 2 to 6 words that are to be written down as they are.
std::vector<Labelled> labelled(std::size_t count) {
  attn::Generator random(1);
  std::vector<Labelled> examples;
  for (std::size_t i = 0; i < count; ++i) {
    Labelled example;
    const auto length = 2 + random.integer(0, 5);
    for (std::int64_t t = 0; t < length; ++t) example.input.push_back(static_cast<int>(random.integer(0, 6)));
    example.targets = example.input;
    examples.push_back(std::move(example));
  }
  return examples;
}

Examples copying(std::size_t count) {
  return examples_of(copying_sizes, labelled(count));
}

const Settings short_training = {
    .steps = 12, .batch = 10, .rate = 1e-2, .warm_up = 3, .dropout = 0.1, .seed = 3};

std::vector<float> trained(const Settings& settings) {
  const auto examples = copying(57);
  Trainer trainer(weights_of(copying_sizes), examples, settings);
  while (!trainer.is_done()) trainer.step();
  return trainer.values();
}

Settings with_threads(int threads) {
  auto settings = short_training;
  settings.threads = threads;
  return settings;
}

double norm_of(const std::vector<double>& numbers) {
  double squares = 0;
  for (const double number : numbers) squares += number * number;
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("training: the same seed and threads give the same weights bit for bit, another seed others") {
  for (const int threads : {1, 2, 3}) {
    const auto settings = with_threads(threads);
    const auto once = trained(settings);
    CHECK((trained(settings) == once));
    auto other = settings;
    other.seed = 4;
    CHECK((trained(other) != once));
  }
}

TEST_CASE("training: threads share a batch; without dropout they change nothing but rounding") {
  auto one = with_threads(1), many = with_threads(4);
  one.dropout = many.dropout = 0;
  one.steps = many.steps = 2;
  const auto a = trained(one), b = trained(many);
  for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(b[i] == Approx(a[i]).margin(1e-4));
  auto more_than_examples = with_threads(16);
  more_than_examples.batch = 3;
  for (const float value : trained(more_than_examples)) REQUIRE(std::isfinite(value));
}

TEST_CASE("training: a round has each example once, in batches of like length and another order each time") {
  const auto examples = copying(600);
  Batches batches(examples, 10, 7);
  std::vector<std::vector<std::size_t>> rounds;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::size_t> order;
    std::size_t spread = 0;
    for (int i = 0; i < 60; ++i) {
      const auto batch = batches.next();
      REQUIRE(batch.size() == 10);
      order.insert(order.end(), batch.begin(), batch.end());
      spread += examples.lengths[batch.back()] - examples.lengths[batch.front()];
    }
    CHECK(std::set<std::size_t>(order.begin(), order.end()).size() == 600);
    CHECK(spread <= 10);  // few batches have two lengths
    rounds.push_back(std::move(order));
  }
  CHECK(rounds[0] != rounds[1]);
  CHECK(Batches(examples, 10, 7).next() ==
        std::vector<std::size_t>(rounds[0].begin(), rounds[0].begin() + 10));
  CHECK(Batches(examples, 10, 8).next() !=
        std::vector<std::size_t>(rounds[0].begin(), rounds[0].begin() + 10));
}

TEST_CASE(
    "training: a batch is never larger than there are examples, and no example comes twice in a round") {
  const auto examples = copying(7);
  CHECK(Batches(examples, 64, 1).next().size() == 7);
  Batches batches(examples, 3, 1);
  std::set<std::size_t> seen;
  for (int i = 0; i < 2; ++i)
    for (const auto example : batches.next()) CHECK(seen.insert(example).second);
}

TEST_CASE("training: the rate rises to its peak and falls to 0 along half a cosine") {
  const Settings settings = {.steps = 12, .rate = 0.8, .warm_up = 4};
  CHECK(settings.rate_at(1) == Approx(0.2));
  CHECK(settings.rate_at(4) == Approx(0.8));
  CHECK(settings.rate_at(6) == Approx(0.8 * (1 + std::sqrt(0.5)) / 2));
  CHECK(settings.rate_at(8) == Approx(0.4));
  CHECK(settings.rate_at(12) == Approx(0).margin(1e-15));
  CHECK(Settings{.steps = 10, .rate = 1, .warm_up = 0}.rate_at(5) == Approx(0.5));
  CHECK(Settings{.steps = 5, .rate = 1, .warm_up = 10}.rate_at(5) == Approx(0.5));
}

TEST_CASE("training: Adam shortens a long gradient to the norm that is allowed and leaves a short one") {
  std::vector<double> long_gradient = {30, -40}, short_gradient = {0.3, -0.4}, unit = {0.6, -0.8};
  const auto moments = [&](const std::vector<double>& gradient, double largest) {
    std::vector<double> weights = {1, 2};
    Adam<double> adam = {0, {0, 0}, {0, 0}};
    const Settings settings = {.steps = 1000000, .rate = 0.1, .warm_up = 1, .largest_norm = largest};
    CHECK(adam.step(settings, weights.data(), gradient.data()) == Approx(norm_of(gradient)));
    return adam.first;
  };
  CHECK(moments(long_gradient, 1)[0] == Approx(0.1 * unit[0]));
  CHECK(moments(long_gradient, 1)[1] == Approx(0.1 * unit[1]));
  CHECK(moments(short_gradient, 1)[0] == Approx(0.1 * short_gradient[0]));
  CHECK(moments(long_gradient, 100)[0] == Approx(0.1 * long_gradient[0]));
}

TEST_CASE("training: weight decay shortens weights apart from the gradient") {
  std::vector<double> weights = {2, -4}, nothing = {0, 0};
  Adam<double> adam = {0, {0, 0}, {0, 0}};
  adam.step({.steps = 100, .rate = 0.1, .warm_up = 1, .weight_decay = 0.5}, weights.data(), nothing.data());
  CHECK(weights[0] == Approx(2 * 0.95));
  CHECK(weights[1] == Approx(-4 * 0.95));
}

TEST_CASE("training: one that stops and is restored ends where one ends that does not stop") {
  const auto examples = copying(57);
  for (const int threads : {1, 2})
    for (const std::size_t stop : {0, 1, 5, 11}) {
      const auto settings = with_threads(threads);
      Trainer before(weights_of(copying_sizes), examples, settings);
      for (std::size_t step = 0; step < stop; ++step) before.step();
      Trainer after(weights_of(copying_sizes), examples, settings);
      after.restore(before.state());
      CHECK(after.steps_done() == stop);
      while (!after.is_done()) after.step();
      CHECK((after.values() == trained(settings)));
    }
}

TEST_CASE("training: it learns, and what is reported is the loss of the batch before the step") {
  const auto examples = copying(200);
  Trainer trainer(weights_of(copying_sizes), examples,
                  {.steps = 150, .batch = 20, .rate = 2e-2, .warm_up = 10, .seed = 5});
  const double first = mean_loss(examples, trainer.weights());
  const auto report = trainer.step();
  CHECK(report.step == 1);
  CHECK(report.loss == Approx(first).epsilon(0.4));
  CHECK(report.predictions >= 40);
  while (!trainer.is_done()) trainer.step();
  CHECK(mean_loss(examples, trainer.weights()) < 0.1 * first);
  CHECK(accuracy(trainer.weights(), copying_sizes, labelled(200)).value() > 0.97);
}

TEST_CASE("training: first weights have the deviations that are documented") {
  const auto examples = copying(20);
  const EncoderDecoderSizes sizes = {
      .source_words = 200, .target_words = 150, .d_model = 50, .hidden = 30, .d_a = 80};
  const auto table = weights_of(sizes);
  Trainer trainer(table, examples, {.table_deviation = 0.3});
  const auto deviation = [&](const std::string& name) {
    const auto& shape = table.at(name);
    double squares = 0;
    for (std::size_t i = 0; i < shape.size(); ++i)
      squares += static_cast<double>(trainer.values()[shape.offset + i] * trainer.values()[shape.offset + i]);
    return std::sqrt(squares / static_cast<double>(shape.size()));
  };
  CHECK(deviation("source/embedding") == Approx(0.3).epsilon(0.05));
  CHECK(deviation("encoder/W_ih") == Approx(1 / std::sqrt(50.0)).epsilon(0.05));
  CHECK(deviation("encoder/W_hh") == Approx(1 / std::sqrt(30.0)).epsilon(0.05));
  CHECK(deviation("attention/W_k") == Approx(1 / std::sqrt(60.0)).epsilon(0.05));
  CHECK(deviation("attention/v_a") == Approx(1 / std::sqrt(80.0)).epsilon(0.3));
  CHECK(deviation("output/b") == 0);
  CHECK(deviation("encoder/b_hh") == 0);
  const auto& bias = table.at("encoder/b_ih");
  for (std::size_t i = 0; i < bias.size(); ++i)  // i, f, g, o
    CHECK(trainer.values()[bias.offset + i] == (i / 30 == 1 ? 1.0F : 0.0F));
}
