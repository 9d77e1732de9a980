/// Attention computed for some queries at a time: exact, with less held at a time.
/// Sources: chunks: Rabe & Staats 2021; gradient checkpointing: Chen et al. 2016.

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "attn/ops/slice.hpp"
#include "lessons/efficient/mistakes.hpp"
#include "lessons/efficient/variants.hpp"

namespace lessons {

Tensor<2> chunked_attention(const attn::Trace& trace, const Tensor<2>& Q, const Tensor<2>& K,
                            const Tensor<2>& V, const KeyLists& keys, std::size_t chunk,
                            CostCounter& counter) {
  if (chunk == 0) throw std::invalid_argument("[chunked_attention] a chunk has 0 queries; valid: 1 or more");
  require_fitting("chunked_attention", Q, K, V);
  attn::require_listed("chunked_attention", keys, Q.shape(0), K.shape(0));
  auto mute = trace.mute();
  Tensor<2> output({Q.shape(0), V.shape(1)});
  for (std::size_t begin = 0, end = 0; begin < Q.shape(0); begin = end) {
    end = begin + std::min(chunk, Q.shape(0) - begin);
    const KeyLists keys_of_chunk(&keys[begin], &keys[begin] + (end - begin));
    const auto rows =
        sparse_attention(mute, {}, attn::rows(Q, begin, end), K, V, keys_of_chunk, counter, begin);
    std::copy(rows.begin(), rows.end(), &output(begin, 0));
  }
  return output;
}

namespace {

/// What gradient checkpointing is, on the chunks that have just been computed.
void explain_checkpointing(attn::Trace& trace, const attn::Cost& full, const attn::Cost& chunked) {
  trace.note(
      "chunked/checkpointing", "Chunks in training: gradient checkpointing",
      fmt::format(
          "Chunks save memory when a model is used. In training the backward pass needs the weights of every "
          "chunk again, and a framework keeps them all: {0} bytes, as if there were no chunks. Gradient "
          "checkpointing keeps Q, K, V and nothing of what lies between them and the output; in the backward "
          "pass each chunk is computed once more, used, and dropped. So {1} bytes are held at a time, and "
          "the price is a second forward pass: {2} multiply-adds more. torch.utils.checkpoint does that to "
          "any function.",
          full.score_bytes, chunked.score_bytes, chunked.multiply_adds),
      "without chunks     softmax(Q Kᵀ / √d_k) is kept for the backward pass\n"
      "chunks             one chunk at a time; all kept for the backward pass\n"
      "and checkpointing  one chunk at a time, forward and backward");
}

/// The most pairs of a chunk.
attn::Worked worked_largest_chunk(const KeyLists& keys, std::size_t chunk) {
  std::vector<attn::Worked> pairs;
  for (std::size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
    end = begin + std::min(chunk, keys.size() - begin);
    pairs.emplace_back(
        static_cast<double>(attn::pair_count(KeyLists(&keys[begin], &keys[begin] + (end - begin)))));
  }
  return attn::largest(std::move(pairs));
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
  std::vector<std::string> code = {
      fmt::format("block, n = {}, len(Q)", chunk), "chunked_output = np.zeros(V.shape)",
      "for start in range(0, n, block):   # some queries at a time",
      "    queries = slice(start, start + block)", "    scaled = Q[queries] @ K.T / np.sqrt(Q.shape[1])"};
  if (on.causal()) code.push_back("    scaled[np.arange(n) > np.arange(n)[queries, None]] = -np.inf");
  code.push_back("    chunked_output[queries] = softmax(scaled) @ V");
  show_code(on, "chunked", code);
  auto counter = on.counter();
  const auto rows = chunked_attention(trace, on.Q, on.K, on.V, on.visible, chunk, counter);
  const auto output =
      trace.step({.id = "chunked/output",
                  .title = "The rows of all chunks",
                  .formula = "softmax(Q[chunk] Kᵀ / √d_k) V, for each chunk",
                  .from = {"Q", "K", "V"},
                  .axes = {"query", "d_v"},
                  .worked = worked_attention(worked_pair_scores({"Q", on.Q}, {"K", on.K}),
                                             attn::Known{std::string("V"), on.V}, on.visible, on.K.shape(1))},
                 rows, mistakes_of_chunks(rows, chunk));
  show_result(on, "chunked",
              {.multiply_adds = fmt::format("{} pairs · (d_k + d_v)", pairs),
               .score_bytes = on.causal() ? "the scores of the last chunk"
                                          : on.bytes_of(chunk * n, fmt::format("scores ({} × {})", chunk, n)),
               .worked_multiply_adds = worked_pairs(on, pairs),
               .worked_score_bytes = worked_bytes(on, worked_largest_chunk(on.visible, chunk))},
              output, counter.cost(), on.full);
  explain_checkpointing(trace, on.shown.front().cost, counter.cost());
  claim_equals_masked(on, "chunked-is-exact", "chunked attention is exact", output, on.visible_mask());
}

}  // namespace lessons
