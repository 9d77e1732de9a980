#include "lessons/ring/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trace/element_type.hpp"

namespace lessons {

double RingInputs::root() const {
  return std::sqrt(static_cast<double>(d_k()));
}

Ranks::Ranks(attn::fast::Network& network, attn::fast::Order order, std::size_t n, attn::Dtype dtype)
    : network_(network),
      order_(order),
      dtype_(dtype),
      positions_(attn::fast::blocks_of(order, n, network.ranks())) {
  network_.reset_counts();
}

bool Ranks::any_is_empty() const {
  return std::any_of(positions_.begin(), positions_.end(), [](const auto& rows) { return rows.empty(); });
}

template <class Number>
void Ranks::share_numbers(std::vector<std::vector<Number>>& numbers) const {
  std::vector<attn::fast::Network::Part> parts;
  for (std::size_t rank = 0; rank < count(); ++rank)
    if (!numbers[rank].empty())
      parts.push_back({rank, numbers[rank].data(), numbers[rank].size() * sizeof(Number)});
  network_.share(parts);
}

template <std::size_t N>
void Ranks::share_rows(Tensor<N>& x) const {
  if (network_.here().size() == count()) return;
  std::vector<std::vector<double>> rows;
  for (const auto& positions : positions_) rows.push_back(take_rows(x, positions));
  share_numbers(rows);
  for (std::size_t rank = 0; rank < count(); ++rank) put_rows(x, positions_[rank], rows[rank]);
}

Integers<1> Ranks::bytes_sent() const {
  std::vector<std::vector<std::int64_t>> sent(count(), std::vector<std::int64_t>(1));
  each_here([&](std::size_t rank) { sent[rank][0] = static_cast<std::int64_t>(network_.bytes_sent(rank)); });
  share_numbers(sent);
  auto bytes = Integers<1>::from_shape({count()});
  for (std::size_t rank = 0; rank < count(); ++rank) bytes(rank) = sent[rank][0];
  return bytes;
}

namespace {

/// Calls `visit` with where each of these rows of x [batch×head×row…] begins, and its length.
template <std::size_t N, class Visitor>
void each_row(const Tensor<N>& x, const Positions& rows, Visitor visit) {
  std::size_t width = 1;
  for (std::size_t axis = 3; axis < N; ++axis) width *= x.shape(axis);
  for (std::size_t matrix = 0; matrix < x.shape(0) * x.shape(1); ++matrix)
    for (const auto row : rows) visit((matrix * x.shape(2) + row) * width, width);
}

}  // namespace

template <std::size_t N>
std::vector<double> take_rows(const Tensor<N>& x, const Positions& rows) {
  std::vector<double> numbers;
  each_row(x, rows, [&](std::size_t begin, std::size_t width) {
    numbers.insert(numbers.end(), x.data() + begin, x.data() + begin + width);
  });
  return numbers;
}

template <std::size_t N>
void put_rows(Tensor<N>& x, const Positions& rows, const std::vector<double>& numbers) {
  std::size_t next = 0;
  each_row(x, rows, [&](std::size_t begin, std::size_t width) {
    std::copy_n(numbers.data() + next, width, x.data() + begin);
    next += width;
  });
}

std::string bytes_of_numbers(const std::vector<double>& numbers, attn::Dtype dtype) {
  if (numbers.empty()) return {};
  return attn::encode({attn::Dtype::float64, {numbers.size()}, numbers.data()}, attn::element_type_of(dtype));
}

std::vector<double> numbers_of_bytes(const std::string& bytes, attn::Dtype dtype) {
  const std::size_t count = bytes.size() / attn::item_size(dtype);
  if (count == 0) return {};
  std::vector<std::byte> stored(bytes.size());
  std::memcpy(stored.data(), bytes.data(), bytes.size());
  auto tensor = attn::decode({.type = attn::element_type_of(dtype), .shape = {count}}, std::move(stored),
                             "what a rank received");
  return {tensor.elements<double>(), tensor.elements<double>() + count};
}

RanksNetwork::RanksNetwork(const Plan& plan)
    : local_(plan.network == nullptr ? attn::fast::local_network(*plan.options.ranks) : nullptr),
      network_(plan.network == nullptr ? local_.get() : plan.network) {}

attn::fast::Order order_of(const Options& options) {
  for (const auto order : attn::fast::all_orders())
    if (options.order == attn::fast::name_of(order)) return order;
  return attn::fast::Order::contiguous;
}

std::vector<std::string> numbered(const char* what, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("{} {}", what, i));
  return names;
}

#define INSTANTIATE(N)                                                        \
  template void Ranks::share_rows(Tensor<N>&) const;                          \
  template std::vector<double> take_rows(const Tensor<N>&, const Positions&); \
  template void put_rows(Tensor<N>&, const Positions&, const std::vector<double>&);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE
template void Ranks::share_numbers(std::vector<std::vector<double>>&) const;
template void Ranks::share_numbers(std::vector<std::vector<std::int64_t>>&) const;

}  // namespace lessons
