/// Attention of a sequence that is spread over machines: keys and values go round a ring of ranks, or the
/// ranks exchange tokens for heads. Sources: Liu, Zaharia & Abbeel 2023, "Ring Attention with Blockwise
/// Transformers"; Jacobs et al. 2023, "DeepSpeed-Ulysses".

#include "fast/ranks/ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/lesson.hpp"
#include "lessons/ring/ways.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/head_axis.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

bool goes_round(const Workbench& bench) {
  return bench.options.way == "ring";
}

Tensor<4> input_with_heads(Workbench& bench, attn::About about) {
  if (bench.options.heads) return bench.input<4>(std::move(about));
  return with_one_head(bench.input<3>(std::move(about)));
}

RingInputs ring_inputs(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"query", "key"}, sentence);
  bench.show_lengths(sentence);
  RingInputs in;
  in.Q = input_with_heads(bench, {.id = "Q", .title = "What each token asks for"});
  in.K = input_with_heads(bench, {.id = "K", .title = "What each token can be found by"});
  in.V = input_with_heads(bench, {.id = "V", .title = "What each token has to give"});
  in.mask = bench.mask(sentence, sentence);
  return in;
}

/// Of m, where a query has seen nothing so far.
std::string queries_without_keys(const attn::Event& m) {
  std::size_t without = 0;
  const auto count = attn::element_count(m.tensor->shape);
  for (std::size_t i = 0; i < count; ++i) without += std::isinf(m.tensor->at(i)) ? 1 : 0;
  return without == 0 ? "" : fmt::format("{} of {} queries have seen no key yet: −∞.", without, count);
}

/// Of c: how many queries a larger score came for.
std::string raised_maxima(const attn::Event& c) {
  std::size_t raised = 0, fresh = 0;
  const auto count = attn::element_count(c.tensor->shape);
  for (std::size_t i = 0; i < count; ++i) {
    const double factor = c.tensor->at(i);
    if (factor == 0.0) ++fresh;
    if (factor > 0.0 && factor < 1.0) ++raised;
  }
  return fmt::format("A larger score came for {} of {} queries: their l and o shrink. Else c is 1{}.", raised,
                     count, fresh == 0 ? "" : fmt::format("; for {} that had met no key it is 0", fresh));
}

std::vector<attn::OnPage> page_of_ring(const Workbench& bench, std::size_t ranks) {
  const auto shown = fmt::format("hop={}/", std::min<std::size_t>(1, ranks - 1));
  const bool is_uneven = bench.options.causal || bench.options.window;
  const auto output =
      bench.plan.is_batched() ? attn::OnPage{"output"} : attn::without_table("output", nullptr);
  std::vector<attn::OnPage> page = {{"holds"}};
  page.push_back(attn::without_table(shown + "scores", nullptr));
  page.push_back({"one-query"});
  page.push_back(attn::without_table(shown + "m", queries_without_keys));
  page.push_back(attn::without_table(shown + "c", raised_maxima));
  page.push_back(attn::without_table(shown + "l"));
  page.push_back(attn::without_table(shown + "o", nullptr));
  if (is_uneven) page.push_back({"work"});
  page.insert(page.end(), {output, attn::without_table("bytes", nullptr), {"orders"}, {"idle"}});
  return page;
}

std::vector<attn::OnPage> page_by_heads() {
  return {attn::in_one_line("rank=0/Q"),
          attn::in_one_line("rank=0/K"),
          attn::in_one_line("rank=0/V"),
          attn::without_table("rank=0/scores"),
          attn::without_table("rank=0/weights"),
          attn::without_table("rank=0/heads"),
          {"work"},
          {"bytes"},
          {"output"}};
}

void set_ring_page(Workbench& bench, std::size_t ranks) {
  std::vector<attn::OnPage> page = {{"idea"}, {"carried"}, {"flow"}, {"code"}};
  for (const auto* id : {"Q", "K", "V"}) page.push_back(attn::in_one_line(id));
  page.push_back(attn::in_one_line("mask"));
  const auto way = goes_round(bench) ? page_of_ring(bench, ranks) : page_by_heads();
  page.insert(page.end(), way.begin(), way.end());
  bench.trace.page(std::move(page));
}

