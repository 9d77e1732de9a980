#include "page/html/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "page/html/escape.hpp"
#include "page/table.hpp"
#include "trace/event.hpp"

namespace attn::html {

namespace {

constexpr std::size_t most_choices = 12;  // tables between which a reader may choose
constexpr double rounding_noise = 1e-6;   // which must not choose between two shades

/// Writes the grids of one table.
class TableWriter {
 public:
  TableWriter(const std::string& id, const page::Table& table, std::size_t number, const Written& written)
      : id_(id), table_(table), written_(written), tensor_number_(number) {}

  std::string write() const {
    std::string markup;
    for (const auto& grid : table_.grids)
      if (grid) markup += sheet(*grid);
    return fmt::format("<div class=\"tables\">\n{}<div class=\"sheets\">\n{}</div>\n</div>\n", choices(),
                       markup);
  }

 private:
  bool are_shares() const { return table_.kind == page::Table::Kind::shares; }

  std::string choices() const;
  std::string sheet(const page::Grid& grid) const;
  std::string name(const page::Grid& grid) const {
    return escaped(id_ + (grid.caption.empty() ? "" : ", " + grid.caption));
  }
  std::string caption(const page::Grid& grid) const;
  std::string head(const page::Grid& grid) const;
  std::string row(const page::Grid& grid, const page::Row& row) const;
  std::string cell(const page::Cell& cell) const;
  std::string shade(double value) const;
  std::string strongest(const page::Row& row) const;

  const std::string& id_;
  const page::Table& table_;
  const Written& written_;
  std::size_t tensor_number_;
};

/// Side by side, or one of them.
std::string TableWriter::choices() const {
  std::vector<std::string> names;
  for (const auto& grid : table_.grids)
    if (grid) names.push_back(grid->caption);
  if (names.size() < 2 || names.size() > most_choices || written_) return "";
  const auto choice = [&](std::size_t i, const std::string& name, const char* state) {
    return fmt::format("<label><input type=\"radio\" name=\"sheet-{}\" class=\"only-{}\"{}/> {}</label>\n",
                       tensor_number_, i, state, escaped(name));
  };
  auto markup = choice(0, "side by side", " checked=\"checked\"");
  for (std::size_t i = 0; i < names.size(); ++i) markup += choice(i + 1, names[i], "");
  return fmt::format("<fieldset class=\"choices\"><legend>Show</legend>\n{}</fieldset>\n", markup);
}

/// "0,1,2,,7,8,9": the places that an elided table shows.
template <class Items, class PlaceOf>
std::string list_of_places(const Items& items, const PlaceOf& place_of) {
  std::vector<std::string> texts;
  for (const auto& item : items) {
    const auto& place = place_of(item);
    texts.push_back(place ? fmt::format("{}", place->index) : "");
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string TableWriter::sheet(const page::Grid& grid) const {
  const auto elided =
      table_.is_elided ? fmt::format(" data-rows=\"{}\" data-columns=\"{}\"",
                                     list_of_places(
                                         grid.rows, [](const page::Row& row) -> auto& { return row.place; }),
                                     list_of_places(
                                         grid.columns, [](const auto& place) -> auto& { return place; }))
                       : "";
  std::string body;
  for (const auto& row : grid.rows) body += this->row(grid, row);
  return fmt::format(
      "<div class=\"sheet\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><table data-tensor=\"{1}\" "
      "data-first=\"{2}\"{3}>\n<caption>{4}</caption>\n{5}<tbody>\n{6}</tbody></table></div>\n",
      name(grid), tensor_number_, grid.first, elided, caption(grid), head(grid), body);
}

/// "weights, head 0: a row for each query, a column for each key".
std::string TableWriter::caption(const page::Grid& grid) const {
  const auto rows = table_.row_axis.empty() ? "" : fmt::format("a row for each {}, ", table_.row_axis);
  return fmt::format("<b>{}</b> <span>{}a column for each {}</span>", name(grid), escaped(rows),
                     escaped(table_.column_axis));
}

std::string TableWriter::head(const page::Grid& grid) const {
  const auto& corner = table_.row_axis.empty() ? table_.column_axis : table_.row_axis;
  auto cells = fmt::format("<th scope=\"col\">{}</th>", escaped(corner));
  for (const auto& place : grid.columns)
    cells += fmt::format("<th scope=\"col\">{}</th>", place ? escaped(place->label) : "…");
  if (are_shares()) cells += "<th scope=\"col\" class=\"strongest\">strongest</th>";
  return fmt::format("<thead><tr>{}</tr></thead>\n", cells);
}

std::string TableWriter::row(const page::Grid& grid, const page::Row& row) const {
  constexpr const char* left_out = "<td class=\"gap\">…</td>";
  const auto name = !row.place                ? "…"
                    : table_.row_axis.empty() ? std::string(last_of_path(id_))
                                              : row.place->label;
  auto cells = fmt::format("<th scope=\"row\">{}</th>", escaped(name));
  auto cell = row.cells.begin();
  for (const auto& column : grid.columns) cells += row.place && column ? this->cell(*cell++) : left_out;
  if (are_shares()) cells += row.place ? strongest(row) : "<td class=\"gap\"></td>";
  return fmt::format("<tr>{}</tr>\n", cells);
}

std::string TableWriter::cell(const page::Cell& cell) const {
  if (written_) {
    const auto written = written_(cell.offset);
    return written.empty() ? "<td class=\"blank\"></td>" : fmt::format("<td>{}</td>", escaped(written));
  }
  const auto& shown = are_shares() && cell.value == 0.0 ? "·" : cell.number;
  const auto style = shade(cell.value);
  return (style.empty() ? "<td>" : "<td class=\"" + style + "\">") + shown + "</td>";
}

/// Of a share "s1" to "s10", of a mask "seen", of another number "p1" to "p8" or, below 0, "n1" to "n8".
std::string TableWriter::shade(double value) const {
  const auto level = [](double part, int levels) {
    return std::clamp(static_cast<int>(std::ceil(part * levels - rounding_noise)), 0, levels);
  };
  if (table_.kind == page::Table::Kind::mask) return value != 0.0 ? "seen" : "";
  if (!table_.is_floating || !std::isfinite(value) || table_.largest == 0.0) return "";
  const int steps = are_shares() ? level(value, 10) : level(std::abs(value) / table_.largest, 8);
  if (steps == 0) return "";
  return (are_shares() ? 's' : value < 0.0 ? 'n' : 'p') + std::to_string(steps);
}

std::string TableWriter::strongest(const page::Row& row) const {
  if (row.strongest.empty()) return "<td class=\"strongest\"></td>";
  std::vector<std::string> names;
  for (const auto& share : row.strongest) names.push_back(share.key.label);
  return fmt::format("<td class=\"strongest\">{} {}</td>", escaped(page::name_of_tied(names)),
                     row.strongest.front().number);
}

}  // namespace

std::string table_markup(const std::string& id, const page::Table& table, std::size_t number,
                         const Written& written) {
  return TableWriter(id, table, number, written).write();
}

}  // namespace attn::html
