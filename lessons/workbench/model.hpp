#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"
#include "attn/text/tokens.hpp"
#include "lessons/workbench/options.hpp"
#include "trace/given.hpp"
#include "trace/model.hpp"
#include "trace/stored_trace.hpp"

namespace lessons {

struct Lesson;

/// An input that --set gives.
struct SetInput {
  std::string id;
  std::optional<attn::AnyTensor> tensor;  ///< none of the identity
};

/// What the texts of --set say: "X=[[1,0],[0,1]]", "W_Q=identity", "X=@rows.csv". Those that came along with
/// the file of --input leave an input to that file where it has one; `file` is null where there is none.
/// Throws attn::Error for a text that says no tensor, and for an input that is given twice.
std::vector<SetInput> read_set_inputs(const Lesson& lesson, const Options& options,
                                      const attn::StoredTrace* file);

/// The tensors of --input and those of --set, as if one file had them.
class GivenInputs : public attn::StoredTrace {
 public:
  /// `file` is null where there is none, else it is there as long as this is.
  explicit GivenInputs(const attn::StoredTrace* file, std::vector<SetInput> set = {});

  /// "--input" or "--set": what gives the input, as messages name it.
  std::string_view option_of(std::string_view id) const;

  /// All of them. The steps of a trace are left out: the lesson computes them.
  attn::GivenTensors read_inputs() const;

 private:
  std::size_t count_of_set_;  ///< they are the first of the tensors
  std::vector<std::string> identities_;
};

/// A trace of the same lesson brings its own options along, except those that were typed; one whose config
/// has no `draws` was drawn before there was a choice: from one stream. Throws attn::Error for a value that
/// an option cannot have.
void follow_config(const Lesson& lesson, const attn::StoredTrace& file, Options& options);

/// Fills in what follows from given tensors: the shapes of the inputs decide the dimensions, the number of
/// samples and of tokens. Tokens are called 1, 2, 3 … where neither a typed sentence, nor the trace's, nor
/// the lesson's own has as many. Looks at shapes, and at the elements of inputs that are options or lengths
/// only.
///
/// Throws attn::Error for shapes that contradict each other or a typed option (both named).
void follow_inputs(const Lesson& lesson, const GivenInputs& given, Options& options);

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
  const std::vector<std::string>& vocabulary(std::string_view name) const;

  /// For what the shapes do not tell, as the number of heads.
  Options& options() { return options_; }

  /// A number of the configuration. Throws attn::Error where it has none of that name.
  std::size_t number(const std::string& name) const { return model_.number(name); }

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
