#pragma once

#include "corpora/grammar.hpp"

/// The grammar of this project, read once.
inline const corpora::Grammar& english_french() {
  static const auto grammar = corpora::Grammar::load(ATTN_DATA "/corpora/english-french.grammar");
  return grammar;
}
