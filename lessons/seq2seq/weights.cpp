#include "lessons/seq2seq/weights.hpp"

#include <fmt/format.h>

#include <utility>

namespace lessons {

namespace {

/// Names the rows of the weights of an LSTM: i0, i1, …, f0, …, g0, …, o0, ….
void label_gates(Workbench& bench, std::size_t hidden) {
  std::vector<std::string> rows;
  for (const char gate : {'i', 'f', 'g', 'o'})
    for (std::size_t unit = 0; unit < hidden; ++unit) rows.push_back(fmt::format("{}{}", gate, unit));
  bench.trace.label("gate", {{rows}});
}

/// `columns` names what W_ih reads and says so.
attn::LstmWeights draw_lstm(Workbench& bench, const attn::About& W_ih, std::size_t d_in,
                               std::size_t hidden) {
  label_gates(bench, hidden);
  auto input_weight = bench.left_weight(W_ih, 4 * hidden, d_in);
  auto state_weight = bench.left_weight(
      {.id = "W_hh", .title = "… and the state before", .axes = {"gate", "hidden"}}, 4 * hidden, hidden);
  auto input_bias =
      bench.constant({.id = "b_ih", .title = "… and a bias, at first 0", .axes = {"gate"}}, 4 * hidden, 0.0);
  auto state_bias = bench.constant({.id = "b_hh",
                                    .title = "… and another",
                                    .axes = {"gate"},
                                    .note = "One would do. PyTorch keeps two, and so does this lesson."},
                                   4 * hidden, 0.0);
  return {std::move(input_weight), std::move(state_weight), std::move(input_bias), std::move(state_bias)};
}

attn::RecurrentEncoderWeights draw_encoder(Workbench& bench) {
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
  attn::RecurrentEncoderWeights weights;
  trace.within("encoder", [&] { weights.forward = draw_lstm(bench, forward, d_model, hidden); });
  if (bench.options.bidirectional)
    trace.within("encoder/reverse", [&] { weights.reverse = draw_lstm(bench, reverse, d_model, hidden); });
  return weights;
}

attn::LstmWeights draw_decoder_lstm(Workbench& bench) {
  const auto d_model = bench.d_model(), width = state_width(bench);
  const bool reads_context = attends_as(bench, "bahdanau");
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

attn::SourceAttentionWeights draw_bahdanau(Workbench& bench) {
  const auto width = state_width(bench), d_a = *bench.options.d_a;
  const auto W_q = bench.weight({.id = "W_q",
                                 .title = "How scoring reads the decoder's state",
                                 .axes = {"hidden", "d_a"},
                                 .note = "The transpose of W_a in Bahdanau et al., appendix A.1.2."},
                                width, d_a);
  const auto W_k = bench.weight({.id = "W_k",
                                 .title = "… and a state of the encoder",
                                 .axes = {"hidden", "d_a"},
                                 .note = "The transpose of their U_a."},
                                width, d_a);
  const auto v_a = bench.weight({.id = "v_a", .title = "What each unit counts for", .axes = {"d_a"}}, d_a);
  return attn::bahdanau_attention(W_q, W_k, v_a);
}

attn::SourceAttentionWeights draw_luong_general(Workbench& bench) {
  const auto width = state_width(bench);
  return attn::luong_general_attention(
      bench.weight({.id = "W_a",
                    .title = "How the decoder's numbers meet the encoder's",
                    .axes = {"hidden", "feature"},
                    .note = "A row for each number of hₜ, a column for each number of h̄ₛ."},
                   width, width));
}

attn::SourceAttentionWeights draw_luong_concat(Workbench& bench) {
  const auto width = state_width(bench), d_a = *bench.options.d_a;
  const auto W_a = bench.weight({.id = "W_a",
                                 .title = "How scoring reads both states, end to end",
                                 .axes = {"feature", "d_a"},
                                 .note = fmt::format("Rows 0 to {} read hₜ, the others h̄ₛ.", width - 1)},
                                2 * width, d_a);
  const auto v_a = bench.weight({.id = "v_a", .title = "What each unit counts for", .axes = {"d_a"}}, d_a);
  return attn::luong_concat_attention(W_a, v_a);
}

attn::SourceAttentionWeights draw_multihead(Workbench& bench) {
  const auto width = state_width(bench);
  const auto draw = [&](const char* id, const char* title, std::vector<std::string> axes) {
    return bench.weight({.id = id, .title = title, .axes = std::move(axes)}, width, width);
  };
  auto W_Q = draw("W_Q", "Makes the queries of all heads, of the decoder's states", {"hidden", "head·d_k"});
  auto W_K = draw("W_K", "Makes the keys, of the encoder's", {"hidden", "head·d_k"});
  auto W_V = draw("W_V", "Makes the values", {"hidden", "head·d_v"});
  auto W_O = draw("W_O", "Mixes what the heads found", {"head·d_v", "hidden"});
  return attn::multihead_source_attention({W_Q, W_K, W_V, W_O}, bench.heads());
}

attn::SourceAttentionWeights draw_attention(Workbench& bench) {
  if (attends_as(bench, "bahdanau")) return draw_bahdanau(bench);
  if (attends_as(bench, "luong-general")) return draw_luong_general(bench);
  if (attends_as(bench, "luong-concat")) return draw_luong_concat(bench);
  if (attends_as(bench, "multihead")) return draw_multihead(bench);
  return attn::luong_dot_attention();
}

}  // namespace

Seq2SeqWeights draw_seq2seq_weights(Workbench& bench, std::size_t vocabulary) {
  const auto width = state_width(bench);
  const bool attends_first = attends_as(bench, "bahdanau");
  auto& trace = bench.trace;
  Seq2SeqWeights weights;
  weights.encoder = draw_encoder(bench);
  auto& decoder = weights.decoder;
  decoder.lstm = draw_decoder_lstm(bench);
  decoder.attention = trace.within("attention", [&] { return draw_attention(bench); });
  if (!attends_first)
    decoder.W_c =
        bench.weight({.id = "attention/W_c",
                      .title = "Makes one vector of the context and the state",
                      .axes = {"feature", "hidden"},
                      .note = fmt::format("Rows 0 to {} read the context, the others the state.", width - 1)},
                     2 * width, width);
  decoder.W = bench.weight(
      {.id = "output/W",
       .title = "Makes a number for each word that may be written",
       .axes = {attends_first ? "feature" : "hidden", "vocabulary"},
       .note = attends_first ? fmt::format("Rows 0 to {} read the state, the others the context.", width - 1)
                             : ""},
      attends_first ? 2 * width : width, vocabulary);
  if (attends_first)
    decoder.b = bench.constant(
        {.id = "output/b", .title = "… and a bias, at first 0", .axes = {"vocabulary"}}, vocabulary, 0.0);
  return weights;
}


}  // namespace lessons
