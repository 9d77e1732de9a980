#include "trace/diagnosis/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "formula/parse.hpp"
#include "trace/event.hpp"
#include "trace/file.hpp"

namespace attn {

namespace {

using document::Block;

/// The names that a formula asks its run for.
void add_names(const formula::Expr& x, std::vector<std::string>& names) {
  const auto add = [&](const std::string& name) {
    if (!name.empty() && !contains(names, name)) names.push_back(name);
  };
  if (x->op == formula::Op::over) add(x->axis);
  if (x->op != formula::Op::call && x->op != formula::Op::over && x->op != formula::Op::number) add(x->name);
  for (const auto& part : x->parts) add_names(part, names);
}

std::string words_of(const document::Prose& prose) {
  std::string words;
  for (const auto& piece : prose) {
    if (piece.value || piece.call || piece.choice)
      throw document::Error(piece.place, "the words on a mistake have no values in them; valid: \\{ for a {");
    words += piece.text;
  }
  std::replace(words.begin(), words.end(), '\n', ' ');
  return words;
}

/// The text of data/mistakes/: a family a heading, and below it a heading a mistake.
class Catalogue {
 public:
  Catalogue() {
    std::map<std::string, std::string> paths;
    for (const auto& folder : data_folders("mistakes"))
      for (const auto& file : std::filesystem::directory_iterator(folder))
        if (file.path().extension() == ".md") paths.emplace(file.path().filename(), file.path());
    for (const auto& one : paths) read(one.second);
  }

  std::vector<CataloguedMistake> mistakes;
  std::map<std::string, std::vector<MistakeFormula>> formulas;

 private:
  void read(const std::string& path) {
    is_family_ = true;
    const auto document = document::read(path, File(path).bytes());
    for (const auto& block : document.blocks()) read(block);
  }

  void read(const Block& block) {
    switch (block.kind) {
      case Block::Kind::heading:
        return block.level == 1 ? begin_family(block) : begin_mistake(block);
      case Block::Kind::formula:
        return is_family_ ? forms_.push_back(block) : add_formula(block);
      case Block::Kind::paragraph:
        if (!is_family_) return add_words(words_of(block.prose));
        [[fallthrough]];
      default:
        throw document::Error(block.place,
                              "valid: # FAMILY, ## WHAT IS DONE {#id}, formulas indented by 4, paragraphs");
    }
  }

  void begin_family(const Block& block) {
    family_ = words_of(block.prose);
    forms_.clear();
    is_family_ = true;
  }

  void begin_mistake(const Block& block) {
    const auto& id = block.marks.id;
    if (id.empty())
      throw document::Error(block.place, "a mistake without its id; valid: ## WHAT IS DONE {#id}");
    if (find_by_id(mistakes, id) != nullptr)
      throw document::Error(block.place, fmt::format("there are two mistakes of the id {}", id));
    mistakes.push_back({.id = id, .family = family_, .name = words_of(block.prose)});
    is_family_ = false;
  }

  void add_words(const std::string& words) {
    auto& mistake = mistakes.back();
    const std::map<std::string, std::string*> all = {
        {"unchanged", &mistake.unchanged},   {"training", &mistake.training}, {"source", &mistake.seen_in},
        {"conversion", &mistake.conversion}, {"same as", &mistake.same_as},   {"stated", &mistake.stated}};
    const auto colon = words.find(": ");
    const auto found = all.find(words.substr(0, colon));
    auto& said = colon == words.npos || found == all.end() ? mistake.teacher : *found->second;
    said += (said.empty() ? "" : " ") + words.substr(&said == &mistake.teacher ? 0 : colon + 2);
  }

  /// A formula with no name for its variant is the second, third … of its step.
  void add_formula(const Block& block) {
    const auto& definition = *block.definition;
    MistakeFormula formula{.id = mistakes.back().id, .step = definition.name, .definition = definition};
    if (!block.marks.id.empty()) formula.id += ":" + block.marks.id;
    if (block.marks.step.empty()) return add(formula, block);
    formula.step = block.marks.step;
    formula.definition = {formula.step, {}, formula::name(formula.step)};
    formula.operand = definition;
    add(formula, block);
    for (const auto& form : forms_) {
      if (form.definition->name != formula.step) continue;
      auto other = formula;
      other.id += ":" + form.marks.id;
      other.definition = *form.definition;
      add(std::move(other), block, form.marks.condition);
    }
  }

