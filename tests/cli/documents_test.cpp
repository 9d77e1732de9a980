/// Lessons that are documents: other formulas in the place of their steps, other languages, other words.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/stored_runs.hpp"

namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

Result with_data(const std::string& folder, const std::string& arguments) {
  return run(arguments, {.environment = {{"ATTNLAB_DATA", folder}}});
}

}  // namespace

TEST_CASE(
    "another formula of --define takes the place of a step, what follows follows, and the page says so") {
  const auto page = output_of("sdpa --model none --define 'scaled = scores / d_k'");
  CHECK_THAT(page, Contains("Not as the lesson has it") && Contains("scaled = scores / d_k = scores / 4"));
  const auto weights = [](const std::string& more) {
    return nlohmann::json::parse(output_of("sdpa --model none --format json" + more))["events"].dump();
  };
  CHECK(weights("") != weights(" --define 'scaled = scores / d_k'"));
  const auto leaking = run("masking --model none --define 'causal_mask = key < query + 2'");
  CHECK(leaking.status == 1);  // the next word leaks, and the claims say so
  CHECK_THAT(leaking.out, Contains("key < query + 2") && Contains("✗ changing the last row of X"));
}

TEST_CASE("the end of a name in --define means each step that ends so, where no step has it in full") {
  const auto events = [](const std::string& arguments) {
    return nlohmann::json::parse(run(arguments + " --format json").out)["events"];
  };
  const std::string all = "generate --model none --layers 1 --new-tokens 1 --define 'scaled = scores / 7'";
  std::string one_by_one =
      "generate --model none --layers 1 --new-tokens 1 --define 'full/scaled = full/scores / 7'";
  for (const auto& event : events(all))
    if (const auto id = event.value("id", std::string()); id.ends_with("/scaled"))
      one_by_one += fmt::format(" --define '{0}/scaled = {0}/scores / 7'", id.substr(0, id.rfind('/')));
  const auto tensors = [&](const std::string& arguments) {
    std::map<std::string, nlohmann::json> data;
    for (const auto& event : events(arguments))
      if (event.contains("data")) data[event["id"]] = event["data"];
    return data;
  };
  CHECK(one_by_one.find("/scaled = ") != one_by_one.npos);
  CHECK(tensors(all) == tensors(one_by_one));
  const auto exact = tensors("transformer-block --model none --define 'output = norm_1'");
  CHECK(exact.at("output") == exact.at("norm_1"));
  CHECK(exact.at("ffn/output") == tensors("transformer-block --model none").at("ffn/output"));
  const auto refused = run("generate --define 'scled = scores'");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("scled is no step of this run; valid: ") && Contains(", scaled, ") &&
                              !Contains("step=0"));
}

TEST_CASE("a formula of --define that does not fit is refused with its column") {
  for (const auto& [formula, message] :
       {std::pair("scaled = scores / d_q", "column 19: d_q is unknown"),
        std::pair("scled = scores", "scled is no step"), std::pair("scaled = (scores", "column 17"),
        std::pair("scaled[query] = scores", "the axis key of scores")}) {
    const auto result = run(fmt::format("sdpa --define '{}'", formula));
    INFO(formula);
    CHECK(result.status == 2);
    CHECK(result.out == "");
    CHECK_THAT(result.err, Contains(message));
  }
  CHECK_THAT(run("backward --define 'scaled = scores'").err, Contains("does not use --define"));
}

TEST_CASE("check tells the formula behind numbers that no mistake of the catalogue gives") {
  const Folder folder;
  const auto probe = folder.file("probe.npz"), dump = folder.file("mine.npz");
  output_of("probe sdpa --output " + probe);
  for (const std::string formula : {"scaled = scores / 1.7", "output = Σ_key weights² · V"}) {
    const std::string defined = formula.front() == 's' ? formula : "output = sum(key) weights ^ 2 * V";
    run(fmt::format("sdpa --input {} --causal --window 3 --define '{}' --output {}", probe, defined, dump));
    const auto result = run(fmt::format("check sdpa {} --probe {}", dump, probe));
    CHECK(result.status == 1);
    CHECK_THAT(result.out, Contains("wrong: your numbers are those of " + formula));
    const auto report =
        nlohmann::json::parse(run(fmt::format("check sdpa {} --probe {} --format json", dump, probe)).out);
    CHECK_THAT(report.dump(), Contains("\"formula\":\"" + formula));
    CHECK_THAT(run(fmt::format("check sdpa {} --probe {} --hint 1", dump, probe)).out,
               !Contains("your numbers"));
  }
}

