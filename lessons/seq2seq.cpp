/// Sequence to sequence: an LSTM reads a sentence, another one writes a sentence and attends to the states of
/// the first. The lesson is the document seq2seq.md, which has its sources; here are its words and what it
/// writes by itself.

#include "lessons/seq2seq.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "corpora/grammar.hpp"
#include "corpora/sentence_pair.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/trained/translation.hpp"
#include "trace/file.hpp"
#include "trace/model.hpp"

namespace lessons {

namespace {

using attn::TokenBatch;

/// The words that a model trained for translation writes, and what it reads for them.
constexpr const char* target_embedding = "target/embedding";

/// Whether the decoder attends before its cell makes the step, and the cell reads the context: Bahdanau's.
bool attends_before_the_cell(const Options& options) {
  return options.attention == "bahdanau" || options.attention == "bahdanau-input";
}

/// The same sentences with <s> in front, as the decoder reads them.
TokenBatch after_start(TokenBatch batch) {
  for (auto& sentence : batch.tokens) sentence.insert(sentence.begin(), std::string(attn::start_token));
  return batch;
}

/// Whether the lesson writes by itself with a model, and so needs the vectors of all words: the input
/// `target/embedding`.
bool reads_its_own_words(const Options& options) {
  return !options.vocabulary.empty() && !options.source.empty() && options.target.empty();
}

/// Gives the weights of a model that `attnlab train translation` wrote, and lets the options that follow from
/// them be as they were trained: how the decoder attends, both directions, the words that it may write.
/// Throws attn::Error for a model without attention.
void give_translation(ModelInputs& inputs) {
  const auto& model = inputs.model();
  auto& options = inputs.options();
  options.attention = model.said("attention");
  if (!attends_before_the_cell(options) && options.attention != "luong-general")
    throw attn::Error(
        fmt::format("the model of the task {} attends as \"{}\"; valid: a model with attention bahdanau, "
                    "bahdanau-input or luong-general, or --model none",
                    model.task, options.attention));
  options.bidirectional = model.said("bidirectional") == "true";
  options.vocabulary = inputs.vocabulary("output_words");
  inputs.give_rows("X_source", inputs.rows("source/embedding", "source_words", inputs.source()));
  if (inputs.target().size() > 0)
    inputs.give_rows("X_target", inputs.rows(target_embedding, "target_words", after_start(inputs.target())));
  for (const auto& input : inputs.lesson().inputs(options))
    if (model.find(input.id) != nullptr) inputs.give_named("", "", {input.id});
}

/// The words that the decoder wrote for the first sentence, without </s>.
std::vector<std::string> words_written(const Texts& texts) {
  auto words = texts.writes.tokens.front();
  if (!words.empty() && words.back() == attn::end_token) words.pop_back();
  return words;
}

/// Where another model's query looks in the same sentences: the first `rows` rows of its step
/// `decoder/weights`.
formula::View weights_of_other_query(const Plan& run, const std::vector<std::string>& target,
                                     std::size_t rows) {
  struct Found {
    formula::View weights;
  };
  Options options;
  options.source = run.options.source;
  options.target = {corpora::in_writing(target)};
  options.model = run.options.attention == "bahdanau" ? "translation" : "translation-bahdanau";
  static std::map<std::tuple<std::vector<std::string>, std::string, std::string, std::size_t>, formula::View>
      asked;  // `check` runs the lesson many times
  auto& known = asked[{options.source, options.target.front(), *options.model, rows}];
  if (known.data != nullptr) return known;
  try {
    run_watched(*run.lesson, make_plan(*run.lesson, options), [&](const attn::Tapped& tapped) {
      const auto& [shape, row] = std::tie(tapped.shape, tapped.row);
      if (tapped.id != "decoder/weights" || (row && row->index + 1 < shape.at(row->axis))) return;
      formula::Numbers weights(attn::Shape{rows, shape.at(2)}, 0.0);
      std::copy_n(static_cast<const double*>(tapped.elements), std::min(rows, shape.at(1)) * shape.at(2),
                  weights.begin());
      throw Found{owned_view(std::move(weights))};
    });
  } catch (const Found& found) {  // what comes later would ask another model in its turn
    known = found.weights;
  }
  return known;
}

/// The links that the lab's grammar has between both sentences as a drawing, and where the decoder looks.
std::string drawn_links(const DocumentRun& run, const corpora::SentencePair& pair) {
  const auto weights = run.copy_of<double, 3>("decoder/weights");
  corpora::Alignment looks;
  for (std::size_t t = 0; t < weights.shape(1); ++t)
    looks.push_back(attn::argmax(&weights(0, t, 0), weights.shape(2)));
  return fmt::format("{}", fmt::join(corpora::drawn_links(pair, looks), "\n"));
}

/// What the document says of the translation of the lab's grammar, where it knows the one sentence, and where
/// a target is that translation. The links are none where the decoder wrote something else.
void add_gold(DocumentRun& run, Functions& functions, const std::shared_ptr<Texts>& texts) {
  const auto& plan = run.bench().plan;
  if (!plan.options.model || plan.source.size() != 1) return;
  const auto gold = gold_pair(plan.source.tokens.front(), plan.options);
  const auto is_written = [=] { return are_the_same(gold->target, words_written(*texts)); };
  if (!gold || (plan.target.size() > 0 && !is_written())) return;
  run.set("has_gold", true);
  functions.tensors["weights_of_other_query"] = [=](const DocumentRun& now) {
    const auto words = words_written(*texts);
    return weights_of_other_query(now.bench().plan, words.empty() ? gold->target : words,
                                  texts->writes.length());
  };
  functions.tensors["links_of_grammar"] = [=](const DocumentRun&) {
    auto pair = *gold;
    if (!is_written()) pair.links.clear();
    return links_of_grammar(pair, texts->writes.length());
  };
  functions.tensors["words_without_french"] = [=](const DocumentRun&) {
    std::vector<double> has_none;
    for (const auto& word : gold->source) has_none.push_back(word.gloss == corpora::no_gloss);
    return owned_view(has_none);
  };
  functions.texts["gold_translation"] = [=](const DocumentRun&) { return corpora::target_text(*gold); };
  functions.texts["drawn_links"] = [=](const DocumentRun& now) { return drawn_links(now, *gold); };
}

/// What became of translators as sentences grow (Bahdanau et al. 2014, figure 2, on the lab's own sentences):
/// the share of exact translations [model×length] that the training of the shipped models measured. Throws
/// attn::Error where a model has none, or of other lengths.
formula::View exact_by_length(const DocumentRun& run) {
  std::vector<std::string> longest;
  std::vector<std::vector<double>> shares;
  for (const auto* kind : {"", "-without-attention", "-transformer", "-rotary"}) {
    const auto path = fmt::format("{}/translation{}.safetensors", attn::data_folder("models"), kind);
    std::vector<std::string> lengths;
    auto& of_model = shares.emplace_back();
    for (const auto& score : attn::read_scores_by_length(path)) {
      lengths.push_back(std::to_string(score.most));
      of_model.push_back(score.value);
    }
    if (longest.empty()) longest = lengths;
    if (lengths.empty() || lengths != longest)
      throw attn::Error(fmt::format(
          "{} has scores of other lengths than the first model; valid: what attnlab train translation wrote",
          path));
  }
  const std::vector<std::string> names = {"attention", "no attention", "transformer", "rotary"};
  run.bench().trace.label("model", {{names}});
  run.bench().trace.label("length", {{longest}});
  return owned_view(numbers_in_rows(shares));
}

/// "the the cat …" for each sentence, with a capital where its source has one.
std::string quoted(const attn::TokenBatch& batch, const attn::TokenBatch& sources) {
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
    sentences.push_back(fmt::format("\"{}{}\"", text, is_long ? " …" : ""));
  }
  return fmt::format("{}", fmt::join(sentences, " and "));
}

/// The input `words`, each below `count`.
Tensor<2> given_words(const Workbench& bench, const TokenBatch& writes, std::size_t count) {
  const auto given = bench.trace.given_or({.id = "words", .axes = {"target"}},
                                          Integers<2>({writes.size(), writes.length()}, -1));
  for (std::size_t b = 0; b < writes.size(); ++b)
    for (std::size_t t = 0; t < writes.length(); ++t)
      if (t < writes.tokens[b].size())
        bench.checked_index("words", given(b, t), count);
      else if (given(b, t) != -1)
        throw attn::Error(fmt::format("{} has {} where a sentence has ended; valid: -1",
                                      bench.trace.given_name("words"), given(b, t)));
  return xt::cast<double>(given);
}

/// The vocabulary, and the words to write by number.
void choose_vocabulary(Workbench& bench, const TokenBatch& chosen_from, Texts& texts) {
  const auto& learned = bench.options.vocabulary;
  const auto& writes = texts.writes;
  auto& vocabulary = texts.vocabulary = learned.empty() ? chosen_from.distinct() : learned;
  if (learned.empty()) vocabulary.emplace_back(attn::end_token);
  texts.known = vocabulary.size();
  const bool by_number = bench.has_given("words");
  const auto count = bench.vocabulary_size({"output/W", "output/b"}, texts.known, by_number);
  if (by_number) {
    texts.words = given_words(bench, writes, count);
    vocabulary = numbered_up_to(count, learned);
    for (std::size_t b = 0; b < writes.size(); ++b)
      for (std::size_t t = 0; t < writes.tokens[b].size(); ++t)
        vocabulary[static_cast<std::size_t>(texts.words(b, t))] = writes.tokens[b][t];
    return;
  }
  if (count > texts.known) {
    vocabulary.pop_back();
    vocabulary = numbered_up_to(count - 1, std::move(vocabulary));
    vocabulary.emplace_back(attn::end_token);
    bench.draw_vectors({{vocabulary}});
  }
  std::vector<std::vector<std::size_t>> numbers;
  for (const auto& sentence : writes.tokens) {
    auto& row = numbers.emplace_back();
    for (const auto& word : sentence)
      row.push_back(attn::place_of(bench.options.as_read(word, vocabulary), vocabulary));
  }
  texts.words = numbers_in_rows(numbers, -1.0);
}

/// From now on the decoder's rows are named after these words.
void label_target(Workbench& bench, const TokenBatch& words) {
  bench.label({"target", "decoder/target"}, words);
}

}  // namespace

