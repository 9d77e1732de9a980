#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "page/worksheet/render.hpp"

namespace attn {

namespace {

std::string in_quotes(const std::string& text) {
  return nlohmann::json(text).dump();
}

/// A number of JSON as it is, a fraction or an infinity as text.
std::string json_of(const std::string& written) {
  return written.find_first_not_of("-0123456789.") == std::string::npos ? written : in_quotes(written);
}

/// Nested lists with a line for each row.
std::string nested_lists_of(const SheetTensor& tensor, std::size_t axis, std::size_t offset,
                            bool with_answers) {
  const auto& shape = tensor.numbers.shape();
  std::vector<std::string> items;
  std::size_t size = 1;
  for (auto after = axis + 1; after < shape.size(); ++after) size *= shape[after];
  for (std::size_t i = 0; i < shape[axis]; ++i) {
    const auto at = offset + i * size;
    if (axis + 1 < shape.size())
      items.push_back(nested_lists_of(tensor, axis + 1, at, with_answers));
    else
      items.push_back(with_answers ? json_of(tensor.written[at]) : "null");
  }
  const auto margin = ",\n" + std::string(axis + 2, ' ');
  return fmt::format("[{}]", fmt::join(items, axis + 1 < shape.size() ? margin : ", "));
}

}  // namespace

std::string sheet_as_json(const Sheet& sheet, bool with_answers) {
  auto text = fmt::format("{{\n \"worksheet\": {},\n \"name\": {}", in_quotes(sheet.command),
                          with_answers ? "\"the answers\"" : "\"\"");
  for (const auto& step : sheet.asked)
    text += fmt::format(",\n {}:\n [{}", in_quotes(step.event.id),
                        nested_lists_of(step, 0, 0, with_answers).substr(1));
  return text + "\n}\n";
}

}  // namespace attn
