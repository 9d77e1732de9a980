#include "lessons/documents/mask_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "lessons/lesson.hpp"

namespace lessons {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

/// What the run calls the axis `name`, which stands `from_last` places before the mask's last one.
std::string axis_of(const formula::View& mask, const formula::Sheet& sheet, const std::string& name,
                    std::size_t from_last) {
  return sheet.has_axis(name) ? name : mask.axes.at(mask.axes.size() - 1 - from_last);
}

}  // namespace

formula::View number_alone(double number) {
  return formula::view_of({},
                          std::make_shared<const formula::Numbers>(formula::Numbers::shape_type{}, number));
}

MaskRules::MaskRules(const Workbench& bench, const formula::View& mask, const formula::Sheet& sheet)
    : query_(axis_of(mask, sheet, "query", 1)),
      key_(axis_of(mask, sheet, "key", 0)),
      queries_(sheet.size_of(query_)),
      keys_(sheet.size_of(key_)),
      samples_(sheet.has_axis("batch") ? sheet.size_of("batch") : 1),
      offset_(static_cast<double>(keys_) - static_cast<double>(queries_)),
      window_(bench.options.window ? static_cast<double>(*bench.options.window) : unbounded),
      real_(formula::Truths::from_shape({samples_, keys_})),
      allowed_(formula::Truths::from_shape({queries_, keys_})) {
  find_rule(mask);
  if (queries_ == 1) hides_future_ = bench.options.causal;  // the last query sees every key, causal or not
  for (std::size_t i = 0; i < queries_; ++i)
    for (std::size_t j = 0; j < keys_; ++j)
      allowed_(i, j) = !(hides_future_ && behind(i, j) < 0.0) && std::abs(behind(i, j)) <= window_;
  const auto& plan = bench.plan;
  add_keys_out_of_reach(plan.lesson->uses("source") ? plan.source : plan.sentence);
}

void MaskRules::add_to(Views& known) const {
  const bool pads = std::find(real_.begin(), real_.end(), false) != real_.end();
  known["hides_future"] = number_alone(hides_future_);
  known["hides_padding"] = number_alone(pads);
  known["reach"] = number_alone(window_);
  known["offset"] = number_alone(offset_);
  known["real"] = formula::view_of({"batch", key_}, std::make_shared<const formula::Truths>(real_));
  known["allowed"] = formula::view_of({query_, key_}, std::make_shared<const formula::Truths>(allowed_));
}

double MaskRules::behind(std::size_t i, std::size_t j) const {
  return static_cast<double>(i) + offset_ - static_cast<double>(j);
}

void MaskRules::find_rule(const formula::View& mask) {
  real_.fill(false);
  attn::Index at(mask.axes.size());
  for (std::size_t b = 0; b < samples_; ++b)
    for (std::size_t i = 0; i < queries_; ++i)
      for (std::size_t j = 0; j < keys_; ++j) {
        std::transform(mask.axes.begin(), mask.axes.end(), at.begin(), [&](const auto& axis) {
          return axis == "batch" ? b : axis == query_ ? i : j;
        });
        if (mask.at(at) == 0.0) continue;
        real_(b, j) = true;
        hides_future_ = hides_future_ && behind(i, j) >= 0.0;
        if (std::abs(behind(i, j)) > window_) window_ = unbounded;
      }
}

void MaskRules::add_keys_out_of_reach(const attn::TokenBatch& keys) {
  const auto lengths = keys.lengths();
  if (lengths.size() != samples_) return;
  for (std::size_t j = 0; j < keys_; ++j) {
    bool is_in_reach = false;
    for (std::size_t i = 0; i < queries_; ++i) is_in_reach = is_in_reach || allowed_(i, j);
    for (std::size_t b = 0; !is_in_reach && b < samples_; ++b) real_(b, j) = j < lengths[b];
  }
}

}  // namespace lessons
