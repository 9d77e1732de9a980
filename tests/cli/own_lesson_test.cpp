/// Lessons of one's own: documents that are run, checked and listed as the lab's are.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "tests/cli/stored_runs.hpp"

namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

/// The lesson that `lesson new` writes, in a folder of its own.
class NewLesson {
 public:
  NewLesson() { output_of("lesson new " + file()); }

  std::string file() const { return folder_.file("mine.md"); }
  std::string text() const { return read_file(file()); }

  /// Puts `text` in the place of `old`.
  void change(const std::string& old, const std::string& text) const {
    auto document = this->text();
    const auto at = document.find(old);
    INFO(old);
    REQUIRE(at != document.npos);
    std::ofstream(file()) << document.replace(at, old.size(), text);
  }

  std::string beside(const std::string& name) const { return folder_.file(name); }

 private:
  Folder folder_;
};

}  // namespace

TEST_CASE("a new lesson runs, and nothing is wrong with it") {
  const NewLesson lesson;
  const auto page = output_of("run " + lesson.file());
  CHECK_THAT(page, Contains("weights[sat, cat] = exp(") && Contains("2 of 2 claims hold.") &&
                       Contains("attnlab probe " + lesson.file()));
  CHECK(output_of(lesson.file()) == page);
  CHECK_THAT(output_of("lesson check " + lesson.file()), Contains("7 steps, 2 claims that hold, a page of"));
  CHECK_THAT(run("lesson new " + lesson.file()).err, Contains("is there already"));
  CHECK_THAT(run("lesson new " + lesson.beside("sdpa")).err, Contains("sdpa is a lesson of the lab"));
  const auto help = output_of("run " + lesson.file() + " --help");
  CHECK_THAT(help, Contains("--temperature") && Contains("default \"the cat sat\""));
}

TEST_CASE("a rule in the front matter refuses options, in the document's words") {
  const NewLesson lesson;
  const auto rule = [](const std::string& condition) {
    return "require: " + condition +
           ": \"--d-k {size(d_k)} is {if 99 < size(d_k)}far {end}too wide for {option rng}; valid: 1 to "
           "8\"\n";
  };
  lesson.change("options:", rule("size(d_k) <= 8") + "options:");
  output_of("run " + lesson.file() + " --d-k 8");
  const auto refused = run("run " + lesson.file() + " --d-k 9");
  CHECK(refused.status == 2);
  CHECK(refused.out.empty());
  CHECK(refused.err == "attnlab: --d-k 9 is too wide for legacy; valid: 1 to 8\n");
  CHECK_THAT(run("run " + lesson.file() + " --d-k 100").err, Contains("--d-k 100 is far too wide"));

  lesson.change("require: size(d_k) <= 8: ", "require: size(d_q) <= 8: ");
  CHECK_THAT(run("lesson check " + lesson.file()).out,
             Contains("line 5, column 10: d_q is no tensor, axis or option"));
  lesson.change("require: size(d_q) <= 8: ", "require: ");
  CHECK_THAT(run("run " + lesson.file()).err, Contains("valid: require: CONDITION: \"WORDS\""));
}

TEST_CASE("a lesson of one's own has the lab's formats, probe, check, break and worksheet") {
  const NewLesson lesson;
  const auto file = lesson.file(), probe = lesson.beside("probe.npz"), dump = lesson.beside("dump.npz");
  const auto trace = nlohmann::json::parse(output_of("run " + file + " --format json"));
  CHECK(trace["lesson"] == file);
  CHECK_THAT(output_of("run " + file + " --format cpp"), Contains("expect(\"weights\", weights,"));
  output_of("probe " + file + " --output " + probe);
  output_of(fmt::format("run {} --input {} --output {}", file, probe, dump));
  CHECK_THAT(output_of(fmt::format("check {} {} --probe {}", file, dump, probe)),
             Contains("All 8 steps are right."));
  output_of(fmt::format("run {} --input {} --define 'scaled = scores / d_k' --output {}", file, probe, dump));
  const auto wrong = run(fmt::format("check {} {} --probe {}", file, dump, probe));
  CHECK(wrong.status == 1);
  CHECK_THAT(wrong.out, Contains("scale-d-k"));
  CHECK_THAT(output_of("break --list " + file), Contains("no-scale") && !Contains("multihead"));
  CHECK_THAT(output_of("break " + file + " no-scale"), Contains("scores   stays"));
  CHECK_THAT(output_of("worksheet " + file), Contains("check this sheet: attnlab check"));
}

