#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "tests/documents/xml.hpp"

using Catch::Contains;

namespace {

bool has(const XmlElement& element, const std::string& name, const std::string& value) {
  const auto found = element.attributes.find(name);
  return found != element.attributes.end() && found->second == value;
}

/// Checks what holds for every page: it is well-formed, runs and fetches nothing but what is in it, and each
/// link leads to one place.
void check_page(const std::string& document) {
  const auto elements = elements_of(document);
  std::set<std::string> ids, targets;
  std::size_t scripts = 0, styles = 0;
  for (const auto& element : elements) {
    for (const auto& [name, value] : element.attributes) {
      INFO(element.name << ' ' << name << "=\"" << value << '"');
      CHECK(name != "src");
      CHECK(name != "style");
      CHECK(name.rfind("on", 0) != 0);
      if (name == "id") CHECK(ids.insert(value).second);
      if (name == "href") {
        REQUIRE(value[0] == '#');
        targets.insert(value.substr(1));
      }
    }
    for (const auto* name : {"link", "img", "iframe", "object", "embed", "base", "form"})
      CHECK(element.name != name);
    scripts += element.name == "script" ? 1 : 0;
    styles += element.name == "style" ? 1 : 0;
  }
  CHECK(scripts == 2);  // one of them holds data
  CHECK(styles == 1);
  for (const auto& target : targets) {
    INFO(target);
    CHECK(ids.count(target) == 1);
  }
}

/// The texts of all cells that stand in nothing folded.
std::vector<std::string> numbers_in_sight(const std::string& document) {
  const auto start = document.find("<main>");
  const auto page = document.substr(start, document.find("</main>") + 7 - start);
  std::string in_sight;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < page.size(); ++at) {
    if (page.compare(at, 8, "<details") == 0) ++depth;
    if (depth == 0) in_sight += page[at];
    if (page.compare(at, 10, "</details>") == 0 && --depth == 0) at += 9;
  }
  std::vector<std::string> numbers;
  for (const auto& cell : elements_of(in_sight, "td")) numbers.push_back(cell.text);
  return numbers;
}

nlohmann::json workings_of(const std::string& document) {
  for (const auto& script : elements_of(document, "script"))
    if (has(script, "id", "workings")) return nlohmann::json::parse(script.text);
  FAIL("no workings");
  return {};
}

}  // namespace

