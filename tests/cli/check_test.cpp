/// probe, check and break: from the inputs of a probe to the name of a mistake.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "attn/text/width.hpp"
#include "tests/cli/stored_runs.hpp"
#include "tests/unit/sample.hpp"

namespace {

using nlohmann::json;

/// A probe of the lesson and the tensors of a program with the mistake in it.
struct Exercise {
  Exercise(const Folder& folder, const std::string& lesson, const std::string& mistake)
      : probe(folder.file("probe.npz")), dump(folder.file("mine.npz")) {
    output_of(fmt::format("probe {} --output {}", lesson, probe));
    output_of(fmt::format("break {} {} --output {}", lesson, mistake, dump));
    arguments = fmt::format("check {} {} --probe {}", lesson, dump, probe);
  }
  std::string probe, dump, arguments;
};

json verdict_on(const json& report, const std::string& id) {
  for (const auto& step : report["steps"])
    if (step["id"] == id) return step;
  FAIL("no verdict on " << id);
  return {};
}

}  // namespace

TEST_CASE("check names the mistake that break made, and only in its own step") {
  const Folder folder;
  const Exercise exercise(folder, "multihead", "scale-d-model");
  const auto result = run(exercise.arguments + " --format json");
  CHECK(result.status == 1);
  CHECK(result.err == "");
  const auto report = json::parse(result.out);
  CHECK(report["schema"] == "attnlab.check/1");
  CHECK(report["lesson"] == "multihead");
  CHECK(verdict_on(report, "scaled")["verdict"] == "wrong");
  CHECK(verdict_on(report, "scaled")["mistakes"] == json::array({"scale-d-model"}));
  for (const auto& step : report["steps"])
    if (step["id"] != "scaled") CHECK(step["verdict"] == "right");
}

