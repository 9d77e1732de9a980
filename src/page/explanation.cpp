#include "page/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "attn/error.hpp"
#include "attn/text/printable.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "page/text/lines.hpp"
#include "trace/filter.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

constexpr std::size_t all_terms = std::numeric_limits<std::size_t>::max();

/// What is to be said of an entry that follows from no other, since a mask hides its key.
std::string why_hidden(const Event& event, const Index& at, const Worked& worked) {
  bool has_entries = false;
  worked.for_each_entry([&](const Operand&, double) { has_entries = true; });
  if (has_entries) return "";
  if (worked.value() == -std::numeric_limits<double>::infinity()) return "−∞: the mask hides this key";
  return is_hidden(event, at) ? "0: the mask hides this key. Its score is −∞, and exp(−∞) = 0." : "";
}

/// What the second number in exp(2.5 − 40) is, which softmax is worked with where scores are large.
std::string why_shifted(const Event& event, const std::string& numbers) {
  const auto exponent = numbers.find("exp(");
  if (!event.distribution || exponent == numbers.npos) return "";
  const auto end = numbers.find(')', exponent);
  if (numbers.substr(exponent, end - exponent).find(" − ") == std::string::npos) return "";
  return "  What each exponent subtracts is the row's largest score. That changes no share and keeps exp "
         "small.\n";
}

}  // namespace

Explanation::Explanation(const std::vector<std::string>& wanted, int precision, std::size_t width, bool full)
    : precision_(precision), width_(width), full_(full) {
  for (const auto& entry : wanted) {
    const auto open = entry.find('[');
    Wanted one{
        .id = std::string(trimmed(std::string_view(entry).substr(0, open), " ")), .places = {}, .text = ""};
    if (one.id.empty() || (open != entry.npos && entry.back() != ']'))
      throw Error(
          fmt::format("--explain {} names no entry; valid: ID[row, column], as weights[2, 0]", entry));
    for (std::size_t start = open; start != entry.npos && start + 1 < entry.size();) {
      const auto end = std::min(entry.find(',', start + 1), entry.size() - 1);
      one.places.emplace_back(trimmed(std::string_view(entry).substr(start + 1, end - start - 1), " "));
      start = end;
    }
    wanted_.push_back(std::move(one));
  }
}

void Explanation::receive(const Event& event) {
  names_.see(event);
  if (!event.tensor) return;
  ids_.push_back(event.id);
  for (auto& wanted : wanted_)
    if (wanted.id == event.id) wanted.text = explain(event, names_.find(wanted.id, wanted.places));
}

std::string Explanation::explain(const Event& event, const Index& at) const {
  const auto name = names_.name(event.id, at);
  const double element = element_at(*event.tensor, at);
  const auto value = worked_number(Worked(operand_of(event, at), element), precision_);
  if (!event.worked)
    return fmt::format(
        "{} = {}\n  {}\n", name, value,
        event.kind == Kind::input ? "an input of this run" : "no single entry of this step is worked out");
  const auto worked = event.worked(at);
  const auto number = [this](const Worked& part) { return worked_number(part, precision_); };
  const auto entry_or_number = [&](const Worked& part) {
    return part.entry() == nullptr ? number(part) : names_.name(part.entry()->tensor, part.entry()->index);
  };
  const auto formula = fmt::format("{}", fmt::join(lines_of(event.formula), ",  "));
  const auto symbols = equation(name, formula) + equation("", in_terms(worked, entry_or_number));
  if (worked.entry() != nullptr) return symbols + "  = " + value + "\n";
  const auto numbers = in_terms(worked, number);
  if (const auto why = why_hidden(event, at, worked); !why.empty())
    return equation(name, formula) + equation("", why);
  return symbols + equation("", numbers) + "  " + worked_result(event, at, element, numbers, precision_) +
         "\n" + why_shifted(event, numbers);
}

std::string Explanation::in_terms(const Worked& worked,
                                  const std::function<std::string(const Worked&)>& term) const {
  return full_ ? with_raised_exponents(worked.text(term, all_terms)) : text_on_page(worked, term);
}

std::string Explanation::equation(const std::string& start, const std::string& expression) const {
  if (expression.empty()) return start + "\n";
  std::string text, margin = start.empty() ? "  = " : start + " = ";
  for (const auto& line :
       pack(before_operators(expression), " ", width_ - std::min(width_ / 2, display_width(margin)))) {
    text += margin + printable(line) + "\n";
    margin = std::string(display_width(margin), ' ');
  }
  return text;
}

std::string Explanation::finish() const {
  std::string text;
  for (const auto& wanted : wanted_) {
    if (wanted.text.empty())
      throw Error(fmt::format("--explain {} is no input or step of this run; valid: {}", wanted.id,
                              fmt::join(ids_like(wanted.id, ids_), ", ")));
    text += (text.empty() ? "" : "\n") + wanted.text;
  }
  return text;
}

}  // namespace attn