TEST_CASE("xtensor: --code shows the page's code in xtensor, and --format cpp is a program of it") {
  CHECK_THAT(output_of("masking --code xtensor"),
             Contains("In xtensor") && Contains("xt::linalg::dot(X, W_Q)"));
  const auto program = output_of("sdpa --format cpp");
  CHECK_THAT(program, Catch::Matchers::StartsWith("// g++ ") && Contains("expect(\"weights\", weights,"));
  const auto refused = run("backward --format cpp");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("--format cpp") &&
                              Contains("sdpa, self-attention, cross-attention, masking, multihead"));
}

namespace {

/// A folder of data with one of the lab's documents, changed.
class Documents {
 public:
  /// Puts `text` in the place of `old` in a document, or behind its end.
  void change(const std::string& name, const std::string& old, const std::string& text) const {
    auto document = read_file(fs::path(ATTN_DATA).parent_path() / "lessons" / name);
    const auto at = old.empty() ? document.size() : document.find(old);
    REQUIRE(at != document.npos);
    const auto changed = fs::path(data()) / "lessons" / name;
    fs::create_directories(changed.parent_path());
    std::ofstream(changed) << document.replace(at, old.size(), text);
  }

  std::string data() const { return folder_.file("data"); }

 private:
  Folder folder_;
};

}  // namespace

TEST_CASE("a word of a page changes with its file") {
  const Documents documents;
  documents.change("sdpa.md", "",
                   "\n# A new part  {#new}\n\nThe largest score is {max(query, key) scores:.1f}.\n");
  CHECK_THAT(with_data(documents.data(), "sdpa --model none").out,
             Contains("A new part") && Contains("The largest score is"));
}

TEST_CASE("a cost that no layer has is told from what was counted") {
  const Documents documents;
  documents.change("complexity.md", "    local/waits = 1", "    local/waits = 2");
  const auto waits = with_data(documents.data(), "complexity");
  CHECK(waits.status == 1);
  CHECK_THAT(waits.out, Contains("3 of 4 claims hold") && Contains("✗ the formulas say what was counted"));
  documents.change("complexity.md", "", "\n");
  documents.change("parts/complexity_costs.md", "full/work = 2 * n ^ 2 * d", "full/work = 2 * n ^ 2 * d + 1");
  const auto work = with_data(documents.data(), "complexity --all").out;
  for (const auto* claim : {"✗ the formulas say what was counted", "✗ so they do as d grows",
                            "✗ and as to where full attention takes more"})
    CHECK_THAT(work, Contains(claim));
}

TEST_CASE("a fence of lines that begin with | is a table, with a line for each entry of an axis") {
  const Documents documents;
  documents.change("sdpa.md", "", R"(
# A table  {#a-table}

```
| | largest | {if causal}may see{end} |
| {each query} row of {token(query)} | {max(key) weights:.2f} | {if causal}{sum(key) where(mask, 1, 0)}{end} |
| in all | {max(query, key) weights:.1f} | |
```
)");
  const std::string weights = " --set Q=[[0],[1]] --set K=[[0],[1]] --set V=[[0],[1]]";
  const auto page = [&](const std::string& options) {
    return with_data(documents.data(), "sdpa" + options).out;
  };
  CHECK_THAT(
      page(" --sentence 'a b'" + weights),
      Contains(
          "A table\n            largest\n  row of a     0.50\n  row of b     0.73\n  in all        0.7\n"));
  CHECK_THAT(page(" --sentence 'a b' --causal" + weights),
             Contains("largest  may see\n  row of a     1.00        1\n  row of b     0.73        2\n  in "
                      "all        1.0\n"));
  const auto long_one = page(" --sentence 'a b c d e f g h i j k l m' --model none");
  CHECK_THAT(long_one, Contains("row of f") && Contains("\n  …\n") && Contains("row of h"));
  CHECK_THAT(long_one, !Contains("row of g"));
}

