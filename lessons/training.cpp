/// Dropout, initialisation, warm-up and gradient clipping, and what each does. Sources: Srivastava et
/// al. 2014 (dropout), Glorot and Bengio 2010 (Xavier), He et al. 2015, Vaswani et al. 2017, section 5.3
/// (warm-up), Pascanu et al. 2013 (clipping).

#include "lessons/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

/// step · warmup^−1.5.
double rising_rate(std::int64_t step, std::int64_t warmup) {
  return static_cast<double>(step) * std::pow(static_cast<double>(warmup), -1.5);
}

/// step^−0.5; infinite for step 0.
double falling_rate(std::int64_t step) {
  return std::pow(static_cast<double>(step), -0.5);
}

/// d_model^−0.5 · min(falling, rising).
double lower_rate(double rising, double falling, std::int64_t d_model) {
  return std::pow(static_cast<double>(d_model), -0.5) * std::min(falling, rising);
}

Tensor<1> lower_rate(const Tensor<1>& rising, const Tensor<1>& falling, std::int64_t d_model) {
  Tensor<1> rate(rising.shape());
  for (std::size_t i = 0; i < rate.size(); ++i) rate(i) = lower_rate(rising(i), falling(i), d_model);
  return rate;
}

template <class Function>
Tensor<1> of_each(const Integers<1>& steps, Function f) {
  Tensor<1> result(steps.shape());
  std::transform(steps.begin(), steps.end(), result.begin(), f);
  return result;
}

/// Quarters of the warm-up up to four times its length, each step once.
Integers<1> steps_to_show(std::int64_t warmup) {
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i <= 16; ++i) steps.push_back((i * warmup + 2) / 4);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  auto result = Integers<1>::from_shape({steps.size()});
  std::copy(steps.begin(), steps.end(), result.begin());
  return result;
}

/// Some steps of training and their learning rates.
struct Schedule {
  Integers<1> steps;  ///< [step]
  Tensor<1> rate;     ///< [step]
};

Schedule show_schedule(Workbench& bench) {
  const auto d_model = static_cast<std::int64_t>(bench.d_model());
  const auto warmup = static_cast<std::int64_t>(*bench.options.warmup);
  const auto steps = steps_to_show(warmup);
  const auto peak = static_cast<std::size_t>(std::find(steps.begin(), steps.end(), warmup) - steps.begin());
  std::vector<std::string> names;
  for (const auto step : steps) names.push_back(fmt::format("{}", step));
  auto& trace = bench.trace;
  trace.settled_input({.id = "step", .title = "Some steps of training", .axes = {"step"}}, steps);
  trace.label("step", {{names}});
  bench.code(
      {fmt::format("d_model, warmup = {}, {}", d_model, warmup),
       "with np.errstate(divide=\"ignore\"):    # inf at step 0, where rising is 0",
       "    schedule_falling = schedule_step ** -0.5", "schedule_rising = schedule_step * warmup ** -1.5",
       "lower = np.minimum(schedule_falling, schedule_rising)", "schedule_rate = d_model ** -0.5 * lower"});
  const auto rising =
      trace.step({.id = "rising",
                  .title = "The rising part of the learning rate: a straight line",
                  .formula = fmt::format("step · warmup^−1.5 = step · {}^−1.5", warmup),
                  .from = {"step"},
                  .axes = {"step"},
                  .worked =
                      [&](const attn::Index& at) {
                        return attn::Worked::product(
                            {attn::whole_entry("step", steps, at), pow(static_cast<double>(warmup), -1.5)});
                      }},
                 of_each(steps, [&](std::int64_t step) { return rising_rate(step, warmup); }));
  const auto falling = trace.step(
      {.id = "falling",
       .title = "The falling part of the learning rate",
       .formula = "step^−0.5",
       .from = {"step"},
       .axes = {"step"},
       .note = "For step 0 it is infinite, and in Python 0 ** -0.5 is a ZeroDivisionError: code "
               "that computes the "
               "formula has to count from 1, or to take the minimum with the line, which is 0.",
       .worked = [&](const attn::Index& at) { return pow(attn::whole_entry("step", steps, at), -0.5); }},
      of_each(steps, falling_rate));
  const auto rate =
      trace.step({.id = "rate",
                  .title = "The learning rate",
                  .formula = fmt::format("{}^−0.5 · min(falling, rising)", d_model),
                  .from = {"rising", "falling"},
                  .axes = {"step"},
                  .note = fmt::format("#{} is step {}, the peak: (d_model · warmup)^−0.5 = {:.6f}.", peak,
                                      warmup, learning_rate(warmup, d_model, warmup)),
                  .curve = true,
                  .worked =
                      [&](const attn::Index& at) {
                        const attn::Known<1> up = {"rising", rising}, down = {"falling", falling};
                        const auto lower = std::isfinite(falling(at[0])) ? min(down(at), up(at)) : up(at);
                        return attn::Worked::product({pow(static_cast<double>(d_model), -0.5), lower});
                      },
                  .worked_at = attn::Index{peak}},
                 lower_rate(rising, falling, d_model));
  return {steps, rate};
}

