#pragma once

#include "corpora/grammar_text.hpp"

namespace corpora {

/// Throws Error unless every nonterminal can end, none becomes itself without a word more, and wherever a
/// variable stands for what a noun decides there is exactly one such noun.
void require_sound_rules(const GrammarText& text);

}  // namespace corpora