TEST_CASE("the code of a lesson of one's own computes its tensors in NumPy") {
  const NewLesson lesson;
  const auto script = lesson.beside("lesson.py");
  output_of(fmt::format("run {} --sentence 'a b c' --sentence 'd e' --output {}", lesson.file(), script));
  const auto command = fmt::format("{} -B {} 2>&1", PYTHON_WITH_NUMPY, script);
  CHECK(std::system((command + " >" + lesson.beside("said.txt")).c_str()) == 0);
  CHECK_THAT(read_file(lesson.beside("said.txt")), Contains("8 steps agree"));
}

TEST_CASE("a copy of each lesson that is one document runs as the lesson does, and may be changed") {
  const Folder folder;
  const auto numbers_of = [](const std::string& arguments) {
    std::map<std::string, nlohmann::json> numbers;
    const auto trace = nlohmann::json::parse(output_of(arguments + " --format json"));
    for (const auto& event : trace["events"])
      if (event.contains("data")) numbers[event["id"]] = event["data"];
    return numbers;
  };
  const auto names = run("lesson new x --from nothing").err;
  std::istringstream valid(names.substr(names.find("valid: ") + 7));
  std::size_t count = 0;
  for (std::string name; std::getline(valid >> std::ws, name, ',');) {
    name = name.substr(0, name.find('\n'));
    INFO(name);
    const auto file = folder.file("my-" + name + ".md");
    output_of("lesson new " + file + " --from " + name);
    const auto numbers = numbers_of("run " + file);
    CHECK(!numbers.empty());
    CHECK(numbers == numbers_of(name));
    CHECK_THAT(read_file(file), !Contains("{use parts/"));
    ++count;
  }
  const auto scores = folder.file("my-sdpa/scores.md"), formulas = read_file(scores);
  std::ofstream(scores) << std::regex_replace(formulas, std::regex("Q \\* K"), "2 * Q * K");
  const auto changed = run("run " + folder.file("my-sdpa.md"));
  CHECK(changed.status == 1);  // the code that stores no scores still has those of the lab
  CHECK_THAT(run("lesson new " + folder.file("my-sdpa.x.md") + " --from sdpa").out, Contains("my-sdpa.x/"));
  CHECK(count >= 19);
  const auto ring = folder.file("my-ring.md"), text = read_file(ring);
  CHECK_THAT(text, Contains("example: run my-ring.md --causal") && Contains("functions: ring"));
  std::ofstream(ring) << std::regex_replace(text, std::regex("functions: ring"), "functions: rnig");
  CHECK_THAT(run("run " + ring).err, Contains("rnig is no lesson that is one document; did you mean ring?"));
  CHECK_THAT(run("lesson check " + ring + " --from ring").err, Contains("lesson check does not use --from"));
}

TEST_CASE("a document in a folder of lessons is a lesson by its name") {
  const Folder data;
  const auto lessons = fs::path(data.file("data")) / "lessons";
  fs::create_directories(lessons);
  const auto own = read_file(fs::path(ATTN_DATA).parent_path() / "tests/readme/own/distance.md");
  std::ofstream(lessons / "distance.md") << "---\nafter: masking" << own.substr(3);
  std::ofstream(lessons / "broken.md") << "---\ntitle: a lesson without its end\n";
  std::ofstream(lessons / "broken-below.md") << own << "\n{if causal}\nwithout its end\n";
  const Surroundings surroundings{.environment = {{"ATTNLAB_DATA", data.file("data")}}};
  const auto list = run("list", surroundings).out;
  CHECK_THAT(list, Contains("distance           the nearer a key lies") && !Contains("broken"));
  CHECK(list.find("\nmasking") < list.find("\ndistance"));
  CHECK(list.find("\ndistance") < list.find("\nmultihead"));
  CHECK_THAT(run("distance", surroundings).out, Contains("attnlab distance --temperature 10"));
  const auto broken = run("broken", surroundings);
  CHECK(broken.status == 2);
  CHECK_THAT(broken.err, Contains("broken.md, line 3, column 1: the front matter does not end"));
  const auto broken_below = run("broken-below", surroundings);
  CHECK(broken_below.status == 2);
  CHECK_THAT(broken_below.err, Contains("broken-below.md, line ") && Contains("{if …} without its {end}"));
}

