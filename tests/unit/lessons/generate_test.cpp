#include "lessons/generate.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <xtensor/xview.hpp>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/steps.hpp"
#include "lessons/generate/claims.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;
using lessons::KeyValueCache;
using lessons::Options;
using Tokens = std::vector<std::size_t>;

namespace {

constexpr std::size_t d_model = 8, d_k = 3, d_v = 2, heads = 4;

/// Layers of four heads; seven words.
lessons::CausalDecoder random_decoder(std::size_t layers, std::size_t kv_heads) {
  lessons::CausalDecoder decoder = {.words = {"a", "b", "c", "d", "e", "f", "g"},
                                    .embedding = random_tensor<2>({7, d_model}, 20),
                                    .positions = attn::sinusoidal_encoding(12, d_model),
                                    .layers = {},
                                    .heads = {heads, kv_heads},
                                    .W_vocabulary = random_tensor<2>({d_model, 7}, 9)};
  for (unsigned layer = 0; layer < layers; ++layer)
    decoder.layers.push_back({random_tensor<2>({d_model, heads * d_k}, 4 * layer + 1),
                              random_tensor<2>({d_model, kv_heads * d_k}, 4 * layer + 2),
                              random_tensor<2>({d_model, kv_heads * d_v}, 4 * layer + 3),
                              random_tensor<2>({heads * d_v, d_model}, 4 * layer + 4)});
  return decoder;
}

Options options(std::size_t layers, std::size_t kv_heads) {
  return {.sentence = {"a b c"},
          .d_model = d_model,
          .d_k = d_k,
          .d_v = d_v,
          .heads = heads,
          .kv_heads = kv_heads,
          .new_tokens = 1,
          .layers = layers};
}

/// A decoder that reads, with a page on which nothing is told.
struct Reader {
  explicit Reader(std::size_t layers, std::size_t kv_heads = 2)
      : page("generate", options(layers, kv_heads)),
        decoder(random_decoder(layers, kv_heads)),
        decoding{.tokens = {},
                 .caches = std::vector(layers, lessons::empty_cache(kv_heads, d_k, d_v)),
                 .logits = {},
                 .weights = {}} {}

  /// What the last layer leaves of these tokens, read behind the others.
  Tensor<3> read(const Tokens& tokens) {
    decoding.tokens.insert(decoding.tokens.end(), tokens.begin(), tokens.end());
    return lessons::read_tokens(page.mute, decoder, 0, decoding).tensor;
  }

  /// The logits of the token to come, after these were read behind the others.
  Tensor<2> logits(const Tokens& tokens) {
    const auto hidden = read(tokens);
    return lessons::score_words(page.mute, decoder, 0, {"hidden", hidden}, hidden.shape(1) - 1);
  }

  double deviation(const std::vector<Tensor<2>>& by_step, const Tensor<3>& full) {
    return lessons::deviation_from_full_pass(page.mute, decoder, by_step, full);
  }

  Page page;
  lessons::CausalDecoder decoder;
  lessons::Decoding decoding;
};

/// Rows begin, …, end − 1 of each sample.
Tensor<3> rows(const Tensor<3>& x, std::size_t begin, std::size_t end) {
  std::vector<Tensor<2>> steps;
  for (std::size_t t = begin; t < end; ++t) steps.push_back(attn::step_of(x, t));
  return attn::stack_steps(steps);
}

/// Multi-head attention over all tokens at once, from the page of multihead.
lessons::MultiHeadAttention all_at_once(Reader& reader, const Tensor<3>& x) {
  const auto n = x.shape(1);
  return lessons::multihead_attention(reader.page.mute, {"x", x}, {"x", x}, reader.decoder.layers[0],
                                      reader.decoder.heads,
                                      attn::repeat_mask(attn::causal_mask(n, n), x.shape(0)));
}

}  // namespace

TEST_CASE("a decoder adds each layer's attention and scores the words", "[generate]") {
  Reader reader(1);
  const auto x = lessons::embed_tokens(reader.decoder.embedding, reader.decoder.positions, {1, 5, 0, 1}, 0);
  const auto hidden = reader.read({1, 5, 0, 1});
  CHECK((hidden == attn::add(x, all_at_once(reader, x).output)));
  const auto logits = lessons::score_words(reader.page.mute, reader.decoder, 0, {"hidden", hidden}, 2);
  CHECK((logits == attn::linear(attn::step_of(hidden, 2), reader.decoder.W_vocabulary)));
}

TEST_CASE("a second layer reads what the first one leaves", "[generate]") {
  Reader both(2), first(1), second(1);
  const auto between = first.read({1, 5, 0});
  second.decoder.layers = {both.decoder.layers[1]};
  CHECK((both.read({1, 5, 0}) == attn::add(between, all_at_once(second, between).output)));
  CHECK(both.decoding.caches[1].keys.shape() == std::array<std::size_t, 4>{1, 2, 3, d_k});
}

