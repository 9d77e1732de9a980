#include "trace/html/html.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "trace/html/assets.hpp"
#include "trace/html/escape.hpp"
#include "trace/html/flow.hpp"
#include "trace/html/formula.hpp"
#include "trace/html/note_table.hpp"
#include "trace/html/table.hpp"
#include "trace/svg/svg.hpp"
#include "trace/text/table.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

using html::escaped;

constexpr std::size_t most_cells_of_core = 10'000;  // shown without --full, in a table that scrolls
constexpr std::size_t most_cells_of_detail = 1'000;
constexpr std::size_t most_cells_of_late_detail = 60;
constexpr std::size_t many_bytes_of_details = 50'000;     // from which on a detail is a late one
constexpr std::size_t most_bytes_of_details = 74'000;     // from which on a detail has no table
constexpr std::size_t fewest_bytes_of_workings = 60'000;  // if they are needed
constexpr std::size_t usual_bytes = 220'000;              // of a page with its workings

std::string paragraphs(const std::string& prose, const char* style = "") {
  if (prose.empty()) return "";
  std::string markup;
  for (const auto& line : lines_of(prose))
    if (!line.empty()) markup += fmt::format("<p{}>{}</p>\n", style, escaped(line));
  return markup;
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
  return is_sentence(line) ? "<span>" + escaped(line) + "</span>" : html::mathml(printable(line));
}

/// Whether lines have words or their numbers in their first column: "m   the largest score".
bool is_table_of_words(const std::string& text) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(" ,-").find(c) != std::string_view::npos;
  };
  const auto lines = lines_of(text);
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    const auto gap = line.find("  ");
    return gap != line.npos && gap > 0 &&
           std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(gap), is_word) &&
           line[gap - 1] != ',';
  });
}

std::string formula_lines(const std::string& formula) {
  std::string markup;
  for (const auto& line : lines_of(formula))
    if (line.find_first_not_of(' ') != line.npos)
      markup += fmt::format("<div>{}</div>\n", html::mathml(line.substr(line.find_first_not_of(' '))));
  return markup.empty() ? "" : fmt::format("<div class=\"formula\">\n{}</div>\n", markup);
}

/// The id itself, or of "decoder/weights" the last part.
bool is_called(const std::string& id, std::string_view name) {
  return id == name || (id.ends_with(name) && id[id.size() - name.size() - 1] == '/');
}

/// "attnlab sdpa --causal   hide the words to come", or the remark on an indented line below the command.
std::string commands(const std::string& text) {
  std::string markup;
  for (const auto& line : lines_of(text)) {
    const auto start = line.find_first_not_of(' ');
    if (start == line.npos) continue;
    const auto gap = line.find("   ", start);
    const auto remark = start > 0 ? line.substr(start) : gap == line.npos ? "" : line.substr(gap + 3);
    if (start == 0) {
      markup += markup.empty() ? "<li>" : "</li>\n<li>";
      markup += fmt::format("<code>{}</code>", escaped(line.substr(0, gap)));
    }
    if (!remark.empty()) markup += fmt::format(" <span>{}</span>", escaped(remark));
  }
  return markup.empty() ? "" : fmt::format("<ul class=\"commands\">\n{}</li>\n</ul>\n", markup);
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
std::string definition_of_tensor(const Event& event, int precision) {
  auto markup = fmt::format("<span class=\"name\">{}</span>", with_breaks(escaped(event.id)));
  if (!event.formula.empty())
    markup += event.id.find('=') == event.id.npos ? " <span class=\"is\">=</span> " : ": ";
  const auto lines = lines_of(event.formula);
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].empty())
      markup += i == 0 ? formula_markup(lines[i])
                       : fmt::format("<span class=\"further\">{}</span>", formula_markup(lines[i]));
  if (event.tensor->shape.empty() && event.tensor->data != nullptr)
    markup += fmt::format(" <span class=\"is\">=</span> <span class=\"scalar\">{}</span>",
                          format_scalar(*event.tensor, {.precision = precision}));
  return markup;
}

