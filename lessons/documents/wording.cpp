#include "lessons/documents/wording.hpp"

#include <cmath>

#include "document/prose.hpp"
#include "lessons/documents/at_place.hpp"
#include "lessons/documents/document_run.hpp"

namespace lessons {

std::string Wording::paragraphs(const Section& section, bool short_page) const {
  std::string text;
  for (const auto* block : section.of(document::Block::Kind::paragraph)) {
    if (short_page && block->marks.words.count("with --all") > 0) continue;
    text += (text.empty() ? "" : "\n") + text_of(block->prose, section.scope);
  }
  return text;
}

std::string Wording::text_of(const document::Prose& prose, const Scope& scope,
                             const attn::Event* event) const {
  std::string text;
  for (const auto& piece : prose) text += at_place(piece.place, [&] { return text_of(piece, scope, event); });
  text.erase(text.find_last_not_of('\n') + 1);  // where a last part says nothing
  return text;
}

std::string Wording::text_of(const document::Piece& piece, const Scope& scope,
                             const attn::Event* event) const {
  if (piece.call) return text_of(*piece.call, piece.place, scope, event);
  if (piece.value) return number_of(piece, scope);
  if (!piece.choice) return piece.text;
  for (const auto& branch : piece.choice->branches)
    if (meanings_.holds(branch.condition, scope)) return text_of(branch.content, scope, event);
  return "";
}

std::string Wording::number_of(const document::Piece& piece, const Scope& scope) const {
  constexpr double most_digits = 1e15;
  const double number = meanings_.number(*piece.value, scope);
  if (!piece.format.empty()) return fmt::format(fmt::runtime("{:" + piece.format + "}"), number);
  const bool is_whole = number == std::floor(number) && std::abs(number) < most_digits;
  return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.4f}", number);
}

std::string Wording::text_of(const document::Call& call, const document::Place& place, const Scope& scope,
                             const attn::Event* event) const {
  const auto argument = [&](std::size_t i) {
    if (i >= call.arguments.size()) throw document::Error(place, fmt::format("{} of what?", call.name));
    return document::read_formula(place, call.arguments[i]);
  };
  if (call.arguments.empty())
    throw document::Error(place, fmt::format("{} of what? It stands alone", call.name));
  const auto& first = call.arguments.front();
  if (call.name == "call") return this->call(first, place, event);
  if (call.name == "shape") return shape(first);
  if (call.name == "token")
    return meanings_.label(first, call.arguments.size() == 1
                                      ? meanings_.place_on_page(first)
                                      : static_cast<std::size_t>(meanings_.number(argument(1), scope)));
  std::vector<std::string> numbers;
  for (const double number : meanings_.numbers_along(first, argument(1), scope))
    numbers.push_back(fmt::format("{:.4f}", number));
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::string Wording::call(const std::string& function, const document::Place& place,
                          const attn::Event* event) const {
  if (const auto found = functions_.texts.find(function); found != functions_.texts.end())
    return found->second(run_);
  const auto& remark = named(functions_.remarks, function, place);
  if (event == nullptr) throw document::Error(place, "a remark on a step stands in the text after {at STEP}");
  return remark(*event);
}

std::string Wording::shape(const std::string& name) const {
  const auto& tensor = meanings_.sheet().tensor(name);
  const attn::Shape shape(tensor.shape.begin() + (tensor.axes.front() == Meanings::batch),
                          tensor.shape.end());
  return attn::to_string(shape);
}

}  // namespace lessons
