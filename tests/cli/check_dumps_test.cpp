/// check and the audit of a probe: what people bring, and what is assumed about it.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/stored_runs.hpp"
#include "trace/number.hpp"

namespace {

using nlohmann::json;

/// The tensors of a run, by id, as a program of somebody else would save them.
json tensors_of(const std::string& arguments) {
  const auto trace = json::parse(output_of(arguments + " --format json"));
  json tensors;
  for (const auto& event : trace["events"])
    if (event.contains("data")) tensors[event["id"].get<std::string>()] = event["data"];
  return tensors;
}

json only(const json& tensors, const std::vector<std::string>& ids) {
  json some;
  for (const auto& id : ids) some[id] = tensors.at(id);
  return some;
}

/// What is said of tensors that are saved as JSON.
struct Said {
  int status;
  json report;
  std::string text;

  std::string verdict_on(const std::string& id) const {
    for (const auto& step : report["steps"])
      if (step["id"] == id) return step["verdict"];
    return "none";
  }
  json mistakes_of(const std::string& id) const {
    for (const auto& step : report["steps"])
      if (step["id"] == id) return step["mistakes"];
    return {};
  }
  bool assumes(const std::string& words) const {
    for (const auto& assumption : report["assumptions"])
      if (contains(assumption, words)) return true;
    return false;
  }
};

class Desk {
 public:
  Said said_of(const json& tensors, const std::string& lesson, const std::string& options = "") const {
    const auto command = command_for(tensors, lesson, options);
    const auto result = run(command + " --format json");
    INFO(command << '\n' << result.out << result.err);
    REQUIRE(result.err == "");
    return {result.status, json::parse(result.out), run(command).out};
  }

  std::string refusal_of(const json& tensors, const std::string& lesson,
                         const std::string& options = "") const {
    return refusal(command_for(tensors, lesson, options));
  }

  const Folder folder{};

 private:
  std::string command_for(const json& tensors, const std::string& lesson, const std::string& options) const {
    folder.write("mine.json", tensors.dump());
    return fmt::format("check {} {} {}", lesson, folder.file("mine.json"), options);
  }
};

void check_all_right(const Said& said) {
  INFO(said.text);
  CHECK(said.status == 0);
  CHECK(said.report["right"] == true);
  for (const auto& step : said.report["steps"])
    CHECK((step["verdict"] == "right" || step["verdict"] == "rounding"));
}

/// Every number of nested lists through `change`.
json changed(const json& data, const std::function<double(double)>& change) {
  if (data.is_array()) {
    json list = json::array();
    for (const auto& part : data) list.push_back(changed(part, change));
    return list;
  }
  return data.is_number() ? json(change(data.get<double>())) : data;
}

json rounded(const json& tensors, int decimals) {
  json all;
  for (const auto& [id, data] : tensors.items())
    all[id] = changed(data, [&](double x) { return std::stod(fmt::format("{:.{}f}", x, decimals)); });
  return all;
}

/// With the first two axes in each other's place.
json with_axes_swapped(const json& data) {
  json turned = json::array();
  for (std::size_t j = 0; j < data[0].size(); ++j) {
    json row = json::array();
    for (const auto& part : data) row.push_back(part[j]);
    turned.push_back(row);
  }
  return turned;
}

const std::string batch = "--sentence 'a b c d e' --sentence 'a b c'";
const json real_tokens = {{true, true, true, true, true}, {true, true, true, false, false}};
const json hidden_tokens = {{false, false, false, false, false}, {false, false, false, true, true}};

}  // namespace

TEST_CASE("a mask does not drop --causal, and lengths do not drop a mask") {
  const Desk desk;
  const auto all = tensors_of("sdpa --causal " + batch);
  auto mine = only(all, {"Q", "K", "V", "weights", "output"});
  mine["mask"] = real_tokens;
  const auto with_option = desk.said_of(mine, "sdpa", "--causal");
  check_all_right(with_option);
  CHECK(with_option.assumes("mask and --causal are combined"));
  CHECK(desk.said_of(mine, "sdpa").verdict_on("weights") == "wrong");

  json causal = json::array();
  for (int query = 0; query < 5; ++query) {
    causal.push_back(json::array());
    for (int key = 0; key < 5; ++key) causal.back().push_back(key <= query);
  }
  mine["mask"] = causal;
  mine["lengths"] = {5, 3};
  const auto with_lengths = desk.said_of(mine, "sdpa");
  check_all_right(with_lengths);
  CHECK(with_lengths.assumes("mask and lengths are combined"));
  mine["mask"] = all["mask"];
  CHECK_FALSE(desk.said_of(mine, "sdpa").assumes("combined"));
}

TEST_CASE("a run and check combine a given mask with --causal alike") {
  const Folder folder;
  const auto mask = folder.write("mask.json", R"({"mask": [[false, true], [true, true]]})");
  const auto trace = folder.file("trace.json"), inputs = " --causal --input " + mask;
  output_of("sdpa --sentence 'a b'" + inputs + " --output " + trace);
  const auto seen = json::parse(read_file(trace));
  for (const auto& event : seen["events"])
    if (event["id"] == "mask") {
      CHECK(event["data"] == json({{false, false}, {true, true}}));
      CHECK(event["formula"] == "given mask and j ≤ i");
    }
  CHECK(contains(output_of("check sdpa " + trace), "steps are right"));
  CHECK_FALSE(contains(output_of("check sdpa " + trace), "are combined"));

  const Desk desk;
  auto mine = only(tensors_of("sdpa --sentence 'a b'" + inputs), {"Q", "K", "V", "weights", "output"});
  mine["mask"] = {{false, true}, {true, true}};
  check_all_right(desk.said_of(mine, "sdpa", "--causal"));
}

