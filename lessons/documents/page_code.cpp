#include <algorithm>
#include <map>
#include <utility>

#include "attn/text/width.hpp"
#include "formula/numpy.hpp"
#include "lessons/documents/page_formula.hpp"

namespace lessons {

namespace {

constexpr std::string_view equals = " = ";

/// "Q, K, V = X @ W_Q, X @ W_K, X @ W_V" for three products of the same matrix that stand one after the
/// other.
std::vector<std::string> with_projections_joined(const std::vector<std::string>& lines) {
  constexpr std::size_t together = 3, widest = 60;
  const auto factor = [&](const std::string& line) {
    const auto begin = line.find(equals) + equals.size(), end = line.find(" @ ", begin);
    return end == line.npos ? "" : line.substr(begin, end - begin);
  };
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string names, values;
    for (std::size_t j = i; j < std::min(i + together, lines.size()) && factor(lines[j]) == factor(lines[i]);
         ++j) {
      const auto* const comma = j == i ? "" : ", ";
      names += comma + lines[j].substr(0, lines[j].find(equals));
      values += comma + lines[j].substr(lines[j].find(equals) + equals.size());
    }
    const bool are_three = std::count(names.begin(), names.end(), ',') + 1 == together;
    if (!are_three || factor(lines[i]).empty() || names.size() + values.size() > widest) {
      joined.push_back(lines[i]);
      continue;
    }
    joined.push_back(names + " = " + values);
    i += together - 1;
  }
  return joined;
}

constexpr std::size_t widest_line = 76;

/// The last place behind one of these signs at which a line of code may be cut: in so many parentheses. 0
/// where there is none.
std::size_t cut_behind(std::string_view signs, int least_depth, int most_depth, const std::string& line) {
  std::size_t cut = 0;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < std::min(widest_line, line.size()); ++i) {
    if (line[i] == '(' || line[i] == '[') ++depth;
    if (line[i] == ')' || line[i] == ']') --depth;
    const bool may_be_cut = least_depth <= depth && depth <= most_depth && line[i + 1] == ' ';
    if (may_be_cut && line[i] != ' ' && signs.find(line[i]) != signs.npos) cut = i + 1;
  }
  return cut;
}

bool is_wide(const std::string& line) {
  return attn::display_width(line) > widest_line;
}

/// A line of NumPy that stays too wide is put in parentheses and cut where it is in as few of them as can be.
void add_in_parentheses(std::vector<std::string>& lines, std::string line) {
  constexpr int deepest = 8;
  const auto value = line.find(equals) + equals.size();
  line.insert(value, 1, '(').push_back(')');
  const auto place_from = [&](int least, std::string_view signs = "+-*/,") {
    std::size_t at = 0;
    for (int most = least; at <= value && most <= deepest; ++most) at = cut_behind(signs, least, most, line);
    return at;
  };
  for (int least = 1; is_wide(line); least = 0) {
    auto at = place_from(least);
    if (at <= value) at = place_from(-deepest);
    if (at <= value) at = place_from(least, "@");
    if (at <= value) break;
    lines.push_back(line.substr(0, at));
    line = std::string(value + 1, ' ') + line.substr(at + 1);
  }
  lines.push_back(line);
}

/// A line that is wider than a page is cut behind the last minus sign in parentheses that fits.
std::vector<std::string> cut_to_page(const std::vector<std::string>& lines) {
  constexpr int deepest = 8;
  std::vector<std::string> all;
  for (const auto& line : lines) {
    const auto open = line.find('('), cut = is_wide(line) ? cut_behind("-", 1, deepest, line) : 0;
    const auto rest = cut == 0 ? "" : std::string(open + 1, ' ') + line.substr(cut + 1);
    const bool is_numpy = line.back() != ';' && line.find(equals) != line.npos;
    if (cut > 0 && (!is_wide(rest) || !is_numpy)) {
      all.push_back(line.substr(0, cut));
      all.push_back(rest);
    } else if (is_wide(line) && is_numpy) {
      add_in_parentheses(all, line);
    } else {
      all.push_back(line);
    }
  }
  return all;
}

/// Names of up to eight letters are filled up with blanks, so that their equals signs stand below each other.
std::vector<std::string> with_aligned_equals(std::vector<std::string> lines) {
  constexpr std::size_t widest = 8;
  std::size_t width = 0;
  const auto name_of = [](const std::string& line) { return line.substr(0, line.find(equals)); };
  for (const auto& line : lines)
    if (const auto name = name_of(line); name.size() <= widest) width = std::max(width, name.size());
  for (auto& line : lines)
    if (const auto name = name_of(line); name.size() < width)
      line.insert(name.size(), width - name.size(), ' ');
  return lines;
}

