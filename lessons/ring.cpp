/// Attention of a sequence that is spread over machines: keys and values go round a ring of ranks, or the
/// ranks exchange tokens for heads. The lesson is the document ring.md, which every process computes; what
/// the ranks send each other and make of it is C++, and claims hold it to the document, which has the
/// sources.

#include "fast/ranks/ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>
#include <xtensor/xbuilder.hpp>

#include "fast/ranks/network.hpp"
#include "lessons/documents/front_matter.hpp"
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

/// Calls `visit` with where each row lies in x [batch×head×row…], from that head on, and in a block of some
/// of its rows.
template <class Whole, class Block, class Visitor>
void each_row(Whole& x, Block& block, const Positions& rows, std::size_t first_head, Visitor visit) {
  for (std::size_t sample = 0; sample < block.shape(0); ++sample)
    for (std::size_t head = 0; head < block.shape(1); ++head)
      for (std::size_t row = 0; row < rows.size(); ++row)
        visit(&x(sample, first_head + head, rows[row], 0), &block(sample, head, row, 0));
}

/// Some rows of x [batch×head×row…], of so many heads or all; and the inverse.
Tensor<4> take_rows(const Tensor<4>& x, const Positions& rows, std::size_t first_head = 0,
                    std::optional<std::size_t> heads = {}) {
  Tensor<4> block({x.shape(0), heads.value_or(x.shape(1)), rows.size(), x.shape(3)});
  each_row(x, block, rows, first_head,
           [&](const double* from, double* to) { std::copy_n(from, x.shape(3), to); });
  return block;
}

void put_rows(Tensor<4>& x, const Positions& rows, const Tensor<4>& block, std::size_t first_head = 0) {
  each_row(x, block, rows, first_head,
           [&](double* to, const double* from) { std::copy_n(from, x.shape(3), to); });
}

/// What one rank sends another, [batch×head×token×…]: known where `from` is played, and where `to` is once it
/// was sent.
struct Letter {
  std::size_t from, to;
  Tensor<4> rows;
};

/// The ranks of a run and the tokens that each of them holds.
class Ranks {
 public:
  Ranks(attn::fast::Network& network, attn::fast::Order order, std::size_t n, attn::Dtype dtype)
      : network_(network), dtype_(dtype), positions_(attn::fast::blocks_of(order, n, network.ranks())) {
    network_.reset_counts();
  }

  std::size_t count() const { return positions_.size(); }
  const Positions& positions(std::size_t rank) const { return positions_[rank]; }

  /// Calls `visit` with each rank that this process plays.
  template <class Visitor>
  void each_here(Visitor visit) const {
    for (std::size_t rank = network_.here().begin; rank < network_.here().end; ++rank) visit(rank);
  }

  /// Sends the letters, all that there are between any two ranks, in the run's dtype, and calls `meanwhile`
  /// while they travel.
  template <class Meanwhile>
  void send(std::vector<Letter>& letters, Meanwhile meanwhile) const {
    std::vector<std::string> sent(letters.size()), received(letters.size());
    std::vector<attn::fast::Transfer> transfers;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const auto& [from, to, rows] = letters[i];
      const auto bytes = rows.size() * attn::item_size(dtype_);
      if (network_.plays(from) && bytes > 0) sent[i] = attn::encode(attn::view_of(rows), dtype_);
      received[i] = from == to ? sent[i] : std::string(network_.plays(to) ? bytes : 0, '\0');
      if (from != to) transfers.push_back({from, to, sent[i].data(), received[i].data(), bytes});
    }
    network_.start(transfers);
    meanwhile();
    network_.finish();
    for (std::size_t i = 0; i < letters.size(); ++i) {
      if (received[i].empty()) continue;
      auto& rows = letters[i].rows;
      auto tensor = attn::decode({.type = attn::element_type_of(dtype_), .shape = {rows.size()}}, received[i],
                                 "what a rank received");
      std::copy_n(tensor.elements<double>(), rows.size(), rows.begin());
    }
  }

  /// What all ranks made of the inputs, known to all processes: `output` has the rows of those played here,
  /// `pairs` the number of each.
  RingResult result(Tensor<4> output, std::vector<std::int64_t> pairs) const {
    std::vector<std::int64_t> sent(count());
    each_here([&](std::size_t rank) { sent[rank] = static_cast<std::int64_t>(network_.bytes_sent(rank)); });
    std::vector<Tensor<4>> rows;
    std::vector<attn::fast::Network::Part> parts;
    for (const auto& positions : positions_) rows.push_back(take_rows(output, positions));
    for (std::size_t rank = 0; rank < count(); ++rank) {
      if (rows[rank].size() > 0)
        parts.push_back({rank, rows[rank].data(), rows[rank].size() * sizeof(double)});
      for (auto* number : {&pairs[rank], &sent[rank]}) parts.push_back({rank, number, sizeof(*number)});
    }
    network_.share(parts);
    for (std::size_t rank = 0; rank < count(); ++rank) put_rows(output, positions_[rank], rows[rank]);
    return {std::move(output), std::move(sent), std::accumulate(pairs.begin(), pairs.end(), std::int64_t{0})};
  }

 private:
  attn::fast::Network& network_;
  attn::Dtype dtype_;
  std::vector<Positions> positions_;
};

