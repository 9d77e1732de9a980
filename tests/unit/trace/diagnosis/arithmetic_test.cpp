#include <catch2/catch.hpp>
#include <limits>

#include "tests/unit/trace/diagnosis/tensors.hpp"
#include "trace/diagnosis/replay.hpp"
#include "trace/number.hpp"

using attn::AnyTensor;
using attn::Dtype;

namespace {

/// Numbers that need all digits, rounded to `numbers` and stored as `stored`.
AnyTensor rounded_to(Dtype numbers, Dtype stored, std::size_t count = 64) {
  AnyTensor tensor(stored, {count});
  for (std::size_t i = 0; i < count; ++i)
    tensor.elements<double>()[i] = attn::round_to(numbers, 1.0 / (static_cast<double>(i) + 2.2));
  return tensor;
}

Dtype arithmetic_of(const std::vector<AnyTensor>& tensors) {
  std::vector<const AnyTensor*> computed;
  for (const auto& tensor : tensors) computed.push_back(&tensor);
  return attn::arithmetic_of(computed);
}

}  // namespace

TEST_CASE("the arithmetic is the narrowest type of what was computed") {
  const auto f64 = rounded_to(Dtype::float64, Dtype::float64),
             f32 = rounded_to(Dtype::float32, Dtype::float32);
  const auto f16 = rounded_to(Dtype::float16, Dtype::float16, 3);
  const auto b16 = rounded_to(Dtype::bfloat16, Dtype::bfloat16, 3);
  CHECK(arithmetic_of({}) == Dtype::float64);
  CHECK(arithmetic_of({f64}) == Dtype::float64);
  CHECK(arithmetic_of({f64, f32}) == Dtype::float32);
  CHECK(arithmetic_of({f16, f32}) == Dtype::float16);
  CHECK(arithmetic_of({f16, b16, f32}) == Dtype::bfloat16);
  CHECK(arithmetic_of({AnyTensor(Dtype::int64, {3}), AnyTensor(Dtype::boolean, {3})}) == Dtype::float64);
}

TEST_CASE("numbers stored in a wider type show the type that they were rounded to") {
  for (const auto stored : {Dtype::float64, Dtype::float32})
    for (const auto numbers : {Dtype::bfloat16, Dtype::float16, Dtype::float32})
      CHECK(arithmetic_of({rounded_to(numbers, stored)}) == numbers);
  CHECK(arithmetic_of({rounded_to(Dtype::bfloat16, Dtype::float32, 32),
                       rounded_to(Dtype::bfloat16, Dtype::float32, 32)}) == Dtype::bfloat16);
}

TEST_CASE("half precision shows in some tensors where others are kept wider, as autocast keeps softmax") {
  for (const auto half : {Dtype::bfloat16, Dtype::float16})
    for (const auto stored : {Dtype::float32, Dtype::float64}) {
      const auto wider = rounded_to(Dtype::float32, stored);
      CHECK(arithmetic_of({rounded_to(half, stored), wider}) == half);
      CHECK(arithmetic_of({rounded_to(half, stored, 12), wider}) == Dtype::float32);
    }
  AnyTensor of_whole_numbers(Dtype::float64, {200});  // scores of an exercise, divided by √4
  for (std::size_t i = 0; i < 200; ++i)
    of_whole_numbers.elements<double>()[i] = 0.5 * static_cast<double>(4 * i + 601);
  CHECK(arithmetic_of({of_whole_numbers, rounded_to(Dtype::float64, Dtype::float64)}) == Dtype::float64);
}

TEST_CASE("one number of the wider type is enough to tell") {
  auto tensor = rounded_to(Dtype::bfloat16, Dtype::float32, 100);
  tensor.elements<double>()[7] = static_cast<double>(0.1F);
  CHECK(arithmetic_of({tensor}) == Dtype::float32);
}

TEST_CASE("few numbers, small integers, few digits and what is not finite tell nothing") {
  CHECK(arithmetic_of({rounded_to(Dtype::bfloat16, Dtype::float32, 12)}) == Dtype::bfloat16);
  CHECK(arithmetic_of({rounded_to(Dtype::bfloat16, Dtype::float32, 1)}) == Dtype::float32);
  CHECK(arithmetic_of({somebody::counting({200})}) == Dtype::float64);
  AnyTensor halves(Dtype::float64, {31});
  for (std::size_t i = 0; i < 31; ++i) halves.elements<double>()[i] = 0.5 * static_cast<double>(i);
  CHECK(arithmetic_of({halves}) == Dtype::float64);
  auto tensor = rounded_to(Dtype::bfloat16, Dtype::float32, 2);
  tensor.elements<double>()[0] = -std::numeric_limits<double>::infinity();
  CHECK(arithmetic_of({tensor}) == Dtype::float32);
}

TEST_CASE("decimals that float32 numbers are printed as are of the type of these numbers") {
  for (const auto numbers : {Dtype::bfloat16, Dtype::float16, Dtype::float32}) {
    auto tensor = rounded_to(numbers, Dtype::float64);
    for (std::size_t i = 0; i < 64; ++i)
      tensor.elements<double>()[i] = attn::with_fewest_digits(tensor.elements<double>()[i], Dtype::float32);
    CHECK(arithmetic_of({tensor}) == numbers);
  }
}
