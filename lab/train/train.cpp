#include "lab/train/train.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "attn/budget.hpp"
#include "attn/error.hpp"
#include "attn/lists.hpp"
#include "lab/output.hpp"
#include "page/text/text.hpp"
#include "trace/model.hpp"

namespace lab {

namespace {

using attn::Model;
using attn::ModelTensor;
using attn::train::Score;
using attn::train::StepReport;
using attn::train::Task;
using attn::train::Trainer;
using Clock = std::chrono::steady_clock;

/// The weights that predict the validation examples best so far.
struct Best {
  std::vector<float> values;
  double loss = std::numeric_limits<double>::infinity();
  std::size_t step = 0;  ///< how far the training has come

  /// Throws attn::Error for a loss that is no number: from there no step leads back.
  void update(const Trainer& trainer, double validation_loss) {
    if (!std::isfinite(validation_loss))
      throw attn::Error(fmt::format(
          "after {} steps the loss is no number any more; valid: a smaller --rate, a smaller --clip",
          trainer.steps_done()));
    step = trainer.steps_done();
    if (validation_loss > loss) return;
    loss = validation_loss;
    values = trainer.values();
  }
};

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

/// The weights under the lessons' ids, with everything that is known about them.
Model model_of(const RunTraining& run, const Task& task, const std::vector<float>& values,
               const std::vector<Score>& scores) {
  Model model;
  model.task = run.task->name;
  model.command = run.command;
  model.configuration = task.parts.configuration;
  for (const auto& [name, words] : task.parts.vocabularies) model.vocabularies[name] = words;
  for (const auto& score : scores) {
    model.scores[score.name] = score.value;
    model.examples_scored[score.name] = score.examples;
  }
  for (const auto& shape : task.parts.table.shapes()) {
    const float* first = values.data() + shape.offset;
    const attn::Shape axes =
        shape.is_vector ? attn::Shape{shape.size()} : attn::Shape{shape.rows, shape.columns};
    model.tensors.push_back({shape.name, axes, {first, first + shape.size()}});
  }
  return model;
}

/// The numbers of a model in the order of the table. Throws attn::Error where it has other weights.
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
    const auto* found = attn::value_in(stored, name);
    const auto before = found ? *found : "missing";
    if (before == value) continue;
    auto flag = name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    throw attn::Error(fmt::format("--resume {}: its {} is {}, here it is {}; valid: --{} {}", *run.resume,
                                  flag, before, value, flag, before));
  }
}

void require_same_training(const RunTraining& run, const Task& task, const Model& model) {
  require_same(run, model.training, settings_of(run));
  require_same(run, model.configuration, task.parts.configuration);
  for (const auto& [name, words] : task.parts.vocabularies)
    if (const auto* found = attn::value_in(model.vocabularies, name); !found || *found != words)
      throw attn::Error(
          fmt::format("--resume {}: it has other {}; valid: the same --grammar", *run.resume, name));
}

/// A number of what a file says of its training.
double stored_number(const RunTraining& run, const Model& model, const std::string& name) {
  if (const auto* found = attn::value_in(model.training, name)) return std::strtod(found->c_str(), nullptr);
  throw attn::Error(
      fmt::format("--resume {}: it does not say its {}; valid: the file of a training that was interrupted",
                  *run.resume, name));
}

void write(const RunTraining& run, const Model& model) {
  write_to_file(run.output, attn::model_file(model, attn::Dtype::float32));
}

/// Writes the weights shown, and beside them what a later training needs to go on: the best ones, too, where
/// those shown are better. It forgets that, and ends as it would have.
void write_checkpoint(const RunTraining& run, const Task& task, const Trainer& trainer, const Best& best,
                      const Best& shown) {
  auto model = model_of(run, task, shown.values, {});
  const auto& state = trainer.state();
  model.training = settings_of(run);
  model.training["step"] = std::to_string(state.adam.steps_done);
  model.training["best_loss"] = fmt::format("{}", best.loss);
  model.tensors.push_back(flat(current_id, state.values));
  model.tensors.push_back(flat(first_id, state.adam.first));
  model.tensors.push_back(flat(second_id, state.adam.second));
  if (shown.loss < best.loss && !best.values.empty()) model.tensors.push_back(flat(best_id, best.values));
  write(run, model);
}

