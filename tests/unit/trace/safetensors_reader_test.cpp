#include <catch2/catch.hpp>

#include "tests/unit/temporary_file.hpp"
#include "tests/unit/trace/safetensors_file.hpp"
#include "tests/unit/trace/stored_files.hpp"

using Catch::Matchers::StartsWith;
using Strings = std::vector<std::string>;
using stored::elements_of;

namespace {

std::string safetensors_fixture(const std::string& name) {
  return ATTN_FIXTURES "/archives/" + name + ".safetensors";
}

std::string safetensors_refusal(const std::string& header,
                                const std::string& elements = std::string(16, '\0')) {
  return stored::refusal(TemporaryFile(safetensors_of(header, elements)).path());
}

}  // namespace

TEST_CASE("tensors of every type of safetensors are read") {
  const auto trace = attn::open_trace(safetensors_fixture("types"));
  std::vector<double> doubles;
  std::vector<std::int64_t> whole;
  std::vector<bool> bools;
  for (int i = 0; i < 24; ++i) {
    doubles.push_back(0.25 * i - 1);
    whole.push_back(i);
    bools.push_back(i % 3 == 0);
  }
  for (const std::string id : {"I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64"})
    CHECK((elements_of<std::int64_t>(*trace, id) == whole));
  CHECK((elements_of<double>(*trace, "F16", attn::Dtype::float16) == doubles));
  CHECK((elements_of<double>(*trace, "BF16", attn::Dtype::bfloat16) == doubles));
  CHECK((elements_of<double>(*trace, "F32", attn::Dtype::float32) == doubles));
  CHECK((elements_of<double>(*trace, "F64") == doubles));
  CHECK((elements_of<bool>(*trace, "BOOL") == bools));
  CHECK(trace->find("BF16")->stored_dtype == "bfloat16");
  CHECK(trace->find("U16")->stored_dtype == "uint16");
  CHECK(trace->find("F16")->shape == attn::Shape{2, 3, 4});
  CHECK(trace->header().lesson.empty());
}

TEST_CASE("a safetensors file may hold a scalar, an empty tensor, or nothing") {
  const auto trace = attn::open_trace(safetensors_fixture("shapes"));
  CHECK(elements_of<double>(*trace, "scalar") == std::vector<double>{3.5});
  CHECK(trace->find("none")->shape == attn::Shape{0, 4});
  CHECK(elements_of<double>(*trace, "none", attn::Dtype::float32).empty());
  CHECK(attn::open_trace(safetensors_fixture("empty"))->tensors().empty());
}

TEST_CASE("tensors come in the order of their elements, whatever the order of the header") {
  const TemporaryFile file(safetensors_of(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},)"
                                          R"("b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})",
                                          std::string(16, '\0')));
  CHECK(stored::ids_of(*attn::open_trace(file.path())) == Strings{"b", "a"});
}

TEST_CASE("the metadata of a trace tell what it is, and anybody else's are left alone") {
  const std::string entry = R"("X":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})";
  const TemporaryFile file(safetensors_of(
      R"({"__metadata__":{"schema":"attnlab.trace/1","lesson":"sdpa","title":"t","config":"{\"seed\":7}",)"
      R"("tensor:X":"{\"kind\":\"input\",\"axes\":[\"key\"],\"labels\":[[\"a\",\"b\"]]}"},)" +
          entry,
      std::string(16, '\0')));
  const auto trace = attn::open_trace(file.path());
  CHECK(trace->header().lesson == "sdpa");
  CHECK((trace->header().config ==
         std::vector<std::pair<std::string, attn::ConfigValue>>{{"seed", std::int64_t{7}}}));
  CHECK(trace->find("X")->kind == attn::Kind::input);
  CHECK(trace->find("X")->labels[0].lists == std::vector<Strings>{{"a", "b"}});

  CHECK(safetensors_refusal(R"({"__metadata__":{"schema":"x","lesson":"y","tensor:X":"{"},)" + entry) ==
        "no error");
  CHECK_THAT(safetensors_refusal(R"({"__metadata__":{"schema":"attnlab.trace/1","lesson":"y"},)" + entry),
             StartsWith("it has no text \"title\""));
  CHECK_THAT(safetensors_refusal(R"({"__metadata__":{"a":1},)" + entry),
             StartsWith("its __metadata__ is no object of texts"));
  CHECK_THAT(safetensors_refusal(R"({"__metadata__":"a",)" + entry),
             StartsWith("its __metadata__ is no object of texts"));
}

