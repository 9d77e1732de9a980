/// Self-attention: queries, keys and values all come from one sentence. The lesson is the document
/// self-attention.md.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attn/text/tokens.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

/// Equal words have equal rows: without positions attention cannot tell them apart.
std::string equal_words(const attn::Event& weights) {
  const auto& labels = weights.labels[weights.axes.size() - 2];
  const auto tokens = labels.empty() ? std::vector<std::string>() : labels.of(0);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    for (std::size_t j = i + 1; j < tokens.size(); ++j)
      if (tokens[i] == tokens[j])
        return fmt::format(
            "The words \"{0}\" have the same vector in X. So their rows of Q, K, V, scores, weights and "
            "output are the same, and their columns of scores and weights: attention by itself does not know "
            "where a word stands (lesson positional).",
            tokens[i]);
  return strongest_pair(weights);
}

/// The row "it" of the shipped model about in two sentences that differ in their last word.
std::string one_word_decides(const DocumentRun&) {
  std::string table;
  for (const std::string last : {"tired", "wide"}) {
    const auto words = attn::tokenize("the animal left the street: it was " + last);
    const auto weights = layers_of_about(*attn::shipped_model("about"), words).second_weights;
    const auto* const row = &weights(0, 0, attn::place_of("it", words), 0);
    table += fmt::format("{}        {:>6}\n\"it\"    {:6.2f}", table.empty() ? "" : "\n",
                         fmt::join(words, "  "), fmt::join(row, row + words.size(), "  "));
  }
  return table;
}

void run_self_attention(Workbench& bench) {
  Functions functions;
  add_fused_kernel(functions);
  functions.remarks["who_is_about_whom"] = who_is_about_whom;
  functions.remarks["strongest_pair"] = strongest_pair;
  functions.remarks["equal_words"] = equal_words;
  functions.texts["one_word_decides"] = one_word_decides;
  DocumentRun(bench, functions).tell();
}

}  // namespace

const LessonCode self_attention_code = {
    .give = give_about, .sharpen = sharpen_token, .run = run_self_attention};

}  // namespace lessons
