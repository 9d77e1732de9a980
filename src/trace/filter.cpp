#include "trace/filter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "attn/error.hpp"

namespace attn {

namespace {

/// Whether an id is the selected one or belongs to the selected group.
bool selects(std::string_view selection, std::string_view id) {
  return selection.ends_with('/') ? id.starts_with(selection) : id == selection;
}

}  // namespace

bool is_selected(std::string_view id, const std::vector<std::string>& wanted) {
  return wanted.empty() || any_of(wanted, [&](const auto& selection) { return selects(selection, id); });
}

std::vector<std::string> ids_like(std::string_view last_part, const std::vector<std::string>& ids) {
  std::vector<std::string> like;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(like),
               [&](const auto& id) { return id.ends_with(fmt::format("/{}", last_part)); });
  return like.empty() ? ids : like;
}

Filter::Filter(Sink& next, std::vector<std::string> wanted, bool shapes_only, Always always)
    : next_(next), wanted_(std::move(wanted)), shapes_only_(shapes_only), always_(always) {}

void Filter::receive(const Event& event) {
  if (wanted_.empty() && !shapes_only_) return next_.receive(event);
  if (event.tensor) seen_.push_back(event.id);
  const bool is_always_there = always_ == Always::all_but_steps && event.kind != Kind::step;
  if (!is_always_there && !(event.tensor && is_selected(event.id, wanted_))) return;
  if (!shapes_only_) return next_.receive(event);
  Event outline = event;
  outline.tensor->data = nullptr;
  next_.receive(outline);
}

void Filter::require_all_seen() const {
  for (const auto& selection : wanted_)
    if (!any_of(seen_, [&](const auto& id) { return selects(selection, id); }))
      refuse_selection(selection, seen_);
}

void refuse_selection(const std::string& selection, const std::vector<std::string>& ids) {
  throw Error(fmt::format("--steps {0}: this lesson has no step {0}; valid: {1}", selection,
                          fmt::join(ids_like(selection, ids), ", ")));
}

}  // namespace attn
