#include "trace/diagnosis/layout.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "tests/unit/trace/diagnosis/tensors.hpp"

using attn::ExpectedTensor;
using attn::Shape;
using somebody::counting;
using somebody::entries_of;
using somebody::Strings;

namespace {

ExpectedTensor weights_of(const Shape& shape) {
  return {.id = "weights", .shape = shape, .axes = {"batch", "head", "query", "key"}};
}

void check_left(const attn::AnyTensor& given, const ExpectedTensor& expected, const Strings& axes = {}) {
  INFO(attn::to_string(given.shape()) << " for " << attn::to_string(expected.shape));
  CHECK_FALSE(attn::laid_out(given, axes, expected));
}

/// That it is laid out as `same`, and what is said.
void check_laid_out(const attn::AnyTensor& given, const ExpectedTensor& expected, const attn::AnyTensor& same,
                    const std::string& assumption, const Strings& axes = {}) {
  const auto fitted = attn::laid_out(given, axes, expected);
  REQUIRE(fitted);
  CHECK(are_identical(fitted->tensor, same));
  CHECK(fitted->assumption == assumption);
}

}  // namespace

TEST_CASE("a tensor of the expected shape stays as it is") {
  const auto given = counting({2, 3, 3, 3});
  check_laid_out(given, weights_of({2, 3, 3, 3}), given, "");
  const auto with_ones = counting({2, 1, 1, 3});
  check_laid_out(with_ones, weights_of({2, 1, 1, 3}), with_ones, "");
  const auto scalar = counting({});
  check_laid_out(scalar, {.id = "L"}, scalar, "");
}

TEST_CASE("a batch of one may lack its axis") {
  check_laid_out(counting({3, 4, 4}), weights_of({1, 3, 4, 4}), counting({1, 3, 4, 4}),
                 "weights has no batch axis and is taken for a batch of one.");
  check_left(counting({3, 4, 4}), weights_of({2, 3, 4, 4}));
  check_laid_out(counting({1, 4, 5}), {.id = "scores", .shape = {4, 5}, .axes = {"query", "key"}},
                 counting({4, 5}), "scores is [1×4×5] and is taken for [4×5].");
}

TEST_CASE("axes in another order are taken where one order alone fits") {
  const ExpectedTensor heads{
      .id = "Q_heads", .shape = {2, 3, 7, 5}, .axes = {"batch", "head", "query", "d_k"}};
  const auto right = counting({2, 3, 7, 5});
  check_laid_out(permuted(right, {0, 2, 1, 3}), heads, right,
                 "Q_heads is taken to be [batch×query×head×d_k], where the lesson has "
                 "[batch×head×query×d_k].");
  check_laid_out(permuted(right, {1, 0, 2, 3}), heads, right,
                 "Q_heads is taken to be [head×batch×query×d_k], where the lesson has "
                 "[batch×head×query×d_k].");
  const ExpectedTensor one{.id = "Q_heads", .shape = {1, 3, 7, 5}, .axes = heads.axes};
  check_laid_out(permuted(counting({3, 7, 5}), {1, 0, 2}), one, counting({1, 3, 7, 5}),
                 "Q_heads is taken to be [query×head×d_k], where the lesson has [batch×head×query×d_k].");
}

TEST_CASE("axes in another order are left where two orders fit") {
  const ExpectedTensor heads{
      .id = "Q_heads", .shape = {2, 3, 7, 7}, .axes = {"batch", "head", "query", "d_k"}};
  check_left(counting({2, 7, 3, 7}), heads);
  check_left(counting({3, 2, 7, 7}), heads);
}

TEST_CASE("the names of axes decide where lengths do not") {
  const ExpectedTensor heads{
      .id = "Q_heads", .shape = {3, 3, 3, 3}, .axes = {"batch", "head", "query", "d_k"}};
  const auto right = counting({3, 3, 3, 3});
  check_laid_out(permuted(right, {0, 2, 1, 3}), heads, right,
                 "Q_heads is taken to be [batch×query×head×d_k], where the lesson has "
                 "[batch×head×query×d_k].",
                 {"batch", "query", "head", "d_k"});
  const ExpectedTensor scores{.id = "scores", .shape = {4, 5}, .axes = {"query", "key"}};
  check_laid_out(permuted(counting({4, 5}), {1, 0}), scores, counting({4, 5}),
                 "scores is taken to be [key×query], where the lesson has [query×key].", {"key", "query"});
  check_left(counting({4, 6}), scores, {"query", "key"});
}

TEST_CASE("queries and keys that have changed places are no layout") {
  check_left(counting({2, 3, 5, 4}), weights_of({2, 3, 4, 5}));
  check_left(counting({5, 4}), {.id = "scores", .shape = {4, 5}, .axes = {"target", "source"}});
  const auto right = counting({2, 3, 4, 5});
  CHECK(attn::laid_out(permuted(right, {1, 0, 2, 3}), {}, weights_of({2, 3, 4, 5})));
}