/// The wanted steps, and those that lead to them from `sources` on. Steps that are computed together are
/// needed together.
template <class IsWanted>
std::set<std::string> needed_for(const formula::Sheet& sheet, const IsWanted& is_wanted,
                                 const std::set<std::string>& sources = {}) {
  std::set<std::string> needed;
  const auto is_needed = [&](const formula::Definition& step) {
    return (is_wanted(step.name) || needed.count(step.name) > 0) && sources.count(step.name) == 0;
  };
  const auto& steps = sheet.definitions();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const auto* together = sheet.recurrence_of(step->name);
    const bool is_one_needed = together == nullptr
                                   ? is_needed(*step)
                                   : std::any_of(together->steps.begin(), together->steps.end(), is_needed);
    if (!is_one_needed) continue;
    needed.insert(step->name);
    for (const auto& operand : sheet.operands_with(*step)) needed.insert(operand);
  }
  return needed;
}

/// "X" of "from X": the tensors with which the code begins.
std::set<std::string> sources_in(const std::vector<std::string>& results) {
  constexpr std::string_view from = "from ";
  std::set<std::string> sources;
  for (const auto& result : results)
    if (result.starts_with(from)) sources.insert(result.substr(from.size()));
  return sources;
}

/// The steps with which the code ends: those of `results` that the run has, or the last of all.
std::set<std::string> ends_of(const std::vector<formula::Definition>& steps,
                              const std::vector<std::string>& results) {
  std::set<std::string> ends;
  for (const auto& step : steps)
    if (std::find(results.begin(), results.end(), step.name) != results.end()) ends.insert(step.name);
  if (ends.empty() && results.empty() && !steps.empty()) ends.insert(steps.back().name);
  return ends;
}

bool goes_over_samples(const formula::Expr& x) {
  return (x->op == formula::Op::over && x->axis == "batch") ||
         std::any_of(x->parts.begin(), x->parts.end(), goes_over_samples);
}

}  // namespace

void tell_code_of(Workbench& bench, const formula::Sheet& sheet, const std::vector<std::string>& results,
                  const std::set<std::string>& hidden) {
  const auto& steps = sheet.definitions();
  const auto ends = ends_of(steps, results);
  const auto sources = sources_in(results);
  const auto needed = needed_for(
      sheet, [&](const auto& name) { return ends.count(name) > 0; }, sources);
  const auto forward = needed_for(sheet, [&](const auto& name) { return sources.count(name) > 0; });
  const auto shown = needed_for(sheet, [&](const auto& name) { return hidden.count(name) == 0; });
  const bool is_xtensor = bench.options.code == "xtensor", is_of_one_sample = bench.plan.is_batched();
  std::map<std::string, std::vector<std::string>> lines, functions;  // by the group of the note
  std::set<std::string> known;
  bool takes_more = false;  // from the forward pass than where the code begins
  for (const auto& step : steps) {
    if (needed.count(step.name) + shown.count(step.name) == 0) continue;
    if (is_of_one_sample && goes_over_samples(step.expr)) continue;
    const std::string group = forward.count(step.name) > 0  ? "forward"
                              : needed.count(step.name) > 0 ? ""
                                                            : "rest";
    for (const auto& operand : sheet.operands_with(step))
      takes_more = takes_more || (group.empty() && forward.count(operand) > sources.count(operand));
    auto& list = lines[group];
    if (!is_xtensor)
      for (const auto& line : formula::numpy_functions(step)) functions[group].push_back(line);
    const auto of_step =
        is_xtensor ? formula::xtensor_lines(sheet, step, true) : formula::numpy_lines(sheet, step, true);
    list.insert(list.end(), of_step.begin(), of_step.end());
  }
  for (const std::string group : {"forward", "", "rest"}) {
    auto of_group = lines[group];
    if (of_group.empty()) continue;
    if (!is_xtensor && group != "rest") of_group = with_projections_joined(of_group);
    of_group = cut_to_page(with_aligned_equals(std::move(of_group)));
    std::vector<std::string> called;
    for (const auto& line : functions[group])
      if (known.insert(line).second) called.push_back(line);
    of_group.insert(of_group.begin(), called.begin(), called.end());
    if (group.empty() && takes_more)
      of_group.insert(of_group.begin(), std::string(is_xtensor ? "//" : "#") +
                                            " continues the code before it, which --all shows");
    group.empty() ? bench.code(of_group) : bench.trace.within(group, [&] { bench.code(of_group); });
  }
}

}  // namespace lessons
