#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "trace/model.hpp"

using Catch::Contains;
using nlohmann::json;

namespace {

json event_of_run(const std::string& arguments, const std::string& id) {
  const auto trace = json::parse(output_of("cross-attention " + arguments + " --format json"));
  for (const auto& event : trace["events"])
    if (event["id"] == id) return event;
  return nullptr;
}

}  // namespace

TEST_CASE("with trained weights one head of cross-attention looks where the languages cross") {
  const auto weights = event_of_run("", "weights")["data"];
  CHECK(weights[1][2] > 0.5);  // chat, cat
  CHECK(weights[2][1] > 0.5);  // noir, black
  const auto gold = event_of_run("", "gold");
  CHECK_THAT(gold["formula"].get<std::string>(),
             Contains("slept ≠") && Contains("never  4 of 6") && Contains("never  6 of 6"));
  CHECK_THAT(in_one_line(gold["note"].get<std::string>()), Contains("For \"le\" head 2 looks at \"cat\""));
  CHECK(event_of_run("--source 'the cat slept' --target 'le chien dormait'", "gold").is_null());
}

TEST_CASE("the alignment error rates of all heads are those in the model's file") {
  const auto model = attn::read_model(ATTN_DATA "/models/translation-transformer.safetensors");
  const auto rates = event_of_run("", "alignment_error_rates")["data"];
  REQUIRE(rates.size() == 2);
  for (std::size_t layer = 0; layer < 2; ++layer)
    for (std::size_t head = 0; head < 4; ++head)
      CHECK(rates[layer][head] == model.scores.at("alignment error rate, layer " + std::to_string(layer + 1) +
                                                  ", head " + std::to_string(head)));
}

TEST_CASE("a sentence of a batch has the rows that it has alone") {
  const std::string one = " --source 'the black cat never slept' --target 'le chat noir ne dormait jamais'",
                    other = " --source 'the cat slept' --target 'le chat dormait'";
  const auto both = event_of_run(other + one, "weights")["data"];
  CHECK(both[1] == event_of_run(one, "weights")["data"]);
  const auto alone = event_of_run(other, "weights")["data"];
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(both[0][t][j].get<double>() == Approx(alone[t][j].get<double>()).margin(1e-9));
}

TEST_CASE(
    "a run with trained heads repeats itself from its own trace, in all formats and with other options") {
  const Folder folder;
  for (const std::string options : {"", " --dtype float32", " --dropout 0.2 --temperature 2"}) {
    const auto first = output_of("cross-attention --format json" + options);
    for (const std::string ending : {"json", "npz", "safetensors"}) {
      const auto path = as_argument(folder.file("trace." + ending));
      output_of("cross-attention" + options + " --output " + path);
      CHECK((output_of("cross-attention --input " + path + " --format json") == first));
    }
  }
}

TEST_CASE("cross-attention refuses a model without heads of its own, and traces without their rates") {
  CHECK_THAT(refusal("cross-attention --model translation"),
             Contains("attends as \"bahdanau-input\"; valid: a model with attention transformer"));
  CHECK_THAT(refusal("seq2seq --model translation-transformer"),
             Contains("attends as \"transformer\"; valid: "));
  const Folder folder;
  auto model = attn::read_model(ATTN_DATA "/models/translation-transformer.safetensors");
  model.scores.erase("alignment error rate, layer 2, head 3");
  const auto path = folder.write("t.safetensors", attn::model_file(model, attn::Dtype::float16));
  CHECK_THAT(refusal("cross-attention --model " + as_argument(path)),
             Contains("does not say its alignment error rate, layer 2, head 3; valid: "));
}
