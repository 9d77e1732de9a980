#include "corpora/symbols.hpp"

namespace corpora {

std::vector<std::string> symbol_labels(std::size_t count) {
  constexpr std::size_t letters = 26;
  std::vector<std::string> labels;
  for (std::size_t symbol = 0; symbol < count; ++symbol) {
    labels.emplace_back(1, static_cast<char>('a' + symbol % letters));
    if (symbol >= letters) labels.back() += std::to_string(symbol / letters);
  }
  return labels;
}

}  // namespace corpora
