#include "trace/entry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "trace/number.hpp"

namespace attn {

double element_at(const TensorView& tensor, const Index& at) {
  std::size_t offset = 0;
  for (std::size_t axis = 0; axis < at.size(); ++axis) offset = offset * tensor.shape[axis] + at[axis];
  return tensor.at(offset);
}

namespace {

bool is_index(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
}

/// The index that "2" or "#2" names.
std::optional<std::size_t> index_in(const std::string& text) {
  const auto digits = text.rfind('#', 0) == 0 ? text.substr(1) : text;
  return is_index(digits) ? std::optional<std::size_t>(std::stoul(digits)) : std::nullopt;
}

bool can_be_named(const std::string& token) {
  constexpr std::size_t widest = 16;
  return !token.empty() && !is_index(token) && token.find_first_of(",]#") == token.npos &&
         display_width(token) <= widest;
}

/// Whether there is nothing to work out: a number that is not finite, or no share.
bool is_empty(const Event& event, const Index& at) {
  const double element = element_at(*event.tensor, at);
  return !std::isfinite(element) || (event.distribution && element == 0.0);
}

bool is_within(const Index& at, const Shape& shape) {
  return std::equal(at.begin(), at.end(), shape.begin(), shape.end(), std::less<>());
}

/// Axes along which the third entry is worked out, and the second one on the next such axis.
bool has_tokens(const std::string& axis) {
  static const std::set<std::string> axes = {"token", "query", "target", "source", "key", "position"};
  return axes.count(axis) > 0;
}

std::string listed(std::vector<std::string> names) {
  constexpr std::size_t most = 12;
  if (names.size() > most) names.resize(most);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The third token, of the next axis of tokens the second one, then the first.
constexpr std::size_t third = 2;

/// How many tokens of the first sample are no padding.
std::size_t words_along(const Event& event, std::size_t axis) {
  const auto length = event.tensor->shape[axis];
  if (axis >= event.labels.size() || event.labels[axis].empty()) return length;
  const auto& tokens = event.labels[axis].of(0);
  const auto words =
      std::count_if(tokens.begin(), tokens.end(), [](const auto& one) { return one != "<pad>"; });
  return words == 0 ? length : std::min(length, static_cast<std::size_t>(words));
}

/// Whether nothing is rounded in it: sums, differences and products of whole numbers.
bool is_exact(std::string expression) {
  for (const std::string_view sign : {"·", "−", "…"})
    for (auto at = expression.find(sign); at != expression.npos; at = expression.find(sign))
      expression.erase(at, sign.size());
  return expression.find_first_not_of("0123456789 +-()") == expression.npos;
}

}  // namespace

std::string numbered_token(const std::vector<std::string>& tokens, std::size_t i) {
  if (std::count(tokens.begin(), tokens.end(), tokens[i]) == 1) return tokens[i];
  const auto end = tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1;
  return fmt::format("{}#{}", tokens[i], std::count(tokens.begin(), end, tokens[i]));
}

std::string token_name(const std::vector<std::string>& tokens, std::size_t i) {
  return can_be_named(tokens[i]) ? numbered_token(tokens, i) : fmt::format("#{}", i);
}

void EntryNames::see(const Event& event) {
  if (event.tensor) tensors_[event.id] = {event.axes, event.labels, event.tensor->shape};
}

const std::vector<std::string>* EntryNames::tokens(const Axes& axes, std::size_t axis,
                                                   const Index& at) const {
  const auto& labels = axes.labels[axis];
  if (labels.empty()) return nullptr;
  const bool has_batch = !axes.names.empty() && axes.names[0] == "batch";
  return &labels.of(labels.per_sample() && has_batch ? at[0] : 0);
}

std::string EntryNames::name(const std::string& id, const Index& at) const {
  const auto found = tensors_.find(id);
  if (at.empty()) return id;
  std::vector<std::string> places;
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    const auto* names = found == tensors_.end() ? nullptr : tokens(found->second, axis, at);
    const bool has_name = names != nullptr && at[axis] < names->size();
    places.push_back(has_name ? token_name(*names, at[axis]) : fmt::format("{}", at[axis]));
  }
  return fmt::format("{}[{}]", id, fmt::join(places, ", "));
}

Index EntryNames::find(const std::string& id, const std::vector<std::string>& places) const {
  const auto& axes = tensors_.at(id);
  if (const auto count = axes.shape.size(); places.size() != count) {
    const auto example = with_as_many_places(id, places);
    throw Error(
        fmt::format("--explain {0}[{1}] names {2} places; valid: {3}, one for each axis ({4}), as in "
                    "{0}[{5}]",
                    id, fmt::join(places, ","), places.size(), count, fmt::join(axes.names, ", "),
                    fmt::join(example, ", ")));
  }
  Index at;
  for (const auto& text : places) at.push_back(place(id, axes, text, at));
  return at;
}

/// The places behind as many of the axes before them, in the first sample that has such an entry; all 0 where
/// none has.
std::vector<std::string> EntryNames::with_as_many_places(const std::string& id,
                                                         const std::vector<std::string>& places) const {
  const auto& shape = tensors_.at(id).shape;
  const auto kept = std::min(shape.size(), places.size());
  std::vector<std::string> example(shape.size(), "0");
  std::copy(places.end() - static_cast<std::ptrdiff_t>(kept), places.end(),
            example.end() - static_cast<std::ptrdiff_t>(kept));
  if (kept == shape.size()) return example;
  for (std::size_t first = 0; first < shape.front(); ++first) try {
      example.front() = fmt::format("{}", first);
      find(id, example);
      return example;
    } catch (const Error&) {  // no such token in this sample
    }
  return std::vector<std::string>(shape.size(), "0");
}

/// The place along the axis after those in `at`.
std::size_t EntryNames::place(const std::string& id, const Axes& axes, const std::string& text,
                              const Index& at) const {
  const std::size_t axis = at.size(), length = axes.shape[axis];
  const auto* names = tokens(axes, axis, at);
  const auto index = index_in(text);
  const bool is_index_only = names == nullptr || text.rfind('#', 0) == 0;
  if (is_index_only && index && *index < length) return *index;
  std::vector<std::string> choices, meant;
  std::size_t place = 0;
  for (std::size_t i = 0; names != nullptr && i < length; ++i) {
    choices.push_back(token_name(*names, i));
    if (choices[i] == text) return i;
    if (i != index && (*names)[i] != text) continue;
    meant.push_back(choices[i]);
    place = i;
  }
  if (meant.size() == 1) return place;
  if (meant.size() > 1)
    throw Error(fmt::format("--explain {}: “{}” names {} places along {}; valid: {}", id, text, meant.size(),
                            axes.names[axis], listed(meant)));
  throw Error(fmt::format("--explain {}: {} has no {} “{}”; valid: 0 to {}{}{}", id, id, axes.names[axis],
                          text, length - 1, choices.empty() ? "" : ", or ", listed(choices)));
}

std::optional<Index> entry_to_work_out(const Event& event) {
  if (!event.worked || !event.tensor || event.tensor->data == nullptr) return std::nullopt;
  const auto& shape = event.tensor->shape;
  if (element_count(shape) == 0) return std::nullopt;
  Index at(shape.size(), 0);
  std::size_t wanted = third;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (has_tokens(event.axes[axis])) {
      at[axis] = std::min(wanted, words_along(event, axis) - 1);
      if (wanted > 0) --wanted;
    }
  if (event.worked_at && is_within(*event.worked_at, shape)) at = *event.worked_at;
  if (!at.empty() && is_empty(event, at))
    for (at.back() = 0; at.back() + 1 < shape.back() && is_empty(event, at);) ++at.back();
  if (!std::isfinite(element_at(*event.tensor, at))) return std::nullopt;
  return at;
}

std::string number_in_full(const Worked& number) {
  return shortest(number.value() + 0.0);  // 0 of −0
}

Index index_at(std::size_t offset, const Shape& shape) {
  Index at(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; offset /= shape[axis]) at[axis] = offset % shape[axis];
  return at;
}

bool is_hidden(const Event& event, const Index& at) {
  if (!event.distribution || !event.worked || element_at(*event.tensor, at) != 0.0) return false;
  bool is_all_zero = true;
  event.worked(at).for_each_entry(
      [&](const Operand&, double value) { is_all_zero = is_all_zero && value == 0.0; });
  return is_all_zero;
}

bool is_whole(double value, double rounding) {
  const double nearest = std::round(value);
  return value == 0.0 || (nearest != 0.0 && std::abs(value - nearest) <= rounding * std::abs(nearest));
}

std::string worked_number(const Worked& number, int precision) {
  constexpr std::size_t longest_constant = 10;
  if (number.entry() == nullptr || number.entry()->is_whole) {
    auto in_full = number_in_full(number);
    if (number.entry() != nullptr || in_full.size() <= longest_constant) return in_full;
  }
  const int digits = std::max(precision, 2);
  const double value = number.value();
  const double magnitude = std::abs(value);
  if (is_whole(value) && magnitude < 1e5) return fmt::format("{:.0f}", value + 0.0);
  const bool is_fixed = magnitude == 0.0 || (magnitude >= std::pow(10.0, 1 - digits) && magnitude < 1e5);
  return is_fixed ? fmt::format("{:.{}f}", value + 0.0, digits) : fmt::format("{:.{}e}", value, digits);
}

Operand operand_of(const Event& event, const Index& at) {
  return {event.id, at, !is_floating(event.tensor->dtype)};
}

std::string worked_result(const Event& event, const Index& at, double value, const std::string& expression,
                          int precision) {
  const auto operand = operand_of(event, at);
  const bool is_equal = operand.is_whole || is_exact(expression);
  return (is_equal ? "= " : "≈ ") + worked_number(Worked(operand, value), precision);
}

std::string with_raised_exponents(const std::string& expression) {
  constexpr std::array raised = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  constexpr std::string_view digits = "0123456789";
  std::string text;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const auto end = std::min(expression.find_first_not_of(digits, i + 1), expression.size());
    const bool is_whole = end > i + 1 && (end == expression.size() || expression[end] != '.');
    if (expression[i] != '^' || !is_whole) {
      text += expression[i];
      continue;
    }
    while (++i < end) text += raised.at(digits.find(expression[i]));
    --i;
  }
  return text;
}

std::string text_on_page(const Worked& worked, const std::function<std::string(const Worked&)>& number) {
  constexpr std::size_t most_terms = 16, fewest_terms = 2, longest = 250;
  for (std::size_t terms = most_terms;; terms /= 2) {
    auto text = with_raised_exponents(worked.text(number, terms));
    if (terms == fewest_terms || text.size() <= longest || display_width(text) <= longest) return text;
  }
}

}  // namespace attn
