#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/random/random.hpp"
#include "attn/tensor.hpp"
#include "fast/visibility.hpp"
#include "lessons/workbench/options.hpp"
#include "lessons/workbench/plan.hpp"
#include "trace/trace.hpp"

namespace lessons {

using attn::Array;
using attn::Integers;
using attn::Mask;
using attn::Tensor;

struct Lesson;
struct Plan;

/// Which parts of a tensor have names of their own under --draws name, so that a word more leaves the others
/// as they are.
struct Slices {
  bool batched = false;               ///< whether the first axis is the samples
  std::optional<std::size_t> axis{};  ///< of words or positions
  std::vector<std::string> entries{};  ///< the words along it; none for positions, which are called 0, 1, 2 …
};

/// Whether each name has a stream of its own (--draws name), so that no draw depends on another.
bool draws_by_name(const Options& options);

/// The random numbers of a run: one stream for all of them (--draws stream), or one for each name (--draws
/// name).
class Draws {
 public:
  explicit Draws(const Options& options);

  /// The stream that what is called `name` is drawn from: that of the run, or its own, at its beginning. It
  /// is there until the next call.
  attn::Random& stream(std::string_view name);

  /// A tensor of that name and shape, normal(0, s). Its slices are drawn one by one under --draws name, each
  /// in C order: "Q 3", "output/W chat", "W_Q", and with " sample b" behind it from the second sample on.
  attn::AnyRank<double> normal(const std::string& name, double s, const attn::Shape& shape,
                               const Slices& slices = {});

  /// The weights of torch.nn.Linear, uniform on ±1/√fan_in, as they stand there: [fan_out×fan_in].
  attn::Tensor<2> linear(std::size_t fan_out, std::size_t fan_in);

  /// torch.rand(shape).
  attn::AnyRank<double> uniform(const attn::Shape& shape);

 private:
  std::unique_ptr<attn::Random> new_stream(std::optional<std::string_view> name) const;

  const Options& options_;
  std::unique_ptr<attn::Random> stream_;
};

/// The standard deviation of a drawn weight [fan_in×fan_out]: 1/√fan_in where nothing is chosen,
/// √(2/(fan_in+fan_out)) for "xavier" (Glorot & Bengio 2010), √(2/fan_in) for "he" (He et al. 2015), that of
/// the uniform numbers on ±1/√fan_in for "linear" and on [0, 1) for "uniform", or the number that `choice`
/// is. Throws attn::Error for anything else.
double standard_deviation(const std::optional<std::string>& choice, std::size_t fan_in, std::size_t fan_out);

/// How many times as large as x the numbers of x W are at most, about: for numbers drawn with mean 0 twice
/// the standard deviation times √fan_in; those of "uniform" have the mean 1/2 and add up.
double growth(const std::optional<std::string>& choice, std::size_t fan_in, std::size_t fan_out);

/// Throws attn::Error for a --weight-scale that is none, or that needs --rng torch.
void check_weight_scale(const Options& options);

/// A command and what to look for: {"sdpa --causal", "which weights become 0?"}.
using Proposal = std::pair<std::string, std::string>;

/// The words, and after them the numbers of all further entries of a vocabulary of `count` words: "#5".
std::vector<std::string> numbered_up_to(std::size_t count, std::vector<std::string> words);

/// Where a lesson works: the plan, the random numbers and the trace. Whatever a lesson starts from is drawn
/// here, in the order in which the lesson asks, in float64, and rounded where it is tapped.
class Workbench {
  Draws draws_;
  std::unique_ptr<attn::Trace> mute_trace_;
  Options mute_options_;

 public:
  Workbench(const Plan& plan, attn::Trace& trace);

  Workbench(Workbench&&) = delete;

  /// A workbench for computing something again to make a claim: its trace is mute, and nothing is dropped
  /// out.
  Workbench mute() const;

  /// Whether nobody hears of notes and claims, so that none need be made: of such a one, and of a run that is
  /// only watched.
  bool is_mute() const { return !trace.is_heard(); }

  const Plan& plan;
  const Options& options;
  attn::Trace& trace;

  /// The stream that what is called `id` in this group is drawn from: see Draws.
  attn::Random& random(const std::string& id) { return draws_.stream(trace.full_id(id)); }

