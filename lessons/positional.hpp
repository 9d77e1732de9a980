#pragma once

#include <string>

#include "lessons/workbench/options.hpp"

namespace lessons {

struct Lesson;

/// Refuses an odd d_model for positions that are made of pairs of numbers. Throws attn::Error that says what
/// needs the pairs and what else would be valid, if anything.
void require_pairs(const Options& options, const std::string& needed_by, const std::string& otherwise = "");

/// The lesson of the document positional.md.
const Lesson& positional_lesson();

}  // namespace lessons
