#include "document/flow.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "attn/text/width.hpp"
#include "formula/numpy.hpp"
#include "formula/parse.hpp"

namespace document {

namespace {

constexpr const char* batch = "batch";

class GraphMaker {
 public:
  GraphMaker(const formula::Sheet& sheet, const Flow& flow) : sheet_(sheet), flow_(flow) {
    for (const auto& source : flow.sources) sources_.insert(sheet.stands_for(source));
  }

  Graph operator()() {
    for (const auto& result : flow_.results) need(sheet_.stands_for(result));
    for (const auto& step : sheet_.definitions())
      if (needed_.count(step.name) > 0 && sources_.count(step.name) == 0) add_step(step);
    for (const auto& result : flow_.results)
      graph_.tensors[tensor_called(sheet_.stands_for(result))].is_result = true;
    for (auto& tensor : graph_.tensors) tensor.name = short_name(tensor.name);
    return std::move(graph_);
  }

 private:
  void need(const std::string& name) {
    if (!needed_.insert(name).second || sources_.count(name) > 0) return;
    if (const auto* step = sheet_.definition_of(name))
      for (const auto& operand : operands_of(*step)) need(operand);
  }

  /// Tensors that somebody made without a formula and that belong to no sample, or say what counts.
  bool is_aside(const std::string& name) const {
    const auto& tensor = sheet_.form(name);
    const bool is_shared = sheet_.has_axis(batch) && !formula::has(tensor.axes, batch);
    return sheet_.definition_of(name) == nullptr && sources_.count(name) == 0 &&
           (is_shared || tensor.is_truth || tensor.is_whole);
  }

  /// In the order in which pages write them.
  std::vector<std::string> operands_of(const formula::Definition& step) const {
    auto names = formula::operands(step.expr);
    const auto text = formula::page_text(step.expr);
    std::stable_sort(names.begin(), names.end(),
                     [&](const auto& a, const auto& b) { return text.find(a) < text.find(b); });
    const auto aside =
        std::stable_partition(names.begin(), names.end(), [&](const auto& name) { return !is_aside(name); });
    if (aside != names.begin()) names.erase(aside, names.end());
    std::erase_if(names, [&](const auto& name) { return shape_of(name).empty(); });
    return names;
  }

  /// Of one sample.
  attn::Shape shape_of(const std::string& name) const {
    const auto& [axes, shape] = std::tie(sheet_.form(name).axes, sheet_.form(name).shape);
    return {shape.begin() + (!axes.empty() && axes.front() == batch), shape.end()};
  }

  std::size_t tensor_called(const std::string& name) {
    const auto [known, is_new] = places_.emplace(name, graph_.tensors.size());
    if (!is_new) return known->second;
    graph_.tensors.push_back({.name = name,
                              .shape = attn::to_string(shape_of(name)),
                              .axes = sheet_.form(name).axes,
                              .is_hidden = flow_.hidden.count(name) > 0});
    before_.emplace_back();
    return known->second;
  }

  void add_step(const formula::Definition& step) {
    const auto names = operands_of(step);
    std::vector<std::size_t> from;
    std::set<std::size_t> before;
    for (const auto& name : names) from.push_back(tensor_called(name));
    for (const auto place : from) before.insert(before_[place].begin(), before_[place].end());
    std::erase_if(from, [&](std::size_t place) { return before.count(place) > 0; });
    before.insert(from.begin(), from.end());

    const auto place = tensor_called(step.name);
    auto& tensor = graph_.tensors[place];
    tensor.words = words_of(step, from.size() == 1 ? graph_.tensors[from[0]].name : "");
    tensor.from = std::move(from);
    before_[place] = std::move(before);
    for (const auto& name : formula::operands(step.expr)) add_given(name, tensor.words);
  }

  void add_given(const std::string& name, const std::vector<std::string>& words) {
    const auto& tensor = sheet_.form(name);
    const auto given = fmt::format("{} [{}]", name, attn::to_string(tensor.shape));
    const bool is_said = std::any_of(words.begin(), words.end(),
                                     [&](const auto& word) { return word.find(name) != word.npos; });
    if (is_said && is_aside(name) && !formula::has(tensor.axes, batch) &&
        std::find(graph_.given.begin(), graph_.given.end(), given) == graph_.given.end())
      graph_.given.push_back(given);
  }

