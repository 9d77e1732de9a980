#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "fast/train/models.hpp"
#include "fast/train/operations.hpp"
#include "fast/train/trainer.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/fast/train/gradients.hpp"
#include "tests/unit/numbers.hpp"

namespace train = attn::train;
using gradients::Tape;
using nlohmann::json;

/// What tests/fixtures/make_training.py wrote: operations and their gradients as PyTorch has them.
namespace {

constexpr double pytorch_tolerance = 1e-9;

std::vector<json> pytorch_cases(const std::string& beginning) {
  std::ifstream file(ATTN_FIXTURES "/training.json");
  const auto all = json::parse(file);
  std::vector<json> found;
  for (const auto& one : all.at("cases"))
    if (one.at("name").get<std::string>().compare(0, beginning.size(), beginning) == 0) found.push_back(one);
  REQUIRE_FALSE(found.empty());
  return found;
}

using Matrices = std::map<std::string, gradients::Variable>;
using Compute = std::function<Matrices(Tape&, const gradients::Weights&)>;

std::vector<double> numbers_in(const json& tensor) {
  return tensor.at("data").get<std::vector<double>>();
}

/// The largest difference in units of the largest number; where `counts` is 0 nothing is compared.
double relative_error(const double* actual, const std::vector<double>& expected,
                      const std::vector<double>& counts = {}) {
  std::vector<double> counted(actual, actual + expected.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == 0) counted[i] = expected[i];
  return largest_difference(counted, expected) / std::max(1e-3, largest(expected));
}

/// Outputs, and gradients of the sum of all outputs with the case's coefficients, for each instruction set.
void compare(const json& one, const Compute& compute) {
  train::WeightTable table;
  std::vector<double> values, expected;
  for (const auto& [name, tensor] : one.at("tensors").items()) {
    table.add(name, tensor.at("shape")[0], tensor.at("shape")[1]);
    for (const double number : numbers_in(tensor)) values.push_back(number);
    for (const double number : numbers_in(one.at("gradients").at(name))) expected.push_back(number);
  }
  INFO(one.at("name"));
  for_each_isa([&] {
    const auto loss = [&](Tape& tape, const gradients::Weights& weights) {
      gradients::Variable sum = tape.variable(1, 1);
      *sum.value = 0;
      for (const auto& [name, output] : compute(tape, weights)) {
        INFO(name);
        const auto coefficients = numbers_in(one.at("coefficients").at(name));
        const auto& wanted = one.at("outputs").at(name);
        REQUIRE(output.rows == wanted.at("shape")[0]);
        REQUIRE(output.columns == wanted.at("shape")[1]);
        CHECK(relative_error(output.value, numbers_in(wanted), coefficients) < pytorch_tolerance);
        sum = tape.add(sum, gradients::project(tape, output, coefficients));
      }
      return sum;
    };
    const auto computed = gradients::of(table, values, loss);
    for (const auto& shape : table.shapes()) {
      INFO(shape.name);
      const auto first = expected.begin() + static_cast<std::ptrdiff_t>(shape.offset);
      const std::vector<double> part(first, first + static_cast<std::ptrdiff_t>(shape.size()));
      CHECK(relative_error(computed.data() + shape.offset, part) < pytorch_tolerance);
    }
  });
}

/// Σ −w ln w.
gradients::Variable entropy(Tape& tape, const gradients::Variable& weights) {
  const auto result = tape.variable(1, 1);
  *result.value = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (const double w = weights.value[i]; w > 0) *result.value -= w * std::log(w);
  tape.on_backward([=] {
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (const double w = weights.value[i]; w > 0)
        weights.gradient[i] -= *result.gradient * (std::log(w) + 1);
  });
  return result;
}

train::Lengths lengths_of(const json& one) {
  return one.at("numbers").at("lengths").get<train::Lengths>();
}

}  // namespace

TEST_CASE("training: LSTMs equal PyTorch's, and so do their gradients") {
  for (const auto& one : pytorch_cases("lstm"))
    compare(one, [&](Tape& tape, const gradients::Weights& weights) {
      const auto lengths = lengths_of(one);
      const bool is_forwards = one.at("name") == "lstm forwards";
      const auto parts =
          tape.lstm_weights(weights("W_ih"), weights("W_hh"), weights("b_ih"), weights("b_hh"));
      const auto states = tape.lstm(weights("x"), {weights("h_0"), weights("c_0")}, parts, lengths,
                                    is_forwards ? train::Direction::forwards : train::Direction::backwards);
      const std::size_t batch = lengths.size(), last = is_forwards ? states.h.rows - batch : 0;
      return Matrices{
          {"h", states.h}, {"h_last", states.h.slice(last, batch)}, {"c_last", states.c.slice(last, batch)}};
    });
}

