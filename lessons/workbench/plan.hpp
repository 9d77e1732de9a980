#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"
#include "attn/text/tokens.hpp"
#include "attn/text/word_vectors.hpp"
#include "fast/ranks/network.hpp"
#include "lessons/workbench/options.hpp"
#include "trace/given.hpp"
#include "trace/stored_trace.hpp"

namespace lessons {

struct Lesson;
struct Plan;

/// How the numbers of an input come about where --input does not give them.
enum class Draw {
  embedding,    ///< a vector for each token of the axis before the last
  normal,       ///< normal(0, 1)
  weight,       ///< normal(0, s) with the standard deviation of --weight-scale; the rows are fan_in
  left_weight,  ///< the same for a matrix that multiplies from the left: the columns are fan_in
  zeros,        ///< no draw: a bias before training
  ones,         ///< no draw: a gain before training
  option,       ///< the value of an option
  given,        ///< it is there only where it is given: a bias of a projection
  page          ///< the page says how
};

/// Whether the seed decides the numbers.
inline bool is_drawn(Draw draw) {
  return draw == Draw::embedding || draw == Draw::normal || draw == Draw::weight || draw == Draw::left_weight;
}

/// Whether there are such numbers for each sample of a batch.
inline bool has_batch(Draw draw) {
  return draw == Draw::embedding || draw == Draw::normal;
}

/// An input of a lesson, declared once: its dimensions under --input, its draw, its line in the help and the
/// memory that it takes follow from here.
///
/// An axis has a name, as the trace shows it, and a length. The length is a product, written with "·", of
/// numbers and dimensions; the name says it ("d_model", "head·d_k", "token"), unless another length stands
/// behind "=": "gate=4·hidden", "target=1+target". "gate=" follows from something else, and
/// "position=token…" is as long at least. "[head]" is there with --heads only.
struct Input {
  std::string id;
  std::vector<std::string> axes;
  Draw draw = Draw::normal;
  std::string_view option = "";    ///< its key, where the input is the value of an option
  bool is_multiplied = true;       ///< so that the products of large numbers would overflow
  std::string rows_of = "";        ///< the input whose rows its numbers name
  std::optional<bool> is_there{};  ///< under the options; none where the run decides
};

/// An axis whose options are settled as far as they decide what stands for what: it is as long as
/// `multiplier` · `dimension` + `offset`. The dimension is the key of an option ("d-model") or a text, which
/// stands for its tokens
/// ("sentence", "source", "target", "memory").
struct Extent {
  std::string name;            ///< as the trace shows it: "head·d_k"
  std::string_view dimension;  ///< empty where the length follows from something else
  std::size_t multiplier = 1;
  std::size_t offset = 0;
  bool may_be_longer = false;  ///< where it is given
};

/// The axes, without a batch axis, of an input under these options.
std::vector<Extent> extents_of(const Lesson& lesson, const Input& input, const Options& options);

/// The declaration of the input `id`. None where the lesson has no such input.
std::optional<Input> find_input(const Lesson& lesson, const Options& options, std::string_view id);

/// The tokens that a dimension stands for, or null.
const attn::TokenBatch* text_of(std::string_view dimension, const Plan& plan);

/// The axis of a step as inputs have it: how long it is, and which tokens stand along it, follow from its
/// name.
Extent extent_of(std::string_view axis, const Lesson& lesson, const Options& options);

/// How long the axis is in a planned run, or nothing where its length follows from something else.
std::optional<std::size_t> length_of(const Extent& extent, const Plan& plan);

/// "X [token×d_model], W_Q [d_model×d_k]": the inputs of a lesson, for its help.
std::string describe_inputs(const Lesson& lesson, const Options& options);

/// Throws attn::Error, with the name and the size of the first input that would not fit in memory.
void require_inputs_fit(const Lesson& lesson, const Plan& plan, double bytes);

/// Everything about a run that is decided before its first number: the options with every default filled in,
/// the tokens, the word vectors.
struct Plan {
  const Lesson* lesson = nullptr;
  Options options;
  attn::TokenBatch sentence{};
  attn::TokenBatch source{};
  attn::TokenBatch target{};
  attn::TokenBatch memory{};  ///< the one memory once for each sentence
  std::optional<attn::WordVectors> vectors{};
  attn::GivenTensors given{};          ///< inputs of --input and of --set
  std::vector<std::string> remarks{};  ///< what was taken for what in --input, as sentences
  attn::fast::Network* network =
      nullptr;  ///< between the processes of mpirun; none: all ranks are played here

  /// What each tensor of the run is rounded to.
  attn::Dtype dtype() const;

  /// The tokens that queries and keys belong to. One sentence gives both, or the target gives the queries and
  /// the source the keys.
  const attn::TokenBatch& query_tokens() const { return sentence.size() > 0 ? sentence : target; }
  const attn::TokenBatch& key_tokens() const { return sentence.size() > 0 ? sentence : source; }

  /// Whether there are several samples, so that tensors are shown with a batch axis.
  bool is_batched() const;

  /// ", for each sentence": of what stands there for one sample of several.
  std::string for_each_sample() const;

  /// The ids of inputs that would be drawn where they are there, as neither a model nor a file nor --set
  /// gives them.
  std::set<std::string> inputs_to_draw() const;

  /// The trace's header.
  attn::Header header() const;
};

/// Throws attn::Error for options that contradict each other or their own range, for sentences, word vectors
/// and inputs that cannot be read, and for a run whose tensors would not fit in memory.
Plan make_plan(const Lesson& lesson, const Options& options);

/// The same with tensors in the place of those of --input. `file` may be null.
Plan make_plan(const Lesson& lesson, const Options& options, const attn::StoredTrace* file);

/// The numbers of a token's vector where nobody says how many.
inline constexpr std::size_t default_d_model = 8;

/// The lesson's defaults with the sizes that follow from the d_model and heads of these options.
Options usual_beside(const Lesson& lesson, const Options& options);

}  // namespace lessons
