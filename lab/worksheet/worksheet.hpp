#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lab/pager.hpp"
#include "lessons/workbench/worksheet.hpp"
#include "trace/worksheet/render.hpp"

namespace lab {

enum class SheetFormat { text, html, json };

/// A lesson on paper.
struct MakeWorksheet {
  std::shared_ptr<const lessons::Lesson> lesson;  ///< whose defaults are those of the worksheet
  lessons::Options options{};
  lessons::Normaliser normaliser = lessons::Normaliser::softmax;
  std::optional<SheetFormat> format{};  ///< where not given it follows the ending of `output`
  std::optional<std::string> output{};
  std::optional<attn::SheetPages> pages{};  ///< where not given both, of JSON the sheet alone
  Paging paging = Paging::automatic;
};

/// Prints it, or writes it to the file. Throws attn::Error for bad input.
void run_worksheet(const MakeWorksheet& worksheet);

/// The sheet, and the plan that it was made of.
attn::Sheet sheet_of(const MakeWorksheet& worksheet, const lessons::Plan& plan);

}  // namespace lab
