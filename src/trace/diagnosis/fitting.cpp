#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/layout.hpp"
#include "trace/diagnosis/replay.hpp"
#include "trace/event.hpp"

namespace attn {

namespace {

using Ids = std::vector<std::string>;

/// Brings the tensors of a dump to their shapes.
class Fitting {
 public:
  Fitting(Dump& dump, const std::vector<ExpectedTensor>& expected, MaskTrue mask_true)
      : dump_(dump),
        expected_(expected),
        mask_true_(meaning_of_true(dump, mask_true)),
        own_mask_true_(mask_true == MaskTrue::by_name ? MaskTrue::seen : mask_true) {}

  void take(const NamedTensor& tensor, const ExpectedTensor& tensor_expected, const std::string& sentence) {
    dump_.assume(sentence);
    dump_.as_named.insert_or_assign(tensor_expected.id, tensor);
    replace(dump_.tensors.insert_or_assign(tensor_expected.id, tensor.tensor).first->second, tensor_expected);
  }

  void fit_all() {
    for (auto& [id, tensor] : dump_.tensors)
      if (const auto* const tensor_expected = find(id)) replace(tensor, *tensor_expected);
    for (const auto& tensor_expected : expected_) combine_masks(tensor_expected);
    decide();
    set_arithmetic();
  }

 private:
  static MaskTrue meaning_of_true(const Dump& dump, MaskTrue asked) {
    if (asked != MaskTrue::by_name) return asked;
    const auto is_of_torch = [&](const NamedTensor& tensor) {
      return is_named_as_in_torch(tensor.name, dump.has_module_of_torch);
    };
    const bool has_one = any_of(dump.undecided, is_of_torch) ||
                         any_of(dump.as_named, [&](const auto& named) { return is_of_torch(named.second); });
    return has_one ? MaskTrue::hidden : MaskTrue::seen;
  }

  const ExpectedTensor* find(const std::string& id) const { return find_by_id(expected_, id); }

  void replace(AnyTensor& tensor, const ExpectedTensor& tensor_expected) {
    const auto* const source = value_in(dump_.as_named, tensor_expected.id);
    auto fitted = source == nullptr ? fit_one(tensor, "", {}, tensor_expected)
                                    : fit_one(tensor, source->name, source->axes, tensor_expected);
    if (!fitted) fitted = with_batch_axis(tensor, tensor_expected);
    if (!fitted) return;
    dump_.assume(fitted->assumption);
    tensor = std::move(fitted->tensor);
  }

  std::optional<Fitted> fit_one(const AnyTensor& tensor, const std::string& name, const Ids& axes,
                                const ExpectedTensor& tensor_expected) const {
    if (tensor_expected.dtype == Dtype::boolean)
      return as_mask(tensor, name, tensor_expected, name == tensor_expected.id ? own_mask_true_ : mask_true_);
    return laid_out(in_kind_of(tensor, tensor_expected.dtype), axes, tensor_expected);
  }

  /// Several masks that are one in the lesson.
  void combine_masks(const ExpectedTensor& tensor_expected) {
    std::optional<AnyTensor> combined;
    Ids names, not_read;
    std::erase_if(dump_.undecided, [&](const NamedTensor& mask) {
      if (mask.ids != Ids{tensor_expected.id}) return false;
      names.push_back(mask.name);
      const auto fitted = fit_one(mask.tensor, mask.name, mask.axes, tensor_expected);
      if (!fitted) not_read.push_back(mask.name);
      if (fitted) combined = combined ? hidden_by_either(*combined, fitted->tensor) : fitted->tensor;
      return true;
    });
    if (names.empty()) return;
    if (!not_read.empty()) {
      for (const auto& name : names)
        dump_.leave_out(name, fmt::format("{} are left out: {} is no mask of [{}].", listed(names, "and"),
                                          not_read[0], fmt::join(tensor_expected.axes, "×")));
      return;
    }
    dump_.assume(fmt::format("{} together are taken for {}.", listed(names, "and"), tensor_expected.id));
    dump_.tensors.insert_or_assign(tensor_expected.id, std::move(*combined));
  }

