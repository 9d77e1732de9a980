#pragma once

#include <string>
#include <vector>

#include "trace/diff/tolerance.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// Words of an event that two traces have differently: a title, a formula, the limit of a claim.
struct WordsDiff {
  std::string id;      ///< of the event; empty where it is the lesson's
  std::string member;  ///< "title", "note", …; empty where a whole event is in one trace only
  std::string a{};
  std::string b{};
  bool is_within_tolerance = false;  ///< what a claim measured, the same but for rounding
};

/// Compares the words of two traces, where both have some: event by event under their ids. An input or a step
/// that is in one trace only is left to whoever compares tensors.
std::vector<WordsDiff> compare_words(const StoredTrace& a, const StoredTrace& b, const Tolerance& tolerance);

}  // namespace attn
