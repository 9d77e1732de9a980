/// Sequence to sequence: an LSTM reads a sentence, another one writes a sentence and attends to the states of
/// the first. Sources: Hochreiter & Schmidhuber 1997, "Long Short-Term Memory", and Gers et al. 2000 (the
/// forget gate); Sutskever et al. 2014 and Cho et al. 2014 (without attention); Bahdanau et al. 2014, "Neural
/// Machine Translation by Jointly Learning to Align and Translate", appendix A; Luong et al. 2015, "Effective
/// Approaches to Attention-based Neural Machine Translation", section 3.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/ops/mask.hpp"
#include "attn/ops/steps.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/seq2seq/by_length.hpp"
#include "lessons/seq2seq/claims.hpp"
#include "lessons/seq2seq/decoder.hpp"
#include "lessons/seq2seq/numpy.hpp"
#include "lessons/seq2seq/one_step.hpp"
#include "lessons/seq2seq/taught.hpp"
#include "lessons/seq2seq/trained.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

using attn::TokenBatch;

void explain_bahdanau(attn::Trace& trace) {
  trace.note(
      "order", "Bahdanau: attend, then step",
      "The state before asks, and the context goes into the cell, which needs it to make the current "
      "state. Three things differ from the paper: the cell (an LSTM in place of the gated unit of Cho et "
      "al. 2014), the decoder's first state (the encoder's last in place of tanh(W_s h₁) of the backward "
      "one) and the output (one matrix in place of a maxout layer). The paper's encoder reads both ways: "
      "--bidirectional.",
      "contextₜ = Σⱼ softmax(a(sₜ₋₁, hⱼ)) hⱼ\n"
      "sₜ = LSTM([yₜ; contextₜ], sₜ₋₁)\n"
      "logitsₜ = [sₜ; contextₜ] W + b");
}

void explain_bahdanau_input(attn::Trace& trace) {
  trace.note("order", "Bahdanau with the word: attend, then step",
             "The state before asks together with the word that is read. Bahdanau's own query is the state "
             "alone: it does not know yet which word was written last. The rest is as with bahdanau: the "
             "context goes into the cell.",
             "contextₜ = Σⱼ softmax(a([sₜ₋₁; yₜ], hⱼ)) hⱼ\n"
             "sₜ = LSTM([yₜ; contextₜ], sₜ₋₁)\n"
             "logitsₜ = [sₜ; contextₜ] W + b");
}

void explain_luong(attn::Trace& trace) {
  trace.note(
      "order", "Luong: step, then attend",
      "The cell makes its step first, and the new state asks. Context and state are made one vector, and "
      "only that is read out. Input feeding (section 3.3), which hands that vector to the next step of "
      "the cell, is left out here, so the context does not enter the cell.",
      "hₜ = LSTM(yₜ, hₜ₋₁)\n"
      "contextₜ = Σⱼ softmax(score(hₜ, h̄ⱼ)) h̄ⱼ\n"
      "attentionalₜ = tanh([contextₜ; hₜ] W_c)\n"
      "logitsₜ = attentionalₜ W");
}

void explain_multihead(attn::Trace& trace) {
  trace.note(
      "order", "Multi-head: step, then attend with several heads",
      "The order of Luong et al. with the attention of a transformer. Context and state are joined before "
      "they are read out: the context alone would hold the decoder's state in its weights only.",
      "hₜ = LSTM(yₜ, hₜ₋₁)\n"
      "contextₜ = MultiHead(hₜ W_Q, h̄ W_K, h̄ W_V) W_O\n"
      "attentionalₜ = tanh([contextₜ; hₜ] W_c)\n"
      "logitsₜ = attentionalₜ W");
}