TEST_CASE("entries of a safetensors header that are none are refused") {
  const auto refused = [](const std::string& entry, const std::string& what) {
    INFO(entry);
    CHECK_THAT(safetensors_refusal("{\"a\":" + entry + "}"), StartsWith("tensor \"a\": " + what));
  };
  refused("1", "its entry is \"1\"");
  refused(R"({"dtype":"F64","shape":[2]})", "its entry is ");
  refused(R"({"dtype":"F64","shape":[2],"data_offsets":[0,16],"more":1})", "its entry is ");
  refused(R"({"dtype":"F8_E4M3","shape":[16],"data_offsets":[0,16]})",
          R"(its dtype is "\"F8_E4M3\""; valid: F16)");
  refused(R"({"dtype":8,"shape":[16],"data_offsets":[0,16]})", R"(its dtype is "8")");
  refused(R"({"dtype":"F64","shape":[-2],"data_offsets":[0,16]})",
          R"(it has "[-2]" where whole numbers belong)");
  refused(R"({"dtype":"F64","shape":[2.0],"data_offsets":[0,16]})", R"(it has "[2.0]" where)");
  refused(R"({"dtype":"F64","shape":2,"data_offsets":[0,16]})", R"(it has "2" where)");
  refused(R"({"dtype":"F64","shape":[2],"data_offsets":[0,8,16]})", "its shape 2 of float64 takes 16 bytes");
  refused(R"({"dtype":"F64","shape":[2],"data_offsets":[16,0]})", "its shape 2 of float64 takes 16 bytes");
  refused(R"({"dtype":"F64","shape":[3],"data_offsets":[0,16]})",
          R"(its shape 3 of float64 takes 24 bytes, its offsets are "[0,16]")");
  refused(R"({"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]})",
          "its shape 4294967296×4294967296 is beyond any memory");
  CHECK_THAT(safetensors_refusal(R"({"a\nb":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})"),
             StartsWith("tensor \"a\\nb\": its name has control characters or none; valid: a name"));
}

TEST_CASE("tensors of a safetensors file have to follow each other from its header to its end") {
  const auto header = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[8],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[8],"data_offsets":)" + b + "}}";
  };
  CHECK(safetensors_refusal(header("[0,8]", "[8,16]")) == "no error");
  CHECK_THAT(safetensors_refusal(header("[0,8]", "[4,12]")),
             StartsWith("tensor \"b\": its elements begin at 4 where those before end at 8"));
  CHECK_THAT(safetensors_refusal(header("[0,8]", "[0,8]")),
             StartsWith("tensor \"b\": its elements begin at 0 where"));
  CHECK_THAT(safetensors_refusal(header("[1,9]", "[9,17]")),
             StartsWith("tensor \"a\": its elements begin at 1 where"));
  CHECK_THAT(safetensors_refusal(header("[0,8]", "[8,16]"), std::string(17, '\0')),
             StartsWith("its tensors take 16 bytes, but 17 are there"));
  CHECK_THAT(safetensors_refusal(header("[0,8]", "[8,16]"), std::string(15, '\0')),
             StartsWith("its tensors take 16 bytes, but 15 are there"));
}

TEST_CASE("a safetensors header that is no strict JSON is refused") {
  CHECK_THAT(safetensors_refusal(R"({"a":)"),
             StartsWith("it is no JSON from byte 6 on; valid: JSON in UTF-8"));
  CHECK_THAT(safetensors_refusal("{\"a\":\"\xFF\"}"), StartsWith("it is no JSON from byte"));
  CHECK_THAT(safetensors_refusal(R"({"a":1e999})"), StartsWith("it is no JSON from byte"));
  CHECK_THAT(safetensors_refusal(R"({"a":1,"a":2})"),
             StartsWith(R"(its JSON has the name "a" twice; valid: each name once)"));
  CHECK_THAT(safetensors_refusal("{\"a\":" + std::string(50, '[') + std::string(50, ']') + "}"),
             StartsWith("its JSON has more than 40 levels"));
}

TEST_CASE("a safetensors header of a length that cannot be is refused") {
  auto bytes = safetensors_of("{}", "");
  bytes[7] = '\x7F';
  CHECK_THAT(stored::refusal(TemporaryFile(bytes).path()),
             StartsWith("its header claims 9151314442816847874 bytes; valid: up to 2 for this file"));
  bytes = safetensors_of("{}", "");
  bytes[0] = 3;
  CHECK_THAT(stored::refusal(TemporaryFile(bytes).path()), StartsWith("its header claims 3 bytes"));
}
