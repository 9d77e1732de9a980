#include "attn/attention.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "attn/ops/mask.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using Catch::Contains;
using lessons::Options;

namespace {

using Numbers = xt::xarray<double>;

/// What a run of a lesson told, as containers of xtensor alone.
class Told {
 public:
  explicit Told(const std::string& lesson, const Options& options) : told_(told_by(lesson, options)) {}

  Numbers operator()(const std::string& id) const {
    const auto view = told_.tensors.at(id).view();
    Numbers numbers(view.shape);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers.data()[i] = view.at(i);
    return numbers;
  }

  xt::xarray<bool> mask() const { return xt::not_equal((*this)("mask"), 0.0); }
  bool has(const std::string& id) const { return told_.tensors.count(id) > 0; }

 private:
  Listener told_;
};

Options options_of(const std::string& lesson, const std::vector<std::string>& sentences) {
  auto options = lesson_called(lesson).defaults;
  options.sentence = sentences;
  options.model = "none";
  return options;
}

std::string words(std::size_t count) {
  std::string sentence;
  for (std::size_t i = 0; i < count; ++i) sentence += fmt::format("w{} ", i);
  return sentence;
}

/// Same shape, same bits, but that any NaN is any other.
template <class A, class B>
bool same(const A& a, const B& b) {
  const Numbers x = a, y = b;
  return x.shape() == y.shape() && std::equal(x.begin(), x.end(), y.begin(), [](double p, double q) {
           return p == q || (std::isnan(p) && std::isnan(q));
         });
}

/// Equal but for the order in which sums are taken.
template <class A, class B>
bool near(const A& a, const B& b) {
  const Numbers x = a, y = b;
  return x.shape() == y.shape() && std::equal(x.begin(), x.end(), y.begin(),
                                              [](double p, double q) { return std::abs(p - q) <= 1e-12; });
}

xt::xtensor<double, 3> plain(const std::array<std::size_t, 3>& shape, unsigned seed) {
  return random_tensor<3>(shape, seed);
}

}  // namespace

TEST_CASE("attention is that of the lesson sdpa, bit for bit", "[library]") {
  const std::vector<std::string> sentences =
      GENERATE(std::vector<std::string>{"the cat sat"}, std::vector<std::string>{"a b c d e", "f g h"},
               std::vector<std::string>{words(70), words(60)});
  auto options = options_of("sdpa", sentences);
  options.d_k = 70;
  options.temperature = GENERATE(1.0, 0.7);
  options.causal = GENERATE(false, true);
  if (options.causal) options.window = 2;
  const Told told("sdpa", options);
  attn::AttentionOptions same_options = {
      .causal = options.causal, .window = options.window, .temperature = options.temperature};
  if (told.has("mask")) same_options.mask = told.mask();
  const auto [output, weights] = attn::attention(told("Q"), told("K"), told("V"), same_options);
  CHECK(same(weights, told("weights")));
  CHECK(same(output, told("output")));
}

TEST_CASE("multi-head attention is that of the lesson multihead, bit for bit", "[library]") {
  const std::vector<std::string> sentences =
      GENERATE(std::vector<std::string>{"the cat sat"}, std::vector<std::string>{"a b c d e", "f g h"},
               std::vector<std::string>{words(40), words(30)});
  auto options = options_of("multihead", sentences);
  options.d_model = 64;
  options.heads = 4;
  options.kv_heads = GENERATE(1, 2, 4);
  options.causal = true;
  const Told told("multihead", options);
  const auto [output, weights] = attn::multi_head_attention(
      told("X"), {.heads = 4, .W_Q = told("W_Q"), .W_K = told("W_K"), .W_V = told("W_V"), .W_O = told("W_O")},
      {.mask = told.mask()});
  CHECK(same(weights, told("weights")));
  CHECK(same(output, told("output")));
}