/// The variants side by side: which state asks, and where the context goes.
void compare_variants(Workbench& bench) {
  const auto line = [](const std::string& name, const char* asks, const char* score, const char* goes) {
    return attn::pad_right(name, 17) + attn::pad_right(asks, 9) + attn::pad_right(score, 29) + goes;
  };
  std::vector<std::string> lines = {
      line("  --attention", "asks", "score of source word j", "  context goes to")};
  const auto add = [&](const std::string& name, const char* asks, const char* score, const char* goes) {
    lines.push_back(line((bench.options.attention == name ? "→ " : "  ") + name, asks, score, goes));
  };
  add("bahdanau", "sₜ₋₁", "v_a · tanh(sₜ₋₁ W_q + h̄ⱼ W_k)", "  LSTM and result");
  add("bahdanau-input", "sₜ₋₁, yₜ", "the same with [sₜ₋₁; yₜ] W_q", "  LSTM and result");
  add("luong-dot", "hₜ", "hₜ · h̄ⱼ", "  result");
  add("luong-general", "hₜ", "hₜ W_a · h̄ⱼ", "  result");
  add("luong-concat", "hₜ", "v_a · tanh([hₜ; h̄ⱼ] W_a)", "  result");
  add("multihead", "hₜ", "(hₜ W_Q)ᵢ · (h̄ⱼ W_K)ᵢ / √d_k", "  result");
  bench.trace.note(
      "variants", "Which state asks, and where does the context go?",
      "sₜ₋₁ and hₜ are the decoder's states before and after step t, yₜ is the word that it "
      "reads. h̄ⱼ is the encoder's state at source word j. [a; b] is a with b behind it. All W and "
      "v_a are learned.",
      fmt::format("{}", fmt::join(lines, "\n")));
}

std::string dashes(std::size_t count) {
  std::string line;
  for (std::size_t i = 0; i < count; ++i) line += "─";
  return line;
}

/// The way of the words with the shapes of one step.
std::vector<std::string> seq2seq_flow(const Workbench& bench) {
  const auto n = bench.plan.source.length(), d = bench.d_model(), width = state_width(bench);
  const auto margin = [](std::size_t columns) { return std::string(columns, ' '); };
  const auto source = fmt::format("X_source [{}×{}] → LSTM → states [{}×{}] ", n, d, n, width);
  if (attends_before_the_cell(bench.options)) {
    const auto asks = asks_with_word(bench)
                          ? fmt::format("[state; word] → scores → weights [{}] ", n)
                          : fmt::format("state before [{}] → scores → weights [{}] ", width, n);
    const auto joint = std::max(attn::display_width(source), attn::display_width(asks));
    const auto context = fmt::format("┴→ context [{}] ", width), word = fmt::format("word before [{}] ", d);
    const auto end = joint + attn::display_width(context);
    const std::string cell = "→ LSTM → h ";
    return {source + dashes(joint - attn::display_width(source)) + "┐",
            asks + dashes(joint - attn::display_width(asks)) + context + "┬" +
                dashes(attn::display_width(cell)) + "┐",
            word + dashes(end - attn::display_width(word)) + "┴" + cell + "┴→ word"};
  }
  const auto step = fmt::format("word [{}] → LSTM → h [{}] ", d, width);
  const auto asks = fmt::format("┬→ scores → weights [{}] ", n),
             context = fmt::format("┬→ context [{}] ", width);
  const auto fork = attn::display_width(step);
  const auto joint = std::max(fork + attn::display_width(asks), attn::display_width(source));
  const auto end = joint + attn::display_width(context);
  return {step + asks + dashes(joint - fork - attn::display_width(asks)) + context + "┬→ word",
          source + dashes(joint - attn::display_width(source)) + "┘" + margin(end - joint - 1) + "│",
          margin(fork) + "└" + dashes(end - fork - 1) + "┘"};
}

