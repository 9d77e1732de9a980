#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/cli/program.hpp"

namespace {

/// A processor's kernels in OpenBLAS and what /proc/cpuinfo calls what they need.
struct Core {
  std::string name;
  std::string needs;
};

const std::vector<Core> cores = {{"Haswell", "avx2"}, {"SkylakeX", "avx512f"}, {"Prescott", "pni"}};

bool processor_has(const std::string& flag) {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (word == flag) return true;
    return false;
  }
  return false;
}

/// What may not change a text trace.
std::vector<Surroundings> all_surroundings() {
  std::vector<Surroundings> all = {
      {},
      {.environment = {{"OPENBLAS_NUM_THREADS", "1"}}},
      {.environment = {{"OPENBLAS_NUM_THREADS", "2"}}},
      {.environment = {{"LC_ALL", "de_DE.UTF-8"}, {"LANG", "tr_TR.UTF-8"}, {"TZ", "Asia/Tokyo"}}},
  };
  for (const auto& core : cores) {
    if (processor_has(core.needs))
      all.push_back({.environment = {{"OPENBLAS_CORETYPE", core.name}}});
    else
      WARN("this processor cannot run OpenBLAS's kernels for " << core.name);
  }
  return all;
}

std::string text_of(const Surroundings& surroundings) {
  std::string text;
  for (const auto& [name, value] : surroundings.environment) text += name + "=" + value + " ";
  return text;
}

/// The first line in which two texts differ; empty where they are the same.
std::string difference(const std::string& a, const std::string& b) {
  if (a == b) return "";
  const auto lines = lines_of(a), other_lines = lines_of(b);
  for (std::size_t i = 0; i < std::min(lines.size(), other_lines.size()); ++i)
    if (lines[i] != other_lines[i]) return lines[i] + "\n" + other_lines[i];
  return "one is longer";
}

void check_same_everywhere(const std::string& arguments) {
  const auto expected = output_of(arguments);
  for (const auto& surroundings : all_surroundings()) {
    INFO(text_of(surroundings) << "attnlab " << arguments);
    CHECK(difference(output_of(arguments, surroundings), expected) == "");
  }
}

std::string products_for_blas() {
  return "multihead --d-model 256 --heads 4" + with_sentence("multihead", sentence_of(200));
}

}  // namespace

TEST_CASE("every lesson prints the same bytes with any number of threads and any kernel of BLAS",
          "[thorough]") {
  for (const auto& lesson : lessons())
    for (const char* dtype : {"float64", "float32"}) check_same_everywhere(lesson + " --dtype " + dtype);
}

TEST_CASE("sixty tokens print the same bytes with any number of threads and any kernel of BLAS") {
  const auto arguments = "multihead --d-model 64 --heads 4" + with_sentence("multihead", sentence_of(60));
  for (const char* dtype : {"float64", "float32"}) check_same_everywhere(arguments + " --dtype " + dtype);
}

TEST_CASE("gradients of sixty tokens in float32 print the same bytes with any kernel of BLAS") {
  check_same_everywhere("backward --dtype float32 --d-k 80 --d-v 80 --width 80" +
                        with_sentence("backward", sentence_of(60)));
}

TEST_CASE("products that go to BLAS print the same bytes with any number of threads and any of its kernels",
          "[thorough]") {
  for (const char* dtype : {"float64", "float32"}) {
    const auto arguments = products_for_blas() + " --dtype " + dtype;
    check_same_everywhere(arguments);
    check_same_everywhere(arguments + " --full --steps scores,output");
  }
}

TEST_CASE("all digits of training are the same with any kernel of BLAS") {
  check_same_everywhere("training --precision 14");
}

TEST_CASE("the kernels of BLAS differ beyond the digits that are printed") {
  if (!processor_has("avx2")) {
    WARN("this processor has the plainest kernels only");
    return;
  }
  const auto digits = products_for_blas() + " --precision 17 --full --steps output";
  CHECK(difference(output_of(digits, {.environment = {{"OPENBLAS_CORETYPE", "Haswell"}}}),
                   output_of(digits, {.environment = {{"OPENBLAS_CORETYPE", "Prescott"}}})) != "");
}

TEST_CASE("two runs print the same bytes", "[thorough]") {
  for (const auto& lesson : lessons()) {
    CHECK(difference(output_of(lesson), output_of(lesson)) == "");
    const auto json = lesson + " --format json";
    CHECK(difference(output_of(json), output_of(json)) == "");
  }
}

TEST_CASE("another seed prints other bytes") {
  for (const auto& lesson : lessons()) {
    if (lesson == "complexity") continue;  // which counts, whatever the numbers are
    INFO(lesson);
    const bool has_model = output_of(lesson + " --help").find("--model ") != std::string::npos;
    const auto drawn = lesson + (has_model ? " --model none" : "");
    CHECK(difference(without_header(output_of(drawn + " --seed 43")), without_header(output_of(drawn))) !=
          "");
  }
}
