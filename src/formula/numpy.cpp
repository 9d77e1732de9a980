#include "formula/numpy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "formula/functions.hpp"
#include "formula/whole_arrays.hpp"

namespace formula {

bool fits(const Axes& axes, const Axes& target) {
  return axes.size() <= target.size() && std::equal(axes.rbegin(), axes.rend(), target.rbegin());
}

bool is_of_one_operand(const Array& x) {
  const auto has_axes = [](const Array& part) { return !part.axes.empty(); };
  return x.kind == Array::Kind::function && std::count_if(x.parts.begin(), x.parts.end(), has_axes) == 1;
}

std::vector<std::size_t> places_in(const Axes& axes, const Axes& some) {
  std::vector<std::size_t> places;
  for (const auto& axis : some) places.push_back(place_in(axes, axis));
  return places;
}

std::vector<const char*> signs_along(const Axes& axes, const Axes& target, const char* own,
                                     const char* other) {
  std::vector<const char*> signs;
  for (auto axis = std::find(target.begin(), target.end(), axes[0]); axis != target.end(); ++axis)
    signs.push_back(has(axes, *axis) ? own : other);
  return signs;
}

namespace {

/// How a language writes a function: an operator, or where it binds as a call does the name of a function, or
/// a method with its dot.
struct Form {
  const char* sign = nullptr;
  Code::Binding binding = Code::primary;
};

/// In NumPy, in xtensor and in C++ of one entry. Others are called by their name in the language's namespace.
const std::map<std::string, std::array<Form, 3>>& forms() {
  using enum Code::Binding;
  static const std::map<std::string, std::array<Form, 3>> all = {
      {"+", {{{"+", sum}, {"+", sum}, {"+", sum}}}},
      {"-", {{{"-", sum}, {"-", sum}, {"-", sum}}}},
      {"*", {{{"*", product}, {"*", product}, {"*", product}}}},
      {"/", {{{"/", product}, {"/", product}, {"/", product}}}},
      {"//", {{{"//", product}}}},
      {"mod", {{{"%", product}, {}, {"lab::mod"}}}},
      {"^", {{{"**", power}, {"xt::pow"}, {"std::pow"}}}},
      {"neg", {{{"-", unary}, {"-", unary}, {"-", unary}}}},
      {"not", {{{"~", unary}, {"!", unary}, {"!", unary}}}},
      {"and", {{{"&", both}, {"&&", both}, {"&&", both}}}},
      {"or", {{{"|", either}, {"||", either}, {"||", either}}}},
      {"<", {{{"<", relation}, {"<", comparison}, {"<", comparison}}}},
      {"<=", {{{"<=", relation}, {"<=", comparison}, {"<=", comparison}}}},
      {"=", {{{"==", relation}, {"xt::equal"}, {"==", equality}}}},
      {"!=", {{{"!=", relation}, {"xt::not_equal"}}}},
      {"max", {{{"np.maximum"}, {"lab::maximum"}, {"lab::larger"}}}},
      {"min", {{{"np.minimum"}, {"lab::minimum"}, {"lab::smaller"}}}},
      {"abs", {{{"np.abs"}, {"xt::abs"}, {"std::abs<double>"}}}},
      {"erf", {{{"np.vectorize(math.erf)"}, {"xt::erf"}, {"std::erf"}}}},
      {"float32", {{{"float32"}, {}, {"lab::float32"}}}},
      {"float16", {{{"float16"}, {}, {"lab::float16"}}}},
      {"bfloat16", {{{"bfloat16"}, {}, {"lab::bfloat16"}}}},
      {"numbers", {{{".astype(float)"}}}},
      {"whole", {{{".astype(int)"}}}},
  };
  return all;
}

}  // namespace

std::string bound(const Code& code, Code::Binding least) {
  return code.binding < least ? "(" + code.text + ")" : code.text;
}

Code written(Language language, const std::string& function, const std::vector<Code>& operands) {
  static constexpr std::array spaces = {"np.", "xt::", "std::"};
  const auto at = static_cast<std::size_t>(language);
  const auto name = spaces.at(at) + function;
  const auto found = forms().find(function);
  const auto [sign, binding] = found == forms().end() ? Form{name.c_str()} : found->second.at(at);
  if (binding == Code::unary)
    return {sign + bound(operands[0], language == Language::numpy ? Code::unary : Code::primary), binding};
  if (binding != Code::primary) {
    const auto next = static_cast<Code::Binding>(binding + 1);
    return {fmt::format("{} {} {}", bound(operands[0], binding == Code::relation ? next : binding), sign,
                        bound(operands[1], next)),
            binding};
  }
  if (*sign == '.') return {bound(operands[0], Code::primary) + sign};
  std::vector<std::string> texts;
  for (const auto& operand : operands) texts.push_back(operand.text);
  return {fmt::format("{}({})", sign, fmt::join(texts, ", "))};
}

Array::Type Scope::type_of(const std::string& name) const {
  const auto& view = tensor(name);
  const auto* definition = sheet_.definition_of(original(name));
  if (view.is_truth || (definition != nullptr && is_truth(definition->expr))) return Array::Type::truth;
  return view.is_whole ? Array::Type::whole : Array::Type::real;
}

Axes Scope::kept(Axes axes) const {
  std::erase_if(axes, [this](const auto& axis) { return drops(axis) || axis == along_; });
  return axes;
}

Axes Scope::axes_of(const std::string& name) const {
  return kept(tensor(name).axes);
}

const std::string& Scope::original(const std::string& name) const {
  const auto found = originals_.find(name);
  return found == originals_.end() ? name : found->second;
}

std::string Scope::fresh(const std::string& wish) {
  const auto is_taken = [this](const std::string& name) {
    return std::find(taken_.begin(), taken_.end(), name) != taken_.end() ||
           std::any_of(sheet_.tensors().begin(), sheet_.tensors().end(),
                       [&](const auto& tensor) { return identifier(tensor.first) == name; });
  };
  auto name = identifier(prefix_ + wish);
  for (int i = 2; is_taken(name); ++i) name = identifier(prefix_ + wish) + "_" + std::to_string(i);
  taken_.push_back(name);
  return name;
}

std::vector<Definition> Scope::without_again(const Definition& definition) {
  std::vector<Definition> all;
  auto expr = plain(definition.expr, {}, all);
  all.push_back({definition.name, definition.axes, std::move(expr)});
  return all;
}

/// `x` with other names for what `changed` names, and with the names of new steps for what it computes again.
Expr Scope::plain(const Expr& x, const Names& changed, std::vector<Definition>& before) {
  if (x->op == Op::again) return computed_again(x, changed, before);
  const auto with_plain_parts = with_parts(x, [&](const Expr& part) { return plain(part, changed, before); });
  const auto found = changed.find(x->name);
  if (x->op != Op::entry || found == changed.end()) return with_plain_parts;
  return entry(found->second, with_plain_parts->parts);
}

Expr Scope::computed_again(const Expr& x, const Names& outer, std::vector<Definition>& before) {
  auto changed = outer;
  const auto add = [&](const std::string& name, const Axes& axes, Expr expr) {
    const auto other = fresh(name + "_again");
    originals_[other] = name;
    before.push_back({other, axes, std::move(expr)});
    return other;
  };
  for (std::size_t i = 0; i < x->parts.size(); ++i) {
    const auto& name = x->changed[i];
    changed[name] = add(name, sheet_.form(name).axes, plain(x->parts[i], outer, before));
  }
  const auto is_changed = [&](const auto& name) { return changed.count(name) > 0; };
  for (const auto& step : sheet_.computed_anew(x, is_changed)) {
    if (is_changed(step.name)) continue;
    if (sheet_.recurrence_of(step.name) != nullptr)
      throw Error(0, fmt::format("{} is computed place by place, and again in no line of code", step.name));
    changed[step.name] = add(step.name, step.axes, plain(step.expr, changed, before));
  }
  const auto found = changed.find(x->name);
  return entry(found == changed.end() ? x->name : found->second, positions(sheet_.form(x->name).axes));
}

namespace numpy {

namespace {

using Kind = Array::Kind;
using Type = Array::Type;

using enum Code::Binding;

std::string number_text(double number) {
  if (std::isnan(number)) return "np.nan";
  if (std::isinf(number)) return number < 0.0 ? "-np.inf" : "np.inf";
  auto text = fmt::format("{}", number);
  const bool is_too_long = std::abs(number) >= 2147483648.0 && text.find_first_of(".e") == std::string::npos;
  return is_too_long ? text + ".0" : text;
}

std::string tuple(const std::vector<std::size_t>& numbers) {
  return fmt::format("({}{})", fmt::join(numbers, ", "), numbers.size() == 1 ? "," : "");
}

class NumPy {
 public:
  explicit NumPy(const Sheet& sheet) : sheet_(sheet) {}

