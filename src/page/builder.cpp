#include "page/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "attn/text/width.hpp"
#include "trace/entry.hpp"
#include "trace/wording.hpp"

namespace attn::page {

namespace {

/// Numbers of that type which differ by this share of them may be the same but for rounding.
double rounding_of(Dtype dtype) {
  return dtype == Dtype::float32    ? 1e-5
         : dtype == Dtype::float16  ? 2e-3
         : dtype == Dtype::bfloat16 ? 1.6e-2
                                    : 1e-9;
}

/// The finite ones.
bool are_whole(const std::vector<double>& numbers, double rounding) {
  return all_of(numbers, [&](double number) { return !std::isfinite(number) || is_whole(number, rounding); });
}

std::string without_negative_zero(std::string number) {
  const auto mantissa = std::string_view(number).substr(0, number.find('e'));
  const bool is_zero = mantissa.find_first_not_of("-0.") == std::string_view::npos;
  return is_zero && mantissa.front() == '-' ? number.substr(1) : number;
}

/// Writes all numbers of one tensor in the same notation, whole ones without digits after the point.
class NumberFormat {
 public:
  NumberFormat(const TensorView& tensor, int precision) : tensor_(tensor), precision_(precision) {
    if (!is_floating(tensor.dtype)) return;
    const auto numbers = tensor.numbers();
    const double largest = largest_size(numbers),
                 smallest_fixed = std::min(0.1, std::pow(10.0, 1 - precision));
    scientific_ = largest >= 1e5 || (largest > 0.0 && largest < smallest_fixed);
    if (!scientific_ && are_whole(numbers, rounding_of(tensor.dtype))) precision_ = 0;
  }

  /// The element at a row-major offset: "-0.1200", "1.5000e-07", "-inf", "nan"; of a mask "1" or "·".
  std::string operator()(std::size_t offset) const {
    const double element = tensor_.at(offset);
    if (tensor_.dtype == Dtype::int64)
      return fmt::format("{}", static_cast<const std::int64_t*>(tensor_.data)[offset]);
    if (tensor_.dtype == Dtype::boolean) return element != 0.0 ? "1" : "·";
    if (std::isnan(element)) return "nan";  // whatever its sign
    return without_negative_zero(scientific_ ? fmt::format("{:.{}e}", element, precision_)
                                             : fmt::format("{:.{}f}", element, precision_));
  }

 private:
  const TensorView& tensor_;
  int precision_;
  bool scientific_ = false;
};

/// The keys with the largest share in the row that begins at `offset`; none where no share is more than 0.
/// Shares that differ by rounding only count as the same, so that the page does not depend on the machine.
std::vector<std::size_t> strongest_keys(const TensorView& tensor, std::size_t offset) {
  double largest = 0.0;
  const std::size_t length = tensor.shape.back();
  for (std::size_t i = 0; i < length; ++i) largest = std::max(largest, tensor.at(offset + i));
  std::vector<std::size_t> keys;
  if (!(largest > 0.0)) return keys;
  const double tie = largest * (1.0 - rounding_of(tensor.dtype));
  for (std::size_t i = 0; i < length; ++i)
    if (tensor.at(offset + i) >= tie) keys.push_back(i);
  return keys;
}

constexpr std::size_t edge = 3;          // places at each end of an axis that is elided
constexpr std::size_t most_shares = 40;  // of a row that is elided

bool is_long(std::size_t length) {
  return length > 2 * edge;
}

Indices indices_along(std::size_t length, bool is_elided) {
  return ends_of(length, is_elided && is_long(length) ? edge : length, edge);
}

/// Makes the table of one tensor.
class TableMaker {
 public:
  TableMaker(const Event& event, int precision, std::size_t most_cells)
      : event_(event), tensor_(*event.tensor), number_(tensor_, precision) {
    const auto rank = tensor_.shape.size();
    const bool rows_have_own_columns = rank == 2 && event.axes[0] == "batch" && event.labels[1].per_sample();
    grid_axes_ = rank - (rank == 1 || rows_have_own_columns ? 1 : 2);
    has_rows_ = grid_axes_ + 2 == rank;
    table_.kind = event.distribution                ? Table::Kind::shares
                  : tensor_.dtype == Dtype::boolean ? Table::Kind::mask
                                                    : Table::Kind::numbers;
    table_.column_axis = event.axes.back();
    if (has_rows_) table_.row_axis = event.axes[rank - 2];
    table_.is_elided = element_count(tensor_.shape) > most_cells && any_of(tensor_.shape, is_long);
    table_.is_floating = is_floating(tensor_.dtype);
    table_.has_hidden = has_hidden_keys(event);
    table_.largest = largest_size(tensor_.numbers());
  }

