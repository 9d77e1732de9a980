#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attn/error.hpp"
#include "attn/ops/slice.hpp"
#include "corpora/alignment_errors.hpp"
#include "lessons/seq2seq.hpp"
#include "lessons/trained/gold_alignment.hpp"
#include "lessons/trained/translation.hpp"

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
  for (const auto& input : inputs.lesson().inputs(options)) {
    const auto* stored = model.find(input.id);
    if (stored == nullptr) continue;
    if (stored->shape.size() == 1)
      inputs.give<1>(input.id, inputs.vector(input.id));
    else
      inputs.give<2>(input.id, inputs.matrix(input.id));
  }
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

/// What another model's query looks at in the same sentences: the step `other_query/weights` and the note
/// `gold`.
void show_other_query(Workbench& bench, const corpora::SentencePair& pair, const corpora::Alignment& looks) {
  const auto other = ask_otherwise(bench, corpora::target_text(pair));
  const auto asks = query_in_words(other.attention);
  const bool is_papers = other.attention == "bahdanau";
  const auto weights =
      bench.trace.step({.id = "other_query/weights",
                        .title = "Where another model's query looks",
                        .axes = {"target", "source"},
                        .note = fmt::format("Of the model {} ({}).", other.model, other.attention),
                        .distribution = true},
                       other.weights);
  const auto other_looks = strongest_looks(weights, pair);
  bench.trace.note(
      "gold", "Which word does each query look at most?",
      fmt::format(
          "The sentences come from a grammar that knows which word comes from which; ≠ marks another word. "
          "\"{}\" is {} (model {}).{}{}",
          asks, is_papers ? "the paper's query, without y" : "a query with y, the word that it reads",
          other.model,
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

}  // namespace lessons