/// The queries of some tokens, and what each has seen: the largest score m, l = Σ exp(s − m) and
/// o = Σ exp(s − m) v.
class Askers {
 public:
  /// A query is the beginning of its row [batch×head×token×…].
  Askers(const RingInputs& in, const Positions& tokens, Tensor<4> queries)
      : in_(in),
        tokens_(tokens),
        queries_(std::move(queries)),
        m_({in.samples(), queries_.shape(1), tokens.size()}, -std::numeric_limits<double>::infinity()),
        l_(m_.shape(), 0.0),
        o_({in.samples(), queries_.shape(1), tokens.size(), in.d_v()}, 0.0) {}

  /// A key and its value are the end of their row [batch×head×token×…]. Returns how many pairs of a query and
  /// a key were computed.
  std::int64_t attend(const Positions& keys, const Tensor<4>& rows) {
    std::int64_t pairs = 0;
    for (std::size_t sample = 0; sample < in_.samples(); ++sample)
      for (std::size_t head = 0; head < queries_.shape(1); ++head)
        for (std::size_t i = 0; i < tokens_.size(); ++i)
          for (std::size_t j = 0; j < keys.size(); ++j) {
            if (!in_.sees(sample, tokens_[i], keys[j])) continue;
            take(sample, head, i, &rows(sample, head, j, rows.shape(3) - in_.d_k() - in_.d_v()));
            ++pairs;
          }
    return pairs;
  }

  /// o / l
  Tensor<4> output() const {
    auto output = o_;
    for (std::size_t i = 0; i < output.size(); ++i)
      if (const double l = l_.data()[i / in_.d_v()]; l != 0.0) output.data()[i] /= l;
    return output;
  }

 private:
  void take(std::size_t sample, std::size_t head, std::size_t i, const double* key) {
    const double *query = &queries_(sample, head, i, 0), *value = key + in_.d_k();
    auto &m = m_(sample, head, i), &l = l_(sample, head, i);
    auto* const o = &o_(sample, head, i, 0);
    const double score =
        std::inner_product(query, query + in_.d_k(), key, 0.0) / std::sqrt(static_cast<double>(in_.d_k()));
    if (score > m) {
      const double c = std::exp(m - score);
      m = score;
      l *= c;
      for (std::size_t k = 0; k < in_.d_v(); ++k) o[k] *= c;
    }
    const double share = std::exp(score - m);
    l += share;
    for (std::size_t k = 0; k < in_.d_v(); ++k) o[k] += share * value[k];
  }

  const RingInputs& in_;
  const Positions& tokens_;
  Tensor<4> queries_;
  Tensor<3> m_, l_;
  Tensor<4> o_;
};

/// Each row of x and then that of y.
Tensor<4> side_by_side(const Tensor<4>& x, const Tensor<4>& y) {
  return xt::concatenate(xt::xtuple(x, y), 3);
}

/// Each rank of the network holds the tokens that the order gives it, and sends numbers in that dtype. Keys
/// and values travel round the ring, and each rank merges what comes. Source: Liu, Zaharia & Abbeel 2023.
RingResult go_round(const RingInputs& in, attn::fast::Network& network, attn::fast::Order order,
                    attn::Dtype dtype) {
  const Ranks ranks(network, order, in.n(), dtype);
  const auto KV = side_by_side(in.K, in.V);
  std::vector<Tensor<4>> held;
  std::vector<Askers> askers;
  std::vector<std::int64_t> pairs(ranks.count(), 0);
  for (std::size_t rank = 0; rank < ranks.count(); ++rank) {
    held.push_back(take_rows(KV, ranks.positions(rank)));
    askers.emplace_back(in, ranks.positions(rank), take_rows(in.Q, ranks.positions(rank)));
  }
  for (std::size_t hop = 0; hop < ranks.count(); ++hop) {
    std::vector<Letter> letters;
    for (std::size_t from = 0; hop + 1 < ranks.count() && from < ranks.count(); ++from)
      letters.push_back({from, (from + 1) % ranks.count(), held[from]});
    ranks.send(letters, [&] {
      ranks.each_here([&](std::size_t rank) {
        const auto owner = attn::fast::owner_at_hop(rank, hop, ranks.count());
        pairs[rank] += askers[rank].attend(ranks.positions(owner), held[rank]);
      });
    });
    for (auto& letter : letters) held[letter.to] = std::move(letter.rows);
  }
  Tensor<4> output({in.samples(), in.heads(), in.n(), in.d_v()}, 0.0);
  ranks.each_here([&](std::size_t rank) { put_rows(output, ranks.positions(rank), askers[rank].output()); });
  return ranks.result(std::move(output), std::move(pairs));
}

