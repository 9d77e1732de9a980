#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/output.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/probe.hpp"
#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/dump.hpp"
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

/// Inputs for somebody else's implementation of a lesson.
struct MakeProbe {
  std::shared_ptr<const lessons::Lesson> lesson;  ///< whose defaults are those of the probe
  lessons::Options options{};
  std::optional<std::string> output{};
  std::optional<std::uint32_t>
      last_seed{};                     ///< of several probes, one for each seed from that of `options` on
  std::optional<std::string> names{};  ///< a file with a line for each probe, whose name that is
  bool is_audit = false;               ///< asks which mistakes the dimensions hide
  Paging paging = Paging::automatic;
};

/// Writes the inputs to the file and prints the task sheet, or tells what the dimensions hide. Of several
/// seeds each has a file with the seed in its name, of several names one of that name, and its task sheet
/// beside it, .txt. Throws attn::Error for bad input.
void run_probe(const MakeProbe& probe);

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
