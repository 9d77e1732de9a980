/// Backpropagation through time (Werbos 1990, "Backpropagation Through Time: What It Does and How to Do It")
/// through the decoder of Bahdanau et al. 2014, its attention and its encoder.

#include "lessons/backward/seq2seq.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/cross_entropy.hpp"
#include "attn/ops/linear_backward.hpp"
#include "attn/ops/lstm.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/scoring.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/steps.hpp"
#include "lessons/backward/projections.hpp"
#include "trace/recurrence.hpp"

namespace lessons {

namespace {

using attn::Index;
using attn::Known;
using attn::Worked;
using attn::WorkedOut;

/// What an LSTM did at all steps, [batch×n×hidden] each.
struct CellSteps {
  const Tensor<3>&i, &f, &g, &o, &c;
  Tensor<3> c_before;
};

/// What comes back from a row of a cell.
struct CellBack {
  Tensor<3> d_gates;     ///< of the sums before σ and tanh [batch×1×4·hidden]
  Tensor<3> d_c_before;  ///< of the memory before [batch×1×hidden]
};

/// Columns begin, …, end − 1 of each sample.
Tensor<3> columns_of(const Tensor<3>& x, std::size_t begin, std::size_t end) {
  Tensor<3> part({x.shape(0), x.shape(1), end - begin});
  for (std::size_t b = 0; b < x.shape(0); ++b)
    for (std::size_t t = 0; t < x.shape(1); ++t)
      for (std::size_t j = begin; j < end; ++j) part(b, t, j - begin) = x(b, t, j);
  return part;
}

/// Back through row t of an LSTM from the whole gradient of its h: the steps `d_o`, `d_c`, `d_i`, `d_f`,
/// `d_g` and `d_gates`. `d_c_after` is what comes back to the memory from the row after.
CellBack cell_backward(Workbench& bench, const CellSteps& cell, std::size_t t, const std::string& axis,
                       const Tensor<3>& d_h, const Tensor<3>& d_c_after) {
  auto& trace = bench.trace;
  const auto row = [t](const Tensor<3>& x) { return attn::steps_of(x, t, t + 1); };
  const auto show = [&](const char* id, const char* title, const char* formula,
                        const std::vector<std::string>& from, const Tensor<3>& d, const char* note = "") {
    return trace.step(
        {.id = id, .title = title, .formula = formula, .from = from, .axes = {axis, "hidden"}, .note = note},
        d);
  };
  const auto i = row(cell.i), f = row(cell.f), g = row(cell.g), o = row(cell.o), c = row(cell.c);
  const auto d_o = show("d_o", "Back to the output gate", "d_h ∘ tanh(c)", {"d_h", "c"},
                        attn::multiply(d_h, attn::tanh(c)));
  const auto d_c = show(
      "d_c", "Back to the memory", "d_h ∘ o ∘ (1 − tanh(c)²) + d_cₜ₊₁ ∘ fₜ₊₁", {"d_h", "o", "c", "f"},
      attn::add(attn::lstm_backward_memory(d_h, o, c), d_c_after),
      "The second term is the way along the memory: from step to step the gradient is only multiplied by "
      "the forget gate. With f near 1 it lasts for long.");
  const auto d_i = show("d_i", "Back to the input gate", "d_c ∘ g", {"d_c", "g"}, attn::multiply(d_c, g));
  const auto d_f = show("d_f", "Back to the forget gate", "d_c ∘ cₜ₋₁", {"d_c", "c"},
                        attn::multiply(d_c, row(cell.c_before)));
  const auto d_g = show("d_g", "Back to the candidate", "d_c ∘ i", {"d_c", "i"}, attn::multiply(d_c, i));
  auto d_gates = trace.step(
      {.id = "d_gates",
       .title = "Back through σ and tanh",
       .formula = "d_i ∘ i ∘ (1 − i), …, d_g ∘ (1 − g²), …",
       .from = {"d_i", "d_f", "d_g", "d_o", "i", "f", "g", "o"},
       .axes = {axis, "gate"},
       .note = "Of the sums before σ and tanh, in the order i, f, g, o. A gate near 0 or 1 passes hardly any "
               "gradient on."},
      attn::gate_sums_backward({i, f, g, o}, {d_i, d_f, d_g, d_o}));
  return {std::move(d_gates), attn::multiply(d_c, f)};
}

/// The entry one row after: nothing after the last.
WorkedOut worked_after_row(const WorkedOut& rows, std::size_t n) {
  return [=](Index at) {
    if (at[1] + 1 == n) return Worked(0.0);
    ++at[1];
    return rows(at);
  };
}

/// Says how the entries of the steps of `cell_backward` come about.
void work_out_cell_backward(attn::Recurrence& recurrence, const CellSteps& cell, const std::string& group) {
  const auto known = [&](const char* id, const Tensor<3>& x) { return Known<3>{group + id, x}; };
  const auto i = known("i", cell.i), f = known("f", cell.f), g = known("g", cell.g), o = known("o", cell.o),
             c = known("c", cell.c);
  const std::size_t n = cell.c.shape(1), hidden = cell.c.shape(2);
  const auto d_h = recurrence.entries("d_h"), d_c = recurrence.entries("d_c"),
             d_c_after = worked_after_row(d_c, n), f_after = worked_after_row(f, n);
  const auto d_i = recurrence.entries("d_i"), d_f = recurrence.entries("d_f"),
             d_g = recurrence.entries("d_g"), d_o = recurrence.entries("d_o");
  recurrence.work_out("d_o", [=](const Index& at) { return Worked::product({d_h(at), tanh(c(at))}); });
  recurrence.work_out("d_c", [=](const Index& at) {
    const auto here = Worked::product({d_h(at), o(at), Worked(1.0) - square(tanh(c(at)))});
    const auto after = d_c_after(at);
    if (after.entry() == nullptr) return here;
    return Worked::sum({here, Worked::product({after, f_after(at)})});
  });
  recurrence.work_out("d_i", [=](const Index& at) { return Worked::product({d_c(at), g(at)}); });
  recurrence.work_out("d_g", [=](const Index& at) { return Worked::product({d_c(at), i(at)}); });
  recurrence.work_out("d_f", [=, &before = cell.c_before](const Index& at) {
    auto earlier = at;
    if (at[1] == 0) return Worked::product({d_c(at), Worked(before(at[0], 0, at[2]))});
    --earlier[1];
    return Worked::product({d_c(at), c(earlier)});
  });
  recurrence.work_out("d_gates", [=](const Index& at) {
    const Index of_gate = {at[0], at[1], at[2] % hidden};
    const auto through_sigmoid = [&](const WorkedOut& d, const Known<3>& y) {
      return Worked::product({d(of_gate), y(of_gate), Worked(1.0) - y(of_gate)});
    };
    switch (static_cast<attn::Gate>(at[2] / hidden)) {
      case attn::Gate::input:
        return through_sigmoid(d_i, i);
      case attn::Gate::forget:
        return through_sigmoid(d_f, f);
      case attn::Gate::candidate:
        return Worked::product({d_g(of_gate), Worked(1.0) - square(g(of_gate))});
      default:
        return through_sigmoid(d_o, o);
    }
  });
}

/// Keeps the gradients of a cell, which its recurrence has shown.
void keep_cell(Gradients& gradients, const attn::Recurrence& recurrence) {
  for (const std::string of : {"h", "o", "c", "i", "f", "g"})
    gradients.keep(of, recurrence.sequence<3>("d_" + of));
}

/// Σ over rows r of what two tensors' columns come to: the gradient of a weight, worked out from entries that
/// need not be of one tensor.
WorkedOut worked_sum_over_rows(const WorkedOut& left, const WorkedOut& right, std::size_t samples,
                               std::size_t rows) {
  return [=](const Index& at) {
    std::vector<Worked> terms;
    for (std::size_t b = 0; b < samples; ++b)
      for (std::size_t t = 0; t < rows; ++t) {
        auto factor = right({b, t, at[1]});
        if (factor.entry() != nullptr)
          terms.push_back(Worked::product({left({b, t, at[0]}), std::move(factor)}));
      }
    return terms.empty() ? Worked(0.0) : Worked::sum(std::move(terms));
  };
}

/// What an LSTM read at all steps: the input, and the states before.
struct CellRead {
  Tensor<3> x, h_before;
  WorkedOut worked_x, worked_h_before;
  std::string x_name, h_name;  ///< "[X_target; context]", "hₜ₋₁"
  std::vector<std::string> x_from, h_from;
  std::string input_axis;
};

/// The gradients of an LSTM's parameters, which all its steps share: `d_W_ih`, `d_W_hh`, `d_b_ih`, `d_b_hh`.
void show_cell_parameters(Gradients& gradients, const Tensor<3>& d_gates, const CellRead& read) {
  const Known<3> known{"d_gates", d_gates};
  const auto samples = d_gates.shape(0), rows = d_gates.shape(1);
  const auto with_gates = [](std::vector<std::string> from) {
    from.insert(from.begin(), "d_gates");
    return from;
  };
  gradients.show("W_ih",
                 {.title = "How the loss changes with W_ih",
                  .formula = fmt::format("Σₜ d_gatesₜ {}ᵀ", read.x_name),
                  .from = with_gates(read.x_from),
                  .axes = {"gate", read.input_axis},
                  .note = "All steps share W_ih: their gradients add up.",
                  .worked = worked_sum_over_rows(known, read.worked_x, samples, rows)},
                 attn::linear_backward_weight(d_gates, read.x));
  gradients.show("W_hh",
                 {.title = "How the loss changes with W_hh",
                  .formula = fmt::format("Σₜ d_gatesₜ {}ᵀ", read.h_name),
                  .from = with_gates(read.h_from),
                  .axes = {"gate", "hidden"},
                  .note = "All steps share W_hh: their gradients add up.",
                  .worked = worked_sum_over_rows(known, read.worked_h_before, samples, rows)},
                 attn::linear_backward_weight(d_gates, read.h_before));
  for (const char* b : {"b_ih", "b_hh"})
    gradients.show(b,
                   {.title = fmt::format("How the loss changes with {}", b),
                    .formula = "Σₜ d_gatesₜ",
                    .from = {"d_gates"},
                    .axes = {"gate"},
                    .note = "Both biases are added to the same sums.",
                    .worked = attn::worked_linear_backward_bias(known)},
                   attn::linear_backward_bias(d_gates));
}

/// Each row as the next one reads it.
Tensor<3> rows_before(const Tensor<2>& first, const Tensor<3>& x) {
  return attn::delay(first, x);
}

/// The entry of the row before: of the first row that of `first`, or nothing where there is no such tensor.
WorkedOut worked_row_before(const WorkedOut& rows, const std::string& first_id, const Tensor<2>* first) {
  return [=](Index at) {
    if (at[1] > 0) {
      --at[1];
      return rows(at);
    }
    if (first == nullptr) return Worked(0.0);
    return Known<2>{first_id, *first}({at[0], at[2]});
  };
}

/// Σₖ W[k, column] times what `rows` works out.
Worked worked_times(const Known<2>& W, std::size_t column, const WorkedOut& rows, const Index& at) {
  std::vector<Worked> terms;
  for (std::size_t k = 0; k < W.tensor.shape(0); ++k)
    terms.push_back(Worked::product({rows({at[0], at[1], k}), W({k, column})}));
  return Worked::sum(std::move(terms));
}

/// Σⱼ x[j] W[row, j].
Worked worked_row_of(const Known<2>& W, std::size_t row, const WorkedOut& x, const Index& at) {
  std::vector<Worked> terms;
  for (std::size_t j = 0; j < W.tensor.shape(1); ++j)
    terms.push_back(Worked::product({x({at[0], at[1], j}), W({row, j})}));
  return Worked::sum(std::move(terms));
}

std::string hidden_in_words(const SourceAttentionWeights& attention) {
  return fmt::format("tanh(sₜ₋₁ W_q{} + hⱼ W_k{})", attention.b_q ? " + b_q" : "",
                     attention.b_k ? " + b_k" : "");
}

/// What comes back from the decoder.
struct DecoderBack {
  Tensor<3> d_context, d_scores, d_projected, d_gates;
  Tensor<2> d_s_0, d_c_0;
};

DecoderBack decoder_backward(Workbench& bench, Gradients& gradients, const Seq2SeqRun& run,
                             const Tensor<3>& d_logits) {
  auto& trace = bench.trace;
  const auto& states = run.decoder.states;
  const auto& context = run.decoder.context;
  const auto& gates = run.decoder.gates;
  const auto& parameters = run.weights.decoder;
  const auto &W_q = *parameters.attention.W_q, &W = parameters.W;
  const auto& v_a = *parameters.attention.v_a;
  const std::size_t n = states.h.shape(1), width = states.h.shape(2), d_model = run.X_target.shape(2);
  const auto i = attn::head(gates, 0), f = attn::head(gates, 1), g = attn::head(gates, 2),
             o = attn::head(gates, 3);
  const auto shares = attn::head(run.decoder.weights, 0);
  const CellSteps cell = {i, f, g, o, states.c, rows_before(run.encoder.c_0, states.c)};
  const auto queries = rows_before(run.encoder.s_0, states.h);
  const auto asked = parameters.attention.q()(queries);
  const auto read_out = attn::linear_backward_input(d_logits, W);

  attn::Recurrence recurrence(trace, "target", n);
  Tensor<3> d_h_after({states.h.shape(0), 1, width}, 0.0), d_c_after = d_h_after;
  for (std::size_t t = n; t-- > 0;)
    recurrence.row(t, [&] {
      const auto row = [t](const Tensor<3>& x) { return attn::steps_of(x, t, t + 1); };
      const auto d_h = trace.step(
          {.id = "d_h",
           .title = "Back to the state, step by step from the last",
           .formula = "d_logits W[state]ᵀ + d_gatesₜ₊₁ W_hh + d_queriesₜ₊₁",
           .from = {"d_logits", "output/W", "d_gates", "W_hh", "d_queries"},
           .axes = {"target", "hidden"},
           .note = "A state goes three ways: to the word of its own step, into the cell of the next, and it "
                   "asks there. So the last row has one term, and every row before it has three."},
          attn::add(columns_of(row(read_out), 0, width), d_h_after));
      const auto [d_gates, d_c_before] = cell_backward(bench, cell, t, "target", d_h, d_c_after);
      const auto d_context = trace.step(
          {.id = "d_context",
           .title = "Back to the context",
           .formula = "d_logits W[context]ᵀ + d_gates W_ih[context]",
           .from = {"d_logits", "output/W", "d_gates", "W_ih"},
           .axes = {"target", "hidden"},
           .note = "The context went into the cell and to the word."},
          attn::add(columns_of(row(read_out), width, 2 * width),
                    columns_of(attn::linear(d_gates, parameters.lstm.W_ih), d_model, d_model + width)));
      const auto d_weights = trace.step({.id = "d_weights",
                                         .title = "Back to the alignment",
                                         .formula = "d_context encoder/hᵀ",
                                         .from = {"d_context", "encoder/h"},
                                         .axes = {"target", "source"},
                                         .note = "Negative: to look there more would make the loss smaller."},
                                        attn::matmul(d_context, attn::transpose(run.source.states)));
      const auto d_scores =
          trace.step({.id = "d_scores",
                      .title = "Back through softmax",
                      .formula = "weights · (d_weights − Σⱼ weights · d_weights)",
                      .from = {"weights", "d_weights"},
                      .axes = {"target", "source"},
                      .note = "Where it is negative, training makes the score larger: the decoder learns to "
                              "look there."},
                     attn::softmax_backward(row(shares), d_weights));
      const auto d_projected = trace.step(
          {.id = "d_projected",
           .title = "Back through v_a · tanh(…)",
           .formula = fmt::format("Σⱼ d_scoreⱼ v_a ∘ (1 − {}²)", hidden_in_words(parameters.attention)),
           .from = {"d_scores", "attention/v_a", "queries", "attention/W_q", "encoder/h", "attention/W_k"},
           .axes = {"target", "d_a"},
           .note = "The gradient of sₜ₋₁ W_q."},
          attn::additive_scores_backward(row(asked), run.source.keys, v_a, d_scores).d_queries);
      const auto d_queries = trace.step({.id = "d_queries",
                                         .title = "Back to the state that asked",
                                         .formula = "d_projected W_qᵀ",
                                         .from = {"d_projected", "attention/W_q"},
                                         .axes = {"target", "hidden"},
                                         .note = "It goes to the state of the step before."},
                                        attn::linear_backward_input(d_projected, W_q));
      d_h_after = attn::add(attn::linear(d_gates, parameters.lstm.W_hh), d_queries);
      d_c_after = d_c_before;
    });

  work_out_cell_backward(recurrence, cell, "decoder/");
  const Known<3> known_logits{"decoder/d_logits", d_logits};
  const Known<2> known_W{"output/W", W}, W_ih{"decoder/W_ih", parameters.lstm.W_ih},
      W_hh{"decoder/W_hh", parameters.lstm.W_hh};
  const auto d_gates = recurrence.entries("d_gates"), d_queries = recurrence.entries("d_queries"),
             d_context = recurrence.entries("d_context"), d_weights = recurrence.entries("d_weights"),
             d_projected = recurrence.entries("d_projected");
  recurrence.work_out("d_h", [=](const Index& at) {
    auto sum = std::vector{worked_row_of(known_W, at[2], known_logits, at)};
    if (at[1] + 1 < n) {
      const Index after = {at[0], at[1] + 1, at[2]};
      sum.push_back(worked_times(W_hh, at[2], d_gates, after));
      sum.push_back(d_queries(after));
    }
    return Worked::sum(std::move(sum));
  });
  recurrence.work_out("d_context", [=](const Index& at) {
    return Worked::sum({worked_row_of(known_W, width + at[2], known_logits, at),
                        worked_times(W_ih, d_model + at[2], d_gates, at)});
  });
  recurrence.work_out("d_weights", [=, &h = run.source.states](const Index& at) {
    std::vector<Worked> terms;
    for (std::size_t k = 0; k < width; ++k)
      terms.push_back(
          Worked::product({d_context({at[0], at[1], k}), Known<3>{"encoder/h", h}({at[0], at[2], k})}));
    return Worked::sum(std::move(terms));
  });
  recurrence.work_out("d_scores", [=, &shares](const Index& at) {
    const Known<3> known{"decoder/weights", shares};
    std::vector<Worked> products;
    for (std::size_t j = 0; j < shares.shape(2); ++j)
      products.push_back(Worked::product({known({at[0], at[1], j}), d_weights({at[0], at[1], j})}));
    return Worked::product({known(at), d_weights(at) - Worked::sum(std::move(products))});
  });
  recurrence.work_out("d_queries", [=, &W_q](const Index& at) {
    return worked_row_of({"attention/W_q", W_q}, at[2], d_projected, at);
  });
  recurrence.show();

  keep_cell(gradients, recurrence);
  gradients.keep("context", recurrence.sequence<3>("d_context"));
  gradients.keep("weights", recurrence.sequence<3>("d_weights"));
  gradients.keep("scores", recurrence.sequence<3>("d_scores"));
  gradients.keep("queries", recurrence.sequence<3>("d_queries"));

  DecoderBack back = {recurrence.sequence<3>("d_context"),
                      recurrence.sequence<3>("d_scores"),
                      recurrence.sequence<3>("d_projected"),
                      recurrence.sequence<3>("d_gates"),
                      {},
                      {}};
  const Known<3> whole_gates{"d_gates", back.d_gates}, X_target{"X_target", run.X_target};
  const auto whole_queries = recurrence.sequence<3>("d_queries"), whole_c = recurrence.sequence<3>("d_c");
  const Known<3> known_queries{"d_queries", whole_queries}, known_c{"d_c", whole_c}, known_f{"f", f};
  back.d_s_0 = gradients.show(
      "s_0",
      {.title = "Back to the state that the decoder began with",
       .formula = "d_gates₀ W_hh + d_queries₀",
       .from = {"d_gates", "W_hh", "d_queries"},
       .axes = {"hidden"},
       .note = "It goes on to the encoder's last word.",
       .worked =
           [&](const Index& at) {
             const Index first = {at[0], 0, at[1]};
             return Worked::sum({worked_times({"W_hh", parameters.lstm.W_hh}, at[1], whole_gates, first),
                                 known_queries(first)});
           }},
      attn::step_of(d_h_after, 0));
  back.d_c_0 = gradients.show("c_0",
                              {.title = "Back to the memory that the decoder began with",
                               .formula = "d_c₀ ∘ f₀",
                               .from = {"d_c", "f"},
                               .axes = {"hidden"},
                               .worked =
                                   [&](const Index& at) {
                                     const Index first = {at[0], 0, at[1]};
                                     return Worked::product({known_c(first), known_f(first)});
                                   }},
                              attn::step_of(d_c_after, 0));
  const Known<3> h{"decoder/h", states.h}, known_context{"context", context};
  const CellRead read = {attn::join(run.X_target, context),
                         queries,
                         attn::worked_join(X_target, d_model, known_context),
                         worked_row_before(h, "decoder/s_0", &run.encoder.s_0),
                         "[X_target; context]ₜ",
                         "hₜ₋₁",
                         {"X_target", "context"},
                         {"h", "s_0"},
                         "feature"};
  show_cell_parameters(gradients, back.d_gates, read);
  return back;
}

/// Back through the scores to what they are made of, and to the states of the encoder: `encoder/d_states`.
Tensor<3> source_backward(Workbench& bench, Gradients& gradients, const Seq2SeqRun& run,
                          const DecoderBack& back) {
  const auto& attention = run.weights.decoder.attention;
  const auto queries = rows_before(run.encoder.s_0, run.decoder.states.h);
  const auto d =
      attn::additive_scores_backward(attention.q()(queries), run.source.keys, *attention.v_a, back.d_scores);
  const Known<3> h{"decoder/h", run.decoder.states.h}, d_projected{"decoder/d_projected", back.d_projected};
  gradients.show(
      "attention/v_a",
      {.title = "How the loss changes with v_a",
       .formula = fmt::format("Σ d_score {} over all pairs", hidden_in_words(attention)),
       .from = {"decoder/d_scores", "decoder/queries", "attention/W_q", "encoder/h", "attention/W_k"},
       .axes = {"d_a"},
       .note = "One v_a scores all pairs."},
      d.d_v_a);
  gradients.show("attention/W_q",
                 {.title = "How the loss changes with W_q",
                  .formula = "Σₜ sₜ₋₁ᵀ decoder/d_projectedₜ",
                  .from = {"decoder/queries", "decoder/d_projected"},
                  .axes = {"hidden", "d_a"},
                  .note = "All steps ask with the same W_q.",
                  .worked = worked_sum_over_rows(worked_row_before(h, "decoder/s_0", &run.encoder.s_0),
                                                 d_projected, queries.shape(0), queries.shape(1))},
                 attn::linear_backward_weight(queries, back.d_projected));
  if (attention.b_q)
    show_bias_gradient(gradients, "attention/b_q", {"decoder/d_projected", back.d_projected}, "d_a");
  const auto d_keys =
      bench.trace.step({.id = "encoder/d_keys",
                        .title = "Back through v_a · tanh(…) to the encoder's side",
                        .formula = fmt::format("Σₜ d_scoreₜ v_a ∘ (1 − {}²)", hidden_in_words(attention)),
                        .from = {"decoder/d_scores", "attention/v_a", "decoder/queries", "attention/W_q",
                                 "encoder/h", "attention/W_k"},
                        .axes = {"source", "d_a"},
                        .note = "The gradient of hⱼ W_k."},
                       d.d_keys);
  const Named states = {"encoder/h", run.source.states}, keys = {"encoder/d_keys", d_keys};
  gradients.show(
      "attention/W_k",
      {.title = "How the loss changes with W_k",
       .formula = "encoder/hᵀ encoder/d_keys",
       .from = {"encoder/h", "encoder/d_keys"},
       .axes = {"hidden", "d_a"},
       .note = "All source words are read with the same W_k.",
       .worked = attn::worked_linear_backward_weight({states.id, states.tensor}, {keys.id, d_keys})},
      attn::linear_backward_weight(states.tensor, d_keys));
  if (attention.b_k) show_bias_gradient(gradients, "attention/b_k", keys, "d_a");
  const auto shares = attn::head(run.decoder.weights, 0);
  const Known<3> known_shares{"decoder/weights", shares}, d_context{"decoder/d_context", back.d_context};
  const auto through_context = attn::worked_transpose_matmul(known_shares, d_context);
  const auto through_keys =
      attn::worked_linear_backward_input({{{keys.id, d_keys}, {"attention/W_k", *attention.W_k}}});
  return bench.trace.step(
      {.id = "encoder/d_states",
       .title = "Back to the encoder's states through attention",
       .formula = "decoder/weightsᵀ decoder/d_context + encoder/d_keys W_kᵀ",
       .from = {"decoder/weights", "decoder/d_context", "encoder/d_keys", "attention/W_k"},
       .axes = {"source", "hidden"},
       .note = "The short way: every source word gets its gradient from the decoder directly, one step away. "
               "Without attention all of it would have to come through the last state.",
       .worked =
           [=](const Index& at) {
             return Worked::sum({through_context(at), through_keys(at)});
           }},
      attn::add(attn::matmul(attn::transpose(shares), back.d_context),
                attn::linear_backward_input(d_keys, *attention.W_k)));
}

/// What s_0 or c_0 adds to the rows: it was the last real row of each sample.
Tensor<3> at_last_word(const Tensor<2>& d_first, const std::vector<std::size_t>& lengths, std::size_t t) {
  Tensor<3> row({d_first.shape(0), std::size_t{1}, d_first.shape(1)}, 0.0);
  for (std::size_t b = 0; b < lengths.size(); ++b)
    if (t + 1 == lengths[b])
      for (std::size_t k = 0; k < d_first.shape(1); ++k) row(b, 0, k) = d_first(b, k);
  return row;
}

Tensor<3> encoder_backward(Workbench& bench, Gradients& gradients, const Seq2SeqRun& run,
                           const Tensor<3>& d_states, const DecoderBack& decoder) {
  auto& trace = bench.trace;
  const auto& lstm = run.encoder.forward;
  const auto& parameters = run.weights.encoder.forward;
  const std::size_t n = lstm.h.shape(1), hidden = lstm.h.shape(2);
  const Tensor<2> zeros({lstm.h.shape(0), hidden}, 0.0);
  const CellSteps cell = {lstm.i, lstm.f, lstm.g, lstm.o, lstm.c, rows_before(zeros, lstm.c)};
  attn::Recurrence recurrence(trace, "source", n);
  Tensor<3> d_h_after({lstm.h.shape(0), 1, hidden}, 0.0), d_c_after = d_h_after;
  for (std::size_t t = n; t-- > 0;)
    recurrence.row(t, [&] {
      const auto from_start = at_last_word(decoder.d_s_0, run.lengths, t);
      const auto d_h =
          trace.step({.id = "d_h",
                      .title = "Back to the encoder's states, from the last word",
                      .formula = "d_states + d_gatesₜ₊₁ W_hh (+ decoder/d_s_0 for the last word)",
                      .from = {"d_states", "d_gates", "W_hh", "decoder/d_s_0"},
                      .axes = {"source", "hidden"},
                      .note = "The way through d_gates and W_hh is the long one, from word to word."},
                     attn::add(attn::add(attn::steps_of(d_states, t, t + 1), from_start), d_h_after));
      const auto memory = attn::add(d_c_after, at_last_word(decoder.d_c_0, run.lengths, t));
      const auto [d_gates, d_c_before] = cell_backward(bench, cell, t, "source", d_h, memory);
      d_h_after = attn::linear(d_gates, parameters.W_hh);
      d_c_after = d_c_before;
    });
  work_out_cell_backward(recurrence, cell, "encoder/");
  const Known<3> known_states{"encoder/d_states", d_states};
  const Known<2> W_hh{"encoder/W_hh", parameters.W_hh};
  const Known<2> d_s_0{"decoder/d_s_0", decoder.d_s_0}, d_c_0{"decoder/d_c_0", decoder.d_c_0};
  const auto gates = recurrence.entries("d_gates"), d_c = recurrence.entries("d_c"),
             d_h = recurrence.entries("d_h");
  recurrence.work_out("d_h", [=, &lengths = run.lengths](const Index& at) {
    auto sum = std::vector{known_states(at)};
    if (at[1] + 1 == lengths[at[0]]) sum.push_back(d_s_0({at[0], at[2]}));
    if (at[1] + 1 < lengths[at[0]])
      sum.push_back(worked_times(W_hh, at[2], gates, {at[0], at[1] + 1, at[2]}));
    return Worked::sum(std::move(sum));
  });
  recurrence.work_out("d_c", [=, &lstm, &lengths = run.lengths](const Index& at) {
    const Known<3> o{"encoder/o", lstm.o}, c{"encoder/c", lstm.c}, f{"encoder/f", lstm.f};
    auto sum = std::vector{Worked::product({d_h(at), o(at), Worked(1.0) - square(tanh(c(at)))})};
    const Index after = {at[0], at[1] + 1, at[2]};
    if (at[1] + 1 == lengths[at[0]]) sum.push_back(d_c_0({at[0], at[2]}));
    if (at[1] + 1 < lengths[at[0]]) sum.push_back(Worked::product({d_c(after), f(after)}));
    return Worked::sum(std::move(sum));
  });
  recurrence.show();
  keep_cell(gradients, recurrence);
  const auto d_gates = recurrence.sequence<3>("d_gates");
  const Known<3> h{"h", lstm.h};
  const CellRead read = {run.X_source,
                         rows_before(zeros, lstm.h),
                         Known<3>{"X_source", run.X_source},
                         worked_row_before(h, "", nullptr),
                         "X_sourceₜ",
                         "hₜ₋₁",
                         {"X_source"},
                         {"h"},
                         "d_model"};
  show_cell_parameters(gradients, d_gates, read);
  return d_gates;
}

/// Back to the words that a cell read: d_gates W_ih, its first columns.
void show_d_words(Gradients& gradients, const std::string& X, const std::string& axis,
                  const std::string& group, const Tensor<3>& d_gates, const Tensor<2>& W_ih,
                  std::size_t d_model) {
  const Known<3> known{group + "d_gates", d_gates};
  const Known<2> W{group + "W_ih", W_ih};
  gradients.show(X,
                 {.title = "The words",
                  .formula = fmt::format("{0}d_gates {0}W_ih", group),
                  .from = {known.id, W.id},
                  .axes = {axis, "d_model"},
                  .note = "Training would change the vectors of the words, too.",
                  .worked = [=](const Index& at) { return worked_times(W, at[2], known, at); }},
                 columns_of(attn::linear(d_gates, W_ih), 0, d_model));
}

}  // namespace

void seq2seq_backward(Workbench& bench, Gradients& gradients, const Seq2SeqRun& run,
                      const WordsToWrite& words) {
  auto& trace = bench.trace;
  const auto& decoder = run.weights.decoder;
  const auto& probabilities = run.decoder.probabilities;
  const auto d_logits = gradients.show(
      "decoder/logits",
      {.title = "Back to the logits",
       .formula = "decoder/probabilities − 1 at the right word",
       .from = {"decoder/probabilities"},
       .axes = {"target", "vocabulary"},
       .note = "The derivative of −ln softmax: what is given to wrong words is too much, what the right word "
               "lacks is too little. Each row sums to 0.",
       .worked = attn::worked_cross_entropy_backward({"decoder/probabilities", probabilities}, words)},
      attn::cross_entropy_backward(probabilities, words));
  const std::size_t width = run.decoder.states.h.shape(2);
  const Known<3> h{"decoder/h", run.decoder.states.h}, context{"decoder/context", run.decoder.context},
      known_logits{"decoder/d_logits", d_logits};
  const auto joined_rows = attn::join(run.decoder.states.h, run.decoder.context);
  gradients.show("output/W",
                 {.title = "How the loss changes with output/W",
                  .formula = "Σₜ [h; context]ₜᵀ d_logitsₜ",
                  .from = {"decoder/h", "decoder/context", "decoder/d_logits"},
                  .axes = {"feature", "vocabulary"},
                  .note = "All steps share output/W: their gradients add up.",
                  .worked = worked_sum_over_rows(attn::worked_join(h, width, context), known_logits,
                                                 d_logits.shape(0), d_logits.shape(1))},
                 attn::linear_backward_weight(joined_rows, d_logits));
  gradients.show("output/b",
                 {.title = "How the loss changes with output/b",
                  .formula = "Σₜ d_logitsₜ",
                  .from = {"decoder/d_logits"},
                  .axes = {"vocabulary"},
                  .worked = attn::worked_linear_backward_bias(known_logits)},
                 attn::linear_backward_bias(d_logits));
  const auto back =
      trace.within("decoder", [&] { return decoder_backward(bench, gradients, run, d_logits); });
  show_d_words(gradients, "X_target", "target", "decoder/", back.d_gates, decoder.lstm.W_ih,
               run.X_target.shape(2));
  const auto d_states = source_backward(bench, gradients, run, back);
  const auto d_gates =
      trace.within("encoder", [&] { return encoder_backward(bench, gradients, run, d_states, back); });
  show_d_words(gradients, "X_source", "source", "encoder/", d_gates, run.weights.encoder.forward.W_ih,
               run.X_source.shape(2));
}

}  // namespace lessons
