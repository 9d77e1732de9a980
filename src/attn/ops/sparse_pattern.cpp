#include "attn/ops/sparse_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/text_file.hpp"

namespace attn {

namespace {

void require_positive(const char* op, std::size_t size) {
  if (size == 0) throw std::invalid_argument(std::string("[") + op + "] a length of 0 makes no pattern");
}

std::string valid_file(std::size_t n) {
  return fmt::format("a text file of {0} line{1} with {0} digit{1} 0 or 1 each", n, n == 1 ? "" : "s");
}

/// A file with a pattern, read line by line.
class PatternFile {
 public:
  PatternFile(const std::string& path, std::size_t n)
      : path_(path), n_(n), buffer_(8 * n + 256), stream_(open_text(path, valid_file(n))) {}

  /// The digits of the next line that has any; nothing at the end of the file.
  std::string next() {
    std::string digits;
    while (digits.empty() && read_line())
      for (const char character : std::string_view(buffer_.data())) {
        if (character == '0' || character == '1')
          digits += character;
        else if (std::string_view(" \t\r").find(character) == std::string_view::npos)
          fail(fmt::format("{:?} is neither 0 nor 1", printed(character)));
      }
    return digits;
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(fmt::format("{}, line {}: {}; valid: {}", path_, line_number_, problem, valid_file(n_)));
  }

 private:
  /// The character, or the byte where it is none by itself.
  static std::string printed(char character) {
    const auto byte = static_cast<unsigned char>(character);
    return byte < 0x80 ? std::string(1, character) : fmt::format("byte 0x{:02X}", byte);
  }

  bool read_line() {
    stream_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    if (stream_.fail() && stream_.eof()) return false;
    if (stream_.bad()) throw Error(fmt::format("{} cannot be read; valid: {}", path_, valid_file(n_)));
    ++line_number_;
    if (stream_.fail()) fail(fmt::format("the line is longer than {} bytes", buffer_.size() - 1));
    const auto length = static_cast<std::size_t>(stream_.gcount()) - (stream_.eof() ? 0 : 1);
    if (std::strlen(buffer_.data()) != length) fail("there is a NUL byte");
    return true;
  }

  std::string path_;
  std::size_t n_;
  std::vector<char> buffer_;
  std::ifstream stream_;
  std::size_t line_number_ = 0;
};

}  // namespace

KeyLists all_keys(std::size_t n_q, std::size_t n_k) {
  std::vector<std::size_t> all(n_k);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return KeyLists(n_q, all);
}

KeyLists window_keys(std::size_t n, std::size_t before, std::size_t after) {
  KeyLists keys(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = i - std::min(i, before), last = i + std::min(n - 1 - i, after);
    for (std::size_t j = first; j <= last; ++j) keys[i].push_back(j);
  }
  return keys;
}

KeyLists keys_of(const Mask<2>& mask) {
  KeyLists keys(mask.shape(0));
  for (std::size_t i = 0; i < mask.shape(0); ++i)
    for (std::size_t j = 0; j < mask.shape(1); ++j)
      if (mask(i, j)) keys[i].push_back(j);
  return keys;
}

Mask<2> mask_of(const KeyLists& keys, std::size_t n_k) {
  require_listed("mask_of", keys, keys.size(), n_k);
  Mask<2> mask({keys.size(), n_k}, false);
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (const std::size_t j : keys[i]) mask(i, j) = true;
  return mask;
}

std::size_t pair_count(const KeyLists& keys) {
  std::size_t count = 0;
  for (const auto& of_query : keys) count += of_query.size();
  return count;
}

void require_listed(const std::string& op, const KeyLists& keys, std::size_t n_q, std::size_t n_k) {
  if (keys.size() != n_q)
    throw std::invalid_argument(fmt::format(
        "[{}] there are {} queries but {} lists of keys: one for each query", op, n_q, keys.size()));
  for (const auto& of_query : keys)
    for (const std::size_t key : of_query)
      if (key >= n_k)
        throw std::invalid_argument(
            fmt::format("[{}] key {} is listed, but there are {} keys", op, key, n_k));
}

Mask<2> strided_pattern(std::size_t n, std::size_t stride) {
  require_positive("strided_pattern", stride);
  Mask<2> mask({n, n});
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t distance = i > j ? i - j : j - i;
      mask(i, j) = distance < stride || distance % stride == 0;
    }
  return mask;
}

Mask<2> random_pattern(Random& random, std::size_t n, std::size_t count) {
  Mask<2> mask({n, n}, false);
  for (std::size_t i = 0; i < n; ++i) {
    const auto keys = random.permutation(static_cast<std::int64_t>(n));
    for (std::size_t k = 0; k < std::min(count, n); ++k) mask(i, static_cast<std::size_t>(keys[k])) = true;
    mask(i, i) = true;
  }
  return mask;
}

Mask<2> load_pattern(const std::string& path, std::size_t n) {
  PatternFile file(path, n);
  Mask<2> mask({n, n});
  for (std::size_t i = 0; i < n; ++i) {
    const auto digits = file.next();
    if (digits.empty())
      throw Error(fmt::format("{} has {} line{} for {} tokens; valid: {}", path, i, i == 1 ? "" : "s", n,
                              valid_file(n)));
    if (digits.size() != n) file.fail(fmt::format("there are {} digits for {} tokens", digits.size(), n));
    for (std::size_t j = 0; j < n; ++j) mask(i, j) = digits[j] == '1';
  }
  if (!file.next().empty()) file.fail(fmt::format("there are more than {} lines for as many tokens", n));
  return mask;
}

}  // namespace attn