TEST_CASE("the cell of Bahdanau's decoder is that of the lesson seq2seq", "[library]") {
  auto options = lesson_called("seq2seq").defaults;
  options.source = {"a b c d", "e f"};
  options.target = {"u v w", "x y"};
  options.model = "none";
  const Told told("seq2seq", options);
  const attn::LstmParameters lstm = {.W_ih = told("decoder/W_ih"),
                                     .W_hh = told("decoder/W_hh"),
                                     .b_ih = told("decoder/b_ih"),
                                     .b_hh = told("decoder/b_hh")};
  const attn::AdditiveWeights additive = {
      .W_q = told("attention/W_q"), .W_k = told("attention/W_k"), .v_a = told("attention/v_a")};
  const auto step = [](const Numbers& of, std::size_t t) -> Numbers {
    return xt::view(of, xt::all(), xt::range(t, t + 1));
  };
  const auto X = told("X_target"), states = told("encoder/h");
  Numbers h = xt::view(told("decoder/s_0"), xt::all(), xt::newaxis());
  Numbers c = xt::view(told("decoder/c_0"), xt::all(), xt::newaxis());
  const xt::xarray<bool> real = xt::view(told.mask(), xt::all(), xt::range(0, 1));
  for (std::size_t t = 0; t < X.shape(1); ++t) {
    const auto after = attn::bahdanau_cell(xt::view(X, xt::all(), xt::range(t, t + 1)), h, c, states, lstm,
                                           additive, {.mask = real});
    CHECK(near(after.weights, step(told("decoder/weights"), t)));
    CHECK(near(after.context, step(told("decoder/context"), t)));
    CHECK(near(after.h, step(told("decoder/h"), t)));
    CHECK(near(after.c, step(told("decoder/c"), t)));
    h = after.h;
    c = after.c;
  }
}

TEST_CASE("positional encodings are those of the lesson positional, bit for bit", "[library]") {
  auto options = options_of("positional", {"the cat saw the dog", "a dog"});
  options.d_model = 6;
  options.pairing = GENERATE("adjacent", "halves");
  const auto pairing = options.pairing == "halves" ? attn::Pairing::halves : attn::Pairing::adjacent;
  const Told told("positional", options);
  const auto X = told("X");
  CHECK(same(attn::sinusoidal_encoding(5, 6), told("sinusoidal/encoding")));
  CHECK(same(X + attn::sinusoidal_encoding(5, 6), told("sinusoidal/encoded")));
  CHECK(same(attn::rotary_encoding(X, pairing), told("rope/Q_rotated")));
  const Numbers last = xt::view(told("rope/Q_rotated"), xt::all(), xt::range(3, 5));
  CHECK(same(attn::rotary_encoding(xt::view(X, xt::all(), xt::range(3, 5)), pairing, 3), last));
}

TEST_CASE("with angles queries and keys are turned before they meet", "[library]") {
  const Numbers X = random_tensor<4>({2, 2, 5, 6}, 1), V = random_tensor<4>({2, 2, 5, 3}, 2);
  const auto turned = attn::rotary_encoding(X);
  const auto angles = attn::position_angles(7, attn::position_frequencies(6));
  const auto rotary = attn::attention(X, X, V, {.angles = angles});
  CHECK(same(rotary.output, attn::attention(turned, turned, V).output));
  CHECK(!same(rotary.weights, attn::attention(X, X, V).weights));
}

TEST_CASE("whatever holds the numbers, attention is the same", "[library]") {
  const auto Q = plain({2, 3, 4}, 1), K = plain({2, 5, 4}, 2), V = plain({2, 5, 2}, 3);
  const auto expected = attn::attention(Q, K, V);
  const xt::xarray<double, xt::layout_type::column_major> columns = K;
  CHECK(same(attn::attention(Numbers(Q), columns, attn::Tensor<3>(V)).output, expected.output));
  CHECK(same(attn::attention(Q * 1.0, xt::transpose(xt::transpose(K)), xt::view(V, xt::all())).output,
             expected.output));
  const Numbers of_first = xt::view(expected.output, 0);
  CHECK(same(attn::attention(xt::view(Q, 0), xt::view(K, 0), xt::view(Numbers(V), 0)).output, of_first));
  const attn::Tensor<4> heads = xt::view(Q, xt::all(), xt::newaxis());
  CHECK(attn::attention(heads, xt::view(K, xt::all(), xt::newaxis()), xt::view(V, xt::all(), xt::newaxis()))
            .weights.shape() == attn::AnyRank<double>::shape_type{2, 1, 3, 5});

  const std::vector<float> numbers = {1, 2, 3, 4};
  const xt::xtensor_fixed<int, xt::xshape<2, 2>> integers = {{1, 2}, {3, 4}};
  const Numbers doubles = {{1.0, 2.0}, {3.0, 4.0}};
  const auto adapted = xt::adapt(numbers, std::vector<std::size_t>{2, 2});
  CHECK(same(attn::attention(adapted, integers, xt::arange<int>(1, 5).reshape({2, 2})).output,
             attn::attention(doubles, doubles, doubles).output));
}