TEST_CASE("prose has the tokens along an axis, and one of them as --explain takes it") {
  const Documents documents;
  documents.change("sdpa.md", "", R"(
# Words  {#words}

Of "{tokens(key)}" the last is {place(key, size(key) - 1)}.
)");
  CHECK_THAT(with_data(documents.data(), "sdpa --model none --sentence 'a b a'").out,
             Contains("Of \"a b a\" the last is a#2."));
  CHECK_THAT(with_data(documents.data(), "sdpa --model none --sentence 'a b'").out,
             Contains("Of \"a b\" the last is b."));
}

TEST_CASE("a mask may be a condition, and one that is given in its place must be equal") {
  const Documents documents;
  documents.change("sdpa.md", "## What each entry has to give",
                   "## Who may look back\n\n    back[query, key]: as key <= query\n\n"
                   "## What each entry has to give");
  const auto run_it = [&](const std::string& arguments) {
    return with_data(documents.data(), "sdpa --sentence 'a b' --model none --format json" + arguments);
  };
  const auto trace = nlohmann::json::parse(run_it(" --steps back").out);
  const auto& back = trace["events"][0];
  CHECK(back["kind"] == "input");
  CHECK(back["dtype"] == "bool");
  CHECK(back["data"].dump() == "[[true,false],[true,true]]");
  CHECK(run_it(" --set back=[[1,0],[1,1]]").status == 0);
  CHECK_THAT(run_it(" --set back=[[1,1],[1,1]]").err, Contains("back"));
}

TEST_CASE("a cell of a table stands there once for each entry of an axis, as far as the page has room") {
  const Documents documents;
  documents.change("sdpa.md", "", R"(
# A table  {#a-table}

```
| | {each key} {token(key)} |
| {each query} {token(query)} | {each key} {weights:.2f} |
```
)");
  const auto page = [&](const std::string& options) {
    return with_data(documents.data(), "sdpa" + options).out;
  };
  CHECK_THAT(page(" --sentence 'a b' --set Q=[[0],[1]] --set K=[[0],[1]] --set V=[[0],[1]]"),
             Contains("A table\n        a     b\n  a  0.50  0.50\n  b  0.27  0.73\n"));
  const std::string wide = "international";
  const auto cut = page(fmt::format(" --sentence '{0}1 {0}2 {0}3 {0}4 {0}5 {0}6' --model none", wide));
  CHECK_THAT(cut, Contains(fmt::format("{0}1  {0}2  …  {0}6\n", wide)));
}

TEST_CASE(
    "lines of a table stand there for pairs of entries, for every entry, and not where they say nothing") {
  const Documents documents;
  documents.change("sdpa.md", "", R"(
# A table  {#a-table}

```
| {each query, key} {if key < query}{token(query)} to {token(key)}{end} | {weights:.2f} |
| {every key} all {token(key)} | {close query} {if weights < 0.4}□{else}■{end} |
```
)");
  const auto page = [&](const std::string& options) {
    return with_data(documents.data(), "sdpa" + options).out;
  };
  CHECK_THAT(page(" --sentence 'a b' --set Q=[[0],[1]] --set K=[[0],[1]] --set V=[[0],[1]]"),
             Contains("A table\n  b to a  0.27\n  all a    ■ □\n  all b    ■ ■\n"));
  CHECK_THAT(page(" --sentence 'a b c d e f g h i j k l m' --model none"), Contains("all g"));
}

