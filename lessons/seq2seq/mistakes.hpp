#pragma once

#include <optional>
#include <vector>

#include "lessons/self_attention.hpp"
#include "lessons/seq2seq/lstm.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// The classic mistakes in the steps of an encoder and a decoder around the attention between them, and other
/// right ways to compute them. What is passed by reference must live as long as the mistakes.

/// Of a gate of an LSTM or of its candidate; arguments as of `lstm_cell`.
attn::Mistakes mistakes_of_gate(attn::Gate gate, const Tensor<3>& x, const LstmState& before,
                                const attn::LstmWeights& weights, const LstmWords& words,
                                const std::optional<Mask<3>>& is_real);

/// Of the state `h`: o ∘ tanh(c).
attn::Mistakes mistakes_of_state(const Tensor<3>& o, const Tensor<3>& c);

/// Of the decoder's first state or memory: `forward` and `reverse` [batch×source×hidden] are all rows of the
/// encoder's, `right` [batch×width] is the first state itself.
attn::Mistakes mistakes_of_first_state(const Tensor<3>& forward, const Tensor<3>* reverse,
                                       const Tensor<2>& right, const std::vector<std::size_t>& lengths,
                                       bool is_memory);

/// Of Luong's vector tanh([context; h] W_c).
attn::Mistakes mistakes_of_attentional(const Tensor<3>& context, const Tensor<3>& h, const LinearMap& c);

}  // namespace lessons
