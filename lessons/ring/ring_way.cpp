/// Ring attention: keys and values go from rank to rank, and each rank merges what comes.
/// Source: Liu, Zaharia & Abbeel 2023, "Ring Attention with Blockwise Transformers".

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "attn/ops/matmul.hpp"
#include "attn/text/width.hpp"
#include "lessons/ring/ways.hpp"
#include "lessons/workbench/head_axis.hpp"

namespace lessons {

namespace {

constexpr double unseen = -std::numeric_limits<double>::infinity();

/// The keys and values that a rank has at a hop.
class Visitors {
 public:
  Visitors(const RingInputs& in, const Positions& positions, const std::vector<double>& numbers)
      : in_(in), positions_(positions), numbers_(numbers) {}

  const Positions& positions() const { return positions_; }
  const double* key(std::size_t sample, std::size_t head, std::size_t k) const {
    return numbers_.data() + row(sample, head, k) * in_.d_k();
  }
  const double* value(std::size_t sample, std::size_t head, std::size_t k) const {
    return numbers_.data() + in_.samples() * in_.heads() * positions_.size() * in_.d_k() +
           row(sample, head, k) * in_.d_v();
  }

 private:
  std::size_t row(std::size_t sample, std::size_t head, std::size_t k) const {
    return (sample * in_.heads() + head) * positions_.size() + k;
  }

  const RingInputs& in_;
  const Positions& positions_;
  const std::vector<double>& numbers_;
};

/// What goes round: for each rank played here the bytes of the keys and values that it has.
class Travel {
 public:
  Travel(const RingInputs& in, const Ranks& ranks)
      : in_(in), ranks_(ranks), held_(ranks.count()), coming_(ranks.count()), numbers_(ranks.count()) {
    ranks.each_here([&](std::size_t rank) {
      auto rows = take_rows(in.K, ranks.positions(rank));
      const auto values = take_rows(in.V, ranks.positions(rank));
      rows.insert(rows.end(), values.begin(), values.end());
      held_[rank] = bytes_of_numbers(rows, ranks.dtype());
      numbers_[rank] = std::move(rows);
    });
  }

  Visitors at(std::size_t rank, std::size_t hop) const {
    return {in_, ranks_.positions(ranks_.owner(rank, hop)), numbers_[rank]};
  }

  /// Every rank sends what it has to the next one.
  void start(std::size_t hop) {
    std::vector<attn::fast::Transfer> transfers;
    for (std::size_t from = 0; from < ranks_.count(); ++from) {
      const auto to = ranks_.next(from), size = bytes_at(from, hop);
      const bool sends = ranks_.network().plays(from), receives = ranks_.network().plays(to);
      if (receives) coming_[to].resize(size);
      transfers.push_back(
          {from, to, sends ? held_[from].data() : nullptr, receives ? coming_[to].data() : nullptr, size});
    }
    ranks_.network().start(transfers);
  }

  void finish() {
    ranks_.network().finish();
    held_.swap(coming_);
    ranks_.each_here(
        [&](std::size_t rank) { numbers_[rank] = numbers_of_bytes(held_[rank], ranks_.dtype()); });
  }

 private:
  std::size_t bytes_at(std::size_t rank, std::size_t hop) const {
    return in_.samples() * in_.heads() * ranks_.positions(ranks_.owner(rank, hop)).size() *
           (in_.d_k() + in_.d_v()) * ranks_.item_size();
  }

