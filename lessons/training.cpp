/// A training from beginning to end: a model with one head of attention learns to say sequences backwards,
/// with warm-up and clipping and without, with dropout and without; then each method on numbers of its own.
/// Sources: Vaswani et al. 2017, section 5.3 (Adam with warm-up), Pascanu et al. 2013 (clipping), Srivastava
/// et al. 2014 (dropout), Glorot and Bengio 2010 (Xavier), He et al. 2015.

#include "lessons/training.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "attn/error.hpp"
#include "lessons/lesson.hpp"
#include "lessons/training/learning.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

constexpr double largest_norm = 1e6;
constexpr std::size_t longest_warmup = 1'000'000'000, most_samples = 10'000'000;

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

/// Code for the symbols and the parameters of the training.
std::vector<std::string> recipe_of_training(const DrawCode& code, std::size_t d_model) {
  std::vector<std::string> lines;
  for (const auto& [id, sequences] :
       {std::pair("examples", training_sequences), std::pair("fresh", fresh_sequences)})
    lines.push_back(fmt::format("{} = {}", id,
                                code.integers(fmt::format("\"{}\"", id), symbol_count,
                                              fmt::format("({}, {})", sequences, positions_of_sequence))));
  const std::size_t shapes[][2] = {{symbol_count, d_model}, {positions_of_sequence, d_model},
                                   {d_model, d_k_of_model}, {d_model, d_k_of_model},
                                   {d_model, d_v_of_model}, {d_v_of_model, symbol_count}};
  for (std::size_t i = 0; i < std::size(shapes); ++i) {
    const auto& id = names_of_parameters()[i];
    const auto [rows, columns] = shapes[i];
    const auto normal = code.normal(fmt::format("\"{}\"", id), fmt::format("({}, {})", rows, columns));
    lines.push_back(fmt::format("{} = {} * (1 / {} ** 0.5)", id, normal, rows));
  }
  return lines;
}

