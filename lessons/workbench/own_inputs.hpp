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
};

/// Finds the inputs under their common names. What a mask, lengths and the options hide is hidden together;
/// the mask of a trace of ours has that in it. Throws attn::Error for inputs that contradict each other.
OwnInputs own_inputs(const Lesson& lesson, const Options& options, const attn::StoredTrace& file,
                     attn::MaskTrue mask_true, std::optional<attn::FusedLayout> layout = {});

/// The tensors of the files of --input as one file has them.
struct GivenFile {
  std::unique_ptr<attn::StoredTrace> tensors;
  std::vector<std::string> remarks{};  ///< what was taken for what, as sentences
};

/// Opens the files of --input, of which there is one or more. Under the lesson's names tensors stay what they
/// are; where a file has others `own_inputs` finds them. What stands for nothing is kept, so that the run
/// refuses it, but for that of a module in a state dict, whose name has a dot: it is left aside with a
/// remark. Throws attn::Error where nothing is an input, and for a tensor that two files have.
GivenFile open_inputs(const Lesson& lesson, const Options& options);

/// Ids of those inputs that the lesson had to draw, or to take for 0 or 1, because nobody gave them.
std::vector<std::string> absent_inputs(const Plan& plan);

}  // namespace lessons