void explain_bottleneck(Workbench& bench) {
  bench.idea(
      "One LSTM, the encoder, reads the source word by word. Another, the decoder, writes the target. Both "
      "carry two vectors from word to word: a memory c and a state h. At each word they make new content g "
      "and three gates, numbers between 0 and 1. The forget gate f says how much of the memory is kept, the "
      "input gate i how much of g is written to it, the output gate o how much of it is shown as h. At first "
      "the decoder got only the encoder's last h and c: a bottleneck. With attention (Bahdanau et al. 2014) "
      "it looks at the states of all source words. What matches goes into a mixture, the context. " +
          std::string(bench.options.model
                          ? "This model has learned to translate (attnlab train translation)."
                          : "Trained, it looks at “cat” to write “chat”; here the weights are random.") +
          (bench.options.bidirectional ? " The source is read from both ends, by two LSTMs." : ""),
      "");
  bench.flow(seq2seq_flow(bench));
  compare_variants(bench);
  if (attends_as(bench, "bahdanau"))
    explain_bahdanau(bench.trace);
  else if (asks_with_word(bench))
    explain_bahdanau_input(bench.trace);
  else if (attends_as(bench, "multihead"))
    explain_multihead(bench.trace);
  else
    explain_luong(bench.trace);
}

/// Where the least is left of a word of the first sentence, `real` words long, of which the forward encoder
/// has `hidden` numbers.
std::string least_kept(const attn::Event& kept, std::size_t real, std::size_t hidden) {
  const auto& shape = kept.tensor->shape;
  const std::size_t width = shape.back();
  std::size_t least = 0;
  for (std::size_t i = 0; i < real * width; ++i)
    if (kept.tensor->at(i) < kept.tensor->at(least)) least = i;
  const auto words = kept.axes.size() - 2;
  const std::size_t word = least / width, column = least % width;
  const auto left_of = [&](std::size_t t) { return kept.tensor->at(t * width + column); };
  std::string product;
  if (column < hidden && word + 3 == real && left_of(word + 1) > 0.0)
    product = fmt::format(" = {:.4f} · {:.4f}", left_of(word) / left_of(word + 1), left_of(word + 1));
  return fmt::format(
      "What a word writes into the memory is multiplied by f of every word read after it. Of what “{}” wrote "
      "into number {}, {:.4f}{} is left at the end. Without attention the decoder gets no more than that.",
      name_along(kept, words, word), column, left_of(word), product);
}

