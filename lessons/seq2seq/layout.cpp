#include "lessons/seq2seq/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "lessons/seq2seq/one_step.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

std::vector<std::string> seq2seq_flow(const Workbench& bench) {
  const auto n = bench.plan.source.length(), d = bench.d_model(), width = state_width(bench);
  const std::string first = "decoder step a  ", second = "             b  ", third = "             c  ";
  const auto attend = [&](const std::string& asks) {
    return fmt::format("{} and states → scores → weights [{}] → context [{}]", asks, n, width);
  };
  const auto encoder =
      fmt::format("encoder         X_source [{}×{}] → {} → states [{}×{}]", n, d,
                  bench.options.bidirectional ? "LSTMs forward, backward" : "LSTM", n, width);
  if (attends_before_the_cell(bench.options))
    return {encoder, first + attend(asks_with_word(bench) ? "old h, y" : "old h"),
            second + fmt::format("y, context and old h → LSTM → new h [{}]", width),
            third + "new h and context → logits → probabilities → word"};
  return {encoder, first + fmt::format("y and old h → LSTM → new h [{}]", width), second + attend("new h"),
          third + fmt::format("context and new h → attentional [{}] → probabilities → word", width)};
}

namespace {

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

std::string what_one_word_more_changes(const Workbench& bench) {
  return fmt::format(
      "One more source word adds a column here and a row to the states. It also changes the states {}. The "
      "context keeps its length.",
      bench.options.bidirectional ? "of the other words" : "of the words after it");
}

std::string about_alignment(const Workbench& bench, const attn::Event& weights) {
  constexpr double hardly_anything = 0.01;
  const auto& shape = weights.tensor->shape;
  const std::size_t columns = shape.back(), rows = shape[shape.size() - 2];
  const auto shares = "Row by row, how much the decoder looks at each source word. " +
                      what_one_word_more_changes(bench) + " ";
  const bool are_alike = rows > 1 && difference_of_rows(*weights.tensor, rows, columns) < hardly_anything;
  return shares +
         (are_alike ? "Nothing is trained, so all rows are nearly alike. " : strongest_pair(weights) + " ");
}

/// Whom the words of the target look at.
std::string about_learned_alignment(const Workbench& bench, const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const std::size_t rows = shape[shape.size() - 2];
  std::size_t words = 0;
  while (words < rows && name_along(weights, shape.size() - 2, words) != attn::end_token) ++words;
  const auto crossing = words_that_cross(weights, words);
  return "A row shows where the decoder looks to write its word. " +
         (crossing.empty() ? "Here the words have one order in both languages." : crossing) +
         (words < rows ? " </s> comes from no word, but its row sums to 1.\n" : "\n") +
         what_one_word_more_changes(bench);
}

/// Where the numbers of an entry of the encoder's memory come from.
std::string about_cell(const Workbench& bench, const attn::Event& cell) {
  const auto t = attn::token_to_work_out(bench.plan.source.lengths().front());
  if (t == 0) return "i times g. Nothing was in the memory before. --all shows the gates.";
  return fmt::format("f times c after “{}”, plus i times g. --all shows the gates.",
                     name_along(cell, cell.axes.size() - 2, t - 1));
}

/// The state of the encoder, and whose state attention looks at.
std::string about_state(const Workbench& bench) {
  if (!bench.options.bidirectional) return "Attention looks at these rows.";
  return "A row of encoder/states is this and encoder/reverse/h, side by side.";
}

std::vector<attn::OnPage> beginning_of_page() {
  return {{"idea"}, {"flow"}, attn::in_one_line("lengths"), {"lstm"}};
}

/// What the decoder reads and writes.
void add_reading(std::vector<attn::OnPage>& page) {
  page.insert(page.end(), {{"teacher-forcing"}, {"greedy-decoding"}});
}

/// What a trained model's tables of many columns leave of the page.
void choose_trained_page(Workbench& bench) {
  auto page = beginning_of_page();
  page.push_back(attn::without_table("encoder/c",
                                     [&bench](const attn::Event& cell) { return about_cell(bench, cell); }));
  page.push_back(attn::without_table("encoder/h", [&bench](const auto&) { return about_state(bench); }));
  add_reading(page);
  const auto step = one_step_on_page(bench);
  page.insert(page.end(), step.begin(), step.end());
  page.push_back({"decoder/weights",
                  [&bench](const attn::Event& weights) { return about_learned_alignment(bench, weights); }});
  page.push_back({"gold"});
  page.push_back({"by-length"});
  bench.trace.page(page,
                   {"rows-sum-to-1", "state-that-asks", "padding-changes-nothing", "greedy-is-likeliest"});
}

}  // namespace

void choose_seq2seq_page(Workbench& bench) {
  const auto real = bench.plan.source.lengths().front(), hidden = *bench.options.hidden;
  if (bench.options.model) return choose_trained_page(bench);
  auto page = beginning_of_page();
  if (bench.options.bidirectional) {
    page.push_back(attn::in_one_line("encoder/h"));
    page.push_back(attn::in_one_line("encoder/reverse/h"));
    page.push_back({"encoder/states"});
  } else {
    page.push_back({"encoder/h", [&bench](const auto&) { return about_state(bench); }});
  }
  add_reading(page);
  const auto step = one_step_on_page(bench);
  page.insert(page.end(), step.begin(), step.end());
  page.push_back(
      {"decoder/weights", [&bench](const attn::Event& weights) { return about_alignment(bench, weights); }});
  page.push_back(
      {"bottleneck/kept", [=](const attn::Event& kept) { return least_kept(kept, real, hidden); }});
  page.push_back({"variants"});
  bench.trace.page(page,
                   {"rows-sum-to-1", "state-that-asks", "padding-changes-nothing", "greedy-is-likeliest"});
}

}  // namespace lessons