  Table make() {
    add_grids(0, {}, 0, 0);
    return std::move(table_);
  }

 private:
  std::size_t row_length() const { return tensor_.shape.back(); }
  std::size_t row_count() const { return has_rows_ ? tensor_.shape[tensor_.shape.size() - 2] : 1; }

  /// A grid for each entry of the axes from `axis` on; `index` counts the grids, `sample` is the batch's.
  void add_grids(std::size_t axis, const std::string& caption, std::size_t index, std::size_t sample) {
    if (axis == grid_axes_) return table_.grids.emplace_back(grid(caption, index, sample)), void();
    for (const auto& i : indices_along(tensor_.shape[axis], table_.is_elided)) {
      if (!i) {
        table_.grids.emplace_back();
        continue;
      }
      const auto of = event_.axes[axis] == "batch" ? *i : sample;
      const auto name = fmt::format("{} {}", event_.axes[axis], place(axis, *i, of).label);
      add_grids(axis + 1, caption.empty() ? name : caption + " · " + name, index * tensor_.shape[axis] + *i,
                of);
    }
  }

  Place place(std::size_t axis, std::size_t index, std::size_t sample) const {
    const auto& labels = event_.labels[axis];
    if (labels.empty()) return {.index = index, .label = fmt::format("{}", index)};
    const auto& tokens = labels.of(sample);
    const bool is_first = std::find(tokens.begin(), tokens.end(), tokens[index]) ==
                          tokens.begin() + static_cast<std::ptrdiff_t>(index);
    return {.index = index,
            .label = tokens[index],
            .name = is_first ? tokens[index] : numbered_token(tokens, index)};
  }

  Grid grid(const std::string& caption, std::size_t index, std::size_t sample) const {
    Grid grid{.caption = caption, .first = index * row_count() * row_length()};
    for (const auto& i : indices_along(row_length(), table_.is_elided))
      grid.columns.push_back(i ? std::optional(place(tensor_.shape.size() - 1, *i, sample)) : std::nullopt);
    for (const auto& i : rows()) {
      grid.rows.push_back(i ? row(grid, *i, sample) : Row());
      grid.rows.back().cells.resize(grid.columns.size());
    }
    return grid;
  }

  /// Those of shares that are elided have the row that is worked out, too.
  Indices rows() const {
    auto rows = indices_along(row_count(), table_.is_elided);
    const auto at =
        has_rows_ && event_.distribution && table_.is_elided ? entry_to_work_out(event_) : std::nullopt;
    if (!at) return rows;
    const auto worked = (*at)[tensor_.shape.size() - 2];
    if (worked >= edge && worked + edge < row_count())
      rows.insert(rows.begin() + edge + 1, {worked, std::nullopt});
    return rows;
  }

  Row row(const Grid& grid, std::size_t index, std::size_t sample) const {
    const auto begin = grid.first + index * row_length();
    Row row{.place = has_rows_ ? place(tensor_.shape.size() - 2, index, sample) : Place{}};
    for (const auto& column : grid.columns)
      row.cells.push_back(column ? std::optional(cell(begin + column->index)) : std::nullopt);
    if (!event_.distribution) return row;
    for (const auto key : strongest_keys(tensor_, begin)) row.strongest.push_back(share(begin, key, sample));
    if (has_rows_) row.largest = largest(begin, sample);
    return row;
  }

  Share share(std::size_t begin, std::size_t key, std::size_t sample) const {
    return {place(tensor_.shape.size() - 1, key, sample), number_(begin + key)};
  }

  /// Those above 0 as they are printed, of many as many as a line may have; equal ones in the order of the
  /// keys.
  std::vector<Share> largest(std::size_t begin, std::size_t sample) const {
    std::vector<std::pair<double, std::size_t>> printed;
    for (std::size_t key = 0; key < row_length(); ++key)
      if (tensor_.at(begin + key) > 0.0)
        if (const double share = std::stod(number_(begin + key)); share > 0.0)
          printed.emplace_back(-share, key);
    std::sort(printed.begin(), printed.end());
    if (table_.is_elided) printed.resize(std::min(printed.size(), most_shares));
    std::vector<Share> shares;
    for (const auto& [below_0, key] : printed) shares.push_back(share(begin, key, sample));
    return shares;
  }

  Cell cell(std::size_t offset) const { return {offset, tensor_.at(offset), number_(offset)}; }

