#pragma once

#include <functional>
#include <string>
#include <utility>

#include "trace/trace.hpp"

namespace attn {

/// Changes the numbers of a step: is called with the step's full id, its shape and its elements. In a
/// recurrence it is called once for each row, with the rows so far.
using Replace = std::function<void(const std::string& id, const Shape& shape, double* elements)>;

/// A watch that replaces the numbers of steps and sees nothing else.
inline Watch replacing(Replace replace) {
  return [replace = std::move(replace)](const Tapped& tapped) {
    if (tapped.kind == Kind::step && is_floating(tapped.dtype))
      replace(tapped.id, tapped.shape, static_cast<double*>(tapped.elements));
  };
}

/// The step's formula and shape alone, for what an earlier lesson taught.
inline OnPage in_one_line(std::string id) {
  return {.id = std::move(id), .in_one_line = true};
}

/// The step's formula and one entry worked out, without its numbers.
inline OnPage without_table(std::string id) {
  return {.id = std::move(id), .notice = [](const Event&) { return std::string(); }, .has_table = false};
}

}  // namespace attn
