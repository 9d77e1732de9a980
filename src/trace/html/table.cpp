#include "trace/html/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "trace/html/escape.hpp"
#include "trace/text/number_format.hpp"
#include "trace/text/table.hpp"

namespace attn::html {

namespace {

constexpr std::size_t edge = 3;           // places at each end of an axis that is elided
constexpr std::size_t most_choices = 12;  // tables between which a reader may choose
constexpr double rounding_noise = 1e-6;   // which must not choose between two shades

/// Places along an axis, with nothing for what is left out.
using Places = std::vector<std::optional<std::size_t>>;

Places places_along(std::size_t length, bool is_elided) {
  Places places;
  for (std::size_t i = 0; i < length; ++i) {
    if (is_elided && length > 2 * edge && i == edge) {
      places.emplace_back();
      i = length - edge;
    }
    places.emplace_back(i);
  }
  return places;
}

/// One table: the last two axes (or the last one) at fixed places of those before.
struct Sheet {
  std::size_t index = 0;  ///< among all, in C order
  std::size_t sample = 0;
  std::string name{};  ///< "head 0"
};

/// Writes the tables of one tensor.
class TableWriter {
 public:
  TableWriter(const Event& event, std::size_t number, const TableStyle& style);
  Tables write();

 private:
  std::size_t rank() const { return tensor_.shape.size(); }
  std::size_t columns() const { return tensor_.shape.back(); }
  bool has_rows() const { return sheet_axes_ + 2 == rank(); }
  std::size_t row_count() const { return has_rows() ? tensor_.shape[rank() - 2] : 1; }

  std::vector<Sheet> sheets() const;
  std::string label(std::size_t axis, std::size_t place, std::size_t sample) const;
  std::string choices(const std::vector<Sheet>& sheets) const;
  std::string table(const Sheet& sheet);
  std::string caption(const Sheet& sheet) const;
  std::string head(const Sheet& sheet) const;
  std::string row(const Sheet& sheet, std::size_t row);
  std::string cell(std::size_t offset);
  std::string shade(double value) const;
  std::string strongest(const Sheet& sheet, std::size_t offset) const;

