#include "lessons/seq2seq/bottleneck.hpp"

#include <fmt/format.h>

#include <utility>

#include "attn/ops/steps.hpp"

namespace lessons {

namespace {

/// The forget gates of all words read after word t of its direction, multiplied.
attn::WorkedOut worked_kept(const Encoder& encoder, const std::vector<std::size_t>& lengths) {
  const auto product = [&lengths](const attn::Known<3>& f, Direction direction) -> attn::WorkedOut {
    return [=, &lengths](const attn::Index& at) {
      if (at[1] >= lengths[at[0]]) return attn::Worked(0.0);
      const bool is_forward = direction == Direction::forward;
      std::vector<attn::Worked> gates;
      for (std::size_t t = is_forward ? at[1] + 1 : 0; t < (is_forward ? lengths[at[0]] : at[1]); ++t)
        gates.push_back(f({at[0], t, at[2]}));
      return gates.empty() ? attn::Worked(1.0) : attn::Worked::product(std::move(gates));
    };
  };
  const auto forward = product({"encoder/f", encoder.forward.f}, Direction::forward);
  if (!encoder.reverse) return forward;
  return attn::worked_join(forward, encoder.forward.f.shape(2),
                           product({"encoder/reverse/f", encoder.reverse->f}, Direction::reverse));
}

}  // namespace

Tensor<3> show_bottleneck(Workbench& bench, const Encoder& encoder, const std::vector<std::size_t>& lengths,
                          std::size_t target_length) {
  auto& trace = bench.trace;
  trace.note(
      "bottleneck", "Beside it: the bottleneck",
      fmt::format("Before attention, the decoder got the encoder's last state and nothing else "
                  "(Sutskever et al. 2014), or that same vector again at every step (Cho et al. 2014): "
                  "{0} numbers of state and {0} of memory, for this sentence as for a whole page.",
                  state_width(bench)));
  trace.step({.id = "bottleneck/context",
              .title = "What every step would see without attention",
              .formula = "s_0 at every step",
              .from = {"decoder/s_0"},
              .axes = {"target", "hidden"},
              .note = "One row, whatever word is to be written. Compare it with decoder/context.",
              .worked = attn::worked_copy<2>({"decoder/s_0", encoder.s_0},
                                             [](const attn::Index& at) {
                                               return attn::Index{at[0], at[2]};
                                             })},
             attn::stack_steps(std::vector(target_length, encoder.s_0)));
  auto kept = kept_to_the_end(encoder.forward.f, lengths, Direction::forward);
  if (encoder.reverse)
    kept = attn::join(kept, kept_to_the_end(encoder.reverse->f, lengths, Direction::reverse));
  return trace.step(
      {.id = "bottleneck/kept",
       .title = "The bottleneck: what is left of each word",
       .formula = encoder.reverse ? "[product of f of later rows; of reverse/f of earlier rows]"
                                  : "product of later rows of encoder/f",
       .from = encoder.reverse ? std::vector<std::string>{"encoder/f", "encoder/reverse/f"}
                               : std::vector<std::string>{"encoder/f"},
       .axes = {"source", "hidden"},
       .note = "What a word writes into the memory, i ∘ g, is multiplied by the forget gate of every word "
               "read after it. The longer ago, the less is left. Attention reads each word's own state, "
               "one step away, however long the sentence is.",
       .worked = worked_kept(encoder, lengths),
       .worked_at = attn::Index{0, 0}},
      kept);
}

}  // namespace lessons
