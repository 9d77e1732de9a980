#include "trace/csv.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include "attn/error.hpp"
#include "tests/unit/temporary_file.hpp"
#include "tests/unit/trace/stored_files.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

std::string refusal_of_csv(const std::string& content) {
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

TEST_CASE("numbers of a matrix may be infinite or no number") {
  const TemporaryFile file("-inf,inf\nnan, -Infinity\n");
  auto matrix = attn::read_csv(file.path());
  const auto* const entries = matrix.elements<double>();
  CHECK(std::isinf(entries[0]));
  CHECK(std::signbit(entries[0]));
  CHECK(std::isinf(entries[1]));
  CHECK(std::isnan(entries[2]));
  CHECK(std::isinf(entries[3]));
}

TEST_CASE("a file of rows is a trace of one tensor, under the file's name") {
  const TemporaryFile folder("");
  const auto path = folder.path() + ".attn=1.csv";
  std::ofstream(path) << "1,0\n0.5,0.5\n";
  const auto trace = attn::open_trace(path);
  std::filesystem::remove(path);
  REQUIRE(trace->tensors().size() == 1);
  const auto id = trace->tensors()[0].id;
  CHECK_THAT(id, EndsWith(".txt.attn=1"));
  CHECK(id.find('/') == id.npos);
  CHECK(trace->tensors()[0].shape == attn::Shape{2, 2});
  CHECK(stored::elements_of<double>(*trace, id) == std::vector<double>{1, 0, 0.5, 0.5});
}

TEST_CASE("a file of rows may have blanks in its name, but no control characters") {
  const TemporaryFile file("");
  const auto path = file.path() + " weights.csv", other = file.path() + "\x1b[1m.csv";
  for (const auto& one : {path, other}) std::ofstream(one) << "1,0\n";
  const auto id = attn::open_trace(path)->tensors()[0].id;
  const auto said = stored::refusal(other);
  for (const auto& one : {path, other}) std::filesystem::remove(one);
  CHECK_THAT(id, EndsWith(" weights"));
  CHECK_THAT(said, Contains("it is called") && Contains("valid: a name of UTF-8"));
}

TEST_CASE("the files of rows in a folder are a trace, those of folders inside by their paths") {
  const TemporaryFile file("");
  const auto folder = std::filesystem::path(file.path() + ".folder");
  std::filesystem::create_directories(folder / "encoder");
  CHECK_FALSE(attn::has_csv_files(folder.string()));
  std::ofstream(folder / "weights.csv") << "1,0\n";
  std::ofstream(folder / "encoder" / "h.csv") << "2\n3\n";
  std::ofstream(folder / "notes.txt") << "none";
  CHECK(attn::has_csv_files(folder.string()));
  const auto trace = attn::open_csv_folder(folder.string());
  std::filesystem::remove_all(folder);
  CHECK(stored::ids_of(*trace) == std::vector<std::string>{"encoder/h", "weights"});
  CHECK(stored::elements_of<double>(*trace, "encoder/h") == std::vector<double>{2, 3});
}

TEST_CASE("other rows are refused with the line") {
  const std::string valid = "; valid: rows of numbers, with commas between them";
  CHECK(refusal_of_csv("") == "it is empty" + valid);
  CHECK(refusal_of_csv(" \n\n") == "it is empty" + valid);
  CHECK(refusal_of_csv("x,y\n1,2\n") == "line 1: \"x\" is no number" + valid);
  CHECK(refusal_of_csv("1,2\n3,none\n") == "line 2: \"none\" is no number" + valid);
  CHECK(refusal_of_csv("1,2\n3,1e999\n") == "line 2: \"1e999\" is no number" + valid);
  CHECK(refusal_of_csv("1,2,\n") == "line 1: \"\" is no number" + valid);
  CHECK(refusal_of_csv("1;2\n") == "line 1: \"1;2\" is no number" + valid);
  CHECK(refusal_of_csv("1,2\n\n3,4\n") == "line 2: \"\" is no number" + valid);
  CHECK(refusal_of_csv("1,2\n3,4,5\n") ==
        "line 2: it has 3 numbers, but line 1 has 2; valid: as many in every line");
  CHECK_THAT(refusal_of_csv(std::string("1,\0\n", 4)), Contains("is no number"));
}
