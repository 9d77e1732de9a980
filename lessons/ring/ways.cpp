/// What the ranks do, each with its own tokens alone and what the others send it.

#include <cmath>
#include <limits>
#include <numeric>

#include "lessons/ring/ranks.hpp"

namespace lessons {

namespace {

constexpr double unseen = -std::numeric_limits<double>::infinity();

/// Keys and values of some tokens [batch×head×token×…] as they travel: all keys, then all values.
struct Visitors {
  const RingInputs& in;
  std::size_t heads, tokens;
  const std::vector<double>& numbers;

  const double* key(std::size_t sample, std::size_t head, std::size_t token) const {
    return numbers.data() + row(sample, head, token) * in.d_k();
  }
  const double* value(std::size_t sample, std::size_t head, std::size_t token) const {
    return numbers.data() + in.samples() * heads * tokens * in.d_k() + row(sample, head, token) * in.d_v();
  }
  std::size_t row(std::size_t sample, std::size_t head, std::size_t token) const {
    return (sample * heads + head) * tokens + token;
  }
};

/// What a query carries: the largest score so far, Σ exp(s − m) and Σ exp(s − m) v.
struct Carried {
  double m = unseen, l = 0.0;
  std::vector<double> o;

  void take(double score, const double* value) {
    if (score > m) {
      const double c = m == unseen ? 0.0 : std::exp(m - score);
      m = score;
      l *= c;
      for (auto& x : o) x *= c;
    }
    const double share = std::exp(score - m);
    l += share;
    for (std::size_t i = 0; i < o.size(); ++i) o[i] += share * value[i];
  }
};

/// The queries of some tokens, and what they have seen.
class Askers {
 public:
  Askers(const RingInputs& in, const Positions& tokens, std::size_t heads, std::vector<double> queries)
      : in_(in), tokens_(tokens), heads_(heads), queries_(std::move(queries)) {
    carried_.resize(in.samples() * heads * tokens.size(), {.o = std::vector<double>(in.d_v(), 0.0)});
  }

  /// Returns how many pairs of a query and a key were computed.
  std::int64_t attend(const Positions& keys, const Visitors& visitors) {
    std::int64_t pairs = 0;
    const double root = std::sqrt(static_cast<double>(in_.d_k()));
    for (std::size_t row = 0; row < carried_.size(); ++row) {
      const auto sample = row / tokens_.size() / heads_, head = row / tokens_.size() % heads_;
      const double* query = queries_.data() + row * in_.d_k();
      for (std::size_t k = 0; k < keys.size(); ++k) {
        if (!in_.sees(sample, tokens_[row % tokens_.size()], keys[k])) continue;
        const double* key = visitors.key(sample, head, k);
        carried_[row].take(std::inner_product(query, query + in_.d_k(), key, 0.0) / root,
                           visitors.value(sample, head, k));
        ++pairs;
      }
    }
    return pairs;
  }

  /// o / l, one token behind the other.
  std::vector<double> outputs() const {
    std::vector<double> all;
    for (const auto& [m, l, o] : carried_)
      for (const double x : o) all.push_back(l == 0.0 ? 0.0 : x / l);
    return all;
  }