/// What PyTorch adds to the norm, so that it never divides by 0.
constexpr double beside_norm = 1e-6;

void require_positive(const char* op, const char* name, double value) {
  if (!(value > 0.0))
    throw std::invalid_argument(fmt::format("[{}] {} is {}: it must be above 0", op, name, value));
}

/// x times a power of two, which changes no digit, so that its largest number is near 1.
Tensor<2> near_1(const Tensor<2>& x) {
  const double largest = attn::max_abs(x);
  if (largest == 0.0 || !std::isfinite(largest)) return x;
  const int exponent = std::ilogb(largest);
  Tensor<2> result(x.shape());
  std::transform(x.begin(), x.end(), result.begin(),
                 [exponent](double element) { return std::ldexp(element, -exponent); });
  return result;
}

Tensor<2> times(double factor, const Tensor<2>& x) {
  Tensor<2> product(x.shape());
  std::transform(x.begin(), x.end(), product.begin(), [factor](double element) { return factor * element; });
  return product;
}

Tensor<2> as_row(const Tensor<1>& x) {
  auto row = Tensor<2>::from_shape({1, x.size()});
  std::copy(x.begin(), x.end(), row.begin());
  return row;
}

Tensor<1> norms_of_rows(const Tensor<2>& x) {
  auto norms = Tensor<1>::from_shape({x.shape(0)});
  for (std::size_t i = 0; i < x.shape(0); ++i) norms(i) = norm_of(attn::rows(x, i, i + 1));
  return norms;
}

}  // namespace

double learning_rate(std::int64_t step, std::int64_t d_model, std::int64_t warmup) {
  if (step < 0 || d_model < 1 || warmup < 1)
    throw std::invalid_argument(fmt::format(
        "[learning_rate] step is {}, d_model {}, warmup {}: a step is at least 0, the others are at least 1",
        step, d_model, warmup));
  return lower_rate(rising_rate(step, warmup), falling_rate(step), d_model);
}

std::int64_t step_of_largest(const Integers<1>& steps, const Tensor<1>& rates) {
  if (steps.size() != rates.size() || steps.size() == 0)
    throw std::invalid_argument(
        fmt::format("[step_of_largest] there are {} steps and {} rates: there must be as many "
                    "rates as steps, and at least one",
                    steps.size(), rates.size()));
  return *(steps.begin() + (std::max_element(rates.begin(), rates.end()) - rates.begin()));
}