  /// The ids that an undecided tensor has the shape of: exactly, or after it was laid out.
  Ids ids_that_fit(const NamedTensor& tensor) const {
    Ids same, possible;
    for (const auto& id : tensor.ids) {
      const auto* const tensor_expected = find(id);
      if (tensor_expected == nullptr || dump_.tensors.contains(id)) continue;
      if (tensor.tensor.shape() == tensor_expected->shape) same.push_back(id);
      if (fit_one(tensor.tensor, tensor.name, tensor.axes, *tensor_expected)) possible.push_back(id);
    }
    return same.empty() ? possible : same;
  }

  void decide() {
    std::vector<Ids> fitting;
    for (const auto& tensor : dump_.undecided) fitting.push_back(ids_that_fit(tensor));
    const auto undecided = std::exchange(dump_.undecided, {});
    for (std::size_t i = 0; i < undecided.size(); ++i) {
      const auto& name = undecided[i].name;
      const auto is_step = [&](const auto& id) { return find(id)->kind == Kind::step; };
      if (fitting[i].size() > 1 && all_of(fitting[i], is_step)) {
        dump_.undecided.push_back(undecided[i]);
        dump_.undecided.back().ids = fitting[i];
        continue;
      }
      if (fitting[i].size() != 1 || std::count(fitting.begin(), fitting.end(), fitting[i]) > 1) {
        dump_.leave_out(name, why_undecided(undecided[i], fitting[i]));
        continue;
      }
      const auto& id = fitting[i][0];
      take(undecided[i], *find(id), fmt::format("{} is taken for {}, whose shape it has.", name, id));
    }
  }

  static std::string why_undecided(const NamedTensor& tensor, const Ids& fitting) {
    const auto shape = to_string(tensor.tensor.shape());
    if (fitting.empty())
      return fmt::format("{} [{}] has the shape of none of {}.", tensor.name, shape,
                         listed(tensor.ids, "and"));
    return fmt::format("{} [{}] could be {}; save it under the name that it is.", tensor.name, shape,
                       listed(fitting.size() > 1 ? fitting : tensor.ids, "or"));
  }

  void set_arithmetic() {
    std::vector<const AnyTensor*> steps;
    for (const auto& [id, tensor] : dump_.tensors)
      if (const auto* const one = find(id);
          one != nullptr && one->kind == Kind::step && is_floating(one->dtype))
        steps.push_back(&tensor);
    if (steps.empty()) return;
    dump_.arithmetic = arithmetic_of(steps);
    dump_.decimals = decimals_of(steps);
  }

