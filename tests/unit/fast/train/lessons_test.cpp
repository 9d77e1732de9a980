#include <catch2/catch.hpp>
#include <cmath>

#include "fast/train/examples.hpp"
#include "lessons/workbench/model.hpp"
#include "tests/unit/lessons/page.hpp"
#include "trace/data_folder.hpp"
#include "trace/model.hpp"

using namespace attn::train;

/// What is trained computes what the lessons teach: the same weights give the same numbers, up to float32.
namespace {

constexpr double lesson_tolerance = 2e-6;

/// Weights of float32 that are not all alike.
std::vector<float> some_weights(const WeightTable& table) {
  std::vector<float> values(table.numbers());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(0.8 * std::sin(12.9898 * static_cast<double>(i + 1)));
  return values;
}

void give(attn::GivenTensors& given, const std::string& id, const attn::Shape& shape, const float* first) {
  attn::AnyTensor tensor(attn::Dtype::float64, shape);
  std::copy_n(first, attn::element_count(shape), tensor.elements<double>());
  given.emplace(id, std::move(tensor));
}

/// The weights under the lesson's ids, which are those of the table without `prefix`.
attn::GivenTensors given_weights(const WeightTable& table, const std::vector<float>& values,
                                 const std::string& prefix = "") {
  attn::GivenTensors given;
  for (const auto& shape : table.shapes()) {
    if (shape.name.find("embedding") != shape.name.npos || shape.name.compare(0, prefix.size(), prefix) != 0)
      continue;
    const attn::Shape axes =
        shape.is_vector ? attn::Shape{shape.size()} : attn::Shape{shape.rows, shape.columns};
    give(given, shape.name.substr(prefix.size()), axes, values.data() + shape.offset);
  }
  return given;
}

/// The rows of a table that the ids name, as one matrix.
std::vector<float> rows_of(const WeightTable& table, const std::vector<float>& values,
                           const std::string& name, const std::vector<int>& ids) {
  const auto& shape = table.at(name);
  std::vector<float> rows;
  for (const int id : ids) {
    const float* row = values.data() + shape.offset + static_cast<std::size_t>(id) * shape.columns;
    rows.insert(rows.end(), row, row + shape.columns);
  }
  return rows;
}

template <class Numbers>
double largest_difference(const Numbers& trained, const std::vector<double>& lesson) {
  REQUIRE(trained.size() == lesson.size());
  double worst = 0;
  for (std::size_t i = 0; i < lesson.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(trained[i]) - lesson[i]));
  return worst;
}

std::vector<float> flattened(const std::vector<std::vector<float>>& rows) {
  std::vector<float> numbers;
  for (const auto& row : rows) numbers.insert(numbers.end(), row.begin(), row.end());
  return numbers;
}

void compare_translator(DecoderAttention attention) {
  const EncoderDecoderSizes sizes = {
      .attention = attention, .source_words = 4, .target_words = 3, .d_model = 5, .hidden = 3, .d_a = 4};
  const auto table = weights_of(sizes);
  auto values = some_weights(table);
  const std::vector<int> source = {2, 0, 3, 1}, target = {0, 1, 2}, read = {sizes.mark(), 0, 1, 2};
  auto given = given_weights(table, values);
  give(given, "X_source", {4, 5}, rows_of(table, values, "source/embedding", source).data());
  give(given, "X_target", {4, 5}, rows_of(table, values, "target/embedding", read).data());
  const auto told = told_by("seq2seq",
                            {.source = {"a b c d"},
                             .target = {"x y z"},
                             .d_model = 5,
                             .d_a = 4,
                             .attention = name_of(attention),
                             .bidirectional = true,
                             .hidden = 3},
                            given);
  const Weights<float> weights = {&table, values.data(), nullptr};
  const auto rows = forced_alignment(weights, sizes, {source}, {target}).front();
  auto of_words = told.elements("decoder/weights");
  of_words.resize(target.size() * source.size());  // without the row of the end
  CHECK(largest_difference(flattened(rows), of_words) < lesson_tolerance);

  const auto probabilities = told.elements("decoder/probabilities");
  double loss = 0;
  for (std::size_t t = 0; t < 4; ++t) loss -= std::log(probabilities[t * 4 + t]);  // x, y, z, the end
  Tape<float> tape(false);
  CHECK(static_cast<double>(
            *translation_loss<float>(tape, weights, sizes, {source}, {target}, 1.0F, 0, nullptr).value) ==
        Approx(loss).epsilon(1e-5));
}

}  // namespace

TEST_CASE("training: the translator with Bahdanau's and Luong's attention is that of the lesson seq2seq") {
  compare_translator(DecoderAttention::bahdanau);
  compare_translator(DecoderAttention::luong_general);
}

