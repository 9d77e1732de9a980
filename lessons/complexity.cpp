/// How much each layer computes, holds and waits as the sequence grows, counted while it runs.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 4 and table 1.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "lessons/complexity/layers.hpp"
#include "lessons/complexity/worked.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

using Counts = Integers<1>;

std::int64_t multiply_adds(const LayerCost& cost) {
  return cost.cost.multiply_adds;
}
std::int64_t score_bytes(const LayerCost& cost) {
  return cost.cost.score_bytes;
}
std::int64_t sequential_steps(const LayerCost& cost) {
  return cost.sequential_steps;
}
std::int64_t path_length(const LayerCost& cost) {
  return cost.path_length;
}

/// A quantity that is shown for each layer.
struct Quantity {
  std::string_view id;
  std::string_view title;
  std::int64_t (*of)(const LayerCost& cost);
  bool of_mixing_layers_only = false;
};

const Quantity work = {"multiply_adds", "Multiply-adds", multiply_adds};
const Quantity storage = {"score_bytes", "Bytes of scores, or of what stands in their place, at one time",
                          score_bytes, true};
const std::vector<Quantity> quantities = {
    work,
    storage,
    {"sequential_steps", "Steps that have to wait for each other", sequential_steps, true},
    {"path_length", "Steps between the first token and the last", path_length, true},
};

void require_lengths(const Options& options) {
  if (options.lengths.empty())
    throw attn::Error("--lengths names no length; valid: one or more, as in 8,16,32");
  if (*options.window == 0) throw attn::Error("--window 0 lets no token see another; valid: 1 or more");
}

Counts counts_of(const std::vector<std::size_t>& numbers) {
  auto counts = Counts::from_shape({numbers.size()});
  std::copy(numbers.begin(), numbers.end(), counts.begin());
  return counts;
}

std::vector<std::string> names_of(const std::vector<std::size_t>& numbers) {
  std::vector<std::string> names;
  for (const auto number : numbers) names.push_back(fmt::format("{}", number));
  return names;
}

/// A quantity of a layer for each of the lengths n.
attn::WorkedOut worked_quantity(const Workbench& bench, const std::string& quantity,
                                const std::string& layer) {
  return [=, &bench](const attn::Index& at) {
    const auto n = static_cast<double>(bench.options.lengths[at[0]]);
    const WorkedCosts costs = {{{"n", at, true}, n},
                               {{"d", {}, true}, static_cast<double>(bench.d_model())},
                               bench.options,
                               attn::item_size(bench.trace.dtype())};
    return costs.of(quantity, layer);
  };
}

void show_layer(Workbench& bench, LayerCosts& costs, const CountedLayer& layer) {
  const auto& lengths = bench.options.lengths;
  auto& trace = bench.trace;
  trace.note(fmt::format("{}/idea", layer.id), std::string(layer.title), std::string(layer.note),
             std::string(layer.formula));
  for (const auto& quantity : quantities) {
    if (quantity.of_mixing_layers_only && !layer.connects_tokens) continue;
    auto values = Counts::from_shape({lengths.size()});
    std::transform(lengths.begin(), lengths.end(), values.begin(), [&](std::size_t n) {
      return quantity.of(costs.of(layer.id, {n, bench.d_model()}));
    });
    trace.step({.id = fmt::format("{}/{}", layer.id, quantity.id),
                .title = fmt::format("{} ({})", quantity.title, layer.id),
                .from = {"n", "d"},
                .axes = {"length"},
                .worked = worked_quantity(bench, std::string(quantity.id), std::string(layer.id))},
               values);
  }
  const auto longest = *std::max_element(lengths.begin(), lengths.end());
  const auto place = costs.crossing(layer.id, bench.d_model(), longest);
  if (place && layer.connects_tokens)
    trace.step({.id = fmt::format("{}/crossing", layer.id),
                .title = fmt::format("Where full attention takes more multiply-adds than {}", layer.id),
                .formula = "the smallest such n",
                .from = {"n", "d"}},
               static_cast<std::int64_t>(*place));
}