TEST_CASE("scores that were masked in place are another form where all that is visible is right") {
  const Desk desk;
  const auto all = tensors_of("self-attention --causal --model none --sentence 'a b c d'");
  const auto filled = [&](const std::string& id, const json& fill, double factor = 1.0) {
    auto tensor = all[id];
    for (std::size_t query = 0; query < 4; ++query)
      for (std::size_t key = 0; key < 4; ++key)
        tensor[query][key] = key > query ? fill : json(factor * tensor[query][key].get<double>());
    return tensor;
  };
  auto mine = only(all, {"X", "W_Q", "W_K", "W_V", "mask", "Q", "K", "V", "scores", "scaled", "weights"});
  for (const auto& fill : {json("-Infinity"), json(-1e9)}) {
    mine["scores"] = filled("scores", fill);
    mine["scaled"] = filled("scaled", fill.is_string() ? fill : json(-1e9 / std::sqrt(8.0)));
    const auto said = desk.said_of(mine, "self-attention");
    CHECK(said.status == 0);
    CHECK(said.verdict_on("scores") == "form");
    CHECK(said.verdict_on("scaled") == "form");
    CHECK(said.verdict_on("weights") == "right");
    CHECK(contains(in_one_line(said.text), "Your scores were saved after the mask"));
  }
  mine["scores"] = all["scores"];
  mine["scaled"] = filled("scaled", -1e9, 1.01);
  CHECK(desk.said_of(mine, "self-attention").verdict_on("scaled") == "wrong");
  mine["scaled"] = filled("scaled", -1e9);
  mine["scaled"][3][0] = -1e9;
  CHECK(desk.said_of(mine, "self-attention").verdict_on("scaled") == "wrong");
}

TEST_CASE(
    "of inputs in a file beside the dump heads are assumed aloud, names are renamed and each is read once") {
  const Desk desk;
  const auto all = tensors_of("multihead --heads 4 --model none --sentence 'a b c'");
  auto inputs = only(all, {"X", "W_Q", "W_K", "W_V", "W_O"});
  const auto mine = only(all, {"weights", "output"});
  const auto file = desk.folder.write("inputs.json", inputs.dump());
  for (const std::string option : {"--probe ", "--input "}) {
    const auto said = desk.said_of(mine, "multihead", option + file);
    check_all_right(said);
    CHECK(said.assumes("heads = 4 is assumed"));
  }
  inputs["my_queries"] = inputs["W_Q"];
  inputs.erase("W_Q");
  desk.folder.write("inputs.json", inputs.dump());
  check_all_right(desk.said_of(mine, "multihead", "--heads 4 --rename my_queries=W_Q --input " + file));
  CHECK(contains(desk.refusal_of(mine, "multihead", "--rename my=W_Q --input " + file),
                 "did you mean my_queries?"));

  const auto pipe = desk.folder.file("pipe"), dump = desk.folder.write("dump.json", mine.dump());
  REQUIRE(std::system(fmt::format("mkfifo {0} && (cat {1} > {0} &)", pipe, file).c_str()) == 0);
  CHECK(contains(output_of(fmt::format("check multihead {} --rename my_queries=W_Q --input {}", dump, pipe)),
                 "All 2 steps are right."));
}

TEST_CASE("an option that hides other keys than the probe does is refused") {
  const Folder folder;
  const auto probe = folder.file("probe.npz"), mine = folder.file("mine.npz");
  output_of("probe self-attention --output " + probe);
  output_of("break self-attention no-scale --output " + mine);
  CHECK(contains(refusal(fmt::format("check self-attention {} --probe {} --window 1", mine, probe)),
                 "--window contradicts"));
}

TEST_CASE("what follows from inputs that are not there is not judged") {
  const Desk desk;
  auto all = tensors_of("self-attention --model none --seed 7 " + batch);
  all.erase("W_V");
  const auto said = desk.said_of(all, "self-attention");
  CHECK(said.status == 0);
  CHECK(said.verdict_on("V") == "not judged");
  CHECK(said.report["steps"][2]["needs"] == json::array({"W_V"}));
  CHECK(said.verdict_on("Q") == "right");
  CHECK(said.verdict_on("output") == "right");
  CHECK(said.assumes("W_V is not in the file"));
  CHECK(contains(said.text, "not judged: it needs W_V"));
  CHECK(contains(said.text, "The others cannot be judged"));
  check_all_right(desk.said_of(all, "self-attention", "--seed 7"));

  all["weights"] = changed(all["weights"], [](double x) { return 2.0 * x; });
  const auto wrong = desk.said_of(all, "self-attention");
  CHECK(wrong.status == 1);
  CHECK(wrong.verdict_on("weights") == "wrong");
  CHECK(wrong.verdict_on("V") == "not judged");
}

