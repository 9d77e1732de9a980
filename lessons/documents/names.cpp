#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "attn/text/spelling.hpp"
#include "document/prose.hpp"
#include "formula/parse.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/documents/meanings.hpp"
#include "lessons/workbench/options.hpp"

namespace lessons {

namespace {

using Kind = document::Block::Kind;

/// The names that a document and its parts give to something.
class KnownNames {
 public:
  explicit KnownNames(const document::Document& document) {
    add_front(document);
    add_parts(document.blocks());
    for (const auto& option : document::cut_at_commas(document.front("options")))
      if (const auto name = name_of_option(option); option_in_formulas({}, name)) names_.insert(name);
    for (const auto& declared : declared_in(document)) {
      names_.insert(declared.id);
      names_.insert(declared.block->definition->name);
      for (const auto& axis : declared.axes) names_.insert(without_length(axis));
    }
  }

  bool has(const std::string& name) const {
    constexpr std::string_view given = "=given";
    if (option_in_formulas({}, name)) return true;
    if (name.ends_with(given)) return has(name.substr(0, name.size() - given.size()));
    const auto of_format = name.substr(name.rfind('/') + 1);
    return names_.count(name) > 0 || of_formats.count(of_format) > 0 || is_repeated(name);
  }

  std::vector<std::string> all() const { return {names_.begin(), names_.end()}; }

 private:
  void add_front(const document::Document& document) {
    for (const auto& [key, value] : document.front_matter)
      if (const auto word = key.substr(0, key.find(" if "));
          word == "set" || word == "axes" || word == "page")
        for (const auto& one : document::cut_at_commas(value.text()))
          names_.insert(one.substr(0, one.find(" = ")));
  }

  void add_parts(const std::vector<document::Block>& blocks) {
    for (const auto& block : blocks) {
      if (block.kind == Kind::choice)
        for (const auto& branch : block.choice->branches) add_parts(branch.content);
      if (block.kind != Kind::use) continue;
      const auto& part = part_used_by(block);
      if (const auto repetition = repetition_of(block)) names_.insert(repetition->counter);
      add_front(part);
      add_parts(part.blocks());
      for (const auto& argument : block.call.arguments)
        if (const auto equals = argument.find(" = "); equals != argument.npos) {
          names_.insert(argument.substr(0, equals));
          names_.insert(argument.substr(equals + 3));
        }
    }
  }

  /// The name with # for each number and formula in it.
  static std::string in_any_repetition(const std::string& name) {
    std::string result;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const bool is_digit = name[i] >= '0' && name[i] <= '9';
      if (name[i] == '{') i = std::min(formula::closing_brace(name, i), name.size());
      const bool is_number = is_digit || (i < name.size() && name[i] == '}');
      if (!is_number)
        result += name[i];
      else if (!result.ends_with('#'))
        result += '#';
    }
    return result;
  }

  /// Whether it is `hop=1/m` or `hop={last}/m` of a step that is there as `hop={hop}/m`.
  bool is_repeated(const std::string& name) const {
    return std::any_of(names_.begin(), names_.end(), [&](const std::string& known) {
      return formula::has_formulas(known) && in_any_repetition(known) == in_any_repetition(name);
    });
  }

  inline static const std::set<std::string> of_formats = {
      "unit_roundoff", "largest_number", "exp_overflows_above", "exp_vanishes_below", "bytes"};
  std::set<std::string> names_ = {"trained",  "batched", "padded",     "words",   "has_mask",
                                  "set",      "defined", "many_heads", "lengths", "batch",
                                  "rounding", "given",   "drawn"};
};

/// Goes through all names that a document speaks of.
class Names {
 public:
  using See = std::function<void(const std::string& name, const document::Place& place, bool is_in_prose)>;
  explicit Names(See see) : see_(std::move(see)) {}

  bool uses_parts = false;  ///< what it has gone through

  using PlaceOf = std::function<document::Place(std::size_t byte)>;

  void look_into(const formula::Expr& x, const PlaceOf& place_of) {
    using formula::Op;
    const bool has_name = x->op != Op::number && x->op != Op::call && x->op != Op::over;
    if (has_name) see(x->name, place_of(x->at));
    if (x->op == Op::over) see(x->axis, place_of(x->at));
    for (const auto& name : x->changed) see(name, place_of(x->at));
    for (const auto& part : x->parts) look_into(part, place_of);
  }

  void look_into(const std::optional<formula::Expr>& x, const document::Place& place) {
    if (x) look_into(*x, PlaceOf([&](std::size_t) { return place; }));
  }

  void look_into(const document::Marks& marks, const document::Place& place) {
    look_into(marks.condition, place);
    for (const auto& word : marks.words) look_into(word.second, place);
    if (!marks.rounded_as.text().empty()) look_into(marks.rounded_as);
  }

  void look_into(const document::Source& formula) {
    look_into(document::read_formula(formula), PlaceOf([&](std::size_t at) { return formula.place_of(at); }));
  }

  void look_into(const document::Row& row) {
    const auto see_axes = [&](const document::Each& each) {
      for (const auto& axis : each.axes) see(axis.text(), axis.place_of(0));
    };
    see_axes(row.each);
    for (const auto& cell : row.cells) {
      see_axes(cell.each);
      look_into(cell.prose);
    }
  }

  void look_into(const document::Prose& prose) {
    const bool was_in_prose = std::exchange(is_in_prose_, true);
    for (const auto& piece : prose) {
      look_into(piece.value, piece.place);
      if (piece.call) look_into(*piece.call, piece.place);
      if (piece.choice) look_into(*piece.choice, piece.place);
    }
    is_in_prose_ = was_in_prose;
  }

