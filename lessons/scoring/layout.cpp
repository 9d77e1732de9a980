#include "lessons/scoring/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "attn/ops/matmul.hpp"
#include "attn/text/width.hpp"
#include "lessons/workbench/columns.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

bool has_hidden_layer(const Options& options) {
  return options.scoring == "additive" || options.scoring == "concat";
}

/// Texts of several lines beside each other.
std::string beside_each_other(const std::vector<std::string>& blocks) {
  std::vector<std::string> lines;
  std::size_t width = 0;
  for (const auto& block : blocks) {
    std::size_t i = 0;
    for (std::size_t start = 0; start <= block.size(); ++i) {
      const auto end = std::min(block.find('\n', start), block.size());
      if (i == lines.size()) lines.emplace_back();
      lines[i] = attn::pad_right(lines[i], width) + block.substr(start, end - start);
      start = end + 1;
    }
    for (const auto& line : lines) width = std::max(width, attn::display_width(line) + 5);
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// "1.5" of what was set by hand, else as tables have it.
std::string parameter(double value) {
  auto text = fmt::format("{:g}", value);
  return text.size() <= 4 ? text : fmt::format("{:.4f}", value);
}

/// W_q, W_k and v_a side by side, or below each other where there is no room.
std::string table_of_parameters(const ScoringInputs& in) {
  constexpr std::size_t room = 74;
  const auto rows_of = [](std::string name, const Tensor<2>& matrix) {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < matrix.shape(0); ++i) {
      rows.push_back({i == 0 ? name : ""});
      for (std::size_t j = 0; j < matrix.shape(1); ++j) rows.back().push_back(parameter(matrix(i, j)));
    }
    return in_columns(rows);
  };
  Tensor<2> v_a({1, in.v_a.size()});
  std::copy(in.v_a.begin(), in.v_a.end(), v_a.begin());
  const std::vector<std::string> blocks = {rows_of("W_q", in.W_q), rows_of("W_k", in.W_k),
                                           rows_of("v_a", v_a)};
  const auto text = beside_each_other(blocks);
  return attn::display_width(text.substr(0, text.find('\n'))) <= room
             ? text
             : fmt::format("{}", fmt::join(blocks, "\n"));
}

/// "W_q [3×3], W_k [3×3], v_a [3]"
std::string learned_shapes(const Workbench& bench) {
  const auto& function = bench.options.scoring;
  const auto d = bench.d_model(), d_a = *bench.options.d_a;
  if (function == "general") return fmt::format("W_a [{0}×{0}]", d);
  if (function == "additive") return fmt::format("W_q [{0}×{1}], W_k [{0}×{1}], v_a [{1}]", d, d_a);
  if (function == "concat") return fmt::format("W_c [{0}×{1}], v_a [{1}]", 2 * d, d_a);
  return "";
}

std::string what_a_word_more_of_each_would_do(const attn::Event&) {
  return "One more target word adds a row, one more source word a column.";
}

/// The hidden number that changes the scores of one query most from key to key, and these two keys.
struct Telling {
  std::size_t unit = 0, highest = 0, lowest = 0;
  double spread = -1.0;
};

/// The hidden numbers [key×d_a] of the query on the page and the keys of its sample, the first.
class HiddenOfQuery {
 public:
  HiddenOfQuery(const attn::Event& hidden, std::size_t query, std::size_t keys)
      : tensor_(*hidden.tensor), first_(query * tensor_.shape[tensor_.shape.size() - 2]), keys_(keys) {}

  std::size_t keys() const { return keys_; }
  std::size_t units() const { return tensor_.shape.back(); }
  double at(std::size_t key, std::size_t unit) const { return tensor_.at((first_ + key) * units() + unit); }

  /// Where number `unit` is largest and where it is smallest.
  Telling extremes_of(std::size_t unit) const {
    Telling found{.unit = unit};
    for (std::size_t key = 1; key < keys(); ++key) {
      if (at(key, unit) > at(found.highest, unit)) found.highest = key;
      if (at(key, unit) < at(found.lowest, unit)) found.lowest = key;
    }
    found.spread = at(found.highest, unit) - at(found.lowest, unit);
    return found;
  }

 private:
  const attn::TensorView& tensor_;
  std::size_t first_, keys_;
};

/// " Hidden 1 and 2 are near +1 for every key.": which of them, but for one, are the same for all keys or
/// nearly so.
std::string which_hardly_differ(const HiddenOfQuery& hidden, std::size_t telling) {
  constexpr double hardly = 0.1;
  constexpr std::size_t most = 4;
  std::vector<std::string> high, low, others;
  for (std::size_t unit = 0; unit < hidden.units(); ++unit) {
    const auto extremes = hidden.extremes_of(unit);
    if (unit == telling || !(extremes.spread < hardly)) continue;
    const bool is_high = hidden.at(extremes.lowest, unit) > 1.0 - hardly,
               is_low = hidden.at(extremes.highest, unit) < hardly - 1.0;
    (is_high ? high : is_low ? low : others).push_back(std::to_string(unit));
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& units, const char* one, const char* several) {
    if (units.empty() || units.size() > most) return;
    text += fmt::format(" Hidden {} {}.", fmt::join(units, " and "), units.size() == 1 ? one : several);
  };
  add(high, "is near +1 for every key", "are near +1 for every key");
  add(low, "is near −1 for every key", "are near −1 for every key");
  add(others, "hardly differs from key to key", "hardly differ from key to key");
  return text;
}

/// What the hidden numbers of the query on the page say about its keys.
std::string about_hidden(const Workbench& bench, const attn::Event& event, const Tensor<1>& v_a) {
  const bool all_raise = std::all_of(v_a.begin(), v_a.end(), [](double number) { return number > 0.0; });
  const auto meaning = [&](const char* each) {
    return fmt::format("v_a says how much {} {}.", each, all_raise ? "counts" : "raises or lowers the score");
  };
  const auto query = query_on_page(bench);
  const auto& keys = bench.plan.source.tokens[0];
  const HiddenOfQuery hidden(event, query, keys.size());
  Telling most;
  for (std::size_t unit = 0; unit < hidden.units(); ++unit) {
    auto found = hidden.extremes_of(unit);
    found.spread *= std::abs(v_a(unit));
    if (found.spread > most.spread) most = found;
  }
  if (!(most.spread > 0.0)) return meaning("each hidden number");
  const auto others = which_hardly_differ(hidden, most.unit);
  return fmt::format("Hidden {} tells the keys of \"{}\" apart: \"{}\" gets {:.4f}, \"{}\" {:.4f}.{} {}",
                     most.unit, as_row_name(bench.plan.target.tokens[0][query]),
                     as_row_name(keys[most.highest]), hidden.at(most.highest, most.unit),
                     as_row_name(keys[most.lowest]), hidden.at(most.lowest, most.unit), others,
                     meaning(others.empty() ? "each hidden number" : "each"));
}

/// The context of the query on the page, where it has few numbers.
std::string context_in_words(const Workbench& bench, const attn::Event& weights, const Tensor<3>& keys) {
  constexpr std::size_t most = 4;
  if (keys.shape(2) > most) return "";
  const auto query = query_on_page(bench);
  std::vector<std::string> numbers;
  for (std::size_t j = 0; j < keys.shape(2); ++j) {
    double number = 0.0;
    for (std::size_t key = 0; key < keys.shape(1); ++key)
      number += weights.tensor->at(query * keys.shape(1) + key) * keys(0, key, j);
    numbers.push_back(fmt::format("{:.4f}", number));
  }
  const bool is_one = bench.plan.target.tokens[0].size() == 1 && !bench.plan.is_batched();
  return fmt::format(
      "Mixing the keys by {} shares gives {} context: {}.", is_one ? "these" : "its",
      is_one ? "the" : fmt::format("\"{}\" its", as_row_name(bench.plan.target.tokens[0][query])),
      fmt::join(numbers, ", "));
}

/// The score of one query q and one key k.
std::string_view formula_of_score(std::string_view function) {
  if (function == "dot") return "q · k";
  if (function == "scaled_dot") return "q · k / √d_model";
  if (function == "general") return "(q W_a) · k";
  if (function == "additive") return "v_a · tanh(q W_q + k W_k)";
  return "v_a · tanh([q; k] W_c),   [q; k] W_c = q W_q + k W_k";
}

std::string idea_of_scoring(const Workbench& bench) {
  const auto& function = bench.options.scoring;
  const bool is_by_hand = bench.options.model.has_value();
  auto idea = fmt::format(
      "Lookup's dot product needs a query and a key of the same length and meaning{}. This page works out "
      "{}, and compares five.\n{}Each target word is a query q, each source word a key k; its value is that "
      "same vector.",
      is_by_hand ? ", as here" : "", function == "dot" ? "this score" : "another score, " + function,
      is_by_hand ? "The source is English, the target French: \"chat\" is a cat. " : "");
  if (is_by_hand) idea += " A word has three numbers: how much animal, how small, how much grammar it is.";
  if (has_hidden_layer(bench.options))
    idea += "\nA pair q, k has d_a hidden numbers; tanh puts them between −1 and 1.";
  return idea;
}

/// Whether hidden number i subtracts the query's number i and adds the others and the key's number i, all
/// alike.
bool asks_for_what_the_query_is(const ScoringInputs& in) {
  const auto width = in.W_q.shape(0);
  if (width < 2 || in.W_q.shape(1) != width) return false;
  const double own = in.W_q(0, 0), other = in.W_q(0, 1);
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = 0; j < width; ++j) {
      const bool is_own = i == j;
      if (in.W_q(i, j) != (is_own ? own : other)) return false;
      if (is_own ? !(in.W_k(i, j) > 0.0) : in.W_k(i, j) != 0.0) return false;
    }
  return own < 0.0 && other > 0.0;
}

}  // namespace