/// The largest difference within a column of the first `rows` rows of `columns` numbers.
double difference_of_rows(const attn::TensorView& x, std::size_t rows, std::size_t columns) {
  double largest = 0.0;
  for (std::size_t i = 1; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      largest = std::max(largest, std::abs(x.at(i * columns + j) - x.at(j)));
  return largest;
}

std::string about_alignment(const attn::Event& weights) {
  constexpr double hardly_anything = 0.01;
  const auto& shape = weights.tensor->shape;
  const std::size_t columns = shape.back(), rows = shape[shape.size() - 2];
  const std::string shares =
      "A row says how much the decoder looks at each source word. One source word more adds a column, one "
      "target word more a row. ";
  const bool are_alike = rows > 1 && difference_of_rows(*weights.tensor, rows, columns) < hardly_anything;
  return shares +
         (are_alike ? "Nothing is trained, so all rows are nearly alike. " : strongest_pair(weights) + " ");
}

/// Whom the words of the target look at.
std::string about_learned_alignment(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const std::size_t rows = shape[shape.size() - 2];
  std::size_t words = 0;
  while (words < rows && name_along(weights, shape.size() - 2, words) != attn::end_token) ++words;
  const auto crossing = words_that_cross(weights, words);
  return "Nobody told the model which words belong together. " +
         (crossing.empty() ? "Here the words have one order in both languages: no look goes back."
                           : crossing);
}

/// How little is left of the first word, in a memory of which the forward encoder has `hidden` numbers.
std::string first_kept(const attn::Event& kept, std::size_t hidden) {
  constexpr double hundredth = 0.01;
  std::size_t lost = 0;
  for (std::size_t i = 0; i < hidden; ++i) lost += kept.tensor->at(i) < hundredth ? 1 : 0;
  return fmt::format(
      "What a word writes into the memory is multiplied by f of every word read after it. Of what “{}” wrote "
      "from the left, less than a hundredth is left at the end in {} of {} numbers.",
      name_along(kept, kept.axes.size() - 2, 0), lost, hidden);
}

/// What a trained model's tables of many columns leave of the page.
void choose_trained_page(Workbench& bench) {
  std::vector<attn::OnPage> page = {{"idea"},
                                    {"flow"},
                                    {"variants"},
                                    {"code"},
                                    attn::in_one_line("lengths"),
                                    {"teacher-forcing"},
                                    {"greedy-decoding"},
                                    attn::in_one_line("X_source"),
                                    attn::in_one_line("encoder/h")};
  if (bench.options.bidirectional) {
    page.push_back(attn::in_one_line("encoder/reverse/h"));
    page.push_back(attn::in_one_line("encoder/states"));
  }
  const auto step = one_step_on_page(bench);
  page.insert(page.end(), step.begin(), step.end());
  page.push_back({"decoder/weights", about_learned_alignment});
  page.push_back({"gold"});
  page.push_back(attn::without_table("bottleneck/kept", [hidden = *bench.options.hidden](const auto& kept) {
    return first_kept(kept, hidden);
  }));
  page.push_back({"by-length"});
  bench.trace.page(page,
                   {"rows-sum-to-1", "state-that-asks", "padding-changes-nothing", "greedy-is-likeliest"});
}

void choose_seq2seq_page(Workbench& bench) {
  const auto real = bench.plan.source.lengths().front(), hidden = *bench.options.hidden;
  if (bench.options.model) return choose_trained_page(bench);
  std::vector<attn::OnPage> page = {
      {"idea"},           {"flow"}, {"variants"}, {"code"}, attn::in_one_line("lengths"), {"teacher-forcing"},
      {"greedy-decoding"}};
  if (bench.options.bidirectional) {
    page.push_back(attn::in_one_line("encoder/h"));
    page.push_back(attn::in_one_line("encoder/reverse/h"));
    page.push_back({"encoder/states"});
  } else {
    page.push_back({"encoder/h", [](const attn::Event&) {
                      return "The output gate o times tanh of the memory c, number by number (∘); “One step” "
                             "below makes o and c. Attention looks at these rows.";
                    }});
  }
  const auto step = one_step_on_page(bench);
  page.insert(page.end(), step.begin(), step.end());
  page.push_back({"decoder/weights", about_alignment});
  page.push_back(
      {"bottleneck/kept", [=](const attn::Event& kept) { return least_kept(kept, real, hidden); }});
  bench.trace.page(page,
                   {"rows-sum-to-1", "state-that-asks", "padding-changes-nothing", "greedy-is-likeliest"});
}

std::string about_padding(const TokenBatch& writes) {
  return writes.is_padded()
             ? " A shorter sentence is filled up with <pad>: the decoder reads zeros there, and "
               "what it makes of them counts for nothing."
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
  return fmt::format("The decoder chooses from {} words, </s> among them.", bench.options.vocabulary.size());
}

void explain_teacher_forcing(Workbench& bench, const TokenBatch& writes) {
  bench.trace.note(
      "teacher-forcing", "Teacher forcing: the decoder is given the true words",
      "<s> stands for the start of a sentence, </s> for its end. At each step the decoder reads the "
      "true word before (in X_target), not the one that it would have written. A step has the name of "
      "the word to be written. " +
          (bench.options.model ? knows_words(bench)
                               : std::string("The decoder knows the target's words and </s>.")) +
          about_padding(writes),
      steps_of_words(writes));
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

/// How many words more than the source has a decoder may write.
std::size_t words_beyond_the_source(const Workbench& bench) {
  return bench.options.model ? 5 : 1;
}

void explain_learned_decoding(Workbench& bench, const TokenBatch& writes) {
  bench.trace.note(
      "greedy-decoding", "Greedy decoding",
      fmt::format("Without a target the decoder writes the likeliest word of each step and reads "
                  "it at the next. It ends with </s>, or when it has written {} words more than "
                  "the source has. {} It writes {}. Each row is named after the word written.{}",
                  words_beyond_the_source(bench), knows_words(bench), quoted(writes), about_padding(writes)));
}

void explain_greedy_decoding(Workbench& bench, const TokenBatch& writes) {
  if (bench.options.model) return explain_learned_decoding(bench, writes);
  bench.trace.note(
      "greedy-decoding", "Greedy decoding",
      fmt::format(
          "Without a target the decoder writes the likeliest word of each step and reads it at the next. It "
          "ends with </s>, or when it has written one word more than the source has. It knows the words of "
          "the "
          "source and </s> only, and its parameters are drawn at random. It writes {}. Each row is named "
          "after "
          "the word written.{}",
          quoted(writes), about_padding(writes)));
}

std::string about_start(const Workbench& bench) {
  if (bench.options.model) return "<s> begins every sentence. Its vector is learned like a word's.";
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

/// Sentences without a word yet.
TokenBatch nothing_read(std::size_t count) {
  return {std::vector<std::vector<std::string>>(count)};
}

}  // namespace

std::vector<std::string> vocabulary_of_batch(const TokenBatch& batch) {
  std::vector<std::string> vocabulary;
  for (const auto& sentence : batch.tokens)
    for (const auto& token : sentence)
      if (std::find(vocabulary.begin(), vocabulary.end(), token) == vocabulary.end())
        vocabulary.push_back(token);
  vocabulary.emplace_back(attn::end_token);
  return vocabulary;
}

namespace {

/// The vector of each word that may be written, and zeros for </s>, which is never read.
Tensor<2> vectors_of(Workbench& bench, const std::vector<std::string>& vocabulary) {
  const auto known = bench.known_vectors_of({{std::vector(vocabulary.begin(), vocabulary.end() - 1)}});
  Tensor<2> vectors = xt::zeros<double>({vocabulary.size(), bench.d_model()});
  std::copy(known.begin(), known.end(), vectors.begin());
  return vectors;
}

}  // namespace

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
       .title = "The bottleneck: what is left of each word",
       .formula = encoder.reverse ? "[product of f of later rows; of reverse/f of earlier rows]"
                                  : "product of later rows of encoder/f",
       .from = encoder.reverse ? std::vector<std::string>{"encoder/f", "encoder/reverse/f"}
                               : std::vector<std::string>{"encoder/f"},
       .axes = {"source", "hidden"},
       .note = "What a word writes into the memory, i ∘ g, is multiplied by the forget gate of every word "
               "read after it. The longer ago, the less is left. Attention reads each word's own state, "
               "one step away, however long the sentence is.",
       .worked = worked_kept(encoder, lengths),
       .worked_at = attn::Index{0, 0}},
      kept);
}

