#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lessons/lesson.hpp"
#include "trace/diagnosis/dump.hpp"

namespace lessons {

/// The inputs and steps of a lesson, in order.
std::vector<attn::ExpectedTensor> expected_tensors(const Plan& plan);

/// Throws attn::Error for a wanted id whose last part is that of no input and no step of the lesson, whatever
/// numbers are in it, before anything of the size of the given inputs is computed.
void require_possible_ids(const Lesson& lesson, const Options& options,
                          const std::vector<std::string>& wanted);

/// What typed options say of fused weights.
attn::Fusion fusion_of(const Options& options, std::optional<attn::FusedLayout> layout = {});

/// "; it has a (3×7), b (3×7×7)": the tensors of a file under the names that stand for nothing here.
std::string tensors_in(const attn::StoredTrace& file, const std::vector<std::string>& names);

/// The inputs of a lesson that somebody's file has.
struct OwnInputs {
  attn::Tensors tensors{};                 ///< as the lesson has them
  attn::Tensors others{};                  ///< steps, and what stands for nothing here but is of no module
  std::vector<std::string> names{};        ///< what was assumed of their names, as sentences
  std::vector<std::string> assumptions{};  ///< on how they go together, as sentences
  std::vector<std::string> other_names{};  ///< of the file, which stand for nothing here and are left aside
  /// Names of the file that could each be an input, of which none is taken, by the input's id.
  std::map<std::string, std::vector<std::string>> contested{};
};

/// Finds the inputs under their common names. What a mask, lengths and the options hide is hidden together.
/// Throws attn::Error for inputs that contradict each other, and for a mask that is none of the run.
OwnInputs own_inputs(const Lesson& lesson, const Options& options, const attn::StoredTrace& file,
                     std::optional<attn::FusedLayout> layout = {});

/// "FILE" of "FILE:layers.0", where there is that file and none of the whole name.
std::string file_of_input(const std::string& path);

/// Opens a file of --input, a folder of CSV files, or "FILE:layers.0": of the tensors whose names begin with
/// "layers." only those of "layers.0.". Throws attn::Error where there is none of these.
std::unique_ptr<attn::StoredTrace> open_input(const std::string& path);

/// The tensors of the files of --input as one file has them.
struct GivenFile {
  std::unique_ptr<attn::StoredTrace> tensors;
  std::vector<std::string> remarks{};  ///< what was taken for what, as sentences
};

/// Opens the files of --input, of which there is one or more. Under the lesson's names tensors stay what they
/// are; where a file has others `own_inputs` finds them. What stands for nothing is kept, so that the run
/// refuses it, but for that of a module in a state dict, whose name has a dot: it is left aside with a
/// remark. Throws attn::Error where a file has no input, where several of its tensors could each be one, as
/// in the state dict of several layers, and for a tensor that two files have.
GivenFile open_inputs(const Lesson& lesson, const Options& options);

/// Ids of those inputs that the lesson had to draw, or to take for 0 or 1, because nobody gave them.
std::vector<std::string> absent_inputs(const Plan& plan);

}  // namespace lessons
