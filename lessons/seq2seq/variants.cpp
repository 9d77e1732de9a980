#include "lessons/seq2seq/variants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "attn/text/width.hpp"
#include "lessons/seq2seq/attention.hpp"

namespace lessons {

namespace {

void explain_bahdanau(attn::Trace& trace) {
  trace.note(
      "order", "Bahdanau: attend, then step",
      "The state before asks, and the context goes into the cell, which needs it to make the current state. "
      "Three things differ from the paper: the cell (an LSTM in place of the gated unit of Cho et al. 2014), "
      "the decoder's first state (the encoder's last in place of tanh(W_s h₁) of the backward one) and the "
      "output (one matrix in place of a maxout layer). The paper's encoder reads both ways: --bidirectional.",
      "contextₜ = Σⱼ softmax(a(hₜ₋₁, eⱼ)) eⱼ\n"
      "hₜ = LSTM([yₜ; contextₜ], hₜ₋₁)\n"
      "logitsₜ = [hₜ; contextₜ] W + b");
}

void explain_bahdanau_input(attn::Trace& trace) {
  trace.note("order", "Bahdanau with the word: attend, then step",
             "The state before asks together with the word that is read. Bahdanau's own query is the state "
             "alone: it does not know yet which word was written last. The rest is as with bahdanau: the "
             "context goes into the cell.",
             "contextₜ = Σⱼ softmax(a([hₜ₋₁; yₜ], eⱼ)) eⱼ\n"
             "hₜ = LSTM([yₜ; contextₜ], hₜ₋₁)\n"
             "logitsₜ = [hₜ; contextₜ] W + b");
}

void explain_luong(attn::Trace& trace) {
  trace.note(
      "order", "Luong: step, then attend",
      "The cell makes its step first, and the new state asks. Context and state are made one vector, and "
      "only that is read out. Input feeding (section 3.3), which hands that vector to the next step of the "
      "cell, is left out here, so the context does not enter the cell.",
      "hₜ = LSTM(yₜ, hₜ₋₁)\n"
      "contextₜ = Σⱼ softmax(score(hₜ, eⱼ)) eⱼ\n"
      "attentionalₜ = tanh([contextₜ; hₜ] W_c)\n"
      "logitsₜ = attentionalₜ W");
}

void explain_multihead(attn::Trace& trace) {
  trace.note(
      "order", "Multi-head: step, then attend with several heads",
      "The order of Luong et al. with the attention of a transformer. Context and state are joined before "
      "they are read out: the context alone would hold the decoder's state in its weights only.",
      "hₜ = LSTM(yₜ, hₜ₋₁)\n"
      "contextₜ = MultiHead(hₜ W_Q, e W_K, e W_V) W_O\n"
      "attentionalₜ = tanh([contextₜ; hₜ] W_c)\n"
      "logitsₜ = attentionalₜ W");
}

/// The variants side by side: which state asks, and where the context goes.
void compare_variants(Workbench& bench) {
  const auto line = [](const std::string& name, const char* asks, const char* score, const char* goes) {
    return attn::pad_right(name, 17) + attn::pad_right(asks, 9) + attn::pad_right(score, 29) + goes;
  };
  std::vector<std::string> lines = {
      line("  --attention", "asks", "score of source word j", "  context goes to")};
  const auto add = [&](const std::string& name, const char* asks, const char* score, const char* goes) {
    lines.push_back(line((bench.options.attention == name ? "→ " : "  ") + name, asks, score, goes));
  };
  add("bahdanau", "hₜ₋₁", "v_a · tanh(hₜ₋₁ W_q + eⱼ W_k)", "  LSTM and word");
  add("bahdanau-input", "hₜ₋₁, yₜ", "the same with [hₜ₋₁; yₜ] W_q", "  LSTM and word");
  add("luong-dot", "hₜ", "hₜ · eⱼ", "  word");
  add("luong-general", "hₜ", "hₜ W_a · eⱼ", "  word");
  add("luong-concat", "hₜ", "v_a · tanh([hₜ; eⱼ] W_a)", "  word");
  add("multihead", "hₜ", "(hₜ W_Q)ᵢ · (eⱼ W_K)ᵢ / √d_k", "  word");
  bench.trace.note(
      "variants", "Other decoders: which state asks, and where does the context go?",
      "The decoder asks with its state before the step, hₜ₋₁, or after it, hₜ; and the context goes into its "
      "LSTM or only into the choice of the word. yₜ is the word that it reads, eⱼ the state of source word "
      "j. → marks this run.",
      fmt::format("{}", fmt::join(lines, "\n")));
}

}  // namespace

void explain_variants(Workbench& bench) {
  compare_variants(bench);
  if (attends_as(bench, "bahdanau"))
    explain_bahdanau(bench.trace);
  else if (asks_with_word(bench))
    explain_bahdanau_input(bench.trace);
  else if (attends_as(bench, "multihead"))
    explain_multihead(bench.trace);
  else
    explain_luong(bench.trace);
}

}  // namespace lessons
