#include "trace/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "attn/error.hpp"
#include "attn/lists.hpp"
#include "trace/archives.hpp"
#include "trace/file.hpp"
#include "trace/json/json.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// {"words":[3,4],"examples":57,"value":0.98}
static void to_json(nlohmann::json& entry, const ScoreOfLengths& score) {
  entry = {{"words", {score.fewest, score.most}}, {"examples", score.examples}, {"value", score.value}};
}

static void from_json(const nlohmann::json& entry, ScoreOfLengths& score) {
  const auto words = entry.at("words").get<std::array<std::size_t, 2>>();
  score = {words[0], words[1], entry.at("examples").get<std::size_t>(), entry.at("value").get<double>()};
}

namespace {

using nlohmann::json;

TensorView view_of(const ModelTensor& tensor) {
  return {Dtype::float64, tensor.shape, tensor.values.data()};
}

constexpr std::string_view of_training = "a model that attnlab train wrote";

std::string text_of(const StoredTrace& file, const std::string& path, const std::string& name) {
  const auto found = file.metadata().find(name);
  if (found == file.metadata().end())
    refuse(path, fmt::format("its metadata has no \"{}\"", name), of_training);
  return found->second;
}

/// A member of the file's metadata, as JSON.
template <class T>
T described(const StoredTrace& file, const std::string& path, const std::string& name) {
  const auto text = text_of(file, path, name);
  try {
    return parse_json<json>(text, fmt::format("{}, its {}", path, name)).get<T>();
  } catch (const json::exception&) {
    refuse(path, fmt::format("its \"{}\" is {}", name, in_message(text)), of_training);
  }
}

/// Calls `see` with each member that is described as JSON: its name, itself, and whether it is always there.
template <class SomeModel, class See>
void for_each_member(SomeModel& model, See see) {
  see("configuration", model.configuration, true);
  see("vocabularies", model.vocabularies, true);
  see("scores", model.scores, true);
  see("examples_scored", model.examples_scored, false);
  see("scores_by_length", model.scores_by_length, false);
  see("training", model.training, false);
}

std::vector<double> values_of(const AnyTensor& tensor, const std::string& path, const std::string& id) {
  const auto view = tensor.view();
  if (view.dtype == Dtype::int64 || view.dtype == Dtype::boolean)
    refuse(path, fmt::format("its {} holds no floating-point numbers", id), of_training);
  std::vector<double> values(element_count(view.shape));
  std::memcpy(values.data(), view.data, values.size() * sizeof(double));
  if (!all_of(values, [](double value) { return std::isfinite(value); }))
    refuse(path, fmt::format("its {} holds numbers that are not finite", id), "finite weights");
  return values;
}

template <std::size_t N>
Tensor<N> with_axes(const ModelTensor& stored) {
  if (stored.shape.size() != N)
    throw Error(fmt::format("{} of the model is ({}); valid: {}", stored.id, to_string(stored.shape),
                            N == 1 ? "one axis" : "two axes"));
  std::array<std::size_t, N> shape;
  std::copy(stored.shape.begin(), stored.shape.end(), shape.begin());
  Tensor<N> tensor(shape);
  std::copy(stored.values.begin(), stored.values.end(), tensor.data());
  return tensor;
}

std::unique_ptr<StoredTrace> open_model(const std::string& path) {
  auto file = open_trace(File(path, "a .safetensors file that attnlab train wrote"));
  const auto schema = file->metadata().find("schema");
  if (schema == file->metadata().end() || schema->second != model_schema)
    refuse(path, "it is no model of this lab",
           fmt::format("a .safetensors file of the schema {}", model_schema));
  return file;
}

}  // namespace

std::string Model::said(const std::string& name) const {
  const auto found = configuration.find(name);
  return found == configuration.end() ? "" : found->second;
}

std::size_t Model::number(const std::string& name) const {
  const auto text = said(name);
  if (text.empty()) throw Error(fmt::format("the model of the task {} does not say its {}", task, name));
  std::size_t value = 0;
  const auto* const end = text.data() + text.size();
  if (const auto read = std::from_chars(text.data(), end, value); read.ec == std::errc() && read.ptr == end)
    return value;
  throw Error(fmt::format("the {} of the model of the task {} is {}; valid: a whole number", name, task,
                          in_message(text)));
}

const ModelTensor* Model::find(std::string_view id) const {
  return find_by_id(tensors, id);
}

const ModelTensor& Model::at(std::string_view id) const {
  if (const auto* tensor = find(id)) return *tensor;
  throw Error(fmt::format("the model of the task {} has no {}; it has {}", task, id,
                          fmt::join(ids_in(tensors), ", ")));
}

Tensor<2> Model::matrix(std::string_view id) const {
  return with_axes<2>(at(id));
}

Tensor<1> Model::vector(std::string_view id) const {
  return with_axes<1>(at(id));
}

std::string model_file(const Model& model, Dtype dtype) {
  SafetensorsFile file;
  file.describe("schema", std::string(model_schema));
  file.describe("task", model.task);
  file.describe("command", model.command);
  for_each_member(model, [&](const char* name, const auto& member, bool is_always_there) {
    if (is_always_there || !member.empty()) file.describe(name, json(member).dump());
  });
  for (const auto& tensor : model.tensors) file.add(tensor.id, view_of(tensor), dtype);
  return file.finish();
}

std::vector<ScoreOfLengths> read_scores_by_length(const std::string& path) {
  const auto file = open_model(path);
  if (!file->metadata().contains("scores_by_length")) return {};
  return described<std::vector<ScoreOfLengths>>(*file, path, "scores_by_length");
}

Model read_model(const std::string& path) {
  const auto file = open_model(path);
  Model model;
  model.task = text_of(*file, path, "task");
  model.command = text_of(*file, path, "command");
  for_each_member(model, [&](const char* name, auto& member, bool is_always_there) {
    if (is_always_there || file->metadata().contains(name))
      member = described<std::decay_t<decltype(member)>>(*file, path, name);
  });
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    const auto& stored = file->tensors()[i];
    model.tensors.push_back({stored.id, stored.shape, values_of(file->read(i), path, stored.id)});
  }
  return model;
}

std::shared_ptr<const Model> shipped_model(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const Model>> models;
  const auto path = fmt::format("{}/{}.safetensors", data_folder("models"), name);
  auto& model = models[path];
  if (model == nullptr) model = std::make_shared<const Model>(read_model(path));
  return model;
}

Model rounded(Model model, Dtype dtype) {
  for (auto& tensor : model.tensors) {
    const auto decoded = decode({.type = element_type_of(dtype), .shape = tensor.shape},
                                encode(view_of(tensor), dtype), tensor.id);
    std::memcpy(tensor.values.data(), decoded.view().data, tensor.values.size() * sizeof(double));
  }
  return model;
}

std::string missing_model_file(const std::string& name) {
  std::error_code error;
  try {
    const auto path = fmt::format("{}/{}.safetensors", data_folder("models"), name);
    return std::filesystem::exists(path, error) ? "" : path;
  } catch (const Error& no_folder) {
    return no_folder.what();
  }
}

}  // namespace attn
