/// A training from beginning to end: a model with one head of attention learns to say sequences backwards,
/// with warm-up and clipping and without, with dropout and without; then each method on numbers of its own.
/// The lesson is the document training.md; here are its random numbers and the training, which computes the
/// document's formulas of the first step again and again.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <xtensor/xmath.hpp>
#include <xtensor/xsort.hpp>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "corpora/sequences.hpp"
#include "formula/entrywise.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

using formula::Numbers;

/// What the model learns, in the order in which it is drawn.
const std::vector<std::string> parameters = {"E", "P", "W_Q", "W_K", "W_V", "W_out"};

/// `id` [sequence×position]: symbols, each uniform on those that there are.
Numbers drawn_sequences(Workbench& bench, const formula::Sheet& sheet, const std::string& id) {
  const auto positions = sheet.size_of("position");
  Numbers sequences(attn::Shape{sheet.size_of(id == "fresh" ? "fresh/sequence" : "sequence"), positions});
  auto& random = bench.random(id);
  for (auto place = sequences.begin(); place != sequences.end();) {
    const auto drawn = corpora::draw_reverse(random, positions, sheet.size_of("symbol"));
    place = std::copy(drawn.begin(), drawn.end(), place);
  }
  return sequences;
}

/// Names the symbols a, b, …, once it is known that the sequences have no others.
void name_symbols(DocumentRun& run) {
  const auto symbols = run.sheet().size_of("symbol");
  for (const std::string id : {"examples", "fresh", "shown"})
    for (const double symbol : formula::numbers_in_order(run.sheet().tensor(id)))
      if (symbol < 0.0 || symbol >= static_cast<double>(symbols))
        throw attn::Error(fmt::format("{} has the symbol {:g}; valid: 0 to {}",
                                      run.bench().trace.given_name(id), symbol, symbols - 1));
  run.bench().trace.label("symbol", {{corpora::symbol_labels(symbols)}});
}

/// What one training has and another has not. With a rate of its own it takes rate · gradient from each
/// parameter, and has neither Adam nor clipping.
struct Settings {
  double warmup = 1.0;
  double max_norm = 0.0;  ///< that clipping leaves a gradient; infinite: nothing is clipped
  double dropout = 0.0;
  std::optional<double> rate{};
};

/// What happened in a training.
struct Training {
  std::vector<double> loss{}, norm{};  ///< [step]: of the batch and of its gradient, before the step is made
  /// The parameters before the first step whose loss is below half of guessing's, or before the last; and
  /// after the last.
  std::vector<Numbers> midway{}, after{};
};

/// The document's formulas of the first step, for any batch and any parameters.
class FirstStep {
 public:
  explicit FirstStep(const formula::Sheet& sheet) : sheet_(sheet) {
    for (const auto& step : sheet.definitions()) {
      if (step.name == "first_step/norm") break;
      const bool is_replaced = step.name == "first_step/symbols" || step.name == "first_step/kept";
      if (step.name.starts_with("first_step/") && !is_replaced) steps_.push_back(step);
    }
  }

  void set(const std::string& name, Numbers numbers) {
    auto view = owned_view(std::move(numbers));
    view.axes = sheet_.tensor(name).axes;
    sheet_.set(name, std::move(view));
  }

  void set_parameters(const std::vector<Numbers>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) set(parameters[i], values[i]);
  }

  /// The rows of `sequences` from `first` on; behind the last comes the first again.
  void set_batch(const Numbers& sequences, std::size_t first) {
    Numbers batch(attn::Shape{sheet_.size_of("example"), sequences.shape(1)});
    for (std::size_t i = 0; i < batch.shape(0); ++i)
      for (std::size_t j = 0; j < batch.shape(1); ++j)
        batch(i, j) = sequences((first + i) % sequences.shape(0), j);
    set("first_step/symbols", std::move(batch));
  }

  /// Computes all steps up to this one.
  const formula::View& compute(const std::string& last) {
    for (const auto& step : steps_) {
      sheet_.set(step.name, sheet_.value(step));
      if (step.name == last) break;
    }
    return sheet_.tensor(last);
  }

  double loss() const { return sheet_.tensor("first_step/loss").at({}); }

  std::vector<Numbers> gradient() const {
    std::vector<Numbers> gradient;
    for (const auto& parameter : parameters)
      gradient.push_back(formula::numbers_in_order(sheet_.tensor("first_step/d_" + parameter)));
    return gradient;
  }

 private:
  formula::Sheet sheet_;
  std::vector<formula::Definition> steps_;
};