/// Brings a training to where the file of `--resume` left it. Throws attn::Error where that holds a finished
/// model, or one of another task or of other settings.
void resume(const RunTraining& run, const Task& task, Trainer& trainer, Best& best) {
  const auto model = attn::read_model(*run.resume);
  if (model.task != run.task->name)
    throw attn::Error(fmt::format("--resume {}: it is a model of the task {}; valid: attnlab train {}",
                                  *run.resume, model.task, model.task));
  if (model.training.empty())
    throw attn::Error(fmt::format(
        "--resume {}: its training is finished; valid: the file of one that was interrupted", *run.resume));
  require_same_training(run, task, model);
  const std::size_t numbers = task.parts.table.numbers();
  best.values =
      model.find(best_id) ? numbers_of(model, best_id, numbers) : values_of(model, task.parts.table);
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

std::atomic<bool> is_interrupted = false;

/// Says on stderr how far the training is.
class Progress {
 public:
  Progress(std::size_t first, std::size_t steps) : first_(first), steps_(steps) {}

  void report(const StepReport& step) {
    predictions_ += step.predictions;
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const auto done = static_cast<double>(step.step - first_), left = static_cast<double>(steps_ - step.step);
    const auto text = fmt::format("loss {:.4f}  {:.0f} tokens/s  {:.0f} s left", step.loss,
                                  static_cast<double>(predictions_) / seconds, seconds / done * left);
    bar_.show(static_cast<double>(step.step) / static_cast<double>(steps_), text);
    if (!isatty(STDERR_FILENO) && std::getenv("ATTNLAB_PROGRESS") == nullptr &&
        step.step % std::max<std::size_t>(steps_ / 10, 1) == 0)
      fmt::print(stderr, "step {} of {}  {}\n", step.step, steps_, text);
  }

 private:
  std::size_t first_, steps_, predictions_ = 0;
  Clock::time_point start_ = Clock::now();
  ProgressBar bar_;
};

/// The mean loss of each fortieth of all steps, as far as they were done.
std::string loss_plot(const std::vector<StepReport>& done, std::size_t steps) {
  const auto stretch = std::max<std::size_t>(steps / 40, 1);
  attn::Curves::Line losses{.name = "loss", .values = {}};
  attn::Curves curves;
  for (std::size_t end = stretch; end <= done.size(); end += stretch) {
    double sum = 0.0;
    for (auto i = end - stretch; i < end; ++i) sum += done[i].loss;
    losses.values.push_back(sum / static_cast<double>(stretch));
    curves.positions.push_back(static_cast<double>(done[end - 1].step));
  }
  if (curves.positions.size() < 2) return "";
  curves.axis = "step";
  curves.horizontal = {.low = curves.positions.front(), .high = curves.positions.back()};
  curves.vertical = attn::scale_of(losses.values);
  curves.lines = {losses};
  return "Loss of the training batches\n" + attn::format_chart(curves, attn::tick) + "\n";
}

std::string report(const RunTraining& run, const Task& task, const attn::train::Weights<float>& weights,
                   const std::vector<Score>& scores, const attn::Model& model,
                   const std::vector<StepReport>& done) {
  std::string text = fmt::format("train {}\n{} weights, seed {}, {} threads, {} steps of {} examples\n\n",
                                 run.task->name, task.parts.table.numbers(), run.settings.seed,
                                 run.settings.threads, run.settings.steps, run.settings.batch);
  text += loss_plot(done, run.settings.steps);
  text += "On examples that it has not seen\n";
  for (const auto& score : scores)
    text += fmt::format("  {:7.2f} % of {:5}  {}\n", 100 * score.value, score.examples, score.name);
  if (!model.scores_by_length.empty()) text += "\nThe first of these by the words of the source\n";
  for (const auto& score : model.scores_by_length)
    text += fmt::format("  {:7.2f} %  {} to {} words, {} examples\n", 100 * score.value, score.fewest,
                        score.most, score.examples);
  text += "\nSome of them\n";
  for (const auto& line : task.samples(weights)) text += fmt::format("  {}\n", line);
  return text;
}

bool is_equal(const std::vector<Score>& a, const std::vector<Score>& b) {
  constexpr double least_change = 0.0005;  ///< half of the last digit of a score in percent with one decimal
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::abs(a[i].value - b[i].value) > least_change) return false;
  return true;
}

