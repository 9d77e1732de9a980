#include "lessons/seq2seq/greedy.hpp"

#include <algorithm>

#include "attn/ops/precision.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/lesson.hpp"
#include "lessons/seq2seq/decoder.hpp"
#include "lessons/seq2seq/taught.hpp"
#include "lessons/seq2seq/trained.hpp"
#include "lessons/trained/translation.hpp"

namespace lessons {

namespace {

template <std::size_t N>
std::optional<Tensor<N>> find(const DocumentRun& run, const std::string& id) {
  if (run.sheet().find(id) == nullptr) return std::nullopt;
  return run.copy_of<double, N>(id);
}

DecoderWeights decoder_weights(const DocumentRun& run) {
  DecoderWeights weights;
  weights.lstm = {run.copy_of<double, 2>("decoder/W_ih"), run.copy_of<double, 2>("decoder/W_hh"),
                  run.copy_of<double, 1>("decoder/b_ih"), run.copy_of<double, 1>("decoder/b_hh")};
  auto& attention = weights.attention;
  attention.W_q = find<2>(run, "attention/W_q");
  attention.W_k = find<2>(run, "attention/W_k");
  attention.W_a = find<2>(run, "attention/W_a");
  attention.v_a = find<1>(run, "attention/v_a");
  attention.b_q = find<1>(run, "attention/b_q");
  attention.b_k = find<1>(run, "attention/b_k");
  attention.b_a = find<1>(run, "attention/b_a");
  if (auto W_Q = find<2>(run, "attention/W_Q")) {
    attention.multihead = {std::move(*W_Q), run.copy_of<double, 2>("attention/W_K"),
                           run.copy_of<double, 2>("attention/W_V"), run.copy_of<double, 2>("attention/W_O")};
    attention.multihead->b_Q = find<1>(run, "attention/b_Q");
    attention.multihead->b_K = find<1>(run, "attention/b_K");
    attention.multihead->b_V = find<1>(run, "attention/b_V");
    attention.multihead->b_O = find<1>(run, "attention/b_O");
  }
  weights.W_c = find<2>(run, "attention/W_c");
  weights.b_c = find<1>(run, "attention/b_c");
  weights.W = run.copy_of<double, 2>("output/W");
  weights.b = find<1>(run, "output/b");
  return weights;
}

/// How many words more than the source has a decoder may write.
std::size_t words_beyond_the_source(const Workbench& bench) {
  return bench.options.model ? 5 : 1;
}

}  // namespace

Written write_greedily(DocumentRun& run, const std::vector<std::string>& vocabulary) {
  auto& bench = run.bench();
  const auto lengths = bench.plan.source.lengths();
  auto most_steps = lengths;
  for (auto& steps : most_steps) steps += words_beyond_the_source(bench);
  const auto weights = decoder_weights(run);
  const auto first = [&](const char* id) { return attn::stack_steps({run.copy_of<double, 2>(id)}); };
  const auto vectors = vectors_to_read(run, vocabulary);
  const auto start = vectors_at(vectors, WordsToWrite(lengths.size(), {vocabulary.size() - 1}));
  auto mute = bench.mute();
  const auto source =
      prepare_source(mute, run.copy_of<double, 3>(encoder_states_id(bench)), lengths, weights.attention);
  const auto greedy = decode_greedily(mute, start, {first("decoder/s_0"), first("decoder/c_0")}, source,
                                      weights, vectors, most_steps);
  Written written{.numbers = greedy.words};
  for (std::size_t b = 0; b < written.numbers.size(); ++b) {
    auto& words = written.words.tokens.emplace_back();
    for (const auto number : written.numbers[b]) words.push_back(vocabulary[number]);
    if (!bench.options.model) continue;
    for (std::size_t t = 0; t < words.size(); ++t)
      words[t] = carried_over(words[t], bench.plan.source.tokens[b],
                              &greedy.steps[t].attention.weights(b, 0, 0, 0), bench.options);
  }
  return written;
}

Tensor<2> vectors_to_read(DocumentRun& run, const std::vector<std::string>& vocabulary) {
  auto& bench = run.bench();
  if (reads_its_own_words(bench.options)) return run.copy_of<double, 2>(target_embedding);
  auto words = vocabulary;
  words.back() = attn::start_token;
  const auto known = bench.known_vectors_of({{words}});
  Tensor<2> vectors({words.size(), bench.d_model()});
  std::copy(known.begin(), known.end(), vectors.begin());
  return attn::round_to(bench.trace.dtype(), vectors);  // as they are where they are given
}

Tensor<3> vectors_at(const Tensor<2>& vectors, const WordsToWrite& words) {
  std::size_t steps = 0;
  for (const auto& row : words) steps = std::max(steps, row.size());
  Tensor<3> all = xt::zeros<double>({words.size(), steps, vectors.shape(1)});
  for (std::size_t b = 0; b < words.size(); ++b)
    for (std::size_t t = 0; t < words[b].size(); ++t)
      std::copy_n(&vectors(words[b][t], 0), vectors.shape(1), &all(b, t, 0));
  return all;
}

}  // namespace lessons