std::string words_on_ranks(std::size_t ranks) {
  return fmt::format(
      "A long sequence is shared out among several machines, here {}. A machine is called a rank (not that "
      "of a matrix). Each rank has the queries, keys and values of its own tokens, random ones here. But a "
      "query needs the keys and values of all tokens. ",
      ranks);
}

/// The note `carried`: why a query need not see its scores at one time.
void explain_what_is_carried(const Workbench& bench) {
  bench.trace.note("carried", "What a query carries from hop to hop",
                   "Softmax divides by a sum over a whole row of scores, but a rank has only a part of the "
                   "row at a time. So each query carries three things, as in flash attention (lesson "
                   "efficient). sⱼ is its score with key j, and vⱼ is the value of key j:",
                   "m   the largest score so far\n"
                   "l   Σⱼ exp(sⱼ − m), over the keys so far\n"
                   "o   Σⱼ exp(sⱼ − m) vⱼ, over the keys so far\n"
                   "\n"
                   "A hop may bring a larger score, m′. Then each old term must be multiplied\n"
                   "by c = exp(m − m′), because exp(sⱼ − m) · exp(m − m′) = exp(sⱼ − m′).\n"
                   "So a hop multiplies l and o by c and adds the terms of its own keys.\n"
                   "After the last hop the output is o / l.");
}

void introduce_ring(const Workbench& bench, std::size_t ranks) {
  if (!goes_round(bench))
    return bench.idea(words_on_ranks(ranks) +
                          "So the ranks exchange: each gives away its tokens of most heads and gets all "
                          "tokens of a few heads. Heads do not need each other, so each rank can now attend "
                          "alone. A second exchange brings the outputs back to the ranks of the tokens.",
                      "softmax(Q Kᵀ / √d_k) V for each head, on one rank");
  bench.idea(words_on_ranks(ranks) + fmt::format("So keys and values travel from rank to rank, round a ring, "
                                                 "in {} hop{}. At each hop every rank",
                                                 ranks, ranks == 1 ? "" : "s"),
             "1   computes the scores of its queries with the keys that it has now\n"
             "2   updates three things that each of its queries carries: m, l and o\n"
             "3   sends these keys and values to the next rank, but not at the last hop");
  explain_what_is_carried(bench);
}

void claim_full(Workbench& bench, const RingInputs& in, const RingResult& result, attn::Limit limit) {
  auto mute = bench.mute();
  const auto full = scaled_dot_product_attention(mute, in.Q, in.K, in.V, in.mask).output;
  bench.trace.claim({.id = "equals-full-attention",
                     .claim = "the output is that of attention on one machine",
                     .formula = "max |output − softmax(Q Kᵀ / √d_k) V|",
                     .value = attn::max_abs_difference(result.output, full),
                     .limit = limit});
}

attn::fast::RingProblem ring_problem(const RingInputs& in, const Ranks& ranks) {
  return {.sizes = {.samples = in.samples(),
                    .heads = in.heads(),
                    .kv_heads = in.heads(),
                    .n_q = in.n(),
                    .n_k = in.n(),
                    .d_k = in.d_k(),
                    .d_v = in.d_v()},
          .order = ranks.order(),
          .scale = 1.0 / in.root()};
}

/// The bytes that a rank sends in the ring, by formula.
std::int64_t ring_bytes(const RingInputs& in, const Ranks& ranks, std::size_t rank) {
  return static_cast<std::int64_t>(
      attn::fast::ring_bytes_forward(ring_problem(in, ranks), ranks.count(), rank, ranks.item_size()));
}

void claim_counts(Workbench& bench, const RingInputs& in, const Ranks& ranks, const RingResult& result) {
  std::int64_t off = 0;
  for (std::size_t rank = 0; rank < ranks.count(); ++rank) {
    const auto expected = goes_round(bench) ? ring_bytes(in, ranks, rank) : bytes_by_heads(in, ranks, rank);
    off = std::max<std::int64_t>(off, std::abs(result.bytes(rank) - expected));
  }
  bench.trace.claim({.id = "bytes-equal-formula",
                     .claim = "each rank sends the bytes of the formula",
                     .formula = "max |bytes counted − formula|",
                     .value = static_cast<double>(off),
                     .limit = attn::exactly(0.0)});
  bench.trace.claim({.id = "each-pair-once",
                     .claim = "each pair of a query and a key is computed once",
                     .formula = "Σ work − pairs that may be seen · heads",
                     .value = static_cast<double>(result.pairs - pairs_of(in)),
                     .limit = attn::exactly(0.0)});
}

