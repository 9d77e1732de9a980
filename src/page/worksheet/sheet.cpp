#include "page/worksheet/sheet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "page/builder.hpp"
#include "page/text/plain.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

constexpr std::size_t sentences_of_idea = 3;
constexpr int precision_of_worked = 4;

std::vector<double> numbers_of_view(const TensorView& tensor) {
  std::vector<double> numbers(element_count(tensor.shape));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = tensor.at(i);
  return numbers;
}

/// Every number, which nobody elides, shades or marks as hidden.
page::Table whole_table(Event event) {
  event.distribution = false;
  return page::table_of(event, precision_of_worked, element_count(event.tensor->shape));
}

std::vector<std::string> sentences_in(const std::string& text) {
  std::vector<std::string> sentences;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find(". ", start), text.size() - 1) + 1;
    sentences.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return sentences;
}

constexpr const char* softmax_rule = "softmax(x)ⱼ = exp(xⱼ) / Σᵢ exp(xᵢ)";
constexpr const char* sum_rule = "shares(x)ⱼ = xⱼ / Σᵢ xᵢ";

}  // namespace

std::size_t Sheet::blanks() const {
  return std::accumulate(asked.begin(), asked.end(), std::size_t{0},
                         [](std::size_t sum, const auto& step) { return sum + step.written.size(); });
}

SheetMaker::SheetMaker(const Header& header, std::string command, std::set<std::string_view> given,
                       bool in_fractions)
    : given_(std::move(given)), in_fractions_(in_fractions) {
  sheet_.lesson = header.lesson;
  sheet_.title = header.title;
  sheet_.command = std::move(command);
  sheet_.numbers = header.text(origin_of_numbers);
  if (in_fractions)
    sheet_.rule =
        "Shares are made without exp: shares(x) divides each number by the sum of its row. A number below 0 "
        "and −∞ count as 0. Where a row has no more than zeros, what may be seen gets equal shares.";
}

void SheetMaker::receive(const Event& event) {
  names_.see(event);
  if (event.kind == Kind::note && event.id == "idea") take_idea(event);
  if (!event.tensor || event.tensor->data == nullptr) return;
  SheetTensor one{.event = event,
                  .numbers = AnyTensor(*event.tensor),
                  .named_shape = named_shape(event),
                  .table = event.axes.empty() ? page::Table() : whole_table(event),
                  .written = as_written(numbers_of_view(*event.tensor), in_fractions_)};
  if (event.kind == Kind::step && event.worked) {
    one.example = worked_out(event, Index(event.axes.size(), 0));
    if (const auto at = entry_to_work_out(event)) one.worked = worked_out(event, *at);
  }
  one.event.tensor.reset();
  one.event.worked = nullptr;
  const bool asks = is_asked(event);
  if (asks && changes_nothing(event))
    sheet_.unchanged.push_back(fmt::format("{} = {}", event.id, event.formula));
  else
    (asks ? sheet_.asked : others_).push_back(std::move(one));
}

/// The first sentences; of a sheet without exp those that do not speak of it.
void SheetMaker::take_idea(const Event& idea) {
  auto sentences = sentences_in(idea.note);
  if (in_fractions_)
    std::erase_if(sentences, [](const std::string& sentence) {
      return sentence.find("oftmax") != sentence.npos || sentence.find("exp(") != sentence.npos;
    });
  sentences.resize(std::min(sentences.size(), sentences_of_idea));
  sheet_.idea = fmt::format("{}", fmt::join(sentences, " "));
  sheet_.formula = idea.formula;
  if (sheet_.formula.find(softmax_rule) == std::string::npos)
    sheet_.formula += std::string("\n") + softmax_rule;
  if (in_fractions_)
    sheet_.formula = replaced(replaced(sheet_.formula, softmax_rule, sum_rule), "softmax", "shares");
}

bool SheetMaker::is_asked(const Event& event) const {
  return event.kind == Kind::step && event.place && given_.count(event.id) == 0;
}

/// Whether the step has the numbers of a tensor that it was computed from, as scores / √1 has.
bool SheetMaker::changes_nothing(const Event& event) const {
  const auto numbers = numbers_of_view(*event.tensor);
  if (std::all_of(numbers.begin(), numbers.end(), [](double number) { return number == 0.0; })) return false;
  const auto is_the_same = [&](const SheetTensor& one) {
    return contains(event.inputs, one.event.id) && one.numbers.shape() == event.tensor->shape &&
           numbers_of_view(one.numbers.view()) == numbers;
  };
  return std::any_of(sheet_.asked.begin(), sheet_.asked.end(), is_the_same);
}

/// A number as it stands in an expression: as the tables have it.
std::string SheetMaker::in_expression(double number) const {
  return as_written({number}, in_fractions_).front();
}

std::string SheetMaker::worked_out(const Event& event, const Index& at) const {
  const auto worked = event.worked(at);
  if (!worked.is_finite()) return "";
  const auto name = names_.name(event.id, at);
  const auto* sign = written_in_full(worked.value(), in_fractions_) ? "= " : "≈ ";
  const auto result = sign + in_expression(worked.value());
  if (const auto* entry = worked.entry())
    return fmt::format("{} = {} {}", name, names_.name(entry->tensor, entry->index), result);
  const auto text = text_on_page(worked, [this](const Worked& part) {
    return part.entry() != nullptr ? in_expression(part.value()) : worked_number(part, precision_of_worked);
  });
  return result == "= " + text ? fmt::format("{} {}", name, result)
                               : fmt::format("{} = {} {}", name, text, result);
}

Sheet SheetMaker::finish() {
  for (auto& one : others_) {
    const auto reads_it = [&](const SheetTensor& step) { return contains(step.event.inputs, one.event.id); };
    if (std::any_of(sheet_.asked.begin(), sheet_.asked.end(), reads_it))
      sheet_.given.push_back(std::move(one));
  }
  others_.clear();
  return std::exchange(sheet_, Sheet());
}

}  // namespace attn
