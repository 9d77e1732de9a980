#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <string>

namespace attn {

/// A tensor that the memory allotted to tensors has no room for.
struct OutOfBudget : std::bad_alloc {
  explicit OutOfBudget(std::size_t requested) : bytes(requested) {}
  const char* what() const noexcept override { return "a tensor does not fit in memory"; }

  std::size_t bytes;  ///< of that tensor
};

/// How many bytes all tensors together may take, from now on.
void set_memory_budget(std::size_t bytes);

/// Counts bytes that tensors take and give back. Throws OutOfBudget where there is no room for them.
void take_memory(std::size_t bytes);
void give_memory(std::size_t bytes) noexcept;

/// Throws OutOfBudget where so many numbers along each axis are more than can be counted in bytes: a
/// container multiplies the lengths before its allocator is asked.
template <class Shape>
void require_countable(const Shape& shape) {
  constexpr auto largest = std::numeric_limits<std::ptrdiff_t>::max();
  double bytes = sizeof(double);
  for (const auto length : shape) bytes *= static_cast<double>(length);
  if (bytes >= static_cast<double>(largest)) throw OutOfBudget(std::numeric_limits<std::size_t>::max());
}

/// The allocator of tensors: it refuses what the budget has no room for before anything is taken.
template <class T>
struct BudgetAllocator {
  using value_type = T;

  BudgetAllocator() = default;
  template <class Other>
  BudgetAllocator(const BudgetAllocator<Other>&) noexcept {}

  T* allocate(std::size_t count) {
    constexpr auto largest = std::numeric_limits<std::size_t>::max();
    take_memory(count > largest / sizeof(T) ? largest : count * sizeof(T));
    try {
      return std::allocator<T>().allocate(count);
    } catch (...) {
      give_memory(count * sizeof(T));
      throw;
    }
  }

  void deallocate(T* elements, std::size_t count) noexcept {
    std::allocator<T>().deallocate(elements, count);
    give_memory(count * sizeof(T));
  }

  bool operator==(const BudgetAllocator&) const = default;
};

/// Bytes of memory that a process can still have; all that the machine has where the system does not tell.
double free_memory();

/// "1.5 MiB": three digits.
std::string in_bytes(double bytes);

}  // namespace attn
