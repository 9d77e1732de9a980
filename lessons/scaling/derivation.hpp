#pragma once

#include "trace/trace.hpp"

namespace lessons {

/// Notes that derive E[qᵀk] = 0 and Var(qᵀk) = d_k term by term, and why scores are divided by √d_k
/// (Vaswani et al. 2017, section 3.2.1, footnote 4).
void show_derivation(attn::Trace& trace);

}  // namespace lessons
