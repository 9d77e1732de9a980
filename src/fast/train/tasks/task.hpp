#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/lists.hpp"
#include "fast/train/models.hpp"
#include "fast/train/trainer.hpp"

namespace attn::train {

/// The stream of the seed that examples are drawn from.
inline constexpr std::uint32_t drawing_examples = 3;

/// What tells how good a model is, between 0 and 1.
struct Score {
  std::string name;  ///< "exact translations"
  double value;
  std::size_t examples;  ///< that it is a share of: translations, words

  Score(std::string its_name, const Share& share)
      : name(std::move(its_name)), value(share.value()), examples(share.all) {}
  Score(std::string its_name, double its_value, std::size_t of)
      : name(std::move(its_name)), value(its_value), examples(of) {}
};

/// The same of the examples of some lengths.
struct ScoreOfLengths {
  std::size_t fewest, most;  ///< words of the source
  std::size_t examples;
  double value;
};

using Vocabularies = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Something to learn: the examples, drawn by the seed, the model, and what is measured in the end.
class Task {
 public:
  struct Parts {
    WeightTable table;
    Examples training;
    Examples validation;  ///< neither trained on nor scored: their loss tells which weights are best so far
    Vocabularies vocabularies;  ///< of the rows of tables and the columns of the output: "words", "classes"
    std::map<std::string, std::string>
        configuration;  ///< what, beside the weights, the model is: "heads" "2"
  };
  const Parts parts;

  virtual ~Task() = default;

  virtual std::vector<Score> scores(const Weights<float>& weights) const = 0;

  /// How the first of the scores depends on the length of an example, from the shortest to the longest. Empty
  /// where a task has no lengths.
  virtual std::vector<ScoreOfLengths> by_length(const Weights<float>&) const { return {}; }

  /// A few held-out examples and what the model makes of them, in lines to read.
  virtual std::vector<std::string> samples(const Weights<float>& weights) const = 0;

  /// The gold links and the model's of the held-out examples, one line an example in the format of Pharaoh:
  /// "0-0 1-2". Empty where the task has none.
  virtual std::vector<std::string> alignments(const Weights<float>&) const { return {}; }

 protected:
  explicit Task(Parts its_parts) : parts(std::move(its_parts)) {}
};

/// What a reader may choose. Unset: the task's default.
struct TaskOptions {
  std::uint32_t seed = 42;
  std::string corpora;  ///< the folder that holds the lab's grammar and the words of sentiment
  std::string lexicon;  ///< the file of English words
  std::optional<std::string> grammar{};
  std::optional<std::string> attention{};
  std::optional<std::string> positions{};
  std::map<std::string, std::size_t> sizes{};  ///< d-model, heads, d-k, d-v, d-ff, layers, hidden, d-a

  /// The grammar that is asked for, else the lab's own.
  std::string grammar_file() const { return grammar.value_or(corpora + "/english-french.grammar"); }

  void set(const char* flag, std::size_t& size) const {
    if (const auto* given = value_in(sizes, flag)) size = *given;
  }
};

/// The sizes with the options that are about a transformer. Throws attn::Error for those that it does not
/// allow.
TransformerSizes chosen(TransformerSizes sizes, const TaskOptions& options,
                        const std::vector<Positions>& valid_positions);

/// A task by name, and how it is trained best.
struct TaskEntry {
  std::string name;
  std::string summary;  ///< one line for the list
  Settings settings;
  std::unique_ptr<Task> (*make)(const TaskOptions& options);
  std::optional<Settings> of_transformer{};  ///< where `--attention transformer` takes the place of LSTMs
};

/// All tasks, in the order in which they are listed.
const std::vector<TaskEntry>& tasks();

std::unique_ptr<Task> make_translation(const TaskOptions& options);
std::unique_ptr<Task> make_about(const TaskOptions& options);
std::unique_ptr<Task> make_language(const TaskOptions& options);
std::unique_ptr<Task> make_sentiment(const TaskOptions& options);
std::unique_ptr<Task> make_dates(const TaskOptions& options);
std::unique_ptr<Task> make_induction(const TaskOptions& options);
std::unique_ptr<Task> make_reverse(const TaskOptions& options);

}  // namespace attn::train