  std::string operator()(const Array& x) const { return read(x).text; }
  std::string whole(const Array& x) const { return bound(x) + ".astype(int)"; }

  /// "[t - 1]"; Python counts places before the first one from the end.
  static std::string place(const Array::Row& row) {
    std::string index;
    for (std::size_t i = 0; i < row.axis; ++i) index += ":, ";
    if (row.offset < 0) return fmt::format("[{}{} - {}]", index, row.place, -row.offset);
    if (row.offset > 0) return fmt::format("[{}({} + {}) % {}]", index, row.place, row.offset, row.length);
    return fmt::format("[{}{}]", index, row.place);
  }

 private:
  Code read(const Array& x) const {
    switch (x.kind) {
      case Kind::number:
        return number(x);
      case Kind::variable:
        return {x.name + (x.row ? place(*x.row) : "")};
      case Kind::positions:
        return {fmt::format("np.arange({})", sheet_.size_of(x.axes[0]))};
      case Kind::function:
        return function(x, x.axes);
      case Kind::reduction:
        return reduction(x, false);
      case Kind::product:
        return {bound(x.parts[0], product) + " @ " + bound(x.parts[1], unary), product};
      case Kind::sums:
        return einsum(x);
      case Kind::transposed:
        return transposed(x);
      case Kind::reshaped:
        return {fmt::format("{}.reshape({})", bound(x.parts[0]), fmt::join(sheet_.shape_of(x.axes), ", "))};
      case Kind::taken:
        return taken(x);
      case Kind::broadcast:
        return {x.parts[0].axes.empty() && x.parts[0].number
                    ? fmt::format("np.full({}, {})", tuple(sheet_.shape_of(x.axes)), read(x.parts[0]).text)
                    : fmt::format("np.broadcast_to({}, {})", fit(x.parts[0], x.axes).text,
                                  tuple(sheet_.shape_of(x.axes)))};
      case Kind::joined:
      case Kind::stacked:
        return joined(x);
    }
    return {};
  }

