#include "page/html/html.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "page/html/assets.hpp"
#include "page/html/escape.hpp"
#include "page/html/flow.hpp"
#include "page/html/formula.hpp"
#include "page/html/note_table.hpp"
#include "page/html/table.hpp"
#include "page/svg/panel.hpp"
#include "page/table.hpp"
#include "page/text/table.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

using html::escaped;

constexpr std::size_t most_cells_of_page = 10'000;        // of a tensor, in a table that scrolls
constexpr std::size_t fewest_bytes_of_workings = 60'000;  // if they are needed
constexpr std::size_t usual_bytes = 220'000;              // of a page with its workings

std::string paragraph_markup(const std::vector<std::string>& lines, const char* style = "") {
  std::string markup;
  for (const auto& line : lines)
    if (!line.empty()) markup += fmt::format("<p{}>{}</p>\n", style, escaped(line));
  return markup;
}

std::string paragraphs(const std::string& prose, const char* style = "") {
  return prose.empty() ? "" : paragraph_markup(lines_of(prose), style);
}

/// Whether a formula is a sentence: three words or more and no sign.
bool is_sentence(const std::string& formula) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ' ' || c == ',' || c == ';';
  };
  return std::count(formula.begin(), formula.end(), ' ') > 1 &&
         std::all_of(formula.begin(), formula.end(), is_plain);
}

std::string formula_markup(const std::string& line) {
  return is_sentence(line) ? "<span>" + escaped(line) + "</span>" : html::mathml(line);
}

std::string anchor_of(const std::string& id) {
  return "t-" + id;
}

/// A line may end after each part of "decoder/weights".
std::string with_breaks(const std::string& id) {
  std::string markup;
  for (const char c : id) markup += c == '/' ? "/<wbr/>" : std::string(1, c);
  return markup;
}

/// "scores = Q Kᵀ / √d_k".
std::string definition_markup(const page::Step& step) {
  auto markup = fmt::format("<span class=\"name\">{}</span>", with_breaks(escaped(step.id)));
  const auto& [lines, mathml] = step.formula;
  if (!lines.front().empty() || lines.size() > 1)
    markup += step.id.find('=') == step.id.npos ? " <span class=\"is\">=</span> " : ": ";
  if (!mathml.empty())
    markup += "<math>" + mathml + "</math>";
  else
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (!lines[i].empty())
        markup += i == 0 ? formula_markup(lines[i])
                         : fmt::format("<span class=\"further\">{}</span>", formula_markup(lines[i]));
  if (!step.scalar.empty())
    markup += fmt::format(" <span class=\"is\">=</span> <span class=\"scalar\">{}</span>", step.scalar);
  return markup;
}

std::string shape_markup(const page::Step& step) {
  return step.named_shape.empty() ? ""
                                  : fmt::format("<span class=\"shape\">{}</span>", escaped(step.named_shape));
}

/// Where the numbers of a run come from.
std::string sources_of(const Header& header, bool weights_by_hand) {
  const auto model = header.text("model");
  std::string seed;
  for (const auto& [name, value] : header.config) {
    if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr && name == "seed")
      seed = fmt::format("{}", *number);
  }
  if (!model.empty() && model != "none")
    return fmt::format("The weights were {}: they are those of the model <b>{}</b>.",
                       weights_by_hand ? "set by hand" : "trained", escaped(model));
  const auto origin = header.text(origin_of_numbers);
  if (seed.empty()) return "";
  return origin.empty() ? fmt::format("What is not given is drawn at random, with seed <b>{}</b>.", seed)
                        : fmt::format("The numbers are {}, with seed <b>{}</b>.", origin, seed);
}

std::string section(const std::string& id, const std::string& title, const std::string& body,
                    const char* style = "note") {
  return fmt::format("<section class=\"{}\" id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", style, escaped(id),
                     escaped(title), body);
}

