/// Which ranks a causal mask leaves idle, with each order of blocks. Sources: Brandon et al. 2023, "Striped
/// Attention"; the context parallelism of Llama 3 for the zigzag.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attn/text/width.hpp"
#include "fast/ranks/ring.hpp"
#include "lessons/ring/ways.hpp"

namespace lessons {

namespace {

/// [rank][hop] pairs of one head and sentence.
using WorkByHop = std::vector<std::vector<std::uint64_t>>;

WorkByHop causal_work(attn::fast::Order order, std::size_t n, std::size_t ranks,
                      std::optional<std::size_t> window) {
  const attn::fast::RingProblem problem = {
      .sizes = {.n_q = n, .n_k = n}, .visible = {.causal = true, .window = window}, .order = order};
  WorkByHop work(ranks, std::vector<std::uint64_t>(ranks));
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t hop = 0; hop < ranks; ++hop)
      work[rank][hop] = attn::fast::ring_pairs(problem, ranks, rank, hop);
  return work;
}

/// What follows from the work of all ranks, if a hop takes as long as its slowest rank.
struct Balance {
  std::uint64_t least = 0, most = 0;  ///< pairs of a rank
  double idle = 0.0;                  ///< share of the ranks' time
};

Balance balance_of(const WorkByHop& work) {
  std::vector<std::uint64_t> of_rank(work.size(), 0);
  std::uint64_t done = 0, lasted = 0;
  for (std::size_t hop = 0; hop < work.size(); ++hop) {
    std::uint64_t slowest = 0;
    for (std::size_t rank = 0; rank < work.size(); ++rank) {
      of_rank[rank] += work[rank][hop];
      done += work[rank][hop];
      slowest = std::max(slowest, work[rank][hop]);
    }
    lasted += slowest * work.size();
  }
  const auto [least, most] = std::minmax_element(of_rank.begin(), of_rank.end());
  return {*least, *most, 1.0 - static_cast<double>(done) / static_cast<double>(lasted)};
}

/// "3 + 4 + 4 + 4,", and in the next line "time for 4 · 15 = 60 pairs; 36 are computed".
std::string words_on_idle(const WorkByHop& work) {
  std::vector<std::uint64_t> hops;
  std::uint64_t done = 0, lasted = 0;
  for (std::size_t hop = 0; hop < work.size(); ++hop) {
    hops.push_back(0);
    for (const auto& of_rank : work) {
      hops.back() = std::max(hops.back(), of_rank[hop]);
      done += of_rank[hop];
    }
    lasted += hops.back();
  }
  const auto sum = hops.size() > 8 ? fmt::format("{}", lasted) : fmt::format("{}", fmt::join(hops, " + "));
  return fmt::format("{},\n        time for {} · {} = {} pairs; {} are computed", sum, work.size(), lasted,
                     lasted * work.size(), done);
}

constexpr std::size_t label_columns = 8, widest_picture = 76;

/// The lines of one order's picture.
std::vector<std::string> picture_of(attn::fast::Order order, const WorkByHop& work, bool draws_work) {
  std::size_t digits = 1;
  for (const auto& hops : work)
    for (const auto pairs : hops) digits = std::max(digits, fmt::formatted_size("{}", pairs));
  std::vector<std::string> lines = {std::string(attn::fast::name_of(order))};
  if (draws_work) {
    std::string hops;
    for (std::size_t hop = 0; hop < work.size(); ++hop)
      hops += attn::pad_left(std::to_string(hop), digits) + ' ';
    lines.push_back(hops);
    for (const auto& of_rank : work) {
      std::string line;
      for (const auto pairs : of_rank)
        line += attn::pad_left(pairs == 0 ? "·" : std::to_string(pairs), digits) + ' ';
      lines.push_back(line);
    }
  }
  const auto balance = balance_of(work);
  lines.push_back(balance.least == balance.most ? std::to_string(balance.most)
                                                : fmt::format("{} to {}", balance.least, balance.most));
  lines.push_back(fmt::format("{:.0f} %", 100.0 * balance.idle));
  return lines;
}

std::size_t width_of(const std::vector<std::string>& lines) {
  std::size_t width = 0;
  for (const auto& line : lines) width = std::max(width, attn::display_width(line));
  return width;
}

std::string pictures_side_by_side(const std::vector<WorkByHop>& work, bool draws_work) {
  std::vector<std::string> labels = {""};
  if (draws_work) {
    labels.push_back("hop");
    for (const auto& name : numbered("rank", work.front().size())) labels.push_back(name);
  }
  labels.insert(labels.end(), {"pairs", "idle"});
  std::vector<std::string> lines;
  for (const auto& label : labels) lines.push_back(attn::pad_right(label, label_columns));
  for (std::size_t i = 0; i < work.size(); ++i) {
    const auto picture = picture_of(attn::fast::all_orders()[i], work[i], draws_work);
    const auto width = width_of(picture) + 3;
    for (std::size_t line = 0; line < lines.size(); ++line)
      lines[line] += attn::pad_right(picture[line], width);
  }
  if (draws_work && width_of(lines) > widest_picture) return pictures_side_by_side(work, false);
  std::string text;
  for (auto& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

}  // namespace

void show_orders(Workbench& bench, const RingInputs& in, const Ranks& ranks) {
  if (bench.is_mute()) return;
  const auto window = bench.options.causal ? bench.options.window : std::nullopt;
  std::vector<WorkByHop> work;
  for (const auto order : attn::fast::all_orders())
    work.push_back(causal_work(order, in.n(), ranks.count(), window));
  bench.trace.note(
      "orders", "Which ranks a causal mask leaves idle",
      fmt::format(
          "{3} A number is how many pairs a rank computes at a hop; · is none: it waits. Contiguous, a rank "
          "has tokens side by side, and the queries of the first ones see hardly any key. Striped (one token "
          "of every {0}) and zigzag (a part from either end: rank 0 has parts 0 and {1} of {2}) give each "
          "rank early and late tokens.",
          ranks.count(), 2 * ranks.count() - 1, 2 * ranks.count(),
          bench.options.causal
              ? fmt::format("As in this run{}, in one head of a sentence of {} tokens.",
                            window ? " with its window" : "", in.n())
              : fmt::format("This run is not causal; with --causal, {} tokens would take this.", in.n())),
      pictures_side_by_side(work, true) +
          fmt::format("\n\npairs   of the rank with the fewest and with the most\n"
                      "idle    share of time that ranks wait, if a hop lasts as long as its\n"
                      "        slowest rank. Contiguous, the hops last {}",
                      words_on_idle(work.front())));
}

}  // namespace lessons
