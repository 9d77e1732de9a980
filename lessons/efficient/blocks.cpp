/// Variants of attention that compute exactly the same piece by piece.
/// Sources: chunks: Rabe & Staats 2021; gradient checkpointing: Chen et al. 2016; flash attention: Milakov &
/// Gimelshein 2018 (the running softmax), Dao et al. 2022.

#include <fmt/format.h>

#include <algorithm>

#include "attn/efficient/flash_attention.hpp"
#include "attn/efficient/sparse_attention.hpp"
#include "attn/ops/scoring.hpp"
#include "lessons/efficient/variants.hpp"

namespace lessons {

namespace {

/// The tokens of each block of `size`: "0–2", "3–5".
std::vector<std::string> block_names(std::size_t n, std::size_t size) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < n; begin += std::min(size, n - begin)) {
    const auto last = begin + std::min(size, n - begin) - 1;
    names.push_back(begin == last ? fmt::format("{}", begin) : fmt::format("{}–{}", begin, last));
  }
  return names;
}

/// What gradient checkpointing is, on the chunks that have just been computed.
void explain_checkpointing(attn::Trace& trace, const attn::Work& full, const attn::Work& chunked) {
  trace.note(
      "chunked/checkpointing", "Chunks in training: gradient checkpointing",
      fmt::format(
          "Chunks save memory when a model is used. In training the way back needs the weights of every "
          "chunk again, and a framework keeps them all: {0} bytes, as if there were no chunks. Gradient "
          "checkpointing keeps Q, K, V and nothing of what lies between them and the output; on the way back "
          "each chunk is computed once more, used, and dropped. So {1} bytes are held at a time, and the "
          "price is a second forward pass: {2} multiply-adds more. torch.utils.checkpoint does that to any "
          "function. A tutorial's gradient_checkpointing_attention does not: it cuts the queries into "
          "segments and concatenates their outputs, as here, but computes nothing again, so in training it "
          "saves nothing.",
          full.score_bytes, chunked.score_bytes, chunked.multiply_adds),
      "without chunks       softmax(Q Kᵀ / √d_k) is kept for the way back\n"
      "chunks               one chunk at a time; all are kept for the way back\n"
      "and checkpointing    one chunk at a time, there and on the way back");
}

/// The bytes of scores that flash attention holds for the sequence and for the sequence twice over, in tiles
/// of the same size.
std::int64_t growth_of_held_scores(const VariantBench& on, std::size_t block) {
  const auto held = [&](const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V) {
    attn::Meter meter;
    attn::flash_attention(Q, K, V, block, on.causal(), meter);
    return meter.work().score_bytes;
  };
  const auto twice = [](const Tensor<2>& x) { return attn::stack_rows(x, x); };
  return held(twice(on.Q), twice(on.K), twice(on.V)) - held(on.Q, on.K, on.V);
}

void show_tiles(VariantBench& on, const attn::FlashHistory& history) {
  const auto hidden = [&](const char* shown) -> std::string {
    return on.causal() ? fmt::format(" What --causal hides is not computed: {}.", shown) : "";
  };
  on.bench.trace.step({.id = "flash/scores",
                       .title = "The scores of all tiles, side by side",
                       .formula = "Q Kᵀ / √d_k",
                       .from = {"Q", "K"},
                       .axes = {"query", "key"},
                       .note = "Laid out to look at. The kernel holds one tile of them." + hidden("−inf")},
                      history.scores);
  on.bench.trace.step({.id = "flash/tile",
                       .title = "The tile in which each of them is computed: 1, 2, …",
                       .axes = {"query", "key"},
                       .note = "A block of queries meets one block of keys after the other, then the next "
                               "block of queries comes." +
                               hidden("0")},
                      history.tile);
}

void show_running_softmax(VariantBench& on, const attn::FlashHistory& history) {
  auto& trace = on.bench.trace;
  trace.step(
      {.id = "flash/maximum",
       .title = "The running maximum, block by block",
       .formula = "m′ = max(m, the scores of the block)",
       .from = {"flash/scores"},
       .axes = {"block", "query"},
       .note = "Read a column downwards: one query's maximum after each block of keys. It never falls."},
      history.maximum);
  trace.step({.id = "flash/rescaling",
              .title = "The rescaling: how much what was summed before a block shrinks",
              .formula = "c = exp(m − m′)",
              .from = {"flash/maximum"},
              .axes = {"block", "query"},
              .note = "1 where the block brought no larger score, less where it did. Before the first block "
                      "there is nothing to rescale: exp(−∞) = 0. To forget this factor, or to turn it upside "
                      "down, is the classic mistake; it shows only where a maximum rises late."},
             history.rescaling);
  trace.step({.id = "flash/sum",
              .title = "The running sum: the denominator of softmax so far",
              .formula = "l′ = c l + Σⱼ exp(sⱼ − m′)",
              .from = {"flash/scores", "flash/maximum", "flash/rescaling"},
              .axes = {"block", "query"}},
             history.sum);
  trace.step({.id = "flash/accumulated",
              .title = "The running output of the last query, not yet divided",
              .formula = "o′ = c o + Σⱼ exp(sⱼ − m′) vⱼ",
              .from = {"flash/scores", "V", "flash/maximum", "flash/rescaling"},
              .axes = {"block", "d_v"},
              .note = "After the last block it is divided by l, once: the last row of flash/output."},
             history.accumulated);
}

