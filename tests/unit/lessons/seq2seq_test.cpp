#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>
#include <xtensor/xmath.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/lesson.hpp"
#include "lessons/seq2seq/decoder.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/plain_scores.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;
using lessons::LstmState;
using lessons::Options;
using lessons::Workbench;

namespace {

constexpr std::size_t batch = 2, n_source = 4, n_target = 3, d_model = 3, hidden = 2, vocabulary = 5;
const std::vector<std::size_t> lengths = {4, 2};

const std::vector<std::string> ways_to_attend = {"bahdanau",      "bahdanau-input", "luong-dot",
                                                 "luong-general", "luong-concat",   "multihead"};

bool attends_before_its_cell(const std::string& attention) {
  return attention == "bahdanau" || attention == "bahdanau-input";
}

const lessons::Lesson& seq2seq() {
  const auto& all = lessons::all_lessons();
  return **std::find_if(all.begin(), all.end(), [](const auto* lesson) { return lesson->name == "seq2seq"; });
}

/// Remembers which claims held, and the elements of each step.
class Recorder : public attn::Sink {
 public:
  void receive(const attn::Event& event) override {
    if (event.kind == attn::Kind::claim) (event.measurement->holds() ? held : failed).insert(event.id);
    if (event.kind != attn::Kind::step) return;
    ids.push_back(event.id);
    for (std::size_t i = 0; i < attn::element_count(event.tensor->shape); ++i)
      steps[event.id].push_back(event.tensor->at(i));
  }
  std::set<std::string> held, failed;
  std::vector<std::string> ids;
  std::map<std::string, std::vector<double>> steps;
};

Options options_of(const std::string& attention, const std::string& dtype = "float64") {
  Options options;
  options.source = {"a b c d", "e f"};
  options.target = {"u v", "w"};
  options.d_model = d_model;
  options.hidden = hidden;
  options.d_a = 2;
  options.attention = attention;
  options.dtype = dtype;
  return options;
}

/// The lesson's functions at work, with nobody who watches.
struct TranslationPage {
  explicit TranslationPage(const Options& options)
      : plan(lessons::make_plan(seq2seq(), options)),
        trace(recorder, {.batched = plan.is_batched(), .dtype = plan.dtype()}),
        bench(plan, trace),
        mute(bench.mute()) {}
  explicit TranslationPage(const std::string& attention = "bahdanau")
      : TranslationPage(options_of(attention)) {}

