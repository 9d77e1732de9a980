#include "lessons/trained/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/positional.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/trained/gold_alignment.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/transformer_block.hpp"

namespace lessons {

Views weights_of(const attn::Model& model, const std::string& group) {
  Views weights;
  for (const auto& tensor : model.tensors)
    if (tensor.id.starts_with(group))
      weights.emplace(tensor.id.substr(group.size()),
                      formula::view_of({}, {attn::Dtype::float64, tensor.shape, tensor.values.data()}));
  return weights;
}

Block attend(const Tensor<3>& X, const Views& weights, std::size_t heads,
             const std::optional<Mask<3>>& mask) {
  const Named tokens = {"X", X};
  Options options;
  options.heads = heads;
  PartRun run(*lesson_named("transformer-block"), options);
  tell_multihead(run, tokens, tokens, weights, {heads, heads}, mask);
  return {.weights = run.take<4>("weights"), .output = run.take<3>("output")};
}

Block apply_block(const Tensor<3>& X, const Views& weights, std::size_t heads,
                  const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory) {
  Options options;
  options.heads = heads;
  PartRun run(*lesson_named("transformer-block"), options);
  tell_block(run, X, weights, {heads, heads}, mask, memory);
  Block block = {.weights = run.take<4>("attention/weights"),
                 .attended = run.take<3>("norm_1"),
                 .output = run.take<3>("output")};
  if (memory) block.cross_weights = run.take<4>("cross/weights");
  return block;
}

namespace {

/// The first `count` blocks of one side of the model, one upon the other.
std::vector<Block> blocks_of(const ModelInputs& inputs, const char* side, std::size_t count, Tensor<3> X,
                             const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory) {
  std::vector<Block> blocks;
  for (std::size_t layer = 1; layer <= count; ++layer) {
    const auto weights = weights_of(inputs.model(), fmt::format("{}/layer={}/", side, layer));
    blocks.push_back(
        apply_block(layer == 1 ? X : blocks.back().output, weights, inputs.number("heads"), mask, memory));
  }
  return blocks;
}

}  // namespace

std::vector<Block> encoder_blocks(const ModelInputs& inputs, const attn::TokenBatch& source) {
  const auto X = inputs.with_positions(inputs.rows("source/embedding", "source_words", source), source);
  return blocks_of(inputs, "encoder", inputs.number("layers"), X, std::nullopt, std::nullopt);
}

std::vector<Block> decoder_blocks(const ModelInputs& inputs, const attn::TokenBatch& read,
                                  const Tensor<3>& memory, std::size_t count) {
  const auto X = inputs.with_positions(inputs.rows("target/embedding", "target_words", read), read);
  const auto causal = attn::repeat_mask(attn::causal_mask(read.length(), read.length()), 1);
  return blocks_of(inputs, "decoder", count, X, causal, memory);
}

attn::TokenBatch before_each(std::vector<std::string> words) {
  words.insert(words.begin(), std::string(attn::start_token));
  words.pop_back();
  return {{std::move(words)}};
}

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

/// Every query may look at every key.
Mask<3> all_visible(std::size_t queries, std::size_t keys) {
  return Mask<3>({1, queries, keys}, true);
}

Mask<3> causal_visible(std::size_t tokens) {
  return attn::repeat_mask(attn::causal_mask(tokens, tokens), 1);
}

/// One list after the other.
std::vector<LayerOfModel> in_one_list(const std::vector<std::vector<LayerOfModel>>& lists) {
  std::vector<LayerOfModel> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// Layers of attention one upon the other, with nothing but the residual connection between them.
std::vector<LayerOfModel> read_layers(const TextOfModel& of) {
  const auto model = attn::shipped_model(of.model);
  Options options, texts;
  texts.sentence = {of.text};
  const ModelInputs inputs(*lesson_named("patterns"), *model, options, texts);
  const auto& words = inputs.sentence().tokens.front();
  const auto n = words.size(), layers = inputs.number("layers"), heads = inputs.number("heads");
  if (layers > 1 && (model->said("norm") != "none" || inputs.number("d_ff") > 0))
    throw attn::Error(fmt::format("the model {} has more than attention between its layers", of.model));
  const auto visible = model->said("causal") == "true" ? causal_visible(n) : all_visible(n, n);
  auto X = inputs.encoded_words(inputs.sentence());
  std::vector<LayerOfModel> all;
  for (std::size_t layer = 1; layer <= layers; ++layer) {
    auto weights = weights_of(*model, fmt::format("layer={}/attention/", layer));
    if (model->said("positions") == "rotary") {
      const auto frequencies = attn::position_frequencies(weights.at("W_Q").shape.at(1) / heads);
      weights.emplace("angles", owned_view(attn::position_angles(n, frequencies)));
    }
    auto attention = attend(X, weights, heads, visible);
    X += attention.output;
    const auto name = layers > 1 ? fmt::format("{} {}", of.name, layer) : of.name;
    all.push_back({of.model, of.name, name, words, words, {}, std::move(attention.weights), visible});
  }
  return all;
}

/// The two layers of the model about.
std::vector<LayerOfModel> read_about() {
  const std::vector<std::string> words = {"the",  "cat", "chased", "the", "dog", "that", "was",
                                          "near", "a",   "tree",   ",",   "but", "it",   "escaped"};
  const auto layers = layers_of_about(*attn::shipped_model("about"), words);
  const auto visible = all_visible(words.size(), words.size());
  return {{"about", "about", "about 1", words, words, {}, layers.first_weights, visible},
          {"about", "about", "about 2", words, words, {}, layers.second_weights, visible}};
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
  std::vector<LayerOfModel> of_encoder, of_decoder, of_both;
  for (std::size_t i = 0; i < layers; ++i) {
    const auto name = [&](const char* part) { return fmt::format("{} {}", part, i + 1); };
    of_encoder.push_back(
        {translator, "encoder", name("encoder"), words, words, {}, encoder[i].weights, all_visible(n, n)});
    of_decoder.push_back(
        {translator, "decoder", name("decoder"), reads, reads, {}, decoder[i].weights, causal_visible(m)});
    of_both.push_back({translator, "cross", name("cross"), pair->target, words, gold_links(*pair),
                       decoder[i].cross_weights.value(), all_visible(m, n)});
  }
  return in_one_list({of_encoder, of_decoder, of_both});
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
  std::vector<std::vector<LayerOfModel>> all = {read_about()};
  for (const auto& one : texts_of_models) all.push_back(read_layers(one));
  all.push_back(read_translator());
  return in_one_list(all);
}

}  // namespace lessons