  const RingInputs& in_;
  const Ranks& ranks_;
  std::vector<std::string> held_, coming_;
  std::vector<std::vector<double>> numbers_;
};

/// What every query carries from hop to hop.
struct RingState {
  Tensor<3> m, l;  ///< [batch×head×query]
  Tensor<4> o;     ///< [batch×head×query×d_v]
};

std::string of_hop(std::size_t hop, const char* name) {
  return fmt::format("hop={}/{}", hop, name);
}

std::vector<std::string> with_hop_before(std::size_t hop, std::vector<std::string> from, const char* name) {
  if (hop > 0) from.push_back(of_hop(hop - 1, name));
  return from;
}

class RingRun {
 public:
  RingRun(Workbench& bench, const RingInputs& in, const Ranks& ranks)
      : bench_(bench), in_(in), ranks_(ranks), rank_of_(in.n()), travel_(in, ranks) {
    for (std::size_t rank = 0; rank < ranks.count(); ++rank)
      for (const auto position : ranks.positions(rank)) rank_of_[position] = rank;
    state_.m = Tensor<3>({in.samples(), in.heads(), in.n()}, unseen);
    state_.l = Tensor<3>({in.samples(), in.heads(), in.n()}, 0.0);
    state_.o = Tensor<4>({in.samples(), in.heads(), in.n(), in.d_v()}, 0.0);
    work_.resize(ranks.count(), std::vector<std::int64_t>(in.samples() * ranks.count(), 0));
  }

  RingResult run() {
    show_holds();
    for (hop_ = 0; hop_ < ranks_.count(); ++hop_) {
      const bool is_last = hop_ + 1 == ranks_.count();
      if (!is_last) travel_.start(hop_);
      attend();
      if (!is_last) travel_.finish();
    }
    const auto work = show_work();
    const auto bytes = show_bytes();
    auto output = show_output();
    show_one_query();
    return {std::move(output), bytes, work};
  }

 private:
  /// One hop, line by line; every line is known to all processes before the next begins.
  void attend() {
    scores_ = show_scores();
    const auto before = state_;
    state_.m = show_maximum(before.m);
    rescaling_ = show_rescaling(before.m);
    state_.l = show_sum(before.l);
    state_.o = show_accumulated(before.o);
    states_.push_back(state_);
    rescalings_.push_back(rescaling_);
  }

  /// Calls `visit(rank, sample, head, query)` for the queries of the ranks that are played here.
  template <class Visitor>
  void each_query(Visitor visit) const {
    ranks_.each_here([&](std::size_t rank) {
      for (std::size_t b = 0; b < in_.samples(); ++b)
        for (std::size_t h = 0; h < in_.heads(); ++h)
          for (const auto query : ranks_.positions(rank)) visit(rank, b, h, query);
    });
  }

  const Positions& keys_for(std::size_t query) const {
    return ranks_.positions(ranks_.owner(rank_of_[query], hop_));
  }
  bool is_computed(std::size_t sample, std::size_t query, std::size_t key) const {
    return ranks_.owner(rank_of_[query], hop_) == rank_of_[key] && in_.sees(sample, query, key);
  }

  attn::Known<4> known(const char* id, const Tensor<4>& x) const { return {id, x}; }
  attn::Known<4> known_scores() const { return {of_hop(hop_, "scores"), scores_}; }

  Tensor<4> show_scores() {
    Tensor<4> scores({in_.samples(), in_.heads(), in_.n(), in_.n()}, unseen);
    const double root = in_.root();
    each_query([&](std::size_t rank, std::size_t b, std::size_t h, std::size_t query) {
      const auto here = travel_.at(rank, hop_);
      for (std::size_t k = 0; k < here.positions().size(); ++k) {
        const auto position = here.positions()[k];
        if (!in_.sees(b, query, position)) continue;
        const double* q = &in_.Q(b, h, query, 0);
        double score = 0.0;
        for (std::size_t c = 0; c < in_.d_k(); ++c) score += q[c] * here.key(b, h, k)[c];
        scores(b, h, query, position) = score / root;
        ++work_[rank][b * ranks_.count() + hop_];
      }
    });
    ranks_.share_rows(scores);
    if (!followed_) follow_first_raised(scores);
    const attn::WorkedOut products = attn::worked_matmul_transposed(known("Q", in_.Q), known("K", in_.K));
    return step_of_heads(bench_,
                         {.id = of_hop(hop_, "scores"),
                          .title = "The scores of the keys that are there at this hop",
                          .formula = "Q Kᵀ / √d_k",
                          .from = {"Q", "K"},
                          .axes = {"query", "key"},
                          .note = words_on_scores(),
                          .worked =
                              [&, products](const attn::Index& at) {
                                if (!is_computed(at[0], at[2], at[3])) return attn::Worked(unseen);
                                return products(at) / sqrt(attn::Worked(static_cast<double>(in_.d_k())));
                              },
                          .worked_at = place(followed_query(), first_key_of(followed_query()).value_or(0))},
                         scores);
  }