  lessons::Plan plan;
  Recorder recorder;
  attn::Trace trace;
  Workbench bench;
  Workbench mute;
};

/// Weights with biases that are not 0, the same in every run.
attn::LstmWeights random_lstm(std::size_t d_in, std::size_t width, unsigned seed) {
  return {random_tensor<2>({4 * width, d_in}, seed), random_tensor<2>({4 * width, width}, seed + 1),
          random_tensor<1>({4 * width}, seed + 2), random_tensor<1>({4 * width}, seed + 3)};
}

LstmState step(const Tensor<3>& x, const LstmState& before, const attn::LstmWeights& weights) {
  TranslationPage page;
  return lessons::lstm_cell(page.mute, x, before, weights);
}

lessons::Encoder encoded(const Tensor<3>& X, const attn::LstmWeights& forward,
                         const std::optional<attn::LstmWeights>& reverse = std::nullopt) {
  TranslationPage page;
  return lessons::encode(page.mute, X, {forward, reverse});
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

}  // namespace

TEST_CASE("a cell is made of its gates", "[seq2seq]") {
  const attn::LstmWeights weights = {.W_ih = {{1.0}, {2.0}, {3.0}, {4.0}},
                                     .W_hh = {{0.1}, {0.2}, {0.3}, {0.4}},
                                     .b_ih = {0.01, 0.02, 0.03, 0.04},
                                     .b_hh = {0.5, 0.6, 0.7, 0.8}};
  const auto state = step({{{0.5}}}, {.h = {{{-1.0}}}, .c = {{{2.0}}}}, weights);
  const double i = sigmoid(0.5 - 0.1 + 0.51), f = sigmoid(1.0 - 0.2 + 0.62);
  const double g = std::tanh(1.5 - 0.3 + 0.73), o = sigmoid(2.0 - 0.4 + 0.84);
  CHECK(state.c(0, 0, 0) == Approx(f * 2.0 + i * g).epsilon(1e-14));
  CHECK(state.h(0, 0, 0) == Approx(o * std::tanh(f * 2.0 + i * g)).epsilon(1e-14));
}

TEST_CASE("with all weights 0 half of the memory is kept and half of nothing is written", "[seq2seq]") {
  const attn::LstmWeights weights = {.W_ih = xt::zeros<double>({8, 3}),
                                     .W_hh = xt::zeros<double>({8, 2}),
                                     .b_ih = xt::zeros<double>({8}),
                                     .b_hh = xt::zeros<double>({8})};
  const auto state = step({{{1.0, 2.0, 3.0}}}, {.h = {{{9.0, 9.0}}}, .c = {{{4.0, -1.0}}}}, weights);
  CHECK((state.c == Tensor<3>{{{2.0, -0.5}}}));
}

TEST_CASE("gates driven beyond the range of exp saturate", "[seq2seq]") {
  auto weights = random_lstm(1, 1, 1);
  weights.W_ih = {{-1e6}, {1e6}, {1e6}, {-1e6}};
  const auto state = step({{{1.0}}}, {.h = {{{0.0}}}, .c = {{{2.0}}}}, weights);
  CHECK(state.c(0, 0, 0) == 2.0);
  CHECK(state.h(0, 0, 0) == 0.0);
}

TEST_CASE("a sequence is its cell step by step", "[seq2seq]") {
  const auto X = random_tensor<3>({2, 4, 3}, 1);
  const auto weights = random_lstm(3, 2, 2);
  const auto sequence = encoded(X, weights);
  const Tensor<3> zeros = xt::zeros<double>({2, 1, 2});
  LstmState state = {zeros, zeros};
  for (std::size_t t = 0; t < 4; ++t) {
    state = step(attn::steps_of(X, t, t + 1), state, weights);
    CHECK((attn::steps_of(sequence.states, t, t + 1) == state.h));
  }
  CHECK((sequence.last.h == state.h));
  CHECK((sequence.last.c == state.c));
}

TEST_CASE("two encoders' states stand side by side, those of the second read from the right", "[seq2seq]") {
  const auto X = random_tensor<3>({1, 3, 2}, 1);
  Tensor<3> reversed(X.shape());
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t c = 0; c < 2; ++c) reversed(0, t, c) = X(0, 2 - t, c);
  const auto forward = random_lstm(2, hidden, 2), reverse = random_lstm(2, hidden, 6);
  const auto both = encoded(X, forward, reverse);
  const auto first = encoded(X, forward), second = encoded(reversed, reverse);
  for (std::size_t t = 0; t < 3; ++t)
    CHECK((attn::step_of(both.states, t) ==
           attn::join(attn::step_of(first.states, t), attn::step_of(second.states, 2 - t))));
  CHECK((both.last.h == attn::join(first.last.h, second.last.h)));
  CHECK((both.last.c == attn::join(first.last.c, second.last.c)));
}

