#include <catch2/catch.hpp>
#include <cmath>

#include "fast/train/models.hpp"
#include "tests/unit/fast/train/lesson_weights.hpp"

using namespace attn::train;
using namespace lesson_weights;

/// What is trained computes what the lessons teach: the same weights give the same numbers, up to float32.
namespace {

void compare_translator(DecoderAttention attention) {
  const EncoderDecoderSizes sizes = {
      .attention = attention, .source_words = 4, .target_words = 3, .d_model = 5, .hidden = 3, .d_a = 4};
  const auto table = weights_of(sizes);
  auto values = some(table.numbers());
  const std::vector<int> source = {2, 0, 3, 1}, target = {0, 1, 2}, read = {sizes.mark(), 0, 1, 2};
  auto given = given_weights(table, values);
  give(given, "X_source", {4, 5}, rows_of(table, values, "source/embedding", source));
  give(given, "X_target", {4, 5}, rows_of(table, values, "target/embedding", read));
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
  const auto rows = attending_heads(weights, sizes, {source}, {target}).front().weights.front();
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
  compare_translator(DecoderAttention::bahdanau_input);
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
  auto values = some(table.numbers());
  set_identity(table, "output/W", values);  // so that the logits are what the layer gives
  auto given = given_weights(table, values, "layer=1/");
  const std::vector<int> sentence = {2, 0, 3, 1};
  give(given, "X", {4, 6}, rows_of(table, values, "embedding", sentence));
  for (const bool is_causal : {false, true}) {
    auto causal_sizes = sizes;
    causal_sizes.is_causal = is_causal;
    const auto told =
        told_by("transformer-block",
                {.sentence = {"a b c d"}, .d_model = 6, .heads = 2, .causal = is_causal, .d_ff = 7}, given);
    Tape<float> tape(false);
    const auto result =
        run<float>(tape, {&table, values.data(), nullptr}, causal_sizes, rows_by_sample({sentence}));
    CHECK(largest_difference(numbers_of(result.attended[0].weights), told.elements("attention/weights")) <
          lesson_tolerance);
    CHECK(largest_difference(numbers_of(result.logits), told.elements("output")) < 10 * lesson_tolerance);
  }
}