/// The ring with an order of blocks, all ranks in this process.
Tensor<4> ring_with(const Workbench& bench, const RingInputs& in, std::size_t count,
                    attn::fast::Order order) {
  auto mute = bench.mute();
  const auto network = attn::fast::local_network(count);
  return ring_attention(mute, in, Ranks(*network, order, in.n(), bench.trace.dtype())).output;
}

void claim_orders(Workbench& bench, const RingInputs& in, const Ranks& ranks, const RingResult& result,
                  attn::Limit limit) {
  double off = 0.0;
  for (const auto order : attn::fast::all_orders())
    if (!goes_round(bench) || order != ranks.order())
      off =
          std::max(off, attn::max_abs_difference(result.output, ring_with(bench, in, ranks.count(), order)));
  bench.trace.claim({.id = "orders-agree",
                     .claim = goes_round(bench) ? "another order of blocks changes nothing but rounding"
                                                : "the ring, in each order of blocks, gives the same",
                     .formula = "max |output − output of the ring in another order|",
                     .value = off,
                     .limit = limit});
}

Tensor<4> rows_in_block(const Tensor<4>& x, const Positions& rows) {
  Tensor<4> block({x.shape(0), x.shape(1), rows.size(), x.shape(3)});
  const auto numbers = take_rows(x, rows);
  std::copy(numbers.begin(), numbers.end(), block.begin());
  return block;
}

/// The output of the ring in compiled kernels.
Tensor<4> compiled_ring(const RingInputs& in, const Ranks& ranks, const attn::fast::Visibility& visible) {
  auto problem = ring_problem(in, ranks);
  problem.visible = visible;
  const auto network = attn::fast::local_network(ranks.count());
  std::vector<attn::fast::RankBlock<double>> blocks;
  for (const auto& rows : ranks.positions())
    blocks.push_back({.query = rows_in_block(in.Q, rows),
                      .key = rows_in_block(in.K, rows),
                      .value = rows_in_block(in.V, rows)});
  attn::fast::ring_forward(problem, *network, blocks);
  Tensor<4> output({in.samples(), in.heads(), in.n(), in.d_v()});
  for (std::size_t rank = 0; rank < ranks.count(); ++rank)
    put_rows(output, ranks.positions(rank), {blocks[rank].output.begin(), blocks[rank].output.end()});
  return output;
}

void claim_compiled(Workbench& bench, const RingInputs& in, const Ranks& ranks, const RingResult& result,
                    attn::Limit limit) {
  const auto visible = bench.visibility();
  if (!visible)
    return bench.trace.note("equals-compiled-ring", "Not compared with the compiled ring",
                            "The mask is a given one, and the compiled kernels know rules only.");
  bench.trace.claim({.id = "equals-compiled-ring",
                     .claim = "the ring in the fast code of attnlab gives the same",
                     .formula = "max |output − ring_forward(Q, K, V)|",
                     .value = attn::max_abs_difference(result.output, compiled_ring(in, ranks, *visible)),
                     .limit = limit});
}

std::int64_t most_bytes(const RingInputs& in, const Ranks& ranks,
                        std::int64_t (*bytes_of)(const RingInputs&, const Ranks&, std::size_t)) {
  std::int64_t most = 0;
  for (std::size_t rank = 0; rank < ranks.count(); ++rank) most = std::max(most, bytes_of(in, ranks, rank));
  return most;
}

/// Ring or heads: what each sends, and how the run is made on several processes.
void compare_ways(const Workbench& bench, const RingInputs& in, const Ranks& ranks) {
  if (bench.is_mute()) return;
  const auto count = ranks.count();
  const bool divides = bench.options.heads && in.heads() % count == 0;
  auto table = fmt::format("ring    keys and values are sent {} time{}; a rank sends up to {} bytes",
                           count - 1, count == 2 ? "" : "s", most_bytes(in, ranks, ring_bytes));
  table += "\nheads   ";
  table += divides ? fmt::format("every rank sends to every other twice, up to {} bytes a rank",
                                 most_bytes(in, ranks, bytes_by_heads))
                   : fmt::format("not possible here: {} ranks need a multiple of {} heads, not {}", count,
                                 count, in.heads());
  table += fmt::format("\nmpirun  -n {} attnlab ring …   each rank a process of its own (Open MPI)", count);
  bench.trace.note(
      "ways", "Two ways to share the work out",
      "The ring sends while it computes. So sending takes no extra time if it is faster than computing. With "
      "--way heads the ranks share out the heads: each rank attends to all tokens in its heads. No rank "
      "waits for another there, but nobody computes while they send.",
      table);
}

