#include "lessons/seq2seq/mistakes.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/steps.hpp"

namespace lessons {

namespace {

using attn::Gate;
using attn::LstmWeights;

constexpr std::string_view right_order = "ifgo";

Tensor<3> gate_without_mask(const LstmWeights& weights, Gate block, Gate gate, const Tensor<3>& x,
                            const Tensor<3>& h) {
  auto sums = attn::gate_sums(weights, block, x, h);
  return gate == Gate::candidate ? attn::tanh(std::move(sums)) : attn::sigmoid(std::move(sums));
}

/// The row of sample b at word `rows[b]`.
Tensor<2> rows_at(const Tensor<3>& x, const std::vector<std::size_t>& rows) {
  auto result = Tensor<2>::from_shape({x.shape(0), x.shape(2)});
  for (std::size_t b = 0; b < x.shape(0); ++b) std::copy_n(&x(b, rows[b], 0), x.shape(2), &result(b, 0));
  return result;
}

}  // namespace

attn::Mistakes mistakes_of_gate(Gate gate, const Tensor<3>& x, const LstmState& before,
                                const LstmWeights& weights, const LstmWords& words,
                                const std::optional<Mask<3>>& is_real) {
  const auto real = [&is_real](const Tensor<3>& all) {
    return is_real ? attn::apply_mask(all, *is_real, 0.0) : all;
  };
  const auto from_block = [&x, &before, &weights, real, gate](Gate block) {
    return real(gate_without_mask(weights, block, gate, x, before.h));
  };
  attn::Mistakes mistakes;
  auto order = std::string(right_order);
  std::sort(order.begin(), order.end());
  do {
    if (order == right_order) continue;
    const auto block = static_cast<Gate>(order.find(right_order[static_cast<std::size_t>(gate)]));
    mistakes.emplace_back("gate-order:" + order, [=] { return from_block(block); });
  } while (std::next_permutation(order.begin(), order.end()));

  for (const bool keeps_one : {true, false})
    mistakes.emplace_back(keeps_one ? "bias-missing:b_hh" : "bias-missing:lstm", [=, &x, &before, &weights] {
      auto fewer = weights;
      fewer.b_hh.fill(0.0);
      if (!keeps_one) fewer.b_ih.fill(0.0);
      return real(gate_without_mask(fewer, gate, gate, x, before.h));
    });
  if (gate == Gate::candidate)
    mistakes.emplace_back("lstm-candidate-sigmoid", [=, &x, &before, &weights] {
      return real(attn::sigmoid(attn::gate_sums(weights, gate, x, before.h)));
    });
  for (const auto& id : words.mistakes_in_padding)
    mistakes.emplace_back(
        id, [=, &x, &before, &weights] { return gate_without_mask(weights, gate, gate, x, before.h); });
  return mistakes;
}

attn::Mistakes mistakes_of_state(const Tensor<3>& o, const Tensor<3>& c) {
  return {{"lstm-memory-not-squashed", [&o, &c] { return attn::multiply(o, c); }}};
}

attn::Mistakes mistakes_of_first_state(const Tensor<3>& forward, const Tensor<3>* reverse,
                                       const Tensor<2>& right, const std::vector<std::size_t>& lengths,
                                       bool is_memory) {
  const std::vector<std::size_t> firsts(lengths.size(), 0), ends(lengths.size(), forward.shape(1) - 1);
  auto lasts = lengths;
  for (auto& last : lasts) --last;
  const auto of_rows = [&forward, reverse](const std::vector<std::size_t>& left,
                                           const std::vector<std::size_t>& right_to_left) {
    const auto of_forward = rows_at(forward, left);
    return reverse == nullptr ? of_forward : attn::join(of_forward, rows_at(*reverse, right_to_left));
  };
  const auto zeros = [&right] { return Tensor<2>(right.shape(), 0.0); };
  attn::Mistakes mistakes = {{"decoder-starts-at-zero", zeros},
                             {"rnn-last-in-padding", [=] { return of_rows(ends, firsts); }},
                             {"rnn-last-in-padding:rows", [=] { return of_rows(ends, firsts); }}};
  if (is_memory) mistakes.emplace_back("decoder-starts-at-zero:memory", zeros);
  if (reverse != nullptr) mistakes.emplace_back("rnn-reverse-end", [=] { return of_rows(lasts, lasts); });
  return mistakes;
}

attn::Mistakes mistakes_of_attentional(const Tensor<3>& context, const Tensor<3>& h, const LinearMap& c) {
  return {{"luong-no-tanh", [&] { return c(attn::join(context, h)); }},
          {"concat-order:attentional", [&] { return attn::tanh(c(attn::join(h, context))); }},
          {"attentional-missing", [&] { return context; }}};
}

}  // namespace lessons
