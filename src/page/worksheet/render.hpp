#pragma once

#include <string>
#include <vector>

#include "page/worksheet/sheet.hpp"

namespace attn {

/// Which pages of a worksheet are printed: the sheet with its answers on a page of their own, or one of them.
enum class SheetPages { both, sheet, answers };

/// As text: the answers stand behind a form feed. Blanks stand between bars, so that `read_answers` finds
/// what is written there.
std::string sheet_as_text(const Sheet& sheet, SheetPages pages);

/// As one HTML file for paper, which needs no other: each sheet of a lesson begins a page, and so do its
/// answers.
std::string sheets_as_html(const std::vector<Sheet>& sheets, SheetPages pages);

/// As JSON to be filled in: {"worksheet": COMMAND, "name": "", ID: nested lists, …} with null in each blank,
/// or with the answers in their places.
std::string sheet_as_json(const Sheet& sheet, bool with_answers);

/// What may be written in a blank, and how it is checked, in a sentence or two. A sheet `to_type_in` is one
/// that check reads.
std::string how_to_fill_in(const Sheet& sheet, bool to_type_in);

}  // namespace attn