namespace {

lessons::SourceAttentionWeights random_attention(const std::string& attention, std::size_t width,
                                                 std::size_t asks_with = 0) {
  lessons::SourceAttentionWeights weights;
  if (attends_before_its_cell(attention)) {
    weights.W_q = random_tensor<2>({width + asks_with, 2}, 20);
    weights.W_k = random_tensor<2>({width, 2}, 21);
  }
  if (attention == "luong-general") weights.W_a = random_tensor<2>({width, width}, 22);
  if (attention == "luong-concat") weights.W_a = random_tensor<2>({2 * width, 2}, 23);
  if (attends_before_its_cell(attention) || attention == "luong-concat")
    weights.v_a = random_tensor<1>({2}, 24);
  if (attention == "multihead")
    weights.multihead = {random_tensor<2>({width, width}, 25), random_tensor<2>({width, width}, 26),
                         random_tensor<2>({width, width}, 27), random_tensor<2>({width, width}, 28)};
  return weights;
}

lessons::SourceAttention attend(const std::string& attention, const Tensor<3>& queries,
                                const Tensor<3>& states, const std::vector<std::size_t>& real,
                                const lessons::SourceAttentionWeights& weights) {
  TranslationPage page(attention);
  const auto source = lessons::prepare_source(page.mute, states, real, weights);
  return lessons::attend_to_source(page.mute, queries, source, weights);
}

}  // namespace

TEST_CASE("every way of attending scores like the function of its name", "[seq2seq]") {
  const auto queries = random_tensor<3>({1, 3, 4}, 1), states = random_tensor<3>({1, 5, 4}, 2);
  const auto q = attn::sample(queries, 0), k = attn::sample(states, 0);
  const auto difference = [&](const std::string& attention, const auto& scores_of) {
    const auto weights = random_attention(attention, 4);
    const auto found = attend(attention, queries, states, {5}, weights);
    return attn::max_abs_difference(attn::sample(attn::head(found.scores, 0), 0), scores_of(weights));
  };
  CHECK(difference("bahdanau", [&](const auto& weights) {
          return plain::additive_scores(q, k, *weights.W_q, *weights.W_k, *weights.v_a).scores;
        }) <= rounding);
  CHECK(difference("luong-dot", [&](const auto&) { return plain::dot_scores(q, k); }) <= rounding);
  CHECK(difference("luong-general", [&](const auto& weights) {
          return plain::general_scores(q, *weights.W_a, k);
        }) <= rounding);
  CHECK(difference("luong-concat", [&](const auto& weights) {
          return plain::concat_scores(q, k, *weights.W_a, *weights.v_a).scores;
        }) <= rounding);
}

TEST_CASE("the context is the mixture of the states", "[seq2seq]") {
  const auto states = random_tensor<3>({2, 5, 4}, 2);
  const auto found = attend("luong-dot", random_tensor<3>({2, 3, 4}, 1), states, {5, 5}, {});
  CHECK((found.context == attn::matmul(attn::softmax(attn::head(found.scores, 0)), states)));
}

TEST_CASE("queries attend one by one as they do together", "[seq2seq]") {
  const auto attention = GENERATE(from_range(ways_to_attend));
  const auto queries = random_tensor<3>({2, 3, 4}, 1), states = random_tensor<3>({2, 5, 4}, 2);
  const auto weights = random_attention(attention, 4);
  const auto together = attend(attention, queries, states, {5, 2}, weights);
  for (std::size_t t = 0; t < 3; ++t) {
    const auto one = attend(attention, attn::steps_of(queries, t, t + 1), states, {5, 2}, weights);
    CHECK(attn::max_abs_difference(one.context, attn::steps_of(together.context, t, t + 1)) <= rounding);
  }
}

TEST_CASE("padding gets no weight and changes no context", "[seq2seq]") {
  const auto attention = GENERATE(from_range(ways_to_attend));
  const auto queries = random_tensor<3>({2, 3, 4}, 1);
  auto states = random_tensor<3>({2, 5, 4}, 2);
  const auto weights = random_attention(attention, 4);
  const auto before = attend(attention, queries, states, {5, 2}, weights).context;
  for (std::size_t j = 2; j < 5; ++j) states(1, j, 0) = 100.0;
  CHECK((attend(attention, queries, states, {5, 2}, weights).context == before));
}