void choose_scoring_page(Workbench& bench, const ScoringInputs& in) {
  const auto& function = bench.options.scoring;
  std::vector<attn::OnPage> page = {
      {"idea"},
      {"flow"},
      {"code"},
  };
  const auto add = [&](std::vector<attn::OnPage> events) {
    page.insert(page.end(), events.begin(), events.end());
  };
  add({attn::in_one_line("lengths"),
       {"queries", nothing_to_notice},
       {"keys", nothing_to_notice},
       attn::in_one_line("mask")});
  if (has_hidden_layer(bench.options)) add({{"parameters"}});
  if (function == "general") add({{"W_a"}});
  if (function == "additive")
    add({attn::without_table("additive/projected_queries", {}),
         attn::without_table("additive/projected_keys"),
         {"additive/hidden",
          [&](const attn::Event& hidden) { return about_hidden(bench, hidden, in.v_a); }}});
  if (function == "concat")
    add({attn::in_one_line("concat/W_c"),
         attn::in_one_line("concat/pairs"),
         {"concat/hidden", [&](const attn::Event& hidden) { return about_hidden(bench, hidden, in.v_a); }}});
  add({{function + "/scores", what_a_word_more_of_each_would_do},
       attn::in_one_line(function + "/masked"),
       {function + "/weights",
        [&](const attn::Event& weights) { return context_in_words(bench, weights, in.keys); }}});
  add({{"comparison"}});
  bench.trace.page(std::move(page), {"additive-equals-concat", "general-with-identity-equals-dot"});
}