TEST_CASE("what check says is a suite of tests, too, in JUnit's XML and as GitHub's annotations") {
  const Folder folder, reports;
  const Exercise exercise(folder, "sdpa", "no-scale");
  const auto file = reports.file("report.xml");
  CHECK(run(exercise.arguments + " --junit " + file).out == run(exercise.arguments).out);
  const auto xml = read_file(file);
  CHECK(contains(xml,
                 R"(<testsuite name="attnlab check sdpa" tests="5" failures="1" errors="0" skipped="0">)"));
  CHECK(contains(xml, R"(<testcase classname="attnlab check sdpa" name="scores"/>)"));
  CHECK(contains(xml, R"(<failure message="wrong: no-scale">check sdpa: mine.npz)"));
  run(exercise.arguments + " --hint 1 --junit " + file);
  CHECK(contains(read_file(file), R"(<failure message="wrong">)"));
  CHECK_FALSE(contains(read_file(file), "no-scale"));

  const auto on_github = run(exercise.arguments, {.environment = {{"GITHUB_ACTIONS", "true"}}});
  CHECK(on_github.out == run(exercise.arguments).out);
  CHECK(on_github.err.starts_with("::error title=attnlab check sdpa%2C scaled::wrong: no-scale%0A"));
  CHECK(std::count(on_github.err.begin(), on_github.err.end(), '\n') == 1);

  folder.write("notes.txt", "no tensors");
  const auto of_folder = "check sdpa --folder " + folder.path().string() + " --probe " + exercise.probe;
  CHECK(run(of_folder + " --junit " + file).status == 1);
  CHECK(contains(read_file(file), R"(name="mine.npz">)"));
  CHECK(contains(read_file(file), R"(<failure message="wrong scaled no-scale"></failure>)"));
  CHECK(contains(read_file(file), R"(<failure message="unreadable)"));
  CHECK_THAT(refusal(exercise.arguments + " --junit " + reports.file("no/such/report.xml")),
             Catch::Contains("--junit"));
}

TEST_CASE("what a worksheet leaves empty is a failure in JUnit's XML") {
  const Folder folder;
  const auto file = folder.file("report.xml");
  auto sheet = output_of("worksheet lookup --answers only");
  const auto line = sheet.find("     output |");
  REQUIRE(line != sheet.npos);
  sheet.replace(line, sheet.find('\n', line) - line, "     output |           |           |");
  const auto result = run("check lookup " + folder.write("sheet.txt", sheet) + " --junit " + file);
  CHECK(result.status == 1);
  CHECK(contains(read_file(file), R"(name="temperature=1/output">)"));
  CHECK(contains(read_file(file), R"(<failure message="left empty">)"));
}

TEST_CASE("hints tell where, then the family, then the name, and no number that would be right") {
  const Folder folder;
  const Exercise exercise(folder, "sdpa", "no-scale");
  const auto told = [&](const std::string& more) { return in_one_line(run(exercise.arguments + more).out); };
  const auto where = told(" --hint 1"), family = told(" --hint 2"), name = told(" --hint 3");
  CHECK(contains(where, "scaled wrong masked"));
  CHECK_FALSE(contains(where, "no-scale"));
  CHECK(contains(family, "a mistake of the family scale"));
  CHECK_FALSE(contains(family, "no-scale"));
  CHECK(contains(name, "wrong: no-scale"));
  CHECK_FALSE(contains(told(""), "right is "));
  CHECK(contains(told(" --reveal"), "right is "));
}

TEST_CASE("a trace of the lesson's own is right, from its own inputs as well as from a probe") {
  const Folder folder;
  for (const std::string lesson : {"sdpa --causal", "multihead --model none --causal"}) {
    const auto name = lesson.substr(0, lesson.find(' '));
    for (const char* ending : {"npz", "json", "safetensors"}) {
      const auto file = folder.file(fmt::format("{}.{}", name, ending));
      output_of(fmt::format("{} --output {}", lesson, file));
      CHECK(contains(output_of(fmt::format("check {} {}", name, file)), "steps are right."));
    }
  }
}

TEST_CASE("a trace with trained weights, or of drawn ones, is right without a probe") {
  const Folder folder;
  const auto file = folder.file("trace.npz");
  for (const std::string lesson :
       {"scoring", "sdpa", "self-attention", "cross-attention", "masking", "multihead", "positional",
        "seq2seq", "transformer-block", "generate", "efficient", "cross-attention --model none",
        "seq2seq --model none", "generate --model none"}) {
    output_of(fmt::format("{} --output {}", lesson, file));
    CHECK(contains(output_of(fmt::format("check {} {}", lesson.substr(0, lesson.find(' ')), file)),
                   "steps are right."));
  }
}

TEST_CASE("a folder of dumps becomes a table, and one wrong file is enough for status 1") {
  const Folder folder;
  const auto dumps = folder.file("dumps"), probe = folder.file("probe.npz");
  std::filesystem::create_directory(dumps);
  output_of("probe sdpa --output " + probe);
  output_of("break sdpa no-scale --output " + dumps + "/ada.npz");
  folder.write("dumps/eve.npz", "no archive");
  const auto result = run(fmt::format("check sdpa --folder {} --probe {} --format csv", dumps, probe));
  CHECK(result.status == 1);
  const auto lines = lines_of(result.out);
  REQUIRE(lines.size() == 3);
  CHECK(
      lines[0] ==
      "file,status,step,mistakes,wrong_entries,seed,name,probe,steps_right,steps_wrong,steps_missing,blanks,"
      "same_probe_as,assumptions,right_entries,message");
  CHECK(std::regex_match(
      lines[1],
      std::regex(
          "ada.npz,wrong,scaled,no-scale,[1-9][0-9]*,42,,probe.npz,[1-9][0-9]*,1,0,0,,,[1-9][0-9]*,")));
  CHECK(lines[2].rfind("eve.npz,unreadable,,,0,,,,0,0,0,0,,,0,", 0) == 0);
}

TEST_CASE("the table of a folder counts steps, and names who handed in nothing and who shares a probe") {
  const Folder folder;
  const auto probes = folder.file("probes"), dumps = folder.file("dumps");
  std::filesystem::create_directory(probes);
  std::filesystem::create_directory(dumps);
  for (const std::string name : {"anna", "bert", "carl", "dora"})
    output_of(
        fmt::format("probe sdpa --seed {} --output {}/{}.npz", name.size() + name.front(), probes, name));
  output_of("probe multihead --output " + probes + "/another_lesson.npz");
  const auto save = [&](const std::string& probe, const std::string& name, const std::string& steps) {
    output_of(fmt::format("sdpa --input {}/{}.npz --steps {} --format json --output {}/{}.json", probes,
                          probe, steps, dumps, name));
  };
  save("anna", "anna", "Q,scores,scaled,weights,output");
  save("anna", "eve", "Q,weights,output");
  save("bert", "bert", "Q,weights");
  save("carl", "carl", "Q,output");
  auto broken = json::parse(read_file(dumps + "/carl.json"));
  for (auto& event : broken["events"])
    if (event["id"] == "output") event["data"][0][0][0] = "NaN";
  folder.write("dumps/carl.json", broken.dump());
  const auto command = fmt::format("check sdpa --folder {} --probe {}", dumps, probes);
  const auto result = run(command + " --format csv");
  CHECK(result.status == 1);
  auto lines = lines_of(result.out);
  for (auto& line : lines)
    line = std::regex_replace(std::regex_replace(line, std::regex(",[0-9]+(?=,[a-z]+,[a-z]+.npz)"), ",SEED"),
                              std::regex(",[0-9]+,$"), "");
  CHECK(lines == std::vector<std::string>{
                     "file,status,step,mistakes,wrong_entries,seed,name,probe,steps_right,steps_wrong,steps_"
                     "missing,blanks,same_probe_as,assumptions,right_entries,message",
                     "anna.json,right,,,0,SEED,anna,anna.npz,4,0,0,0,,",
                     "bert.json,right,,,0,SEED,bert,bert.npz,1,0,1,0,,",
                     "carl.json,wrong,output,nan,1,SEED,carl,carl.npz,0,1,0,0,,",
                     "eve.json,right,,,0,SEED,anna,anna.npz,2,0,0,0,anna.json,",
                     ",missing,,,0,SEED,dora,dora.npz,0,0,1,0,,",
                 });
  const auto text = run(command).out;
  CHECK(contains(in_one_line(text), "eve.json right same probe as anna.json"));
  CHECK(contains(in_one_line(text), "dora.npz missing"));
}

TEST_CASE("the table of a folder has families where no more is to be told, and what was assumed") {
  const Folder folder;
  std::filesystem::create_directory(folder.file("dumps"));
  const auto probe = folder.file("new/probes/probe.npz");  // in folders that probe makes
  output_of("probe multihead --heads 2 --kv-heads 2 --output " + probe);
  output_of("break multihead no-scale --heads 2 --kv-heads 2 --output " + folder.file("dumps/ada.npz"));
  output_of(fmt::format("multihead --input {} --output {}", probe, folder.file("dumps/eve.npz")));
  const auto command = fmt::format("check multihead --folder {} --probe {}", folder.file("dumps"), probe);
  CHECK(contains(in_one_line(run(command + " --hint 2").out), "ada.npz wrong scaled scale"));
  CHECK_FALSE(contains(run(command + " --hint 1").out, "scale "));

  auto tensors = json::object();
  const auto trace = json::parse(output_of("multihead --model none --format json"));
  for (const auto& event : trace["events"])
    if (event.contains("data")) tensors[event["id"].get<std::string>()] = event["data"];
  std::filesystem::create_directory(folder.file("plain"));
  folder.write("plain/eve.json", tensors.dump());
  CHECK_THAT(run("check multihead --folder " + folder.file("plain") + " --format csv").out,
             Catch::Contains(",\"heads = 2 is assumed"));
}

TEST_CASE("a table of dumps goes to a file, and status 2 says that none could be checked") {
  const Folder folder;
  std::filesystem::create_directory(folder.file("dumps"));
  folder.write("dumps/eve.npz", "no archive");
  const auto command = fmt::format("check sdpa --folder {} --output ", folder.file("dumps"));
  CHECK(run(command + folder.file("grades.csv")).status == 2);
  CHECK(contains(read_file(folder.file("grades.csv")), "eve.npz,unreadable,"));
  CHECK(run(command + folder.file("grades.json")).status == 2);
  CHECK(json::parse(read_file(folder.file("grades.json")))["files"][0]["status"] == "unreadable");
  CHECK(contains(refusal(command + folder.file("grades.npz")), "valid: .txt, .json, .csv"));
}

TEST_CASE("a folder of each student is looked into, CSV files too, and each gets a report") {
  const Folder folder;
  const auto probes = folder.file("probes"), dumps = folder.file("dumps"), reports = folder.file("reports/");
  for (const std::string name : {"anna", "bert"}) {
    output_of(fmt::format("probe self-attention --seed {} --output {}/{}.npz", name.size() + name.front(),
                          probes, name));
    std::filesystem::create_directories(dumps + "/" + name);
  }
  std::filesystem::create_directories(dumps + "/carl/empty");
  output_of(fmt::format("self-attention --input {}/anna.npz --steps output --output {}/anna/mine.npz", probes,
                        dumps));
  std::filesystem::create_directories(dumps + "/bert/mine");
  const auto trace = json::parse(
      output_of(fmt::format("self-attention --input {}/bert.npz --steps X,output --format json", probes)));
  for (const auto& event : trace["events"]) {
    if (!event.contains("data")) continue;
    std::string rows;
    for (const auto& sample : event["data"])
      for (const auto& row : sample) {
        for (std::size_t i = 0; i < row.size(); ++i) rows += (i == 0 ? "" : ",") + row[i].dump();
        rows += '\n';
      }
    folder.write("dumps/bert/mine/" + event["id"].get<std::string>() + ".csv", rows);
  }
  const auto result =
      run(fmt::format("check self-attention --folder {} --probe {} --output {}", dumps, probes, reports));
  CHECK_THAT(in_one_line(result.out),
             Catch::StartsWith("anna/mine.npz right bert/mine right carl/empty unreadable"));
  CHECK(result.status == 1);
  CHECK(contains(read_file(reports + "anna-mine.npz.txt"), "check self-attention: mine.npz"));
  CHECK(contains(refusal(fmt::format("check self-attention {} --probe {}", dumps, probes)),
                 "or --folder " + dumps));

  std::filesystem::rename(dumps + "/bert/mine", dumps + "/bert/handed_in");
  std::filesystem::rename(dumps + "/bert", dumps + "/zoe");  // the inputs tell
  CHECK(contains(
      in_one_line(run(fmt::format("check self-attention --folder {} --probe {}", dumps, probes)).out),
      "zoe/handed_in right"));
}

TEST_CASE(
    "a mistake beside the right tensors is a page for a browser, too, and says no claim of what is wrong") {
  const Folder folder;
  const auto page = output_of("break sdpa softmax-axis --output " + folder.file("broken.html"));
  const auto html = read_file(folder.file("broken.html"));
  CHECK(contains(html, "<title>break sdpa softmax-axis</title>"));
  CHECK(contains(html, "with the mistake"));
  CHECK(contains(page, "  notices  each row of weights sums to 1"));
  CHECK_FALSE(contains(page, "broken  "));
}

TEST_CASE("a roster has a probe and a task for each name") {
  const Folder folder;
  const auto roster = folder.write("roster.txt", "Anna\n\nZoë Lee\r\n"), probes = folder.file("probes/");
  output_of(fmt::format("probe sdpa --names {} --seed 5 --output {}", roster, probes));
  CHECK(contains(read_file(probes + "Zoë Lee.txt"), "probe sdpa: Zoë Lee.npz (seed 6,"));
  CHECK(contains(read_file(probes + "Anna.txt"), "(seed 5,"));
  CHECK(contains(refusal("probe sdpa --output x/ --names " + folder.write("twice.txt", "a\na\n")),
                 "a stands there twice"));
}

TEST_CASE("the lines of the task sheet that save, save what tells the probe") {
  const Folder folder;
  const auto task = output_of("probe sdpa --output " + folder.file("probe.npz"));
  const auto lines = task.substr(task.find("How to read and to save"));
  const std::vector<std::string> languages = {"NumPy", "PyTorch", "JAX",  "Julia",
                                              "Rust",  "C++",     "JSON", "CSV"};
  for (std::size_t i = 0; i + 1 < languages.size(); ++i) {
    INFO(languages[i]);
    const auto start = lines.find("\n  " + languages[i]), end = lines.find("\n  " + languages[i + 1]);
    CHECK(contains(lines.substr(start, end - start), "config"));
  }
}

TEST_CASE("a probe is without its window where that is asked for, and its numbers are drawn") {
  const Folder folder;
  const auto probe = " --output " + folder.file("probe.npz");
  const auto sentence = "probe self-attention --sentence \"the cat sat\" --no-causal";
  CHECK(contains(in_one_line(output_of(sentence + probe)), "A window:"));
  CHECK_FALSE(contains(output_of(sentence + probe + " --no-window"), "mask"));
  CHECK(contains(in_one_line(output_of(sentence + probe + " --window 0")), "each query sees itself alone"));
  for (const std::string command : {"probe self-attention --output x.npz", "break self-attention no-scale"})
    CHECK(contains(refusal(command + " --model about"), "valid: --model none"));
  CHECK(contains(refusal("probe self-attention --seed 1,2 --output x.npz"), "FIRST-LAST"));
}

TEST_CASE("dumps are checked with the probe of their name, of the id that they name or of their inputs") {
  const Folder folder;
  const auto probes = folder.file("probes"), dumps = folder.file("dumps");
  std::filesystem::create_directory(probes);
  std::filesystem::create_directory(dumps);
  const auto dump_of = [&](const std::string& name, const std::string& options) {
    output_of(fmt::format("sdpa --input {}/{}.npz {}", probes, name, options));
  };
  for (const std::string name : {"anna", "bert", "carl"}) {
    output_of(
        fmt::format("probe sdpa --seed {} --output {}/{}.npz", name.size() + name.front(), probes, name));
    dump_of(name, fmt::format("--output {}/{}.npz", dumps, name));
    dump_of(name, fmt::format("--steps weights,output --format json --output {}/{}.json", dumps, name));
  }
  const auto is = [&](const std::string& probe) {
    std::string statuses;
    for (const auto& line : lines_of(run(fmt::format("check sdpa --folder {} --probe {}", dumps, probe)).out))
      statuses += line + '\n';
    return in_one_line(statuses);
  };
  CHECK(is(probes) ==
        "anna.json right anna.npz right same probe as anna.json bert.json right bert.npz right same probe as "
        "bert.json carl.json right carl.npz right same probe as carl.json ");
  std::filesystem::rename(dumps + "/carl.npz", dumps + "/handed_in_7.npz");
  CHECK(contains(is(probes), "handed_in_7.npz right"));
  std::filesystem::copy_file(dumps + "/bert.npz", dumps + "/carl.npz");
  CHECK(contains(is(probes), fmt::format("carl.npz other probe {0}/carl.npz is not of the probe", dumps)));
  std::filesystem::rename(dumps + "/carl.json", dumps + "/nobody.json");
  CHECK(contains(is(probes), "nobody.json right"));  // only carl's probe explains its numbers
  CHECK(contains(run(fmt::format("check sdpa {}/nobody.json --probe {}", dumps, probes)).out,
                 "Nothing in the file says which probe it is of."));
  std::filesystem::remove(probes + "/carl.npz");
  CHECK(contains(is(probes), "nobody.json unknown probe --probe " + probes + " has no probe of"));
  CHECK(contains(is(probes + "/anna.npz"), "bert.json wrong weights unknown, or of another probe"));

  const auto mismatch = fmt::format("check sdpa {}/bert.npz --probe {}", dumps, probes);
  CHECK(contains(refusal(mismatch + "/anna.npz"), "is not of the probe"));
  CHECK(contains(output_of(mismatch), "computed from the inputs of bert.npz"));
  const auto named = [&](const std::string& id) {
    return folder.write("named.json",
                        fmt::format(R"({{"schema": "attnlab.trace/1", "lesson": "sdpa", "title": "",
      "config": {{"probe": "{}"}}, "events": [{{"kind": "step", "id": "output", "title": "", "formula": "", "note": "",
      "inputs": [], "shape": [1], "axes": ["d_v"], "labels": [null], "dtype": "float64", "data": [1.0]}}]}})",
                                    id));
  };
  CHECK(contains(refusal(fmt::format("check sdpa {} --probe {}/anna.npz", named("01234567"), probes)),
                 "is of the probe 01234567, and"));
}

