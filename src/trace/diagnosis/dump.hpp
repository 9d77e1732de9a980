#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace/diagnosis/layout.hpp"
#include "trace/diagnosis/replay.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// A tensor of somebody's file.
struct NamedTensor {
  std::string name;  ///< in the file
  AnyTensor tensor;
  std::vector<std::string> axes{};  ///< their names, where the file has them
  std::vector<std::string> ids{};   ///< of the lesson: what it may be
  std::string assumption{};         ///< as a sentence, to be said when it is taken
};

/// Beside a slack, and relative to 1 and the number: of the computation that it is compared with.
inline constexpr double rounding_by_hand = 1e-9;

/// How the outputs of a fused weight of queries, keys and values follow each other.
enum class FusedLayout {
  parts,    ///< all queries, then all keys, then all values
  per_head  ///< the query, key and value of a head, then those of the next, as GPT-NeoX and BLOOM have them
};

/// How a framework does what others do in another way that is as right.
struct Framework {
  std::string_view name;
  MaskTrue mask_true;                 ///< what true means in its masks
  std::set<std::string> conventions;  ///< ids of the catalogue that hold for it, where the lesson lists them:
                                      ///< of the corner, empty rows, RoPE's pairs, sinusoids and gates
  FusedLayout fused = FusedLayout::parts;
};

/// torch, keras, onnx, hf-llama, gptj, numpy.
const std::vector<Framework>& frameworks();

/// Null where there is none of that name.
const Framework* find_framework(std::string_view name);

/// What somebody says of fused weights beside the file.
struct Fusion {
  std::optional<std::size_t> heads{}, kv_heads{};
  std::optional<FusedLayout> layout{};  ///< none: as its name says
};

/// Somebody's tensors under the lesson's ids. Numbers are as the file has them; they may be infinite or NaN.
struct Dump {
  std::map<std::string, AnyTensor> tensors{};  ///< in the lesson's shape; those of another shape as they are
  std::vector<std::string> assumptions{};      ///< as sentences: "attn is taken for weights."
  std::vector<std::string> unknown{};          ///< names of the file that stand for nothing in the lesson
  Dtype arithmetic = Dtype::float64;           ///< the floating-point type that the numbers were rounded to
  std::optional<int> decimals{};               ///< to which the numbers were rounded, as printed ones are
  std::vector<std::size_t> lengths{};          ///< of the queries of each sample; none where all are real
  Slacks slacks{};                             ///< of tensors that were written by hand
  std::vector<std::string> absent{};           ///< ids of inputs that nobody gave and the lesson drew
  bool has_module_of_torch = false;            ///< whether weights of an nn.MultiheadAttention are beside it
  bool has_drawn_absent = false;               ///< whether somebody says that theirs were drawn so, too
  std::vector<std::string> rounded_inputs{};   ///< ids of inputs that were rounded to the decimals, too
  std::vector<std::string> settled{};          ///< ids of conventions that the inputs leave no choice of
  std::map<std::string, std::vector<std::string>> contested{};  ///< names of which none is taken, by their id

  std::map<std::string, std::string> forms{};  ///< of tensors that were re-expressed: how they were saved

  std::map<std::string, NamedTensor> as_named{};  ///< each before it was fitted, with its name in the file
  std::vector<NamedTensor> undecided{};           ///< what shapes have to decide, or the numbers of steps

  /// Adds a sentence that is not there yet.
  void assume(std::string sentence);

  /// Adds a name to the unknown ones, and why it is, where there is something to say.
  void leave_out(const std::string& name, std::string sentence = {});
};

/// Whether the file is of an nn.MultiheadAttention, which is known by its fused weight.
bool has_module_of_torch(const StoredTrace& file);

/// The file's tensors under the ids of a lesson, which are those of `known_ids`. A tensor that has the
/// lesson's id is that, others are found by their common names (names.hpp). Fused weights are split, and
/// those of nn.Linear and nn.MultiheadAttention transposed: lessons multiply from the right. Where a name
/// could be several ids the tensor is undecided, and where two names are the same id both are unknown, unless
/// they hold the same numbers. Heads of `fusion` count where the file's config has none. Throws
/// Error, as `StoredTrace::read` does.
Dump named(const StoredTrace& file, const std::vector<std::string>& known_ids, const Fusion& fusion = {});

/// Brings each tensor to the expected shape where there is one way to do so (layout.hpp), and
/// finds for undecided ones the only id whose shape they have; what could be several steps remains undecided.
/// Nothing is broadcast but masks. Several masks of one id hide what any of them hides. `arithmetic` and
/// `decimals` become those of the steps.
void fit(Dump& dump, const std::vector<ExpectedTensor>& expected, MaskTrue mask_true);

/// Takes undecided tensors for the step that they are right as, else, `by_mistakes`, for one in which a
/// mistake gives them, else for the first that they could be.
void settle_names(Dump& dump, const std::vector<ExpectedTensor>& expected, const Rerun& rerun,
                  const std::set<std::string>& conventions = {}, bool by_mistakes = true);

/// Takes a dump for one of half precision where one of its steps is the right one rounded to that, however
/// few numbers it has.
void settle_arithmetic(Dump& dump, const Rerun& rerun, const std::set<std::string>& conventions);

/// How far each number may be from what is expected under the hypothesis because the dump's were rounded to
/// decimals: by half a unit of the last one, and by what moves it when all before it, of steps and of rounded
/// inputs, move at random by up to half such a unit. `still` is what is expected.
Tolerances tolerance_of_decimals(const Dump& dump, const Rerun& rerun, const Hypothesis& hypothesis,
                                 const Predictions& still);

/// Brings tensors that express the right ones otherwise to the form that the lesson has, where this leaves
/// fewer steps of the dump that differ: axes in another order that shapes do not tell, samples and heads as
/// one axis, the columns of queries and keys permuted alike, queries and keys multiplied by factors that
/// cancel, and scores in base 2, which are log₂ e times as large. Notes in the dump what was done.
void settle_forms(Dump& dump, const std::vector<ExpectedTensor>& expected, const Rerun& rerun,
                  const std::set<std::string>& conventions = {});

}  // namespace attn
