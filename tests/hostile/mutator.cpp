#include "tests/hostile/mutator.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

std::string Mutator::mutilated(std::string bytes, const std::string& other) {
  for (auto times = 1 + below(3); times > 0 && !bytes.empty(); --times) mutilate(bytes, other);
  return bytes;
}

void Mutator::mutilate(std::string& bytes, const std::string& other) {
  const auto [begin, length] = part_of(bytes);
  const auto [their_begin, their_length] = part_of(other);
  switch (below(8)) {
    case 0:
      bytes.resize(below(bytes.size()));
      return;
    case 1:
      bytes.insert(begin, bytes.substr(begin, length));
      return;
    case 2:
      bytes.erase(begin, length);
      return;
    case 3:
      bytes.replace(begin, length, other, their_begin, their_length);
      return;
    case 4:
    case 5:
      return overwrite_bytes(bytes);
    case 6:
      return overwrite_number(bytes);
    default:
      bytes[begin] = static_cast<char>(bytes[begin] ^ (1 << below(8)));
  }
}

void Mutator::overwrite_bytes(std::string& bytes) {
  constexpr auto all = std::numeric_limits<std::uint64_t>::max();
  constexpr std::array<std::uint64_t, 8> extremes = {0,       1,           all,      all >> 1,
                                                     all - 8, all / 8 + 1, 1U << 31, 0x7FFFFFFF};
  const auto number = extremes[below(extremes.size())];
  const auto width = std::min(std::size_t{1} << below(4), bytes.size());
  const auto begin = below(bytes.size() - width + 1);
  for (std::size_t i = 0; i < width; ++i) bytes[begin + i] = static_cast<char>(number >> (8 * i) & 0xFF);
}

void Mutator::overwrite_number(std::string& bytes) {
  static const std::array<std::string, 8> extremes = {
      "0",          "-1", "1e999", "9223372036854775807", "18446744073709551615", "1152921504606846976",
      "4294967296", "nan"};
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto start = bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size()));
  const auto begin = std::find_if(start, bytes.end(), is_digit);
  bytes.replace(begin, std::find_if_not(begin, bytes.end(), is_digit), extremes[below(extremes.size())]);
}

std::pair<std::size_t, std::size_t> Mutator::part_of(const std::string& bytes) {
  const auto begin = below(bytes.size());
  return {begin, 1 + below(bytes.size() - begin)};
}