TEST_CASE("a mask of any kind hides, and a query that sees nothing gets zeros", "[library]") {
  const auto Q = plain({2, 3, 4}, 1), K = plain({2, 3, 4}, 2), V = plain({2, 3, 2}, 3);
  const xt::xtensor<bool, 2> rows = {{false, false, false}, {true, false, true}, {true, true, true}};
  const auto [output, weights] = attn::attention(Q, K, V, {.mask = rows});
  const attn::Tensor<2> first = xt::view(weights, xt::all(), 0);
  CHECK(same(first, xt::zeros<double>({2, 3})));
  CHECK(weights(1, 1, 1) == 0.0);
  CHECK(same(attn::attention(Q, K, V, {.mask = attn::repeat_mask(rows, 2)}).output, output));
  CHECK(
      same(attn::attention(Q, K, V, {.mask = xt::view(rows, xt::newaxis(), xt::newaxis())}).output, output));
  CHECK(same(attn::attention(Q, K, V, {.causal = true}).output,
             attn::attention(Q, K, V, {.mask = attn::causal_mask(3, 3)}).output));
}

TEST_CASE("NaN stays NaN where it is seen, and no keys are as hidden ones", "[library]") {
  auto Q = plain({1, 2, 3}, 1), K = plain({1, 4, 3}, 2), V = plain({1, 4, 2}, 3);
  Q(0, 1, 0) = not_a_number;
  const auto [output, weights] = attn::attention(Q, K, V);
  CHECK(std::isfinite(output(0, 0, 0)));
  CHECK((std::isnan(output(0, 1, 0)) && std::isnan(weights(0, 1, 3))));
  const auto no_keys =
      attn::attention(Q, xt::view(K, xt::all(), xt::range(0, 0)), xt::view(V, xt::all(), xt::range(0, 0)));
  CHECK(same(no_keys.output, xt::zeros<double>({1, 2, 2})));
  CHECK(no_keys.weights.size() == 0);
  CHECK(attn::attention(xt::view(Q, xt::range(0, 0)), xt::view(K, xt::range(0, 0)),
                        xt::view(V, xt::range(0, 0)))
            .output.size() == 0);
}

namespace {

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const attn::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the library leaves the environment of the process as it was", "[library]") {
  std::ifstream file("/proc/self/environ", std::ios::binary);
  std::set<std::string> before, now;
  for (std::string variable; std::getline(file, variable, '\0');) before.insert(variable);
  for (char** variable = environ; *variable != nullptr; ++variable) now.insert(*variable);
  CHECK(now == before);
}