TEST_CASE("a probe is the same for the same seed, another for another, and states its task") {
  const Folder folder;
  const auto sheet = output_of("probe multihead --seed 7 --output " + (folder.file("a.npz")));
  output_of("probe multihead --seed 7 --output " + (folder.file("b.npz")));
  output_of("probe multihead --seed 8 --output " + (folder.file("c.npz")));
  CHECK(read_file(folder.file("a.npz")) == read_file(folder.file("b.npz")));
  CHECK(read_file(folder.file("a.npz")) != read_file(folder.file("c.npz")));
  for (const char* part : {"W_Q", "scores", "np.savez", "attnlab check multihead mine.npz"})
    CHECK(contains(sheet, part));
}

TEST_CASE("several seeds make a probe each, named as worksheets are, with the task beside it") {
  const Folder folder;
  CHECK(output_of("probe multihead --seed 8-10 --output " + folder.path().string()) == "");
  CHECK(folder.names() == std::vector<std::string>{"probe-08.npz", "probe-08.txt", "probe-09.npz",
                                                   "probe-09.txt", "probe-10.npz", "probe-10.txt"});
  const auto alone = output_of("probe multihead --seed 9 --output " + folder.file("alone.npz"));
  CHECK(read_file(folder.file("probe-09.npz")) == read_file(folder.file("alone.npz")));
  CHECK(contains(alone, "(seed 9, id "));
  const auto task = read_file(folder.file("probe-09.txt"));
  CHECK(contains(task, "np.load(\"probe-09.npz\")"));
  CHECK(contains(in_one_line(task), "attnlab check multihead mine.npz --probe probe-09.npz"));
  CHECK_FALSE(contains(task, folder.path().string()));
  CHECK(output_of("probe sdpa --seed 1-2 --output " + folder.file("mine.npz")) == "");
  CHECK(contains(read_file(folder.file("mine-2.txt")), "probe sdpa: mine-2.npz (seed 2, id "));
  CHECK(contains(refusal("probe sdpa --seed 3-1 --output x.npz"), "valid: FIRST-LAST, upwards"));
  CHECK(contains(refusal("probe sdpa --audit --seed 1-3"), "valid: no --seed"));
}

