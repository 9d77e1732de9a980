#pragma once

#include <cstddef>
#include <memory>

namespace attn::simd {

/// Uninitialised memory for numbers, aligned to 64 bytes.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::size_t numbers)
      : lines_(new Line[(numbers * sizeof(T) + sizeof(Line) - 1) / sizeof(Line)]) {}

  T* data() { return reinterpret_cast<T*>(lines_.get()); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  std::unique_ptr<Line[]> lines_;
};

}  // namespace attn::simd
