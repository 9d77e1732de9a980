#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <regex>

#include "attn/text/width.hpp"
#include "tests/cli/program.hpp"
#include "tests/documents/well_formed.hpp"

namespace {

using Strings = std::vector<std::string>;

const std::string forty_words =
    "It was the best of times it was the worst of times it was the age of wisdom it was the age of "
    "foolishness it was the epoch of belief it was the epoch of incredulity it was the season";

const Strings sentences = {
    forty_words,
    "Word",
    "!",
    "Übergröße 猫が座った 👩‍👩‍👧 é e\u0301",
    "สวัสดี नमस्ते مرحبا 🇩🇪",
    "J'aime les chats, n'est-ce pas? 3.14 <pad> \"quoted\" 'quoted' -0 %s {}",
    "supercalifragilisticexpialidocious Donaudampfschifffahrtsgesellschaftskapitän " + std::string(300, 'x'),
};

void check_widths(const std::string& text) {
  for (const auto& line : lines_of(text)) {
    INFO(line);
    CHECK(attn::display_width(line) <= 80);
  }
}

/// "--seed" → "--seed N of the random numbers; default 42": the help of each option on one line.
std::map<std::string, std::string> options_in(const std::string& help) {
  std::map<std::string, std::string> options;
  std::string* current = nullptr;
  for (const auto& line : lines_of(help)) {
    std::smatch match;
    if (std::regex_search(line, match, std::regex("^  (?:-[a-z],)?(--[a-z-]+)")))
      current = &(options[match[1]] = match.suffix());
    else if (current != nullptr && line.rfind("      ", 0) == 0)
      *current += " " + line.substr(line.find_first_not_of(' '));
    else
      current = nullptr;
  }
  return options;
}

Strings examples_in(const std::string& help) {
  Strings examples;
  for (const auto& line : lines_of(help))
    if (line.rfind("  attnlab ", 0) == 0) examples.push_back(line.substr(std::string("  attnlab ").size()));
  return examples;
}

bool is_one_of(const std::string& text, const Strings& texts) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

/// A text without its escape sequences and without blanks at the ends of lines.
std::string plain(const std::string& text) {
  const auto colorless = std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
  return std::regex_replace(colorless, std::regex(" +\n"), "\n");
}

/// Whether a line of the text has these words, whatever the spaces between them.
bool has_row(const std::string& text, const std::string& row) {
  for (const auto& line : lines_of(text))
    if (std::regex_replace(line, std::regex(" +"), " ") == " " + row) return true;
  return false;
}

}  // namespace

TEST_CASE("list shows the lessons in the order in which to learn them") {
  CHECK(lessons() ==
        Strings{"lookup",   "scoring",   "scaling",    "sdpa",      "self-attention",    "cross-attention",
                "masking",  "multihead", "positional", "seq2seq",   "transformer-block", "classifier",
                "generate", "efficient", "ring",       "stability", "patterns",          "training",
                "backward", "complexity"});
}

TEST_CASE("every command has a help page") {
  for (const std::string command : {"list", "tour", "diff", "check", "probe", "break", "worksheet", "bench",
                                    "train", "manual", "completions"})
    CHECK(contains(output_of(command + " --help"), "attnlab " + command));
}

TEST_CASE("the help of tour names no option that it refuses") {
  const auto options = options_in(output_of("tour --help"));
  CHECK(options.count("--format") == 0);
  CHECK(options.count("--steps") == 0);
  CHECK(options.count("--brief") == 0);
  CHECK(options.count("--output") == 1);
}

TEST_CASE("the default of d_k speaks of heads where there are some") {
  CHECK(contains(output_of("multihead --help"), "d_model / heads"));
  CHECK_FALSE(contains(output_of("masking --help"), "d_model / heads"));
}

TEST_CASE("list gives every lesson a line with its title") {
  const auto text = output_of("list");
  check_widths(text);
  const auto help = output_of("--help");
  for (const auto& line : lines_of(text)) {
    INFO(line);
    CHECK(std::regex_match(line, std::regex("[a-z][a-z0-9-]* +[^ ].*[^ ]")));
    CHECK(contains(help, line + "\n"));
  }
}