/// Writes one page.
class HtmlWriter {
 public:
  HtmlWriter(const page::Page& page, const HtmlStyle& style, html::Workings& workings)
      : page_(page), style_(style), workings_(workings) {
    add_steps(page.sections);
    if (!style.brief) add_steps(page.more);
  }

  std::string write() {
    write_outline();
    write_sections();
    write_claims();
    if (page_.next) write_note(*page_.next);
    write_more();
    const auto head = header();
    const auto left = usual_bytes - std::min(usual_bytes, text_.size());
    const auto workings = style_.brief ? "null" : workings_.json(std::max(left, fewest_bytes_of_workings));
    return fmt::format(
        "{}<main>\n{}</main>\n"
        "<aside id=\"worked\" aria-label=\"The cell that you point at\" hidden=\"hidden\"><p "
        "id=\"worked-text\" role=\"status\"></p><p id=\"worked-from\"></p></aside>\n"
        "<footer><p>Made by <code>attnlab {} --format html</code></p></footer>\n"
        "<script type=\"application/json\" id=\"workings\">{}</script>\n",
        head, text_, escaped(page_.header.lesson), workings);
  }

 private:
  void add_steps(const std::vector<page::Section>& sections) {
    for (const auto& section : sections)
      if (const auto* step = std::get_if<page::Step>(&section.content)) {
        steps_.push_back(step);
        if (section.form == page::Form::whole) whole_.insert(step->id);
      }
  }

  std::string header() const;
  void write_outline();
  void write_sections();
  void write_note(const page::Note& note);
  void write_step(const page::Step& step, bool has_table);
  void write_claims();
  void write_more();

  std::string note_body(const page::Note& note) const;
  std::string block_markup(const page::Block& block, const std::string& title) const;
  std::string folded(const page::Section& section) const;
  std::string origins(const page::Step& step) const;
  std::string numbers(const page::Step& step) const;
  std::string table(const page::Step& step) const;
  std::string claim_item(const page::Claim& claim) const;
  std::string address_of(const std::string& name, const std::string& shape) const;

  const page::Page& page_;
  const HtmlStyle& style_;
  html::Workings& workings_;
  std::string text_;
  std::vector<const page::Step*>
      steps_;                    ///< of the page, then those that are folded below it, if they are there
  std::set<std::string> whole_;  ///< ids of those that the page shows with their numbers
  std::size_t step_count_ = 0;
};

std::string HtmlWriter::header() const {
  const auto& header = page_.header;
  std::string options;
  for (const auto& [name, value] : header.config) {
    if (!style_.all && header.usual.count(name) > 0) continue;
    if (const auto text = option_text(name, value); !text.empty())
      options += fmt::format("<li><code>{}</code></li>\n", escaped(text));
  }
  const auto sources = sources_of(header, style_.weights_by_hand);
  auto markup = fmt::format(
      "<header>\n<p class=\"series\">Attention Lab</p>\n<h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n",
      escaped(header.lesson), escaped(header.title));
  if (!options.empty())
    markup += fmt::format("<ul class=\"options\" aria-label=\"Options\">\n{}</ul>\n", options);
  if (!sources.empty()) markup += fmt::format("<p class=\"sources\">{}</p>\n", sources);
  return markup +
         "<p class=\"hint\" hidden=\"hidden\">Point at a number, or walk through a table with the arrow "
         "keys: the page shows how it came about, and from where.</p>\n</header>\n";
}

std::string drawing(const page::Diagram& diagram, const std::string& title, const html::Target& target) {
  return fmt::format("<div class=\"drawing\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">\n{}</div>\n",
                     escaped(title),
                     html::flow_drawing(fmt::format("{}", fmt::join(diagram.lines, "\n")), target).elements);
}

std::string formulas(const std::vector<std::string>& lines) {
  std::string markup;
  for (const auto& line : lines)
    if (const auto start = line.find_first_not_of(' '); start != line.npos)
      markup += fmt::format("<div>{}</div>\n", html::mathml(line.substr(start)));
  return markup.empty() ? "" : fmt::format("<div class=\"formula\">\n{}</div>\n", markup);
}

