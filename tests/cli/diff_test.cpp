#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <thread>

#include "attn/io/npz_writer.hpp"
#include "attn/io/safetensors_writer.hpp"
#include "attn/io/stored_trace.hpp"
#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"

namespace {

using Strings = std::vector<std::string>;

const Strings data_formats = {"json", "npz", "safetensors"};
constexpr int random_places = 50;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Runs a lesson into files "NAME.txt", "NAME.json", … in the folder.
void store(const Folder& folder, const std::string& name, const std::string& arguments,
           const Strings& formats = {"txt", "json", "npz", "safetensors"}) {
  for (const auto& format : formats)
    run(arguments + " --output " + as_argument(folder.file(name + '.' + format)));
}

Result diff(const Folder& folder, const std::string& a, const std::string& b,
            const std::string& options = "") {
  return run("diff " + as_argument(folder.file(a)) + ' ' + as_argument(folder.file(b)) + ' ' + options);
}

void check_silent(const Result& result) {
  CHECK(result.out == "");
  CHECK(result.err == "");
  CHECK(result.status == 0);
}

void check_refused(const std::string& arguments, const Strings& parts) {
  const auto result = run(arguments);
  INFO("attnlab " << arguments << '\n' << result.err);
  CHECK(result.status == 2);
  CHECK(result.out == "");
  CHECK(lines_of(result.err).size() == 1);
  for (const auto& part : parts) CHECK(contains(result.err, part));
}

/// The text with another digit at that place.
std::string with_digit_changed(std::string text, std::size_t place) {
  text[place] = static_cast<char>('0' + (text[place] - '0' + 5) % 10);
  return text;
}

std::size_t random_digit(const std::string& text, std::mt19937& random) {
  std::uniform_int_distribution<std::size_t> places(0, text.size() - 1);
  while (true)
    if (const auto place = places(random); text[place] >= '0' && text[place] <= '9') return place;
}

std::size_t line_number(const std::string& text, std::size_t place) {
  return 1 + static_cast<std::size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
}

/// What a JSON trace calls the thing on this line: an event's id, or nothing for the header.
std::string id_on(const std::string& line) {
  std::smatch id;
  return std::regex_search(line, id, std::regex("^\\{\"kind\":\"[a-z]+\",\"id\":\"([^\"]+)\"")) ? id[1].str()
                                                                                                : "";
}

/// Copies a trace into an archive, with one tensor replaced.
template <class Writer>
std::string rewritten(const attn::StoredTrace& trace, std::size_t replaced, const attn::AnyTensor& by) {
  Writer writer(trace.header());
  for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
    const auto& stored = trace.tensors()[i];
    const auto tensor = i == replaced ? by : trace.read(i);
    writer.receive({.kind = stored.kind.value_or(attn::Kind::step),
                    .id = stored.id,
                    .tensor = tensor.view(),
                    .axes = stored.axes,
                    .labels = stored.labels});
  }
  return writer.finish();
}

/// Flips a bit of a float64 such that another number comes of it.
double with_bit_flipped(double value, std::mt19937& random) {
  std::uniform_int_distribution<int> bits(0, 62);
  const auto flipped =
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << bits(random)));
  return flipped;
}

/// Flips one bit in each of so many elements in turn; each is found and named, with its place.
template <class Writer>
void check_flipped_bits(const std::string& ending, unsigned seed) {
  const Folder folder;
  store(folder, "a", "multihead --sentence 'the cat sat' --heads 2 --causal", {ending});
  const auto trace = attn::open_trace(folder.file("a." + ending));
  std::mt19937 random(seed);
  for (int round = 0; round < random_places; ++round) {
    const auto index = std::uniform_int_distribution<std::size_t>(0, trace->tensors().size() - 1)(random);
    const auto& stored = trace->tensors()[index];
    auto tensor = trace->read(index);
    const auto place =
        std::uniform_int_distribution<std::size_t>(0, attn::element_count(stored.shape) - 1)(random);
    if (stored.dtype == attn::Dtype::boolean) {
      auto& element = tensor.elements<bool>()[place];
      element = !element;
    } else {
      auto& element = tensor.elements<double>()[place];
      element = with_bit_flipped(element, random);
    }
    folder.write("b." + ending, rewritten<Writer>(*trace, index, tensor));
    const auto exact = diff(folder, "a." + ending, "b." + ending, "--atol 0 --rtol 0");
    INFO(exact.out << exact.err);
    CHECK(exact.status == 1);
    CHECK(contains(exact.out, stored.id + " differs first at ["));
    CHECK(contains(exact.out, fmt::format("1 of {} inputs and steps differ", trace->tensors().size())));
    CHECK(contains(diff(folder, "a." + ending, "b." + ending).out, stored.id));
  }
}

}  // namespace

