/// Attention of a sequence that is spread over machines: keys and values go round a ring of ranks, or the
/// ranks exchange tokens for heads. The lesson is the document ring.md, which every process computes; what
/// the ranks send each other and make of it is C++, and claims hold it to the document. Sources: Liu, Zaharia
/// & Abbeel 2023, "Ring Attention with Blockwise Transformers"; Brandon et al. 2023, "Striped Attention";
/// Jacobs et al. 2023, "DeepSpeed-Ulysses".

#include "fast/ranks/ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/ring/ranks.hpp"

namespace lessons {

namespace {

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

void run_ring(Workbench& bench) {
  RanksOfRun ranks(bench.plan);
  const Functions functions = {
      .texts = {{"rank_marks", rank_marks}},
      .tensors = {
          {"bytes_on_the_wire", [&](DocumentRun& run) { return owned_view(ranks.result(run).bytes); }},
          {"pairs_of_ranks",
           [&](DocumentRun& run) { return owned_view(std::vector{ranks.result(run).pairs}); }},
          {"output_of_ranks",
           [&](DocumentRun& run) { return view_of_output(run, ranks.result(run).output); }},
          {"ring_in_other_orders", in_other_orders},
          {"ring_in_fast_code", [](DocumentRun& run) { return view_of_output(run, compiled_ring(run)); }}}};
  DocumentRun(bench, functions).tell();
}

}  // namespace

const LessonCode ring_code = {.run = run_ring, .splits_heads = false};

}  // namespace lessons
