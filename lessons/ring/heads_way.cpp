/// Attention by heads: each rank gives away its tokens of most heads for all tokens of a few, attends, and
/// gives the outputs back. Source: Jacobs et al. 2023, "DeepSpeed-Ulysses".

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "attn/error.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/ring/ways.hpp"

namespace lessons {

namespace {

/// Heads begin, …, end − 1 of x [batch×head×…].
Tensor<4> heads_from(const Tensor<4>& x, std::size_t begin, std::size_t end) {
  Tensor<4> part({x.shape(0), end - begin, x.shape(2), x.shape(3)});
  const std::size_t size = x.shape(2) * x.shape(3);
  for (std::size_t b = 0; b < x.shape(0); ++b)
    std::copy_n(x.data() + (b * x.shape(1) + begin) * size, (end - begin) * size,
                part.data() + b * (end - begin) * size);
  return part;
}

void put_heads(Tensor<4>& x, std::size_t begin, const Tensor<4>& part) {
  const std::size_t size = x.shape(2) * x.shape(3), count = part.shape(1);
  for (std::size_t b = 0; b < x.shape(0); ++b)
    std::copy_n(part.data() + b * count * size, count * size, x.data() + (b * x.shape(1) + begin) * size);
}

/// The tensors of all heads as each rank has them: its own tokens, or its own heads.
class Exchange {
 public:
  Exchange(const RingInputs& in, const Ranks& ranks) : in_(in), ranks_(ranks) {}

  std::size_t heads() const { return in_.heads() / ranks_.count(); }
  std::size_t first_head(std::size_t rank) const { return rank * heads(); }

  /// [rank] all tokens of its heads [batch×head×token×…], after each rank has sent its tokens of the heads of
  /// every other; of the ranks that are played here.
  std::vector<Tensor<4>> tokens_to_heads(const Tensor<4>& x) const {
    std::vector<Tensor<4>> got(ranks_.count());
    ranks_.each_here([&](std::size_t rank) {
      got[rank] = Tensor<4>({x.shape(0), heads(), x.shape(2), x.shape(3)}, 0.0);
    });
    exchange(
        [&](std::size_t from, std::size_t to) {
          return take_rows(heads_from(x, first_head(to), first_head(to) + heads()), ranks_.positions(from));
        },
        [&](std::size_t from, std::size_t to, const std::vector<double>& numbers) {
          put_rows(got[to], ranks_.positions(from), numbers);
        },
        [&](std::size_t from, std::size_t) { return numbers_of(ranks_.positions(from).size(), x.shape(3)); });
    return got;
  }

  /// The inverse: `x` [rank] has all tokens of its heads; all heads, in the rows of the tokens of the ranks
  /// that are played here.
  Tensor<4> heads_to_tokens(const std::vector<Tensor<4>>& x, std::size_t width) const {
    Tensor<4> all({in_.samples(), in_.heads(), in_.n(), width}, 0.0);
    exchange([&](std::size_t from, std::size_t to) { return take_rows(x[from], ranks_.positions(to)); },
             [&](std::size_t from, std::size_t to, const std::vector<double>& numbers) {
               auto part = heads_from(all, first_head(from), first_head(from) + heads());
               put_rows(part, ranks_.positions(to), numbers);
               put_heads(all, first_head(from), part);
             },
             [&](std::size_t, std::size_t to) { return numbers_of(ranks_.positions(to).size(), width); });
    return all;
  }

 private:
  std::size_t numbers_of(std::size_t tokens, std::size_t width) const {
    return in_.samples() * heads() * tokens * width;
  }

