#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/event.hpp"

namespace lab {

/// Keeps the names along the axes of every tensor of a run, the batch axis included, by id.
class LabelKeeper : public attn::Sink {
 public:
  explicit LabelKeeper(bool is_batched) : is_batched_(is_batched) {}

  void receive(const attn::Event& event) override {
    if (!event.tensor) return;
    auto labels = event.labels;
    if (!is_batched_) labels.insert(labels.begin(), attn::AxisLabels{});
    by_id[event.id] = std::move(labels);
  }

  std::map<std::string, std::vector<attn::AxisLabels>> by_id;

 private:
  bool is_batched_;
};

}  // namespace lab
