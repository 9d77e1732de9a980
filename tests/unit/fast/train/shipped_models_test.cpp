#include <array>
#include <catch2/catch.hpp>
#include <xtensor/xmath.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/ops/positional.hpp"
#include "fast/train/about_model.hpp"
#include "fast/train/models.hpp"
#include "fast/train/trainer.hpp"
#include "lessons/trained/layers.hpp"
#include "tests/unit/fast/train/lesson_weights.hpp"
#include "trace/file.hpp"
#include "trace/model.hpp"

using namespace attn::train;
using namespace lesson_weights;

/// What was trained and shipped computes in training what the lessons show of it.
namespace {

std::string path_of(const std::string& name) {
  return attn::data_folder("models") + '/' + name + ".safetensors";
}

/// What a lesson tells that is told to take this model and these texts.
Listener told_of_model(std::string_view name, lessons::Options options) {
  options.typed.insert({"model", options.source.empty() ? "sentence" : "source"});
  if (!options.target.empty()) options.typed.insert("target");
  const auto& lesson = lesson_called(name);
  Listener told;
  lessons::run(lesson, lessons::make_plan(lesson, options), told, {});
  return told;
}

std::vector<float> values_of(const attn::Model& model, const WeightTable& table) {
  std::vector<float> values;
  for (const auto& shape : table.shapes())
    for (const double value : model.at(shape.name).values) values.push_back(static_cast<float>(value));
  return values;
}

std::size_t number_of(const attn::Model& model, const std::string& name) {
  return static_cast<std::size_t>(std::stoul(model.configuration.at(name)));
}

std::vector<int> ids_of(const Vocabulary& words, const std::string& sentence) {
  return words.ids(attn::tokenize(std::vector<std::string>{sentence}).tokens.front());
}

TransformerSizes sizes_of(const attn::Model& model) {
  const auto& is = model.configuration;
  return {.words = model.vocabularies.at("words").size(),
          .classes = model.vocabularies.at("classes").size(),
          .d_model = number_of(model, "d_model"),
          .heads = number_of(model, "heads"),
          .d_k = number_of(model, "d_k"),
          .d_v = number_of(model, "d_v"),
          .d_ff = number_of(model, "d_ff"),
          .layers = number_of(model, "layers"),
          .positions = positions_of(is.at("positions"), {Positions::none, Positions::sinusoidal,
                                                         Positions::learned, Positions::rotary}),
          .longest = model.find("positions") ? model.at("positions").shape[0] : 0,
          .is_causal = is.at("causal") == "true",
          .has_norm = is.at("norm") != "none",
          .has_output_bias = model.find("output/b") != nullptr,
          .is_of_sentence = is.at("class_of") == "sentence"};
}

/// A shipped transformer as training has it.
struct Shipped {
  explicit Shipped(const std::string& name)
      : path(path_of(name)),
        model(attn::read_model(path)),
        words(model.vocabularies.at("words")),
        sizes(sizes_of(model)),
        table(weights_of(sizes)),
        values(values_of(model, table)) {}

  TransformerRun<float> run(Tape<float>& tape, const std::vector<std::vector<int>>& sentences) {
    return attn::train::run<float>(tape, {&table, values.data(), nullptr}, sizes, rows_by_sample(sentences));
  }

  attn::Tensor<2> attention(std::size_t layer, const std::string& id) const {
    return model.matrix("layer=" + std::to_string(layer + 1) + "/attention/" + id);
  }

  std::string path;
  attn::Model model;
  Vocabulary words;
  TransformerSizes sizes;
  WeightTable table;
  std::vector<float> values;
};

/// The last row of x.
std::vector<float> last_row(const Variable<float>& x) {
  return numbers_of(x.slice(x.rows - 1, 1));
}

/// A sentence's vectors, [1×token×d_model].
attn::Tensor<3> vectors_of(const Shipped& shipped, const std::vector<int>& sentence) {
  const auto embedding = shipped.model.matrix("embedding");
  attn::Tensor<3> X({1, sentence.size(), embedding.shape(1)});
  for (std::size_t t = 0; t < sentence.size(); ++t)
    std::copy_n(&embedding(static_cast<std::size_t>(sentence[t]), 0), embedding.shape(1), &X(0, t, 0));
  return X;
}

void give_rows(attn::GivenTensors& given, const std::string& id, const attn::Tensor<3>& x) {
  give(given, id, {x.shape(1), x.shape(2)}, x);
}

/// x + what a lesson's attention told, mixed by the layer's W_O.
attn::Tensor<3> with_found(const Shipped& shipped, std::size_t layer, const attn::Tensor<3>& x,
                           const Listener& told) {
  attn::Tensor<3> found({1, x.shape(1), shipped.sizes.heads * shipped.sizes.d_v});
  const auto output = told.elements("output");
  REQUIRE(output.size() == found.size());
  std::copy(output.begin(), output.end(), found.begin());
  return x + attn::linear(found, shipped.attention(layer, "W_O"));
}

/// Whether the logits in training are those of what the lessons' layers give.
void compare_logits(const Shipped& shipped, const Variable<float>& trained, const attn::Tensor<3>& x) {
  const auto logits = attn::linear(x, shipped.model.matrix("output/W"), shipped.model.vector("output/b"));
  CHECK(largest_difference(numbers_of(trained), elements(logits)) <
        10 * lesson_tolerance * largest(elements(logits)));
}

}  // namespace

