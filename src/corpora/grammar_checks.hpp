#pragma once

#include <vector>

#include "corpora/grammar_text.hpp"

namespace corpora {

/// For each symbol whether it can become words: it has a table of them, or a rule whose items all can.
std::vector<bool> symbols_that_end(const GrammarText& text);

/// Whether all items of a rule can become words.
bool all_end(const Rule& rule, const std::vector<bool>& ends);

/// Throws Error unless every nonterminal can end, none becomes itself without a word more, and wherever a
/// variable stands for what a noun decides there is exactly one such noun.
void require_sound_rules(const GrammarText& text);

}  // namespace corpora
