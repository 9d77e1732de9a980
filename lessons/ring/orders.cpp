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
  std::uint64_t least = 0, most = 0;   ///< pairs of a rank
  std::vector<std::uint64_t> slowest;  ///< [hop] pairs of the rank that has most
  std::uint64_t done = 0, lasted = 0;  ///< pairs of all ranks, and of the slowest ranks of all hops

  double idle(std::size_t ranks) const {
    return 1.0 - static_cast<double>(done) / static_cast<double>(lasted * ranks);
  }
};

Balance balance_of(const WorkByHop& work) {
  Balance balance;
  std::vector<std::uint64_t> of_rank(work.size(), 0);
  for (std::size_t hop = 0; hop < work.size(); ++hop) {
    balance.slowest.push_back(0);
    for (std::size_t rank = 0; rank < work.size(); ++rank) {
      of_rank[rank] += work[rank][hop];
      balance.done += work[rank][hop];
      balance.slowest.back() = std::max(balance.slowest.back(), work[rank][hop]);
    }
    balance.lasted += balance.slowest.back();
  }
  const auto [least, most] = std::minmax_element(of_rank.begin(), of_rank.end());
  balance.least = *least;
  balance.most = *most;
  return balance;
}

std::string words_on_idle(const Balance& balance, std::size_t ranks) {
  const auto sum = balance.slowest.size() > 8
                       ? fmt::format("{}", balance.lasted)
                       : fmt::format("{} = {}", fmt::join(balance.slowest, " + "), balance.lasted);
  return fmt::format(
      "A hop lasts as long as its slowest rank: with contiguous blocks {1} pairs. In that time {0} ranks "
      "could compute {0} · {2} = {3} pairs, but they compute {4}. So 1 − {4} / {3} = {5:.0f} % of the time "
      "is idle.",
      ranks, sum, balance.lasted, balance.lasted * ranks, balance.done, 100.0 * balance.idle(ranks));
}

/// "0 4", "0 1 … 29"; "·" for none.
std::string listed(const std::vector<std::size_t>& tokens) {
  constexpr std::size_t most = 4;
  if (tokens.empty()) return "·";
  if (tokens.size() > most) return fmt::format("{} {} … {}", tokens[0], tokens[1], tokens.back());
  return fmt::format("{}", fmt::join(tokens, " "));
}

/// "rank 0: 0 4 | rank 1: 1 5": the tokens of each rank, those of the first ranks where there are many.
std::string tokens_of_ranks(attn::fast::Order order, std::size_t n, std::size_t ranks) {
  constexpr std::size_t widest = 60;
  std::string text;
  const auto blocks = attn::fast::blocks_of(order, n, ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto block = fmt::format("{}rank {}: {}", rank == 0 ? "" : " | ", rank, listed(blocks[rank]));
    if (text.size() + block.size() > widest) return text + (rank == 0 ? "…" : " | …");
    text += block;
  }
  return text;
}

std::string table_of_tokens(std::size_t n, std::size_t ranks) {
  std::string table;
  for (const auto order : attn::fast::all_orders())
    table += fmt::format("{:<12} {}\n", attn::fast::name_of(order), tokens_of_ranks(order, n, ranks));
  return table;
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
  if (!draws_work)
    lines.push_back(balance.least == balance.most ? std::to_string(balance.most)
                                                  : fmt::format("{} to {}", balance.least, balance.most));
  lines.push_back(fmt::format("{:.0f} %", 100.0 * balance.idle(work.size())));
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
  if (!draws_work) labels.push_back("pairs");
  labels.push_back("idle");
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
  if (bench.is_mute() || ranks.count() == 1) return;
  const auto window = bench.options.causal ? bench.options.window : std::nullopt;
  std::vector<WorkByHop> work;
  for (const auto order : attn::fast::all_orders())
    work.push_back(causal_work(order, in.n(), ranks.count(), window));
  bench.trace.note(
      "orders", "Which ranks a causal mask leaves idle",
      fmt::format(
          "With a causal mask a query sees its own key and those before it. So the first tokens have the "
          "least to compute. Striped and zigzag order give each rank early and late tokens. A number of the "
          "second table says how many pairs of a query and a key a rank computes at a hop{}; · is none.",
          bench.options.causal ? (window ? ", with the window of this run" : "") : ", with --causal"),
      table_of_tokens(in.n(), ranks.count()) + "\n" + pictures_side_by_side(work, true));
  bench.trace.note("idle", "Where the idle share comes from",
                   words_on_idle(balance_of(work.front()), ranks.count()));
}

}  // namespace lessons
