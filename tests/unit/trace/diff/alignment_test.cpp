#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "tests/unit/processor_time.hpp"
#include "trace/diff/diff.hpp"

using attn::align;
using attn::Unequal;

namespace {

std::vector<std::string> letters(const std::string& text) {
  std::vector<std::string> items;
  for (const char letter : text) items.emplace_back(1, letter);
  return items;
}

/// "a+b c- -d": a letter of each, or one and nothing.
std::string aligned(const std::string& a, const std::string& b, Unequal unequal) {
  std::string text;
  for (const auto& pair : align(letters(a), letters(b), unequal)) {
    if (!text.empty()) text += ' ';
    text += pair.a ? a[*pair.a] : '-';
    text += pair.b ? b[*pair.b] : '-';
  }
  return text;
}

/// The length of the longest common subsequence, by the textbook's table.
std::size_t longest_common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j)
      best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
  return best[a.size()][b.size()];
}

std::size_t equal_pairs(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::size_t count = 0;
  for (const auto& pair : align(a, b, Unequal::apart)) count += pair.a && pair.b ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("equal items stand together") {
  CHECK(aligned("abc", "abc", Unequal::apart) == "aa bb cc");
  CHECK(aligned("abc", "ac", Unequal::apart) == "aa b- cc");
  CHECK(aligned("ac", "abc", Unequal::apart) == "aa -b cc");
  CHECK(aligned("", "ab", Unequal::apart) == "-a -b");
  CHECK(aligned("", "", Unequal::apart) == "");
}

TEST_CASE("order counts: what has moved stands apart in both places") {
  CHECK(aligned("abcd", "bcda", Unequal::apart) == "a- bb cc dd -a");
}

TEST_CASE("unequal items stand apart, or each beside the one in its place") {
  CHECK(aligned("axb", "ayb", Unequal::apart) == "aa x- -y bb");
  CHECK(aligned("axb", "ayb", Unequal::paired) == "aa xy bb");
  CHECK(aligned("axyb", "azb", Unequal::paired) == "aa xz y- bb");
  CHECK(aligned("x", "yz", Unequal::paired) == "xy -z");
}

TEST_CASE("of equal items the first belongs to the first and the second to the second") {
  CHECK(aligned("aba", "aba", Unequal::apart) == "aa bb aa");
  CHECK(aligned("aab", "ab", Unequal::apart) == "aa a- bb");
}

TEST_CASE("where all items differ from each other as many as possible stand together") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> items(40);
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = std::to_string(i);
    auto a = items, b = items;
    std::shuffle(a.begin(), a.end(), random);
    std::shuffle(b.begin(), b.end(), random);
    a.resize(30);
    CHECK(equal_pairs(a, b) == longest_common(a, b));
  }
}

TEST_CASE("long lists are aligned in an instant") {
  std::vector<std::string> a(200'000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::to_string(i);
  auto b = a;
  b.erase(b.begin() + 1000);
  CHECK(processor_seconds([&] { CHECK(equal_pairs(a, b) == b.size()); }) < instant);
}