TEST_CASE("inputs that are not there are those of the seed where a step shows it") {
  const Desk desk;
  auto all = tensors_of("self-attention --model none " + batch);
  for (const auto* id : {"W_Q", "W_K", "W_V"}) all.erase(id);
  check_all_right(desk.said_of(all, "self-attention"));
  all["scaled"] = all["scores"];
  CHECK(desk.said_of(all, "self-attention").mistakes_of("scaled") == json::array({"no-scale"}));
}

TEST_CASE("a file without the inputs of all its steps is refused with their names") {
  const Desk desk;
  const auto all = tensors_of("self-attention --model none --seed 7 --d-k 3 " + batch);
  CHECK(contains(desk.refusal_of(only(all, {"X", "output", "lengths"}), "self-attention", "--d-k 3"),
                 "lacks W_Q, W_K and W_V, without which nobody can judge output; valid: these inputs too"));
  CHECK(contains(desk.refusal_of(only(all, {"X", "Q", "scores", "lengths"}), "self-attention"),
                 "Q is (2×5×3) and not (2×5×4), and W_Q, which would say who is right, is not there"));
}

TEST_CASE("masks of a block of nn.TransformerEncoderLayer are read") {
  const Desk desk;
  auto all = tensors_of("transformer-block --model none " + batch);
  all["src"] = all["X"];
  all["src_key_padding_mask"] = hidden_tokens;
  for (const auto* id : {"X", "lengths", "attention/mask"}) all.erase(id);
  auto names = std::vector<std::pair<std::string, std::string>>{{"norm_1/gain", "norm1.weight"},
                                                                {"norm_2/gain", "norm2.weight"}};
  for (const auto& [id, name] : names) {
    all[name] = changed(all[id], [](double x) { return x; });
    all.erase(id);
  }
  const auto said = desk.said_of(all, "transformer-block");
  check_all_right(said);
  CHECK(said.assumes("src_key_padding_mask is taken to be true for what is hidden"));
  CHECK(said.assumes("src is taken for X."));
  CHECK(said.assumes("src_key_padding_mask is taken for attention/mask."));
  CHECK_FALSE(said.assumes("not in the file"));
  CHECK(desk.said_of(all, "transformer-block", "--mask-true seen").verdict_on("attention/masked") == "wrong");
}

TEST_CASE("numbers that were printed with 4 or 8 decimals are right, and mistakes are found in them") {
  const Desk desk;
  const auto right = tensors_of("multihead --model none --causal " + batch);
  for (const int decimals : {4, 8}) {
    const auto said = desk.said_of(rounded(right, decimals), "multihead", "--heads 2");
    check_all_right(said);
    CHECK(said.report["decimals"] == decimals);
    CHECK(contains(said.text, fmt::format("rounded to {} decimals", decimals)));
    CHECK(said.verdict_on("output") == "rounding");
    auto wrong = rounded(right, decimals);
    wrong["scaled"] = wrong["scores"];
    const auto found = desk.said_of(wrong, "multihead", "--heads 2");
    CHECK(found.mistakes_of("scaled") == json::array({"no-scale"}));
  }
  auto output = only(right, {"X", "W_Q", "W_K", "W_V", "W_O", "lengths", "mask", "output"});
  output["output"] = rounded(output, 4)["output"];
  check_all_right(desk.said_of(output, "multihead"));
  CHECK_FALSE(desk.said_of(right, "multihead").report.contains("decimals"));
}

TEST_CASE("from rounded output alone a mistake is named") {
  const Folder folder;
  const auto probe = folder.file("probe.npz"), broken = folder.file("broken.json");
  output_of("probe multihead --output " + probe);
  output_of("break multihead scale-d-model --output " + broken);
  json output;
  const auto trace = json::parse(read_file(broken));
  for (const auto& event : trace["events"])
    if (event["id"] == "output") output["output"] = event["data"];
  const auto mine = folder.write("mine.json", rounded(output, 4).dump());
  const auto report =
      json::parse(run(fmt::format("check multihead {} --probe {} --format json", mine, probe)).out);
  CHECK(report["steps"][0]["mistakes"] == json::array({"scale-d-model"}));
}

TEST_CASE("a mistake is named from the output alone beside any fill, a constant or one that is added") {
  const Folder folder;
  const auto probe = folder.file("probe.npz");
  output_of("probe multihead --output " + probe);
  for (const auto* fill : {"-1e9", "scaled - 1e9"}) {
    const auto mine = run(fmt::format(
        "multihead --input {} --format json --define 'weights = softmax(query) masked' --define 'masked = "
        "where(mask, scaled, {})'",
        probe, fill));
    const auto trace = json::parse(mine.out);
    json output;
    for (const auto& event : trace["events"])
      if (event["id"] == "output") output["output"] = event["data"];
    const auto said =
        run(fmt::format("check multihead {} --probe {}", folder.write("mine.json", output.dump()), probe));
    CHECK(contains(said.out,
                   "output  wrong: softmax-axis, beside a different convention: large-negative-fill"));
  }
}

TEST_CASE("what the scores are divided by is named after what it is") {
  const Folder folder;
  const auto probe = folder.file("probe.npz"), broken = folder.file("broken.json");
  output_of("probe multihead --output " + probe);
  for (const std::string mistake : {"scale-d-model", "scale-all-heads"}) {
    output_of(fmt::format("break multihead {} --output {}", mistake, broken));
    const auto checked = run(fmt::format("check multihead {} --probe {} --format json", broken, probe));
    const Said said{checked.status, json::parse(checked.out), ""};
    CHECK(said.mistakes_of("scaled") == json::array({mistake}));
  }
  CHECK(contains(refusal("break multihead scale-all-heads --d-model 8 --heads 4 --d-k 2"),
                 "it is the mistake scale-d-model"));
}