  static Code number(const Array& x) {
    if (!x.name.empty()) return {fmt::format("{}.shape[{}]", identifier(x.name), x.place)};
    if (x.type == Type::truth) return {*x.number != 0.0 ? "True" : "False"};
    return {number_text(*x.number), std::signbit(*x.number) ? unary : primary};
  }

  std::string bound(const Array& x, Code::Binding least = primary) const {
    return formula::bound(read(x), least);
  }

  /// So that it broadcasts to `target`.
  Code fit(const Array& x, const Axes& target) const {
    if (fits(x.axes, target)) return read(x);
    if (x.kind == Kind::reduction && fits(x.parts[0].axes, target)) return reduction(x, true);
    if (is_of_one_operand(x)) return function(x, target);
    return {fmt::format("{}[{}]", bound(x), fmt::join(signs_along(x.axes, target, ":", "None"), ", "))};
  }

  Code function(const Array& x, const Axes& axes) const {
    if (x.name == "^") return raised(x, axes);
    std::vector<Code> operands;
    for (const auto& part : x.parts) operands.push_back(fit(part, axes));
    const bool repeats = x.name == "+" || x.name == "and" || x.name == "or";
    if (repeats && x.parts[1].name == x.name) operands[1].binding = primary;
    if (x.name == "mod" && !x.parts[1].number)  // of a whole number by 0 is no number
      operands[1] = {"(1.0 * " + formula::bound(operands[1], unary) + ")"};
    return written(Language::numpy, x.name, operands);
  }

  /// NumPy refuses negative powers of whole numbers, and theirs may be too large.
  Code raised(const Array& x, const Axes& axes) const {
    const auto as_real = [&](const Array& part, const std::string& text) {
      if (part.type == Type::real) return text;
      return part.number ? number_text(*part.number) + ".0" : text + ".astype(float)";
    };
    const auto right = fit(x.parts[1], axes);
    auto base = formula::bound(fit(x.parts[0], axes), primary), exponent = formula::bound(right, unary);
    if (x.type == Type::real && x.parts[0].number) base = as_real(x.parts[0], base);
    if (x.type == Type::real && !x.parts[0].number && (!x.parts[1].number || *x.parts[1].number < 0.0))
      exponent = as_real(x.parts[1], x.parts[1].number ? exponent : formula::bound(right, primary));
    if (*base.begin() == '-') base = "(" + base + ")";
    return {base + " ** " + exponent, power};
  }

