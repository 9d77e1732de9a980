#include <catch2/catch.hpp>
#include <map>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"

namespace {

using Strings = std::vector<std::string>;

struct Refusal {
  std::string arguments;
  Strings said;
};

void check_each_bad_usage(const std::vector<Refusal>& refusals) {
  for (const auto& refusal : refusals) check_bad_usage(refusal.arguments, refusal.said);
}

const Strings dimension_options = {"--d-model", "--d-k", "--d-v", "--heads", "--kv-heads", "--samples"};

/// Calls `visit(arguments)` for every dimension of every lesson: "sdpa --d-k".
template <class Visitor>
void for_every_dimension(Visitor visit) {
  for (const auto& lesson : lessons())
    for (const auto& option : dimension_options) {
      const bool needs_heads = lesson == "backward" && contains(option, "heads");
      if (takes(lesson, option)) visit(lesson + (needs_heads ? " --through multihead " : " ") + option);
    }
}

/// "multihead --heads N --d-model N": heads that divide nothing would be refused for that.
std::string with_what_it_divides(const std::string& option, const std::string& value) {
  auto arguments = option + ' ' + value;
  if (contains(option, "--kv-heads")) arguments += " --heads " + value;
  if (!contains(option, "heads")) return arguments;
  if (contains(option, "seq2seq")) return arguments + " --attention multihead --hidden " + value;
  if (contains(option, "ring")) return arguments;
  return arguments + (contains(option, "efficient") ? " --d-k " : " --d-model ") + value;
}

/// Embeddings in a file with this text, for "the cat sat".
void check_vectors_refused(const std::string& text, const Strings& said) {
  const Folder folder;
  const auto path = folder.write("words.txt", text);
  INFO(text);
  check_bad_usage("self-attention --sentence 'the cat sat' --embeddings " + as_argument(path), said);
}

}  // namespace

TEST_CASE("without an argument the program prints its help") {
  CHECK(output_of("") == output_of("--help"));
}

TEST_CASE("an unknown lesson is refused with the nearest name") {
  check_each_bad_usage({
      {"multhead", {"\"multhead\"", "did you mean multihead?", "self-attention"}},
      {"self_attention", {"did you mean self-attention?"}},
      {"multi-head-attention", {"did you mean multihead?"}},
      {"probe Multi_Head_Attention", {"did you mean multihead?"}},
      {"check mha x.npz", {"did you mean multihead?"}},
      {"break attention", {"did you mean self-attention?"}},
      {"rope", {"did you mean positional?"}},
      {"BERT", {"did you mean transformer-block?"}},
      {"SDPA", {"\"SDPA\"", "valid: "}},
      {"lst", {"did you mean list?"}},
      {"self", {"\"self\"", "did you mean self-attention?"}},
      {"transformer", {"did you mean transformer-block?"}},
      {"attention", {"did you mean self-attention?"}},
      {"atention", {"did you mean self-attention?"}},
      {"xyz", {"there is no lesson \"xyz\"; valid: lookup, "}},
      {"Head", {"did you mean multihead?"}},
      {"tour --from self", {"--from self:", "did you mean self-attention?", "valid: lookup, scoring"}},
      {"tour --from Scailing", {"--from Scailing:", "did you mean scaling?"}},
      {"tour --from tour", {"--from tour:", "valid: lookup"}},
      {"tour --from ''", {"--from"}},
      {"tour --from sdpa --from lookup", {"--from", "2 times"}},
      {"sdpa --from lookup", {"sdpa has no option --from"}},
      {"ben", {"did you mean bench?"}},
      {"''", {"\"\""}},
      {"--seed 3 sdpa", {"\"--seed\"", "attnlab LESSON"}},
      {"list all", {"\"all\"", "valid: attnlab list"}},
  });
}

TEST_CASE("heads that do not divide d_model are refused with the nearest that do") {
  check_each_bad_usage({
      {"multihead --heads 3", {"--heads 3", "--d-model 8", "valid: --heads 2 or 4, --d-model 6 or 9"}},
      {"multihead --heads 5 --d-model 7", {"--heads 1 or 7", "--d-model 5 or 10"}},
      {"multihead --heads 9", {"--heads 8", "--d-model 9"}},
      {"multihead --heads 3 --d-k 2", {"--heads 3", "--d-model 8"}},
      {"cross-attention --heads 7 --d-model 12", {"--heads 6 or 12", "--d-model 7 or 14"}},
      {"multihead --heads 2 --d-model 9973", {"--heads 1 or 9973"}},
  });
}

