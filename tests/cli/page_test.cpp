#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "attn/text/utf8.hpp"
#include "attn/text/width.hpp"
#include "tests/cli/program.hpp"

namespace {

using nlohmann::json;
using Strings = std::vector<std::string>;

constexpr std::size_t longest_tour = 3000;
constexpr std::size_t widest_line = 80;

std::size_t longest_page(const std::string& lesson) {
  static const std::map<std::string, std::size_t> lines = {
      {"lookup", 100},  {"scoring", 100},        {"scaling", 100},
      {"sdpa", 100},    {"self-attention", 100}, {"cross-attention", 100},
      {"masking", 130}, {"multihead", 130},      {"backward --through multihead", 180}};
  const auto found = lines.find(lesson);
  return found == lines.end() ? 170 : found->second;
}

/// A whole decoder or block does not fit 15 lines; --all shows the functions that it calls.
std::size_t longest_code(const std::string& lesson) {
  static const std::map<std::string, std::size_t> lines = {
      {"seq2seq", 22},    {"generate", 21},          {"masking", 16},
      {"classifier", 25}, {"transformer-block", 25}, {"backward --through multihead", 21}};
  const auto found = lines.find(lesson);
  return found == lines.end() ? 15 : found->second;
}

/// Pages of several parts have no diagram, or code in each part.
bool has_one(const std::string& lesson, const std::string& id) {
  return !(lesson == "complexity" && id == "flow");
}

/// Core steps without arithmetic on the run's numbers, as what a whole training comes to. Their notes say
/// why.
bool needs_no_worked_entry(const std::string& lesson, const std::string& id) {
  static const std::map<std::string, std::set<std::string>> ids = {
      {"scaling", {"example/scores"}},
      {"training", {"loss"}},
      {"stability", {"float16/naive/exp", "float16/naive/weights", "float16/stable/weights"}}};
  const auto found = ids.find(lesson);
  return found != ids.end() && found->second.count(id) > 0;
}

std::map<std::string, json> events_of(const std::string& lesson) {
  std::map<std::string, json> events;
  const auto trace = json::parse(output_of(lesson + " --format json"));
  for (const auto& event : trace["events"]) events[event["id"]] = event;
  return events;
}

/// Every page of a lesson's own, and those that one of its options picks.
Strings pages() {
  auto all = lessons();
  for (const auto* through : {"multihead", "transformer-block", "transformer-block --norm pre", "seq2seq"})
    all.push_back("backward --through " + std::string(through));
  for (const auto* mask : {"padding", "combined"}) all.push_back("masking --mask " + std::string(mask));
  return all;
}

bool is_heading(const std::string& line) {
  return !line.empty() && line[0] != ' ';
}

/// The lines without an indent that follow a blank line.
Strings headings_of(const std::string& page) {
  Strings headings;
  std::string before = "the title";
  for (const auto& line : lines_of(page)) {
    if (before.empty() && is_heading(line)) headings.push_back(line);
    before = line;
  }
  return headings;
}

/// The commands below the last heading, `  attnlab sdpa --causal   what changes?`, without "attnlab".
Strings commands_on(const std::string& page) {
  static const std::regex command("^ +attnlab (.*?)(   .*)?$");
  Strings commands;
  std::smatch match;
  for (const auto& line : lines_of(page.substr(page.rfind('\n' + headings_of(page).back() + '\n'))))
    if (std::regex_match(line, match, command)) commands.push_back(match[1]);
  return commands;
}

std::set<std::string> decimals_in(const std::string& text) {
  static const std::regex decimal("[0-9]+\\.[0-9]+");
  std::set<std::string> decimals;
  for (std::sregex_iterator match(text.begin(), text.end(), decimal), end; match != end; ++match)
    decimals.insert(match->str());
  return decimals;
}

/// The page without plots, whose axes have numbers of their own.
std::string without_plots(const std::string& page) {
  std::string text;
  for (const auto& line : lines_of(page))
    if (line.find("┤") == line.npos && line.find("│") == line.npos) text += line + '\n';
  return text;
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
}

}  // namespace

TEST_CASE("every page is short enough to be read in one sitting, and fits a terminal of 80 columns") {
  for (const auto& lesson : pages()) {
    const auto lines = lines_of(output_of(lesson));
    INFO(lesson);
    CHECK(lines.size() <= longest_page(lesson));
    for (const auto& line : lines) {
      INFO(line);
      CHECK(attn::display_width(line) <= widest_line);
    }
  }
  CHECK(lines_of(output_of("tour")).size() < longest_tour);
}