  const Event& event_;
  const TensorView& tensor_;
  NumberFormat number_;
  std::size_t grid_axes_ = 0;  ///< axes whose every entry has a grid of its own
  bool has_rows_ = false;
  Table table_;
};

/// Whether lines have words or their numbers in their first column: "m   the largest score".
bool is_table_of_words(const std::vector<std::string>& lines) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(" ,-").find(c) != std::string_view::npos;
  };
  return any_of(lines, [&](const std::string& line) {
    const auto gap = line.find("  ");
    return gap != line.npos && gap > 0 && all_of(line.substr(0, gap), is_word) && line[gap - 1] != ',';
  });
}

/// "attnlab sdpa --causal   hide the words to come", or the remark on an indented line below the command.
std::vector<Command> commands_of(const std::vector<std::string>& lines) {
  std::vector<Command> commands;
  for (const auto& line : lines) {
    const auto start = line.find_first_not_of(' ');
    if (start == line.npos) continue;
    const auto gap = line.find("   ", start);
    if (start == 0) commands.push_back({line.substr(0, gap)});
    const auto remark = start > 0 ? line.substr(start) : gap == line.npos ? "" : line.substr(gap + 3);
    if (!remark.empty() && !commands.empty()) commands.back().remark += remark;
  }
  return commands;
}

Block block_of(const Event& event) {
  using enum Block::Kind;
  auto lines = lines_of(event.formula);
  const auto name = last_of_path(event.id);
  if (name == "next") return {commands, {}, commands_of(lines)};
  const auto kind = name == "flow"                                ? diagram
                    : name == "code"                              ? code
                    : name == "idea" && !is_table_of_words(lines) ? formulas
                                                                  : layout;
  return {kind, std::move(lines)};
}

/// The note of an event. Its `formula` is formulas in the note `idea`, a diagram in `flow`, code in `code`,
/// commands in `next`, in all of their groups; else words and numbers in columns, or a picture.
Note note_of(const Event& event) {
  Note note{.id = event.id, .title = (event.kind == Kind::mistake ? "Mistake: " : "") + event.title};
  const auto& words = event.notice.empty() ? event.note : event.notice;
  if (!words.empty()) note.paragraphs = lines_of(words);
  if (!event.formula.empty()) note.block = block_of(event);
  return note;
}

constexpr std::size_t most_cells_of_detail = 1000;
constexpr std::size_t many_cells_of_details = 1300;  // from which on a detail is shown at its ends
constexpr std::size_t most_cells_of_late_detail = 60;
constexpr std::size_t most_cells_of_details = 1900;  // from which on a detail has no table
constexpr std::size_t cells_beside_a_table = 20;     // that its formula and its words take the room of

}  // namespace

Indices ends_of(std::size_t length, std::size_t first, std::size_t last) {
  Indices indices;
  for (std::size_t i = 0; i < length; ++i) {
    if (i == first) {
      indices.emplace_back();
      i = length - last;
    }
    indices.emplace_back(i);
  }
  return indices;
}

Table table_of(const Event& event, int precision, std::size_t most_cells) {
  return TableMaker(event, precision, most_cells).make();
}

std::vector<std::size_t> offsets_of(const Table& table) {
  std::vector<std::size_t> offsets;
  for (const auto& grid : table.grids)
    if (grid)
      for (const auto& row : grid->rows)
        for (const auto& cell : row.cells)
          if (cell) offsets.push_back(cell->offset);
  return offsets;
}

std::string name_of_strongest(const Row& row, std::size_t width) {
  const auto name_of = [&](const Share& share) { return shorten(printable(share.key.label), width); };
  const auto first = name_of(row.strongest.front());
  const auto count = row.strongest.size();
  if (count == 1) return first;
  const bool are_equal = all_of(row.strongest, [&](const Share& share) { return name_of(share) == first; });
  return are_equal ? fmt::format("{} × {}", count, first) : fmt::format("{} tied", count);
}

bool has_hidden_keys(const Event& event) {
  return event.distribution && contains(event.tensor->numbers(), 0.0);
}

std::string verdict_on(const std::vector<Claim>& claims) {
  const auto holding = std::count_if(claims.begin(), claims.end(),
                                     [](const Claim& claim) { return claim.measurement.holds(); });
  return fmt::format("{} of {} claim{} hold{}.", holding, claims.size(),
                     claims.size() == 1 && holding == 1 ? "" : "s", holding == 1 ? "s" : "");
}

Builder::Builder(const Header& header, const PageStyle& style, Seen seen)
    : style_(style), seen_(std::move(seen)), page_{.header = header} {}

Form Builder::form_of(const Event& event) const {
  if (style_.all) return Form::whole;
  if (!event.place) return Form::folded;
  if (!event.tensor) return Form::whole;
  if (event.place->in_one_line) return Form::line;
  return event.place->has_table ? Form::whole : Form::without_numbers;
}