TEST_CASE("a remark on a step of a part says which entry the page works out, and padding is none") {
  const Documents documents;
  documents.change("sdpa.md", "# Try next", "{at scores, follow key = 0}\n\n# Try next");
  const auto worked = [&](const std::string& options) {
    return with_data(documents.data(), "sdpa --model none --steps scores" + options).out;
  };
  CHECK_THAT(worked(" --sentence 'a b c'"), Contains("scores[c, a] = "));
  CHECK_THAT(worked(" --sentence 'a b' --sentence 'c d e'"), Contains("scores[0, b, a] = "));
}

TEST_CASE("a claim that inherits the rounding of other numbers has their limit") {
  const Documents documents;
  const auto limit_with = [&](const std::string& mark) {
    documents.change("sdpa.md", "# Try next",
                     "- shares: `max(key) weights - max(key) weights ≈ 0` {#own}" + mark + "\n\n# Try next");
    const auto trace =
        with_data(documents.data(), "sdpa --sentence 'a b' --set Q=[[300],[1]] --format json").out;
    const auto events = nlohmann::json::parse(trace)["events"];
    for (const auto& event : events)
      if (event["id"] == "own") return event["limit"].get<std::string>();
    return std::string();
  };
  CHECK(limit_with("") == "<= 1e-11");
  CHECK(limit_with(" {rounded as Q}") == "<= 1e-09");
}

TEST_CASE("a lesson of one sentence has no batch axis, and its commands have the run's values") {
  CHECK_THAT(run("lookup --sentence a --sentence b").err, Contains("lookup takes no batch"));
  CHECK_THAT(output_of("lookup"), Contains("--explain 'temperature=0.1/weights[red]'"));
  CHECK_THAT(output_of("lookup --sentence 'a a'"), Contains("--explain 'temperature=0.1/weights[a#2]'"));
  CHECK_THAT(in_one_line(output_of("lookup --sentence 'red red blue'")),
             Contains("2 keys have the best score") && Contains("the output is the mean over the best keys"));
  CHECK_THAT(output_of("lookup --define 'temperature=0.1/weights = softmax(key) (scores / 0.2)' --steps "
                       "temperature=0.1/weights"),
             Contains("softmax(scores / 0.2)"));
}

TEST_CASE("a flow follows from the formulas of the document and of the run") {
  CHECK_THAT(output_of("sdpa --model none --causal"), Contains("├ Q Kᵀ → / √4 → mask → softmax → weights"));
  CHECK_THAT(output_of("sdpa --model none --define 'scaled = tanh(scores)'"),
             Contains("├ Q Kᵀ → tanh → softmax → weights"));
  CHECK_THAT(output_of("multihead --model none --residual --norm"),
             Contains("output → + X → residual [5×8] → layer norm → normalized [5×8]"));
  const Documents documents;
  documents.change("parts/scores.md", "",
                   "\n## No score is larger than 5\n\n    bounded[query, key] = 5 * tanh(capped / 5)\n");
  documents.change("parts/shares.md", "capped, -inf", "bounded, -inf");
  CHECK_THAT(with_data(documents.data(), "sdpa --model none --causal").out,
             Contains("┴ Q Kᵀ → / √4 → 5 · tanh(scaled / 5) → mask → softmax → weights"));
}

TEST_CASE("an input that a document declares is drawn, given, refused and told like any other") {
  const Documents documents;
  documents.change("sdpa.md", "## What each entry has to give",
                   "## What each key is worth\n\n    worth[key]: normal\n\n## What each entry has to give");
  const auto run_it = [&](const std::string& arguments) { return with_data(documents.data(), arguments); };
  CHECK_THAT(run_it("sdpa --help").out, Contains("K [key×d_k], worth [key]"));
  CHECK_THAT(run_it("sdpa --sentence 'a b' --model none --steps worth").out,
             Contains("worth   What each key is worth") && Contains("[key 2]"));
  CHECK_THAT(run_it("sdpa --set worth=[1,2,3] --steps worth").out, Contains("[key 3]"));
  CHECK_THAT(run_it("sdpa --sentence 'a b' --set worth=[1,2,3] --steps worth").err, Contains("worth"));
}