  /// The name of a position of the first sentence.
  std::string name(std::size_t position) const {
    const auto& words = bench_.plan.sentence.tokens.front();
    return position < words.size() ? words[position] : "<pad>";
  }

  /// The first key that a query of the first sentence has a score with at this hop.
  std::optional<std::size_t> first_key_of(std::size_t query) const {
    for (const auto key : keys_for(query))
      if (is_computed(0, query, key)) return key;
    return std::nullopt;
  }

  std::string words_on_scores() const {
    const auto query = followed_query();
    const auto key = first_key_of(query);
    const auto rows =
        key ? fmt::format("Row \"{}\" of Q times row \"{}\" of K (--steps Q,K). ", name(query), name(*key))
            : "";
    return fmt::format(
        "{}This hop fills {} of {} places: a rank computes only the scores with the keys that it has now.",
        rows, count_computed(), in_.n() * in_.n());
  }

  /// The scores of the first sentence at this hop.
  std::size_t count_computed() const {
    std::size_t computed = 0;
    for (std::size_t query = 0; query < in_.n(); ++query)
      for (std::size_t key = 0; key < in_.n(); ++key) computed += is_computed(0, query, key) ? 1 : 0;
    return computed;
  }

  /// What the worked entry of o takes from V, where that is little.
  std::string words_on_values() const {
    constexpr std::size_t most = 2;
    const auto query = followed_query();
    const auto& keys = keys_for(query);
    if (keys.size() > most || bench_.options.heads) return "v is column 0 of V (--steps V).";
    std::string words;
    for (const auto key : keys)
      if (is_computed(0, query, key))
        words += fmt::format("{}V[{}, 0] = {:.4f}", words.empty() ? "" : ", ", name(key),
                             in_.V(0, 0, key, 0) + 0.0);
    return words.empty() ? "" : words + " (--steps V).";
  }

  Tensor<3> show_maximum(const Tensor<3>& before) {
    auto m = before;
    each_query([&](std::size_t, std::size_t b, std::size_t h, std::size_t query) {
      for (const auto key : keys_for(query))
        m(b, h, query) = std::max(m(b, h, query), scores_(b, h, query, key));
    });
    ranks_.share_rows(m);
    return step_of_heads(bench_,
                         {.id = of_hop(hop_, "m"),
                          .title = "The largest score of each query so far",
                          .formula = hop_ == 0 ? "max of its scores" : "m′ = max(m, its scores at this hop)",
                          .from = with_hop_before(hop_, {of_hop(hop_, "scores")}, "m"),
                          .axes = {"query"},
                          .note = "A query that has seen no key yet has −∞.",
                          .worked =
                              [&](const attn::Index& at) {
                                std::vector<attn::Worked> choices;
                                if (before(at[0], at[1], at[2]) != unseen)
                                  choices.push_back(attn::Known{of_hop(hop_ - 1, "m"), before}(at));
                                for (const auto key : keys_for(at[2]))
                                  if (scores_(at[0], at[1], at[2], key) != unseen)
                                    choices.push_back(known_scores()({at[0], at[1], at[2], key}));
                                return choices.empty() ? attn::Worked(unseen)
                                                       : attn::largest(std::move(choices));
                              },
                          .worked_at = place(followed_query())},
                         m);
  }

