#include "lessons/documents/documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/utf8.hpp"
#include "document/prose.hpp"
#include "formula/functions.hpp"
#include "formula/parse.hpp"
#include "lessons/documents/meanings.hpp"
#include "trace/file.hpp"

namespace lessons {

namespace {

constexpr std::size_t deepest = 8;
constexpr double most_repetitions = 10'000;

/// Formulas and inputs, as they stand in a document and its parts.
class Declarations {
 public:
  /// With `options` parts are repeated as these say it.
  Declarations(const document::Document& document, const Options* options)
      : document_(document), options_(options) {}

  std::vector<Declared> all;

  /// What the parts and conditions around a block make of it.
  struct Around {
    Scope scope{};
    std::vector<formula::Expr> conditions{};
    bool before_actions = false;  ///< which may set a name to another number
  };

  void add(const std::vector<document::Block>& blocks, const Around& around) {
    using Kind = document::Block::Kind;
    auto here = around;
    for (const auto& block : blocks) {
      if (block.kind == Kind::heading) {
        here = around;
        here.scope.marks.words.insert(block.marks.words.begin(), block.marks.words.end());
        if (block.marks.condition)
          here.conditions.push_back(with_names(*block.marks.condition, around.scope.counters));
      }
      if (block.kind == Kind::formula) add(block, here);
      if (block.kind == Kind::choice) add_choice(*block.choice, around);
      if (block.kind == Kind::use && around.scope.depth <= deepest) use(block, around);
    }
  }

  /// Whether an input is there under the options; none where the run decides.
  std::optional<bool> is_there(const Declared& declared) const {
    bool is_known = true;
    for (const auto& condition : declared.conditions) {
      const auto value = number(condition, {.before_actions = true});
      if (value == 0.0) return false;
      is_known = is_known && value.has_value();
    }
    return is_known ? std::optional(true) : std::nullopt;
  }

 private:
  void use(const document::Block& block, const Around& around) {
    const auto repetition = options_ == nullptr ? std::nullopt : repetition_of(block);
    std::optional<double> from, to;
    if (repetition) from = number(repetition->from, around), to = number(repetition->to, around);
    if (!from || !to) return add(part_used_by(block).blocks(), within(block, around));
    auto here = around;
    for (const double value : values_of_counter(*repetition, *from, *to, block.place)) {
      here.scope.counters[repetition->counter] = value;
      add(part_used_by(block).blocks(), within(block, here));
    }
  }

  /// A number that follows from options, counters and what the front matter sets.
  std::optional<double> number(const formula::Expr& x, const Around& around, std::size_t depth = 0) const {
    return formula::number_in(x, [&](const formula::Expr& part) -> std::optional<double> {
      const auto& name = part->name;
      if (part->op != formula::Op::name) return std::nullopt;
      const auto& counters = around.scope.counters;
      if (const auto counter = counters.find(name); counter != counters.end()) return counter->second;
      for (const auto& declared : all)
        if (declared.id == name && !declared.origin.option.empty()) {
          const auto counts = counts_of_option(*options_, declared.origin.option);
          return counts.size() == 1 ? std::optional(static_cast<double>(counts[0])) : std::nullopt;
        }
      const auto& settings = settings_of(name);
      if (settings.empty() || depth == deepest) return option_in_formulas(*options_, name);
      if (around.before_actions && may_change(settings)) return std::nullopt;
      return number(settings[0].expr, around, depth + 1);
    });
  }

  struct Setting {
    std::string_view key;
    formula::Expr expr;
  };

  const std::vector<Setting>& settings_of(const std::string& name) const {
    if (settings_.empty())
      for (const auto& [key, value] : document_.front_matter)
        for (const auto& one : document::cut_at_commas(key.starts_with("set") ? value.text() : "")) {
          auto set = formula::parse_definition(one);
          settings_[set.name].push_back({key, std::move(set.expr)});
        }
    return settings_[name];
  }

  /// Whether a name may have another value later: from another line, or, where it begins as a number, from an
  /// action.
  static bool may_change(const std::vector<Setting>& settings) {
    return settings.size() > 1 || settings[0].key != "set" || settings[0].expr->op == formula::Op::number;
  }

  /// The name with the numbers in it that are known.
  std::string with_values(const std::string& name, const Around& around) const {
    if (options_ == nullptr || !formula::has_formulas(name)) return name;
    bool is_known = true;
    auto result = formula::with_values(name, [&](const formula::Expr& x) {
      const auto value = number(x, around);
      is_known = is_known && value.has_value();
      return value.value_or(0.0);
    });
    return is_known ? result : name;
  }

