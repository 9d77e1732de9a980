#pragma once

#include <cstdlib>
#include <string>

#include "attn/random/random.hpp"

/// One in `one_in` of what a long test goes through, in order. The number in the environment variable
/// ATTNLAB_TEST_SEED, 0 where it is not set, says which: `one_in` numbers in a row take everything, and so
/// does "all" at once. `name` shifts the choice, so that tests with other names take others.
class Sample {
 public:
  explicit Sample(const std::string& name, std::size_t one_in = 10) : Sample(name, one_in, seed()) {}

  /// "ATTNLAB_TEST_SEED=7": what repeats a failing test.
  static std::string setting() { return "ATTNLAB_TEST_SEED=" + seed(); }

  bool is_all() const { return is_all_; }

  /// Whether the next one belongs to the sample.
  bool takes_next() { return next_++ % one_in_ == 0 || is_all_; }

 private:
  Sample(const std::string& name, std::size_t one_in, const std::string& seed)
      : is_all_(seed == "all"), one_in_(one_in), next_(is_all_ ? 0 : std::stoul(seed) + attn::crc32(name)) {}

  static std::string seed() {
    const char* const value = std::getenv("ATTNLAB_TEST_SEED");
    return value == nullptr ? "0" : value;
  }

  bool is_all_;
  std::size_t one_in_;
  std::size_t next_;
};
