#include "fast/train/tasks/grammar_pairs.hpp"

#include <unordered_set>

#include "attn/random/generator.hpp"
#include "corpora/draw_distinct.hpp"

namespace attn::train {

namespace {

constexpr std::size_t shortest = 3, longest = 16, longer_than_trained = 25;

}  // namespace

corpora::Grammar load_grammar(const TaskOptions& options) {
  return corpora::Grammar::load(options.grammar.value_or(options.corpora + "/english-french.grammar"));
}

GrammarPairs draw_pairs(const corpora::Grammar& grammar, std::uint32_t seed, std::size_t training,
                        std::size_t held_out, std::size_t longer) {
  Generator generator(seed, drawing_examples);
  GrammarPairs pairs;
  pairs.held_out = corpora::draw_distinct(grammar, generator, held_out, shortest, longest);
  std::unordered_set<std::string> excluded;
  for (const auto& pair : pairs.held_out) excluded.insert(corpora::source_text(pair));
  pairs.training = corpora::draw_distinct(grammar, generator, training, shortest, longest, excluded);
  if (longer > 0)
    pairs.longer = corpora::draw_distinct(grammar, generator, longer, longest + 1, longer_than_trained);
  return pairs;
}

std::vector<std::string> texts(const std::vector<corpora::SourceWord>& words) {
  std::vector<std::string> result;
  for (const auto& word : words) result.push_back(word.text);
  return result;
}

}  // namespace attn::train
