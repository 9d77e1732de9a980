/// Sequence to sequence: an LSTM reads a sentence, another one writes a sentence and attends to the states of
/// the first. Sources: Hochreiter & Schmidhuber 1997, "Long Short-Term Memory", and Gers et al. 2000 (the
/// forget gate); Sutskever et al. 2014 and Cho et al. 2014 (without attention); Bahdanau et al. 2014, "Neural
/// Machine Translation by Jointly Learning to Align and Translate", appendix A; Luong et al. 2015, "Effective
/// Approaches to Attention-based Neural Machine Translation", section 3.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attn/ops/mask.hpp"
#include "attn/ops/steps.hpp"
#include "lessons/lesson.hpp"
#include "lessons/seq2seq/claims.hpp"
#include "lessons/seq2seq/steps.hpp"
#include "lessons/seq2seq/weights.hpp"
#include "lessons/seq2seq/writing.hpp"

namespace lessons {

namespace {

using attn::TokenBatch;

void explain_bahdanau(attn::Trace& trace) {
  trace.note(
      "order", "Bahdanau: attend, then step",
      "The state before asks, and what it takes home goes into the cell. Tutorials often write "
      "score(hₜ, h̄ₛ) for this attention, with the current state. That cannot be: the cell needs the "
      "context to make the current state. Not as in the paper are the units (LSTM for those of Cho et al. "
      "2014), the decoder's first state (the encoder's last for tanh(W_s h₁) of the backward one) and the "
      "way out (one matrix for a maxout layer). The paper's encoder reads both ways: --bidirectional.",
      "contextₜ = Σⱼ softmax(a(sₜ₋₁, hⱼ)) hⱼ\n"
      "sₜ = LSTM([yₜ; contextₜ], sₜ₋₁)\n"
      "logitsₜ = [sₜ; contextₜ] W + b");
}

void explain_luong(attn::Trace& trace) {
  trace.note(
      "order", "Luong: step, then attend",
      "The cell makes its step first, and the new state asks. Code that goes by the name of Luong often "
      "ends with the context; in the paper, context and state are first made one vector, and only that is "
      "read out. Input feeding (section 3.3), which hands that vector to the next step of the cell, is "
      "left out here, so the cell never hears of the context.",
      "hₜ = LSTM(yₜ, hₜ₋₁)\n"
      "contextₜ = Σₛ softmax(score(hₜ, h̄ₛ)) h̄ₛ\n"
      "attentionalₜ = tanh([contextₜ; hₜ] W_c)\n"
      "logitsₜ = attentionalₜ W");
}

void explain_multihead(attn::Trace& trace) {
  trace.note(
      "order", "Multi-head: step, then attend with several heads",
      "The order of Luong et al. with the attention of a transformer. Two mistakes are common in code "
      "that puts nn.MultiheadAttention behind nn.LSTM. The LSTMs are given batch_first=True and the "
      "attention is not, so it takes the batch for the words: where both sides have equally many words "
      "it runs, and each word attends to the words in its place in all sentences of the batch. And the "
      "attended vector alone is read out, so that the decoder's own state counts through the weights "
      "only. Here the two are joined first.",
      "hₜ = LSTM(yₜ, hₜ₋₁)\n"
      "contextₜ = MultiHead(hₜ W_Q, h̄ W_K, h̄ W_V) W_O\n"
      "attentionalₜ = tanh([contextₜ; hₜ] W_c)\n"
      "logitsₜ = attentionalₜ W");
}

void explain(Workbench& bench) {
  bench.trace.note(
      "idea", "The idea",
      "One LSTM, the encoder, reads the source word by word. Another, the decoder, starts from the state "
      "that this has left and writes the target word by word. At first that one state was all it got, "
      "however long the sentence. Bahdanau et al. let the decoder look back: at every step it attends to "
      "the states of all source words and takes home their mixture. This is where attention comes from.",
      "contextₜ = Σⱼ weightsₜⱼ · stateⱼ");
  if (attends_as(bench, "bahdanau"))
    explain_bahdanau(bench.trace);
  else if (attends_as(bench, "multihead"))
    explain_multihead(bench.trace);
  else
    explain_luong(bench.trace);
}

std::string about_padding(const TokenBatch& writes) {
  return writes.is_padded()
             ? " A shorter sentence is filled up with <pad>: the decoder reads zeros there, and "
               "what it makes of them counts for nothing."
             : "";
}

void explain_teacher_forcing(attn::Trace& trace, const TokenBatch& writes) {
  trace.note(
      "teacher-forcing", "Teacher forcing",
      "With a target the decoder reads, at every step, the word that should have been written before, "
      "whatever it would have chosen itself: <s> and then the target. To be written are the same words "
      "one step earlier: the target and then </s>. From here on each row is named after the word to be "
      "written. The vocabulary is the target's own words and </s>; a real one has tens of thousands." +
          about_padding(writes));
}

/// "the the cat …" for each sentence.
std::string quoted(const TokenBatch& batch) {
  constexpr std::size_t most_words = 12;
  std::vector<std::string> sentences;
  for (auto sentence : batch.tokens) {
    const bool is_long = sentence.size() > most_words;
    if (is_long) sentence.resize(most_words);
    sentences.push_back(fmt::format("“{}{}”", fmt::join(sentence, " "), is_long ? " …" : ""));
  }
  return fmt::format("{}", fmt::join(sentences, " and "));
}

void explain_greedy_decoding(attn::Trace& trace, const TokenBatch& writes) {
  trace.note(
      "greedy-decoding", "Greedy decoding",
      fmt::format(
          "Without a target the decoder writes the likeliest word of each step and reads it at the "
          "next. It ends with </s>, or without it when it has written one word more than the source "
          "has. The words it knows are those of the source and </s>, so at best it could learn to copy. "
          "Its weights are drawn at random and mean nothing yet. It writes {}. From here on each row is "
          "named after the word written.{}",
          quoted(writes), about_padding(writes)));
}

std::string about_start(const Workbench& bench) {
  const auto& vectors = bench.plan.vectors;
  if (!vectors) return "<s> begins every sentence. Its vector is drawn after those of the source.";
  return vectors->has(std::string(attn::start_token))
             ? "<s> begins every sentence."
             : "<s> begins every sentence. It has no vector in the file, and here it is zeros.";
}

/// X_target is an input, or in greedy decoding what the decoder wrote itself.
Tensor<3> show_target(Workbench& bench, const TokenBatch& reads) {
  attn::About about = {.id = "X_target",
                       .title = "What the decoder reads: <s> and the target",
                       .axes = {"target", "d_model"},
                       .note = about_start(bench)};
  bench.label({"target"}, reads);
  if (bench.plan.target.size() > 0) return bench.embed(about, reads);
  about.title = "What the decoder reads: <s> and its own words";
  about.formula = "[<s>; the words written but for the last]";
  about.from = {"X_source"};
  return bench.trace.step(about, bench.known_vectors_of(reads));
}

void show_mask(Workbench& bench, const TokenBatch& writes) {
  const auto& source = bench.plan.source;
  if (!source.is_padded()) return;
  bench.label({"target"}, writes);
  bench.trace.settled_input({.id = "mask",
                             .title = "Which source words are real",
                             .formula = "s < lengths",
                             .axes = {"target", "source"},
                             .note = "The same at every step: no step may look at the padding."},
                            attn::padding_mask(source.lengths(), writes.length(), source.length()));
}

void show_bottleneck(Workbench& bench, const attn::RecurrentEncoder& encoder,
                     const std::vector<std::size_t>& lengths, std::size_t target_length) {
  auto& trace = bench.trace;
  trace.note(
      "bottleneck", "Beside it: the bottleneck",
      fmt::format("Before attention, the decoder got the encoder's last state and nothing else "
                  "(Sutskever et al. 2014), or that same vector again at every step (Cho et al. 2014): "
                  "{0} numbers of state and {0} of memory, for this sentence as for a whole page.",
                  state_width(bench)));
  trace.step({.id = "bottleneck/context",
              .title = "What every step would see without attention",
              .formula = "s_0 at every step",
              .from = {"decoder/s_0"},
              .axes = {"target", "hidden"},
              .note = "One row, whatever word is to be written. Compare it with decoder/context."},
             attn::stack_steps(std::vector(target_length, encoder.last.h)));
  auto kept = attn::kept_to_the_end(encoder.forward, lengths);
  if (encoder.reverse)
    kept = attn::join(kept, attn::kept_to_the_end(*encoder.reverse, lengths, attn::Direction::reverse));
  trace.step(
      {.id = "bottleneck/kept",
       .title = "How much of each word is left in the last memory",
       .formula = encoder.reverse
                      ? "[product of f of all later rows; product of reverse/f of all earlier rows]"
                      : "product of encoder/f of all later rows",
       .from = encoder.reverse ? std::vector<std::string>{"encoder/f", "encoder/reverse/f"}
                               : std::vector<std::string>{"encoder/f"},
       .axes = {"source", "hidden"},
       .note = "What a word writes into the memory, i ∘ g, is multiplied by the forget gate of every word "
               "read after it. The longer ago, the less is left. Attention reads each word's own state, "
               "one step away, however long the sentence is."},
      kept);
}

void run(Workbench& bench) {
  const auto& source = bench.plan.source;
  const bool has_target = bench.plan.target.size() > 0;
  auto& trace = bench.trace;
  auto writing = writing_of(bench.plan);
  bench.label({"source"}, source);
  trace.label("vocabulary", {{writing.vocabulary}});
  explain(bench);

  Seq2SeqRun shown{.lengths = source.lengths()};
  bench.show_lengths(source);
  bench.draw_vectors(source);
  bench.draw_vectors(writing.reads);
  shown.X_source = bench.embed(
      {.id = "X_source", .title = "The source as vectors", .axes = {"source", "d_model"}}, source);
  if (has_target) shown.X_target = show_target(bench, writing.reads);
  const auto weights = draw_seq2seq_weights(bench, writing.vocabulary.size());

  shown.encoder = attn::recurrent_encoder(shown.X_source, weights.encoder, shown.lengths);
  const auto prepared = attn::prepare_source(shown.encoder.states, shown.lengths, weights.decoder.attention);
  const auto& initial = shown.encoder.last;
  if (!has_target) write_greedily(bench, writing, initial, prepared, weights.decoder);

  show_mask(bench, writing.writes);
  show_encoder(bench, shown.encoder);
  show_initial_state(bench, initial);
  if (has_target) {
    explain_teacher_forcing(trace, writing.writes);
  } else {
    explain_greedy_decoding(trace, writing.writes);
    shown.X_target = show_target(bench, writing.reads);
  }
  bench.label({"target"}, writing.writes);
  shown.decoder = attn::recurrent_decoder(shown.X_target, initial, prepared, weights.decoder);
  shown.probabilities = show_decoder(bench, shown.decoder);
  show_bottleneck(bench, shown.encoder, shown.lengths, writing.writes.length());

  claim_recurrence(bench, weights, shown);
  if (source.is_padded()) claim_padding_changes_nothing(bench, weights, shown, writing);
  if (!has_target) claim_greedy(bench, shown, writing);
}

double element_count(const Plan& plan) {
  const auto& options = plan.options;
  const double batch = static_cast<double>(plan.source.size()), n = static_cast<double>(plan.source.length());
  const double m = 1.0 + (plan.target.size() > 0 ? static_cast<double>(plan.target.length()) : n);
  const double directions = options.bidirectional ? 2.0 : 1.0;
  const double d_model = static_cast<double>(*options.d_model), hidden = static_cast<double>(*options.hidden);
  const double width = directions * hidden, heads = static_cast<double>(options.heads.value_or(1));
  const double vocabulary = 1.0 + batch * (m - 1.0);
  const double weights = directions * 4 * hidden * (d_model + hidden + 2) +
                         4 * width * (d_model + 2 * width + 2) + 6 * width * width + 2 * width * vocabulary;
  const double per_sample =
      n * (d_model + 12 * width) + m * (d_model + 16 * width + 2 * vocabulary + 4 * heads * n);
  return weights + batch * per_sample;
}

}  // namespace

extern const Lesson seq2seq;
const Lesson seq2seq = {
    .name = "seq2seq",
    .title = "two LSTMs translate, and attention between them",
    .teaches =
        "Where attention comes from: an LSTM encoder, its gates one by one, a decoder that writes word by "
        "word, and the attention between them. Bahdanau's decoder attends with the state before and feeds "
        "the context into the cell; Luong's attends with the current state; multihead is Luong's order with "
        "--heads heads, 2 unless given. With --bidirectional a second encoder of the same size reads "
        "backwards, and the decoder's state is twice as wide. With --target the decoder is taught (teacher "
        "forcing); with --source alone it writes by itself (greedy decoding) in the words of the source.",
    .options = {"source", "target", "d-model", "heads", "seed", "rng", "weight-scale", "embeddings",
                "attention", "bidirectional", "hidden", "d-a", "dtype"},
    .takes_source_alone = true,
    .defaults = {.source = {"I love cats"}, .target = {"J'aime les chats"}},
    .examples = {"seq2seq --source \"I love cats\" --target \"J'aime les chats\" --d-model 4",
                 "seq2seq --source \"The cat sat\" --attention luong-general --bidirectional --hidden 3"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
