#include "lessons/trained/about.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "attn/error.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/positional.hpp"
#include "english/lexicon.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/file.hpp"

namespace lessons {

const english::Lexicon& lexicon() {
  static const english::Lexicon shipped(attn::data_folder("lexicon") + "/english.txt");
  return shipped;
}

namespace {

/// The rows of features times the matrix `embedding`.
Tensor<3> embedded(const attn::Model& model, const std::vector<std::string>& tokens) {
  const auto embedding = model.matrix("embedding");
  const auto found = model.vocabularies.find("features");
  const auto words = english::features_of(lexicon(), tokens);
  if (found == model.vocabularies.end() ||
      embedding.shape(0) != found->second.size() + words.front().code.size())
    throw attn::Error("embedding of the model has not a row for each of its features");
  const auto& names = found->second;
  auto features = Tensor<3>::from_shape({1, tokens.size(), embedding.shape(0)});
  features.fill(0.0);
  for (std::size_t t = 0; t < words.size(); ++t) {
    for (const auto& [name, share] : words[t].named) {
      const auto at = std::lower_bound(names.begin(), names.end(), name);
      if (at != names.end() && *at == name)
        features(0, t, static_cast<std::size_t>(at - names.begin())) = share;
    }
    std::copy(words[t].code.begin(), words[t].code.end(), &features(0, t, names.size()));
  }
  return attn::linear(features, embedding);
}

bool is_word(const std::string& token) {
  return (token.front() >= 'A' && token.front() <= 'Z') || (token.front() >= 'a' && token.front() <= 'z') ||
         (token.front() & 0x80) != 0;
}

}  // namespace

std::optional<std::string> not_english(const std::vector<std::string>& tokens) {
  std::size_t words = 0;
  std::vector<std::string> unknown;
  for (const auto& token : tokens) {
    if (!is_word(token)) continue;
    ++words;
    if (lexicon().readings(token).empty()) unknown.push_back("\"" + token + "\"");
  }
  if (words > 0 && 2 * unknown.size() <= words) return std::nullopt;
  if (words == 0) return "a text without words";
  if (unknown.size() > 3) unknown.resize(3), unknown.push_back("…");
  return fmt::format("most of the words ({}): it reads English", fmt::join(unknown, ", "));
}

std::string taken_for(const std::vector<std::string>& tokens) {
  std::vector<std::string> said;
  const auto words = english::features_of(lexicon(), tokens);
  for (std::size_t t = 0; t < tokens.size(); ++t)
    if (!words[t].taken_for.empty()) {
      auto one = fmt::format("\"{}\" is taken for {}", tokens[t], words[t].taken_for);
      if (std::find(said.begin(), said.end(), one) == said.end()) said.push_back(std::move(one));
    }
  return fmt::format("{}", fmt::join(said, ", "));
}

Tensor<2> angles_of_first_layer(const attn::Model& model, std::size_t positions) {
  const auto columns = model.matrix("layer=1/attention/W_Q").shape(1);
  const auto heads = model.number("layer=1/heads");
  if (heads == 0 || columns % (2 * heads) != 0)
    throw attn::Error(
        fmt::format("layer=1/attention/W_Q has {} columns for {} heads; valid: as many pairs "
                    "for each",
                    columns, heads));
  return attn::position_angles(positions, attn::position_frequencies(columns / heads));
}

namespace {

Block first_layer(const attn::Model& model, const std::vector<std::string>& tokens) {
  return apply_block(
      embedded(model, tokens), model, "layer=1/",
      {.heads = model.number("layer=1/heads"), .angles = angles_of_first_layer(model, tokens.size())});
}

/// What `of` makes of each text, [1×token×d_model], in one tensor.
template <class Of>
Tensor<3> of_each_text(const ModelInputs& inputs, Of of) {
  std::vector<Tensor<3>> texts;
  for (const auto& tokens : inputs.sentence().tokens) texts.push_back(of(tokens));
  return as_samples(texts, inputs.sentence().length());
}

}  // namespace

AboutLayers layers_of_about(const attn::Model& model, const std::vector<std::string>& tokens) {
  auto first = first_layer(model, tokens);
  auto second = attend(first.output, model, "layer=2/attention/", {model.number("heads")});
  return {std::move(first.weights), std::move(first.output), std::move(second.weights)};
}

Tensor<3> words_as_vectors(const ModelInputs& inputs) {
  return of_each_text(inputs, [&](const auto& tokens) { return embedded(inputs.model(), tokens); });
}

Tensor<3> input_of_second_layer(const ModelInputs& inputs) {
  return of_each_text(inputs, [&](const auto& tokens) { return first_layer(inputs.model(), tokens).output; });
}

void give_about(ModelInputs& inputs) {
  inputs.give_rows("X", input_of_second_layer(inputs));
  for (const std::string id : {"W_Q", "W_K", "W_V"})
    inputs.give(id, inputs.columns_of_head("layer=2/attention/" + id, 0));
}

std::string who_is_about_whom(const attn::Event& weights) {
  constexpr std::size_t most = 3;
  struct Look {
    bool is_of_pronoun;
    std::size_t distance;
    std::string words;
  };
  const auto& shape = weights.tensor->shape;
  const auto axis = shape.size() - 2, queries = shape[axis], keys = shape.back();
  const auto samples = weights.axes.front() == "batch" ? shape.front() : 1;
  const auto rows_of_sample = attn::element_count(shape) / keys / samples;
  std::vector<Look> looks;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const auto& words = weights.labels[axis].of(sample);
    for (std::size_t query = 0; query < queries; ++query) {
      const auto row = sample * rows_of_sample + query;
      const auto key = strongest_in_row(weights, row);
      const auto share = weights.tensor->at(row * keys + key);
      if (key == query || !(share > 0.5) || words[query] == "<pad>") continue;
      looks.push_back({lexicon().guessed_readings(words[query]).front().part == "pronoun",
                       std::max(query, key) - std::min(query, key),
                       fmt::format("\"{}\" at \"{}\" ({:.2f})", words[query], words[key], share)});
    }
  }
  if (looks.empty())
    return "The model says which word each one belongs to. Here no word gives more than half to another "
           "one.";
  std::stable_sort(looks.begin(), looks.end(), [](const Look& a, const Look& b) {
    return std::tuple(b.is_of_pronoun, b.distance) < std::tuple(a.is_of_pronoun, a.distance);
  });
  std::vector<std::string> said;
  for (std::size_t i = 0; i < std::min(most, looks.size()); ++i) said.push_back(looks[i].words);
  return fmt::format("Each word looks most at the word it belongs to, according to the model: {}.",
                     fmt::join(said, ", "));
}

}  // namespace lessons
