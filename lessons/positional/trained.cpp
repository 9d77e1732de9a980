/// What two trained models make of a sequence that they have to say backwards: one with a learned table of
/// positions, one with none. Their weights are those that `attnlab train reverse` wrote into data/models.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/positional/encodings.hpp"
#include "trace/data_folder.hpp"
#include "trace/model.hpp"

namespace lessons {

namespace {

constexpr std::size_t letters_in_training = 10, more_letters = 14;

/// Models of one layer and one head, with learned positions and without any.
struct Reversers {
  attn::Model learned, without;
};

/// Nothing where the weights are not installed.
std::optional<Reversers> read_reversers() {
  try {
    const auto folder = attn::data_folder("models");
    return Reversers{attn::read_model(folder + "/reverse.safetensors"),
                     attn::read_model(folder + "/reverse-no-positions.safetensors")};
  } catch (const attn::Error&) {
    return std::nullopt;
  }
}

Tensor<2> weight_of(const attn::Model& model, const std::string& id) {
  const auto& stored = model.at(id);
  Tensor<2> matrix(std::array<std::size_t, 2>{stored.shape.at(0), stored.shape.at(1)});
  std::copy(stored.values.begin(), stored.values.end(), matrix.data());
  return matrix;
}

/// What a model makes of the first letters of the alphabet.
struct Reversed {
  Tensor<2> weights;    ///< [query×key]
  std::string letters;  ///< "j i h"
};

Reversed reverse_alphabet(const attn::Model& model, std::size_t count) {
  const auto embedding = weight_of(model, "embedding");
  const auto positions =
      model.find("positions") ? std::optional(weight_of(model, "positions")) : std::nullopt;
  Tensor<2> X(std::array<std::size_t, 2>{count, embedding.shape(1)});
  for (std::size_t p = 0; p < count; ++p)
    for (std::size_t c = 0; c < X.shape(1); ++c)
      X(p, c) = embedding(p, c) + (positions ? (*positions)(p, c) : 0.0);
  const auto projected = [&](const std::string& id) {
    return attn::matmul(X, weight_of(model, "layer=1/attention/" + id));
  };
  const auto Q = projected("W_Q"), K = projected("W_K");
  auto weights = attn::softmax(
      attn::divide(attn::matmul(Q, attn::transpose(K)), std::sqrt(static_cast<double>(Q.shape(1)))));
  const auto found =
      attn::matmul(attn::matmul(weights, projected("W_V")), weight_of(model, "layer=1/attention/W_O"));
  const auto logits = attn::matmul(attn::add(X, found), weight_of(model, "output/W"));
  const auto& bias = model.at("output/b").values;
  std::vector<std::string> letters;
  for (std::size_t p = 0; p < count; ++p) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < logits.shape(1); ++c)
      if (logits(p, c) + bias[c] > logits(p, best) + bias[best]) best = c;
    letters.push_back(model.vocabularies.at("classes").at(best));
  }
  return {std::move(weights), fmt::format("{}", fmt::join(letters, " "))};
}

std::string line_of(const std::string& name, const attn::Model& model, const std::string& score,
                    const Reversed& reversed) {
  const auto found = model.scores.find(score);
  const auto right = found == model.scores.end() ? "–" : fmt::format("{:.0f} %", 100.0 * found->second);
  return fmt::format("{:<22}{:>6}   {}", name, right, reversed.letters);
}

/// Where each place looks, and with which share.
std::string mirror_table(const Tensor<2>& weights) {
  std::string place = "place     ", looks_at = "looks at  ", share = "share     ";
  for (std::size_t p = 0; p < weights.shape(0); ++p) {
    std::size_t strongest = 0;
    for (std::size_t key = 1; key < weights.shape(1); ++key)
      if (weights(p, key) > weights(p, strongest)) strongest = key;
    place += fmt::format("{:>6}", p);
    looks_at += fmt::format("{:>6}", strongest);
    share += fmt::format("{:>6.2f}", weights(p, strongest));
  }
  return fmt::format("{}\n{}\n{}", place, looks_at, share);
}

}  // namespace

void show_trained_positions(Workbench& bench) {
  const auto models = read_reversers();
  if (!models) return;
  const auto ten = reverse_alphabet(models->learned, letters_in_training);
  const auto more = reverse_alphabet(models->learned, more_letters);
  const auto none = reverse_alphabet(models->without, letters_in_training);
  bench.trace.note(
      "trained", "Trained: say ten letters backwards",
      "Two small models learned this (attnlab train reverse); the tables above are drawn. One adds a learned "
      "table of positions to the letters. The other adds nothing and can only guess. Given 14 letters the "
      "first still turns ten round: the rows for later places were never trained. The share of right letters "
      "is that on new sequences.",
      fmt::format(
          "                       right   a b c d … becomes\n{}\n{}\n{}",
          line_of("learned positions", models->learned, "symbols right", ten),
          line_of("no positions", models->without, "symbols right", none),
          line_of("learned, 14 letters", models->learned, "symbols right, 4 longer than in training", more)));
  bench.trace.note(
      "trained-attention", "Where the trained model looks, with ten letters",
      "Here Q and K are made by weights of the model's own, W_Q and W_K. Letter and position are "
      "added, but the query has learned to ask for a place, whatever letter stands there.",
      mirror_table(ten.weights));
}

}  // namespace lessons