void show_growth_in_d(Workbench& bench, LayerCosts& costs, const std::vector<std::size_t>& dimensions) {
  const auto n = bench.options.lengths.front();
  const std::vector<std::string> names = {"recurrence", "convolution", "projections", "full",
                                          "local",      "sparse",      "linear",      "flash",
                                          "linformer",  "performer"};
  Integers<2> counts({names.size(), dimensions.size()});
  for (std::size_t k = 0; k < names.size(); ++k)
    for (std::size_t i = 0; i < dimensions.size(); ++i)
      counts(k, i) = costs.multiply_adds(names[k], {n, dimensions[i]});
  bench.trace.label("layer", {{names}});
  bench.trace.step(
      {.id = "multiply_adds_by_d",
       .title = fmt::format("Multiply-adds as d grows, at n = {}", n),
       .from = {"n", "d"},
       .axes = {"layer", "d_model"},
       .note = "Four times the work for twice the d: each token is multiplied by a d×d matrix, or adds to "
               "one. Twice the work: nothing but dot products and sums of d numbers.",
       .worked =
           [&](const attn::Index& at) {
             const WorkedCosts costs_of = {{{"n", {0}, true}, static_cast<double>(n)},
                                           static_cast<double>(dimensions[at[1]]),
                                           bench.options,
                                           attn::item_size(bench.trace.dtype())};
             return costs_of.of("multiply_adds", names[at[0]]);
           }},
      counts);
}

/// Some layers side by side as curves over n.
void show_curves(Workbench& bench, LayerCosts& costs, const Quantity& quantity, const std::string& title,
                 const std::vector<std::string>& layers, const std::string& note) {
  const auto& lengths = bench.options.lengths;
  Integers<2> curves({layers.size(), lengths.size()});
  std::vector<std::string> from = {"n", "d"};
  for (std::size_t k = 0; k < layers.size(); ++k) {
    for (std::size_t i = 0; i < lengths.size(); ++i)
      curves(k, i) = quantity.of(costs.of(layers[k], {lengths[i], bench.d_model()}));
    from.push_back(fmt::format("{}/{}", layers[k], quantity.id));
  }
  bench.trace.label("layer", {{layers}});
  bench.trace.step({.id = std::string(quantity.id),
                    .title = title,
                    .from = from,
                    .axes = {"layer", "length"},
                    .note = note,
                    .curve = true,
                    .worked =
                        [&](const attn::Index& at) {
                          return worked_quantity(bench, std::string(quantity.id), layers[at[0]])({at[1]});
                        },
                    .worked_at = attn::Index{0, lengths.size() - 1}},
                   curves);
}

/// Where full attention crosses the other layers, in one table.
void show_crossings(Workbench& bench, LayerCosts& costs, std::size_t longest) {
  std::string table;
  std::vector<std::string_view> never;
  for (const auto& layer : counted_layers()) {
    if (!layer.connects_tokens || layer.id == "full") continue;
    const auto place = costs.crossing(layer.id, bench.d_model(), longest);
    if (place) table += fmt::format("{}{:<14} n = {}", table.empty() ? "" : "\n", layer.id, *place);
    if (!place) never.push_back(layer.id);
  }
  std::string text =
      "From these n on full attention takes more multiply-adds. Both layers were run at one n after the "
      "other until the place was found.";
  if (!never.empty())
    text += fmt::format(" Up to n = {} it takes no more than {}.", longest, fmt::join(never, ", "));
  bench.trace.note("crossings", "Where they cross", text, table);
}

/// Six of the lengths at most, from the first to the last.
std::vector<std::size_t> few_of(const std::vector<std::size_t>& lengths) {
  constexpr std::size_t most = 6;
  if (lengths.size() <= most) return lengths;
  std::vector<std::size_t> few;
  for (std::size_t i = 0; i < most; ++i) few.push_back(lengths[i * (lengths.size() - 1) / (most - 1)]);
  return few;
}

void show_tables(Workbench& bench, LayerCosts& costs) {
  const auto lengths = few_of(bench.options.lengths);
  for (const auto& quantity : quantities) {
    auto table = fmt::format("{:<14}", "n");
    for (const auto n : lengths) table += fmt::format(" {:>9}", n);
    for (const auto& layer : counted_layers()) {
      if (quantity.of_mixing_layers_only && !layer.connects_tokens) continue;
      table += fmt::format("\n{:<14}", layer.id);
      for (const auto n : lengths)
        table += fmt::format(" {:>9}", quantity.of(costs.of(layer.id, {n, bench.d_model()})));
    }
    bench.trace.note(fmt::format("table/{}", quantity.id), std::string(quantity.title), "", table);
  }
}

