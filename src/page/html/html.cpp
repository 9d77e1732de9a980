#include "page/html/html.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "page/builder.hpp"
#include "page/html/markup.hpp"
#include "page/svg/panel.hpp"
#include "page/text/plain.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

using html::escaped;

constexpr std::size_t most_cells_of_page = 10'000;        // of a tensor, in a table that scrolls
constexpr std::size_t fewest_bytes_of_workings = 60'000;  // if they are needed
constexpr std::size_t usual_bytes = 220'000;              // of a page with its workings

/// Whether a formula is a sentence: three words or more and no sign.
bool is_sentence(const std::string& formula) {
  return std::count(formula.begin(), formula.end(), ' ') > 1 &&
         formula.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789 ,;") == formula.npos;
}

std::string formula_markup(const std::string& line) {
  return is_sentence(line) ? "<span>" + escaped(line) + "</span>" : html::mathml(line);
}

std::string anchor_of(const std::string& id) {
  return "t-" + id;
}

/// "scores = Q Kᵀ / √d_k". A line may end after each part of "decoder/weights".
std::string definition_markup(const page::Step& step) {
  auto markup = fmt::format("<span class=\"name\">{}</span>", replaced(escaped(step.id), "/", "/<wbr/>"));
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
  const auto* const seed = header.find<std::int64_t>("seed");
  if (!model.empty() && model != "none")
    return fmt::format("The weights were {}: they are those of the model <b>{}</b>.",
                       weights_by_hand ? "set by hand" : "trained", escaped(model));
  const auto origin = header.text(origin_of_numbers);
  if (seed == nullptr) return "";
  return origin.empty() ? fmt::format("What is not given is drawn at random, with seed <b>{}</b>.", *seed)
                        : fmt::format("The numbers are {}, with seed <b>{}</b>.", origin, *seed);
}

std::string section_markup(const std::string& id, const std::string& title, const std::string& body) {
  return html::filled("section", escaped(id), escaped(title), body);
}

std::string commands(const std::vector<page::Command>& list) {
  std::string markup;
  for (const auto& [command, remark] : list)
    markup += fmt::format("<li><code>{}</code>{}</li>\n", escaped(command),
                          remark.empty() ? "" : fmt::format(" <span>{}</span>", escaped(remark)));
  return markup.empty() ? "" : fmt::format("<ul class=\"commands\">\n{}</ul>\n", markup);
}

/// "weights[sat, cat] = exp(0.33) / (exp(0.12) + exp(0.33)) ≈ 0.5525".
std::string worked_line(const std::optional<page::WorkedEntry>& worked) {
  if (!worked) return "";
  const auto& [name, expression, result] = *worked;
  return fmt::format("<p class=\"worked\"><span>{}</span> = {}</p>\n", escaped(name),
                     escaped(result.empty() ? expression : expression + " " + result));
}

std::string plot(const page::Step& step) {
  if (!step.curves) return "";
  const auto drawing = svg::lines.draw({.id = step.id, .content = *step.curves}, {760.0, 380.0}, {});
  return html::filled("plot", drawing.width, drawing.height, escaped(step.id), escaped(step.curves->axis),
                      drawing.elements);
}

std::string notes_of(const page::Step& step) {
  return html::paragraphs(step.notice, " class=\"notice\"") + html::paragraphs(step.note);
}

PageStyle with_details(PageStyle style) {
  style.has_details = !style.brief;
  style.plain = false;
  style.most_cells = most_cells_of_page;
  return style;
}

/// Writes one page.
class HtmlWriter {
 public:
  HtmlWriter(const page::Page& page, const PageStyle& style, html::Workings& workings)
      : page_(page), style_(style), workings_(workings) {
    add_steps(page.sections);
    if (!style.brief) add_steps(page.more);
  }

