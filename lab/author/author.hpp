#pragma once

#include <string>

#include "lab/pager.hpp"

/// For those who write lessons.
namespace lab {

/// `lesson new NAME`: writes NAME.md.
struct NewLesson {
  std::string file;
  std::string from{};  ///< the lesson of the lab that it is a copy of; empty: the smallest lesson
};

/// `lesson check FILE`.
struct CheckLesson {
  std::string file;
  Paging paging = Paging::automatic;
};

/// Writes a document that runs, for its author to change. Throws attn::Error where the file is there already.
void write_new_lesson(const NewLesson& lesson);

/// Prints what is wrong with a document, with lines and columns: names that nothing has, whatever its
/// conditions leave out; what its runs refuse, claims that do not hold, and a page that is too long. Its runs
/// are those of its defaults, of its examples and of its probe. Returns whether nothing is.
bool check_lesson(const CheckLesson& lesson);

}  // namespace lab
