#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "fast/train/trainer.hpp"

/// Models to be trained, and what they learn from. What transformers are made of: sentences by sample,
/// positions, and the sublayers of the lesson `transformer-block`.
namespace attn::train {

enum class Positions { none, sinusoidal, learned, rotary };

/// "none", "sinusoidal", "learned", "rotary"
std::string name_of(Positions positions);

/// Throws attn::Error for a name that `valid` does not have, with those that it has.
Positions positions_of(const std::string& name, const std::vector<Positions>& valid);

using Sequences = std::vector<std::vector<int>>;

/// Sentences as ids, filled up with −1.
struct Rows {
  std::vector<int> ids;
  Lengths lengths;

  std::size_t positions() const { return ids.size() / lengths.size(); }

  /// The position of each word, by sample; −1 for padding.
  std::vector<int> position_ids() const {
    std::vector<int> result(ids.size(), -1);
    for (std::size_t row = 0; row < ids.size(); ++row)
      if (ids[row] >= 0) result[row] = static_cast<int>(row % positions());
    return result;
  }
};

/// Id number `sample · positions + position`, and id number `position · batch + sample`.
Rows rows_by_sample(const Sequences& sentences);
Rows rows_by_position(const Sequences& sentences);

// Transformers of a few layers: the blocks of the lesson `transformer-block`, trained.

struct TransformerSizes {
  std::size_t words = 0;    ///< that are read
  std::size_t classes = 0;  ///< that each position, or each sentence, is given one of
  std::size_t d_model = 64;
  std::size_t heads = 2;
  std::size_t d_k = 32;  ///< of a head
  std::size_t d_v = 32;
  std::size_t d_ff = 0;  ///< 0: no feed-forward network
  std::size_t layers = 1;
  Positions positions = Positions::sinusoidal;
  std::size_t longest = 32;  ///< rows of the table of learned positions
  bool is_causal = false;
  bool has_norm = true;  ///< layer norm after each residual (Vaswani et al. 2017)
  bool has_output_bias = true;
  bool is_of_sentence = false;  ///< one class for the mean of all positions
};

/// What a model with these sizes is: "heads" "2".
std::map<std::string, std::string> sizes_as_text(const TransformerSizes& sizes);

/// Ids: embedding, positions, layer=1/attention/W_Q, …, layer=1/norm_1/gain, …, layer=1/W_1, …, output/W,
/// output/b.
WeightTable weights_of(const TransformerSizes& sizes);

/// "layer=1/", as the names of that layer's weights begin.
std::string layer_name(std::size_t layer);

/// The weights of one layer: LAYER + attention/W_Q, W_K, W_V and W_O, norm_1/gain and bias, with a memory the
/// same of cross and norm_cross, then W_1, b_1, W_2, b_2 and norm_2.
void add_layer(WeightTable& table, const std::string& layer, const TransformerSizes& sizes,
               bool has_memory = false);

/// What the keys of an attention are made of, filled up by sample: for a decoder's cross-attention what its
/// encoder has made of the source.
template <class T>
struct Memory {
  Variable<T> rows;
  Lengths lengths;
};

template <class T>
struct LayerRun {
  Variable<T> output;
  Attended<T> attended, cross;
};

/// The sublayers, with their weights by name. Dropout acts on what each of them gives.
template <class T>
class Sublayers {
 public:
  Sublayers(Tape<T>& tape, const Weights<T>& weights, double dropout_probability, Random* random)
      : tape_(tape), weights_(weights), probability_(dropout_probability), random_(random) {}

  Variable<T> drop(const Variable<T>& x) { return tape_.dropout(x, probability_, random_); }

  /// The rows of the table for the words, with their positions added where those are sinusoidal, or learned
  /// in the table `positions`.
  Variable<T> words(const std::string& table, const Rows& rows, Positions positions) {
    const auto found = tape_.embed(weights_(table), rows.ids);
    if (positions == Positions::sinusoidal) return drop(tape_.add(found, sinusoids(rows, found.columns)));
    if (positions == Positions::learned)
      return drop(tape_.add(found, tape_.embed(weights_("positions"), rows.position_ids())));
    return drop(found);
  }

  /// What the heads of GROUP find for the rows of x among those of `memory`, which are x for self-attention.
  /// Rotary positions turn queries and keys.
  Attended<T> attention(const Variable<T>& x, const Variable<T>& memory, const std::string& group,
                        const HeadSizes& sizes, const Lengths& key_lengths, Positions positions) {
    auto Q = tape_.linear(x, weights_(group + "/W_Q"));
    auto K = tape_.linear(memory, weights_(group + "/W_K"));
    const auto V = tape_.linear(memory, weights_(group + "/W_V"));
    if (positions == Positions::rotary) {
      Q = tape_.rotate(Q, sizes.queries, sizes.heads);
      K = tape_.rotate(K, sizes.keys, sizes.heads);
    }
    return tape_.attend(Q, K, V, sizes, key_lengths);
  }

