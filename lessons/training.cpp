/// A training from beginning to end: a model with one head of attention learns to say sequences backwards,
/// with warm-up and clipping and without, with dropout and without; then each method on numbers of its own.
/// The lesson is the document training.md; here are its random numbers and the training, which computes the
/// document's formulas of the first step again and again.
/// Sources: Vaswani et al. 2017, section 5.3 (Adam with warm-up), Kingma and Ba 2015 (Adam), Pascanu et al.
/// 2013 (clipping), Srivastava et al. 2014 (dropout), Glorot and Bengio 2010 (Xavier), He et al. 2015.

#include "lessons/training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <xtensor/xmath.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xview.hpp>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/softmax.hpp"
#include "corpora/reverse.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/draws.hpp"

namespace lessons {

namespace {

using formula::Numbers;

/// How many vectors are sent through freshly drawn layers, and how many of them attend to each other.
constexpr std::size_t vectors = 256, attending = 16;

/// What the model learns, in the order in which it is drawn.
const std::array<std::string, 6> parameters = {"E", "P", "W_Q", "W_K", "W_V", "W_out"};

/// A copy of the elements, in order.
Numbers numbers_of(const formula::View& view) {
  const auto own = formula::owned_alone(view);
  Numbers numbers(own.shape);
  std::copy_n(static_cast<const double*>(own.data), numbers.size(), numbers.begin());
  return numbers;
}

/// `id` [sequence×position]: symbols, each uniform on those that there are.
Numbers drawn_sequences(Workbench& bench, const formula::Sheet& sheet, const std::string& id) {
  const auto positions = sheet.size_of("position");
  Numbers sequences(attn::Shape{sheet.size_of(id == "fresh" ? "fresh/sequence" : "sequence"), positions});
  auto& random = bench.random(id);
  for (auto place = sequences.begin(); place != sequences.end();) {
    const auto drawn = corpora::draw_reverse_of_length(random, positions, sheet.size_of("symbol")).source;
    place = std::copy(drawn.begin(), drawn.end(), place);
  }
  return sequences;
}

/// e c a g b d.
formula::View usual_sequence(DocumentRun&) {
  return owned_view(std::vector<std::size_t>{4, 2, 0, 6, 1, 3});
}

/// Names the symbols a, b, …, once it is known that the sequences have no others.
void name_symbols(DocumentRun& run) {
  const auto symbols = run.sheet().size_of("symbol");
  for (const std::string id : {"examples", "fresh", "shown"})
    for (const double symbol : numbers_of(run.sheet().tensor(id)))
      if (symbol < 0.0 || symbol >= static_cast<double>(symbols))
        throw attn::Error(fmt::format("{} has the symbol {:g}; valid: 0 to {}",
                                      run.bench().trace.given_name(id), symbol, symbols - 1));
  run.bench().trace.label("symbol", {{corpora::symbol_labels(symbols)}});
}

/// What one training has and another has not. With a rate of its own it takes rate · gradient from each
/// parameter, and has neither Adam nor clipping.
struct Settings {
  double warmup = 1.0, max_norm = 0.0, dropout = 0.0;
  std::optional<double> rate{};
};

/// What happened in a training.
struct Training {
  std::vector<double> loss{}, norm{};  ///< [step]: of the batch and of its gradient, before the step is made
  std::size_t halfway = 0;             ///< the first step whose loss is below half of guessing's, or the last
  std::vector<Numbers> midway{}, after{};  ///< the parameters before that step, and after the last one
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
    for (const auto& name : parameters)
      gradient.push_back(numbers_of(sheet_.tensor("first_step/" + formula::gradient_name(name))));
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

/// Adam (Kingma and Ba 2015, algorithm 1) on all parameters.
class Adam {
 public:
  explicit Adam(const std::vector<Numbers>& values) {
    for (const auto& x : values) m_.push_back(xt::zeros_like(x));
    v_ = m_;
  }

