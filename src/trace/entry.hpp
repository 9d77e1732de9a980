#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/worked.hpp"
#include "trace/event.hpp"

namespace attn {

/// The element at that place, which has an index for each axis.
double element_at(const TensorView& tensor, const Index& at);

/// The place of the element at that offset, in row-major order.
Index index_at(std::size_t offset, const Shape& shape);

/// The token, or "the#2" where it is the second of several equal ones.
std::string numbered_token(const std::vector<std::string>& tokens, std::size_t i);

/// How an entry names its place along an axis with these tokens: numbered_token, or "#2" where that could be
/// mistaken for something else or is wide.
std::string token_name(const std::vector<std::string>& tokens, std::size_t i);

/// Names the entries of the tensors of a trace, and finds the entries that a person names.
class EntryNames {
 public:
  /// To be called with each event, so that its tensor is known.
  void see(const Event& event);

  /// "weights[sat, cat]", "Q[the#2, 0]": each place by its token where it has one, the second of two equal
  /// tokens with its number, and by its index otherwise. Tokens that look like an index, that hold one of
  /// `, ] #` or that are wide are named by "#" and their index.
  std::string name(const std::string& id, const Index& at) const;

  /// The index that `places` ("sat", "2", "#2", "the#2") stand for in a tensor of an earlier event. Throws
  /// Error, with what would be valid, where they are not as many as the tensor has axes, where there is no
  /// such token or index, and where a token is ambiguous.
  Index find(const std::string& id, const std::vector<std::string>& places) const;

 private:
  struct Axes {
    std::vector<std::string> names;
    std::vector<AxisLabels> labels;
    Shape shape;
  };

  const std::vector<std::string>* tokens(const Axes& axes, std::size_t axis, const Index& at) const;
  std::vector<std::string> with_as_many_places(const std::string& id,
                                               const std::vector<std::string>& places) const;
  std::size_t place(const std::string& id, const Axes& axes, const std::string& text, const Index& at) const;

  std::map<std::string, Axes> tensors_;
};

/// The entry that is worked out where nobody asks for another: the one that the lesson chose, or that of the
/// token to work out with the second one, as far as there are so many, and of hidden keys none. Nothing where
/// the step says no entry's arithmetic, or that entry is not finite.
std::optional<Index> entry_to_work_out(const Event& event);

/// Whether a mask hides the key of a weight: it is 0 and comes from no number, or from nothing but such
/// weights.
bool is_hidden(const Event& event, const Index& at);

/// Whether that is a whole number but for rounding, which may differ from machine to machine.
bool is_whole(double value, double rounding = 1e-9);

/// How a number is written in a worked entry: a whole one as it is, another entry with `precision` digits
/// after the point, at least 2, or as a power of ten where that would leave nothing of it, and a constant in
/// full.
std::string worked_number(const Worked& number, int precision);

/// The entry of an event at that place, as an operand.
Operand operand_of(const Event& event, const Index& at);

/// "≈ 0.3775", or "= 3" of whole numbers: what an entry comes to whose arithmetic is written like that.
std::string worked_result(const Event& event, const Index& at, double value, const std::string& expression,
                          int precision);

/// The shortest text that reads back as the same number.
std::string number_in_full(const Worked& number);

/// "8²" for "8^2": whole exponents as formulas have them.
std::string with_raised_exponents(const std::string& expression);

/// The expression as a page shows it, with raised exponents: of each sum at most 16 terms, and fewer where it
/// would fill a paragraph.
std::string text_on_page(const Worked& worked, const std::function<std::string(const Worked&)>& number);

}  // namespace attn
