// operator new and delete of this program, so that bench can measure what a kernel allocates. The other forms
// of both call these.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "fast/bench/baselines.hpp"

namespace {

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  attn::bench::count_allocation(block);
  return block;
}

void release(void* block) noexcept {
  attn::bench::count_release(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(std::malloc(std::max<std::size_t>(size, 1)));
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto bytes = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(bytes, std::max<std::size_t>((size + bytes - 1) / bytes, 1) * bytes));
}

// The address sanitizer has forms of its own that do not throw; what they took could not be released here.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  try {
    return operator new(size, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void operator delete(void* block) noexcept {
  release(block);
}

void operator delete(void* block, std::size_t) noexcept {
  release(block);
}

void operator delete(void* block, std::align_val_t) noexcept {
  release(block);
}

void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  release(block);
}
