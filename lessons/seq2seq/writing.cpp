#include "lessons/seq2seq/writing.hpp"

#include <algorithm>

#include "attn/ops/steps.hpp"

namespace lessons {

namespace {

std::vector<std::string> vocabulary_of(const attn::TokenBatch& tokens) {
  std::vector<std::string> vocabulary;
  for (const auto& sentence : tokens.tokens)
    for (const auto& token : sentence)
      if (std::find(vocabulary.begin(), vocabulary.end(), token) == vocabulary.end())
        vocabulary.push_back(token);
  vocabulary.emplace_back(attn::end_token);
  return vocabulary;
}

/// The vector of each word that may be written, and zeros for </s>, which is never read.
Tensor<2> embedding_of(Workbench& bench, const std::vector<std::string>& vocabulary) {
  const auto vectors = bench.known_vectors_of({{std::vector(vocabulary.begin(), vocabulary.end() - 1)}});
  Tensor<2> embedding = xt::zeros<double>({vocabulary.size(), bench.d_model()});
  std::copy(vectors.begin(), vectors.end(), embedding.begin());
  return embedding;
}

}  // namespace

Writing writing_of(const Plan& plan) {
  const bool has_target = plan.target.size() > 0;
  Writing writing{.reads = plan.target,
                  .writes = plan.target,
                  .vocabulary = vocabulary_of(has_target ? plan.target : plan.source)};
  if (!has_target) writing.reads.tokens.resize(plan.source.size());
  for (auto& sentence : writing.reads.tokens)
    sentence.insert(sentence.begin(), std::string(attn::start_token));
  for (auto& sentence : writing.writes.tokens) sentence.emplace_back(attn::end_token);
  return writing;
}

void write_greedily(Workbench& bench, Writing& writing, const attn::LstmState& initial,
                    const attn::PreparedSource& source, const attn::RecurrentDecoderWeights& weights) {
  auto most_steps = bench.plan.source.lengths();
  for (auto& steps : most_steps) ++steps;
  const auto start = attn::step_of(bench.known_vectors_of(writing.reads), 0);
  const attn::WrittenWith vocabulary{embedding_of(bench, writing.vocabulary),
                                        writing.vocabulary.size() - 1};
  writing.words = attn::decode_greedily(start, initial, source, weights, vocabulary, most_steps);
  for (std::size_t b = 0; b < writing.words.size(); ++b) {
    auto& reads = writing.reads.tokens[b];
    auto& writes = writing.writes.tokens.emplace_back();
    for (const auto word : writing.words[b]) writes.push_back(writing.vocabulary[word]);
    reads.insert(reads.end(), writes.begin(), writes.end() - 1);
  }
}


}  // namespace lessons