TEST_CASE("an input that nobody gives is 0 in formulas, and so are its entries") {
  const Documents documents;
  documents.change("sdpa.md", "## What each entry has to give",
                   "## A shift\n\n    shift[d_k]: given\n\n## Q and the shift, from back to front\n\n"
                   "    shifted[query, d_k] = Q + shift[size(d_k) - 1 - d_k]\n\n"
                   "## What each entry has to give");
  const auto entry = [&](const std::string& arguments) {
    const std::string command = "sdpa --set Q=[[0,0]] --sentence a --explain 'shifted[0, 0]'";
    return with_data(documents.data(), command + arguments).out;
  };
  CHECK_THAT(entry(""), Contains("= 0\n"));
  CHECK_THAT(entry(" --set shift=[1,2]"), Contains("shift[1]") && Contains("= 2\n"));
}

TEST_CASE("a document's axis head is left out in a run without --heads") {
  const auto axes_of = [](const std::string& arguments, const std::string& id) {
    const auto trace = nlohmann::json::parse(output_of("patterns --format json " + arguments));
    for (const auto& event : trace["events"])
      if (event.value("id", "") == id) return event["axes"].dump();
    return std::string();
  };
  CHECK(axes_of("--d-k 4", "weights") == R"(["query","key"])");
  CHECK(axes_of("--d-k 4", "strongest") == R"(["query"])");
  CHECK(axes_of("--d-k 4 --heads 2", "weights") == R"(["head","query","key"])");
  CHECK(axes_of("--d-k 4 --heads 2", "strongest") == R"(["head","query"])");
}

TEST_CASE("what is wrong with a document is said with its place") {
  struct Fault {
    std::string file, old, text, message;
  };
  const std::string scaled = "    scaled[query, key] = scores / (sqrt(d_k) * temperature)";
  for (const auto& [file, old, text, message] :
       {Fault{"sdpa.md", "", "\n{if nonsense}\n\nnever\n\n{end}\n", "nonsense is unknown"},
        Fault{"sdpa.md", "# Try next", "- a claim: `sum(key) weights ≈ 1`\n\n# Try next",
              "a claim without a name"},
        Fault{"sdpa.md", "# Try next", "- a claim: `V = V` {#shift-invariance}\n\n# Try next",
              "{#shift-invariance} is the name of another"},
        Fault{"sdpa.md", "", "- a command: `rm`\n", "\"rm\" is no command"},
        Fault{"sdpa.md", "K[key, d_k]: normal", "K[key, d_k]",
              "the input K does not say how its numbers come about; valid: K[…]: and one of normal"},
        Fault{"sdpa.md", "K[key, d_k]: normal", "K[key, d_k]: drawn", "the input K is drawn as \"drawn\""},
        Fault{"sdpa.md", "{at output,", "{at outputs,", "{at outputs}: there is no such step; valid: K, Q"},
        Fault{"sdpa.md", "{flow}", "{flow outputs}", "the tensor outputs is unknown; valid: K, Q"},
        Fault{"sdpa.md", "", "\n# A  {#a}\n\n```\n| a |\nb |\n```\n", "a line of a table without a |"},
        Fault{"sdpa.md", "", "\n# A  {#a}\n\n```\n| {each word} b |\n```\n", "the axis word is unknown"},
        Fault{"parts/scores.md", scaled, scaled.substr(2), "2 blanks before the text; valid: 4"},
        Fault{"parts/scores.md", scaled, "    scaled = scores/d_k",
              "column 14: scores/d_k is unknown (operators stand between blanks: scores / d_k)"},
        Fault{"parts/scores.md", "{one line if", "{one lin if",
              "{one lin if trained} is neither a value nor a mark"}}) {
    INFO(message);
    const Documents documents;
    documents.change(file, old, text);
    const auto refused = with_data(documents.data(), "sdpa --model none");
    CHECK(refused.status == 2);
    CHECK(refused.out == "");
    CHECK_THAT(refused.err, Contains("lessons/" + file + ", line ") && Contains(message));
  }
}