  /// The block LAYER of the lesson `transformer-block`, with the norm after each residual; with a memory that
  /// of a decoder.
  LayerRun<T> block(const Variable<T>& x, const std::string& layer, const TransformerSizes& sizes,
                    const Lengths& lengths, const Memory<T>* memory = nullptr) {
    const std::size_t batch = lengths.size(), n = x.rows / batch;
    LayerRun<T> run;
    run.output = x;
    const auto add_found = [&](const Variable<T>& found, const std::string& norm) {
      run.output = tape_.add(run.output, drop(found));
      if (sizes.has_norm)
        run.output = tape_.layer_norm(run.output, weights_(norm + "/gain"), weights_(norm + "/bias"));
    };
    const auto attend_to = [&](const Memory<T>& keys, const std::string& group, const char* norm,
                               bool is_causal, Positions positions) {
      const HeadSizes heads = {batch, n, keys.rows.rows / batch, sizes.heads, is_causal};
      const auto attended = attention(run.output, keys.rows, group, heads, keys.lengths, positions);
      add_found(tape_.linear(attended.output, weights_(group + "/W_O")), layer + norm);
      return attended;
    };
    run.attended = attend_to({x, lengths}, layer + "attention", "norm_1", sizes.is_causal, sizes.positions);
    if (memory) run.cross = attend_to(*memory, layer + "cross", "norm_cross", false, Positions::none);
    if (sizes.d_ff == 0) return run;
    const auto hidden =
        tape_.relu(tape_.linear(run.output, weights_(layer + "W_1"), {weights_(layer + "b_1")}));
    add_found(tape_.linear(hidden, weights_(layer + "W_2"), {weights_(layer + "b_2")}), layer + "norm_2");
    return run;
  }

