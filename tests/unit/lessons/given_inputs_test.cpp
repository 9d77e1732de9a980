#include <catch2/catch.hpp>
#include <map>

#include "attn/error.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/model.hpp"
#include "lessons/workbench/plan.hpp"
#include "tests/unit/lessons/page.hpp"

using attn::Shape;
using lessons::Options;

namespace {

/// A file that never was one: tensors of zeros, and counts where they matter.
class StoredShapes : public attn::StoredTrace {
 public:
  StoredShapes& add(const std::string& id, const Shape& shape, const std::vector<std::int64_t>& counts = {}) {
    tensors_.push_back(
        {.id = id, .dtype = counts.empty() ? attn::Dtype::float64 : attn::Dtype::int64, .shape = shape});
    counts_[id] = counts;
    return *this;
  }

  StoredShapes& of(const std::string& lesson, std::vector<std::pair<std::string, attn::ConfigValue>> config) {
    header_ = {lesson, "", std::move(config)};
    return *this;
  }

  StoredShapes& step(const std::string& id, const Shape& shape) {
    add(id, shape);
    tensors_.back().kind = attn::Kind::step;
    return *this;
  }

  attn::AnyTensor read(std::size_t index) const override {
    const auto& tensor = tensors_[index];
    attn::AnyTensor result(tensor.dtype, tensor.shape);
    const auto& counts = counts_.at(tensor.id);
    if (!counts.empty()) std::copy(counts.begin(), counts.end(), result.elements<std::int64_t>());
    return result;
  }