void Builder::receive(const Event& event) {
  names_.see(event);
  if (event.tensor) shapes_[event.id] = event.tensor->shape;
  if (event.tensor && event.tensor->data == nullptr) {
    page_.outline.push_back(
        {.id = event.id, .formula = {lines_of(event.formula)}, .named_shape = named_shape(event)});
    return;
  }
  const auto form = form_of(event);
  if (event.measurement) {
    auto& claims = form == Form::folded ? page_.more_claims : page_.claims;
    claims.push_back({*event.measurement, lines_of(event.formula), event.note});
    return;
  }
  if (!event.tensor && event.id == "next" && form != Form::folded) {
    page_.next = note_of(event);
    return;
  }
  Section section{form, note_of(event)};
  if (event.tensor) section.content = step_of(event, form);
  if (form == Form::folded)
    page_.more.push_back(std::move(section));
  else
    sections_.emplace(style_.all ? sections_.size() : event.place->position, std::move(section));
}

Page Builder::finish() {
  for (auto& [position, section] : sections_) page_.sections.push_back(std::move(section));
  sections_.clear();
  return std::exchange(page_, {});
}

Step Builder::step_of(const Event& event, Form form) {
  const auto& tensor = *event.tensor;
  Step step{.id = event.id,
            .title = event.title == event.id ? "" : event.title,
            .is_input = event.kind == Kind::input,
            .formula = {lines_of(event.formula), event.mathml},
            .shape = tensor.shape,
            .named_shape = tensor.shape.empty() ? "" : named_shape(event),
            .scalar = tensor.shape.empty() ? scalar_text(tensor, style_.precision) : "",
            .origins = origins_of(event)};
  const bool is_shown = form == Form::whole || form == Form::without_numbers || style_.has_details;
  if (!is_shown) return step;
  step.worked = worked_entry(event);
  const bool is_plotted = event.curve && (style_.all || !event.place || event.place->is_plotted);
  step.table = table(event, is_plotted && style_.plain ? Form::whole : form);
  if (is_plotted && !tensor.shape.empty() && tensor.shape.size() <= 2) step.curves = curves_of(event);
  step.notice = event.notice;
  if (!event.has_notice || style_.all) step.note = note_after_notice(event);
  if (seen_) seen_(event, step);
  return step;
}

std::vector<Origin> Builder::origins_of(const Event& event) const {
  std::vector<Origin> origins;
  for (const auto& id : event.inputs) {
    const auto shape = shapes_.find(id);
    const bool is_there = shape != shapes_.end(), has_axes = is_there && !shape->second.empty();
    origins.push_back({id, id + (has_axes ? " [" + to_string(shape->second) + "]" : ""), is_there});
  }
  return origins;
}

std::optional<WorkedEntry> Builder::worked_entry(const Event& event) const {
  const auto at = entry_to_work_out(event);
  if (!at) return std::nullopt;
  const auto worked = event.worked(*at);
  if (!worked.is_finite()) return std::nullopt;
  const auto number = [this](const Worked& part) { return worked_number(part, style_.precision); };
  const auto name = printable(names_.name(event.id, *at));
  if (const auto* entry = worked.entry())
    return WorkedEntry{name, printable(names_.name(entry->tensor, entry->index)), "= " + number(worked)};
  const auto text = text_on_page(worked, number);
  const auto result = worked_result(event, *at, worked.value(), text, style_.precision);
  const bool says_result = result == "= " + text || result == "≈ " + text;
  return WorkedEntry{name, text, says_result ? "" : result};
}

/// What is no core of the page has room for fewer cells, the later it comes.
std::optional<Table> Builder::table(const Event& event, Form form) {
  const auto& tensor = *event.tensor;
  const bool has_numbers = form == Form::whole || style_.has_details;
  if (tensor.shape.empty() || !has_numbers) return std::nullopt;
  if (style_.full) return table_of(event, style_.precision, std::numeric_limits<std::size_t>::max());
  if (form == Form::whole) return table_of(event, style_.precision, style_.most_cells);
  cells_of_details_ += cells_beside_a_table;
  if (cells_of_details_ > most_cells_of_details) return std::nullopt;
  const bool is_late = cells_of_details_ > many_cells_of_details;
  auto table = table_of(event, style_.precision, is_late ? most_cells_of_late_detail : most_cells_of_detail);
  cells_of_details_ += offsets_of(table).size();
  return table;
}

}  // namespace attn::page

std::string attn::scalar_text(const TensorView& tensor, int precision) {
  if (tensor.dtype == Dtype::boolean) return tensor.at(0) != 0.0 ? "true" : "false";
  return page::NumberFormat(tensor, precision)(0);
}
