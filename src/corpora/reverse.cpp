#include "corpora/reverse.hpp"

#include <utility>

#include "attn/error.hpp"
#include "corpora/draw.hpp"

namespace corpora {

namespace {

void require_reversible(std::size_t length, std::size_t symbol_count) {
  if (length == 0) throw attn::Error("a sequence of length 0 cannot be reversed; valid: 1 or more");
  if (symbol_count == 0) throw attn::Error("a sequence of 0 symbols cannot be drawn; valid: 1 or more");
}

}  // namespace

ReverseExample reverse_example(std::vector<std::size_t> source) {
  ReverseExample example;
  example.source = std::move(source);
  for (std::size_t key = example.source.size(); key-- > 0;) {
    example.target.push_back(example.source[key]);
    example.right_keys.push_back(key);
  }
  return example;
}

ReverseExample draw_reverse_of_length(attn::Random& random, std::size_t length, std::size_t symbol_count) {
  require_reversible(length, symbol_count);
  std::vector<std::size_t> source;
  for (std::size_t i = 0; i < length; ++i) source.push_back(draw_index(random, symbol_count));
  return reverse_example(std::move(source));
}

ReverseExample draw_reverse(attn::Random& random, std::size_t longest, std::size_t symbol_count) {
  require_reversible(longest, symbol_count);
  const auto length = draw_between(random, 1, longest);
  return draw_reverse_of_length(random, length, symbol_count);
}

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
