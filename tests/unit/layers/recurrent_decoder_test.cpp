#include "attn/layers/recurrent_decoder.hpp"

#include <catch2/catch.hpp>

#include "attn/layers/recurrent_encoder.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/steps.hpp"
#include "tests/unit/layers/random_lstm.hpp"

using attn::Tensor;

namespace {

constexpr std::size_t batch = 2, n_source = 4, n_target = 3, d_model = 3, hidden = 2, vocabulary = 5;
const std::vector<std::size_t> lengths = {4, 2};
const std::vector<std::size_t> every_step = {n_target, n_target};

constexpr double rounding = std::is_same_v<double, double> ? 1e-13 : 1e-5;

attn::RecurrentDecoderWeights bahdanau_weights() {
  return {.lstm = random_lstm(d_model + hidden, hidden, 10),
          .attention =
              attn::bahdanau_attention(random_tensor<2>({hidden, 2}, 20),
                                       random_tensor<2>({hidden, 2}, 21), random_tensor<1>({2}, 22)),
          .W_c = std::nullopt,
          .W = random_tensor<2>({2 * hidden, vocabulary}, 23),
          .b = random_tensor<1>({vocabulary}, 24)};
}

attn::RecurrentDecoderWeights luong_weights() {
  return {.lstm = random_lstm(d_model, hidden, 10),
          .attention = attn::luong_general_attention(random_tensor<2>({hidden, hidden}, 20)),
          .W_c = random_tensor<2>({2 * hidden, hidden}, 21),
          .W = random_tensor<2>({hidden, vocabulary}, 22),
          .b = std::nullopt};
}

/// A decoder at work on the same words in every test.
struct Scene {
  explicit Scene(attn::RecurrentDecoderWeights the_weights)
      : weights(std::move(the_weights)),
        encoder(attn::recurrent_encoder(
            random_tensor<3>({batch, n_source, d_model}, 1),
            {.forward = random_lstm(d_model, hidden, 2), .reverse = std::nullopt}, lengths)),
        source(attn::prepare_source(encoder.states, lengths, weights.attention)),
        X_target(random_tensor<3>({batch, n_target, d_model}, 3)),
        decoder(attn::recurrent_decoder(X_target, encoder.last, source, weights)) {}

  attn::RecurrentDecoderWeights weights;
  attn::RecurrentEncoder encoder;
  attn::PreparedSource source;
  Tensor<3> X_target;
  attn::RecurrentDecoder decoder;

  /// How far the scores are from those of other states.
  double score_deviation(const Tensor<3>& queries) const {
    const auto again = attn::attend_to_source(queries, source, weights.attention);
    return attn::max_abs_difference(again.attention.scores, decoder.source.attention.scores);
  }

  /// How far the states are from those of a cell that reads something else.
  double cell_deviation(const Tensor<3>& x) const {
    return attn::deviation_from_cell(decoder.lstm, x, encoder.last, weights.lstm, every_step);
  }
};

}  // namespace

TEST_CASE("Bahdanau's decoder asks with the state before and not with the current one", "[recurrent_decoder]") {
  const Scene scene(bahdanau_weights());
  const auto& h = scene.decoder.lstm.h;
  CHECK((scene.decoder.queries == attn::delay(scene.encoder.last.h, h)));
  CHECK(scene.score_deviation(attn::delay(scene.encoder.last.h, h)) <= rounding);
  CHECK(scene.score_deviation(h) > 1e-3);
}

TEST_CASE("Luong's decoder asks with the current state and not with the one before", "[recurrent_decoder]") {
  const Scene scene(luong_weights());
  const auto& h = scene.decoder.lstm.h;
  CHECK((scene.decoder.queries == h));
  CHECK(scene.score_deviation(h) <= rounding);
  CHECK(scene.score_deviation(attn::delay(scene.encoder.last.h, h)) > 1e-3);
}

TEST_CASE("Bahdanau's cell reads the word and the context of its own step", "[recurrent_decoder]") {
  const Scene scene(bahdanau_weights());
  const auto& context = scene.decoder.source.context;
  CHECK(scene.cell_deviation(attn::join(scene.X_target, context)) <= rounding);
  const auto of_the_step_before = attn::delay(attn::step_of(context, 2), context);
  CHECK(scene.cell_deviation(attn::join(scene.X_target, of_the_step_before)) > 1e-3);
  const Tensor<3> no_context = xt::zeros<double>(context.shape());
  CHECK(scene.cell_deviation(attn::join(scene.X_target, no_context)) > 1e-3);
}

TEST_CASE("Luong's cell reads the word alone, so its states are those of a plain LSTM", "[recurrent_decoder]") {
  const Scene scene(luong_weights());
  CHECK(scene.cell_deviation(scene.X_target) <= rounding);
  const auto plain = attn::lstm(scene.X_target, scene.encoder.last, scene.weights.lstm, every_step);
  CHECK((plain.h == scene.decoder.lstm.h));
  CHECK((plain.last.c == scene.decoder.lstm.last.c));
}

