#include "trace/json/bare_numbers.hpp"

namespace attn {

namespace {

constexpr std::size_t longest_word = sizeof("-Infinity") - 1;

bool is_letter(int byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

}  // namespace

std::optional<char> QuotedBytes::next() {
  if (in_word_ < word_.size()) {
    const char byte = word_[in_word_++];
    if (byte == '"') ++added_;
    return byte;
  }
  const int read = std::fgetc(file_);
  if (read == EOF) return std::nullopt;
  const auto byte = static_cast<char>(read);
  if (is_in_text_) {
    is_in_text_ = byte != '"' || is_escaped_;
    is_escaped_ = byte == '\\' && !is_escaped_;
    return byte;
  }
  is_in_text_ = byte == '"';
  if (byte != 'N' && byte != 'I' && byte != '-') return byte;
  word_ = word_from(byte);
  in_word_ = 0;
  return next();
}

std::string QuotedBytes::word_from(char first) {
  std::string word(1, first);
  int after = std::fgetc(file_);
  for (; is_letter(after) && word.size() <= longest_word; after = std::fgetc(file_))
    word += static_cast<char>(after);
  if (after != EOF) std::ungetc(after, file_);
  const bool is_number = word == "NaN" || word == "Infinity" || word == "-Infinity";
  return is_number ? '"' + word + '"' : word;
}

}  // namespace attn
