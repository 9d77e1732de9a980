#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "attn/error.hpp"
#include "corpora/grammar_pairs.hpp"
#include "lessons/seq2seq.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/data_folder.hpp"
#include "trace/model.hpp"

namespace lessons {

namespace {

constexpr const char* by_length_id = "exact_by_length";

/// A shipped model, or the figures of one.
struct Measured {
  std::string name, file;
  std::vector<attn::ScoreOfLengths> scores;
};

enum : std::size_t { with_attention, without_attention, with_absolute_positions };

std::vector<Measured> read_measured() {
  std::vector<Measured> all = {{"attention", "translation", {}},
                               {"no attention", "translation-without-attention", {}},
                               {"transformer", "translation-transformer", {}},
                               {"rotary", "translation-rotary", {}}};
  for (auto& [name, file, scores] : all) {
    const auto path = fmt::format("{}/{}.safetensors", attn::data_folder("models"), file);
    scores = attn::read_scores_by_length(path);
    const auto& first = all.front().scores;
    const bool fits =
        scores.size() == first.size() && !scores.empty() &&
        std::equal(scores.begin(), scores.end(), first.begin(),
                   [](const auto& a, const auto& b) { return a.fewest == b.fewest && a.most == b.most; });
    if (!fits)
      throw attn::Error(fmt::format(
          "{} has scores of other lengths than the first model; valid: what attnlab train translation wrote",
          path));
  }
  return all;
}

/// The two LSTMs and a transformer, a row each, in percent.
std::string table_of(const std::vector<Measured>& models) {
  std::vector<std::vector<std::string>> rows = {{"words, at most"}};
  for (const auto& score : models.front().scores) rows.front().push_back(fmt::format("{:>2}", score.most));
  for (const auto one : {with_attention, without_attention, with_absolute_positions}) {
    const auto& model = models[one];
    rows.push_back({model.name});
    for (const auto& score : model.scores) rows.back().push_back(fmt::format("{:.0f}", 100.0 * score.value));
  }
  return in_columns(rows);
}

/// The score of the longest sentences that training had.
const attn::ScoreOfLengths& longest_trained(const std::vector<attn::ScoreOfLengths>& scores) {
  std::size_t last = 0;
  while (last + 1 < scores.size() && scores[last + 1].most <= corpora::longest_in_training) ++last;
  return scores[last];
}

std::string percent(const attn::ScoreOfLengths& score) {
  return fmt::format("{:.0f} %", 100.0 * score.value);
}

}  // namespace

void show_by_length(Workbench& bench) {
  static const auto models = read_measured();
  const auto lengths = models.front().scores.size();
  Tensor<2> shares = xt::zeros<double>({models.size(), lengths});
  std::vector<std::string> names, most;
  for (std::size_t m = 0; m < models.size(); ++m) {
    names.push_back(models[m].name);
    for (std::size_t i = 0; i < lengths; ++i) shares(m, i) = models[m].scores[i].value;
  }
  for (const auto& score : models.front().scores) most.push_back(std::to_string(score.most));
  bench.trace.label("model", {{names}});
  bench.trace.label("length", {{most}});
  bench.trace.input(
      {.id = by_length_id,
       .title = "Share of exact translations as sentences grow",
       .axes = {"model", "length"},
       .note = "Each length stands for itself and one word less. The first two models are the LSTMs of this "
               "lesson with attention and without, the others a transformer with sinusoidal and with rotary "
               "positions. Bahdanau et al. 2014 show such curves in figure 2.",
       .curve = true},
      shares);
  const auto &with = models[with_attention].scores, &without = models[without_attention].scores;
  bench.trace.note(
      "by-length", "What the bottleneck costs as sentences grow",
      fmt::format(
          "Of new sentences, how many percent are translated without a mistake? Column {0} has sentences of "
          "{6} "
          "and {0} words. At {0}, the longest in training, it is {1} with attention and {2} "
          "without. At {3} it is {4} with attention, and {5} with a transformer: in training it met no "
          "position after {0}, and beyond it, it soon fails.",
          corpora::longest_in_training, percent(longest_trained(with)), percent(longest_trained(without)),
          with.back().most, percent(with.back()), percent(models[with_absolute_positions].scores.back()),
          corpora::longest_in_training - 1),
      table_of(models));
}

std::vector<Input> by_length_input_list() {
  return {{by_length_id, {"model=", "length="}, Draw::page}};
}

}  // namespace lessons
