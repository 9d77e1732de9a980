#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>

#include "attn/text/width.hpp"
#include "tests/cli/stored_runs.hpp"

namespace {

using Environment = std::map<std::string, std::string>;

constexpr Window low = {.rows = 24, .columns = 80};
constexpr Window high = {.rows = 1000, .columns = 80};

Surroundings terminal(const Window& window, const Environment& environment = {}) {
  return {.environment = environment, .output = Output::terminal, .window = window};
}

/// Marks every line that goes through it.
const Environment marking = {{"PAGER", "sed s/^/paged:/"}};

std::string marked(const std::string& text) {
  std::string result;
  for (const auto& line : lines_of(text)) result += "paged:" + line + "\n";
  return result;
}

std::size_t widest_line(const std::string& text) {
  std::size_t width = 0;
  for (const auto& line : lines_of(text)) width = std::max(width, attn::display_width(line));
  return width;
}

/// A program of the shell in the folder, as the only one on the path but for the system's own.
Environment path_with(const Folder& folder, const std::string& name, const std::string& script) {
  ::chmod(folder.write(name, "#!/bin/sh\n" + script).c_str(), 0755);
  return {{"PATH", folder.path().string() + ":/usr/bin:/bin"}, {"TERM", "xterm"}, {"NO_COLOR", "1"}};
}

/// What a tour prints of which these keys turn the pages.
Result tour(const std::string& arguments, const std::vector<std::string>& keys,
            const Environment& environment = {{"PAGER", "cat"}}) {
  auto surroundings = terminal(low, environment);
  surroundings.keys = keys;
  return run("tour" + arguments, surroundings);
}

}  // namespace

TEST_CASE("a page is as wide as the terminal up to 120 columns, and 80 without one") {
  const auto usual = output_of("sdpa");
  CHECK(widest_line(usual) == 80);
  CHECK((output_of("sdpa --width 80") == usual));
  const std::string tables = "sdpa --steps Q,scores,weights";  // drawings and code are never broken
  for (const int columns : {50, 100, 120}) {
    const auto width = " --width " + std::to_string(columns);
    CHECK(widest_line(output_of(tables + width)) == static_cast<std::size_t>(columns));
    CHECK((output_of("sdpa", terminal({.rows = 1000, .columns = columns})) == output_of("sdpa" + width)));
  }
  CHECK((output_of("sdpa", terminal({.rows = 1000, .columns = 300})) == output_of("sdpa --width 120")));
  CHECK(widest_line(output_of("sdpa --width 300")) == 300);
  CHECK((output_of("sdpa", terminal({})) == usual));
}

TEST_CASE("a width that is given is the terminal's no more") {
  CHECK((output_of("sdpa --width 60", terminal({.rows = 1000, .columns = 100})) ==
         output_of("sdpa --width 60")));
}

TEST_CASE("entries worked out are as wide as the page") {
  const std::string entry = "multihead --d-model 16 --explain output[0,0]";
  CHECK(widest_line(output_of(entry + " --width 40")) < widest_line(output_of(entry + " --width 100")));
}

TEST_CASE("a terminal does not change the width of what is written to a file") {
  const Folder folder;
  const auto file = as_argument(folder.file("trace.txt"));
  output_of("sdpa --output " + file, terminal({.rows = 24, .columns = 100}));
  CHECK((read_file(folder.file("trace.txt")) == output_of("sdpa")));
  output_of("tour --from complexity --output " + file,
            terminal({.rows = 24, .columns = 100}, {{"TERM", "xterm-256color"}}));
  CHECK((read_file(folder.file("trace.txt")) == output_of("tour --from complexity")));
}

TEST_CASE("the width is nothing of the run") {
  CHECK((output_of("sdpa --format json --width 60") == output_of("sdpa --format json")));
  const Folder folder;
  store(folder, "expected", "sdpa", {"txt", "npz"});
  for (const std::string ending : {"txt", "npz"}) {
    const auto expect = "sdpa --expect " + as_argument(folder.file("expected." + ending));
    CHECK(output_of(expect, terminal({.rows = 24, .columns = 100})) == "");
  }
}

TEST_CASE("what is longer than the screen goes through the pager, with its colours") {
  const auto text = output_of("sdpa");
  CHECK((output_of("sdpa", terminal(low, marking)) == marked(text)));
  CHECK((output_of("sdpa", terminal(high, marking)) == text));
  auto colored = marking;
  colored["TERM"] = "xterm-256color";
  CHECK((output_of("sdpa", terminal(low, colored)) == marked(output_of("sdpa --color always"))));
}

