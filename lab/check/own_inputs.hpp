#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/lesson.hpp"
#include "trace/diagnosis/dump.hpp"

namespace lab {

/// The inputs and steps of a lesson, in order.
std::vector<attn::ExpectedTensor> expected_tensors(const lessons::Plan& plan);

/// What typed options say of fused weights.
attn::Fusion fusion_of(const lessons::Options& options, std::optional<attn::FusedLayout> layout = {});

/// "; it has a (3×7), b (3×7×7)": the tensors of a file under the names that stand for nothing here.
std::string tensors_in(const attn::StoredTrace& file, const std::vector<std::string>& names);

/// The inputs of a lesson that somebody's file has.
struct OwnInputs {
  attn::Tensors tensors{};                 ///< as the lesson has them
  std::vector<std::string> names{};        ///< what was assumed of their names, as sentences
  std::vector<std::string> assumptions{};  ///< on how they go together, as sentences
  std::vector<std::string> other_names{};  ///< of the file, which stand for nothing here
};

/// Finds the inputs under their common names. What a mask, lengths and the options hide is hidden together;
/// the mask of a trace of ours has that in it. Throws attn::Error for inputs that contradict each other.
OwnInputs own_inputs(const lessons::Lesson& lesson, const lessons::Options& options,
                     const attn::StoredTrace& file, attn::MaskTrue mask_true,
                     std::optional<attn::FusedLayout> layout = {});

/// Ids of those inputs that the lesson had to draw, or to take for 0 or 1, because nobody gave them.
std::vector<std::string> absent_inputs(const lessons::Plan& plan);

}  // namespace lab