TEST_CASE("attention to a source refuses what does not fit with both shapes", "[seq2seq]") {
  const auto states = random_tensor<3>({1, 5, 4}, 2);
  CHECK_THROWS_WITH(attend("luong-dot", random_tensor<3>({1, 3, 3}, 1), states, {5}, {}),
                    Contains("1×3×3") && Contains("1×4×5"));
  auto additive = random_attention("bahdanau", 4);
  additive.W_k = random_tensor<2>({4, 3}, 4);
  CHECK_THROWS_WITH(attend("bahdanau", random_tensor<3>({1, 3, 4}, 1), states, {5}, additive),
                    Contains("[additive_scores]") && Contains("1×3×2") && Contains("1×5×3"));
  auto short_v = random_attention("bahdanau", 4);
  short_v.v_a = random_tensor<1>({1}, 5);
  CHECK_THROWS_AS(attend("bahdanau", random_tensor<3>({1, 3, 4}, 1), states, {5}, short_v),
                  std::invalid_argument);
}

namespace {

lessons::DecoderWeights random_decoder(const std::string& attention) {
  lessons::DecoderWeights weights;
  const bool attends_first = attends_before_its_cell(attention);
  weights.lstm = random_lstm(attends_first ? d_model + hidden : d_model, hidden, 10);
  weights.attention = random_attention(attention, hidden, attention == "bahdanau-input" ? d_model : 0);
  if (!attends_first) weights.W_c = random_tensor<2>({2 * hidden, hidden}, 31);
  weights.W = random_tensor<2>({attends_first ? 2 * hidden : hidden, vocabulary}, 32);
  if (attends_first) weights.b = random_tensor<1>({vocabulary}, 33);
  return weights;
}

/// The step before each of x, the first one given.
Tensor<3> steps_before(const Tensor<2>& first, const Tensor<3>& x) {
  std::vector<Tensor<2>> steps = {first};
  for (std::size_t t = 0; t + 1 < x.shape(1); ++t) steps.push_back(attn::step_of(x, t));
  return attn::stack_steps(steps);
}

/// All steps of a decoder that is taught, [batch×target×…] each.
struct Taught {
  LstmState states;
  Tensor<4> scores;  ///< [batch×head×target×source]
  Tensor<3> context, probabilities;
};

Taught side_by_side(const std::vector<lessons::DecoderStep>& steps) {
  const auto rows = [&](const auto& of_step) {
    std::vector<Tensor<2>> all;
    for (const auto& one : steps) all.push_back(attn::step_of(of_step(one), 0));
    return attn::stack_steps(all);
  };
  std::vector<Tensor<3>> scores;
  for (std::size_t head = 0; head < steps.front().attention.scores.shape(1); ++head)
    scores.push_back(rows([&](const auto& one) { return attn::head(one.attention.scores, head); }));
  return {.states = {rows([](const auto& one) { return one.state.h; }),
                     rows([](const auto& one) { return one.state.c; })},
          .scores = attn::stack_heads(scores),
          .context = rows([](const auto& one) { return one.attention.context; }),
          .probabilities = rows([](const auto& one) { return one.probabilities; })};
}

/// A forward pass with teacher forcing.
struct ForwardPass {
  Tensor<3> X_source{}, X_target{};
  struct {
    lessons::EncoderWeights encoder;
    lessons::DecoderWeights decoder;
  } weights{};
  lessons::Encoder encoder{};
  lessons::Source source{};
  Taught decoder{};
};

/// A decoder at work on the same words in every test.
struct Scene {
  explicit Scene(const std::string& attention, const std::string& dtype = "float64")
      : page(options_of(attention, dtype)) {
    run.X_source = random_tensor<3>({batch, n_source, d_model}, 1);
    run.X_target = random_tensor<3>({batch, n_target, d_model}, 3);
    run.weights.encoder.forward = random_lstm(d_model, hidden, 2);
    run.weights.decoder = random_decoder(attention);
    run.encoder = lessons::encode(page.mute, run.X_source, run.weights.encoder);
    run.source =
        lessons::prepare_source(page.mute, run.encoder.states, lengths, run.weights.decoder.attention);
    run.decoder = taught(run.X_target);
  }