TEST_CASE("a formula is computed for each number that an option lists, and a claim may be a bound") {
  const Folder folder;
  const auto file = folder.write("roots.md", R"(---
title: roots of lengths
teaches: Roots.
options: d-k-list, samples
sentences: one
defaults: --d-k 4,9 --samples 2
---

# The idea  {#idea}

The roots of {samples} numbers.

## The lengths

    d_k[d_k]: option d-k-list

## How many there should be

    samples: option samples

## Their roots  {written the root of each}

    root[d_k] = sqrt(d_k) / samples

# What holds on this run  {#claims}

- the roots are small: `root ≤ 1.5` {#small} {if samples = size(d_k)}
)");
  const auto trace = nlohmann::json::parse(output_of("run " + file + " --format json"));
  const auto event = [&](const nlohmann::json& of, const std::string& id) {
    for (const auto& one : of["events"])
      if (one["id"] == id) return one;
    return nlohmann::json();
  };
  CHECK(event(trace, "d_k")["data"] == nlohmann::json({4, 9}));
  CHECK(event(trace, "samples")["data"] == 2);
  CHECK(event(trace, "root")["data"] == nlohmann::json({1.0, 1.5}));
  CHECK(event(trace, "root")["formula"] == "the root of each");
  CHECK(event(trace, "small")["value"] == 1.5);
  CHECK(run("run " + file + " --d-k 16,4").status == 1);
  CHECK(run("run " + file + " --d-k 16").status == 0);
  CHECK_THAT(output_of("run " + file + " --d-k 16 --explain 'root[0]'"), Contains("√16 / 2"));
}

TEST_CASE("a part that another part uses is the one beside the document") {
  const Folder folder;
  std::filesystem::create_directory(folder.file("parts"));
  const std::string front = "---\ntitle: a part\n---\n\n";
  folder.write("parts/mixture.md", front + "{use parts/shares.md}\n");
  folder.write("parts/shares.md", front + "## Halved\n\n    shares[token] = x / 2\n");
  const auto file = folder.write("own.md", R"(---
title: own parts
teaches: Parts.
options: sentence
sentences: one
---

# The idea  {#idea}

A half.

## A number for each word

    x[token]: ones

{use parts/mixture.md}
)");
  const auto trace = nlohmann::json::parse(output_of("run " + file + " --sentence 'a b' --format json"));
  const auto& events = trace["events"];
  const auto shares =
      std::find_if(events.begin(), events.end(), [](const auto& event) { return event["id"] == "shares"; });
  REQUIRE(shares != events.end());
  CHECK((*shares)["data"] == nlohmann::json({0.5, 0.5}));
}

TEST_CASE("steps of a part are rounded, entries along an axis are named, and a single number is an input") {
  const Folder folder;
  folder.write("third.md",
               "---\ntitle: a part\n---\n\n## A third\n\n    third[head] = (W[head, 0] + b[0]) / 3\n");
  const auto file = folder.write("thirds.md", R"(---
title: thirds
teaches: Rounding.
options: heads, dtype
sentences: one
defaults: --heads 2
axes: one = 1
---

# The idea  {#idea}

A third of {size(head)} numbers.

## A number for each head

    W[head, one]: weight

## What is added to all

    b[one]: zeros

{label head as no. {head + 1}}

{use third.md}

{use third.md, under half/, rounded to float16}

# Nothing was added  {#nothing} {if third[0] = W[0, 0] / 3}

The bias is 0.

# What holds on this run  {#claims}

- rounding takes little: `abs(third - half/third) ≤ 2 * float16/unit_roundoff` {#little}
)");
  const auto trace = nlohmann::json::parse(output_of("run " + file + " --set W='[[1],[5]]' --format json"));
  std::map<std::string, nlohmann::json> events;
  for (const auto& event : trace["events"]) events[event["id"]] = event;
  CHECK(events["third"]["data"][0] == 1.0 / 3.0);
  CHECK(events["half/third"]["data"] == nlohmann::json({0.333251953125, 1.6669921875}));
  CHECK(events["half/third"]["labels"][0] == nlohmann::json({"no. 1", "no. 2"}));
  CHECK(events["half/third"]["formula"] == "float16((W[head, 0] + b[0]) / 3)");
  CHECK(events.count("nothing") == 1);
  CHECK_THAT(output_of("run " + file), Contains("The bias is 0."));
  CHECK_THAT(output_of("run " + file + " --set W='[[1],[5]]' --set b='[2]'"),
             Contains("1.0000") && Contains("2.3333") && !Contains("The bias is 0."));
  CHECK_THAT(output_of("lesson check " + file), StartsWith(file + ": 2 steps, 1 claims that hold"));
  const auto script = folder.file("thirds.py");
  output_of("run " + file + " --output " + script);
  CHECK(std::system(
            fmt::format("{} -B {} >{}", PYTHON_WITH_NUMPY, script, folder.file("said.txt")).c_str()) == 0);
}

TEST_CASE("inputs that are there beside a second sentence are there beside a second sentence") {
  const Folder folder;
  const auto file = folder.write("two.md", R"(---
title: one text or two
teaches: Inputs that are there beside a second sentence.
options: sentence, source, target, d-model
defaults: --sentence "a b" --d-model 2
---

# The idea  {#idea}

Text.

{if source}
## The source

    X_source[source, d_model]: embedding

## Doubled

    twice[source, d_model] = 2 * X_source
{else}
## The words

    X[token, d_model]: embedding

## Doubled

    twice[token, d_model] = 2 * X
{end}
)");
  CHECK_THAT(output_of("run " + file + " --shapes"), Contains("X      [token 2 × d_model 2]"));
  CHECK_THAT(output_of("run " + file + " --source 'a b c' --target d --shapes"),
             Contains("X_source  [source 3 × d_model 2]"));
}

TEST_CASE("a lesson of the lab is checked by its name or its file") {
  const auto said = output_of("lesson check stability");
  CHECK_THAT(said, StartsWith("stability: 34 steps, 9 claims that hold"));
  CHECK(output_of("lesson check " ATTNLAB_ROOT "/lessons/stability.md") == said);
}

TEST_CASE(
    "a lesson that goes back has its forward pass as code of its own, and a loss over all samples in none") {
  const Folder folder;
  const auto file = folder.write("back.md", R"(---
title: back through a product
teaches: The gradient of a matrix.
options: sentence, source, target, d-model, d-v
defaults: --source "a b" --target c --d-model 2 --d-v 2
code: d_W, from output
---

# The idea  {#idea}

{if source}Two sentences.{end}{if not source}One sentence.{end}

## The words

    X_source[source, d_model]: embedding

## What makes values

    W[d_model, d_v]: weight

## The values

    output[source, d_v] = sum(d_model) X_source * W

## What the loss says of them

    d_output[source, d_v]: normal

## What it says of one more step

    d_half[source, d_v] = d_output / 2

## How it changes with W  {for all samples}

    d_W[d_model, d_v] = sum(batch, source) X_source * d_half
)");
  const auto page = output_of("run " + file);
  CHECK_THAT(page, Contains("Two sentences.") && !Contains("One sentence."));
  CHECK_THAT(page, Contains("continues the code before it") && Contains("d_W    = X_source.T @ d_half") &&
                       Contains("d_W = X_sourceᵀ d_half") && !Contains("X_source @ W"));
  CHECK_THAT(output_of("run " + file + " --all"), Contains("forward\n  output = X_source @ W\n"));
  CHECK_THAT(output_of("run " + file + " --source 'a b' --target c --source d --target e"),
             Contains("\n  d_half = d_output / 2\n") && !Contains("X_source.T") &&
                 Contains("d_W = Σ_batch X_sourceᵀ d_half"));
}

TEST_CASE("the code of steps that take one another place by place is one loop, whichever of them is needed") {
  const Folder folder;
  const auto file = folder.file("gated.md");
  folder.write("gated.md", R"(---
title: gates
teaches: Gates.
options: sentence, d-model, seed
defaults: --sentence "the cat sat" --d-model 2
---

# The idea  {#idea}

Steps that take one another.

## The tokens

    X[token, d_model]: embedding

## The gate

    o[token, d_model] = sigmoid(X + where(token = 0, 0, c[token - 1, d_model]))

## The cell

    c[token, d_model] = o * tanh(h)

## The state

    h[token, d_model] = where(token = 0, 0, h[token - 1, d_model]) + X

## The output

    output[token, d_model] = h
)");
  const auto page = output_of("run " + file);
  const auto loop = page.find("for t in range(3):"), output = page.find("output = h");
  CHECK(loop < output);
  CHECK(output != page.npos);
}

TEST_CASE("the gradient of a step of a recurrence takes gradients that stand behind it") {
  const Folder folder;
  const auto file = folder.file("back.md");
  const std::string to_state = R"(
## Back to the state

    d_h[token, d_model] = gradient(h)
)",
                    through_tanh = R"(
## Back through tanh

    d_sums[token, d_model] = gradient(sums)
)";
  const auto with = [&](const std::string& back) {
    folder.write("back.md", R"(---
title: back through time
teaches: A recurrence, and the way back.
options: sentence, d-model, seed
defaults: --sentence "the cat sat" --sentence "it sat" --d-model 2
---

# The idea  {#idea}

What comes back through a recurrence is one the other way.

## How many tokens are real

    lengths[batch]: lengths

## The tokens

    X[token, d_model]: embedding

## What is kept of each number

    keep[d_model]: ones

## What the state becomes

    sums[token, d_model] = X + where(token = 0, 0, keep * h[token - 1, d_model])

## The state

    h[token, d_model] = where(token < lengths, tanh(sums), 0)

## How the loss changes with it

    d_output[token, d_model]: normal

## The output

    output[token, d_model] = h * h
)" + back + R"(
## Back to what is kept  {for all samples}

    d_keep[d_model] = gradient(keep)
)");
    return "run " + file;
  };
  const auto numbers = [&](const std::string& back) {
    const auto trace = nlohmann::json::parse(output_of(with(back) + " --format json"));
    for (const auto& event : trace["events"])
      if (event["id"] == "d_keep") return event["data"].get<std::vector<double>>();
    return std::vector<double>();
  };
  const auto by_both = numbers(to_state + through_tanh), by_one = numbers(to_state);
  REQUIRE(by_both.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(by_one.at(i) == Approx(by_both[i]));
  CHECK_THAT(output_of(with(to_state + through_tanh)),
             Contains("(d_sums[token + 1] · keep where token + 1 < size(token), 0"));
  CHECK_THAT(refusal(with("")), Contains("valid: before it a step of its own, d_sums[…] = gradient(sums)"));
}

TEST_CASE("what is wrong with a document is said with its line and column, and with what would be valid") {
  struct Fault {
    std::string old, text, place, message;
  };
  for (const auto& [old, text, place, message] : std::vector<Fault>{
           {"softmax(key) masked", "softmax(key) maskd", "66, column 40", "did you mean masked?"},
           {"softmax(key) masked", "softmax(kee) masked", "66, column 27", "did you mean key?"},
           {"softmax(key) masked", "softmx(key) masked", "66, column 27", "did you mean softmax?"},
           {"[query, key] = softmax", "[query] = softmax", "66, column 22", "the result [batch, query]"},
           {"sum(key) weights * V", "sum(key weights * V", "72, column 34", "expected ')'"},
           {"(sqrt(d_k) * temperature)", "sqrt(d_k) * temperature", "58, column 33", "(a / b) * c"},
           {"    scaled[query", "   scaled[query", "58, column 1", "4 blanks before a formula"},
           {"sum(d_k) Q * K\n", "sum(d_k) Q * W_K\n", "54, column 26", "scores[d_model, query, key]"},
           {"    V[key, d_v] =", "    K[key, d_v] =", "50, column 5", "two tensors of the name K"},
           {"where(key < lengths, scaled, -inf)", "where(key < lengths, scaled)", "62, column 26",
            "valid: 3"},
           {"W_V[d_model, d_v]: weight", "W_V[d_model, d_v]: wieght", "36, column 5",
            "embedding, weight, left weight, zeros"},
           {"W_K[d_model, d_k]", "W_K[d_modl, d_k]", "32, column 5", "the axis d_modl of W_K has no length"},
           {"{max(key) weights:.2f}", "{max(key) wights:.2f}", "68, column 69", "did you mean weights?"},
           {"{max(key) weights:.2f}", "{max(key) weights:.2q}", "68, column 87", "valid: .2f"},
           {"argmax(key) weights", "argmax(token) weights", "68, column 33", "valid: argmax(key)"},
           {"{end}\nalike", "\nalike", "14, column 74", "{if …} without its {end}"},
           {"    output[query", "output[query", "72, column 1", "valid: 4 blanks before it"},
           {"    scaled[query", "\tscaled[query", "58, column 1", "a tab before the text"},
           {"# What holds on this run  {#claims}", "# Weights\n\nA note.\n\n# What holds", "74, column 1",
            "the name of a step"},
           {"--define 'scaled", "--define 'scale", "82, column 4", "scale is no step of this run"},
           {"(sqrt(d_k) * temperature)", "sqrt(d_k)", "5, column 39", "no formula has temperature"},
           {"X[query, d_model] * W_Q\n", "X[query, d_model] * W_Q / max(d_model) abs(X[query, d_model])\n",
            "42, column 5", "Q[1, 3, 0] is nan"},
           {"{if padded}", "{if paded}", "60, column 1", "did you mean padded?"},
           {"  {one line}\n\n    K", "  {one lin}\n\n    K", "44, column 38", "{one line}"},
           {"```\noutput", "output", "19, column 1", "``` without the ``` that ends it"},
           {"{flow}", "{flow outpt}", "38, column 1", "did you mean output?"},
           {"{flow}", "{use parts/score.md}", "38, column 1", "did you mean parts/scores.md?"},
           {"{flow}", "{do pictures}", "38, column 1", "pictures is no function"},
           {"{flow}", "{label query is {query}}", "38, column 1", "valid: {label AXIS as WORDS}"},
           {"{flow}", "{use parts/scores.md, rounded to float8}", "38, column 1",
            "valid: rounded to float32"},
           {"W_V[d_model, d_v]: weight", "W_V: weight", "36, column 5", "valid: 1 to 4"},
           {"{flow}", "{at wights}\nMore.", "38, column 1", "{at wights}: there is no such step"},
           {"sum(key) weights ≈ 1", "sum(key) weights ≈ 2", "76, column 1", "does not hold on its defaults"},
           {"sum(key) weights ≈ 1", "sum(key) weights", "76, column 35", "valid: left = right"},
           {"sum(key) weights ≈ 1", "sum(key) weights ≤ 0.5", "76, column 1",
            "does not hold on its defaults"},
           {"W_V[d_model, d_v]: weight", "W_V[d_model, d_v]: option samples", "36, column 5",
            "samples is no option of the lesson"},
           {"W_V[d_model, d_v]: weight", "W_V[d_model, d_v]: made(X)", "36, column 5",
            "made is no function of the lesson"},
           {" {#rows-sum-to-1}", "", "76, column 1", "a claim without a name"},
           {"{#shift-invariance}", "{#rows-sum-to-1}", "77, column 1", "the name of another claim"},
           {"masked = masked + 10", "maskd = masked + 10", "77, column 48", "did you mean masked?"},
           {"--temperature 5", "--temprature 5", "81, column 4", "did you mean --temperature?"},
           {"title:", "titel:", "2, column 8", "did you mean title?"},
           {"options: sentence", "options: sentense", "5, column 10", "did you mean sentence?"},
           {"\" --d-model 4", "\" --d-model four", "6, column 11", "valid: a whole number"},
           {"probe: --sentence", "probe: --sentense", "8, column 8", "valid: --sentence"},
           {"---\n\n# The idea", "\n# The idea", "11, column 1", "is no line \"key: value\""},
       }) {
    const NewLesson lesson;
    lesson.change(old, text);
    const auto result = run("lesson check " + lesson.file());
    CAPTURE(old, text, result.out, result.err);
    CHECK(result.status == 1);
    CHECK_THAT(result.out, StartsWith(fmt::format("{}, line {}: ", lesson.file(), place)));
    CHECK_THAT(result.out.substr(0, result.out.find('\n')), Contains(message));
    const auto ran = run("run " + lesson.file());
    CHECK(ran.status <= 2);
    CHECK_THAT(ran.err, !Contains("a fault of the program"));
  }
}

TEST_CASE("a document with the line ends of Windows is read, one that is no text is refused") {
  const NewLesson lesson;
  std::string text;
  for (const char c : lesson.text()) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  std::ofstream(lesson.file(), std::ios::binary) << text;
  CHECK(run("lesson check " + lesson.file()).status == 0);
  std::ofstream(lesson.file(), std::ios::binary) << "\xff\xfe";
  CHECK_THAT(run("run " + lesson.file()).err, Contains("is not valid UTF-8"));
  CHECK_THAT(run("run nosuch.md").err, Contains("nosuch.md cannot be read"));
  CHECK_THAT(run("run nosuch").err, Contains("neither a document nor a lesson"));
  CHECK_THAT(run("run").err, Contains("valid: attnlab run FILE.md"));
  CHECK_THAT(run("lesson brew x").err, Contains("valid: attnlab lesson new NAME, attnlab lesson check FILE"));
}

namespace {

/// A document that adds up the tokens' vectors in blocks, and has steps of which each has a token more, and
/// goes through layers.
class Repeated {
 public:
  Repeated() {
    write(
        "mine.md",
        "---\ntitle: one after the other\nteaches: a part that is repeated\n"
        "options: sentence, d-model, layers, seed, define\n"
        "defaults: --sentence \"a b c d e\" --d-model 2 --layers 2\n"
        "set: blocks = 3, last = blocks - 1\nlines: 200\ncode: block={last}/so_far, "
        "step=2/layer={layers}/y\n---\n"
        "# The idea  {#idea}\n\nSums.\n\n## Layers  {hidden}\n\n    layers: option layers\n\n"
        "## Vectors\n\n    X[token, d_model]: embedding\n\n"
        "{use block.md, under block={b}/, for b from 0 to size(token) - 3}\n\n"
        "{at block={last}/so_far}\nAll.\n\n"
        "{use step.md, under step={t}/, key = step={t}/key, for t from 0 to last}\n\n"
        "# Claims  {#claims}\n\n"
        "- the last block has all: `block={last}/so_far ≈ sum(token) X` {#all}\n"
        "- and the last step: `sum(step=2/key) step=2/cache ≈ X[0, d_model] + X[1, d_model] + X[2, d_model]` "
        "{#cached}\n"
        "- from layer to layer: `step=1/layer={layers}/y ≈ tanh(tanh(step=1/cache)) + size(step=1/key) - 2` "
        "{#layers} {if layers = 2}\n");
    write("block.md",
          "## Block {b + 1} of {blocks}  {written {if 0 < b}the blocks before + {end}block {b + 1}}\n\n"
          "    so_far[d_model] = where(b = 0, 0, block={b - 1}/so_far) + "
          "sum(token) where(floor(token / 2) = b, X, 0)\n\n"
          "Block {b} brings it to {block={b}/so_far[0]:.4f}.\n");
    write("step.md",
          "---\naxes: key = t + 1\n---\n## The cache of step {t}\n\n"
          "    cache[key, d_model] = where(t = 0, X[t, d_model], "
          "where(key < t, step={t - 1}/cache[min(key, max(t - 1, 0)), d_model], X[t, d_model]))\n\n"
          "{use layer.md, under layer={l}/, x = where(l = 1, cache, layer={l - 1}/y), for l from 1 to "
          "layers}\n");
    write("layer.md",
          "## Layer {l} at step {t}\n\n    W[d_model]: ones\n\n    y[key, d_model] = tanh(x) * W\n");
  }

  std::string file() const { return folder_.file("mine.md"); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name)) << text;
  }
  std::string beside(const std::string& name) const { return folder_.file(name); }

 private:
  Folder folder_;
};

}  // namespace

