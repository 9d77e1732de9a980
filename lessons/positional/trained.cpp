/// What two trained models make of a sequence that they have to say backwards: one with a learned table of
/// positions, one with none. Their weights are those that `attnlab train reverse` wrote into data/models.

#include "lessons/positional/trained.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>
#include <xtensor/xmath.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/self_attention.hpp"
#include "trace/model.hpp"

namespace lessons {

namespace {

constexpr std::size_t letters_in_training = 10, more_letters = 14;

/// What a model makes of the first letters of the alphabet.
struct Reversed {
  Tensor<2> weights;    ///< [query×key]
  std::string letters;  ///< "j i h"
};

/// The letters with their positions, [1×token×d_model].
Tensor<3> encoded_letters(const attn::Model& model, std::size_t count) {
  const auto letters = attn::as_batch(attn::rows(model.matrix("embedding"), 0, count));
  return model.find("positions") ? attn::add_positions(letters, model.matrix("positions")) : letters;
}

Reversed reverse_alphabet(Workbench& mute, const attn::Model& model, std::size_t count) {
  const auto weight = [&](const std::string& id) { return model.matrix("layer=1/attention/" + id); };
  const Named X = {"X", encoded_letters(model, count)};
  const auto attention = single_head_attention(mute, X, X, {weight("W_Q"), weight("W_K"), weight("W_V")}, {});
  const auto found = attn::linear(attention.output, weight("W_O"));
  const auto logits =
      attn::linear<3>(X.tensor + found, model.matrix("output/W"), model.vector("output/b"));
  std::vector<std::string> letters;
  for (std::size_t p = 0; p < count; ++p) {
    const double* row = &logits(0, p, 0);
    const auto best = attn::argmax(row, logits.shape(2));
    letters.push_back(model.vocabularies.at("classes").at(best));
  }
  return {attn::sample(attention.weights, 0), fmt::format("{}", fmt::join(letters, " "))};
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

bool has_trained_positions() {
  return attn::missing_model_file("reverse").empty() &&
         attn::missing_model_file("reverse-no-positions").empty();
}

void add_trained_positions(Functions& functions) {
  functions.texts["letters_backwards"] = [](const DocumentRun& run) {
    const auto learned = attn::shipped_model("reverse"),
               without = attn::shipped_model("reverse-no-positions");
    auto mute = run.bench().mute();
    return fmt::format("                       right   for a b c d e f g h i j (k l m n)\n{}\n{}\n{}",
                       line_of("learned positions", *learned, "symbols right",
                               reverse_alphabet(mute, *learned, letters_in_training)),
                       line_of("the same, 14 letters", *learned, "symbols right, 4 longer than in training",
                               reverse_alphabet(mute, *learned, more_letters)),
                       line_of("no positions", *without, "symbols right",
                               reverse_alphabet(mute, *without, letters_in_training)));
  };
  functions.texts["where_it_looks"] = [](const DocumentRun& run) {
    auto mute = run.bench().mute();
    return mirror_table(reverse_alphabet(mute, *attn::shipped_model("reverse"), letters_in_training).weights);
  };
}

}  // namespace lessons
