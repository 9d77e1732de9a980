/// The lesson backward through the lesson seq2seq: see lessons/backward/seq2seq.cpp for the backward pass.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/ops/cross_entropy.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/backward/seq2seq.hpp"
#include "lessons/lesson.hpp"
#include "lessons/seq2seq/numpy.hpp"
#include "lessons/seq2seq/taught.hpp"
#include "lessons/seq2seq/trained.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/worked.hpp"

namespace lessons {

namespace {

/// How much of the gradient is left of the last row at the first one, in the largest number of each.
std::string how_far_it_reaches(const attn::Event& d_h) {
  const auto& shape = d_h.tensor->shape;
  const std::size_t rows = shape[shape.size() - 2], columns = shape.back();
  const auto largest = [&](std::size_t row) {
    double size = 0.0;
    for (std::size_t k = 0; k < columns; ++k)
      size = std::max(size, std::abs(d_h.tensor->at(row * columns + k)));
    return size;
  };
  if (rows < 2) return d_h.note;
  return fmt::format("{} The largest number of the first row is {:.4f}, of the last one {:.4f}.", d_h.note,
                     largest(0), largest(rows - 1));
}

void choose_seq2seq_backward_page(Workbench& bench) {
  using attn::in_one_line;
  using attn::without_table;
  bench.trace.page(
      {in_one_line("encoder/h"),
       in_one_line("decoder/weights"),
       in_one_line("decoder/context"),
       in_one_line("decoder/h"),
       {"decoder/probabilities", nothing_to_notice},
       in_one_line("words"),
       in_one_line("L"),
       {"decoder/d_logits"},
       in_one_line("output/d_W"),
       {"decoder/d_h", how_far_it_reaches},
       in_one_line("decoder/d_o"),
       without_table("decoder/d_c", [](const attn::Event& d_c) { return d_c.note; }),
       in_one_line("decoder/d_i"),
       in_one_line("decoder/d_f"),
       in_one_line("decoder/d_g"),
       without_table("decoder/d_gates"),
       in_one_line("decoder/d_W_ih"),
       in_one_line("decoder/d_W_hh"),
       in_one_line("decoder/d_context"),
       in_one_line("decoder/d_weights"),
       {"decoder/d_scores"},
       in_one_line("decoder/d_queries"),
       bench.plan.is_batched() ? in_one_line("attention/d_W_q") : without_table("attention/d_W_q"),
       in_one_line("attention/d_W_k"),
       in_one_line("attention/d_v_a"),
       in_one_line("encoder/d_states"),
       {"encoder/d_h", how_far_it_reaches},
       in_one_line("encoder/d_W_ih"),
       in_one_line("encoder/d_W_hh"),
       in_one_line("X_source"),
       in_one_line("d_X_source")},
      {"check/output/d_W", "check/attention/d_W_q", "check/encoder/d_W_hh", "rows-of-d_logits-sum-to-0"});
}

std::vector<std::string> seq2seq_backward_flow(const Workbench& bench) {
  const auto n = bench.plan.source.length(), m = bench.plan.target.length() + 1, H = *bench.options.hidden;
  return {fmt::format("encoder/h [{}×{}] → weights [{}×{}] → context, LSTM → h [{}×{}] → logits → L", n, H, m,
                      n, m, H),
          "",
          "for each word, from the last to the first:",
          "  d_logits → d_h ─→ d_c → d_gates → d_context → d_weights → d_scores",
          "               ↖      ↖ along the memory                      │",
          "                └ W_hh, W_q: the step before ←────────────────┘",
          fmt::format("then d_states [{}×{}] → the encoder in the same way → d_X_source", n, H)};
}

/// What the code of the page calls.
std::vector<std::string> cell_back_code() {
  return {"def cell_back(i, f, g, o, c, c_before, d_h, d_c):",
          "    d_o, d_c = d_h * np.tanh(c), d_c + d_h * o * (1 - np.tanh(c)**2)",
          "    d_i, d_f, d_g = d_c * g, d_c * c_before, d_c * i",
          "    sums = d_i * i * (1 - i), d_f * f * (1 - f), d_g * (1 - g**2), d_o * o * (1 - o)",
          "    return d_o, d_c, d_i, d_f, d_g, np.hstack(sums), d_c * f"};
}

std::vector<std::string> one_step_back(const Workbench& bench, std::size_t vocabulary) {
  const auto H = *bench.options.hidden;
  const auto* const where_there_is_one = bench.plan.target.is_padded() ? "(words[:, None] >= 0) * " : "";
  return {"# d_h, d_c come back from the step after; cell_back() and the rest: --all",
          fmt::format("decoder_d_logits = {}(", where_there_is_one),
          fmt::format("    decoder_probabilities - (np.arange({}) == words[:, None]))", vocabulary),
          "def step_back(cell, weights, energy, d_logits, d_h, d_c):",
          fmt::format("    d_h = d_h + output_W[:{}] @ d_logits", H),
          "    d_o, d_c, d_i, d_f, d_g, d_gates, d_c_before = cell_back(*cell, d_h, d_c)",
          fmt::format("    d_context = output_W[{}:] @ d_logits + d_gates @ decoder_W_ih[:, {}:]", H,
                      bench.d_model()),
          "    d_weights = encoder_h @ d_context",
          "    d_scores = weights * (d_weights - weights @ d_weights)",
          "    d_sums = np.outer(d_scores, attention_v_a) * (1 - energy**2)",
          "    d_queries = attention_W_q @ d_sums.sum(axis=0)",
          "    d_before = d_gates @ decoder_W_hh + d_queries",
          "    return locals()"};
}

/// The loops over the words, and the gradients by the names of the page.
std::vector<std::string> all_steps_back(const Workbench& bench) {
  const auto d_model = bench.d_model();
  const bool is_padded = bench.plan.source.is_padded();
  const auto padded = [&](const char* x) { return is_padded ? fmt::format("pad({})", x) : std::string(x); };
  std::vector<std::string> lines = {
      "s_0, c_0 = encoded[-1, 5], encoded[-1, 4]",
      "d_h, d_c, back = 0, 0, []",
      "for t in reversed(range(len(passed))):",
      "    c_before = passed[t - 1][\"c\"] if t > 0 else c_0",
      "    cell = [passed[t][name] for name in \"ifgoc\"] + [c_before]",
      "    back.insert(0, step_back(cell, passed[t][\"weights\"], passed[t][\"energy\"], "
      "decoder_d_logits[t],",
      "                             d_h, d_c))",
      "    d_h, d_c = back[0][\"d_before\"], back[0][\"d_c_before\"]",
      "for name in (\"d_h\", \"d_o\", \"d_c\", \"d_i\", \"d_f\", \"d_g\", \"d_gates\", \"d_context\", "
      "\"d_weights\",",
      "             \"d_scores\", \"d_queries\"):",
      "    globals()[f\"decoder_{name}\"] = np.array([b[name] for b in back])",
      "d_keys = sum(b[\"d_sums\"] for b in back)",
      "encoder_d_states = decoder_weights.T @ decoder_d_context + d_keys @ attention_W_k.T",
      "rows = []",
      "for t in reversed(range(len(encoded))):",
      "    c_before = encoded[t - 1, 4] if t > 0 else np.zeros_like(c_0)",
      "    total = encoder_d_states[t] + d_h",
      "    rows.insert(0, (total, *cell_back(*encoded[t, :5], c_before, total, d_c)))",
      "    d_h, d_c = rows[0][6] @ encoder_W_hh, rows[0][7]",
      "d_gates = np.array([row[6] for row in rows])",
      "encoder_d_gates = " + padded("d_gates"),
      "encoder_d_h = " + padded("np.array([row[0] for row in rows])"),
      "d_X_source = " + padded("d_gates @ encoder_W_ih"),
      fmt::format("d_X_target = decoder_d_gates @ decoder_W_ih[:, :{}]", d_model)};
  if (bench.plan.is_batched()) return lines;
  lines.insert(lines.end(),
               {"decoder_before = np.vstack([s_0, decoder_h[:-1]])",
                "encoder_before = np.vstack([np.zeros_like(s_0), encoder_h[:-1]])",
                "output_d_W = np.hstack([decoder_h, decoder_context]).T @ decoder_d_logits",
                "decoder_d_W_ih = decoder_d_gates.T @ np.hstack([X_target, decoder_context])",
                "decoder_d_W_hh = decoder_d_gates.T @ decoder_before",
                "attention_d_W_q = decoder_before.T @ np.array([b[\"d_sums\"].sum(axis=0) for b in back])",
                "attention_d_W_k = encoder_h.T @ d_keys", "encoder_d_W_ih = encoder_d_gates.T @ X_source",
                "encoder_d_W_hh = encoder_d_gates.T @ encoder_before"});
  if (bench.plan.given.count("attention/b_q") > 0)
    lines.emplace_back("attention_d_b_q = sum(b[\"d_sums\"].sum(axis=0) for b in back)");
  if (bench.plan.given.count("attention/b_k") > 0) lines.emplace_back("attention_d_b_k = d_keys.sum(axis=0)");
  return lines;
}

void show_seq2seq_backward_code(Workbench& bench, std::size_t steps, std::size_t vocabulary) {
  bench.trace.within("forward", [&] { show_seq2seq_code(bench, std::nullopt, steps, 0); });
  bench.trace.within("functions", [&] { bench.code(cell_back_code()); });
  bench.code(one_step_back(bench, vocabulary));
  bench.trace.within("steps", [&] { bench.code(all_steps_back(bench)); });
}

/// The forward pass of the lesson seq2seq with teacher forcing.
Seq2SeqRun run_forward(Workbench& bench, const OutputWords& words, const attn::TokenBatch& writes) {
  const auto& source = bench.plan.source;
  const auto reads = after_start(bench.plan.target);
  Seq2SeqRun run{.lengths = source.lengths()};
  bench.show_lengths(source);
  bench.draw_vectors(source);
  bench.draw_vectors(reads);
  run.X_source = bench.input<3>({.id = "X_source", .title = "The source as vectors"});
  bench.label({"target"}, reads);
  run.X_target = bench.embed({.id = "X_target",
                              .title = "What the decoder reads: <s> and the target",
                              .axes = {"target", "d_model"}},
                             reads);
  run.weights.encoder = draw_encoder(bench);
  run.weights.decoder = draw_decoder(bench, words);
  show_source_mask(bench, writes);
  run.encoder = encode(bench, run.X_source, run.lengths, run.weights.encoder);
  run.source = prepare_source(bench, run.encoder.states, run.lengths, run.weights.decoder.attention);
  bench.label({"target"}, writes);
  run.decoder = decode_taught(bench, run.X_target, run.encoder.initial(), run.source, run.weights.decoder);
  return run;
}

void show_cross_entropy(Workbench& bench, const Seq2SeqRun& run, const WordsToWrite& words) {
  std::size_t count = 0;
  for (const auto& of_sample : words) count += of_sample.size();
  const attn::Known<3> probabilities{"decoder/probabilities", run.decoder.probabilities};
  bench.trace.step({.id = "L",
                    .title = "The loss: cross-entropy",
                    .formula = "−Σₜ ln decoder/probabilitiesₜ[right word]",
                    .from = {"decoder/probabilities", "words"},
                    .note = "0 where every right word has probability 1.",
                    .worked = worked_of(count, attn::worked_cross_entropy(probabilities, words))},
                   attn::cross_entropy(run.decoder.logits, words));
}

attn::LstmWeights moved_lstm(const Move& move, const std::string& group, attn::LstmWeights weights) {
  return {move(group + "/W_ih", std::move(weights.W_ih)), move(group + "/W_hh", std::move(weights.W_hh)),
          move(group + "/b_ih", std::move(weights.b_ih)), move(group + "/b_hh", std::move(weights.b_hh))};
}

ForwardPass seq2seq_again(const Seq2SeqRun& run, const WordsToWrite& words) {
  std::size_t count = 0;
  for (const auto& of_sample : words) count += of_sample.size();
  ForwardPass pass = {.loss =
                          [&](Workbench& mute, const Move& move) {
                            const EncoderWeights encoder = {
                                moved_lstm(move, "encoder", run.weights.encoder.forward), std::nullopt};
                            auto decoder = run.weights.decoder;
                            decoder.lstm = moved_lstm(move, "decoder", std::move(decoder.lstm));
                            auto& attention = decoder.attention;
                            attention.W_q = move("attention/W_q", std::move(*attention.W_q));
                            attention.W_k = move("attention/W_k", std::move(*attention.W_k));
                            attention.v_a = move("attention/v_a", std::move(*attention.v_a));
                            attention.b_q = move("attention/b_q", attention.b_q);
                            attention.b_k = move("attention/b_k", attention.b_k);
                            decoder.W = move("output/W", std::move(decoder.W));
                            decoder.b = move("output/b", std::move(*decoder.b));
                            const auto read =
                                encode(mute, move("X_source", run.X_source), run.lengths, encoder);
                            const auto source = prepare_source(mute, read.states, run.lengths, attention);
                            const auto written = decode_taught(mute, move("X_target", run.X_target),
                                                               read.initial(), source, decoder);
                            return attn::cross_entropy(written.logits, words);
                          },
                      .magnitude = static_cast<double>(count) * (1.0 + attn::max_abs(run.decoder.logits)),
                      .curved = {"decoder/scores", "decoder/logits"}};
  for (const std::string group : {"encoder/", "decoder/"})
    for (const std::string id : {"i", "f", "g", "o", "c", "h"}) pass.curved.push_back(group + id);
  return pass;
}

void run_backward_through_seq2seq(Workbench& bench) {
  auto writes = bench.plan.target;
  for (auto& sentence : writes.tokens) sentence.emplace_back(attn::end_token);
  const auto output = output_words(bench, bench.plan.target, writes);
  const auto& words = output.to_write;
  bench.label({"source"}, bench.plan.source);
  bench.trace.label("vocabulary", {{output.vocabulary}});
  choose_seq2seq_backward_page(bench);
  bench.idea(
      "How does a recurrent network learn? Unrolled, it is one long computation in which every step uses the "
      "same parameters. The gradient goes back through it from the last word to the first: backpropagation "
      "through time. Each step gives the parameters a gradient, and these add up. On the long way from step "
      "to step a gradient shrinks. Through attention there is a short one: from each written word to every "
      "source word in a single step. The loss is the cross-entropy of the words to be written.",
      "L = −Σₜ ln p(right wordₜ)");
  bench.flow(seq2seq_backward_flow(bench));
  const auto run = run_forward(bench, output, writes);
  show_words(bench, words);
  show_seq2seq_backward_code(bench, run.X_target.shape(1), output.vocabulary.size());
  show_cross_entropy(bench, run, words);

  Gradients gradients(bench);
  seq2seq_backward(bench, gradients, run, words);
  Tensor<3> d_logits(run.decoder.logits.shape());
  const auto& elements = gradients.of("decoder/logits");
  std::copy(elements.begin(), elements.end(), d_logits.begin());
  bench.trace.claim({.id = "rows-of-d_logits-sum-to-0",
                     .claim = "each row of decoder/d_logits sums to 0",
                     .formula = "max |Σⱼ decoder/d_logits|",
                     .value = attn::max_abs_row_sum(d_logits),
                     .limit = rounding(bench.trace)});
  claim_by_moving(bench, seq2seq_again(run, words), gradients);
  bench.try_next({{"seq2seq --source \"i love cats\" --target \"ich liebe katzen\"", "the way there"},
                  {"backward --through multihead", "no recurrence: every way is short"},
                  {"training", "gradients that grow too long are clipped"}});
}

}  // namespace

extern const Lesson backward_through_seq2seq;
const Lesson backward_through_seq2seq = {
    .name = "backward",
    .title = "gradients: back through time, word by word",
    .teaches = "",
    .options = {"source", "target", "through", "d-model", "hidden", "d-a", "seed", "rng", "draws",
                "weight-scale", "embeddings", "dtype"},
    .defaults = {.source = {"i love cats"},
                 .target = {"ich liebe katzen"},
                 .d_model = 4,
                 .through = "seq2seq"},
    .examples = {},
    .inputs = seq2seq_input_list,
    .through = "seq2seq",
    .run = run_backward_through_seq2seq,
};

}  // namespace lessons