TEST_CASE("an audit says which mistakes a course's dimensions hide, and a probe's hide none that shows") {
  const auto few = output_of(
      "probe multihead --audit --sentence 'a b c d' --d-model 4 --heads 2 --kv-heads 2 --d-k 2 --d-v 2");
  CHECK(contains(few, "scale-heads"));
  CHECK(contains(few, "exposed by"));
}

TEST_CASE("the audit of each lesson's own probe finds nothing hidden but what no dimensions show") {
  const auto valid = refusal("probe lookup --audit");
  std::vector<std::string> lessons;
  std::istringstream names(valid.substr(valid.rfind("valid: ") + 7));
  for (std::string name; names >> name;) lessons.push_back(name.substr(0, name.find(',')));
  CHECK(lessons.size() >= 12);
  for (const char* part : {"multihead", "transformer-block"})
    lessons.push_back(std::string("backward --through ") + part);
  for (const auto& lesson : lessons) {
    const auto audit = output_of("probe " + lesson + " --audit");
    CAPTURE(audit);
    CHECK_FALSE(contains(audit, "could stand for each other"));
    const auto lines = lines_of(audit);
    for (std::size_t i = 1; i < lines.size(); ++i)
      CHECK((lines[i].empty() || contains(lines[i], "no dimensions show it: ")));
  }
}