TEST_CASE("a part is repeated for each value of a counter, which names and axes may have in them") {
  const Repeated lesson;
  const auto shapes = output_of("run " + lesson.file() + " --shapes");
  CHECK_THAT(shapes, Contains("block=2/so_far") && !Contains("block=3/"));
  CHECK_THAT(shapes, Contains("step=1/cache      [key 2 × d_model 2]") &&
                         Contains("step=2/layer=2/y  [key 3 × d_model 2]"));
  const auto page = output_of("run " + lesson.file());
  CHECK_THAT(page, Contains("Block 3 of 3") && Contains("3 of 3 claims hold"));
  CHECK_THAT(shapes, Contains("the blocks before + block 3") && Contains("]            block 1"));
  CHECK_THAT(output_of("run " + lesson.file() + " --layers 1 --sentence 'a b c d e f'"),
             Contains("block=3/so_far") && !Contains("layer=2/"));
  CHECK_THAT(output_of("run " + lesson.file() + " --set step=0/layer=1/W='[2, 2]' --steps step=0/layer=1/y"),
             Contains("step=0/layer=1/W"));
  CHECK_THAT(output_of("lesson check " + lesson.file()), Contains("3 claims that hold"));
  const auto script = lesson.beside("lesson.py");
  output_of(fmt::format("run {} --output {}", lesson.file(), script));
  CHECK(std::system(fmt::format("{} -B {} >/dev/null 2>&1", PYTHON_WITH_NUMPY, script).c_str()) == 0);
}