/// The code that draws what is drawn here.
void show_recipe(attn::Trace& trace, const Options& options) {
  const DrawCode code{options};
  const auto d = *options.d_model, layers = *options.layers;
  const auto square = fmt::format("({0}, {0})", d);
  const auto kept = fmt::format("1 - {:g}", options.dropout);
  const auto normal = [&](const std::string& name, const std::string& shape) {
    return code.normal('"' + name + '"', shape);
  };
  auto lines = recipe_of_training(code, d);
  lines.insert(lines.begin(), code.begin());
  const auto masks =
      code.binomial("\"dropout/mask\"", kept, fmt::format("({}, {})", *options.samples, dropout_keys));
  lines.insert(
      lines.end(),
      {"scores = " + normal("dropout/scores", fmt::format("{}", dropout_keys)), "masks = " + masks,
       "x = " + normal("initialisation/x", fmt::format("({}, {})", vectors, d)),
       "Z = " + normal("initialisation/Z", fmt::format("({}, {}, {})", layers, d, d)),
       "Z_Q = " + normal("initialisation/Z_Q", square), "Z_K = " + normal("initialisation/Z_K", square),
       "gradients = " + normal("clipping/gradients", fmt::format("({}, 4)", layers))});
  trace.note("draws", "The draws",
             fmt::format("This {} code draws the numbers of everything below. In the training with dropout "
                         "the mask of step t has a stream of its own, dropout/step=t/dropout_mask, and the "
                         "shape (16, 6, 6). All initialisations share Z and differ in the factor s only: W = "
                         "s · Z[layer].",
                         code.library()),
             fmt::format("{}", fmt::join(lines, "\n")));
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

void advise(attn::Trace& trace) {
  trace.note("advice", "Unsteady training: where to look",
             "Loss becomes nan: half precision or a softmax without its maximum taken out (lesson "
             "stability), then the learning rate. Loss jumps: a longer warm-up, clipping. Gradients vanish "
             "or explode with depth: the scale 1/√d_k, the initialisation, residuals and layer norm. All "
             "attention uniform: initialisation and learning rate (lesson patterns); dropout does not help "
             "there. The model knows its training set by heart: dropout, weight decay, more data.");
}

/// The training alone: what each method does on numbers of its own is detail.
void set_training_page(attn::Trace& trace) {
  trace.page({{"idea"},
              {"flow"},

              {"code"},
              {"before/weights", look_of_chance},
              {"before/losses", loss_beside_guessing},
              {"one-number"},
              attn::in_one_line("first_step/d_W_out"),
              attn::in_one_line("first_step/norm"),
              attn::without_table("first_step/factor"),
              {"adam"},
              attn::in_one_line("first_step/clipped"),
              attn::in_one_line("first_step/rate"),
              attn::without_table("first_step/m"),
              attn::without_table("first_step/v"),
              attn::without_table("first_step/updated", size_of_first_step),
              attn::without_table("loss", note_of),
              {"after/weights", look_at_mirror},
              {"comparison"},

              {"no-promise"}},
             {"first-gradient", "learns", "right-on-fresh", "looks-at-the-mirror"});
}

/// What each method does, on numbers of its own.
void show_methods(Workbench& bench) {
  const auto& options = bench.options;
  auto& trace = bench.trace;
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
}

void run_training(Workbench& bench) {
  auto& trace = bench.trace;
  check(bench.options);
  set_training_page(trace);
  show_recipe(trace, bench.options);
  const auto in = draw_task(bench);
  bench.idea(
      fmt::format("A model learns by being wrong and being told so. This one has one head of attention and "
                  "{} numbers, its parameters, drawn at random. Its task is to say six symbols backwards: it "
                  "reads e c a g b d and must say d b g a c e.\nIt learns in {} steps. Each step shows it {} "
                  "of {} sequences. "
                  "The loss says how wrong its answers are. The gradient says how the loss changes with each "
                  "parameter. Then each parameter moves a little, so that the loss falls.",
                  count_of(in.start), training_steps, sequences_of_batch, training_sequences),
      "loss = mean of −log(probability of the right symbol)");
  show_model(bench, in);
  show_before(bench, in);
  const auto first_gradient = show_first_step(bench, in);
  const auto shown = show_trainings(bench, in, train_all(bench, in));
  show_methods(bench);
  claim_learning(bench, in, first_gradient, shown);
  bench.try_next({{"training --warmup 1", "the loss jumps: how high, and does it recover?"},
                  {"training --dropout 0.7", "what can the model still learn?"},
                  {"backward", "how a gradient is found"}});
}

std::vector<Input> training_inputs(const Options&) {
  return {{"examples", {"sequence=", "position="}, Draw::page},
          {"fresh", {"sequence=", "position="}, Draw::page},
          {"shown", {"position="}, Draw::page},
          {"E", {"symbol=", "d_model"}, Draw::weight},
          {"P", {"position=", "d_model"}, Draw::weight},
          {"W_Q", {"d_model", "d_k="}, Draw::weight},
          {"W_K", {"d_model", "d_k="}, Draw::weight},
          {"W_V", {"d_model", "d_v="}, Draw::weight},
          {"W_out", {"d_v=", "symbol="}, Draw::weight},
          {.id = "dropout/scores", .axes = {"key="}, .is_multiplied = false},
          {"dropout/mask", {"key="}, Draw::page},
          {"dropout/kept", {"key="}, Draw::page},
          {"schedule/step", {"step="}, Draw::page},
          {.id = "clipping/gradients", .axes = {"layer", "feature="}, .is_multiplied = false}};
}

}  // namespace

extern const Lesson training;
const Lesson training = {
    .name = "training",
    .title = "a small model learns; warm-up, clipping, dropout on and off",
    .teaches =
        "A model with one head of attention learns to say sequences backwards, in front of the reader: its "
        "loss from step to step, its attention before, midway and after, the length of its gradients. "
        "Warm-up, clipping and dropout are switched on and off to see what each is for. With --all each of "
        "them is shown on numbers of its own, and how large parameters should be at first.",
    .options = {"d-model", "samples", "dropout", "layers", "warmup", "max-norm", "seed", "rng", "draws",
                "dtype"},
    .takes_batches = false,
    .of_detail = {"samples", "layers"},
    .defaults = {.d_model = 32, .samples = 4096, .dropout = 0.3, .layers = 6, .warmup = 40, .max_norm = 0.2},
    .examples = {"training --warmup 30 --max-norm 1", "training --all --d-model 64 --layers 12"},
    .inputs = training_inputs,
    .run = run_training,
};

}  // namespace lessons
