#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/unit/numbers.hpp"
#include "tests/unit/temporary_file.hpp"
#include "tests/unit/trace/stored_files.hpp"
#include "trace/json/json.hpp"

using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using Strings = std::vector<std::string>;
using stored::elements_of;

namespace {

/// A trace with these events.
std::string trace_text(const std::string& events) {
  return R"({"schema":"attnlab.trace/1","lesson":"sdpa","title":"t","config":{"seed":42},"events":[)" +
         events + "]}";
}

std::string tensor(const std::string& shape, const std::string& dtype, const std::string& data) {
  return R"({"kind":"step","id":"a","shape":)" + shape + R"(,"dtype":")" + dtype + R"(","data":)" + data +
         "}";
}

std::string json_refusal(const std::string& content) {
  return stored::refusal(TemporaryFile(content).path());
}

std::string refusal_of(const std::string& shape, const std::string& dtype, const std::string& data) {
  return json_refusal(trace_text(tensor(shape, dtype, data)));
}

template <class T>
std::vector<T> read(const std::string& shape, const std::string& dtype, const std::string& data) {
  const TemporaryFile file(trace_text(tensor(shape, dtype, data)));
  const auto trace = attn::open_trace(file.path());
  return elements_of<T>(*trace, "a", trace->find("a")->dtype);
}

}  // namespace

TEST_CASE("a trace that was written as JSON is read back bit for bit") {
  const attn::Header header{"sdpa", "title \"quoted\" [{", {{"seed", std::int64_t{42}}, {"causal", true}}};
  attn::JsonWriter renderer(header);
  const double denormal = std::numeric_limits<double>::denorm_min();
  const attn::Tensor<2> doubles{{0.1, -0.0, denormal}, {-infinity, infinity, 0.30000000000000004}};
  const std::vector<double> floats{static_cast<double>(0.1F), static_cast<double>(1.0F / 3),
                                   static_cast<double>(std::numeric_limits<float>::max()), 16777216.0};
  const attn::Mask<1> bools{true, false};
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  renderer.receive({.kind = attn::Kind::note, .id = "note", .note = "brackets ] } and \\ \" in a text"});
  renderer.receive({.kind = attn::Kind::input,
                    .id = "doubles",
                    .tensor = attn::view_of(doubles),
                    .axes = {"query", "key"},
                    .labels = {{{{"a]", "b\""}}}, {}}});
  renderer.receive({.kind = attn::Kind::step,
                    .id = "floats",
                    .tensor = attn::TensorView{attn::Dtype::float32, {4}, floats.data()},
                    .axes = {"key"},
                    .labels = {{}}});
  renderer.receive({.kind = attn::Kind::step,
                    .id = "bools",
                    .tensor = attn::view_of(bools),
                    .axes = {"key"},
                    .labels = {{}}});
  renderer.receive({.kind = attn::Kind::step, .id = "lowest", .tensor = attn::view_of(lowest)});
  const TemporaryFile file(renderer.finish());

  const auto trace = attn::open_trace(file.path());
  CHECK(trace->header().lesson == "sdpa");
  CHECK(trace->header().title == header.title);
  CHECK((trace->header().config == header.config));
  CHECK(stored::ids_of(*trace) == Strings{"doubles", "floats", "bools", "lowest"});
  const auto read = elements_of<double>(*trace, "doubles");
  CHECK((read == std::vector<double>(doubles.begin(), doubles.end())));
  CHECK(std::signbit(read[1]));
  CHECK((elements_of<double>(*trace, "floats", attn::Dtype::float32) == floats));
  CHECK((elements_of<bool>(*trace, "bools") == std::vector<bool>{true, false}));
  CHECK(elements_of<std::int64_t>(*trace, "lowest") == std::vector<std::int64_t>{lowest});
  const auto* described = trace->find("doubles");
  CHECK(described->kind == attn::Kind::input);
  CHECK(described->axes == Strings{"query", "key"});
  CHECK(described->labels[0].lists == std::vector<Strings>{{"a]", "b\""}});
  CHECK(described->labels[1].empty());
  CHECK(described->stored_dtype == "float64");
}

TEST_CASE("a float32 is rounded once") {
  // Halfway from 1 to the next float32, and a little more: as a float64 it would be the tie that goes to 1.
  CHECK(read<double>("[1]", "float32", "[1.000000059604644775390625000000000001]")[0] > 1.0);
}

