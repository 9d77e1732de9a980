#pragma once

#include <string>
#include <utility>
#include <vector>

namespace attn {

/// What a picture of a lesson shows where nobody asks for other tensors.
struct Picture {
  std::string title{};
  std::vector<std::pair<std::string, std::string>>
      figures{};  ///< ids, "*" for anything, and captions, if any
};

}  // namespace attn