TEST_CASE("a text fits where it leaves the screen's last row free") {
  const std::string arguments = "sdpa --steps output --width 60";
  const auto text = output_of(arguments);
  const auto rows = static_cast<int>(lines_of(text).size());
  const auto on_rows = [&](int count) {
    return output_of(arguments, terminal({.rows = count, .columns = 60}, marking));
  };
  CHECK((on_rows(rows) == marked(text)));
  CHECK((on_rows(rows + 1) == text));
}

TEST_CASE("lines wider than the screen take several of its rows") {
  const std::string arguments = "sdpa --steps output --width 90 --color always";
  const auto text = output_of(arguments);
  const auto rows = static_cast<int>(lines_of(text).size()) + 1;
  CHECK((output_of(arguments, terminal({.rows = rows, .columns = 90}, marking)) == text));
  CHECK((output_of(arguments, terminal({.rows = rows, .columns = 45}, marking)) == marked(text)));
}

TEST_CASE("there is no pager where none is wanted or there is no screen") {
  const auto text = output_of("sdpa");
  CHECK((output_of("sdpa --no-pager", terminal(low, marking)) == text));
  for (const char* none : {"", " ", "cat"})
    CHECK((output_of("sdpa", terminal(low, {{"PAGER", none}})) == text));
  CHECK((output_of("sdpa", {.environment = marking}) == text));
  CHECK((output_of("sdpa", terminal({}, marking)) == text));
  CHECK((output_of("sdpa --help", terminal(low, marking)) == output_of("sdpa --help")));
}

TEST_CASE("the pager is less where none is named") {
  const Folder folder;
  const auto environment = path_with(folder, "less", "echo less \"$@\"\ncat\n");
  const auto text = output_of("sdpa");
  CHECK((output_of("sdpa", terminal(low, environment)) == "less -FRX\n" + text));
  auto dumb = environment;
  dumb["TERM"] = "dumb";
  CHECK((output_of("sdpa", terminal(low, dumb)) == text));
}

TEST_CASE("less as PAGER has its options from LESS, FRX where that is not set") {
  const Folder folder;
  auto environment = path_with(folder, "less", "echo \"$LESS\"\n");
  environment["PAGER"] = "less";
  CHECK(output_of("sdpa", terminal(low, environment)) == "FRX\n");
  environment["LESS"] = "-i";
  CHECK(output_of("sdpa", terminal(low, environment)) == "-i\n");
}

TEST_CASE("a text is printed where its pager cannot be started") {
  const auto text = output_of("sdpa");
  const auto result = run("sdpa", terminal(low, {{"PAGER", "no-such-pager"}}));
  CHECK(result.status == 0);
  CHECK((result.out == text));
  CHECK(contains(result.err, "no-such-pager"));
  const Folder without_less;
  CHECK((output_of("sdpa",
                   terminal(low, {{"PATH", without_less.path()}, {"TERM", "xterm"}, {"NO_COLOR", "1"}})) ==
         text));
}

TEST_CASE("a pager that is left early is no error") {
  const std::string longer_than_a_pipe = "sdpa --d-k 4000 --full --steps Q";
  CHECK((output_of(longer_than_a_pipe).size() > std::size_t{1} << 17));
  CHECK(lines_of(output_of(longer_than_a_pipe, terminal(low, {{"PAGER", "head -n 1"}}))).size() == 1);
  CHECK(output_of(longer_than_a_pipe, terminal(low, {{"PAGER", "exit 3"}})) == "");
  CHECK(output_of(longer_than_a_pipe, terminal(low, {{"PAGER", "kill -9 $$"}})) == "");
}

TEST_CASE("an interrupt is the pager's, which may also lose its own reader") {
  CHECK((output_of("sdpa", terminal(low, {{"PAGER", "sleep 0.3; kill -INT $PPID; cat; :"}})) ==
         output_of("sdpa")));
  CHECK(output_of("sdpa", terminal(low, {{"PAGER", "yes | head -n 1"}})) == "y\n");
}

TEST_CASE("a report of what differs goes through the pager, and the exit status stays") {
  const Folder folder;
  store(folder, "a", "sdpa", {"txt"});
  store(folder, "b", "sdpa --model none --seed 7", {"txt"});
  const auto a = as_argument(folder.file("a.txt")), b = as_argument(folder.file("b.txt"));
  constexpr Window tiny = {.rows = 4, .columns = 80};
  for (const auto& arguments : {"diff " + a + " " + b, "sdpa --model none --seed 7 --expect " + a}) {
    const auto text = run(arguments).out;
    const auto paged = run(arguments, terminal(tiny, marking));
    CHECK(paged.status == 1);
    CHECK((paged.out == marked(text)));
    CHECK((run(arguments + " --no-pager", terminal(tiny, marking)).out == text));
  }
}

