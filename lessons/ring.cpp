/// Attention of a sequence that is spread over machines: keys and values go round a ring of ranks, or the
/// ranks exchange tokens for heads. The lesson is the document ring.md, which every process computes; what
/// the ranks send each other and make of it is C++, and claims hold it to the document. Sources: Liu, Zaharia
/// & Abbeel 2023, "Ring Attention with Blockwise Transformers"; Brandon et al. 2023, "Striped Attention";
/// Jacobs et al. 2023, "DeepSpeed-Ulysses".

#include "fast/ranks/ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "fast/ranks/network.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/any_tensor.hpp"

namespace lessons {

namespace {

using Positions = std::vector<std::size_t>;

/// What attention across machines starts from. A run without --heads has one head.
struct RingInputs {
  Tensor<4> Q, K, V;  ///< [batch×head×query×d_k], [batch×head×key×d_k], [batch×head×key×d_v]
  std::optional<Mask<3>> mask;  ///< [batch×query×key]

  std::size_t samples() const { return Q.shape(0); }
  std::size_t heads() const { return Q.shape(1); }
  std::size_t n() const { return Q.shape(2); }
  std::size_t d_k() const { return Q.shape(3); }
  std::size_t d_v() const { return V.shape(3); }
  bool sees(std::size_t sample, std::size_t query, std::size_t key) const {
    return !mask || (*mask)(sample, query, key);
  }
};

/// What all ranks make of the inputs together.
struct RingResult {
  Tensor<4> output;                 ///< [batch×head×query×d_v]
  std::vector<std::int64_t> bytes;  ///< [rank] sent
  std::int64_t pairs;               ///< of a query and a key, computed by all ranks
};

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

/// Some rows of x [batch×head×row…], one behind the other; and the inverse. Of the heads from `first` on
/// where it says how many.
std::vector<double> take_rows(const Tensor<4>& x, const Positions& rows, std::size_t first = 0,
                              std::size_t heads = 0) {
  std::vector<double> numbers;
  each_row(x, rows, first, heads, [&](std::size_t begin, std::size_t width) {
    numbers.insert(numbers.end(), x.data() + begin, x.data() + begin + width);
  });
  return numbers;
}

void put_rows(Tensor<4>& x, const Positions& rows, const std::vector<double>& numbers, std::size_t first = 0,
              std::size_t heads = 0) {
  std::size_t next = 0;
  each_row(x, rows, first, heads, [&](std::size_t begin, std::size_t width) {
    std::copy_n(numbers.data() + next, width, x.data() + begin);
    next += width;
  });
}

/// The ranks of a run and the tokens that each of them holds.
class Ranks {
 public:
  Ranks(attn::fast::Network& network, attn::fast::Order order, std::size_t n, attn::Dtype dtype)
      : network_(network), dtype_(dtype), positions_(attn::fast::blocks_of(order, n, network.ranks())) {
    network_.reset_counts();
  }

  std::size_t count() const { return positions_.size(); }
  const Positions& positions(std::size_t rank) const { return positions_[rank]; }
  std::size_t owner(std::size_t rank, std::size_t hop) const {
    return attn::fast::owner_at_hop(rank, hop, count());
  }
  const attn::fast::Network& network() const { return network_; }

  /// Calls `visit` with each rank that this process plays.
  template <class Visitor>
  void each_here(Visitor visit) const {
    for (std::size_t rank = network_.here().begin; rank < network_.here().end; ++rank) visit(rank);
  }

  /// Numbers on their way from one rank to another.
  struct Letter {
    std::size_t from, to, count;
    std::vector<double> numbers{};  ///< known where `from` is played, and where `to` is after `deliver`
  };

  /// Sends the letters, all that there are between any two ranks, in the run's dtype, and calls `meanwhile`
  /// while they travel.
  template <class Meanwhile>
  void deliver(std::vector<Letter>& letters, Meanwhile meanwhile) const {
    std::vector<std::string> sent(letters.size()), received(letters.size());
    std::vector<attn::fast::Transfer> transfers;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const auto& [from, to, count, numbers] = letters[i];
      const bool sends = network_.plays(from), receives = network_.plays(to);
      if (sends) sent[i] = bytes_of_numbers(numbers, dtype_);
      if (from == to) received[i] = sent[i];
      if (from == to) continue;
      if (receives) received[i].resize(count * attn::item_size(dtype_));
      transfers.push_back({from, to, sends ? sent[i].data() : nullptr,
                           receives ? received[i].data() : nullptr, count * attn::item_size(dtype_)});
    }
    network_.start(transfers);
    meanwhile();
    network_.finish();
    for (std::size_t i = 0; i < letters.size(); ++i)
      letters[i].numbers =
          network_.plays(letters[i].to) ? numbers_of_bytes(received[i], dtype_) : std::vector<double>();
  }