TEST_CASE("white space and numbers may be written as JSON allows") {
  CHECK(read<double>("[2,2]", "float64", " [ [ 1 , -2.5e1 ] ,\n\t[ 1E+2,0 ]\r\n] ") ==
        std::vector<double>{1, -25, 100, 0});
  CHECK(read<double>("[]", "float64", "7").front() == 7);
  CHECK(std::isnan(read<double>("[1]", "float64", R"(["NaN"])")[0]));
  CHECK(read<double>("[2,0]", "float64", "[[],[]]").empty());
  const TemporaryFile file(" \n" + trace_text("") + "\n ");
  CHECK(attn::open_trace(file.path())->tensors().empty());
}

TEST_CASE("texts and tensors larger than the reader's window are read") {
  std::string numbers = "0";
  for (int i = 1; i < 200'000; ++i) numbers += "," + std::to_string(i);
  const auto note = R"({"kind":"note","id":"n","note":")" + std::string(300'000, 'x') + "\"},";
  const TemporaryFile file(trace_text(note + tensor("[200000]", "int64", "[" + numbers + "]")));
  const auto elements = elements_of<std::int64_t>(*attn::open_trace(file.path()), "a");
  REQUIRE(elements.size() == 200'000);
  bool counts = true;
  for (std::size_t i = 0; i < elements.size(); ++i)
    counts = counts && elements[i] == static_cast<std::int64_t>(i);
  CHECK(counts);
}

TEST_CASE("data that are not nested as the shape says are refused") {
  const auto refused = [](const std::string& shape, const std::string& data) {
    INFO(shape << ' ' << data);
    CHECK_THAT(refusal_of(shape, "float64", data), StartsWith("a: "));
  };
  refused("[2]", "[1]");
  refused("[2]", "[1,2,3]");
  refused("[2]", "1");
  refused("[]", "[1]");
  refused("[2,2]", "[1,2,3,4]");
  refused("[2,2]", "[[1,2],[3,4,5]]");
  refused("[2,2]", "[[1,2],[3]]");
  refused("[2]", "[[1],[2]]");
  refused("[2]", "[1 2]");
  refused("[0]", "[1]");
  refused("[2]", "{\"a\":1}");
  refused("[2]", "null");
  refused("[1000000]", "[1,2]");
  refused("[1152921504606846976]", "[1]");
  refused("[4294967296,4294967296]", "[1]");
  CHECK_THAT(refusal_of("[1000000]", "float64", "[1,2]"),
             StartsWith("a: its data are not nested as its shape 1000000 says; valid: lists within lists"));
}

TEST_CASE("what is no number of the type is refused with its place") {
  const auto refused = [](const std::string& dtype, const std::string& element) {
    INFO(dtype << ' ' << element);
    CHECK_THAT(refusal_of("[1]", dtype, "[" + element + "]"), StartsWith("a: "));
  };
  for (const std::string element :
       {"01",  "1.",   ".5",   "+1",      "0x1",   "inf", "nan", "-",   "1e",   "1e999",
        "--1", "true", "null", "\"inf\"", "\"1\"", "1,",  ",1",  "-.5", "1.e5", "Infinite"})
    refused("float64", element);
  for (const std::string element : {"1e39", "3.5e38"}) refused("float32", element);
  for (const std::string element : {"1.5", "1e3", "9223372036854775808", "\"NaN\"", "true"})
    refused("int64", element);
  for (const std::string element : {"1", "True", "\"true\"", "truex"}) refused("bool", element);
  CHECK_THAT(refusal_of("[1]", "int64", "[1.5]"),
             StartsWith("a: its data has \"1.5\"; valid: elements of int64"));
  CHECK_THAT(refusal_of("[1]", "float64", "[1.]"), StartsWith("a: it is no JSON from byte "));
}

TEST_CASE("a document that is no trace is refused") {
  CHECK_THAT(json_refusal("{}"),
             StartsWith("its schema is not attnlab.trace/1; valid: a trace as --format json"));
  CHECK_THAT(json_refusal(R"({"schema":"attnlab.trace/2","events":[]})"), StartsWith("its schema is not"));
  CHECK_THAT(json_refusal(R"({"schema":"attnlab.trace/1","lesson":"a","title":"b","config":{}})"),
             StartsWith("it has no config or no events"));
  CHECK_THAT(json_refusal(R"({"schema":"attnlab.trace/1","lesson":1,"title":"b","config":{},"events":[]})"),
             StartsWith("it has no text \"lesson\""));
  CHECK_THAT(json_refusal(R"({"schema":"attnlab.trace/1","lesson":"a","title":"b","config":[],"events":[]})"),
             StartsWith("its config is no JSON object"));
  CHECK_THAT(json_refusal(R"({"schema":"attnlab.trace/1","schema":"b","events":[]})"),
             StartsWith("its JSON has the name \"schema\" twice"));
  CHECK_THAT(json_refusal(R"({"events":[],"events":[]})"),
             StartsWith("its JSON has the name \"events\" twice"));
  CHECK_THAT(json_refusal(R"({"schema":"attnlab.trace/1","lesson":"a","title":"b","config":{},"events":{}})"),
             StartsWith("it has no config or no events"));
  CHECK_THAT(json_refusal(trace_text("") + "x"), StartsWith("it is no JSON from byte "));
  CHECK_THAT(json_refusal(trace_text("1")), StartsWith("its events have \"1\"; valid: objects"));
  CHECK_THAT(json_refusal(trace_text("{}")), StartsWith("event 1: its id is \"null\""));
}

TEST_CASE("a document may hold nothing but tensors by id") {
  const TemporaryFile file(
      R"({"X": [[1, 0.5], [-2, 1e1]], "step=0/mask": [true, false], "lengths": [3, 9007199254740993],)"
      R"( "scalar": 7, "none": [[], []], "score": ["-Infinity", 0]})");
  const auto trace = attn::open_trace(file.path());
  CHECK(trace->header().lesson.empty());
  CHECK(stored::ids_of(*trace) == Strings{"X", "step=0/mask", "lengths", "scalar", "none", "score"});
  CHECK(elements_of<double>(*trace, "X") == std::vector<double>{1, 0.5, -2, 10});
  CHECK(trace->find("X")->shape == attn::Shape{2, 2});
  CHECK_FALSE(trace->find("X")->kind.has_value());
  CHECK(elements_of<bool>(*trace, "step=0/mask") == std::vector<bool>{true, false});
  CHECK(elements_of<std::int64_t>(*trace, "lengths") == std::vector<std::int64_t>{3, 9007199254740993});
  CHECK(trace->find("scalar")->shape.empty());
  CHECK(trace->find("none")->shape == attn::Shape{2, 0});
  CHECK(std::isinf(elements_of<double>(*trace, "score")[0]));
}

TEST_CASE("tensors by id may come with the options that they were made with") {
  const TemporaryFile file(R"({"X": [[1, 0]], "config": {"heads": 2, "causal": true}})");
  const auto trace = attn::open_trace(file.path());
  CHECK(stored::ids_of(*trace) == Strings{"X"});
  CHECK((trace->header().config ==
         decltype(attn::Header::config){{"heads", std::int64_t{2}}, {"causal", true}}));
  CHECK(stored::ids_of(*attn::open_trace(TemporaryFile(R"({"config": [1]})").path())) == Strings{"config"});
}

TEST_CASE("numbers that are not finite may stand without quotes, as Python writes them") {
  const TemporaryFile file(
      R"({"N": [[NaN, Infinity,-Infinity],[-1, "NaN", -2.5e-1]], "a-Infinity": [ NaN ]})");
  const auto trace = attn::open_trace(file.path());
  CHECK(stored::ids_of(*trace) == Strings{"N", "a-Infinity"});
  const auto numbers = elements_of<double>(*trace, "N");
  CHECK((std::isnan(numbers[0]) && std::isnan(numbers[4])));
  CHECK((numbers[1] == infinity && numbers[2] == -infinity && numbers[3] == -1.0 && numbers[5] == -0.25));
  const TemporaryFile quoted(R"({"a b \"NaN": [NaN]})");
  CHECK(stored::ids_of(*attn::open_trace(quoted.path())) == Strings{"a b \"NaN"});
  for (const std::string number : {"Nan", "-Inf", "Infinite", "-NaN", "NaN0", "none", "-"})
    CHECK_THAT(json_refusal(R"({"masked": [[NaN, )" + number + "]]}"),
               StartsWith("it is no JSON from byte "));
  CHECK_THAT(json_refusal(R"({"masked": [[NaN, none]]})"), StartsWith("it is no JSON from byte 20 on"));
}

