#include "lessons/workbench/exercises.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/random/random.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// Puts normal(0, 1) into the rows of zeros that samples [batch×token×…] end with: what reads padding shows.
void fill_padding(const std::string& id, attn::AnyTensor& samples, std::uint32_t seed) {
  const auto& shape = samples.shape();
  if (shape.size() != 3) return;
  attn::RandomState random(seed, attn::crc32(id + " <pad>"));
  for (std::size_t sample = 0; sample < shape[0]; ++sample) {
    auto* const begin = samples.elements<double>() + sample * shape[1] * shape[2];
    auto* const end = begin + shape[1] * shape[2];
    const auto words_end = std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(begin),
                                        [](double number) { return number != 0.0; });
    const auto words = static_cast<std::size_t>(words_end.base() - begin) + shape[2] - 1;
    std::generate(begin + words / shape[2] * shape[2], end, [&] { return random.standard_normal(); });
  }
}

/// Beside a given mask nothing is hidden but by options that were typed.
void let_given_mask_decide(Plan& plan) {
  const auto is_mask = [](const auto& one) { return one.first == "mask" || one.first.ends_with("/mask"); };
  if (!attn::any_of(plan.given, is_mask)) return;
  if (!plan.options.is_typed("causal")) plan.options.causal = false;
  if (!plan.options.is_typed("window")) plan.options.window.reset();
}

/// Adds normal(0, 1/4) to what is all 0 or all 1 before training, so that a gain or a bias that is left out,
/// or that stands in the place of another, shows.
void vary_untrained(const std::string& id, attn::AnyTensor& tensor, std::uint32_t seed) {
  auto* const begin = tensor.elements<double>();
  auto* const end = begin + attn::element_count(tensor.shape());
  const auto is_all = [=](double number) { return std::count(begin, end, number) == end - begin; };
  if (!is_all(0.0) && !is_all(1.0)) return;
  attn::RandomState random(seed, attn::crc32(id));
  std::for_each(begin, end, [&](double& number) { number += 0.25 * random.standard_normal(); });
}

/// What is as the probe of the whole lesson has it becomes what that of the part has.
void take_probe_of_part(const Lesson& whole, const Lesson& part, Options& options) {
  for (const auto key : whole.options)
    if (key != "through" && !options.is_typed(key) &&
        config_of(options, {key}) == config_of(whole.defaults, {key}))
      restore(options, {key}, {}, config_of(part.probe->options, {key}));
  if (!options.has_texts()) options.sentence = part.probe->options.sentence;
}