  /// "/ √8" of `scores / √d_k`, "softmax" of `softmax(masked)`: without the only operand.
  std::vector<std::string> words_of(const formula::Definition& step, const std::string& operand) const {
    constexpr std::size_t widest = 24;
    if (const auto found = flow_.words.find(step.name); found != flow_.words.end()) return {found->second};
    if (const auto shapes = formula::shapes_of_reshape(sheet_, step); !shapes.empty())
      return words_of_reshape(shapes);
    const auto x = formula::with_lengths(step.expr, sheet_);
    auto text = formula::page_text(x);
    const std::string gap = "□", in_parentheses = "(" + gap + ")";
    const auto without = formula::page_text(renamed(x, operand, gap));
    const bool is_once = !operand.empty() && without.find(gap) == without.rfind(gap);
    if (is_once && without.starts_with(gap + " "))
      text = without.substr(gap.size() + 1);
    else if (const auto at = without.find(in_parentheses); is_once && at != without.npos)
      text = std::string(without).erase(at, in_parentheses.size());
    if (attn::display_width(text) > widest || without == gap) return {};
    return {text};
  }

  static std::vector<std::string> words_of_reshape(const std::vector<attn::Shape>& shapes) {
    std::vector<std::string> words;
    for (std::size_t i = 1; i < shapes.size(); ++i) {
      words.emplace_back(shapes[i].size() == shapes[i - 1].size() ? "transpose" : "reshape");
      if (i + 1 < shapes.size()) words.back() += fmt::format(" [{}]", attn::to_string(shapes[i]));
    }
    return words;
  }

  static formula::Expr renamed(const formula::Expr& x, const std::string& name, const std::string& other) {
    formula::Node node =
        *formula::with_parts(x, [&](const formula::Expr& part) { return renamed(part, name, other); });
    if (node.op == formula::Op::entry && node.name == name) node.name = other;
    return formula::Expr(std::move(node));
  }

  /// "weights" of causal/weights, where no other tensor is called so.
  std::string short_name(const std::string& name) const {
    const auto last = [](const std::string& id) { return id.substr(id.rfind('/') + 1); };
    const auto count = std::count_if(places_.begin(), places_.end(),
                                     [&](const auto& one) { return last(one.first) == last(name); });
    return count == 1 ? last(name) : name;
  }

  const formula::Sheet& sheet_;
  const Flow& flow_;
  std::set<std::string> sources_, needed_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::set<std::size_t>> before_;  ///< of each tensor: all that it is made of
  Graph graph_;
};

/// Places the steps one after the other, in bands of lines that are no wider than the columns.
class Placer {
 public:
  /// How a drawing gives way to the columns.
  struct Way {
    bool is_close;    ///< with no row between two that join
    bool leaves_out;  ///< with words alone for tensors that need no name
  };

  Placer(const Graph& graph, std::size_t columns, const Way& way)
      : graph_(graph), columns_(columns), way_(way), uses_(graph.tensors.size()), user_(uses_) {
    for (std::size_t i = 0; i < uses_.size(); ++i)
      for (const auto from : graph.tensors[i].from) ++uses_[from], user_[from] = i;
  }

  Layout operator()() {
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i)
      if (uses_[i] != 1 && (uses_[i] == 0 || !graph_.tensors[i].from.empty())) place_tree(i);
    place_given();
    return std::move(layout_);
  }

  std::size_t bands() const { return bands_; }

 private:
  static constexpr auto none = static_cast<std::size_t>(-1);

  /// A tensor on its way to the next one.
  struct Strand {
    std::size_t tensor;
    std::vector<std::string> words{};
    std::vector<std::size_t> parts{};  ///< the strands that join in it
    std::string text{};                ///< where a band begins with it
    bool branches = false;             ///< there, with the one above or below
    std::size_t row = 0, join = 0, end = 0, next = none;
  };

  bool is_left_out(std::size_t i) const {
    const auto& tensor = graph_.tensors[i];
    if (!way_.leaves_out || tensor.is_result || tensor.words.empty() || uses_[i] != 1) return false;
    const auto& next = graph_.tensors[user_[i]];
    return next.from.size() == 1 && (tensor.is_hidden || next.axes == tensor.axes);
  }

  std::size_t grow(std::size_t tensor, bool is_root) {
    Strand strand{tensor};
    const auto* step = &graph_.tensors[tensor];
    if (!is_root) {
      if (step->from.size() == 1) strand.words = step->words;
      while (step->from.size() == 1 && is_left_out(step->from[0])) {
        step = &graph_.tensors[step->from[0]];
        strand.words.insert(strand.words.begin(), step->words.begin(), step->words.end());
      }
      for (const auto part : step->from)
        strand.parts.push_back(grow(part, graph_.tensors[part].from.empty() || uses_[part] > 1));
    }
    if (strand.parts.empty()) open_.push_back(strands_.size());
    strands_.push_back(std::move(strand));
    return strands_.size() - 1;
  }

