#include "lessons/seq2seq/trained.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attn/error.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/gold_alignment.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

/// What the model's configuration says, and nothing where it does not say it.
std::string said_of(const attn::Model& model, const std::string& name) {
  const auto found = model.configuration.find(name);
  return found == model.configuration.end() ? "" : found->second;
}

}  // namespace

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
  options.attention = said_of(model, "attention");
  if (!attends_before_the_cell(options) && options.attention != "luong-general")
    throw attn::Error(
        fmt::format("the model of the task {} attends as \"{}\"; valid: a model with attention bahdanau, "
                    "bahdanau-input or luong-general, or --model none",
                    model.task, options.attention));
  options.bidirectional = said_of(model, "bidirectional") == "true";
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
          " “{}” looks most at “{}”: attention is not alignment. It is where the decoder reads what it "
          "lacks, and the state of a word knows of its neighbours, too.",
          pair.target[t], pair.source[looks[t]].text);
  if (looks.size() == pair.target.size()) return "";
  return fmt::format(
      " Attention is still not alignment: </s> comes from no word, but its row sums to 1 too, most of it to "
      "“{}”.",
      pair.source[looks.back()].text);
}

}  // namespace

void show_gold(Workbench& bench, const Tensor<4>& weights, const std::vector<std::string>& writes,
               bool is_greedy) {
  if (!bench.options.model || bench.plan.source.size() != 1) return;
  const auto pair = gold_pair(bench.plan.source.tokens.front());
  if (!pair) return;
  if (pair->target != writes) {
    if (is_greedy)
      bench.trace.note("gold", "The translation of the lab's grammar",
                       fmt::format("“{}”. The model wrote something else.", corpora::target_text(*pair)));
    return;
  }
  const auto table = attn::sample(attn::head(weights, 0), 0);
  const auto looks = strongest_of_rows(table, std::min(pair->target.size() + 1, table.shape(0)));
  const auto gold = gold_links(*pair);
  std::size_t linked = 0, right = 0;
  for (std::size_t t = 0; t < gold.size(); ++t) {
    linked += gold[t].empty() ? 0 : 1;
    right += gold[t].count(looks[t]);
  }
  bench.trace.note("gold", "Beside it: which word comes from which",
                   fmt::format("( ) is a sure link (gold), ? ? a possible one; the model never saw them. * "
                               "is where the decoder looks "
                               "most: {} of {} words at the word that they come from.{}",
                               right, linked, where_they_part(*pair, looks)),
                   fmt::format("{}", fmt::join(drawn_links(*pair, looks), "\n")));
}

}  // namespace lessons