TEST_CASE("break shows what changes, what stays and why tests pass") {
  const auto text = output_of("break multihead heads-reshape-only");
  for (const char* part : {"Q_heads", "changes by up to", "stays", "Why the usual tests pass",
                           "Why a model may train with it", "with the mistake"})
    CHECK(contains(text, part));
  CHECK(contains(in_one_line(output_of("break sdpa no-scale")), "query a b c d e f g q "));
  CHECK(contains(output_of("break sdpa softmax-no-shift"), "changes to numbers that are not finite"));
  CHECK(
      contains(output_of("break sdpa mask-after-softmax"), "masked   changes to finite numbers from others"));
  CHECK(contains(output_of("break sdpa softcap-twice --softcap 2"), "capped   changes by up to"));
  CHECK(contains(output_of("break --list sdpa"), "softmax-axis"));
  CHECK(contains(output_of("break --list"), "multihead"));
}

TEST_CASE(
    "the help of check, probe and break without a lesson lists the options that all lessons have there") {
  for (const std::string command : {"check", "probe", "break"}) {
    const auto help = output_of(command + " --help");
    CAPTURE(help);
    for (const auto* said : {"--seed N", "--input FILE", "--no-pager", "LESSON is one of "})
      CHECK(contains(help, said));
    CHECK_FALSE(contains(help, "--kv-heads"));
  }
  CHECK(contains(output_of("check --help"), "--like torch"));
}

