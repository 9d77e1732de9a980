#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "attn/error.hpp"
#include "lab/output.hpp"
#include "lab/train/train.hpp"

namespace lab {

namespace {

using attn::Model;
using attn::ModelTensor;

const char* const current_id = "training/weights";
const char* const first_id = "training/first_moment";
const char* const second_id = "training/second_moment";
const char* const best_id = "training/best";  ///< where it is not what the file shows

ModelTensor flat(std::string id, const std::vector<float>& values) {
  return {std::move(id), {values.size()}, {values.begin(), values.end()}};
}

std::vector<float> numbers_of(const Model& model, const std::string& id, std::size_t count) {
  const auto& values = model.at(id).values;
  if (values.size() != count)
    throw attn::Error(fmt::format("--resume: {} has {} numbers; valid: {}", id, values.size(), count));
  return {values.begin(), values.end()};
}

/// What must be the same for a training to go on, beside the model's configuration.
std::map<std::string, std::string> settings_of(const RunTraining& run) {
  const auto& settings = run.settings;
  return {{"steps", std::to_string(settings.steps)},
          {"batch", std::to_string(settings.batch)},
          {"rate", fmt::format("{}", settings.rate)},
          {"warm_up", std::to_string(settings.warm_up)},
          {"clip", fmt::format("{}", settings.largest_norm)},
          {"dropout", fmt::format("{}", settings.dropout)},
          {"seed", std::to_string(settings.seed)},
          {"threads", std::to_string(settings.threads)}};
}

void require_same(const RunTraining& run, const std::map<std::string, std::string>& stored,
                  const std::map<std::string, std::string>& here) {
  for (const auto& [name, value] : here) {
    const auto found = stored.find(name);
    const auto before = found == stored.end() ? std::string("missing") : found->second;
    if (before == value) continue;
    auto flag = name;
    for (char& character : flag)
      if (character == '_') character = '-';
    throw attn::Error(fmt::format("--resume {}: its {} is {}, here it is {}; valid: --{} {}", *run.resume,
                                  flag, before, value, flag, before));
  }
}

void require_same_training(const RunTraining& run, const attn::train::Task& task, const Model& model) {
  require_same(run, model.training, settings_of(run));
  const auto configuration = task.configuration();
  require_same(run, model.configuration, {configuration.begin(), configuration.end()});
  for (const auto& [name, words] : task.vocabularies())
    if (const auto found = model.vocabularies.find(name);
        found == model.vocabularies.end() || found->second != words)
      throw attn::Error(
          fmt::format("--resume {}: it has other {}; valid: the same --grammar", *run.resume, name));
}

/// A number of what a file says of its training.
double stored_number(const RunTraining& run, const Model& model, const std::string& name) {
  const auto found = model.training.find(name);
  if (found == model.training.end())
    throw attn::Error(
        fmt::format("--resume {}: it does not say its {}; valid: the file of a training that "
                    "was interrupted",
                    *run.resume, name));
  return std::strtod(found->second.c_str(), nullptr);
}

/// The model in training: the weights shown, and what the steps to come depend on.
Model checkpoint_of(const RunTraining& run, const attn::train::Task& task,
                    const attn::train::Trainer& trainer, const std::vector<float>& shown, double best_loss) {
  auto model = model_of(run, task, shown, {});
  const auto state = trainer.state();
  model.training = settings_of(run);
  model.training["step"] = std::to_string(state.adam.step);
  model.training["best_loss"] = fmt::format("{}", best_loss);
  model.tensors.push_back(flat(current_id, state.values));
  model.tensors.push_back(flat(first_id, state.adam.first));
  model.tensors.push_back(flat(second_id, state.adam.second));
  return model;
}

void write(const RunTraining& run, const Model& model) {
  write_to_file(run.output, attn::model_file(model, attn::ElementType::float32));
}

}  // namespace

void Best::update(const attn::train::Trainer& trainer, double validation_loss) {
  if (!std::isfinite(validation_loss))
    throw attn::Error(fmt::format(
        "after {} steps the loss is no number any more; valid: a smaller --rate, a smaller --clip",
        trainer.steps_done()));
  step = trainer.steps_done();
  if (validation_loss > loss) return;
  loss = validation_loss;
  values = trainer.values();
}

Model model_of(const RunTraining& run, const attn::train::Task& task, const std::vector<float>& values,
               const std::vector<attn::train::Score>& scores) {
  Model model;
  model.task = run.task->name;
  model.command = run.command;
  for (const auto& [name, value] : task.configuration()) model.configuration[name] = value;
  for (const auto& [name, words] : task.vocabularies()) model.vocabularies[name] = words;
  for (const auto& score : scores) {
    model.scores[score.name] = score.value;
    model.examples_scored[score.name] = score.examples;
  }
  for (const auto& shape : task.table().shapes()) {
    const float* first = values.data() + shape.offset;
    const attn::Shape axes =
        shape.is_vector ? attn::Shape{shape.size()} : attn::Shape{shape.rows, shape.columns};
    model.tensors.push_back({shape.name, axes, {first, first + shape.size()}});
  }
  return model;
}

std::vector<float> values_of(const Model& model, const attn::train::WeightTable& table) {
  std::vector<float> values;
  for (const auto& shape : table.shapes()) {
    const auto& stored = model.at(shape.name);
    if (stored.values.size() != shape.size())
      throw attn::Error(fmt::format("{} of the model has {} numbers; valid: {}", shape.name,
                                    stored.values.size(), shape.size()));
    values.insert(values.end(), stored.values.begin(), stored.values.end());
  }
  return values;
}

void write_checkpoint(const RunTraining& run, const attn::train::Task& task,
                      const attn::train::Trainer& trainer, const Best& best) {
  write(run, checkpoint_of(run, task, trainer, best.values, best.loss));
}

void write_interrupted(const RunTraining& run, const attn::train::Task& task, attn::train::Trainer& trainer,
                       const Best& best) {
  auto shown = best;
  shown.update(trainer, attn::train::mean_loss(task.validation(), trainer.weights()));
  auto model = checkpoint_of(run, task, trainer, shown.values, best.loss);
  if (shown.loss < best.loss && !best.values.empty()) model.tensors.push_back(flat(best_id, best.values));
  write(run, model);
}

void write_without_scores(const RunTraining& run, const attn::train::Task& task, const Best& best) {
  write(run, model_of(run, task, best.values, {}));
}

void resume(const RunTraining& run, const attn::train::Task& task, attn::train::Trainer& trainer,
            Best& best) {
  const auto model = attn::read_model(*run.resume);
  if (model.task != run.task->name)
    throw attn::Error(fmt::format("--resume {}: it is a model of the task {}; valid: attnlab train {}",
                                  *run.resume, model.task, model.task));
  if (model.training.empty())
    throw attn::Error(fmt::format(
        "--resume {}: its training is finished; valid: the file of one that was interrupted", *run.resume));
  require_same_training(run, task, model);
  const std::size_t numbers = task.table().numbers();
  best.values = model.find(best_id) ? numbers_of(model, best_id, numbers) : values_of(model, task.table());
  best.loss = stored_number(run, model, "best_loss");
  const double step = stored_number(run, model, "step");
  if (!(step >= 0 && step <= static_cast<double>(run.settings.steps)))
    throw attn::Error(
        fmt::format("--resume {}: it stands at step {} of {}; valid: the file of a training "
                    "that was interrupted",
                    *run.resume, step, run.settings.steps));
  best.step = static_cast<std::size_t>(step);
  trainer.restore({numbers_of(model, current_id, numbers),
                   {best.step, numbers_of(model, first_id, numbers), numbers_of(model, second_id, numbers)}});
}

}  // namespace lab
