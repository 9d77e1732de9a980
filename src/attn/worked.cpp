#include "attn/worked.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace attn {

namespace {

template <class Function>
double fold(const std::vector<Worked>& parts, Function f) {
  double result = parts.at(0).value();
  for (std::size_t i = 1; i < parts.size(); ++i) result = f(result, parts[i].value());
  return result;
}

using Functions = std::map<std::string_view, double (*)(const std::vector<Worked>&)>;

template <auto f>
double of_first(const std::vector<Worked>& arguments) {
  return f(arguments.at(0).value());
}

/// By the names that they have in formulas.
const Functions& functions() {
  static const Functions all = {
      {"exp", of_first<[](double x) { return std::exp(x); }>},
      {"sqrt", of_first<[](double x) { return std::sqrt(x); }>},
      {"tanh", of_first<[](double x) { return std::tanh(x); }>},
      {"log", of_first<[](double x) { return std::log(x); }>},
      {"erf", of_first<[](double x) { return std::erf(x); }>},
      {"sin", of_first<[](double x) { return std::sin(x); }>},
      {"cos", of_first<[](double x) { return std::cos(x); }>},
      {"floor", of_first<[](double x) { return std::floor(x); }>},
      {"float32", of_first<[](double x) { return round_to(Dtype::float32, x); }>},
      {"float16", of_first<[](double x) { return round_to(Dtype::float16, x); }>},
      {"bfloat16", of_first<[](double x) { return round_to(Dtype::bfloat16, x); }>},
      {"min", [](const auto& of) { return fold(of, [](double a, double b) { return std::min(a, b); }); }},
      {"max", [](const auto& of) { return fold(of, [](double a, double b) { return std::max(a, b); }); }},
  };
  return all;
}

}  // namespace

Worked::Worked(double constant) : value_(constant) {}

Worked::Worked(Operand operand, double value)
    : value_(value), operand_(std::make_shared<Operand>(std::move(operand))) {}

Worked::Worked(Operation operation, std::vector<Worked> parts, double value)
    : operation_(operation), value_(value), parts_(std::make_shared<std::vector<Worked>>(std::move(parts))) {}

Worked Worked::sum(std::vector<Worked> terms) {
  const double value = fold(terms, std::plus());
  return terms.size() == 1 ? terms[0] : Worked(Operation::sum, std::move(terms), value);
}

Worked Worked::product(std::vector<Worked> factors) {
  const double value = fold(factors, std::multiplies());
  return factors.size() == 1 ? factors[0] : Worked(Operation::product, std::move(factors), value);
}

bool Worked::has_function(std::string_view name) {
  return functions().contains(name);
}

Worked Worked::call(std::string_view function, std::vector<Worked> arguments) {
  const auto& [name, value_of] = *functions().find(function);
  const double value = value_of(arguments);
  Worked result(Operation::call, std::move(arguments), value);
  result.function_ = name;
  return result;
}

Worked Worked::less(Worked x, Worked y) {
  const double value = x.value() < y.value() ? 1.0 : 0.0;
  return Worked(Operation::less, {std::move(x), std::move(y)}, value);
}

Worked Worked::at_most(Worked x, Worked y) {
  const double value = x.value() <= y.value() ? 1.0 : 0.0;
  return Worked(Operation::at_most, {std::move(x), std::move(y)}, value);
}

Worked operator-(Worked x) {
  const double value = -x.value();
  return Worked(Worked::Operation::negation, {std::move(x)}, value);
}

Worked operator-(Worked x, Worked y) {
  const double value = x.value() - y.value();
  return Worked(Worked::Operation::difference, {std::move(x), std::move(y)}, value);
}

Worked operator/(Worked x, Worked y) {
  const double value = x.value() / y.value();
  return Worked(Worked::Operation::quotient, {std::move(x), std::move(y)}, value);
}

Worked pow(Worked x, Worked exponent) {
  const double value = std::pow(x.value(), exponent.value());
  return Worked(Worked::Operation::power, {std::move(x), std::move(exponent)}, value);
}

Worked largest(std::vector<Worked> of) {
  return of.size() == 1 ? of[0] : Worked::call("max", std::move(of));
}

