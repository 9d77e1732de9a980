#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <utility>

#include "fast/train/models.hpp"
#include "formula/gradient.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/fast/train/gradients.hpp"
#include "tests/unit/fast/train/lesson_weights.hpp"

using namespace attn::train;
using namespace lesson_weights;

/// The gradients of training are those that the lesson backward derives, of the same weights.
namespace {

using Places = std::vector<std::size_t>;

Places all(std::size_t count) {
  Places places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

/// Where a lesson's tensor stands in a weight of the trained model.
struct Part {
  WeightShape of;
  std::string id;  ///< the lesson's
  Places rows, columns;

  Part(const WeightTable& table, const std::string& name, std::string lesson_id)
      : of(table.at(name)), id(std::move(lesson_id)), rows(all(of.rows)), columns(all(of.columns)) {}

  attn::Shape shape() const {
    return of.is_vector ? attn::Shape{columns.size()} : attn::Shape{rows.size(), columns.size()};
  }

  template <class T>
  std::vector<T> in(const std::vector<T>& model) const {
    std::vector<T> numbers;
    for (const auto row : rows)
      for (const auto column : columns) numbers.push_back(model[of.offset + row * of.columns + column]);
    return numbers;
  }
};

attn::GivenTensors given_parts(const std::vector<Part>& parts, const std::vector<float>& values) {
  attn::GivenTensors given;
  for (const auto& part : parts) give(given, part.id, part.shape(), part.in(values));
  return given;
}

template <class T, class Loss>
std::vector<T> gradients_of(const WeightTable& table, const std::vector<float>& weights, const Loss& loss) {
  std::vector<T> values(weights.begin(), weights.end()), gradients(values.size());
  Tape<T> tape;
  tape.backward(loss(tape, Weights<T>{&table, values.data(), gradients.data()}));
  return gradients;
}

/// In units of the largest gradient of each tensor.
template <class T>
void compare(const std::vector<Part>& parts, const std::vector<T>& gradients, const Listener& told,
             double tolerance) {
  for (const auto& part : parts) {
    INFO(part.id << " in " << (sizeof(T) == 4 ? "float32" : "float64"));
    const auto lesson = told.elements(formula::gradient_name(part.id));
    CHECK(largest_difference(part.in(gradients), lesson) < tolerance * largest(lesson));
  }
}

template <class Loss>
void compare_with_lesson(const WeightTable& table, const std::vector<float>& values,
                         const std::vector<Part>& parts, const Listener& told, const Loss& loss) {
  for_each_isa([&] {
    compare(parts, gradients_of<double>(table, values, loss), told, 1e-9);
    compare(parts, gradients_of<float>(table, values, loss), told, 1e-5);
  });
}

std::vector<double> some_d_output(std::size_t count) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = std::cos(1.7 * static_cast<double>(i) + 0.3);
  return numbers;
}

}  // namespace

TEST_CASE("training: gradients of attention with heads are those of the lesson backward") {
  WeightTable table;
  table.add("X", 4, 6);
  for (const std::string id : {"W_Q", "W_K"}) table.add("attention/" + id, 6, 6);
  table.add("attention/W_V", 6, 8);
  table.add("attention/W_O", 8, 6);
  const auto values = some(table.numbers());
  std::vector<Part> parts = {{table, "X", "X"}};
  for (const std::string id : {"W_Q", "W_K", "W_V", "W_O"}) parts.emplace_back(table, "attention/" + id, id);
  const auto d_output = some_d_output(24);
  auto given = given_parts(parts, values);
  give(given, "d_output", {4, 6}, d_output);
  for (const bool is_causal : {false, true}) {
    INFO("causal " << is_causal);
    const auto told = told_by("backward",
                              {.sentence = {"a b c d"},
                               .d_model = 6,
                               .d_k = 3,
                               .d_v = 4,
                               .heads = 2,
                               .causal = is_causal,
                               .through = "multihead"},
                              given);
    compare_with_lesson(table, values, parts, told, [&]<class T>(Tape<T>& tape, const Weights<T>& weights) {
      Sublayers<T> sublayers(tape, weights, 0, nullptr);
      const auto attended = sublayers.attention(weights("X"), weights("X"), "attention",
                                                {1, 4, 4, 2, is_causal}, {4}, Positions::none);
      return gradients::project(tape, tape.linear(attended.output, weights("attention/W_O")), d_output);
    });
  }
}