double norm_of(const std::vector<Numbers>& tensors) {
  double sum = 0.0;
  for (const auto& x : tensors) sum += xt::sum(x * x)();
  return std::sqrt(sum);
}

/// Which attention weights a step keeps, divided by 1 − p.
Numbers kept(Workbench& bench, const formula::Sheet& sheet, std::size_t step, double p) {
  const auto n = sheet.size_of("query");
  auto& random = bench.random(fmt::format("dropout/step={}/dropout_mask", step));
  const auto mask = attn::dropout_mask<3>(random, p, {sheet.size_of("example"), n, n});
  return xt::cast<double>(mask) / (1.0 - p);
}

Training train(const DocumentRun& run, const Settings& settings) {
  const auto& sheet = run.sheet();
  const auto steps = sheet.size_of("step");
  const double width = static_cast<double>(sheet.size_of("d_model"));
  const double guessing = std::log(static_cast<double>(sheet.size_of("symbol")));
  const auto examples = formula::numbers_in_order(sheet.tensor("examples"));
  auto mute = run.bench().mute();
  FirstStep first_step(sheet);
  Training training;
  for (const auto& parameter : parameters)
    training.after.push_back(formula::numbers_in_order(sheet.tensor(parameter)));
  std::vector<Numbers> m, v;  // of Adam (Kingma and Ba 2015, algorithm 1)
  for (const auto& x : training.after) m.push_back(xt::zeros_like(x));
  v = m;
  for (std::size_t step = 1; step <= steps; ++step) {
    first_step.set_parameters(training.after);
    first_step.set_batch(examples, (step - 1) * sheet.size_of("example") % examples.shape(0));
    if (settings.dropout > 0.0) first_step.set("first_step/kept", kept(mute, sheet, step, settings.dropout));
    first_step.compute("first_step/d_W_out");
    const auto gradient = first_step.gradient();
    if (settings.rate && !std::isfinite(first_step.loss())) break;
    training.loss.push_back(first_step.loss());
    training.norm.push_back(norm_of(gradient));
    if (training.midway.empty() && (training.loss.back() < 0.5 * guessing || step == steps))
      training.midway = training.after;
    if (settings.rate) {
      for (std::size_t i = 0; i < gradient.size(); ++i) training.after[i] -= *settings.rate * gradient[i];
      continue;
    }
    const double number = static_cast<double>(step);
    const double rate =
        std::pow(width, -0.5) * std::min(std::pow(number, -0.5), number * std::pow(settings.warmup, -1.5));
    const double m_correction = 1.0 - std::pow(0.9, number), v_correction = 1.0 - std::pow(0.98, number);
    const double factor = std::min(1.0, settings.max_norm / (training.norm.back() + 1e-6));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const Numbers clipped = factor * gradient[i];
      m[i] = 0.9 * m[i] + (1.0 - 0.9) * clipped;
      v[i] = 0.98 * v[i] + (1.0 - 0.98) * clipped * clipped;
      training.after[i] -= rate * (m[i] / m_correction) / (xt::sqrt(v[i] / v_correction) + 1e-9);
    }
  }
  training.loss.resize(steps, std::numeric_limits<double>::infinity());
  return training;
}

/// The share of the symbols of `fresh` that have the largest probability at their place, without dropout.
double share_right(const formula::Sheet& sheet, const Training& training) {
  const auto fresh = formula::numbers_in_order(sheet.tensor("fresh"));
  const auto batch = sheet.size_of("example"), positions = fresh.shape(1);
  FirstStep model(sheet);
  model.set_parameters(training.after);
  double hits = 0.0;
  for (std::size_t first = 0; first < fresh.shape(0); first += batch) {
    model.set_batch(fresh, first);
    const Numbers likeliest =
        xt::argmax(formula::numbers_in_order(model.compute("first_step/probabilities")), 2);
    for (std::size_t i = 0; i < std::min(batch, fresh.shape(0) - first); ++i)
      for (std::size_t j = 0; j < positions; ++j)
        hits += likeliest(i, j) == fresh(first + i, positions - 1 - j) ? 1.0 : 0.0;
  }
  return hits / static_cast<double>(fresh.size());
}