 private:
  const RingInputs& in_;
  const Positions& tokens_;
  std::size_t heads_;
  std::vector<double> queries_;
  std::vector<Carried> carried_;
};

std::vector<double> joined(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

RingResult result_of(const Ranks& ranks, Tensor<4> output, std::vector<std::int64_t> pairs) {
  ranks.share_rows(output);
  ranks.share(pairs);
  return {std::move(output), ranks.bytes_sent(),
          std::accumulate(pairs.begin(), pairs.end(), std::int64_t{0})};
}

}  // namespace

RingResult go_round(const RingInputs& in, const Ranks& ranks) {
  std::vector<std::vector<double>> held(ranks.count());
  std::vector<std::int64_t> pairs(ranks.count(), 0);
  std::vector<std::optional<Askers>> askers(ranks.count());
  ranks.each_here([&](std::size_t rank) {
    const auto& own = ranks.positions(rank);
    held[rank] = joined(take_rows(in.K, own), take_rows(in.V, own));
    askers[rank].emplace(in, own, in.heads(), take_rows(in.Q, own));
  });
  for (std::size_t hop = 0; hop < ranks.count(); ++hop) {
    std::vector<Ranks::Letter> letters;
    for (std::size_t from = 0; hop + 1 < ranks.count() && from < ranks.count(); ++from)
      letters.push_back(
          {from, (from + 1) % ranks.count(),
           in.samples() * in.heads() * ranks.positions(ranks.owner(from, hop)).size() * (in.d_k() + in.d_v()),
           held[from]});
    ranks.deliver(letters, [&] {
      ranks.each_here([&](std::size_t rank) {
        const auto& keys = ranks.positions(ranks.owner(rank, hop));
        pairs[rank] += askers[rank]->attend(keys, {in, in.heads(), keys.size(), held[rank]});
      });
    });
    for (auto& letter : letters) held[letter.to] = std::move(letter.numbers);
  }
  Tensor<4> output({in.samples(), in.heads(), in.n(), in.d_v()}, 0.0);
  ranks.each_here(
      [&](std::size_t rank) { put_rows(output, ranks.positions(rank), askers[rank]->outputs()); });
  return result_of(ranks, std::move(output), std::move(pairs));
}

namespace {

/// All tokens of the heads of each rank that is played here, after every other has sent those it has.
std::vector<Tensor<4>> tokens_for_heads(const Tensor<4>& x, const Ranks& ranks) {
  const auto heads = x.shape(1) / ranks.count();
  std::vector<Ranks::Letter> letters;
  std::vector<Tensor<4>> got(ranks.count());
  for (std::size_t from = 0; from < ranks.count(); ++from)
    for (std::size_t to = 0; to < ranks.count(); ++to)
      letters.push_back({from, to, x.shape(0) * heads * ranks.positions(from).size() * x.shape(3),
                         take_rows(x, ranks.positions(from), to * heads, heads)});
  ranks.deliver(letters, [] {});
  ranks.each_here([&](std::size_t rank) {
    got[rank] = Tensor<4>({x.shape(0), heads, x.shape(2), x.shape(3)}, 0.0);
  });
  for (const auto& letter : letters)
    if (ranks.network().plays(letter.to))
      put_rows(got[letter.to], ranks.positions(letter.from), letter.numbers);
  return got;
}

}  // namespace

RingResult exchange_heads(const RingInputs& in, const Ranks& ranks) {
  const auto heads = in.heads() / ranks.count();
  const auto Q = tokens_for_heads(in.Q, ranks), K = tokens_for_heads(in.K, ranks),
             V = tokens_for_heads(in.V, ranks);
  Positions all(in.n());
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::int64_t> pairs(ranks.count(), 0);
  std::vector<Ranks::Letter> letters;
  for (std::size_t from = 0; from < ranks.count(); ++from) {
    Tensor<4> output({in.samples(), heads, in.n(), in.d_v()}, 0.0);
    if (ranks.network().plays(from)) {
      Askers askers(in, all, heads, take_rows(Q[from], all));
      const auto visitors = joined(take_rows(K[from], all), take_rows(V[from], all));
      pairs[from] = askers.attend(all, {in, heads, in.n(), visitors});
      put_rows(output, all, askers.outputs());
    }
    for (std::size_t to = 0; to < ranks.count(); ++to)
      letters.push_back({from, to, in.samples() * heads * ranks.positions(to).size() * in.d_v(),
                         take_rows(output, ranks.positions(to))});
  }
  ranks.deliver(letters, [] {});
  Tensor<4> output({in.samples(), in.heads(), in.n(), in.d_v()}, 0.0);
  for (const auto& letter : letters)
    if (ranks.network().plays(letter.to))
      put_rows(output, ranks.positions(letter.to), letter.numbers, letter.from * heads, heads);
  return result_of(ranks, std::move(output), std::move(pairs));
}

}  // namespace lessons
