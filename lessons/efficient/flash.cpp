/// Flash attention: exact, in tiles, with a softmax that runs along the keys.
/// Sources: Milakov & Gimelshein 2018 (the running softmax), Dao et al. 2022.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/scoring.hpp"
#include "attn/ops/slice.hpp"
#include "attn/text/width.hpp"
#include "lessons/efficient/mistakes.hpp"
#include "lessons/efficient/variants.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Queries or keys begin, …, end − 1.
struct Block {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};

std::vector<Block> blocks_of(std::size_t n, std::size_t size) {
  if (size == 0) throw std::invalid_argument("[flash_attention] a block has 0 rows; valid: 1 or more");
  std::vector<Block> blocks;
  for (std::size_t begin = 0; begin < n; begin = blocks.back().end)
    blocks.push_back({begin, begin + std::min(size, n - begin)});
  return blocks;
}

/// Which keys the queries of one attention see.
struct Visible {
  std::size_t n_q, n_k;
  bool causal;

  /// The keys of a block that query i sees: its first ones, all of them or none.
  Block keys(std::size_t i, const Block& block) const {
    if (!causal) return block;
    const std::size_t first_hidden = i + n_k + 1 > n_q ? i + n_k + 1 - n_q : 0;
    return {block.begin, std::clamp(first_hidden, block.begin, block.end)};
  }

  bool any(const Block& queries, const Block& block) const { return keys(queries.end - 1, block).size() > 0; }
};

/// The scores of a block of queries and a block of keys; −∞, and not computed, where the key is hidden.
Tensor<2> scores_of_tile(const Tensor<2>& Q, const Tensor<2>& K, const Block& queries, const Block& keys,
                         const Visible& visible, CostCounter& counter) {
  const double root = std::sqrt(static_cast<double>(K.shape(1)));
  Tensor<2> tile({queries.size(), keys.size()}, -infinity);
  for (std::size_t i = queries.begin; i < queries.end; ++i) {
    const auto seen = visible.keys(i, keys);
    const auto scores = counter.matmul(attn::rows(K, seen.begin, seen.end), attn::row(Q, i));
    std::transform(scores.begin(), scores.end(), &tile(i - queries.begin, 0),
                   [root](double score) { return score / root; });
  }
  return tile;
}

/// The softmax of one query's scores times the values, block by block: only m, l and o are kept.
class RunningSoftmax {
 public:
  RunningSoftmax(std::size_t d_v, CostCounter& counter) : output_({d_v}, 0.0), counter_(counter) {}

  /// Goes on with the scores of the keys of a block, and their values [key×d_v].
  void add(const Tensor<1>& scores, const Tensor<2>& values) {
    const double maximum = std::max(maximum_, *std::max_element(scores.begin(), scores.end()));
    Tensor<1> weights = attn::shift(scores, -maximum);
    std::transform(weights.begin(), weights.end(), weights.begin(), [](double x) { return std::exp(x); });
    if (maximum_ != -infinity) rescale(std::exp(maximum_ - maximum));
    maximum_ = maximum;
    sum_ += std::accumulate(weights.begin(), weights.end(), 0.0);
    output_ = attn::add(output_, counter_.matmul(weights, values));
  }

  /// o / l [d_v]; zeros where no key was seen.
  Tensor<1> output() const { return attn::divide(output_, sum_ == 0.0 ? 1.0 : sum_); }

 private:
  /// What was summed relative to the old maximum is smaller relative to the new one.
  void rescale(double factor) {
    sum_ = counter_.scale(factor, sum_);
    output_ = counter_.scale(factor, output_);
  }

  double maximum_ = -infinity;  ///< m
  double sum_ = 0.0;            ///< l
  Tensor<1> output_;            ///< o
  CostCounter& counter_;
};

/// Records an operation that reads the keys of a block and what the query's operation before it left.
CostCounter::Node record_operation(const Block& keys, std::optional<CostCounter::Node> before,
                                   CostCounter& counter) {
  std::vector<CostCounter::Node> inputs(keys.size());
  std::iota(inputs.begin(), inputs.end(), keys.begin);
  if (before) inputs.push_back(*before);
  return counter.operation(inputs);
}

}  // namespace