std::string commands(const std::vector<page::Command>& list) {
  std::string markup;
  for (const auto& [command, remark] : list)
    markup += fmt::format("<li><code>{}</code>{}</li>\n", escaped(command),
                          remark.empty() ? "" : fmt::format(" <span>{}</span>", escaped(remark)));
  return markup.empty() ? "" : fmt::format("<ul class=\"commands\">\n{}</ul>\n", markup);
}

std::string HtmlWriter::block_markup(const page::Block& block, const std::string& title) const {
  if (const auto* diagram = std::get_if<page::Diagram>(&block))
    return drawing(*diagram, title, [this](const std::string& name, const std::string& shape) {
      return address_of(name, shape);
    });
  if (const auto* list = std::get_if<page::Commands>(&block)) return commands(list->list);
  if (const auto* alone = std::get_if<page::Formulas>(&block)) return formulas(alone->lines);
  if (const auto* code = std::get_if<page::Code>(&block))
    return html::preformatted(fmt::format("{}", fmt::join(code->lines, "\n")), title);
  return html::note_markup(fmt::format("{}", fmt::join(std::get<page::Layout>(block).lines, "\n")), title);
}

std::string HtmlWriter::note_body(const page::Note& note) const {
  auto markup = paragraph_markup(note.paragraphs);
  for (const auto& block : note.blocks) markup += block_markup(block, note.title);
  return markup;
}

void HtmlWriter::write_note(const page::Note& note) {
  text_ += section(note.id, note.title, note_body(note));
}

/// "weights[sat, cat] = exp(0.33) / (exp(0.12) + exp(0.33)) ≈ 0.5525".
std::string worked_line(const std::optional<page::WorkedEntry>& worked) {
  if (!worked) return "";
  const auto& [name, expression, result] = *worked;
  return fmt::format("<p class=\"worked\"><span>{}</span> = {}</p>\n", escaped(name),
                     escaped(result.empty() ? expression : expression + " " + result));
}

/// "from Q [4×4], K [4×4]".
std::string HtmlWriter::origins(const page::Step& step) const {
  if (step.is_input) return "<p class=\"origin\">input</p>\n";
  std::vector<std::string> origins;
  for (const auto& [id, shape] : step.origins) {
    const auto name = escaped(id + (shape && !shape->empty() ? " [" + to_string(*shape) + "]" : ""));
    origins.push_back(shape ? fmt::format("<a href=\"#{}\">{}</a>", escaped(anchor_of(id)), name) : name);
  }
  return origins.empty() ? "" : fmt::format("<p class=\"origin\">from {}</p>\n", fmt::join(origins, ", "));
}

std::string HtmlWriter::table(const page::Step& step) const {
  if (step.shape.empty()) return "";
  if (!step.table)
    return fmt::format("<p class=\"legend\">Its numbers: <code>attnlab {} --steps {}</code></p>\n",
                       escaped(page_.header.lesson), escaped(step.id));
  const auto& table = *step.table;
  auto markup = html::table_markup(step.id, table, workings_.number_of(step.id));
  std::string legend;
  if (table.kind == page::Table::Kind::mask) legend = "1 = may be seen, · = hidden";
  if (table.has_hidden) legend = "· = exactly 0";
  if (table.is_elided)
    legend += (legend.empty() ? "" : "; ") + std::string("… = left out, shown with --full");
  return markup + (legend.empty() ? "" : fmt::format("<p class=\"legend\">{}</p>\n", legend));
}

std::string plot(const page::Step& step) {
  if (!step.curves) return "";
  const auto drawing = svg::lines.draw({.id = step.id, .content = *step.curves}, {760.0, 380.0}, {});
  return fmt::format(
      "<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-label=\"Plot\"><svg width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
      "aria-label=\"A plot of {2} over {3}.\">\n{4}</svg></div>\n",
      drawing.width, drawing.height, escaped(step.id), escaped(step.curves->axis), drawing.elements);
}

