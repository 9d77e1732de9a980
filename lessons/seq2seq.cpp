/// Sequence to sequence: an LSTM reads a sentence, another one writes a sentence and attends to the states of
/// the first. Sources: Hochreiter & Schmidhuber 1997, "Long Short-Term Memory", and Gers et al. 2000 (the
/// forget gate); Sutskever et al. 2014 and Cho et al. 2014 (without attention); Bahdanau et al. 2014, "Neural
/// Machine Translation by Jointly Learning to Align and Translate", appendix A; Luong et al. 2015, "Effective
/// Approaches to Attention-based Neural Machine Translation", section 3.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "attn/ops/mask.hpp"
#include "lessons/lesson.hpp"
#include "lessons/seq2seq/bottleneck.hpp"
#include "lessons/seq2seq/by_length.hpp"
#include "lessons/seq2seq/claims.hpp"
#include "lessons/seq2seq/decoder.hpp"
#include "lessons/seq2seq/layout.hpp"
#include "lessons/seq2seq/numpy.hpp"
#include "lessons/seq2seq/one_step.hpp"
#include "lessons/seq2seq/reading.hpp"
#include "lessons/seq2seq/taught.hpp"
#include "lessons/seq2seq/trained.hpp"
#include "lessons/seq2seq/variants.hpp"

