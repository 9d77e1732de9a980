#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

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

// How one entry of a tensor comes about, as arithmetic on the numbers of the run.

/// An entry of the tensor `tensor`, which is its id in the trace.
struct Operand {
  std::string tensor;
  Index index;
  bool is_whole = false;  ///< of a tensor of whole numbers or truth values
};

/// An expression. Each number in it is a constant of the formula or an entry of a tensor, and knows which.
class Worked {
 public:
  /// A constant, as the 2 in x / 2.
  Worked(double constant);
  Worked(Operand operand, double value);

  static Worked sum(std::vector<Worked> terms);
  static Worked product(std::vector<Worked> factors);
  static Worked call(const char* function, std::vector<Worked> arguments);
  friend Worked operator-(Worked x);
  friend Worked operator-(Worked x, Worked y);
  friend Worked operator/(Worked x, Worked y);
  friend Worked pow(Worked x, Worked exponent);

  /// 1 where x < y or x ≤ y, 0 elsewhere.
  static Worked less(Worked x, Worked y);
  static Worked at_most(Worked x, Worked y);

  double value() const { return value_; }

  /// Whether all numbers in it and its value are finite.
  bool is_finite() const;

  /// The entry that the whole expression is, or null.
  const Operand* entry() const { return operand_.get(); }

  /// Calls `see` with each entry in it, in the order in which they are written; the same one may come twice.
  void for_each_entry(const std::function<void(const Operand&, double value)>& see) const;

  /// Calls `change` with each operand.
  void for_each_operand(const std::function<void(Operand&)>& change);

  /// "exp(0.33) / (exp(0.12) + exp(0.33))": `+ − · / ^ < ≤`, parentheses and functions of numbers, which
  /// `number` writes. Of a sum or a call of more than `most_terms` terms the middle is left out.
  std::string text(const std::function<std::string(const Worked&)>& number, std::size_t most_terms) const;

 private:
  enum class Operation { number, negation, sum, difference, product, quotient, power, less, at_most, call };

  Worked(Operation operation, std::vector<Worked> parts, double value);
  const std::vector<Worked>& parts() const { return *parts_; }
  void append_text(std::string& text, const std::function<std::string(const Worked&)>& number,
                   std::size_t most_terms) const;
  void append_parts(std::string& text, const std::function<std::string(const Worked&)>& number,
                    std::size_t most_terms) const;
  bool is_comparison() const { return operation_ == Operation::less || operation_ == Operation::at_most; }
  bool needs_parentheses_in(Operation outer, bool is_first) const;
  const char* separator() const;

  Operation operation_ = Operation::number;
  double value_ = 0.0;
  const char* function_ = nullptr;                ///< of a call
  std::shared_ptr<Operand> operand_{};            ///< of a number that is an entry
  std::shared_ptr<std::vector<Worked>> parts_{};  ///< of what is no number; shared with copies of it
};

Worked operator-(Worked x);
Worked operator-(Worked x, Worked y);
Worked operator/(Worked x, Worked y);
Worked pow(Worked x, Worked exponent);

/// e^x, √x, max(x, y): the functions that expressions call.
Worked exp(Worked x);
Worked sqrt(Worked x);
Worked tanh(Worked x);
Worked log(Worked x);
Worked erf(Worked x);
Worked sin(Worked x);
Worked cos(Worked x);
Worked floor(Worked x);
Worked max(Worked x, Worked y);
Worked min(Worked x, Worked y);

/// |x| = max(x, −x).
Worked absolute(Worked x);

/// The largest of several.
Worked largest(std::vector<Worked> of);

/// Where the largest is, the first of several: its place, times that all before it are less and none after it
/// is more.
Worked argmax(const std::vector<Worked>& of);

/// Σ / count of them.
Worked mean_of(std::vector<Worked> of);

/// 1 where x = y, 0 elsewhere: neither is more than the other.
Worked equals(const Worked& x, const Worked& y);

/// How each entry of a tensor comes about.
using WorkedOut = std::function<Worked(const Index& at)>;

/// A tensor by its id in the trace, for as long as the tensor lives.
template <std::size_t N>
struct Known {
  std::string id;
  const Tensor<N>& tensor;

  Worked operator()(const Index& at) const { return Worked({id, at}, tensor.element(at.begin(), at.end())); }
};

template <std::size_t N>
Known(std::string, const Tensor<N>&) -> Known<N>;

}  // namespace attn