void introduce_complexity(Workbench& bench) {
  const auto& options = bench.options;
  bench.idea(
      "What does it cost to let tokens know of each other? Each layer here turns n tokens of d numbers, "
      "[n×d], into n new rows, [n×d]. Four counts say what a layer costs. They are taken while the layer "
      "runs on random numbers.",
      "mult-adds  products that go into a sum: how much there is to compute\n"
      "bytes      the most that is held at one time: scores, a state or sums\n"
      "steps      rounds of one layer in which tokens pass something on to others\n"
      "path       steps until the last token knows of the first, layer by layer");
  bench.trace.note(
      "counting", "How it is counted",
      fmt::format(
          "A multiply-add is a product that goes into a sum. A step is an operation that mixes vectors of "
          "several tokens; what happens to one token by itself is not counted as one. The path goes from the "
          "first token to the last, through as many layers as it needs. Attention is given Q, K and V with d "
          "numbers each; w = {}, blocks of {}, r = {}, {} heads and {} for keys and values.",
          *options.window, *options.block, *options.rank, *options.heads, *options.kv_heads));
}

/// "n ≥ 9", "never": from which n on full attention takes more.
std::string crossing_in_words(LayerCosts& costs, std::string_view layer, std::size_t d, std::size_t longest) {
  if (layer == "full") return "";
  const auto place = costs.crossing(layer, d, longest);
  return place ? fmt::format("n ≥ {}", *place) : "never";
}

std::string places_of(std::size_t count) {
  return fmt::format("{} place{}", count, count == 1 ? "" : "s");
}

/// A layer that the page compares: its multiply-adds and the numbers that it holds as formulas, and why.
struct Compared {
  std::string_view layer, multiply_adds, held;
  std::string words;
};

std::vector<Compared> compared_layers(const Workbench& bench) {
  return {
      {"recurrence", "2 n d²", "d", "each token: its vector and the state before, times d×d matrices"},
      {"full", "2 n² d", "n²", "each of n² pairs: d for its score, d for weight · value"},
      {"local", "2 pairs · d", "pairs",
       fmt::format("the same for pairs at most {} apart", places_of(*bench.options.window))},
      {"linear", "2 n d² + n d", "(d² + d)", "each token adds d² products to sums and reads d² + d of them"}};
}

/// "pairs = 64 · 5 − 6 = 314: a token sees 5, but at each end of the text 3 of these do not exist".
std::string pairs_of_window(const Workbench& bench, std::size_t n) {
  const auto side = std::min(*bench.options.window, n - 1), width = 2 * side + 1, beyond = side * (side + 1);
  return fmt::format(
      "pairs = {0} · {1} − {2} = {3}: a token sees {1}, but at each end of the text {4} of these do not "
      "exist",
      n, width, beyond, n * width - beyond, beyond / 2);
}

/// What steps and path mean, by the example of three layers.
void explain_waiting(Workbench& bench, LayerCosts& costs, const Size& size) {
  const auto steps = costs.of("recurrence", size).sequential_steps,
             layers = costs.of("local", size).path_length;
  bench.trace.note(
      "waiting", "Steps and path, by example",
      fmt::format("recurrence: each token waits for the one before it, so {0} token{1} take{6} {2} step{1}. "
                  "The last token knows of the first only then: path {2}.\n"
                  "full: each token scores and mixes all tokens in one round: 1 step, path 1.\n"
                  "local: no token waits, 1 step. But a token reads only {3} to either side. The last token "
                  "is {4} away from the first: {5} layer{7}, path {5}.\n"
                  "linear: all tokens add to a sum, then all read it: 2 steps, path 2.",
                  size.n, size.n == 1 ? "" : "s", steps, places_of(*bench.options.window),
                  places_of(size.n - 1), layers, size.n == 1 ? "s" : "", layers == 1 ? "" : "s"));
}