TEST_CASE("a trace of any lesson is equal to itself in every format and in any two formats of data") {
  const Folder folder;
  for (const auto& lesson : lessons()) {
    INFO(lesson);
    store(folder, "a", lesson);
    for (const char* file : {"a.txt", "a.json", "a.npz", "a.safetensors"})
      check_silent(diff(folder, file, file));
    check_silent(diff(folder, "a.json", "a.npz"));
    check_silent(diff(folder, "a.npz", "a.safetensors"));
    check_silent(diff(folder, "a.safetensors", "a.json"));
  }
}

TEST_CASE("two runs differ in every pair of formats, by the same tensors") {
  const Folder folder;
  store(folder, "a", "sdpa --sentence 'the cat sat'");
  store(folder, "b", "sdpa --sentence 'the cat sat' --temperature 2");
  const auto expected = diff(folder, "a.npz", "b.npz").out;
  CHECK(contains(expected, "temperature: 1 in A, 2 in B"));
  CHECK(contains(expected, "sdpa: scaled differs first at [query 0 `the` × key 0 `the`]: "));
  CHECK(contains(expected, "3 of 7 inputs and steps differ."));
  for (const auto& a : data_formats)
    for (const auto& b : data_formats) {
      INFO(a << ' ' << b);
      const auto result = diff(folder, "a." + a, "b." + b);
      CHECK(result.status == 1);
      CHECK(result.err == "");
      CHECK(result.out.substr(0, expected.size()).find(expected.substr(0, 400)) == 0);
    }
  const auto text = diff(folder, "a.txt", "b.txt");
  CHECK(text.status == 1);
  CHECK(contains(text.out, "temperature: 1 in A, 2 in B"));
  CHECK(contains(text.out, "sdpa: scaled differs first at line "));
}

TEST_CASE("one digit changed anywhere in a printed trace is found and its line is named") {
  std::mt19937 random(20240607);
  const Folder folder;
  for (const char* arguments : {"multihead --causal --heads 2", "masking", "sdpa --precision 8 --full"}) {
    const auto text = output_of(arguments);
    folder.write("a.txt", text);
    for (int round = 0; round < random_places; ++round) {
      const auto place = random_digit(text, random);
      folder.write("b.txt", with_digit_changed(text, place));
      const auto result = diff(folder, "a.txt", "b.txt");
      INFO("attnlab " << arguments << ", line " << line_number(text, place) << '\n' << result.out);
      CHECK(result.status == 1);
      const bool is_option = contains(result.out, "Configurations differ");
      CHECK((is_option || contains(result.out, fmt::format("line {}", line_number(text, place)))));
    }
  }
}

TEST_CASE("one digit changed anywhere in a JSON trace is found and the event or option is named") {
  std::mt19937 random(20240608);
  const Folder folder;
  for (const char* arguments :
       {"multihead --causal --heads 2", "lookup", "transformer-block --dtype float32"}) {
    const auto text = output_of(std::string(arguments) + " --format json");
    folder.write("a.json", text);
    for (int round = 0; round < random_places; ++round) {
      const auto place = random_digit(text, random);
      const auto changed = with_digit_changed(text, place);
      folder.write("b.json", changed);
      const auto line = lines_of(changed)[line_number(text, place) - 1];
      const auto result = diff(folder, "a.json", "b.json", "--atol 0 --rtol 0");
      INFO("attnlab " << arguments << ", line " << line_number(text, place) << ", column "
                      << place - text.rfind('\n', place) << '\n'
                      << result.out << result.err);
      CHECK(result.status > 0);
      CHECK(contains(result.out + result.err, id_on(line)));
      CHECK(result.out + result.err != "");
    }
  }
}

TEST_CASE("one bit flipped in any element of an archive is found and the element is named") {
  check_flipped_bits<attn::NpzWriter>("npz", 20240609);
  check_flipped_bits<attn::SafetensorsWriter>("safetensors", 20240610);
}

TEST_CASE("float32 beside float64 agrees within the tolerance of float32") {
  const Folder folder;
  store(folder, "a", "sdpa", {"npz"});
  store(folder, "b", "sdpa --dtype float32", {"npz"});
  const auto result = diff(folder, "a.npz", "b.npz");
  CHECK(contains(result.out, "dtype: \"float64\" in A, \"float32\" in B"));
  CHECK(result.status == 0);
  CHECK(contains(result.out, "equal within tolerance; the largest difference is "));
  CHECK(contains(diff(folder, "a.npz", "b.npz", "--rtol 1e-12 --atol 0").out, "differs first at"));
}

