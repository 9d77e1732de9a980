#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/cli/program.hpp"
#include "tests/documents/schema.hpp"

namespace {

using nlohmann::ordered_json;
using Strings = std::vector<std::string>;

/// Command lines that between them meet every kind of event and tensor.
Strings command_lines() {
  Strings lines = {
      "multihead --causal --window 2 --dropout 0.3 --residual --norm --heads 4 --kv-heads 2",
      "cross-attention --heads 2 --dropout 0.5 --temperature 0.5 --weight-scale he",
      "cross-attention --source 'I love cats' --target Chats --source Sleep --target 'Dormez bien'",
      "sdpa --source 'one two three' --target 'four' --causal --d-v 3",
      "self-attention --sentence 'the cat' --embeddings data/tutorial/cat_sat.vectors.txt --steps X,weights",
      "scaling --d-k 1,2,3 --samples 33 --seed 4294967295",
      "self-attention --set 'X=[[1,0],[0,1]]' --set W_Q=identity --sentence 'the cat'",
      "sdpa --causal --set 'Q=[[1,0]]' --set 'K=[[1,0],[0,1]]' --set 'mask=[[true,false]]'",
  };
  for (const auto& lesson : lessons()) {
    lines.push_back(lesson);
    lines.push_back(lesson + " --dtype float32");
    lines.push_back(lesson + " --shapes");
    lines.push_back(lesson + with_sentence(lesson, "Word"));
    lines.push_back(lesson +
                    with_sentence(lesson, "Übergröße 猫が座った 👩‍👩‍👧 é \"quoted\""));
    lines.push_back(lesson + with_sentence(lesson, sentence_of(40)));
    const auto batch = lesson + with_sentence(lesson, "I love cats") + with_sentence(lesson, "Sleep");
    if (run(batch).status == 0) lines.push_back(batch);
  }
  return lines;
}

/// The lengths of nested lists; fails the test where lists side by side differ in length.
ordered_json shape_of(const ordered_json& data) {
  ordered_json shape = ordered_json::array();
  if (!data.is_array()) return shape;
  shape.push_back(data.size());
  if (data.empty()) return shape;
  const auto inner = shape_of(data[0]);
  for (const auto& item : data)
    if (shape_of(item) != inner) FAIL("lists side by side differ in length");
  for (const auto& length : inner) shape.push_back(length);
  return shape;
}

void check_labels(const ordered_json& tensor) {
  for (std::size_t axis = 0; axis < tensor["labels"].size(); ++axis) {
    const auto& labels = tensor["labels"][axis];
    if (labels.is_null()) continue;
    const bool per_sample = labels[0].is_array();
    if (per_sample) CHECK(labels.size() == tensor["shape"][0]);
    for (const auto& list : per_sample ? labels : ordered_json::array({labels}))
      CHECK(list.size() == tensor["shape"][axis]);
  }
}

/// What each tensor is said to be made from.
using Sources = std::map<std::string, std::set<std::string>>;

/// Whether `id` is made from `other`, directly or by way of others.
bool is_made_from(const Sources& sources, const std::string& id, const std::string& other) {
  std::set<std::string> seen;
  std::vector<std::string> open = {id};
  while (!open.empty()) {
    const auto one = open.back();
    open.pop_back();
    for (const auto& source : sources.at(one)) {
      if (source == other) return true;
      if (seen.insert(source).second) open.push_back(source);
    }
  }
  return false;
}

/// A step is made from tensors before it, or, in a recurrence, from itself and from steps that are made from
/// it.
void check_inputs(const ordered_json& events) {
  Sources sources;
  for (const auto& event : events)
    if (event.contains("shape")) sources[event["id"]] = event.value("inputs", std::set<std::string>());
  std::set<std::string> before;
  for (const auto& event : events) {
    if (!event.contains("shape")) continue;
    const std::string id = event["id"];
    for (const auto& input : sources[id]) {
      INFO(id << " from " << input);
      REQUIRE(sources.count(input) == 1);
      CHECK((before.count(input) == 1 || input == id || is_made_from(sources, input, id)));
    }
    before.insert(id);
  }
}

void check_events(const ordered_json& events) {
  std::set<std::string> ids;
  for (const auto& event : events) {
    INFO(event["id"]);
    CHECK(ids.insert(event["id"]).second);
    if (!event.contains("shape")) continue;
    CHECK(event["axes"].size() == event["shape"].size());
    CHECK(event["labels"].size() == event["shape"].size());
    if (event.contains("data")) CHECK(shape_of(event["data"]) == event["shape"]);
    check_labels(event);
  }
}

std::string joined(const ordered_json& items) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ',';
    text += item.is_string() ? item.get<std::string>() : item.dump();
  }
  return text;
}

