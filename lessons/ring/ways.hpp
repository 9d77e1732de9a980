#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lessons/ring/ranks.hpp"

/// The two ways to share attention out among ranks. Each shows its steps and computes, in this process, the
/// part of the ranks that it plays.
namespace lessons {

/// What a way leads to.
struct RingResult {
  Tensor<4> output;    ///< [batch×head×query×d_v]
  Integers<1> bytes;   ///< [rank] sent
  std::int64_t pairs;  ///< of a query and a key, computed by all ranks
};

/// Keys and values travel: `hop=H/scores`, `hop=H/m`, `hop=H/c`, `hop=H/l`, `hop=H/o`, `holds`, `work`,
/// `bytes`, `output`.
RingResult ring_attention(Workbench& bench, const RingInputs& in, const Ranks& ranks);

/// Heads are exchanged for tokens and back: `rank=R/Q`, `rank=R/K`, `rank=R/V`, `rank=R/scores`,
/// `rank=R/weights`, `rank=R/heads`, `work`, `bytes`, `output`.
RingResult attention_by_heads(Workbench& bench, const RingInputs& in, const Ranks& ranks);

/// Throws attn::Error where the heads cannot be shared out evenly.
void require_heads_for_ranks(const Options& options, std::size_t ranks);

/// The bytes that a rank sends in the exchange of heads, by formula.
std::int64_t bytes_by_heads(const RingInputs& in, const Ranks& ranks, std::size_t rank);

/// The pairs that a run is to compute: those that the mask lets be seen, in every head.
std::int64_t pairs_of(const RingInputs& in);

/// The notes `orders` and `idle`: the work of each rank and hop under a causal mask with each order of
/// blocks, and how long ranks wait.
void show_orders(Workbench& bench, const RingInputs& in, const Ranks& ranks);

/// The way in NumPy, and under the names of the page what it has computed.
void show_ring_code(Workbench& bench, const RingInputs& in, const Ranks& ranks);
void show_heads_code(Workbench& bench, const RingInputs& in, const Ranks& ranks);

/// The flow of each way.
std::vector<std::string> ring_flow(const RingInputs& in, const Ranks& ranks);
std::vector<std::string> heads_flow(const RingInputs& in, const Ranks& ranks);

}  // namespace lessons
