#include "lessons/seq2seq/reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "attn/ops/precision.hpp"
#include "attn/text/width.hpp"
#include "corpora/sentence_pair.hpp"
#include "lessons/lesson.hpp"
#include "lessons/seq2seq/taught.hpp"
#include "lessons/seq2seq/trained.hpp"
#include "lessons/trained/translation.hpp"

namespace lessons {

using attn::TokenBatch;

namespace {

std::string about_padding(const TokenBatch& writes) {
  return writes.is_padded() ? " A shorter sentence is filled up with <pad>: the decoder reads zeros there, "
                              "and what it makes of them counts for nothing."
                            : "";
}

/// What the decoder reads and writes at each step of the first sentence, where that fits on a line.
std::string steps_of_words(const TokenBatch& writes) {
  constexpr std::size_t most_steps = 6;
  const auto& words = writes.tokens.front();
  if (words.size() > most_steps) return "";
  std::string reads = "reads  ", to_write = "writes ";
  for (std::size_t t = 0; t < words.size(); ++t) {
    const auto before = attn::shorten(t == 0 ? std::string(attn::start_token) : words[t - 1], 10);
    const bool is_last = t + 1 == words.size();
    const auto add = [is_last](std::string& line, const std::string& word) {
      line += is_last ? word : attn::pad_right(word, 11);
    };
    add(reads, before);
    add(to_write, attn::shorten(words[t], 10));
  }
  return fmt::format("{}\n{}", reads, to_write);
}

/// How many words a trained decoder chooses from.
std::string knows_words(const Workbench& bench) {
  return fmt::format("The decoder knows {} words, also </s>.", bench.options.vocabulary.size());
}

/// Where the decoder's first state and memory come from.
std::string about_first_state(const Workbench& bench) {
  return bench.options.bidirectional ? "both LSTMs' last h and c" : "the encoder's last h and c";
}

void explain_teacher_forcing(Workbench& bench, const TokenBatch& writes) {
  bench.trace.note(
      "teacher-forcing", "Teacher forcing: the decoder is given the true words",
      "<s> starts a sentence, </s> ends it. The decoder starts with " + about_first_state(bench) +
          ". Each step reads the true word before, a row of X_target, whatever the decoder wrote. A step is "
          "named after the word to write." +
          std::string(bench.options.model ? "" : " The decoder knows only the target's words and </s>.") +
          about_padding(writes),
      steps_of_words(writes));
}

/// "the the cat …" for each sentence, with a capital where its source has one.
std::string quoted(const TokenBatch& batch, const TokenBatch& sources) {
  constexpr std::size_t most_words = 16;
  std::vector<std::string> sentences;
  for (std::size_t b = 0; b < batch.size(); ++b) {
    auto words = batch.tokens[b];
    const bool is_long = words.size() > most_words;
    if (is_long) words.resize(most_words);
    auto text = corpora::in_writing(words);
    const char first = sources.tokens[b].front().front();
    if (first >= 'A' && first <= 'Z' && text.front() >= 'a' && text.front() <= 'z')
      text.front() = static_cast<char>(text.front() - 'a' + 'A');
    sentences.push_back(fmt::format("“{}{}”", text, is_long ? " …" : ""));
  }
  return fmt::format("{}", fmt::join(sentences, " and "));
}

/// How many words more than the source has a decoder may write.
std::size_t words_beyond_the_source(const Workbench& bench) {
  return bench.options.model ? 5 : 1;
}

void explain_learned_decoding(Workbench& bench, const TokenBatch& writes) {
  bench.trace.note(
      "greedy-decoding", "Greedy decoding",
      fmt::format("Without a target the decoder writes the likeliest word of each step and reads it at the "
                  "next. It ends with </s>, or when it has written {} words more than the source has. {} It "
                  "writes {}. Each row is named after the word written.{}",
                  words_beyond_the_source(bench), knows_words(bench), quoted(writes, bench.plan.source),
                  about_padding(writes)));
}

void explain_greedy_decoding(Workbench& bench, const TokenBatch& writes) {
  if (bench.options.model) return explain_learned_decoding(bench, writes);
  bench.trace.note(
      "greedy-decoding", "Greedy decoding",
      fmt::format("Without a target the decoder writes the likeliest word of each step and reads it at the "
                  "next. It ends with </s>, or when it has written one word more than the source has. It "
                  "knows the words of the source and </s> only, and its parameters are drawn at random. It "
                  "writes {}. Each row is named after the word written.{}",
                  quoted(writes, bench.plan.source), about_padding(writes)));
}

std::string about_start(const Workbench& bench) {
  if (bench.options.model) return "<s> begins every sentence. Its vector is learned like a word's.";
  const auto& vectors = bench.plan.vectors;
  if (!vectors) return "<s> begins every sentence. Its vector is drawn after those of the source.";
  return vectors->has(std::string(attn::start_token))
             ? "<s> begins every sentence."
             : "<s> begins every sentence. It has no vector in the file, and here it is zeros.";
}

}  // namespace

attn::About about_target(const Workbench& bench) {
  attn::About about = {.id = "X_target",
                       .title = "What the decoder reads: <s> and the target",
                       .axes = {"target", "d_model"},
                       .note = about_start(bench)};
  if (bench.plan.target.size() > 0) return about;
  about.title = "What the decoder reads: <s> and its own words";
  about.formula = "[<s>; the words written but for the last]";
  about.from = {"X_source"};
  return about;
}

TokenBatch nothing_read(std::size_t count) {
  return {std::vector<std::vector<std::string>>(count)};
}

namespace {

/// The vector of each word that may be written, and zeros for </s>, which is never read.
Tensor<2> vectors_of(Workbench& bench, const std::vector<std::string>& vocabulary) {
  const auto known = bench.known_vectors_of({{std::vector(vocabulary.begin(), vocabulary.end() - 1)}});
  Tensor<2> vectors = xt::zeros<double>({vocabulary.size(), bench.d_model()});
  std::copy(known.begin(), known.end(), vectors.begin());
  return attn::round_to(bench.trace.dtype(), vectors);  // as they are where they are given
}

}  // namespace

void teach(Workbench& bench, Seq2SeqRun& run, const TokenBatch& writes) {
  explain_teacher_forcing(bench, writes);
  bench.label({"target"}, writes);
  run.decoder = decode_taught(bench, run.X_target, run.encoder.initial(), run.source, run.weights.decoder);
}

namespace {

/// A word that is read is one of the source; <s> and the zeros after the end stand for themselves.
attn::WorkedOut worked_words_read(const attn::Recurrence& recurrence, const TokenBatch& source,
                                  const Seq2SeqRun& run, const std::vector<std::string>& words) {
  return [&, itself = recurrence.entries("X_target")](const attn::Index& at) {
    const auto& written = run.written[at[0]];
    if (at[1] == 0 && run.embedding)
      return attn::Known<2>{target_embedding, *run.embedding}({words.size() - 1, at[2]});
    if (at[1] == 0 || at[1] >= written.size()) return attn::Worked(itself(at).value());
    if (run.embedding) return attn::Known<2>{target_embedding, *run.embedding}({written[at[1] - 1], at[2]});
    const auto& word = words[written[at[1] - 1]];
    for (std::size_t b = 0; b < source.size(); ++b)
      for (std::size_t s = 0; s < source.tokens[b].size(); ++s)
        if (source.tokens[b][s] == word)
          return attn::Worked({"X_source", {b, s, at[2]}}, run.X_source(b, s, at[2]));
    return attn::Worked(itself(at).value());
  };
}

/// The vectors of <s> and of the words that may be written.
GreedyReading what_it_reads(Workbench& bench, const Seq2SeqRun& run, const std::vector<std::string>& words) {
  const auto beyond = words_beyond_the_source(bench);
  if (!run.embedding)
    return {bench.known_vectors_of(after_start(nothing_read(run.lengths.size()))), vectors_of(bench, words),
            beyond};
  const auto& vectors = *run.embedding;
  auto start = Tensor<3>::from_shape({run.lengths.size(), 1, vectors.shape(1)});
  for (std::size_t b = 0; b < start.shape(0); ++b)
    std::copy_n(&vectors(vectors.shape(0) - 1, 0), vectors.shape(1), &start(b, 0, 0));
  return {start, vectors, beyond, target_embedding};
}

/// What sample b has written. A trained decoder carries over words that it lacks.
std::vector<std::string> words_of(const Workbench& bench, const attn::Recurrence& recurrence,
                                  const std::vector<std::size_t>& written, std::size_t b,
                                  const std::vector<std::string>& vocabulary) {
  std::vector<std::string> words;
  for (const auto word : written) words.push_back(vocabulary[word]);
  if (!bench.options.model) return words;
  const auto weights = recurrence.sequence<3>("decoder/weights");
  for (std::size_t t = 0; t < words.size(); ++t)
    words[t] = carried_over(words[t], bench.plan.source.tokens[b], &weights(b, t, 0), bench.options);
  return words;
}

}  // namespace

GreedyReading write_greedily(Workbench& bench, Seq2SeqRun& run, const std::vector<std::string>& words) {
  auto most_steps = run.lengths;
  for (auto& steps : most_steps) steps += words_beyond_the_source(bench);
  auto reading = what_it_reads(bench, run, words);
  attn::Recurrence recurrence(bench.trace, "target");
  run.written = decode_greedily(bench, recurrence, about_target(bench), reading.start, run.encoder.initial(),
                                run.source, run.weights.decoder, {words, reading.vectors}, most_steps);
  TokenBatch reads, writes;
  for (std::size_t b = 0; b < run.written.size(); ++b) {
    const auto& tokens = writes.tokens.emplace_back(words_of(bench, recurrence, run.written[b], b, words));
    reads.tokens.emplace_back(tokens.begin(), tokens.end() - 1);
  }
  run.words = writes.tokens;
  show_source_mask(bench, writes);
  explain_greedy_decoding(bench, writes);
  bench.label({"target"}, after_start(reads));
  recurrence.work_out("X_target", worked_words_read(recurrence, bench.plan.source, run, words));
  recurrence.show({"X_target"});
  run.X_target = recurrence.sequence<3>("X_target");
  bench.label({"target"}, writes);
  run.decoder =
      show_decoder(bench, recurrence, run.X_target, run.encoder.initial(), run.source, run.weights.decoder);
  return reading;
}

}  // namespace lessons