namespace lessons {

namespace {

using attn::TokenBatch;

void explain_lstm(Workbench& bench) {
  bench.trace.note(
      "lstm", "What an LSTM does",
      "An LSTM (long short-term memory) reads one vector x at each step. It carries two vectors along: a "
      "memory c and a state h, which tells what was read so far. For attention that is enough: the rest is "
      "how an LSTM computes them. Each LSTM has its own c and h, as in encoder/h and decoder/h. Learned are "
      "two matrices, W_ih for the input and W_hh for the old h, and a vector b. Each of i, f, g and o uses "
      "its own quarter of the rows. σ gives 0 to 1.",
      "i = σ(W_ih xₜ + W_hh hₜ₋₁ + b)     input gate: how much of g is written\n"
      "f = σ(the same, other rows)        forget gate: how much of old c is kept\n"
      "g = tanh(the same, other rows)     new content   σ(a) = 1 / (1 + exp(−a))\n"
      "o = σ(the same, other rows)        output gate: how much of c is shown\n"
      "cₜ = f ∘ cₜ₋₁ + i ∘ g              ∘ multiplies number by number\n"
      "hₜ = o ∘ tanh(cₜ)                  t − 1: the step before");
}

/// How many LSTMs there are, the sizes of their states, and what the decoder asks with.
std::string about_lstms(const Workbench& bench) {
  const auto hidden = *bench.options.hidden;
  const auto sizes =
      bench.options.bidirectional
          ? fmt::format(
                "The encoder is two LSTMs (bidirectional), one forward, one backward, with states of {0} "
                "numbers (hidden={0}): a word gets {1}. The decoder's LSTM has {1}. ",
                hidden, 2 * hidden)
          : fmt::format("Encoder and decoder are an LSTM each, with a state of {0} number{1} (hidden={0}). ",
                        hidden, hidden == 1 ? "" : "s");
  const std::string y = "y, the vector of the word that it reads";
  if (asks_with_word(bench)) return sizes + "It asks with its old state and " + y + ".";
  return sizes + fmt::format("The decoder reads {}, and asks with its {} state ({}).", y,
                             attends_before_the_cell(bench.options) ? "old" : "new", bench.options.attention);
}

void explain_bottleneck(Workbench& bench) {
  bench.idea(
      "One network, the encoder, reads the source word by word. Another, the decoder, writes the target word "
      "by word. Each has a state, a vector that tells what it has read so far. The first such networks gave "
      "the decoder only the encoder's last state: one vector for a whole sentence, a bottleneck. With "
      "attention (Bahdanau et al. 2014) the decoder gets a mixture of the states of all source words at each "
      "step: the context." +
          std::string(
              bench.options.model
                  ? ""
                  : "\nA trained decoder looks at “cat” to write “chat”. Here the weights are random.") +
          "\n" + about_lstms(bench),
      "contextₜ = Σⱼ weightₜⱼ · state of source word j");
  bench.flow(seq2seq_flow(bench));
  explain_lstm(bench);
  explain_variants(bench);
}

attn::About about_words() {
  return {.id = "words",
          .title = "The right word of each step, by its column",
          .formula = "column of the word that is to be written",
          .axes = {"target"}};
}

std::vector<std::string> vocabulary_of_batch(const TokenBatch& batch) {
  std::vector<std::string> vocabulary;
  for (const auto& sentence : batch.tokens)
    for (const auto& token : sentence)
      if (std::find(vocabulary.begin(), vocabulary.end(), token) == vocabulary.end())
        vocabulary.push_back(token);
  vocabulary.emplace_back(attn::end_token);
  return vocabulary;
}

/// Those of the input `words`, of `count`.
WordsToWrite given_columns(const Workbench& bench, const TokenBatch& writes, std::size_t count) {
  const auto given = bench.trace.given_or(about_words(), Integers<2>({writes.size(), writes.length()}, -1));
  WordsToWrite columns;
  for (std::size_t b = 0; b < writes.size(); ++b) {
    auto& row = columns.emplace_back();
    for (std::size_t t = 0; t < writes.tokens[b].size(); ++t)
      row.push_back(bench.checked_index("words", given(b, t), count));
  }
  return columns;
}

}  // namespace

OutputWords output_words(Workbench& bench, const TokenBatch& batch, const TokenBatch& writes) {
  const auto& learned = bench.options.vocabulary;
  OutputWords words{.vocabulary = learned.empty() ? vocabulary_of_batch(batch) : learned};
  auto& vocabulary = words.vocabulary;
  const auto known = vocabulary.size();
  const bool by_number = bench.has_given("words");
  const auto count = bench.vocabulary_size({"output/W", "output/b"}, known, by_number);
  if (by_number) {
    words.to_write = given_columns(bench, writes, count);
    vocabulary = numbered_up_to(count, learned);
    for (std::size_t b = 0; b < writes.size(); ++b)
      for (std::size_t t = 0; t < writes.tokens[b].size(); ++t)
        vocabulary[words.to_write[b][t]] = writes.tokens[b][t];
    words.note = fmt::format("The input words says which of the {} columns the words to write have.", count);
    return words;
  }
  if (count > known) {
    vocabulary.pop_back();
    vocabulary = numbered_up_to(count - 1, std::move(vocabulary));
    vocabulary.emplace_back(attn::end_token);
    words.note = fmt::format(
        "Of the {} columns the first {} are the words of this run, in the order in which they first stand "
        "there, and the last is </s>.",
        count, known - 1);
    bench.draw_vectors({{vocabulary}});
  }
  for (const auto& sentence : writes.tokens) {
    auto& row = words.to_write.emplace_back();
    for (const auto& word : sentence)
      row.push_back(static_cast<std::size_t>(
          std::find(vocabulary.begin(), vocabulary.end(), bench.options.as_read(word, vocabulary)) -
          vocabulary.begin()));
  }
  return words;
}

void show_words(Workbench& bench, const WordsToWrite& words) {
  std::size_t steps = 0;
  for (const auto& row : words) steps = std::max(steps, row.size());
  Integers<2> numbers({words.size(), steps}, -1);
  for (std::size_t b = 0; b < words.size(); ++b)
    for (std::size_t t = 0; t < words[b].size(); ++t) numbers(b, t) = static_cast<std::int64_t>(words[b][t]);
  bench.trace.settled_input(about_words(), numbers);
}

void show_source_mask(Workbench& bench, const TokenBatch& writes) {
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

namespace {

/// How many steps each sentence takes, and the word that the first one writes at step t.
std::vector<std::size_t> lengths_written(const Workbench& bench, const Seq2SeqRun& run) {
  if (bench.plan.target.size() == 0) {
    std::vector<std::size_t> lengths;
    for (const auto& sentence : run.written) lengths.push_back(sentence.size());
    return lengths;
  }
  auto lengths = bench.plan.target.lengths();
  for (auto& length : lengths) ++length;
  return lengths;
}

/// The words of the first sentence that is written, without </s>.
std::vector<std::string> words_written(const Workbench& bench, const Seq2SeqRun& run) {
  if (bench.plan.target.size() > 0) return bench.plan.target.tokens.front();
  auto words = run.words.front();
  if (words.back() == attn::end_token) words.pop_back();
  return words;
}

/// What the decoder asks with, and how two vectors are joined.
std::string about_query(const Workbench& bench) {
  if (asks_with_word(bench))
    return fmt::format("Its query is [h; y], h then y: {} + {} = {} numbers.", state_width(bench),
                       bench.d_model(), state_width(bench) + bench.d_model());
  return attends_before_the_cell(bench.options) ? "Its query is h. [a; b] means a, then b."
                                                : "[a; b] means a, then b.";
}

/// What each part of the step is for, in the order of this run. W [features×vocabulary] makes the logits.
std::string parts_of_step(const Workbench& bench, const Tensor<2>& W) {
  const bool has_energy = compares_by_energy(bench), attends_first = attends_before_the_cell(bench.options);
  const std::string attend = fmt::format(
      "{}how well each source word matches the query\n"
      "weights          the scores as shares that sum to 1\n"
      "context          the states of the source words, mixed by these shares\n",
      has_energy ? "energy, scores   " : "scores           ");
  const std::string cell = fmt::format("c, h             the LSTM reads {}: its new memory and state\n",
                                       attends_first ? "[y; context]" : "y");
  const std::string joint = "attentional      context and h, made one vector\n";
  const auto logits =
      fmt::format("logits           {}: a number for each word, W [{}×{}]\n",
                  attends_first ? "[h; context] W + b" : "attentional W", W.shape(0), W.shape(1));
  return (attends_first ? attend + cell : cell + attend + joint) + logits +
         "probabilities    softmax(logits): how likely each word is to come next";
}

/// Walks through the step that writes `word`, number t.
void walk_through(Workbench& bench, const Seq2SeqRun& run, std::size_t t, const std::string& word) {
  bench.trace.note(
      "one-step", fmt::format("One step: “{}”, t = {} (the first step is t = 0)", word, t),
      fmt::format(
          "The decoder has h and c from {}. It reads y, the vector of {}, row {} of X_target [{}×{}]. {}",
          t == 0 ? "the encoder" : fmt::format("t = {}", t - 1), word_read(bench, t), t,
          run.X_target.shape(1), run.X_target.shape(2), about_query(bench)),
      parts_of_step(bench, run.weights.decoder.W));
  show_one_step(bench, run, t);
}

/// The learned vectors of all words, the last of which stands for </s> where it is written and for <s> where
/// it is read.
Tensor<2> take_embedding(Workbench& bench, std::vector<std::string> words) {
  words.back() = attn::start_token;
  bench.trace.label("word", {{words}});
  const Tensor<2> unknown = xt::zeros<double>({words.size(), bench.d_model()});
  return bench.trace.input({.id = target_embedding,
                            .title = "The vector of each word that may be written, and of <s>",
                            .axes = {"word", "d_model"},
                            .note = "What the decoder writes at one step it reads at the next."},
                           unknown);
}

/// Commands to go on with.
void propose_more(Workbench& bench) {
  const bool is_bahdanau = attends_before_the_cell(bench.options);
  if (bench.options.model)
    return bench.try_next({{"seq2seq --source \"the cat did not eat the apple because it was hungry\"",
                            "it writes by itself: where does “ne” look?"},
                           {"transformer-block", "attention without a recurrence"}},
                          {{"seq2seq --source \"the black cats did not sleep\"",
                            "which source word does each word come from?"}});
  bench.try_next(
      {{is_bahdanau ? "seq2seq --attention luong-dot" : "seq2seq --attention bahdanau",
        "which state asks now?"},
       {"seq2seq --source \"the small cat slept\"", "a trained one, without a target: it translates"},
       {"transformer-block", "attention without a recurrence"}});
}

void run_seq2seq(Workbench& bench) {
  const auto& source = bench.plan.source;
  const auto& target = bench.plan.target;
  const bool has_target = target.size() > 0;
  const auto reads = after_start(has_target ? target : nothing_read(source.size()));
  auto writes = target;
  for (auto& sentence : writes.tokens) sentence.emplace_back(attn::end_token);
  const auto words = output_words(bench, has_target ? target : source, writes);
  const auto& vocabulary = words.vocabulary;
  bench.label({"source"}, source);
  bench.trace.label("vocabulary", {{vocabulary}});
  choose_seq2seq_page(bench);
  if (!bench.is_mute()) explain_bottleneck(bench);

  Seq2SeqRun run{.lengths = source.lengths()};
  bench.show_lengths(source);
  bench.draw_vectors(source);
  bench.draw_vectors(reads);
  run.X_source = bench.input<3>({.id = "X_source", .title = "The source as vectors"});
  bench.label({"target"}, reads);
  if (has_target) run.X_target = bench.embed(about_target(bench), reads);
  if (reads_its_own_words(bench.options)) run.embedding = take_embedding(bench, vocabulary);
  run.weights.encoder = draw_encoder(bench);
  run.weights.decoder = draw_decoder(bench, words);
  if (bench.has_given("words")) show_words(bench, words.to_write);
  if (has_target) show_source_mask(bench, writes);

  run.encoder = encode(bench, run.X_source, run.lengths, run.weights.encoder);
  run.source = prepare_source(bench, run.encoder.states, run.lengths, run.weights.decoder.attention);
  std::optional<GreedyReading> reading;
  if (has_target)
    teach(bench, run, writes);
  else
    reading = write_greedily(bench, run, vocabulary);
  const auto steps = run.X_target.shape(1), t = step_to_walk_through(lengths_written(bench, run));
  show_seq2seq_code(bench, reading, steps, t);
  walk_through(bench, run, t, has_target ? writes.tokens[0][t] : run.words[0][t]);
  show_gold(bench, run.decoder.weights, words_written(bench, run), !has_target);
  run.kept = show_bottleneck(bench, run.encoder, run.lengths, steps);

  if (bench.options.model) show_by_length(bench);

  claim_recurrence(bench, run);
  if (source.is_padded()) claim_padding_changes_nothing(bench, run);
  if (!has_target) claim_greedy(bench, run);
  propose_more(bench);
}

}  // namespace

extern const Lesson seq2seq;
const Lesson seq2seq = {
    .name = "seq2seq",
    .title = "LSTMs translate, with attention between them",
    .teaches =
        "Where attention comes from: an LSTM encoder, its gates one by one, a decoder that writes word by "
        "word, and the attention between them. Bahdanau's decoder attends with the state before and feeds "
        "the context into the cell (bahdanau-input asks with the word that it reads, too); Luong's attends "
        "with the current state; multihead is Luong's order with --heads heads, 2 unless given. With "
        "--bidirectional a second encoder of the same size reads backwards, and the decoder's state is twice "
        "as wide. With --target the decoder is taught (teacher forcing); with --source alone it writes by "
        "itself (greedy decoding) in the words of the source, or with trained weights in all that the model "
        "knows.",
    .options = {"source", "target", "d-model", "heads", "seed", "rng", "draws", "weight-scale", "embeddings",
                "model", "attention", "bidirectional", "hidden", "d-a", "dtype"},
    .takes_source_alone = true,
    .defaults = {.source = {"the black cat never arrived"},
                 .target = {"le chat noir n'arrivait jamais"},
                 .d_model = 4},
    .examples = {"seq2seq --source \"i love cats\" --target \"j'aime les chats\" --d-model 4",
                 "seq2seq --source \"the cat sat\" --attention luong-general --bidirectional --hidden 3"},
    .inputs = seq2seq_input_list,
    .trained = Trained{.task = "translation",
                       .give = give_translation,
                       .words = "source_words",
                       .target_words = "target_words",
                       .reads = Reads::pairs},
    .probe = Probe{{.source = {"a b c d e f g", "h i j k l", "m n o p"},
                    .target = {"q r s t", "u v", "w x y"},
                    .d_model = 5,
                    .d_a = 6,
                    .attention = "luong-concat",
                    .bidirectional = true,
                    .hidden = 3},
                   nullptr,
                   {"decoder/probabilities"}},
    .run = run_seq2seq,
};

}  // namespace lessons
