#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/documents/schema.hpp"
#include "tests/unit/numbers.hpp"
#include "trace/filter.hpp"
#include "trace/json/json.hpp"
#include "trace/trace.hpp"

using attn::Tensor;
using nlohmann::json;

namespace {

std::string render(const std::function<void(attn::Trace&)>& lesson, bool batched = false) {
  attn::JsonWriter renderer({"demo", "a lesson", {}});
  attn::Trace trace(renderer, {.batched = batched});
  lesson(trace);
  return renderer.finish();
}

/// A document with every kind of event, dtype and label.
std::string everything() {
  attn::JsonWriter renderer({"multi-head",
                             "all “kinds”\n",
                             {{"sentence", std::vector<std::string>{"Hi you", "Bye"}},
                              {"tokens", std::vector<std::vector<std::string>>{{"Hi", "you"}, {"Bye"}}},
                              {"d_k", std::vector<std::int64_t>{4, 16}},
                              {"window", std::monostate{}},
                              {"causal", true},
                              {"seed", std::int64_t{42}},
                              {"dropout", 0.1},
                              {"dtype", std::string("float32")}}});
  attn::Trace trace(renderer, {.batched = true});
  trace.label("token", {{{"Hi", "you"}, {"Bye", "<pad>"}}});
  trace.label("head", {{{"first", "second"}}});
  trace.note("idea", "The idea", "Prose with \"quotes\".", "a = b");
  trace.input({.id = "X", .title = "Vectors", .axes = {"token", "d_model"}},
              Tensor<3>(xt::ones<double>({2, 2, 3})));
  trace.input({.id = "lengths", .axes = {"batch"}}, attn::Integers<1>{2, 1});
  trace.input({.id = "mask", .axes = {"query", "key"}}, attn::Mask<2>{{true, false}, {true, true}});
  trace.step(
      {.id = "concat", .formula = "merge(heads)", .from = {"X", "mask"}, .axes = {"token", "head·d_v"}},
      Tensor<3>(xt::zeros<double>({2, 2, 2})));
  trace.step({.id = "heads/mean", .from = {"concat"}, .axes = {"head"}}, Tensor<1>{-infinity, 0.1});
  trace.step({.id = "entropy"}, 1.5);
  trace.claim({"sums", "rows sum to 1", "max |Σ − 1|", 2.2e-16, attn::at_most(1e-12)});
  trace.claim({"future", "future is 0", "max |w|", 0.5, attn::exactly(0)});
  trace.claim({"spread", "is spread", "entropy", 1.5, attn::at_least(-2.5)});
  renderer.receive({.kind = attn::Kind::mistake, .id = "no-scale", .title = "not scaled"});
  return renderer.finish();
}

json event(const json& document, const std::string& id) {
  for (const auto& candidate : document["events"])
    if (candidate["id"] == id) return candidate;
  return nullptr;
}

/// The text of the data of a tensor of rank 1, whose numbers are rounded to `dtype`.
template <class T>
std::string data_text(const attn::Array<T, 1>& tensor, attn::Dtype dtype = attn::Dtype::float64) {
  attn::JsonWriter writer({"demo", "a lesson", {}});
  attn::Trace trace(writer, {.dtype = dtype});
  trace.input({.id = "v", .axes = {"d_k"}}, tensor);
  const auto text = writer.finish();
  const auto start = text.find("\"data\":") + 7;
  return text.substr(start, text.find('}', start) - start);
}

}  // namespace

TEST_CASE("A trace is one JSON document with an event on each line") {
  const auto text = render([](attn::Trace& trace) {
    trace.note("idea", "The idea", "Prose.");
    trace.input({.id = "X", .title = "Vectors", .axes = {"token", "d_k"}}, Tensor<2>{{1.0, -2.5}});
  });
  CHECK(text == R"({"schema":"attnlab.trace/1","lesson":"demo","title":"a lesson",
"config":{},
"events":[
{"kind":"note","id":"idea","title":"The idea","formula":"","note":"Prose.","level":"core"},
{"kind":"input","id":"X","title":"Vectors","formula":"","note":"","level":"core","shape":[1,2],"axes":["token","d_k"],"labels":[null,null],"dtype":"float64","data":[[1,-2.5]]}
]}
)");
}

