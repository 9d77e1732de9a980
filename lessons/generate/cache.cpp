#include "lessons/generate/cache.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "lessons/workbench/columns.hpp"

namespace lessons {

namespace {

/// "step 0   cache/K [2×6×4]   cache/V [2×6×4]", for the first steps and the last.
std::string shapes_by_step(const Workbench& bench, std::size_t steps) {
  constexpr std::size_t shown = 4;
  const auto n = bench.plan.sentence.length();
  std::string lines;
  for (std::size_t step = 0; step < steps; ++step) {
    const bool is_last = step + 1 == steps;
    if (step >= shown && !is_last) continue;
    lines += fmt::format("{}step {}   cache/K [{kv}×{n}×{}]   cache/V [{kv}×{n}×{}]{}",
                         step > shown ? "…\n" : "", step, bench.d_k(), bench.d_v(), is_last ? "" : "\n",
                         fmt::arg("kv", bench.kv_heads()), fmt::arg("n", n + step));
  }
  return lines;
}

/// "1 token", "2 tokens".
std::string counted(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// `cost` [step×feature]: how many scores each step computes with the cache, and how many without.
void show_cost(Workbench& bench, std::size_t steps) {
  const auto n = bench.plan.sentence.length();
  const auto layers = *bench.options.layers, heads = bench.heads(), tables = layers * heads;
  const auto queries = [n](std::size_t step, std::size_t column) {
    return step == 0 || column == 1 ? n + step : std::size_t{1};
  };
  auto cost = Integers<2>::from_shape({steps, 2});
  for (std::size_t step = 0; step < steps; ++step)
    for (std::size_t column = 0; column < 2; ++column)
      cost(step, column) = static_cast<std::int64_t>(tables * queries(step, column) * (n + step));
  const auto worked = [=](const attn::Index& at) {
    return attn::Worked::product({static_cast<double>(layers), static_cast<double>(heads),
                                  static_cast<double>(queries(at[0], at[1])),
                                  static_cast<double>(n + at[0])});
  };
  bench.trace.label("feature", {{{"cached", "anew"}}});
  bench.trace.step({.id = "cost",
                    .title = "How many scores a step computes",
                    .formula = "layers · heads · queries · keys",
                    .axes = {"step", "feature"},
                    .note = "“Anew” is without a cache: every step reads the whole text.",
                    .worked = worked},
                   cost);
}

/// "2 · 4 · 1 · 7 = 56": layers, heads, queries and keys.
std::string counted_scores(std::size_t layers, std::size_t heads, std::size_t queries, std::size_t keys) {
  return fmt::format("{} · {} · {} · {} = {}", layers, heads, queries, keys, layers * heads * queries * keys);
}

void explain_work(Workbench& bench, std::size_t steps) {
  constexpr std::size_t most_steps = 4;
  const auto n = bench.plan.sentence.length(), layers = *bench.options.layers, heads = bench.heads();
  auto table = fmt::format("{:<6}{:<28}{}", "step", "with the cache", "without");
  for (const auto& step : places_shown(steps, most_steps))
    table += !step ? "\n…"
                   : fmt::format("\n{:<6}{:<28}{}", *step,
                                 counted_scores(layers, heads, *step == 0 ? n : 1, n + *step),
                                 counted_scores(layers, heads, n + *step, n + *step));
  bench.trace.note("work", "What the cache saves: scores",
                   fmt::format("A step computes layers · heads · queries · keys scores. Without the cache "
                               "every token is a query again. One more word in the prompt turns {1} · {1} "
                               "into {0} · {0} in step 0, and adds one key to each later step.",
                               n + 1, n),
                   table);
}

void show_growth(Workbench& bench, std::size_t steps) {
  const auto n = bench.plan.sentence.length();
  const auto text =
      steps == 1
          ? std::string(
                "There was one step, the prefill. Every further one would add a row, in each layer and for "
                "each key and value head.")
          : fmt::format(
                "By one row a token, in each layer and for each key and value head. In {} steps {} have gone "
                "through the model. Had each step read the whole text anew, it would have been {}, and each "
                "would have scored all pairs of tokens instead of one row of them.",
                steps, counted(n + steps - 1, "token"), steps * n + steps * (steps - 1) / 2);
  bench.trace.note("growth", "How the cache has grown", text, shapes_by_step(bench, steps));
}

void show_contents(Workbench& bench, std::size_t layer, std::size_t steps, const KeyValueCache& cache) {
  const std::string kv_head = bench.kv_heads() == bench.heads() ? "head" : "kv_head";
  const auto group = fmt::format("step={}/{}cache/", steps - 1, layer_group(bench.options, layer));
  const auto show = [&](const std::string& name, const std::string& what, const std::string& width,
                        const std::string& note, const Tensor<4>& kept) {
    bench.trace.step({.id = "cache/" + name,
                      .title = fmt::format("The {} that are kept in the end", what),
                      .formula = group + name,
                      .from = {group + name},
                      .axes = {kv_head, "key", width},
                      .note = note,
                      .worked =
                          [&](const attn::Index& at) {
                            return attn::Worked({group + name, at}, kept(at[0], at[1], at[2], at[3]));
                          }},
                     kept);
  };
  show("K", "keys", "d_k",
       layer == 0 ? "The token written last is not among them: nothing has read it yet." : "", cache.keys);
  show("V", "values", "d_v", "", cache.values);
}

/// The numbers of key and value heads that the query heads can share, from all to one.
std::vector<std::size_t> sharings(std::size_t heads) {
  std::vector<std::size_t> numbers;
  for (std::size_t kv_heads = heads; kv_heads > 0; --kv_heads)
    if (heads % kv_heads == 0) numbers.push_back(kv_heads);
  return numbers;
}

/// What the caches of all layers take up with `kv_heads` heads for `tokens` tokens.
std::size_t bytes_of_caches(const Workbench& bench, std::size_t kv_heads, std::size_t tokens) {
  return *bench.options.layers * kv_heads * tokens * (bench.d_k() + bench.d_v()) *
         attn::item_size(bench.trace.dtype());
}

attn::WorkedOut worked_bytes_of_caches(const Workbench& bench, const std::vector<std::size_t>& kv_heads,
                                       std::size_t tokens) {
  return [&, tokens](const attn::Index& at) {
    const auto number = [](std::size_t count) { return attn::Worked(static_cast<double>(count)); };
    return attn::Worked::product({number(*bench.options.layers), number(kv_heads[at[0]]), number(tokens),
                                  attn::Worked::sum({number(bench.d_k()), number(bench.d_v())}),
                                  number(attn::item_size(bench.trace.dtype()))});
  };
}

std::string about_sharing(std::size_t heads, std::size_t kv_heads) {
  if (heads == 1) return "One head has nobody to share with; try --heads 4 --kv-heads 1.";
  return fmt::format(
      "A column is a number of key and value heads: {} is multi-head attention, 1 is multi-query "
      "attention{}; this run has {}. The cache of long texts can outgrow the weights of a large model: fewer "
      "heads make it smaller, but then several query heads search the same keys.",
      heads, heads == 2 ? "" : ", what lies between is grouped-query attention", kv_heads);
}

/// Which tokens a cache holds in the end.
std::string about_length(std::size_t of_prompt, std::size_t tokens) {
  const auto read = tokens - of_prompt;
  if (read == 0)
    return fmt::format(
        "One token was written, and it is never read. So the cache holds the {} of the prompt. ",
        counted(of_prompt, "token"));
  return fmt::format(
      "{0} tokens were written, but the last is never read. So the cache holds {1} + {2} = {3}. ", read + 1,
      of_prompt, read, tokens);
}

void compare_bytes(Workbench& bench, const Decoding& decoding) {
  const auto heads = bench.heads(), kv_heads = bench.kv_heads(), tokens = decoding.caches.front().length();
  const auto numbers = sharings(heads);
  auto bytes = Integers<1>::from_shape({numbers.size()});
  std::vector<std::string> names;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    bytes(i) = static_cast<std::int64_t>(bytes_of_caches(bench, numbers[i], tokens));
    names.push_back(fmt::format("{}", numbers[i]));
  }
  bench.trace.label("kv_head", {{names}});
  bench.trace.step(
      {.id = "cache/bytes",
       .title = "Bytes of the cache, by key and value heads",
       .formula = fmt::format("layers · kv_heads · tokens · (d_k + d_v) · {} bytes",
                              attn::item_size(bench.trace.dtype())),

       .axes = {"kv_head"},
       .note = about_length(bench.plan.sentence.length(), tokens) + about_sharing(heads, kv_heads),
       .worked = worked_bytes_of_caches(bench, numbers, tokens)},
      bytes);

  std::size_t kept = 0;
  for (const auto& cache : decoding.caches) kept += cache.size() * attn::item_size(bench.trace.dtype());
  std::int64_t deviation = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    deviation = std::max(deviation, std::abs(bytes(i) * static_cast<std::int64_t>(kv_heads) -
                                             static_cast<std::int64_t>(kept * numbers[i])));
  bench.trace.claim(
      {.id = "cache-in-proportion",
       .claim = "the cache grows in proportion to its key and value heads, counted from that of this run",
       .formula = fmt::format("max |cache/bytes[h] · {} − bytes of this cache · h|", kv_heads),
       .value = static_cast<double>(deviation),
       .limit = attn::exactly(0.0)});
}

/// "4, multi-head": what attention with so many key and value heads is called.
std::string name_of_sharing(std::size_t heads, std::size_t kv_heads) {
  const auto* const name = kv_heads == heads ? "multi-head" : kv_heads == 1 ? "multi-query" : "grouped-query";
  return heads == 1 ? "1" : fmt::format("{}, {}", kv_heads, name);
}

void explain_memory(Workbench& bench, const Decoding& decoding) {
  const auto heads = bench.heads(), tokens = decoding.caches.front().length();
  const auto number = attn::item_size(bench.trace.dtype());
  auto table = fmt::format("layers · kv_heads · tokens · (d_k + d_v) · {} bytes a number", number);
  for (const auto kv_heads : sharings(heads))
    table += fmt::format("\n{:<20}{} · {} · {} · ({} + {}) · {} = {}{}", name_of_sharing(heads, kv_heads),
                         *bench.options.layers, kv_heads, tokens, bench.d_k(), bench.d_v(), number,
                         bytes_of_caches(bench, kv_heads, tokens),
                         kv_heads == bench.kv_heads() && heads > 1 ? "   ← this run" : "");
  bench.trace.note("memory", "What the cache takes: bytes",
                   about_length(bench.plan.sentence.length(), tokens) +
                       (heads == 1 ? "One head has nobody to share with; try --heads 4 --kv-heads 1."
                                   : "Heads can share keys and values (--kv-heads). The cache is smaller "
                                     "then, but these heads search the same keys."),
                   table);
}

/// `cost` and `cache/bytes` in NumPy.
void show_cost_code(Workbench& bench, std::size_t steps, std::size_t tokens) {
  const auto tables = *bench.options.layers * bench.heads(), n = bench.plan.sentence.length();
  bench.trace.within("cost", [&] {
    bench.code({fmt::format("cost = [[{0} * ({1} if step == 0 else 1) * ({1} + step), {0} * ({1} + step)**2]",
                            tables, n),
                fmt::format("        for step in range({})]", steps),
                fmt::format("cache_bytes = [{} * kv_heads for kv_heads in [{}]]",
                            bytes_of_caches(bench, 1, tokens), fmt::join(sharings(bench.heads()), ", "))});
  });
}

}  // namespace

void show_cache(Workbench& bench, const Decoding& decoding) {
  const auto steps = decoding.logits.size();
  explain_work(bench, steps);
  explain_memory(bench, decoding);
  show_cost(bench, steps);
  show_cost_code(bench, steps, decoding.caches.front().length());
  show_growth(bench, steps);
  for (std::size_t layer = 0; layer < decoding.caches.size(); ++layer)
    in_layer(bench, layer, [&] { show_contents(bench, layer, steps, decoding.caches[layer]); });
  compare_bytes(bench, decoding);
}

}  // namespace lessons