/// With warm-up and clipping, without the one, without the other, and with dropout where there is some.
std::vector<Training> trainings_of(const DocumentRun& run) {
  const auto& options = run.bench().options;
  const double warmup = static_cast<double>(*options.warmup), max_norm = *options.max_norm;
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  std::vector<Training> all = {train(run, {warmup, max_norm, 0.0}), train(run, {1.0, max_norm, 0.0}),
                               train(run, {warmup, no_limit, 0.0})};
  if (options.dropout > 0.0) all.push_back(train(run, {warmup, max_norm, options.dropout}));
  return all;
}

/// One row [step] of each.
formula::View curves_of(const std::vector<Training>& trainings, std::vector<double> Training::*curve) {
  std::vector<std::vector<double>> rows;
  for (const auto& training : trainings) rows.push_back(training.*curve);
  return owned_view(numbers_in_rows(rows));
}

formula::View losses_without_adam(DocumentRun& run) {
  std::vector<Training> trainings;
  for (const double rate : formula::numbers_in_order(run.sheet().tensor("descent/rates")))
    trainings.push_back(train(run, {.rate = rate}));
  return curves_of(trainings, &Training::loss);
}

/// The model learns once the first of these numbers is asked for.
void add_trainings(Functions& functions) {
  const auto trainings = once(trainings_of);
  functions.tensors["losses"] = [=](DocumentRun& run) { return curves_of(trainings(run), &Training::loss); };
  functions.tensors["norms"] = [=](DocumentRun& run) { return curves_of(trainings(run), &Training::norm); };
  functions.tensors["losses_without_adam"] = losses_without_adam;
  functions.tensors["share_right"] = [=](DocumentRun& run) {
    std::vector<double> right;
    for (const auto& training : trainings(run)) right.push_back(share_right(run.sheet(), training));
    return owned_view(right);
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    functions.tensors[parameters[i] + "_midway"] = [=](DocumentRun& run) {
      return owned_view(trainings(run).front().midway[i]);
    };
    functions.tensors[parameters[i] + "_after"] = [=](DocumentRun& run) {
      return owned_view(trainings(run).front().after[i]);
    };
  }
}

/// Whether the training starts from the numbers that are drawn, given or not.
bool starts_from_drawn(const DocumentRun& run) {
  const auto& bench = run.bench();
  if (bench.plan.given.empty()) return true;
  auto trace = bench.trace.mute();
  Workbench again(bench.plan, trace);
  const auto is = [&](const std::string& id, const Numbers& drawn) {
    return formula::numbers_in_order(run.sheet().tensor(id)) == drawn;
  };
  return is("examples", drawn_sequences(again, run.sheet(), "examples")) &&
         is("fresh", drawn_sequences(again, run.sheet(), "fresh")) &&
         std::all_of(parameters.begin(), parameters.end(), [&](const auto& name) {
           return is(name, again.input({.id = name}, run.sheet().tensor(name).shape));
         });
}

/// Whether every seed that was tried learns so, with such settings, from numbers that are drawn: 1 or 0.
formula::View learns(DocumentRun& run) {
  const auto& options = run.bench().options;
  const bool is_usual = *options.d_model >= 16 && *options.d_model <= 128 && *options.warmup >= 4 &&
                        *options.warmup <= 50 && *options.max_norm >= 0.1;
  return owned_view(Numbers(is_usual && starts_from_drawn(run) ? 1.0 : 0.0));
}

