#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trace/event.hpp"

namespace attn {

/// An option that two traces have different values of. What is unset and what is not there are the same.
struct OptionDiff {
  std::string name;
  ConfigValue a{};
  ConfigValue b{};

  /// Whether it is a difference in itself. Options that say where tensors come from, of which type they are
  /// or how they are shown are not, since the tensors are compared.
  bool is_decisive() const;
};

/// As JSON: "42", "null", "\"xavier\"", "[\"The cat\"]".
std::string to_string(const ConfigValue& value);

using Config = std::vector<std::pair<std::string, ConfigValue>>;

/// In the order of A, then those that are in B alone. A number is the same whether it is written 1 or 1.0.
std::vector<OptionDiff> compare_options(const Config& a, const Config& b);

}  // namespace attn
