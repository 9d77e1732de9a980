#include "trace/diagnosis/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/layout.hpp"
#include "trace/event.hpp"

namespace attn {

namespace {

/// Tensors as the lesson may have them, by id, and what was done.
struct Reexpressed {
  Tensors tensors;
  std::string sentence;
  bool is_form = true;  ///< rather than a layout
};

/// "rope/K_rotated" for "rope/Q_rotated": the keys that belong to queries. None for other steps.
std::optional<std::string> keys_of(std::string id) {
  auto& letter = id[group_of(id).size()];
  if (letter != 'Q') return std::nullopt;
  letter = 'K';
  return id;
}

template <class F>
AnyTensor each(const AnyTensor& given, F f) {
  AnyTensor result(Dtype::float64, given.shape());
  for (std::size_t i = 0; i < element_count(given.shape()); ++i)
    result.elements<double>()[i] = f(given.view().at(i));
  return result;
}

AnyTensor divided(const AnyTensor& given, double by) {
  return each(given, [by](double x) { return x / by; });
}

AnyTensor with_columns(const AnyTensor& given, const std::vector<std::size_t>& order) {
  AnyTensor result(Dtype::float64, given.shape());
  const auto width = order.size();
  for (std::size_t i = 0; i < element_count(given.shape()); ++i)
    result.elements<double>()[i] = given.view().at(i / width * width + order[i % width]);
  return result;
}

/// For each column of `right` the column of `theirs` that is most like it; each is taken once.
std::vector<std::size_t> likest_columns(const AnyTensor& theirs, const std::vector<double>& right) {
  const auto width = theirs.shape().back();
  std::vector<std::size_t> order, rest(width);
  for (std::size_t column = 0; column < width; ++column) rest[column] = column;
  for (std::size_t column = 0; column < width; ++column) {
    const auto distance = [&](std::size_t other) {
      double sum = 0.0;
      for (std::size_t row = 0; row < right.size(); row += width)
        sum += std::abs(theirs.view().at(row + other) - right[row + column]);
      return sum;
    };
    const auto best = std::min_element(
        rest.begin(), rest.end(), [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
    order.push_back(*best);
    rest.erase(best);
  }
  return order;
}

/// By how much `theirs` is larger where `right` is largest.
double factor_between(const AnyTensor& theirs, const std::vector<double>& right) {
  std::size_t largest = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    if (std::isfinite(right[i]) && std::abs(right[i]) > std::abs(right[largest])) largest = i;
  return theirs.view().at(largest) / right[largest];
}

class Settling {
 public:
  Settling(Dump& dump, const std::vector<ExpectedTensor>& expected, const Rerun& rerun,
           const std::set<std::string>& conventions)
      : dump_(dump),
        expected_(expected),
        rerun_(rerun),
        conventions_(conventions),
        differing_(differing_steps(dump, rerun, conventions)) {
    if (differing_.empty()) return;
    for (auto& step : Replay(rerun).predict(everywhere(conventions)))
      right_.emplace(step.id, std::move(step));
  }

  void settle_all() {
    for (const auto& one : expected_)
      if (one.kind == Kind::step) settle(one);
  }

 private:
  void settle(const ExpectedTensor& one) {
    if (differing_.count(one.id) == 0) return;
    for (auto& other : others_of(one))
      if (leaves_fewer(one, std::move(other))) return;
  }

  std::vector<Reexpressed> others_of(const ExpectedTensor& one) const {
    auto all = layouts(one);
    if (is_floating(one.dtype) && !one.shape.empty() && dump_.tensors.at(one.id).shape() == one.shape)
      for (auto& form : forms(one.id)) all.push_back(std::move(form));
    return all;
  }

  std::vector<Reexpressed> layouts(const ExpectedTensor& one) const {
    auto others = other_orders(dump_.tensors.at(one.id), one);
    if (const auto given = dump_.as_named.find(one.id); given != dump_.as_named.end())
      if (auto folded = with_heads_before_samples(given->second.tensor, one))
        others.push_back(std::move(*folded));
    std::vector<Reexpressed> all;
    for (auto& other : others)
      all.push_back({{{one.id, std::move(other.tensor)}}, std::move(other.assumption), false});
    return all;
  }

  std::vector<Reexpressed> forms(const std::string& id) const {
    auto all = in_base_2(id);
    if (auto masked = masked_in_place(id)) all.push_back(std::move(*masked));
    const auto keys = keys_of(id);
    const auto* const K = keys ? in_its_shape(*keys) : nullptr;
    if (K == nullptr) return all;
    const auto& Q = dump_.tensors.at(id);
    const auto& right = right_.at(id).expected;
    if (Q.shape().back() == K->shape().back()) {
      const auto order = likest_columns(Q, right);
      all.push_back(
          {{{id, with_columns(Q, order)}, {*keys, with_columns(*K, order)}},
           fmt::format("The columns of your {} and {} are ours in another order, the same in both, so "
                       "that their products are the same.",
                       id, *keys)});
    }
    if (const double factor = factor_between(Q, right); std::isfinite(factor) && factor != 0.0)
      all.push_back(
          {{{id, divided(Q, factor)}, {*keys, divided(*K, 1.0 / factor)}},
           fmt::format("Your {} is {:.4g} times ours and your {} {:.4g} times, so that their products "
                       "are the same.",
                       id, factor, *keys, 1.0 / factor)});
    return all;
  }

  /// Somebody's tensor where it has the shape that it should have; otherwise null.
  const AnyTensor* in_its_shape(const std::string& id) const {
    const auto theirs = dump_.tensors.find(id);
    const auto right = right_.find(id);
    const bool is_there = theirs != dump_.tensors.end() && right != right_.end();
    return is_there && theirs->second.shape() == right->second.shape ? &theirs->second : nullptr;
  }

  /// Scores, scaled or not, that a program has masked in place before it saved them.
  std::optional<Reexpressed> masked_in_place(const std::string& id) const {
    constexpr double largest_fill = -1000.0;
    const auto name = last_of_path(id);
    const auto hidden = right_.find(group_of(id) + "masked");
    auto unmasked = dump_.tensors.at(id);
    if ((name != "scores" && name != "scaled") || hidden == right_.end() ||
        hidden->second.shape != unmasked.shape())
      return std::nullopt;
    const auto steps = Replay(rerun_, dump_.tensors).predict(everywhere(conventions_));
    const auto step = std::find_if(steps.begin(), steps.end(), [&](const auto& one) { return one.id == id; });
    bool has_fill = false;
    for (std::size_t i = 0; i < step->reference.size(); ++i) {
      if (hidden->second.expected[i] != -std::numeric_limits<double>::infinity() ||
          !(unmasked.view().at(i) <= largest_fill))
        continue;
      unmasked.elements<double>()[i] = step->reference[i];
      has_fill = true;
    }
    if (!has_fill) return std::nullopt;
    return Reexpressed{{{id, std::move(unmasked)}},
                       fmt::format("Your {} were saved after the mask, which put −∞ or a large negative "
                                   "number in the place of what is hidden. What is visible is right.",
                                   name == "scaled" ? id + " scores" : id)};
  }

  /// The scores, scaled or masked, that the softmax of 2^x needs, which may have taken the scale in.
  std::vector<Reexpressed> in_base_2(const std::string& id) const {
    const std::vector<std::string> names = {"scores", "scaled", "masked"};
    const auto first = std::find(names.begin(), names.end(), last_of_path(id));
    if (first == names.end()) return {};
    for (auto one = expected_.begin(); one->id != id; ++one)
      if (differing_.count(one->id) > 0) return {};  // √2, for one, is log₂ e in bfloat16
    std::vector<double> factors = {std::numbers::log2e};
    if (const auto scaled = right_.find(group_of(id) + "scaled"); scaled != right_.end())
      factors.push_back(std::numbers::log2e *
                        factor_between(scaled->second.tensor(), right_.at(id).expected));
    std::vector<Reexpressed> all;
    for (const double factor : factors) {
      Reexpressed alone{{{id, divided(dump_.tensors.at(id), factor)}},
                        "Your scores are in base 2, log₂ e times ours, for a softmax of 2^x."};
      auto together = alone;
      for (auto later = first + 1; later != names.end(); ++later)
        if (const auto* theirs = in_its_shape(group_of(id) + *later); theirs != nullptr)
          together.tensors.emplace(group_of(id) + *later, divided(*theirs, std::numbers::log2e));
      all.push_back(std::move(together));
      all.push_back(std::move(alone));
    }
    return all;
  }

  void exchange(Reexpressed& other) {
    for (auto& [id, tensor] : other.tensors) std::swap(dump_.tensors.at(id), tensor);
  }

  /// Puts the tensors into the dump, if they are right.
  bool is_right_with(Reexpressed& other) {
    std::set<std::string> ids;
    for (const auto& [id, tensor] : other.tensors) ids.insert(id);
    exchange(other);
    if (!differing_steps(dump_, rerun_, conventions_, ids).empty()) {
      exchange(other);
      return false;
    }
    differing_ = differing_steps(dump_, rerun_, conventions_);
    return true;
  }

  void note(const Reexpressed& other) {
    if (!other.is_form) dump_.assume(other.sentence);
    if (other.is_form)
      for (const auto& [id, tensor] : other.tensors) dump_.forms[id] = other.sentence;
  }

  /// Puts the tensors into the dump, with those of later steps that are right in another form then, if fewer
  /// steps differ.
  bool leaves_fewer(const ExpectedTensor& one, Reexpressed other) {
    const auto before = differing_;
    if (!is_right_with(other)) return false;
    std::vector<Reexpressed> all = {std::move(other)};
    for (auto later = expected_.begin() + (&one - expected_.data()) + 1;
         later != expected_.end() && differing_.size() >= before.size(); ++later)
      if (differing_.count(later->id) > 0)
        for (auto& next : others_of(*later))
          if (is_right_with(next)) {
            all.push_back(std::move(next));
            break;
          }
    if (differing_.size() < before.size()) {
      for (const auto& each : all) note(each);
      return true;
    }
    std::for_each(all.rbegin(), all.rend(), [&](auto& each) { exchange(each); });
    differing_ = before;
    return false;
  }

  Dump& dump_;
  const std::vector<ExpectedTensor>& expected_;
  const Rerun& rerun_;
  const std::set<std::string>& conventions_;
  std::set<std::string> differing_;
  std::map<std::string, Prediction> right_;  ///< from the inputs
};

}  // namespace

void settle_forms(Dump& dump, const std::vector<ExpectedTensor>& expected, const Rerun& rerun,
                  const std::set<std::string>& conventions) {
  Settling(dump, expected, rerun, conventions).settle_all();
}

}  // namespace attn
