#pragma once

#include <chrono>
#include <functional>

namespace attn::bench {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

inline double seconds_of(const std::function<void()>& run) {
  const Stopwatch watch;
  run();
  return watch.seconds();
}

}  // namespace attn::bench