  /// What goes from each rank to each: what stays is moved, the rest travels.
  template <class Take, class Put, class Count>
  void exchange(Take take, Put put, Count count) const {
    const auto ranks = ranks_.count();
    std::vector<std::string> sent(ranks * ranks), received(ranks * ranks);
    std::vector<attn::fast::Transfer> transfers;
    for (std::size_t from = 0; from < ranks; ++from)
      for (std::size_t to = 0; to < ranks; ++to) {
        const auto pair = from * ranks + to, size = count(from, to) * ranks_.item_size();
        const bool sends = ranks_.network().plays(from), receives = ranks_.network().plays(to);
        if (sends) sent[pair] = bytes_of_numbers(take(from, to), ranks_.dtype());
        if (from == to) {
          received[pair] = sent[pair];
          continue;
        }
        if (receives) received[pair].resize(size);
        transfers.push_back({from, to, sends ? sent[pair].data() : nullptr,
                             receives ? received[pair].data() : nullptr, size});
      }
    ranks_.network().start(transfers);
    ranks_.network().finish();
    for (std::size_t from = 0; from < ranks; ++from)
      ranks_.each_here([&](std::size_t to) {
        put(from, to, numbers_of_bytes(received[from * ranks + to], ranks_.dtype()));
      });
  }

  const RingInputs& in_;
  const Ranks& ranks_;
};

class HeadsRun {
 public:
  HeadsRun(Workbench& bench, const RingInputs& in, const Ranks& ranks)
      : bench_(bench),
        in_(in),
        ranks_(ranks),
        exchange_(in, ranks),
        work_({in.samples(), ranks.count()}, 0) {}

  RingResult run() {
    const auto Q = exchange_.tokens_to_heads(in_.Q), K = exchange_.tokens_to_heads(in_.K),
               V = exchange_.tokens_to_heads(in_.V);
    std::vector<Tensor<4>> outputs;
    for (std::size_t rank = 0; rank < ranks_.count(); ++rank) {
      label_heads(rank);
      outputs.push_back(attend(rank, Q[rank], K[rank], V[rank]));
    }
    bench_.trace.label("head", {});
    const auto pairs = show_work();
    auto output = show_output(outputs);
    return {std::move(output), show_bytes(), pairs};
  }

 private:
  /// The heads of the first rank are called by their index anyhow.
  void label_heads(std::size_t rank) {
    if (rank == 0) return;
    std::vector<std::string> names;
    for (std::size_t head = 0; head < exchange_.heads(); ++head)
      names.push_back(std::to_string(exchange_.first_head(rank) + head));
    bench_.trace.label("head", {{names}});
  }

  /// What `rank` computed, known to all processes.
  Tensor<4> from_rank(std::size_t rank, Tensor<4> x, std::size_t width) const {
    if (!ranks_.network().plays(rank)) x = Tensor<4>({in_.samples(), exchange_.heads(), in_.n(), width}, 0.0);
    ranks_.network().share({{rank, x.data(), x.size() * sizeof(double)}});
    return x;
  }

  Tensor<4> show_received(std::size_t rank, const char* id, const char* title, const Tensor<4>& received,
                          const Tensor<4>& whole, const std::vector<std::string>& axes) {
    return bench_.trace.step(
        {.id = fmt::format("rank={}/{}", rank, id),
         .title = title,
         .formula = fmt::format("{}, its heads of all tokens", id),
         .from = {id},
         .axes = axes,
         .note = "What each rank sent of its tokens, put together.",
         .worked = attn::worked_copy(attn::Known<4>{id, whole},
                                     [first = exchange_.first_head(rank)](attn::Index at) {
                                       at[1] += first;
                                       return at;
                                     })},
        from_rank(rank, received, whole.shape(3)));
  }