void tell_scoring_idea(Workbench& bench) {
  bench.idea(idea_of_scoring(bench), fmt::format("score(q, k) = {}\ncontext = softmax(scores) · keys",
                                                 formula_of_score(bench.options.scoring)));
}

std::vector<std::string> scoring_flow(const Workbench& bench) {
  const auto n_q = bench.plan.target.length(), n_k = bench.plan.source.length(), d = bench.d_model();
  const auto queries = fmt::format("queries [{}×{}]", n_q, d), keys = fmt::format("keys [{}×{}]", n_k, d);
  const auto left = std::max(attn::display_width(queries), attn::display_width(keys)) + 1;
  const auto middle = fmt::format("├ {} → softmax → weights [{}×{}] ", bench.options.scoring, n_q, n_k);
  std::string line;
  for (std::size_t i = 1; i < attn::display_width(middle); ++i) line += "─";
  return {attn::pad_right(queries, left) + "┐ " + learned_shapes(bench),
          attn::pad_right("", left) + middle + "┐",
          fmt::format("{}┴{}┴ context [{}×{}]", attn::pad_right(keys, left), line, n_q, d)};
}

void show_hidden_parameters(Workbench& bench, const ScoringInputs& in) {
  constexpr std::size_t most = 8;
  if (bench.d_model() > most || *bench.options.d_a > most) return;
  bench.trace.note("parameters",
                   bench.options.model ? "The parameters: training would find them, here they are set by hand"
                                       : "The parameters: training would find them, here they are random",
                   "", table_of_parameters(in));
}

std::string about_query_part(const Workbench& bench, const ScoringInputs& in) {
  constexpr std::size_t most = 4;
  const std::size_t query = query_on_page(bench), width = in.W_q.shape(1);
  if (width > most) return "";
  const auto all = in.q()(in.queries);
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < width; ++i)
    numbers.push_back(
        fmt::format("{:.4f}", std::abs(all(0, query, i)) < 0.00005 ? 0.0 : double{all(0, query, i)}));
  const auto row = fmt::format("The row \"{}\" is {}.", as_row_name(bench.plan.target.tokens[0][query]),
                               fmt::join(numbers, ", "));
  if (!asks_for_what_the_query_is(in)) return row;
  return fmt::format(
      "{} In hidden i the query's number i counts {}, the others {}. So what a query mostly is starts below "
      "0: there a key must have it, too. The others start above 0: there most keys will do.",
      row, parameter(in.W_q(0, 0)), parameter(in.W_q(0, 1)));
}

}  // namespace lessons