/// The claim that the gradient of the first step is that of its loss, each parameter moved in its place; a
/// note where that would say nothing.
void claim_first_gradient(DocumentRun& run, const ToClaim& claim) {
  auto& bench = run.bench();
  const auto refuse = [&](const std::string& why) {
    bench.trace.note(claim.id, "The first gradient is not checked", why);
  };
  Gradients gradients;
  std::vector<Numbers> found;
  for (const auto& parameter : parameters) {
    found.push_back(formula::numbers_in_order(run.sheet().tensor("first_step/d_" + parameter)));
    gradients.push_back({parameter, {found.back().begin(), found.back().end()}});
  }
  const double norm = norm_of(found);
  if (norm == 0.0)
    return refuse("With these parameters it is 0: there is nothing to check, and nothing to learn from.");
  const auto losses = formula::numbers_in_order(run.sheet().tensor("first_step/losses"));
  if (!(xt::amax(losses)() < -std::log(attn::smallest_normal(attn::Dtype::float64))))
    return refuse(
        "With parameters as large as these the probability of a right symbol is 0 in float64, or so small "
        "that digits are lost, or no number at all: its −log says little.");
  const auto check = check_by_moving(
      bench, run.sheet(), {.curved = {"first_step/scaled", "first_step/logits"}, .loss = "first_step/loss"},
      gradients);
  double deviation = 0.0, allowed = 0.0;
  for (const auto& one : check.deviations) {
    deviation = attn::maximum({deviation, one.deviation / norm});
    allowed = attn::maximum({allowed, one.allowed / norm});
  }
  if (allowed > 0.01)
    return refuse(
        fmt::format("A difference of L may be off by {}, relative to the gradient: whether the two "
                    "agree would say nothing.",
                    roughly_at_most(allowed).bound));
  bench.trace.claim(
      {.id = claim.id,
       .claim = claim.words,
       .formula = "max |(L(W + h·s) − L(W − h·s)) / 2h − Σ d_W·s| / ‖gradient‖, s = ±1, for each W",
       .value = deviation,
       .limit = roughly_at_most(allowed)});
}

using Counts = std::vector<std::int64_t>;

/// The first mask of a run, and how often each key is kept by all of them, one after another, as
/// np.random.binomial(1, 1 - p, (samples, keys)) draws them.
std::pair<Counts, Counts> drawn_masks(const DocumentRun& run) {
  const auto& options = run.bench().options;
  const auto keys = run.sheet().size_of("dropout/key");
  auto& random = run.bench().random("dropout/mask");
  Counts first, kept(keys, 0);
  for (std::size_t sample = 0; sample < *options.samples; ++sample) {
    const auto mask = attn::dropout_mask<1>(random, options.dropout, {keys});
    if (sample == 0) first.assign(mask.begin(), mask.end());
    std::transform(mask.begin(), mask.end(), kept.begin(), kept.begin(), std::plus<>());
  }
  return {first, kept};
}

void add_masks(Functions& functions) {
  const auto masks = once(drawn_masks);
  functions.tensors["first_mask"] = [=](DocumentRun& run) { return owned_view(masks(run).first); };
  functions.tensors["times_kept"] = [=](DocumentRun& run) { return owned_view(masks(run).second); };
}

/// Quarters of the warm-up up to four times its length, each step once.
formula::View some_steps(DocumentRun& run) {
  std::vector<std::size_t> steps;
  for (std::size_t i = 0; i <= 16; ++i) steps.push_back((i * *run.bench().options.warmup + 2) / 4);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return owned_view(steps);
}

void prepare_training(DocumentRun&, Functions& functions) {
  const auto draw = [](const std::string& id) {
    return [id](DocumentRun& now) {
      auto view = owned_view(drawn_sequences(now.bench(), now.sheet(), id));
      view.is_whole = true;
      return view;
    };
  };
  functions.actions["name_symbols"] = name_symbols;
  functions.claims["first-gradient"] = claim_first_gradient;
  functions.tensors["drawn_examples"] = draw("examples");
  functions.tensors["drawn_fresh"] = draw("fresh");
  functions.tensors["usual_sequence"] = [](DocumentRun&) {
    return owned_view(std::vector<std::size_t>{4, 2, 0, 6, 1, 3});  // e c a g b d
  };
  functions.tensors["some_steps"] = some_steps;
  functions.tensors["learns"] = learns;
  add_trainings(functions);
  add_masks(functions);
}

}  // namespace

const LessonCode training_code = {.prepare = prepare_training};

}  // namespace lessons