TEST_CASE("training: cross-attention of the shipped transformer is what the lesson cross-attention shows") {
  const auto path = path_of("translation-transformer");
  const auto model = attn::read_model(path);
  const Vocabulary source_words(model.vocabularies.at("source_words")),
      target_words(model.vocabularies.at("target_words"));
  const TransformerTranslatorSizes sizes = {.source_words = source_words.size(),
                                            .target_words = target_words.size() - 1,
                                            .blocks = {.d_model = number_of(model, "d_model"),
                                                       .heads = number_of(model, "heads"),
                                                       .d_k = number_of(model, "d_k"),
                                                       .d_v = number_of(model, "d_v"),
                                                       .d_ff = number_of(model, "d_ff"),
                                                       .layers = number_of(model, "layers")}};
  const auto table = weights_of(sizes);
  auto values = values_of(model, table);
  const std::vector<std::string> sources = {"the black cat never slept", "the cat slept"},
                                 targets = {"le chat noir ne dormait jamais", "le chat dormait"};
  const auto told = told_of_model("cross-attention", {.source = sources, .target = targets, .model = path});
  const auto shown = told.elements("weights"), other = told.elements("other/weights");
  const auto heads = attending_heads({&table, values.data(), nullptr}, sizes,
                                     {ids_of(source_words, sources[0]), ids_of(source_words, sources[1])},
                                     {ids_of(target_words, targets[0]), ids_of(target_words, targets[1])});
  const auto is_shown = [&](const std::vector<double>& weights, std::size_t head) {
    double worst = 0;
    for (std::size_t sample = 0; sample < 2; ++sample)
      for (std::size_t t = 0; t < heads[head].weights[sample].size(); ++t)
        for (std::size_t j = 0; j < heads[head].weights[sample][t].size(); ++j)
          worst = std::max(worst,
                           difference(weights[(sample * 6 + t) * 5 + j], heads[head].weights[sample][t][j]));
    return worst < 10 * lesson_tolerance;
  };
  const auto rates = told.elements("alignment_error_rates");
  const auto best = static_cast<std::size_t>(std::min_element(rates.begin(), rates.end()) - rates.begin());
  const auto row =
      rates.begin() + static_cast<std::ptrdiff_t>(best / sizes.blocks.heads * sizes.blocks.heads);
  const auto worst = static_cast<std::size_t>(
      std::max_element(row, row + static_cast<std::ptrdiff_t>(sizes.blocks.heads)) - rates.begin());
  for (std::size_t head = 0; head < heads.size(); ++head) {
    INFO("head " << head);
    CHECK(is_shown(shown, head) == (head == best));
    CHECK(is_shown(other, head) == (head == worst));
  }
}

TEST_CASE("training: what the shipped model about attends to is what the lesson multihead shows of it") {
  const auto path = path_of("about");
  const auto model = attn::read_model(path);
  const auto& names = model.vocabularies.at("features");
  const AboutSizes sizes = {.features = names.size()};
  const auto table = weights_of(sizes);
  auto values = values_of(model, table);
  for (const std::string sentence : {"the small cat slept", "The cat didn't love the apple: it was rotten"}) {
    const auto told = told_of_model("multihead", {.sentence = {sentence}, .model = path});
    const auto tokens = english::with_contractions_cut(attn::tokenize(sentence));
    const auto example = about_example(english::features_of(lessons::lexicon(), tokens), names, {});
    Tape<float> tape(false);
    const auto result = run(tape, {&table, values.data(), nullptr}, sizes, {&example}, false);
    CHECK(largest_difference(numbers_of(result.second.weights), told.elements("weights")) <
          10 * lesson_tolerance);
  }
}

TEST_CASE("training: the shipped language model writes what the lesson generate writes with it") {
  Shipped language("language");
  const std::string prompt = "the apples that the girl ate";
  const auto told =
      told_of_model("generate", {.sentence = {prompt}, .new_tokens = 3, .model = language.path});
  auto text = ids_of(language.words, prompt);
  for (const std::string step : {"step=0/", "step=1/", "step=2/"}) {
    INFO(step);
    Tape<float> tape(false);
    const auto result = language.run(tape, {text});
    if (step == "step=0/")
      for (std::size_t layer = 0; layer < 2; ++layer)
        CHECK(largest_difference(numbers_of(result.attended[layer].weights),
                                 told.elements(step + "layer=" + std::to_string(layer + 1) + "/weights")) <
              lesson_tolerance);
    const auto logits = told.elements(step + "logits");
    CHECK(largest_difference(last_row(result.logits), logits) < 10 * lesson_tolerance * largest(logits));
    text.push_back(static_cast<int>(told.elements(step + "token").front()));
  }
}

