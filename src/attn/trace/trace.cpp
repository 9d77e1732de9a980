#include "attn/trace/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace attn {

namespace {

bool is_valid_id(const std::string& id) {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("_./=-").find(c) != std::string_view::npos;
  };
  return !id.empty() && std::all_of(id.begin(), id.end(), allowed);
}

}  // namespace

bool Limit::holds(double value) const {
  switch (comparison) {
    case Comparison::at_most:
      return value <= bound;
    case Comparison::equal:
      return value == bound;
    case Comparison::at_least:
      return value >= bound;
  }
  return false;
}

Limit at_most(double bound) {
  return {Limit::Comparison::at_most, bound};
}

Limit exactly(double bound) {
  return {Limit::Comparison::equal, bound};
}

Limit at_least(double bound) {
  return {Limit::Comparison::at_least, bound};
}

std::string to_string(const Limit& limit) {
  const char* operators[] = {"<=", "==", ">="};
  return fmt::format("{} {}", operators[static_cast<int>(limit.comparison)], limit.bound);
}

std::string_view name_of(Kind kind) {
  const std::string_view names[] = {"note", "input", "step", "claim", "mistake"};
  return names[static_cast<int>(kind)];
}

void Trace::label(const std::string& axis, AxisLabels labels) {
  labels_[axis] = std::move(labels);
}

void Trace::note(const std::string& id, const std::string& title, const std::string& text,
                 const std::string& formula) {
  send({.kind = Kind::note, .id = id, .title = title, .formula = formula, .note = text});
}

void Trace::claim(const Claim& claim) {
  Event event{.kind = Kind::claim,
              .id = claim.id,
              .title = claim.claim,
              .formula = claim.formula,
              .note = claim.note};
  event.measurement = Measurement{claim.claim, claim.value, claim.limit};
  all_claims_hold_ = all_claims_hold_ && event.measurement->holds();
  send(event);
}

std::string Trace::find(const std::string& name) const {
  for (auto group = prefix_; !group.empty(); group.erase(group.find_last_of('/', group.size() - 2) + 1))
    if (ids_.count(group + name) > 0) return group + name;
  return name;
}

void Trace::emit(Kind kind, const About& about, TensorView tensor) {
  Event event{.kind = kind,
              .id = about.id,
              .title = about.title,
              .formula = about.formula,
              .note = about.note,
              .axes = about.axes,
              .distribution = about.distribution,
              .curve = about.curve};
  for (const auto& name : about.from) event.inputs.push_back(find(name));
  const bool has_batch = tensor.shape.size() == about.axes.size() + 1;
  if (!has_batch && tensor.shape.size() != about.axes.size())
    throw std::logic_error(fmt::format("[trace] {} has rank {} but {} axes are named", about.id,
                                       tensor.shape.size(), about.axes.size()));
  const bool shows_batch = has_batch && batched_;
  if (has_batch && !batched_) tensor.shape.erase(tensor.shape.begin());
  if (shows_batch) event.axes.insert(event.axes.begin(), "batch");

  for (const auto& axis : event.axes) {
    const auto found = labels_.find(axis);
    const bool shown = found != labels_.end() && (shows_batch || !found->second.per_sample());
    event.labels.push_back(shown ? found->second : AxisLabels{});
  }
  event.tensor = std::move(tensor);
  send(event);
}

void Trace::send(Event event) {
  event.id = prefix_ + event.id;
  if (!is_valid_id(event.id)) throw std::logic_error(fmt::format("[trace] \"{}\" is no valid id", event.id));
  if (!ids_.insert(event.id).second)
    throw std::logic_error(fmt::format("[trace] id {} is used twice", event.id));
  sink_.receive(event);
}

}  // namespace attn
