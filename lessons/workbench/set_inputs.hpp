#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/workbench/options.hpp"
#include "trace/any_tensor.hpp"
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

}  // namespace lessons