TEST_CASE("a batch of one may lack its axis where a mistake changes the shape") {
  const Desk desk;
  auto mine = tensors_of("multihead --model none --sentence 'a b c d e' --d-v 3");
  mine["output"] = mine["concat"];
  mine.erase("concat");
  const auto said = desk.said_of(mine, "multihead", "--heads 2");
  CHECK(said.mistakes_of("output") == json::array({"no-output-projection"}));
}

TEST_CASE("what is remarked of more than three tensors is one line") {
  const Desk desk;
  auto mine = tensors_of("multihead --model none --heads 3 --d-model 6 " + batch);
  for (const auto* id : {"Q_heads", "scores", "scaled"}) mine[id] = with_axes_swapped(mine[id]);
  CHECK(contains(desk.said_of(mine, "multihead", "--heads 3").text, "scaled is taken to be [head×batch×"));
  for (const auto* id : {"masked", "weights"}) mine[id] = with_axes_swapped(mine[id]);
  const auto said = desk.said_of(mine, "multihead", "--heads 3");
  CHECK(contains(said.text, "Each of 4 tensors (masked, scaled, scores, …) is taken to be\n  [head×batch×"));
  CHECK(said.assumes("weights is taken to be [head×batch×query×key]"));
}

TEST_CASE("heads before the batch are read, by lengths or by what is right") {
  const Desk desk;
  for (const std::string heads : {"2", "3"}) {
    auto mine = tensors_of("multihead --model none --d-model 6 --heads " + heads + ' ' + batch);
    for (const auto* id : {"Q_heads", "scores", "scaled", "masked", "weights", "heads"})
      mine[id] = with_axes_swapped(mine[id]);
    const auto said = desk.said_of(mine, "multihead", "--heads " + heads);
    check_all_right(said);
    CHECK(said.assumes("weights is taken to be [head×batch×query×key]"));
  }
}

TEST_CASE("names of the hooks of TransformerLens are read, heads behind tokens") {
  const Desk desk;
  const auto all = tensors_of("multihead --model none --causal --d-model 12 --heads 3 " + batch);
  const auto behind_tokens = [](const json& samples) {
    json turned = json::array();
    for (const auto& sample : samples) turned.push_back(with_axes_swapped(sample));
    return turned;
  };
  auto mine = only(all, {"W_Q", "W_K", "W_V", "W_O", "lengths"});
  mine["blocks.0.hook_resid_pre"] = all["X"];
  const std::string attention = "blocks.0.attn.hook_";
  for (const auto& [name, id] :
       {std::pair("q", "Q_heads"), {"k", "K_heads"}, {"v", "V_heads"}, {"z", "heads"}})
    mine[attention + name] = behind_tokens(all[id]);
  mine[attention + "pattern"] = all["weights"];
  mine["blocks.0.hook_attn_out"] = all["output"];
  for (const auto* scores : {"masked", "scaled", "scores"}) {
    mine[attention + "attn_scores"] = all[scores];
    const auto said = desk.said_of(mine, "multihead", "--heads 3 --causal");
    check_all_right(said);
    CHECK(said.verdict_on(scores) == "right");
    CHECK(said.report["steps"].size() == 7);
  }
}

TEST_CASE(
    "a name that could be several steps is the one that its numbers are, or in which a mistake gives them") {
  const Desk desk;
  const auto all = tensors_of("multihead --model none " + batch);
  const auto inputs = only(all, {"X", "W_Q", "W_K", "W_V", "W_O", "lengths"});
  for (const auto* name : {"attn_output", "out", "self_attn.attn_output"})
    for (const auto* id : {"concat", "output"}) {
      auto mine = inputs;
      mine[name] = all[id];
      const auto said = desk.said_of(mine, "multihead");
      check_all_right(said);
      CHECK(said.verdict_on(id) == "right");
      CHECK(said.assumes(fmt::format("could be output or concat and is taken for {}", id)));
    }
  const Folder folder;
  const auto broken = folder.file("broken.json"), probe = folder.file("probe.npz");
  output_of("probe multihead --output " + probe);
  output_of("break multihead scale-d-model --output " + broken);
  const auto trace = json::parse(read_file(broken));
  for (const auto* id : {"concat", "output"}) {
    json mine;
    for (const auto& event : trace["events"])
      if (event["id"] == id) mine["attn_output"] = event["data"];
    const auto said = desk.said_of(mine, "multihead", "--probe " + probe);
    CHECK(said.mistakes_of(id) == json::array({"scale-d-model"}));
  }
}

