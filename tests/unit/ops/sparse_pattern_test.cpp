#include <catch2/catch.hpp>
#include <limits>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/random/random.hpp"
#include "tests/unit/temporary_file.hpp"

using attn::Mask;
using Catch::Contains;

namespace {

/// "1100" for each row.
std::vector<std::string> rows_of(const Mask<2>& mask) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < mask.shape(0); ++i) {
    rows.emplace_back();
    for (std::size_t j = 0; j < mask.shape(1); ++j) rows.back() += mask(i, j) ? '1' : '0';
  }
  return rows;
}

void check_refused(const std::string& text, std::size_t n, const std::string& said) {
  const TemporaryFile file(text);
  INFO(text);
  CHECK_THROWS_AS(attn::load_pattern(file.path(), n), attn::Error);
  CHECK_THROWS_WITH(attn::load_pattern(file.path(), n), Contains(said) && Contains("; valid: "));
}

}  // namespace

TEST_CASE("a window has the keys on both sides and fewer at the ends", "[sparse_pattern]") {
  CHECK(attn::window_keys(4, 1, 1) == attn::KeyLists{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3}});
  CHECK(attn::window_keys(4, 2, 0) == attn::KeyLists{{0}, {0, 1}, {0, 1, 2}, {1, 2, 3}});
  CHECK(attn::window_keys(2, std::numeric_limits<std::size_t>::max(), 0) == attn::KeyLists{{0}, {0, 1}});
  CHECK(attn::window_keys(3, 0, 0) == attn::KeyLists{{0}, {1}, {2}});
  CHECK(attn::all_keys(2, 2) == attn::KeyLists{{0, 1}, {0, 1}});
}

TEST_CASE("lists of keys and masks say the same", "[sparse_pattern]") {
  const auto window = attn::window_mask(5, 5, 2);
  CHECK(attn::keys_of(window) == attn::window_keys(5, 2, 2));
  CHECK(attn::pair_count(attn::window_keys(5, 1, 1)) == 13);
  CHECK(attn::all_keys(2, 3) == attn::KeyLists{{0, 1, 2}, {0, 1, 2}});
}

TEST_CASE("the strided pattern has the near keys and every key at a multiple of the stride",
          "[sparse_pattern]") {
  CHECK(rows_of(attn::strided_pattern(7, 3)) == std::vector<std::string>{"1111001", "1111100", "1111110",
                                                                         "1111111", "0111111", "0011111",
                                                                         "1001111"});
  CHECK(rows_of(attn::strided_pattern(3, 1)) == std::vector<std::string>(3, "111"));
}

TEST_CASE("the random pattern has the own key and the first of a permutation", "[sparse_pattern]") {
  attn::RandomState random(7), same(7);
  const auto mask = attn::random_pattern(random, 9, 3);
  for (std::size_t i = 0; i < 9; ++i) {
    const auto keys = same.permutation(9);
    for (std::size_t k = 0; k < 9; ++k) {
      const auto key = static_cast<std::size_t>(keys[k]);
      CHECK(mask(i, key) == (k < 3 || key == i));
    }
  }
  CHECK(rows_of(attn::random_pattern(random, 2, 5)) == std::vector<std::string>(2, "11"));
}

TEST_CASE("a pattern is read from a file of digits", "[sparse_pattern]") {
  for (const char* text : {"101\n010\n111\n", "1 0 1\n\n0 1 0\n1\t1 1", "101\r\n010\r\n111\r\n\n"}) {
    const TemporaryFile file(text);
    CHECK(rows_of(attn::load_pattern(file.path(), 3)) == std::vector<std::string>{"101", "010", "111"});
  }
}

TEST_CASE("a file that is no pattern for the tokens is refused with its line", "[sparse_pattern]") {
  check_refused("10\n1\n", 2, "line 2: there are 1 digits for 2 tokens");
  check_refused("10\n", 2, "has 1 line for 2 tokens");
  check_refused("", 1, "has 0 lines");
  check_refused("10\n01\n11\n", 2, "line 3");
  check_refused("10\n0x\n", 2, "line 2: \"x\" is neither 0 nor 1");
  check_refused("10\n0\xff\n", 2, "0xFF");
  check_refused(std::string("1\0\n", 3), 2, "NUL");
  check_refused(std::string(100'000, '1'), 2, "longer than");
  CHECK_THROWS_WITH(attn::load_pattern("/", 2), Contains("directory"));
  CHECK_THROWS_WITH(attn::load_pattern("no such file", 2), Contains("cannot be opened"));
}