TEST_CASE("tensors by id that are none are refused") {
  CHECK(json_refusal(R"({"X": [[1, 0], [0]]})") ==
        "X: its lists differ in length or depth; valid: rows of the same length, as in [[1, 0], [0, 1]]");
  CHECK_THAT(json_refusal(R"({"X": [[1, 0], 0]})"), StartsWith("X: its lists differ"));
  CHECK_THAT(json_refusal(R"({"X": [0, [1, 0]]})"), StartsWith("X: its lists differ"));
  CHECK_THAT(json_refusal(R"({"X": [[], [1]]})"), StartsWith("X: its lists differ"));
  CHECK_THAT(json_refusal(R"({"X": {"a": 1}})"), StartsWith("X: it has "));
  CHECK_THAT(json_refusal(R"({"X": [true, 1]})"),
             StartsWith("X: it has \"true\"; valid: lists of numbers, or"));
  CHECK_THAT(json_refusal(R"({"X": [null]})"), StartsWith("X: it has \"null\""));
  CHECK_THAT(json_refusal(R"({"a\u001bb": [1]})"),
             StartsWith("it has the name \"a\\x1bb\"; valid: a name of"));
  CHECK_THAT(json_refusal(R"({"": [1]})"), StartsWith("it has the name \"\"; valid: a name of"));
  CHECK_THAT(json_refusal(R"({"X": [1], "X": [1]})"), StartsWith("its JSON has the name \"X\" twice"));
  CHECK_THAT(json_refusal(R"({"lesson":"a","title":"b","config":{},"events":[{"kind":"note","id":"n"}]})"),
             StartsWith("its schema is not attnlab.trace/1"));
}

