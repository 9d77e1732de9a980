#pragma once

#include <optional>
#include <string>
#include <vector>

#include "document/document.hpp"

namespace lessons {

/// `{use parts/hop.md, under hop={hop}/, for hop from 0 to ranks - 1}`: a part that is there once for each
/// value of a counter.
struct Repetition {
  std::string counter;
  formula::Expr from, to;
};

/// What `{use …}` says of it; none of a part that is there once. Throws document::Error.
std::optional<Repetition> repetition_of(const document::Block& use);

/// Whether an argument of `{use …}` is the one that says it.
bool is_repetition(const std::string& argument);

/// The values of the counter between two numbers. Throws document::Error where they are no whole numbers, or
/// too many.
std::vector<double> values_of_counter(const Repetition& repetition, double from, double to,
                                      const document::Place& place);

}  // namespace lessons