TEST_CASE("a sheet with grouped heads says how to have plain ones") {
  const Folder folder;
  const auto probe = folder.file("probe.npz");
  const auto sheet = output_of("probe multihead --output " + probe);
  CHECK(contains(sheet, "--kv-heads 4"));
  CHECK_FALSE(contains(output_of("probe multihead --kv-heads 4 --output " + probe), "--kv-heads"));
}

TEST_CASE("break shows each mistake of each lesson that it lists: what is done and what it changes") {
  Sample sample("break");
  std::string lesson;
  for (const auto& line : lines_of(output_of("break --list"))) {
    if (line.rfind(' ') == line.npos && !line.empty()) lesson = line;
    const auto end = line.find(' ', 2);
    if (line.rfind("   ", 0) == 0 || end == line.npos || !sample.takes_next()) continue;
    const auto arguments = "break " + lesson + line.substr(1, end - 1);
    INFO("attnlab " << arguments << ", " << Sample::setting());
    const auto text = output_of(arguments);
    CHECK(contains(text, arguments + "\n  What is done: "));
    CHECK(contains(text, "\nWhat changes\n"));
    const bool changes_something = contains(text, " changes ") || contains(text, " has the shape ");
    CHECK((changes_something || contains(text, "\n  Nothing changes: ")));
    CHECK(contains(text, ", with the mistake\n") == changes_something);
    for (const char* part : {"\nWhy the usual tests pass\n", "\nHow to find it\n"})
      CHECK(contains(text, part));
    for (const auto& shown : lines_of(text)) CHECK(attn::display_width(shown) <= 80);
  }
}

TEST_CASE("bad arguments of check, probe and break are refused with what would be valid") {
  const Folder folder;
  const auto mine = folder.file("mine.npz");
  output_of("sdpa --output " + mine);
  CHECK(contains(refusal("check"), "valid: attnlab check LESSON"));
  CHECK(contains(refusal("check nothing x.npz"), "valid: "));
  CHECK(contains(refusal("check sdpa"), "no file is given"));
  CHECK(contains(refusal("check sdpa " + mine + " --hint 4"), "--hint"));
  CHECK(contains(refusal("check sdpa " + mine + " --like pandas"), "valid: torch"));
  CHECK(contains(refusal("check sdpa " + mine + " --format csv"), "--folder"));
  CHECK(contains(refusal("check sdpa " + (folder.file("none.npz"))), "none.npz"));
  CHECK(contains(refusal("probe sdpa"), "--output"));
  CHECK(contains(refusal("probe lookup --output x.npz"), "valid: "));
  CHECK(contains(refusal("probe sdpa --output x.txt"), "valid: .npz, .safetensors, .json"));
  CHECK(contains(refusal("break sdpa"), "no mistake is given"));
  CHECK(contains(refusal("break sdpa no-scal"), "did you mean no-scale"));
  CHECK(contains(refusal("break sdpa nosuch"), "there is no mistake \"nosuch\"; valid: batch-leak, "));
  CHECK(contains(refusal("break seq2seq softmax-no-shift"), "All is exact while scores are moderate"));
}