TEST_CASE("what does not fit is named, with its shape and what would be valid", "[library]") {
  const Numbers x23 = xt::ones<double>({2, 3}), x24 = xt::ones<double>({2, 4}), x3 = xt::ones<double>({3});
  const Numbers x123 = xt::ones<double>({1, 2, 3}), x2423 = xt::ones<double>({2, 4, 2, 3}),
                x2323 = xt::ones<double>({2, 3, 2, 3});
  const auto attention = [](const Numbers& Q, const Numbers& K, const Numbers& V,
                            const attn::AttentionOptions& options = {}) {
    return error_of([&] { attn::attention(Q, K, V, options); });
  };
  CHECK(attention(x23, x24, x24) == "K is 2×4; valid: [key×d_k] with d_k = 3, as in Q");
  CHECK(attention(x23, x123, x24) == "K is 1×2×3; valid: [key×d_k]");
  CHECK(attention(x3, x23, x23) ==
        "Q has rank 1; valid: [query×d_k], or with batch, or batch and head, before them");
  CHECK(attention(x2423, x2323, x2323) == "kv_head is 3; valid: a divisor of 4, the heads of Q");
  CHECK(attention(x23, x23, x23, {.temperature = 0.0}) == "temperature is 0; valid: a positive number");
  CHECK(attention(x23, x23, x23, {.mask = xt::ones<bool>({3, 2})}) ==
        "mask is 3×2; valid: [batch×head×query×key] = 1×1×2×2, each of them or 1, also without head, or "
        "without "
        "batch and head");
  CHECK(attention(x24, x24, x24, {.angles = x23}) ==
        "angles is 2×3; valid: [position×pair] with 2 positions or more and d_k / 2 pairs, d_k = 4");
  const auto multi_head = [&](const attn::MultiHeadWeights& weights) {
    return error_of([&] { attn::multi_head_attention(x23, weights); });
  };
  const Numbers x34 = xt::ones<double>({3, 4});
  CHECK(multi_head({.heads = 3, .W_Q = x34, .W_K = x34, .W_V = x34}) ==
        "heads is 3; valid: a divisor of 4, the columns of W_Q");
  CHECK(multi_head({.heads = 2, .W_Q = x34, .W_K = x34, .W_V = x34}) ==
        "W_O is missing; valid: [head·d_v×d_model]");
  CHECK(multi_head({.heads = 2, .W_Q = x34, .W_K = Numbers(xt::ones<double>({3, 3})), .W_V = x34}) ==
        "W_K is 3×3; valid: [d_model×kv_head·d_k] with d_k = 2, the columns of W_Q / heads");
  CHECK(multi_head({.heads = 4, .W_Q = x34, .W_K = Numbers(xt::ones<double>({3, 3})), .W_V = x34}) ==
        "W_K is 3×3; valid: [d_model×kv_head·d_k] with a kv_head that divides heads = 4, not 3");
  CHECK(multi_head({.heads = 2, .W_Q = x34, .W_K = x34, .W_V = Numbers(xt::ones<double>({3, 3}))}) ==
        "W_V is 3×3; valid: [d_model×kv_head·d_v] with kv_head = 2, the columns of W_K / d_k");
  CHECK(error_of([&] { attn::multi_head_attention(x2423, {.heads = 1, .W_Q = x34}); }) ==
        "X_query has rank 4; valid: [query×d_model] or [batch×query×d_model]");
  CHECK(error_of([&] {
          attn::rotary_encoding(x24, attn::Pairing::adjacent, static_cast<std::size_t>(-1));
        }).starts_with("first_position is 18446744073709551615"));
  CHECK(multi_head({.heads = 2, .W_Q = x34, .W_K = x34, .W_V = x34, .W_O = x34}) ==
        "W_O is 3×4; valid: [head·d_v×d_model] with head·d_v = 4, as in W_V");
  CHECK(multi_head({.heads = 2, .W_Q = x123}) == "W_Q is 1×2×3; valid: [d_model×head·d_k]");
  CHECK(error_of([&] { attn::rotary_encoding(x23); }) == "x is 2×3; valid: an even d, for pairs are turned");
  CHECK(error_of([&] { attn::lstm_cell(x23, x23, x23, {.W_ih = x23}); }) ==
        "W_ih is 2×3; valid: [4·hidden×d_in] with 4·hidden = 12, as in the gates of h");
  CHECK(error_of([&] { attn::additive_attention(x23, x24, {.W_q = x34, .W_k = x34}); }) ==
        "W_k is 3×4; valid: [d×d_a] with d = 4, as in states");
  CHECK(error_of([&] { attn::bahdanau_cell(x23, x34, x34, x24, {}, {}); }) ==
        "h is 3×4; valid: [n×hidden] with n = 2, as in y");
}
