/// What the shipped models look at, each in a text of its own.

#include "lessons/trained/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/positional.hpp"
#include "lessons/lesson.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/trained/blocks.hpp"
#include "lessons/trained/gold_alignment.hpp"

namespace lessons {

namespace {

/// A model with a name that fits into a table, and a text that it knows all words of. In that of `induction`
/// letters come again in the order in which they came before.
struct TextOfModel {
  const char *model, *name, *text;
};

constexpr const char* letters = "g k q x b m d f r z p s q x a t g k c b m v d f";

constexpr TextOfModel texts_of_models[] = {
    {"language", "language", "the girl that the dogs see often sleeps near the old house"},
    {"sentiment", "sentiment", "the film was not good but the plot was never boring"},
    {"sentiment-block", "block", "the film was not good but the plot was never boring"},
    {"reverse", "reverse", "a b c d e f g h i j"},
    {"induction-one-layer", "one layer", letters},
    {"induction", "induction", letters}};

constexpr const char* translator = "translation-transformer";
constexpr const char* sentence_to_translate = "the black cat eats the red apple";

/// Layers of attention one upon the other, with nothing but the residual connection between them.
std::vector<LayerOfModel> read_layers(const TextOfModel& of) {
  const auto model = attn::shipped_model(of.model);
  Options options, texts;
  texts.sentence = {of.text};
  const ModelInputs inputs(*lesson_named("patterns"), *model, options, texts);
  const auto& tokens = inputs.sentence();
  const auto n = tokens.length(), layers = inputs.number("layers"), heads = inputs.number("heads");
  const bool is_causal = model->said("causal") == "true";
  const bool is_rotary = model->said("positions") == "rotary";
  if (layers > 1 && (model->said("norm") != "none" || inputs.number("d_ff") > 0))
    throw attn::Error(fmt::format("the model {} has more than attention between its layers", of.model));
  const auto visible = is_causal ? attn::repeat_mask(attn::causal_mask(n, n), 1) : Mask<3>({1, n, n}, true);
  auto X = inputs.encoded_words(tokens);
  std::vector<LayerOfModel> all;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    auto weights = weights_of(*model, fmt::format("layer={}/attention/", layer + 1));
    if (is_rotary) {
      const auto frequencies = attn::position_frequencies(weights.at("W_Q").shape.at(1) / heads);
      weights.emplace("angles", owned_view(attn::position_angles(n, frequencies)));
    }
    auto attention = attend(X, weights, heads, visible);
    X += attention.output;
    const auto& words = tokens.tokens.front();
    all.push_back({.model = of.model,
                   .part = of.name,
                   .name = layers > 1 ? fmt::format("{} {}", of.name, layer + 1) : of.name,
                   .queries = words,
                   .keys = words,
                   .weights = std::move(attention.weights),
                   .visible = visible});
  }
  return all;
}

/// The two layers of the model about.
std::vector<LayerOfModel> read_about() {
  const std::vector<std::string> words = {"the",  "cat", "chased", "the", "dog", "that", "was",
                                          "near", "a",   "tree",   ",",   "but", "it",   "escaped"};
  const auto layers = layers_of_about(*attn::shipped_model("about"), words);
  std::vector<LayerOfModel> all;
  for (const auto* weights : {&layers.first_weights, &layers.second_weights})
    all.push_back({.model = "about",
                   .part = "about",
                   .name = fmt::format("about {}", all.size() + 1),
                   .queries = words,
                   .keys = words,
                   .weights = *weights,
                   .visible = Mask<3>({1, words.size(), words.size()}, true)});
  return all;
}

/// The attentions of the translator: those of its encoder, its decoder, and of the decoder to the encoder.
std::vector<LayerOfModel> read_translator() {
  const auto model = attn::shipped_model(translator);
  Options options, texts;
  texts.source = {sentence_to_translate};
  const ModelInputs inputs(*lesson_named("patterns"), *model, options, texts);
  const auto& words = inputs.source().tokens.front();
  const auto pair = gold_pair(words);
  if (!pair)
    throw attn::Error(fmt::format("\"{}\" is no sentence of the lab's grammar", sentence_to_translate));
  const auto read = before_each(pair->target);
  const auto& reads = read.tokens.front();
  const auto n = words.size(), m = reads.size(), layers = inputs.number("layers");
  const auto encoder = encoder_blocks(inputs, inputs.source());
  const auto decoder = decoder_blocks(inputs, read, encoder.back().output, layers);
  std::vector<LayerOfModel> all;
  const auto add = [&](const char* part, std::size_t layer, const std::vector<std::string>& queries,
                       const std::vector<std::string>& keys, const Tensor<4>& weights,
                       const Mask<3>& visible) {
    all.push_back({.model = translator,
                   .part = part,
                   .name = fmt::format("{} {}", part, layer + 1),
                   .queries = queries,
                   .keys = keys,
                   .weights = weights,
                   .visible = visible});
  };
  for (std::size_t layer = 0; layer < layers; ++layer)
    add("encoder", layer, words, words, encoder[layer].weights, Mask<3>({1, n, n}, true));
  for (std::size_t layer = 0; layer < layers; ++layer)
    add("decoder", layer, reads, reads, decoder[layer].weights,
        attn::repeat_mask(attn::causal_mask(m, m), 1));
  for (std::size_t layer = 0; layer < layers; ++layer) {
    add("cross", layer, pair->target, words, decoder[layer].cross_weights.value(), Mask<3>({1, m, n}, true));
    all.back().links = gold_links(*pair);
  }
  return all;
}

}  // namespace

std::vector<LayerOfModel> layers_of_model(std::string_view model) {
  const auto* found = std::find_if(std::begin(texts_of_models), std::end(texts_of_models),
                                   [&](const TextOfModel& of) { return of.model == model; });
  if (found == std::end(texts_of_models))
    throw attn::Error(fmt::format("there is no text for the model {} to read", model));
  return read_layers(*found);
}

std::vector<LayerOfModel> layers_of_models() {
  auto all = read_about();
  for (const auto& one : texts_of_models)
    for (auto& layer : read_layers(one)) all.push_back(std::move(layer));
  for (auto& layer : read_translator()) all.push_back(std::move(layer));
  return all;
}

}  // namespace lessons