  /// What is called `id` in this group, normal(0, 1).
  attn::AnyRank<double> normal(const std::string& id, const attn::Shape& shape, const Slices& slices = {}) {
    return draws_.normal(trace.full_id(id), 1.0, shape, slices);
  }

  /// The dimensions of the plan, for a lesson that uses them.
  std::size_t d_model() const { return options.d_model.value(); }
  std::size_t d_k() const { return options.d_k.value(); }
  std::size_t d_v() const { return options.d_v.value(); }
  std::size_t heads() const { return options.heads.value_or(1); }
  std::size_t kv_heads() const { return options.kv_heads.value_or(heads()); }

  /// The note `next`: commands that change one thing, each with what to look for. For one that was just run
  /// stands one of `spare`.
  void try_next(const std::vector<Proposal>& commands, const std::vector<Proposal>& spare = {}) const;

  /// Names the entries of these axes after the tokens.
  void label(const std::vector<std::string>& axes, const attn::TokenBatch& tokens);

  /// The vector of each token [batch×token×d_model], where an input of `--input` was given for it the one
  /// that it has there, where it first stands. `<s>` is a row of zeros where given vectors have none for it,
  /// and padding is one.
  Tensor<3> known_vectors_of(const attn::TokenBatch& tokens);

  /// Draws a vector for each distinct token that has none yet, in order of first appearance; under --draws
  /// name, where no order counts, each is drawn when it is asked for. For a lesson with tokens beyond those
  /// of the plan, which are otherwise drawn together by the first input that has vectors.
  void draw_vectors(const attn::TokenBatch& tokens);

  /// The input `about.id` as the lesson declares it: its axes, its shape and its numbers follow from there. A
  /// batch axis comes first where the rank has room for it.
  attn::AnyRank<double> input(attn::About about, std::size_t rank);

  /// The same of a shape that the page knows, for axes whose length follows from something else.
  attn::AnyRank<double> input(attn::About about, const attn::Shape& shape);

  /// Whether the lesson declares an input `id` in this group and --input or --set gives it.
  bool has_given(const std::string& id) const;

  /// How long the axis `axis` of the input `id` of this group is. A given table of positions or words may be
  /// longer than `needed`. Throws attn::Error where it is shorter.
  std::size_t length_of_given(const std::string& id, std::string_view axis, std::size_t needed) const;

  /// How many words a vocabulary has: those that the run knows, or more where the tensors `ids` are given.
  /// `by_number` says that the run's words are among them by given indices. Throws attn::Error where they are
  /// too few.
  std::size_t vocabulary_size(const std::vector<std::string>& ids, std::size_t known, bool by_number) const;

  /// An index that the input `id` has. Throws attn::Error where it is none of `count`.
  std::size_t checked_index(const std::string& id, std::int64_t index, std::size_t count) const;

  /// Whether the mask is a given one that hides more than the options and the padding do.
  bool mask_is_given = false;

  /// The rule behind the mask for the queries and keys of the plan, as the fast kernels take it. None where
  /// --input has a mask that hides more.
  std::optional<attn::fast::Visibility> visibility() const;

 private:
  Workbench(const Plan& plan, std::unique_ptr<attn::Trace> mute_trace);

  const Input& declaration(const std::string& id);

  /// The input `about.id` [batch×token×d_model]: the vector of each token, given or drawn normal(0, 1) once
  /// for each distinct token (under --draws stream memory before sentence, source before target); padding is
  /// a row of zeros.
  Tensor<3> embed(const attn::About& about, const attn::TokenBatch& tokens);

  /// Whether the input `id` of this group is given and its numbers are nobody else's, so that none need be
  /// drawn: under --draws stream a given input uses up its draws all the same.
  bool is_given_without_draws(const std::string& id) const;
  attn::AnyRank<double> draw(const Input& input, const attn::Shape& shape);
  attn::AnyRank<double> draw_weight(const Input& input, const attn::Shape& shape);
  Slices slices_of(const Input& input, std::size_t rank) const;
  std::vector<double> vector_of(const std::string& token);
  const std::vector<double>& draw_vector(const std::string& token);

  std::map<std::string, std::vector<double>> drawn_;
  std::map<std::string, std::vector<double>> given_;
  std::vector<Input> inputs_;  ///< of the lesson, once one was asked for
};

}  // namespace lessons
