#include <catch2/catch.hpp>

#include "tests/unit/numbers.hpp"
#include "tests/unit/trace/diagnosis/tensors.hpp"
#include "trace/diagnosis/layout.hpp"

using attn::Dtype;
using attn::ExpectedTensor;
using attn::MaskTrue;
using somebody::entries_of;

namespace {

ExpectedTensor expected_mask(std::size_t batch, std::size_t queries, std::size_t keys) {
  return {.id = "mask",
          .kind = attn::Kind::input,
          .dtype = Dtype::boolean,
          .shape = {batch, queries, keys},
          .axes = {"batch", "query", "key"}};
}

attn::AnyTensor mask_of(attn::Shape shape, const std::vector<double>& entries) {
  return somebody::tensor(std::move(shape), entries, Dtype::boolean);
}

/// Two samples of two queries and three keys; the second has no last key, and the first query sees less.
const attn::AnyTensor& right() {
  static const auto mask = mask_of({2, 2, 3}, {1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0});
  return mask;
}

void check_read(const attn::AnyTensor& given, const attn::AnyTensor& same, const std::string& assumption,
                const ExpectedTensor& expected = expected_mask(2, 2, 3), const std::string& name = "mask",
                MaskTrue mask_true = MaskTrue::seen) {
  INFO(attn::to_string(given.shape()) << ' ' << name);
  const auto fitted = attn::as_mask(given, name, expected, mask_true);
  REQUIRE(fitted);
  CHECK(are_identical(fitted->tensor, same));
  CHECK(fitted->assumption == assumption);
}

void check_mask_left(const attn::AnyTensor& given, const ExpectedTensor& expected = expected_mask(2, 2, 3)) {
  INFO(attn::to_string(given.shape()));
  CHECK_FALSE(attn::as_mask(given, "mask", expected, MaskTrue::seen));
}

/// The same along an axis put in at that place.
attn::AnyTensor repeated(const attn::AnyTensor& given, std::size_t axis, std::size_t count) {
  auto shape = given.shape();
  auto strides = attn::strides_of(shape);
  const auto place = static_cast<std::ptrdiff_t>(axis);
  shape.insert(shape.begin() + place, count);
  strides.insert(strides.begin() + place, 0);
  return strided(given, shape, strides);
}

}  // namespace

TEST_CASE("masks of every usual shape are read") {
  check_read(right(), right(), "");
  const auto keys = mask_of({3}, {1, 0, 1});
  const auto of_keys = repeated(repeated(keys, 0, 2), 0, 2);
  check_read(keys, of_keys, "mask is taken to be [key].");
  check_read(reshaped(keys, {1, 3}), of_keys, "mask is taken to be [query×key].");
  check_read(reshaped(keys, {1, 1, 1, 3}), of_keys, "mask is taken to be [batch×head×query×key].");
  const auto padding = mask_of({2, 3}, {1, 1, 1, 1, 1, 0});
  const auto of_padding = repeated(padding, 1, 2);
  check_read(reshaped(padding, {2, 1, 1, 3}), of_padding, "mask is taken to be [batch×head×query×key].");
  check_read(reshaped(padding, {2, 1, 3}), of_padding, "mask is taken to be [batch×query×key].");
  check_read(reshaped(right(), {2, 1, 2, 3}), right(), "mask is taken to be [batch×head×query×key].");
  check_read(repeated(right(), 1, 4), right(), "mask is taken to be [batch×head×query×key].");
  check_read(reshaped(repeated(right(), 1, 4), {8, 2, 3}), right(),
             "mask is taken to be [batch·head×query×key].");
}