TEST_CASE("the title of a lesson in the list is the title above its trace") {
  for (const auto& line : lines_of(output_of("list"))) {
    const auto name = line.substr(0, line.find(' '));
    const auto title = line.substr(line.find_first_not_of(' ', name.size()));
    CHECK(lines_of(output_of(name)).front() == name + ": " + title);
  }
}

TEST_CASE("the general help says how the program is used and what its exit status means") {
  const auto help = output_of("--help");
  check_widths(help);
  for (const auto& part :
       {"attnlab LESSON", "attnlab list", "--help", "Exit status: 0 ", "1 where ", "2 for "})
    CHECK(contains(help, part));
  CHECK(output_of("-h") == help);
}

TEST_CASE("the manual has a page for each lesson with every option of its help") {
  for (const auto& topic : lines_of(output_of("manual --list"))) {
    INFO(topic);
    const auto page = std::regex_replace(output_of("manual " + topic), std::regex("\\\\-"), "-");
    CHECK(contains(page, "attnlab-" + topic + " "));
    if (topic == "check" || topic == "probe" || topic == "break" || topic == "worksheet")
      continue;  // --help lists a lesson's, too
    const auto help = output_of(topic == "train" ? "train --help" : topic + " --help");
    for (const auto& [option, text] : options_in(help)) CHECK(contains(page, "\\fB" + option + "\\fR"));
  }
  for (const auto& lesson : lessons()) CHECK(is_one_of(lesson, lines_of(output_of("manual --list"))));
}

TEST_CASE("a manual or completions of what there is not are refused") {
  CHECK(contains(refusal("manual sdap"), "did you mean sdpa?"));
  CHECK(contains(refusal("manual sdpa masking"), "one too many"));
  CHECK(contains(refusal("completions tcsh"), "valid: bash, zsh, fish"));
  CHECK(contains(refusal("completions"), "valid: attnlab completions bash|zsh|fish"));
}

TEST_CASE("the version is a number on one line") {
  CHECK(std::regex_match(output_of("--version"), std::regex("attnlab [0-9]+\\.[0-9]+\\.[0-9]+\n")));
}

TEST_CASE("the help of a lesson names the lesson and how it is shown") {
  for (const auto& lesson : lessons()) {
    const auto help = output_of(lesson + " --help");
    CHECK(help.rfind(lesson + ": ", 0) == 0);
    CHECK(output_of(lesson + " -h") == help);
    check_widths(help.substr(0, help.find("Examples:")));  // those are for pasting
    const auto options = options_in(help);
    for (const char* option : {"--help", "--format", "--output", "--steps", "--shapes", "--precision",
                               "--full", "--width", "--color", "--no-pager"}) {
      INFO(lesson << ' ' << option);
      CHECK(options.count(option) == 1);
    }
  }
}

TEST_CASE("the help of an option that has a value says what it is where it is not given") {
  const std::map<std::string, std::string> defaults = {
      {"--seed", "default 42"},
      {"--dtype", "default float64"},
      {"--dropout", "default 0"},
      {"--temperature", "default 1"},
      {"--d-model", "default "},
      {"--d-k", "default "},
      {"--d-v", "default "},
      {"--samples", "default "},
      {"--weight-scale", "default 1/√fan_in"},
      {"--format", "default text"},
      {"--output", "default standard"},
      {"--precision", "default 4"},
      {"--width", "default the terminal's"},
      {"--color", "default auto"},
      {"--kv-heads", "default "},
  };
  for (const auto& lesson : lessons())
    for (const auto& [option, help] : options_in(output_of(lesson + " --help"))) {
      INFO(lesson << ' ' << option << help);
      if (defaults.count(option) > 0) CHECK(contains(help, defaults.at(option)));
    }
}

TEST_CASE("the help of a lesson has two examples that run as pasted") {
  for (const auto& lesson : lessons()) {
    const auto examples = examples_in(output_of(lesson + " --help"));
    INFO(lesson);
    CHECK(examples.size() >= 2);
    for (const auto& example : examples) {
      CHECK(example.rfind(lesson + " ", 0) == 0);
      CHECK(output_of(example) != "");
    }
  }
}