TEST_CASE("Numbers are the shortest that read back the same in their dtype") {
  CHECK(data_text<double>({0.1, 1.0 / 3.0, 1e300, 5e-324, 2.0}) ==
        "[0.1,0.3333333333333333,1e+300,5e-324,2]");
  CHECK(data_text<double>({0.1, 1.0 / 3.0, 16777216.0}, attn::Dtype::float32) == "[0.1,0.33333334,16777216]");
  CHECK(data_text<double>({1e5, 123456792.0, 1e-4, 2e-5, 3.4028235e38}, attn::Dtype::float32) ==
        "[1e+05,123456792,1e-04,2e-05,3.4028235e+38]");
  CHECK(data_text<double>({1e5, 123456.0, 1.2e7, 0.0003, -0.00031, 9007199254740993.0, 2.5e22}) ==
        "[1e+05,123456,1.2e+07,3e-04,-0.00031,9007199254740992,2.5e+22]");
  CHECK(data_text<double>({0.1, 65504.0, 1.0 / 3.0}, attn::Dtype::float16) == "[0.1,65500,0.3333]");
  CHECK(data_text<double>({0.1, 1e38, 1.0 / 3.0}, attn::Dtype::bfloat16) == "[0.1,1e+38,0.334]");
  CHECK(data_text<std::int64_t>({std::numeric_limits<std::int64_t>::min(), 9007199254740993}) ==
        "[-9223372036854775808,9007199254740993]");
  CHECK(data_text<bool>({true, false}) == "[true,false]");
}

TEST_CASE("Numbers that are not finite are strings and a negative zero keeps its sign") {
  CHECK(data_text<double>({-infinity, infinity, not_a_number, -0.0, 0.0}) ==
        R"(["-Infinity","Infinity","NaN",-0.0,0])");
}

TEST_CASE("Drawn numbers survive a round trip through JSON bit for bit") {
  Tensor<1> numbers = xt::zeros<double>({1000});
  std::uint64_t state = 1;
  for (auto& number : numbers) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    number = static_cast<double>(static_cast<std::int64_t>(state)) * 1e-19;
  }
  const auto read = json::parse(data_text(numbers)).get<std::vector<double>>();
  CHECK(std::equal(read.begin(), read.end(), numbers.begin(), numbers.end()));
}

TEST_CASE("Every field of every kind of event is there") {
  const auto document = json::parse(everything());
  CHECK(document["title"] == "all “kinds”\n");
  CHECK(
      document["config"].dump() ==
      R"({"causal":true,"d_k":[4,16],"dropout":0.1,"dtype":"float32","seed":42,"sentence":["Hi you","Bye"],)"
      R"("tokens":[["Hi","you"],["Bye"]],"window":null})");

  const auto step = event(document, "concat");
  CHECK(step["kind"] == "step");
  CHECK(step["formula"] == "merge(heads)");
  CHECK(step["inputs"] == json({"X", "mask"}));
  CHECK(step["shape"] == json({2, 2, 2}));
  CHECK(step["axes"] == json({"batch", "token", "head·d_v"}));
  CHECK(step["labels"] == json::parse(R"([null,[["Hi","you"],["Bye","<pad>"]],null])"));
  CHECK(step["data"] == json::parse("[[[0,0],[0,0]],[[0,0],[0,0]]]"));
  CHECK(event(document, "heads/mean")["labels"] == json::parse(R"([["first","second"]])"));
  CHECK(event(document, "entropy")["shape"] == json::array());
  CHECK(event(document, "entropy")["data"] == 1.5);
  CHECK_FALSE(event(document, "X").contains("inputs"));

  const auto claim = event(document, "sums");
  CHECK(claim["claim"] == "rows sum to 1");
  CHECK(claim["value"] == 2.2e-16);
  CHECK(claim["limit"] == "<= 1e-12");
  CHECK(claim["holds"] == true);
  CHECK(event(document, "future")["holds"] == false);
}