/// Teaches the decoder to write the target and then </s>.
void teach(Workbench& bench, Seq2SeqRun& run, const TokenBatch& writes) {
  explain_teacher_forcing(bench, writes);
  bench.label({"target"}, writes);
  run.decoder = decode_taught(bench, run.X_target, run.encoder.initial(), run.source, run.weights.decoder);
}

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

/// Lets the decoder write by itself: to </s>, or some words more than the source has. Returns what it could
/// read.
GreedyReading write_greedily(Workbench& bench, Seq2SeqRun& run, const std::vector<std::string>& words) {
  auto most_steps = run.lengths;
  for (auto& steps : most_steps) steps += words_beyond_the_source(bench);
  auto reading = what_it_reads(bench, run, words);
  attn::Recurrence recurrence(bench.trace, "target");
  run.written = decode_greedily(bench, recurrence, about_target(bench), reading.start, run.encoder.initial(),
                                run.source, run.weights.decoder, {words, reading.vectors}, most_steps);
  TokenBatch reads, writes;
  for (const auto& sentence : run.written) {
    auto& tokens = writes.tokens.emplace_back();
    for (const auto word : sentence) tokens.push_back(words[word]);
    reads.tokens.emplace_back(tokens.begin(), tokens.end() - 1);
  }
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
std::vector<std::string> words_written(const Workbench& bench, const Seq2SeqRun& run,
                                       const std::vector<std::string>& words) {
  if (bench.plan.target.size() > 0) return bench.plan.target.tokens.front();
  std::vector<std::string> text;
  for (const auto word : run.written.front())
    if (word + 1 < words.size()) text.push_back(words[word]);
  return text;
}

/// Walks through the step that writes `word`, number t.
void walk_through(Workbench& bench, const Seq2SeqRun& run, std::size_t t, const std::string& word) {
  bench.trace.note("one-step", fmt::format("One step: “{}”, t = {} (the first step is t = 0)", word, t),
                   attends_before_the_cell(bench.options)
                       ? "It attends, its cell makes a step, then every word gets a probability."
                       : "Its cell makes a step, it attends, then every word gets a probability.");
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
                            "it writes by itself: what does “affamé” look at?"},
                           {"seq2seq --steps exact_by_length", "the figures by length as curves"},
                           {"transformer-block", "attention without a recurrence"}});
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
  const auto& learned = bench.options.vocabulary;
  const auto vocabulary = learned.empty() ? vocabulary_of_batch(has_target ? target : source) : learned;
  const auto reads = after_start(has_target ? target : nothing_read(source.size()));
  auto writes = target;
  for (auto& sentence : writes.tokens) sentence.emplace_back(attn::end_token);
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
  run.weights.decoder = draw_decoder(bench, vocabulary.size());
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
  walk_through(bench, run, t, has_target ? writes.tokens[0][t] : vocabulary[run.written[0][t]]);
  show_gold(bench, run.decoder.weights, words_written(bench, run, vocabulary), !has_target);
  run.kept = show_bottleneck(bench, run.encoder, run.lengths, steps);

  if (bench.options.model) show_by_length(bench);

  claim_recurrence(bench, run);
  if (source.is_padded()) claim_padding_changes_nothing(bench, run);
  if (!has_target) claim_greedy(bench, run);
  propose_more(bench);
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
  if (attention == "bahdanau" || attention == "bahdanau-input")
    return {{"W_q", {attention == "bahdanau" ? state : "feature=", "d_a"}, Draw::weight},
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

}  // namespace

