#include "lessons/trained/layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "attn/error.hpp"
#include "attn/lists.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/text/tokens.hpp"
#include "english/lexicon.hpp"
#include "lessons/lesson.hpp"
#include "lessons/trained/translation.hpp"
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
  const auto* const found = attn::value_in(model.vocabularies, "features");
  const auto words = english::features_of(lexicon(), tokens);
  if (!found || embedding.shape(0) != found->size() + words.front().code.size())
    throw attn::Error("embedding of the model has not a row for each of its features");
  const auto& names = *found;
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
      if (!attn::contains(said, one)) said.push_back(std::move(one));
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

attn::MultiHeadWeights weights_in(const attn::Model& model, const std::string& group, std::size_t heads) {
  return {.heads = heads,
          .W_Q = model.matrix(group + "W_Q"),
          .W_K = model.matrix(group + "W_K"),
          .W_V = model.matrix(group + "W_V"),
          .W_O = model.matrix(group + "W_O")};
}

Block apply_block(const Tensor<3>& X, const attn::Model& model, const std::string& group, std::size_t heads,
                  const attn::AttentionOptions& options, const std::optional<Tensor<3>>& memory) {
  const auto vector = [&](const std::string& id) { return model.vector(group + id); };
  const auto normed = [&](const Tensor<3>& x, const std::string& norm) {
    return attn::layer_norm(x, vector(norm + "/gain"), vector(norm + "/bias"));
  };
  const auto found = attn::multi_head_attention(X, weights_in(model, group + "attention/", heads), options);
  Block block = {.weights = found.weights, .attended = normed(X + found.output, "norm_1"), .output = {}};
  auto x = block.attended;
  if (memory) {
    const auto looked = attn::multi_head_attention(x, *memory, weights_in(model, group + "cross/", heads));
    block.cross_weights = looked.weights;
    x = normed(x + looked.output, "norm_cross");
  }
  auto hidden = attn::linear(x, model.matrix(group + "W_1"), vector("b_1"));
  for (double& one : hidden) one = std::max(one, 0.0);
  block.output = normed(x + attn::linear(hidden, model.matrix(group + "W_2"), vector("b_2")), "norm_2");
  return block;
}