  Taught taught(const Tensor<3>& X_target) {
    return side_by_side(
        lessons::decode_taught(page.mute, X_target, run.encoder.last, run.source, run.weights.decoder));
  }

  std::vector<std::vector<std::size_t>> written(const Tensor<3>& start, const Tensor<2>& vectors,
                                                const std::vector<std::size_t>& most_steps) {
    return lessons::decode_greedily(page.mute, start, run.encoder.last, run.source, run.weights.decoder,
                                    vectors, most_steps)
        .words;
  }

  /// How far the scores are from those of other states.
  double score_deviation(const Tensor<3>& queries) {
    const auto again =
        lessons::attend_to_source(page.mute, queries, run.source, run.weights.decoder.attention);
    return attn::max_abs_difference(again.scores, run.decoder.scores);
  }

  /// How far the states are from those of a cell that reads something else.
  double cell_deviation(const Tensor<3>& x) {
    const auto& states = run.decoder.states;
    const LstmState before = {steps_before(attn::step_of(run.encoder.last.h, 0), states.h),
                              steps_before(attn::step_of(run.encoder.last.c, 0), states.c)};
    const auto again = lessons::lstm_cell(page.mute, x, before, run.weights.decoder.lstm);
    return attn::max_abs_difference(again.h, states.h);
  }

  TranslationPage page;
  ForwardPass run;
};

}  // namespace

TEST_CASE("Bahdanau's decoder asks with the state before and not with the current one", "[seq2seq]") {
  Scene scene("bahdanau");
  const auto& h = scene.run.decoder.states.h;
  CHECK(scene.score_deviation(steps_before(attn::step_of(scene.run.encoder.last.h, 0), h)) <= rounding);
  CHECK(scene.score_deviation(h) > 1e-3);
}

TEST_CASE("Luong's decoder asks with the current state and not with the one before", "[seq2seq]") {
  Scene scene("luong-general");
  const auto& h = scene.run.decoder.states.h;
  CHECK(scene.score_deviation(h) <= rounding);
  CHECK(scene.score_deviation(steps_before(attn::step_of(scene.run.encoder.last.h, 0), h)) > 1e-3);
}

TEST_CASE("Bahdanau's cell reads the word and the context of its own step", "[seq2seq]") {
  Scene scene("bahdanau");
  const auto& context = scene.run.decoder.context;
  CHECK(scene.cell_deviation(attn::join(scene.run.X_target, context)) <= rounding);
  const auto of_the_step_before = steps_before(attn::step_of(context, 2), context);
  CHECK(scene.cell_deviation(attn::join(scene.run.X_target, of_the_step_before)) > 1e-4);
  const Tensor<3> no_context = xt::zeros<double>(context.shape());
  CHECK(scene.cell_deviation(attn::join(scene.run.X_target, no_context)) > 1e-3);
}

TEST_CASE("Luong's cell reads the word alone", "[seq2seq]") {
  Scene scene("luong-general");
  CHECK(scene.cell_deviation(scene.run.X_target) <= rounding);
}

TEST_CASE("Bahdanau reads out the state and the context", "[seq2seq]") {
  Scene scene("bahdanau");
  const auto& decoder = scene.run.decoder;
  const auto& read_out = scene.run.weights.decoder;
  const auto expected =
      attn::softmax(attn::linear(attn::join(decoder.states.h, decoder.context), read_out.W, *read_out.b));
  CHECK(attn::max_abs_difference(decoder.probabilities, expected) <= rounding);
}

TEST_CASE("Luong reads out tanh of the context and the state, in that order", "[seq2seq]") {
  Scene scene("luong-general");
  const auto& decoder = scene.run.decoder;
  const auto& read_out = scene.run.weights.decoder;
  const Tensor<3> attentional =
      xt::tanh(attn::linear(attn::join(decoder.context, decoder.states.h), *read_out.W_c));
  const auto expected = attn::softmax(attn::linear(attentional, read_out.W));
  CHECK(attn::max_abs_difference(decoder.probabilities, expected) <= rounding);
}

