#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "attn/text/printable.hpp"
#include "attn/text/width.hpp"
#include "page/html/assets.hpp"
#include "page/html/escape.hpp"
#include "page/html/formula.hpp"
#include "page/html/table.hpp"
#include "page/worksheet/render.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

using html::escaped;

std::string words_in_paragraph(const std::string& words, const char* style = "") {
  std::string markup;
  for (const auto& line : lines_of(words))
    if (!line.empty()) markup += fmt::format("<p{}>{}</p>\n", style, escaped(line));
  return markup;
}

std::string formulas_for_paper(const std::string& formula) {
  std::string markup;
  for (const auto& line : lines_of(formula)) markup += fmt::format("<div>{}</div>\n", html::mathml(line));
  return fmt::format("<div class=\"formula\">\n{}</div>\n", markup);
}

/// The tables of a tensor, with what `cell` writes in them.
std::string paper_tables(const SheetTensor& tensor, std::size_t number,
                         const std::function<std::string(std::size_t)>& cell) {
  return html::table_markup(tensor.event.id, tensor.table, number, cell);
}

std::string definition_for_paper(const SheetTensor& tensor) {
  const auto& event = tensor.event;
  auto markup = fmt::format("<span class=\"name\">{}</span>", escaped(event.id));
  const auto formula = event.formula.substr(0, event.formula.find('\n'));
  if (!formula.empty())
    markup += (event.id.find('=') == event.id.npos ? " <span class=\"is\">=</span> " : ": ") +
              html::mathml(printable(formula));
  return fmt::format("<span class=\"definition\">{}</span><span class=\"shape\">{}</span>", markup,
                     escaped(tensor.named_shape));
}

std::string worked_for_paper(const char* start, const std::string& worked) {
  return words_in_paragraph(worked.empty() ? "" : start + worked, " class=\"worked\"");
}

class PaperPage {
 public:
  explicit PaperPage(const Sheet& sheet) : sheet_(sheet) {}

  std::string blank() {
    auto markup = head(sheet_.title);
    markup += "<p class=\"student\">Name: <span></span></p>\n";
    markup += "<section>\n<h2>The idea</h2>\n" + words_in_paragraph(sheet_.idea) +
              formulas_for_paper(sheet_.formula) + words_in_paragraph(sheet_.rule) +
              words_in_paragraph(how_to_fill_in(sheet_, false), " class=\"legend\"") + "</section>\n";
    markup += "<section>\n<h2>What is given</h2>\n<div class=\"given\">\n";
    for (const auto& one : sheet_.given)
      markup += paper_tables(one, ++tables_, [&](std::size_t offset) { return one.written[offset]; });
    markup += "</div>\n</section>\n";
    markup += "<div class=\"asked\">\n";
    for (std::size_t i = 0; i < sheet_.asked.size(); ++i) {
      const auto& step = sheet_.asked[i];
      markup += section(i, i == 0 ? worked_for_paper("For example ", step.example) : "",
                        paper_tables(step, ++tables_, [](std::size_t) { return std::string(); }));
    }
    markup += "</div>\n";
    for (const auto& step : sheet_.unchanged) markup += words_in_paragraph(step + " changes no number here.");
    return fmt::format("<div class=\"worksheet\">\n{}</div>\n", markup);
  }

  std::string answers() {
    auto markup = head("the answers");
    for (std::size_t i = 0; i < sheet_.asked.size(); ++i) {
      const auto& step = sheet_.asked[i];
      markup += section(i, worked_for_paper("", step.worked),
                        paper_tables(step, ++tables_, [&](std::size_t at) { return step.written[at]; }));
    }
    return fmt::format("<div class=\"worksheet answers{}\">\n{}</div>\n", fits_half() ? "" : " wide", markup);
  }

 private:
  /// Whether each definition fits half the width of the paper: a formula does not wrap.
  bool fits_half() const {
    constexpr std::size_t columns = 34;
    return std::all_of(sheet_.asked.begin(), sheet_.asked.end(), [](const SheetTensor& step) {
      const auto formula = step.event.formula.substr(0, step.event.formula.find('\n'));
      return display_width(step.event.id + " = " + formula) <= columns;
    });
  }

  std::string head(const std::string& title) const {
    return fmt::format(
        "<header>\n<p class=\"series\">Attention Lab · worksheet</p>\n<h1>{}</h1>\n<p "
        "class=\"subtitle\">{}</p>\n<p class=\"sources\"><code>{}</code>{}</p>\n</header>\n",
        escaped(sheet_.lesson), escaped(title), escaped(sheet_.command),
        sheet_.numbers.empty() ? "" : " · The numbers are " + escaped(sheet_.numbers) + ".");
  }

  std::string section(std::size_t i, const std::string& worked, const std::string& tables) const {
    const auto& step = sheet_.asked[i];
    return fmt::format(
        "<section class=\"step\">\n<h2><span class=\"number\">{}</span>{}</h2>\n{}{}{}</section>\n", i + 1,
        definition_for_paper(step), words_in_paragraph(step.event.title, " class=\"title\""), worked, tables);
  }

  const Sheet& sheet_;
  std::size_t tables_ = 0;
};

}  // namespace

std::string sheets_as_html(const std::vector<Sheet>& sheets, SheetPages pages) {
  std::string body;
  for (const auto& sheet : sheets) {
    PaperPage page(sheet);
    if (pages != SheetPages::answers) body += page.blank();
    if (pages != SheetPages::sheet) body += page.answers();
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n<style>{}</style>\n</head>\n"
      "<body>\n<main>\n{}</main>\n</body>\n</html>\n",
      html::content_policy(), escaped("Worksheet: " + sheets.front().lesson), html::style_sheet(), body);
}

}  // namespace attn