TEST_CASE("a later token changes nothing before it", "[generate]") {
  const auto one = Reader(2).read({1, 5, 0, 1}), other = Reader(2).read({1, 5, 0, 6});
  CHECK((rows(one, 0, 3) == rows(other, 0, 3)));
  CHECK(attn::max_abs_difference(rows(one, 3, 4), rows(other, 3, 4)) > 0.01);
}

TEST_CASE("token by token, layer by layer, the cache gives the logits of the full pass", "[generate]") {
  const auto full = Reader(2).read({1, 5, 0, 1, 3});
  Reader reader(2);
  std::vector<Tensor<2>> logits = {reader.logits({1, 5, 0}), reader.logits({1}), reader.logits({3})};
  CHECK(reader.deviation(logits, full) <= 10 * rounding);
  logits[1](0, 2) += 0.5;
  CHECK(reader.deviation(logits, full) == Approx(0.5).epsilon(1e-3));
}

TEST_CASE("a token that is read at the wrong position is noticed", "[generate]") {
  const auto full = Reader(2).read({1, 5, 0, 1});
  for (const std::size_t position : {0, 2, 4}) {
    Reader reader(2);
    reader.read({1, 5, 0});
    for (std::size_t j = 0; j < d_model; ++j)
      reader.decoder.positions(3, j) = reader.decoder.positions(position, j);
    CHECK(reader.deviation({reader.logits({1})}, full) > 0.01);
  }
}

TEST_CASE("more steps than rows of a full pass cannot be compared", "[generate]") {
  Reader reader(2);
  const auto logits = reader.logits({1});
  const auto full = Reader(2).read({1});
  CHECK(reader.deviation({logits}, full) == 0.0);
  CHECK_THROWS_AS(reader.deviation({logits, logits}, full), std::invalid_argument);
}

TEST_CASE("a token's vector is its row of the embedding and that of its position", "[generate]") {
  const Tensor<2> embedding = {{1, 2}, {3, 4}}, positions = {{10, 20}, {30, 40}, {50, 60}};
  CHECK((lessons::embed_tokens(embedding, positions, {1, 0}, 1) == Tensor<3>{{{33, 44}, {51, 62}}}));
  CHECK_THROWS_WITH(lessons::embed_tokens(embedding, positions, {2}, 0),
                    Contains("2 rows") && Contains("token 2"));
  CHECK_THROWS_WITH(lessons::embed_tokens(embedding, positions, {1, 1}, 2),
                    Contains("3 rows") && Contains("stands at 3"));
  CHECK_THROWS_AS(lessons::embed_tokens(embedding, Tensor<2>{{1, 2, 3}}, {1}, 0), std::invalid_argument);
}

TEST_CASE("greedy decoding takes the first of the best tokens", "[generate]") {
  CHECK(lessons::greedy_token(Tensor<2>{{-1.0, 3.0, 2.0, 3.0}}) == 1);
  CHECK(lessons::greedy_token(Tensor<2>{{-1.0}}) == 0);
}

TEST_CASE("a cache holds new keys and values behind the old ones, head by head", "[key_value_cache]") {
  const auto K = random_tensor<4>({2, 3, 4, 5}, 1), V = random_tensor<4>({2, 3, 4, 2}, 2);
  KeyValueCache cache = {Tensor<4>({2, 3, 0, 5}), Tensor<4>({2, 3, 0, 2})};
  CHECK(cache.length() == 0);
  CHECK(cache.size() == 0);
  cache.append(K, V);
  CHECK((cache.keys == K));
  CHECK((cache.values == V));

  const auto more_K = random_tensor<4>({2, 3, 1, 5}, 3), more_V = random_tensor<4>({2, 3, 1, 2}, 4);
  cache.append(more_K, more_V);
  CHECK(cache.length() == 5);
  CHECK(cache.size() == 2 * 3 * 5 * (5 + 2));
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t h = 0; h < 3; ++h) {
      for (std::size_t j = 0; j < 4; ++j) CHECK(cache.keys(b, h, j, 4) == K(b, h, j, 4));
      CHECK(cache.keys(b, h, 4, 0) == more_K(b, h, 0, 0));
      CHECK(cache.values(b, h, 4, 1) == more_V(b, h, 0, 1));
    }
}

TEST_CASE("a cache refuses what does not fit with both shapes, and stays as it was", "[key_value_cache]") {
  const auto K = random_tensor<4>({1, 2, 3, 4}, 1), V = random_tensor<4>({1, 2, 3, 5}, 2);
  auto cache = lessons::empty_cache(2, 4, 5);
  cache.append(K, V);
  CHECK_THROWS_AS(cache.append(V, V), std::invalid_argument);
  CHECK_THROWS_WITH(cache.append(K, K), Contains("1×2×3×5") && Contains("1×2×3×4"));
  CHECK_THROWS_WITH(cache.append(K, random_tensor<4>({1, 2, 2, 5}, 1)),
                    Contains("1×2×3×4") && Contains("1×2×2×5"));
  CHECK((cache.keys == K));
  CHECK((cache.values == V));
}