TEST_CASE("a weight is turned where it is not square") {
  const ExpectedTensor weight{.id = "W_Q", .shape = {8, 6}, .axes = {"d_model", "head·d_k"}};
  check_laid_out(permuted(counting({8, 6}), {1, 0}), weight, counting({8, 6}),
                 "W_Q is taken to be [head·d_k×d_model], where the lesson has [d_model×head·d_k].");
}

TEST_CASE("a tensor of another shape is never stretched") {
  check_left(counting({1, 3, 4, 5}), weights_of({2, 3, 4, 5}));
  check_left(counting({}), weights_of({2, 3, 4, 5}));
  check_left(counting({2, 4, 15}), weights_of({2, 3, 4, 5}));
  check_left(counting({2, 3, 4, 6}), weights_of({2, 3, 4, 5}));
}

TEST_CASE("repeated key heads are left out where they are copies") {
  const ExpectedTensor keys{
      .id = "K_heads", .shape = {2, 2, 4, 3}, .axes = {"batch", "kv_head", "key", "d_k"}};
  const auto right = counting({2, 2, 4, 3});
  const auto in_a_row = reshaped(attn::strided(right, {2, 2, 3, 4, 3}, {24, 12, 0, 3, 1}), {2, 6, 4, 3});
  check_laid_out(in_a_row, keys, right,
                 "K_heads has 6 heads for 2: each one 3 times in a row, of which one is taken.");
  const auto tiled = reshaped(attn::strided(right, {2, 3, 2, 4, 3}, {24, 0, 12, 3, 1}), {2, 6, 4, 3});
  check_laid_out(tiled, keys, right,
                 "K_heads has 6 heads for 2: all of them 3 times over, of which one is taken.");
  check_laid_out(permuted(in_a_row, {0, 2, 1, 3}), keys, right,
                 "K_heads has 6 heads for 2: each one 3 times in a row, of which one is taken.");
  check_left(counting({2, 6, 4, 3}), keys);
  check_left(reshaped(in_a_row, {2, 2, 12, 3}), keys);
  check_left(in_a_row, {.id = "Q_heads", .shape = {2, 2, 4, 3}, .axes = {"batch", "head", "query", "d_k"}});
}

TEST_CASE("whole numbers become counts and counts numbers, without a loss") {
  const auto dtype_of = [](const std::vector<double>& entries, attn::Dtype given, attn::Dtype expected) {
    const auto tensor = attn::in_kind_of(somebody::tensor({2}, entries, given), expected);
    CHECK(entries_of(tensor)[0] == entries[0]);
    return tensor.dtype();
  };
  using attn::Dtype;
  CHECK(dtype_of({3, 2}, Dtype::float64, Dtype::int64) == Dtype::int64);
  CHECK(dtype_of({1, 0}, Dtype::boolean, Dtype::int64) == Dtype::int64);
  CHECK(dtype_of({3.5, 2}, Dtype::float64, Dtype::int64) == Dtype::float64);
  CHECK(dtype_of({3, std::numeric_limits<double>::infinity()}, Dtype::float64, Dtype::int64) ==
        Dtype::float64);
  CHECK(dtype_of({3, 2}, Dtype::int64, Dtype::float64) == Dtype::float64);
  CHECK(dtype_of({0.5, 2}, Dtype::float16, Dtype::float64) == Dtype::float16);
}

TEST_CASE("samples and heads may be one axis") {
  const ExpectedTensor heads{
      .id = "Q_heads", .shape = {2, 3, 7, 5}, .axes = {"batch", "head", "query", "d_k"}};
  const auto right = counting({2, 3, 7, 5});
  check_laid_out(
      reshaped(right, {6, 7, 5}), heads, right,
      "Q_heads is [6×7×5] and is taken to have samples and heads in one axis, the heads of a sample "
      "one after another.");
  const auto heads_first = reshaped(permuted(right, {1, 0, 2, 3}), {6, 7, 5});
  const auto fitted = attn::with_heads_before_samples(heads_first, heads);
  REQUIRE(fitted);
  CHECK(are_identical(fitted->tensor, right));
  check_left(counting({5, 7, 5}), heads);
}

TEST_CASE("of angles that stand twice one is taken") {
  const ExpectedTensor angles{.id = "rope/angles", .shape = {2, 2}, .axes = {"position", "pair"}};
  const auto right = somebody::tensor({2, 2}, {0, 1, 2, 3});
  check_laid_out(somebody::tensor({2, 4}, {0, 1, 0, 1, 2, 3, 2, 3}), angles, right,
                 "rope/angles has 4 pairs for 2: all of them 2 times over, of which one is taken.");
  check_laid_out(somebody::tensor({2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}), angles, right,
                 "rope/angles has 4 pairs for 2: each one 2 times in a row, of which one is taken.");
  check_left(somebody::tensor({2, 4}, {0, 1, 0, 1, 2, 3, 2, 4}), angles);
}
