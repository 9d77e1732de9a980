#include "corpora/grammar_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/error.hpp"
#include "corpora/grammar_parser.hpp"

namespace corpora {

std::size_t GrammarText::value(const Sort& sort, std::size_t feature, std::size_t combination) const {
  for (auto i = sort.features.size(); i-- > 0;) {
    const auto count = features[sort.features[i]].values.size();
    if (sort.features[i] == feature) return combination % count;
    combination /= count;
  }
  return 0;
}

bool GrammarText::satisfies(const Sort& sort, std::size_t combination, const Condition& condition) const {
  return std::all_of(sort.features.begin(), sort.features.end(), [&](std::size_t feature) {
    return (condition[feature] >> value(sort, feature, combination) & 1) != 0;
  });
}

bool GrammarText::satisfies(std::size_t symbol, std::size_t variable, std::size_t combination,
                            const Condition& condition) const {
  const auto& variables = symbols[symbol].sorts;
  const auto& sort = sorts[variables[variable]];
  const auto stands_before = [&](std::size_t feature) {
    return std::any_of(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(variable),
                       [&](std::size_t earlier) {
                         const auto& features_of = sorts[earlier].features;
                         return std::find(features_of.begin(), features_of.end(), feature) !=
                                features_of.end();
                       });
  };
  return std::all_of(sort.features.begin(), sort.features.end(), [&](std::size_t feature) {
    return stands_before(feature) || (condition[feature] >> value(sort, feature, combination) & 1) != 0;
  });
}

void GrammarText::fail(std::size_t line, std::string_view problem, std::string_view valid) const {
  throw attn::Error(fmt::format("{}, line {}: {}; valid: {}", file_name, line, problem, valid));
}

GrammarText parse_grammar(std::string_view text, std::string_view file_name) {
  return GrammarParser(text, file_name).parse();
}

}  // namespace corpora