  std::string write() {
    write_outline();
    write_sections();
    write_claims();
    if (page_.next) text_ += section_markup(page_.next->id, page_.next->title, note_body(*page_.next));
    write_more();
    const auto head = header();
    const auto left = usual_bytes - std::min(usual_bytes, text_.size());
    const auto workings = style_.brief ? "null" : workings_.json(std::max(left, fewest_bytes_of_workings));
    return html::filled("page", head, text_, escaped(page_.header.lesson), workings);
  }

 private:
  void add_steps(const std::vector<page::Section>& sections) {
    for (const auto& section : sections)
      if (const auto* step = std::get_if<page::Step>(&section.content)) {
        steps_.push_back(step);
        if (section.form == page::Form::whole) whole_.insert(step->id);
      }
  }

  std::string header() const {
    const auto& header = page_.header;
    std::string options;
    for (const auto& [name, value] : header.config) {
      if (!style_.all && header.usual.count(name) > 0) continue;
      if (const auto text = option_text(name, value); !text.empty())
        options += fmt::format("<li><code>{}</code></li>\n", escaped(text));
    }
    const auto sources = sources_of(header, style_.weights_by_hand);
    if (!options.empty())
      options = fmt::format("<ul class=\"options\" aria-label=\"Options\">\n{}</ul>\n", options);
    return html::filled("header", escaped(header.lesson), escaped(header.title), options,
                        sources.empty() ? "" : fmt::format("<p class=\"sources\">{}</p>\n", sources));
  }

  std::string block_markup(const page::Block& block, const std::string& title) const {
    using Kind = page::Block::Kind;
    if (block.kind == Kind::commands) return commands(block.commands);
    if (block.kind == Kind::formulas) return html::formulas(block.lines);
    const auto text = fmt::format("{}", fmt::join(block.lines, "\n"));
    if (block.kind == Kind::code) return html::preformatted(text, title);
    if (block.kind == Kind::layout) return html::note_markup(text, title);
    const auto target = [this](const auto& name, const auto& shape) { return address_of(name, shape); };
    return html::filled("drawing", escaped(title), html::flow_drawing(text, target).elements);
  }

  std::string note_body(const page::Note& note) const {
    return html::paragraphs(note.paragraphs) + (note.block ? block_markup(*note.block, note.title) : "");
  }

  /// "from Q [4×4], K [4×4]".
  std::string origins(const page::Step& step) const {
    if (step.is_input) return "<p class=\"origin\">input</p>\n";
    std::vector<std::string> origins;
    for (const auto& [id, name, is_there] : step.origins)
      origins.push_back(is_there
                            ? fmt::format("<a href=\"#{}\">{}</a>", escaped(anchor_of(id)), escaped(name))
                            : escaped(name));
    return origins.empty() ? "" : fmt::format("<p class=\"origin\">from {}</p>\n", fmt::join(origins, ", "));
  }