Tensor<2> flash_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, std::size_t block,
                          bool causal, CostCounter& counter) {
  require_fitting("flash_attention", Q, K, V);
  const Visible visible = {Q.shape(0), K.shape(0), causal};
  Tensor<2> output({Q.shape(0), V.shape(1)});
  for (const auto& queries : blocks_of(visible.n_q, block)) {
    std::vector<RunningSoftmax> running(queries.size(), RunningSoftmax(V.shape(1), counter));
    std::vector<std::optional<CostCounter::Node>> operations(queries.size());
    for (const auto& keys : blocks_of(visible.n_k, block)) {
      if (!visible.any(queries, keys)) break;
      const auto tile = scores_of_tile(Q, K, queries, keys, visible, counter);
      const auto held = counter.hold(tile.size());
      for (std::size_t row = 0; row < queries.size(); ++row) {
        const auto seen = visible.keys(queries.begin + row, keys);
        if (seen.size() == 0) continue;
        const auto scores = attn::row(attn::columns(tile, 0, seen.size()), row);
        running[row].add(scores, attn::rows(V, seen.begin, seen.end));
        operations[row] = record_operation(seen, operations[row], counter);
      }
    }
    for (std::size_t row = 0; row < queries.size(); ++row) {
      const auto result = running[row].output();
      std::copy(result.begin(), result.end(), &output(queries.begin + row, 0));
      if (operations[row]) counter.output(*operations[row], queries.begin + row);
    }
  }
  return output;
}