  /// What all ranks made of the inputs, known to all processes: `output` has the rows of those played here,
  /// `pairs` the number of each.
  RingResult result(Tensor<4> output, std::vector<std::int64_t> pairs) const {
    share_rows(output);
    share(pairs);
    std::vector<std::int64_t> sent(count());
    each_here([&](std::size_t rank) { sent[rank] = static_cast<std::int64_t>(network_.bytes_sent(rank)); });
    share(sent);
    return {std::move(output), std::move(sent), std::accumulate(pairs.begin(), pairs.end(), std::int64_t{0})};
  }

 private:
  /// Makes the rows [batch×head×row…] of each rank's tokens known to all processes.
  void share_rows(Tensor<4>& x) const {
    if (network_.here().size() == count()) return;
    std::vector<std::vector<double>> rows;
    std::vector<attn::fast::Network::Part> parts;
    for (const auto& positions : positions_) rows.push_back(take_rows(x, positions));
    for (std::size_t rank = 0; rank < count(); ++rank)
      if (!rows[rank].empty()) parts.push_back({rank, rows[rank].data(), rows[rank].size() * sizeof(double)});
    network_.share(parts);
    for (std::size_t rank = 0; rank < count(); ++rank) put_rows(x, positions_[rank], rows[rank]);
  }

  /// Makes what each rank has known to all processes: element `rank` of `numbers`.
  void share(std::vector<std::int64_t>& numbers) const {
    std::vector<attn::fast::Network::Part> parts;
    for (std::size_t rank = 0; rank < count(); ++rank)
      parts.push_back({rank, &numbers[rank], sizeof(std::int64_t)});
    network_.share(parts);
  }

  attn::fast::Network& network_;
  attn::Dtype dtype_;
  std::vector<Positions> positions_;
};

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

/// Each rank of the network holds the tokens that the order gives it, and sends numbers in that dtype. Keys
/// and values travel round the ring, and each rank merges what comes. Source: Liu, Zaharia & Abbeel 2023.
RingResult go_round(const RingInputs& in, attn::fast::Network& network, attn::fast::Order order,
                    attn::Dtype dtype) {
  const Ranks ranks(network, order, in.n(), dtype);
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
  return ranks.result(std::move(output), std::move(pairs));
}

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

/// Each rank gives away its tokens of most heads for all tokens of a few, attends, and gives the outputs
/// back. Source: Jacobs et al. 2023.
RingResult exchange_heads(const RingInputs& in, attn::fast::Network& network, attn::fast::Order order,
                          attn::Dtype dtype) {
  const Ranks ranks(network, order, in.n(), dtype);
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
  return ranks.result(std::move(output), std::move(pairs));
}

bool goes_round(const Workbench& bench) {
  return bench.options.way == "ring";
}

attn::fast::Order order_of(const Options& options) {
  for (const auto order : attn::fast::all_orders())
    if (options.order == attn::fast::name_of(order)) return order;
  return attn::fast::Order::contiguous;
}

RingInputs inputs_of_ranks(const DocumentRun& run) {
  return {run.in_heads("Q"), run.in_heads("K"), run.in_heads("V"), run.mask()};
}

/// The ranks of a run, of which mpirun plays each in a process of its own, and what they came to.
class RanksOfRun {
 public:
  explicit RanksOfRun(const Plan& plan)
      : local_(plan.network == nullptr ? attn::fast::local_network(*plan.options.ranks) : nullptr),
        network_(plan.network == nullptr ? *local_ : *plan.network) {}

  /// Computed once, when it is asked for first: then all processes have come there.
  const RingResult& result(const DocumentRun& run) {
    if (result_) return *result_;
    const auto in = inputs_of_ranks(run);
    const auto& bench = run.bench();
    const auto go = goes_round(bench) ? go_round : exchange_heads;
    return result_.emplace(go(in, network_, order_of(bench.options), bench.trace.dtype()));
  }