Texts choose_texts(Workbench& bench) {
  const auto &source = bench.plan.source, &target = bench.plan.target;
  const bool has_target = target.size() > 0;
  const TokenBatch nothing_yet = {std::vector<std::vector<std::string>>(source.size())};
  Texts texts{.reads = after_start(has_target ? target : nothing_yet), .writes = target};
  for (auto& sentence : texts.writes.tokens) sentence.emplace_back(attn::end_token);
  choose_vocabulary(bench, has_target ? target : source, texts);
  bench.trace.label("vocabulary", {{texts.vocabulary}});
  bench.draw_vectors(source);
  bench.draw_vectors(texts.reads);
  if (has_target) label_target(bench, texts.reads);
  return texts;
}

void add_texts(Functions& functions, const std::shared_ptr<const Texts>& texts) {
  functions.actions["reads"] = [=](DocumentRun& run) { label_target(run.bench(), texts->reads); };
  functions.actions["writes"] = [=](DocumentRun& run) { label_target(run.bench(), texts->writes); };
  functions.tensors["target_vectors"] = [=](DocumentRun& run) {
    return owned_view(run.bench().known_vectors_of(texts->reads));
  };
  functions.tensors["words_to_write"] = [=](DocumentRun&) {
    auto words = owned_view(texts->words);
    words.is_whole = true;
    return words;
  };
}