  template <class Content>
  void look_into(const document::Choice<Content>& choice, const document::Place& place) {
    for (const auto& branch : choice.branches) {
      look_into(branch.condition, place);
      look_into(branch.content);
    }
  }

  /// `{token(key, argmax(key) weights)}`: an axis and a formula; `{shape(Q)}`: a tensor.
  void look_into(const document::Call& call, const document::Place& place) {
    if (call.name == "call" || call.name == "option" || call.arguments.empty()) return;
    see(call.arguments.front(), place);
    if (call.arguments.size() > 1)
      look_into(std::optional(document::read_formula(place, call.arguments[1])), place);
  }

  void look_into(const std::vector<document::Block>& blocks) {
    for (const auto& block : blocks) look_into(block);
  }

  void look_into(const document::Block& block) {
    uses_parts = uses_parts || block.kind == Kind::use;
    look_into(block.marks, block.place);
    look_into(block.prose);
    for (const auto& row : block.rows) look_into(row);
    if (block.definition)
      look_into(block.definition->expr, PlaceOf([&](std::size_t at) { return block.code.place_of(at); }));
    if (block.kind == Kind::flow)
      for (const auto& name : block.call.arguments)
        see(name.starts_with("from ") ? name.substr(5) : name, block.place);
    if (block.kind == Kind::label) see(block.call.arguments.front(), block.place);
    if (block.kind == Kind::item) look_into_item(block);
    if (block.choice) look_into(*block.choice, block.place);
  }

  /// A command, which may have values in it, or a claim.
  void look_into_item(const document::Block& item) {
    const auto& code = item.code.text();
    if (code.starts_with("attnlab ")) return look_into(document::read_prose(item.code));
    if (code.starts_with("do ")) return;
    const auto sides = sides_of(item);
    look_into(sides.left);
    look_into(sides.right);
  }

 private:
  /// A name may have formulas in it.
  void see(const std::string& name, const document::Place& place) {
    see_(name, place, is_in_prose_);
    formula::with_values(name, [&](const formula::Expr& x) {
      look_into(std::optional(x), place);
      return 0.0;
    });
  }

  See see_;
  bool is_in_prose_ = false;
};

/// The options that a document takes by speaking of them.
const std::set<std::string> speaks_by_name = {"causal",  "window", "dropout", "temperature",
                                              "d-model", "d-k",    "d-v",     "heads"};

/// Those of these that the document takes without a word on them. `used` are the names in its formulas. An
/// option of --help that changes nothing misleads.
std::vector<std::string> options_without_use(const document::Document& document, std::set<std::string> used) {
  for (const auto& declared : declared_in(document)) {
    for (const auto& axis : declared.block->definition->axes) used.insert(axis.substr(axis.find('=') + 1));
    if (declared.block->draw == "mask") used.insert({"causal", "window"});
    if (declared.block->draw == "dropout") used.insert("dropout");
  }
  std::vector<std::string> found;
  const auto source = document.front_source("options");
  for (const auto& option : document::cut_at_commas(source.text())) {
    const auto name = name_of_option(option), axis = option == "heads" ? "head" : name;
    if (speaks_by_name.count(option) > 0 && used.count(name) + used.count(axis) == 0)
      found.push_back(
          document::Error(source.place_of(source.text().find(option)),
                          fmt::format("no formula has {}; valid: options that change something", name))
              .what());
  }
  return found;
}

/// What is wrong with a name that means nothing.
std::string unknown(const std::string& name, const document::Place& place, const KnownNames& known) {
  constexpr std::size_t most = 20;
  auto valid = known.all();
  const bool are_many = valid.size() > most;
  std::stable_sort(valid.begin(), valid.end(), [&](const auto& a, const auto& b) {
    return attn::edit_distance(name, a) < attn::edit_distance(name, b);
  });
  if (are_many) valid.resize(most);
  return document::Error(place, fmt::format("{} is no tensor, axis or option; {}{}", name,
                                            attn::valid_instead_of(name, valid), are_many ? ", …" : ""))
      .what();
}

}  // namespace

std::vector<std::string> unknown_names_in(const document::Document& document) {
  const KnownNames known(document);
  std::vector<std::string> found;
  std::set<std::string> used;
  Names names([&](const auto& name, const auto& place, bool is_in_prose) {
    if (!is_in_prose) used.insert(name);
    if (!known.has(name)) found.push_back(unknown(name, place, known));
  });
  for (const auto& [condition, words] : rules_in(document)) {
    names.look_into(condition);
    names.look_into(document::read_prose(words));
  }
  names.look_into(document.blocks());
  if (names.uses_parts) return found;
  for (auto& option : options_without_use(document, std::move(used))) found.push_back(std::move(option));
  return found;
}

std::map<std::string, std::size_t> last_mentions(const std::vector<Section>& sections) {
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const auto& scope = sections[i].scope;
    std::set<std::string> seen;
    Names names([&](const auto& name, const auto& place, bool) {
      if (!seen.insert(name).second) return;
      seen.insert(scope.prefix + scope.name_of(name));
      if (const auto renamed = scope.renamed.find(name); renamed != scope.renamed.end())
        names.look_into(std::optional(renamed->second), place);
    });
    for (const auto* block : sections[i].blocks) names.look_into(*block);
    for (const auto& name : seen) last[name] = i;
  }
  return last;
}

}  // namespace lessons