TEST_CASE("heads need not divide d_model where both lengths are given") {
  CHECK(run("multihead --heads 3 --d-k 2 --d-v 2").status == 0);
}

TEST_CASE("key and value heads that do not divide the heads are refused with the nearest that do") {
  check_each_bad_usage({
      {"multihead --heads 4 --kv-heads 3", {"--kv-heads 3", "--heads 4", "valid: --kv-heads 2 or 4"}},
      {"multihead --heads 4 --kv-heads 8", {"--kv-heads 8", "valid: --kv-heads 4"}},
      {"cross-attention --kv-heads 2", {"--kv-heads 2", "--heads"}},
  });
}

TEST_CASE("ranks that cannot share the work are refused with what can") {
  check_each_bad_usage({
      {"ring --ranks 0", {"--ranks 0", "valid: 1 or more"}},
      {"ring --ranks 65", {"--ranks 65", "valid: 1 to 64"}},
      {"ring --ranks x", {"--ranks", "x"}},
      {"ring --order round", {"--order round", "valid: contiguous, striped, zigzag"}},
      {"ring --way tokens", {"--way tokens", "valid: ring, heads"}},
      {"ring --way heads", {"--way heads", "4 ranks", "valid: --heads 4"}},
      {"ring --way heads --heads 6", {"--heads 6", "--ranks 4", "valid: --heads 8"}},
  });
}

TEST_CASE("more layers or samples than a run can go through in a moment are refused") {
  check_each_bad_usage({
      {"generate --layers 10000000", {"--layers 10000000", "valid: 1 to 10000"}},
      {"training --layers 1000000", {"--layers 1000000", "valid: 1 to 10000"}},
      {"training --samples 1000000000", {"--samples 1000000000", "valid: 1 to 10000000"}},
  });
}

TEST_CASE("a dimension that is no whole number above 0 is refused", "[thorough]") {
  for_every_dimension([](const std::string& option) {
    for (const char* value :
         {"0", "-1", "-9223372036854775808", "1.5", "1e3", "nan", "inf", "8x", "x", "''", "0x10"})
      check_bad_usage(option + " " + value, {value == std::string("''") ? "\"\"" : value, "valid: "});
  });
}

TEST_CASE("a dimension of 10^12 is refused with the memory that it would take and before it is taken",
          "[thorough]") {
  for_every_dimension([](const std::string& option) {
    const auto arguments = with_what_it_divides(option, "1000000000000");
    if (contains(option, "training --samples"))  // which holds one mask at a time
      check_bad_usage(arguments, {"--samples 1000000000000", "valid: 1 to 10000000"});
    else if (contains(option, " --layers"))
      check_bad_usage(arguments, {"--layers 1000000000000", "valid: 1 to 10000"});
    else
      check_bad_usage(arguments, {"needs ", "iB", "this machine has ", "valid: smaller dimensions"});
    CHECK(run(arguments).peak_memory < std::size_t{1} << 28);
  });
}

TEST_CASE("a dimension of 10^30 is refused with the memory that it would take", "[thorough]") {
  const std::string value = "1" + std::string(30, '0');
  for_every_dimension([&](const std::string& option) {
    check_bad_usage(option + " " + value, {value, "too large", "EiB"});
  });
}

TEST_CASE("the largest number that can be counted to is refused as well") {
  check_each_bad_usage({
      {"multihead --d-model 18446744073709551615", {"needs "}},
      {"multihead --d-model 18446744073709551615 --heads 18446744073709551615", {"needs "}},
      {"multihead --heads 18446744073709551615 --d-k 1 --d-v 1", {"needs "}},
      {"multihead --heads 99999999977 --d-model 99999999989", {"needs "}},
      {"lookup --d-k 18446744073709551615 --d-v 18446744073709551615", {"needs "}},
      {"sdpa --d-v 4611686018427387904", {"needs "}},
      {"scaling --d-k 4,18446744073709551615", {"needs "}},
      {"scaling --samples 18446744073709551615", {"needs ", "fewer samples"}},
  });
}