/// A row a layer, at the longest of the lengths.
void compare_layers(Workbench& bench, LayerCosts& costs, std::size_t longest) {
  const auto d = bench.d_model(), bytes = attn::item_size(bench.trace.dtype());
  auto table = fmt::format("{:<12}{:<13}{:>9}  {:<10}{:>7}{:>7}{:>6}  {}", "", "mult-adds", "", "bytes", "",
                           "steps", "path", "cheaper");
  std::string words;
  for (const auto& [id, multiply_adds, held, what] : compared_layers(bench)) {
    const auto& cost = costs.of(id, {longest, d});
    const auto line =
        fmt::format("{:<12}{:<13}{:>9}  {:<10}{:>7}{:>7}{:>6}  {}", id, multiply_adds,
                    cost.cost.multiply_adds, fmt::format("{} {}", bytes, held), cost.cost.score_bytes,
                    cost.sequential_steps, cost.path_length, crossing_in_words(costs, id, d, longest));
    table += '\n' + line.substr(0, line.find_last_not_of(' ') + 1);
    words += fmt::format("{}{:<12}{}", words.empty() ? "" : "\n", id, what);
  }
  bench.trace.note("compared",
                   fmt::format("What is compared (--all: {} more, to which heads, kv_heads and rank belong)",
                               counted_layers().size() - compared_layers(bench).size()),
                   "", words);
  bench.trace.note("comparison",
                   fmt::format("At n = {} token{} of d = {} numbers", longest, longest == 1 ? "" : "s", d),
                   fmt::format("A number takes {} bytes. {}.\n"
                               "cheaper: from this n on a layer takes fewer mult-adds than full attention.",
                               bytes, pairs_of_window(bench, longest)),
                   table);
}

/// How the tokens of four layers come to know of each other.
std::vector<std::string> complexity_flow(const Workbench& bench, LayerCosts& costs, std::size_t n) {
  const auto d = bench.d_model(), window = *bench.options.window;
  const auto line = [&](std::string_view layer, const std::string& way) {
    const auto& cost = costs.of(layer, {n, d});
    return fmt::format("{:<11} {} {:>3} step{} path {:>2}", layer, attn::pad_right(way, 45),
                       cost.sequential_steps, cost.sequential_steps == 1 ? ", " : "s,", cost.path_length);
  };
  return {line("recurrence", "token 0 → token 1 → … → token n − 1"), line("full", "all tokens → each token"),
          line("local", fmt::format("keys {} to either side, layer by layer", places_of(window))),
          line("linear", fmt::format("all keys, values → sum [{0}×{0}] → all queries", d))};
}

/// The counts of the curves as formulas: what was counted is held against them.
void show_complexity_code(const Workbench& bench) {
  const auto& options = bench.options;
  bench.code({"# n: the lengths; d: the numbers of a token",
              fmt::format("w = np.minimum({}, n - 1)                    # how far a window reaches",
                          *options.window),
              fmt::format("block = np.minimum({}, n)                    # queries at a time", *options.block),
              "pairs = n * (2 * w + 1) - w * (w + 1)       # |i - j| <= w, less the ends",
              "multiply_adds = np.array([", "    2 * n * d ** 2,                         # recurrence",
              "    2 * n ** 2 * d,                         # full attention",
              "    2 * pairs * d,                          # local attention",
              "    2 * n * d ** 2 + n * d])                # linear attention",
              fmt::format("score_bytes = {} * np.array([", attn::item_size(bench.trace.dtype())),
              "    n ** 2, block * n, pairs, block ** 2])  # full, chunked, local, flash"});
}

/// "recurrence 2.00 times, full 4.00 times": from the last length but one to the last.
std::string notice_of_growth(const attn::Event& counts) {
  const auto lengths = counts.tensor->shape[1];
  if (lengths < 2) return "";
  std::vector<std::string> growth;
  for (std::size_t k = 0; k < counts.tensor->shape[0]; ++k) {
    const double before = counts.tensor->at((k + 1) * lengths - 2),
                 after = counts.tensor->at((k + 1) * lengths - 1);
    growth.push_back(fmt::format("{} {:.2f} times", name_along(counts, 0, k), after / before));
  }
  return fmt::format("From n = {} to n = {} they grow: {}.", name_along(counts, 1, lengths - 2),
                     name_along(counts, 1, lengths - 1), fmt::join(growth, ", "));
}