 private:
  /// Row p is (sin(p ω₀), cos(p ω₀), sin(p ω₁), …) with ωᵢ = 10000^(−2i/d_model) (Vaswani et al. 2017,
  /// section 3.5).
  Variable<T> sinusoids(const Rows& rows, std::size_t d_model) {
    const auto encoding = tape_.constant(rows.ids.size(), d_model);
    for (std::size_t row = 0; row < encoding.rows; ++row)
      for (std::size_t column = 0; column < d_model; ++column) {
        const double exponent = -static_cast<double>(column / 2 * 2) / static_cast<double>(d_model);
        const double angle = static_cast<double>(row % rows.positions()) * std::pow(10000.0, exponent);
        encoding.value[row * d_model + column] =
            static_cast<T>(column % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    return encoding;
  }

  Tape<T>& tape_;
  const Weights<T>& weights_;
  double probability_;
  Random* random_;
};

extern template class Sublayers<float>;
extern template class Sublayers<double>;

template <class T>
struct TransformerRun {
  Variable<T> logits;                 ///< [batch·positions × classes] or [batch × classes]
  std::vector<Attended<T>> attended;  ///< of each layer
};

/// Dropout acts on the input and on what each sublayer adds.
template <class T>
TransformerRun<T> run(Tape<T>& tape, const Weights<T>& weights, const TransformerSizes& sizes,
                      const Rows& rows, double dropout_probability = 0, Random* random = nullptr);

// Models that read a sentence and write another one.

/// How the decoder attends: with the state before its step (Bahdanau et al. 2014), with that and the word it
/// reads, with the state after its step (Luong et al. 2015, "general"), or not at all (Sutskever et al.
/// 2014).
enum class DecoderAttention { bahdanau, bahdanau_input, luong_general, none };

/// "bahdanau", "bahdanau-input", "luong-general", "none"
std::string name_of(DecoderAttention attention);

/// Two LSTMs: the model of the lesson `seq2seq`, with its ids, trained.
struct EncoderDecoderSizes {
  DecoderAttention attention = DecoderAttention::bahdanau_input;
  std::size_t source_words = 0;
  std::size_t target_words = 0;  ///< without the marks of begin and end
  std::size_t d_model = 32;
  std::size_t hidden = 48;  ///< of each direction of the encoder; the decoder has twice as many
  std::size_t d_a = 64;

  std::size_t width() const { return 2 * hidden; }  ///< of the states of encoder and decoder

  /// The id that stands for `<s>` among the words that are read and for `</s>` among those that are written.
  int mark() const { return static_cast<int>(target_words); }
};

/// A transformer of an encoder and a decoder (Vaswani et al. 2017): blocks of the lesson `transformer-block`,
/// those of the decoder with cross-attention.
struct TransformerTranslatorSizes {
  std::size_t source_words;
  std::size_t target_words;  ///< without the marks of begin and end
  /// The blocks of the encoder, and as many of the decoder.
  TransformerSizes blocks = {.d_model = 64, .heads = 4, .d_k = 8, .d_v = 8, .d_ff = 128, .layers = 2};

  int mark() const { return static_cast<int>(target_words); }  ///< as above
};

/// A model that reads a sentence and writes another one, whatever it is made of.
using TranslatorSizes = std::variant<EncoderDecoderSizes, TransformerTranslatorSizes>;

/// Ids of two LSTMs: those of the lesson `seq2seq`. Ids of a transformer: source/embedding, target/embedding,
/// encoder/layer=1/attention/W_Q, …, encoder/layer=1/norm_2/bias, decoder/layer=1/attention/W_Q, …,
/// decoder/layer=1/cross/W_Q, …, output/W, output/b. Throws std::invalid_argument for learned positions,
/// which would bound the sentences.
WeightTable weights_of(const TranslatorSizes& sizes);

/// scale · Σ cross-entropy of each target word and of the end, the words before it being given (teacher
/// forcing). Dropout acts on the embeddings and on what is read out, or on what each sublayer adds.
template <class T>
Variable<T> translation_loss(Tape<T>& tape, const Weights<T>& weights, const TranslatorSizes& sizes,
                             const Sequences& sources, const Sequences& targets, T scale,
                             double dropout_probability, Random* random);

/// What the model is, beside its weights: "heads" "2".
std::map<std::string, std::string> configuration_of(const TranslatorSizes& sizes);

/// Writes the likeliest word again and again until the end, or until there are `most_words`.
Sequences translate(const Weights<float>& weights, const TranslatorSizes& sizes, const Sequences& sources,
                    std::size_t most_words);

using Numbers = std::vector<std::vector<float>>;  ///< [row][column]

/// The attention to the source that one head pays while the model is made to write the targets, the row of
/// the end left out. The row of a word is that which writes it, and so has read the words before.
struct AttendingHead {
  std::string name;              ///< "layer 2, head 1"; empty for the only one
  std::vector<Numbers> weights;  ///< [sample][target][source]
};

/// Of all heads that attend to the source; none of a model that does not.
std::vector<AttendingHead> attending_heads(const Weights<float>& weights, const TranslatorSizes& sizes,
                                           const Sequences& sources, const Sequences& targets);

/// Words with their numbers, 0, 1, ….
class Vocabulary {
 public:
  explicit Vocabulary(std::vector<std::string> words);

  const std::vector<std::string>& words() const { return words_; }
  std::size_t size() const { return words_.size(); }

  bool has(const std::string& word) const { return ids_.count(word) > 0; }

  /// Throws std::logic_error for an unknown word.
  int id(const std::string& word) const;
  std::vector<int> ids(const std::vector<std::string>& words) const;

  /// The words with a separator between each two.
  std::string text(const std::vector<int>& ids, const char* separator = " ") const;

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, int> ids_;
};

/// The place of the largest number of a row, the first of several.
template <class Numbers>
std::size_t strongest(const Numbers& row) {
  return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

/// What a transformer reads, and the class of each position (or the one of the sentence); −1: none.
struct Labelled {
  std::vector<int> input;
  std::vector<int> targets;
};

Examples examples_of(const TransformerSizes& sizes, std::vector<Labelled> examples);

/// The rows of a matrix.
Numbers rows_of(const float* matrix, std::size_t rows, std::size_t columns);

/// What a trained transformer makes of a sentence.
struct Reading {
  Numbers logits;                               ///< [position][class], or those of the sentence
  std::vector<int> classes{};                   ///< the likeliest of each row
  std::vector<std::vector<Numbers>> weights{};  ///< [layer][head][query][key]
};

Reading read(const Weights<float>& weights, const TransformerSizes& sizes, const std::vector<int>& input);

/// Of the predictions, how many are right.
Share accuracy(const Weights<float>& weights, const TransformerSizes& sizes,
               const std::vector<Labelled>& examples);

/// Sentences and their translations.
struct Translations {
  Sequences sources, targets;
};

Examples examples_of(const TranslatorSizes& sizes, Translations examples);

}  // namespace attn::train