  const Event& event_;
  const TensorView& tensor_;
  const TableStyle& style_;
  std::size_t tensor_number_;
  NumberFormat format_;
  std::size_t sheet_axes_ = 0;
  double largest_ = 0.0;  ///< size of an element
  Tables tables_;
  Places rows_, columns_;
};

TableWriter::TableWriter(const Event& event, std::size_t number, const TableStyle& style)
    : event_(event),
      tensor_(*event.tensor),
      style_(style),
      tensor_number_(number),
      format_(tensor_, style.precision) {
  const bool rows_have_own_columns = rank() == 2 && event.axes[0] == "batch" && event.labels[1].per_sample();
  sheet_axes_ = rank() - (rank() == 1 || rows_have_own_columns ? 1 : 2);
  const auto count = element_count(tensor_.shape);
  tables_.is_elided =
      count > style.most_cells && *std::max_element(tensor_.shape.begin(), tensor_.shape.end()) > 2 * edge;
  rows_ = places_along(row_count(), tables_.is_elided);
  columns_ = places_along(columns(), tables_.is_elided);
  for (std::size_t i = 0; i < count; ++i)
    if (const double element = tensor_.at(i); std::isfinite(element))
      largest_ = std::max(largest_, std::abs(element));
}

std::string TableWriter::label(std::size_t axis, std::size_t place, std::size_t sample) const {
  const auto& labels = event_.labels[axis];
  return labels.empty() ? fmt::format("{}", place) : labels.of(sample)[place];
}

std::vector<Sheet> TableWriter::sheets() const {
  std::vector<Sheet> sheets = {{}};
  for (std::size_t axis = 0; axis < sheet_axes_; ++axis) {
    std::vector<Sheet> next;
    for (const auto& sheet : sheets)
      for (const auto& place : places_along(tensor_.shape[axis], tables_.is_elided)) {
        if (!place) continue;
        const auto sample = event_.axes[axis] == "batch" ? *place : sheet.sample;
        const auto name = fmt::format("{} {}", event_.axes[axis], label(axis, *place, sample));
        next.push_back({.index = sheet.index * tensor_.shape[axis] + *place,
                        .sample = sample,
                        .name = sheet.name.empty() ? name : sheet.name + " · " + name});
      }
    sheets = std::move(next);
  }
  return sheets;
}

Tables TableWriter::write() {
  const auto all = sheets();
  std::string markup;
  for (const auto& sheet : all) markup += table(sheet);
  tables_.markup = fmt::format("<div class=\"tables\">\n{}<div class=\"sheets\">\n{}</div>\n</div>\n",
                               choices(all), markup);
  return std::move(tables_);
}

/// Side by side, or one of them.
std::string TableWriter::choices(const std::vector<Sheet>& sheets) const {
  if (sheets.size() < 2 || sheets.size() > most_choices || style_.cell) return "";
  const auto choice = [&](std::size_t i, const std::string& name, const char* state) {
    return fmt::format("<label><input type=\"radio\" name=\"sheet-{}\" class=\"only-{}\"{}/> {}</label>\n",
                       tensor_number_, i, state, escaped(name));
  };
  auto markup = choice(0, "side by side", " checked=\"checked\"");
  for (std::size_t i = 0; i < sheets.size(); ++i) markup += choice(i + 1, sheets[i].name, "");
  return fmt::format("<fieldset class=\"choices\"><legend>Show</legend>\n{}</fieldset>\n", markup);
}

std::string TableWriter::table(const Sheet& sheet) {
  const auto places = [](const Places& of) {
    std::vector<std::string> texts;
    for (const auto& place : of) texts.push_back(place ? fmt::format("{}", *place) : "");
    return fmt::format("{}", fmt::join(texts, ","));
  };
  const auto elided = tables_.is_elided ? fmt::format(" data-rows=\"{}\" data-columns=\"{}\"", places(rows_),
                                                      places(columns_))
                                        : "";
  std::string body;
  for (const auto& place : rows_) {
    if (place) {
      body += row(sheet, *place);
    } else {
      body += "<tr><th scope=\"row\">…</th>";
      for (std::size_t i = 0; i < columns_.size(); ++i) body += "<td class=\"gap\">…</td>";
      body += event_.distribution ? "<td class=\"gap\"></td></tr>\n" : "</tr>\n";
    }
  }
  return fmt::format(
      "<div class=\"sheet\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><table data-tensor=\"{1}\" "
      "data-first=\"{2}\"{3}>\n<caption>{4}</caption>\n{5}<tbody>\n{6}</tbody></table></div>\n",
      escaped(event_.id + (sheet.name.empty() ? "" : ", " + sheet.name)), tensor_number_,
      sheet.index * row_count() * columns(), elided, caption(sheet), head(sheet), body);
}

/// "weights, head 0: a row for each query, a column for each key".
std::string TableWriter::caption(const Sheet& sheet) const {
  const auto rows = has_rows() ? fmt::format("a row for each {}, ", event_.axes[rank() - 2]) : "";
  return fmt::format("<b>{}</b> <span>{}a column for each {}</span>",
                     escaped(event_.id + (sheet.name.empty() ? "" : ", " + sheet.name)), escaped(rows),
                     escaped(event_.axes[rank() - 1]));
}

std::string TableWriter::head(const Sheet& sheet) const {
  const auto corner = event_.axes[rank() - (has_rows() ? 2 : 1)];
  auto cells = fmt::format("<th scope=\"col\">{}</th>", escaped(corner));
  for (const auto& place : columns_)
    cells += fmt::format("<th scope=\"col\">{}</th>",
                         place ? escaped(label(rank() - 1, *place, sheet.sample)) : "…");
  if (event_.distribution) cells += "<th scope=\"col\" class=\"strongest\">strongest</th>";
  return fmt::format("<thead><tr>{}</tr></thead>\n", cells);
}

std::string TableWriter::row(const Sheet& sheet, std::size_t row) {
  const auto offset = (sheet.index * row_count() + row) * columns();
  const auto slash = event_.id.rfind('/');
  const auto name = has_rows() ? label(rank() - 2, row, sheet.sample)
                               : event_.id.substr(slash == event_.id.npos ? 0 : slash + 1);
  auto cells = fmt::format("<th scope=\"row\">{}</th>", escaped(name));
  for (const auto& place : columns_) cells += place ? cell(offset + *place) : "<td class=\"gap\">…</td>";
  if (event_.distribution) cells += strongest(sheet, offset);
  return fmt::format("<tr>{}</tr>\n", cells);
}

std::string TableWriter::cell(std::size_t offset) {
  tables_.cells.push_back(offset);
  if (style_.cell) {
    const auto written = style_.cell(offset);
    return written.empty() ? "<td class=\"blank\"></td>" : fmt::format("<td>{}</td>", escaped(written));
  }
  const double value = tensor_.at(offset);
  const auto shown = event_.distribution && value == 0.0 ? "·" : format_(offset);
  const auto style = shade(value);
  return (style.empty() ? "<td>" : "<td class=\"" + style + "\">") + shown + "</td>";
}

/// Of a share "s1" to "s10", of a mask "seen", of another number "p1" to "p8" or, below 0, "n1" to "n8".
std::string TableWriter::shade(double value) const {
  const auto level = [](double part, int levels) {
    return std::clamp(static_cast<int>(std::ceil(part * levels - rounding_noise)), 0, levels);
  };
  if (tensor_.dtype == Dtype::boolean) return value != 0.0 ? "seen" : "";
  if (!is_floating(tensor_.dtype) || !std::isfinite(value) || largest_ == 0.0) return "";
  const int steps = event_.distribution ? level(value, 10) : level(std::abs(value) / largest_, 8);
  if (steps == 0) return "";
  return (event_.distribution ? 's' : value < 0.0 ? 'n' : 'p') + std::to_string(steps);
}

std::string TableWriter::strongest(const Sheet& sheet, std::size_t offset) const {
  const auto keys = strongest_keys(tensor_, offset);
  if (keys.empty()) return "<td class=\"strongest\"></td>";
  std::vector<std::string> names;
  for (const auto key : keys) names.push_back(label(rank() - 1, key, sheet.sample));
  return fmt::format("<td class=\"strongest\">{} {}</td>", escaped(name_of_tied(names)),
                     format_(offset + keys.front()));
}

}  // namespace

Tables tables_of(const Event& event, std::size_t number, const TableStyle& style) {
  return TableWriter(event, number, style).write();
}

}  // namespace attn::html