/// What the tiles and the running softmax save, in numbers counted on the way.
void count_savings(VariantBench& on, const attn::FlashHistory& history, std::size_t block,
                   const attn::Work& work) {
  const auto blocks = static_cast<std::int64_t>(block_names(on.n(), block).size());
  const auto scores = [](const attn::Work& done) {
    return done.score_bytes / static_cast<std::int64_t>(sizeof(double));
  };
  on.bench.trace.note(
      "flash/savings", "What it saves, counted on this run",
      fmt::format(
          "{}Where a block brings no larger score, c is 1 and there is nothing to rescale. The kernel here "
          "multiplies all the same; the fast ones of attnlab bench do not. Kernel simd even lets the maximum "
          "fall behind until a score passes it by far: weights above 1 change no quotient.",
          blocks == 1 ? "Here one tile holds the whole table, which saves nothing: try a smaller --block. "
          : on.causal()
              ? "A tile in which nothing may be seen is skipped: nearly half of them, once n is large. "
              : ""),
      fmt::format("tiles        {} computed, {} skipped\n"
                  "scores       {} held at one time, {} in full attention\n"
                  "m, l and o   {} numbers, {} for each query of a tile, whatever n is\n"
                  "blocks met   {} first, {} that raised m, {} with c = 1",
                  history.tiles, blocks * blocks - history.tiles, scores(work), scores(on.shown.front().work),
                  block * (on.V.shape(1) + 2), on.V.shape(1) + 2, history.beginnings, history.rescalings,
                  history.unchanged));
}

}  // namespace

void show_chunked(VariantBench& on) {
  const auto n = on.n(), chunk = std::min(*on.bench.options.block, n), pairs = attn::pair_count(on.visible);
  auto& trace = on.bench.trace;
  trace.note(
      "chunked/idea", "Chunked attention: some queries at a time",
      fmt::format(
          "A row of softmax needs all keys, but no other query. So the queries can come in chunks of {}, one "
          "chunk after the other, and the scores of a chunk are dropped when its rows of the output are "
          "done. Nothing is left out and nothing is different; only less is held at a time.",
          chunk));
  attn::Meter meter;
  const auto output = attn::chunked_attention(on.Q, on.K, on.V, on.visible, chunk, meter);
  show_result(
      on, "chunked",
      {.output = {.title = "The rows of all chunks, one below the other",
                  .formula = "softmax(Q[chunk] Kᵀ / √d_k) V, for each chunk",
                  .from = {"Q", "K", "V"},
                  .axes = {"query", "d_v"}},
       .multiply_adds = fmt::format("{} pairs · (d_k + d_v)", pairs),
       .score_bytes = on.causal() ? "the scores of the last chunk"
                                  : bytes_of(chunk * n, fmt::format("scores ({} × {})", chunk, n))},
      output, meter.work(), on.full);
  explain_checkpointing(trace, on.shown.front().work, meter.work());
  claim_equals_masked(on, "chunked-is-exact", "chunked attention is exact", output, on.visible_mask());
}

void show_flash(VariantBench& on) {
  const auto n = on.n(), block = std::min(*on.bench.options.block, n), pairs = attn::pair_count(on.visible);
  const auto names = block_names(n, block);
  auto& trace = on.bench.trace;
  trace.label("block", {{names}});
  trace.note("flash/idea", "Flash attention: tiles, and a softmax that runs",
             fmt::format("Here the keys come in blocks as well, {} at a time, so that no row of scores is "
                         "ever whole: only a tile of {} × {} scores is held. But softmax divides by the sum "
                         "of a whole row, and subtracts its maximum first. So every query carries a maximum "
                         "m, a sum l and an output o, all relative to the largest score so far. When a block "
                         "brings a larger one, what was summed before is rescaled by c. Nothing is left out.",
                         block, block, block),
             "m′ = max(m, the scores s of the block)\n"
             "c  = exp(m − m′)\n"
             "l′ = c l + Σⱼ exp(sⱼ − m′)\n"
             "o′ = c o + Σⱼ exp(sⱼ − m′) vⱼ\n"
             "after the last block:  output = o / l");
  attn::Meter meter;
  const auto history = attn::flash_history(on.Q, on.K, on.V, block, on.causal(), meter);
  show_tiles(on, history);
  show_running_softmax(on, history);
  const auto rescaled =
      static_cast<std::size_t>(meter.work().multiply_adds) - pairs * (on.K.shape(1) + on.V.shape(1));
  show_result(on, "flash",
              {.output = {.title = "The output of every query, divided once at the end",
                          .formula = "o / l",
                          .from = {"Q", "K", "V"},
                          .axes = {"query", "d_v"}},
               .multiply_adds = fmt::format("{} pairs · (d_k + d_v) + {} for rescaling", pairs, rescaled),
               .score_bytes = bytes_of(block * block, fmt::format("scores ({} × {})", block, block))},
              history.output, meter.work(), on.full);
  count_savings(on, history, block, meter.work());
  trace.note(
      "flash/memory", "What it is for",
      "It takes a little more arithmetic than full attention, and is faster all the same: on a GPU the time "
      "goes into moving scores to the memory and back, and a tile fits beside the arithmetic. The tile does "
      "not grow with the sequence, so what is held for the scores is the same for any n.");
  claim_equals_masked(on, "flash-is-exact", "flash attention is exact", history.output, on.visible_mask());
  claim_equals_exact_kernel(on, "flash",
                            "the fast kernel, which holds one tile at a time as well, gives the same output",
                            history.output, on.visible_mask());
  trace.claim({.id = "flash-memory",
               .claim = "the scores that flash attention holds do not grow with the sequence",
               .formula = "score_bytes for the sequence twice over − score_bytes",
               .value = static_cast<double>(growth_of_held_scores(on, block)),
               .limit = attn::exactly(0.0)});
}


}  // namespace lessons