TEST_CASE("the tour starts with the lesson it is told, and its contents show all") {
  const auto all = lessons();
  const auto text = output_of("tour --from backward");
  const auto contents = text.substr(0, text.find("\nbackward: "));
  for (const auto& lesson : all) CHECK(contains(contents, " " + lesson + " "));
  for (const auto& line : lines_of(contents)) CHECK(line.size() <= 80);
  for (const auto& lesson : all)
    CHECK(contains(text, "\n" + lesson + ": ") == (lesson == "backward" || lesson == "complexity"));
  CHECK((output_of("tour --from " + all.front()) == output_of("tour")));
}

TEST_CASE("the tour shows each lesson's own page, or all on the sentence that is given") {
  const auto own = output_of("tour --from backward");
  CHECK_FALSE(contains(own, "The tour: "));
  CHECK(contains(own, "\n" + output_of("backward")));
  CHECK(contains(own, "\n" + output_of("complexity")));
  const auto given = output_of("tour --from backward --sentence 'a dog ran'");
  CHECK(contains(given, "The tour: \"a dog ran\"\n"));
  CHECK(contains(given, "\n" + output_of("backward --sentence 'a dog ran'")));
}

TEST_CASE("the tour hands its options on to each lesson") {
  for (const std::string option :
       {" --seed 7", " --rng pcg64", " --draws stream", " --dtype float16", " --shapes", " --precision 2",
        " --full", " --all", " --plain", " --width 100", " --color always"}) {
    INFO(option);
    const auto page = output_of("backward" + option);
    CHECK(contains(output_of("tour --from backward" + option), "\n" + page));
    CHECK((page != output_of("backward") || option == " --full"));
  }
}

TEST_CASE("on a terminal the tour waits at the end of a page, and a key goes on") {
  const auto result = tour(" --from scaling", {"x", "\x1b[B", "q"});
  CHECK(result.status == 0);
  CHECK(result.err == "");
  std::size_t place = 0;
  for (const char* part : {"The tour", "any key: scaling, 3 of ", "scaling: why ", "any key: sdpa, 4 of ",
                           "sdpa: scaled ", "any key: self-attention, 5 of "}) {
    INFO(part);
    place = result.out.find(part, place);
    REQUIRE(place != result.out.npos);
  }
  CHECK_FALSE(contains(result.out, "self-attention: every "));
}

TEST_CASE("the tour ends after its last page without a question, and where a key says so") {
  const auto whole = tour(" --from backward", {" ", " "});
  CHECK(whole.status == 0);
  CHECK(contains(whole.out, "complexity: what "));
  for (const char* key : {"q", "Q", "\x03", "\x04"}) {
    const auto result = tour(" --from backward", {key});
    CHECK(result.status == 0);
    CHECK(contains(result.out, "any key: backward"));
    CHECK_FALSE(contains(result.out, "backward: gradients"));
  }
}

TEST_CASE("the tour shows a long page through the pager and asks when that is left") {
  const auto result = tour(" --from backward", {"x", "q"}, marking);
  CHECK(result.status == 0);
  const auto page = result.out.find("paged:backward: ");
  REQUIRE(page != result.out.npos);
  CHECK(result.out.find("any key: complexity", page) != result.out.npos);
  CHECK_FALSE(contains(tour(" --from backward --no-pager", {"x", "q"}, marking).out, "paged:"));
}

TEST_CASE("a run of more than two seconds says on a terminal what it computes, and wipes it away") {
  const Folder folder;
  const auto file = folder.file("long.json");
  std::string rows;
  for (int i = 0; i < 5000; ++i) rows += (i == 0 ? "[" : ",[") + std::to_string(i % 7) + "]";
  folder.write("long.json", fmt::format(R"({{"Q": [{0}], "K": [{0}], "V": [{0}]}})", rows));
  const auto command = "efficient --variant flash --output " + folder.file("page.txt") + " --input " + file;
  auto surroundings = terminal(low);
  surroundings.err_goes_there = true;
  const auto seen = run(command, surroundings);
  CHECK(seen.status == 0);
  CHECK(std::regex_search(seen.out, std::regex("efficient: computing for [0-9]+ s, after [a-z]")));
  CHECK(seen.out.ends_with("\r\x1B[K"));
  CHECK(output_of(command) == "");
  CHECK(contains(read_file(folder.file("page.txt")), "twice the words: additional scores"));
}