TEST_CASE("every page begins with the idea, has a flow and code, and ends with what to try next") {
  for (const auto& lesson : pages()) {
    INFO(lesson);
    const auto headings = headings_of(output_of(lesson));
    auto events = events_of(lesson);
    const auto title = [&](const std::string& id) {
      return events.count(id) > 0 ? events[id]["title"].get<std::string>() : "no " + id;
    };
    REQUIRE(headings.size() >= 4);
    CHECK(headings.front() == title("idea"));
    CHECK(headings.back() == title("next"));
    for (const auto* id : {"flow", "code"}) {
      if (!has_one(lesson, id)) continue;
      INFO(title(id));
      CHECK(std::count(headings.begin(), headings.end(), title(id)) == 1);
    }
    if (events.count("code") == 0) continue;
    const auto code = lines_of(events["code"]["formula"]);
    CHECK(std::count_if(code.begin(), code.end(), [](const auto& line) { return !line.empty(); }) <=
          static_cast<std::ptrdiff_t>(longest_code(lesson)));
  }
}

TEST_CASE("flow and code of a batch say that they are one sample's, and code of a group says which") {
  const auto has_headings = [](const std::string& arguments, const Strings& wanted) {
    const auto headings = headings_of(output_of(arguments));
    INFO(arguments);
    for (const auto& heading : wanted) {
      INFO(heading);
      CHECK(std::count(headings.begin(), headings.end(), heading) == 1);
    }
  };
  has_headings("masking --sentence 'a b c' --sentence 'a b'",
               {"The flow, for each sentence", "In NumPy (import numpy as np), for each sentence"});
  has_headings(
      "cross-attention --source 'a b' --target a --source b --target a",
      {"The flow, for each pair of sentences", "In NumPy (import numpy as np), for each pair of sentences"});
  has_headings("efficient --all",
               {"In NumPy (import numpy as np): flash", "In NumPy (import numpy as np): rest"});
}

TEST_CASE("where a row of weights is wider than the page, its largest shares stand in a line") {
  const std::string words =
      "a b c d e f g h i j k l m n o p q r s t u v w x y z aa bb cc dd ee ff gg hh ii the the";
  for (const std::string lesson : {"self-attention", "multihead", "masking"}) {
    const auto arguments = lesson + " --model none --d-model 4 --sentence '" + words + "'";
    const auto page = output_of(arguments), whole = output_of(arguments + " --full");
    INFO(page);
    std::size_t tables = 0, rows = 0;
    std::smatch match;
    for (const auto& line : lines_of(page)) {
      CHECK(attn::display_width(line) <= 80);
      if (contains(line, "the largest shares (--full shows all)")) ++tables, rows = 0;
      if (tables == 0 ||
          !std::regex_match(line, match, std::regex(R"(  \S+ +(\S+ [01]\.\d{4})(, \S+ [01]\.\d{4})*( …)?)")))
        continue;
      ++rows;
      double before = 1.0;
      const std::regex share(R"([01]\.\d{4})");
      for (auto one = std::sregex_iterator(line.begin(), line.end(), share); one != std::sregex_iterator();
           ++one) {
        const double number = std::stod(one->str());
        CHECK(number <= before);
        CHECK(number > 0.0);
        before = number;
      }
    }
    CHECK(tables > 0);
    CHECK(rows >= 6);
    CHECK(contains(page, "  the#2 "));
    CHECK_FALSE(contains(whole, "largest shares"));
  }
}

TEST_CASE("one entry of every step that a page is about is worked out") {
  for (const auto& lesson : pages())
    for (const auto& [id, event] : events_of(lesson)) {
      if (event["kind"] != "step" || event["level"] != "core") continue;
      INFO(lesson << ": " << id);
      CHECK((event.contains("worked") || needs_no_worked_entry(lesson, id)));
      CHECK_FALSE((event["note"] == "" && needs_no_worked_entry(lesson, id)));
    }
}