TEST_CASE("The option --rename says what a name stands for, and is refused where it says nothing") {
  const Desk desk;
  const auto all = tensors_of("sdpa " + batch);
  auto mine = only(all, {"Q", "K", "V", "lengths"});
  mine["blobs/a"] = all["weights"];
  mine["b"] = all["output"];
  const auto said = desk.said_of(mine, "sdpa", "--rename blobs/a=weights --rename b=output");
  check_all_right(said);
  CHECK(said.report["steps"].size() == 2);
  CHECK(contains(desk.refusal_of(mine, "sdpa", "--rename c=weights"), "has no c; "));
  CHECK(contains(desk.refusal_of(mine, "sdpa", "--rename b=wights"),
                 "sdpa has no wights; did you mean weights?"));
  CHECK(contains(desk.refusal_of(mine, "sdpa", "--rename b=Q"), "b is renamed to Q, which is there already"));
  CHECK(contains(desk.refusal_of(mine, "sdpa", "--rename b"), "it names no two ids"));
}

TEST_CASE("heads that nobody counts are those that leave the least trouble, and are said") {
  const Desk desk;
  for (const auto& [d_model, heads] : {std::pair("16", "4"), {"15", "5"}, {"8", "2"}}) {
    const auto all = tensors_of(fmt::format(
        "multihead --model none --d-model {} --heads {} --sentence 'a b c d e f'", d_model, heads));
    const auto said = desk.said_of(only(all, {"X", "W_Q", "W_K", "W_V", "W_O", "output"}), "multihead");
    check_all_right(said);
    CHECK(said.assumes(fmt::format("heads = {} is assumed", heads)));
    CHECK(said.text.find("(a)") == std::string::npos);
  }
}

TEST_CASE(
    "of what is wrong and unknown it is said how much and where, what to save, and what is right given it") {
  const Desk desk;
  const auto all = tensors_of("multihead --model none --d-model 8 " + batch);
  auto mine = only(all, {"X", "W_Q", "W_K", "W_V", "W_O", "lengths", "weights", "output"});
  mine["weights"][1][0][2][1] = mine["weights"][1][0][2][1].get<double>() + 0.1;
  mine["weights"][1][0][2][0] = mine["weights"][1][0][2][0].get<double>() - 0.1;
  auto said = desk.said_of(mine, "multihead", "--heads 2");
  CHECK(said.status == 1);
  CHECK(contains(in_one_line(said.text),
                 "2 of 100 entries differ, all in sample 1, head 0, query 2, key 0 and 1. "));
  CHECK(contains(in_one_line(said.text), "Save Q, K, Q_heads, K_heads, scores, scaled and masked too: "));
  CHECK(contains(in_one_line(said.text), "It follows from the inputs, not from your weights"));
  CHECK(contains(said.text, "Wrong: 1 of 2 steps.\n"));

  const auto heads = tensors_of("multihead --model none --d-model 8 --heads 2 " + batch);
  const auto other = tensors_of("multihead --model none --d-model 8 --heads 2 --temperature 3 " + batch);
  for (const auto* id : {"weights", "heads", "concat", "output"}) mine[id] = other[id];
  said = desk.said_of(mine, "multihead", "--heads 2");
  CHECK(said.verdict_on("weights") == "wrong");
  CHECK(contains(said.text, "heads    right, given your weights"));
  CHECK(contains(said.text, "output   right, given your weights"));
  CHECK(said.report["steps"].back()["given"] == json::array({"weights"}));
}

TEST_CASE("a right output of two decimals is right, and no type is stated that the file does not have") {
  const Desk desk;
  const auto all = tensors_of("multihead --model none --heads 2 --d-model 8 " + batch);
  auto mine = only(all, {"X", "W_Q", "W_K", "W_V", "W_O", "lengths"});
  mine["output"] = rounded(only(all, {"output"}), 2)["output"];
  const auto said = desk.said_of(mine, "multihead", "--heads 2");
  check_all_right(said);
  CHECK(contains(said.text, "rounded to 2 decimals"));
  CHECK_FALSE(contains(said.text, "The numbers are float32"));
}

TEST_CASE("a tensor that alone was rounded to half precision is right, and a wrong one is not") {
  const Desk desk;
  const auto all = tensors_of("self-attention --model none --sentence 'a b'");
  for (const auto* id : {"Q", "scores", "weights", "output"}) {
    INFO(id);
    auto mine = all;
    mine[id] = changed(all[id], [](double x) { return attn::round_to(attn::Dtype::float16, x); });
    const auto said = desk.said_of(mine, "self-attention");
    CHECK(said.status == 0);
    CHECK(said.report["dtype"] == "float16");
    mine[id] = changed(all[id], [](double x) { return attn::round_to(attn::Dtype::float16, 1.01 * x); });
    CHECK(desk.said_of(mine, "self-attention").verdict_on(id) == "wrong");
  }
}

TEST_CASE("an output is right though another one shows a mistake in what both follow from") {
  const Desk desk;
  const auto all = tensors_of("masking --model none --d-model 6 --d-k 4 --d-v 4 " + batch +
                              " --define 'padding/output = sum(key) padding/weights * K[key, d_v]'");
  const auto mine =
      only(all, {"X", "W_Q", "W_K", "W_V", "lengths", "causal/output", "padding/output", "combined/output"});
  const auto said = desk.said_of(mine, "masking");
  INFO(said.text);
  CHECK(said.verdict_on("causal/output") == "right");
  CHECK(said.verdict_on("padding/output") == "wrong");
  CHECK(said.verdict_on("combined/output") == "right");
}