Worked argmax(const std::vector<Worked>& of) {
  const auto place = std::max_element(of.begin(), of.end(),
                                      [](const Worked& x, const Worked& y) { return x.value() < y.value(); });
  std::vector<Worked> factors = {static_cast<double>(place - of.begin())};
  if (place != of.begin()) factors.push_back(Worked::less(largest({of.begin(), place}), *place));
  if (place + 1 != of.end()) factors.push_back(Worked::at_most(largest({place + 1, of.end()}), *place));
  return Worked::product(std::move(factors));
}

Worked equals(const Worked& x, const Worked& y) {
  return Worked::product({Worked::at_most(x, y), Worked::at_most(y, x)});
}

Worked mean_of(std::vector<Worked> of) {
  const auto count = static_cast<double>(of.size());
  return Worked::sum(std::move(of)) / Worked(count);
}

bool Worked::is_finite() const {
  return std::isfinite(value_) &&
         (parts_ == nullptr ||
          std::all_of(parts().begin(), parts().end(), [](const Worked& part) { return part.is_finite(); }));
}

void Worked::for_each_entry(const std::function<void(const Operand&, double value)>& see) const {
  if (operand_) return see(*operand_, value_);
  if (parts_)
    for (const auto& part : parts()) part.for_each_entry(see);
}

void Worked::for_each_operand(const std::function<void(Operand&)>& change) {
  if (operand_) {
    if (operand_.use_count() > 1) operand_ = std::make_shared<Operand>(*operand_);
    change(*operand_);
  }
  if (parts_) {
    if (parts_.use_count() > 1) parts_ = std::make_shared<std::vector<Worked>>(*parts_);
    for (auto& part : *parts_) part.for_each_operand(change);
  }
}

/// Whether it needs parentheses as a part of that operation.
bool Worked::needs_parentheses_in(Operation outer, bool is_first) const {
  if (outer == Operation::call || outer == Operation::number) return false;
  if (operation_ == Operation::call) return false;
  if (outer == Operation::negation) return true;
  if (operation_ == Operation::number)
    return std::signbit(value_) &&
           (outer == Operation::power || (outer == Operation::difference && !is_first));
  if (outer == Operation::power) return true;
  if (operation_ == Operation::power) return false;
  if (is_comparison()) return true;
  if (outer == Operation::sum || outer == Operation::less || outer == Operation::at_most) return false;
  const bool is_sum = operation_ == Operation::sum || operation_ == Operation::difference;
  if (outer == Operation::difference) return is_sum && !is_first;
  if (is_sum) return true;
  return !is_first && (operation_ != Operation::product || outer == Operation::quotient);
}

const char* Worked::separator() const {
  switch (operation_) {
    case Operation::sum:
      return " + ";
    case Operation::difference:
      return " − ";
    case Operation::product:
      return " · ";
    case Operation::quotient:
      return " / ";
    case Operation::power:
      return "^";
    case Operation::less:
      return " < ";
    case Operation::at_most:
      return " ≤ ";
    default:
      return ", ";
  }
}

std::string Worked::text(const std::function<std::string(const Worked&)>& number,
                         std::size_t most_terms) const {
  std::string text;
  append_text(text, number, most_terms);
  return text;
}

void Worked::append_text(std::string& text, const std::function<std::string(const Worked&)>& number,
                         std::size_t most_terms) const {
  if (operation_ == Operation::number) {
    text += number(*this);
    return;
  }
  const bool is_call = operation_ == Operation::call;
  const bool is_root = is_call && function_ == "sqrt";
  const bool has_parentheses = is_call && !(is_root && parts()[0].operation_ == Operation::number);
  if (operation_ == Operation::negation) text += "−";
  if (is_call) text += is_root ? "√" : function_;
  if (has_parentheses) text += '(';
  append_parts(text, number, most_terms);
  if (has_parentheses) text += ')';
}

void Worked::append_parts(std::string& text, const std::function<std::string(const Worked&)>& number,
                          std::size_t most_terms) const {
  const std::size_t count = parts().size();
  const std::size_t most_parts =
      operation_ == Operation::sum ? most_terms : std::max<std::size_t>(most_terms, 4);
  const std::size_t edge = count > most_parts ? most_parts / 2 : count;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += separator();
    if (i == edge) {
      text += "…";
      text += separator();
      i = count - edge;
    }
    const auto& part = parts()[i];
    const bool has_parentheses = part.needs_parentheses_in(operation_, i == 0);
    if (has_parentheses) text += '(';
    part.append_text(text, number, most_terms);
    if (has_parentheses) text += ')';
  }
}

}  // namespace attn
