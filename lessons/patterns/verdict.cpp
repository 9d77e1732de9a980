#include "lessons/patterns/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lessons/patterns.hpp"

namespace lessons {

namespace {

/// As many heads are compared with the two ends, and named there.
constexpr std::size_t most_compared = 6;

/// A line for each head of each sample, as far as there is room.
std::string verdicts(const Workbench& bench, const Tensor<2>& entropy, const Tensor<2>& largest) {
  constexpr std::size_t most_lines = 16;
  auto lines = fmt::format("{:<19}{:>7}{:>11}{:>14}", "", "entropy", "at most", "keys in use");
  for (std::size_t i = 0; i < std::min(entropy.size(), most_lines); ++i) {
    std::string name = bench.plan.is_batched() ? fmt::format("sample {}  ", i / entropy.shape(1)) : "";
    if (bench.options.heads) name += fmt::format("head {}", i % entropy.shape(1));
    if (name.empty()) name = "weights";
    const double value = entropy.data()[i], most = largest.data()[i];
    lines += fmt::format("\n{:<19}{:>7.4f}{:>11.4f}{:>14.2f}   {}", name, value, most, std::exp(value),
                         word_for(spread_of(value, most)));
  }
  return entropy.size() > most_lines ? lines + fmt::format("\n… and {} more", entropy.size() - most_lines)
                                     : lines;
}

/// That sharp heads of a model that has learned its task are no failure.
std::string about_trained_heads(const Workbench& bench, const Tensor<2>& entropy, const Tensor<2>& largest) {
  const auto& options = bench.options;
  if (!is_as_trained(options) || options.causal) return "";
  std::size_t sharp = 0;
  for (std::size_t i = 0; i < entropy.size(); ++i)
    if (spread_of(entropy.data()[i], largest.data()[i]) == Spread::over_sparse) ++sharp;
  if (sharp == 0) return "";
  return fmt::format(
      " {} no failure: training for a task made {} so.",
      sharp == 1 ? "The sharp head here is" : fmt::format("The {} sharp heads here are", sharp),
      sharp == 1 ? "it" : "them");
}

/// A line for what is called `name`: the measures of one head of one sample.
std::string line_of_measures(const std::string& name, const Tensor<4>& weights,
                             const std::vector<std::size_t>& lengths, std::size_t i, double largest) {
  const double spread = entropy(weights, lengths).data()[i];
  return fmt::format("\n{:<19}{:>9.4f}{:>9.4f}{:>9.4f}{:>13.2f}   {}", name,
                     diagonal_share(weights, lengths).data()[i], neighbour_share(weights, lengths).data()[i],
                     spread, std::exp(spread), word_for(spread_of(spread, largest)));
}

}  // namespace

bool is_as_trained(const Options& options) {
  return options.model.has_value() && options.temperature == 1.0;
}

void compare_with_ends(Workbench& bench, const Tensor<4>& weights, const Tensor<4>& uniform,
                       const Tensor<4>& one_hot, const Tensor<2>& largest) {
  const auto lengths = bench.plan.sentence.lengths();
  const std::size_t heads = weights.shape(1), all_heads = weights.shape(0) * heads;
  auto table = fmt::format("{:<19}{:>9}{:>9}{:>9}{:>13}", "", "diagonal", "local", "entropy", "keys in use");
  const auto shown = std::min(all_heads, most_compared);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto sample = bench.plan.is_batched() ? fmt::format("sample {}  ", i / heads) : "";
    const auto head = bench.options.heads ? fmt::format("head {}", i % heads) : std::string("weights");
    const double most = largest.data()[i];
    table += line_of_measures(sample + head, weights, lengths, i, most);
    const bool ends_sample = (i + 1) % heads == 0 || i + 1 == shown;
    if (!ends_sample) continue;
    table += line_of_measures("equal shares", uniform, lengths, i, most);
    table += line_of_measures("one key each", one_hot, lengths, i, most);
  }
  if (all_heads > shown) table += fmt::format("\n… and {} more heads", all_heads - shown);
  const bool hides = std::find(uniform.begin(), uniform.end(), 0.0) != uniform.end();
  bench.trace.note("comparison", "Between two ends",
                   fmt::format("All attention lies between two ends: equal shares of all keys{}, or a single "
                               "key for each query. The single key here is the strongest one{}.",
                               hides ? " that the mask lets a query see" : "",
                               bench.options.heads ? fmt::format(" of head {}", (shown - 1) % heads) : ""),
                   table);
}

void judge(Workbench& bench, const Tensor<2>& entropy, const Tensor<2>& largest) {
  std::string limits = fmt::format(
      "uniform      less than {:g} below the largest entropy possible\n"
      "sharp        below {:g}; exp({:g}) ≈ {:.2f} keys in use\n"
      "selective    between the two",
      collapsed_within, over_sparse_below, over_sparse_below, std::exp(over_sparse_below));
  for (std::size_t i = 0; i < entropy.size(); ++i)
    if (spread_of(entropy.data()[i], largest.data()[i]) == Spread::undecided) {
      limits += "\nundecided    no query sees more than one key, or hardly one does";
      break;
    }
  bench.trace.note(
      "verdict", "What this attention is",
      "The entropy decides which of these names a head gets. The two limits are a choice of this lab." +
          about_trained_heads(bench, entropy, largest) +
          (is_as_trained(bench.options) ? " --all says where both failures come from."
                                        : " Lesson training explains loss, learning rate and dropout."),
      entropy.size() > most_compared ? limits + "\n\n" + verdicts(bench, entropy, largest) : limits);
  bench.trace.note("collapse", "Uniform: the scores are nearly equal", "",
                   "comes from   small parameters, equal tokens, or a high temperature\n"
                   "helps        larger parameters and a small learning rate at the start\n"
                   "no help      dropout: it sets some weights to 0, the rest stay equal");
  bench.trace.note("over-sparse", "Sharp: the scores are far apart", "",
                   "comes from   no division by √d_k, large parameters, or a low temperature\n"
                   "helps        the division, and weight decay: it pulls parameters to 0\n"
                   "a failure    if the loss stays high: softmax has almost no gradient there, and\n"
                   "             learning stops (over-sparse; entropy collapse, Zhai et al. 2023)");
}

}  // namespace lessons
