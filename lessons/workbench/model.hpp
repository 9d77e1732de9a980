#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"
#include "attn/text/tokens.hpp"
#include "lessons/workbench/given_inputs.hpp"
#include "lessons/workbench/options.hpp"
#include "trace/model.hpp"

namespace lessons {

struct Lesson;

/// A trained model as a lesson takes its inputs from it.
class ModelInputs {
 public:
  /// `texts` are the options with the texts that the lesson will run on.
  ModelInputs(const Lesson& lesson, const attn::Model& model, Options& options, const Options& texts);

  const Lesson& lesson() const { return lesson_; }
  const attn::Model& model() const { return model_; }

  /// The tokens of --sentence, --source and --target.
  const attn::TokenBatch& sentence() const { return sentence_; }
  const attn::TokenBatch& source() const { return source_; }
  const attn::TokenBatch& target() const { return target_; }

  /// The words of one of the model's vocabularies. Throws attn::Error where it has none of that name.
  const std::vector<std::string>& vocabulary(const std::string& name) const;

  /// For what the shapes do not tell, as the number of heads.
  Options& options() { return options_; }

  /// A number of the configuration. Throws attn::Error where it has none of that name.
  std::size_t number(const std::string& name) const;

  /// A weight. Throws attn::Error where the model has none of that id with as many axes.
  attn::Tensor<2> matrix(const std::string& id) const { return model_.matrix(id); }
  attn::Tensor<1> vector(const std::string& id) const { return model_.vector(id); }

  /// The rows of a table for the tokens of each text, with zeros for padding, [text×token×d_model]. All
  /// tokens are known.
  attn::Tensor<3> rows(const std::string& table, const std::string& vocabulary,
                       const attn::TokenBatch& tokens) const;

  /// What the model's first layer reads for the tokens: their rows of the table `embedding`, with the
  /// positions that the model was trained with added, [text×token×d_model].
  attn::Tensor<3> encoded_words(const attn::TokenBatch& tokens) const;

  /// The same of the rows of another table, [text×token×d_model].
  attn::Tensor<3> with_positions(attn::Tensor<3> words, const attn::TokenBatch& tokens) const;

  /// The columns of a matrix, as layer=1/attention/W_Q, that belong to one head, [d_model×d].
  attn::Tensor<2> columns_of_head(const std::string& id, std::size_t head) const;

  /// Puts the tensor in the place of the input of that id. A batch of one text has no axis of its own.
  template <std::size_t N>
  void give(const std::string& id, const attn::Tensor<N>& tensor) {
    give(id, attn::AnyTensor(attn::view_of(tensor)));
  }

  /// The model's tensors of these names in its group `group`, as the inputs `to` + name.
  void give_named(const std::string& to, const std::string& group, const std::vector<std::string>& names);
  void give_rows(const std::string& id, const attn::Tensor<3>& rows);

  std::vector<SetInput> take() { return std::move(inputs_); }

 private:
  void give(const std::string& id, attn::AnyTensor tensor) { inputs_.push_back({id, std::move(tensor)}); }
  std::size_t row_of(const std::string& word, const std::string& vocabulary) const;

  const Lesson& lesson_;
  const attn::Model& model_;
  Options& options_;
  attn::TokenBatch sentence_, source_, target_;
  std::vector<SetInput> inputs_;
};

/// Which sentences a model reads.
enum class Reads {
  vocabulary,  ///< those of its words
  alike,       ///< English: of a word that it lacks it reads the one that is most alike
  pairs,       ///< English and French: a word that it lacks is carried over from one to the other
  english      ///< English, by what the lexicon knows of each word
};

/// The model of a lesson: the task that it was trained for, and what the lesson takes from it.
struct Trained {
  std::string_view task;
  void (*give)(ModelInputs& inputs);
  /// Which vocabulary the words of `--sentence` and `--source`, and those of `--target`, come from.
  std::string_view words = "words";
  std::string_view target_words = "";
  std::string_view name = "";            ///< of the shipped file, where it is not that of the task
  attn::Model (*hand_made)() = nullptr;  ///< in the place of a file: numbers that people chose, not training
  std::vector<std::string_view> replaceable{};  ///< inputs that --set may give while the model gives the rest
  Reads reads = Reads::vocabulary;
  std::string_view seed_draws = "";  ///< an input that the seed draws beside the model's weights

  /// As `--model` takes it.
  std::string_view default_model() const { return name.empty() ? task : name; }
};

enum class Side { source, target };

/// The tokens of the texts. Those for a model that reads any English have their contractions cut, and the
/// elisions of its French.
attn::TokenBatch tokens_for(const Lesson& lesson, const Options& options,
                            const std::vector<std::string>& texts, Side side = Side::source);

/// Whether a model decides how long that is: an option such as d-model.
bool is_dimension_of_model(std::string_view key);

/// The inputs that the lesson's model gives: that of `--model`; else the shipped one where it knows all words
/// and nothing was typed that decides dimensions, draws or inputs. `set` are the inputs of --set: one that
/// the model lets replace, of the model's shape, takes the place of the model's. Sets the options that
/// follow, and `options.unknown_word` where a word keeps the model from being used, or
/// `options.in_place_of_model` where an option does. Throws attn::Error where
/// `--model` goes with such an option, names no file, or a model of another task.
std::vector<SetInput> model_inputs(const Lesson& lesson, Options& options, const std::vector<SetInput>& set);

}  // namespace lessons
