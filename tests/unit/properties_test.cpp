/// Properties that random inputs are tried on; of one that does not hold the smallest input is shown.

#include <rapidcheck/catch.h>

#include <bit>
#include <catch2/catch.hpp>
#include <numeric>

#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/text/trim.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/temporary_file.hpp"
#include "trace/archives.hpp"
#include "trace/diagnosis/layout.hpp"
#include "trace/json/json.hpp"
#include "trace/number.hpp"
#include "trace/stored_trace.hpp"

namespace {

/// Any float64, each as likely as the others: denormals, infinities and NaN among them.
rc::Gen<double> any_double() {
  return rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                      [](auto bits) { return std::bit_cast<double>(bits); });
}

/// A tensor of these axes; the elements are those of `numbers`, again and again.
attn::AnyTensor tensor_of(const attn::Shape& shape, const std::vector<double>& numbers) {
  attn::AnyTensor tensor(attn::Dtype::float64, shape);
  for (std::size_t i = 0; i < attn::element_count(shape); ++i)
    tensor.elements<double>()[i] = numbers.empty() ? static_cast<double>(i) : numbers[i % numbers.size()];
  return attn::with_one_nan(tensor.view());
}

rc::Gen<attn::Shape> any_shape() {
  return rc::gen::resize(4, rc::gen::container<attn::Shape>(rc::gen::inRange<std::size_t>(1, 5)));
}

/// The tensor once `Writer` has written it and the reader of its format has read it.
template <class Writer>
attn::AnyTensor written_and_read(const attn::AnyTensor& tensor) {
  Writer writer({"demo", "a lesson", {}});
  const auto rank = tensor.shape().size();
  std::vector<std::string> axes;
  for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back("axis_" + std::to_string(axis));
  writer.receive({.kind = attn::Kind::input,
                  .id = "x",
                  .tensor = tensor.view(),
                  .axes = axes,
                  .labels = std::vector<attn::AxisLabels>(rank)});
  const TemporaryFile file(writer.finish());
  const auto read = attn::open_trace(file.path());
  return attn::with_one_nan(read->read(0).view());
}

}  // namespace

TEST_CASE("for any input: numbers and tensors are read as they were written") {
  rc::prop("the shortest text of a number", [] {
    const double x = *rc::gen::suchThat(any_double(), [](double y) { return std::isfinite(y); });
    RC_ASSERT(std::bit_cast<std::uint64_t>(*attn::number_in(attn::shortest(x))) ==
              std::bit_cast<std::uint64_t>(x));
  });
  rc::prop("npz, safetensors and JSON", [] {
    const auto tensor = tensor_of(*any_shape(), *rc::gen::container<std::vector<double>>(any_double()));
    RC_ASSERT(attn::are_identical(written_and_read<attn::NpzWriter>(tensor), tensor));
    RC_ASSERT(attn::are_identical(written_and_read<attn::SafetensorsWriter>(tensor), tensor));
    RC_ASSERT(attn::are_identical(written_and_read<attn::JsonWriter>(tensor), tensor));
  });
}

TEST_CASE("for any input: axes that are permuted and brought back are as they were") {
  rc::prop("permuted", [] {
    const auto tensor = tensor_of(*any_shape(), {});
    std::vector<std::size_t> order(tensor.shape().size()), back(order.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[*rc::gen::inRange<std::size_t>(0, i + 1)]);
    for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = i;
    RC_ASSERT(attn::are_identical(attn::permuted(attn::permuted(tensor, order), back), tensor));
  });
}

TEST_CASE("for any input: softmax gives shares, the same for shifted scores, larger ones to larger scores") {
  rc::prop("softmax", [] {
    const auto tenths =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-9000, 9000)));
    attn::Tensor<1> scores(std::array{tenths.size()});
    for (std::size_t i = 0; i < tenths.size(); ++i) scores(i) = tenths[i] / 10.0;
    const auto shares = attn::softmax(scores);
    RC_ASSERT(attn::row_sum_deviation(shares) <= rounding);
    RC_ASSERT(attn::max_abs_difference(attn::softmax(attn::Tensor<1>(scores + 64.0)), shares) <= 1e-10);
    for (std::size_t i = 1; i < tenths.size(); ++i)
      RC_ASSERT((scores(i) <= scores(i - 1)) == (shares(i) <= shares(i - 1)) || shares(i) == shares(i - 1));
  });
}