TEST_CASE("a stack has an entry for each value of a counter") {
  const Repeated lesson;
  auto text = read_file(lesson.file());
  text.insert(text.find('\n', text.find("set: blocks")) + 1, "axes: block = blocks\n");
  text.insert(text.find("# Claims"),
              "## All blocks  {written blocks 0 to {last}}\n\n"
              "    of_blocks[block, d_model] = stack(block, block={b}/so_far, for b from 0 to last)\n\n");
  lesson.write("mine.md", text);
  CHECK_THAT(output_of("run " + lesson.file() + " --shapes"),
             Contains("[block 3 × d_model 2]  blocks 0 to 2"));
  CHECK_THAT(output_of("run " + lesson.file() + " --explain 'of_blocks[1, 0]'"),
             Contains("= block=1/so_far[0]"));
}

TEST_CASE("what is wrong with a part that is repeated is told with its place") {
  const Repeated lesson;
  const auto text = read_file(lesson.file());
  const auto said = [&](const std::string& old, const std::string& other) {
    auto changed = text;
    lesson.write("mine.md", changed.replace(changed.find(old), old.size(), other));
    const auto result = run("run " + lesson.file());
    CHECK(result.status == 2);
    return result.err;
  };
  CHECK_THAT(said("for b from 0 to size(token) - 3", "for b from 0"),
             Contains("line 22") && Contains("how often"));
  CHECK_THAT(said("for b from 0 to size(token) - 3", "for b from 0 to 1 / 2"),
             Contains("valid: whole numbers"));
  CHECK_THAT(said("for b from 0 to size(token) - 3", "for b from 0 to X[0, 0]"),
             Contains("not known before the run"));
  CHECK_THAT(said("under block={b}/", "under block/"), Contains("there is no such step"));
  CHECK_THAT(said("block={last}/so_far ≈", "block={last + 1}/so_far ≈"), Contains("block=3/so_far"));
}

TEST_CASE("an input of a document has heads where a run has them, in a batch, too") {
  const Folder folder;
  const auto file = folder.file("heads.md");
  std::ofstream(file) << "---\ntitle: heads\nteaches: heads\noptions: sentence, d-k, heads, seed\n"
                         "defaults: --sentence \"a b\" --d-k 3\n---\n# The idea  {#idea}\n\nHeads.\n\n"
                         "## Queries\n\n    Q[head, token, d_k]: normal\n\n"
                         "## Twice\n\n    twice[head, token, d_k] = 2 * Q\n";
  CHECK_THAT(output_of("run " + file + " --shapes"), Contains("Q      [token 2 × d_k 3]"));
  CHECK_THAT(output_of("run " + file + " --heads 2 --sentence 'a b' --sentence 'c' --shapes"),
             Contains("Q      [batch 2 × head 2 × token 2 × d_k 3]") &&
                 Contains("twice  [batch 2 × head 2 × token 2 × d_k 3]"));
}