TEST_CASE("reading token by token with a cache is multi-head attention over all at once",
          "[key_value_cache]") {
  Reader reader(1, GENERATE(1, 2, 4));
  const Tokens tokens = {1, 5, 0, 1, 3, 6};
  const auto x = lessons::embed_tokens(reader.decoder.embedding, reader.decoder.positions, tokens, 0);
  const auto all = all_at_once(reader, x);
  const auto expected = attn::add(x, all.output);

  const std::ptrdiff_t ends[] = {3, 4, 6};  // a prefill, a token, two tokens
  std::ptrdiff_t begin = 0;
  for (const auto end : ends) {
    const auto hidden = reader.read({tokens.begin() + begin, tokens.begin() + end});
    const auto first = static_cast<std::size_t>(begin), last = static_cast<std::size_t>(end);
    CHECK(reader.decoding.weights.back().shape() == std::array<std::size_t, 4>{1, heads, last - first, last});
    CHECK(attn::max_abs_difference(hidden, rows(expected, first, last)) <= 10 * rounding);
    begin = end;
  }
  CHECK((reader.decoding.caches[0].keys == all.K_heads));
  CHECK((reader.decoding.caches[0].values == all.V_heads));
}

TEST_CASE("a cache that has lost a token gives another result", "[key_value_cache]") {
  const auto full = Reader(1).read({1, 5, 0, 1, 3, 6});
  Reader reader(1);
  reader.read({1, 5, 0, 1, 3});
  const auto shorten = [](Tensor<4>& kept) { kept = xt::view(kept, xt::all(), xt::all(), xt::range(0, 4)); };
  shorten(reader.decoding.caches[0].keys);
  shorten(reader.decoding.caches[0].values);
  reader.decoding.tokens = {1, 5, 0, 1};
  for (std::size_t j = 0; j < d_model; ++j) reader.decoder.positions(4, j) = reader.decoder.positions(5, j);
  CHECK(attn::max_abs_difference(reader.read({6}), rows(full, 5, 6)) > 0.01);
}

TEST_CASE("what the cache takes up is counted in numbers of the run's type", "[key_value_cache]") {
  auto shown = options(1, 1);
  shown.dtype = GENERATE("float64", "float32");
  const double item = shown.dtype == "float64" ? 8 : 4;
  const auto told = told_by("generate", shown);
  CHECK(told.elements("cache/bytes") ==
        std::vector<double>{4 * 3 * (d_k + d_v) * item, 2 * 3 * (d_k + d_v) * item, 3 * (d_k + d_v) * item});
  CHECK(told.holds("cache-in-proportion"));
}

TEST_CASE("the limit for the logits follows from rounding, however many layers there are", "[generate]") {
  const std::size_t layers = GENERATE(1, 8);
  const std::string dtype = GENERATE("float64", "float32");
  const std::size_t width = GENERATE(8, 96);
  const Options run = {.sentence = {"a rose is a"},
                       .d_model = width,
                       .heads = 2,
                       .dtype = dtype,
                       .new_tokens = 3,
                       .layers = layers};
  const auto told = told_by("generate", run);
  const auto logits = told.elements("step=2/logits");
  const double largest = std::abs(*std::max_element(
      logits.begin(), logits.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
  REQUIRE(told.holds("cached-equals-full"));
  CHECK(told.measurements.at("cached-equals-full").limit.bound <= 0.01 * largest);
  CHECK_FALSE(told_by("generate", run, {}, one_percent_more("step=2/logits")).holds("cached-equals-full"));
}

TEST_CASE("nothing is claimed of logits that are no larger than what rounding may do", "[generate]") {
  const Options run = {
      .sentence = {"hello"}, .heads = 2, .seed = 103, .dtype = "float32", .new_tokens = 1, .layers = 1, .model = "none"};
  CHECK(told_by("generate", run).kinds.at("cached-equals-full") == attn::Kind::note);
}

TEST_CASE("options that code leaves empty are the lesson's own", "[generate]") {
  const auto told = told_by("generate", {.sentence = {"a rose is a"}, .model = "none"});
  const auto& own = lesson_called("generate").defaults;
  const auto writes = [&](std::size_t step) { return told.has("step=" + std::to_string(step) + "/token"); };
  CHECK(writes(*own.new_tokens - 1));
  CHECK_FALSE(writes(*own.new_tokens));
  CHECK_FALSE(told.has("step=0/layer=2/weights"));
  CHECK(told.holds("cached-equals-full"));
}

TEST_CASE("a step of decoding that is off by 1 % is noticed", "[generate]") {
  const Options run = {.sentence = {"a rose is a"}, .heads = 2, .new_tokens = 3, .layers = 2};
  for (const auto* step : {"step=1/x", "step=0/layer=1/K", "step=0/layer=1/cache/V", "step=1/layer=1/cache/K",
                           "step=1/layer=2/scores", "step=1/layer=1/weights", "step=2/layer=1/heads",
                           "step=1/layer=2/residual"}) {
    INFO(step);
    CHECK_FALSE(told_by("generate", run, {}, one_percent_more(step)).holds("cached-equals-full"));
  }
  const auto weights = told_by("generate", run, {}, one_percent_more("step=1/layer=2/weights"));
  CHECK_FALSE(weights.holds("rows-sum-to-1"));
}
