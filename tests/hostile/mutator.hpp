#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// Mutilates files, the same way for the same seed.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  /// A copy with one to three things done to it: bits flipped, cut off, a part doubled, taken out or replaced
  /// by a part of `other`, bytes or decimal numbers overwritten with extreme ones.
  std::string mutilated(std::string bytes, const std::string& other);

  /// A whole number below `bound`.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

 private:
  void mutilate(std::string& bytes, const std::string& other);
  void overwrite_bytes(std::string& bytes);
  void overwrite_number(std::string& bytes);

  /// Where a part of the text begins, and how long it is.
  std::pair<std::size_t, std::size_t> part_of(const std::string& bytes);

  std::mt19937_64 random_;
};