TEST_CASE("--all lists what agrees too") {
  const Folder folder;
  store(folder, "a", "sdpa", {"txt", "npz"});
  const auto data = diff(folder, "a.npz", "a.npz", "--all");
  CHECK(data.status == 0);
  for (const char* id : {"Q", "K", "V", "scores", "scaled", "weights", "output"})
    CHECK(contains(data.out, std::string("\n  ") + id + ' '));
  CHECK(contains(diff(folder, "a.txt", "a.txt", "--all").out, "\n  weights "));
}

TEST_CASE("the report comes as JSON as well") {
  const Folder folder;
  store(folder, "a", "sdpa", {"txt", "npz"});
  store(folder, "b", "sdpa --seed 7", {"txt", "npz"});
  for (const char* ending : {".txt", ".npz"}) {
    const auto result = diff(folder, std::string("a") + ending, std::string("b") + ending, "--format json");
    CHECK(result.status == 1);
    const auto report = nlohmann::json::parse(result.out);
    CHECK(report["schema"] == "attnlab.diff/1");
    CHECK(report["status"] == "different");
    CHECK(report["first"]["id"] == "Q");
  }
  CHECK(nlohmann::json::parse(diff(folder, "a.npz", "a.npz", "--format json").out)["status"] == "equal");
}

TEST_CASE("a printed trace may come from a pipe") {
  const Folder folder;
  store(folder, "a", "sdpa", {"txt"});
  const auto pipe = folder.file("pipe");
  REQUIRE(std::system(
              fmt::format("mkfifo '{0}' && cat '{1}' >'{0}' &", pipe, folder.file("a.txt")).c_str()) == 0);
  while (!std::filesystem::exists(pipe)) std::this_thread::yield();
  check_silent(diff(folder, "a.txt", "pipe"));
}

TEST_CASE("files that are no traces are trouble") {
  const Folder folder;
  store(folder, "a", "sdpa", {"txt", "npz", "json"});
  const auto a = as_argument(folder.file("a.txt")), npz = as_argument(folder.file("a.npz"));
  const auto file = [&](const std::string& name, const std::string& text) {
    return as_argument(folder.write(name, text));
  };
  const auto archive = read_file(folder.file("a.npz"));
  check_refused("diff " + a + ' ' + as_argument(folder.file("missing.txt")), {"missing.txt", "No such file"});
  check_refused("diff " + a + ' ' + as_argument(folder.path().string()), {"directory"});
  check_refused("diff " + a + ' ' + file("empty.txt", " \n"), {"empty.txt", "empty"});
  check_refused("diff " + a + ' ' + file("latin.txt", "caf\xe9\n"), {"latin.txt", "0xE9"});
  check_refused("diff " + npz + ' ' + file("cut.npz", archive.substr(0, archive.size() / 2)), {"cut.npz"});
  check_refused("diff " + npz + ' ' + file("cut.json", R"({"schema":"attnlab.trace/1")"), {"cut.json"});
  check_refused("diff " + npz + ' ' + file("zeros", std::string(100, '\0')), {"zeros"});
  check_refused("diff " + a + ' ' + npz, {"a.txt", "a.npz", "printed trace", "data"});
  check_refused("diff " + as_argument(folder.file("a.json")) + ' ' + a, {"a.txt is a printed trace"});
  check_refused("diff " + a + " /dev/zero", {"/dev/zero"});
  check_refused("diff " + a + " /dev/urandom", {"/dev/urandom"});
}

TEST_CASE("arguments that make no comparison are refused") {
  check_refused("diff", {"diff takes two files", "attnlab diff A B"});
  check_refused("diff a.npz", {"a.npz is the only one"});
  check_refused("diff a b c", {"\"c\" is a third"});
  check_refused("diff a b --atoll 1", {"--atoll", "did you mean --atol?"});
  check_refused("diff a b --atol", {"--atol"});
  check_refused("diff a b --atol -1", {"--atol -1", "0 or more"});
  check_refused("diff a b --rtol nan", {"--rtol nan"});
  check_refused("diff a b --rtol inf", {"--rtol inf"});
  check_refused("diff a b --rtol 1 --rtol 2", {"--rtol", "2 times"});
  check_refused("diff a b --format svg", {"--format svg", "text, json"});
  check_refused("dif a b", {"did you mean diff?"});
}

TEST_CASE("the help tells what is equal and the general help lists the command") {
  const auto help = output_of("diff --help");
  for (const char* part : {"attnlab diff", "--atol", "--rtol", "--all", "--format", "1e-12", "Exit status"})
    CHECK(contains(help, part));
  CHECK(contains(output_of("--help"), "attnlab diff A B"));
}
