#include "lessons/seq2seq/notices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "corpora/sentence_pair.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// Where the least is left of a word of the first sentence, `real` words long, of which the forward encoder
/// has `hidden` numbers.
std::string about_least(const attn::Event& kept, std::size_t real, std::size_t hidden) {
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
      "What a word writes into the memory is multiplied by f of every word read after it. Of what \"{}\" "
      "wrote "
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

std::string what_one_word_more_changes(const Workbench& bench) {
  return fmt::format(
      "One more source word adds a column here and a row to the states. It also changes the states {}. The "
      "context keeps its length.",
      bench.options.bidirectional ? "of the other words" : "of the words after it");
}

std::string about_drawn_alignment(const Workbench& bench, const attn::Event& weights) {
  constexpr double hardly_anything = 0.01;
  const auto& shape = weights.tensor->shape;
  const std::size_t columns = shape.back(), rows = shape[shape.size() - 2];
  const auto shares = "A row shows how much the decoder looks at each source word. " +
                      what_one_word_more_changes(bench) + " ";
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
  return "A row shows where the decoder looks before it writes its word. " +
         (crossing.empty() ? "Here the words have one order in both languages." : crossing) +
         (words < rows ? " </s> has no source word; softmax still makes its row sum to 1." : "");
}

/// What the decoder makes of the probabilities of one sentence.
std::string about_one(const attn::Event& probabilities, bool has_target) {
  const auto& shares = *probabilities.tensor;
  if (shares.shape.size() != 1) return "";
  std::size_t likeliest = 0;
  for (std::size_t i = 1; i < shares.shape[0]; ++i)
    if (shares.at(i) > shares.at(likeliest)) likeliest = i;
  const auto word = name_along(probabilities, 0, likeliest);
  return has_target ? fmt::format(
                          "The likeliest is \"{}\", whatever word is right: nothing is trained. Training "
                          "raises the share of the right word.",
                          word)
                    : fmt::format("The likeliest, \"{}\", is the word that it writes.", word);
}

/// The likeliest words of the one row, as far as four decimals tell them from 0.
std::string about_few(const attn::Event& probabilities) {
  constexpr std::size_t most = 3;
  constexpr double least = 1e-4;
  const auto& shares = *probabilities.tensor;
  if (shares.shape.size() != 1) return "";
  std::vector<std::size_t> words(shares.shape[0]);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i;
  const auto count = std::min(most, words.size());
  std::partial_sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count), words.end(),
                    [&](std::size_t a, std::size_t b) {
                      return shares.at(a) != shares.at(b) ? shares.at(a) > shares.at(b) : a < b;
                    });
  std::string text;
  std::size_t told = 0;
  for (; told < count && (told == 0 || shares.at(words[told]) >= least); ++told)
    text += fmt::format("{}\"{}\" {:.4f}", told == 0 ? "" : ", ", name_along(probabilities, 0, words[told]),
                        shares.at(words[told]));
  const auto others = told < count ? fmt::format(" Every other has less than {}.", least) : "";
  return fmt::format("The likeliest of {} words: {}.{}", words.size(), text, others);
}

}  // namespace

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

void add_notices(Functions& functions, const Workbench& bench) {
  const bool is_trained = bench.options.model.has_value(), has_target = bench.plan.target.size() > 0;
  functions.remarks = {
      {"about_alignment",
       [&bench, is_trained](const attn::Event& weights) {
         return is_trained ? about_learned_alignment(weights) : about_drawn_alignment(bench, weights);
       }},
      {"least_kept",
       [&bench](const attn::Event& kept) {
         return about_least(kept, bench.plan.source.lengths().front(), *bench.options.hidden);
       }},
      {"about_the_likeliest", [is_trained, has_target](const attn::Event& probabilities) {
         return is_trained ? about_few(probabilities) : about_one(probabilities, has_target);
       }}};
}

}  // namespace lessons
