#pragma once

#include <set>
#include <string>

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

/// Judges each step from the student's own numbers before it, as far as their digits go. `path` names the
/// file in messages, `conventions` are those of --like. Throws attn::Error for a sheet that another command
/// printed than it says, that is not filled in at all, and for what is no number.
JudgedSheet judge(const attn::Answers& answers, const MakeWorksheet& worksheet, const std::string& path,
                  const std::set<std::string>& conventions);

}  // namespace lab
