/// Both ways in NumPy, and their flow.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attn/ops/mask.hpp"
#include "attn/text/width.hpp"
#include "lessons/ring/ways.hpp"
#include "lessons/sdpa.hpp"

namespace lessons {

namespace {

/// The tokens of each of P ranks.
std::string blocks_code(attn::fast::Order order) {
  switch (order) {
    case attn::fast::Order::striped:
      return "[[*range(r, n, P)] for r in range(P)]";
    case attn::fast::Order::zigzag:
      return "[ends[r] + ends[-1 - r] for r in range(P)]";
    default:
      return "[[*range(r * n // P, (r + 1) * n // P)] for r in range(P)]";
  }
}

/// "Q[mine]", and with heads "Q[:, mine]".
std::string rows_in_code(const Workbench& bench, const std::string& name, const std::string& rows) {
  return fmt::format("{}[{}{}]", name, bench.options.heads ? ":, " : "", rows);
}

bool may_see_nothing(const RingInputs& in, const Ranks& ranks) {
  return in.mask || ranks.any_is_empty();
}

std::string samples_in_code(const RingInputs& in) {
  return in.samples() > 1 ? fmt::format(" * {}", in.samples()) : "";
}

std::vector<std::string> blocks_lines(const RingInputs& in, const Ranks& ranks) {
  std::vector<std::string> lines = {fmt::format("n, P = {}, {}", in.n(), ranks.count())};
  if (ranks.order() == attn::fast::Order::zigzag)
    lines.push_back("ends = [[*range(i * n // (2 * P), (i + 1) * n // (2 * P))] for i in range(2 * P)]");
  lines.push_back("blocks = " + blocks_code(ranks.order()));
  return lines;
}

}  // namespace

void show_ring_code(Workbench& bench, const RingInputs& in, const Ranks& ranks) {
  if (bench.is_mute()) return;
  const bool has_heads = bench.options.heads.has_value();
  bench.trace.within("blocks", [&] { bench.code(blocks_lines(in, ranks)); });

  const auto mine = [&](const char* name) { return rows_in_code(bench, name, "mine"); };
  const auto there = [&](const char* name) { return rows_in_code(bench, name, "there"); };
  const std::string shape = has_heads ? fmt::format("({}, n)", in.heads()) : "n";
  const std::string axis = has_heads ? "axis=-1" : "axis=1", column = has_heads ? "[..., None]" : "[:, None]";
  std::vector<std::string> lines = {
      "# n tokens, P ranks; blocks[r]: the tokens of rank r",
      fmt::format("m, l, o = np.full({0}, -np.inf), np.zeros({0}), np.zeros(V.shape)", shape),
      "for hop in range(P):",
      "    for r in range(P):                 # all ranks at the same time",
      "        mine = blocks[r]               # tokens whose queries stay here",
      "        there = blocks[(r - hop) % P]  # tokens whose keys and values came",
      fmt::format("        s = {} @ {}.{} / np.sqrt(Q.shape[{}])", mine("Q"), there("K"),
                  has_heads ? "swapaxes(1, 2)" : "T", has_heads ? "2" : "1")};
  if (in.mask) lines.push_back("        s = np.where(mask[np.ix_(mine, there)], s, -np.inf)");
  const std::string initial = ranks.any_is_empty() ? ", initial=-np.inf" : "";
  lines.push_back(fmt::format("        larger = np.maximum({}, s.max({}{}))", mine("m"), axis, initial));
  const bool is_careful = may_see_nothing(in, ranks);
  if (is_careful)
    lines.push_back("        base = np.where(larger == -np.inf, 0, larger)    # nothing seen yet");
  const std::string base = is_careful ? "base" : "larger";
  lines.push_back(fmt::format("        c = np.exp({} - {})", mine("m"), base));
  lines.push_back(fmt::format("        p = np.exp(s - {}{})", base, column));
  lines.push_back(fmt::format("        {0} = c * {0} + p.sum({1})", mine("l"), axis));
  lines.push_back(fmt::format("        {0} = c{1} * {0} + p @ {2}", mine("o"), column, there("V")));
  lines.push_back(fmt::format("        {} = larger", mine("m")));
  lines.push_back("        keep(hop, r, s, c)             # for the tables of this page");
  const bool sees_nothing = in.mask && attn::has_empty_row(*in.mask);
  lines.push_back(fmt::format(
      "output = {}", sees_nothing ? fmt::format("np.nan_to_num(o / np.where(l == 0, 1, l){})", column)
                                  : fmt::format("o / l{}", column)));
  const std::string rows = has_heads ? fmt::format("({}, n, n)", in.heads()) : "(n, n)";
  bench.trace.within("note", [&] {
    bench.code(
        {"history, work = [], np.zeros((P, P), int)", "def keep(hop, r, s, c):", "    if r == 0:",
         fmt::format("        history.append({{\"scores\": np.full({}, -np.inf), \"c\": np.zeros({})}})",
                     rows, shape),
         "    tile = np.ix_(blocks[r], blocks[r - hop])", "    history[hop][\"scores\"][(..., *tile)] = s",
         "    history[hop][\"c\"][..., blocks[r]] = c",
         "    history[hop].update(m=m.copy(), l=l.copy(), o=o.copy())",
         "    work[r, hop] = np.isfinite(s).sum()"});
  });
  bench.code(lines);
  bench.trace.within("names", [&] {
    bench.code({"holds = [[(r - hop) % P for hop in range(P)] for r in range(P)]",
                fmt::format("bytes = [(n - len(blocks[(r + 1) % P])) * {} * {}{}{} for r in range(P)]",
                            in.d_k() + in.d_v(), ranks.item_size(),
                            in.heads() > 1 ? fmt::format(" * {}", in.heads()) : "", samples_in_code(in)),
                "for hop, named in enumerate(history):",
                "    globals().update({f\"hop_{hop}_{name}\": x for name, x in named.items()})"});
  });
}

void show_heads_code(Workbench& bench, const RingInputs& in, const Ranks& ranks) {
  if (bench.is_mute()) return;
  auto before = blocks_lines(in, ranks);
  before.insert(before.begin(), "");
  const auto softmax = softmax_code();
  before.insert(before.begin(), softmax.begin(), softmax.end());
  bench.trace.within("blocks", [&] { bench.code(before); });
  const auto mine = in.heads() / ranks.count();
  std::vector<std::string> lines = {
      fmt::format("some = [slice(r * {0}, (r + 1) * {0}) for r in range(P)]    # heads of a rank", mine),
      "ranks = []", "for r in range(P):      # each on a machine of its own, after the exchange",
      "    q, k, v = Q[some[r]], K[some[r]], V[some[r]]",
      "    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])"};
  if (in.mask) lines.push_back("    scores = np.where(mask, scores, -np.inf)");
  const bool sees_nothing = in.mask && attn::has_empty_row(*in.mask);
  lines.push_back(sees_nothing ? "    weights = np.nan_to_num(softmax(scores))"
                               : "    weights = softmax(scores)");
  lines.insert(lines.end(), {"    heads = weights @ v",
                             "    ranks.append({\"Q\": q, \"K\": k, \"V\": v, \"scores\": scores,",
                             "                  \"weights\": weights, \"heads\": heads})",
                             "output = np.concatenate([rank[\"heads\"] for rank in ranks])"});
  bench.code(lines);
  const std::string pairs = in.mask ? "mask.sum()" : "n * n";
  bench.trace.within("names", [&] {
    bench.code({fmt::format("work = [{} * {}] * P", mine, pairs),
                fmt::format("bytes = [(len(b) * {} * {} + (n - len(b)) * {} * {}) * {}{} for b in blocks]",
                            in.heads() - mine, 2 * in.d_k() + in.d_v(), mine, in.d_v(), ranks.item_size(),
                            samples_in_code(in)),
                "for r, named in enumerate(ranks):",
                "    globals().update({f\"rank_{r}_{name}\": x for name, x in named.items()})"});
  });
}

namespace {

/// "2" or "2 to 3": the tokens of a rank.
std::string tokens_of_a_rank(const Ranks& ranks) {
  std::size_t least = ranks.positions(0).size(), most = least;
  for (const auto& tokens : ranks.positions()) {
    least = std::min(least, tokens.size());
    most = std::max(most, tokens.size());
  }
  return least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
}

/// "rank 0 → rank 1 → rank 2 → rank 3", all of them or the ends.
std::string way_round(std::size_t ranks) {
  constexpr std::size_t most = 5;
  auto names = numbered("rank", ranks);
  if (ranks > most) names = {names[0], names[1], "…", names.back()};
  return fmt::format("{}", fmt::join(names, " ── K, V ─→ "));
}

std::string repeated(const char* mark, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += mark;
  return text;
}

}  // namespace

std::vector<std::string> ring_flow(const RingInputs& in, const Ranks& ranks) {
  const auto tokens = tokens_of_a_rank(ranks);
  const auto way = way_round(ranks.count());
  std::vector<std::string> lines = {way};
  if (ranks.count() > 1) {
    const std::size_t inside = attn::display_width(way) - 6;
    lines.push_back("  ↑" + repeated(" ", inside) + "│");
    lines.push_back("  └" + repeated("─", inside) + "┘");
  }
  const bool is_even = tokens.find(' ') == std::string::npos;
  const auto rows = is_even ? tokens : "t";
  lines.push_back(fmt::format("one rank, of {}{} tokens, at one hop:", is_even ? "" : "t = ", tokens));
  lines.push_back(fmt::format("  Q [{0}×{1}] stays ┐", rows, in.d_k()));
  const auto margin = std::string(attn::display_width(lines.back()) - 1, ' ');
  lines.push_back(margin +
                  fmt::format("├ scores [{0}×{0}] → new m, l, o   at last: o / l [{0}×{1}]", rows, in.d_v()));
  lines.push_back(attn::pad_right("  K, V arrive", margin.size()) + "┘");
  return lines;
}

std::vector<std::string> heads_flow(const RingInputs& in, const Ranks& ranks) {
  const auto tokens = tokens_of_a_rank(ranks);
  const auto mine = in.heads() / ranks.count();
  return {fmt::format("a rank has      {} of {} tokens, all {} heads of Q, K, V", tokens, in.n(), in.heads()),
          "                │ all-to-all: every rank sends to every other",
          fmt::format("it attends      all {} tokens, {} of {} heads: scores → weights → heads", in.n(), mine,
                      in.heads()),
          "                │ all-to-all back",
          fmt::format("it has again    {} of {} tokens, all {} heads of output", tokens, in.n(), in.heads())};
}

}  // namespace lessons