TEST_CASE("training: a transformer's layer is that of the lesson transformer-block") {
  const TransformerSizes sizes = {.words = 4,
                                  .classes = 6,
                                  .d_model = 6,
                                  .heads = 2,
                                  .d_k = 3,
                                  .d_v = 3,
                                  .d_ff = 7,
                                  .positions = Positions::none,
                                  .has_output_bias = false};
  const auto table = weights_of(sizes);
  auto values = some_weights(table);
  const auto& output = table.at("output/W");  // the identity, so that the logits are what the layer gives
  for (std::size_t i = 0; i < output.size(); ++i)
    values[output.offset + i] = i / output.columns == i % output.columns ? 1.0F : 0.0F;
  auto given = given_weights(table, values, "layer=1/");
  const std::vector<int> sentence = {2, 0, 3, 1};
  give(given, "X", {4, 6}, rows_of(table, values, "embedding", sentence).data());
  for (const bool is_causal : {false, true}) {
    auto causal_sizes = sizes;
    causal_sizes.is_causal = is_causal;
    const auto told =
        told_by("transformer-block",
                {.sentence = {"a b c d"}, .d_model = 6, .heads = 2, .causal = is_causal, .d_ff = 7}, given);
    Tape<float> tape(false);
    const auto result =
        run<float>(tape, {&table, values.data(), nullptr}, causal_sizes, rows_by_sample({sentence}));
    const auto numbers = [](const Variable<float>& x) {
      return std::vector<float>(x.value, x.value + x.size());
    };
    CHECK(largest_difference(numbers(result.attended[0].weights), told.elements("attention/weights")) <
          lesson_tolerance);
    CHECK(largest_difference(numbers(result.logits), told.elements("output")) < 10 * lesson_tolerance);
  }
}

namespace {

std::vector<float> numbers_of(const attn::Model& model, const WeightTable& table) {
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

}  // namespace

TEST_CASE("training: cross-attention of the shipped transformer is what the lesson cross-attention shows") {
  const auto path = attn::data_folder("models") + "/translation-transformer.safetensors";
  const auto model = attn::read_model(path);
  const Vocabulary source_words(model.vocabularies.at("source_words")),
      target_words(model.vocabularies.at("target_words"));
  const TransformerTranslatorSizes sizes = {.source_words = source_words.size(),
                                            .target_words = target_words.size() - 1,
                                            .d_model = number_of(model, "d_model"),
                                            .heads = number_of(model, "heads"),
                                            .d_k = number_of(model, "d_k"),
                                            .d_v = number_of(model, "d_v"),
                                            .d_ff = number_of(model, "d_ff"),
                                            .layers = number_of(model, "layers")};
  const auto table = weights_of(sizes);
  auto values = numbers_of(model, table);
  const std::vector<std::string> sources = {"the black cat never slept", "the man slept"},
                                 targets = {"le chat noir ne dormait jamais", "l'homme dormait"};
  lessons::Options options = {.source = sources, .target = targets, .model = path};
  options.typed.insert({"model", "source", "target"});
  const auto& lesson = lesson_called("cross-attention");
  Listener told;
  lessons::run(lesson, lessons::make_plan(lesson, options), told, {});
  const auto shown = told.elements("weights"), other = told.elements("other/weights");
  const auto heads =
      forced_cross_attention({&table, values.data(), nullptr}, sizes,
                             {ids_of(source_words, sources[0]), ids_of(source_words, sources[1])},
                             {ids_of(target_words, targets[0]), ids_of(target_words, targets[1])});
  const auto is_shown = [&](const std::vector<double>& weights, std::size_t head) {
    double worst = 0;
    for (std::size_t sample = 0; sample < 2; ++sample)
      for (std::size_t t = 0; t < heads[head][sample].size(); ++t)
        for (std::size_t j = 0; j < heads[head][sample][t].size(); ++j)
          worst = std::max(worst, std::abs(weights[(sample * 6 + t) * 5 + j] -
                                           static_cast<double>(heads[head][sample][t][j])));
    return worst < 10 * lesson_tolerance;
  };
  const auto rates = told.elements("alignment_error_rates");
  const auto best = static_cast<std::size_t>(std::min_element(rates.begin(), rates.end()) - rates.begin());
  const auto row = rates.begin() + static_cast<std::ptrdiff_t>(best / sizes.heads * sizes.heads);
  const auto worst = static_cast<std::size_t>(
      std::max_element(row, row + static_cast<std::ptrdiff_t>(sizes.heads)) - rates.begin());
  for (std::size_t head = 0; head < heads.size(); ++head) {
    INFO("head " << head);
    CHECK(is_shown(shown, head) == (head == best));
    CHECK(is_shown(other, head) == (head == worst));
  }
}

TEST_CASE("training: what the shipped gloss model attends to is what the lesson multihead shows of it") {
  const auto path = attn::data_folder("models") + "/gloss.safetensors";
  const auto model = attn::read_model(path);
  const Vocabulary words(model.vocabularies.at("words"));
  const TransformerSizes sizes = {.words = words.size(),
                                  .classes = model.vocabularies.at("classes").size(),
                                  .d_model = number_of(model, "d_model"),
                                  .heads = number_of(model, "heads"),
                                  .d_k = number_of(model, "d_k"),
                                  .d_v = number_of(model, "d_v")};
  const auto table = weights_of(sizes);
  auto values = numbers_of(model, table);
  for (const std::string sentence :
       {"the small cat slept", "the cat did not love the apple because it was rotten"}) {
    lessons::Options options = {.sentence = {sentence}, .model = path};
    options.typed.insert({"model", "sentence"});
    const auto& lesson = lesson_called("multihead");
    Listener told;
    lessons::run(lesson, lessons::make_plan(lesson, options), told, {});
    const auto reading = read({&table, values.data(), nullptr}, sizes, ids_of(words, sentence));
    std::vector<float> weights;
    for (const auto& head : reading.weights.front())
      for (const float weight : flattened(head)) weights.push_back(weight);
    CHECK(largest_difference(weights, told.elements("weights")) < lesson_tolerance);
  }
}
