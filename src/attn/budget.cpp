#include "attn/budget.hpp"

#include <atomic>

namespace attn {

namespace {

std::atomic<std::size_t> budget = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> taken = 0;

}  // namespace

void set_memory_budget(std::size_t bytes) {
  budget = bytes;
}

void take_memory(std::size_t bytes) {
  const auto before = taken.fetch_add(bytes);
  const auto limit = budget.load();
  if (before <= limit && bytes <= limit - before) return;
  taken.fetch_sub(bytes);
  throw OutOfBudget(bytes);
}

void give_memory(std::size_t bytes) noexcept {
  taken.fetch_sub(bytes);
}

}  // namespace attn
