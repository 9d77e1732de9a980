#pragma once

#include <set>
#include <string>

#include "corpora/compiled_grammar.hpp"

namespace corpora {

/// Every word of the target sentences, elided, joined and contracted as their neighbours demand, by which
/// words can begin and end what each state becomes.
std::set<std::string> target_vocabulary(const GrammarText& text, const CompiledGrammar& grammar);

}  // namespace corpora