TEST_CASE("a folder of ATTNLAB_DATA without data of the lab is refused") {
  const Folder folder;
  const auto refused = with_data(folder.path().string(), "sdpa");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err,
             Contains("has no data of the lab; valid: a folder in which one of these is: corpora"));
}

namespace {

/// A folder of data with these mistakes beside those of the lab.
std::string data_with_mistakes(const Folder& folder, const std::string& text) {
  std::filesystem::create_directories(folder.file("mistakes"));
  std::ofstream(folder.file("mistakes/own.md")) << text;
  return folder.path().string();
}

}  // namespace

TEST_CASE("a mistake of one's own is a few lines of data, and check names it in their words") {
  const Folder folder;
  const auto data =
      data_with_mistakes(folder,
                         "# scale\n\n"
                         "## the scores are divided by the cube root of d_k  {#scale-cube-root}\n\n"
                         "    scaled = scores / d_k ^ (1 / 3)\n"
                         "    masked = where(mask, scores / d_k ^ (1 / 3), fill)  {#filled} {solve fill}\n\n"
                         "A standard deviation is a square root.\nLook at the exponent.\n\n"
                         "source: seminar 3\n");
  const auto probe = folder.file("probe.npz"), mine = folder.file("mine.npz");
  output_of("probe sdpa --output " + probe);
  CHECK_THAT(with_data(data, "break --list sdpa").out,
             Contains("scale-cube-root") && Contains("scale-d-k") && Contains("mask-missing"));
  CHECK(with_data(data, "break sdpa scale-cube-root --output " + mine).status == 0);
  const auto check = [&] { return with_data(data, fmt::format("check sdpa {} --probe {}", mine, probe)); };
  auto verdict = check();
  CHECK(verdict.status == 1);
  CHECK_THAT(verdict.out,
             Contains("scaled   wrong: scale-cube-root") &&
                 Contains("scale-cube-root: the scores are divided by the cube root of d_k. A") &&
                 Contains("Look at the exponent."));
  run(fmt::format(
      "sdpa --input {} --causal --window 3 --define 'masked = where(mask, scores / d_k ^ (1 / 3), -7)' "
      "--output {}",
      probe, mine));
  verdict = check();
  CHECK(verdict.status == 1);
  CHECK_THAT(verdict.out, Contains("masked   wrong: scale-cube-root"));
  CHECK_THAT(run(fmt::format("check sdpa {} --probe {}", mine, probe)).out, !Contains("scale-cube-root"));
}

TEST_CASE("a mistake whose formula has a name that no run has is told with its names") {
  const Folder folder;
  const auto data =
      data_with_mistakes(folder, "# scale\n\n## misspelt  {#own}\n\n    scaled = scors / d_k\n");
  CHECK_THAT(with_data(data, "break sdpa own").err, Contains("Its formula of scaled needs scors, d_k."));
  CHECK_THAT(with_data(data, "break --list sdpa").out, !Contains("\n  own "));
}

TEST_CASE(
    "what is wrong with a file of mistakes is said with its place by who asks for mistakes, and by no "
    "other") {
  const std::string head = "# scale\n\n## of my own  {#own}\n\n";
  for (const auto& [text, message] :
       {std::pair(head + "    scaled = (scores\n", "own.md, line 5, column 21"),
        std::pair(head + "    masked = where(mask, scaled, fill)  {solve fill[}\n",
                  "own.md, line 5, column 5: {solve"),
        std::pair(head + "It is {max(key) scaled}.\n", "own.md, line 5, column 7"),
        std::pair(std::string("# scale\n\n## of my own\n"), "line 3, column 1: a mistake without its id"),
        std::pair(head + "## twice  {#own}\n", "line 5, column 1: there are two mistakes of the id own")}) {
    const Folder folder;
    const auto data = data_with_mistakes(folder, text);
    const auto result = with_data(data, "break sdpa no-scale");
    INFO(text);
    CHECK(result.status == 2);
    CHECK(result.out == "");
    CHECK_THAT(result.err, Contains(message));
    CHECK(with_data(data, "sdpa").status == 0);
  }
}
