#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <random>
#include <regex>

#include "tests/cli/stored_runs.hpp"
#include "trace/archives.hpp"
#include "trace/stored_trace.hpp"

namespace {

constexpr int random_places = 50;

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

/// Another number of which one bit is different.
double with_bit_flipped(double value, std::mt19937& random) {
  const int bit = std::uniform_int_distribution<int>(0, 62)(random);  // not the sign, which 0 has not
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << bit));
}

void flip_bit(attn::AnyTensor& tensor, std::size_t place, std::mt19937& random) {
  if (tensor.dtype() == attn::Dtype::boolean) {
    auto& element = tensor.elements<bool>()[place];
    element = !element;
  } else {
    auto& element = tensor.elements<double>()[place];
    element = with_bit_flipped(element, random);
  }
}

/// One element after the other is changed by one bit, found and named with its place.
template <class Writer>
void check_flipped_bits(const std::string& ending, unsigned seed) {
  const Folder folder;
  store(folder, "a", "multihead --sentence 'the cat sat' --heads 2 --causal", {ending});
  const auto trace = attn::open_trace(folder.file("a." + ending));
  std::mt19937 random(seed);
  for (int round = 0; round < random_places; ++round) {
    const auto index = std::uniform_int_distribution<std::size_t>(0, trace->tensors().size() - 1)(random);
    const auto& stored = trace->tensors()[index];
    const auto place =
        std::uniform_int_distribution<std::size_t>(0, attn::element_count(stored.shape) - 1)(random);
    auto tensor = trace->read(index);
    flip_bit(tensor, place, random);
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

TEST_CASE("one digit changed anywhere in a printed trace is found and its line is named", "[thorough]") {
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
      CHECK(contains(result.out, fmt::format("line {}", line_number(text, place))));
    }
  }
}

TEST_CASE("one digit changed anywhere in a JSON trace is found and the event or option is named",
          "[thorough]") {
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
      CHECK((result.status > 0 ||
             contains(result.out, "Configurations differ")));  // an option alone is no difference
      CHECK(contains(result.out + result.err, id_on(line)));
      CHECK(result.out + result.err != "");
    }
  }
}

TEST_CASE("a digit that makes no other number is told by its line") {
  const Folder folder;
  const std::string before = R"({"schema":"attnlab.trace/1","lesson":"x","title":"","config":{},"events":[
{"kind":"step","id":"x","title":"","formula":"","note":"","inputs":[],"shape":[],"axes":[],"labels":[],
"dtype":"float64","data":)";
  folder.write("a.json", before + "0.30000000000000004}]}");
  folder.write("b.json", before + "0.30000000000000005}]}");
  const auto result = diff(folder, "a.json", "b.json");
  CHECK(result.status == 0);
  CHECK(result.out == "equal as numbers, but not written the same: first in line 3\n");
}

TEST_CASE("one bit flipped in any element of an archive is found and the element is named", "[thorough]") {
  check_flipped_bits<attn::NpzWriter>("npz", 20240609);
  check_flipped_bits<attn::SafetensorsWriter>("safetensors", 20240610);
}