  /// c is 0 where nothing was summed before: exp(−∞ − −∞) is never asked for.
  Tensor<3> show_rescaling(const Tensor<3>& before) {
    Tensor<3> c(before.shape(), 0.0);
    each_query([&](std::size_t, std::size_t b, std::size_t h, std::size_t query) {
      if (before(b, h, query) != unseen)
        c(b, h, query) = std::exp(before(b, h, query) - state_.m(b, h, query));
    });
    if (hop_ == 0) return c;
    ranks_.share_rows(c);
    return step_of_heads(bench_,
                         {.id = of_hop(hop_, "c"),
                          .title = "What l and o so far are multiplied by",
                          .formula = "c = exp(m − m′)",
                          .from = {of_hop(hop_ - 1, "m"), of_hop(hop_, "m")},
                          .axes = {"query"},
                          .note = "1 where no larger score came, 0 where nothing was summed before.",
                          .worked =
                              [&](const attn::Index& at) {
                                if (before(at[0], at[1], at[2]) == unseen) return attn::Worked(0.0);
                                return exp(attn::Known{of_hop(hop_ - 1, "m"), before}(at)-attn::Known{
                                    of_hop(hop_, "m"), state_.m}(at));
                              },
                          .worked_at = place(followed_query())},
                         c);
  }

  /// exp(sⱼ − m′), or exp(sⱼ − m′) vⱼ, of each key that is seen at this hop.
  std::vector<attn::Worked> worked_terms(const attn::Index& at, bool times_values) const {
    std::vector<attn::Worked> terms;
    for (const auto key : keys_for(at[2])) {
      if (scores_(at[0], at[1], at[2], key) == unseen) continue;
      terms.push_back(exp(known_scores()({at[0], at[1], at[2], key}) -
                          attn::Known{of_hop(hop_, "m"), state_.m}({at[0], at[1], at[2]})));
      if (times_values)
        terms.back() = attn::Worked::product({terms.back(), known("V", in_.V)({at[0], at[1], key, at[3]})});
    }
    return terms;
  }

  attn::Worked worked_sum_with(const attn::Index& at, attn::Worked before,
                               std::vector<attn::Worked> terms) const {
    if (hop_ > 0)
      terms.insert(
          terms.begin(),
          attn::Worked::product({attn::Known{of_hop(hop_, "c"), rescaling_}({at[0], at[1], at[2]}), before}));
    return terms.empty() ? attn::Worked(0.0) : attn::Worked::sum(std::move(terms));
  }

  /// exp(sⱼ − m′); 0 where the key is not computed.
  double share(std::size_t b, std::size_t h, std::size_t query, std::size_t key) const {
    const double score = scores_(b, h, query, key);
    return score == unseen ? 0.0 : std::exp(score - state_.m(b, h, query));
  }

  Tensor<3> show_sum(const Tensor<3>& before) {
    auto l = before;
    each_query([&](std::size_t, std::size_t b, std::size_t h, std::size_t query) {
      double added = 0.0;
      for (const auto key : keys_for(query)) added += share(b, h, query, key);
      l(b, h, query) = rescaling_(b, h, query) * before(b, h, query) + added;
    });
    ranks_.share_rows(l);
    return step_of_heads(
        bench_,
        {.id = of_hop(hop_, "l"),
         .title = "The denominator of softmax so far",
         .formula = hop_ == 0 ? "Σⱼ exp(sⱼ − m)" : "l′ = c l + Σⱼ exp(sⱼ − m′)",
         .from = with_hop_before(hop_, sources({of_hop(hop_, "scores"), of_hop(hop_, "m")}), "l"),
         .axes = {"query"},
         .worked =
             [&](const attn::Index& at) {
               return worked_sum_with(at, known_before(of_hop(hop_ == 0 ? 0 : hop_ - 1, "l"), before, at),
                                      worked_terms(at, false));
             },
         .worked_at = place(followed_query())},
        l);
  }