void suggest_ring(const Workbench& bench) {
  if (!goes_round(bench))
    return bench.try_next({{"ring --way ring --heads 4 --ranks 2", "the same output by way of the ring"},
                           {"ring --way heads --heads 4 --ranks 4", "one head a rank: what is sent?"},
                           {"multihead", "where heads come from"}});
  bench.try_next({{"ring --causal --order zigzag", "which rank waits now?"},
                  {"ring --way heads --heads 4", "each rank gets all tokens of one head"},
                  {"stability", "what softmax does with very large scores"}});
}

std::vector<Input> inputs_of_ring(const Options&) {
  return {{"Q", {"[head]", "query", "d_k"}},
          {"K", {"[head]", "key", "d_k"}},
          {"V", {"[head]", "key", "d_v"}},
          {"mask", {"query", "key"}, Draw::page}};
}

void run_ring(Workbench& bench) {
  const RanksNetwork network(bench.plan);
  const auto count = (*network).ranks();
  require_heads_for_ranks(bench.options, count);
  set_ring_page(bench, count);
  introduce_ring(bench, count);
  const auto in = ring_inputs(bench);
  const Ranks ranks(*network, order_of(bench.options), in.n(), bench.trace.dtype());
  bench.trace.label("rank", {{numbered("rank", count)}});
  bench.trace.label("hop", {{numbered("hop", count)}});
  bench.flow(goes_round(bench) ? ring_flow(in, ranks) : heads_flow(in, ranks));
  goes_round(bench) ? show_ring_code(bench, in, ranks) : show_heads_code(bench, in, ranks);
  const auto result =
      goes_round(bench) ? ring_attention(bench, in, ranks) : attention_by_heads(bench, in, ranks);
  if (goes_round(bench)) show_orders(bench, in, ranks);
  compare_ways(bench, in, ranks);
  if (bench.is_mute()) return;
  const auto limit = rounding(bench.trace, magnitude_of_scores(in.Q, in.K, in.root()) * attn::max_abs(in.V));
  claim_full(bench, in, result, limit);
  claim_counts(bench, in, ranks, result);
  claim_orders(bench, in, ranks, result, limit);
  claim_compiled(bench, in, ranks, result, limit);
  suggest_ring(bench);
}

}  // namespace

std::int64_t pairs_of(const RingInputs& in) {
  std::int64_t pairs = 0;
  for (std::size_t b = 0; b < in.samples(); ++b)
    for (std::size_t query = 0; query < in.n(); ++query)
      for (std::size_t key = 0; key < in.n(); ++key) pairs += in.sees(b, query, key) ? 1 : 0;
  return pairs * static_cast<std::int64_t>(in.heads());
}

extern const Lesson ring;
const Lesson ring = {
    .name = "ring",
    .title = "attention across machines: keys and values go round",
    .teaches =
        "How a sequence that no single machine can hold attends to itself. Each rank keeps its queries, keys "
        "and values travel round the ring, and each rank merges what arrives by a running maximum, sum and "
        "output; the output is exact. The page shows who holds what at each hop, counts the bytes that are "
        "sent, and which ranks a causal mask leaves idle. With --way heads the ranks exchange tokens for "
        "heads.",
    .options = {"sentence", "d-k", "d-v", "heads", "causal", "window", "ranks", "order", "way", "seed", "rng",
                "draws", "dtype"},
    .splits_heads = false,
    .defaults = {.sentence = {"the small cat saw a dog and slept"}, .d_k = 4, .d_v = 2, .ranks = 4},
    .examples = {"ring --causal --order zigzag", "ring --way heads --heads 4 --ranks 2"},
    .inputs = inputs_of_ring,
    .run = run_ring,
};

}  // namespace lessons
