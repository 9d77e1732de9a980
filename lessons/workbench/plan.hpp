#pragma once

#include <optional>

#include "attn/text/tokens.hpp"
#include "attn/text/word_vectors.hpp"
#include "fast/ranks/network.hpp"
#include "lessons/workbench/options.hpp"
#include "trace/given.hpp"
#include "trace/stored_trace.hpp"

namespace lessons {

struct Lesson;

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

  /// Whether the seed decides an input: one that neither a model nor a file nor --set gives.
  bool draws_inputs() const;

  /// The ids of inputs that would be drawn where they are there, as nothing gives them.
  std::set<std::string> inputs_to_draw() const;

  /// What the seed draws where a model gives the inputs: "the dropout", "d_output", or nothing.
  std::string drawn_beside_model() const;

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