TEST_CASE("a list of dimensions is checked one by one") {
  check_each_bad_usage({
      {"scaling --d-k 4,0", {"--d-k 0"}},
      {"scaling --d-k 4,,8", {"--d-k", "\"\""}},
      {"scaling --d-k ,", {"--d-k"}},
      {"scaling --d-k 4,x", {"--d-k x"}},
      {"scaling --d-k '4 8'", {"--d-k 4 8"}},
      {"scaling --samples 15", {"--samples 15", "16"}},
  });
}

TEST_CASE("a sentence without a word is refused", "[thorough]") {
  const std::map<std::string, std::string> rest = {
      {"--sentence", ""}, {"--source", " --target words"}, {"--target", " --source words"}};
  for (const auto& lesson : lessons())
    for (const auto& [option, other] : rest) {
      if (!takes(lesson, option)) continue;
      for (const char* text : {"", "   ", "\t\n", "\u200b", "\u00a0", "\u0301"})
        check_bad_usage(lesson + other + " " + option + " " + as_argument(text), {"empty"});
    }
}

TEST_CASE("an empty sentence of a batch is named by its number") {
  check_bad_usage("self-attention --sentence a --sentence ''", {"sentence 2", "empty"});
}

TEST_CASE("invalid UTF-8 is refused with the byte and its place") {
  check_each_bad_usage({
      {"sdpa --sentence 'a\xff'", {"argument 3", "0xFF", "offset 1", "UTF-8"}},
      {"sdpa --sentence '\xc3'", {"0xC3", "offset 0"}},
      {"sdpa --sentence '\xed\xa0\x80'", {"0xED", "offset 0"}},
      {"sdpa --sentence 'caf\xe9'", {"0xE9", "offset 3"}},
      {"sdpa --output '\xfe'", {"argument 3", "0xFE"}},
      {"sd\xffpa", {"argument 1", "0xFF", "offset 2"}},
  });
}

TEST_CASE("a token without a vector is named with the words that there are") {
  const std::string vectors = " --embeddings data/tutorial/cat_sat.vectors.txt";
  check_each_bad_usage({
      {"self-attention --sentence 'the dog sat'" + vectors, {"\"dog\"", "\"cat\"", "\"sat\"", "\"the\""}},
      {"scoring --source 'the cat' --target 'le chat'" + vectors, {"\"le\"", "\"cat\""}},
      {"multihead --sentence 'the cat' --sentence 'the 猫'" + vectors, {"\"猫\""}},
      {"self-attention --sentence 'the cat' --d-model 8" + vectors,
       {"--d-model 8", "4 numbers", "--d-model 4"}},
  });
}

TEST_CASE("a malformed file of vectors is refused with the number of the line") {
  check_vectors_refused("the 1 2\ncat 1 x\nsat 1 2\n", {"line 2", "\"x\""});
  check_vectors_refused("the 1 2\ncat 1 2\nsat 1\n", {"line 3", "\"sat\"", "2"});
  check_vectors_refused("the 1 2\ncat 1 2 3\nsat 1 2\n", {"line 2", "\"cat\""});
  check_vectors_refused("3 2\nthe 1 2\ncat 1 nan\nsat 1 2\n", {"line 3", "\"nan\""});
  check_vectors_refused("the 1 inf\n", {"line 1", "\"inf\""});
  check_vectors_refused("the\n", {"line 1", "\"the\""});
  check_vectors_refused("4 2\nthe 1 2\ncat 1 2\nsat 1 2\n", {"3 of the 4 vectors"});
  check_vectors_refused("2 2\nthe 1 2\ncat 1 2\nsat 1 2\n", {"line 4", "2 vectors"});
  check_vectors_refused("3 0\n", {"line 1", "0 numbers"});
  check_vectors_refused("3 99999999999999999999\n", {"line 1", "99999999999999999999"});
  check_vectors_refused("the 1 2\nc\xfft 1 2\n", {"line 2", "0xFF"});
  check_vectors_refused(std::string("the 1 2\n\0\0\0\n", 12), {"line 2", "NUL"});
  check_vectors_refused("", {"empty"});
}

TEST_CASE("vectors that cannot be read are refused") {
  check_each_bad_usage({
      {"self-attention --embeddings data/nothing.txt", {"data/nothing.txt", "No such file"}},
      {"self-attention --embeddings data", {"data is a directory"}},
      {"self-attention --embeddings ''", {"--embeddings"}},
  });
}

