#include "lessons/documents/documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "attn/error.hpp"
#include "formula/functions.hpp"
#include "trace/data_folder.hpp"

namespace lessons {

namespace {

constexpr std::size_t deepest = 8;

void add_declared(std::vector<Declared>& all, const std::vector<document::Block>& blocks,
                  const std::string& prefix, std::size_t depth) {
  using Kind = document::Block::Kind;
  std::optional<formula::Expr> condition;
  for (const auto& block : blocks) {
    if (block.kind == Kind::heading) condition = block.marks.condition;
    if (block.kind == Kind::formula) all.push_back({&block, prefix + block.definition->name, condition});
    if (block.kind == Kind::choice)
      for (const auto& branch : block.choice->branches) add_declared(all, branch.content, prefix, depth);
    if (block.kind != Kind::use || depth > deepest) continue;
    auto inner = prefix;
    for (const auto& argument : block.call.arguments)
      if (argument.starts_with("under ")) inner += argument.substr(6);
    add_declared(all, document_named(block.call.name).blocks, inner, depth + 1);
  }
}

/// What a condition is in every run of a lesson that takes the options with these keys: those that it does
/// not take are what they always are. None where it depends on the run.
std::optional<double> always(const formula::Expr& x, const std::vector<std::string_view>& keys) {
  if (x->op == formula::Op::number) return x->number;
  if (x->op == formula::Op::name) {
    auto key = x->name.substr(0, x->name.find('='));
    std::replace(key.begin(), key.end(), '_', '-');
    const bool is_taken = std::find(keys.begin(), keys.end(), key) != keys.end();
    return is_taken ? std::nullopt : option_in_formulas({}, x->name);
  }
  const auto* function = x->op == formula::Op::call ? formula::function_named(x->name) : nullptr;
  if (function == nullptr) return std::nullopt;
  std::vector<double> numbers;
  for (const auto& part : x->parts) {
    const auto number = always(part, keys);
    if (x->name == "and" && number == 0.0) return 0.0;
    if (number) numbers.push_back(*number);
  }
  return numbers.size() < x->parts.size() ? std::nullopt : std::optional(function->value(numbers.data()));
}

struct DrawWord {
  std::string_view word;
  Draw draw;
};

constexpr std::array draw_words = {DrawWord{"normal", Draw::normal}, DrawWord{"embedding", Draw::embedding},
                                   DrawWord{"weight", Draw::weight}, DrawWord{"zeros", Draw::zeros},
                                   DrawWord{"ones", Draw::ones},     DrawWord{"given", Draw::given},
                                   DrawWord{"mask", Draw::page},     DrawWord{"dropout", Draw::page},
                                   DrawWord{"lengths", Draw::page}};

Draw draw_of(const document::Block& block) {
  const auto* const found = std::find_if(draw_words.begin(), draw_words.end(),
                                         [&](const auto& known) { return known.word == block.draw; });
  if (found != draw_words.end()) return found->draw;
  std::string valid;
  for (const auto& known : draw_words) valid += fmt::format("{}{}", valid.empty() ? "" : ", ", known.word);
  throw document::Error(
      block.place, fmt::format("the input {0} {1}; valid: {0}[…]: and one of {2}", block.definition->name,
                               block.draw.empty() ? "does not say how its numbers come about"
                                                  : fmt::format("is drawn as \"{}\"", block.draw),
                               valid));
}

}  // namespace

std::vector<Declared> declared_in(const document::Document& document) {
  std::vector<Declared> all;
  add_declared(all, document.blocks, "", 0);
  return all;
}

std::vector<Input> inputs_of(const document::Document& document, const std::vector<std::string_view>& keys) {
  std::vector<Input> inputs;
  for (const auto& [block, id, condition] : declared_in(document)) {
    if (!block->is_input || (condition && always(*condition, keys) == 0.0)) continue;
    Input input = {id, block->definition->axes, draw_of(*block)};
    const bool is_known =
        std::any_of(inputs.begin(), inputs.end(), [&id = id](const auto& known) { return known.id == id; });
    if (is_known || block->draw == "lengths") continue;
    if (block->draw == "dropout") input.axes.insert(input.axes.begin(), "[head]");
    inputs.push_back(std::move(input));
  }
  return inputs;
}

const document::Document& document_named(const std::string& name) {
  static std::map<std::string, document::Document> known;
  if (const auto found = known.find(name); found != known.end()) return found->second;
  std::filesystem::path path;
  for (const auto& folder : attn::data_folders("lessons"))
    if (path = std::filesystem::path(folder) / name; std::filesystem::exists(path)) break;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw formula::Error(0, fmt::format("{} cannot be read; valid: a document of the lab", path.string()));
  std::ostringstream text;
  text << file.rdbuf();
  return known.emplace(name, document::read(path.string(), text.str())).first->second;
}

}  // namespace lessons