std::string shape_of_tensor(const Event& event) {
  return event.tensor->shape.empty()
             ? ""
             : fmt::format("<span class=\"shape\">{}</span>", escaped(named_shape(event)));
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

}  // namespace

HtmlRenderer::HtmlRenderer(const Header& header, const HtmlStyle& style)
    : style_(style), workings_(style.precision) {
  title_ = fmt::format("{}: {}", header.lesson, header.title);
  lesson_ = header.lesson;
  write_header(header);
}

void HtmlRenderer::write_header(const Header& header) {
  std::string options;
  for (const auto& [name, value] : header.config) {
    if (!style_.all && header.usual.count(name) > 0) continue;
    if (const auto text = option_text(name, value); !text.empty())
      options += fmt::format("<li><code>{}</code></li>\n", escaped(text));
  }
  const auto sources = sources_of(header, style_.weights_by_hand);
  head_ = fmt::format(
      "<header>\n<p class=\"series\">Attention Lab</p>\n<h1>{}</h1>\n<p class=\"subtitle\">{}</p>\n",
      escaped(header.lesson), escaped(header.title));
  if (!options.empty())
    head_ += fmt::format("<ul class=\"options\" aria-label=\"Options\">\n{}</ul>\n", options);
  if (!sources.empty()) head_ += fmt::format("<p class=\"sources\">{}</p>\n", sources);
  head_ +=
      "<p class=\"hint\" hidden=\"hidden\">Point at a number, or walk through a table with the arrow keys: "
      "the page shows how it came about, and from where.</p>\n</header>\n";
}

void HtmlRenderer::receive(const Event& event) {
  names_.see(event);
  const bool is_on_page = style_.all || event.place;
  if (event.tensor && (is_on_page || !style_.brief)) {
    shapes_[event.id] = event.tensor->shape;
    if (event.is_core()) core_ids_.push_back(event.id);
  }
  if (event.tensor && event.tensor->data == nullptr) {
    outline_.push_back(fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n",
                                   escaped(event.id), escaped(named_shape(event)), escaped(event.formula)));
    return;
  }
  if (event.measurement) {
    (is_on_page ? claims_ : more_claims_).push_back(event);
    return;
  }
  if (style_.brief && !is_on_page) {
    more_.push_back({.form = event.tensor ? Block::Form::line : Block::Form::note});
    return;
  }
  const bool is_line = event.tensor && (!is_on_page || (!style_.all && event.place->in_one_line));
  auto block = !event.tensor ? note_block(event)
                             : tensor_block(event, is_line ? Block::Form::line : Block::Form::step);
  auto& blocks = is_on_page ? blocks_ : more_;
  block.position = style_.all || !event.place ? blocks.size() : event.place->position;
  blocks.push_back(std::move(block));
}

HtmlRenderer::Block HtmlRenderer::note_block(const Event& event) const {
  Block block{.id = event.id, .title = (event.kind == Kind::mistake ? "Mistake: " : "") + event.title};
  block.body = paragraphs(event.notice.empty() ? event.note : event.notice);
  if (event.formula.empty()) return block;
  if (is_called(event.id, "flow"))
    block.diagram = event.formula;
  else if (is_called(event.id, "next"))
    block.body += commands(event.formula);
  else if (is_called(event.id, "idea") && !is_table_of_words(event.formula))
    block.body += formula_lines(event.formula);
  else
    block.body += is_called(event.id, "code") ? html::preformatted(event.formula, event.title)
                                              : html::note_markup(event.formula, event.title);
  return block;
}

HtmlRenderer::Block HtmlRenderer::tensor_block(const Event& event, Block::Form form) {
  const bool is_core = style_.all || event.is_core();
  Block block{.form = form,
              .id = event.id,
              .title = event.title == event.id ? "" : event.title,
              .definition = definition_of_tensor(event, style_.precision),
              .shape = shape_of_tensor(event)};
  if (style_.brief && form == Block::Form::line) return block;
  if (style_.all || !event.place) block.body += origin(event);
  block.body += worked_line(event);
  block.body += numbers(event, is_core, !is_core && form != Block::Form::line);
  block.body += paragraphs(event.notice, " class=\"notice\"");
  if (!event.has_notice || style_.all) block.body += paragraphs(note_after_notice(event));
  if (!is_core) detail_bytes_ += block.definition.size() + block.body.size();
  return block;
}