  Code reduction(const Array& x, bool keeps) const {
    const auto& axes = x.parts[0].axes;
    const auto places = places_in(axes, x.over);
    std::vector<std::string> arguments;
    if (places.size() < axes.size())
      arguments.push_back(places.size() > 1              ? "axis=" + tuple(places)
                          : places[0] + 1 == axes.size() ? "axis=-1"
                                                         : fmt::format("axis={}", places[0]));
    if (keeps) arguments.push_back("keepdims=True");
    return {fmt::format("{}.{}({})", bound(x.parts[0]), x.name, fmt::join(arguments, ", "))};
  }

  Code einsum(const Array& x) const {
    std::map<std::string, char> letters;
    std::set<char> used;
    std::vector<std::string> specifications, operands;
    const auto letter_of = [&](const std::string& axis) {
      if (letters.count(axis) > 0) return letters[axis];
      for (const char c : axis + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        if (std::isalpha(static_cast<unsigned char>(c)) != 0 && used.insert(c).second)
          return letters[axis] = c;
      return ' ';
    };
    const auto letters_of = [&](const Axes& axes) {
      std::string all;
      for (const auto& axis : axes) all += letter_of(axis);
      return all;
    };
    for (const auto& part : x.parts) {
      specifications.push_back(letters_of(part.axes));
      operands.push_back(read(part).text);
    }
    return {fmt::format("np.einsum(\"{}->{}\", {})", fmt::join(specifications, ","), letters_of(x.axes),
                        fmt::join(operands, ", "))};
  }

  Code transposed(const Array& x) const {
    const auto text = bound(x.parts[0]);
    const auto places = places_in(x.parts[0].axes, x.axes);
    std::vector<std::size_t> moved;
    if (places.size() == 2) return {text + ".T"};
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i] != i) moved.push_back(i);
    if (moved.size() == 2) return {fmt::format("{}.swapaxes({}, {})", text, moved[0], moved[1])};
    return {fmt::format("{}.transpose({})", text, fmt::join(places, ", "))};
  }

  Code taken(const Array& x) const {
    const bool is_grid = std::all_of(x.indices.begin(), x.indices.end(), [](const auto& one) {
      return one.kind == Array::Index::Kind::array || one.kind == Array::Index::Kind::one;
    });
    std::vector<std::string> index;
    for (const auto& one : x.indices) index.push_back(index_text(x, one, is_grid));
    while (index.back() == ":") index.pop_back();
    return {fmt::format("{}[{}]", bound(x.parts[0]), fmt::join(index, ", "))};
  }

  std::string index_text(const Array& x, const Array::Index& index, bool is_grid) const {
    using Kind = Array::Index::Kind;
    if (index.kind == Kind::all) return ":";
    if (index.kind == Kind::one) return fmt::format("{}", index.begin);
    if (index.kind == Kind::array)
      return (is_grid ? fit(x.parts[index.part], x.axes) : read(x.parts[index.part])).text;
    const auto end = index.begin + index.step * static_cast<std::ptrdiff_t>(index.count);
    return fmt::format("{}:{}{}", index.begin == 0 ? "" : std::to_string(index.begin),
                       end < 0 ? "" : std::to_string(end),
                       index.step == 1 ? "" : fmt::format(":{}", index.step));
  }

  /// "np.concatenate([A, B], axis=1)" along an axis of the parts, or "np.stack([A, B], axis=1)" along a new
  /// one.
  Code joined(const Array& x) const {
    const auto place = place_in(x.axes, x.over[0]);
    const bool is_new = x.kind == Kind::stacked;
    auto axes = x.axes;
    if (is_new) axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(place));
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < x.parts.size(); ++i) {
      auto shape = sheet_.shape_of(axes);
      if (!is_new) shape[place] = x.indices[i].count;
      const auto part = fit(x.parts[i], axes).text;
      parts.push_back(x.parts[i].axes == axes ? part
                                              : fmt::format("np.broadcast_to({}, {})", part, tuple(shape)));
    }
    const auto axis = place == 0 ? "" : fmt::format(", axis={}", place);
    return {fmt::format("np.{}([{}]{})", is_new ? "stack" : "concatenate", fmt::join(parts, ", "), axis)};
  }