  std::string table(const page::Step& step) const {
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

  void write_step(const page::Step& step, bool has_table) {
    auto body = style_.all ? origins(step) : "";
    body += worked_line(step.worked);
    if (has_table)
      body += table(step) + plot(step);
    else if (const auto folded = (style_.brief ? "" : table(step)) + plot(step);
             !folded.empty() || (style_.brief && !step.shape.empty()))
      body += html::filled("numbers", folded);
    body += notes_of(step);
    text_ += html::filled("step", escaped(anchor_of(step.id)), ++step_count_, definition_markup(step),
                          shape_markup(step), html::paragraphs(step.title, " class=\"title\""), body);
  }

  /// The step of that name: the one with exactly this id, or else one whose id ends in it and which has that
  /// shape, the first of those on the page or, where none is there, of those folded below it. Words without a
  /// shape lead only to a step that the page shows whole, where there is but one.
  std::string address_of(const std::string& name, const std::string& shape) const {
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

  std::string folded(const page::Section& section) const {
    if (const auto* note = std::get_if<page::Note>(&section.content))
      return html::filled("line", escaped(note->id), escaped(note->title), note_body(*note));
    const auto& step = std::get<page::Step>(section.content);
    auto body = html::paragraphs(step.title, " class=\"title\"");
    if (!style_.brief && section.form == page::Form::folded) body += origins(step);
    if (!style_.brief) body += worked_line(step.worked) + table(step) + plot(step) + notes_of(step);
    return html::filled("line", escaped(anchor_of(step.id)),
                        definition_markup(step) + " " + shape_markup(step), body);
  }

  /// Lines of earlier lessons' steps stand together.
  void write_sections() {
    bool is_in_lines = false;
    for (const auto& section : page_.sections) {
      const bool is_line = section.form == page::Form::line;
      if (is_line != is_in_lines) text_ += is_line ? "<div class=\"earlier\">\n" : "</div>\n";
      is_in_lines = is_line;
      if (is_line)
        text_ += folded(section);
      else if (const auto* note = std::get_if<page::Note>(&section.content))
        text_ += section_markup(note->id, note->title, note_body(*note));
      else
        write_step(std::get<page::Step>(section.content), section.form == page::Form::whole);
    }
    if (is_in_lines) text_ += "</div>\n";
  }

  void write_more() {
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
    text_ += section_markup("more", "More of this run", html::filled("more", summary, body));
  }

  void write_outline() {
    if (page_.outline.empty()) return;
    std::string rows;
    for (const auto& row : page_.outline)
      rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", escaped(row.id),
                          escaped(row.named_shape),
                          escaped(fmt::format("{}", fmt::join(row.formula.lines, "\n"))));
    text_ += html::filled("shapes", rows);
  }

  std::string claim_item(const page::Claim& claim) const {
    const auto& measurement = claim.measurement;
    const bool holds = measurement.holds();
    return html::filled("claim", holds ? "holds" : "fails", holds ? "" : " open=\"open\"", holds ? "✓" : "✗",
                        escaped(measurement.claim), escaped(measured(measurement, style_.precision)),
                        html::paragraphs(claim.formula, " class=\"measure\""), html::paragraphs(claim.note));
  }

  void write_claims() {
    const auto& claims = page_.claims;
    const auto& more = page_.more_claims;
    if (claims.empty() && more.empty()) return;
    const auto list = [this](const std::vector<page::Claim>& some) {
      std::string items;
      for (const auto& claim : some) items += claim_item(claim);
      return some.empty() ? "" : fmt::format("<ul class=\"claims\">\n{}</ul>\n", items);
    };
    auto body = list(claims);
    body += fmt::format("<p class=\"verdict\">{}</p>\n", page::verdict_on(claims));
    if (!more.empty())
      body += html::filled("more", fmt::format("{} more claim{}", more.size(), more.size() == 1 ? "" : "s"),
                           list(more));
    text_ += section_markup("claims", "What holds on this run", body);
  }

  const page::Page& page_;
  const PageStyle& style_;
  html::Workings& workings_;
  std::string text_;
  std::vector<const page::Step*>
      steps_;                    ///< of the page, then those that are folded below it, if they are there
  std::set<std::string> whole_;  ///< ids of those that the page shows with their numbers
  std::size_t step_count_ = 0;
};

}  // namespace

HtmlRenderer::HtmlRenderer(const Header& header, const PageStyle& style)
    : style_(style),
      workings_(style.precision),
      builder_(header, with_details(style), [this](const Event& event, const page::Step& step) {
        if (style_.brief) return;
        workings_.add(event, step.table ? page::offsets_of(*step.table) : std::vector<std::size_t>(),
                      style_.all || event.place);
      }) {}

std::string HtmlRenderer::finish() {
  const auto page = builder_.finish();
  const auto& [lesson, title, config, usual] = page.header;
  const auto body = HtmlWriter(page, style_, workings_).write();
  return html::document(html::content_policy(), lesson + ": " + title, html::style_sheet(),
                        fmt::format(" data-lesson=\"{}\"", escaped(lesson)),
                        fmt::format("{}<script>{}</script>\n", body, html::page_script()));
}

std::string HtmlRenderer::finish_body() {
  return HtmlWriter(builder_.finish(), style_, workings_).write();
}

}  // namespace attn
