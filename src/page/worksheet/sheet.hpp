#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "page/page.hpp"
#include "trace/any_tensor.hpp"
#include "trace/entry.hpp"
#include "trace/event.hpp"

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
  bool is_asked(const Event& event) const;
  bool changes_nothing(const Event& event) const;
  std::string in_expression(double number) const;
  std::string worked_out(const Event& event, const Index& at) const;

  Sheet sheet_;
  std::set<std::string_view> given_;
  bool in_fractions_;
  EntryNames names_;
  std::vector<SheetTensor> others_;
};

}  // namespace attn