  Tensor<4> show_accumulated(const Tensor<4>& before) {
    auto o = before;
    each_query([&](std::size_t rank, std::size_t b, std::size_t h, std::size_t query) {
      const auto here = travel_.at(rank, hop_);
      for (std::size_t c = 0; c < in_.d_v(); ++c) {
        double added = 0.0;
        for (std::size_t k = 0; k < here.positions().size(); ++k)
          if (const double weight = share(b, h, query, here.positions()[k]); weight != 0.0)
            added += weight * here.value(b, h, k)[c];
        o(b, h, query, c) = rescaling_(b, h, query) * before(b, h, query, c) + added;
      }
    });
    ranks_.share_rows(o);
    return step_of_heads(
        bench_,
        {.id = of_hop(hop_, "o"),
         .title = "The output so far, not divided",
         .formula = hop_ == 0 ? "Σⱼ exp(sⱼ − m) vⱼ" : "o′ = c o + Σⱼ exp(sⱼ − m′) vⱼ",
         .from = with_hop_before(hop_, sources({of_hop(hop_, "scores"), of_hop(hop_, "m"), "V"}), "o"),
         .axes = {"query", "d_v"},
         .note = words_on_values(),
         .worked =
             [&](const attn::Index& at) {
               return worked_sum_with(at, known_before(of_hop(hop_ == 0 ? 0 : hop_ - 1, "o"), before, at),
                                      worked_terms(at, true));
             },
         .worked_at = place(followed_query(), 0)},
        o);
  }

  template <std::size_t N>
  attn::Worked known_before(const std::string& id, const Tensor<N>& before, const attn::Index& at) const {
    return hop_ == 0 ? attn::Worked(0.0) : attn::Known<N>{id, before}(at);
  }

  std::vector<std::string> sources(std::vector<std::string> from) const {
    if (hop_ > 0) from.push_back(of_hop(hop_, "c"));
    return from;
  }

  static std::string words_on_holds(std::size_t count) {
    auto words = fmt::format("mod {0} adds {0} where rank − hop is below 0.", count);
    if (count > 1) words += fmt::format(" So at hop 1 rank 0 has the keys and values of rank {}.", count - 1);
    return words;
  }

  void show_holds() {
    const auto count = ranks_.count();
    Integers<2> holds({count, count});
    for (std::size_t rank = 0; rank < count; ++rank)
      for (std::size_t hop = 0; hop < count; ++hop)
        holds(rank, hop) = static_cast<std::int64_t>(ranks_.owner(rank, hop));
    bench_.trace.step(
        {.id = "holds",
         .title = "Whose keys and values a rank has",
         .formula = fmt::format("(rank − hop) mod {}", count),
         .from = {"K", "V"},
         .axes = {"rank", "hop"},
         .note = words_on_holds(count),
         .worked =
             [count](const attn::Index& at) {
               const auto gap =
                   attn::Worked(static_cast<double>(at[0])) - attn::Worked(static_cast<double>(at[1]));
               return at[0] < at[1] ? attn::Worked::sum({gap, static_cast<double>(count)}) : gap;
             },
         .worked_at = attn::Index{0, std::min<std::size_t>(1, count - 1)}},
        holds);
  }

  /// Returns all pairs.
  std::int64_t show_work() {
    ranks_.share_numbers(work_);
    const auto count = ranks_.count();
    Integers<3> work({in_.samples(), count, count});
    for (std::size_t b = 0; b < in_.samples(); ++b)
      for (std::size_t rank = 0; rank < count; ++rank)
        for (std::size_t hop = 0; hop < count; ++hop) work(b, rank, hop) = work_[rank][b * count + hop];
    work = bench_.trace.step(
        {.id = "work",
         .title = "Pairs of a query and a key that a rank computes",
         .formula =
             in_.mask ? "pairs of its tile that the mask lets be seen" : "its queries · the keys there",
         .from = in_.mask ? std::vector<std::string>{"Q", "K", "mask"} : std::vector<std::string>{"Q", "K"},
         .axes = {"rank", "hop"},
         .note = "Counted while the code runs.",
         .worked = [&](const attn::Index& at) { return worked_work(at); }},
        work);
    return std::accumulate(work.begin(), work.end(), std::int64_t{0});
  }

