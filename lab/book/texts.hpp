#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lab {

/// A question about a lesson, with its answer and the command that shows it, which may be missing.
struct Exercise {
  std::string lesson, question, answer, command;
};

/// A term, what it means, and the lessons that teach it.
struct Term {
  std::string name, meaning;
  std::vector<std::string> lessons;
};

/// Of a text in which "[sdpa]" begins a lesson, "?" a question, "!" its answer, "$" a command, and every
/// other line goes on with the one before.
std::vector<Exercise> exercises_of(std::string_view text);

/// Of a text with a paragraph for each term: "query: what it means -> sdpa, lookup".
std::vector<Term> terms_of(std::string_view text);

}  // namespace lab