  /// Of `where(shared, kv_head, head)` the name that the options choose; the first where the run decides.
  /// What is no such choice stays.
  std::string chosen(const document::Block& use, const std::string& text, const Around& around) const {
    if (!text.starts_with("where(")) return text;
    auto x = document::read_formula(use.place, text);
    while (formula::is_call(x, "where")) {
      const auto condition = options_ == nullptr ? std::nullopt : number(x->parts[0], around);
      x = formula::Expr(x->parts[condition == 0.0 ? 2 : 1]);
    }
    return x->op == formula::Op::name ? x->name : text;
  }

  void add(const document::Block& formula, const Around& around) {
    const auto& scope = around.scope;
    const bool is_given = formula.is_input && scope.marks.words.count("given") > 0;
    all.push_back({&formula, scope.id_of(formula), scope.axes_of(formula), around.conditions, is_given,
                   origin_of(formula)});
  }

  /// A branch is there where its condition holds and none before it does.
  void add_choice(const document::Choice<std::vector<document::Block>>& choice, const Around& around) {
    auto others = around;
    for (const auto& branch : choice.branches) {
      auto here = others;
      if (branch.condition) here.conditions.push_back(with_names(*branch.condition, around.scope.counters));
      add(branch.content, here);
      if (branch.condition) others.conditions.push_back(formula::call("not", {here.conditions.back()}));
    }
  }

  Around within(const document::Block& use, Around around) const {
    const std::string under = "under ", is = " = ";
    const auto outside = around.scope;
    auto& scope = around.scope;
    for (const auto& argument : use.call.arguments) {
      if (argument.starts_with(under)) scope.prefix += with_values(argument.substr(under.size()), around);
      const auto equals = argument.find(is);
      if (equals == argument.npos) continue;
      const auto other = with_values(chosen(use, argument.substr(equals + is.size()), around), around);
      scope.results[argument.substr(0, equals)] = outside.name_of(other);
    }
    scope.marks.words.insert(use.marks.words.begin(), use.marks.words.end());
    ++scope.depth;
    return around;
  }

