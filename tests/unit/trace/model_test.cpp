#include "trace/model.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "attn/error.hpp"
#include "tests/unit/temporary_file.hpp"
#include "tests/unit/trace/safetensors_file.hpp"

using Catch::Contains;

namespace {

attn::Model small_model() {
  attn::Model model;
  model.task = "reverse";
  model.command = "attnlab train reverse --seed 7";
  model.configuration = {{"heads", "2"}, {"positions", "learned"}};
  model.vocabularies = {{"words", {"a", "le “b”", "\n"}}};
  model.scores = {{"symbols right", 0.25}};
  model.examples_scored = {{"symbols right", 40}};
  model.tensors = {{"layer=1/attention/W_Q", {2, 3}, {1, -2, 1.0 / 3, 1e-6, 65504, -0.0}},
                   {"output/b", {2}, {0.1, 3.0e-8}}};
  return model;
}

attn::Model read_back(const std::string& bytes) {
  const TemporaryFile file(bytes);
  return attn::read_model(file.path());
}

/// Why the file is refused, without its path.
std::string why_refused(const std::string& bytes) {
  const TemporaryFile file(bytes);
  try {
    attn::read_model(file.path());
  } catch (const attn::Error& error) {
    const std::string message = error.what();
    CHECK_THAT(message, Contains(file.path()));
    return message;
  }
  return "none";
}

std::string with_replaced(std::string bytes, const std::string& before, const std::string& after) {
  REQUIRE(before.size() == after.size());  // the header's length stays
  const auto at = bytes.find(before);
  REQUIRE(at != bytes.npos);
  return bytes.replace(at, before.size(), after);
}

}  // namespace

TEST_CASE("a model's file has all that is known of it") {
  for (const auto type : {attn::Dtype::float16, attn::Dtype::float32, attn::Dtype::float64}) {
    const auto expected = attn::rounded(small_model(), type),
               model = read_back(attn::model_file(small_model(), type));
    CHECK(model.task == expected.task);
    CHECK(model.command == expected.command);
    CHECK(model.configuration == expected.configuration);
    CHECK(model.vocabularies == expected.vocabularies);
    CHECK(model.scores == expected.scores);
    CHECK(model.examples_scored == expected.examples_scored);
    CHECK(model.training.empty());
    REQUIRE(model.tensors.size() == 2);
    for (const auto& tensor : expected.tensors) {
      CHECK(model.at(tensor.id).shape == tensor.shape);
      CHECK((model.at(tensor.id).values == tensor.values));  // bit for bit what `rounded` says
    }
  }
}

TEST_CASE("a model of float16 has the nearest numbers of that type") {
  const auto values = attn::rounded(small_model(), attn::Dtype::float16).tensors[0].values;
  CHECK(values[0] == 1);
  CHECK(values[2] == 0.333251953125);
  CHECK(values[3] == Approx(1e-6).epsilon(0.05));  // a subnormal
  CHECK(values[4] == 65504);
  CHECK(std::signbit(values[5]));
  const auto exact = attn::rounded(small_model(), attn::Dtype::float64).tensors[0].values;
  CHECK((exact == small_model().tensors[0].values));
}

TEST_CASE("a model says what it has where it is asked for something else") {
  CHECK(small_model().find("output/W") == nullptr);
  try {
    small_model().at("output/W");
    FAIL("nothing was thrown");
  } catch (const attn::Error& error) {
    CHECK(std::string(error.what()) ==
          "the model of the task reverse has no output/W; it has layer=1/attention/W_Q, output/b");
  }
}

TEST_CASE("a training that goes on is part of the file") {
  auto model = small_model();
  model.training = {{"step", "20"}};
  CHECK(read_back(attn::model_file(model, attn::Dtype::float32)).training == model.training);
}

TEST_CASE("a model that ends too early is refused at every length") {
  const auto bytes = attn::model_file(small_model(), attn::Dtype::float16);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    INFO("the first " << length << " of " << bytes.size() << " bytes");
    REQUIRE(why_refused(bytes.substr(0, length)) != "none");
  }
  CHECK(why_refused(bytes + "x") != "none");
}

TEST_CASE("a file of another schema, and one that is no model, is refused by name") {
  const auto bytes = attn::model_file(small_model(), attn::Dtype::float16);
  CHECK_THAT(
      why_refused(with_replaced(bytes, "attnlab.model/1", "attnlab.model/2")),
      Contains("it is no model of this lab; valid: a .safetensors file of the schema attnlab.model/1"));
  CHECK_THAT(why_refused(safetensors_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "abcd")),
             Contains("it is no model of this lab"));
  CHECK(why_refused("hello") != "none");
  CHECK(why_refused("") != "none");
}

TEST_CASE("a model whose metadata are missing or say nonsense is refused by what is wrong") {
  const auto bytes = attn::model_file(small_model(), attn::Dtype::float16);
  for (const std::string name : {"task", "command", "configuration", "vocabularies", "scores"}) {
    auto other = name;
    other.back() = '_';
    CHECK_THAT(why_refused(with_replaced(bytes, '"' + name + '"', '"' + other + '"')),
               Contains("its metadata has no \"" + name + "\""));
  }
  CHECK_THAT(why_refused(with_replaced(bytes, R"({\"heads\":\"2\")", R"([\"heads\",\"2\")")),
             Contains("configuration"));
  CHECK_THAT(why_refused(with_replaced(bytes, R"(symbols right\":0.25)", R"(symbols right\":null)")),
             Contains("scores"));
}

TEST_CASE("a model's file has its scores by length, in order; others are refused") {
  auto model = small_model();
  CHECK(read_back(attn::model_file(model, attn::Dtype::float16)).scores_by_length.empty());
  model.scores_by_length = {{3, 4, 57, 0.98}, {5, 6, 120, 1.0 / 3}};
  const auto bytes = attn::model_file(model, attn::Dtype::float16);
  const auto read = read_back(bytes).scores_by_length;
  REQUIRE(read.size() == 2);
  CHECK((read[1].fewest == 5 && read[1].most == 6 && read[1].examples == 120));
  CHECK(read[1].value == 1.0 / 3);
  CHECK_THAT(why_refused(with_replaced(bytes, R"(\"words\":[3,4])", R"(\"words\":[3.4])")),
             Contains("its \"scores_by_length\" is "));
}

TEST_CASE("a model's file may have figures and no weights") {
  auto model = small_model();
  model.tensors.clear();
  const auto read = read_back(attn::model_file(model, attn::Dtype::float16));
  CHECK(read.tensors.empty());
  CHECK(read.scores == model.scores);
}

TEST_CASE("a model with numbers that are not finite is refused by the tensor's id") {
  for (const double number :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    auto model = small_model();
    model.tensors[1].values[1] = number;
    CHECK_THAT(why_refused(attn::model_file(model, attn::Dtype::float32)),
               Contains("its output/b holds numbers that are not finite"));
  }
}

TEST_CASE("a model with any one byte of its header changed is refused or read, and nothing worse") {
  const auto bytes = attn::model_file(small_model(), attn::Dtype::float16);
  std::size_t refused = 0;
  for (std::size_t at = 0; at + 16 < bytes.size(); ++at)
    for (const int flipped : {1, 2, 16, 64}) {
      auto changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ flipped);
      refused += why_refused(changed) != "none";
    }
  CHECK(refused > bytes.size());
}

TEST_CASE("a shipped model is read once", "[model]") {
  const auto model = attn::shipped_model("about");
  CHECK(model->task == "about");
  CHECK(attn::shipped_model("about") == model);
}
