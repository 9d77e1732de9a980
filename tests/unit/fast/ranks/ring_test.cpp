#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <stdexcept>

#include "fast/exact/kernels.hpp"
#include "tests/unit/fast/ranks/random_ring.hpp"

using attn::fast::blocks_of;
using attn::fast::local_network;
using attn::fast::Order;
using attn::fast::RingProblem;
using Catch::Contains;

namespace {

constexpr unsigned shapes = 200;

double imbalance(Order order, std::size_t n, std::size_t ranks) {
  const RingProblem problem = {.sizes = {.n_q = n, .n_k = n}, .visible = {.causal = true}, .order = order};
  return attn::fast::ring_imbalance(problem, ranks);
}

}  // namespace

TEMPLATE_TEST_CASE("ring attention and its gradients equal those of one process", "[ranks]", float, double) {
  const double tolerance = std::is_same_v<TestType, float> ? 1e-5 : 1e-12;
  for (unsigned seed = 0; seed < shapes; ++seed) {
    const auto ring = random_ring<TestType>(seed, 1 + seed % 8);
    const auto network = local_network(ring.ranks);
    auto blocks = ring.blocks(network->here());
    CAPTURE(seed, ring.ranks, ring.problem.sizes.n_k);
    attn::fast::ring_forward(ring.problem, *network, blocks);
    for (std::size_t rank = 0; rank < ring.ranks; ++rank) {
      REQUIRE(ring.error_forward(rank, blocks[rank]) <= tolerance);
      REQUIRE(network->bytes_sent(rank) ==
              attn::fast::ring_bytes_forward(ring.problem, ring.ranks, rank, sizeof(TestType)));
    }
    network->reset_counts();
    attn::fast::ring_backward(ring.problem, *network, blocks);
    for (std::size_t rank = 0; rank < ring.ranks; ++rank) {
      REQUIRE(ring.error_backward(rank, blocks[rank]) <= tolerance);
      REQUIRE(network->bytes_sent(rank) ==
              attn::fast::ring_bytes_backward(ring.problem, ring.ranks, rank, sizeof(TestType)));
    }
  }
}

TEST_CASE("ring attention of two ranks sends each block once", "[ranks]") {
  const RingProblem problem = {
      .sizes = {.samples = 2, .heads = 4, .kv_heads = 2, .n_q = 7, .n_k = 7, .d_k = 3, .d_v = 5}};
  CHECK(attn::fast::ring_bytes_forward(problem, 2, 0, 8) == 2 * 2 * 3 * (3 + 5) * 8);
  CHECK(attn::fast::ring_bytes_forward(problem, 2, 1, 8) == 2 * 2 * 4 * (3 + 5) * 8);
  CHECK(attn::fast::ring_bytes_backward(problem, 2, 0, 8) == 2 * 2 * (3 + 7) * (3 + 5) * 8);
  CHECK(attn::fast::ring_bytes_backward(problem, 1, 0, 8) == 0);
}

TEST_CASE("each position is held by one rank, in rising order", "[ranks]") {
  for (const auto order : attn::fast::all_orders())
    for (std::size_t ranks = 1; ranks <= 9; ++ranks)
      for (std::size_t n = 0; n <= 30; ++n) {
        std::set<std::size_t> held;
        for (const auto& block : blocks_of(order, n, ranks)) {
          CHECK(std::is_sorted(block.begin(), block.end()));
          held.insert(block.begin(), block.end());
        }
        CHECK(held.size() == n);
        CHECK((n == 0 || *held.rbegin() == n - 1));
      }
}

TEST_CASE("under a causal mask zig-zag and striped blocks share the work evenly", "[ranks]") {
  for (const std::size_t ranks : {2, 3, 4, 8}) {
    CHECK(imbalance(Order::zigzag, 64 * ranks, ranks) <= 1.05);
    CHECK(imbalance(Order::zigzag, 64 * ranks + 3, ranks) <= 1.05);
    CHECK(imbalance(Order::striped, 64 * ranks, ranks) <= 1.05);
  }
  CHECK(imbalance(Order::contiguous, 256, 4) > 6.0);
}

TEST_CASE("the kernel that sums a softmax anew refuses a part of the keys", "[ranks]") {
  const auto ring = random_ring<double>(5, 2);
  auto whole = ring.whole;
  auto part = call_of(ring.problem, whole);
  part.is_part = true;
  for (const auto& kernel : attn::exact::kernels()) {
    const bool needs_all = kernel.name == "plain";
    CAPTURE(kernel.name);
    if (needs_all)
      CHECK_THROWS_AS(kernel.backward(part), std::invalid_argument);
    else
      CHECK_NOTHROW(kernel.backward(part));
  }
}

TEST_CASE("a ring refuses blocks that do not fit", "[ranks]") {
  const auto ring = random_ring<double>(3, 4);
  const auto network = local_network(ring.ranks);
  auto blocks = ring.blocks(network->here());
  auto problem = ring.problem;
  problem.sizes.n_q += 1;
  CHECK_THROWS_WITH(attn::fast::ring_forward(problem, *network, blocks), Contains("a ring is one sequence"));
  problem = ring.problem;
  problem.sizes.d_v += 1;
  CHECK_THROWS_WITH(attn::fast::ring_forward(problem, *network, blocks), Contains("value of rank 0 is"));
  blocks.pop_back();
  CHECK_THROWS_WITH(attn::fast::ring_forward(ring.problem, *network, blocks),
                    Contains("ranks of this process"));
}