TEST_CASE("training: additive and dot attention equal PyTorch's, and so do their gradients") {
  for (const std::string name : {"additive attention", "dot attention"})
    for (const auto& one : pytorch_cases(name))
      compare(one, [&](Tape& tape, const gradients::Weights& weights) {
        const auto lengths = lengths_of(one);
        const auto scores =
            name == "dot attention"
                ? tape.dot_scores(weights("query"), weights("keys"), lengths)
                : tape.additive_scores(weights("query"), weights("keys"), weights("v"), lengths);
        const auto shares = tape.softmax(scores, lengths);
        return Matrices{{"weights", shares},
                        {"context", tape.weighted_sum(shares, weights("states"), lengths)}};
      });
}

TEST_CASE("training: multi-head attention equals PyTorch's, and so do its gradients") {
  for (const auto& one : pytorch_cases("heads"))
    compare(one, [&](Tape& tape, const gradients::Weights& weights) {
      const auto& numbers = one.at("numbers");
      const auto lengths = lengths_of(one);
      const train::HeadSizes sizes = {lengths.size(), numbers.at("queries"), numbers.at("keys"),
                                      numbers.at("heads"), numbers.at("causal")};
      const auto attended = tape.attend(weights("Q"), weights("K"), weights("V"), sizes, lengths);
      return Matrices{{"output", attended.output},
                      {"weights", attended.weights},
                      {"entropy", entropy(tape, attended.weights)}};
    });
}

TEST_CASE("training: layer norm and cross-entropy equal PyTorch's, and so do their gradients") {
  for (const auto& one : pytorch_cases("layer norm"))
    compare(one, [&](Tape& tape, const gradients::Weights& weights) {
      return Matrices{{"y", tape.layer_norm(weights("x"), weights("gain"), weights("bias"))}};
    });
  for (const auto& one : pytorch_cases("cross-entropy"))
    compare(one, [&](Tape& tape, const gradients::Weights& weights) {
      const auto& numbers = one.at("numbers");
      return Matrices{
          {"loss", tape.cross_entropy(weights("logits"), numbers.at("targets").get<std::vector<int>>(),
                                      numbers.at("scale").get<double>())}};
    });
}

TEST_CASE("training: steps of Adam equal PyTorch's, with warm-up, cosine, clipping and weight decay") {
  const auto one = pytorch_cases("adam").front();
  const train::Settings settings = {.steps = one.at("steps"),
                                    .rate = one.at("peak"),
                                    .warm_up = one.at("warm_up"),
                                    .largest_norm = one.at("largest_norm"),
                                    .weight_decay = one.at("weight_decay")};
  for_each_isa([&] {
    auto weights = one.at("first").get<std::vector<double>>();
    train::Adam<double> adam = {0, std::vector<double>(weights.size()), std::vector<double>(weights.size())};
    for (std::size_t step = 1; step <= settings.steps; ++step) {
      const auto gradient = one.at("gradients")[step - 1].get<std::vector<double>>();
      const double norm = adam.step(settings, weights.data(), gradient.data());
      CHECK(norm == Approx(one.at("norms")[step - 1].get<double>()).epsilon(1e-12));
      CHECK(settings.rate_at(step) == Approx(one.at("rates")[step - 1].get<double>()).epsilon(1e-12));
      CHECK(relative_error(weights.data(), one.at("weights")[step - 1].get<std::vector<double>>()) <
            pytorch_tolerance);
    }
    CHECK(adam.steps_done == settings.steps);
  });
}

TEST_CASE("training: the loss of a transformer that translates is PyTorch's, and so are its gradients") {
  using Sentences = std::vector<std::vector<int>>;
  for (const auto& one : pytorch_cases("translator"))
    compare(one, [&](Tape& tape, const gradients::Weights& weights) {
      const auto& numbers = one.at("numbers");
      const std::size_t d_model = numbers.at("d_model"), heads = numbers.at("heads");
      const train::TransformerTranslatorSizes sizes = {.source_words = weights("source/embedding").rows,
                                                       .target_words = weights("target/embedding").rows - 1,
                                                       .blocks = {.d_model = d_model,
                                                                  .heads = heads,
                                                                  .d_k = d_model / heads,
                                                                  .d_v = d_model / heads,
                                                                  .d_ff = numbers.at("d_ff"),
                                                                  .layers = numbers.at("layers"),
                                                                  .positions = train::Positions::none}};
      return Matrices{{"loss", train::translation_loss<double>(
                                   tape, weights, sizes, numbers.at("sources").get<Sentences>(),
                                   numbers.at("targets").get<Sentences>(), numbers.at("scale"), 0, nullptr)}};
    });
}