/// The names of those that have a probe or a worksheet.
template <class Member>
std::string names_with(Member has, const std::vector<const Lesson*>& lessons,
                       std::string_view Lesson::*name = &Lesson::name) {
  std::vector<std::string_view> names;
  for (const auto* one : lessons)
    if (one->*has) names.push_back(one->*name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The lesson with the options of its probe or of its worksheet for defaults, on drawn numbers.
template <class Member>
Lesson lesson_on(Member has, std::string_view lack, const Lesson& lesson) {
  if (!(lesson.*has))
    throw attn::Error(fmt::format("{} {}; valid: {}", lesson.name, lack, names_with(has, all_lessons())));
  auto changed = lesson;
  changed.defaults = (lesson.*has)->options;
  changed.defaults.model = "none";
  return changed;
}

/// Sets what the options leave open. Returns the part of the lesson that they pick.
const Lesson& settle_for_probe(const Lesson& lesson, Options& options) {
  options.model = "none";
  const auto& part = part_of(lesson, options.through);
  if (!part.probe)
    throw attn::Error(fmt::format("{} --through {} has no probe; valid: --through {}", lesson.name,
                                  part.through, names_with(&Lesson::probe, lesson.parts, &Lesson::through)));
  if (!lesson.parts.empty()) take_probe_of_part(lesson, part, options);
  return part;
}

/// Options that would leave numbers which nobody works out by hand, or draw them in another way.
const std::set<std::string_view> beyond_paper = {"dropout", "rng",          "draws",      "dtype",
                                                 "model",   "weight-scale", "embeddings", "norm"};

/// A number drawn as normal(0, 1), made one that is easy to multiply with: half of the weights are 0, and a
/// sixth of the others.
double small_number(double drawn, Draw draw, Normaliser normaliser) {
  const bool is_weight = draw == Draw::weight || draw == Draw::left_weight;
  const double size = is_weight ? std::min(std::floor(0.74 * std::abs(drawn) + 0.5), 1.0)
                                : std::min(std::floor(1.3 * std::abs(drawn) + 0.7), 2.0);
  return normaliser == Normaliser::softmax && drawn < 0.0 && size > 0.0 ? -size : size;
}

attn::AnyTensor rounded_for_paper(const attn::Tapped& tapped, Draw draw, Normaliser normaliser) {
  attn::AnyTensor tensor({tapped.dtype, tapped.shape, tapped.elements});
  auto* numbers = tensor.elements<double>();
  for (std::size_t i = 0; i < attn::element_count(tapped.shape); ++i)
    numbers[i] = small_number(numbers[i], draw, normaliser);
  return tensor;
}

/// The shares along one axis of scores.
attn::AnyTensor shares_along(const attn::AnyTensor& scores, std::size_t axis) {
  auto shares = scores;
  const auto& shape = scores.shape();
  std::size_t stride = 1;
  for (auto after = axis + 1; after < shape.size(); ++after) stride *= shape[after];
  const auto* from = static_cast<const double*>(scores.view().data);
  for (std::size_t i = 0; i < attn::element_count(shape); ++i)
    if (i / stride % shape[axis] == 0)
      attn::sum_shares(from + i, shares.elements<double>() + i, shape[axis], stride);
  return shares;
}

/// One run in which weights are scores divided by the sum of their row, as its events say then.
class RunInSums : public attn::Sink {
 public:
  /// `next` receives the events; null where nobody does.
  explicit RunInSums(const std::map<std::string, std::string>& scores_of, attn::Sink* next = nullptr)
      : scores_of_(scores_of), next_(next) {}

  /// Puts shares in the place of the weights, and keeps the scores that later ones are made of: those that
  /// `then` leaves there.
  void take(const attn::Tapped& tapped, const attn::Watch& then) {
    if (const auto* const scores = attn::value_in(scores_of_, tapped.id))
      put_shares(tapped, scores_.at(*scores), then);
    else if (then)
      then(tapped);
    if (attn::any_of(scores_of_, [&](const auto& entry) { return entry.second == tapped.id; }))
      scores_.insert_or_assign(tapped.id, attn::AnyTensor({tapped.dtype, tapped.shape, tapped.elements}));
  }

  void receive(const attn::Event& event) override {
    const auto* const scores_id = attn::value_in(scores_of_, event.id);
    if (scores_id == nullptr) return next_->receive(event);
    auto in_sums = event;
    in_sums.formula.replace(0, std::string_view("softmax").size(), "shares");
    const auto& shape = event.tensor->shape;
    const auto entries = [id = *scores_id, &scores = scores_.at(*scores_id), shape](const attn::Index& at) {
      return attn::Worked({id, at}, attn::element_at({scores.dtype(), shape, scores.view().data}, at));
    };
    in_sums.worked = attn::worked_sum_shares(entries, shape.back());
    next_->receive(in_sums);
  }

 private:
  static void put_shares(const attn::Tapped& tapped, const attn::AnyTensor& scores, const attn::Watch& then) {
    const auto axis = tapped.shape.size() - 1;
    const auto shares = shares_along(scores, axis);
    const auto* numbers = static_cast<const double*>(shares.view().data);
    std::copy_n(numbers, attn::element_count(tapped.shape), static_cast<double*>(tapped.elements));
    if (!then) return;
    attn::Mistakes mistakes;
    if (tapped.axes.size() > 1)
      mistakes.emplace_back("softmax-axis", [&scores, axis] { return shares_along(scores, axis - 1); });
    then({tapped.kind, tapped.id, tapped.dtype, tapped.shape, tapped.elements, tapped.axes, mistakes,
          tapped.row});
  }

  const std::map<std::string, std::string>& scores_of_;
  attn::Sink* next_;
  std::map<std::string, attn::AnyTensor> scores_;
};

/// The plan with the inputs that the lesson draws with another seed, rounded.
Plan with_draws_of(std::uint32_t seed, const Plan& plan, Options options, Normaliser normaliser) {
  auto rounded = plan;
  options.seed = seed;
  const auto drawn = make_plan(*plan.lesson, options);
  run_watched(*plan.lesson, drawn, [&](const attn::Tapped& tapped) {
    if (tapped.kind != attn::Kind::input || plan.given.count(tapped.id) > 0) return;
    const auto input = find_input(*plan.lesson, plan.options, tapped.id);
    if (input && is_drawn(input->draw))
      rounded.given.emplace(tapped.id, attn::Given(rounded_for_paper(tapped, input->draw, normaliser)));
  });
  return rounded;
}

/// How many rows of the outputs are as one above them: from such a row nobody sees whether the weights are
/// right.
std::size_t repeated_rows(const Plan& plan, Normaliser normaliser) {
  std::size_t repeated = 0;
  WorksheetRun(plan, normaliser).watched([&](const attn::Tapped& tapped) {
    const std::string_view id = tapped.id;
    if (tapped.shape.size() < 2 || !(id == "output" || id.ends_with("/output") || id.ends_with("/context")))
      return;
    const auto* numbers = static_cast<const double*>(tapped.elements);
    const auto columns = tapped.shape.back(), rows = tapped.shape[tapped.shape.size() - 2];
    for (std::size_t row = 0; row < attn::element_count(tapped.shape) / columns; ++row)
      for (auto above = row - row % rows; above < row; ++above)
        if (std::equal(numbers + row * columns, numbers + (row + 1) * columns, numbers + above * columns,
                       [](double x, double y) { return std::abs(x - y) < 5e-3; })) {
          ++repeated;
          break;
        }
  });
  return repeated;
}

}  // namespace

std::shared_ptr<const Lesson> lesson_of_probe(const Lesson& lesson) {
  return std::make_shared<const Lesson>(lesson_on(&Lesson::probe, "has no probe", lesson));
}

Plan plan_of_probe(const Lesson& lesson, Options options, const attn::StoredTrace& inputs) {
  settle_for_probe(lesson, options);
  return make_plan(lesson, options, &inputs);
}

Plan plan_of_probe(const Lesson& lesson, Options options) {
  const auto& part = settle_for_probe(lesson, options);
  auto plan = make_plan(lesson, options);
  let_given_mask_decide(plan);
  auto inputs = inputs_of(plan);
  for (auto& [id, tensor] : inputs)
    if (attn::is_floating(tensor.dtype())) vary_untrained(id, tensor, plan.options.seed);
  if (part.probe->sharpen != nullptr) part.probe->sharpen(inputs, plan.options);
  for (auto& [id, tensor] : inputs) {
    if (!attn::is_floating(tensor.dtype())) continue;
    fill_padding(id, tensor, plan.options.seed);
    plan.given.insert_or_assign(id, attn::Given(tensor));
  }
  return plan;
}

attn::Tensors inputs_of(const Plan& plan) {
  attn::Tensors inputs;
  run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
    if (tapped.kind == attn::Kind::input)
      inputs.emplace(tapped.id, attn::AnyTensor({tapped.dtype, tapped.shape, tapped.elements}));
  });
  return inputs;
}