  void step(std::vector<Numbers>& values, const std::vector<Numbers>& gradient, double factor, double number,
            double rate) {
    const double m_correction = 1.0 - std::pow(0.9, number), v_correction = 1.0 - std::pow(0.98, number);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Numbers clipped = factor * gradient[i];
      m_[i] = 0.9 * m_[i] + (1.0 - 0.9) * clipped;
      v_[i] = 0.98 * v_[i] + (1.0 - 0.98) * clipped * clipped;
      values[i] -= rate * (m_[i] / m_correction) / (xt::sqrt(v_[i] / v_correction) + 1e-9);
    }
  }

 private:
  std::vector<Numbers> m_, v_;
};

/// Which attention weights a step keeps, divided by 1 − p.
Numbers kept(Workbench& bench, const formula::Sheet& sheet, std::size_t step, double p) {
  const auto n = sheet.size_of("query");
  auto& random = bench.random(fmt::format("dropout/step={}/dropout_mask", step));
  const auto mask = attn::dropout_mask<3>(random, p, {sheet.size_of("example"), n, n});
  return xt::cast<double>(mask) / (1.0 - p);
}

/// What clipping multiplies a gradient of this length by; `max_norm` may be infinite: nothing is clipped
/// then.
double factor_of(double norm, double max_norm) {
  return std::min(1.0, max_norm / (norm + 1e-6));
}

Training train(DocumentRun& run, const Settings& settings) {
  const auto& sheet = run.sheet();
  const auto steps = sheet.size_of("step");
  const double width = static_cast<double>(sheet.size_of("d_model"));
  const double guessing = std::log(static_cast<double>(sheet.size_of("symbol")));
  const auto examples = numbers_of(sheet.tensor("examples"));
  auto mute = run.bench().mute_training(settings.dropout);
  FirstStep first_step(sheet);
  Training training;
  for (const auto& name : parameters) training.after.push_back(numbers_of(sheet.tensor(name)));
  Adam adam(training.after);
  for (std::size_t step = 1; step <= steps; ++step) {
    first_step.set_parameters(training.after);
    first_step.set_batch(examples, (step - 1) * sheet.size_of("example") % examples.shape(0));
    if (settings.dropout > 0.0) first_step.set("first_step/kept", kept(mute, sheet, step, settings.dropout));
    first_step.compute("first_step/d_W_out");
    const auto gradient = first_step.gradient();
    training.loss.push_back(first_step.loss());
    training.norm.push_back(norm_of(gradient));
    if (training.halfway == 0 && (training.loss.back() < 0.5 * guessing || step == steps)) {
      training.halfway = step;
      training.midway = training.after;
    }
    if (settings.rate) {
      if (!std::isfinite(training.loss.back())) {
        training.loss.pop_back();
        break;
      }
      for (std::size_t i = 0; i < gradient.size(); ++i) training.after[i] -= *settings.rate * gradient[i];
      continue;
    }
    const double number = static_cast<double>(step);
    const double rate =
        std::pow(width, -0.5) * std::min(std::pow(number, -0.5), number * std::pow(settings.warmup, -1.5));
    adam.step(training.after, gradient, factor_of(training.norm.back(), settings.max_norm), number, rate);
  }
  training.loss.resize(steps, std::numeric_limits<double>::infinity());
  return training;
}

/// The share of the symbols of `fresh` that have the largest probability at their place, without dropout.
double share_right(const formula::Sheet& sheet, const Training& training) {
  const auto fresh = numbers_of(sheet.tensor("fresh"));
  const auto batch = sheet.size_of("example"), positions = fresh.shape(1);
  FirstStep model(sheet);
  model.set_parameters(training.after);
  double hits = 0.0;
  for (std::size_t first = 0; first < fresh.shape(0); first += batch) {
    model.set_batch(fresh, first);
    const Numbers likeliest = xt::argmax(numbers_of(model.compute("first_step/probabilities")), 2);
    for (std::size_t i = 0; i < std::min(batch, fresh.shape(0) - first); ++i)
      for (std::size_t j = 0; j < positions; ++j)
        hits += likeliest(i, j) == fresh(first + i, positions - 1 - j) ? 1.0 : 0.0;
  }
  return hits / static_cast<double>(fresh.size());
}

/// The trainings of a run, once one of their numbers is asked for: with warm-up and clipping, without the
/// one, without the other, and with dropout where there is some.
class Trainings {
 public:
  const std::vector<Training>& of(DocumentRun& run) {
    const auto& options = run.bench().options;
    const double warmup = static_cast<double>(*options.warmup), max_norm = *options.max_norm;
    if (all_.empty()) {
      all_ = {train(run, {warmup, max_norm, 0.0}), train(run, {1.0, max_norm, 0.0}),
              train(run, {warmup, std::numeric_limits<double>::infinity(), 0.0})};
      if (options.dropout > 0.0) all_.push_back(train(run, {warmup, max_norm, options.dropout}));
    }
    return all_;
  }

