#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>

#include "attn/error.hpp"
#include "attn/text/word_vectors.hpp"
#include "tests/hostile/mutator.hpp"
#include "tests/unit/temporary_file.hpp"
#include "tests/unit/trace/zip_file.hpp"
#include "trace/csv.hpp"
#include "trace/stored_trace.hpp"

namespace {

using Strings = std::vector<std::string>;

constexpr int mutants = 200;

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  REQUIRE(stream);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Strings fixtures(const Strings& names) {
  Strings contents;
  for (const auto& name : names) contents.push_back(read_file(ATTN_FIXTURES "/archives/" + name));
  return contents;
}

/// The elements of every tensor of a file, as bytes.
Strings read_all(const std::string& content) {
  const TemporaryFile file(content);
  const auto trace = attn::open_trace(file.path());
  Strings elements;
  for (std::size_t i = 0; i < trace->tensors().size(); ++i) {
    const auto tensor = trace->read(i);
    const auto view = tensor.view();
    REQUIRE(view.shape == trace->tensors()[i].shape);
    elements.emplace_back(static_cast<const char*>(view.data),
                          attn::element_count(view.shape) * attn::size_of(view.dtype));
  }
  return elements;
}

/// Reads many mutilated copies of the files: each has to be read, or refused in one line that says what would
/// be valid. Returns what was read.
template <class Read, class Wrap>
std::vector<Strings> read_mutants(std::uint64_t seed, const Strings& files, Read read, Wrap wrap) {
  Mutator mutator(seed);
  std::vector<Strings> all_read;
  int refused = 0;
  for (int i = 0; i < mutants; ++i) {
    const auto& file = files[static_cast<std::size_t>(i) % files.size()];
    const auto mutant = wrap(mutator.mutilated(file, files[mutator.below(files.size())]));
    INFO("mutant " << i << " of seed " << seed);
    try {
      all_read.push_back(read(mutant));
    } catch (const attn::Error& error) {
      ++refused;
      const std::string message = error.what();
      CHECK(message.find("; valid: ") != message.npos);
      CHECK(message.find('\n') == message.npos);
    }
  }
  CHECK(refused > mutants / 4);
  return all_read;
}

template <class Read>
std::vector<Strings> read_mutants(std::uint64_t seed, const Strings& files, Read read) {
  return read_mutants(seed, files, read, [](std::string bytes) { return bytes; });
}

}  // namespace

TEST_CASE("mutilated npz files are refused or read as they were, which their checksums tell") {
  const auto files =
      fixtures({"types.npz", "packed.npz", "shapes.npz", "fortran.npz", "versions.npz", "names.npz"});
  Strings known;
  for (const auto& file : files)
    for (const auto& elements : read_all(file)) known.push_back(elements);
  for (const std::uint64_t seed : {1, 2, 3})
    for (const auto& read : read_mutants(seed, files, read_all))
      for (const auto& elements : read) CHECK(std::find(known.begin(), known.end(), elements) != known.end());
}

TEST_CASE("mutilated arrays in archives that are sound are refused or read") {
  const Strings headers = {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n",
                           "{'descr': '>i2', 'fortran_order': True, 'shape': (3, 8), }\n",
                           "{'descr': '|b1', 'fortran_order': False, 'shape': (48,), }\n",
                           "{'descr': '<u8', 'fortran_order': False, 'shape': (6, 1), }\n"};
  Strings arrays;
  for (const auto& header : headers) arrays.push_back(npy_of(header, std::string(48, '\1')));
  for (const std::uint64_t seed : {1, 2, 3})
    read_mutants(seed, arrays, read_all, [&](std::string array) {
      return zip_of({{"a.npy", std::move(array)}}, seed == 2);
    });
}

TEST_CASE("mutilated safetensors files are refused or read") {
  for (const std::uint64_t seed : {1, 2, 3})
    read_mutants(seed, fixtures({"types.safetensors", "shapes.safetensors"}), read_all);
}

TEST_CASE("mutilated JSON traces are refused or read") {
  const std::string start =
      R"({"schema":"attnlab.trace/1","lesson":"sdpa","title":"t","config":{"seed":42,"d_k":[1,2]},)";
  const Strings files = {
      start +
          R"("events":[{"kind":"input","id":"a","shape":[2,3],"axes":["query","key"],"labels":[["x","y"],null],)"
          R"("dtype":"float64","data":[[0.5,-1e-5,"NaN"],[1,2,"-Infinity"]]},{"kind":"note","id":"n"}]})",
      start +
          R"("events":[{"kind":"step","id":"a","shape":[],"axes":[],"labels":[],"dtype":"int64","data":-7},)"
          R"({"kind":"step","id":"b","shape":[4],"dtype":"bool","data":[true,false,true,true]}]})",
      R"({"X": [[1, 0.5], [-2, 1e1]], "mask": [[true, false]], "lengths": [3, 1], "none": [[], []], "s": "NaN"})",
      start + R"("events":[{"kind":"step","id":"c","shape":[2,1,2],"axes":["batch","query","key"],)"
              R"("labels":[null,[["x"],["y"]],null],"dtype":"float32","data":[[[1,2]],[[3,4]]]}]})"};
  for (const std::uint64_t seed : {1, 2, 3}) read_mutants(seed, files, read_all);
}

TEST_CASE("mutilated rows of numbers are refused or read") {
  const auto read = [](const std::string& content) {
    const TemporaryFile file(content);
    const auto matrix = attn::read_csv(file.path());
    CHECK(matrix.shape().size() == 2);
    return Strings{};
  };
  for (const std::uint64_t seed : {1, 2, 3})
    read_mutants(seed, {"1,2,3\n4,5,6\n", " 0.5 ,-1e-5\r\n\t7,8\r\n\r\n"}, read);
}

TEST_CASE("mutilated word vectors are refused or read") {
  const auto read = [](const std::string& content) {
    const TemporaryFile file(content);
    const auto vectors = attn::WordVectors::load(file.path());
    CHECK(vectors.dimension() > 0);
    return Strings{};
  };
  const Strings files = {read_file(ATTN_DATA "/tutorial/cat_sat.vectors.txt"),
                         "3 4\nthe 0.1 0.2 0.3 0.4\n猫 1 2 3 4\n. . . -1e-5 2 3 4\n", "a 1\nb 2\n"};
  for (const std::uint64_t seed : {1, 2, 3}) read_mutants(seed, files, read);
}