TEST_CASE("a matrix is a mask of queries or of samples, as lengths or the name say") {
  const auto matrix = mask_of({2, 3}, {1, 1, 1, 1, 1, 0});
  check_mask_left(matrix);
  const auto of_queries = repeated(matrix, 0, 2), of_samples = repeated(matrix, 1, 2);
  const auto expected = expected_mask(2, 2, 3);
  check_read(matrix, of_queries, "mask is taken to be [query×key].", expected, "causal_mask");
  check_read(matrix, of_samples, "mask is taken to be [batch×key].", expected, "padding_mask");
  check_read(
      matrix, of_samples,
      "key_padding_mask is taken to be true for what may be seen; nn.MultiheadAttention has it true for "
      "what is hidden. mask is taken to be [batch×key].",
      expected, "key_padding_mask");
  check_read(matrix, repeated(matrix, 0, 4), "mask is taken to be [query×key].", expected_mask(4, 2, 3));
  check_read(matrix, repeated(matrix, 1, 4), "mask is taken to be [batch×key].", expected_mask(2, 4, 3));
  const auto same = mask_of({2, 3}, {1, 1, 0, 1, 1, 0});
  check_read(same, repeated(same, 0, 2), "mask is taken to be [query×key].");
}

TEST_CASE("masks that fit no shape, or two, are left") {
  check_mask_left(mask_of({2}, {1, 0}));
  check_mask_left(mask_of({2, 2}, {1, 0, 1, 1}));
  check_mask_left(mask_of({3, 2, 3}, std::vector<double>(18, 1.0)), expected_mask(2, 2, 4));
  auto differing = repeated(right(), 1, 4);
  differing.elements<bool>()[0] = false;
  check_mask_left(differing);
  check_mask_left(reshaped(differing, {8, 2, 3}));
}

TEST_CASE("a lesson with heads in its mask keeps them") {
  const ExpectedTensor expected{
      .id = "mask", .dtype = Dtype::boolean, .shape = {2, 2, 3}, .axes = {"head", "query", "key"}};
  check_read(reshaped(right(), {1, 2, 2, 3}), right(), "mask is taken to be [batch×head×query×key].",
             expected);
}

TEST_CASE("masks have true for what is seen or for what is hidden") {
  const auto hidden = mask_of({2, 2, 3}, {0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1});
  check_read(hidden, right(), "mask has true for what is hidden.", expected_mask(2, 2, 3), "mask",
             MaskTrue::hidden);
  check_read(hidden, hidden, "");
}

TEST_CASE("masks may be of numbers") {
  const std::string as_numbers = "mask is taken for one of 0 and 1: 1 for what may be seen.";
  const std::string as_added = "mask is taken for one that is added: 0 for what may be seen.";
  const auto ones = entries_of(right());
  check_read(somebody::tensor({2, 2, 3}, ones), right(), as_numbers);
  check_read(somebody::tensor({2, 2, 3}, ones, Dtype::int64), right(), as_numbers);
  for (const double fill : {-infinity, -1e9, -1e4, -3.4028234663852886e38}) {
    std::vector<double> added;
    for (const double one : ones) added.push_back(one == 1.0 ? 0.0 : fill);
    check_read(somebody::tensor({2, 2, 3}, added), right(), as_added);
    check_read(somebody::tensor({2, 2, 3}, added), right(), as_added, expected_mask(2, 2, 3), "mask",
               MaskTrue::hidden);
    check_read(somebody::tensor({2, 1, 2, 3}, added, Dtype::float32), right(),
               as_added + " mask is taken to be [batch×head×query×key].");
  }
  const auto all = mask_of({2, 2, 3}, std::vector<double>(12, 1.0));
  check_read(somebody::tensor({2, 2, 3}, std::vector<double>(12, 0.0)), all, as_added);
  check_read(somebody::tensor({3}, {0, 0, -10000}, Dtype::int64),
             repeated(repeated(mask_of({3}, {1, 1, 0}), 0, 2), 0, 2),
             as_added + " mask is taken to be [key].");
  auto bias = ones;
  bias[0] = -0.5;
  check_mask_left(somebody::tensor({2, 2, 3}, bias));
  bias[0] = not_a_number;
  check_mask_left(somebody::tensor({2, 2, 3}, bias));
}
