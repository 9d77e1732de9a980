#include "lessons/backward/loss.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "attn/ops/measure.hpp"
#include "lessons/worked.hpp"

namespace lessons {

Tensor<3> draw_d_output(Workbench& bench) {
  return bench.input<3>(
      {.id = "d_output",
       .title = "How the loss changes with the output",
       .note = fmt::format("In training the loss supplies it, a row for each query. Here it is random{}, and "
                           "L = Σ output · d_output, for then ∂L/∂output is just d_output.",
                           bench.options.model ? "" : ", as X and the matrices are")});
}

void show_loss(Workbench& bench, const Tensor<3>& output, const Tensor<3>& d_output) {
  bench.trace.step(
      {.id = "L",
       .title = "A loss that has this gradient",
       .formula = "Σ output · d_output",
       .from = {"output", "d_output"},
       .note = "The simplest one. For any other loss with the same d_output all that follows is the same.",
       .worked = worked_of(2 * output.size(),
                           [&](const attn::Index&) {
                             const attn::Known<3> o = {"output", output}, d = {"d_output", d_output};
                             std::vector<attn::Worked> products;
                             for (std::size_t b = 0; b < output.shape(0); ++b)
                               for (std::size_t i = 0; i < output.shape(1); ++i)
                                 for (std::size_t c = 0; c < output.shape(2); ++c)
                                   products.push_back(attn::Worked::product({o({b, i, c}), d({b, i, c})}));
                             return attn::Worked::sum(std::move(products));
                           })},
      attn::sum_of_products(output, d_output));
}

double magnitude_of_loss(const Tensor<3>& output, const Tensor<3>& d_output) {
  double sum = 0.0;
  for (const double d : d_output) sum += std::abs(d);
  return attn::max_abs(output) * sum;
}

}  // namespace lessons