TEST_CASE("a later word changes no earlier step", "[seq2seq]") {
  Scene scene("bahdanau");
  auto X_target = scene.run.X_target;
  X_target(0, 2, 0) += 1.0;
  const auto other = scene.taught(X_target).probabilities, before = scene.run.decoder.probabilities;
  CHECK((attn::steps_of(other, 0, 2) == attn::steps_of(before, 0, 2)));
  CHECK_FALSE((other == before));
}

TEST_CASE("greedy decoding reads what it writes", "[seq2seq]") {
  Scene scene(GENERATE("bahdanau", "luong-general"));
  // </s> is beyond all logits, so that it is never written.
  const auto vectors = random_tensor<2>({vocabulary + 1, d_model}, 30);
  const auto start = random_tensor<3>({batch, 1, d_model}, 31);
  const auto written = scene.written(start, vectors, {4, 2});
  REQUIRE(written[0].size() == 4);
  REQUIRE(written[1].size() == 2);

  Tensor<3> read = xt::zeros<double>({batch, std::size_t{4}, d_model});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = 0; t < written[b].size(); ++t)
      for (std::size_t c = 0; c < d_model; ++c)
        read(b, t, c) = t == 0 ? start(b, 0, c) : vectors(written[b][t - 1], c);
  const auto taught = scene.taught(read).probabilities;
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = 0; t < written[b].size(); ++t)
      for (std::size_t word = 0; word < vocabulary; ++word)
        CHECK(taught(b, t, word) <= taught(b, t, written[b][t]));
}

TEST_CASE("greedy decoding ends with </s> and takes the first of equals", "[seq2seq]") {
  Scene scene("bahdanau");
  auto& weights = scene.run.weights.decoder;
  const auto start = random_tensor<3>({batch, 1, d_model}, 31);
  const auto decode = [&](const Tensor<1>& logits) {
    weights.W = xt::zeros<double>({2 * hidden, logits.size()});
    weights.b = logits;
    return scene.written(start, random_tensor<2>({logits.size(), d_model}, 30), {3, 1});
  };
  using Words = std::vector<std::vector<std::size_t>>;
  CHECK(decode({0.0, 1.0}) == Words{{1}, {1}});
  CHECK(decode({0.0, 1.0, 0.0, 1.0}) == Words{{1, 1, 1}, {1}});
}

namespace {

/// The steps of a run in which elements of the step `id` are one larger: from `begin` up to `end`.
Recorder run_with(const Options& options, const std::string& id, std::size_t begin, std::size_t end) {
  Recorder recorder;
  const auto replace = [&](const std::string& step_id, const attn::Shape& shape, double* elements) {
    if (step_id != id) return;
    for (std::size_t i = begin; i < std::min(end, attn::element_count(shape)); ++i) elements[i] += 1.0;
  };
  lessons::run(seq2seq(), lessons::make_plan(seq2seq(), options), recorder, attn::replacing(replace));
  return recorder;
}

}  // namespace