/// What chunked and flash hold, and how the bytes grow.
std::string notice_of_bytes(const attn::Event& counts, std::size_t block) {
  return fmt::format(
      "Two layers are not in step 1. chunked holds the scores of {0} queries at a time. flash holds those of "
      "{0} queries with {0} keys, whatever n is.\n{1}",
      block, notice_of_growth(counts));
}

void set_complexity_page(attn::Trace& trace, const Options& options) {
  trace.page(
      {{"idea"},
       {"flow"},
       {"waiting"},
       {"compared"},
       {"comparison"},
       {"reading"},
       {"code"},
       attn::in_one_line("n"),
       attn::in_one_line("d"),
       attn::without_plot("multiply_adds", notice_of_growth),
       attn::without_plot("score_bytes", [block = *options.block](
                                             const auto& counts) { return notice_of_bytes(counts, block); })},
      {"recurrence-in-n", "full-in-n", "full-overtakes-recurrence", "flash-memory"});
}

void conclude(Workbench& bench, LayerCosts& costs, std::size_t longest) {
  const auto d = bench.d_model();
  const auto of_one_more = [&](std::string_view layer) {
    return costs.multiply_adds(layer, {longest + 1, d}) - costs.multiply_adds(layer, {longest, d});
  };
  bench.trace.note(
      "reading", "What it says",
      fmt::format(
          "Full attention takes more multiply-adds than a recurrence as soon as n > d. So on long texts it "
          "did not win by computing less. It won because no token waits for another, and because any two "
          "tokens are one step apart. What has to be carried over many steps gets lost. The projections W_Q, "
          "W_K, W_V and W_O are not counted here: they add 4 n d².\n"
          "One more token costs a recurrence 2 d² = {} multiply-adds, whatever n is. It costs full attention "
          "2 d (2 n + 1) = {}, and ever more.",
          of_one_more("recurrence"), of_one_more("full")));
}

/// The last length, or half of a long one, so that twice as many tokens take no longer than the page did.
std::size_t length_to_double(const Options& options) {
  constexpr std::size_t long_length = 256;
  const auto last = options.lengths.back();
  return last > long_length ? last / 2 : last;
}

void claim_growth(Workbench& bench, LayerCosts& costs) {
  const std::size_t n = length_to_double(bench.options), d = bench.d_model();
  const auto claim = [&](const std::string& id, const std::string& text, const std::string& layer,
                         const Size& from, const Size& to, double factor) {
    bench.trace.claim({.id = id,
                       .claim = text,
                       .formula = fmt::format("{}/multiply_adds: n = {}, d = {} over n = {}, d = {}", layer,
                                              to.n, to.d, from.n, from.d),
                       .value = static_cast<double>(costs.multiply_adds(layer, to)) /
                                static_cast<double>(costs.multiply_adds(layer, from)),
                       .limit = attn::exactly(factor)});
  };
  claim("recurrence-in-n", "twice the tokens make a recurrence twice the work: n", "recurrence", {n, d},
        {2 * n, d}, 2.0);
  claim("recurrence-in-d", "vectors twice as long make it four times the work: d²", "recurrence", {n, d},
        {n, 2 * d}, 4.0);
  claim("full-in-n", "twice the tokens make full attention four times the work: n²", "full", {n, d},
        {2 * n, d}, 4.0);
  claim("full-in-d", "vectors twice as long make it twice the work: d", "full", {n, d}, {n, 2 * d}, 2.0);
  claim("linear-in-n", "a sequence twice as long makes linear attention twice the work: n", "linear", {n, d},
        {2 * n, d}, 2.0);
}