/// Tables and plot.
std::string HtmlWriter::numbers(const page::Step& step) const {
  return table(step) + plot(step);
}

std::string notes_of(const page::Step& step) {
  return paragraphs(step.notice, " class=\"notice\"") + paragraphs(step.note);
}

void HtmlWriter::write_step(const page::Step& step, bool has_table) {
  auto body = style_.all ? origins(step) : "";
  body += worked_line(step.worked);
  if (has_table)
    body += numbers(step);
  else if (const auto folded = (style_.brief ? "" : table(step)) + plot(step);
           !folded.empty() || (style_.brief && !step.shape.empty()))
    body += fmt::format("<details class=\"numbers\"><summary>Its numbers</summary>\n{}</details>\n", folded);
  body += notes_of(step);
  text_ += fmt::format(
      "<section class=\"step\" id=\"{}\">\n<h2><span class=\"number\">{}</span> <span "
      "class=\"definition\">{}</span> "
      "{}</h2>\n{}{}</section>\n",
      escaped(anchor_of(step.id)), ++step_count_, definition_markup(step), shape_markup(step),
      paragraphs(step.title, " class=\"title\""), body);
}

/// The step of that name: the one with exactly this id, or else one whose id ends in it and which has that
/// shape, the first of those on the page or, where none is there, of those folded below it. Words without a
/// shape lead only to a step that the page shows whole, where there is but one.
std::string HtmlWriter::address_of(const std::string& name, const std::string& shape) const {
  std::vector<std::string> found;
  for (const auto* step : steps_) {
    if (step->id == name) return "#" + anchor_of(name);
    if (last_of_path(step->id) != name) continue;
    if (shape.empty() ? whole_.count(step->id) > 0 : to_string(step->shape) == shape)
      found.push_back(step->id);
  }
  const bool is_clear = shape.empty() ? found.size() == 1 : !found.empty();
  return is_clear ? "#" + anchor_of(found[0]) : "";
}

std::string HtmlWriter::folded(const page::Section& section) const {
  const auto details = [](const std::string& id, const std::string& summary, const std::string& body) {
    return fmt::format("<details class=\"line\" id=\"{}\"><summary>{}</summary>\n{}</details>\n", escaped(id),
                       summary, body);
  };
  if (const auto* note = std::get_if<page::Note>(&section.content))
    return details(note->id, escaped(note->title), note_body(*note));
  const auto& step = std::get<page::Step>(section.content);
  auto body = paragraphs(step.title, " class=\"title\"");
  if (!style_.brief && section.form == page::Form::folded) body += origins(step);
  if (!style_.brief) body += worked_line(step.worked) + numbers(step) + notes_of(step);
  return details(anchor_of(step.id), fmt::format("{} {}", definition_markup(step), shape_markup(step)), body);
}

/// Lines of earlier lessons' steps stand together.
void HtmlWriter::write_sections() {
  bool is_in_lines = false;
  for (const auto& section : page_.sections) {
    const bool is_line = section.form == page::Form::line;
    if (is_line != is_in_lines) text_ += is_line ? "<div class=\"earlier\">\n" : "</div>\n";
    is_in_lines = is_line;
    if (is_line)
      text_ += folded(section);
    else if (const auto* note = std::get_if<page::Note>(&section.content))
      write_note(*note);
    else
      write_step(std::get<page::Step>(section.content), section.form == page::Form::whole);
  }
  if (is_in_lines) text_ += "</div>\n";
}

void HtmlWriter::write_more() {
  if (page_.more.empty()) return;
  std::string body;
  std::size_t table_count = 0;
  for (const auto& section : page_.more) {
    if (!style_.brief) body += folded(section);
    if (std::holds_alternative<page::Step>(section.content)) ++table_count;
  }
  const auto note_count = page_.more.size() - table_count;
  auto summary = fmt::format("{} more table{}", table_count, table_count == 1 ? "" : "s");
  if (note_count > 0) summary += fmt::format(" and {} remark{}", note_count, note_count == 1 ? "" : "s");
  text_ +=
      section("more", "More of this run",
              fmt::format("<details class=\"more\"><summary>{}</summary>\n{}</details>\n", summary, body));
}