TEST_CASE("a document that is cut off anywhere is refused") {
  const auto whole = trace_text(tensor("[2]", "float64", "[1,2]"));
  REQUIRE(json_refusal(whole) == "no error");
  for (std::size_t length = 1; length < whole.size(); ++length) {
    INFO(whole.substr(0, length));
    CHECK(json_refusal(whole.substr(0, length)) != "no error");
  }
}

TEST_CASE("events that contradict themselves or each other are refused") {
  const auto refused = [](const std::string& event, const std::string& what) {
    INFO(event);
    CHECK_THAT(json_refusal(trace_text(event)), StartsWith(what));
  };
  const auto whole = tensor("[1]", "float64", "[1]");
  refused(whole + "," + whole, "a: it is there twice; valid: each id once");
  refused(R"({"kind":"note","id":"a"},)" + whole, "a: it is there twice");
  refused(R"({"kind":"note","id":"a b"})", "event 1: its id is \"\\\"a b\\\"\"; valid: letters");
  refused(R"({"kind":"note","id":"a"},{"kind":"dream","id":"b","shape":[],"dtype":"bool","data":true})",
          "b: its kind is \"\\\"dream\\\"\"; valid: \"input\" or \"step\"");
  refused(R"({"kind":"step","id":"a","shape":[1],"dtype":"float8","data":[1]})", "a: its dtype is ");
  refused(R"({"kind":"step","id":"a","dtype":"float64","data":1})", "a: its shape is \"null\"");
  refused(R"({"kind":"step","id":"a","shape":[-1],"dtype":"float64","data":1})", "a: its shape is \"[-1]\"");
  refused(R"({"kind":"step","id":"a","shape":[1],"axes":[],"dtype":"float64","data":[1]})",
          "a: its axes \"[]\" do not fit its shape 1; valid: a name for each axis");
  refused(
      R"({"kind":"step","id":"a","shape":[1],"axes":["key"],"labels":[["x","y"]],"dtype":"float64","data":[1]})",
      "a: the labels of axis 0 (\"key\") do not fit its shape 1");
  refused(R"({"kind":"step","id":"a","shape":[1],"dtype":"float64","data":[1],"data":[2]})",
          "a: its JSON has the name \"data\" twice");
  refused(R"({"kind":"step","id":"a","shape":[1],"dtype":"float64"})",
          "a: it has no data, as in a trace made with --shapes; valid: a trace with numbers");
}

TEST_CASE("labels may differ from sample to sample of a batch") {
  const TemporaryFile file(trace_text(
      R"({"kind":"step","id":"a","shape":[2,1],"axes":["batch","key"],"labels":[null,[["x"],["y"]]],)"
      R"("dtype":"float64","data":[[1],[2]]})"));
  const auto trace = attn::open_trace(file.path());
  CHECK(trace->find("a")->labels[1].lists == std::vector<Strings>{{"x"}, {"y"}});
}