  Tensor<4> attend(std::size_t rank, const Tensor<4>& its_Q, const Tensor<4>& its_K, const Tensor<4>& its_V) {
    auto& trace = bench_.trace;
    const bool is_here = ranks_.network().plays(rank);
    const auto group = fmt::format("rank={}/", rank);
    const auto Q =
        show_received(rank, "Q", "The queries of its heads", its_Q, in_.Q, {"head", "query", "d_k"});
    const auto K = show_received(rank, "K", "The keys of its heads", its_K, in_.K, {"head", "key", "d_k"});
    const auto V = show_received(rank, "V", "The values of its heads", its_V, in_.V, {"head", "key", "d_v"});

    Tensor<4> none;
    const auto computed_scores = [&] {
      auto scores = attn::divide(attn::matmul(Q, attn::transpose(K)), in_.root());
      return in_.mask ? attn::apply_mask(std::move(scores), *in_.mask) : scores;
    };
    std::vector<std::string> scores_from = {group + "Q", group + "K"};
    if (in_.mask) scores_from.emplace_back("mask");
    const auto products =
        attn::worked_matmul_transposed(attn::Known<4>{group + "Q", Q}, attn::Known<4>{group + "K", K});
    const auto scores =
        trace.step({.id = group + "scores",
                    .title = "The scores of its heads, all tokens by all tokens",
                    .formula = in_.mask ? "Q Kᵀ / √d_k where mask, −∞ elsewhere" : "Q Kᵀ / √d_k",
                    .from = scores_from,
                    .axes = {"head", "query", "key"},
                    .worked =
                        [&](const attn::Index& at) {
                          if (!in_.sees(at[0], at[2], at[3]))
                            return attn::Worked(-std::numeric_limits<double>::infinity());
                          return products(at) / sqrt(attn::Worked(static_cast<double>(in_.d_k())));
                        }},
                   from_rank(rank, is_here ? computed_scores() : none, in_.n()));
    count_work(rank, scores);
    const auto weights =
        trace.step({.id = group + "weights",
                    .title = "Each row becomes shares",
                    .formula = "softmax(scores)",
                    .from = {group + "scores"},
                    .axes = {"head", "query", "key"},
                    .distribution = true,
                    .worked = attn::worked_softmax(attn::Known<4>{group + "scores", scores})},
                   from_rank(rank, is_here ? attn::softmax(scores) : none, in_.n()));
    return trace.step({.id = group + "heads",
                       .title = "The outputs of its heads, for all tokens",
                       .formula = "weights V",
                       .from = {group + "weights", group + "V"},
                       .axes = {"head", "query", "d_v"},
                       .worked = attn::worked_matmul(attn::Known<4>{group + "weights", weights},
                                                     attn::Known<4>{group + "V", V})},
                      from_rank(rank, is_here ? attn::matmul(weights, V) : none, in_.d_v()));
  }

  /// A score is −∞ where none counts.
  void count_work(std::size_t rank, const Tensor<4>& scores) {
    const std::size_t size = scores.size() / in_.samples();
    for (std::size_t b = 0; b < in_.samples(); ++b)
      work_(b, rank) =
          std::count_if(scores.data() + b * size, scores.data() + (b + 1) * size,
                        [](double score) { return score != -std::numeric_limits<double>::infinity(); });
  }

  std::int64_t show_work() {
    const auto work = bench_.trace.step(
        {.id = "work",
         .title = "Pairs of a query and a key that a rank computes",
         .formula = in_.mask ? "its heads · pairs that the mask lets be seen" : "its heads · n · n",
         .from = in_.mask ? std::vector<std::string>{"Q", "K", "mask"} : std::vector<std::string>{"Q", "K"},
         .axes = {"rank"},
         .note = "Counted from the scores.",
         .worked = [&](const attn::Index& at) { return worked_work_by_heads(at[0]); }},
        work_);
    return std::accumulate(work.begin(), work.end(), std::int64_t{0});
  }

  attn::Worked worked_work_by_heads(std::size_t sample) const {
    const attn::Worked heads = static_cast<double>(exchange_.heads()), n = static_cast<double>(in_.n());
    if (!in_.mask) return attn::Worked::product({heads, n, n});
    std::vector<attn::Worked> pairs;
    for (std::size_t query = 0; query < in_.n(); ++query)
      for (std::size_t key = 0; key < in_.n(); ++key)
        pairs.push_back(attn::whole_entry("mask", *in_.mask, {sample, query, key}));
    return attn::Worked::product({heads, attn::Worked::sum(std::move(pairs))});
  }

