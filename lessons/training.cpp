/// What keeps training steady: dropout, initialisation, warm-up and gradient clipping. Sources: Srivastava et
/// al. 2014 (dropout), Glorot and Bengio 2010 (Xavier), He et al. 2015, Vaswani et al. 2017, section 5.3
/// (warm-up), Pascanu et al. 2013 (clipping).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "attn/train/schedule.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/training/initialisation_steps.hpp"
#include "lessons/training/steps.hpp"

namespace lessons {

namespace {

constexpr double largest_norm = 1e6;
constexpr std::size_t longest_warmup = 1'000'000'000;

/// Claims about chance allow for this many standard errors: beyond it lies one run in a million, if the
/// numbers are many enough for a normal distribution. That takes so many drops and so small an error of a
/// ratio.
constexpr double standard_errors = 5.0;
constexpr double fewest_drops = 100.0;
constexpr double largest_error = 0.07;

void check(const Options& options) {
  if (!(*options.max_norm >= 1.0 / largest_norm && *options.max_norm <= largest_norm))
    throw attn::Error(fmt::format("--max-norm {} cannot limit a gradient; valid: a number from {:g} to {:g}",
                                  *options.max_norm, 1.0 / largest_norm, largest_norm));
  if (*options.warmup > longest_warmup)
    throw attn::Error(
        fmt::format("--warmup {} is too long; valid: 1 to {}", *options.warmup, longest_warmup));
}

/// The NumPy code that draws what is drawn here.
void show_recipe(attn::Trace& trace, const Options& options) {
  trace.note(
      "draws", "The draws",
      "Everything below comes from one random stream. This NumPy code draws the same numbers; all "
      "initialisations share Z and differ in the factor s only.",
      fmt::format("rng = {}\n"
                  "scores = rng.normal(0, 1, {})\n"
                  "masks = rng.binomial(1, 1 - {:g}, ({}, {}))\n"
                  "x = rng.normal(0, 1, ({}, {d}))\n"
                  "Z = rng.normal(0, 1, ({layers}, {d}, {d}))    # W = s * Z[layer]\n"
                  "Z_Q = rng.normal(0, 1, ({d}, {d}))\n"
                  "Z_K = rng.normal(0, 1, ({d}, {d}))\n"
                  "gradients = rng.normal(0, 1, ({layers}, 4))",
                  numpy_generator(options), dropout_keys, options.dropout, *options.samples, dropout_keys,
                  vectors, fmt::arg("d", *options.d_model), fmt::arg("layers", *options.layers)));
}

void claim_dropout(attn::Trace& trace, const ShownDropout& shown, const Options& options) {
  const double p = options.dropout;
  const auto samples = static_cast<double>(*options.samples);
  if (p == 0.0)
    trace.claim({.id = "dropout-keeps-the-mean",
                 .claim = "without dropout every weight stays what it is",
                 .formula = "max |mean − weights|",
                 .value = attn::max_abs_difference(shown.moments.mean, shown.weights),
                 .limit = rounding(trace)});
  else if (samples * std::min(p, 1.0 - p) >= fewest_drops)
    trace.claim({.id = "dropout-keeps-the-mean",
                 .claim = "dropout keeps the expected value of each weight, within 5 standard errors",
                 .formula = "max |mean − weights| / (weights · √(p / (1 − p) / samples))",
                 .value = attn::error_of_mean(shown.moments, shown.weights, p, samples),
                 .limit = attn::at_most(standard_errors)});
  else
    trace.note("too-few-masks", "Too few masks",
               "Too few weights are dropped or kept to say how far chance may throw the mean. Nothing is "
               "claimed about it.");
}

/// The number of layers, from the first on, whose chance error is small enough for a claim.
std::size_t layers_to_claim(const attn::VarianceThroughLayers& xavier) {
  std::size_t layers = 0;
  while (layers + 1 < xavier.variance.size() &&
         static_cast<double>(xavier.standard_error(layers + 1)) <= largest_error)
    ++layers;
  return layers;
}

void claim_initialisation(attn::Trace& trace, const attn::VarianceThroughLayers& xavier) {
  const auto layers = layers_to_claim(xavier);
  const auto all_layers = xavier.variance.size() - 1;
  if (layers < all_layers)
    trace.note("too-narrow", "Too narrow to be sure",
               fmt::format("The narrower and the deeper, the more chance has to say. That Xavier keeps the "
                           "variance is claimed of {} of the {} layers, as far as one standard error stays "
                           "below {:g}; from about --d-model 24 on it does in the first.",
                           layers == 0   ? "none"
                           : layers == 1 ? "the first"
                                         : fmt::format("the first {}", layers),
                           all_layers, largest_error));
  if (layers == 0) return;
  trace.claim({.id = "xavier-keeps-the-variance",
               .claim = "Xavier keeps the variance from each layer to the next, within 5 standard errors",
               .formula = "max |variance / variance before − 1| / standard_error",
               .value = attn::error_of_ratios(xavier, layers),
               .limit = attn::at_most(standard_errors),
               .note = "For square W drawn independently of x, with nothing but W between the layers."});
}

void claim_schedule(attn::Trace& trace, const ShownSchedule& shown, const Options& options) {
  const auto warmup = static_cast<std::int64_t>(*options.warmup),
             d_model = static_cast<std::int64_t>(*options.d_model);
  trace.claim({.id = "schedule-peaks-at-warmup",
               .claim = "of all steps shown the last one of the warm-up has the highest rate",
               .formula = "step of the largest schedule/rate − warmup",
               .value = static_cast<double>(attn::step_of_largest(shown.steps, shown.rate) - warmup),
               .limit = attn::exactly(0.0)});
  const auto rate = [&](std::int64_t step) { return attn::warmup_schedule(step, d_model, warmup).rate; };
  trace.claim({.id = "lower-beside-the-peak",
               .claim = "one step earlier and one step later it is lower",
               .formula = "max(rate(warmup − 1), rate(warmup + 1)) / rate(warmup)",
               .value = std::max(rate(warmup - 1), rate(warmup + 1)) / rate(warmup),
               .limit = attn::at_most(1.0)});
}

void claim_clipping(attn::Trace& trace, const Tensor<2>& gradients, const attn::Clipped& clipped,
                    double max_norm) {
  trace.claim(
      {.id = "clipped-is-short-enough",
       .claim = "the clipped gradient is no longer than max_norm",
       .formula = "√(Σ clipped²) / max_norm − 1, or 0",
       .value = std::max(
           0.0, std::sqrt(attn::sum_of_products(clipped.gradients, clipped.gradients)) / max_norm - 1.0),
       .limit = rounding(trace)});
  trace.claim({.id = "clipped-keeps-its-direction",
               .claim = "and points the same way",
               .formula = "1 − cosine of the angle between gradients and clipped",
               .value = std::abs(1.0 - attn::cosine(gradients, clipped.gradients)),
               .limit = rounding(trace)});
}

void explain_initialisation(attn::Trace& trace) {
  trace.note(
      "initialisation-idea", "Initialisation: how large should weights be at first?",
      "Each number of y = x W is a sum of d products. If x has mean square v and the weights are drawn with "
      "mean 0 and standard deviation s, it has variance d · s² · v. Through many layers the factor d · s² is "
      "taken to a power: above 1 it explodes, below 1 it vanishes, and so do gradients on the way back.",
      "Var(y) = d · s² · Var(x)\n"
      "Xavier  s² = 2 / (fan_in + fan_out)   factor 1 where both are d\n"
      "He      s² = 2 / fan_in               factor 2; with ReLU in between, 1\n"
      "uniform on ±√(6 / (fan_in + fan_out)): the same variance, Xavier too");
}

void explain_schedule(attn::Trace& trace) {
  trace.note(
      "schedule-idea", "Warm-up: small steps first",
      "At first every gradient is large and says little, and Adam has seen too few of them to know their "
      "size. So the learning rate starts at 0 and rises; later, when the model settles, it falls again.",
      "rate = d_model^−0.5 · min(step^−0.5, step · warmup^−1.5)");
}

void explain_clipping(attn::Trace& trace) {
  trace.note("clipping-idea", "Clipping: no step too long",
             "One strange batch can have a gradient a thousand times the usual length, and one step along it "
             "undoes a day. Clipping shortens such a gradient to max_norm. All parameters are taken as one "
             "vector, so that the direction stays.",
             "g ← g · min(1, max_norm / ‖g‖)");
}

void advise(attn::Trace& trace) {
  trace.note("advice", "Unsteady training: where to look",
             "Loss becomes nan: half precision or a softmax without its maximum taken out (lesson "
             "stability), then the learning rate. Loss jumps: a longer warm-up, clipping. Gradients vanish "
             "or explode with depth: the scale 1/√d_k, the initialisation, residuals and layer norm. All "
             "attention uniform: initialisation and learning rate (lesson patterns); dropout does not help "
             "there. The model knows its training set by heart: dropout, weight decay, more data.");
}

void run(Workbench& bench) {
  const auto& options = bench.options;
  auto& trace = bench.trace;
  check(options);
  trace.note("idea", "The idea",
             "Attention learns by many small steps, and they can go wrong: numbers that grow or vanish from "
             "layer to layer, first steps that are too long, single gradients that are huge, a model that "
             "learns its examples by heart. Four habits keep training steady. Each is a line of arithmetic, "
             "and here is what that line does.");
  show_recipe(trace, options);
  trace.note("dropout-idea", "Dropout: do without, now and then",
             "In training each attention weight is set to 0 with probability p, so that no output comes to "
             "depend on a single token. It costs steadiness in the single step and pays in generalisation. "
             "When the model is used it is off.",
             "dropped = weights · mask / (1 − p)");
  const auto dropout = trace.within("dropout", [&] { return show_dropout_masks(bench); });
  explain_initialisation(trace);
  const auto xavier = trace.within("initialisation", [&] { return show_initialisations(bench); });
  explain_schedule(trace);
  const auto schedule = trace.within("schedule", [&] { return show_schedule(bench); });
  explain_clipping(trace);
  const auto [gradients, clipped] = trace.within("clipping", [&] { return show_clipping(bench); });
  advise(trace);

  claim_dropout(trace, dropout, options);
  claim_initialisation(trace, xavier);
  claim_schedule(trace, schedule, options);
  claim_clipping(trace, gradients, clipped, *options.max_norm);
}

/// Masks are counted although one is held at a time: this bounds the time, too.
double element_count(const Plan& plan) {
  const auto d = static_cast<double>(*plan.options.d_model),
             layers = static_cast<double>(*plan.options.layers);
  return static_cast<double>(*plan.options.samples) * static_cast<double>(dropout_keys) +
         4.0 * static_cast<double>(vectors) * d + (layers + 4.0) * d * d + 30.0 * layers;
}

}  // namespace

extern const Lesson training;
const Lesson training = {
    .name = "training",
    .title = "steady training: dropout, initialisation, warm-up, clipping",
    .teaches =
        "Dropout keeps the expected value of each weight and adds variance. Xavier's initialisation keeps "
        "the size of numbers through linear layers, He's through layers with ReLU, and a fixed 0.02 does "
        "neither. The learning rate rises during warm-up and falls after. Clipping by the norm shortens a "
        "gradient and keeps its direction.",
    .options = {"d-model", "samples", "dropout", "layers", "warmup", "max-norm", "seed", "rng", "dtype"},
    .takes_batches = false,
    .defaults =
        {.d_model = 64, .samples = 4096, .dropout = 0.1, .layers = 6, .warmup = 4000, .max_norm = 1.0},
    .examples = {"training --d-model 128 --layers 12 --warmup 1000", "training --dropout 0.5 --max-norm 10"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