namespace {

/// The tokens of each block: "0–2", "3–5".
std::vector<std::string> names_of(const std::vector<Block>& blocks) {
  std::vector<std::string> names;
  for (const auto& [begin, end] : blocks)
    names.push_back(end - begin == 1 ? fmt::format("{}", begin) : fmt::format("{}–{}", begin, end - 1));
  return names;
}

/// The scores of all tiles, laid out, and which tile each is in.
struct Tiles {
  Tensor<2> scores;    ///< [query×key], −∞ where none is computed
  Integers<2> number;  ///< [query×key], 1, 2, … in the order of the tiles; 0 likewise
  std::int64_t count = 0;
};

/// The score, and −∞ where the key is hidden.
attn::WorkedOut worked_scores_of_tiles(const VariantBench& on, const Visible& visible) {
  return [=, scores = worked_pair_scores({"Q", on.Q}, {"K", on.K})](const attn::Index& at) {
    const bool is_seen = visible.keys(at[0], {at[1], at[1] + 1}).size() > 0;
    return is_seen ? scores(at) : attn::Worked(-infinity);
  };
}

/// ⌊i / size⌋ rows of tiles come before, and ⌊j / size⌋ tiles of its own row; if causal, row r has r + 1
/// tiles.
attn::WorkedOut worked_tile(const std::vector<Block>& blocks, bool causal) {
  return [size = static_cast<double>(blocks[0].size()), count = static_cast<double>(blocks.size()),
          causal](const attn::Index& at) {
    const attn::Worked i = static_cast<double>(at[0]), j = static_cast<double>(at[1]);
    const auto row = floor(i / attn::Worked(size)), column = floor(j / attn::Worked(size));
    if (!causal) return attn::Worked::sum({attn::Worked::product({row, count}), column, 1.0});
    const auto above = attn::Worked::product({row, attn::Worked::sum({row, 1.0})}) / attn::Worked(2.0);
    return attn::Worked::product({attn::Worked::at_most(j, i), attn::Worked::sum({above, column, 1.0})});
  };
}

const std::vector<std::string>& words_of(const VariantBench& on) {
  return on.bench.plan.sentence.tokens.front();
}

std::string words_on_scores(const VariantBench& on) {
  return fmt::format(
      "The numbers are row \"{}\" of Q and row \"{}\" of K (--steps Q,K). All scores are shown at once for "
      "checking; flash holds those of one tile.",
      words_of(on)[on.n() - 1], words_of(on).front());
}

/// Which numbers the worked entry of the sums of values takes from V.
std::string words_on_values(const VariantBench& on, const Block& keys) {
  std::string words;
  for (std::size_t j = keys.begin; j < keys.end && keys.size() <= 2; ++j)
    words += fmt::format("{}V[{}, 0] = {:.4f}", words.empty() ? "" : ", ", words_of(on)[j], on.V(j, 0) + 0.0);
  return fmt::format("These are sums of query \"{}\". vⱼ is the value of key j{} (--steps V).",
                     words_of(on)[on.n() - 1], words.empty() ? "" : ": " + words);
}

Tiles show_tiles(VariantBench& on, const std::vector<Block>& blocks) {
  const auto n = on.n();
  const Visible visible = {n, n, on.causal()};
  Tiles tiles = {Tensor<2>({n, n}, -infinity), Integers<2>({n, n}, 0)};
  auto counter = on.counter();
  for (const auto& queries : blocks) {
    const auto row_of_tiles = scores_of_tile(on.Q, on.K, queries, {0, n}, visible, counter);
    std::copy(row_of_tiles.begin(), row_of_tiles.end(), &tiles.scores(queries.begin, 0));
    for (const auto& keys : blocks) {
      if (!visible.any(queries, keys)) break;
      ++tiles.count;
      for (std::size_t i = queries.begin; i < queries.end; ++i)
        for (std::size_t j = keys.begin; j < visible.keys(i, keys).end; ++j) tiles.number(i, j) = tiles.count;
    }
  }

  const auto hidden = [&](const char* shown) -> std::string {
    return on.causal() ? fmt::format(" What --causal hides is not computed: {}.", shown) : "";
  };
  tiles.scores = on.bench.trace.step({.id = "flash/scores",
                                      .title = "The scores of all tiles",
                                      .formula = "Q Kᵀ / √d_k",
                                      .from = {"Q", "K"},
                                      .axes = {"query", "key"},
                                      .note = words_on_scores(on) + hidden("−inf"),
                                      .worked = worked_scores_of_tiles(on, visible),
                                      .worked_at = attn::Index{n - 1, 0}},
                                     tiles.scores, mistakes_of_scale(on.K.shape(1), [&](double factor) {
                                       return attn::divide(tiles.scores, 1.0 / factor);
                                     }));
  tiles.number = on.bench.trace.step(
      {.id = "flash/tile",
       .title = "The tile in which each score is computed",
       .axes = {"query", "key"},
       .note = "A block of queries goes through the blocks of keys, then comes the next block of queries." +
               hidden("0"),
       .worked = worked_tile(blocks, on.causal())},
      tiles.number);
  return tiles;
}

/// What each query carries from block to block, and the output. Row b is what it has after block b of keys. A
/// hidden score is −∞ and so adds nothing.
struct RunningRows {
  Tensor<2> maximum, rescaling, sum;  ///< [block×query]
  Tensor<2> output;                   ///< [query×d_v]
  Tensor<2> of_last_query;            ///< its sums of values, [block×d_v]
  std::size_t followed = 0;           ///< the block whose entries are worked out
};

/// Σⱼ exp(sⱼ − m′) xⱼ over the keys of a block, for query i.
template <class X>
double weighted_sum(const Tensor<2>& scores, std::size_t i, const Block& keys, double maximum, X x) {
  double sum = 0.0;
  for (std::size_t j = keys.begin; j < keys.end; ++j) sum += std::exp(scores(i, j) - maximum) * x(j);
  return sum;
}

attn::Worked worked_at(const std::string& id, const Tensor<2>& x, std::size_t row, std::size_t column) {
  return attn::Known{id, x}({row, column});
}

/// c times what was there before the block, for query i.
attn::Worked worked_rescaled(const Tensor<2>& rescaling, std::size_t b, std::size_t i, attn::Worked before) {
  return attn::Worked::product({worked_at("flash/rescaling", rescaling, b, i), std::move(before)});
}

/// exp(sⱼ − m′), or exp(sⱼ − m′) vⱼ, for query i and each key of a block that it sees; m′ is that after block
/// b.
std::vector<attn::Worked> worked_block_terms(const Tensor<2>& scores, const Tensor<2>& maximum,
                                             const Block& keys, std::size_t b, std::size_t i,
                                             const Tensor<2>* V = nullptr, std::size_t c = 0) {
  std::vector<attn::Worked> terms;
  for (std::size_t j = keys.begin; j < keys.end; ++j) {
    const auto score = worked_at("flash/scores", scores, i, j);
    if (score.value() == -infinity) continue;
    terms.push_back(exp(score - worked_at("flash/maximum", maximum, b, i)));
    if (V != nullptr) terms.back() = attn::Worked::product({terms.back(), worked_at("V", *V, j, c)});
  }
  return terms;
}

/// max(m, the scores of the block).
attn::WorkedOut worked_running_maximum(attn::Known<2> scores, attn::Known<2> maximum,
                                       const std::vector<Block>& blocks) {
  return [=, &blocks](const attn::Index& at) {
    std::vector<attn::Worked> choices;
    if (at[0] > 0) choices.push_back(maximum({at[0] - 1, at[1]}));
    for (std::size_t j = blocks[at[0]].begin; j < blocks[at[0]].end; ++j)
      if (scores.tensor(at[1], j) != -infinity) choices.push_back(scores({at[1], j}));
    return attn::largest(std::move(choices));
  };
}

/// [block, query] of the last query, where a block after the first has a larger score than all before it;
/// else of the last block.
attn::Index first_rescaling(const Tensor<2>& scores, const std::vector<Block>& blocks) {
  const auto i = scores.shape(0) - 1;
  const auto* row = &scores(i, 0);
  for (std::size_t b = 1; b < blocks.size(); ++b) {
    const auto* begin = row + blocks[b].begin;
    if (*std::max_element(begin, row + blocks[b].end) > *std::max_element(row, begin)) return {b, i};
  }
  return {blocks.size() - 1, i};
}

/// The four lines of the running softmax, each for all queries and blocks, over the scores laid out.
RunningRows show_running_softmax(VariantBench& on, const Tensor<2>& scores,
                                 const std::vector<Block>& blocks) {
  auto& trace = on.bench.trace;
  const auto n = on.n(), d_v = on.V.shape(1), last = blocks.size() - 1;
  const auto followed = first_rescaling(scores, blocks);
  const Tensor<2> empty({blocks.size(), n});
  RunningRows running = {empty, empty, empty, Tensor<2>({n, d_v}), {}, followed[0]};
  auto &maximum = running.maximum, &rescaling = running.rescaling, &sum = running.sum;
  auto &output = running.output, &of_last_query = running.of_last_query;

  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (std::size_t i = 0; i < n; ++i) {
      const double largest =
          *std::max_element(&scores(i, 0) + blocks[b].begin, &scores(i, 0) + blocks[b].end);
      maximum(b, i) = b == 0 ? largest : std::max(maximum(b - 1, i), largest);
    }
  maximum = trace.step(
      {.id = "flash/maximum",
       .title = "The running maximum after each block of keys",
       .formula = "m′ = max(m, the scores of the block)",
       .from = {"flash/scores"},
       .axes = {"block", "query"},
       .note = "A row is a block of keys, a column a query: its largest score so far.",
       .worked = worked_running_maximum({"flash/scores", scores}, {"flash/maximum", maximum}, blocks),
       .worked_at = followed},
      maximum);

  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (std::size_t i = 0; i < n; ++i)
      rescaling(b, i) = b == 0 ? 0.0 : std::exp(maximum(b - 1, i) - maximum(b, i));
  rescaling = trace.step(
      {.id = "flash/rescaling",
       .title = "What the sums so far are multiplied by",
       .formula = "c = exp(m − m′)",
       .from = {"flash/maximum"},
       .axes = {"block", "query"},
       .note = "The terms of the old l and o have exp(s − m) and need exp(s − m′). As exp(s − m′) is c · "
               "exp(s − m) for every score s, c times the old sums is right. "
               "Where m stays, c is 1. In the first block m is −∞ and c is 0.",
       .worked =
           [known = attn::Known{std::string("flash/maximum"), maximum}](const attn::Index& at) {
             return at[0] == 0 ? attn::Worked(0.0) : exp(known({at[0] - 1, at[1]}) - known(at));
           },
       .worked_at = followed},
      rescaling, mistakes_of_rescaling(rescaling));

  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (std::size_t i = 0; i < n; ++i) {
      const double before = b == 0 ? 0.0 : sum(b - 1, i);
      const double added = weighted_sum(scores, i, blocks[b], maximum(b, i), [](std::size_t) { return 1.0; });
      sum(b, i) = rescaling(b, i) * before + added;
    }
  sum = trace.step({.id = "flash/sum",
                    .title = "The denominator of softmax so far",
                    .formula = "l′ = c l + Σⱼ exp(sⱼ − m′)",
                    .from = {"flash/scores", "flash/maximum", "flash/rescaling"},
                    .axes = {"block", "query"},
                    .note = "j runs over the keys of the block, and sⱼ is the score of key j.",
                    .worked =
                        [&](const attn::Index& at) {
                          auto terms = worked_block_terms(scores, maximum, blocks[at[0]], at[0], at[1]);
                          if (at[0] > 0)
                            terms.insert(terms.begin(),
                                         worked_rescaled(rescaling, at[0], at[1],
                                                         worked_at("flash/sum", sum, at[0] - 1, at[1])));
                          return attn::Worked::sum(std::move(terms));
                        },
                    .worked_at = followed},
                   sum);

  for (std::size_t i = 0; i < n; ++i) {
    Tensor<2> accumulated({blocks.size(), d_v});
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (std::size_t c = 0; c < d_v; ++c) {
        const double before = b == 0 ? 0.0 : accumulated(b - 1, c);
        const double added =
            weighted_sum(scores, i, blocks[b], maximum(b, i), [&](std::size_t j) { return on.V(j, c); });
        accumulated(b, c) = rescaling(b, i) * before + added;
      }
    if (i == n - 1)
      accumulated = trace.step(
          {.id = "flash/accumulated",
           .title = "The last query's output so far, not divided",
           .formula = "o′ = c o + Σⱼ exp(sⱼ − m′) vⱼ",
           .from = {"flash/scores", "V", "flash/maximum", "flash/rescaling"},
           .axes = {"block", "d_v"},
           .note = words_on_values(on, blocks[followed[0]]),
           .worked =
               [&](const attn::Index& at) {
                 auto terms = worked_block_terms(scores, maximum, blocks[at[0]], at[0], i, &on.V, at[1]);
                 if (at[0] > 0)
                   terms.insert(terms.begin(), worked_rescaled(rescaling, at[0], i,
                                                               worked_at("flash/accumulated", accumulated,
                                                                         at[0] - 1, at[1])));
                 return attn::Worked::sum(std::move(terms));
               },
           .worked_at = attn::Index{followed[0], 0}},
          accumulated);
    for (std::size_t c = 0; c < d_v; ++c) output(i, c) = accumulated(last, c) / sum(last, i);
    if (i == n - 1) of_last_query = accumulated;
  }
  output = trace.step(
      {.id = "flash/output",
       .title = "The output, divided once at the end",
       .formula = "o / l",
       .from = {"flash/scores", "V", "flash/maximum", "flash/rescaling", "flash/sum", "flash/accumulated"},
       .axes = {"query", "d_v"},
       .note = "o and l are those after the last block.",
       .worked =
           [&](const attn::Index& at) {
             const auto denominator = worked_at("flash/sum", sum, last, at[0]);
             if (at[0] == n - 1)
               return worked_at("flash/accumulated", of_last_query, last, at[1]) / denominator;
             auto terms = worked_block_terms(scores, maximum, {0, n}, last, at[0], &on.V, at[1]);
             return attn::Worked::sum(std::move(terms)) / denominator;
           },
       .worked_at = attn::Index{n - 1, 0}},
      output, mistakes_of_flash_output(output, sum));
  return running;
}

constexpr std::size_t columns_of_o = 2;

/// What the last query carries from block to block, a row a block.
std::string table_of_last_query(const VariantBench& on, const RunningRows& running,
                                const std::vector<Block>& blocks) {
  constexpr std::size_t most_blocks = 8, width = 16;
  const auto i = on.n() - 1, shown = std::min(on.V.shape(1), columns_of_o);
  const auto names = names_of(blocks);
  auto table = fmt::format("{:<6} {} {:>8} {:>8}", "block", attn::pad_right("its keys", width), "m", "l");
  for (std::size_t c = 0; c < shown; ++c) table += fmt::format(" {:>8}", fmt::format("o[{}]", c));
  for (std::size_t b = 0; b < blocks.size() && b < most_blocks; ++b) {
    std::vector<std::string> keys;
    for (std::size_t j = blocks[b].begin; j < blocks[b].end; ++j) keys.push_back(words_of(on)[j]);
    table +=
        fmt::format("\n{} {} {:>8.4f} {:>8.4f}", attn::pad_right(names[b], 6),
                    attn::pad_right(attn::shorten(fmt::format("{}", fmt::join(keys, " ")), width), width),
                    running.maximum(b, i) + 0.0, running.sum(b, i));
    for (std::size_t c = 0; c < shown; ++c)
      table += fmt::format(" {:>8.4f}", running.of_last_query(b, c) + 0.0);
  }
  return table;
}

void show_last_query(const VariantBench& on, const RunningRows& running, const std::vector<Block>& blocks) {
  on.bench.trace.note(
      "flash/one-query", "What one query carries",
      fmt::format("Query \"{}\"{}. Block {} is worked out below.", words_of(on)[on.n() - 1],
                  on.V.shape(1) > columns_of_o
                      ? fmt::format(", with {} of the {} numbers of o", columns_of_o, on.V.shape(1))
                      : "",
                  names_of(blocks)[running.followed]),
      table_of_last_query(on, running, blocks));
}

/// How often a query met a block of keys that it sees.
struct Meetings {
  std::int64_t first = 0;      ///< its first block
  std::int64_t raised = 0;     ///< a later one that raised its maximum
  std::int64_t unchanged = 0;  ///< a later one that did not
};

Meetings count_meetings(const Tiles& tiles, const Tensor<2>& rescaling, const std::vector<Block>& blocks) {
  Meetings met;
  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (std::size_t i = 0; i < rescaling.shape(1); ++i)
      if (tiles.number(i, blocks[b].begin) != 0)
        ++(b == 0 ? met.first : rescaling(b, i) == 1.0 ? met.unchanged : met.raised);
  return met;
}

/// What the tiles and the running softmax save, in numbers counted on the way.
void explain_savings(VariantBench& on, const Tiles& tiles, const Meetings& met, std::size_t block,
                     std::size_t block_count, const attn::Cost& cost) {
  const auto all_tiles = static_cast<std::int64_t>(block_count * block_count);
  const auto bytes = static_cast<std::int64_t>(attn::item_size(on.bench.trace.dtype()));
  on.bench.trace.note(
      "flash/savings", "What it saves, counted on this run",
      fmt::format(
          "{}Where a block brings no larger score, c is 1 and there is nothing to rescale. The code here "
          "multiplies by it all the same; the fast kernels of attnlab bench do not. Kernel simd changes the "
          "maximum only when a score passes it by far: weights above 1 change no quotient.",
          block_count == 1
              ? "Here one tile holds the whole table, which saves nothing: try a smaller --block. "
          : on.causal()
              ? "A tile in which nothing may be seen is skipped: nearly half of them, once n is large. "
              : ""),
      fmt::format("tiles        {} computed, {} skipped\n"
                  "scores       {} held at one time, {} in full attention\n"
                  "m, l and o   {} numbers, {} for each query of a tile, whatever n is\n"
                  "blocks met   {} first, {} that raised m, {} with c = 1",
                  tiles.count, all_tiles - tiles.count, cost.score_bytes / bytes,
                  on.shown.front().cost.score_bytes / bytes, block * (on.V.shape(1) + 2), on.V.shape(1) + 2,
                  met.first, met.raised, met.unchanged));
}

/// Whether half the words are compared with all, and not all with twice as many, which takes long.
bool compares_half(const VariantBench& on, std::size_t block) {
  constexpr std::size_t many_words = 64;
  return on.n() > many_words && on.n() / 2 >= block;
}

/// How many more bytes of scores flash attention holds for twice the words, in tiles of the same size.
std::int64_t growth_of_held_scores(const VariantBench& on, std::size_t block, const attn::Cost& cost) {
  const bool is_half = compares_half(on, block);
  const auto other = [&](const Tensor<2>& x) {
    return is_half ? attn::rows(x, 0, on.n() / 2) : attn::stack_rows(x, x);
  };
  auto counter = on.counter();
  flash_attention(other(on.Q), other(on.K), other(on.V), block, on.causal(), counter);
  const auto growth = counter.cost().score_bytes - cost.score_bytes;
  return is_half ? -growth : growth;
}

/// pairs · (d_k + d_v), and for every rescaling one product for l and d_v for o.
attn::Worked worked_multiply_adds(const VariantBench& on, std::size_t pairs, std::size_t rescaled) {
  const auto width = static_cast<double>(on.V.shape(1));
  const attn::Worked times = static_cast<double>(rescaled) / (1.0 + width);
  return attn::Worked::sum(
      {worked_pairs(on, pairs), attn::Worked::product({times, attn::Worked::sum({1.0, width})})});
}

/// For all queries at once: a block of queries does the same without the others.
void show_flash_code(VariantBench& on, std::size_t block) {
  std::vector<std::string> lines = {
      fmt::format("# All queries go at once, so s is [{0}×{1}]. On a GPU s is a tile, [{1}×{1}].", on.n(),
                  block),
      "n = len(Q)",
      "m = np.full(n, -np.inf)              # the largest score so far",
      "l = np.zeros(n)                      # the sum of exp(score - m)",
      "o = np.zeros(V.shape)                # the sum of exp(score - m) * value",
      fmt::format("for start in range(0, n, {}):", block),
      fmt::format("    keys = slice(start, start + {})", block),
      "    s = Q @ K[keys].T / np.sqrt(Q.shape[1])"};
  if (on.causal())
    lines.emplace_back("    s = np.where(np.arange(n)[keys] <= np.arange(n)[:, None], s, -np.inf)");
  lines.insert(lines.end(),
               {"    m_new = np.maximum(m, s.max(axis=1))", "    c = np.exp(m - m_new)",
                "    e = np.exp(s - m_new[:, None])", "    l = c * l + e.sum(axis=1)",
                "    o = c[:, None] * o + e @ V[keys]", "    m = m_new", "flash_output = o / l[:, None]"});
  show_code(on, "flash", lines);
}

/// What a query carries after each block, from all scores at once.
void show_code_of_tables(VariantBench& on, std::size_t block) {
  std::vector<std::string> lines = {"flash_scores = Q @ K.T / np.sqrt(Q.shape[1])"};
  if (on.causal())
    lines.emplace_back("flash_scores = np.where(np.tri(len(Q), dtype=bool), flash_scores, -np.inf)");
  lines.insert(lines.end(),
               {fmt::format("ends = range({0}, len(K) + {0}, {0})", block),
                "flash_maximum = np.array([flash_scores[:, :end].max(axis=1) for end in ends])",
                "flash_rescaling = np.zeros(flash_maximum.shape)",
                "flash_rescaling[1:] = np.exp(flash_maximum[:-1] - flash_maximum[1:])",
                "flash_sum, flash_accumulated = [], []", "for end, m in zip(ends, flash_maximum):",
                "    e = np.exp(flash_scores[:, :end] - m[:, None])", "    flash_sum.append(e.sum(axis=1))",
                "    flash_accumulated.append(e[-1] @ V[:end])"});
  show_code(on, "flash/tables", lines);
}

/// Where a tile stays as it is with one token more.
std::string words_on_one_more_word(const VariantBench& on, std::size_t block) {
  if (on.n() < *on.bench.options.block || on.causal()) return "";
  return fmt::format(" With one more word it computes {0} · {0} scores but holds {1} · {1}.", on.n() + 1,
                     block);
}

}  // namespace

