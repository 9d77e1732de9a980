#include "corpora/alignment_errors.hpp"

namespace corpora {

void AlignmentErrors::add(const SentencePair& pair, const Alignment& alignment) {
  made_ += alignment.size();
  for (const auto& link : pair.links) {
    sure_ += link.is_sure;
    if (alignment[link.target] != link.source) continue;
    in_sure_ += link.is_sure;
    ++in_possible_;
  }
}

double AlignmentErrors::rate() const {
  return 1 - static_cast<double>(in_sure_ + in_possible_) / static_cast<double>(made_ + sure_);
}

}  // namespace corpora