TEST_CASE("what a page tells to try next runs", "[thorough]") {
  for (const auto& lesson : pages()) {
    const auto commands = commands_on(output_of(lesson));
    INFO(lesson);
    CHECK(commands.size() >= 2);
    for (const auto& command : commands) {
      if (command.rfind("bench", 0) == 0) continue;  // takes a minute and has tests of its own
      INFO(command);
      const auto result = run(command);
      CHECK(result.status == 0);
      CHECK(result.err == "");
      const auto further = command.find("--explain") == command.npos ? commands_on(result.out) : Strings{};
      CHECK(std::count(further.begin(), further.end(), command) == 0);
    }
  }
}

TEST_CASE("a page does not tell to run what was just run, and has another command in its place") {
  const Strings commands = {"sdpa --sentence \"the dog chased the ball: it was hungry\"",
                            "masking --mask padding", "positional --encoding rope",
                            "scoring --scoring general", "backward --temperature 10"};
  for (const auto& command : commands) {
    INFO(command);
    const auto usual = commands_on(output_of(command.substr(0, command.find(' '))));
    CHECK(std::count(usual.begin(), usual.end(), command) == 1);
    const auto further = commands_on(output_of(command));
    CHECK(std::count(further.begin(), further.end(), command) == 0);
    CHECK(further.size() == usual.size());
  }
}

TEST_CASE("what a page tells to try next keeps the sentences and the seed of the run, and runs") {
  const auto commands = commands_on(output_of("sdpa --sentence \"it's \\\"new\\\"\" --seed 7"));
  CHECK(std::count(commands.begin(), commands.end(),
                   "self-attention --sentence 'it'\\''s \"new\"' --seed 7") == 1);
  for (const std::string page :
       {"cross-attention --source 'a b' --target 'c d e'", "masking --sentence 'a b' --sentence c"})
    for (const auto& command : commands_on(output_of(page))) {
      INFO(command);
      CHECK(run(command).status == 0);
    }
  const auto pair = commands_on(output_of("cross-attention --source 'a b' --target 'c d e'"));
  CHECK(std::count(pair.begin(), pair.end(),
                   "cross-attention --heads 2 --source \"a b\" --target \"c d e\"") == 1);
}

TEST_CASE("what a page tells to try next keeps the options of the run, and names entries that it has") {
  const auto told = [](const std::string& page, const std::string& command) {
    const auto commands = commands_on(output_of(page));
    INFO(page);
    CHECK(std::count(commands.begin(), commands.end(), command) == 1);
    CHECK(run(command).status == 0);
  };
  told("sdpa --sentence \"i drink tea\" --d-k 2",
       "sdpa --explain 'weights[tea, tea]' --sentence \"i drink tea\" --d-k 2");
  told("sdpa --sentence \"i drink tea\" --d-k 2", "sdpa --causal --sentence \"i drink tea\" --d-k 2");
  told("sdpa --model none", "sdpa --causal --model none");
  told("lookup --sentence \"a b c\"", "lookup --explain 'temperature=0.1/weights[c]' --sentence \"a b c\"");
  const std::string given = "sdpa --set 'Q=[[1,0]]' --set 'K=[[1,0],[0,1]]' --set 'V=[[1],[2]]'";
  const std::string kept = R"( --set "Q=[[1,0]]" --set "K=[[1,0],[0,1]]" --set "V=[[1],[2]]")";
  const std::string texts = R"( --source "a b" --target "a")";
  told(given, "sdpa --causal" + texts + kept);
  told(given, "sdpa --explain 'weights[a, b]'" + texts + kept);
  told(given + " --source 'x y' --target z", "sdpa --causal --source \"x y\" --target \"z\"" + kept);
  const auto german = commands_on(output_of("self-attention --sentence \"der Hund jagt die Katze\""));
  CHECK(
      std::none_of(german.begin(), german.end(), [](const auto& one) { return contains(one, "--explain"); }));
}

