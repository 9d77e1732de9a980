#include "attn/train/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace attn {

WarmupSchedule warmup_schedule(std::int64_t step, std::int64_t d_model, std::int64_t warmup) {
  if (step < 0 || d_model < 1 || warmup < 1)
    throw std::invalid_argument(fmt::format(
        "[warmup_schedule] step is {}, d_model {}, warmup {}: a step is at least 0, the others are at "
        "least 1",
        step, d_model, warmup));
  const auto t = static_cast<double>(step), d = static_cast<double>(d_model), w = static_cast<double>(warmup);
  WarmupSchedule schedule;
  schedule.rising = t * std::pow(w, -1.5);
  schedule.falling = std::pow(t, -0.5);
  schedule.rate = std::pow(d, -0.5) * std::min(schedule.falling, schedule.rising);
  return schedule;
}

std::int64_t step_of_largest(const Integers<1>& steps, const Tensor<1>& rates) {
  if (steps.size() != rates.size() || steps.size() == 0)
    throw std::invalid_argument(
        fmt::format("[step_of_largest] there are {} steps and {} rates: there must be as many "
                    "rates as steps, and at least one",
                    steps.size(), rates.size()));
  return *(steps.begin() + (std::max_element(rates.begin(), rates.end()) - rates.begin()));
}


}  // namespace attn
