#include "trace/csv.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "attn/error.hpp"
#include "tests/unit/temporary_file.hpp"

using Catch::Matchers::Contains;

namespace {

std::string refusal(const std::string& content) {
  const TemporaryFile file(content);
  try {
    attn::read_csv(file.path());
  } catch (const attn::Error& error) {
    return std::string(error.what()).substr(file.path().size() + 2);
  }
  return "none";
}

}  // namespace

TEST_CASE("rows of numbers are a matrix") {
  for (const std::string content : {"1,2,3\n4,5,6\n", "1,2,3\n4,5,6", " 1 , 2,\t3 \r\n4,5,6e0\r\n\r\n"}) {
    INFO(content);
    const TemporaryFile file(content);
    auto matrix = attn::read_csv(file.path());
    REQUIRE(matrix.shape() == attn::Shape{2, 3});
    REQUIRE(matrix.dtype() == attn::Dtype::float64);
    CHECK(std::vector<double>(matrix.elements<double>(), matrix.elements<double>() + 6) ==
          std::vector<double>{1, 2, 3, 4, 5, 6});
  }
  CHECK(attn::read_csv(TemporaryFile("7").path()).shape() == attn::Shape{1, 1});
}

TEST_CASE("other rows are refused with the line") {
  const std::string valid = "; valid: rows of numbers, with commas between them";
  CHECK(refusal("") == "it is empty" + valid);
  CHECK(refusal(" \n\n") == "it is empty" + valid);
  CHECK(refusal("x,y\n1,2\n") == "line 1: \"x\" is no number" + valid);
  CHECK(refusal("1,2\n3,nan\n") == "line 2: \"nan\" is no number" + valid);
  CHECK(refusal("1,2\n3,1e999\n") == "line 2: \"1e999\" is no number" + valid);
  CHECK(refusal("1,2,\n") == "line 1: \"\" is no number" + valid);
  CHECK(refusal("1;2\n") == "line 1: \"1;2\" is no number" + valid);
  CHECK(refusal("1,2\n\n3,4\n") == "line 2: \"\" is no number" + valid);
  CHECK(refusal("1,2\n3,4,5\n") ==
        "line 2: it has 3 numbers, but line 1 has 2; valid: as many in every line");
  CHECK_THAT(refusal(std::string("1,\0\n", 4)), Contains("is no number"));
}