std::vector<Input> seq2seq_input_list(const Options& options) {
  const bool is_bahdanau = attends_before_the_cell(options);
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
  if (options.model) lists.push_back(by_length_input_list());
  if (reads_its_own_words(options)) lists.push_back({{target_embedding, {"word=", "d_model"}, Draw::page}});
  lists.push_back({{"X_target", {"target=1+target", "d_model"}, Draw::embedding},
                   {"mask", {"target=1+target", "source"}, Draw::page}});
  return joined(lists);
}

extern const Lesson seq2seq;
const Lesson seq2seq = {
    .name = "seq2seq",
    .title = "two LSTMs translate, and attention between them",
    .teaches =
        "Where attention comes from: an LSTM encoder, its gates one by one, a decoder that writes word by "
        "word, and the attention between them. Bahdanau's decoder attends with the state before and feeds "
        "the context into the cell (bahdanau-input asks with the word that it reads, too); Luong's attends "
        "with the current state; multihead is Luong's order with "
        "--heads heads, 2 unless given. With --bidirectional a second encoder of the same size reads "
        "backwards, and the decoder's state is twice as wide. With --target the decoder is taught (teacher "
        "forcing); with --source alone it writes by itself (greedy decoding) in the words of the source, or "
        "with "
        "trained weights in all that the model knows.",
    .options = {"source", "target", "d-model", "heads", "seed", "rng", "draws", "weight-scale", "embeddings",
                "model", "attention", "bidirectional", "hidden", "d-a", "dtype"},
    .takes_source_alone = true,
    .defaults = {.source = {"the black cat slept"}, .target = {"le chat noir dormait"}, .d_model = 4},
    .examples = {"seq2seq --source \"i love cats\" --target \"j'aime les chats\" --d-model 4",
                 "seq2seq --source \"the cat sat\" --attention luong-general --bidirectional --hidden 3"},
    .inputs = seq2seq_input_list,
    .trained = Trained{"translation", give_translation, "source_words", "target_words"},
    .probe = Probe{{.source = {"a b c d e f g", "h i j k l", "m n o p"},
                    .target = {"q r s t", "u v", "w x y"},
                    .d_model = 5,
                    .d_a = 6,
                    .attention = "luong-concat",
                    .bidirectional = true,
                    .hidden = 3},
                   vary_gains_and_biases,
                   {"decoder/probabilities"}},
    .run = run_seq2seq,
};

}  // namespace lessons