TEST_CASE("Bahdanau reads out the state and the context", "[recurrent_decoder]") {
  const Scene scene(bahdanau_weights());
  const auto& [queries, lstm, source, attentional, logits] = scene.decoder;
  CHECK_FALSE(attentional.has_value());
  const auto expected = attn::linear(attn::join(lstm.h, source.context), scene.weights.W, *scene.weights.b);
  CHECK(attn::max_abs_difference(logits, expected) <= rounding);
}

TEST_CASE("Luong reads out tanh of the context and the state, in that order", "[recurrent_decoder]") {
  const Scene scene(luong_weights());
  const auto& [queries, lstm, source, attentional, logits] = scene.decoder;
  REQUIRE(attentional.has_value());
  const auto expected = attn::tanh(attn::linear(attn::join(source.context, lstm.h), *scene.weights.W_c));
  CHECK(attn::max_abs_difference(*attentional, expected) <= rounding);
  CHECK(attn::max_abs_difference(logits, attn::linear(*attentional, scene.weights.W)) <= rounding);
}

TEST_CASE("a later word changes no earlier step", "[recurrent_decoder]") {
  const Scene scene(bahdanau_weights());
  auto X_target = scene.X_target;
  X_target(0, 2, 0) += double(1);
  const auto other = attn::recurrent_decoder(X_target, scene.encoder.last, scene.source, scene.weights);
  CHECK((attn::first_rows(other.logits, 2) == attn::first_rows(scene.decoder.logits, 2)));
  CHECK_FALSE((other.logits == scene.decoder.logits));
}

TEST_CASE("greedy decoding reads what it writes", "[recurrent_decoder]") {
  const bool is_bahdanau = GENERATE(true, false);
  const Scene scene(is_bahdanau ? bahdanau_weights() : luong_weights());
  const attn::WrittenWith words = {random_tensor<2>({vocabulary, d_model}, 30),
                                             vocabulary};
  const auto start = random_tensor<2>({batch, d_model}, 31);
  const auto written =
      attn::decode_greedily(start, scene.encoder.last, scene.source, scene.weights, words, {4, 2});
  REQUIRE(written[0].size() == 4);
  REQUIRE(written[1].size() == 2);

  Tensor<3> read({batch, 4, d_model}, double(0));
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = 0; t < written[b].size(); ++t)
      for (std::size_t c = 0; c < d_model; ++c)
        read(b, t, c) = t == 0 ? start(b, c) : words.embedding(written[b][t - 1], c);
  const auto taught = attn::recurrent_decoder(read, scene.encoder.last, scene.source, scene.weights);
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t t = 0; t < written[b].size(); ++t)
      for (std::size_t word = 0; word < vocabulary; ++word)
        CHECK(taught.logits(b, t, word) <= taught.logits(b, t, written[b][t]));
}

TEST_CASE("greedy decoding ends with the word that ends a sentence and takes the first of equals",
          "[recurrent_decoder]") {
  auto weights = luong_weights<double>();
  weights.W = xt::zeros<double>({hidden, vocabulary});
  weights.b = Tensor<1>{0.0, 1.0, 0.0, 1.0, 0.0};
  const Scene<double> scene(weights);
  const auto start = random_tensor<2>({batch, d_model}, 31);
  const auto embedding = random_tensor<2>({vocabulary, d_model}, 30);
  const auto decode = [&](std::size_t end) {
    return attn::decode_greedily<double>(start, scene.encoder.last, scene.source, scene.weights,
                                         {embedding, end}, {3, 1});
  };
  using Words = std::vector<std::vector<std::size_t>>;
  CHECK(decode(1) == Words{{1}, {1}});
  CHECK(decode(3) == Words{{1, 1, 1}, {1}});
}

TEST_CASE("two encoders' states stand side by side", "[recurrent_encoder]") {
  const auto X = random_tensor<3>({batch, n_source, d_model}, 1);
  const auto forward = random_lstm(d_model, hidden, 2),
             reverse = random_lstm(d_model, hidden, 6);
  const auto both = attn::recurrent_encoder(X, {forward, reverse}, lengths);
  const auto one = attn::recurrent_encoder(X, {forward, std::nullopt}, lengths);
  CHECK((one.states == one.forward.h));
  CHECK((both.forward.h == one.forward.h));
  CHECK((both.states == attn::join(both.forward.h, both.reverse->h)));
  CHECK((both.last.h == attn::join(attn::Tensor<2>(both.forward.last.h), both.reverse->last.h)));
  // Each has read the whole sentence where it ends: the last real row, and the first.
  for (std::size_t c = 0; c < hidden; ++c) {
    CHECK(both.last.h(1, c) == both.states(1, lengths[1] - 1, c));
    CHECK(both.last.h(1, hidden + c) == both.states(1, 0, hidden + c));
  }
}
