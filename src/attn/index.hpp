#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>

namespace attn {

/// A place along each axis of a tensor. It owns no memory: a page makes one for each number in each of its
/// worked entries.
class Index {
 public:
  using value_type = std::size_t;
  using iterator = std::size_t*;
  using const_iterator = const std::size_t*;

  Index() = default;
  explicit Index(std::size_t size, std::size_t place = 0) {
    for (std::size_t axis = 0; axis < size; ++axis) push_back(place);
  }
  Index(std::initializer_list<std::size_t> places) {
    for (const auto place : places) push_back(place);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  iterator begin() { return places_.data(); }
  iterator end() { return begin() + size_; }
  const_iterator begin() const { return places_.data(); }
  const_iterator end() const { return begin() + size_; }
  std::size_t& operator[](std::size_t axis) { return places_[axis]; }
  std::size_t operator[](std::size_t axis) const { return places_[axis]; }
  std::size_t& back() { return places_[size_ - 1]; }
  std::size_t back() const { return places_[size_ - 1]; }

  void push_back(std::size_t place) { insert(end(), place); }
  void pop_back() { --size_; }

  void insert(iterator before, std::size_t place) {
    if (size_ == most_axes) throw std::length_error("[index] more axes than an entry is worked out for");
    std::copy_backward(before, end(), end() + 1);
    *before = place;
    ++size_;
  }

  void erase(iterator at) {
    std::copy(at + 1, end(), at);
    --size_;
  }

  friend bool operator==(const Index& a, const Index& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator<(const Index& a, const Index& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static constexpr std::size_t most_axes = 6;

  std::array<std::size_t, most_axes> places_{};
  std::size_t size_ = 0;
};

}  // namespace attn
