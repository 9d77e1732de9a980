#pragma once

#include <memory>

#include "english/lexicon.hpp"
#include "fast/train/models.hpp"
#include "fast/train/trainer.hpp"

namespace attn::train {

/// A model that says of each word of any English sentence which one it is about.
///
/// A word's vector is a row of its features (what the lexicon knows of it, and a code of its own) times a
/// matrix. Two layers of attention follow, the first with rotary positions. Head 0 of the second one is to
/// look at the word that is sought. The output points at it (Vinyals et al. 2015): its query is read from the
/// last layer, its keys from the codes of the words.
struct AboutSizes {
  std::size_t features = 0;  ///< without the code
  TransformerSizes first = {
      .d_model = 64, .heads = 4, .d_k = 16, .d_v = 16, .d_ff = 256, .positions = Positions::rotary};
  TransformerSizes second = {
      .d_model = 64, .heads = 2, .d_k = 8, .d_v = 8, .d_ff = 128, .positions = Positions::none};
  std::size_t d_name = 16;  ///< of the output's queries and keys
};

/// Ids: embedding, those of layer=1 and layer=2 as a transformer has them, output/W_Q and output/W_K.
WeightTable weights_of(const AboutSizes& sizes);

/// A sentence as numbers.
struct AboutExample {
  static constexpr std::size_t code_size = 16;
  struct Word {
    std::vector<std::pair<std::size_t, float>> features;  ///< number of the feature, share
    std::array<float, code_size> code;
  };
  std::vector<Word> words;
  std::vector<std::size_t> about;  ///< the word that each is about; itself where it is about none
};

/// Of features that have no name among `names` nothing is told.
AboutExample about_example(const std::vector<english::WordFeatures>& words,
                           const std::vector<std::string>& names, const std::vector<std::size_t>& about);

struct AboutRun {
  Attended<float> second;  ///< of the second layer
  Variable<float> named;   ///< the share of each word in the answer, [batch·positions × positions]
  HeadSizes sizes;         ///< of the second layer
};

/// With `is_causal` the second layer sees no later word.
AboutRun run(Tape<float>& tape, const Weights<float>& weights, const AboutSizes& sizes,
             const std::vector<const AboutExample*>& examples, bool is_causal);

/// Sentences to learn from. The loss is −ln of the share that the right word has in the answer, and 0.3 times
/// the cross-entropy of the weights of head 0 of the second layer, which is to give 0.75 to the right word,
/// 0.1 to the word itself (to the words that are about it, where it is itself the right one) and 0.15 to all.
/// In training one batch in four is causal: a word whose answer comes later is then to name itself.
Examples examples_of(const AboutSizes& sizes, std::vector<AboutExample> examples);

/// What the model makes of a sentence.
struct AboutReading {
  std::vector<std::size_t> named;  ///< the word that each is said to be about
  Numbers looks;                   ///< of head 0 of the second layer, [query][key]
};

AboutReading read(const Weights<float>& weights, const AboutSizes& sizes, const AboutExample& example,
                  bool is_causal = false);

}  // namespace attn::train