/// Each rank gives away its tokens of most heads for all tokens of a few, attends, and gives the outputs
/// back. Source: Jacobs et al. 2023.
RingResult exchange_heads(const RingInputs& in, attn::fast::Network& network, attn::fast::Order order,
                          attn::Dtype dtype) {
  const Ranks ranks(network, order, in.n(), dtype);
  const auto heads = in.heads() / ranks.count();
  const auto QKV = side_by_side(in.Q, side_by_side(in.K, in.V));
  std::vector<Letter> there, back;
  for (std::size_t from = 0; from < ranks.count(); ++from)
    for (std::size_t to = 0; to < ranks.count(); ++to)
      there.push_back({from, to, take_rows(QKV, ranks.positions(from), to * heads, heads)});
  ranks.send(there, [] {});
  std::vector<Tensor<4>> got(ranks.count(), Tensor<4>({in.samples(), heads, in.n(), QKV.shape(3)}, 0.0)),
      outputs(ranks.count(), Tensor<4>({in.samples(), heads, in.n(), in.d_v()}, 0.0));
  for (const auto& letter : there) put_rows(got[letter.to], ranks.positions(letter.from), letter.rows);
  Positions all(in.n());
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::int64_t> pairs(ranks.count(), 0);
  ranks.each_here([&](std::size_t rank) {
    Askers askers(in, all, got[rank]);
    pairs[rank] = askers.attend(all, got[rank]);
    outputs[rank] = askers.output();
  });
  for (std::size_t from = 0; from < ranks.count(); ++from)
    for (std::size_t to = 0; to < ranks.count(); ++to)
      back.push_back({from, to, take_rows(outputs[from], ranks.positions(to))});
  ranks.send(back, [] {});
  Tensor<4> output({in.samples(), in.heads(), in.n(), in.d_v()}, 0.0);
  for (const auto& letter : back)
    put_rows(output, ranks.positions(letter.to), letter.rows, letter.from * heads);
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

/// What the ranks of a run come to, of which mpirun plays each in a process of its own.
RingResult result_of_ranks(const DocumentRun& run) {
  const auto& bench = run.bench();
  const auto local =
      bench.plan.network == nullptr ? attn::fast::local_network(*bench.options.ranks) : nullptr;
  const auto go = goes_round(bench) ? go_round : exchange_heads;
  return go(inputs_of_ranks(run), local ? *local : *bench.plan.network, order_of(bench.options),
            bench.trace.dtype());
}

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
    blocks.push_back(
        {.query = take_rows(in.Q, rows), .key = take_rows(in.K, rows), .value = take_rows(in.V, rows)});
  attn::fast::ring_forward(problem, *network, blocks);
  Tensor<4> output({in.samples(), in.heads(), in.n(), in.d_v()});
  for (std::size_t rank = 0; rank < positions.size(); ++rank)
    put_rows(output, positions[rank], blocks[rank].output);
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

void prepare_ring(DocumentRun&, Functions& functions) {
  const auto result = once(result_of_ranks);  // when it is asked for, all processes have come there
  functions.texts["rank_marks"] = rank_marks;
  functions.tensors.insert(
      {{"bytes_on_the_wire", [=](DocumentRun& run) { return owned_view(result(run).bytes); }},
       {"pairs_of_ranks", [=](DocumentRun& run) { return owned_view(std::vector{result(run).pairs}); }},
       {"output_of_ranks", [=](DocumentRun& run) { return view_of_output(run, result(run).output); }},
       {"ring_in_other_orders", in_other_orders},
       {"ring_in_fast_code", [](DocumentRun& run) { return view_of_output(run, compiled_ring(run)); }}});
}

}  // namespace

const LessonCode ring_code = {.prepare = prepare_ring, .splits_heads = false};

}  // namespace lessons
