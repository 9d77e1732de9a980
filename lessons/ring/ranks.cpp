#include "lessons/ring/ranks.hpp"

#include <algorithm>

#include "trace/any_tensor.hpp"

namespace lessons {

namespace {

/// The numbers as a rank sends them, in the run's dtype.
std::string bytes_of_numbers(const std::vector<double>& numbers, attn::Dtype dtype) {
  if (numbers.empty()) return {};
  return attn::encode({attn::Dtype::float64, {numbers.size()}, numbers.data()}, attn::element_type_of(dtype));
}

/// As another one reads them.
std::vector<double> numbers_of_bytes(const std::string& bytes, attn::Dtype dtype) {
  const std::size_t count = bytes.size() / attn::item_size(dtype);
  if (count == 0) return {};
  auto tensor =
      attn::decode({.type = attn::element_type_of(dtype), .shape = {count}}, bytes, "what a rank received");
  return {tensor.elements<double>(), tensor.elements<double>() + count};
}

/// Calls `visit` with where each of these rows of x [batch×head×row…] begins, and its length.
template <class Visitor>
void each_row(const Tensor<4>& x, const Positions& rows, std::size_t first, std::size_t heads,
              Visitor visit) {
  if (heads == 0) heads = x.shape(1);
  for (std::size_t sample = 0; sample < x.shape(0); ++sample)
    for (std::size_t head = first; head < first + heads; ++head)
      for (const auto row : rows)
        visit(((sample * x.shape(1) + head) * x.shape(2) + row) * x.shape(3), x.shape(3));
}

}  // namespace

Ranks::Ranks(attn::fast::Network& network, attn::fast::Order order, std::size_t n, attn::Dtype dtype)
    : network_(network), dtype_(dtype), positions_(attn::fast::blocks_of(order, n, network.ranks())) {
  network_.reset_counts();
}

struct Ranks::Post {
  std::vector<std::string> sent, received;
};

std::shared_ptr<Ranks::Post> Ranks::start(const std::vector<Letter>& letters) const {
  auto post = std::make_shared<Post>();
  post->sent.resize(letters.size());
  post->received.resize(letters.size());
  std::vector<attn::fast::Transfer> transfers;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto& [from, to, count, numbers] = letters[i];
    const bool sends = network_.plays(from), receives = network_.plays(to);
    if (sends) post->sent[i] = bytes_of_numbers(numbers, dtype_);
    if (from == to) post->received[i] = post->sent[i];
    if (from == to) continue;
    if (receives) post->received[i].resize(count * attn::item_size(dtype_));
    transfers.push_back({from, to, sends ? post->sent[i].data() : nullptr,
                         receives ? post->received[i].data() : nullptr, count * attn::item_size(dtype_)});
  }
  network_.start(transfers);
  return post;
}

void Ranks::finish(std::vector<Letter>& letters, Post& post) const {
  network_.finish();
  for (std::size_t i = 0; i < letters.size(); ++i)
    letters[i].numbers =
        network_.plays(letters[i].to) ? numbers_of_bytes(post.received[i], dtype_) : std::vector<double>();
}

void Ranks::share_rows(Tensor<4>& x) const {
  if (network_.here().size() == count()) return;
  std::vector<std::vector<double>> rows;
  std::vector<attn::fast::Network::Part> parts;
  for (const auto& positions : positions_) rows.push_back(take_rows(x, positions));
  for (std::size_t rank = 0; rank < count(); ++rank)
    if (!rows[rank].empty()) parts.push_back({rank, rows[rank].data(), rows[rank].size() * sizeof(double)});
  network_.share(parts);
  for (std::size_t rank = 0; rank < count(); ++rank) put_rows(x, positions_[rank], rows[rank]);
}

void Ranks::share(std::vector<std::int64_t>& numbers) const {
  std::vector<attn::fast::Network::Part> parts;
  for (std::size_t rank = 0; rank < count(); ++rank)
    parts.push_back({rank, &numbers[rank], sizeof(std::int64_t)});
  network_.share(parts);
}

std::vector<std::int64_t> Ranks::bytes_sent() const {
  std::vector<std::int64_t> sent(count());
  each_here([&](std::size_t rank) { sent[rank] = static_cast<std::int64_t>(network_.bytes_sent(rank)); });
  share(sent);
  return sent;
}

std::vector<double> take_rows(const Tensor<4>& x, const Positions& rows, std::size_t first,
                              std::size_t heads) {
  std::vector<double> numbers;
  each_row(x, rows, first, heads, [&](std::size_t begin, std::size_t width) {
    numbers.insert(numbers.end(), x.data() + begin, x.data() + begin + width);
  });
  return numbers;
}

void put_rows(Tensor<4>& x, const Positions& rows, const std::vector<double>& numbers, std::size_t first,
              std::size_t heads) {
  std::size_t next = 0;
  each_row(x, rows, first, heads, [&](std::size_t begin, std::size_t width) {
    std::copy_n(numbers.data() + next, width, x.data() + begin);
    next += width;
  });
}

}  // namespace lessons