 private:
  std::unique_ptr<attn::fast::Network> local_;
  attn::fast::Network& network_;
  std::optional<RingResult> result_;
};

formula::View view_of_output(const DocumentRun& run, const Tensor<4>& output) {
  formula::Numbers numbers(run.sheet().tensor("output").shape);
  std::copy(output.begin(), output.end(), numbers.begin());
  return owned_view(std::move(numbers));
}

/// The ring in other orders of blocks, all ranks in this process: [batch×order×…], as formulas have it.
formula::View in_other_orders(const DocumentRun& run) {
  const auto& bench = run.bench();
  const auto in = inputs_of_ranks(run);
  std::vector<Tensor<4>> outputs;
  for (const auto order : attn::fast::all_orders()) {
    if (goes_round(bench) && order == order_of(bench.options)) continue;
    const auto network = attn::fast::local_network(*bench.options.ranks);
    outputs.push_back(go_round(in, *network, order, bench.trace.dtype()).output);
  }
  auto shape = run.sheet().tensor("output").shape;
  shape.insert(shape.begin() + 1, outputs.size());
  formula::Numbers numbers(shape);
  auto* to = numbers.data();
  const auto size = outputs.front().size() / in.samples();
  for (std::size_t sample = 0; sample < in.samples(); ++sample)
    for (const auto& output : outputs) to = std::copy_n(output.data() + sample * size, size, to);
  return owned_view(std::move(numbers));
}

Tensor<4> rows_in_block(const Tensor<4>& x, const Positions& rows) {
  Tensor<4> block({x.shape(0), x.shape(1), rows.size(), x.shape(3)});
  const auto numbers = take_rows(x, rows);
  std::copy(numbers.begin(), numbers.end(), block.begin());
  return block;
}

/// The output of the ring in compiled kernels.
Tensor<4> compiled_ring(const DocumentRun& run) {
  const auto& bench = run.bench();
  const auto in = inputs_of_ranks(run);
  const attn::fast::RingProblem problem = {.sizes = {.samples = in.samples(),
                                                     .heads = in.heads(),
                                                     .kv_heads = in.heads(),
                                                     .n_q = in.n(),
                                                     .n_k = in.n(),
                                                     .d_k = in.d_k(),
                                                     .d_v = in.d_v()},
                                           .visible = bench.visibility().value(),
                                           .order = order_of(bench.options),
                                           .scale = 1.0 / std::sqrt(static_cast<double>(in.d_k()))};
  const auto network = attn::fast::local_network(*bench.options.ranks);
  const auto positions = attn::fast::blocks_of(problem.order, in.n(), network->ranks());
  std::vector<attn::fast::RankBlock<double>> blocks;
  for (const auto& rows : positions)
    blocks.push_back({.query = rows_in_block(in.Q, rows),
                      .key = rows_in_block(in.K, rows),
                      .value = rows_in_block(in.V, rows)});
  attn::fast::ring_forward(problem, *network, blocks);
  Tensor<4> output({in.samples(), in.heads(), in.n(), in.d_v()});
  for (std::size_t rank = 0; rank < positions.size(); ++rank)
    put_rows(output, positions[rank], {blocks[rank].output.begin(), blocks[rank].output.end()});
  return output;
}

/// Marks of the picture: the rows of each rank, where they follow each other.
std::string rank_marks(const DocumentRun& run) {
  const auto& options = run.bench().options;
  const auto& shape = run.sheet().tensor("Q").shape;
  std::string marks;
  if (order_of(options) != attn::fast::Order::contiguous || shape.size() != 3 || shape[0] != 1) return marks;
  const auto positions = attn::fast::blocks_of(attn::fast::Order::contiguous, shape[1], *options.ranks);
  for (std::size_t rank = 0; rank < positions.size(); ++rank)
    if (const auto& rows = positions[rank]; !rows.empty())
      marks += fmt::format("hop=0/scores[{}..{}]: rank {}\n", rows.front(), rows.back(), rank);
  return marks;
}

void prepare_ring(DocumentRun& run, Functions& functions) {
  const auto ranks = std::make_shared<RanksOfRun>(run.bench().plan);
  functions.texts["rank_marks"] = rank_marks;
  functions.tensors.insert(
      {{"bytes_on_the_wire", [=](DocumentRun& now) { return owned_view(ranks->result(now).bytes); }},
       {"pairs_of_ranks",
        [=](DocumentRun& now) { return owned_view(std::vector{ranks->result(now).pairs}); }},
       {"output_of_ranks", [=](DocumentRun& now) { return view_of_output(now, ranks->result(now).output); }},
       {"ring_in_other_orders", in_other_orders},
       {"ring_in_fast_code", [](DocumentRun& now) { return view_of_output(now, compiled_ring(now)); }}});
}

}  // namespace

const LessonCode ring_code = {.prepare = prepare_ring, .splits_heads = false};

}  // namespace lessons