 private:
  std::vector<Training> all_;
};

/// One row [step] for each.
formula::View as_rows(const std::vector<std::vector<double>>& curves) {
  Numbers rows(attn::Shape{curves.size(), curves.front().size()});
  for (std::size_t i = 0; i < curves.size(); ++i) std::copy(curves[i].begin(), curves[i].end(), &rows(i, 0));
  return owned_view(std::move(rows));
}

/// How long a gradient is once it is clipped.
std::vector<double> clipped(std::vector<double> norms, double max_norm) {
  for (double& norm : norms) norm *= factor_of(norm, max_norm);
  return norms;
}

void add_trainings(Functions& functions) {
  const auto trainings = std::make_shared<Trainings>();
  using Curve = std::vector<double> Training::*;
  const auto curves_of = [trainings](DocumentRun& run, Curve curve) {
    std::vector<std::vector<double>> curves;
    for (const auto& training : trainings->of(run)) curves.push_back(training.*curve);
    return curves;
  };
  functions.tensors["losses"] = [=](DocumentRun& run) { return as_rows(curves_of(run, &Training::loss)); };
  functions.tensors["norms"] = [=](DocumentRun& run) { return as_rows(curves_of(run, &Training::norm)); };
  functions.tensors["loss_of_main"] = [trainings](DocumentRun& run) {
    return owned_view(trainings->of(run).front().loss);
  };
  functions.tensors["losses_but_without_clipping"] = [=](DocumentRun& run) {
    auto curves = curves_of(run, &Training::loss);
    curves.erase(curves.begin() + 2);
    return as_rows(curves);
  };
  functions.tensors["losses_without_adam"] = [](DocumentRun& run) {
    std::vector<std::vector<double>> curves;
    for (const double rate : numbers_of(run.sheet().tensor("descent/rates")))
      curves.push_back(train(run, {.rate = rate}).loss);
    return as_rows(curves);
  };
  functions.tensors["gradient_norms"] = [trainings](DocumentRun& run) {
    const auto& norm = trainings->of(run).front().norm;
    return as_rows({norm, clipped(norm, *run.bench().options.max_norm)});
  };
  functions.tensors["share_right"] = [trainings](DocumentRun& run) {
    const auto& all = trainings->of(run);
    std::vector<double> right;
    for (const auto& training : all) right.push_back(share_right(run.sheet(), training));
    return owned_view(right);
  };
  functions.tensors["halfway"] = [trainings](DocumentRun& run) {
    return owned_view(Numbers(static_cast<double>(trainings->of(run).front().halfway)));
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto of_main = [trainings, i](std::vector<Numbers> Training::*when) {
      return [trainings, i, when](DocumentRun& run) {
        return owned_view((trainings->of(run).front().*when)[i]);
      };
    };
    functions.tensors[parameters[i] + "_midway"] = of_main(&Training::midway);
    functions.tensors[parameters[i] + "_after"] = of_main(&Training::after);
  }
}

/// Whether the training starts from the numbers that are drawn, given or not.
bool starts_from_drawn(const DocumentRun& run) {
  const auto& bench = run.bench();
  if (bench.plan.given.empty()) return true;
  auto trace = bench.trace.mute();
  Workbench again(bench.plan, trace);
  const auto is_drawn = [&](const std::string& id) {
    const auto& tensor = run.sheet().tensor(id);
    const bool is_parameter = std::find(parameters.begin(), parameters.end(), id) != parameters.end();
    return numbers_of(tensor) ==
           (is_parameter ? Numbers(again.input<2>({.id = id}, {tensor.shape[0], tensor.shape[1]}))
                         : drawn_sequences(again, run.sheet(), id));
  };
  return is_drawn("examples") && is_drawn("fresh") &&
         std::all_of(parameters.begin(), parameters.end(), is_drawn);
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
  for (const auto& name : parameters) {
    found.push_back(numbers_of(run.sheet().tensor("first_step/" + formula::gradient_name(name))));
    gradients.push_back({name, {found.back().begin(), found.back().end()}});
  }
  const double norm = norm_of(found);
  if (norm == 0.0)
    return refuse("With these parameters it is 0: there is nothing to check, and nothing to learn from.");
  const auto losses = numbers_of(run.sheet().tensor("first_step/losses"));
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
std::pair<Counts, Counts> drawn_masks(DocumentRun& run) {
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
  const auto masks = std::make_shared<std::optional<std::pair<Counts, Counts>>>();
  const auto drawn = [masks](Counts std::pair<Counts, Counts>::*which) {
    return [masks, which](DocumentRun& run) {
      if (!*masks) *masks = drawn_masks(run);
      return owned_view((**masks).*which);
    };
  };
  functions.tensors["first_mask"] = drawn(&std::pair<Counts, Counts>::first);
  functions.tensors["times_kept"] = drawn(&std::pair<Counts, Counts>::second);
}

/// Quarters of the warm-up up to four times its length, each step once.
formula::View some_steps(DocumentRun& run) {
  std::vector<std::size_t> steps;
  for (std::size_t i = 0; i <= 16; ++i) steps.push_back((i * *run.bench().options.warmup + 2) / 4);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return owned_view(steps);
}

/// Vectors and layers that are drawn, with which the initialisations are compared.
class Layers {
 public:
  VarianceThroughLayers through(DocumentRun& run, const std::string& initialisation, Between between) {
    draw(run);
    return variance_through_layers(x_, Z_, scale(initialisation), between);
  }

  /// The first vectors attend to each other: softmax of x W_Q (x W_K)ᵀ / √d, before softmax.
  Tensor<2> scaled(DocumentRun& run, const std::string& initialisation) {
    draw(run);
    const auto d = x_.shape(1);
    if (Z_Q_.size() == 0) {
      Z_Q_ = run.bench().normal<2>("initialisation/Z_Q", {d, d});
      Z_K_ = run.bench().normal<2>("initialisation/Z_K", {d, d});
    }
    const Tensor<2> x = xt::view(x_, xt::range(0, attending));
    const double s = scale(initialisation);
    const Tensor<2> Q = s * attn::matmul_in_order(x, Z_Q_), K = s * attn::matmul_in_order(x, Z_K_);
    return attn::matmul_in_order(Q, attn::transpose(K)) / std::sqrt(static_cast<double>(d));
  }

 private:
  double scale(const std::string& initialisation) const {
    return standard_deviation(initialisation, x_.shape(1), x_.shape(1));
  }

  void draw(DocumentRun& run) {
    if (x_.size() > 0) return;
    const auto d = run.sheet().size_of("d_model");
    x_ = run.bench().normal<2>("initialisation/x", {vectors, d});
    Z_ = run.bench().normal<3>("initialisation/Z", {*run.bench().options.layers, d, d});
  }

  Tensor<2> x_{}, Z_Q_{}, Z_K_{};
  Tensor<3> Z_{};
};

void add_initialisations(Functions& functions) {
  const auto layers = std::make_shared<Layers>();
  const auto variance = [layers](const std::string& initialisation, Between between) {
    return
        [=](DocumentRun& run) { return owned_view(layers->through(run, initialisation, between).variance); };
  };
  functions.tensors["xavier_variance"] = variance("xavier", Between::nothing);
  functions.tensors["he_variance"] = variance("he", Between::nothing);
  functions.tensors["fixed_variance"] = variance("0.02", Between::nothing);
  functions.tensors["xavier_relu_variance"] = variance("xavier", Between::relu);
  functions.tensors["he_relu_variance"] = variance("he", Between::relu);
  functions.tensors["xavier_standard_error"] = [layers](DocumentRun& run) {
    return owned_view(layers->through(run, "xavier", Between::nothing).standard_error);
  };
  const auto of_scores = [layers](double (*measure)(const Tensor<2>& scaled)) {
    return [layers, measure](DocumentRun& run) {
      std::vector<double> measured;
      for (const std::string initialisation : {"xavier", "he", "0.02"})
        measured.push_back(measure(layers->scaled(run, initialisation)));
      return owned_view(measured);
    };
  };
  functions.tensors["score_std"] =
      of_scores([](const Tensor<2>& scaled) { return std::sqrt(xt::mean(scaled * scaled)()); });
  functions.tensors["entropy_before_training"] =
      of_scores([](const Tensor<2>& scaled) { return attn::mean_entropy(attn::softmax(scaled)); });
}

/// The code that draws what is drawn here.
std::string recipe(const DocumentRun& run) {
  const auto& options = run.bench().options;
  const auto& sheet = run.sheet();
  const DrawCode code{options};
  const auto quoted = [](const std::string& name) { return '"' + name + '"'; };
  const auto normal = [&](const std::string& name, const std::string& shape) {
    return code.normal(quoted(name), shape);
  };
  const auto symbols = sheet.size_of("symbol"), positions = sheet.size_of("position");
  std::vector<std::string> lines = {code.begin()};
  for (const std::string id : {"examples", "fresh"}) {
    const auto sequences = sheet.size_of(id == "fresh" ? "fresh/sequence" : "sequence");
    lines.push_back(fmt::format(
        "{} = {}", id, code.integers(quoted(id), symbols, fmt::format("({}, {})", sequences, positions))));
  }
  const auto d = *options.d_model, d_k = sheet.size_of("d_k"), d_v = sheet.size_of("d_v");
  const std::size_t shapes[][2] = {{symbols, d}, {positions, d}, {d, d_k},
                                   {d, d_k},     {d, d_v},       {d_v, symbols}};
  for (std::size_t i = 0; i < parameters.size(); ++i)
    lines.push_back(fmt::format("{} = {} * (1 / {} ** 0.5)", parameters[i],
                                normal(parameters[i], fmt::format("({}, {})", shapes[i][0], shapes[i][1])),
                                shapes[i][0]));
  const auto square = fmt::format("({0}, {0})", d);
  const auto keys = sheet.size_of("dropout/key");
  lines.insert(
      lines.end(),
      {"scores = " + normal("dropout/scores", fmt::format("{}", keys)),
       "masks = " + code.binomial(quoted("dropout/mask"), fmt::format("1 - {:g}", options.dropout),
                                  fmt::format("({}, {})", *options.samples, keys)),
       "x = " + normal("initialisation/x", fmt::format("({}, {})", vectors, d)),
       "Z = " + normal("initialisation/Z", fmt::format("({}, {}, {})", *options.layers, d, d)),
       "Z_Q = " + normal("initialisation/Z_Q", square), "Z_K = " + normal("initialisation/Z_K", square),
       "gradients = " +
           normal("clipping/gradients", fmt::format("({}, {})", *options.layers, sheet.size_of("feature")))});
  return fmt::format("{}", fmt::join(lines, "\n"));
}

void run_training(Workbench& bench) {
  const auto& options = bench.options;
  const auto draw = [](const std::string& id) {
    return [id](DocumentRun& run) {
      auto view = owned_view(drawn_sequences(run.bench(), run.sheet(), id));
      view.is_whole = true;
      return view;
    };
  };
  Functions functions = {
      .actions = {{"name_symbols", name_symbols}},
      .claims = {{"first-gradient", claim_first_gradient}},
      .texts = {{"recipe", recipe},
                {"library", [&](const DocumentRun&) { return std::string(DrawCode{options}.library()); }}},
      .tensors = {{"drawn_examples", draw("examples")},
                  {"drawn_fresh", draw("fresh")},
                  {"usual_sequence", usual_sequence},
                  {"some_steps", some_steps},
                  {"learns", learns}}};
  add_trainings(functions);
  add_masks(functions);
  add_initialisations(functions);
  DocumentRun run(bench, functions);
  run.tell();
}

}  // namespace

const LessonCode training_code = {.run = run_training};

}  // namespace lessons