void HtmlWriter::write_outline() {
  if (page_.outline.empty()) return;
  std::string rows;
  for (const auto& [id, shape, formula] : page_.outline)
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", escaped(id),
                        escaped(shape), escaped(fmt::format("{}", fmt::join(formula, "\n"))));
  text_ += fmt::format(
      "<section id=\"shapes\">\n<h2>Shapes</h2>\n<div class=\"sheet\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"Shapes\"><table class=\"outline\">\n<thead><tr><th scope=\"col\">tensor</th><th "
      "scope=\"col\">shape</th><th "
      "scope=\"col\">formula</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n"
      "</section>\n",
      rows);
}

std::string HtmlWriter::claim_item(const page::Claim& claim) const {
  const auto& measurement = claim.measurement;
  const bool holds = measurement.holds();
  return fmt::format(
      "<li class=\"{}\"><details{}><summary><span class=\"mark\">{}</span> <span>{}</span> <span "
      "class=\"measured\">{}</span></summary>\n{}{}</details></li>\n",
      holds ? "holds" : "fails", holds ? "" : " open=\"open\"", holds ? "✓" : "✗", escaped(measurement.claim),
      escaped(measured(measurement, style_.precision)), paragraph_markup(claim.formula, " class=\"measure\""),
      paragraphs(claim.note));
}

void HtmlWriter::write_claims() {
  const auto& claims = page_.claims;
  const auto& more = page_.more_claims;
  if (claims.empty() && more.empty()) return;
  const auto list = [this](const std::vector<page::Claim>& some) {
    std::string items;
    for (const auto& claim : some) items += claim_item(claim);
    return some.empty() ? "" : fmt::format("<ul class=\"claims\">\n{}</ul>\n", items);
  };
  const auto does_hold = [](const page::Claim& claim) { return claim.measurement.holds(); };
  const auto holding = std::count_if(claims.begin(), claims.end(), does_hold);
  auto body = list(claims);
  body += fmt::format("<p class=\"verdict\">{} of {} claim{} hold{}.</p>\n", holding, claims.size(),
                      claims.size() == 1 && holding == 1 ? "" : "s", holding == 1 ? "s" : "");
  if (!more.empty())
    body += fmt::format("<details class=\"more\"><summary>{} more claim{}</summary>\n{}</details>\n",
                        more.size(), more.size() == 1 ? "" : "s", list(more));
  text_ += section("claims", "What holds on this run", body);
}

page::PageStyle page_style_of(const HtmlStyle& style) {
  return {.precision = style.precision,
          .full = style.full,
          .all = style.all,
          .has_details = !style.brief,
          .most_cells = most_cells_of_page};
}

}  // namespace

HtmlRenderer::HtmlRenderer(const Header& header, const HtmlStyle& style)
    : style_(style),
      workings_(style.precision),
      builder_(header, page_style_of(style),
               [this](const Event& event, const page::Step& step) {
                 if (style_.brief) return;
                 workings_.add(event, step.table ? page::offsets_of(*step.table) : std::vector<std::size_t>(),
                               style_.all || event.place);
               }),
      lesson_(header.lesson),
      title_(fmt::format("{}: {}", header.lesson, header.title)) {}

std::string HtmlRenderer::finish() {
  const auto body = finish_body();
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<meta name=\"generator\" content=\"attnlab\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body data-lesson=\"{}\">\n{}"
      "<script>{}</script>\n</body>\n</html>\n",
      html::content_policy(), escaped(title_), html::style_sheet(), escaped(lesson_), body,
      html::page_script());
}

std::string HtmlRenderer::finish_body() {
  return HtmlWriter(builder_.finish(), style_, workings_).write();
}

}  // namespace attn