/// Tables and plot.
std::string HtmlRenderer::numbers(const Event& event, bool is_core, bool is_folded) {
  const bool is_left_out = is_folded && style_.brief && !event.tensor->shape.empty();
  auto markup = is_left_out ? "" : tables(event, is_core);
  if (event.curve && (style_.all || !event.place || event.place->is_plotted)) markup += plot(event);
  if (!is_folded || (markup.empty() && !is_left_out)) return markup;
  return fmt::format("<details class=\"numbers\"><summary>Its numbers</summary>\n{}</details>\n", markup);
}

/// "from Q [4×4], K [4×4]".
std::string HtmlRenderer::origin(const Event& event) const {
  std::vector<std::string> origins;
  for (const auto& id : event.inputs) {
    const auto shape = shapes_.find(id);
    const bool has_shape = shape != shapes_.end() && !shape->second.empty();
    const auto name = escaped(id + (has_shape ? " [" + to_string(shape->second) + "]" : ""));
    origins.push_back(
        shape == shapes_.end() ? name : fmt::format("<a href=\"#{}\">{}</a>", escaped(anchor_of(id)), name));
  }
  if (event.kind == Kind::input) return "<p class=\"origin\">input</p>\n";
  if (origins.empty()) return "";
  return fmt::format("<p class=\"origin\">from {}</p>\n", fmt::join(origins, ", "));
}

/// "weights[sat, cat] = exp(0.33) / (exp(0.12) + exp(0.33)) ≈ 0.5525".
std::string HtmlRenderer::worked_line(const Event& event) const {
  const auto at = entry_to_work_out(event);
  if (!at) return "";
  const auto worked = event.worked(*at);
  if (!worked.is_finite()) return "";
  const auto number = [this](const Worked& part) { return worked_number(part, style_.precision); };
  std::string text;
  if (const auto* entry = worked.entry()) {
    text = names_.name(entry->tensor, entry->index) + " = " + number(worked);
  } else {
    text = text_on_page(worked, number);
    const auto result = worked_result(event, *at, worked.value(), text, style_.precision);
    if (result != "= " + text && result != "≈ " + text) text += " " + result;
  }
  return fmt::format("<p class=\"worked\"><span>{}</span> = {}</p>\n", escaped(names_.name(event.id, *at)),
                     escaped(text));
}

/// Of the tables of an event, beyond which they are elided.
std::size_t HtmlRenderer::most_cells(const Event& event, bool is_core) const {
  if (style_.full) return element_count(event.tensor->shape);
  if (is_core) return most_cells_of_core;
  return detail_bytes_ < many_bytes_of_details ? most_cells_of_detail : most_cells_of_late_detail;
}

void HtmlRenderer::add_workings(const Event& event, const std::vector<std::size_t>& cells, bool is_core) {
  if (!style_.brief) workings_.add(event, cells, is_core);
}

std::string HtmlRenderer::tables(const Event& event, bool is_core) {
  const auto number = workings_.number_of(event.id);
  if (event.tensor->shape.empty()) {
    add_workings(event, {}, is_core);
    return "";
  }
  if (!style_.full && !is_core && detail_bytes_ > most_bytes_of_details) {
    add_workings(event, {}, is_core);
    return fmt::format("<p class=\"legend\">Its numbers: <code>attnlab {} --steps {}</code></p>\n",
                       escaped(lesson_), escaped(event.id));
  }
  auto tables = html::tables_of(event, number,
                                {.precision = style_.precision, .most_cells = most_cells(event, is_core)});
  add_workings(event, tables.cells, is_core || event.place);
  std::string legend;
  if (event.tensor->dtype == Dtype::boolean) legend = "1 = may be seen, · = hidden";
  if (has_hidden_keys(event)) legend = "· = exactly 0";
  if (tables.is_elided)
    legend += (legend.empty() ? "" : "; ") + std::string("… = left out, shown with --full");
  if (!legend.empty()) tables.markup += fmt::format("<p class=\"legend\">{}</p>\n", legend);
  return std::move(tables.markup);
}

