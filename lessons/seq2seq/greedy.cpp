#include <algorithm>
#include <utility>

#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "lessons/documents/part_run.hpp"
#include "lessons/seq2seq.hpp"
#include "lessons/trained/translation.hpp"

namespace lessons {

namespace {

/// What a decoder makes of the words that it has read so far.
struct Decoded {
  Tensor<3> probabilities;  ///< [batch×target×vocabulary]
  Tensor<3> weights{};      ///< [batch×target×source] of a model
};

/// The part decoder.md with the inputs of a run on these words, X_target [batch×target×d_model].
Decoded decode(const DocumentRun& run, Tensor<3> X_target) {
  const auto& bench = run.bench();
  const auto& lesson = *bench.plan.lesson;
  PartRun part(bench);
  part.set("heads_here", static_cast<double>(bench.heads()));
  for (const auto& input : lesson.inputs(bench.options)) {
    const auto* found = run.sheet().find(input.id);
    found != nullptr ? part.set(input.id, *found) : part.set(input.id, 0.0);
  }
  part.read_front(*lesson.document);
  for (const auto* id : {"page/states", "decoder/s_0", "decoder/c_0"}) part.set(id, run.sheet().tensor(id));
  part.set("X_target", owned_view(std::move(X_target), {"batch", "decoder/target", "d_model"}));
  part.tell_part("parts/decoder.md", {"under decoder/", "query = decoder/target", "key = source",
                                      "states = page/states", "output = context", "seen = source < lengths"});
  Decoded decoded = {.probabilities = part.copy_of<double, 3>("decoder/probabilities")};
  if (bench.options.model) decoded.weights = part.copy_of<double, 3>("decoder/weights");
  return decoded;
}

/// How many words more than the source has a decoder may write.
std::size_t words_beyond_the_source(const Workbench& bench) {
  return bench.options.model ? 5 : 1;
}

}  // namespace

void write_greedily(DocumentRun& run, Texts& texts) {
  const auto& bench = run.bench();
  const auto& sources = bench.plan.source;
  const auto& vocabulary = texts.vocabulary;
  const auto end = vocabulary.size() - 1;
  const auto vectors = vectors_to_read(run, vocabulary);
  texts.writes.tokens.resize(sources.size());
  std::vector<std::vector<std::size_t>> read(sources.size(), {end}), written(sources.size());
  const auto is_finished = [&](std::size_t b) {
    return written[b].size() >= sources.tokens[b].size() + words_beyond_the_source(bench) ||
           (!written[b].empty() && written[b].back() == end);
  };
  for (bool is_writing = true; is_writing;) {
    const auto [probabilities, weights] = decode(run, vectors_at(vectors, in_rows(read)));
    const auto last = probabilities.shape(1) - 1;
    is_writing = false;
    for (std::size_t b = 0; b < sources.size(); ++b) {
      if (is_finished(b)) continue;
      const auto number = attn::argmax(&probabilities(b, last, 0), vocabulary.size());
      const auto word = bench.options.model ? carried_over(vocabulary[number], sources.tokens[b],
                                                           &weights(b, last, 0), bench.options)
                                            : vocabulary[number];
      written[b].push_back(number);
      texts.writes.tokens[b].push_back(word);
      if (is_finished(b)) continue;
      read[b].push_back(number);
      texts.reads.tokens[b].push_back(word);
      is_writing = true;
    }
  }
  texts.words = in_rows(written);
  texts.words_read = in_rows(read);
}

Tensor<2> vectors_to_read(const DocumentRun& run, const std::vector<std::string>& vocabulary) {
  auto& bench = run.bench();
  if (reads_its_own_words(bench.options)) return run.copy_of<double, 2>(target_embedding);
  auto words = vocabulary;
  words.back() = attn::start_token;
  const auto known = bench.known_vectors_of({{words}});
  Tensor<2> vectors({words.size(), bench.d_model()});
  std::copy(known.begin(), known.end(), vectors.begin());
  return attn::round_to(bench.trace.dtype(), vectors);  // as they are where they are given
}

Tensor<3> vectors_at(const Tensor<2>& vectors, const Tensor<2>& words) {
  Tensor<3> all = xt::zeros<double>({words.shape(0), words.shape(1), vectors.shape(1)});
  for (std::size_t b = 0; b < words.shape(0); ++b)
    for (std::size_t t = 0; t < words.shape(1); ++t)
      if (words(b, t) >= 0.0)
        std::copy_n(&vectors(static_cast<std::size_t>(words(b, t)), 0), vectors.shape(1), &all(b, t, 0));
  return all;
}

}  // namespace lessons
