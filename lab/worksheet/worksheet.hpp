#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lab/pager.hpp"
#include "lessons/workbench/worksheet.hpp"
#include "page/worksheet/render.hpp"

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

/// The sheet, and the plan that it was made of.
attn::Sheet sheet_of(const MakeWorksheet& worksheet, const lessons::Plan& plan);

}  // namespace lab
