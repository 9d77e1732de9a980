#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "attn/error.hpp"
#include "lab/output.hpp"
#include "lessons/workbench/exercises.hpp"
#include "page/worksheet/sheet.hpp"
#include "trace/diagnosis/diagnosis.hpp"

namespace lab {

enum class SheetFormat { text, html, json };

/// A lesson on paper.
struct MakeWorksheet {
  std::shared_ptr<const lessons::Lesson> lesson;  ///< whose defaults are those of the worksheet
  lessons::Options options{};
  lessons::Normaliser normaliser = lessons::Normaliser::softmax;
  std::optional<SheetFormat> format{};  ///< where not given it follows the ending of each file
  std::optional<std::string> output{};  ///< the file of the sheet
  attn::SheetPages pages = attn::SheetPages::sheet;
  std::optional<std::string> answers{};  ///< the file of the answers
  std::optional<std::uint32_t>
      last_seed{};  ///< of several sheets, one for each seed from that of `options` on
  Paging paging = Paging::automatic;
};

/// Prints it, or writes it to the file, and the answers to theirs; of several seeds each to files with the
/// seed in their names. Throws attn::Error for bad input.
void run_worksheet(const MakeWorksheet& worksheet);

/// The command that a worksheet says it was printed by: "attnlab worksheet sdpa --seed 7". Throws attn::Error
/// for another command, and for one that names a file, which a sheet cannot carry.
MakeWorksheet worksheet_of_command(const std::string& command);

/// A filled-in worksheet and what is said of it.
struct JudgedSheet {
  lessons::Plan plan;
  attn::Dump dump;
  attn::Diagnosis diagnosis;
};

/// A worksheet on which nothing is filled in.
class BlankSheet : public attn::Error {
 public:
  BlankSheet(const std::string& message, std::size_t of_blanks, std::size_t of_steps)
      : Error(message), blanks(of_blanks), steps(of_steps) {}

  std::size_t blanks, steps;  ///< how many numbers are asked for, in how many steps
};

/// Judges each step from the student's own numbers before it, as far as their digits go. `path` names the
/// file in messages, `conventions` are those of --like. What is no number counts as blank. Throws BlankSheet
/// for a sheet that is not filled in at all, and attn::Error for one that another command printed than it
/// says.
JudgedSheet judge(const attn::Answers& answers, const MakeWorksheet& worksheet, const std::string& path,
                  const std::set<std::string>& conventions);

}  // namespace lab
