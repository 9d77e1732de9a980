#include "lessons/seq2seq/steps.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "attn/ops/softmax.hpp"
#include "lessons/seq2seq/attention_steps.hpp"
#include "lessons/seq2seq/weights.hpp"

namespace lessons {

namespace {

/// What an LSTM reads and where, in words.
struct Reading {
  std::string input;                ///< "xₜ"
  std::string before;               ///< the state before, "hₜ₋₁"
  std::string memory_before;        ///< "cₜ₋₁"
  std::vector<std::string> inputs;  ///< ids
  std::string axis;                 ///< that of the words
};

/// What to notice in each tensor of an LSTM.
struct LstmNotes {
  std::string i{}, f{}, g{}, o{}, c{}, h{};
};

/// The six tensors of an LSTM, within the group of its weights.
void show_lstm(Workbench& bench, const Reading& reading, const attn::Lstm& run,
               const LstmNotes& notes) {
  const auto hidden = run.h.shape(2);
  auto from = reading.inputs;
  for (const char* weight : {"W_ih", "W_hh", "b_ih", "b_hh"}) from.emplace_back(weight);
  const auto show = [&](const char* id, const char* title, const std::string& formula,
                        const std::vector<std::string>& inputs, const std::string& note,
                        const Tensor<3>& tensor) {
    bench.trace.step({.id = id,
                      .title = title,
                      .formula = formula,
                      .from = inputs,
                      .axes = {reading.axis, "hidden"},
                      .note = note},
                     tensor);
  };
  const auto gate = [&](const char* function, std::size_t block) {
    const auto rows = fmt::format("[{}:{}]", block * hidden, (block + 1) * hidden);
    return fmt::format("{0}(W_ih{1} {2} + W_hh{1} {3} + b{1})", function, rows, reading.input,
                       reading.before);
  };
  show("i", "The input gate: how much is written?", gate("σ", 0), from, notes.i, run.i);
  show("f", "The forget gate: how much is kept?", gate("σ", 1), from, notes.f, run.f);
  show("g", "The candidate: what would be written?", gate("tanh", 2), from, notes.g, run.g);
  show("o", "The output gate: how much is shown?", gate("σ", 3), from, notes.o, run.o);
  show("c", "The memory", fmt::format("f ∘ {} + i ∘ g", reading.memory_before), {"f", "i", "g"}, notes.c,
       run.c);
  show("h", "The state", "o ∘ tanh(c)", {"o", "c"}, notes.h, run.h);
}

void show_decoder_lstm(Workbench& bench, const attn::Lstm& run) {
  if (attends_as(bench, "bahdanau"))
    show_lstm(
        bench, {"[yₜ; contextₜ]", "sₜ₋₁", "cₜ₋₁", {"X_target"}, "target"}, run,
        {.i = "yₜ is row t of X_target. The context of step t is further down, although the cell needs it "
              "here: attention comes before the cell. The first s before is s_0.",
         .c = "The first c before is c_0.",
         .h = "The paper calls it sₜ. It has read the word before and the context, and the next step will "
              "ask with it."});
  else
    show_lstm(
        bench, {"yₜ", "hₜ₋₁", "cₜ₋₁", {"X_target"}, "target"}, run,
        {.i = "yₜ is row t of X_target. The cell sees no context: attention comes after it. The first h "
              "before is s_0.",
         .c = "The first c before is c_0.",
         .h = "It has read the words before, and in this very step it will ask."});
}

/// For an LSTM from left to right.
LstmNotes notes_on_encoder(const Workbench& bench) {
  LstmNotes notes = {
      .i = "σ(x) = 1 / (1 + e⁻ˣ) is between 0 and 1. xₜ is row t of X_source, hₜ₋₁ the row before of the "
           "state "
           "further down (0 before the first word), b is b_ih + b_hh, and [begin:end] are rows of the "
           "weights. "
           "Each row needs the one before: recurrence cannot compute them side by side.",
      .f = "The LSTM of 1997 had no such gate and kept everything; Gers et al. added it in 2000.",
      .g = "The third block, although it is no gate: tanh is between −1 and 1.",
      .c = "What was there, as far as it is kept, and what is new, as far as it is written. ∘ is number by "
           "number. On the way through c nothing is squashed, so with f near 1 a number lasts for long.",
      .h = "Row t has read the words up to t."};
  if (bench.plan.source.is_padded())
    notes.i += " Where <pad> stands nothing is computed: the rows are zeros.";
  if (!bench.options.bidirectional) notes.h += " These are the states that attention will look at.";
  return notes;
}

}  // namespace

void show_encoder(Workbench& bench, const attn::RecurrentEncoder& encoder) {
  auto& trace = bench.trace;
  trace.within("encoder", [&] {
    show_lstm(bench, {"xₜ", "hₜ₋₁", "cₜ₋₁", {"X_source"}, "source"}, encoder.forward,
              notes_on_encoder(bench));
  });
  if (encoder.reverse)
    trace.within("encoder/reverse", [&] {
      show_lstm(bench, {"xₜ", "hₜ₊₁", "cₜ₊₁", {"X_source"}, "source"}, *encoder.reverse,
                {.i = "The same from right to left: before row t comes row t + 1.",
                 .h = "Row t has read the words from the last one back to t."});
    });
  if (encoder.reverse)
    trace.step(
        {.id = "encoder/states",
         .title = "Both states of each word, side by side",
         .formula = "[encoder/h; encoder/reverse/h]",
         .from = {"encoder/h", "encoder/reverse/h"},
         .axes = {"source", "hidden"},
         .note =
             "Each row has read the whole sentence, its own word last on both sides. Bahdanau et al. call it "
             "an annotation. The decoder's state is as wide, so that it can start from both ends."},
        encoder.states);
}

void show_initial_state(Workbench& bench, const attn::LstmState& initial) {
  const bool both = bench.options.bidirectional;
  const auto show = [&](const char* id, const char* title, const std::string& part, const char* note,
                        const Tensor<2>& tensor) {
    std::vector<std::string> from = {"encoder/" + part};
    if (both) from.push_back("encoder/reverse/" + part);
    bench.trace.step(
        {.id = id,
         .title = title,
         .formula = both ? fmt::format("[last row of encoder/{0}; row 0 of encoder/reverse/{0}]", part)
                         : fmt::format("last row of encoder/{}", part),
         .from = from,
         .axes = {"hidden"},
         .note = note},
        tensor);
  };
  show("decoder/s_0", "The decoder starts where the encoder ended", "h",
       bench.plan.source.is_padded() ? "The last real row of each sentence, not of the padding." : "",
       initial.h);
  show("decoder/c_0", "… in its memory as well", "c", "", initial.c);
}

Tensor<3> show_decoder(Workbench& bench, const attn::RecurrentDecoder& decoder) {
  const bool attends_first = attends_as(bench, "bahdanau"), has_target = bench.plan.target.size() > 0;
  auto& trace = bench.trace;
  return trace.within("decoder", [&] {
    show_decoder_lstm(bench, decoder.lstm);
    if (attends_first)
      trace.step({.id = "queries",
                  .title = "The state that asks: the one before",
                  .formula = "[s_0; all rows of h but the last]",
                  .from = {"s_0", "h"},
                  .axes = {"target", "hidden"},
                  .note = "At step t attention comes first, so there is only sₜ₋₁ to ask with."},
                 decoder.queries);
    show_source_attention(bench, decoder.source);
    if (decoder.attentional)
      trace.step(
          {.id = "attentional",
           .title = "Context and state in one vector",
           .formula = "tanh([context; h] W_c)",
           .from = {"context", "h", "attention/W_c"},
           .axes = {"target", "hidden"},
           .note = "Luong et al., equation 5. Code that hands the bare context on leaves this out, and "
                   "with it most of what the decoder knows."},
          *decoder.attentional);
    trace.step({.id = "logits",
                .title = "A number for each word that may come next",
                .formula = attends_first ? "[sₜ; contextₜ] W + b" : "attentional W",
                .from = attends_first ? std::vector<std::string>{"h", "context", "output/W", "output/b"}
                                      : std::vector<std::string>{"attentional", "output/W"},
                .axes = {"target", "vocabulary"}},
               decoder.logits);
    return trace.step(
        {.id = "probabilities",
         .title = "Which word comes next?",
         .formula = "softmax(logits)",
         .from = {"logits"},
         .axes = {"target", "vocabulary"},
         .note = has_target ? "Training would raise, in each row, the number of the word after which the row "
                              "is named."
                            : "The largest number of a row is that of the word after which the row is named: "
                              "it was written."},
        attn::softmax(decoder.logits));
  });
}


}  // namespace lessons
