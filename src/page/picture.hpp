#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// What a picture of a lesson shows where nobody asks for other tensors.
struct Picture {
  struct Part {
    std::string id{};                    ///< "*" stands for anything
    std::string caption{};               ///< empty where the id will do
    std::string kind{};                  ///< "bars"; empty where it follows from the tensor
    std::optional<std::size_t> index{};  ///< of the one head that is shown
    bool begins_column = false;          ///< beside what comes before
  };
  std::string title{};
  std::vector<Part> parts{};
};

}  // namespace attn
