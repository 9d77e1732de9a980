#include "lessons/seq2seq/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/steps.hpp"
#include "lessons/seq2seq/mistakes.hpp"

namespace lessons {

namespace {

attn::LstmWeights draw_decoder_lstm(Workbench& bench) {
  const auto d_model = bench.d_model(), width = state_width(bench);
  const bool reads_context = attends_before_the_cell(bench.options);
  const attn::About about = {.id = "W_ih",
                             .title = reads_context ? "How the decoder's gates read a word and a context"
                                                    : "How the decoder's gates read a word",
                             .axes = {"gate", reads_context ? "feature" : "d_model"},
                             .note = reads_context
                                         ? fmt::format("Columns 0 to {} read the word, {} to {} the context.",
                                                       d_model - 1, d_model, d_model + width - 1)
                                         : ""};
  return bench.trace.within(
      "decoder", [&] { return draw_lstm(bench, about, d_model + (reads_context ? width : 0), width); });
}

}  // namespace

DecoderWeights draw_decoder(Workbench& bench, const OutputWords& words) {
  const auto vocabulary = words.vocabulary.size();
  const auto width = state_width(bench);
  const bool attends_first = attends_before_the_cell(bench.options);
  DecoderWeights weights;
  weights.lstm = draw_decoder_lstm(bench);
  weights.attention = draw_source_attention(bench);
  if (!attends_first) {
    weights.W_c = bench.input<2>(
        {.id = "attention/W_c",
         .title = "Makes one vector of the context and the state",
         .note = fmt::format("Rows 0 to {} read the context, the others the state.", width - 1)},
        {2 * width, width});
    weights.b_c = bench.input_if_given<1>({.id = "attention/b_c", .title = "Added to that vector"});
  }
  weights.W = bench.input<2>(
      {.id = "output/W",
       .title = "Makes a number for each word that may be written",
       .note =
           (attends_first ? fmt::format("Rows 0 to {} read the state, the others the context. ", width - 1)
                          : "") +
           words.note},
      {attends_first ? 2 * width : width, vocabulary});
  if (attends_first || bench.has_given("output/b"))
    weights.b = bench.input<1>({.id = "output/b", .title = "Bias of each word's number: 0 before training"},
                               {vocabulary});
  return weights;
}

LstmWords decoder_words(const Workbench& bench) {
  if (attends_before_the_cell(bench.options))
    return {
        .axis = "target",
        .input = "[yₜ; contextₜ]",
        .before = "hₜ₋₁",
        .memory_before = "cₜ₋₁",
        .inputs = {"X_target"},
        .notes = {
            .i = "yₜ is row t of X_target. The context of step t is further down, although the cell needs it "
                 "here: attention comes before the cell. The first h before is s_0.",
            .c = "The first c before is c_0.",
            .h = "The paper calls it sₜ. It has read the word before and the context, and the next step will "
                 "ask with it."}};
  return {.axis = "target",
          .input = "yₜ",
          .before = "hₜ₋₁",
          .memory_before = "cₜ₋₁",
          .inputs = {"X_target"},
          .notes = {
              .i = "yₜ is row t of X_target. The cell sees no context: attention comes after it. The first h "
                   "before is s_0.",
              .c = "The first c before is c_0.",
              .h = "It has read the words before, and in this very step it will ask."}};
}

namespace {

attn::About about_logits(bool attends_first, bool has_bias) {
  attn::About about = {.id = "logits",
                       .title = "A number for each word that may come next",
                       .formula = "attentional W",
                       .from = {"attentional", "output/W"},
                       .axes = {"target", "vocabulary"}};
  if (attends_first) {
    about.formula = "[hₜ; contextₜ] W";
    about.from = {"h", "context", "output/W"};
  }
  if (has_bias) {
    about.formula += " + b";
    about.from.emplace_back("output/b");
  }
  return about;
}

attn::About about_probabilities(bool has_target) {
  return {.id = "probabilities",
          .title = "Which word comes next?",
          .formula = "softmax(logits)",
          .from = {"logits"},
          .axes = {"target", "vocabulary"},
          .note = has_target
                      ? "Training would raise, in each row, the number of the word after which the row is "
                        "named."
                      : "The largest number of a row is that of the word after which the row is named: it "
                        "was written."};
}

/// Attend, then step. Returns the state and the logits.
std::pair<LstmState, Tensor<3>> bahdanau_step(Workbench& bench, const Tensor<3>& y, const LstmState& before,
                                              const Source& source, const DecoderWeights& weights) {
  auto& trace = bench.trace;
  attn::About asks = {.id = "queries",
                      .title = "The state that asks: the one before",
                      .formula = "[s_0; all rows of h but the last]",
                      .from = {"s_0", "h"},
                      .axes = {"target", "hidden"},
                      .note = "At step t attention comes first, so there is only hₜ₋₁ to ask with."};
  if (asks_with_word(bench)) {
    asks.title = "What asks: the state before and the word that is read";
    asks.formula = "[s_0 and all rows of h but the last; X_target]";
    asks.from.emplace_back("X_target");
    asks.axes = {"target", "feature"};
    asks.note = "At step t attention comes first, so there is only hₜ₋₁, and the word yₜ, to ask with.";
  }
  const auto queries = trace.step(asks, asks_with_word(bench) ? attn::join(before.h, y) : before.h);
  const auto context = attend_to_source(bench, queries, source, weights.attention).context;
  auto state = lstm_cell(bench, attn::join(y, context), before, weights.lstm, decoder_words(bench));
  return {state, trace.step(about_logits(true, true),
                            attn::linear(attn::join(state.h, context), weights.W, *weights.b),
                            {{"concat-order:logits", [&] {
                                return attn::linear(attn::join(context, state.h), weights.W, *weights.b);
                              }}})};
}

/// Step, then attend. Returns the state and the logits.
std::pair<LstmState, Tensor<3>> luong_step(Workbench& bench, const Tensor<3>& y, const LstmState& before,
                                           const Source& source, const DecoderWeights& weights) {
  auto& trace = bench.trace;
  auto state = lstm_cell(bench, y, before, weights.lstm, decoder_words(bench));
  const auto context = attend_to_source(bench, state.h, source, weights.attention, &before.h).context;
  attn::About about = {.id = "attentional",
                       .title = "Context and state in one vector",
                       .formula = fmt::format("tanh([context; h] W_c{})", plus_bias(bench, "c")),
                       .from = {"context", "h", "attention/W_c"},
                       .axes = {"target", "hidden"},
                       .note =
                           "Luong et al., equation 5. Code that hands the bare context on leaves this out, "
                           "and with it most of what the decoder knows."};
  if (weights.b_c) about.from.emplace_back("attention/b_c");
  const auto attentional = trace.step(about, attn::tanh(weights.c()(attn::join(context, state.h))),
                                      mistakes_of_attentional(context, state.h, weights.c()));
  return {state, trace.step(about_logits(false, weights.b.has_value()), weights.logits()(attentional))};
}

/// The first of the largest numbers in the one row of sample b.
std::size_t likeliest(const Tensor<3>& probabilities, std::size_t b) {
  const double* row = &probabilities(b, 0, 0);
  return attn::argmax(row, probabilities.shape(2));
}

}  // namespace

DecoderStep decoder_step(Workbench& bench, const Tensor<3>& y, const LstmState& before, const Source& source,
                         const DecoderWeights& weights) {
  const bool has_target = bench.plan.target.size() > 0;
  auto& trace = bench.trace;
  return trace.within("decoder", [&]() -> DecoderStep {
    const auto make_step = weights.attends_first() ? bahdanau_step : luong_step;
    const auto [state, logits] = make_step(bench, y, before, source, weights);
    return {state, trace.step(about_probabilities(has_target), attn::softmax(logits))};
  });
}

namespace {

/// The entry one row before: of the first row the one of `first` [batch×1×hidden], which is shown as `id`.
attn::WorkedOut worked_after(const std::string& id, const Tensor<3>& first, const attn::WorkedOut& rows) {
  return [=, &first](attn::Index at) {
    if (at[1] == 0) return attn::Worked({id, {at[0], at[2]}}, first(at[0], 0, at[2]));
    --at[1];
    return rows(at);
  };
}

/// Says how the entries of all steps come about.
void work_out_decoder(Workbench& bench, attn::Recurrence& recurrence, const Tensor<3>& X_target,
                      const LstmState& initial, const Source& source, const DecoderWeights& weights) {
  const attn::Known words = {std::string("X_target"), X_target};
  const attn::Known<2> W = {"output/W", weights.W};
  const auto h = recurrence.entries("h"), context = recurrence.entries("context");
  const auto before = worked_after("s_0", initial.h, h);
  const std::size_t width = initial.h.shape(2);
  const auto input =
      weights.attends_first() ? attn::worked_join(words, X_target.shape(2), context) : attn::WorkedOut(words);
  work_out_lstm(recurrence, weights.lstm, input, before,
                worked_after("c_0", initial.c, recurrence.entries("c")));
  const auto bias = [](const char* id, const std::optional<Tensor<1>>& b) {
    return b ? std::optional(attn::Known<1>{id, *b}) : std::nullopt;
  };
  const auto b = bias("output/b", weights.b);
  if (weights.attends_first()) {
    recurrence.work_out("queries", asks_with_word(bench) ? attn::worked_join(before, width, words) : before);
    recurrence.work_out("logits", attn::worked_linear(attn::worked_join(h, width, context), W, b));
  } else {
    const auto mixed = attn::worked_linear(attn::worked_join(context, width, h),
                                           attn::Known<2>{"attention/W_c", *weights.W_c},
                                           bias("attention/b_c", weights.b_c));
    recurrence.work_out("attentional", [=](const attn::Index& at) { return tanh(mixed(at)); });
    recurrence.work_out("logits", attn::worked_linear(recurrence.entries("attentional"), W, b));
  }
  work_out_attention(bench, recurrence, source, weights.attention);
  recurrence.work_out("probabilities",
                      attn::worked_softmax(recurrence.entries("logits"), weights.W.shape(1)));
}

}  // namespace

Decoder show_decoder(Workbench& bench, attn::Recurrence& recurrence, const Tensor<3>& X_target,
                     const LstmState& initial, const Source& source, const DecoderWeights& weights) {
  return bench.trace.within("decoder", [&]() -> Decoder {
    work_out_decoder(bench, recurrence, X_target, initial, source, weights);
    recurrence.show({"i", "f", "g", "o", "c", "h"});
    recurrence.show();
    const auto pairs = [&](const char* id) {
      return attends_as(bench, "multihead") ? recurrence.sequence<4>(id)
                                            : attn::stack_heads(std::vector{recurrence.sequence<3>(id)});
    };
    const auto rows = [&](const char* id) { return recurrence.sequence<3>(id); };
    Decoder decoder = {.states = {rows("h"), rows("c")},
                       .scores = pairs("scores"),
                       .weights = pairs("weights"),
                       .context = rows("context"),
                       .probabilities = rows("probabilities"),
                       .gates = attn::stack_heads(std::vector{rows("i"), rows("f"), rows("g"), rows("o")}),
                       .logits = rows("logits"),
                       .attentional = std::nullopt};
    if (!attends_before_the_cell(bench.options)) decoder.attentional = rows("attentional");
    return decoder;
  });
}

Decoder decode_taught(Workbench& bench, const Tensor<3>& X_target, const LstmState& initial,
                      const Source& source, const DecoderWeights& weights) {
  const std::size_t n = X_target.shape(1);
  attn::Recurrence recurrence(bench.trace, "target", n);
  auto state = initial;
  for (std::size_t t = 0; t < n; ++t)
    state = recurrence.row(t, [&] {
      return decoder_step(bench, attn::steps_of(X_target, t, t + 1), state, source, weights).state;
    });
  return show_decoder(bench, recurrence, X_target, initial, source, weights);
}

std::vector<std::vector<std::size_t>> decode_greedily(Workbench& bench, attn::Recurrence& recurrence,
                                                      const attn::About& reads, const Tensor<3>& start,
                                                      const LstmState& initial, const Source& source,
                                                      const DecoderWeights& weights,
                                                      const Vocabulary& vocabulary,
                                                      const std::vector<std::size_t>& most_steps) {
  const std::size_t end = vocabulary.words.size() - 1;
  std::vector<std::vector<std::size_t>> written(start.shape(0));
  const auto is_finished = [&](std::size_t b) {
    return written[b].size() >= most_steps.at(b) || (!written[b].empty() && written[b].back() == end);
  };
  auto y = start;
  auto state = initial;
  bool is_writing = true;
  for (std::size_t t = 0; is_writing; ++t) {
    const auto step = recurrence.row(
        t, [&] { return decoder_step(bench, bench.trace.step(reads, y), state, source, weights); });
    state = step.state;
    y.fill(0.0);
    is_writing = false;
    for (std::size_t b = 0; b < written.size(); ++b) {
      if (is_finished(b)) continue;
      const auto word = likeliest(step.probabilities, b);
      written[b].push_back(word);
      if (is_finished(b)) continue;
      std::copy_n(&vocabulary.vectors(word, 0), y.shape(2), &y(b, 0, 0));
      is_writing = true;
    }
  }
  return written;
}

}  // namespace lessons