  attn::Worked worked_work(const attn::Index& at) const {
    const auto& queries = ranks_.positions(at[1]);
    const auto& keys = ranks_.positions(ranks_.owner(at[1], at[2]));
    std::vector<attn::Worked> factors;
    if (in_.heads() > 1) factors.emplace_back(static_cast<double>(in_.heads()));
    if (!in_.mask) {
      factors.emplace_back(static_cast<double>(queries.size()));
      factors.emplace_back(static_cast<double>(keys.size()));
      return attn::Worked::product(std::move(factors));
    }
    std::vector<attn::Worked> pairs;
    for (const auto query : queries)
      for (const auto key : keys) pairs.push_back(attn::whole_entry("mask", *in_.mask, {at[0], query, key}));
    factors.push_back(pairs.empty() ? attn::Worked(0.0) : attn::Worked::sum(std::move(pairs)));
    return attn::Worked::product(std::move(factors));
  }

  std::string words_on_bytes() const {
    const auto count = ranks_.count();
    if (count == 1) return "A single rank sends nothing.";
    return fmt::format(
        "n = {} tokens; a number takes {} bytes. Each block comes to every rank. A rank sends on all but the "
        "last that it gets: the block of the next rank, n_next tokens. It sends while it computes. That "
        "costs no time if it is faster.",
        in_.n(), ranks_.item_size());
  }

  Integers<1> show_bytes() {
    return bench_.trace.step(
        {.id = "bytes",
         .title = "Bytes that a rank sends",
         .formula = fmt::format("(n − n_next) · (d_k + d_v) · {}{}", ranks_.item_size(),
                                in_.heads() * in_.samples() > 1 ? " · heads · sentences" : ""),
         .from = {"K", "V"},
         .axes = {"rank"},
         .note = words_on_bytes(),
         .worked =
             [&](const attn::Index& at) {
               const auto behind = ranks_.positions(ranks_.next(at[0])).size();
               std::vector<attn::Worked> factors = {
                   attn::Worked(static_cast<double>(in_.n())) - attn::Worked(static_cast<double>(behind)),
                   attn::Worked::sum({static_cast<double>(in_.d_k()), static_cast<double>(in_.d_v())}),
                   static_cast<double>(ranks_.item_size())};
               for (const auto more : {in_.heads(), in_.samples()})
                 if (more > 1) factors.emplace_back(static_cast<double>(more));
               return attn::Worked::product(std::move(factors));
             }},
        ranks_.bytes_sent());
  }

  Tensor<4> show_output() {
    Tensor<4> output(state_.o.shape(), 0.0);
    each_query([&](std::size_t, std::size_t b, std::size_t h, std::size_t query) {
      const double l = state_.l(b, h, query);
      for (std::size_t c = 0; c < in_.d_v(); ++c)
        output(b, h, query, c) = l == 0.0 ? 0.0 : state_.o(b, h, query, c) / l;
    });
    ranks_.share_rows(output);
    const auto last = ranks_.count() - 1;
    return step_of_heads(bench_,
                         {.id = "output",
                          .title = "Divided once, after the last hop",
                          .formula = "o / l",
                          .from = {of_hop(last, "l"), of_hop(last, "o")},
                          .axes = {"query", "d_v"},
                          .note = "One more word adds one row. Its rank has more to compute at every hop, "
                                  "any other rank at the one hop at which the key of the word comes by.",
                          .worked =
                              [&](const attn::Index& at) {
                                if (state_.l(at[0], at[1], at[2]) == 0.0) return attn::Worked(0.0);
                                return attn::Known{of_hop(last, "o"), state_.o}(at) /
                                       attn::Known{of_hop(last, "l"), state_.l}({at[0], at[1], at[2]});
                              },
                          .worked_at = place(followed_query(), 0)},
                         output);
  }