TEST_CASE("every lesson runs with its defaults and all that it claims holds") {
  for (const auto& lesson : lessons()) {
    const auto text = output_of(lesson);
    CHECK((contains(text, " claims hold.") || contains(text, "1 of 1 claim holds.")));
    CHECK_FALSE(contains(text, "✗"));
    check_widths(text);
  }
}

TEST_CASE("every lesson runs on sentences long and short and in any script within 80 columns", "[thorough]") {
  for (const auto& lesson : lessons())
    for (const auto& sentence : sentences) check_widths(output_of(lesson + with_sentence(lesson, sentence)));
}

TEST_CASE("every lesson with batches pads the shorter sentences") {
  for (const auto& lesson : lessons()) {
    if (!contains(output_of(lesson + " --help"), "repeat it for a batch")) continue;
    const auto batch = with_sentence(lesson, "I love cats") + with_sentence(lesson, "Sleep");
    CHECK(contains(output_of(lesson + " --all" + batch), "<pad>"));
    check_widths(output_of(lesson + batch));
  }
}

/// seq2seq has heads with one kind of attention only, and backward has some options with one lesson only.
std::string attention_for(const std::string& lesson, const std::string& option) {
  static const std::map<std::string, std::string> through = {{"--heads", "multihead"},
                                                             {"--kv-heads", "multihead"},
                                                             {"--d-ff", "transformer-block"},
                                                             {"--norm", "transformer-block"},
                                                             {"--activation", "transformer-block"},
                                                             {"--hidden", "seq2seq"},
                                                             {"--d-a", "seq2seq"}};
  if (lesson == "backward" && through.count(option) > 0) return " --through " + through.at(option);
  return lesson == "seq2seq" && option == "--heads" ? " --attention multihead" : "";
}

/// All that a trace tells, but for its options.
std::string events_of(const std::string& arguments) {
  const auto trace = output_of(arguments + " --format json");
  return trace.substr(trace.find("\"events\""));
}

constexpr std::size_t many = 512;

