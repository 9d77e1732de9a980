#include "fast/train/tasks/load_grammar.hpp"

namespace attn::train {

corpora::Grammar load_grammar(const TaskOptions& options) {
  return corpora::Grammar::load(options.grammar.value_or(options.corpora + "/english-french.grammar"));
}

}  // namespace attn::train