TEST_CASE("Text that is no UTF-8 does not break the document") {
  const auto text = render([](attn::Trace& trace) { trace.note("idea", "a\xff", "b\x1b"); });
  CHECK(json::parse(text)["events"][0]["title"] == "a\ufffd");
}

TEST_CASE("Without numbers there is no data") {
  attn::JsonWriter renderer({"demo", "a lesson", {}});
  attn::Filter filter(renderer, {}, true);
  attn::Trace trace(filter, {.batched = false});
  trace.input({.id = "X", .axes = {"d_k"}}, Tensor<1>{1.0});
  const auto text = renderer.finish();
  CHECK_FALSE(json::parse(text)["events"][0].contains("data"));
  CHECK(schema_errors(text) == std::vector<std::string>{});
}

TEST_CASE("What the renderer writes is valid by the schema") {
  CHECK(schema_errors(everything()) == std::vector<std::string>{});
  CHECK(schema_errors(render([](attn::Trace&) {})) == std::vector<std::string>{});
}

TEST_CASE("The schema rejects what is no trace") {
  const json valid = json::parse(everything());
  const auto index = [&](const std::string& id) {
    const auto& events = valid["events"];
    const auto found =
        std::find_if(events.begin(), events.end(), [&](const json& e) { return e["id"] == id; });
    return "/events/" + std::to_string(found - events.begin());
  };
  struct Break {
    std::string pointer;
    json value;  // discarded: erase what the pointer points to
  };
  const json erased = json::value_t::discarded;
  const std::vector<Break> breaks = {
      {"/schema", "attnlab.trace/2"},
      {"/lesson", erased},
      {"/lesson", "Self Attention"},
      {"/extra", 1},
      {"/config/d-model", 8},
      {"/config/seed", json::object()},
      {"/events", json::object()},
      {index("idea") + "/kind", "remark"},
      {index("idea") + "/kind", erased},
      {index("idea") + "/id", "the idea"},
      {index("idea") + "/id", erased},
      {index("idea") + "/note", erased},
      {index("idea") + "/shape", json::array()},
      {index("no-scale") + "/title", 1},
      {index("X") + "/inputs", json::array()},
      {index("X") + "/shape", {2, 2, -3}},
      {index("X") + "/shape", erased},
      {index("X") + "/axes/1", "a row"},
      {index("X") + "/axes/1", "d_model"},
      {index("X") + "/dtype", "float8"},
      {index("X") + "/dtype", erased},
      {index("X") + "/data/0/0/0", "inf"},
      {index("X") + "/data/0/0/0", nullptr},
      {index("X") + "/labels", nullptr},
      {index("X") + "/labels/1/0/0", 5},
      {index("lengths") + "/data/0", 1.5},
      {index("lengths") + "/data/0", true},
      {index("mask") + "/data/0/0", 1},
      {index("mask") + "/dtype", "float64"},
      {index("concat") + "/inputs", erased},
      {index("concat") + "/inputs/0", "no id"},
      {index("concat") + "/axes/2", "head·"},
      {index("sums") + "/value", "NaN"},
      {index("sums") + "/value", erased},
      {index("sums") + "/limit", "< 1e-12"},
      {index("sums") + "/limit", "<= inf"},
      {index("sums") + "/limit", 1e-12},
      {index("sums") + "/holds", "yes"},
      {index("sums") + "/data", 1.0},
  };
  for (const auto& [pointer, value] : breaks) {
    json broken = valid;
    const json::json_pointer target(pointer);
    if (value.is_discarded()) {
      broken[target.parent_pointer()].erase(target.back());
    } else {
      broken[target] = value;
    }
    INFO(pointer << " is " << value);
    CHECK_FALSE(schema_errors(broken.dump()).empty());
  }
  CHECK(schema_errors("{\"schema\":") == std::vector<std::string>{"no JSON"});
}