TEST_CASE("an option that the lesson does not use is refused with the lessons that use it") {
  check_each_bad_usage({
      {"self-attention --heads 2",
       {"self-attention does not use --heads, an option of multihead, ", "or attnlab self-attention --help"}},
      {"sdpa --weight-scale=he", {"sdpa does not use --weight-scale, an option of "}},
      {"scaling --sentence a", {"scaling does not use --sentence, an option of "}},
      {"seq2seq --sentence a",
       {"seq2seq does not use --sentence; valid: --source and --target, or attnlab seq2seq --help"}},
      {"masking --causal", {"masking does not use --causal; valid: --mask causal, or"}},
      {"scaling --ranks 2", {"does not use --ranks, an option of ring; valid: attnlab ring,"}},
      {"self-attention --residual", {"does not use --residual"}},
      {"scoring --causal", {"does not use --causal"}},
  });
}

TEST_CASE("every option of another lesson is refused by a lesson that does not use it", "[thorough]") {
  for (const auto& lesson : lessons())
    for (const auto& option : {"--sentence", "--source", "--target", "--d-model", "--d-k", "--d-v", "--heads",
                               "--kv-heads", "--samples", "--causal", "--window", "--dropout",
                               "--temperature", "--residual", "--norm", "--weight-scale", "--embeddings"})
      if (!takes(lesson, option))
        check_bad_usage(lesson + " " + option, {lesson + " does not use " + option});
}

TEST_CASE("backward goes through the lessons that it knows, with the options of each") {
  check_each_bad_usage({
      {"backward --through lookup",
       {"--through lookup", "valid: sdpa, multihead, transformer-block, seq2seq"}},
      {"backward --through ''", {"--through", "valid: --through sdpa"}},
      {"backward --heads 2",
       {"--heads", "--through sdpa", "valid: --through multihead or transformer-block"}},
      {"backward --norm pre", {"--norm", "valid: --through transformer-block"}},
      {"backward --through multihead --source a --target b",
       {"--source", "valid: --through sdpa or seq2seq"}},
      {"backward --through multihead --d-ff 8", {"--d-ff", "valid: --through transformer-block"}},
      {"backward --through seq2seq --sentence a", {"--sentence", "valid: --through sdpa or multihead"}},
      {"backward --through seq2seq --source a", {"--source is given without --target"}},
      {"backward --hidden 3", {"--hidden", "valid: --through seq2seq"}},
      {"backward --through multihead --heads 3", {"--heads 3 does not divide --d-model 4"}},
  });
}

TEST_CASE("a misspelt option is refused with the nearest") {
  check_each_bad_usage({
      {"sdpa --sentense x", {"--sentense", "did you mean --sentence?"}},
      {"sdpa --see 7", {"--see", "did you mean --seed?"}},
      {"sdpa --Seed 7", {"--Seed", "did you mean --seed?"}},
      {"multihead --d_model 4", {"--d_model", "did you mean --d-model?"}},
      {"multihead --kvheads=1", {"--kvheads", "did you mean --kv-heads?"}},
      {"sdpa --colour never", {"--colour", "did you mean --color?"}},
      {"sdpa --", {"--"}},
  });
}

TEST_CASE("a word that belongs to no option is refused") {
  check_each_bad_usage({
      {"sdpa stray", {"\"stray\""}},
      {"sdpa --sentence the cat sat", {"\"cat\"", "quotes"}},
      {"sdpa --causal yes", {"\"yes\""}},
      {"sdpa -s 3", {"\"-s\""}},
      {"sdpa -", {"\"-\""}},
      {"sdpa ''", {"\"\""}},
  });
}

TEST_CASE("an option without its value is refused", "[thorough]") {
  for (const auto& lesson : lessons())
    for (const char* option :
         {"--seed", "--dtype", "--format", "--output", "--steps", "--precision", "--width", "--color"}) {
      check_bad_usage(lesson + " " + option, {option});
      check_bad_usage(lesson + " " + option + " ''", {option});
    }
  check_each_bad_usage(
      {{"sdpa --sentence", {"--sentence"}}, {"multihead --weight-scale", {"--weight-scale"}}});
}