TEST_CASE("a page tells what this run does: its mask, its temperature, why no model is used") {
  const auto page_of = [](const std::string& page) { return in_one_line(output_of(page)); };
  for (const std::string lesson : {"sdpa", "self-attention"}) {
    CHECK(contains(page_of(lesson + " --temperature 5"), "softmax(Q Kᵀ / (√d_k · T)) V"));
    CHECK(contains(page_of(lesson + " --temperature 5"), "divided by T = 5 besides"));
    CHECK(contains(page_of(lesson + " --causal"), "softmax(Q Kᵀ / √d_k where mask, −∞ elsewhere) V"));
    CHECK_FALSE(contains(page_of(lesson + " --causal"), "all words, itself included"));
  }
  CHECK(contains(page_of("sdpa --define 'scaled = scores / d_k'"), "V as the lesson has it"));
  CHECK(contains(page_of("self-attention --d-k 3"), "drawn, not trained, since --d-k is given"));
  CHECK_FALSE(contains(page_of("self-attention --model none --temperature 2"), "not trained, since"));
  for (const std::string mask : {"padding", "combined"})
    CHECK(contains(output_of("masking --mask " + mask), "np.where(" + mask + "_mask, scaled, -np.inf)"));
  CHECK(contains(page_of("masking"), "gets 0.16936 / 0.18082 ≈ 0.9366."));
  CHECK(contains(page_of("self-attention --sentence \"it slept\" --sentence \"the dog ate the soup\""),
                 "\"dog\""));
  const auto help = page_of("multihead --help");
  CHECK(contains(help, "in the place of a step; repeatable --"));
  CHECK(contains(page_of("self-attention --help"), "default the model's, 4 without one"));
}

TEST_CASE("a page tells of words that the lexicon lacks, and keeps those of the prompt") {
  const auto page = in_one_line(output_of("generate --sentence 'the gnu sees the okapi'"));
  CHECK(contains(page, "\"gnu\" is taken for a noun and read as \"carrot\""));
  CHECK(contains(page, "After \"okapi\" the model writes"));
  CHECK(contains(page, "the text is \"the gnu sees the okapi when"));
  CHECK(contains(output_of("generate --sentence 'the gnu sees the okapi' --steps step=1/layer=2/weights"),
                 "okapi"));
}

TEST_CASE("no page calls numbers random that are given") {
  const std::string of_sdpa = "sdpa --set 'Q=[[1,0]]' --set 'K=[[1,0],[0,1]]' --set 'V=[[1],[2]]'";
  CHECK_FALSE(contains(output_of(of_sdpa), "random"));
  for (const auto& page :
       {std::string("masking --set 'X=[[1,0],[0,1]]' --set W_Q=identity"),
        std::string("cross-attention --set 'X_source=[[1,0],[0,1]]' --set 'X_target=[[1,0]]'")}) {
    INFO(page);
    const auto said = attn::lower_case(in_one_line(output_of(page)));
    CHECK(contains(said, "what is not given is drawn at random"));
    CHECK_FALSE(contains(said, "are random"));
  }
  CHECK(contains(in_one_line(output_of("sdpa --model none")), "The numbers are drawn at random"));
}

TEST_CASE("the entry that a refusal of --explain proposes is one of the run") {
  const std::string page = "self-attention --sentence \"i drink tea\" --sentence \"my brother drinks milk\"";
  const auto said = refusal(page + " --explain 'weights[drinks, brother]'");
  CHECK(contains(said, "as in weights[1, drinks, brother]"));
  CHECK(run(page + " --explain 'weights[1, drinks, brother]'").status == 0);
  CHECK(contains(refusal(page + " --explain 'weights[no, such]'"), "as in weights[0, 0, 0]"));
  const std::string explained = "self-attention --explain 'weights[saw, girls]'";
  CHECK(contains(output_of(explained + " --temperature 0.1"), "subtracts is the row's largest score"));
  CHECK_FALSE(contains(output_of(explained), "largest score"));
}

TEST_CASE("commands are told from what is said of them") {
  CHECK(commands_on("demo: a lesson\n\nThe idea\n  attnlab list\n\n"
                    "Try next\n  attnlab sdpa --causal\n      what changes?\n"
                    "  attnlab lookup --sentence \"a b\"   another one\nattnlab\n") ==
        Strings{"sdpa --causal", "lookup --sentence \"a b\""});
}

TEST_CASE("every plain page is ASCII and has the page's numbers", "[thorough]") {
  for (const auto& name : pages()) {
    const auto lesson = name == "seq2seq" ? name + " --model none" : name;  // its words are French
    const auto plain = output_of(lesson + " --plain");
    INFO(lesson);
    CHECK(is_ascii(plain));
    CHECK(is_ascii(output_of(lesson + " --plain --all")));
    const auto on_page = decimals_in(without_plots(output_of(lesson))), on_plain_page = decimals_in(plain);
    Strings missing;
    std::set_difference(on_page.begin(), on_page.end(), on_plain_page.begin(), on_plain_page.end(),
                        std::back_inserter(missing));
    CHECK(missing == Strings{});
  }
}