TEST_CASE("a mistake that changes a shape is shown, written and found") {
  const Folder folder;
  const Exercise exercise(folder, "multihead", "no-output-projection");
  CHECK(contains(output_of("break multihead no-output-projection"), "output        has the shape (3×7×20)"));
  const auto report = json::parse(run(exercise.arguments + " --format json").out);
  CHECK(verdict_on(report, "output")["mistakes"] == json::array({"no-output-projection"}));
}

TEST_CASE("mistakes that are one number are one, with both names") {
  const Folder folder;
  const Exercise exercise(folder, "sdpa", "scale-d-k");
  CHECK(contains(run(exercise.arguments).out, "wrong: scale-d-k (scale-twice is the same)"));
}

TEST_CASE("a file without a step of the lesson is no right one") {
  const Folder folder;
  const auto probe = folder.file("probe.npz");
  output_of("probe sdpa --output " + probe);
  const auto said = refusal(fmt::format("check sdpa {0} --probe {0}", probe));
  CHECK(contains(said, "holds no step of sdpa; valid: scores"));
}

TEST_CASE("names that stand for nothing are told, with their shapes and what they may be") {
  const Folder folder;
  const Exercise exercise(folder, "sdpa", "no-scale");
  const auto mine = folder.file("other.json");
  std::string rows;
  for (int row = 0; row < 5; ++row) rows += std::string(row == 0 ? "" : ",") + "[0, 0, NaN]";
  folder.write("other.json", fmt::format(R"({{"blend": [[{0}],[{0}],[{0}]], "zz": [1.5]}})", rows));
  const auto said = refusal(fmt::format("check sdpa {} --probe {}", mine, exercise.probe));
  CHECK(contains(said, "holds no step of sdpa; it has blend (3×5×3), zz (1); valid: scores, scaled"));
  CHECK(contains(said, "; perhaps blend is output, zz is "));
  CHECK(
      contains(refusal("check sdpa " + mine), "holds no input of sdpa; it has blend (3×5×3), zz (1); valid"));
}

TEST_CASE("where the mask is given, a window that is one off is wrong") {
  const Folder folder;
  const Exercise exercise(folder, "sdpa", "window-off-by-one");
  const auto report = json::parse(run(exercise.arguments + " --format json").out);
  CHECK(verdict_on(report, "masked")["mistakes"] == json::array({"window-off-by-one"}));
  CHECK(report["right"] == false);
}

TEST_CASE("a part of a mask that is forgotten is named") {
  const Folder folder;
  for (const std::string mistake : {"causal-missing", "padding-missing", "window-missing"}) {
    const Exercise exercise(folder, "sdpa", mistake);
    const auto report = json::parse(run(exercise.arguments + " --format json").out);
    CHECK(verdict_on(report, "masked")["mistakes"] == json::array({mistake}));
  }
}

TEST_CASE("the lines of a task sheet fit 80 columns, and state the options") {
  const Folder folder;
  for (const std::string lesson : {"positional", "seq2seq", "transformer-block"})
    for (const auto& line :
         lines_of(output_of(fmt::format("probe {} --output {}", lesson, folder.file("p.npz")))))
      if (!contains(line, folder.file("p.npz"))) CHECK(attn::display_width(line) <= 80);
  CHECK(contains(output_of("probe transformer-block --output " + folder.file("p.npz")), "activation=gelu"));
  const auto command = "probe sdpa --causal --sentence 'a b' --output " + folder.file("p.npz");
  CHECK(contains(output_of(command), "Causal"));
  CHECK(contains(output_of(command + " --set mask=[[0,1],[1,1]]"), "Causal"));
  CHECK_FALSE(contains(
      output_of("probe sdpa --sentence 'a b' --set mask=[[0,1],[1,1]] --output " + folder.file("p.npz")),
      "ausal"));
  CHECK(contains(output_of(command + " --dropout 0.5 --set dropout_mask=[[0,1],[1,1]]"), "Causal"));
}