  const document::Document& document_;
  const Options* options_;
  mutable std::map<std::string, std::vector<Setting>> settings_;  ///< of the front matter, once somebody asks
};

/// What a condition is in every run of a lesson that takes these options. Those that it does not take are
/// what they always are; of the others it counts here whether a dimension or a second sentence is given, and
/// whether there is a model. None where it depends on the run.
std::optional<double> always(const formula::Expr& x, const std::vector<std::string_view>& keys,
                             const Options& options) {
  return formula::number_in(x, [&](const formula::Expr& part) -> std::optional<double> {
    const auto& name = part->name;
    if (part->op != formula::Op::name) return std::nullopt;
    if (name == "trained") return options.model.has_value();
    if (name == "source" || name.ends_with("=given")) return option_in_formulas(options, name);
    const auto key = key_of_option(name.substr(0, name.find('=')));
    const bool is_taken = std::find(keys.begin(), keys.end(), key) != keys.end();
    return is_taken ? std::nullopt : option_in_formulas({}, name);
  });
}

constexpr std::pair<std::string_view, Draw> draw_words[] = {
    {"normal", Draw::normal}, {"embedding", Draw::embedding},
    {"weight", Draw::weight}, {"left weight", Draw::left_weight},
    {"zeros", Draw::zeros},   {"ones", Draw::ones},
    {"given", Draw::given},   {"mask", Draw::page},
    {"dropout", Draw::page},  {"lengths", Draw::page},
    {"padding", Draw::page}};

Draw draw_of(const document::Block& block, const Origin& origin) {
  if (!origin.table.empty()) return Draw::given;
  if (!origin.option.empty()) return Draw::option;
  if (!origin.function.name.empty() || !origin.formula.text().empty()) return Draw::page;
  std::vector<std::string_view> valid;
  for (const auto& [word, draw] : draw_words) {
    if (word == block.draw) return draw;
    valid.push_back(word);
  }
  throw document::Error(
      block.place, fmt::format("the input {0} {1}; valid: {0}[…]: and one of {2}", block.definition->name,
                               block.draw.empty() ? "does not say how its numbers come about"
                                                  : fmt::format("is drawn as \"{}\"", block.draw),
                               fmt::join(valid, ", ")));
}

std::string text_in(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none))
    throw attn::Error(fmt::format("{} is a folder; valid: a document, NAME.md", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw attn::Error(fmt::format("{} cannot be read; valid: a document, NAME.md", path));
  std::ostringstream text;
  text << file.rdbuf();
  attn::require_valid_utf8(text.str(), path);
  return text.str();
}

std::string path_of(const std::string& name) {
  std::filesystem::path path;
  for (const auto& folder : attn::data_folders("lessons"))
    if (path = std::filesystem::path(folder) / name; std::filesystem::exists(path)) break;
  return path.string();
}

/// The axis as inputs have it: one with a group, `t5/bucket`, has a length of its own, and one that the front
/// matter has under `at least` may be longer.
std::string extent_in(const document::Document& document, const std::string& axis) {
  if (!has_own_length(axis)) return axis;
  if (axis.find('=') != axis.npos) return name_on_page(axis);
  auto extent = name_on_page(axis) + "=";
  for (const auto& one : document::cut_at_commas(document.front("at least")))
    if (const auto least = formula::parse_definition(one); least.name == axis)
      extent += least.expr->name + "…";
  return extent;
}

}  // namespace

std::optional<Repetition> repetition_of(const document::Block& use) {
  for (const auto& argument : use.call.arguments) {
    const std::string counter = "for ", from_word = " from ", to_word = " to ";
    if (!argument.starts_with(counter)) continue;
    const auto from = argument.find(from_word), to = argument.find(to_word, from);
    if (from == argument.npos || to == argument.npos)
      throw document::Error(
          use.place, fmt::format("\"{}\" does not say how often; valid: for hop from 0 to 3", argument));
    const auto begin = from + from_word.size();
    return Repetition{std::string(attn::trimmed(argument.substr(counter.size(), from - counter.size()))),
                      document::read_formula(use.place, argument.substr(begin, to - begin)),
                      document::read_formula(use.place, argument.substr(to + to_word.size()))};
  }
  return std::nullopt;
}

std::vector<double> values_of_counter(const Repetition& repetition, double from, double to,
                                      const document::Place& place) {
  if (from != std::floor(from) || to != std::floor(to) || !(to - from < most_repetitions))
    throw document::Error(place, fmt::format("for {} from {:g} to {:g}; valid: whole numbers, at most {:g}",
                                             repetition.counter, from, to, most_repetitions));
  std::vector<double> values;
  for (double value = from; value <= to; ++value) values.push_back(value);
  return values;
}

Rule rule_in(const document::Source& rule) {
  constexpr std::string_view begin = ": \"";
  const auto& text = rule.text();
  const auto at = text.find(begin);
  if (at == text.npos || !text.ends_with('"'))
    throw document::Error(rule.place_of(0), "require: what? valid: require: CONDITION: \"WORDS\"");
  return {rule.part(0, at), rule.part(at + begin.size(), text.size() - 1)};
}

std::vector<Rule> rules_in(const document::Document& document) {
  std::vector<Rule> rules;
  for (const auto& [key, value] : document.front_matter)
    if (key == "require") rules.push_back(rule_in(value));
  return rules;
}

bool has_samples(const document::Block& input) {
  return has_batch(draw_of(input, origin_of(input)));
}

std::string without_length(const std::string& axis) {
  return axis.substr(0, axis.find('='));
}

Origin origin_of(const document::Block& input) {
  constexpr std::string_view rows = "rows of ", option = "option ", as = "]: as ", made = "input ";
  Origin origin;
  std::string_view draw = input.draw;
  if (draw.starts_with(rows)) origin.table = draw.substr(rows.size());
  if (draw.starts_with(option)) origin.option = draw.substr(option.size());
  if (const auto at = input.code.text().find(as); at != std::string::npos)
    origin.formula = input.code.part(at + as.size());
  const bool is_input = draw.starts_with(made);
  if (is_input) draw.remove_prefix(made.size());
  const auto open = draw.find('(');
  if (!origin.formula.text().empty() || open == draw.npos || !draw.ends_with(')')) return origin;
  origin.function = {std::string(draw.substr(0, open)),
                     document::cut_at_commas(draw.substr(open + 1, draw.size() - open - 2))};
  origin.may_be_given = is_input;
  return origin;
}

std::vector<Declared> declared_in(const document::Document& document, const Options* options) {
  Declarations declarations(document, options);
  declarations.add(document.blocks(), {});
  return declarations.all;
}

std::vector<Input> inputs_of(const document::Document& document, const std::vector<std::string_view>& keys,
                             const Options& options) {
  const auto is_taken = [&](std::string_view key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  std::vector<Input> inputs;
  Declarations declarations(document, &options);
  declarations.add(document.blocks(), {});
  for (const auto& declared : declarations.all) {
    const auto& [block, id, axes, conditions, is_given, origin] = declared;
    const bool is_left_out = std::any_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
      return always(condition, keys, options) == 0.0;
    });
    if (!block->is_input || is_left_out || !origin.may_be_given) continue;
    if (formula::has_formulas(id)) continue;  // options do not say how often it is there
    if (!origin.option.empty() && !is_taken(origin.option))
      throw document::Error(block->place, fmt::format("{} is no option of the lesson; valid: {}",
                                                      origin.option, fmt::join(keys, ", ")));
    Input input = {.id = id,
                   .axes = axes,
                   .draw = is_given ? Draw::given : draw_of(*block, origin),
                   .option = origin.option,
                   .is_multiplied = origin.table.empty() && origin.function.name.empty(),
                   .rows_of = std::string(origin.table)};
    for (auto& axis : input.axes) axis = extent_in(document, axis);
    const bool may_have_heads = is_taken("heads") || !origin.formula.text().empty();
    if (may_have_heads && !axes.empty() && axes[0] == "head") input.axes[0] = "[head]";
    const auto known =
        std::find_if(inputs.begin(), inputs.end(), [&](const auto& other) { return other.id == input.id; });
    input.is_there = declarations.is_there(declared);
    if (known != inputs.end() && known->is_there != true)
      known->is_there = input.is_there == false ? known->is_there : input.is_there;
    if (known != inputs.end() || block->draw == "lengths") continue;
    if (block->draw == "dropout") input.axes.insert(input.axes.begin(), "[head]");
    inputs.push_back(std::move(input));
  }
  return inputs;
}

