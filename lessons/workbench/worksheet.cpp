#include "lessons/workbench/worksheet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/random/random.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// Options that would leave numbers which nobody works out by hand, or draw them in another way.
bool is_beyond_paper(std::string_view option) {
  const std::set<std::string_view> beyond = {"dropout", "rng",          "draws",      "dtype",
                                             "model",   "weight-scale", "embeddings", "norm"};
  return beyond.count(option) > 0;
}

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

}  // namespace

std::shared_ptr<const Lesson> lesson_of_worksheet(const Lesson& lesson) {
  if (!lesson.worksheet) {
    std::vector<std::string_view> names;
    for (const auto* one : all_lessons())
      if (one->worksheet) names.push_back(one->name);
    throw attn::Error(
        fmt::format("{} has no worksheet: its numbers are too many or too odd for a pencil; valid: {}",
                    lesson.name, fmt::join(names, ", ")));
  }
  auto changed = lesson;
  changed.defaults = lesson.worksheet->options;
  changed.defaults.model = "none";
  changed.takes_batches = false;
  if (lesson.uses("weight-scale")) changed.defaults.weight_scale = "1";
  std::erase_if(changed.options, is_beyond_paper);
  return std::make_shared<const Lesson>(changed);
}

namespace {

/// Finds the steps on the page that are a softmax of one tensor.
class SoftmaxFinder : public attn::Sink {
 public:
  void receive(const attn::Event& event) override {
    if (event.distribution && event.place && event.formula.starts_with("softmax(") &&
        event.inputs.size() == 1)
      scores_of[event.id] = event.inputs.front();
  }
  std::map<std::string, std::string> scores_of;
};

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

/// The entries of a tensor of that shape, by its id.
attn::WorkedOut entries_of(const std::string& id, const attn::AnyTensor& tensor, const attn::Shape& shape) {
  return [id, &tensor, shape](const attn::Index& at) {
    return attn::Worked({id, at}, attn::element_at({tensor.dtype(), shape, tensor.view().data}, at));
  };
}

/// One run in which weights are scores divided by the sum of their row.
class RunInSums {
 public:
  explicit RunInSums(const std::map<std::string, std::string>& scores_of) : scores_of_(scores_of) {}

  /// Puts shares in the place of the weights, and keeps the scores that later ones are made of: those that
  /// `then` leaves there.
  void take(const attn::Tapped& tapped, const attn::Watch& then) {
    if (const auto weights = scores_of_.find(tapped.id); weights != scores_of_.end())
      put_shares(tapped, scores_.at(weights->second), then);
    else if (then)
      then(tapped);
    if (is_scores(tapped.id))
      scores_.insert_or_assign(tapped.id, attn::AnyTensor({tapped.dtype, tapped.shape, tapped.elements}));
  }

  /// The event as it is with sums.
  attn::Event in_words(attn::Event event) const {
    const auto weights = scores_of_.find(event.id);
    if (weights == scores_of_.end()) return event;
    event.formula.replace(0, std::string_view("softmax").size(), "shares");
    const auto& shape = event.tensor->shape;
    event.worked = attn::worked_sum_shares(entries_of(weights->second, scores_.at(weights->second), shape),
                                           shape.back());
    return event;
  }

 private:
  bool is_scores(const std::string& id) const {
    return std::any_of(scores_of_.begin(), scores_of_.end(),
                       [&](const auto& entry) { return entry.second == id; });
  }

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
  std::map<std::string, attn::AnyTensor> scores_;
};

/// Rewords the events of a run in sums on their way.
class SumWords : public attn::Sink {
 public:
  SumWords(attn::Sink& sink, const RunInSums& run) : sink_(sink), run_(run) {}
  void receive(const attn::Event& event) override { sink_.receive(run_.in_words(event)); }

 private:
  attn::Sink& sink_;
  const RunInSums& run_;
};

}  // namespace

WorksheetRun::WorksheetRun(const Plan& plan, Normaliser normaliser) : plan_(plan) {
  if (normaliser == Normaliser::softmax) return;
  SoftmaxFinder finder;
  run(*plan.lesson, plan, finder);
  scores_of_ = std::move(finder.scores_of);
}

void WorksheetRun::tell(attn::Sink& sink) const {
  RunInSums sums(scores_of_);
  SumWords words(sink, sums);
  run(*plan_.lesson, plan_, words, [&](const attn::Tapped& tapped) { sums.take(tapped, {}); });
}

void WorksheetRun::watched(const attn::Watch& watch) const {
  RunInSums sums(scores_of_);
  run_watched(*plan_.lesson, plan_, [&](const attn::Tapped& tapped) { sums.take(tapped, watch); });
}

namespace {

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