/// Whether the model brings what this option decides.
bool is_brought_by_model(const ordered_json& config, const std::string& name) {
  static const std::set<std::string> names = {
      "d_model", "d_k",       "d_v",           "d_a",  "heads",      "kv_heads",     "hidden",
      "d_ff",    "layers",    "classes",       "seed", "draws",      "weight_scale", "embeddings",
      "rng",     "attention", "bidirectional", "norm", "activation", "memory"};
  const bool has_model = config.contains("model") && config["model"].is_string();
  return (has_model || config.contains("unknown_word")) && names.count(name) > 0;
}

/// The command line that a trace's config describes.
std::string arguments_from(const ordered_json& trace) {
  auto arguments = trace["lesson"].get<std::string>();
  for (const auto& [name, value] : trace["config"].items()) {
    if (name == "tokens" || name == "source_tokens" || name == "target_tokens" || name == "vocabulary" ||
        name == "unknown_word" || name == "numbers" || name == "read_as" ||
        is_brought_by_model(trace["config"], name))
      continue;
    const bool has_none = name == "model" && value.is_null() && !trace["config"].contains("unknown_word") &&
                          trace["config"].value("numbers", "") == "drawn, not trained";
    if (has_none) arguments += " --model none";
    if (value.is_null() || value == false || value == ordered_json::array()) continue;
    auto option = " --" + name;
    std::replace(option.begin(), option.end(), '_', '-');
    const bool is_repeated = name == "sentence" || name == "source" || name == "target" || name == "set";
    if (value == true)
      arguments += option;
    else if (is_repeated)
      for (const auto& text : value) arguments += option + ' ' + as_argument(text.get<std::string>());
    else
      arguments +=
          option + ' ' + as_argument(joined(value.is_array() ? value : ordered_json::array({value})));
  }
  return arguments;
}

}  // namespace

TEST_CASE("every trace as JSON is valid by the schema and consistent in itself", "[thorough]") {
  for (const auto& line : command_lines()) {
    INFO("attnlab " << line);
    const auto text = output_of(line + " --format json");
    CHECK(schema_errors(text) == Strings{});
    const auto trace = ordered_json::parse(text);
    check_events(trace["events"]);
    if (trace["config"]["steps"].is_null()) check_inputs(trace["events"]);
  }
}

TEST_CASE("a trace can be run again from its config", "[thorough]") {
  for (const auto& line : command_lines()) {
    const auto text = output_of(line + " --format json");
    const auto again = arguments_from(ordered_json::parse(text));
    INFO("attnlab " << line << "\nattnlab " << again);
    static const std::regex which(", since --[a-z-]+ is given");
    CHECK((std::regex_replace(output_of(again + " --format json"), which, "") ==
           std::regex_replace(text, which, "")));
  }
}

TEST_CASE("the config has every option that the lesson takes", "[thorough]") {
  const std::set<std::string> not_in_config = {
      "brief",     "help",    "format", "output", "color",       "plain",  "width", "no_pager",
      "input",     "expect",  "atol",   "rtol",   "only_common", "rename", "quiet", "ignore_config",
      "mask_true", "picture", "title",  "head",   "bare",        "theme",  "scale", "size"};
  for (const auto& lesson : lessons()) {
    const auto config = ordered_json::parse(output_of(lesson + " --format json"))["config"];
    for (const auto& line : lines_of(output_of(lesson + " --help"))) {
      if (line.rfind("  --", 0) != 0 || line.rfind("  --numbers ", 0) == 0)
        continue;  // of a picture; those of a run have an origin
      auto name = line.substr(4, line.find(' ', 4) - 4);
      std::replace(name.begin(), name.end(), '-', '_');
      INFO(lesson << ": " << name);
      CHECK(config.contains(name) != (not_in_config.count(name) > 0));
    }
    for (const auto& [name, value] : config.items()) {
      if (name == "tokens" || name == "source_tokens" || name == "target_tokens" || name == "vocabulary" ||
          name == "unknown_word" || name == "numbers" || name == "read_as")
        continue;
      auto option = "--" + name;
      std::replace(option.begin(), option.end(), '_', '-');
      INFO(lesson << ": " << option);
      CHECK(takes(lesson, option));
    }
  }
}

TEST_CASE("JSON that nobody could open is refused with what would be smaller") {
  const auto long_text = "sdpa --format json --sentence '" + sentence_of(1500) + "'";
  CHECK_THAT(refusal(long_text),
             Catch::Contains("more than 100 MB") && Catch::Contains("valid: --format npz"));
  CHECK(run(long_text + " --steps output").status == 0);
  CHECK(run(long_text + " --shapes").status == 0);
}

TEST_CASE("a trace without what its schema requires is not valid") {
  auto trace = ordered_json::parse(output_of("sdpa --format json"));
  auto& events = trace["events"];
  std::find_if(events.begin(), events.end(), [](const auto& event) {
    return event.contains("shape");
  })->erase("shape");
  CHECK(schema_errors(trace.dump()) != Strings{});
}
