#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "tests/documents/xml.hpp"

using Catch::Contains;

namespace {

std::string attribute(const XmlElement& element, const std::string& name) {
  const auto found = element.attributes.find(name);
  return found == element.attributes.end() ? "" : found->second;
}

std::string book() {
  const Folder folder;
  const auto path = folder.file("book.html");
  CHECK(run("book --output " + path).status == 0);
  return read_file(path);
}

}  // namespace

TEST_CASE("the book is well-formed, holds every lesson and links to nothing outside") {
  const auto elements = elements_of(book());
  std::set<std::string> pages;
  for (const auto& element : elements) {
    if (element.name == "template") pages.insert(attribute(element, "id"));
    CHECK(attribute(element, "src").empty());
    CHECK(attribute(element, "style").empty());
    if (const auto target = attribute(element, "href"); !target.empty()) CHECK(target[0] == '#');
  }
  for (const auto& lesson : lessons()) CHECK(pages.count("page-" + lesson) == 1);
  CHECK(pages.count("page-glossary") == 1);
  for (const auto& element : elements)
    if (const auto target = attribute(element, "href"); target.substr(0, 2) == "#/")
      CHECK(pages.count("page-" + target.substr(2)) == 1);
}

TEST_CASE("a reader of the book changes the options that the lesson's help lists", "[thorough]") {
  nlohmann::json controls;
  for (const auto& script : elements_of(book(), "script"))
    if (attribute(script, "id") == "all-controls") controls = nlohmann::json::parse(script.text);
  for (const auto& lesson : lessons()) {
    const auto help = output_of(lesson + " --help");
    INFO(lesson);
    CHECK_FALSE(controls.at(lesson).empty());
    for (const auto& control : controls[lesson])
      CHECK_THAT(help, Contains("--" + control["flag"].get<std::string>()));
  }
}

TEST_CASE("every lesson of the book has exercises, and their commands run", "[thorough]") {
  std::map<std::string, std::size_t> counts;
  for (const auto& line : lines_of(read_file(ATTNLAB_ROOT "/lab/book/exercises.txt"))) {
    const std::string start = "$ attnlab ";
    if (line.rfind("$", 0) != 0) continue;
    INFO(line);
    REQUIRE(line.rfind(start, 0) == 0);
    const auto words = line.substr(start.size());
    CHECK(run(words).status == 0);
    ++counts[words.substr(0, words.find(' '))];
  }
  for (const auto& lesson : lessons()) {
    INFO(lesson);
    CHECK(counts[lesson] >= 2);
  }
}

TEST_CASE("book refuses what it cannot write or read") {
  CHECK_THAT(refusal("book"), Contains("book has no --output; valid: attnlab book --output FILE.html"));
  CHECK_THAT(refusal("book --output book.pdf"), Contains("valid: a name that ends in .html"));
  CHECK_THAT(refusal("book --output /nowhere/book.html"), Contains("/nowhere/book.html cannot be written"));
  CHECK_THAT(refusal("book book.html"), Contains("book: \"book.html\" belongs to no option"));
  CHECK_THAT(refusal("book --ouput book.html"), Contains("did you mean --output?"));
  const Folder folder;
  CHECK_THAT(
      refusal("book --output " + folder.file("b.html") + " --program " + folder.file("missing")),
      Contains(
          "attnlab.js: it cannot be opened: No such file or directory; valid: --program with the folder"));
}
