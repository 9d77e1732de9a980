#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/event.hpp"

namespace attn {

/// A line of a printed trace.
struct TextLine {
  std::size_t number = 0;  ///< from 1 on
  std::string_view text{};
};

/// What stands under one heading of a printed trace: an input or a step, a note, the claims.
struct TextSection {
  std::string lesson{};
  std::string id{};                                            ///< of an input or step; empty for all others
  std::string name{};                                          ///< the id, or else the heading
  std::vector<TextLine> lines{};                               ///< that are not blank
  std::vector<std::pair<std::string, ConfigValue>> options{};  ///< of a lesson's header, without their lines
  bool is_header = false;
  bool is_numbered_in_order = false;  ///< the heading begins with the number that the step has by counting

  /// What it has in common with the same section of another run.
  std::string key() const { return lesson + '\n' + name; }
};

/// The text without colours and without the carriage returns of other systems' line ends: itself, or what is
/// put into `storage`.
std::string_view without_decoration(std::string_view text, std::string& storage);

/// Takes a printed trace (or several, as a tour is) without decoration apart. The lines are parts of the
/// text.
std::vector<TextSection> parse_text_page(std::string_view text);

/// The words of a line, numbers among them, without the blanks between them.
std::vector<std::string_view> words_of(std::string_view line);

/// So much of a line or word as a report shows.
std::string beginning_of(std::string_view text);

/// A number in a word: `0.5`, `exp(−0.0892)`, `0.6650.`.
struct PrintedNumber {
  std::string_view before{};
  double value = 0.0;
  std::string_view after{};
};

/// The number of a word that says nothing else but where it stands in an expression or a sentence.
std::optional<PrintedNumber> printed_number(std::string_view word);

/// The options in the header of a printed trace, such as `sentence="the cat"  d_k=8  causal`. A flag is true;
/// what looks like no option is a flag too, so that nothing is lost.
std::vector<std::pair<std::string, ConfigValue>> parse_printed_options(std::string_view text);

/// The labels of the row and of the column in which a word of a printed table stands; empty where they cannot
/// be told.
struct TableLabels {
  std::string row{};
  std::string column{};
};

/// `line` is an index into the lines of the section, `word` a part of that line.
TableLabels table_labels_of(const TextSection& section, std::size_t line, std::string_view word);

}  // namespace attn
