#include <catch2/catch.hpp>
#include <fstream>

#include "tests/hostile/handmade_zip.hpp"
#include "tests/unit/processor_time.hpp"
#include "tests/unit/temporary_file.hpp"
#include "tests/unit/trace/safetensors_file.hpp"
#include "tests/unit/trace/stored_files.hpp"
#include "tests/unit/trace/zip_file.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr std::uint64_t ten_gigabytes = 10'000'000'000;
constexpr std::uint16_t deflated = 8;

std::string refusal(const std::string& content) {
  return stored::refusal(TemporaryFile(content).path());
}

std::string npy_of_shape(const std::string& shape, const std::string& elements) {
  return npy_of("{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + "), }\n", elements);
}

std::string json_of(const std::string& event) {
  return R"({"schema":"attnlab.trace/1","lesson":"a","title":"b","config":{},"events":[)" + event + "]}";
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

TEST_CASE("a handmade archive that says the truth is read up to its checksum") {
  const auto array = npy_of_shape("2,", std::string(16, '\0'));
  CHECK_THAT(refusal(zip_claiming({{"a.npy", array, array.size(), array.size()}})), Contains("CRC"));
}

TEST_CASE("members that claim ten gigabytes are refused") {
  const auto array = npy_of_shape("1250000000,", std::string(1000, '\0'));
  const auto claim = [&](std::uint64_t packed, std::uint64_t unpacked, std::uint16_t method) {
    return refusal(zip_claiming({{"a.npy", array, packed, unpacked, method}}));
  };
  CHECK_THAT(claim(array.size(), ten_gigabytes, 0),
             StartsWith("member \"a.npy\": it claims 10000000000 bytes packed"));
  CHECK_THAT(claim(ten_gigabytes, ten_gigabytes, 0),
             StartsWith("member \"a.npy\": it claims 10000000000 bytes packed"));
  CHECK_THAT(claim(array.size(), ten_gigabytes, deflated),
             StartsWith("member \"a.npy\": it claims 10000000000 bytes"));
  CHECK_THAT(claim(10'000'000, ten_gigabytes, deflated),
             StartsWith("member \"a.npy\": it claims 10000000000 bytes"));
  CHECK_THAT(claim(array.size(), ~std::uint64_t{0}, deflated), StartsWith("member \"a.npy\": it claims"));
  CHECK_THAT(claim(~std::uint64_t{0}, ~std::uint64_t{0}, 0), StartsWith("member \"a.npy\": it claims"));
}

TEST_CASE("a member that ends before its size is refused before that much is taken") {
  const auto array = npy_of_shape("8000000,", std::string(1000, '\0'));
  const auto deflated_array =
      std::string("\1") + '\xE8' + '\3' + '\x17' + '\xFC' + array;  // a block that is stored
  const auto padded = deflated_array + std::string(100'000, '\0');
  CHECK_THAT(
      refusal(zip_claiming({{"a.npy", padded, padded.size(), array.size() - 1000 + 64'000'000, deflated}})),
      StartsWith("member \"a.npy\": it "));
}

TEST_CASE("members that lie on top of each other are refused") {
  const auto array = npy_of_shape("125,", std::string(1000, '\0'));
  std::vector<ZipClaim> members = {{"a.npy", array, array.size(), array.size()}};
  for (int i = 0; i < 1000; ++i)
    members.push_back({"a" + std::to_string(i) + ".npy", "", array.size(), array.size(), 0, true});
  CHECK_THAT(refusal(zip_claiming(members)), Contains("valid: members that do not overlap"));
}

TEST_CASE("an archive that claims more members than it has room for is refused") {
  const auto array = npy_of_shape("2,", std::string(16, '\0'));
  for (const std::uint64_t count :
       {std::uint64_t{2}, std::uint64_t{1} << 32, std::uint64_t{1} << 60, ~std::uint64_t{0}})
    CHECK_THAT(refusal(zip_claiming({{"a.npy", array, array.size(), array.size()}}, count)),
               StartsWith("it is no whole ZIP archive: "));
}

TEST_CASE("an archive of zeros that unpacks without end is refused, an archive in an archive is no array") {
  std::ifstream stream(ATTN_FIXTURES "/archives/many_zeros.npz", std::ios::binary);
  const std::string inner{std::istreambuf_iterator<char>(stream), {}};
  CHECK_THAT(refusal(inner), StartsWith("its 8379 bytes unpack to 67116864 or more"));
  CHECK_THAT(refusal(zip_of({{"inner.npy", inner}})),
             StartsWith("member \"inner.npy\": it begins with \"PK"));
  CHECK_THAT(refusal(zip_of({{"inner.npz", inner}})), StartsWith("member \"inner.npz\": it is no array"));
}

TEST_CASE("shapes beyond any memory are refused in every format") {
  for (const std::string shape :
       {"1152921504606846976", "1152921504606846976, 16", "4294967296, 4294967296, 4294967296",
        "18446744073709551615", "2, 9223372036854775808"}) {
    INFO(shape);
    CHECK_THAT(refusal(zip_of({{"a.npy", npy_of_shape(shape + ",", std::string(16, '\0'))}})),
               Contains("beyond any memory"));
    CHECK_THAT(
        refusal(safetensors_of(R"({"a":{"dtype":"F64","shape":[)" + shape + R"(],"data_offsets":[0,16]}})",
                               std::string(16, '\0'))),
        Contains("beyond any memory"));
    CHECK_THAT(
        refusal(json_of(R"({"kind":"step","id":"a","dtype":"float64","data":[1],"shape":[)" + shape + "]}")),
        Contains("beyond any memory"));
  }
}

TEST_CASE("shapes that a gigabyte could hold are refused where the file does not") {
  CHECK_THAT(refusal(zip_of({{"a.npy", npy_of_shape("134217728,", std::string(16, '\0'))}})),
             Contains("which take 1073741824 bytes, but 16 are there"));
  CHECK_THAT(
      refusal(safetensors_of(R"({"a":{"dtype":"F64","shape":[134217728],"data_offsets":[0,1073741824]}})",
                             std::string(16, '\0'))),
      Contains("its tensors take 1073741824 bytes, but 16 are there"));
  CHECK_THAT(refusal(json_of(R"({"kind":"step","id":"a","dtype":"float64","data":[1],"shape":[134217728]})")),
             Contains("not nested as its shape 134217728 says"));
  CHECK_THAT(
      refusal(json_of(R"({"kind":"step","id":"a","dtype":"float64","data":[],"shape":[134217728,0]})")),
      Contains("not nested as its shape 134217728×0 says"));
}

TEST_CASE("JSON that is deep, long or without end is refused") {
  const auto deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK_THAT(
      refusal(json_of(R"({"kind":"step","id":"a","dtype":"float64","shape":[1],"data":)" + deep + "}")),
      StartsWith("a: its JSON has more than 40 levels"));
  CHECK_THAT(refusal(json_of(R"({"kind":"note","id":"a","title":)" + deep + "}")),
             Contains("more than 40 levels"));
  CHECK_THAT(refusal(safetensors_of("{\"a\":" + deep + "}", "")), Contains("more than 40 levels"));
  CHECK_THAT(refusal(json_of(R"({"kind":"step","id":"a","dtype":"float64","shape":[1],"data":[)" +
                             std::string(1'000'000, '9') + "]}")),
             StartsWith("a: it is no JSON from byte "));
  CHECK_THAT(refusal(json_of(R"({"kind":"note","id":"a","title":")" + std::string(1'000'000, '\\'))),
             StartsWith("a: it is no JSON from byte 1000111 on"));
  CHECK_THAT(refusal(json_of(R"({"kind":"note","id":"a","title":[0)" + repeated(",0", 2'000'000) + "]}")),
             Contains("more than 1048576 items in a list"));
}

TEST_CASE("many small things take no long time") {
  const auto open = [] {
    std::string header = "{";
    for (int i = 0; i < 50'000; ++i)
      header += (i > 0 ? ",\"" : "\"") + std::to_string(i) +
                R"(":{"dtype":"F64","shape":[0],"data_offsets":[0,0]})";
    CHECK(attn::open_trace(TemporaryFile(safetensors_of(header + "}", "")).path())->tensors().size() ==
          50'000);

    std::vector<ZipEntry> members;
    for (int i = 0; i < 5'000; ++i) members.push_back({std::to_string(i) + ".npy", npy_of_shape("0,", "")});
    CHECK(attn::open_trace(TemporaryFile(zip_of(members)).path())->tensors().size() == 5'000);

    std::string events = R"({"kind":"note","id":"n"})";
    for (int i = 0; i < 20'000; ++i) events += R"(,{"kind":"note","id":")" + std::to_string(i) + "\"}";
    CHECK(attn::open_trace(TemporaryFile(json_of(events)).path())->tensors().empty());
  };
  CHECK(processor_seconds(open) < instant);
}