  /// From the first hop that raises the maximum of one of the last queries on, the page follows that query.
  void follow_first_raised(const Tensor<4>& scores) {
    for (std::size_t query = last_query() + 1; query-- > 0 && !followed_;) {
      const double before = state_.m(0, 0, query);
      if (before == unseen) continue;
      for (const auto key : keys_for(query))
        if (scores(0, 0, query, key) > before) followed_ = query;
    }
  }
  std::size_t followed_query() const { return followed_.value_or(last_query()); }

  /// Of the first sentence, without its padding.
  std::size_t last_query() const {
    const auto words = bench_.plan.sentence.tokens.front().size();
    return std::clamp<std::size_t>(words, 1, in_.n()) - 1;
  }

  /// The place of a query, in the first head, as the trace shows it.
  template <class... More>
  attn::Index place(std::size_t query, More... more) const {
    attn::Index index = {query, static_cast<std::size_t>(more)...};
    if (bench_.options.heads) index.insert(index.begin(), 0);
    return index;
  }

  /// The note `one-query`: what one query carries, hop by hop.
  void show_one_query() const {
    if (bench_.is_mute()) return;
    const auto query = followed_query(), rank = rank_of_[query];
    const std::size_t shown = std::min<std::size_t>(in_.d_v(), 2);
    std::string table =
        fmt::format("{:<6} {} {:>8} {:>8} {:>8}", "", attn::pad_right("keys there", 18), "m", "c", "l");
    for (std::size_t c = 0; c < shown; ++c) table += fmt::format(" {:>8}", fmt::format("o[{}]", c));
    const auto number = [](double x) {
      return x == unseen ? std::string("-inf") : fmt::format("{:.4f}", x + 0.0);
    };
    for (std::size_t hop = 0; hop < states_.size() && hop < 8; ++hop) {
      std::vector<std::string> keys;
      for (const auto key : ranks_.positions(ranks_.owner(rank, hop))) keys.push_back(name(key));
      const auto text = attn::shorten(fmt::format("{}", fmt::join(keys, " ")), 18);
      table += fmt::format("\nhop {:<2} {} {:>8} {:>8} {:>8}", hop, attn::pad_right(text, 18),
                           number(states_[hop].m(0, 0, query)),
                           hop == 0 ? "0" : number(rescalings_[hop](0, 0, query)),
                           number(states_[hop].l(0, 0, query)));
      for (std::size_t c = 0; c < shown; ++c)
        table += fmt::format(" {:>8}", number(states_[hop].o(0, 0, query, c)));
    }
    bench_.trace.note(
        "one-query", fmt::format("What the query of \"{}\" carries", name(query)),
        fmt::format("It stays on rank {}.{} A row is what it carries after a hop. Before the first hop m is "
                    "−∞, so c is 0. The next steps work out the row of hop {}.",
                    rank, bench_.options.heads ? " The numbers are those of head 0." : "",
                    std::min<std::size_t>(1, ranks_.count() - 1)),
        table);
  }

  Workbench& bench_;
  const RingInputs& in_;
  const Ranks& ranks_;
  std::vector<std::size_t> rank_of_;  ///< [position]
  Travel travel_;
  std::size_t hop_ = 0;
  Tensor<4> scores_;     ///< of this hop, [batch×head×query×key]
  Tensor<3> rescaling_;  ///< of this hop, [batch×head×query]
  RingState state_;
  std::vector<RingState> states_;
  std::vector<Tensor<3>> rescalings_;
  std::vector<std::vector<std::int64_t>> work_;  ///< [rank][batch×hop]
  std::optional<std::size_t> followed_;          ///< the query that the page follows, once it is known
};

}  // namespace

RingResult ring_attention(Workbench& bench, const RingInputs& in, const Ranks& ranks) {
  return RingRun(bench, in, ranks).run();
}

}  // namespace lessons
