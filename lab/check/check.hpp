#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/output.hpp"
#include "lessons/lesson.hpp"
#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/report.hpp"
#include "trace/stored_trace.hpp"

namespace lab {

enum class CheckFormat { text, json, csv };

/// What is to be checked, and how it is told.
struct CheckDump {
  const lessons::Lesson* lesson;
  lessons::Options options{};           ///< where no file tells them
  std::optional<std::string> dump{};    ///< a file of tensors
  std::optional<std::string> folder{};  ///< of such files
  std::optional<std::string> probe{};   ///< the file that the inputs come from, or a folder of such files
  attn::Hint hint = attn::Hint::all;
  bool reveals = false;
  std::optional<CheckFormat> format{};  ///< where not given it follows the ending of `output`
  std::optional<std::string> output{};
  std::optional<std::string> junit{};        ///< a file for the same as cases of a test
  std::optional<std::string> reports{};      ///< a folder for a report of each file of `folder`
  attn::Renames renames{};                   ///< names of the dump that count as others
  std::set<std::string> conventions{};       ///< ids of --like
  std::optional<attn::FusedLayout> fused{};  ///< of --like
  Paging paging = Paging::automatic;
};

/// Checks and prints, or writes the report to the file. Returns the exit status: 0 where all is right but for
/// rounding and conventions, 1 where something is wrong, 2 where no file of a folder could be checked. Throws
/// attn::Error for a file that cannot be read or has another probe, and inputs that contradict each other.
int run_check(const CheckDump& check);

}  // namespace lab
