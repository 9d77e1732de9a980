#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "page/page.hpp"
#include "trace/any_tensor.hpp"
#include "trace/entry.hpp"
#include "trace/event.hpp"
#include "trace/file.hpp"

namespace attn {

/// A tensor of a worksheet.
struct SheetTensor {
  Event event;  ///< without its numbers
  AnyTensor numbers;
  std::string named_shape;           ///< "[query 3 × key 3]"
  page::Table table;                 ///< none where it is one number
  std::vector<std::string> written;  ///< as a worksheet writes them, row by row
  std::string example{};             ///< the first entry worked out: "scores[the, the] = 1 · 2 = 2"
  std::string worked{};              ///< the entry worked out that a page shows
};

/// A lesson to be worked by hand.
struct Sheet {
  std::string lesson, title;
  std::string command;  ///< that prints it
  std::string numbers;  ///< where they come from: "drawn, not trained"
  std::string idea, formula;
  std::string rule;  ///< how shares are made of scores
  std::vector<SheetTensor> given{};
  std::vector<SheetTensor> asked{};
  std::vector<std::string> unchanged{};  ///< steps that leave each number as it is: "scaled = scores / √1"

  /// How many numbers are asked for.
  std::size_t blanks() const;
};

/// Makes a worksheet of a lesson's events. It asks for the steps on the lesson's page, but for those that
/// stand there given and those that change no number, and shows the tensors that these are computed from.
class SheetMaker : public Sink {
 public:
  /// `in_fractions` is for a run whose shares are divisions by a sum.
  SheetMaker(const Header& header, std::string command, std::set<std::string_view> given, bool in_fractions);
  void receive(const Event& event) override;

  /// The worksheet. Leaves the maker empty.
  Sheet finish();

 private:
  void take_idea(const Event& idea);
  bool changes_nothing(const Event& event) const;
  std::string in_expression(double number) const;
  std::string worked_out(const Event& event, const Index& at) const;

  Sheet sheet_;
  std::set<std::string_view> given_;
  bool in_fractions_;
  EntryNames names_;
  std::vector<SheetTensor> others_;
};

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

/// What a student wrote on a worksheet.
struct Answers {
  std::string command;                                      ///< that printed the sheet, as it stands there
  std::map<std::string, std::vector<std::string>> cells{};  ///< by step, row by row; a blank one is empty
  std::string student{};                                    ///< the name; empty where none is written
};

/// The answers on a worksheet: of a text its first page, on which each row of a table ends in "|" and has one
/// before every cell; of JSON the object {"worksheet": COMMAND, "name": NAME, ID: [[CELL, …], …], …}, whose
/// cells are numbers, texts or null. None where the file is no worksheet. Throws Error for one that is
/// damaged.
std::optional<Answers> read_answers(const File& file);

/// A number as somebody wrote it by hand.
struct Written {
  double value = 0.0;
  double slack = 0.0;     ///< how far it may be from the number that was rounded to it
  bool is_whole = false;  ///< written as a whole number, which may be one or be rounded to one
};

/// "3", "0.33" (or with a comma), "3/7", "sqrt(2)/2", "2·(1 − exp(−1))", "−∞": numbers with + − · / ^,
/// parentheses, sqrt or √, exp and tanh. A decimal is taken for rounded in its last digit, perhaps
/// twice, so 0.33 has a slack of 0.0055; whole numbers are exact, fractions and roots of them too. None of
/// what is no number.
std::optional<Written> written_number(std::string_view text);

/// The numbers of one tensor, with nothing where the text is none. Beside decimals a whole number counts as
/// rounded to as many digits as the shortest of them: 0 beside 0.98 and 0.02 may be 0.004.
std::vector<std::optional<Written>> written_numbers(const std::vector<std::string>& texts);

/// How a worksheet writes the numbers of a tensor: each in full where all of them can be, as decimals of at
/// most four digits or, if asked for, as fractions; else all with four digits after the point.
std::vector<std::string> as_written(const std::vector<double>& numbers, bool in_fractions);

/// The number in full, if it can be written so. None of another.
std::optional<std::string> written_in_full(double number, bool in_fractions);

/// "3", "-2", "3/7": the number as a fraction whose denominator has four digits at most. None where it is
/// another.
std::optional<std::string> as_fraction(double number);

}  // namespace attn