  const Sheet& sheet_;
};

/// Of Python and of C++, and what the programs have.
constexpr std::string_view keywords =
    " False None True and as assert async await break class continue def del elif else except finally for "
    "from global if import in is lambda math nonlocal not np or pass raise range return reversed try "
    "while with yield alignas alignof asm auto bool case catch char concept const constexpr decltype "
    "default delete do double enum explicit export extern false float friend goto inline int lab long "
    "main mutable namespace new noexcept nullptr operator private protected public register requires "
    "short signed sizeof static std struct switch template this throw true typedef typeid typename union "
    "unsigned using virtual void volatile xt ";

}  // namespace

}  // namespace numpy

std::string identifier(const std::string& name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  if (std::isdigit(static_cast<unsigned char>(result.front())) != 0) result.insert(0, "_");
  return numpy::keywords.find(" " + result + " ") == std::string_view::npos ? result : result + "_";
}

namespace {

std::vector<std::string> lines_of(Scope& scope, const Definition& definition) {
  const auto& sheet = scope.sheet();
  const numpy::NumPy text(sheet);
  std::vector<std::string> lines;
  const auto all = in_whole_arrays(scope, definition);
  for (const auto& line : all)
    lines.push_back(fmt::format("{}{} = {}", line.name, line.row ? numpy::NumPy::place(*line.row) : "",
                                text(line.value)));
  const auto* tensor = sheet.find_form(definition.name);
  if (tensor != nullptr && tensor->is_whole && all.back().value.type == Array::Type::real)
    lines.back() = fmt::format("{} = {}", all.back().name, text.whole(all.back().value));
  return lines;
}

/// Arrays that are filled place by place, those of one shape in a line.
std::vector<std::string> empty_arrays(const Scope& scope, const std::vector<Definition>& steps) {
  std::vector<std::pair<std::vector<std::size_t>, std::vector<std::string>>> arrays;
  for (const auto& step : steps) {
    const auto shape = scope.sheet().shape_of(scope.kept(step.axes));
    const auto known =
        std::find_if(arrays.begin(), arrays.end(), [&](const auto& one) { return one.first == shape; });
    auto& names =
        known == arrays.end() ? arrays.emplace_back(shape, std::vector<std::string>()).second : known->second;
    names.push_back(identifier(step.name));
  }
  std::vector<std::string> lines;
  for (auto& [shape, names] : arrays) {
    if (names.size() > 1) shape.insert(shape.begin(), names.size());
    lines.push_back(fmt::format("{} = np.zeros({})", fmt::join(names, ", "), numpy::tuple(shape)));
  }
  return lines;
}

std::vector<std::string> loop_of(const Recurrence& together, Scope& scope) {
  auto lines = empty_arrays(scope, together.steps);
  const auto length = scope.sheet().size_of(together.axis);
  scope.go_along(together.axis);
  const auto range = fmt::format("range({})", length);
  const auto places = together.is_reversed ? "reversed(" + range + ")" : range;
  lines.push_back(fmt::format("for {} in {}:", scope.place(), places));
  for (const auto& step : together.steps)
    for (const auto& line : lines_of(scope, step)) lines.push_back("    " + line);
  return lines;
}

}  // namespace

std::vector<std::string> numpy_lines(const Sheet& sheet, const Definition& definition, bool drops_batch) {
  Scope scope(sheet, drops_batch);
  const auto* together = sheet.recurrence_of(definition.name);
  if (together == nullptr) return lines_of(scope, definition);
  const bool is_first = together->steps.front().name == definition.name;
  return is_first ? loop_of(*together, scope) : std::vector<std::string>();
}

std::vector<std::string> numpy_functions(const Definition& definition) {
  std::vector<std::string> lines;
  for (const std::string format : {"float32", "float16", "bfloat16"}) {
    if (!any_part(definition.expr, [&](const Expr& part) { return is_call(part, format); })) continue;
    if (format == "bfloat16")
      lines.insert(lines.end(), {"def bfloat16(x):  # each number rounded to half the bits of float32",
                                 "    bits = np.float32(x).view(np.uint32)",
                                 "    bits = bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000",
                                 "    return np.uint32(bits).view(np.float32).astype(float)"});
    else
      lines.push_back(
          fmt::format("def {0}(x): return np.{0}(x).astype(float)  # each number rounded", format));
  }
  return lines;
}

}  // namespace formula
