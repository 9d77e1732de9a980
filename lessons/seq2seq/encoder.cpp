#include "lessons/seq2seq/encoder.hpp"

#include <fmt/format.h>

#include "attn/ops/steps.hpp"
#include "lessons/seq2seq/mistakes.hpp"

namespace lessons {

std::size_t state_width(const Workbench& bench) {
  return bench.options.hidden.value() * (bench.options.bidirectional ? 2 : 1);
}

std::string encoder_states_id(const Workbench& bench) {
  return bench.options.bidirectional ? "encoder/states" : "encoder/h";
}

LstmState Encoder::initial() const {
  return {attn::stack_steps({s_0}), attn::stack_steps({c_0})};
}

EncoderWeights draw_encoder(Workbench& bench) {
  const auto hidden = *bench.options.hidden, d_model = bench.d_model();
  const attn::About forward = {
      .id = "W_ih",
      .title = "How the encoder's gates read a word",
      .axes = {"gate", "d_model"},
      .note =
          fmt::format("Four blocks of {} rows, one for each of i, f, g and o, as PyTorch keeps them. They "
                      "multiply from the left: W_ih x. ONNX has the same blocks in the order i, o, f, g: a "
                      "convention, but weights of one order are useless in the other.",
                      hidden)};
  const attn::About reverse = {.id = "W_ih",
                               .title = "How the gates of the second encoder read a word",
                               .axes = {"gate", "d_model"},
                               .note = "It reads the sentence from its last word to its first."};
  auto& trace = bench.trace;
  EncoderWeights weights;
  trace.within("encoder", [&] { weights.forward = draw_lstm(bench, forward, d_model, hidden); });
  if (bench.options.bidirectional)
    trace.within("encoder/reverse", [&] { weights.reverse = draw_lstm(bench, reverse, d_model, hidden); });
  return weights;
}

LstmWords encoder_words(const Workbench& bench, Direction direction) {
  if (direction == Direction::reverse)
    return {.axis = "source",
            .input = "xₜ",
            .before = "hₜ₊₁",
            .memory_before = "cₜ₊₁",
            .inputs = {"X_source"},
            .notes = {.i = "The same from right to left: before row t comes row t + 1.",
                      .h = "Row t has read the words from the last one back to t."},
            .mistakes_in_padding = {"rnn-reversed-padding"}};
  LstmWords words = {
      .axis = "source",
      .input = "xₜ",
      .before = "hₜ₋₁",
      .memory_before = "cₜ₋₁",
      .inputs = {"X_source"},
      .notes =
          {.i =
               "σ(x) = 1 / (1 + e⁻ˣ) is between 0 and 1. xₜ is row t of X_source, hₜ₋₁ the row before of the "
               "state further down (0 before the first word), b is b_ih + b_hh, and [begin:end] are rows of "
               "the weights. Each row needs the one before: recurrence cannot compute them side by side.",
           .f = "The LSTM of 1997 had no such gate and kept everything; Gers et al. added it in 2000.",
           .g = "The third block, although it is no gate: tanh is between −1 and 1.",
           .c = "What was there, as far as it is kept, and what is new, as far as it is written. ∘ is number "
                "by number. On the way through c nothing is squashed, so with f near 1 a number lasts for "
                "long.",
           .h = "Row t has read the words up to t."},
      .mistakes_in_padding = {"rnn-padding-rows", "rnn-last-in-padding:rows"}};
  if (bench.plan.source.is_padded())
    words.notes.i += " Where <pad> stands nothing is computed: the rows are zeros.";
  if (!bench.options.bidirectional) words.notes.h += " Attention looks at these states.";
  return words;
}

namespace {

/// What is left when the source has been read: `decoder/s_0` of `h`, `decoder/c_0` of `c`.
Tensor<2> first_of_decoder(Workbench& bench, const char* id, const char* title, const std::string& part,
                           const char* note, const Tensor<2>& last, const attn::WorkedOut& worked,
                           const attn::Mistakes& mistakes) {
  const bool both = bench.options.bidirectional;
  std::vector<std::string> from = {"encoder/" + part};
  if (both) from.push_back("encoder/reverse/" + part);
  return bench.trace.step(
      {.id = id,
       .title = title,
       .formula = both ? fmt::format("[last row of encoder/{0}; row 0 of encoder/reverse/{0}]", part)
                       : fmt::format("last row of encoder/{}", part),
       .from = from,
       .axes = {"hidden"},
       .note = note,
       .worked = worked},
      last, mistakes);
}

/// Which entry of the last rows that were read each number of the first state is.
attn::WorkedOut worked_first(const std::string& part, const Tensor<3>& forward, const Tensor<3>* reverse,
                             const std::vector<std::size_t>& lengths) {
  const attn::WorkedOut last = attn::worked_copy<3>({"encoder/" + part, forward}, [&](const attn::Index& at) {
    return attn::Index{at[0], lengths[at[0]] - 1, at[1]};
  });
  if (reverse == nullptr) return last;
  const auto first = attn::worked_copy<3>({"encoder/reverse/" + part, *reverse}, [](const attn::Index& at) {
    return attn::Index{at[0], 0, at[1]};
  });
  return attn::worked_join(last, forward.shape(2), first);
}

}  // namespace

Encoder encode(Workbench& bench, const Tensor<3>& X, const std::vector<std::size_t>& lengths,
               const EncoderWeights& weights) {
  auto& trace = bench.trace;
  const auto read = [&](const char* group, const attn::LstmWeights& lstm, Direction direction) {
    return trace.within(
        group, [&] { return run_lstm(bench, X, lengths, lstm, direction, encoder_words(bench, direction)); });
  };
  Encoder encoder;
  encoder.forward = read("encoder", weights.forward, Direction::forward);
  encoder.states = encoder.forward.h;
  auto last_h = encoder.forward.last_h, last_c = encoder.forward.last_c;
  if (weights.reverse) {
    encoder.reverse = read("encoder/reverse", *weights.reverse, Direction::reverse);
    encoder.states = trace.step(
        {.id = "encoder/states",
         .title = "Both states of each word, side by side",
         .formula = "[encoder/h; encoder/reverse/h]",
         .from = {"encoder/h", "encoder/reverse/h"},
         .axes = {"source", "hidden"},
         .note =
             "Each row has read the whole sentence, its own word last on both sides. Bahdanau et al. call it "
             "an annotation. The decoder's state is as wide, so that it can start from both ends.",
         .worked = attn::worked_join(attn::Known{std::string("encoder/h"), encoder.forward.h},
                                     encoder.forward.h.shape(2),
                                     attn::Known{std::string("encoder/reverse/h"), encoder.reverse->h})},
        attn::join(encoder.forward.h, encoder.reverse->h));
    last_h = attn::join(last_h, encoder.reverse->last_h);
    last_c = attn::join(last_c, encoder.reverse->last_c);
  }
  const auto worked = [&](const char* part, Tensor<3> Lstm::*rows) {
    return worked_first(part, encoder.forward.*rows, encoder.reverse ? &((*encoder.reverse).*rows) : nullptr,
                        lengths);
  };
  const auto mistakes = [&](Tensor<3> Lstm::*rows, const Tensor<2>& last, bool is_memory) {
    return mistakes_of_first_state(encoder.forward.*rows,
                                   encoder.reverse ? &((*encoder.reverse).*rows) : nullptr, last, lengths,
                                   is_memory);
  };
  encoder.s_0 = first_of_decoder(
      bench, "decoder/s_0", "The decoder starts where the encoder ended", "h",
      bench.plan.source.is_padded() ? "The last real row of each sentence, not of the padding." : "", last_h,
      worked("h", &Lstm::h), mistakes(&Lstm::h, last_h, false));
  encoder.c_0 = first_of_decoder(bench, "decoder/c_0", "The decoder's first memory cell", "c", "", last_c,
                                 worked("c", &Lstm::c), mistakes(&Lstm::c, last_c, true));
  return encoder;
}

}  // namespace lessons