  void place_tree(std::size_t head) {
    strands_.clear();
    open_.clear();
    grow(head, false);
    std::vector<std::size_t> steps;
    for (std::size_t i = 0; i < strands_.size(); ++i)
      if (!strands_[i].parts.empty()) steps.push_back(i);
    std::sort(steps.begin(), steps.end(),
              [&](auto a, auto b) { return strands_[a].tensor < strands_[b].tensor; });
    begin_band();
    for (const auto step : steps)
      if (!fits(step)) {
        end_band();
        begin_band();
        fits(step);
      }
    end_band();
  }

  std::string with_shape(std::size_t tensor) const {
    const auto& [name, shape] = std::tie(graph_.tensors[tensor].name, graph_.tensors[tensor].shape);
    return fmt::format("{} [{}]", name, shape);
  }

  void begin_band() {
    band_.clear();
    ++bands_;
    first_ = open_;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      auto& strand = strands_[open_[i]];
      const auto is_same = [&](std::size_t j) {
        return j < open_.size() && strands_[open_[j]].tensor == strand.tensor;
      };
      strand.text =
          told_.count(strand.tensor) > 0 ? graph_.tensors[strand.tensor].name : with_shape(strand.tensor);
      strand.branches = is_same(i + 1) || (i > 0 && is_same(i - 1));
      strand.end = attn::display_width(strand.text);
    }
  }

  std::vector<std::string> pieces_of(const Strand& strand) const {
    auto pieces = strand.words;
    pieces.push_back(with_shape(strand.tensor));
    return pieces;
  }

  /// Adds the step to the band. Returns whether there is room for it; a band has room for one.
  bool fits(std::size_t step) {
    auto& strand = strands_[step];
    const auto& parts = strand.parts;
    std::size_t end = strands_[parts[0]].end;
    if (parts.size() > 1) {
      for (const auto part : parts) end = std::max(end, strands_[part].end + strands_[part].branches);
      strand.join = end + 1;
    }
    for (const auto& piece : pieces_of(strand)) end += 3 + attn::display_width(piece);
    if (end > columns_ && !band_.empty()) return false;
    strand.end = end;
    band_.push_back(step);
    *std::find(open_.begin(), open_.end(), parts[0]) = step;
    for (const auto part : parts) {
      std::erase(open_, part);
      strands_[part].next = step;
    }
    return true;
  }

  /// The first step of the band, from the strand on, in which it joins others.
  std::size_t join_of(std::size_t strand) const {
    auto step = strands_[strand].next;
    while (step != none && strands_[step].parts.size() == 1) step = strands_[step].next;
    return step;
  }

  void end_band() {
    if (strands_.size() > 1)
      std::erase_if(first_, [&](std::size_t strand) { return strands_[strand].next == none; });
    for (std::size_t i = 0; i < first_.size(); ++i) {
      const auto join = join_of(first_[i]);
      const bool are_a_pair =
          i > 0 && join != none && join == join_of(first_[i - 1]) && strands_[join].parts.size() == 2;
      layout_.rows += are_a_pair && !way_.is_close ? 1 : 0;  // the row between them is that of what they make
      strands_[first_[i]].row = layout_.rows++;
    }
    for (std::size_t i = 0; i < first_.size();) i = place_names(i);
    for (const auto step : band_) place(strands_[step]);
  }

  void add_text(std::size_t row, std::size_t column, const std::string& text,
                std::optional<std::size_t> tensor = {}) {
    layout_.texts.push_back({row, column, text, tensor});
    layout_.columns = std::max(layout_.columns, column + attn::display_width(text));
    if (tensor) told_.insert(*tensor);
  }

  /// The name that a band begins with, and how it branches. Returns the place of the next name.
  std::size_t place_names(std::size_t i) {
    const auto& first = strands_[first_[i]];
    add_text(first.row, 0, first.text, first.tensor);
    auto next = i + 1;
    for (; next < first_.size() && strands_[first_[next]].tensor == first.tensor; ++next)
      if (!strands_[first_[next]].branches) break;
    const auto last = strands_[first_[next - 1]].row, column = first.end + 1;
    if (next - i > 1) {
      layout_.lines.push_back({first.row, column, first.row, column, true, false});
      layout_.lines.push_back({first.row, column, last, column});
    } else {
      strands_[first_[i]].branches = false;
    }
    return next;
  }