void claim_steps_and_memory(Workbench& bench, LayerCosts& costs, const std::optional<std::size_t>& crossing) {
  const std::size_t n = length_to_double(bench.options), d = bench.d_model();
  auto& trace = bench.trace;
  if (crossing)
    trace.claim({.id = "full-overtakes-recurrence",
                 .claim = "full attention takes more than a recurrence from n = d + 1",
                 .formula = "crossing with recurrence",
                 .value = static_cast<double>(*crossing),
                 .limit = attn::exactly(static_cast<double>(d + 1))});
  trace.claim({.id = "recurrence-waits",
               .claim = "a recurrence waits for itself n times",
               .formula = fmt::format("recurrence/sequential_steps at n = {}", n),
               .value = static_cast<double>(costs.of("recurrence", {n, d}).sequential_steps),
               .limit = attn::exactly(static_cast<double>(n))});
  trace.claim({.id = "full-is-direct",
               .claim = "in full attention any token reads any other in one step",
               .formula = fmt::format("full/path_length at n = {}", n),
               .value = static_cast<double>(costs.of("full", {n, d}).path_length),
               .limit = attn::exactly(1.0)});
  if (n >= *bench.options.block)
    trace.claim({.id = "flash-memory",
                 .claim = "the scores that flash attention holds do not grow with n",
                 .formula = fmt::format("flash/score_bytes at n = {} − at n = {}", 2 * n, n),
                 .value = static_cast<double>(costs.of("flash", {2 * n, d}).cost.score_bytes -
                                              costs.of("flash", {n, d}).cost.score_bytes),
                 .limit = attn::exactly(0.0)});
}

void run_complexity(Workbench& bench) {
  const auto& options = bench.options;
  require_lengths(options);
  const auto d = bench.d_model(), longest = *std::max_element(options.lengths.begin(), options.lengths.end());
  const std::vector<std::size_t> dimensions = {d, 2 * d, 4 * d};
  auto& trace = bench.trace;
  set_complexity_page(trace, options);
  trace.label("length", {{names_of(options.lengths)}});
  trace.label("d_model", {{names_of(dimensions)}});
  introduce_complexity(bench);
  trace.input({.id = "n", .title = "The lengths to compare", .axes = {"length"}}, counts_of(options.lengths));
  trace.input({.id = "d", .title = "Numbers in a token's vector"}, static_cast<std::int64_t>(d));

  LayerCosts costs(bench);
  for (const auto& layer : counted_layers()) show_layer(bench, costs, layer);
  explain_waiting(bench, costs, {longest, d});
  compare_layers(bench, costs, longest);
  bench.flow(complexity_flow(bench, costs, longest));
  show_tables(bench, costs);
  show_complexity_code(bench);
  auto places = fmt::format("#0: n = {}", options.lengths.front());
  if (options.lengths.size() > 1)
    places += fmt::format(", #{}: n = {}", options.lengths.size() - 1, options.lengths.back());
  show_curves(bench, costs, work, "Multiply-adds, " + places, {"recurrence", "full", "local", "linear"},
              "On logarithmic scales a power of n is a straight line, the steeper the higher the power.");
  show_curves(bench, costs, storage, "Bytes held, " + places, {"full", "chunked", "local", "flash"}, "");
  show_growth_in_d(bench, costs, dimensions);
  show_crossings(bench, costs, longest);
  conclude(bench, costs, longest);
  claim_growth(bench, costs);
  claim_steps_and_memory(bench, costs, costs.crossing("recurrence", d, longest));
  bench.try_next({{"complexity --lengths 64,128,256", "what grows fastest?"},
                  {"complexity --d-model 64", "up to which n is full attention cheaper?"},
                  {"bench", "the same in seconds, on this machine"}},
                 {{"complexity --window 8", "what does a wider window cost?"}});
}

std::vector<Input> complexity_inputs(const Options&) {
  return {{"n", {"length"}, Draw::option, "lengths"}, {"d", {}, Draw::option, "d-model"}};
}

}  // namespace

extern const Lesson complexity;
const Lesson complexity = {
    .name = "complexity",
    .title = "what each layer computes, holds and waits for as n grows",
    .teaches =
        "Recurrence, convolution, full attention and its variants, run on sequences of growing length: "
        "multiply-adds, bytes held, steps that have to wait and the way between distant tokens, all counted "
        "while the code runs. Where full attention overtakes a recurrence, and why it won although it "
        "computes more.",
    .options = {"d-model", "heads", "kv-heads", "window", "block", "rank", "features", "lengths", "seed",
                "rng", "draws", "dtype"},
    .takes_batches = false,
    .defaults =
        {.heads = 2, .kv_heads = 1, .window = 2, .block = 4, .rank = 4, .lengths = {4, 8, 16, 32, 64}},
    .examples = {"complexity --lengths 16,32,64,128",
                 "complexity --d-model 32 --lengths 8,16,32,64,128 --window 4"},
    .inputs = complexity_inputs,
    .run = run_complexity,
};

}  // namespace lessons