 private:
  std::map<std::string, std::vector<std::int64_t>> counts_;
};

/// The options of the lesson after the file was followed. Sentences are typed where they are there.
Options followed(const std::string& name, const StoredShapes& file, Options typed = {}) {
  auto options = lesson_called(name).defaults;
  options.sentence = typed.sentence;
  options.source = typed.source;
  options.target = typed.target;
  if (typed.d_model) options.d_model = typed.d_model;
  if (typed.heads) options.heads = typed.heads;
  if (typed.attention != "bahdanau") options.attention = typed.attention;
  options.bidirectional = typed.bidirectional;
  options.typed = typed.typed;
  if (!typed.sentence.empty()) options.typed.insert("sentence");
  lessons::follow_config(lesson_called(name), file, options);
  lessons::follow_inputs(lesson_called(name), lessons::GivenInputs(&file), options);
  return options;
}

std::string refusal(const std::string& name, const StoredShapes& file, const Options& typed = {}) {
  try {
    followed(name, file, typed);
  } catch (const attn::Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("dimensions follow the shapes of the inputs") {
  const auto options =
      followed("self-attention", StoredShapes().add("X", {5, 6}).add("W_Q", {6, 3}).add("W_V", {6, 2}));
  CHECK(options.d_model == 6u);
  CHECK(options.d_k == 3u);
  CHECK(options.d_v == 2u);
  CHECK(options.sentence.empty());
}

TEST_CASE("a width of several heads is divided among them") {
  CHECK(followed("multihead", StoredShapes().add("W_Q", {8, 6})).d_k == 3u);
  CHECK(followed("multihead", StoredShapes().add("W_Q", {8, 6}), {.heads = 3}).d_k == 2u);
  CHECK(refusal("multihead", StoredShapes().add("W_Q", {8, 7})) ==
        "W_Q is (8 d_model × 7 head·d_k) in --input: its axis head·d_k is 7 long; valid: a multiple of 2");
}

TEST_CASE("tokens are letters where no sentence has as many") {
  using Texts = std::vector<std::string>;
  CHECK(followed("self-attention", StoredShapes().add("X", {3, 5})).sentence == Texts{"a b c"});
  CHECK(followed("self-attention", StoredShapes().add("X", {2, 3, 5})).sentence == Texts{"a b c", "a b c"});
  const auto many = followed("self-attention", StoredShapes().add("X", {703, 5})).sentence.at(0);
  CHECK_THAT(many, Catch::Contains(" y z aa ab ") && Catch::EndsWith(" zx zy zz aaa"));
  CHECK(followed("cross-attention", StoredShapes().add("X_target", {4, 5})).target == Texts{"a b c d"});
  CHECK(followed("seq2seq", StoredShapes().add("X_target", {3, 5})).target == Texts{"a b"});
  CHECK(followed("sdpa", StoredShapes().add("Q", {2, 5}).add("K", {3, 5})).source == Texts{"a b c"});
  CHECK(followed("sdpa", StoredShapes().add("Q", {2, 5}).add("K", {3, 5})).target == Texts{"a b"});
  CHECK(followed("sdpa", StoredShapes().add("Q", {2, 5}).add("K", {2, 5})).sentence == Texts{"a b"});
}

TEST_CASE("lengths say how long each sentence of a batch is") {
  const auto file = StoredShapes().add("X", {2, 3, 5}).add("lengths", {2}, {3, 1});
  CHECK(followed("self-attention", file).sentence == std::vector<std::string>{"a b c", "a"});
  CHECK(refusal("self-attention", StoredShapes().add("X", {2, 3, 5}).add("lengths", {2}, {4, 1})) ==
        "lengths in --input is 4, 1, but X is (2 batch × 3 token × 5 d_model); valid: lengths up to 3");
  CHECK(refusal("self-attention", StoredShapes().add("X", {2, 3, 5}).add("lengths", {3}, {3, 1, 1})) ==
        "lengths in --input has 3 entries, but X is (2 batch × 3 token × 5 d_model); valid: one for each "
        "sample");
  CHECK(refusal("self-attention", StoredShapes().add("X", {2, 3, 5}).add("lengths", {2}, {3, 0})) ==
        "lengths in --input has 0; valid: whole numbers of 1 or more");
}

TEST_CASE("inputs that contradict each other are both named") {
  CHECK(refusal("self-attention", StoredShapes().add("X", {3, 6}).add("W_Q", {8, 4})) ==
        "W_Q is (8 d_model × 4 d_k) but X has d_model 6, both in --input; valid: the same length in both");
  CHECK(refusal("sdpa", StoredShapes().add("K", {3, 4}).add("V", {2, 4})) ==
        "V is (2 key × 4 d_v) but K has token 3, both in --input; valid: the same length in both");
}

TEST_CASE("inputs that contradict what was typed are refused") {
  CHECK(refusal("self-attention", StoredShapes().add("X", {3, 6}), {.d_model = 8, .typed = {"d-model"}}) ==
        "--d-model 8 contradicts --input, where X is (3 token × 6 d_model); valid: --d-model 6 or none");
  CHECK(refusal("self-attention", StoredShapes().add("X", {3, 6}), {.sentence = {"two words"}}) ==
        "--sentence has 1 text of up to 2 tokens, which contradicts --input, where X is (3 token × 6 "
        "d_model); valid: "
        "as many tokens, or no --sentence");
}

TEST_CASE("inputs of a wrong rank or without elements are refused") {
  CHECK(refusal("self-attention", StoredShapes().add("W_Q", {8})) ==
        "W_Q in --input has the shape (8); valid: the axes d_model × d_k");
  CHECK(refusal("self-attention", StoredShapes().add("X", {0, 8})) ==
        "X in --input has the shape (0×8); valid: no axis of length 0");
}

TEST_CASE("both directions of an encoder count for what the decoder is as wide as") {
  const auto file = StoredShapes().add("encoder/W_hh", {12, 3}).add("decoder/W_hh", {24, 6});
  CHECK(followed("seq2seq", file, {.bidirectional = true}).hidden == 3u);
  CHECK(refusal("seq2seq", file) != "none");
}

TEST_CASE("inputs that are options set them") {
  CHECK(followed("scaling", StoredShapes().add("d_k", {2}, {3, 5})).d_k_list ==
        std::vector<std::size_t>{3, 5});
  CHECK(followed("scaling", StoredShapes().add("samples", {}, {7})).samples == 7u);
  CHECK(followed("complexity", StoredShapes().add("n", {2}, {3, 5})).lengths ==
        std::vector<std::size_t>{3, 5});
}

TEST_CASE("a trace of the lesson brings its options along, but for those that were typed") {
  const auto file = StoredShapes().of("multihead", {{"sentence", std::vector<std::string>{"a b"}},
                                                    {"heads", std::int64_t{4}},
                                                    {"causal", true},
                                                    {"temperature", std::int64_t{2}},
                                                    {"kv_heads", std::monostate{}}});
  const auto options = followed("multihead", file);
  CHECK(options.sentence == std::vector<std::string>{"a b"});
  CHECK(options.heads == 4u);
  CHECK(options.causal);
  CHECK(options.temperature == 2.0);
  CHECK(followed("multihead", file, {.heads = 1, .typed = {"heads"}}).heads == 1u);
  CHECK(followed("multihead", file, {.sentence = {"c"}}).sentence == std::vector<std::string>{"c"});
  CHECK_FALSE(followed("self-attention", file).causal);
  CHECK(refusal("multihead", StoredShapes().of("multihead", {{"heads", std::string("two")}})) ==
        "the config in --input has a heads that --heads cannot have; valid: N");
}

TEST_CASE("the steps of a trace are no inputs") {
  const auto file = StoredShapes().add("X", {3, 6}).step("weights", {3, 3});
  const auto given = lessons::GivenInputs(&file).read_inputs();
  CHECK(given.size() == 1);
  CHECK(given.count("X") == 1);
}

TEST_CASE("what is an input of another lesson decides no dimension") {
  const auto file = StoredShapes().add("W_Q", {8, 8}).add("Q", {6, 8}).add("K", {5, 8});
  CHECK(followed("multihead", file).d_k == 4u);
}

namespace {

/// What --set says beside a file, which may be null.
std::vector<lessons::SetInput> set_inputs(const std::vector<std::string>& texts,
                                          const StoredShapes* file = nullptr, bool is_typed = true) {
  Options options = lesson_called("lookup").defaults;
  options.set = texts;
  if (is_typed) options.typed.insert("set");
  return lessons::read_set_inputs(lesson_called("lookup"), options, file);
}

}  // namespace

TEST_CASE("an id that is set ends at the last = but for that of a file's name") {
  const auto inputs = set_inputs({"step=0/mask=[[true]]", "query=[1,2]", "keys=identity"});
  REQUIRE(inputs.size() == 3);
  CHECK(inputs[0].id == "step=0/mask");
  CHECK(inputs[0].tensor->dtype() == attn::Dtype::boolean);
  CHECK(inputs[1].id == "query");
  CHECK(inputs[1].tensor->shape() == Shape{2});
  CHECK(inputs[2].id == "keys");
  CHECK_FALSE(inputs[2].tensor.has_value());
}

TEST_CASE("an input of the file goes before what came along as set, and is no other than what is typed") {
  const auto file = StoredShapes().add("query", {2}).step("scores", {2});
  CHECK(set_inputs({"query=[1,2]", "keys=identity"}, &file, false).size() == 1);
  CHECK(set_inputs({"scores=[1,2]"}, &file).size() == 1);
  CHECK_THROWS_WITH(set_inputs({"query=[1,2]"}, &file),
                    "--set query=[1,2]: query is in --input, too; valid: one of the two");
}

TEST_CASE("what is set goes before a step of the file that has the same id") {
  const auto file = StoredShapes().step("query", {5}).add("keys", {3, 2});
  const lessons::GivenInputs given(&file, set_inputs({"query=[1,2]", "values=identity"}, &file));
  CHECK(given.option_of("query") == "--set");
  CHECK(given.option_of("keys") == "--input");
  const auto tensors = given.read_inputs();
  CHECK(tensors.size() == 3);
  CHECK(tensors.at("query").tensor->shape() == Shape{2});
  CHECK(tensors.at("keys").tensor->shape() == Shape{3, 2});
  CHECK_FALSE(tensors.at("values").tensor.has_value());
  CHECK(tensors.at("values").option == "--set");
}

TEST_CASE("a trace brings along what was set, unless that is typed") {
  const auto file = StoredShapes().of("lookup", {{"set", std::vector<std::string>{"query=[1,2]"}}});
  Options options, typed;
  lessons::follow_config(lesson_called("lookup"), file, options);
  CHECK(options.set == std::vector<std::string>{"query=[1,2]"});
  typed.set = {"keys=identity"};
  typed.typed = {"set"};
  lessons::follow_config(lesson_called("lookup"), file, typed);
  CHECK(typed.set == std::vector<std::string>{"keys=identity"});
  const auto wrong = StoredShapes().of("lookup", {{"set", true}});
  CHECK_THROWS_WITH(lessons::follow_config(lesson_called("lookup"), wrong, options),
                    "the config in --input has a set that --set cannot have; valid: ID=VALUE");
}