TEST_CASE("a step follows from wrong places in a table, also from some that the right run does not have") {
  const auto all = tensors_of(
      "positional --sentence 'a b c d e f g h i j k l' --encoding t5 "
      "--define 't5/buckets = t5/apart + 16'");
  const auto said = Desk().said_of(all, "positional", "--encoding t5");
  INFO(said.text);
  CHECK(said.verdict_on("t5/buckets") == "wrong");
  CHECK(said.verdict_on("t5/bias") == "right");
  CHECK(said.verdict_on("t5/scores") == "right");
}

TEST_CASE("an output that is 0 everywhere names no mistake") {
  const Desk desk;
  auto all = tensors_of("self-attention --model none --d-model 6 " + batch);
  all["output"] = changed(all["output"], [](double) { return 0.0; });
  const auto said =
      desk.said_of(only(all, {"X", "W_Q", "W_K", "W_V", "lengths", "output"}), "self-attention");
  INFO(said.text);
  CHECK(said.verdict_on("output") == "wrong");
  CHECK(said.mistakes_of("output").empty());
}

TEST_CASE("rows of padded queries may be 0 beside a key_padding_mask, as beside lengths") {
  const Desk desk;
  const auto all = tensors_of("self-attention --model none " + batch);
  auto mine = only(all, {"X", "W_Q", "W_K", "W_V", "weights", "output"});
  mine["key_padding_mask"] = hidden_tokens;
  for (const int query : {3, 4})
    for (auto& number : mine["output"][1][query]) number = 0.0;
  const auto said = desk.said_of(mine, "self-attention");
  CHECK(said.status == 0);
  CHECK(said.verdict_on("output") == "convention");
  mine["output"][0][3] = mine["output"][1][3];
  CHECK(desk.said_of(mine, "self-attention").verdict_on("output") == "wrong");
}

TEST_CASE("a large negative fill does not excuse what is visible beside it") {
  const Desk desk;
  const auto all = tensors_of("self-attention --causal --model none --sentence 'a b c d'");
  auto mine = rounded(only(all, {"X", "W_Q", "W_K", "W_V", "output"}), 2);
  for (const auto* input : {"X", "W_Q", "W_K", "W_V"}) mine[input] = all[input];
  for (const double off : {0.0, 0.05}) {
    auto& entry = mine["output"][1][2];
    entry = std::round(100.0 * (entry.get<double>() + off)) / 100.0;
    const auto said = desk.said_of(mine, "self-attention", "--causal");
    CHECK(said.report["decimals"] == 2);
    CHECK(said.status == (off == 0.0 ? 0 : 1));
    CHECK(said.verdict_on("output") == (off == 0.0 ? "right" : "wrong"));
  }

  auto single = tensors_of("sdpa --causal --dtype float32 --sentence 'a b c d'");
  for (std::size_t query = 0; query < 4; ++query)
    for (std::size_t key = query + 1; key < 4; ++key) single["masked"][query][key] = -1e9;
  CHECK(desk.said_of(single, "sdpa").status == 0);
  single["weights"][2][0] = single["weights"][2][0].get<double>() + 0.01;
  CHECK(desk.said_of(single, "sdpa").verdict_on("weights") == "wrong");
}

TEST_CASE("what differs by a convention is not called wrong, and its nan is as it should be") {
  const Desk desk;
  const auto all = tensors_of("sdpa --causal --sentence 'a b'");
  auto mine = only(all, {"Q", "K", "V", "mask", "masked"});
  mine["masked"][0][1] = -1e9;
  const auto filled = desk.said_of(mine, "sdpa");
  CHECK(filled.status == 0);
  CHECK(contains(filled.text, "1 of 4 entries differs, the one at "));
  mine = only(all, {"Q", "K", "V", "weights"});
  mine["mask"] = {{false, false}, {true, true}};
  mine["weights"] = tensors_of("sdpa --sentence 'a b'")["weights"];
  mine["weights"][0] = {"NaN", "NaN"};
  const auto empty = desk.said_of(mine, "sdpa");
  INFO(empty.text);
  CHECK(empty.report["steps"][0]["nan"] == 2);
  CHECK(empty.status == 0);
  CHECK_FALSE(contains(empty.text, "should be none"));
}

TEST_CASE("names with blanks and colons are read, and told where they stand for nothing") {
  const Desk desk;
  const auto all = tensors_of("sdpa " + batch);
  auto mine = only(all, {"Q", "K", "V", "lengths"});
  mine["attention weights"] = all["weights"];
  mine["output:0"] = all["output"];
  mine["my own: notes"] = {1.5, 2.5};
  const auto said = desk.said_of(mine, "sdpa");
  check_all_right(said);
  CHECK(said.report["steps"].size() == 2);
  CHECK(said.report["unknown"] == json::array({"my own: notes"}));
  CHECK(contains(said.text, "Unknown here, and left out: my own: notes."));
}

