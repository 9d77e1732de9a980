#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "attn/error.hpp"
#include "lab/worksheet/worksheet.hpp"
#include "page/worksheet/answers.hpp"
#include "trace/diagnosis/diagnosis.hpp"

namespace lab {

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
