/// What a model that was trained to translate gives the lesson seq2seq, and what is shown of it beside its
/// steps: whether it looks where the lab's grammar has links, and how well translators do as sentences grow.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/slice.hpp"
#include "corpora/sentence_pair.hpp"
#include "lessons/lesson.hpp"
#include "lessons/seq2seq.hpp"
#include "lessons/trained/translation.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"
#include "trace/file.hpp"
#include "trace/model.hpp"

namespace lessons {

attn::TokenBatch after_start(attn::TokenBatch batch) {
  for (auto& sentence : batch.tokens) sentence.insert(sentence.begin(), std::string(attn::start_token));
  return batch;
}

bool reads_its_own_words(const Options& options) {
  return !options.vocabulary.empty() && !options.source.empty() && options.target.empty();
}

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

namespace {

/// Where attention is not alignment: at a word that looks elsewhere, and else at </s>, which has no link.
std::string where_they_part(const corpora::SentencePair& pair, const corpora::Alignment& looks) {
  const auto gold = gold_links(pair);
  for (std::size_t t = 0; t < pair.target.size(); ++t)
    if (!gold[t].empty() && gold[t].count(looks[t]) == 0)
      return fmt::format(
          " \"{}\" looks most at \"{}\": attention is not alignment. It is where the decoder reads what it "
          "lacks, and the state of a word knows of its neighbours, too.",
          pair.target[t], pair.source[looks[t]].text);
  if (looks.size() == pair.target.size()) return "";
  return fmt::format(
      " Attention is still not alignment: </s> has no source word, but softmax makes its row sum to 1 as "
      "well. "
      "Most of it goes to \"{}\".",
      pair.source[looks.back()].text);
}

/// Of the words of the target, and of </s> where the table [target×source] has it.
corpora::Alignment strongest_looks(const Tensor<2>& weights, const corpora::SentencePair& pair) {
  return strongest_of_rows(weights, std::min(pair.target.size() + 1, weights.shape(0)));
}

/// Where the paper's query goes astray and the one with the word does not: the first such word.
std::string what_the_state_has_not_read(const corpora::SentencePair& pair, const corpora::Alignment& of_state,
                                        const corpora::Alignment& with_word) {
  const auto gold = gold_links(pair);
  for (std::size_t t = 1; t < pair.target.size(); ++t)
    if (gold[t].count(of_state[t]) == 0 && gold[t].count(with_word[t]) > 0)
      return fmt::format(" To write \"{}\" old h looks at \"{}\": it has not read \"{}\".", pair.target[t],
                         pair.source[of_state[t]].text, pair.target[t - 1]);
  return "";
}

/// A look at a word that is not translated: "did" or "does" where "ne" is written.
std::string look_at_an_untranslated_word(const corpora::SentencePair& pair, const corpora::Alignment& looks) {
  const auto gold = gold_links(pair);
  for (std::size_t t = 0; t < pair.target.size(); ++t)
    if (const auto& source = pair.source[looks[t]];
        gold[t].count(looks[t]) == 0 && source.gloss == corpora::no_gloss)
      return fmt::format(
          " For \"{}\" the decoder looks at \"{}\", which has no French word of its own: attention is not "
          "alignment.",
          pair.target[t], source.text);
  return "";
}

/// The step `decoder/weights` of a run of the lesson, of one sentence.
Tensor<2> weights_of_run(const Plan& plan) {
  struct Found {
    Tensor<2> weights;
  };
  try {
    run_watched(*plan.lesson, plan, [](const attn::Tapped& tapped) {
      const auto& [shape, row] = std::tie(tapped.shape, tapped.row);
      if (tapped.id != "decoder/weights" || (row && row->index + 1 < shape.at(row->axis))) return;
      Tensor<2> weights({shape.at(1), shape.at(2)});
      std::copy_n(static_cast<const double*>(tapped.elements), weights.size(), weights.begin());
      throw Found{std::move(weights)};
    });
  } catch (const Found& found) {  // what comes later would ask another model in its turn
    return found.weights;
  }
  return {};
}

/// What a decoder asks with: "old h", Bahdanau's, which is the state before the step; "old h, y" with the
/// word that it reads; or "new h".
std::string query_in_words(const std::string& attention) {
  if (attention == "bahdanau") return "old h";
  return attention == "bahdanau-input" ? "old h, y" : "new h";
}

/// What another model's query looks at in the same sentences: the step `other_query/weights` and the note
/// `gold`.
void show_other_query(Workbench& bench, const corpora::SentencePair& pair, const corpora::Alignment& looks) {
  Options options;
  options.source = bench.options.source;
  options.target = {corpora::target_text(pair)};
  options.model = bench.options.attention == "bahdanau" ? "translation" : "translation-bahdanau";
  const auto other = make_plan(*bench.plan.lesson, options);
  const auto& attention = other.options.attention;
  const auto asks = query_in_words(attention);
  const bool is_papers = attention == "bahdanau";
  const auto weights =
      bench.trace.step({.id = "other_query/weights",
                        .title = "Where another model's query looks",
                        .axes = {"target", "source"},
                        .note = fmt::format("Of the model {} ({}).", *other.options.model, attention),
                        .distribution = true},
                       weights_of_run(other));
  const auto other_looks = strongest_looks(weights, pair);
  bench.trace.note(
      "gold", "Which word does each query look at most?",
      fmt::format(
          "The sentences come from a grammar that knows which word comes from which; ≠ marks another word. "
          "\"{}\" is {} (model {}).{}{}",
          asks, is_papers ? "the paper's query, without y" : "a query with y, the word that it reads",
          *other.options.model,
          is_papers ? what_the_state_has_not_read(pair, other_looks, looks)
                    : what_the_state_has_not_read(pair, looks, other_looks),
          look_at_an_untranslated_word(pair, looks)),
      looks_beside_gold(pair, {{query_in_words(bench.options.attention), looks}, {asks, other_looks}}));
}

}  // namespace

void show_gold(Workbench& bench, const Tensor<3>& weights, const std::vector<std::string>& writes,
               bool is_greedy) {
  if (!bench.options.model || bench.plan.source.size() != 1) return;
  const auto pair = gold_pair(bench.plan.source.tokens.front(), bench.options);
  if (!pair) return;
  if (!are_the_same(pair->target, writes)) {
    if (is_greedy)
      bench.trace.note("gold", "The translation of the lab's grammar",
                       fmt::format("\"{}\". The model wrote something else.", corpora::target_text(*pair)));
    return;
  }
  const auto looks = strongest_looks(attn::sample(weights, 0), *pair);
  show_other_query(bench, *pair, looks);
  bench.trace.note("links", "The same as a drawing",
                   fmt::format("( ) is a sure link, ? ? a possible one. * is where the decoder looks most.{}",
                               where_they_part(*pair, looks)),
                   fmt::format("{}", fmt::join(corpora::drawn_links(*pair, looks), "\n")));
}

formula::View exact_by_length(Workbench& bench) {
  const std::pair<std::string, std::string> measured[] = {{"attention", "translation"},
                                                          {"no attention", "translation-without-attention"},
                                                          {"transformer", "translation-transformer"},
                                                          {"rotary", "translation-rotary"}};
  std::vector<std::string> names, longest;
  std::vector<double> shares;
  for (const auto& [name, file] : measured) {
    const auto path = fmt::format("{}/{}.safetensors", attn::data_folder("models"), file);
    std::vector<std::string> lengths;
    for (const auto& score : attn::read_scores_by_length(path)) {
      lengths.push_back(std::to_string(score.most));
      shares.push_back(score.value);
    }
    if (names.empty()) longest = lengths;
    if (lengths.empty() || lengths != longest)
      throw attn::Error(fmt::format(
          "{} has scores of other lengths than the first model; valid: what attnlab train translation wrote",
          path));
    names.push_back(name);
  }
  bench.trace.label("model", {{names}});
  bench.trace.label("length", {{longest}});
  formula::Numbers table(attn::Shape{names.size(), longest.size()});
  std::copy(shares.begin(), shares.end(), table.begin());
  return owned_view(std::move(table));
}

std::string about_learned_alignment(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const std::size_t rows = shape[shape.size() - 2];
  std::size_t words = 0;
  while (words < rows && name_along(weights, shape.size() - 2, words) != attn::end_token) ++words;
  const auto crossing = words_that_cross(weights, words);
  return "A row shows where the decoder looks before it writes its word. " +
         (crossing.empty() ? "Here the words have one order in both languages." : crossing) +
         (words < rows ? " </s> has no source word; softmax still makes its row sum to 1." : "");
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

}  // namespace lessons
