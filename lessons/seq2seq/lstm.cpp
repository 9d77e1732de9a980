#include "lessons/seq2seq/lstm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/steps.hpp"
#include "lessons/seq2seq/mistakes.hpp"
#include "trace/entry.hpp"

namespace lessons {

using attn::Gate;

namespace {

/// Names the rows of the weights of an LSTM: i0, i1, …, f0, …, g0, …, o0, ….
void label_gates(Workbench& bench, std::size_t hidden) {
  std::vector<std::string> rows;
  for (const char gate : {'i', 'f', 'g', 'o'})
    for (std::size_t unit = 0; unit < hidden; ++unit) rows.push_back(fmt::format("{}{}", gate, unit));
  bench.trace.label("gate", {{rows}});
}

/// "σ(W_ih[0:8] xₜ + W_hh[0:8] hₜ₋₁ + b[0:8])": the rows of the weights are those of the gate.
std::string gate_formula(const char* function, Gate gate, std::size_t hidden, const LstmWords& words) {
  const auto block = static_cast<std::size_t>(gate);
  const auto rows = fmt::format("[{}:{}]", block * hidden, (block + 1) * hidden);
  return fmt::format("{0}(W_ih{1} {2} + W_hh{1} {3} + b{1})", function, rows, words.input, words.before);
}

/// [batch×1×1], true where sample b has a word at t.
Mask<3> is_word(const std::vector<std::size_t>& lengths, std::size_t t) {
  Mask<3> mask({lengths.size(), 1, 1});
  std::transform(lengths.begin(), lengths.end(), mask.begin(),
                 [t](std::size_t length) { return t < length; });
  return mask;
}

/// The row of each sample after which there is none to read.
Tensor<2> last_row(const Tensor<3>& x, const std::vector<std::size_t>& lengths, Direction direction) {
  auto last = Tensor<2>::from_shape({x.shape(0), x.shape(2)});
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    const std::size_t t = direction == Direction::forward ? lengths[b] - 1 : 0;
    std::copy_n(&x(b, t, 0), x.shape(2), &last(b, 0));
  }
  return last;
}

}  // namespace

attn::LstmWeights draw_lstm(Workbench& bench, const attn::About& W_ih, std::size_t d_in, std::size_t hidden) {
  label_gates(bench, hidden);
  auto input_weight = bench.input<2>(W_ih, {4 * hidden, d_in});
  auto state_weight =
      bench.input<2>({.id = "W_hh", .title = "How the gates read the state before"}, {4 * hidden, hidden});
  auto input_bias = bench.input<1>(
      {.id = "b_ih", .title = "Bias of the gates beside W_ih: 0 before training"}, {4 * hidden});
  auto state_bias = bench.input<1>({.id = "b_hh",
                                    .title = "Bias of the gates beside W_hh: 0 before training",
                                    .note = "One would be enough. PyTorch has two; so has this lesson."},
                                   {4 * hidden});
  return {std::move(input_weight), std::move(state_weight), std::move(input_bias), std::move(state_bias)};
}

LstmState lstm_cell(Workbench& bench, const Tensor<3>& x, const LstmState& before,
                    const attn::LstmWeights& weights, const LstmWords& words,
                    const std::optional<Mask<3>>& is_real) {
  auto& trace = bench.trace;
  const auto hidden = weights.hidden();
  auto from = words.inputs;
  for (const char* weight : {"W_ih", "W_hh", "b_ih", "b_hh"}) from.emplace_back(weight);
  const std::vector<std::string> axes = {words.axis, "hidden"};
  const auto sums = [&](Gate gate) { return attn::gate_sums(weights, gate, x, before.h); };
  const auto real = [&](const Tensor<3>& gate) {
    return is_real ? attn::apply_mask(gate, *is_real, 0.0) : gate;
  };

  const auto mistakes = [&](Gate gate) { return mistakes_of_gate(gate, x, before, weights, words, is_real); };

  const auto i = trace.step({.id = "i",
                             .title = "The input gate: how much is written?",
                             .formula = gate_formula("σ", Gate::input, hidden, words),
                             .from = from,
                             .axes = axes,
                             .note = words.notes.i},
                            real(attn::sigmoid(sums(Gate::input))), mistakes(Gate::input));
  const auto f = trace.step({.id = "f",
                             .title = "The forget gate: how much is kept?",
                             .formula = gate_formula("σ", Gate::forget, hidden, words),
                             .from = from,
                             .axes = axes,
                             .note = words.notes.f},
                            real(attn::sigmoid(sums(Gate::forget))), mistakes(Gate::forget));
  const auto g = trace.step({.id = "g",
                             .title = "The candidate: what would be written?",
                             .formula = gate_formula("tanh", Gate::candidate, hidden, words),
                             .from = from,
                             .axes = axes,
                             .note = words.notes.g},
                            real(attn::tanh(sums(Gate::candidate))), mistakes(Gate::candidate));
  const auto o = trace.step({.id = "o",
                             .title = "The output gate: how much is shown?",
                             .formula = gate_formula("σ", Gate::output, hidden, words),
                             .from = from,
                             .axes = axes,
                             .note = words.notes.o},
                            real(attn::sigmoid(sums(Gate::output))), mistakes(Gate::output));
  auto c = trace.step({.id = "c",
                       .title = "The memory cell",
                       .formula = fmt::format("f ∘ {} + i ∘ g", words.memory_before),
                       .from = {"f", "i", "g"},
                       .axes = axes,
                       .note = words.notes.c},
                      attn::add(attn::multiply(f, before.c), attn::multiply(i, g)));
  auto h = trace.step({.id = "h",
                       .title = "The hidden state",
                       .formula = "o ∘ tanh(c)",
                       .from = {"o", "c"},
                       .axes = axes,
                       .note = words.notes.h},
                      attn::multiply(o, attn::tanh(c)), mistakes_of_state(o, c));
  return {std::move(h), std::move(c)};
}