TEST_CASE("an option given twice is refused") {
  check_each_bad_usage({
      {"sdpa --seed 1 --seed 2", {"--seed", "2 times", "1, 2"}},
      {"sdpa --output a --output b", {"--output", "a, b"}},
      {"scaling --d-k 4 --d-k 8", {"--d-k", "4, 8"}},
  });
}

TEST_CASE("a value outside its range is refused with the range") {
  check_each_bad_usage({
      {"multihead --weight-scale big", {"--weight-scale big", "xavier, he or a number from 0"}},
      {"multihead --weight-scale -1", {"--weight-scale -1", "xavier"}},
      {"multihead --weight-scale nan", {"--weight-scale nan", "xavier"}},
      {"multihead --weight-scale inf", {"--weight-scale inf", "xavier"}},
      {"multihead --weight-scale 1e400", {"--weight-scale 1e400", "xavier"}},
      {"multihead --weight-scale 1e300", {"--weight-scale 1e300", "xavier"}},
      {"multihead --weight-scale Xavier", {"--weight-scale Xavier", "xavier"}},
      {"sdpa --dtype float8", {"--dtype float8", "float64", "bfloat16"}},
      {"sdpa --dtype FLOAT64", {"--dtype FLOAT64", "float64"}},
      {"sdpa --temperature 0", {"--temperature 0", "valid: "}},
      {"sdpa --temperature -1", {"--temperature -1"}},
      {"sdpa --temperature nan", {"--temperature nan"}},
      {"sdpa --temperature inf", {"--temperature inf"}},
      {"sdpa --temperature 1e-320", {"--temperature"}},
      {"sdpa --temperature 1e-400", {"--temperature 1e-400"}},
      {"sdpa --temperature warm", {"--temperature warm"}},
      {"sdpa --dropout 1", {"--dropout 1", "less than 1"}},
      {"sdpa --dropout -0.1", {"--dropout -0.1"}},
      {"sdpa --dropout nan", {"--dropout nan"}},
      {"sdpa --dropout inf", {"--dropout inf"}},
      {"sdpa --dropout 50%", {"--dropout 50%"}},
      {"sdpa --seed -1", {"--seed -1", "0 to 4294967295"}},
      {"sdpa --seed 4294967296", {"--seed 4294967296", "0 to 4294967295"}},
      {"sdpa --seed 1.5", {"--seed 1.5"}},
      {"sdpa --seed nan", {"--seed nan"}},
      {"sdpa --seed --causal", {"--seed"}},
      {"sdpa --window -1", {"--window -1", "0 or more"}},
      {"sdpa --window 1.5", {"--window 1.5"}},
      {"sdpa --window wide", {"--window wide"}},
      {"sdpa --precision -1", {"--precision -1", "0 to 17"}},
      {"sdpa --precision 18", {"--precision 18", "0 to 17"}},
      {"sdpa --precision 99999999999", {"--precision 99999999999", "0 to 17"}},
      {"sdpa --precision high", {"--precision high", "0 to 17"}},
      {"sdpa --width 19", {"--width 19", "20 to 1000"}},
      {"sdpa --width 1001", {"--width 1001", "20 to 1000"}},
      {"sdpa --width wide", {"--width wide", "20 to 1000"}},
      {"sdpa --format xml", {"--format xml", "text, json"}},
      {"sdpa --format JSON", {"--format JSON", "json"}},
      {"sdpa --color sometimes", {"--color sometimes", "auto, always, never"}},
      {"sdpa --causal=perhaps", {"perhaps"}},
  });
}

TEST_CASE("a step that the lesson does not have is refused with those that it has") {
  check_each_bad_usage({
      {"sdpa --steps nothing", {"nothing", "Q, K, V, scores, scaled, weights, output"}},
      {"sdpa --steps scores,Weights", {"Weights", "weights"}},
      {"sdpa --steps scores/", {"scores/"}},
      {"sdpa --steps ,", {"--steps"}},
      {"sdpa --steps nothing --format json", {"nothing"}},
      {"sdpa --steps masked", {"masked"}},
      {"lookup --steps temperature=7/", {"temperature=7/", "temperature=0.1/weights"}},
  });
}

TEST_CASE("two sentences are refused where there is one of them only") {
  check_each_bad_usage({
      {"sdpa --source a", {"--source", "--target"}},
      {"sdpa --target a", {"--target", "--source"}},
      {"sdpa --source a --target b --sentence c", {"--sentence", "--source", "--target"}},
  });
}