std::string HtmlRenderer::plot(const Event& event) const {
  if (event.tensor->shape.empty() || event.tensor->shape.size() > 2) return "";
  const auto drawing = svg::line_plot(event);
  return fmt::format(
      "<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-label=\"Plot\"><svg width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
      "aria-label=\"{2}\">\n{3}</svg></div>\n",
      drawing.width, drawing.height, escaped(drawing.description), drawing.elements);
}

/// The step of that name: the one with exactly this id, or else one whose id ends in it and which has that
/// shape, the first of those on the page or, where none is there, of those folded below it. Words without a
/// shape lead only to a step of the lesson's own, where there is but one.
std::string HtmlRenderer::address_of(const std::string& name, const std::string& shape) const {
  if (shapes_.count(name) > 0) return "#" + anchor_of(name);
  std::vector<std::string> found;
  for (const auto* blocks : {&blocks_, &more_})
    for (const auto& block : *blocks) {
      const auto known = shapes_.find(block.id);
      if (known == shapes_.end() || block.form == Block::Form::note || !is_called(block.id, name)) continue;
      if (shape.empty() ? std::count(core_ids_.begin(), core_ids_.end(), block.id) > 0
                        : to_string(known->second) == shape)
        found.push_back(block.id);
    }
  const bool is_clear = shape.empty() ? found.size() == 1 : !found.empty();
  return is_clear ? "#" + anchor_of(found[0]) : "";
}

std::string HtmlRenderer::folded(const Block& block) const {
  const auto summary = block.form == Block::Form::note ? escaped(block.title)
                                                       : fmt::format("{} {}", block.definition, block.shape);
  const auto title = block.form == Block::Form::note ? "" : paragraphs(block.title, " class=\"title\"");
  const auto anchor = block.form == Block::Form::note ? block.id : anchor_of(block.id);
  return fmt::format("<details class=\"line\" id=\"{}\"><summary>{}</summary>\n{}{}</details>\n",
                     escaped(anchor), summary, title, block.body);
}

/// In the order of the page. Lines of earlier lessons' steps stand together.
void HtmlRenderer::write_blocks() {
  std::stable_sort(blocks_.begin(), blocks_.end(),
                   [](const Block& a, const Block& b) { return a.position < b.position; });
  bool is_in_lines = false;
  for (const auto& block : blocks_) {
    const bool is_line = block.form == Block::Form::line;
    if (is_line != is_in_lines) text_ += is_line ? "<div class=\"earlier\">\n" : "</div>\n";
    is_in_lines = is_line;
    if (block.id != "next") write_block(block);
  }
  if (is_in_lines) text_ += "</div>\n";
}

void HtmlRenderer::write_block(const Block& block) {
  if (block.form == Block::Form::line) {
    text_ += folded(block);
  } else if (block.form == Block::Form::note) {
    auto body = block.body;
    if (!block.diagram.empty()) {
      const auto target = [this](const std::string& name, const std::string& shape) {
        return address_of(name, shape);
      };
      body +=
          fmt::format("<div class=\"drawing\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">\n{}</div>\n",
                      escaped(block.title), html::flow_drawing(block.diagram, target));
    }
    text_ += section(block.id, block.title, body);
  } else {
    text_ += fmt::format(
        "<section class=\"step\" id=\"{}\">\n<h2><span class=\"number\">{}</span> <span "
        "class=\"definition\">{}</span> "
        "{}</h2>\n{}{}</section>\n",
        escaped(anchor_of(block.id)), ++step_count_, block.definition, block.shape,
        paragraphs(block.title, " class=\"title\""), block.body);
  }
}