namespace {

/// A step in the middle of the shortest sentence.
std::size_t step_to_walk_through(const std::vector<std::size_t>& lengths) {
  const auto last = *std::min_element(lengths.begin(), lengths.end()) - 1;
  return std::min(last, std::max<std::size_t>(1, last / 2));
}

/// From now on rows are as many as the words that are written.
void set_steps(DocumentRun& run, const Texts& texts) {
  run.set("t", static_cast<double>(step_to_walk_through(texts.writes.lengths())));
  run.set("ragged", texts.writes.is_padded());
  run.axis("decoder/target", texts.writes.length());
}

/// The vectors that it reads [vocabulary×d_model]: in the place of </s>, which is never read, that of <s>.
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

/// Those of the words [batch×target] at each step, zeros where there is none.
Tensor<3> vectors_at(const Tensor<2>& vectors, const Tensor<2>& words) {
  Tensor<3> all = xt::zeros<double>({words.shape(0), words.shape(1), vectors.shape(1)});
  for (std::size_t b = 0; b < words.shape(0); ++b)
    for (std::size_t t = 0; t < words.shape(1); ++t)
      if (words(b, t) >= 0.0)
        std::copy_n(&vectors(static_cast<std::size_t>(words(b, t)), 0), vectors.shape(1), &all(b, t, 0));
  return all;
}

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

/// Greedy decoding: at every step the likeliest word (the first of equals) is written, and read at the next,
/// to </s> or until so many words more than the source has are written. The weights are tensors of the run.
void write_greedily(DocumentRun& run, Texts& texts) {
  const auto& bench = run.bench();
  const auto& sources = bench.plan.source;
  const auto& vocabulary = texts.vocabulary;
  const std::size_t end = vocabulary.size() - 1, words_beyond_the_source = bench.options.model ? 5 : 1;
  const auto vectors = vectors_to_read(run, vocabulary);
  texts.writes.tokens.resize(sources.size());
  std::vector<std::vector<std::size_t>> read(sources.size(), {end}), written(sources.size());
  const auto is_finished = [&](std::size_t b) {
    return written[b].size() >= sources.tokens[b].size() + words_beyond_the_source ||
           (!written[b].empty() && written[b].back() == end);
  };
  for (bool is_writing = true; is_writing;) {
    const auto [probabilities, weights] = decode(run, vectors_at(vectors, numbers_in_rows(read, -1.0)));
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
  texts.words = numbers_in_rows(written, -1.0);
  texts.words_read = numbers_in_rows(read, -1.0);
}

/// The words read as an array of NumPy.
std::string words_read_code(const Tensor<2>& read) {
  std::vector<std::string> rows;
  for (std::size_t b = 0; b < read.shape(0); ++b)
    rows.push_back(fmt::format("[{:g}]", fmt::join(&read(b, 0), &read(b, 0) + read.shape(1), ", ")));
  return rows.size() == 1 ? rows.front() : fmt::format("[{}]", fmt::join(rows, ", "));
}

/// What a decoder writes by itself, and reads of that.
void add_writing(Functions& functions, const std::shared_ptr<Texts>& texts) {
  functions.tensors["words_written"] = [=](DocumentRun& run) {
    write_greedily(run, *texts);
    set_steps(run, *texts);
    return owned_view(texts->words);
  };
  functions.tensors["vectors_read"] = [=](DocumentRun& run) {
    return owned_view(vectors_at(vectors_to_read(run, texts->vocabulary), texts->words_read));
  };
  functions.tensors["word_vectors"] = [=](DocumentRun& run) {  // the last is read for <s>
    auto words = texts->vocabulary;
    words.back() = attn::start_token;
    run.bench().trace.label("word", {{words}});
    return owned_view(Tensor<2>({words.size(), run.bench().d_model()}, 0.0));
  };
  functions.texts["words_read"] = [=](const DocumentRun&) { return words_read_code(texts->words_read); };
  functions.texts["vectors"] = [=](const DocumentRun& run) {
    return fmt::format("[{}]", fmt::join(vectors_to_read(run, texts->vocabulary), ", "));
  };
  functions.texts["translations"] = [=](const DocumentRun& run) {
    return quoted(texts->writes, run.bench().plan.source);
  };
}

/// The formula of a gate with the rows of `sums` from `first` on.
formula::Expr with_rows_from(const formula::Expr& x, double first, const std::string& axis) {
  if (x->op == formula::Op::entry && x->name.ends_with("sums"))
    return formula::edited(x, [&](formula::Node& node) {
      node.parts.back() = formula::call("+", {first, formula::position(axis)});
    });
  return formula::with_parts(x, [&](const auto& part) { return with_rows_from(part, first, axis); });
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

void prepare_seq2seq(DocumentRun& run, Functions& functions) {
  auto& bench = run.bench();
  const bool has_target = bench.plan.target.size() > 0;
  const auto texts = std::make_shared<Texts>(choose_texts(bench));
  add_texts(functions, texts);
  add_writing(functions, texts);
  add_orders_of_gates(functions);
  functions.tensors["exact_by_length"] = exact_by_length;
  run.axis("vocabulary", texts->vocabulary.size());
  run.set("greedy", !has_target);
  run.set("heads_here", static_cast<double>(bench.heads()));
  run.set("ragged", 0.0);
  run.set("t", 0.0);
  run.set("known", static_cast<double>(texts->known));
  run.set("knows_start", !bench.plan.vectors || bench.plan.vectors->has(std::string(attn::start_token)));
  run.set("longest", static_cast<double>(corpora::longest_in_training));
  if (has_target) set_steps(run, *texts);
  add_gold(run, functions, texts);
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
            {"v_a", {"d_a"}, Draw::weight},
            {"b_q", {"d_a"}, Draw::given},
            {"b_k", {"d_a"}, Draw::given}};
  std::vector<Input> weights;
  if (attention == "multihead")
    weights = {{"W_Q", {state, "head·d_k="}, Draw::weight},
               {"W_K", {state, "head·d_k="}, Draw::weight},
               {"W_V", {state, "head·d_v="}, Draw::weight},
               {"W_O", {"head·d_v=", state}, Draw::weight},
               {"b_Q", {"head·d_k=direction·hidden"}, Draw::given},
               {"b_K", {"head·d_k=direction·hidden"}, Draw::given},
               {"b_V", {"head·d_v=direction·hidden"}, Draw::given},
               {"b_O", {state}, Draw::given}};
  if (attention == "luong-general")
    weights = {{"W_a", {state, "feature="}, Draw::weight},
               {"b_a", {"feature=direction·hidden"}, Draw::given}};
  if (attention == "luong-concat")
    weights = {{"W_a", {two_states, "d_a"}, Draw::weight},
               {"v_a", {"d_a"}, Draw::weight},
               {"b_a", {"d_a"}, Draw::given}};
  weights.push_back({"W_c", {two_states, state}, Draw::weight});
  weights.push_back({"b_c", {state}, Draw::given});
  return weights;
}

}  // namespace

std::vector<Input> seq2seq_input_list(const Options& options) {
  const bool is_bahdanau = attends_before_the_cell(options);
  std::vector<Input> inputs = {{"X_source", {"source", "d_model"}, Draw::embedding}};
  const auto add = [&](const std::string& group, const std::vector<Input>& of_group) {
    for (auto input : of_group) {
      input.id = group + "/" + input.id;
      inputs.push_back(std::move(input));
    }
  };
  add("encoder", lstm_input_list("gate=4·hidden", "d_model", "hidden"));
  if (options.bidirectional) add("encoder/reverse", lstm_input_list("gate=4·hidden", "d_model", "hidden"));
  add("decoder", lstm_input_list("gate=4·direction·hidden", is_bahdanau ? "feature=" : "d_model",
                                 "hidden=direction·hidden"));
  add("attention", attention_weight_list(options.attention));
  add("output", {{"W", {is_bahdanau ? "feature=" : "hidden=direction·hidden", "vocabulary="}, Draw::weight},
                 {"b", {"vocabulary="}, is_bahdanau ? Draw::zeros : Draw::given}});
  inputs.push_back({.id = "words", .axes = {"target=1+target"}, .draw = Draw::given, .is_multiplied = false});
  if (options.model) inputs.push_back({"exact_by_length", {"model=", "length="}, Draw::page});
  if (reads_its_own_words(options)) inputs.push_back({target_embedding, {"word=", "d_model"}, Draw::page});
  inputs.push_back({"X_target", {"target=1+target", "d_model"}, Draw::embedding});
  inputs.push_back({"mask", {"target=1+target", "source"}, Draw::page});
  return inputs;
}

const LessonCode seq2seq_code = {.give = give_translation,
                                 .prepare = prepare_seq2seq,
                                 .inputs = seq2seq_input_list,
                                 .takes_source_alone = true};

}  // namespace lessons