TEST_CASE("batches of unequal size are refused") {
  check_each_bad_usage({
      {"sdpa --source a --source b --target c", {"2 --source but 1 --target"}},
      {"cross-attention --source a --target c --target d", {"1 --source but 2 --target"}},
  });
}

TEST_CASE("a batch is refused by a lesson that takes none") {
  check_each_bad_usage({
      {"lookup --sentence a --sentence b", {"lookup", "2"}},
  });
}

TEST_CASE("an output that cannot be written is refused") {
  const Folder folder;
  const auto output = [&](const std::string& name) {
    return "sdpa --output " + as_argument(folder.file(name));
  };
  check_each_bad_usage({
      {output("missing/trace.txt"), {"missing/trace.txt", "No such file", "folder"}},
      {output("missing/"), {"missing/"}},
      {"sdpa --output " + as_argument(folder.path().string()), {folder.path().string(), "directory"}},
      {output(std::string(300, 'x')), {"too long"}},
      {"sdpa --output /dev/full", {"/dev/full", "No space"}},
      {output("trace.npy"),
       {"trace.npy ends in .npy", "valid: .txt, .json, .npz, .safetensors, .svg, .png, .pdf, .html, .py"}},
      {output("trace.csv"), {".csv, which names no format"}},
      {output("trace.gif"), {".gif, which names no format", "valid: .txt, .json, .npz"}},
      {output("trace.md"), {".md, which names no format"}},
      {output("trace.json.old"), {".old, which names no format"}},
      {"tour --output " + as_argument(folder.file("tour.pdf")),
       {"ends in .pdf", "valid: .txt, or no ending"}},
      {"tour --output " + as_argument(folder.file("tour.json")), {"ends in .json", "valid: .txt"}},
      {output("trace.npz") + " --shapes", {"--shapes", "npz"}},
      {"sdpa --format safetensors --shapes", {"--shapes", "safetensors"}},
  });
  CHECK(folder.names().empty());
}

TEST_CASE("control characters in a value are shown on the one line of the message") {
  check_each_bad_usage({
      {"'multi\nhead'", {"multi\\x0ahead"}},
      {"sdpa --dtype 'a\nb\x1b[31m'", {"a\\x0ab\\x1b[31m"}},
      {"sdpa --steps 'a\r'", {"a\\x0d"}},
      {"sdpa --output 'no\n/where'", {"no\\x0a/where"}},
  });
}

TEST_CASE("a full device as standard output is trouble") {
  for (const char* arguments : {"sdpa", "sdpa --format json", "list", "--help", "sdpa --help"}) {
    const auto result = run(arguments, {.output = Output::full_device});
    INFO(arguments);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "attnlab: standard output cannot be written"));
    CHECK(lines_of(result.err).size() == 1);
  }
}

TEST_CASE("a closed pipe is no error") {
  for (const char* arguments :
       {"sdpa", "sdpa --format json", "list", "--help", "multihead --d-model 64 --full"}) {
    const auto result = run(arguments, {.output = Output::closed_pipe});
    INFO(arguments);
    CHECK(result.status == 0);
    CHECK(result.err == "");
  }
}

TEST_CASE("a flag takes no value, whatever the command") {
  check_each_bad_usage({
      {"probe multihead --causal=false --output p.npz",
       {"--causal=false", "valid: --causal, or --no-causal"}},
      {"sdpa --causal=true", {"--causal=true", "valid: --causal, or nothing"}},
      {"diff a.npz b.npz --quiet=no", {"--quiet=no", "valid: --quiet, or nothing"}},
      {"probe multihead --causal --no-causal --output p.npz", {"--causal contradicts --no-causal"}},
  });
}

TEST_CASE(
    "the last part of a step's id is refused with the ids that end in it, and too few places with an "
    "example") {
  check_each_bad_usage({
      {"classifier --steps weights", {"no step weights; valid: attention/weights"}},
      {"classifier --explain 'weights[0, 1]'", {"this run; valid: attention/weights"}},
      {"multihead --model none --sentence 'it sat' --explain 'weights[it, sat]'",
       {"as in weights[0, it, sat]"}},
      {"sdpa --explain 'weights[0, 1, 2]'", {"as in weights[1, 2]"}},
  });
  CHECK_FALSE(contains(refusal("classifier --steps weights"), "W_Q"));
}