TEST_CASE("many tokens and long vectors are elided", "[thorough]") {
  for (const auto& lesson : lessons()) {
    if (lesson == "scoring") continue;  // holds two vectors for each pair of tokens, and has its case below
    auto arguments = lesson + with_sentence(lesson, sentence_of(many));
    const bool has_heads = lesson != "backward" && takes(lesson, "--heads");
    for (const char* option : {"--d-model", "--d-k", "--d-v"})
      if (!has_heads && takes(lesson, option)) arguments += fmt::format(" {} {}", option, many);
    if (has_heads && takes(lesson, "--d-model"))
      arguments += fmt::format(" --d-model {} --heads 8", many) + attention_for(lesson, "--heads");
    const auto text = output_of(arguments);
    CHECK(text.size() < 400'000);
    check_widths(text);
  }
}

TEST_CASE("scoring runs on two sentences of 256 tokens") {
  const auto text = output_of("scoring --d-model 32" + with_sentence("scoring", sentence_of(256)));
  CHECK(text.size() < 200'000);
  check_widths(text);
}

TEST_CASE("long sequences leave the columns of efficient apart, and complexity doubles no long one") {
  const auto page = output_of("efficient --variant gqa" + with_sentence("efficient", sentence_of(2520)));
  CHECK(contains(page, "error  mult-adds                bytes\n"));
  CHECK(contains(page, " 50803200  n²        101606400  n²\n"));
  const auto counts = output_of("complexity --lengths 300 --format json");
  CHECK(contains(counts, "What is said of growth compares 150 tokens with 300."));
}

TEST_CASE("eight heads on 512 tokens with vectors of 512 numbers take less than a gibibyte", "[thorough]") {
  const auto result = run("multihead --d-model 512 --heads 8" + with_sentence("multihead", sentence_of(512)));
  CHECK(result.status == 0);
  CHECK(result.peak_memory < std::size_t{1} << 30);
}

TEST_CASE("every option of a lesson does something", "[thorough]") {
  const std::map<std::string, std::string> values = {
      {"--sentence", "'other words'"},
      {"--model", "none"},
      {"--source", "'other words' --target words"},
      {"--target", "'other words' --source words"},
      {"--d-model", "16"},
      {"--d-k", "5"},
      {"--d-v", "5"},
      {"--d-a", "5"},
      {"--heads", "4"},
      {"--kv-heads", "2 --heads 4"},
      {"--samples", "64"},
      {"--window", "1"},
      {"--dropout", "0.5"},
      {"--temperature", "2"},
      {"--seed", "7"},
      {"--rng", "pcg64"},
      {"--draws", "stream"},
      {"--weight-scale", "he"},
      {"--define", "'scaled = scores / 2'"},
      {"--define of lookup", "'scores = sum(d_k) keys * query / 2'"},
      {"--define of positional", "'distance = 2 * (places[key] - places[query])'"},
      {"--define of transformer-block", "'attention/scaled = attention/scores / 2'"},
      {"--define of classifier", "'attention/scaled = attention/scores / 2'"},
      {"--define of seq2seq", "'decoder/probabilities = softmax(vocabulary) (decoder/logits / 2)'"},
      {"--define of generate", "'step=0/probabilities = softmax(vocabulary) (step=0/logits / 2)'"},
      {"--define of ring", "'contiguous/idle = contiguous/done / 100'"},
      {"--define of scoring", "'scaled_dot/scores = dot/scores / d_model'"},
      {"--code", "xtensor"},
      {"--embeddings", "data/tutorial/cat_sat.vectors.txt"},
      {"--dtype", "float32"},
      {"--format", "json"},
      {"--precision", "2"},
      {"--width", "60"},
      {"--color", "always"},
      {"--encoding", "rope"},
      {"--pairing", "halves"},
      {"--attention", "luong-dot"},
      {"--through", "multihead"},
      {"--hidden", "5"},
      {"--d-ff", "5"},
      {"--activation", "gelu"},
      {"--memory", "'other words'"},
      {"--classes", "5"},
      {"--new-tokens", "2"},
      {"--variant", "local"},
      {"--pattern", "fixed"},
      {"--block", "1"},
      {"--rank", "1"},
      {"--features", "3"},
      {"--layers", "3"},
      {"--warmup", "7"},
      {"--max-norm", "0.5"},
      {"--lengths", "4,8"},
      {"--scoring", "dot"},
      {"--mask", "padding"},
      {"--layer", "1"},
      {"--ranks", "2"},
      {"--order", "zigzag"},
      {"--way", "heads --heads 4"},
      {"--softcap", "0.5"},
  };
  for (const auto& lesson : lessons()) {
    const auto sentence = with_sentence(lesson, "the cat sat");
    const auto usual = without_header(output_of(lesson + sentence));
    const bool has_model =
        output_of(lesson + sentence + " --format json").find("\"model\":\"") != std::string::npos;
    for (const auto& [option, help] : options_in(output_of(lesson + " --help"))) {
      if (is_one_of(option, {"--help",          "--output",      "--steps",   "--explain",  "--full",
                             "--brief",         "--input",       "--set",     "--expect",   "--atol",
                             "--rtol",          "--only-common", "--rename",  "--no-pager", "--quiet",
                             "--ignore-config", "--mask-true",   "--picture", "--title",    "--head",
                             "--bare",          "--theme",       "--numbers", "--scale",    "--size"}))
        continue;
      const bool is_recurrent = lesson == "backward" && is_one_of(option, {"--hidden", "--d-a"});
      const bool is_sentence = is_recurrent || is_one_of(option, {"--sentence", "--source", "--target"});
      auto value = values.find(option);
      if (const auto of_lesson = values.find(option + " of " + lesson); of_lesson != values.end())
        value = of_lesson;
      const bool is_order = is_one_of(lesson, {"transformer-block", "backward"}) && option == "--norm";
      const auto arguments = lesson + (is_sentence ? "" : sentence) + " " + option +
                             (value == values.end() ? "" : " " + value->second) + (is_order ? " pre" : "") +
                             attention_for(lesson, option);
      INFO(arguments);
      if (option == "--seed" && has_model) continue;  // which draws nothing: see determinism_test.cpp
      if (option == "--bidirectional" && has_model) continue;  // as the model is
      if (lesson == "complexity" && is_one_of(option, {"--seed", "--rng", "--draws", "--precision"}))
        continue;  // it counts, whatever the numbers are
      CHECK((without_header(output_of(arguments)) != usual ||
             events_of(arguments) != events_of(lesson + sentence)));
    }
  }
}

TEST_CASE("only the wanted steps are shown") {
  const auto text = output_of("self-attention --steps scores,weights");
  CHECK(contains(text, "scores = "));
  CHECK(contains(text, "weights = "));
  for (const char* other : {"output = ", "W_Q", "claims", "The idea"}) {
    INFO(other);
    CHECK_FALSE(contains(plain(text.substr(text.find("scores"))), other));
  }
}

TEST_CASE("a group of steps is wanted by its name and a slash") {
  const auto text = output_of("lookup --steps temperature=0.1/");
  CHECK(contains(text, "temperature=0.1/weights"));
  CHECK(contains(text, "temperature=0.1/output"));
  CHECK_FALSE(contains(text, "temperature=0.01/output"));
}

TEST_CASE("shapes only have no numbers of tensors") {
  for (const auto& lesson : lessons()) {
    const auto text = output_of(lesson + " --shapes");
    INFO(text);
    CHECK_FALSE(std::regex_search(text, std::regex("-?[0-9]\\.[0-9]{4}\\b")));
    check_widths(text);
  }
  CHECK(contains(output_of("sdpa --shapes --sentence 'a b c'"), "[query 3 × key 3]"));
}

TEST_CASE("precision is the number of digits after the point") {
  const auto steps = std::string("sdpa --steps weights --precision ");
  CHECK(std::regex_search(output_of(steps + "0"), std::regex("  the +[01] +")));
  CHECK(std::regex_search(output_of(steps + "2"), std::regex("  the +0\\.[0-9]{2} ")));
  CHECK(std::regex_search(output_of(steps + "17"), std::regex("  the +0\\.[0-9]{17} ")));
}

TEST_CASE("a large tensor is whole where it is asked for") {
  const std::string arguments = "sdpa --d-k 40 --d-v 1 --steps Q" + with_sentence("sdpa", sentence_of(40));
  CHECK(contains(output_of(arguments), "…"));
  CHECK_FALSE(contains(output_of(arguments + " --full"), "…"));
}

TEST_CASE("colours shade the weights where they are asked for") {
  const auto colorless = output_of("self-attention --color never");
  const auto colored = output_of("self-attention --color always");
  CHECK_FALSE(contains(colorless, "\x1b"));
  CHECK(contains(colored, "\x1b[48;"));
  CHECK(plain(colored) == colorless);
  CHECK(output_of("self-attention --color always", {.environment = {{"NO_COLOR", "1"}}}) == colored);
}

TEST_CASE("a pipe gets no colours") {
  const Surroundings terminal_named{.environment = {{"TERM", "xterm-256color"}}};
  CHECK_FALSE(contains(output_of("self-attention", terminal_named), "\x1b"));
  CHECK_FALSE(contains(output_of("self-attention --color auto", terminal_named), "\x1b"));
}

TEST_CASE("a terminal gets colours unless NO_COLOR is set or it can show none") {
  const auto shown = [](const std::map<std::string, std::string>& environment) {
    return output_of("self-attention", {.environment = environment, .output = Output::terminal});
  };
  CHECK(contains(shown({{"TERM", "xterm-256color"}}), "\x1b[48;"));
  CHECK(contains(shown({{"TERM", "xterm-256color"}, {"NO_COLOR", ""}}), "\x1b[48;"));
  CHECK_FALSE(contains(shown({{"TERM", "xterm-256color"}, {"NO_COLOR", "1"}}), "\x1b"));
  CHECK_FALSE(contains(shown({{"TERM", "dumb"}}), "\x1b"));
  CHECK_FALSE(contains(shown({}), "\x1b"));
}

TEST_CASE("a value may follow an equals sign") {
  CHECK(output_of("sdpa --seed=7 --d-k=4") == output_of("sdpa --seed 7 --d-k 4"));
}

TEST_CASE("the self-attention tutorial comes out digit for digit") {
  const auto text = output_of(
      "self-attention --sentence 'the cat sat' --embeddings data/tutorial/cat_sat.vectors.txt "
      "--weight-scale 0.1 --draws stream --precision 3 --steps weights,output");
  CHECK(has_row(text, "the 0.332 0.333 0.334 → sat 0.334"));
  CHECK(has_row(text, "cat 0.333 0.333 0.334 → sat 0.334"));
  CHECK(has_row(text, "sat 0.333 0.333 0.334 → sat 0.334"));
  for (const char* token : {"the", "cat", "sat"})
    CHECK(has_row(text, std::string(token) + " -0.055 -0.216 -0.084 0.014"));
}

TEST_CASE("the translation tutorial comes out digit for digit") {
  const auto text = output_of(
      "cross-attention --source 'I love cats' --target \"J'aime les chats\" --d-model 6 --heads 2 "
      "--weight-scale he --dropout 0.1 --draws stream --precision 3 --steps mean_weights");
  CHECK(has_row(text, "J'aime 0.637 0.243 0.204 → I 0.637"));
  CHECK(has_row(text, "les 0.347 0.075 0.360 → cats 0.360"));
  CHECK(has_row(text, "chats 0.255 0.103 0.197 → I 0.255"));
}

TEST_CASE("a window and causal attention hide what is outside") {
  const auto text = output_of("sdpa --sentence 'a b c' --causal --window 1 --steps masked");
  CHECK(std::regex_search(text, std::regex("a +-?[0-9.]+ +-inf +-inf\n")));
  CHECK(std::regex_search(text, std::regex("c +-inf +-?[0-9.]+ +-?[0-9.]+\n")));
}

TEST_CASE("claims hold on right input, however coarsely it is rounded") {
  std::string two_hundred;
  for (int i = 0; i < 200; ++i) two_hundred += fmt::format("w{} ", i);
  for (const std::string& line :
       Strings{"transformer-block --activation gelu --dtype float16",
               "backward --through transformer-block --activation gelu --dtype float16",
               fmt::format("positional --dtype bfloat16 --sentence '{}'", two_hundred),
               "multihead --heads 1 --kv-heads 1 --d-model 1 --d-v 3 --dtype bfloat16 --weight-scale 50 "
               "--temperature 1e6",
               "training --dropout 0.1 --layers 1 --dtype bfloat16 --seed 2508891026 --draws stream",
               "training --dtype float16 --rng pcg64 --d-model 128 --warmup 50 --max-norm 0.1 --seed "
               "1616210201"}) {
    INFO(line);
    CHECK(run(line).status == 0);
  }
}

TEST_CASE("every lesson runs in half precision and all that it claims holds") {
  for (const auto& lesson : lessons()) {
    INFO(lesson);
    for (const std::string dtype : {"float16", "bfloat16"}) {
      const auto page = output_of(lesson + " --dtype " + dtype);
      CHECK((without_header(page) != without_header(output_of(lesson)) || lesson == "complexity"));
    }
  }
}

TEST_CASE("a run that overflows says so as the reason why claims do not hold") {
  const std::string large = "sdpa --set Q=[[300,300],[300,1]] --set K=[[300,300],[1,1]] --dtype ";
  const auto halves = run(large + "float16"), wider = run(large + "bfloat16");
  CHECK(halves.status == 1);
  CHECK(contains(halves.out, "scores has 180000, but float16 ends at 65504"));
  CHECK(wider.status == 0);
  CHECK_FALSE(contains(wider.out, "Why claims do not hold"));
  CHECK_FALSE(contains(output_of("stability --dtype float16 --all"), "Why claims do not hold"));
}
