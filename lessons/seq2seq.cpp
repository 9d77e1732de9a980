/// Sequence to sequence: an LSTM reads a sentence, another one writes a sentence and attends to the states of
/// the first. The lesson is the document seq2seq.md. Sources: Hochreiter & Schmidhuber 1997, "Long Short-Term
/// Memory", and Gers et al. 2000 (the forget gate); Sutskever et al. 2014 and Cho et al. 2014 (without
/// attention); Bahdanau et al. 2014, "Neural Machine Translation by Jointly Learning to Align and Translate",
/// appendix A; Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation",
/// section 3.

#include "lessons/seq2seq.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attn/ops/mask.hpp"
#include "attn/text/width.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/documents/part_run.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

using attn::TokenBatch;

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

namespace {

/// −1 where a shorter sentence has none.
template <class T>
attn::Array<T, 2> columns_of_words(const WordsToWrite& words) {
  std::size_t steps = 0;
  for (const auto& row : words) steps = std::max(steps, row.size());
  attn::Array<T, 2> numbers({words.size(), steps}, T{-1});
  for (std::size_t b = 0; b < words.size(); ++b)
    for (std::size_t t = 0; t < words[b].size(); ++t) numbers(b, t) = static_cast<T>(words[b][t]);
  return numbers;
}

}  // namespace

void show_words(Workbench& bench, const WordsToWrite& words) {
  bench.trace.settled_input(about_words(), columns_of_words<std::int64_t>(words));
}

void set_words(DocumentRun& run, const WordsToWrite& words) {
  show_words(run.bench(), words);
  run.set("words", owned_view(columns_of_words<double>(words), {"batch", "decoder/target"}));
}

void label_target(DocumentRun& run, const TokenBatch& batch) {
  run.bench().label({"target", "decoder/target"}, batch);
}

void set_source_mask(DocumentRun& run, const TokenBatch& writes) {
  const auto& source = run.bench().plan.source;
  label_target(run, writes);
  auto mask = attn::padding_mask(source.lengths(), writes.length(), source.length());
  run.bench().trace.settled_input({.id = "mask",
                                   .title = "Which source words are real",
                                   .formula = "s < lengths",
                                   .axes = {"target", "source"},
                                   .note = "The same at every step: no step may look at the padding."},
                                  mask);
  run.set("mask", owned_view(std::move(mask), {"batch", "decoder/target", "source"}));
}

formula::View vectors_of(Workbench& bench, const TokenBatch& reads) {
  return owned_view(bench.known_vectors_of(reads));
}

