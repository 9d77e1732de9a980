#include "attn/worked.hpp"

#include <algorithm>
#include <cmath>

#include "attn/lists.hpp"

namespace attn {

namespace {

template <auto f>
double of_first(const std::vector<Worked>& arguments) {
  return f(arguments.at(0).value());
}

template <auto f>
double of_all(const std::vector<Worked>& arguments) {
  double result = arguments.at(0).value();
  for (std::size_t i = 1; i < arguments.size(); ++i) result = f(result, arguments[i].value());
  return result;
}

/// What stands in which way in a text.
enum class Kind { call, negation, sum, difference, product, quotient, power, comparison };

}  // namespace

struct Worked::Function {
  std::string_view name;
  double (*value_of)(const std::vector<Worked>& arguments);
  Kind kind = Kind::call;
  const char* separator = ", ";
};

const Worked::Function* Worked::called(std::string_view name) {
  static const std::vector<Function> all = {
      {"+", of_all<[](double x, double y) { return x + y; }>, Kind::sum, " + "},
      {"-", of_all<[](double x, double y) { return x - y; }>, Kind::difference, " − "},
      {"*", of_all<[](double x, double y) { return x * y; }>, Kind::product, " · "},
      {"/", of_all<[](double x, double y) { return x / y; }>, Kind::quotient, " / "},
      {"^", of_all<[](double x, double y) { return std::pow(x, y); }>, Kind::power, "^"},
      {"<", of_all<[](double x, double y) { return x < y ? 1.0 : 0.0; }>, Kind::comparison, " < "},
      {"<=", of_all<[](double x, double y) { return x <= y ? 1.0 : 0.0; }>, Kind::comparison, " ≤ "},
      {"neg", of_first<[](double x) { return -x; }>, Kind::negation},
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
      {"min", of_all<[](double x, double y) { return std::min(x, y); }>},
      {"max", of_all<[](double x, double y) { return std::max(x, y); }>},
  };
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Function& function) { return function.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Worked::Worked(double constant) : value_(constant) {}

Worked::Worked(Operand operand, double value)
    : value_(value), operand_(std::make_shared<Operand>(std::move(operand))) {}

bool Worked::has_function(std::string_view name) {
  return called(name) != nullptr;
}

Worked Worked::call(std::string_view function, std::vector<Worked> arguments) {
  const auto* found = called(function);
  Worked result(found->value_of(arguments));
  result.function_ = found;
  result.parts_ = std::make_shared<std::vector<Worked>>(std::move(arguments));
  return result;
}

Worked Worked::sum(std::vector<Worked> terms) {
  return terms.size() == 1 ? terms[0] : call("+", std::move(terms));
}

Worked Worked::product(std::vector<Worked> factors) {
  return factors.size() == 1 ? factors[0] : call("*", std::move(factors));
}

Worked operator-(Worked x) {
  return Worked::call("neg", {std::move(x)});
}

Worked operator-(Worked x, Worked y) {
  return Worked::call("-", {std::move(x), std::move(y)});
}

Worked operator/(Worked x, Worked y) {
  return Worked::call("/", {std::move(x), std::move(y)});
}

Worked largest(std::vector<Worked> of) {
  return of.size() == 1 ? of[0] : Worked::call("max", std::move(of));
}

Worked argmax(const std::vector<Worked>& of) {
  const auto place = std::max_element(of.begin(), of.end(),
                                      [](const Worked& x, const Worked& y) { return x.value() < y.value(); });
  std::vector<Worked> factors = {static_cast<double>(place - of.begin())};
  if (place != of.begin()) factors.push_back(Worked::call("<", {largest({of.begin(), place}), *place}));
  if (place + 1 != of.end()) factors.push_back(Worked::call("<=", {largest({place + 1, of.end()}), *place}));
  return Worked::product(std::move(factors));
}

bool Worked::is_finite() const {
  return std::isfinite(value_) &&
         (parts_ == nullptr || all_of(parts(), [](const Worked& part) { return part.is_finite(); }));
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

/// Whether it needs parentheses as an argument of that function.
bool Worked::needs_parentheses_in(const Function& outer, bool is_first) const {
  if (outer.kind == Kind::call || (function_ && function_->kind == Kind::call)) return false;
  if (outer.kind == Kind::negation) return true;
  if (!function_)
    return std::signbit(value_) &&
           (outer.kind == Kind::power || (outer.kind == Kind::difference && !is_first));
  const auto kind = function_->kind;
  if (outer.kind == Kind::power) return true;
  if (kind == Kind::power) return false;
  if (kind == Kind::comparison) return true;
  if (outer.kind == Kind::sum || outer.kind == Kind::comparison) return false;
  const bool is_sum = kind == Kind::sum || kind == Kind::difference;
  if (outer.kind == Kind::difference) return is_sum && !is_first;
  return is_sum || (!is_first && (kind != Kind::product || outer.kind == Kind::quotient));
}

std::string Worked::text(const std::function<std::string(const Worked&)>& number,
                         std::size_t most_terms) const {
  if (!function_) return number(*this);
  const bool is_call = function_->kind == Kind::call;
  const bool is_root = is_call && function_->name == "sqrt";
  const bool has_parentheses = is_call && !(is_root && !parts()[0].function_);
  std::string text = function_->kind == Kind::negation ? "−" : "";
  if (is_call) text += is_root ? "√" : function_->name;
  if (has_parentheses) text += '(';
  const std::size_t count = parts().size();
  const std::size_t most_parts =
      function_->kind == Kind::sum ? most_terms : std::max<std::size_t>(most_terms, 4);
  const std::size_t edge = count > most_parts ? most_parts / 2 : count;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += function_->separator;
    if (i == edge) {
      text += "…";
      text += function_->separator;
      i = count - edge;
    }
    const auto part = parts()[i].text(number, most_terms);
    text += parts()[i].needs_parentheses_in(*function_, i == 0) ? '(' + part + ')' : part;
  }
  if (has_parentheses) text += ')';
  return text;
}

}  // namespace attn
