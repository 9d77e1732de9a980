#include "lessons/seq2seq/trained.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "corpora/grammar.hpp"
#include "lessons/lesson.hpp"
#include "trace/data_folder.hpp"

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

/// What the grammar makes of the source, where it is one of its sentences.
std::optional<corpora::SentencePair> gold_pair(const std::vector<std::string>& source) {
  return corpora::Grammar::load(attn::data_folder("corpora") + "/english-french.grammar").translate(source);
}

/// The source word that row t of the alignment gives most to.
std::size_t most_attended(const Tensor<4>& weights, std::size_t t) {
  std::size_t most = 0;
  for (std::size_t j = 1; j < weights.shape(3); ++j)
    if (weights(0, 0, t, j) > weights(0, 0, t, most)) most = j;
  return most;
}

/// How a word of the target looks beside its gold links.
struct Looks {
  std::size_t at;
  std::set<std::size_t> gold;

  bool is_right() const { return gold.count(at) > 0; }
};

std::vector<Looks> looks_of(const Tensor<4>& weights, const corpora::SentencePair& pair) {
  std::vector<Looks> all;
  for (std::size_t t = 0; t < pair.target.size(); ++t) all.push_back({most_attended(weights, t), {}});
  for (const auto& link : pair.links) all[link.target].gold.insert(link.source);
  return all;
}

/// A row for each word of the target: ( ) around each gold link, * where the decoder looks most.
std::vector<std::string> drawn_links(const corpora::SentencePair& pair, const std::vector<Looks>& looks) {
  constexpr std::size_t most_columns = 66;
  std::size_t first = 0, all = 0;
  for (const auto& word : pair.target) first = std::max(first, attn::display_width(word) + 2);
  std::vector<std::size_t> widths;
  for (const auto& word : pair.source) {
    widths.push_back(std::max<std::size_t>(3, attn::display_width(word.text)) + 1);
    all += widths.back();
  }
  const bool names_columns = first + all <= most_columns;
  if (!names_columns) std::fill(widths.begin(), widths.end(), 3);
  std::vector<std::string> lines;
  auto header = std::string(first, ' ');
  for (std::size_t j = 0; j < widths.size(); ++j)
    header += attn::pad_right(attn::pad_left(pair.source[j].text, 3), widths[j]);
  if (names_columns) lines.push_back(header.substr(0, header.find_last_not_of(' ') + 1));
  for (std::size_t t = 0; t < looks.size(); ++t) {
    auto line = attn::pad_right(pair.target[t], first);
    for (std::size_t j = 0; j < widths.size(); ++j) {
      const char mark = looks[t].at == j ? '*' : looks[t].gold.count(j) > 0 ? ' ' : '.';
      const auto cell = looks[t].gold.count(j) > 0 ? fmt::format("({})", mark) : fmt::format(" {} ", mark);
      line += attn::pad_right(cell, widths[j]);
    }
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

/// Where attention is not alignment: at a word that looks elsewhere, and else at </s>, which has no link.
std::string where_they_part(const Tensor<4>& weights, const corpora::SentencePair& pair,
                            const std::vector<Looks>& looks) {
  for (std::size_t t = 0; t < looks.size(); ++t)
    if (!looks[t].gold.empty() && !looks[t].is_right())
      return fmt::format(
          " “{}” looks most at “{}”: attention is not alignment. It is where the decoder reads "
          "what it lacks, and the state of a word knows of its neighbours, too.",
          pair.target[t], pair.source[looks[t].at].text);
  if (weights.shape(2) <= looks.size()) return "";
  return fmt::format(
      " Attention is still not alignment: </s> comes from no word, but its row sums to 1 as "
      "well, and most of it goes to “{}”.",
      pair.source[most_attended(weights, looks.size())].text);
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
  const auto looks = looks_of(weights, *pair);
  std::size_t linked = 0, right = 0;
  for (const auto& word : looks) {
    linked += word.gold.empty() ? 0 : 1;
    right += word.is_right() ? 1 : 0;
  }
  bench.trace.note(
      "gold", "Beside it: the gold alignment",
      fmt::format("The grammar that made the training sentences knows which word comes from which: ( ). It "
                  "was never shown to the model. * is where the decoder looks most. {} of {} words look at "
                  "their gold word.{}",
                  right, linked, where_they_part(weights, *pair, looks)),
      fmt::format("{}", fmt::join(drawn_links(*pair, looks), "\n")));
}

}  // namespace lessons