  Tensor<4> show_output(const std::vector<Tensor<4>>& outputs) {
    auto output = exchange_.heads_to_tokens(outputs, in_.d_v());
    ranks_.share_rows(output);
    std::vector<std::string> from;
    for (std::size_t rank = 0; rank < ranks_.count(); ++rank)
      from.push_back(fmt::format("rank={}/heads", rank));
    return bench_.trace.step({.id = "output",
                              .title = "Back where the tokens are: all heads of each",
                              .formula = "heads of all ranks",
                              .from = from,
                              .axes = {"head", "query", "d_v"},
                              .worked =
                                  [&, from](const attn::Index& at) {
                                    const auto rank = at[1] / exchange_.heads();
                                    return attn::Known<4>{from[rank], outputs[rank]}(
                                        {at[0], at[1] % exchange_.heads(), at[2], at[3]});
                                  }},
                             output);
  }

  /// Its tokens' queries, keys and values of all other heads, and other tokens' outputs of its own.
  Integers<1> show_bytes() {
    return bench_.trace.step(
        {.id = "bytes",
         .title = "Bytes that a rank sends",
         .formula = fmt::format("(t (h − {0}) (2 d_k + d_v) + (n − t) · {0} d_v) · {1}{2}", exchange_.heads(),
                                ranks_.item_size(), in_.samples() > 1 ? " · sentences" : ""),
         .from = {"Q", "K", "V"},
         .axes = {"rank"},
         .note =
             "Counted by the network. t: tokens of the rank. First its tokens of the other heads, then the "
             "other tokens' outputs of its heads.",
         .worked =
             [&](const attn::Index& at) {
               const auto tokens = ranks_.positions(at[0]).size();
               const auto number = [](std::size_t x) { return attn::Worked(static_cast<double>(x)); };
               const auto there = attn::Worked::product(
                   {number(tokens), number(in_.heads()) - number(exchange_.heads()),
                    attn::Worked::sum(
                        {attn::Worked::product({number(2), number(in_.d_k())}), number(in_.d_v())})});
               const auto back = attn::Worked::product(
                   {number(in_.n()) - number(tokens), number(exchange_.heads()), number(in_.d_v())});
               std::vector<attn::Worked> factors = {attn::Worked::sum({there, back}),
                                                    number(ranks_.item_size())};
               if (in_.samples() > 1) factors.push_back(number(in_.samples()));
               return attn::Worked::product(std::move(factors));
             }},
        ranks_.bytes_sent());
  }

  Workbench& bench_;
  const RingInputs& in_;
  const Ranks& ranks_;
  Exchange exchange_;
  Integers<2> work_;  ///< [batch×rank]
};

}  // namespace

RingResult attention_by_heads(Workbench& bench, const RingInputs& in, const Ranks& ranks) {
  return HeadsRun(bench, in, ranks).run();
}

void require_heads_for_ranks(const Options& options, std::size_t ranks) {
  if (options.way != "heads") return;
  const auto next = (options.heads.value_or(1) / ranks + 1) * ranks;
  if (!options.heads)
    throw attn::Error(fmt::format(
        "--way heads shares heads out among {} ranks, and there is no --heads; valid: --heads {} or another "
        "multiple of --ranks, or --way ring",
        ranks, ranks));
  if (*options.heads % ranks != 0)
    throw attn::Error(fmt::format(
        "--heads {} cannot be shared out evenly among --ranks {}; valid: --heads {} or another multiple of "
        "{}, or --way ring",
        *options.heads, ranks, next, ranks));
}

std::int64_t bytes_by_heads(const RingInputs& in, const Ranks& ranks, std::size_t rank) {
  const auto tokens = ranks.positions(rank).size(), mine = in.heads() / ranks.count();
  const auto there = tokens * (in.heads() - mine) * (2 * in.d_k() + in.d_v());
  const auto back = (in.n() - tokens) * mine * in.d_v();
  return static_cast<std::int64_t>(in.samples() * (there + back) * ranks.item_size());
}

}  // namespace lessons