TEST_CASE("another state in one step flows into the next steps and into no earlier one", "[seq2seq]") {
  auto options = options_of(GENERATE(from_range(ways_to_attend)));
  options.source = {"a b c"};
  options.target = {"u v w"};
  const auto right = run_with(options, "none", 0, 0);
  const auto rows_that_change = [&](const Recorder& other, const std::string& id, std::size_t width) {
    std::vector<std::size_t> rows;
    const auto &a = right.steps.at(id), &b = other.steps.at(id);
    for (std::size_t t = 0; t * width < a.size(); ++t)
      if (!std::equal(a.begin() + static_cast<std::ptrdiff_t>(t * width),
                      a.begin() + static_cast<std::ptrdiff_t>((t + 1) * width),
                      b.begin() + static_cast<std::ptrdiff_t>(t * width)))
        rows.push_back(t);
    return rows;
  };
  using Rows = std::vector<std::size_t>;
  const auto in_encoder = run_with(options, "encoder/c", hidden, hidden + 1);
  CHECK(rows_that_change(in_encoder, "encoder/c", hidden) == Rows{1, 2});
  CHECK(rows_that_change(in_encoder, "encoder/h", hidden) == Rows{1, 2});
  CHECK(rows_that_change(in_encoder, "decoder/s_0", hidden) == Rows{0});
  CHECK(rows_that_change(in_encoder, "decoder/h", hidden) == Rows{0, 1, 2, 3});

  const auto in_decoder = run_with(options, "decoder/h", hidden, hidden + 1);
  CHECK(rows_that_change(in_decoder, "encoder/h", hidden).empty());
  CHECK(rows_that_change(in_decoder, "decoder/h", hidden) == Rows{1, 2, 3});
  CHECK(rows_that_change(in_decoder, "decoder/i", hidden) == Rows{2, 3});
  CHECK(rows_that_change(in_decoder, "decoder/probabilities", 4) == Rows{1, 2, 3});
}

TEST_CASE("the step that the page walks through is row t of what the decoder shows", "[seq2seq]") {
  auto options = seq2seq().defaults;
  options.attention = GENERATE(from_range(ways_to_attend));
  options.typed = {"attention"};
  Recorder told;
  lessons::run(seq2seq(), lessons::make_plan(seq2seq(), options), told);
  const auto find_row = [&](const std::string& id, const std::vector<double>& row) {
    const auto all = told.steps.at("decoder/" + id);
    std::set<std::size_t> places;
    for (std::size_t t = 0; (t + 1) * row.size() <= all.size(); ++t)
      if (std::equal(row.begin(), row.end(), all.begin() + static_cast<std::ptrdiff_t>(t * row.size()),
                     [](double a, double b) { return std::abs(a - b) < 1e-12; }))
        places.insert(t);
    return places;
  };
  INFO(options.attention);
  const auto places = find_row("h", told.steps.at("one-step/h"));
  REQUIRE(places.size() == 1);
  const auto t = *places.begin();
  for (const std::string id : {"c", "context", "logits", "probabilities"})
    CHECK(find_row(id, told.steps.at("one-step/" + id)).count(t) == 1);
  const auto gates = told.steps.at("one-step/gates");
  const auto hidden = static_cast<std::ptrdiff_t>(gates.size() / 4);
  for (std::ptrdiff_t i = 0; i < 4; ++i)
    CHECK(find_row(std::string(1, "ifgo"[i]), {gates.begin() + i * hidden, gates.begin() + (i + 1) * hidden})
              .count(t) == 1);
  if (options.attention == "multihead") return;  // a row for each head
  for (const std::string id : {"scores", "weights"})
    CHECK(find_row(id, told.steps.at("one-step/" + id)).count(t) == 1);
}

TEST_CASE(
    "every step of seq2seq flows on into another, but for the last ones and the rows that are shown again",
    "[seq2seq]") {
  auto options = options_of(GENERATE(from_range(ways_to_attend)));
  options.bidirectional = GENERATE(false, true);
  if (GENERATE(false, true)) options.target.clear();
  const auto right = run_with(options, "none", 0, 0);
  for (const auto& id : right.ids) {
    const auto other = run_with(options, id, 0, std::numeric_limits<std::size_t>::max());
    std::set<std::string> changed;
    for (const auto& [step, elements] : right.steps)
      if (other.steps.at(step) != elements) changed.insert(step);
    INFO(options.attention << ": " << id);
    CHECK(changed.count(id) == 1);
    const bool is_last = id == "decoder/probabilities" || id == "decoder/mean_weights" ||
                         id == "bottleneck/context" || id == "bottleneck/kept";
    const bool is_shown_again = id.rfind("one-step/", 0) == 0;
    CHECK((is_last || is_shown_again || changed.size() > 1));
  }
}