TEST_CASE("a folder of CSV files is one dump, with the rows of a batch one after another") {
  const Folder folder;
  const auto probe = folder.file("probe.npz"), broken = folder.file("broken.json");
  output_of("probe sdpa --output " + probe);
  output_of("break sdpa no-scale --output " + broken);
  std::filesystem::create_directories(folder.file("homework/ada"));
  const auto trace = json::parse(read_file(broken));
  for (const auto& event : trace["events"]) {
    if (event["id"] != "scores" && event["id"] != "scaled") continue;
    std::string rows;
    for (const auto& sample : event["data"])
      for (const auto& row : sample) {
        const auto list = row.dump();
        rows += list.substr(1, list.size() - 2) + '\n';
      }
    folder.write(fmt::format("homework/ada/{}.csv", event["id"].get<std::string>()), rows);
  }
  const auto result = run(fmt::format("check sdpa {} --probe {}", folder.file("homework/ada"), probe));
  CHECK(contains(result.out, "check sdpa: ada, computed"));
  CHECK(contains(result.out, "scores  right\n"));
  CHECK(contains(result.out, "scaled  wrong, one of: no-scale, scale-after-softmax"));
  CHECK(contains(
      run(fmt::format("check sdpa --folder {} --probe {} --format csv", folder.file("homework"), probe)).out,
      "\nada,wrong,scaled,no-scale|scale-after-softmax,"));
}

TEST_CASE(
    "of mistakes that are the same on these dimensions it is said why, and which dimensions tell them "
    "apart") {
  const Folder folder;
  const auto probe = folder.file("probe.npz"), broken = folder.file("broken.npz");
  const std::string dimensions = " --d-model 16 --heads 4 --kv-heads 4 --d-k 4 --d-v 4 --output ";
  output_of("probe multihead" + dimensions + probe);
  output_of("break multihead scale-d-k" + dimensions + broken);
  const auto said = run(fmt::format("check multihead {} --probe {}", broken, probe)).out;
  CAPTURE(said);
  CHECK(contains(said, "one of: scale-d-model, scale-d-k (scale-twice is the same)"));
  CHECK(contains(said, "    √d_model and d_k are both 4 here. With d_model = 20 they differ.\n"));
}

TEST_CASE("an audit reads a fixture under its own names") {
  const Desk desk;
  const auto all = tensors_of("multihead --model none --sentence 'a b c d' --d-model 4 --heads 2");
  json mine = {
      {"x", all["X"]}, {"Wq", all["W_Q"]}, {"Wk", all["W_K"]}, {"Wv", all["W_V"]}, {"Wo", all["W_O"]}};
  const auto text = output_of("probe multihead --audit --heads 2 --input " +
                              desk.folder.write("fixture.json", mine.dump()));
  CHECK(contains(text, "Each of 5 tensors (Wk for W_K, Wo for W_O, Wq for W_Q, Wv for W_V, x for X) is\n"));
  for (const auto* hidden : {"scale-heads", "gqa-tile", "batch-leak", "padding-missing"})
    CHECK(contains(text, hidden));
  CHECK(
      contains(refusal("probe multihead --audit --input " + desk.folder.write("other.json", R"({"b": [1]})")),
               "holds no input of multihead; it has b (1); valid: X"));
}

TEST_CASE(
    "fused weights of grouped heads are split where options say how many, and of a framework as it has "
    "them") {
  const Desk desk;
  const auto all =
      tensors_of("multihead --model none --d-model 8 --heads 4 --kv-heads 2 --d-k 3 --d-v 3 " + batch);
  auto mine = only(all, {"X", "lengths", "weights", "concat"});
  const auto in_a_row = [&](std::size_t row, const std::vector<std::string>& ids) {
    json numbers = json::array();
    for (const auto& id : ids)
      for (const auto& number : all[id][row]) numbers.push_back(number);
    return numbers;
  };
  for (std::size_t row = 0; row < 8; ++row)
    mine["qkv.kernel"].push_back(in_a_row(row, {"W_Q", "W_K", "W_V"}));
  check_all_right(desk.said_of(mine, "multihead", "--heads 4 --kv-heads 2"));

  const auto even = tensors_of("multihead --model none --d-model 8 --heads 2 " + batch);
  auto per_head = only(even, {"X", "lengths", "weights", "concat"});
  for (std::size_t row = 0; row < 8; ++row) {
    json numbers = json::array();
    for (std::size_t head = 0; head < 2; ++head)
      for (const auto* id : {"W_Q", "W_K", "W_V"})
        for (std::size_t i = 0; i < 4; ++i) numbers.push_back(even[id][row][4 * head + i]);
    per_head["qkv.kernel"].push_back(numbers);
  }
  const auto said = desk.said_of(per_head, "multihead", "--heads 2 --like gptj");
  check_all_right(said);
  CHECK(said.assumes("split into W_Q, W_K and W_V of each head"));
  CHECK(desk.said_of(per_head, "multihead", "--heads 2").status == 1);
}

TEST_CASE("The option --like takes sinusoids in halves where the framework has them so") {
  const Folder folder;
  const auto probe = folder.file("probe.npz"), mine = folder.file("mine.npz");
  output_of("probe positional --output " + probe);
  output_of("break positional pe-halves --output " + mine);
  const auto report = json::parse(
      run(fmt::format("check positional {} --probe {} --like hf-llama --format json", mine, probe)).out);
  CHECK(report["right"] == true);
}