  void place(Strand& strand) {
    const auto& parts = strand.parts;
    const auto row_of = [&](std::size_t part) { return strands_[parts[part]].row; };
    const bool joins = parts.size() > 1;
    strand.row = parts.size() == 2 ? (row_of(0) + row_of(1) + 1) / 2 : row_of(parts.size() / 2);
    std::size_t end = joins ? strand.join - 1 : strands_[parts[0]].end;
    if (joins) {
      for (const auto part : parts)
        layout_.lines.push_back({strands_[part].row, strands_[part].end + 1, strands_[part].row, strand.join,
                                 !strands_[part].branches, false});
      layout_.lines.push_back({row_of(0), strand.join, row_of(parts.size() - 1), strand.join});
    }
    bool leaves_text = !joins && !strands_[parts[0]].branches;
    const auto pieces = pieces_of(strand);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      layout_.lines.push_back({strand.row, end + 1, strand.row, end + 1, leaves_text, true});
      add_text(strand.row, end + 3, pieces[i],
               i + 1 == pieces.size() ? std::optional(strand.tensor) : std::nullopt);
      end += 3 + attn::display_width(pieces[i]);
      leaves_text = true;
    }
  }

  /// "with W_Q [64×16], …"
  void place_given() {
    constexpr std::size_t indent = 5;
    if (graph_.given.empty()) return;
    const auto lines = attn::wrap(fmt::format("{}", fmt::join(graph_.given, ", ")), columns_ - indent);
    for (std::size_t i = 0; i < lines.size(); ++i)
      add_text(layout_.rows++, i == 0 ? 0 : indent, i == 0 ? "with " + lines[i] : lines[i]);
  }

  const Graph& graph_;
  std::size_t columns_;
  Way way_;
  std::size_t bands_ = 0;
  std::vector<std::size_t> uses_, user_;  ///< of each tensor: how many take it, and the last that does
  std::vector<Strand> strands_;
  std::vector<std::size_t> open_;   ///< strands that lead to no other one yet, from top to bottom
  std::vector<std::size_t> first_;  ///< those that the band begins with
  std::vector<std::size_t> band_;   ///< the steps of the band
  std::set<std::size_t> told_;      ///< tensors whose shapes stand somewhere
  Layout layout_;
};

enum Side : unsigned { left = 1, right = 2, up = 4, down = 8 };

const char* character(unsigned sides) {
  static constexpr std::array characters = {" ", "─", "─", "─", "│", "┘", "└", "┴",
                                            "│", "┐", "┌", "┬", "│", "┤", "├", "┼"};
  return characters.at(sides);
}

}  // namespace

Graph graph_of(const formula::Sheet& sheet, const Flow& flow) {
  return GraphMaker(sheet, flow)();
}

Layout layout_of(const Graph& graph, std::size_t columns) {
  Layout layout;
  for (const auto& way : {Placer::Way{false, true}, Placer::Way{true, true}, Placer::Way{true, false}}) {
    Placer placer(graph, columns, way);
    layout = placer();
    if (layout.columns <= columns && (way.is_close || placer.bands() == 1)) break;
  }
  return layout;
}

std::vector<std::string> drawn(const Layout& layout) {
  std::vector<std::vector<unsigned>> sides(layout.rows, std::vector<unsigned>(layout.columns));
  std::vector<std::vector<std::string>> cells(layout.rows, std::vector<std::string>(layout.columns));
  for (const auto& [row, column, to_row, to_column, leaves_text, reaches_text] : layout.lines) {
    for (auto c = column; c < to_column; ++c) sides[row][c] |= right, sides[row][c + 1] |= left;
    for (auto r = row; r < to_row; ++r) sides[r][column] |= down, sides[r + 1][column] |= up;
    if (leaves_text) sides[row][column] |= left;
    if (reaches_text) sides[row][to_column] |= right;
    if (leaves_text && reaches_text) cells[row][column] = "→";
  }
  std::vector<std::string> lines;
  for (std::size_t row = 0; row < layout.rows; ++row) {
    for (std::size_t c = 0; c < layout.columns; ++c)
      if (cells[row][c].empty()) cells[row][c] = character(sides[row][c]);
    for (const auto& text : layout.texts) {
      if (text.row != row) continue;
      cells[row][text.column] = text.text;
      for (std::size_t c = 1; c < attn::display_width(text.text); ++c) cells[row][text.column + c].clear();
    }
    auto& line = lines.emplace_back(fmt::format("{}", fmt::join(cells[row], "")));
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

}  // namespace document
