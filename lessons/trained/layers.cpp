#include "lessons/trained/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/positional.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/lesson.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/trained/translation.hpp"

namespace lessons {

namespace {

InHeads attend_to(const Tensor<3>& X, const Tensor<3>& X_key, const attn::Model& model,
                  const std::string& group, const Beside& beside) {
  const auto weights = weights_by_name(beside.heads, [&](const std::string& id) {
    return id.starts_with('W') ? std::optional<attn::AnyRank<double>>(model.matrix(group + id))
                               : std::nullopt;
  });
  attn::AttentionOptions options;
  if (beside.mask) options.mask = *beside.mask;
  return attend_in_heads(X, X_key, weights, options, beside.angles);
}

}  // namespace

InHeads attend(const Tensor<3>& X, const attn::Model& model, const std::string& group, const Beside& beside) {
  return attend_to(X, X, model, group, beside);
}

Block apply_block(const Tensor<3>& X, const attn::Model& model, const std::string& group,
                  const Beside& beside, const std::optional<Tensor<3>>& memory) {
  const auto vector = [&](const std::string& id) { return model.vector(group + id); };
  const auto normed = [&](const Tensor<3>& x, const std::string& norm) {
    return attn::layer_norm(x, vector(norm + "/gain"), vector(norm + "/bias"));
  };
  const auto found = attend(X, model, group + "attention/", beside);
  Block block = {.weights = found.weights, .attended = normed(X + found.output, "norm_1"), .output = {}};
  auto x = block.attended;
  if (memory) {
    const auto looked = attend_to(x, *memory, model, group + "cross/", {beside.heads});
    block.cross_weights = looked.weights;
    x = normed(x + looked.output, "norm_cross");
  }
  auto hidden = attn::linear(x, model.matrix(group + "W_1"), vector("b_1"));
  for (double& one : hidden) one = std::max(one, 0.0);
  block.output = normed(x + attn::linear(hidden, model.matrix(group + "W_2"), vector("b_2")), "norm_2");
  return block;
}

namespace {

/// The first `count` blocks of one side of the model, one upon the other.
std::vector<Block> blocks_of(const ModelInputs& inputs, const char* side, std::size_t count, Tensor<3> X,
                             const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory) {
  std::vector<Block> blocks;
  for (std::size_t layer = 1; layer <= count; ++layer)
    blocks.push_back(apply_block(layer == 1 ? X : blocks.back().output, inputs.model(),
                                 fmt::format("{}/layer={}/", side, layer), {inputs.number("heads"), mask},
                                 memory));
  return blocks;
}

}  // namespace

Tensor<3> as_samples(const std::vector<Tensor<3>>& texts, std::size_t length) {
  const auto width = texts.front().shape(2);
  Tensor<3> rows = xt::zeros<double>({texts.size(), length, width});
  for (std::size_t b = 0; b < texts.size(); ++b) std::copy(texts[b].begin(), texts[b].end(), &rows(b, 0, 0));
  return rows;
}

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

constexpr TextOfModel models_and_texts[] = {
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

/// Adds one list behind the other.
void add(std::vector<LayerOfModel>& all, const std::vector<LayerOfModel>& more) {
  all.insert(all.end(), more.begin(), more.end());
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
    const auto group = fmt::format("layer={}/attention/", layer);
    Beside beside = {heads, visible};
    if (model->said("positions") == "rotary")
      beside.angles =
          attn::position_angles(n, attn::position_frequencies(model->matrix(group + "W_Q").shape(1) / heads));
    auto attention = attend(X, *model, group, beside);
    X += attention.output;
    const auto name = layers > 1 ? fmt::format("{} {}", of.name, layer) : of.name;
    all.push_back({of.model, of.name, name, words, words, {}, std::move(attention.weights), visible});
  }
  if (model->said("class_of") == "token" && model->find("output/b") != nullptr)
    all.back().logits = attn::linear(X, model->matrix("output/W"), model->vector("output/b"));
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
  add(of_encoder, of_decoder);
  add(of_encoder, of_both);
  return of_encoder;
}

/// A layer of one model, "induction"; not of a translator.
const LayerOfModel& layer_of(const std::string& model, std::size_t layer) {
  static std::map<std::string, std::vector<LayerOfModel>> known;
  auto& layers = known[model];
  if (!layers.empty()) return layers.at(layer - 1);
  const auto* found = std::find_if(std::begin(models_and_texts), std::end(models_and_texts),
                                   [&](const TextOfModel& of) { return of.model == model; });
  if (found == std::end(models_and_texts))
    throw attn::Error(fmt::format("there is no text for the model {} to read", model));
  return (layers = read_layers(*found)).at(layer - 1);
}

}  // namespace

std::vector<LayerOfModel> layers_of_models() {
  auto all = read_about();
  for (const auto& one : models_and_texts) add(all, read_layers(one));
  add(all, read_translator());
  return all;
}

void add_weights_of(Functions& functions, const std::string& name, std::string_view model,
                    std::size_t layer) {
  functions.tensors[name] = [=, model = std::string(model)](const DocumentRun& run) {
    const auto& of = layer_of(model, layer);
    auto& trace = run.bench().trace;
    trace.label(name + "/query", {{of.queries}});
    trace.label(name + "/key", {{of.keys}});
    const auto& shape = of.weights.shape();
    formula::Numbers weights(attn::Shape{shape[1], shape[2], shape[3]});
    std::copy(of.weights.begin(), of.weights.end(), weights.begin());
    return owned_view(std::move(weights));
  };
}

}  // namespace lessons