void HtmlRenderer::write_more() {
  if (more_.empty()) return;
  std::string body;
  std::size_t table_count = 0;
  for (const auto& block : more_) {
    if (!style_.brief) body += folded(block);
    if (block.form != Block::Form::note) ++table_count;
  }
  const auto note_count = more_.size() - table_count;
  auto summary = fmt::format("{} more table{}", table_count, table_count == 1 ? "" : "s");
  if (note_count > 0) summary += fmt::format(" and {} remark{}", note_count, note_count == 1 ? "" : "s");
  text_ +=
      section("more", "More of this run",
              fmt::format("<details class=\"more\"><summary>{}</summary>\n{}</details>\n", summary, body));
}

void HtmlRenderer::write_outline() {
  if (outline_.empty()) return;
  text_ += fmt::format(
      "<section id=\"shapes\">\n<h2>Shapes</h2>\n<div class=\"sheet\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"Shapes\"><table class=\"outline\">\n<thead><tr><th scope=\"col\">tensor</th><th "
      "scope=\"col\">shape</th><th "
      "scope=\"col\">formula</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n"
      "</section>\n",
      fmt::join(outline_, ""));
}

std::string HtmlRenderer::claim_item(const Event& claim) const {
  const auto& measurement = *claim.measurement;
  const bool holds = measurement.holds();
  std::string formula;
  for (const auto& line : lines_of(claim.formula))
    if (!line.empty()) formula += fmt::format("<p class=\"measure\">{}</p>\n", escaped(line));
  return fmt::format(
      "<li class=\"{}\"><details{}><summary><span class=\"mark\">{}</span> <span>{}</span> <span "
      "class=\"measured\">{}</span></summary>\n{}{}</details></li>\n",
      holds ? "holds" : "fails", holds ? "" : " open=\"open\"", holds ? "✓" : "✗", escaped(measurement.claim),
      escaped(measured(measurement, style_.precision)), formula, paragraphs(claim.note));
}

void HtmlRenderer::write_claims() {
  if (claims_.empty() && more_claims_.empty()) return;
  const auto list = [this](const std::vector<Event>& claims) {
    std::string items;
    for (const auto& claim : claims) items += claim_item(claim);
    return claims.empty() ? "" : fmt::format("<ul class=\"claims\">\n{}</ul>\n", items);
  };
  const auto does_hold = [](const Event& claim) { return claim.measurement->holds(); };
  const auto holding = std::count_if(claims_.begin(), claims_.end(), does_hold);
  auto body = list(claims_);
  body += fmt::format("<p class=\"verdict\">{} of {} claim{} hold{}.</p>\n", holding, claims_.size(),
                      claims_.size() == 1 && holding == 1 ? "" : "s", holding == 1 ? "s" : "");
  if (!more_claims_.empty())
    body += fmt::format("<details class=\"more\"><summary>{} more claim{}</summary>\n{}</details>\n",
                        more_claims_.size(), more_claims_.size() == 1 ? "" : "s", list(more_claims_));
  text_ += section("claims", "What holds on this run", body);
}

std::string HtmlRenderer::workings() const {
  if (style_.brief) return "null";
  const auto left = usual_bytes - std::min(usual_bytes, text_.size());
  return workings_.json(std::max(left, fewest_bytes_of_workings));
}

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
  write_outline();
  write_blocks();
  write_claims();
  for (const auto& block : blocks_)
    if (block.id == "next") text_ += section(block.id, block.title, block.body);
  write_more();
  const auto body = fmt::format(
      "{}<main>\n{}</main>\n"
      "<aside id=\"worked\" aria-label=\"The cell that you point at\" hidden=\"hidden\"><p "
      "id=\"worked-text\" role=\"status\"></p><p id=\"worked-from\"></p></aside>\n"
      "<footer><p>Made by <code>attnlab {} --format html</code></p></footer>\n"
      "<script type=\"application/json\" id=\"workings\">{}</script>\n",
      head_, text_, escaped(lesson_), workings());
  text_.clear();
  blocks_.clear();
  return body;
}

}  // namespace attn