namespace {

/// A step in the middle of the shortest sentence.
std::size_t step_to_walk_through(const std::vector<std::size_t>& lengths) {
  const auto last = *std::min_element(lengths.begin(), lengths.end()) - 1;
  return std::min(last, std::max<std::size_t>(1, last / 2));
}

/// What a run of the lesson knows beside its tensors.
struct Texts {
  OutputWords words;
  TokenBatch reads, writes;
  WordsToWrite written{};  ///< the words by number, without a target only
  Tensor<2> vectors{};     ///< of the words that may be written, and of <s>, without a target only
};

/// What the decoder reads and writes at each step of the first sentence, where that fits on a line.
std::string reads_and_writes(const TokenBatch& writes) {
  constexpr std::size_t most_steps = 6, widest = 10;
  const auto& words = writes.tokens.front();
  if (words.size() > most_steps) return "";
  std::string reads = "reads  ", to_write = "writes ";
  for (std::size_t t = 0; t < words.size(); ++t) {
    const auto add = [&](std::string& line, const std::string& word) {
      const auto text = attn::shorten(word, widest);
      line += t + 1 == words.size() ? text : attn::pad_right(text, widest + 1);
    };
    add(reads, t == 0 ? std::string(attn::start_token) : words[t - 1]);
    add(to_write, words[t]);
  }
  return fmt::format("{}\n{}", reads, to_write);
}

std::string about_start(const Workbench& bench) {
  if (bench.options.model) return "Its vector is learned like a word's.";
  const auto& vectors = bench.plan.vectors;
  if (!vectors) return "Its vector is drawn after those of the source.";
  return vectors->has(std::string(attn::start_token)) ? ""
                                                      : "It has no vector in the file, and here it is zeros.";
}

/// From now on rows are named after the words that are written.
void set_steps(DocumentRun& run, const Texts& texts) {
  run.set("t", static_cast<double>(step_to_walk_through(texts.writes.lengths())));
  run.set("ragged", texts.writes.is_padded());
  run.axis("decoder/target", texts.writes.length());
}

/// Of a model that writes by itself, the last of them that of <s>.
formula::View word_vectors(DocumentRun& run, std::vector<std::string> words) {
  words.back() = attn::start_token;
  run.bench().trace.label("word", {{words}});
  return owned_view(Tensor<2>(xt::zeros<double>({words.size(), run.bench().d_model()})));
}

/// Lets the decoder write.
void write(DocumentRun& run, Texts& texts) {
  auto written = write_greedily(run, texts.words.vocabulary);
  texts.writes = std::move(written.words);
  texts.written = std::move(written.numbers);
  set_steps(run, texts);
  for (std::size_t b = 0; b < texts.written.size(); ++b)
    for (std::size_t t = 1; t < texts.writes.tokens[b].size(); ++t)
      texts.reads.tokens[b].push_back(texts.writes.tokens[b][t - 1]);
}

/// By number: <s>, in place of </s>, and the words written but for the last.
WordsToWrite words_read(const Texts& texts) {
  auto words = texts.written;
  for (auto& row : words) {
    row.insert(row.begin(), texts.words.vocabulary.size() - 1);
    row.pop_back();
  }
  return words;
}

/// The same as an array of NumPy, −1 behind the last one.
std::string words_read_code(const Texts& texts) {
  const auto columns = columns_of_words<std::int64_t>(words_read(texts));
  std::vector<std::string> rows;
  for (std::size_t b = 0; b < columns.shape(0); ++b)
    rows.push_back(fmt::format("[{}]", fmt::join(&columns(b, 0), &columns(b, 0) + columns.shape(1), ", ")));
  return rows.size() == 1 ? rows.front() : fmt::format("[{}]", fmt::join(rows, ", "));
}

/// What the decoder reads of the words that it writes itself.
void add_reading(Functions& functions, Texts& texts) {
  functions.tensors["words_written"] = [&](DocumentRun& run) {
    write(run, texts);
    return owned_view(columns_of_words<double>(texts.written));
  };
  functions.tensors["vectors_read"] = [&](DocumentRun& run) {
    texts.vectors = vectors_to_read(run, texts.words.vocabulary);
    return owned_view(vectors_at(texts.vectors, words_read(texts)));
  };
  functions.actions["reads"] = [&](DocumentRun& run) { label_target(run, texts.reads); };
}

/// The formula of a gate with the rows of `sums` from `first` on.
formula::Expr with_rows_from(const formula::Expr& x, double first, const std::string& axis) {
  formula::Node node =
      *formula::with_parts(x, [&](const formula::Expr& part) { return with_rows_from(part, first, axis); });
  if (node.op == formula::Op::entry && node.name.ends_with("sums"))
    node.parts.back() = formula::call("+", {first, formula::position(axis)});
  return formula::Expr(std::move(node));
}

/// The gates of weights that are stored in another order than i, f, g, o.
void add_orders_of_gates(Functions& functions) {
  static const std::string right = "ifgo";
  for (const char gate : right)
    functions.mistakes[std::string(1, gate)] = [gate](DocumentRun& run, const std::string& id) {
      attn::Mistakes mistakes;
      std::string order = "fgio";
      do {
        if (order == right) continue;
        const auto block = static_cast<double>(order.find(gate));
        mistakes.emplace_back("gate-order:" + order, [&run, id, block] {
          auto sheet = run.sheet();
          auto step = *sheet.definition_of(id);
          const auto rows = static_cast<double>(sheet.size_of(step.axes.back()));
          step.expr = with_rows_from(step.expr, block * rows, step.axes.back());
          const auto view = sheet.value(step);
          return attn::AnyTensor(attn::TensorView{attn::Dtype::float64, view.shape, view.data});
        });
      } while (std::next_permutation(order.begin(), order.end()));
      return mistakes;
    };
}

void add_texts(Functions& functions, Texts& texts) {
  functions.texts = {
      {"about_start", [](const DocumentRun& run) { return about_start(run.bench()); }},
      {"about_columns", [&](const DocumentRun&) { return texts.words.note; }},
      {"reads_and_writes", [&](const DocumentRun&) { return reads_and_writes(texts.writes); }},
      {"words_read", [&](const DocumentRun&) { return words_read_code(texts); }},
      {"vectors", [&](const DocumentRun&) { return fmt::format("[{}]", fmt::join(texts.vectors, ", ")); }},
      {"translations",
       [&](const DocumentRun& run) { return quoted(texts.writes, run.bench().plan.source); }}};
}

void run_seq2seq(Workbench& bench) {
  const auto& source = bench.plan.source;
  const auto& target = bench.plan.target;
  const bool has_target = target.size() > 0;
  Texts texts{
      .words = {}, .reads = after_start(has_target ? target : nothing_read(source.size())), .writes = target};
  for (auto& sentence : texts.writes.tokens) sentence.emplace_back(attn::end_token);
  texts.words = output_words(bench, has_target ? target : source, texts.writes);
  const auto& vocabulary = texts.words.vocabulary;
  bench.trace.label("vocabulary", {{vocabulary}});
  bench.draw_vectors(source);
  bench.draw_vectors(texts.reads);

  Functions functions;
  functions.remarks["about_alignment"] = about_learned_alignment;
  add_texts(functions, texts);
  add_orders_of_gates(functions);
  functions.tensors["target_vectors"] = [&](DocumentRun& run) {
    return vectors_of(run.bench(), texts.reads);
  };
  functions.tensors["word_vectors"] = [&](DocumentRun& run) {
    return word_vectors(run, texts.words.vocabulary);
  };
  functions.actions = {{"words",
                        [&](DocumentRun& run) {
                          if (run.bench().has_given("words")) show_words(run.bench(), texts.words.to_write);
                          if (has_target) label_target(run, texts.writes);
                        }},
                       {"source_mask", [&](DocumentRun& run) { set_source_mask(run, texts.writes); }},
                       {"gold",
                        [&](DocumentRun& run) {
                          auto words = texts.writes.tokens.front();
                          if (words.back() == attn::end_token) words.pop_back();
                          show_gold(run.bench(), run.copy_of<double, 3>("decoder/weights"), words,
                                    !has_target);
                        }},
                       {"read", [&](DocumentRun& run) { label_target(run, texts.writes); }},
                       {"by-length", [](DocumentRun& run) { show_by_length(run.bench()); }}};
  add_reading(functions, texts);
  DocumentRun run(bench, functions);
  run.axis("vocabulary", vocabulary.size());
  run.set("greedy", !has_target);
  run.set("heads_here", static_cast<double>(bench.heads()));
  run.set("ragged", 0.0);
  run.set("t", 0.0);
  if (has_target) {
    set_steps(run, texts);
    label_target(run, texts.reads);
  }
  run.tell();
}

}  // namespace

const LessonCode seq2seq_code = {
    .give = give_translation, .run = run_seq2seq, .inputs = seq2seq_input_list, .takes_source_alone = true};

}  // namespace lessons