std::vector<attn::Prediction> steps_with(const attn::Hypothesis& mistakes, const Plan& plan) {
  return attn::Replay([&](const attn::Watch& watch) { run_watched(*plan.lesson, plan, watch); })
      .predict(mistakes);
}

std::vector<attn::Prediction> steps_with_input(const std::string& id, const attn::AnyTensor& other,
                                               const Plan& plan) {
  const auto rerun = [&](const attn::Watch& watch) {
    run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
      if (tapped.kind == attn::Kind::input && tapped.id == id)
        std::copy_n(static_cast<const double*>(other.view().data), attn::element_count(tapped.shape),
                    static_cast<double*>(tapped.elements));
      watch(tapped);
    });
  };
  return attn::Replay(rerun).predict();
}

std::vector<std::string> mistakes_of(const Plan& plan) {
  std::vector<std::string> ids;
  run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
    for (const auto& mistake : tapped.mistakes)
      if (!attn::contains(ids, mistake.id()) && mistake.result(nullptr)) ids.push_back(mistake.id());
  });
  return ids;
}

std::vector<std::string> results_of(const Plan& plan, const std::vector<attn::Prediction>& steps) {
  const auto& wanted = part_of(*plan.lesson, plan.options.through).probe->results;
  std::vector<std::string> results;
  for (const auto& step : steps)
    if (attn::contains(wanted, step.id)) results.push_back(step.id);
  if (results.empty()) results.push_back(steps.back().id);
  return results;
}

std::shared_ptr<const Lesson> lesson_of_worksheet(const Lesson& lesson) {
  auto changed = lesson_on(&Lesson::worksheet,
                           "has no worksheet: its numbers are too many or too odd for a pencil", lesson);
  changed.takes_batches = false;
  if (lesson.uses("weight-scale")) changed.defaults.weight_scale = "1";
  std::erase_if(changed.options, [](std::string_view option) { return beyond_paper.contains(option); });
  return std::make_shared<const Lesson>(changed);
}

WorksheetRun::WorksheetRun(const Plan& plan, Normaliser normaliser) : plan_(plan) {
  if (normaliser == Normaliser::softmax) return;
  attn::EachEvent finder([&](const attn::Event& event) {
    if (event.distribution && event.place && event.formula.starts_with("softmax(") &&
        event.inputs.size() == 1)
      scores_of_[event.id] = event.inputs.front();
  });
  run(*plan.lesson, plan, finder);
}

void WorksheetRun::tell(attn::Sink& sink) const {
  RunInSums sums(scores_of_, &sink);
  run(*plan_.lesson, plan_, sums, [&](const attn::Tapped& tapped) { sums.take(tapped, {}); });
}

void WorksheetRun::watched(const attn::Watch& watch) const {
  RunInSums sums(scores_of_);
  run_watched(*plan_.lesson, plan_, [&](const attn::Tapped& tapped) { sums.take(tapped, watch); });
}

Plan plan_of_worksheet(const Lesson& lesson, const Options& options, Normaliser normaliser) {
  constexpr std::size_t most_tries = 50;
  const auto plan = make_plan(lesson, options);
  auto best = with_draws_of(options.seed, plan, options, normaliser);
  auto fewest = repeated_rows(best, normaliser);
  for (std::size_t again = 1; again < most_tries && fewest > 0; ++again) {
    auto other = with_draws_of(attn::crc32(fmt::format("sheet {} again {}", options.seed, again)), plan,
                               options, normaliser);
    if (const auto repeated = repeated_rows(other, normaliser); repeated < fewest) {
      best = std::move(other);
      fewest = repeated;
    }
  }
  best.options.numbers = plan.header().text(attn::origin_of_numbers);
  return best;
}

}  // namespace lessons
