#include "fast/train/models.hpp"

#include <catch2/catch.hpp>

#include "attn/random/random.hpp"
#include "tests/unit/fast/train/gradients.hpp"

using namespace attn::train;

namespace {

using Sequences = std::vector<std::vector<int>>;

/// Of a model that learns classes of tokens or of sentences.
gradients::Loss transformer_loss(const TransformerSizes& sizes, double probability) {
  return [=](gradients::Tape& tape, const gradients::Weights& weights) {
    const Sequences inputs = {{1, 2, 3, 4}, {4, 0}, {0, 3, 3}};
    const Sequences targets = {{1, 2, 0, 0}, {2, -1}, {2, 1, 1}};
    attn::RandomState random(9);
    const auto rows = rows_by_sample(inputs);
    const auto result = run<double>(tape, weights, sizes, rows, probability, &random);
    const auto wanted = sizes.is_of_sentence ? std::vector<int>{1, 2, 0} : rows_by_sample(targets).ids;
    return tape.cross_entropy(result.logits, wanted, 0.1);
  };
}

template <class Sizes>
gradients::Loss translator_loss(const Sizes& sizes, double probability) {
  return [=](gradients::Tape& tape, const gradients::Weights& weights) {
    const Sequences sources = {{1, 2, 3, 4}, {4, 0}, {0, 3, 3}}, targets = {{1, 2}, {3, 0, 2}, {2}};
    attn::RandomState random(9);
    return translation_loss<double>(tape, weights, sizes, sources, targets, 0.1, probability, &random);
  };
}

constexpr double model_tolerance = 1e-7;

}  // namespace

TEST_CASE("training: gradients of a whole translator with each attention") {
  for (const auto attention : {DecoderAttention::bahdanau, DecoderAttention::bahdanau_input,
                               DecoderAttention::luong_general, DecoderAttention::none})
    for (const double probability : {0.0, 0.3}) {
      const EncoderDecoderSizes sizes = {
          .attention = attention, .source_words = 5, .target_words = 4, .d_model = 3, .hidden = 2, .d_a = 5};
      INFO(name_of(attention) << ", dropout " << probability);
      CHECK(gradients::error(weights_of(sizes), translator_loss(sizes, probability)) < model_tolerance);
    }
}

TEST_CASE("training: gradients of a whole transformer that translates") {
  for (const auto positions : {Positions::none, Positions::sinusoidal, Positions::rotary})
    for (const std::size_t layers : {1, 2})
      for (const double probability : {0.0, 0.2}) {
        const TransformerTranslatorSizes sizes = {.source_words = 5,
                                                  .target_words = 4,
                                                  .blocks = {.d_model = 4,
                                                             .heads = 2,
                                                             .d_k = 2,
                                                             .d_v = 3,
                                                             .d_ff = 5,
                                                             .layers = layers,
                                                             .positions = positions}};
        INFO(name_of(positions) << " positions, " << layers << " layers, dropout " << probability);
        CHECK(gradients::error(weights_of(sizes), translator_loss(sizes, probability)) < model_tolerance);
      }
}

TEST_CASE("training: gradients of whole transformers") {
  for (const auto positions : {Positions::none, Positions::sinusoidal, Positions::learned, Positions::rotary})
    for (const bool is_causal : {false, true})
      for (const bool has_norm : {false, true})
        for (const std::size_t d_ff : {0, 5})
          for (const bool is_of_sentence : {false, true}) {
            const TransformerSizes sizes = {.words = 5,
                                            .classes = 3,
                                            .d_model = 4,
                                            .heads = 2,
                                            .d_k = 2,
                                            .d_v = 3,
                                            .d_ff = d_ff,
                                            .layers = is_causal ? std::size_t{2} : std::size_t{1},
                                            .positions = positions,
                                            .longest = 4,
                                            .is_causal = is_causal,
                                            .has_norm = has_norm,
                                            .has_output_bias = !is_causal,
                                            .is_of_sentence = is_of_sentence};
            INFO("positions " << static_cast<int>(positions) << ", causal " << is_causal << ", norm "
                              << has_norm << ", d_ff " << d_ff << ", of sentence " << is_of_sentence);
            CHECK(gradients::error(weights_of(sizes), transformer_loss(sizes, d_ff == 0 ? 0.0 : 0.2)) <
                  model_tolerance);
          }
}