TEST_CASE("the inputs that a program used may be in files of their own") {
  const Folder folder;
  const Exercise exercise(folder, "multihead", "scale-d-model");
  const auto probe = json::parse(output_of("multihead --format json --input " + exercise.probe));
  json given, results;
  for (const auto& event : probe["events"]) {
    if (event["kind"] == "input") given[std::string(event["id"])] = event["data"];
    if (event["id"] == "output" || event["id"] == "X") results[std::string(event["id"])] = event["data"];
  }
  folder.write("inputs.json", given.dump());
  folder.write("mine.json", results.dump());
  const auto check = [&](const std::string& dump, const std::string& options) {
    return run(fmt::format("check multihead {} {}", dump, options));
  };
  const auto input = "--input " + folder.file("inputs.json");
  const auto right = check(folder.file("mine.json"), "--heads 4 --kv-heads 2 " + input);
  CHECK(right.status == 0);
  CHECK(contains(right.out, "mine.json, computed from the inputs of inputs.json"));
  CHECK(contains(check(exercise.dump, input).out, "wrong: scale-d-model"));

  const auto moved = given["X"].dump();
  given.erase("X");
  folder.write("weights.json", given.dump());
  folder.write("x.json", "{\"X\": " + moved + "}");
  results.erase("X");
  folder.write("output.json", results.dump());
  const auto apart = fmt::format("--heads 4 --kv-heads 2 --input {} --input {}", folder.file("x.json"),
                                 folder.file("weights.json"));
  CHECK(check(folder.file("output.json"), apart).status == 0);
  CHECK(check(folder.file("mine.json"), "--heads 4 --kv-heads 2 --input " + folder.file("weights.json"))
            .status == 0);

  results["X"] = json::parse(moved);
  results["X"][0][0][0] = 100.0;
  folder.write("other.json", results.dump());
  CHECK(contains(check(folder.file("other.json"), "--heads 4 --kv-heads 2 " + input).out,
                 "X is another than that of --input, whose numbers are used."));
  CHECK(
      contains(refusal(fmt::format("check multihead {} {} --probe {}", exercise.dump, input, exercise.probe)),
               "--probe and --input both have the inputs; valid: one of the two"));
  CHECK(contains(refusal("check multihead " + folder.file("output.json")), "--input FILE"));
}

TEST_CASE("of a dump that is shaped as its sheet says nothing is remarked") {
  const Folder folder;
  const auto probe = folder.file("probe.npz"), mine = folder.file("mine.npz");
  const auto shaped = [&](const std::string& lesson, const std::string& options) {
    output_of(fmt::format("probe {} {} --output {}", lesson, options, probe));
    output_of(fmt::format("{} --input {} --output {}", lesson, probe, mine));
    const auto command = fmt::format("check {} {} --probe {}", lesson, mine, probe);
    CHECK(json::parse(output_of(command + " --format json"))["assumptions"] == json::array());
    CHECK(lines_of(output_of(command))[1].empty());
  };
  shaped("generate", "");
  shaped("positional", "--sentence 'a b c d e f g'");
  for (const std::string lesson : {"multihead", "transformer-block"})
    shaped(lesson, "--sentence 'a b c d e f g' --causal");
}

TEST_CASE("a mask of a usual shape is an input, without a probe") {
  const Folder folder;
  const auto mine = folder.file("mine.json");
  const auto verdict = [&](const std::string& mask, const std::string& more = "") {
    folder.write("mine.json", fmt::format(R"({{"Q": [[1], [2]], "K": [[0], [0]], "V": [[1], [3]], "mask": {},
      "weights": [[1, 0], [1, 0]], "output": [[1], [1]]}})",
                                          mask));
    return run(fmt::format("check sdpa {} {}", mine, more));
  };
  for (const auto* mask :
       {"[[[[true, false]]]]", "[[true, false], [true, false]]", "[[[[0, -1e9]]]]", "[[[1, 0], [1, 0]]]"}) {
    const auto result = verdict(mask);
    INFO(mask << '\n' << result.out << result.err);
    CHECK(result.status == 0);
  }
  CHECK(verdict("[[[[false, true]]]]").status == 1);
  CHECK(verdict("[[[[false, true]]]]", "--mask-true hidden").status == 0);
}

TEST_CASE("the probe of another lesson is refused by name") {
  const Folder folder;
  const Exercise exercise(folder, "sdpa", "no-scale");
  CHECK(contains(refusal(fmt::format("check multihead {} --probe {}", exercise.dump, exercise.probe)),
                 "is of the lesson sdpa; valid: a probe of multihead"));
}

TEST_CASE("a probe that is causal by default is made without it by --no-causal, and its sheet says so") {
  const Folder folder;
  const auto probe = folder.file("probe.npz");
  for (const std::string lesson : {"multihead", "sdpa"}) {
    const auto make = fmt::format("probe {} --output {}", lesson, probe);
    CHECK(contains(in_one_line(output_of(make)), "make the probe with --no-causal"));
    const auto causal = read_file(probe);
    CHECK_FALSE(contains(output_of(make + " --no-causal"), "ausal"));
    CHECK(read_file(probe) != causal);
  }
}