Tensor<2> clip_by_norm(Workbench& bench, const Tensor<2>& gradients, double max_norm) {
  require_positive("clip_by_norm", "max_norm", max_norm);
  auto& trace = bench.trace;
  const auto layer_norms =
      trace.step({.id = "layer_norms",
                  .title = "The length of each layer's gradient",
                  .formula = "√(Σ g²) of each layer",
                  .from = {"gradients"},
                  .axes = {"layer"},
                  .worked =
                      [&](const attn::Index& at) {
                        std::vector<attn::Worked> squares;
                        for (std::size_t c = 0; c < gradients.shape(1); ++c)
                          squares.push_back(square(attn::Known<2>{"gradients", gradients}({at[0], c})));
                        return sqrt(attn::Worked::sum(std::move(squares)));
                      }},
                 norms_of_rows(gradients));
  const auto norm =
      trace.step({.id = "norm",
                  .title = "The length of all as one vector",
                  .formula = "√(Σ layer_norms²)",
                  .from = {"layer_norms"},
                  .worked =
                      [&](const attn::Index&) {
                        std::vector<attn::Worked> squares;
                        for (std::size_t l = 0; l < layer_norms.size(); ++l)
                          squares.push_back(square(attn::Known<1>{"layer_norms", layer_norms}({l})));
                        return sqrt(attn::Worked::sum(std::move(squares)));
                      }},
                 norm_of(as_row(layer_norms)));
  const auto factor = trace.step(
      {.id = "factor",
       .title = "One factor for all gradients",
       .formula = fmt::format("min(1, max_norm / (norm + 1e-6)), max_norm {:g}", max_norm),
       .from = {"norm"},
       .note = "1 where the gradient is short enough, as in torch.nn.utils.clip_grad_norm_.",
       .worked =
           [&](const attn::Index&) {
             const auto beside = attn::Worked::sum({attn::Worked({"norm", {}}, norm), beside_norm});
             return min(1.0, attn::Worked(max_norm) / beside);
           }},
      std::min(1.0, max_norm / (norm + beside_norm)));
  return trace.step({.id = "clipped",
                     .title = "Shorter, in the same direction",
                     .formula = "factor · gradients",
                     .from = {"factor", "gradients"},
                     .axes = {"layer", "feature"},
                     .worked =
                         [&](const attn::Index& at) {
                           return attn::Worked::product({attn::Worked({"factor", {}}, factor),
                                                         attn::Known<2>{"gradients", gradients}(at)});
                         }},
                    times(factor, gradients));
}

Tensor<2> clip_by_value(const Tensor<2>& gradients, double limit) {
  require_positive("clip_by_value", "limit", limit);
  Tensor<2> clipped(gradients.shape());
  std::transform(gradients.begin(), gradients.end(), clipped.begin(),
                 [limit](double gradient) { return std::clamp(gradient, -limit, limit); });
  return clipped;
}

double norm_of(const Tensor<2>& x) {
  const double largest = attn::max_abs(x);
  if (largest == 0.0 || !std::isfinite(largest)) return largest;
  const auto scaled = near_1(x);
  return std::ldexp(std::sqrt(attn::sum_of_products(scaled, scaled)), std::ilogb(largest));
}

double cosine(const Tensor<2>& x, const Tensor<2>& y) {
  const auto a = near_1(x), b = near_1(y);
  return attn::sum_of_products(a, b) / (norm_of(a) * norm_of(b));
}

