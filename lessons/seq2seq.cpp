/// Sequence to sequence: an LSTM reads a sentence, another one writes a sentence and attends to the states of
/// the first. Sources: Hochreiter & Schmidhuber 1997, "Long Short-Term Memory", and Gers et al. 2000 (the
/// forget gate); Sutskever et al. 2014 and Cho et al. 2014 (without attention); Bahdanau et al. 2014, "Neural
/// Machine Translation by Jointly Learning to Align and Translate", appendix A; Luong et al. 2015, "Effective
/// Approaches to Attention-based Neural Machine Translation", section 3.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "attn/ops/mask.hpp"
#include "attn/ops/steps.hpp"
#include "lessons/lesson.hpp"
#include "lessons/seq2seq/claims.hpp"
#include "lessons/seq2seq/decoder.hpp"

namespace lessons {

namespace {

using attn::TokenBatch;

void explain_bahdanau(attn::Trace& trace) {
  trace.note(
      "order", "Bahdanau: attend, then step",
      "The previous state is the query, and the context that it gets goes into the cell. Tutorials often "
      "write score(hₜ, h̄ₛ) for this attention, with the current state. That cannot be: the cell needs the "
      "context to make the current state. Three things differ from the paper: the units (an LSTM in place of "
      "those of Cho et al. 2014), the decoder's first state (the encoder's last in place of tanh(W_s h₁) of "
      "the backward one) and the output (one matrix in place of a maxout layer). The paper's encoder reads "
      "both ways: --bidirectional.",
      "contextₜ = Σⱼ softmax(a(sₜ₋₁, hⱼ)) hⱼ\n"
      "sₜ = LSTM([yₜ; contextₜ], sₜ₋₁)\n"
      "logitsₜ = [sₜ; contextₜ] W + b");
}

void explain_luong(attn::Trace& trace) {
  trace.note(
      "order", "Luong: step, then attend",
      "The cell makes its step first, and the new state asks. Code that goes by the name of Luong often ends "
      "with the context; in the paper, context and state are first made one vector, and only that is read "
      "out. Input feeding (section 3.3), which hands that vector to the next step of the cell, is left out "
      "here, so the context does not enter the cell.",
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

/// The same sentences with <s> in front, as the decoder reads them.
TokenBatch after_start(TokenBatch batch) {
  for (auto& sentence : batch.tokens) sentence.insert(sentence.begin(), std::string(attn::start_token));
  return batch;
}

/// Sentences without a word yet.
TokenBatch nothing_read(std::size_t count) {
  return {std::vector<std::vector<std::string>>(count)};
}

/// The distinct words of the batch and then </s>.
std::vector<std::string> vocabulary_of(const TokenBatch& batch) {
  std::vector<std::string> vocabulary;
  for (const auto& sentence : batch.tokens)
    for (const auto& token : sentence)
      if (std::find(vocabulary.begin(), vocabulary.end(), token) == vocabulary.end())
        vocabulary.push_back(token);
  vocabulary.emplace_back(attn::end_token);
  return vocabulary;
}

/// The vector of each word that may be written, and zeros for </s>, which is never read.
Tensor<2> vectors_of(Workbench& bench, const std::vector<std::string>& vocabulary) {
  const auto known = bench.known_vectors_of({{std::vector(vocabulary.begin(), vocabulary.end() - 1)}});
  Tensor<2> vectors = xt::zeros<double>({vocabulary.size(), bench.d_model()});
  std::copy(known.begin(), known.end(), vectors.begin());
  return vectors;
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

/// The forget gates of all words read after word t of its direction, multiplied.
attn::WorkedOut worked_kept(const Encoder& encoder, const std::vector<std::size_t>& lengths) {
  const auto product = [&lengths](const attn::Known<3>& f, Direction direction) -> attn::WorkedOut {
    return [=, &lengths](const attn::Index& at) {
      if (at[1] >= lengths[at[0]]) return attn::Worked(0.0);
      const bool is_forward = direction == Direction::forward;
      std::vector<attn::Worked> gates;
      for (std::size_t t = is_forward ? at[1] + 1 : 0; t < (is_forward ? lengths[at[0]] : at[1]); ++t)
        gates.push_back(f({at[0], t, at[2]}));
      return gates.empty() ? attn::Worked(1.0) : attn::Worked::product(std::move(gates));
    };
  };
  const auto forward = product({"encoder/f", encoder.forward.f}, Direction::forward);
  if (!encoder.reverse) return forward;
  return attn::worked_join(forward, encoder.forward.f.shape(2),
                           product({"encoder/reverse/f", encoder.reverse->f}, Direction::reverse));
}

/// Returns how much of each word is left: `bottleneck/kept`.
Tensor<3> show_bottleneck(Workbench& bench, const Encoder& encoder, const std::vector<std::size_t>& lengths,
                          std::size_t target_length) {
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
              .note = "One row, whatever word is to be written. Compare it with decoder/context.",
              .worked = attn::worked_copy<2>({"decoder/s_0", encoder.s_0},
                                             [](const attn::Index& at) {
                                               return attn::Index{at[0], at[2]};
                                             })},
             attn::stack_steps(std::vector(target_length, encoder.s_0)));
  auto kept = kept_to_the_end(encoder.forward.f, lengths, Direction::forward);
  if (encoder.reverse)
    kept = attn::join(kept, kept_to_the_end(encoder.reverse->f, lengths, Direction::reverse));
  return trace.step(
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
               "one step away, however long the sentence is.",
       .worked = worked_kept(encoder, lengths)},
      kept);
}

/// Teaches the decoder to write the target and then </s>.
void teach(Workbench& bench, Seq2SeqRun& run, const TokenBatch& writes) {
  explain_teacher_forcing(bench.trace, writes);
  bench.label({"target"}, writes);
  run.decoder = decode_taught(bench, run.X_target, run.encoder.initial(), run.source, run.weights.decoder);
}

/// A word that is read is one of the source; <s> and the zeros after the end stand for themselves.
attn::WorkedOut worked_words_read(const attn::Recurrence& recurrence, const TokenBatch& source,
                                  const Seq2SeqRun& run, const std::vector<std::string>& words) {
  return [&, itself = recurrence.entries("X_target")](const attn::Index& at) {
    const auto& written = run.written[at[0]];
    if (at[1] == 0 || at[1] >= written.size()) return attn::Worked(itself(at).value());
    const auto& word = words[written[at[1] - 1]];
    for (std::size_t b = 0; b < source.size(); ++b)
      for (std::size_t s = 0; s < source.tokens[b].size(); ++s)
        if (source.tokens[b][s] == word)
          return attn::Worked({"X_source", {b, s, at[2]}}, run.X_source(b, s, at[2]));
    return attn::Worked(itself(at).value());
  };
}

/// Lets the decoder write by itself: to </s>, or one word more than the source has.
void write_greedily(Workbench& bench, Seq2SeqRun& run, const std::vector<std::string>& words) {
  auto most_steps = run.lengths;
  for (auto& steps : most_steps) ++steps;
  const auto start = after_start(nothing_read(run.lengths.size()));
  attn::Recurrence recurrence(bench.trace, "target");
  run.written = decode_greedily(bench, recurrence, about_target(bench), bench.known_vectors_of(start),
                                run.encoder.initial(), run.source, run.weights.decoder,
                                {words, vectors_of(bench, words)}, most_steps);
  TokenBatch reads, writes;
  for (const auto& sentence : run.written) {
    auto& tokens = writes.tokens.emplace_back();
    for (const auto word : sentence) tokens.push_back(words[word]);
    reads.tokens.emplace_back(tokens.begin(), tokens.end() - 1);
  }
  show_mask(bench, writes);
  explain_greedy_decoding(bench.trace, writes);
  bench.label({"target"}, after_start(reads));
  recurrence.work_out("X_target", worked_words_read(recurrence, bench.plan.source, run, words));
  recurrence.show({"X_target"});
  run.X_target = recurrence.sequence<3>("X_target");
  bench.label({"target"}, writes);
  run.decoder =
      show_decoder(bench, recurrence, run.X_target, run.encoder.initial(), run.source, run.weights.decoder);
}

void run_seq2seq(Workbench& bench) {
  const auto& source = bench.plan.source;
  const auto& target = bench.plan.target;
  const bool has_target = target.size() > 0;
  const auto vocabulary = vocabulary_of(has_target ? target : source);
  const auto reads = after_start(has_target ? target : nothing_read(source.size()));
  auto writes = target;
  for (auto& sentence : writes.tokens) sentence.emplace_back(attn::end_token);
  bench.label({"source"}, source);
  bench.trace.label("vocabulary", {{vocabulary}});
  explain(bench);

  Seq2SeqRun run{.lengths = source.lengths()};
  bench.show_lengths(source);
  bench.draw_vectors(source);
  bench.draw_vectors(reads);
  run.X_source = bench.input<3>({.id = "X_source", .title = "The source as vectors"});
  bench.label({"target"}, reads);
  if (has_target) run.X_target = bench.embed(about_target(bench), reads);
  run.weights.encoder = draw_encoder(bench);
  run.weights.decoder = draw_decoder(bench, vocabulary.size());
  if (has_target) show_mask(bench, writes);

  run.encoder = encode(bench, run.X_source, run.lengths, run.weights.encoder);
  run.source = prepare_source(bench, run.encoder.states, run.lengths, run.weights.decoder.attention);
  if (has_target)
    teach(bench, run, writes);
  else
    write_greedily(bench, run, vocabulary);
  run.kept = show_bottleneck(bench, run.encoder, run.lengths, run.X_target.shape(1));

  claim_recurrence(bench, run);
  if (source.is_padded()) claim_padding_changes_nothing(bench, run);
  if (!has_target) claim_greedy(bench, run);
}

/// The weights and biases of an LSTM that reads vectors of length `from` into states of length `state`.
std::vector<Input> lstm_input_list(const std::string& gates, const std::string& from,
                                   const std::string& state) {
  return {{"W_ih", {gates, from}, Draw::left_weight},
          {"W_hh", {gates, state}, Draw::left_weight},
          {"b_ih", {gates}, Draw::zeros},
          {"b_hh", {gates}, Draw::zeros}};
}

std::vector<Input> attention_weight_list(const std::string& attention) {
  const std::string state = "hidden=direction·hidden", two_states = "feature=2·direction·hidden";
  if (attention == "bahdanau")
    return {{"W_q", {state, "d_a"}, Draw::weight},
            {"W_k", {state, "d_a"}, Draw::weight},
            {"v_a", {"d_a"}, Draw::weight}};
  if (attention == "multihead")
    return {{"W_Q", {state, "head·d_k="}, Draw::weight},
            {"W_K", {state, "head·d_k="}, Draw::weight},
            {"W_V", {state, "head·d_v="}, Draw::weight},
            {"W_O", {"head·d_v=", state}, Draw::weight},
            {"W_c", {two_states, state}, Draw::weight}};
  if (attention == "luong-general")
    return {{"W_a", {state, "feature="}, Draw::weight}, {"W_c", {two_states, state}, Draw::weight}};
  if (attention == "luong-concat")
    return {{"W_a", {two_states, "d_a"}, Draw::weight},
            {"v_a", {"d_a"}, Draw::weight},
            {"W_c", {two_states, state}, Draw::weight}};
  return {{"W_c", {two_states, state}, Draw::weight}};
}

std::vector<Input> seq2seq_inputs(const Options& options) {
  const bool is_bahdanau = options.attention == "bahdanau";
  std::vector<std::vector<Input>> lists = {
      {{"X_source", {"source", "d_model"}, Draw::embedding}},
      in_group("encoder", lstm_input_list("gate=4·hidden", "d_model", "hidden"))};
  if (options.bidirectional)
    lists.push_back(in_group("encoder/reverse", lstm_input_list("gate=4·hidden", "d_model", "hidden")));
  lists.push_back(
      in_group("decoder", lstm_input_list("gate=4·direction·hidden", is_bahdanau ? "feature=" : "d_model",
                                          "hidden=direction·hidden")));
  lists.push_back(in_group("attention", attention_weight_list(options.attention)));
  lists.push_back(
      {{"output/W", {is_bahdanau ? "feature=" : "hidden=direction·hidden", "vocabulary="}, Draw::weight}});
  if (is_bahdanau) lists.push_back({{"output/b", {"vocabulary="}, Draw::zeros}});
  lists.push_back({{"X_target", {"target=1+target", "d_model"}, Draw::embedding},
                   {"mask", {"target=1+target", "source"}, Draw::page}});
  return joined(lists);
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
    .options = {"source", "target", "d-model", "heads", "seed", "rng", "draws", "weight-scale", "embeddings",
                "attention", "bidirectional", "hidden", "d-a", "dtype"},
    .takes_source_alone = true,
    .defaults = {.source = {"i love cats"}, .target = {"j'aime les chats"}},
    .examples = {"seq2seq --source \"i love cats\" --target \"j'aime les chats\" --d-model 4",
                 "seq2seq --source \"the cat sat\" --attention luong-general --bidirectional --hidden 3"},
    .inputs = seq2seq_inputs,
    .run = run_seq2seq,
};

}  // namespace lessons
