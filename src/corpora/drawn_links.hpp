#pragma once

#include <string>
#include <vector>

#include "corpora/alignment_errors.hpp"
#include "corpora/sentence_pair.hpp"

namespace corpora {

/// A row for each word of the target, a column for each of the source: ( ) around a sure link, ? ? around a
/// possible one, * where the model looks most. A row of the source words stands above where it fits in 66
/// columns. `looks` may have more rows than the target has words, as that of </s>.
std::vector<std::string> drawn_links(const SentencePair& pair, const Alignment& looks);

}  // namespace corpora