namespace {

constexpr double largest_norm = 1e6;
constexpr std::size_t longest_warmup = 1'000'000'000, most_samples = 1'000'000'000;

void check(const Options& options) {
  if (!(*options.max_norm >= 1.0 / largest_norm && *options.max_norm <= largest_norm))
    throw attn::Error(fmt::format("--max-norm {} cannot limit a gradient; valid: a number from {:g} to {:g}",
                                  *options.max_norm, 1.0 / largest_norm, largest_norm));
  if (*options.warmup > longest_warmup)
    throw attn::Error(
        fmt::format("--warmup {} is too long; valid: 1 to {}", *options.warmup, longest_warmup));
  if (*options.samples > most_samples)
    throw attn::Error(
        fmt::format("--samples {} are too many; valid: 1 to {}", *options.samples, most_samples));
}

/// The code that draws what is drawn here.
void show_recipe(attn::Trace& trace, const Options& options) {
  const DrawCode code{options};
  const auto d = *options.d_model, layers = *options.layers;
  const auto square = fmt::format("({0}, {0})", d);
  const auto binomial = code.binomial("\"dropout/mask\"", fmt::format("1 - {:g}", options.dropout),
                                      fmt::format("({}, {})", *options.samples, dropout_keys));
  const auto normal = [&](const std::string& name, const std::string& shape) {
    return code.normal('"' + name + '"', shape);
  };
  trace.note(
      "draws", "The draws",
      fmt::format("This {} code draws the numbers of everything below; all initialisations share Z and "
                  "differ in the factor s only: W = s · Z[layer].",
                  code.library()),
      fmt::format("{}\n"
                  "scores = {}\n"
                  "masks = {}\n"
                  "x = {}\n"
                  "Z = {}\n"
                  "Z_Q = {}\n"
                  "Z_K = {}\n"
                  "gradients = {}",
                  code.begin(), normal("dropout/scores", fmt::format("{}", dropout_keys)), binomial,
                  normal("initialisation/x", fmt::format("({}, {})", vectors, d)),
                  normal("initialisation/Z", fmt::format("({}, {}, {})", layers, d, d)),
                  normal("initialisation/Z_Q", square), normal("initialisation/Z_K", square),
                  normal("clipping/gradients", fmt::format("({}, 4)", layers))));
}

/// Σ x · y over all entries.
attn::Worked worked_sum_of_products(const attn::Known<2>& x, const attn::Known<2>& y) {
  std::vector<attn::Worked> products;
  for (std::size_t l = 0; l < x.tensor.shape(0); ++l)
    for (std::size_t c = 0; c < x.tensor.shape(1); ++c)
      products.push_back(attn::Worked::product({x({l, c}), y({l, c})}));
  return attn::Worked::sum(std::move(products));
}

std::pair<Tensor<2>, Tensor<2>> show_clipping(Workbench& bench) {
  const double max_norm = *bench.options.max_norm;
  auto& trace = bench.trace;
  trace.label("layer", {});
  const auto gradients = bench.input<2>(
      {.id = "gradients", .title = "A gradient for each layer", .note = "Four numbers stand for thousands."},
      {*bench.options.layers, std::size_t{4}});
  bench.code({"clipping_norm = np.sqrt(np.sum(clipping_gradients ** 2))",
              fmt::format("clipping_factor = min(1, {} / (clipping_norm + 1e-6))", max_norm),
              "clipping_clipped = clipping_factor * clipping_gradients",
              fmt::format("clipping_by_value = np.clip(clipping_gradients, -{0}, {0})", max_norm)});
  const auto clipped = clip_by_norm(bench, gradients, max_norm);
  const auto by_value = trace.step({.id = "by_value",
                                    .title = "Clipping by value: each number cut off by itself",
                                    .formula = fmt::format("g limited to ±{:g}", max_norm),
                                    .from = {"gradients"},
                                    .axes = {"layer", "feature"},
                                    .worked =
                                        [&](const attn::Index& at) {
                                          const auto g = attn::Known<2>{"gradients", gradients}(at);
                                          return max(-max_norm, min(max_norm, g));
                                        }},
                                   clip_by_value(gradients, max_norm));
  if (attn::max_abs(gradients) == 0.0)
    trace.note("no-direction", "No direction to keep",
               "All of these gradients are 0. They have no direction, so there is no angle to measure and "
               "nothing to claim about it.");
  else
    trace.step({.id = "cosine_by_value",
                .title = "The direction after clipping by value",
                .formula = "cosine of gradients and by_value",
                .from = {"gradients", "by_value"},
                .note = "1 is the same direction, as it is where nothing was cut off.",
                .worked =
                    [&](const attn::Index&) {
                      const attn::Known<2> g = {"gradients", gradients}, c = {"by_value", by_value};
                      return worked_sum_of_products(g, c) /
                             attn::Worked::product(
                                 {sqrt(worked_sum_of_products(g, g)), sqrt(worked_sum_of_products(c, c))});
                    }},
               cosine(gradients, by_value));
  return {gradients, clipped};
}

void claim_schedule(attn::Trace& trace, const Schedule& shown, const Options& options) {
  const auto warmup = static_cast<std::int64_t>(*options.warmup),
             d_model = static_cast<std::int64_t>(*options.d_model);
  trace.claim({.id = "schedule-peaks-at-warmup",
               .claim = "the rate is highest at the end of the warm-up",
               .formula = "step of the largest schedule/rate − warmup",
               .value = static_cast<double>(step_of_largest(shown.steps, shown.rate) - warmup),
               .limit = attn::exactly(0.0)});
  const auto rate = [&](std::int64_t step) { return learning_rate(step, d_model, warmup); };
  trace.claim({.id = "lower-beside-the-peak",
               .claim = "one step earlier and one step later it is lower",
               .formula = "max(rate(warmup − 1), rate(warmup + 1)) / rate(warmup)",
               .value = std::max(rate(warmup - 1), rate(warmup + 1)) / rate(warmup),
               .limit = attn::at_most(1.0)});
}

void claim_clipping(attn::Trace& trace, const Tensor<2>& gradients, const Tensor<2>& clipped,
                    double max_norm) {
  trace.claim({.id = "clipped-is-short-enough",
               .claim = "the clipped gradient is no longer than max_norm",
               .formula = "√(Σ clipped²) / max_norm − 1, or 0",
               .value = attn::maximum({0.0, norm_of(clipped) / max_norm - 1.0}),
               .limit = rounding(trace)});
  if (attn::max_abs(gradients) == 0.0) return;
  trace.claim({.id = "clipped-keeps-its-direction",
               .claim = "the clipped gradient points the same way as before",
               .formula = "1 − cosine of the angle between gradients and clipped",
               .value = std::abs(1.0 - cosine(gradients, clipped)),
               .limit = rounding(trace)});
}

void explain_initialisation(attn::Trace& trace) {
  trace.note(
      "initialisation-idea", "Initialisation: how large should parameters be at first?",
      "If the numbers of x have the mean square v, and W is drawn with mean 0 and standard deviation s, then "
      "each number of y = x W has the mean square d · s² · v: it is a sum of d products, each of mean square "
      "s² · v. Every layer multiplies by this factor d · s². Above 1 the numbers explode, below 1 they "
      "vanish. ReLU(x) = max(0, x) between layers sets half of the numbers to 0 and halves the factor. "
      "fan_in and fan_out are how many numbers go into a layer and come out, here both d.",
      "Xavier  s² = 2 / (fan_in + fan_out)   factor 1\n"
      "He      s² = 2 / fan_in               factor 2; with ReLU in between, 1");
}

void explain_schedule(attn::Trace& trace) {
  trace.note("schedule-idea", "Warm-up: small steps first",
             "At first gradients are large and point in changing directions. Adam, the usual way of making a "
             "step, divides it by the size of earlier gradients, and these are still few. So the learning "
             "rate rises from 0 and falls again later.",
             "rate = d_model^−0.5 · min(step^−0.5, step · warmup^−1.5)");
}

void explain_clipping(attn::Trace& trace) {
  trace.note(
      "clipping-idea", "Clipping: no step too long",
      "One unusual batch can have a gradient a thousand times as long as usual. Clipping by the norm "
      "multiplies all gradients by one factor, so the direction stays. Clipping by value cuts off each "
      "number by itself. That may turn it: the cosine of the angle between new and old is then below 1.");
}

void advise(attn::Trace& trace) {
  trace.note("advice", "Unsteady training: where to look",
             "Loss becomes nan: half precision or a softmax without its maximum taken out (lesson "
             "stability), then the learning rate. Loss jumps: a longer warm-up, clipping. Gradients vanish "
             "or explode with depth: the scale 1/√d_k, the initialisation, residuals and layer norm. All "
             "attention uniform: initialisation and learning rate (lesson patterns); dropout does not help "
             "there. The model knows its training set by heart: dropout, weight decay, more data.");
}

/// Four short parts.
void set_training_page(attn::Trace& trace) {
  trace.page({{"idea"},
              {"dropout-idea"},
              {"dropout/code"},
              {"dropout/weights", [](const auto&) { return ""; }},
              {"dropout/mask"},
              {"dropout/dropped"},
              attn::in_one_line("dropout/kept"),
              {"dropout/mean"},
              {"initialisation-idea"},
              {"initialisation/factors", nothing_to_notice},
              {"initialisation/comparison"},
              {"too-narrow"},
              {"schedule-idea"},
              {"schedule/code"},
              attn::in_one_line("schedule/rising"),
              attn::in_one_line("schedule/falling"),
              attn::without_plot("schedule/rate"),
              {"clipping-idea"},
              {"clipping/code"},
              {"clipping/gradients"},
              attn::in_one_line("clipping/layer_norms"),
              {"clipping/norm"},
              {"clipping/factor"},
              {"clipping/clipped"},
              attn::in_one_line("clipping/by_value"),
              attn::in_one_line("clipping/cosine_by_value"),
              {"no-direction"}},
             {"dropout-keeps-the-mean", "xavier-keeps-the-variance", "schedule-peaks-at-warmup",
              "clipped-is-short-enough", "clipped-keeps-its-direction"});
}

void run_training(Workbench& bench) {
  const auto& options = bench.options;
  auto& trace = bench.trace;
  check(options);
  set_training_page(trace);
  bench.idea(
      "Training goes in steps. A step looks at some examples, a batch, and finds the gradient: how much the "
      "error would grow with each parameter (lesson backward). Then it moves each parameter the other way, "
      "by its gradient times the learning rate. Four methods keep this from going wrong, and each is a line "
      "of arithmetic: dropout against a model that relies on single tokens; an initialisation with which "
      "numbers neither grow nor vanish from layer to layer; a warm-up of the learning rate against steps "
      "that are too long at first; clipping against single gradients that are huge.");
  show_recipe(trace, options);
  trace.note("dropout-idea", "Dropout: weights set to 0 at random",
             fmt::format("In training each attention weight is set to 0 with probability p, here {:g}, so "
                         "that no output depends on a single token. The others are divided by 1 − p. When "
                         "the model is used, dropout is off.",
                         options.dropout));
  const auto dropout = trace.within("dropout", [&] { return show_dropout(bench); });
  explain_initialisation(trace);
  const auto xavier = trace.within("initialisation", [&] { return show_initialisations(bench); });
  explain_schedule(trace);
  const auto schedule = trace.within("schedule", [&] { return show_schedule(bench); });
  explain_clipping(trace);
  const auto [gradients, clipped] = trace.within("clipping", [&] { return show_clipping(bench); });
  advise(trace);

  claim_dropout(bench, dropout);
  claim_initialisation(bench, xavier);
  claim_schedule(trace, schedule, options);
  claim_clipping(trace, gradients, clipped, *options.max_norm);
  bench.try_next({{"training --dropout 0.7", "how far from the weights is the mean now?"},
                  {"training --max-norm 10", "a gradient that is short enough stays"},
                  {"stability", "another way in which training goes wrong: overflow"}});
}

std::vector<Input> training_inputs(const Options&) {
  return {{"dropout/scores", {"key="}},
          {"dropout/mask", {"key="}, Draw::page},
          {"dropout/kept", {"key="}, Draw::page},
          {"schedule/step", {"step="}, Draw::page},
          {"clipping/gradients", {"layer", "feature="}}};
}

}  // namespace

extern const Lesson training;
const Lesson training = {
    .name = "training",
    .title = "what dropout, initialisation, warm-up, clipping do",
    .teaches =
        "Dropout keeps the expected value of each weight and adds variance. Xavier's initialisation keeps "
        "the size of numbers through linear layers, He's through layers with ReLU, and a fixed 0.02 does "
        "neither. The learning rate rises during warm-up and falls after. Clipping by the norm shortens a "
        "gradient and keeps its direction.",
    .options = {"d-model", "samples", "dropout", "layers", "warmup", "max-norm", "seed", "rng", "draws",
                "dtype"},
    .takes_batches = false,
    .multiplies_inputs = false,
    .defaults =
        {.d_model = 64, .samples = 4096, .dropout = 0.3, .layers = 6, .warmup = 4000, .max_norm = 1.0},
    .examples = {"training --d-model 128 --layers 12 --warmup 1000", "training --dropout 0.5 --max-norm 10"},
    .inputs = training_inputs,
    .run = run_training,
};

}  // namespace lessons
