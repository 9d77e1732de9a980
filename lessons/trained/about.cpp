#include "lessons/trained/about.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "attn/error.hpp"
#include "attn/ops/activation.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/layer_norm.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/positional_rotary.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "english/word_features.hpp"
#include "lessons/trained/said_of.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/data_folder.hpp"

namespace lessons {

namespace {

/// The rows x W cut into heads.
Tensor<4> heads_of(const Tensor<3>& x, const attn::Model& model, const std::string& id, std::size_t heads) {
  const auto rows = attn::linear(x, model.matrix(id));
  if (heads == 0 || rows.shape(2) % heads != 0)
    throw attn::Error(
        fmt::format("{} has {} columns for {} heads; valid: as many for each", id, rows.shape(2), heads));
  return attn::split_heads(rows, heads);
}

/// Each head's rows turned by their places.
Tensor<4> rotated(const Tensor<4>& of_heads) {
  std::vector<Tensor<3>> turned;
  for (std::size_t head = 0; head < of_heads.shape(1); ++head) {
    const auto one = attn::head(of_heads, head);
    const auto angles = attn::position_angles(one.shape(1), attn::position_frequencies(one.shape(2)));
    turned.push_back(attn::rotate_pairs(one, angles, attn::Pairing::adjacent));
  }
  return attn::stack_heads(turned);
}

/// softmax(Q Kᵀ / √d_k) of each head, [1×head×query×key].
Tensor<4> weights_of(const Tensor<4>& Q, const Tensor<4>& K) {
  const auto root = std::sqrt(static_cast<double>(Q.shape(3)));
  return attn::softmax(attn::divide(attn::matmul(Q, attn::transpose(K)), root));
}

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

}  // namespace

const english::Lexicon& lexicon() {
  static const english::Lexicon shipped(attn::data_folder("lexicon") + "/english.txt");
  return shipped;
}

namespace {

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
    if (lexicon().readings(token).empty()) unknown.push_back("“" + token + "”");
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
      auto one = fmt::format("“{}” is taken for {}", tokens[t], words[t].taken_for);
      if (std::find(said.begin(), said.end(), one) == said.end()) said.push_back(std::move(one));
    }
  return fmt::format("{}", fmt::join(said, ", "));
}

AboutLayers layers_of_about(const attn::Model& model, const std::vector<std::string>& tokens) {
  const auto weight = [&](const std::string& id) { return model.matrix("layer=1/" + id); };
  const auto vector = [&](const std::string& id) { return model.vector("layer=1/" + id); };
  const auto projected = [&](const Tensor<3>& x, const std::string& id, std::size_t heads) {
    return heads_of(x, model, id, heads);
  };
  AboutLayers layers;
  const auto& x = layers.words = embedded(model, tokens);
  const auto heads = number_said_of(model, "layer=1/heads");
  layers.first_weights = weights_of(rotated(projected(x, "layer=1/attention/W_Q", heads)),
                                    rotated(projected(x, "layer=1/attention/W_K", heads)));
  const auto V = projected(x, "layer=1/attention/W_V", heads);
  const auto found =
      attn::linear(attn::merge_heads(attn::matmul(layers.first_weights, V)), weight("attention/W_O"));
  const auto between = attn::layer_norm(attn::add(x, found), vector("norm_1/gain"), vector("norm_1/bias"));
  const auto hidden = attn::relu(attn::linear(between, weight("W_1"), vector("b_1")));
  layers.X = attn::layer_norm(attn::add(between, attn::linear(hidden, weight("W_2"), vector("b_2"))),
                              vector("norm_2/gain"), vector("norm_2/bias"));
  const auto heads_above = number_said_of(model, "heads");
  layers.second_weights = weights_of(projected(layers.X, "layer=2/attention/W_Q", heads_above),
                                     projected(layers.X, "layer=2/attention/W_K", heads_above));
  return layers;
}

Tensor<3> input_of_second_layer(const ModelInputs& inputs) {
  const auto& sentences = inputs.sentence();
  auto X = Tensor<3>::from_shape({sentences.size(), sentences.length(), inputs.number("d_model")});
  X.fill(0.0);
  for (std::size_t sample = 0; sample < sentences.size(); ++sample) {
    const auto rows = layers_of_about(inputs.model(), sentences.tokens[sample]).X;
    if (rows.shape(2) != X.shape(2)) throw attn::Error("X of the model has not d_model columns");
    std::copy(rows.begin(), rows.end(), &X(sample, 0, 0));
  }
  return X;
}

void give_about(ModelInputs& inputs) {
  inputs.give_rows("X", input_of_second_layer(inputs));
  for (const std::string id : {"W_Q", "W_K", "W_V"})
    inputs.give(id, inputs.columns_of_head("layer=2/attention/" + id, 0));
}

std::string who_is_about_whom(const attn::Event& weights) {
  constexpr std::size_t most = 3;
  const auto axis = weights.tensor->shape.size() - 2;
  const auto queries = weights.tensor->shape[axis], keys = weights.tensor->shape.back();
  const auto name = [&](std::size_t word) { return name_along(weights, axis, word); };
  struct Look {
    std::size_t query, key;
    double share;
    bool is_of_pronoun;
  };
  std::vector<Look> looks;
  for (std::size_t query = 0; query < queries; ++query) {
    const auto key = strongest_in_row(weights, query);
    const auto share = weights.tensor->at(query * keys + key);
    if (key == query || !(share > 0.5)) continue;
    const auto readings = lexicon().guessed_readings(name(query));
    looks.push_back({query, key, share, readings.front().part == "pronoun"});
  }
  std::stable_sort(looks.begin(), looks.end(), [](const Look& a, const Look& b) {
    const auto far = [](const Look& look) {
      return std::max(look.query, look.key) - std::min(look.query, look.key);
    };
    return std::tuple(!a.is_of_pronoun, far(b)) < std::tuple(!b.is_of_pronoun, far(a));
  });
  if (looks.empty())
    return "The model looks for the word that each one is about. Here none gets more than half.";
  if (looks.size() > most) looks.resize(most);
  std::vector<std::string> said;
  for (const auto& look : looks)
    said.push_back(fmt::format("\"{}\" {}at \"{}\" ({:.2f})", name(look.query), said.empty() ? "looks " : "",
                               name(look.key), look.share));
  return fmt::format("The model looks for the word that each one is about: {}.", fmt::join(said, ", "));
}

}  // namespace lessons
