#include <catch2/catch.hpp>

#include "attn/random/random.hpp"

/// "123456789" is the check value that catalogues of checksums give; the others are zlib.crc32 of Python.
TEST_CASE("the checksum of a text is zlib's") {
  CHECK(attn::crc32("") == 0u);
  CHECK(attn::crc32("123456789") == 0xcbf43926u);
  CHECK(attn::crc32("W_Q") == 3086860766u);
  CHECK(attn::crc32("token café") == 3238525408u);
}