  Dump& dump_;
  const std::vector<ExpectedTensor>& expected_;
  MaskTrue mask_true_;
  MaskTrue own_mask_true_;  ///< in a mask under the lesson's own name
};

/// The dump with an undecided tensor taken for one of the steps that it could be.
struct Trial {
  std::string id;
  Dump dump;
};

std::vector<Trial> trials_of(const NamedTensor& tensor, const Dump& dump,
                             const std::vector<ExpectedTensor>& expected) {
  std::vector<Trial> trials;
  for (const auto& id : tensor.ids) {
    const auto* const one = find_by_id(expected, id);
    if (one == nullptr || dump.tensors.contains(id)) continue;
    trials.push_back({id, dump});
    Fitting(trials.back().dump, expected, MaskTrue::by_name)
        .take(tensor, *one,
              fmt::format("{} could be {} and is taken for {}.", tensor.name, listed(tensor.ids, "or"), id));
  }
  return trials;
}

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

AnyTensor divided(const AnyTensor& given, double by) {
  AnyTensor result(Dtype::float64, given.shape());
  for (std::size_t i = 0; i < element_count(given.shape()); ++i)
    result.elements<double>()[i] = given.view().at(i) / by;
  return result;
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
  std::iota(rest.begin(), rest.end(), std::size_t{0});
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
      : dump_(dump), expected_(expected), rerun_(rerun), conventions_(conventions) {
    const auto suspects = differing_steps(dump, rerun, conventions, {}, false);
    if (suspects.empty()) return;
    for (auto& step : Replay(rerun).predict(everywhere(conventions)))
      right_.emplace(step.id, std::move(step));
    const auto may_be_another = [&](const ExpectedTensor& one) {
      return one.kind == Kind::step && suspects.count(one.id) > 0 && !others_of(one).empty();
    };
    if (any_of(expected, may_be_another)) differing_ = differing_steps(dump, rerun, conventions);
  }

  void settle_all() {
    for (const auto& one : expected_) {
      if (one.kind != Kind::step || differing_.count(one.id) == 0) continue;
      for (auto& other : others_of(one))
        if (leaves_fewer(one, std::move(other))) break;
    }
  }

 private:
  std::vector<Reexpressed> others_of(const ExpectedTensor& one) const {
    auto layouts = other_orders(dump_.tensors.at(one.id), one);
    if (const auto* const given = value_in(dump_.as_named, one.id))
      if (auto folded = with_heads_before_samples(given->tensor, one)) layouts.push_back(std::move(*folded));
    std::vector<Reexpressed> all;
    for (auto& [tensor, assumption] : layouts) all.push_back({{{one.id, tensor}}, assumption, false});
    if (is_floating(one.dtype) && !one.shape.empty() && dump_.tensors.at(one.id).shape() == one.shape)
      for (auto& form : forms(one.id)) all.push_back(std::move(form));
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
    const auto* const theirs = value_in(dump_.tensors, id);
    const auto* const right = value_in(right_, id);
    return theirs != nullptr && right != nullptr && theirs->shape() == right->shape ? theirs : nullptr;
  }

  /// Scores, scaled or not, that a program has masked in place before it saved them.
  std::optional<Reexpressed> masked_in_place(const std::string& id) const {
    constexpr double largest_fill = -1000.0;
    const auto name = last_of_path(id);
    const auto* const hidden = value_in(right_, group_of(id) + "masked");
    auto unmasked = dump_.tensors.at(id);
    if ((name != "scores" && name != "scaled") || hidden == nullptr || hidden->shape != unmasked.shape())
      return std::nullopt;
    const auto steps = Replay(rerun_, dump_.tensors).predict(everywhere(conventions_));
    const auto* const step = find_by_id(steps, id);
    bool has_fill = false;
    for (std::size_t i = 0; i < step->reference.size(); ++i) {
      if (hidden->expected[i] != -std::numeric_limits<double>::infinity() ||
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
    if (const auto* const scaled = value_in(right_, group_of(id) + "scaled"))
      factors.push_back(std::numbers::log2e * factor_between(scaled->tensor(), right_.at(id).expected));
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
      for (const auto& each : all)
        if (!each.is_form)
          dump_.assume(each.sentence);
        else
          for (const auto& [id, tensor] : each.tensors) dump_.forms[id] = each.sentence;
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

void fit(Dump& dump, const std::vector<ExpectedTensor>& expected, MaskTrue mask_true) {
  Fitting(dump, expected, mask_true).fit_all();
}

void settle_names(Dump& dump, const std::vector<ExpectedTensor>& expected, const Rerun& rerun,
                  const std::set<std::string>& conventions, bool by_mistakes) {
  const auto is_right = [&](const Trial& trial) {
    return differing_steps(trial.dump, rerun, conventions, {trial.id}).empty();
  };
  const auto has_one_mistake = [&](const Trial& trial) {
    const auto steps = diagnose(trial.dump, rerun, conventions).steps;
    const auto* const step = find_by_id(steps, trial.id);
    return !step->mistakes.empty() && !step->made_together;
  };
  for (const auto& tensor : std::exchange(dump.undecided, {})) {
    auto trials = trials_of(tensor, dump, expected);
    if (trials.empty()) {
      dump.leave_out(tensor.name);
      continue;
    }
    auto best = std::find_if(trials.begin(), trials.end(), is_right);
    if (best == trials.end() && by_mistakes)
      best = std::find_if(trials.begin(), trials.end(), has_one_mistake);
    if (best == trials.end()) best = trials.begin();
    dump = std::move(best->dump);
  }
}

void settle_arithmetic(Dump& dump, const Rerun& rerun, const std::set<std::string>& conventions) {
  if (dump.decimals || dump.arithmetic == Dtype::float16 || dump.arithmetic == Dtype::bfloat16) return;
  for (const auto& step : Replay(rerun, dump.tensors).predict(everywhere(conventions)))
    if (const auto* const theirs = value_in(dump.tensors, step.id))
      if (const auto half = half_precision_of(*theirs, step.reference)) {
        dump.arithmetic = *half;
        return;
      }
}

void settle_forms(Dump& dump, const std::vector<ExpectedTensor>& expected, const Rerun& rerun,
                  const std::set<std::string>& conventions) {
  Settling(dump, expected, rerun, conventions).settle_all();
}

}  // namespace attn