  void add(MistakeFormula formula, const Block& block,
           const std::optional<formula::Expr>& also = std::nullopt) {
    if (std::string_view solved = block.marks.solved; !solved.empty()) try {
        formula.is_whole = solved.starts_with("whole ");
        if (formula.is_whole) solved.remove_prefix(6);
        formula.constant = formula::parse_declaration(solved);
      } catch (const formula::Error& error) {
        throw document::Error(block.place, fmt::format("{{solve {}}}: {}", block.marks.solved, error.what()));
      }
    const auto is_of_theirs = [&](const std::string& name) {
      return name == "theirs" || (formula.constant && name == formula.constant->name);
    };
    auto& names = formula.names;
    names = formula.definition.axes;
    add_names(formula.definition.expr, names);
    if (formula.operand) add_names(formula.operand->expr, names);
    for (const auto& condition : {block.marks.condition, also}) {
      if (!condition) continue;
      add_names(*condition, names);
      formula.conditions.push_back(*condition);
    }
    formula.needs_theirs = std::erase_if(names, is_of_theirs) > 0;
    auto& of_step = formulas[formula.step];
    const auto first = formula.id;
    for (std::size_t i = 2; find_by_id(of_step, formula.id) != nullptr; ++i)
      formula.id = fmt::format("{}:{}", first, i);
    of_step.push_back(std::move(formula));
  }

  std::string family_;
  std::vector<Block> forms_;  ///< of steps, for other operands in them
  bool is_family_ = true;
};

const Catalogue& whole_catalogue() {
  static const Catalogue catalogue;
  return catalogue;
}

struct Remark {
  std::string tensor;  ///< "a", "a for Q"
  std::string said;    ///< " is transposed."
  bool is_name = false;
};

Remark parts_of(const std::string& sentence) {
  constexpr std::string_view taken = " is taken for ";
  const auto blank = std::min(sentence.find(' '), sentence.size());
  const auto tensor = sentence.substr(0, blank), said = sentence.substr(blank);
  if (!said.starts_with(taken)) return {tensor, said};
  const auto end = std::min(said.find(',', taken.size()), said.size() - 1);
  if (said.find(' ', taken.size()) < end) return {tensor, said};
  return {fmt::format("{} for {}", tensor, said.substr(taken.size(), end - taken.size())),
          " is taken for that of the lesson" + said.substr(end), true};
}

}  // namespace

const std::vector<CataloguedMistake>& catalogue() {
  return whole_catalogue().mistakes;
}

const std::map<std::string, std::vector<MistakeFormula>>& formulas_of_mistakes() {
  return whole_catalogue().formulas;
}

const CataloguedMistake* find_mistake(std::string_view id) {
  return find_by_id(catalogue(), id.substr(0, id.find(':')));
}

bool is_convention(std::string_view id) {
  const auto* mistake = find_mistake(id);
  return mistake != nullptr && mistake->is_convention();
}

std::vector<std::string> stated_conventions() {
  std::vector<std::string> ids;
  for (const auto& one : catalogue())
    if (!one.stated.empty()) ids.emplace_back(one.id);
  return ids;
}

std::string id_without_variant(const std::string& id) {
  return id.substr(0, id.find(':'));
}

std::vector<std::string> ids_without_variants(const std::vector<std::string>& ids) {
  std::vector<std::string> short_ids;
  for (const auto& id : ids)
    if (const auto name = id_without_variant(id); !contains(short_ids, name)) short_ids.push_back(name);
  return short_ids;
}

std::vector<std::string> different_mistakes(const std::vector<std::string>& ids) {
  const auto names = ids_without_variants(ids);
  std::vector<std::string> different;
  for (const auto& id : ids) {
    const auto* mistake = find_mistake(id);
    if (mistake == nullptr || !contains(names, mistake->same_as)) different.push_back(id);
  }
  return different;
}

std::vector<std::vector<std::string>> mistakes_of_same_numbers(const std::vector<std::string>& ids) {
  std::vector<std::vector<std::string>> groups;
  for (const auto& id : ids_without_variants(different_mistakes(ids))) {
    groups.push_back({id});
    for (const auto& other : ids_without_variants(ids))
      if (const auto* mistake = find_mistake(other); mistake != nullptr && mistake->same_as == id)
        groups.back().push_back(other);
  }
  return groups;
}

std::string listed(const std::vector<std::string>& words, std::string_view conjunction) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} {} {}", fmt::join(words.begin(), words.end() - 1, ", "), conjunction, words.back());
}

std::vector<std::string> in_few_lines(const std::vector<std::string>& remarks) {
  constexpr std::size_t most_lines = 3, most_named = 3;
  std::map<std::string, std::vector<std::string>> tensors_by_said;
  for (const auto& remark : remarks) {
    const auto parts = parts_of(remark);
    tensors_by_said[parts.said].push_back(parts.tensor);
  }
  std::vector<std::string> lines;
  for (const auto& remark : remarks) {
    const auto [tensor, said, is_name] = parts_of(remark);
    const auto& all = tensors_by_said[said];
    if (all.size() <= most_lines) lines.push_back(remark);
    if (all.size() <= most_lines || tensor != all.front()) continue;
    const auto named = is_name ? all.size() : most_named;
    lines.push_back(
        fmt::format("Each of {} tensors ({}{}){}", all.size(),
                    fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                    is_name ? "" : ", …", said));
  }
  return lines;
}

}  // namespace attn