TEST_CASE("training: gradients of a transformer's layer are those of the lesson backward") {
  for (const bool is_causal : {false, true}) {
    INFO("causal " << is_causal);
    const TransformerSizes sizes = {.words = 4,
                                    .classes = 6,
                                    .d_model = 6,
                                    .heads = 2,
                                    .d_k = 3,
                                    .d_v = 3,
                                    .d_ff = 7,
                                    .positions = Positions::none,
                                    .is_causal = is_causal,
                                    .has_output_bias = false};
    const auto table = weights_of(sizes);
    auto values = some(table.numbers());
    set_identity(table, "output/W", values);
    std::vector<Part> parts = {{table, "embedding", "X"}};
    const std::string layer = "layer=1/";
    for (const auto& shape : table.shapes())
      if (shape.name.compare(0, layer.size(), layer) == 0)
        parts.emplace_back(table, shape.name, shape.name.substr(layer.size()));
    const auto d_output = some_d_output(24);
    auto given = given_parts(parts, values);
    give(given, "d_output", {4, 6}, d_output);
    const auto told = told_by("backward",
                              {.sentence = {"a b c d"},
                               .d_model = 6,
                               .heads = 2,
                               .causal = is_causal,
                               .through = "transformer-block",
                               .d_ff = 7},
                              given);
    compare_with_lesson(table, values, parts, told, [&]<class T>(Tape<T>& tape, const Weights<T>& weights) {
      return gradients::project(tape, run<T>(tape, weights, sizes, rows_by_sample({{0, 1, 2, 3}})).logits,
                                d_output);
    });
  }
}

namespace {

/// `first` places, and of the further ones the first half of each `2 · hidden`.
Places first_halves(std::size_t count, std::size_t first, std::size_t hidden) {
  Places places;
  for (std::size_t i = 0; i < count; ++i)
    if (i < first || (i - first) % (2 * hidden) < hidden) places.push_back(i);
  return places;
}

/// The lesson's encoder reads forwards only. So does the trained one whose weights are 0 but for these: the
/// other half of its states, and of the decoder's, stays 0.
std::vector<Part> parts_that_read_forwards(const WeightTable& table, const EncoderDecoderSizes& sizes) {
  std::vector<Part> parts;
  const auto add = [&](const std::string& name, bool has_halved_rows, bool has_halved_columns,
                       std::size_t words) {
    auto& part = parts.emplace_back(table, name, name);
    if (has_halved_rows) part.rows = first_halves(part.of.rows, 0, sizes.hidden);
    if (has_halved_columns) part.columns = first_halves(part.of.columns, words, sizes.hidden);
  };
  for (const std::string id : {"W_ih", "W_hh", "b_ih", "b_hh"}) add("encoder/" + id, false, false, 0);
  add("decoder/W_ih", true, true, sizes.d_model);
  add("decoder/W_hh", true, true, 0);
  for (const std::string id : {"decoder/b_ih", "decoder/b_hh"}) add(id, false, true, 0);
  for (const std::string id : {"attention/W_q", "attention/W_k", "output/W"}) add(id, true, false, 0);
  for (const std::string id : {"attention/v_a", "output/b"}) add(id, false, false, 0);
  parts.emplace_back(table, "source/embedding", "X_source");
  parts.emplace_back(table, "target/embedding", "X_target").rows = {3, 0, 1, 2};  // <s> x y z
  return parts;
}

std::vector<float> zero_but_for(const std::vector<Part>& parts, const std::vector<float>& values) {
  std::vector<float> kept(values.size(), 0.0F);
  for (const auto& part : parts)
    for (const auto row : part.rows)
      for (const auto column : part.columns) {
        const auto at = part.of.offset + row * part.of.columns + column;
        kept[at] = values[at];
      }
  return kept;
}

}  // namespace

TEST_CASE("training: gradients of the translator are those of the lesson backward") {
  const EncoderDecoderSizes sizes = {.attention = DecoderAttention::bahdanau,
                                     .source_words = 4,
                                     .target_words = 3,
                                     .d_model = 5,
                                     .hidden = 3,
                                     .d_a = 4};
  const auto table = weights_of(sizes);
  const auto parts = parts_that_read_forwards(table, sizes);
  const auto values = zero_but_for(parts, some(table.numbers()));
  const auto told = told_by(
      "backward",
      {.source = {"a b c d"}, .target = {"x y z"}, .d_model = 5, .d_a = 4, .through = "seq2seq", .hidden = 3},
      given_parts(parts, values));
  compare_with_lesson(table, values, parts, told, [&]<class T>(Tape<T>& tape, const Weights<T>& weights) {
    return translation_loss<T>(tape, weights, sizes, {{0, 1, 2, 3}}, {{0, 1, 2}}, T{1}, 0, nullptr);
  });
}