TEST_CASE("each lesson is a page of HTML under 320 KB that is well-formed and needs nothing else") {
  for (const auto& lesson : lessons()) {
    const auto document = output_of(lesson + " --format html");
    INFO("attnlab " << lesson << " --format html: " << document.size() << " bytes");
    CHECK(document.size() < 320'000);
    check_page(document);
    CHECK_THAT(document, Contains("<title>" + lesson + ": ") && Contains("What holds on this run") &&
                             Contains("<caption>") && Contains("default-src 'none'; script-src 'sha256-"));
  }
}

TEST_CASE("every number of a page of text is in a table of the page of HTML") {
  const std::string words = "self-attention --model none --d-model 4 --sentence 'the cat sat on the mat'";
  const auto tensor = nlohmann::json::parse(output_of(words + " --steps weights --format json"))["events"][0];
  const auto tables = elements_of(output_of(words + " --steps weights --format html"), "td");
  std::size_t cell = 0;
  for (const auto& row : tensor["data"])
    for (const auto& number : row) {
      while (cell < tables.size() && has(tables[cell], "class", "strongest")) ++cell;
      REQUIRE(cell < tables.size());
      CHECK(std::abs(std::stod(tables[cell++].text) - number.get<double>()) <= 0.5e-4);
    }
}

TEST_CASE("every step of a page of text is a step of the page of HTML, with its title") {
  const std::regex heading(R"(^ ?[0-9]+  (.*?) *(\[[^\[\]]*\])?$)");
  for (const auto& lesson : lessons()) {
    const auto document = output_of(lesson + " --format html");
    std::string text;
    for (const char* name : {"p", "h2", "summary"})
      for (const auto& element : elements_of(document, name)) text += element.text + '\n';
    text = in_one_line(text);
    std::size_t steps = 0;
    for (const auto& line : lines_of(output_of(lesson + " --width 200"))) {
      std::smatch match;
      if (!std::regex_match(line, match, heading)) continue;
      ++steps;
      const auto words = match.str(1);
      const auto gap = words.find("   ");
      const auto id = words.substr(0, std::min({words.find(" = "), words.find(": "), gap, words.size()}));
      INFO("attnlab " << lesson << ": " << line);
      CHECK(contains(document, "<section class=\"step\" id=\"t-" + id + "\""));
      if (gap != words.npos) CHECK(contains(text, words.substr(gap + 3)));
    }
    INFO("attnlab " << lesson);
    CHECK(steps > 0);
  }
}

TEST_CASE("the cells of every step that the lesson is about can be worked out, where the page has room") {
  const std::map<std::string, std::set<std::string>> without_room = {
      {"backward", {"d_Q"}},
      {"transformer-block", {"attention/weights", "norm_1", "residual_1"}},
      {"classifier", {"attention/weights", "pooled"}},
      {"generate", {"step=1/x"}},
      {"training", {"before/losses", "before/weights"}}};
  for (const auto& lesson : lessons()) {
    const auto trace = nlohmann::json::parse(output_of(lesson + " --format json"));
    std::set<std::string> core;
    for (const auto& event : trace["events"])
      if (event["level"] == "core" && event.contains("worked") && !event["shape"].empty())
        core.insert(event["id"]);
    REQUIRE_FALSE(core.empty());
    std::set<std::string> left_out = core;
    const auto workings = workings_of(output_of(lesson + " --format html"));
    for (const auto& tensor : workings["tensors"])
      if (!tensor["steps"].empty()) left_out.erase(tensor["id"]);
    INFO("attnlab " << lesson);
    CHECK(left_out == (without_room.contains(lesson) ? without_room.at(lesson) : std::set<std::string>{}));
  }
}

TEST_CASE("hostile sentences stay text") {
  const std::string longest(10'000, 'x');
  for (const std::string& words :
       {std::string("</script> <script>alert(1)</script>"), std::string("\"'><img src=x onerror=alert(1)>"),
        std::string("]]> <!-- &lt; &amp;"), std::string("\u202Eevil\u202C \u2066x\u2069 \uFFFE \uFFFF"),
        std::string("{2} $ {constructor} __proto__"), longest})
    for (const std::string lesson : {"sdpa", "multihead", "positional", "seq2seq"}) {
      INFO("attnlab " << lesson << ": " << words.substr(0, 80));
      const auto document = output_of(lesson + with_sentence(lesson, words) + " --format html");
      check_page(document);
      CHECK_THAT(document, !Contains("\u202E") && !Contains("<img") && !Contains("alert(1)</script>\""));
      CHECK(workings_of(document)["tensors"].size() > 5);
    }
}

TEST_CASE("the formulas of a document are MathML made of the formulas, not of their text") {
  const auto page = output_of("sdpa --model none --format html");
  CHECK_THAT(page,
             Contains("<mfrac><mi>scores</mi><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac></mrow>"
                      "<mo>=</mo>") ||
                 Contains("<mfrac><mi>scores</mi><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac>"
                          "<mo>=</mo>"));
  CHECK_THAT(output_of("sdpa --model none --format html --define 'scaled = scores / d_k'"),
             Contains("<mfrac><mi>scores</mi><msub><mi>d</mi><mi>k</mi></msub></mfrac>"));
}

TEST_CASE("a page of HTML takes its form from the options") {
  const std::string lesson = "self-attention --model none --d-model 4 --sentence 'a b c' --format html ";
  CHECK_THAT(output_of(lesson), Contains("seed <b>42</b>") && !Contains("were trained"));
  CHECK_THAT(output_of("self-attention --format html"), Contains("were trained") && Contains("<b>about</b>"));
  const auto shapes = output_of(lesson + "--shapes");
  check_page(shapes);
  CHECK_THAT(shapes, Contains("[query 3 × key 3]") && !Contains("data-tensor=\""));
  std::size_t cells = 0;
  for (const auto& cell : elements_of(output_of(lesson + "--precision 2 --steps weights"), "td"))
    if (!has(cell, "class", "strongest")) {
      CHECK_THAT(cell.text, Catch::Matches("0\\.[0-9]{2}"));
      ++cells;
    }
  CHECK(cells == 9);
  check_page(output_of(lesson + "--all"));
  check_page(output_of("multihead --format html --sentence 'a b' --sentence c --model none"));
}

TEST_CASE("weights that people chose are not called trained") {
  for (const std::string lesson : {"lookup", "scoring"})
    CHECK_THAT(output_of(lesson + " --format html"),
               Contains("set by hand") && !Contains("weights were trained"));
}

TEST_CASE("a brief page of HTML has every table that is in sight, and nothing that is folded") {
  for (const auto& lesson : lessons()) {
    INFO("attnlab " << lesson << " --format html --brief");
    const auto whole = output_of(lesson + " --format html");
    const auto brief = output_of(lesson + " --format html --brief");
    check_page(brief);
    CHECK(numbers_in_sight(brief) == numbers_in_sight(whole));
    CHECK(elements_of(brief, "td").size() == numbers_in_sight(whole).size());
    CHECK(brief.size() < whole.size());
  }
  CHECK_THAT(refusal("sdpa --brief"), Contains("--brief") && Contains("--format html"));
}

TEST_CASE("a long sentence has whole tables, and with --full so do all of its tensors") {
  const auto words = with_sentence("sdpa", sentence_of(70));
  CHECK_THAT(output_of("sdpa --format html" + words), !Contains("left out"));
  const auto weights =
      "self-attention --format html --model none" + with_sentence("self-attention", sentence_of(150));
  CHECK_THAT(output_of(weights), Contains("left out, shown with --full"));
  CHECK_THAT(output_of(weights + " --full"), !Contains("left out"));
}

TEST_CASE("an ending of --output asks for HTML") {
  const Folder folder;
  output_of("sdpa --output " + as_argument(folder.file("lesson.html")));
  CHECK(std::filesystem::file_size(folder.file("lesson.html")) == output_of("sdpa --format html").size());
  CHECK_THAT(refusal("sdpa --format html --explain 'weights[0,0]'"), Contains("--explain"));
}
