/// worksheet, and check of what a student wrote on one.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "tests/documents/xml.hpp"

namespace {

using nlohmann::ordered_json;
using Row = std::vector<double>;

const std::vector<std::string> lessons_on_paper = {"lookup",          "scoring", "sdpa",     "self-attention",
                                                   "cross-attention", "masking", "multihead"};
const std::vector<std::string> normalisers = {"softmax", "sum"};

/// The answers of a sheet as a student would hand them in.
ordered_json answers_of(const std::string& sheet) {
  return ordered_json::parse(output_of("worksheet " + sheet + " --format json --answers only"));
}

/// Calls `change` with every cell.
void for_each_cell(ordered_json& value, const std::function<void(ordered_json&)>& change) {
  if (!value.is_array()) return change(value);
  for (auto& item : value) for_each_cell(item, change);
}

void for_each_cell_of_sheet(ordered_json& sheet, const std::function<void(ordered_json&)>& change) {
  for (auto& [id, value] : sheet.items())
    if (id != "worksheet" && id != "name") for_each_cell(value, change);
}

double number_in(const ordered_json& cell) {
  if (cell.is_number()) return cell.get<double>();
  const auto text = cell.get<std::string>();
  const auto slash = text.find('/');
  return slash == text.npos ? std::stod(text)
                            : std::stod(text.substr(0, slash)) / std::stod(text.substr(slash + 1));
}

std::string last_step_of(const ordered_json& sheet) {
  std::string last;
  for (const auto& [id, value] : sheet.items()) last = id;
  return last;
}

/// Rounded as a student rounds: whole numbers and infinities stay.
void round_cell(ordered_json& cell, int digits) {
  const double number = number_in(cell);
  if (std::isfinite(number) && number != std::round(number)) cell = fmt::format("{:.{}f}", number, digits);
}

/// The sheet with nothing after the step.
void leave_empty_after(ordered_json& sheet, const std::string& step) {
  bool is_later = false;
  for (auto& [id, value] : sheet.items()) {
    if (is_later) for_each_cell(value, [](ordered_json& cell) { cell = nullptr; });
    is_later = is_later || id == step;
  }
}

ordered_json report_on(const Folder& folder, const std::string& lesson, const ordered_json& sheet,
                       int status = 0) {
  const auto result =
      run(fmt::format("check {} {} --format json", lesson, folder.write("sheet.json", sheet.dump())));
  INFO(result.out << result.err);
  REQUIRE(result.status == status);
  return ordered_json::parse(result.out);
}

ordered_json step_in(const ordered_json& report, const std::string& id) {
  for (const auto& step : report["steps"])
    if (step["id"] == id) return step;
  FAIL("no verdict on " << id);
  return {};
}

/// What check says in its text, in one line.
std::string said_of(const Folder& folder, const std::string& lesson, const std::string& sheet, int status,
                    const std::string& options = "") {
  const auto result = run(fmt::format("check {} {} {}", lesson, folder.write("sheet.txt", sheet), options));
  INFO(result.out << result.err);
  CHECK(result.status == status);
  return std::regex_replace(result.out, std::regex("\\s+"), " ");
}

/// Without the division by √d_k, and with the weights that follow from it.
ordered_json unscaled_sheet(const std::string& arguments) {
  auto sheet = answers_of(arguments);
  sheet["scaled"] = sheet["scores"];
  for (std::size_t i = 0; i < sheet["scaled"].size(); ++i) {
    double sum = 0.0;
    for (const auto& score : sheet["scaled"][i]) sum += std::exp(number_in(score));
    for (std::size_t j = 0; j < sheet["scaled"][i].size(); ++j)
      sheet["weights"][i][j] = fmt::format("{:.3f}", std::exp(number_in(sheet["scaled"][i][j])) / sum);
  }
  leave_empty_after(sheet, "weights");
  return sheet;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// The product of the lengths in "[query 3 × key 3]".
std::size_t size_in_heading(const std::string& heading) {
  const std::regex number("[^0-9]([0-9]+)(?= ×|\\])");
  std::size_t size = 1;
  const auto shape = heading.substr(heading.rfind('['));
  for (std::sregex_iterator it(shape.begin(), shape.end(), number), end; it != end; ++it)
    size *= std::stoul((*it)[1]);
  return size;
}

/// One query of one number and two keys: weights 1/3 and 2/3, output 5.
const char* const thirds =
    "lookup --normaliser sum --sentence 'a b' --set 'query=[1]' --set 'keys=[[1],[2]]' --set "
    "'values=[[3],[6]]'";

ordered_json thirds_with(const ordered_json& weights, const ordered_json& output) {
  auto sheet = answers_of(thirds);
  sheet["temperature=1/weights"] = weights;
  sheet["temperature=1/output"] = output;
  return sheet;
}

std::string verdict_on_thirds(const ordered_json& weights, const ordered_json& output,
                              const std::string& step) {
  const Folder folder;
  const auto path = folder.write("sheet.json", thirds_with(weights, output).dump());
  return step_in(ordered_json::parse(run("check lookup " + path + " --format json").out), step)["verdict"];
}

const std::string columns_of_grades =
    "file,status,step,mistakes,wrong_entries,seed,name,probe,steps_right,steps_wrong,steps_missing,blanks,"
    "same_probe_as,assumptions,right_entries,message\n";

}  // namespace

TEST_CASE("the answers of every worksheet are right, in JSON and in text, and rounded too", "[thorough]") {
  const Folder folder;
  for (const auto& lesson : lessons_on_paper)
    for (const auto& normaliser : normalisers) {
      const auto sheet = fmt::format("{} --seed 3 --normaliser {}", lesson, normaliser);
      INFO(sheet);
      auto answers = answers_of(sheet);
      CHECK(report_on(folder, lesson, answers)["complete"] == true);
      const auto text = folder.file("answers.txt");
      output_of(fmt::format("worksheet {} --answers only --output {}", sheet, text));
      CHECK(output_of(fmt::format("check {} {}", lesson, text)).find("steps are right.") !=
            std::string::npos);
      for (const int digits : {3, 2, 1}) {
        auto rounded = answers;
        for_each_cell_of_sheet(rounded, [&](ordered_json& cell) { round_cell(cell, digits); });
        CHECK(report_on(folder, lesson, rounded)["right"] == true);
      }
    }
}

TEST_CASE("a sheet has a blank for each entry of each step, in every format, and says how many") {
  for (const auto& lesson : lessons_on_paper) {
    INFO(lesson);
    const auto sheet = "worksheet " + lesson + " --answers none";
    const auto text = output_of(sheet);
    std::size_t entries = 0;
    bool is_step = false;
    for (const auto& line : lines_of(text)) {
      is_step = is_step || line[0] == '1';
      if (is_step && line.ends_with(']')) entries += size_in_heading(line);
    }
    CHECK(entries > 0);
    CHECK(count_of(text, " |") - count_of(text, " |\n") == entries);
    CHECK(count_of(text, fmt::format("  {} numbers.", entries)) == 1);
    CHECK(count_of(output_of(sheet + " --format json"), "null") == entries);
    CHECK(count_of(output_of(sheet + " --format html"), "<td class=\"blank\"></td>") == entries);
  }
}

TEST_CASE(
    "a changed entry is named as the first wrong one, with its labels, and what follows from it is right") {
  const Folder folder;
  for (const auto& lesson : lessons_on_paper)
    for (const auto& normaliser : normalisers) {
      INFO(lesson << ' ' << normaliser);
      auto answers = answers_of(fmt::format("{} --seed 5 --normaliser {}", lesson, normaliser));
      const auto last = last_step_of(answers);
      auto* entry = &answers[last];
      while (entry->is_array()) entry = &entry->back();
      *entry = number_in(*entry) + 7.0;
      const auto report = report_on(folder, lesson, answers, 1);
      for (const auto& step : report["steps"]) CHECK((step["verdict"] == "wrong") == (step["id"] == last));
    }
  const auto sheet = output_of("worksheet sdpa --seed 7 --answers only");
  auto changed = sheet;
  const auto row = changed.find("| ", changed.find("cat   |", changed.find("1  scores")));
  changed.replace(row, 11, "|       99 ");
  const auto said = said_of(folder, "sdpa", changed, 1);
  CHECK(said.find("scores wrong in 1 of 9 entries 1 of 9 entries is wrong, the one at [query 1 (cat), key 0 "
                  "(the)]: yours is 99. The difference is ") != std::string::npos);
  CHECK(said_of(folder, "sdpa", changed, 1, "--hint 1").find(" of 9 entries") == std::string::npos);
}

TEST_CASE("catalogued mistakes are named, made everywhere or in one place") {
  const Folder folder;
  const auto report = report_on(folder, "sdpa", unscaled_sheet("sdpa --seed 7"), 1);
  CHECK(step_in(report, "scaled")["mistakes"] == ordered_json::array({"no-scale"}));
  CHECK(step_in(report, "weights")["verdict"] == "right");

  auto in_one_place = answers_of("sdpa --seed 7");
  in_one_place["scaled"][0][1] = in_one_place["scores"][0][1];
  leave_empty_after(in_one_place, "scaled");
  const auto partly = step_in(report_on(folder, "sdpa", in_one_place, 1), "scaled");
  CHECK(partly["in_part"] == true);
  CHECK(partly["mistakes"][0] == "no-scale");

  auto divided = answers_of("self-attention --seed 3");
  divided["scaled"] = divided["scores"];
  for_each_cell(divided["scaled"], [](ordered_json& cell) { cell = number_in(cell) / 4.0; });
  leave_empty_after(divided, "scaled");
  const auto names = step_in(report_on(folder, "self-attention", divided, 1), "scaled")["mistakes"];
  CHECK(std::find(names.begin(), names.end(), "scale-d-k") != names.end());
}

TEST_CASE("shares along the wrong axis are named, of softmax and of sums") {
  const Folder folder;
  for (const auto& normaliser : normalisers) {
    INFO(normaliser);
    auto sheet = answers_of("sdpa --seed 7 --normaliser " + normaliser);
    const auto& scaled = sheet["scaled"];
    auto& weights = sheet["weights"];
    for (std::size_t j = 0; j < scaled[0].size(); ++j) {
      const auto share = [&](std::size_t i) {
        return normaliser == "sum" ? number_in(scaled[i][j]) : std::exp(number_in(scaled[i][j]));
      };
      double sum = 0.0;
      for (std::size_t i = 0; i < scaled.size(); ++i) sum += share(i);
      for (std::size_t i = 0; i < scaled.size(); ++i) weights[i][j] = fmt::format("{:.2f}", share(i) / sum);
    }
    leave_empty_after(sheet, "weights");
    CHECK(step_in(report_on(folder, "sdpa", sheet, 1), "weights")["mistakes"] ==
          ordered_json::array({"softmax-axis"}));
  }
}

TEST_CASE("a decimal is right as far as its digits go") {
  const std::string weights = "temperature=1/weights";
  for (const auto& right :
       {ordered_json{"0.33", "0.67"}, ordered_json{"0.3", "0.7"}, ordered_json{0.333, 0.667},
        ordered_json{"1/3", "2/3"}, ordered_json{"0,33", "0,67"}, ordered_json{"sqrt(4)/6", "2 / 3"},
        ordered_json{"3^-1", "1 − 1/3"}})
    CHECK(verdict_on_thirds(right, {5}, weights) == "right");
  for (const auto& wrong :
       {ordered_json{"0.34", "0.67"}, ordered_json{"0.33", "0.66"}, ordered_json{"0.4", "0.6"},
        ordered_json{"0", "1"}, ordered_json{"3/10", "7/10"}, ordered_json{"0.3333", "0.6665"}})
    CHECK(verdict_on_thirds(wrong, {5}, weights) == "wrong");
}

TEST_CASE("who computes on from rounded numbers is right, and so is who does not") {
  const std::string output = "temperature=1/output";
  for (const auto& right : {ordered_json{5}, ordered_json{5.01}, ordered_json{"5.0"}, ordered_json{"4.97"}})
    CHECK(verdict_on_thirds({"0.33", "0.67"}, right, output) == "right");
  for (const auto& wrong : {ordered_json{"5.10"}, ordered_json{"4.90"}, ordered_json{6}})
    CHECK(verdict_on_thirds({"0.33", "0.67"}, wrong, output) == "wrong");
  CHECK(verdict_on_thirds({"1/3", "2/3"}, {5.01}, output) == "wrong");
}

TEST_CASE("who makes a slip and goes on from the right numbers is told of the slip alone") {
  CHECK(verdict_on_thirds({"0.33", "0.9"}, {5}, "temperature=1/weights") == "wrong");
  CHECK(verdict_on_thirds({"0.33", "0.9"}, {5}, "temperature=1/output") == "right");
  CHECK(verdict_on_thirds({"0.33", "0.9"}, {6.39}, "temperature=1/output") == "right");
  CHECK(verdict_on_thirds({"0.33", "0.9"}, {5.5}, "temperature=1/output") == "wrong");
}

TEST_CASE("a text sheet may be typed in: what stays blank is missing, not wrong") {
  const Folder folder;
  auto sheet = output_of("worksheet sdpa --seed 7 --answers none");
  const auto answers = answers_of("sdpa --seed 7");
  const auto first = sheet.find("___", sheet.find("1  scores"));
  sheet.replace(first, 5, answers["scores"][0][0].dump());  // and some underscores stay
  for (const auto& typed :
       {sheet, std::regex_replace(sheet, std::regex("\n"), "\r\n"), "\xEF\xBB\xBF" + sheet}) {
    const auto said = said_of(folder, "sdpa", typed, 1);
    CHECK(said.find("scores right so far, 8 left empty") != std::string::npos);
    CHECK(said.find("Left empty: scaled, weights, output.") != std::string::npos);
    CHECK(said.find("What is filled in is right, and 32 blanks are empty.") != std::string::npos);
  }
  CHECK(refusal("check sdpa " + folder.write("empty.txt", output_of("worksheet sdpa")))
            .find("is not filled in") != std::string::npos);
}

TEST_CASE("what is no number is a blank, and a sheet of blanks has its name and its seed in a table") {
  const Folder folder;
  auto sheet = answers_of("sdpa --seed 7");
  sheet["weights"][0][2] = "2%";
  const auto said = said_of(folder, "sdpa", sheet.dump(), 1);
  CHECK(contains(said, "\"2%\" at weights[0, 2] is no number and counts as blank"));
  CHECK(contains(said, "What is filled in is right, and 1 blank is empty."));

  std::filesystem::create_directory(folder.file("sheets"));
  folder.write("sheets/a.json", sheet.dump());
  auto blank = output_of("worksheet sdpa --seed 7 --answers none");
  blank.replace(blank.find("Name: ___"), 9, "Name: Zoë");
  folder.write("sheets/b.txt", blank);
  const auto table = run("check sdpa --folder " + folder.file("sheets") + " --format csv").out;
  CHECK(contains(table, "a.json,incomplete,,,0,7,the answers,,3,0,1,1,,"));
  CHECK(contains(table, "b.txt,incomplete,,,0,7,Zoë,,0,0,4,33,,,0,"));
}

TEST_CASE("what follows from the inputs is not called right given a slip that it does not follow from") {
  const Folder folder;
  auto sheet = answers_of("sdpa --seed 7");
  sheet["scores"][0][1] = number_in(sheet["scores"][0][1]) + 8.0;
  const auto said = said_of(folder, "sdpa", sheet.dump(), 1);
  CHECK(contains(said, "scores wrong in 1 of 9 entries"));
  CHECK_FALSE(contains(said, "given your scores"));
}

TEST_CASE("a question mark is a blank") {
  const Folder folder;
  auto sheet = answers_of("sdpa --seed 7");
  sheet["output"][0][0] = "?";
  const auto report = report_on(folder, "sdpa", sheet, 1);
  CHECK(step_in(report, "output")["blanks"] == 1);
  CHECK(report["right"] == true);
  CHECK(report["complete"] == false);
}

TEST_CASE("a sheet says how −∞ is written where it asks for it, and a sheet of HTML which one check reads") {
  const auto words_of = [](const std::string& sheet) { return in_one_line(output_of("worksheet " + sheet)); };
  CHECK(contains(words_of("masking"), "Write −∞ as -inf."));
  CHECK(contains(words_of("masking --format html"), "Write −∞ as -inf."));
  CHECK_FALSE(contains(words_of("sdpa"), "-inf"));
  CHECK_FALSE(contains(words_of("sdpa"), "type it into the text sheet"));
  CHECK(contains(words_of("sdpa --format html"), "type it into the text sheet that its command prints"));
  const Folder folder;
  const auto html = folder.file("sheet.html");
  output_of("worksheet sdpa --output " + html);
  CHECK(contains(refusal("check sdpa " + html), "the text sheet that its command prints"));
}

TEST_CASE("a sheet of HTML has each line of its words in a paragraph of its own") {
  for (const auto& lesson : lessons_on_paper)
    for (const auto& normaliser : normalisers) {
      const auto sheet = fmt::format("worksheet {} --normaliser {} --format html", lesson, normaliser);
      INFO(sheet);
      CHECK(count_of(output_of(sheet), "\u240A") == 0);
    }
}

TEST_CASE("the answers are told no more than asked for") {
  const Folder folder;
  const auto text = unscaled_sheet("sdpa --seed 7").dump();
  CHECK(said_of(folder, "sdpa", text, 1).find("right is") == std::string::npos);
  CHECK(said_of(folder, "sdpa", text, 1, "--reveal").find("right is") != std::string::npos);
  CHECK(said_of(folder, "sdpa", text, 1, "--hint 1").find("no-scale") == std::string::npos);
}

TEST_CASE("a folder of sheets is graded, a line each") {
  const Folder folder;
  auto sheet = answers_of("sdpa --seed 8");
  folder.write("anna.json", sheet.dump());
  folder.write("bert.json", unscaled_sheet("sdpa --seed 8").dump());
  leave_empty_after(sheet, "scaled");
  folder.write("carl.json", sheet.dump());
  const auto graded = run(fmt::format("check sdpa --folder {} --format csv", folder.path().string()));
  CHECK(graded.status == 1);
  const std::string assumed = ",It answers the sheet of: attnlab worksheet sdpa --seed 8,";
  CHECK(graded.out == columns_of_grades + "anna.json,right,,,0,8,the answers,,4,0,0,0," + assumed + "33,\n" +
                          "bert.json,wrong,scaled,no-scale,7,8,the answers,,2,1,1,6," + assumed + "20,\n" +
                          "carl.json,incomplete,,,0,8,the answers,,2,0,2,15," + assumed + "18,\n");
  std::filesystem::remove(folder.file("bert.json"));
  CHECK(run(fmt::format("check sdpa --folder {}", folder.path().string())).status == 1);
}

TEST_CASE("another seed is another sheet, of small whole numbers, and no sum divides by 0", "[thorough]") {
  for (const auto& lesson : lessons_on_paper)
    for (const auto& normaliser : normalisers) {
      std::string before;
      for (int seed = 0; seed < 20; ++seed) {
        const auto sheet =
            output_of(fmt::format("worksheet {} --seed {} --normaliser {}", lesson, seed, normaliser));
        INFO(sheet);
        const auto given = sheet.find("What is given"), asked = sheet.find("\n1  ");
        const auto numbers = sheet.substr(given, asked - given);
        CHECK(numbers != before);
        before = numbers;
        CHECK(sheet.find("nan") == std::string::npos);
        const std::regex number(" (-?[0-9]+(?:[./][0-9]+)?)(?= |\n)");
        for (std::sregex_iterator it(numbers.begin(), numbers.end(), number), end; it != end; ++it)
          CHECK(std::abs(std::stod((*it)[1])) <= 150.0);
      }
    }
}

TEST_CASE("no two rows of a sheet's output are the same, whatever the seed", "[thorough]") {
  for (const std::string lesson : {"multihead", "self-attention", "sdpa", "cross-attention"})
    for (const auto& normaliser : normalisers)
      for (int seed = 1; seed <= 30; ++seed) {
        const auto arguments = fmt::format("{} --seed {} --normaliser {}", lesson, seed, normaliser);
        const auto rows = answers_of(arguments)["output"];
        INFO(arguments << ": " << rows);
        for (std::size_t row = 0; row < rows.size(); ++row)
          for (std::size_t above = 0; above < row; ++above) CHECK(rows[row] != rows[above]);
      }
}

TEST_CASE("inputs are -2 to 2, and 0 to 2 where sums are divided by") {
  for (const auto& normaliser : normalisers)
    for (int seed = 0; seed < 20; ++seed) {
      const auto sheet = lines_of(
          output_of(fmt::format("worksheet sdpa --d-v 4 --seed {} --normaliser {}", seed, normaliser)));
      std::size_t rows = 0;
      for (const auto& line : sheet) {
        const bool is_row =
            std::regex_match(line, std::regex("     (the|cat|slept) .*")) && line.back() != '|';
        const auto* number = normaliser == "sum" ? "[0-2]" : "-?[0-2]";
        if (is_row && ++rows > 0)
          CHECK(std::regex_match(line, std::regex(fmt::format("     [a-z]+ *(  ? ?{}){{4}}", number))));
      }
      CHECK(rows == 9);
    }
}

TEST_CASE(
    "a sheet of paper in HTML is well-formed, runs nothing and has the answers on a page of their own") {
  const auto page = output_of("worksheet multihead --format html --answers after");
  const auto elements = elements_of(page);
  CHECK(std::none_of(elements.begin(), elements.end(), [](const auto& one) { return one.name == "script"; }));
  elements_of(output_of("worksheet sdpa --format html --sentence '</b> & \"x\"'"));
  CHECK(page.find("break-before: page") != std::string::npos);
  CHECK(count_of(page, "class=\"worksheet answers") == 1);
  CHECK(count_of(output_of("worksheet multihead --format html --answers none"),
                 "class=\"worksheet answers") == 0);
}

TEST_CASE("sheets have no answers, which are in files of their own, and several seeds make a file each") {
  const Folder folder;
  const auto sheet = output_of("worksheet sdpa --seed 9");
  CHECK(sheet.find("the answers") == std::string::npos);
  CHECK(output_of(fmt::format("worksheet sdpa --seed 8-10 --output {} --answers {}", folder.file("sheet.txt"),
                              folder.file("key.txt"))) == "");
  CHECK(folder.names() == std::vector<std::string>{"key-08.txt", "key-09.txt", "key-10.txt", "sheet-08.txt",
                                                   "sheet-09.txt", "sheet-10.txt"});
  CHECK(read_file(folder.file("sheet-09.txt")) == sheet);
  CHECK(read_file(folder.file("key-09.txt")) == output_of("worksheet sdpa --seed 9 --answers only"));
  CHECK(output_of("worksheet sdpa --seed 9 --answers " + folder.file("key.json")) == sheet);
  CHECK(report_on(folder, "sdpa", ordered_json::parse(read_file(folder.file("key.json"))))["right"] == true);
}

TEST_CASE("several seeds without a file follow each other, each sheet on a page of its own") {
  std::string all;
  for (const char* seed : {"8", "9", "10"})
    all += (all.empty() ? "" : "\f") + output_of(std::string("worksheet sdpa --seed ") + seed);
  CHECK(output_of("worksheet sdpa --seed 8-10") == all);
  const auto document = output_of("worksheet sdpa --seed 8-10 --format html");
  CHECK(contains(document, ".worksheet + .worksheet { break-before: page; }"));
  std::size_t sheets = 0;
  for (auto at = document.find("<div class=\"worksheet\">"); at != std::string::npos;
       at = document.find("<div class=\"worksheet\">", at + 1))
    ++sheets;
  CHECK(sheets == 3);
  for (const char* seed : {"8", "9", "10"})
    CHECK(contains(document, std::string("<code>attnlab worksheet sdpa --seed ") + seed + "</code>"));
}

TEST_CASE("a sheet's name is told in the table of a folder") {
  const Folder folder;
  auto sheet = output_of("worksheet multihead");
  sheet.replace(sheet.find("Name: __"), 18, "Name: Anna, Lee __");
  const auto blank = sheet.find("___", sheet.find("1  Q_heads"));
  sheet.replace(blank, 4, "9999");
  folder.write("sheet.txt", sheet);
  CHECK(run(fmt::format("check multihead --folder {} --format csv", folder.path().string())).out ==
        columns_of_grades +
            "sheet.txt,wrong,Q_heads,unknown,1,42,\"Anna, Lee\",,0,1,6,51,,It answers the sheet of: attnlab "
            "worksheet multihead --seed 42,0,\n");
}

TEST_CASE("the normaliser is told on the sheet: no exp where sums are divided by") {
  const auto sums = output_of("worksheet self-attention --normaliser sum");
  CHECK(sums.find("shares(x)ⱼ = xⱼ / Σᵢ xᵢ") != std::string::npos);
  CHECK(sums.find("softmax") == std::string::npos);
  CHECK(sums.find("exp(") == std::string::npos);
  CHECK(output_of("worksheet self-attention").find("softmax(x)ⱼ = exp(xⱼ) / Σᵢ exp(xᵢ)") !=
        std::string::npos);
}

TEST_CASE("worksheets that cannot be are refused, with what would be valid") {
  const auto refused = [](const std::string& arguments, const std::string& because) {
    INFO(arguments);
    CHECK(refusal("worksheet " + arguments).find(because) != std::string::npos);
  };
  refused("", "no lesson is given; valid: attnlab worksheet LESSON, one of lookup, scoring");
  refused("sdap", "did you mean sdpa?");
  refused("seq2seq",
          "seq2seq has no worksheet: its numbers are too many or too odd for a pencil; valid: lookup");
  refused("sdpa --normaliser max", "valid: softmax, sum");
  refused("sdpa --answers some", "valid: none, after, only");
  refused("sdpa --answers after --format json", "which JSON has not; valid: none, only or a file");
  refused("sdpa --answers key.npz", "ends in .npz, which names no format");
  refused("sdpa --answers a.txt --output a.txt", "is the file of the sheet; valid: another file");
  refused("sdpa --seed 1-3 --format json", "several seeds make a file of JSON each; valid: --output FILE");
  refused("sdpa --seed 3-1 --output a.txt", "--seed 3-1: valid: FIRST-LAST, upwards");
  refused("sdpa --seed 0-1000 --output a.txt", "for 1000 seeds at most");
  refused("sdpa --format pdf", "valid: text, html, json");
  refused("sdpa --output sheet.npz", "ends in .npz, which names no format; valid: .txt, .html, .json");
  refused("sdpa --dropout 0.1", "has no option --dropout");
  refused("sdpa more", "belongs to no option");
  refused("sdpa --sentence 'a b' --sentence c", "takes no batch; valid: once");
  refused("self-attention --d-model 13", "X would have rows of 13 numbers; valid");
  refused("sdpa --sentence 'a b c d e f g h i j k l' --d-k 9", "no work for a pencil");
}

TEST_CASE("sheets that say what cannot be are refused") {
  const Folder folder;
  const auto sheet = output_of("worksheet sdpa --seed 7 --answers only");
  const auto refused = [&](const std::string& text, const std::string& because,
                           const std::string& more = "") {
    INFO(because);
    CHECK(refusal(fmt::format("check sdpa {} {}", folder.write("sheet.txt", text), more)).find(because) !=
          std::string::npos);
  };
  const auto with = [&](const std::string& part, const std::string& other) {
    auto changed = sheet;
    return changed.replace(changed.find(part), part.size(), other);
  };
  refused(sheet, "is the sheet of another --seed", "--seed 8");
  refused(sheet, "has its own inputs; valid: no --probe", "--probe probe.npz");
  refused(output_of("worksheet lookup --answers only"),
          "is a worksheet of lookup; valid: attnlab check lookup");
  refused(with("attnlab worksheet sdpa --seed 7", ""), "without the command that made it");
  refused(with("--seed 7", "--seed seven"), "--seed seven");
  refused(with("--seed 7", "--seed 7 --set Q=@/dev/zero"), "names a file, which a worksheet does not carry");
  refused(with("attnlab worksheet sdpa", "attnlab worksheet sdpa --help"), "prints a help");
  refused(with("the   |", "the    "), "places; valid: the 9 of the worksheet");
  refused(R"({"worksheet": "attnlab worksheet sdpa --seed 7", "scores": [[true]]})", "neither a number");
  refused(R"({"worksheet": "rm -r", "scores": [[1]]})", "is not the command that made it");
  CHECK(refusal("check lookup " + folder.write("dump.json", R"({"scores": [1, 2]})"))
            .find("is no worksheet, and check knows nothing else of lookup") != std::string::npos);
}

TEST_CASE("a sheet's command brings back its sentence, quotes and all") {
  const Folder folder;
  const auto text = folder.file("sheet.txt");
  output_of("worksheet sdpa --sentence 'two\nlines' --answers only --output " + text);
  CHECK(output_of("check sdpa " + text).find("steps are right.") != std::string::npos);
  output_of("worksheet sdpa --sentence \"it's \\\"the\\\" | cat\" --d-k 1 --answers only --output " + text);
  CHECK(output_of("check sdpa " + text).find("steps are right.") != std::string::npos);
}