const document::Document& document_at(const std::string& path) {
  static std::map<std::string, document::Document> known;
  if (const auto found = known.find(path); found != known.end()) return found->second;
  return known.emplace(path, document::open(path, text_in(path))).first->second;
}

std::string text_of_document(const std::string& name) {
  return text_in(path_of(name));
}

const document::Document& document_named(const std::string& name) {
  return document_at(path_of(name));
}

std::vector<std::filesystem::path> documents_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".md" && file.path().filename() != "README.md")
      files.push_back(file.path());
  std::sort(files.begin(), files.end());
  return files;
}

bool is_document(const std::string& name) {
  return std::filesystem::exists(path_of(name + ".md"));
}

namespace {

/// Whether the file stands in one of the lab's folders of lessons, whose parts may be changed in another.
bool is_of_the_lab(const std::string& file) {
  const auto folders = attn::data_folders("lessons");
  return std::any_of(folders.begin(), folders.end(),
                     [&](const auto& folder) { return file.starts_with(folder + "/"); });
}

/// The part where it stands beside the document, or, for one that a part in a folder of its own uses, beside
/// the document that has the folder.
std::optional<std::string> own_part(const document::Block& use) {
  if (is_of_the_lab(use.place.file)) return std::nullopt;
  const auto folder = std::filesystem::path(use.place.file).parent_path();
  for (const auto& beside : {folder / use.call.name, folder.parent_path() / use.call.name})
    if (std::filesystem::exists(beside)) return beside.string();
  return std::nullopt;
}

const document::Document& find_part(const document::Block& use) {
  try {
    const auto own = own_part(use);
    return own ? document_at(*own) : document_named(use.call.name);
  } catch (const document::Error&) {
    throw;
  } catch (const attn::Error&) {
    std::vector<std::string> parts;
    for (const auto& file : documents_in(attn::data_folders("lessons").back() + "/parts"))
      parts.push_back("parts/" + file.filename().string());
    throw document::Error(use.place,
                          fmt::format("there is no part {}; {}, or a file beside the document", use.call.name,
                                      attn::valid_instead_of(use.call.name, parts)));
  }
}

}  // namespace

const document::Document& part_used_by(const document::Block& use) {
  static std::map<std::pair<std::string, std::string>, const document::Document*> known;
  auto& part = known[{use.place.file, use.call.name}];
  if (part == nullptr) part = &find_part(use);
  return *part;
}

}  // namespace lessons