void work_out_lstm(attn::Recurrence& recurrence, const attn::LstmWeights& weights, const attn::WorkedOut& x,
                   const attn::WorkedOut& h_before, const attn::WorkedOut& c_before,
                   const std::vector<std::size_t>& lengths) {
  const auto at_a_word = lengths.empty()
                             ? std::nullopt
                             : std::optional(attn::Index{attn::token_to_work_out(lengths.front()), 0});
  const auto gate = [&](const char* id, Gate which) {
    const auto worked = attn::worked_gate(weights, which, x, h_before);
    const auto worked_where_real = [=](const attn::Index& at) {
      const bool is_real = lengths.empty() || at[1] < lengths[at[0]];
      return is_real ? worked(at) : attn::Worked(0.0);
    };
    recurrence.work_out(id, worked_where_real, at_a_word);
    return recurrence.entries(id);
  };
  const auto i = gate("i", Gate::input), f = gate("f", Gate::forget), g = gate("g", Gate::candidate),
             o = gate("o", Gate::output), c = recurrence.entries("c");
  const auto memory = [=](const attn::Index& at) {
    const auto before = c_before(at), written = attn::Worked::product({i(at), g(at)});
    if (before.entry() == nullptr) return written;
    return attn::Worked::sum({attn::Worked::product({f(at), before}), written});
  };
  recurrence.work_out("c", memory, at_a_word);
  const auto state = [=](const attn::Index& at) { return attn::Worked::product({o(at), tanh(c(at))}); };
  recurrence.work_out("h", state, at_a_word);
}

namespace {

/// The entry one row before, in the order of reading; 0 where there is none.
attn::WorkedOut worked_before(attn::WorkedOut rows, std::size_t n, Direction direction) {
  return [=](attn::Index at) {
    const bool is_first = at[1] == (direction == Direction::forward ? 0 : n - 1);
    if (is_first) return attn::Worked(0.0);
    at[1] += direction == Direction::forward ? std::size_t(-1) : 1;
    return rows(at);
  };
}

}  // namespace

Lstm run_lstm(Workbench& bench, const Tensor<3>& X, const std::vector<std::size_t>& lengths,
              const attn::LstmWeights& weights, Direction direction, const LstmWords& words) {
  const std::size_t n = X.shape(1);
  const Tensor<3> zeros = xt::zeros<double>({X.shape(0), std::size_t{1}, weights.hidden()});
  LstmState state = {zeros, zeros};
  attn::Recurrence recurrence(bench.trace, words.axis, n);
  for (std::size_t step = 0; step < n; ++step) {
    const auto t = direction == Direction::forward ? step : n - 1 - step;
    state = recurrence.row(t, [&] {
      return lstm_cell(bench, attn::steps_of(X, t, t + 1), state, weights, words, is_word(lengths, t));
    });
  }
  work_out_lstm(recurrence, weights, attn::Known{words.inputs[0], X},
                worked_before(recurrence.entries("h"), n, direction),
                worked_before(recurrence.entries("c"), n, direction), lengths);
  recurrence.show();
  const auto sequence = [&](const char* id) { return recurrence.sequence<3>(id); };
  Lstm run = {
      sequence("i"), sequence("f"), sequence("g"), sequence("o"), sequence("c"), sequence("h"), {}, {}};
  run.last_h = last_row(run.h, lengths, direction);
  run.last_c = last_row(run.c, lengths, direction);
  return run;
}

Tensor<3> kept_to_the_end(const Tensor<3>& f, const std::vector<std::size_t>& lengths, Direction direction) {
  Tensor<3> kept = xt::zeros<double>(f.shape());
  for (std::size_t b = 0; b < kept.shape(0); ++b) {
    std::vector<double> product(kept.shape(2), 1.0);
    for (std::size_t step = 0; step < lengths[b]; ++step) {
      const auto t = direction == Direction::forward ? lengths[b] - 1 - step : step;
      for (std::size_t unit = 0; unit < product.size(); ++unit) {
        kept(b, t, unit) = product[unit];
        product[unit] *= f(b, t, unit);
      }
    }
  }
  return kept;
}

}  // namespace lessons
