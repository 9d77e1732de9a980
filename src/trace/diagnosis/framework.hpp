#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace/diagnosis/dump.hpp"

namespace attn {

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

}  // namespace attn