namespace {

Block first_layer(const attn::Model& model, const std::vector<std::string>& tokens) {
  return apply_block(embedded(model, tokens), model, "layer=1/", model.number("layer=1/heads"),
                     {.angles = angles_of_first_layer(model, tokens.size())});
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
  const auto first = first_layer(model, tokens);
  const auto second = attn::multi_head_attention(
      first.output, weights_in(model, "layer=2/attention/", model.number("heads")));
  return {first.weights, second.weights};
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

namespace {

/// `Each word looks most at the word it belongs to, according to the model: "it" at "animal" (0.78), …`: the
/// words that give more than half to another one in head 0, pronouns first, then the farthest; three at most.
std::string who_is_about_whom(const DocumentRun& run) {
  constexpr std::size_t most = 3;
  struct Look {
    bool is_of_pronoun;
    std::size_t distance;
    std::string words;
  };
  const auto weights = run.in_heads(run.sheet().find("weights") ? "weights" : "attention/weights");
  const auto& sentences = run.bench().plan.sentence.tokens;
  std::vector<Look> looks;
  for (std::size_t sample = 0; sample < sentences.size(); ++sample) {
    const auto& words = sentences[sample];
    for (std::size_t query = 0; query < words.size(); ++query) {
      const double* row = &weights(sample, 0, query, 0);
      const auto key = attn::argmax(row, words.size());
      if (key == query || !(row[key] > 0.5)) continue;
      looks.push_back({lexicon().guessed_readings(words[query]).front().part == "pronoun",
                       std::max(query, key) - std::min(query, key),
                       fmt::format("\"{}\" at \"{}\" ({:.2f})", words[query], words[key], row[key])});
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

/// The row "it" of the model about in two sentences that differ in their last word.
std::string one_word_decides(const DocumentRun&) {
  std::string table;
  for (const std::string last : {"tired", "wide"}) {
    const auto words = attn::tokenize("the animal left the street: it was " + last);
    const auto weights = layers_of_about(*attn::shipped_model("about"), words).second_weights;
    const auto* const row = &weights(0, 0, attn::place_of("it", words), 0);
    table += fmt::format("{}        {:>6}\n\"it\"    {:6.2f}", table.empty() ? "" : "\n",
                         fmt::join(words, "  "), fmt::join(row, row + words.size(), "  "));
  }
  return table;
}

/// The first `count` blocks of one side of the model, one upon the other.
std::vector<Block> blocks_of(const ModelInputs& inputs, const char* side, std::size_t count, Tensor<3> X,
                             const attn::AttentionOptions& options,
                             const std::optional<Tensor<3>>& memory = std::nullopt) {
  std::vector<Block> blocks;
  for (std::size_t layer = 1; layer <= count; ++layer)
    blocks.push_back(apply_block(layer == 1 ? X : blocks.back().output, inputs.model(),
                                 fmt::format("{}/layer={}/", side, layer), inputs.number("heads"), options,
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
  return blocks_of(inputs, "encoder", inputs.number("layers"), X, {});
}

std::vector<Block> decoder_blocks(const ModelInputs& inputs, const attn::TokenBatch& read,
                                  const Tensor<3>& memory, std::size_t count) {
  const auto X = inputs.with_positions(inputs.rows("target/embedding", "target_words", read), read);
  return blocks_of(inputs, "decoder", count, X, {.causal = true}, memory);
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

/// Layers of attention one upon the other, with nothing but the residual connection between them.
std::vector<LayerOfModel> read_layers(const TextOfModel& of) {
  const auto model = attn::shipped_model(of.model);
  Options ignored, texts;
  texts.sentence = {of.text};
  const ModelInputs inputs(*lesson_named("patterns"), *model, ignored, texts);
  const auto& words = inputs.sentence().tokens.front();
  const auto n = words.size(), layers = inputs.number("layers"), heads = inputs.number("heads");
  if (layers > 1 && (model->said("norm") != "none" || inputs.number("d_ff") > 0))
    throw attn::Error(fmt::format("the model {} has more than attention between its layers", of.model));
  const bool is_causal = model->said("causal") == "true";
  auto X = inputs.encoded_words(inputs.sentence());
  std::vector<LayerOfModel> all;
  for (std::size_t layer = 1; layer <= layers; ++layer) {
    const auto group = fmt::format("layer={}/attention/", layer);
    attn::AttentionOptions options = {.causal = is_causal};
    if (model->said("positions") == "rotary")
      options.angles =
          attn::position_angles(n, attn::position_frequencies(model->matrix(group + "W_Q").shape(1) / heads));
    auto attention = attn::multi_head_attention(X, weights_in(*model, group, heads), options);
    X += attention.output;
    const auto name = layers > 1 ? fmt::format("{} {}", of.name, layer) : of.name;
    all.push_back({of.model, of.name, name, words, words, {}, attention.weights, is_causal});
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
  return {{"about", "about", "about 1", words, words, {}, layers.first_weights},
          {"about", "about", "about 2", words, words, {}, layers.second_weights}};
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
  const auto layers = inputs.number("layers");
  const auto encoder = encoder_blocks(inputs, inputs.source());
  const auto decoder = decoder_blocks(inputs, read, encoder.back().output, layers);
  std::vector<LayerOfModel> all;
  const auto add = [&](const char* part, const auto& queries, const auto& keys, const auto& weights_of,
                       bool is_causal, std::vector<std::set<std::size_t>> links) {
    for (std::size_t i = 0; i < layers; ++i)
      all.push_back({translator, part, fmt::format("{} {}", part, i + 1), queries, keys, links, weights_of(i),
                     is_causal});
  };
  add("encoder", words, words, [&](std::size_t i) { return encoder[i].weights; }, false, {});
  add("decoder", reads, reads, [&](std::size_t i) { return decoder[i].weights; }, true, {});
  add(
      "cross", pair->target, words, [&](std::size_t i) { return decoder[i].cross_weights.value(); }, false,
      gold_links(*pair));
  return all;
}

/// A layer of one model, "induction"; not of a translator.
const LayerOfModel& layer_of(const std::string& model, std::size_t layer) {
  static std::map<std::string, std::vector<LayerOfModel>> known;
  auto& layers = known[model];
  if (!layers.empty()) return layers.at(layer - 1);
  for (const auto& of : models_and_texts)
    if (of.model == model) return (layers = read_layers(of)).at(layer - 1);
  throw attn::Error(fmt::format("there is no text for the model {} to read", model));
}

}  // namespace

std::vector<LayerOfModel> layers_of_models() {
  auto all = read_about();
  const auto add = [&](const std::vector<LayerOfModel>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (const auto& one : models_and_texts) add(read_layers(one));
  add(read_translator());
  return all;
}

void add_models(Functions& functions) {
  functions.texts["who_is_about_whom"] = who_is_about_whom;
  functions.texts["one_word_decides"] = one_word_decides;
  const auto add = [&](const std::string& name, const std::string& model, std::size_t layer = 1) {
    functions.tensors[name] = [=](const DocumentRun& run) {
      const auto& of = layer_of(model, layer);
      auto& trace = run.bench().trace;
      trace.label(name + "/query", {{of.queries}});
      trace.label(name + "/key", {{of.keys}});
      const auto& shape = of.weights.shape();
      formula::Numbers weights(attn::Shape{shape[1], shape[2], shape[3]});
      std::copy(of.weights.begin(), of.weights.end(), weights.begin());
      return owned_view(std::move(weights));
    };
  };
  for (const std::string model : {"language", "sentiment", "reverse"}) add(model, model);
  add("block_1", "induction");
  add("block_2", "induction", 2);
  add("alone", "induction-one-layer");
}

}  // namespace lessons
