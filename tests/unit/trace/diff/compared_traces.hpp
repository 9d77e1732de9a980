#pragma once

#include <string>

#include "trace/diff/diff.hpp"

/// What a person reads about two traces.
inline std::string report(const attn::StoredTrace& a, const attn::StoredTrace& b,
                          const attn::DiffSettings& settings = {}, bool all = false) {
  return format_diff(compare_traces(a, b, settings), {}, all);
}

inline attn::Verdict verdict(const attn::StoredTrace& a, const attn::StoredTrace& b,
                             const attn::DiffSettings& settings = {}) {
  return compare_traces(a, b, settings).verdict();
}
