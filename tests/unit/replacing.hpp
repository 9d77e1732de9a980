#pragma once

#include <functional>
#include <string>
#include <utility>

#include "trace/trace.hpp"

/// Watches the tap and lets `replace` change the numbers of each step: it is called with the step's full id,
/// its shape and its elements. In a recurrence it is called once for each row, with the rows so far.
inline attn::Watch replacing(
    std::function<void(const std::string& id, const attn::Shape& shape, double* elements)> replace) {
  return [replace = std::move(replace)](const attn::Tapped& tapped) {
    if (tapped.kind == attn::Kind::step && attn::is_floating(tapped.dtype))
      replace(tapped.id, tapped.shape, static_cast<double*>(tapped.elements));
  };
}