void show_flash(VariantBench& on) {
  const auto n = on.n(), block = std::min(*on.bench.options.block, n), pairs = attn::pair_count(on.visible);
  const auto blocks = blocks_of(n, block);
  const auto names = names_of(blocks);
  auto& trace = on.bench.trace;
  trace.label("block", {{names}});
  trace.note(
      "flash/idea", "Flash attention: tiles, and a running softmax",
      fmt::format(
          "Queries and keys are cut into blocks of {0}. The {0} × {0} scores of a block of queries and a "
          "block of keys are a tile. Flash attention computes one tile, uses its scores and forgets them. "
          "Then come the next keys.\nBut softmax needs the sum of a whole row, and its maximum, which it "
          "subtracts so that exp stays finite. A tile has only a part of the row. So each query carries "
          "three things from tile to tile:",
          block),
      "m   the largest score so far\n"
      "l   the sum of exp(score − m) so far: the denominator of softmax\n"
      "o   the sum of exp(score − m) · value so far: o / l is the output");
  show_flash_code(on, block);
  show_code_of_tables(on, block);
  const auto tiles = show_tiles(on, blocks);
  const auto running = show_running_softmax(on, tiles.scores, blocks);

  auto counter = on.counter();
  const auto output_by_tiles = flash_attention(on.Q, on.K, on.V, block, on.causal(), counter);
  const auto& cost = counter.cost();
  const auto rescaled =
      static_cast<std::size_t>(cost.multiply_adds) - pairs * (on.K.shape(1) + on.V.shape(1));
  show_result(on, "flash",
              {.multiply_adds = fmt::format("{} pairs · (d_k + d_v) + {} for rescaling", pairs, rescaled),
               .score_bytes = on.bytes_of(block * block, fmt::format("scores ({} × {})", block, block)),
               .worked_multiply_adds = worked_multiply_adds(on, pairs, rescaled),
               .worked_score_bytes = worked_bytes(
                   on, attn::Worked::product({static_cast<double>(block), static_cast<double>(block)}))},
              running.output, cost, on.full);
  show_last_query(on, running, blocks);
  explain_savings(on, tiles, count_meetings(tiles, running.rescaling, blocks), block, blocks.size(), cost);
  trace.note("flash/memory", "What it is for",
             "In full attention a GPU spends much time on moving scores to memory and back. A tile stays in "
             "a small, fast memory: flash is faster though it multiplies more." +
                 words_on_one_more_word(on, block));
  trace.claim({.id = "flash-is-exact",
               .claim = "flash attention is exact",
               .formula = "max |output − softmax(masked Q Kᵀ / √d_k) V|",
               .value = attn::maximum({difference_from_masked(on, running.output, on.visible_mask()),
                                       difference_from_masked(on, output_by_tiles, on.visible_mask())}),
               .limit = rounding(trace, on.magnitude)});
  claim_equals_exact_kernel(on, "flash", "the compiled code of attnlab bench gives the same", running.output,
                            {.causal = on.causal()});
  trace.claim({.id = "flash-memory",
               .claim = "twice the words: additional scores that flash attention holds",
               .formula = compares_half(on, block) ? "score_bytes − score_bytes for half the sequence"
                                                   : "score_bytes for the sequence twice over − score_bytes",
               .value = static_cast<double>(growth_of_held_scores(on, block, cost)),
               .limit = attn::exactly(0.0)});
}

}  // namespace lessons
