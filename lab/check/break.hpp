#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/output.hpp"
#include "lessons/lesson.hpp"

namespace lab {

/// A lesson with a mistake in it, beside the right one.
struct BreakLesson {
  std::shared_ptr<const lessons::Lesson> lesson;  ///< whose defaults are those of the probe
  lessons::Options options{};
  std::string mistake{};
  std::optional<std::string> output{};  ///< a file for the tensors with the mistake
  Paging paging = Paging::automatic;
};

/// The mistakes of one lesson, or of all.
struct ListMistakes {
  const lessons::Lesson* lesson = nullptr;  ///< of all where null
  Paging paging = Paging::automatic;
};

/// Shows what the mistake changes and what it does not, and writes the file. Throws attn::Error for a mistake
/// that the lesson cannot make on these options, and for bad input.
void run_break(const BreakLesson& broken);

/// Ids of the mistakes that the lesson can make on the inputs of its probe.
std::vector<std::string> mistakes_of_probe(const lessons::Lesson& lesson);

void list_mistakes(const ListMistakes& list);

}  // namespace lab