TEST_CASE(
    "training: a verb of the shipped language model agrees with its subject across the noun of a clause") {
  Shipped language("language");
  const std::vector<std::array<std::string, 2>> subjects = {{"dog", "dogs"},       {"apple", "apples"},
                                                            {"woman", "women"},    {"book", "books"},
                                                            {"rabbit", "rabbits"}, {"tree", "trees"}},
                                                verbs = {{"is", "are"}, {"does", "do"}, {"helps", "help"}};
  std::size_t right = 0, all = 0;
  for (const auto& subject : subjects)
    for (const std::string clause : {"the girl sees", "the girls see", "the boy found", "the boys found"})
      for (const std::size_t number : {0, 1}) {
        Tape<float> tape(false);
        const auto text = ids_of(language.words, "the " + subject[number] + " that " + clause);
        const auto logits = last_row(language.run(tape, {text}).logits);
        for (const auto& verb : verbs) {
          const auto logit_of = [&](std::size_t form) {
            return logits[static_cast<std::size_t>(language.words.id(verb[form]))];
          };
          right += logit_of(number) > logit_of(1 - number) ? 1 : 0;
          ++all;
        }
      }
  INFO(right << " of " << all);
  CHECK(static_cast<double>(right) >= 0.95 * static_cast<double>(all));
}

TEST_CASE("training: the shipped sentiment model judges as the lesson classifier does") {
  Shipped sentiment("sentiment");
  const std::vector<std::string> sentences = {"the film was not good", "the film was good"};
  const auto told = told_of_model("classifier", {.sentence = sentences, .model = sentiment.path});
  Tape<float> tape(false);
  const auto result =
      sentiment.run(tape, {ids_of(sentiment.words, sentences[0]), ids_of(sentiment.words, sentences[1])});
  CHECK(largest_difference(numbers_of(result.attended[0].weights), told.elements("attention/weights")) <
        lesson_tolerance);
  CHECK(largest_difference(numbers_of(result.logits), told.elements("logits")) <
        10 * lesson_tolerance * largest(told.elements("logits")));
}

TEST_CASE("training: the shipped models that reverse do what the lesson positional shows of them") {
  const std::string sentence = "a b c d e f g h i j";
  const auto page = told_by("positional", {.sentence = {"a b"}, .d_model = 4});
  for (const std::string name : {"reverse", "reverse-no-positions"}) {
    INFO(name);
    Shipped reverse(name);
    const auto ids = ids_of(reverse.words, sentence);
    auto X = vectors_of(reverse, ids);
    if (reverse.model.find("positions")) X = attn::add_positions(X, reverse.model.matrix("positions"));
    attn::GivenTensors given;
    give_rows(given, "X", X);
    for (const std::string id : {"W_Q", "W_K", "W_V"})
      give(given, id, reverse.model.at("layer=1/attention/" + id).shape, reverse.attention(0, id));
    const auto told =
        told_by("self-attention",
                {.sentence = {sentence}, .d_model = 32, .d_k = 16, .d_v = 32, .model = "none"}, given);
    Tape<float> tape(false);
    const auto result = reverse.run(tape, {ids});
    CHECK(largest_difference(numbers_of(result.attended[0].weights), told.elements("weights")) <
          lesson_tolerance);
    compare_logits(reverse, result.logits, with_found(reverse, 0, X, told));

    std::string letters;
    for (const int letter :
         read({&reverse.table, reverse.values.data(), nullptr}, reverse.sizes, ids).classes)
      letters += ' ' + reverse.model.vocabularies.at("classes").at(static_cast<std::size_t>(letter));
    CHECK_THAT(page.formulas.at("trained"), Catch::Matchers::Contains(letters));
  }
}

TEST_CASE("training: the shipped induction models are the lesson sdpa on queries and keys that are turned") {
  const std::string sentence = "d e l a d e l a w d";
  for (const std::string name : {"induction", "induction-one-layer"}) {
    INFO(name);
    Shipped induction(name);
    const auto ids = ids_of(induction.words, sentence);
    Tape<float> tape(false);
    const auto result = induction.run(tape, {ids});
    const auto angles = attn::position_angles(ids.size(), attn::position_frequencies(16));
    auto x = vectors_of(induction, ids);
    for (std::size_t layer = 0; layer < induction.sizes.layers; ++layer) {
      attn::GivenTensors given;
      for (const std::string id : {"Q", "K"})
        give_rows(given, id,
                  attn::rotate_pairs(attn::linear(x, induction.attention(layer, "W_" + id)), angles,
                                     attn::Pairing::adjacent));
      give_rows(given, "V", attn::linear(x, induction.attention(layer, "W_V")));
      const auto told = told_by(
          "sdpa", {.sentence = {sentence}, .d_k = 16, .d_v = 32, .causal = true, .model = "none"}, given);
      CHECK(largest_difference(numbers_of(result.attended[layer].weights), told.elements("weights")) <
            lesson_tolerance);
      x = with_found(induction, layer, x, told);
    }
    compare_logits(induction, result.logits, x);
  }
}