/// The model in the type that was asked for, else in float16 where no score changes.
attn::Dtype type_for(const RunTraining& run, const Task& task, const attn::Model& model,
                     const std::vector<Score>& scores) {
  if (run.dtype) return *run.dtype == "float16" ? attn::Dtype::float16 : attn::Dtype::float32;
  auto values = values_of(attn::rounded(model, attn::Dtype::float16), task.parts.table);
  const auto rounded_scores = task.scores({&task.parts.table, values.data(), nullptr});
  return is_equal(scores, rounded_scores) ? attn::Dtype::float16 : attn::Dtype::float32;
}

/// Trains to the end or until Ctrl-C; leaves the best weights in `best` and in the file. They are there, too,
/// where Ctrl-C ends the program while it looks at held-out examples.
std::vector<StepReport> train(const RunTraining& run, const Task& task, Trainer& trainer, Best& best) {
  const SignalAction interrupt(SIGINT, [](int) { is_interrupted = true; });
  std::vector<StepReport> done;
  Progress progress(best.step, run.settings.steps);
  const std::size_t stretch = std::max<std::size_t>(run.settings.steps / 10, 1);
  while (!trainer.is_done() && !is_interrupted) {
    const auto step = trainer.step();
    done.push_back(step);
    progress.report(step);
    if (step.step % stretch != 0 && !trainer.is_done()) continue;
    best.update(trainer, attn::train::mean_loss(task.parts.validation, trainer.weights()));
    if (!trainer.is_done()) write_checkpoint(run, task, trainer, best, best);
  }
  if (is_interrupted) {
    auto now = best;
    now.update(trainer, attn::train::mean_loss(task.parts.validation, trainer.weights()));
    write_checkpoint(run, task, trainer, best, now);
  } else {
    write(run, model_of(run, task, best.values, {}));  // before anything is measured
  }
  return done;
}

/// Throws attn::Error where the weights, a gradient a thread, and the optimizer's two means have no room.
void require_room(const RunTraining& run, const Task& task) {
  const auto copies = static_cast<double>(run.settings.threads) + 3.0;
  const double bytes = copies * sizeof(float) * static_cast<double>(task.parts.table.numbers());
  if (bytes > attn::free_memory())
    throw attn::Error(
        fmt::format("train {}: {} weights take {} in training, and {} are free; valid: smaller "
                    "dimensions of the model",
                    run.task->name, task.parts.table.numbers(), attn::in_bytes(bytes),
                    attn::in_bytes(attn::free_memory())));
}

/// What the work gives, while a bar says what it is.
auto behind_bar(double share, const char* what, const auto& work) {
  ProgressBar bar;
  bar.show(share, what);
  return work();
}

}  // namespace

int run_training(const RunTraining& run) {
  require_writable(run.output);
  const auto task = behind_bar(0, "drawing the examples", [&] { return run.task->make(run.options); });
  require_room(run, *task);
  Trainer trainer(task->parts.table, task->parts.training, run.settings);
  Best best;
  if (run.resume) resume(run, *task, trainer, best);
  is_interrupted = false;
  const auto done = train(run, *task, trainer, best);
  if (is_interrupted) {
    fmt::print(
        stderr,
        "attnlab: stopped after {} of {} steps; the best weights so far are in {}; go on with --resume {}\n",
        trainer.steps_done(), run.settings.steps, run.output, run.output);
    return 1;
  }
  const attn::train::Weights<float> weights = {&task->parts.table, best.values.data(), nullptr};
  const auto scores = behind_bar(1, "looking at held-out examples", [&] { return task->scores(weights); });
  auto model = model_of(run, *task, best.values, scores);
  for (const auto& score : task->by_length(weights))
    model.scores_by_length.push_back({score.fewest, score.most, score.examples, score.value});
  const auto type = type_for(run, *task, model, scores);
  if (run.without_weights) model.tensors.clear();
  const auto file = attn::model_file(model, type);
  write_to_file(run.output, file);
  if (run.pharaoh) {
    std::string text;
    for (const auto& line : task->alignments(weights)) text += line + "\n";
    write_to_stdout(text);
    return 0;
  }
  write_to_stdout(report(run, *task, weights, scores, model, done) +
                  fmt::format("\n{} has {} ({} KiB)\n", run.output,
                              run.without_weights ? "these figures" : "the weights",
                              (file.size() + 1023) / 1024));
  return 0;
}

}  // namespace lab
