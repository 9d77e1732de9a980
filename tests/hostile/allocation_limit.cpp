#include "tests/hostile/allocation_limit.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <new>

#ifndef __SANITIZE_ADDRESS__

extern "C" {

// The names under which glibc has its own.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);

void* malloc(std::size_t size) {
  if (size <= largest_allocation) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}

void* calloc(std::size_t count, std::size_t size) {
  if (size == 0 || count <= largest_allocation / size) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}

void* realloc(void* old, std::size_t size) {
  if (size <= largest_allocation) return __libc_realloc(old, size);
  errno = ENOMEM;
  return nullptr;
}

}  // extern "C"

#endif

TEST_CASE("there are 64 MiB at once and no more") {
  const volatile std::size_t room = largest_allocation - 4096, more = largest_allocation + 1;
  void* const there = std::malloc(room);
  CHECK(there != nullptr);
  std::free(there);
  void* const beyond = std::malloc(more);
  CHECK(beyond == nullptr);
  std::free(beyond);
}