TEST_CASE("a fill that is added is a convention where a query sees nothing, and a mistyped one is named") {
  const Folder folder;
  const auto dump = folder.file("mine.npz");
  const std::string run_of = "sdpa --source 'a b' --target 'c d e' --causal";  // c sees neither a nor b
  const auto verdict = [&](const std::string& masked) {
    run(fmt::format("{} --define 'masked = where(mask, scaled, {})' --output {}", run_of, masked, dump));
    return run("check sdpa " + dump);
  };
  const auto added = verdict("scaled - 1e9");
  CHECK(added.status == 0);
  CHECK(contains(added.out, "a different convention: large-negative-fill"));
  run(run_of + " --define 'masked = where(mask, scaled, scaled - 1e9)' --steps Q,K,V,mask,output --output " +
      dump);
  const auto alone = run("check sdpa " + dump);
  CHECK(alone.status == 0);
  CHECK(contains(alone.out, "a different convention: empty-row-uniform"));
  for (const auto* fill : {"-1e-9", "0"}) {
    INFO(fill);
    CHECK(contains(verdict(fill).out, "wrong: mask-fill-zero"));
  }
  CHECK(contains(verdict("inf").out, "wrong: mask-fill-plus-inf"));
  CHECK(contains(verdict("1e9").out, "your numbers are those of masked = scaled where mask, 10⁹ elsewhere"));
}

TEST_CASE("a single wrong number of a sheet is no convention, however near it is") {
  const Folder folder;
  const auto sheet = folder.file("sheet.txt");
  const auto answers = output_of("worksheet sdpa --seed 1 --answers only");
  std::ofstream(sheet) << answers;
  REQUIRE(run("check sdpa " + sheet).status == 0);
  for (const auto& [right, wrong] : {std::pair("-4.5 ", "-4.4 "), std::pair("0.7153", "0.7353")}) {
    auto changed = answers;
    const auto at = changed.find(right);
    INFO(right << " in " << answers);
    REQUIRE(at != std::string::npos);
    std::ofstream(sheet) << changed.replace(at, std::string(wrong).size(), wrong);
    const auto result = run("check sdpa " + sheet);
    CHECK(result.status == 1);
    CHECK(contains(result.out, "wrong in 1 of 9 entries"));
  }
}

TEST_CASE("a misspelt step is judged, and what is not is said in the end") {
  const Desk desk;
  const auto right = tensors_of("sdpa");
  auto mine = only(right, {"Q", "K", "V"});
  mine["ouput"] = changed(right["output"], [](double x) { return 2.0 * x; });
  const auto said = desk.said_of(mine, "sdpa");
  CHECK(said.verdict_on("output") == "wrong");
  CHECK(said.assumes("ouput is taken for output"));
  auto more = only(right, {"Q", "K", "V", "output"});
  more["foo"] = json::array({1.0, 2.0});
  CHECK(contains(in_one_line(desk.said_of(more, "sdpa").text),
                 "The step is right. 1 tensor of the file is not checked."));
}

TEST_CASE("a fill in the place of −∞ is not counted where something else is wrong") {
  const Desk desk;
  const auto all = tensors_of("multihead --model none --heads 2 --causal");
  auto mine = all;
  mine["masked"] = all["scaled"];
  for (std::size_t query = 0; query < 5; ++query)
    for (std::size_t key = query + 1; key < 5; ++key) mine["masked"][0][query][key] = -1e9;
  const auto said = desk.said_of(only(mine, {"X", "W_Q", "W_K", "W_V", "W_O", "scaled", "masked"}),
                                 "multihead", "--heads 2 --causal");
  CHECK(said.verdict_on("masked") == "wrong");
  CHECK(contains(said.text, "10 of 50 entries differ, all in head 1, query 0 to 3, key 1 to 4"));
}

TEST_CASE("a renamed weight of a layer is as nn.Linear has it, as its neighbours are") {
  const Desk desk;
  const auto right = tensors_of("multihead --model none --heads 2 --seed 7");
  auto mine = only(right, {"X", "output"});
  for (const auto& [name, id] :
       {std::pair("Wq", "W_Q"), std::pair("Wk", "W_K"), std::pair("Wv", "W_V"), std::pair("mix", "W_O")}) {
    json rows = json::array();
    for (std::size_t i = 0; i < right[id][0].size(); ++i)
      for (std::size_t j = 0; j < right[id].size(); ++j) rows[i][j] = right[id][j][i];
    mine[name + std::string(".weight")] = rows;
  }
  check_all_right(desk.said_of(mine, "multihead", "--heads 2 --rename mix.weight=W_O"));
  CHECK_THAT(desk.refusal_of(mine, "multihead", "--heads 2"), Catch::Contains("it has mix.weight"));
}

TEST_CASE("masked scores that come without a mask say what is hidden") {
  const Desk desk;
  const auto causal = tensors_of("sdpa --causal");
  const auto said = desk.said_of(only(causal, {"Q", "K", "V", "masked", "weights", "output"}), "sdpa");
  check_all_right(said);
  CHECK(said.assumes("Nobody gives mask"));
}

TEST_CASE("the number of heads that nobody says is that of the shapes, or a guess that says so first") {
  const Desk desk;
  const auto right = tensors_of("multihead --model none --heads 4");
  auto mine = only(right, {"X", "W_Q", "W_K", "W_V", "W_O", "output"});
  CHECK(desk.said_of(mine, "multihead").assumes("heads = 4 is assumed"));
  mine["output"] = changed(mine["output"], [](double x) { return 0.3 * x * x; });
  CHECK(contains(desk.said_of(mine, "multihead").report["assumptions"][0], "is a guess: neither the file"));
  mine["weights"] = right["weights"];
  CHECK(desk.said_of(mine, "multihead").assumes("heads = 4 is assumed"));
}
