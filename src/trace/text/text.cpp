#include "trace/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/text/width.hpp"
#include "trace/text/ansi.hpp"
#include "trace/text/lines.hpp"
#include "trace/text/plain.hpp"
#include "trace/text/plot.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

constexpr std::size_t body_indent = 2;
constexpr std::size_t formula_indent = 6;  // less where a formula would be too wide
constexpr std::size_t narrowest = 20;      // columns that a text needs at least

/// A line no wider than that; the parts below the first are indented.
std::vector<std::string> wrapped(const std::string& line, std::size_t width, std::size_t indent) {
  if (display_width(line) <= width) return {line};
  const auto start = line.find_first_not_of(' ');
  auto parts = wrap(line.substr(start), width - std::max(indent, start));
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = std::string(i == 0 ? start : std::max(indent, start), ' ') + parts[i];
  return parts;
}

/// "scores = Q Kᵀ", "entropy = −Σ w ln w = 1.2500": the further lines of a formula stand below its first one.
std::string definition_of(const Event& event, const TextStyle& style) {
  const std::string_view equals = event.id.find('=') == event.id.npos ? " = " : ": ";
  auto lines = lines_of(event.id + (event.formula.empty() ? "" : std::string(equals) + event.formula));
  const std::string margin(display_width(event.id) + equals.size(), ' ');
  for (std::size_t i = 1; i < lines.size(); ++i) lines[i] = margin + lines[i];
  if (event.tensor->shape.empty() && event.tensor->data != nullptr)
    lines.back() += " = " + format_scalar(*event.tensor, style);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// Where the last part of an id begins: "scores" of "additive/scores", whose "/" would read as a division.
std::size_t without_groups(const std::string& id) {
  const auto slash = id.rfind('/');
  return slash == id.npos ? 0 : slash + 1;
}

}  // namespace

TextRenderer::TextRenderer(const Header& header, const TextStyle& style) : style_(style) {
  style_.width = std::max(style.width, narrowest);
  write_header(header);
}

void TextRenderer::write_header(const Header& header) {
  write_heading("", fmt::format("{}: {}", header.lesson, header.title));
  if (!style_.plain) write_rule();
  std::vector<std::string> options;
  for (const auto& [name, value] : header.config)
    if (style_.all || header.usual.count(name) == 0) options.push_back(option_text(name, value));
  for (const auto& line : pack(options, "  ", style_.width - body_indent)) write_line(line, body_indent);
}

void TextRenderer::write_rule() {
  std::string rule;
  for (std::size_t i = 0; i < style_.width; ++i) rule += "─";
  write_line(rule);
}

void TextRenderer::receive(const Event& event) {
  if (event.tensor) shapes_[event.id] = event.tensor->shape;
  names_.see(event);
  if (event.tensor && event.tensor->data == nullptr)
    return outline_.push_back({event.id, named_shape(event), event.formula});
  const bool is_shown = style_.all || event.place;
  if (event.measurement) {
    if (is_shown)
      claims_.push_back(event);
    else
      ++claims_left_out_;
  } else if (!is_shown) {
    if (event.tensor) left_out_.push_back(event.id);
  } else if (style_.plain && !event.tensor && is_drawing(event.formula)) {
    return;
  } else if (event.id == "next") {
    next_ = note_block(event);
  } else {
    blocks_.push_back(!event.tensor                             ? note_block(event)
                      : !style_.all && event.place->in_one_line ? line_block(event)
                                                                : tensor_block(event));
    blocks_.back().position = style_.all ? blocks_.size() : event.place->position;
  }
}

std::string TextRenderer::finish() {
  write_outline();
  write_blocks();
  write_what_is_left_out();
  if (!claims_.empty()) write_claims();
  if (next_) write_block(*next_);
  auto text = std::exchange(text_, {});
  return style_.plain ? in_ascii(text) : text;
}

TextRenderer::Block TextRenderer::note_block(const Event& event) {
  Block block{.title = (event.kind == Kind::mistake ? "Mistake: " : "") + event.title};
  const auto text = std::exchange(text_, {});
  write_prose(event.notice.empty() ? event.note : event.notice, body_indent);
  if (!event.formula.empty() && !event.note.empty()) write_line("");
  if (!event.formula.empty()) write_formula(event.formula, event.note.empty() ? body_indent : formula_indent);
  block.body = std::exchange(text_, text);
  return block;
}

void TextRenderer::write_formula(const std::string& formula, std::size_t most_indent) {
  const auto lines = lines_of(formula);
  std::size_t widest = 0;
  for (const auto& line : lines) widest = std::max(widest, display_width(line));
  const auto room = style_.width - std::min(style_.width, widest);
  for (const auto& line : lines) write_line(line, std::clamp(room, body_indent, most_indent));
}

TextRenderer::Block TextRenderer::tensor_block(const Event& event) {
  const bool has_table = style_.all || event.place->has_table;
  Block block{.is_numbered = true,
              .definition = definition_of(event, style_),
              .title = event.title == event.id || !has_table ? "" : event.title,
              .shape = event.tensor->shape.empty() ? "" : named_shape(event),
              .id = event.id};
  const auto text = std::exchange(text_, {});
  if (style_.all || style_.plain) write_origin(event);
  block.origin = std::exchange(text_, {});
  const auto last_part = without_groups(event.id);
  write_worked(event, last_part);
  block.worked = std::exchange(text_, {});
  if (last_part > 0) write_worked(event, 0);
  block.worked_by_full_name = std::exchange(text_, {});
  const bool is_plotted = event.curve && (style_.all || event.place->is_plotted);
  const bool has_numbers = has_table || (is_plotted && style_.plain);
  if (has_numbers && !event.tensor->shape.empty()) text_ += format_table(event, style_);
  if (has_numbers) write_legends(event);
  if (is_plotted && !style_.plain) text_ += '\n' + format_plot(event, style_);
  write_prose(event.notice, body_indent);
  if (!event.has_notice || style_.all) write_prose(note_after_notice(event), body_indent);
  block.body = std::exchange(text_, text);
  return block;
}

/// "K = X W_K [6×8]": a step that an earlier lesson taught.
TextRenderer::Block TextRenderer::line_block(const Event& event) {
  const auto shape = event.tensor->shape.empty() ? "" : fmt::format(" [{}]", to_string(event.tensor->shape));
  return {.body = definition_of(event, style_) + shape};
}

/// In the order of the page. Lines of earlier lessons' steps stand side by side.
void TextRenderer::write_blocks() {
  std::stable_sort(blocks_.begin(), blocks_.end(),
                   [](const Block& a, const Block& b) { return a.position < b.position; });
  for (const auto& block : blocks_) ids_.insert(block.id);
  std::vector<std::string> lines;
  const auto write_lines = [&] {
    if (lines.empty()) return;
    write_line("");
    for (const auto& line : pack(lines, ", ", style_.width - body_indent)) write_line(line, body_indent);
    lines.clear();
  };
  for (const auto& block : blocks_) {
    const bool is_line = block.definition.empty() && block.title.empty();
    if (is_line) {
      lines.push_back(block.body);
    } else {
      write_lines();
      write_block(block);
    }
  }
  write_lines();
  blocks_.clear();
  ids_.clear();
}

void TextRenderer::write_block(const Block& block) {
  write_line("");
  if (block.is_numbered)
    write_definition(block);
  else
    write_heading("", block.title);
  const auto last_part = without_groups(block.id);
  const bool is_name_of_another = last_part > 0 && ids_.count(block.id.substr(last_part)) > 0;
  text_ += block.origin + (is_name_of_another ? block.worked_by_full_name : block.worked) + block.body;
}

/// "3  weights = softmax(scaled)   each row becomes shares          [query 6 × key 6]": on one line if
/// possible, else the title below.
void TextRenderer::write_definition(const Block& block) {
  const auto number = fmt::format("{}  ", ++step_count_);
  const std::string margin(display_width(number), ' ');
  auto lines = lines_of(block.definition);
  const auto with_shape = [&](const std::string& line) {
    const auto room = style_.width - std::min(style_.width, display_width(line) + display_width(block.shape));
    return block.shape.empty() ? line : line + std::string(std::max<std::size_t>(room, 2), ' ') + block.shape;
  };
  const auto fits = [&](const std::string& line) {
    return display_width(line) + (block.shape.empty() ? 0 : 2 + display_width(block.shape)) <= style_.width;
  };
  std::vector<std::string> heading;
  for (const auto& line : lines) heading.push_back((heading.empty() ? number : margin) + line);
  const auto whole = heading.back() + (block.title.empty() ? "" : "   " + block.title);
  if (fits(whole)) {
    heading.back() = with_shape(whole);
  } else {
    const bool shape_fits = fits(heading.back());
    if (shape_fits) heading.back() = with_shape(heading.back());
    if (!block.title.empty())
      for (const auto& line : wrap(block.title, style_.width - margin.size()))
        heading.push_back(margin + line);
    if (!shape_fits) heading.push_back(margin + block.shape);
  }
  for (const auto& line : heading)
    for (const auto& part : wrapped(line, style_.width, margin.size())) write_line(styled(part, ansi::bold));
}

/// "from Q [6×4], K [6×4]": the inputs of a step with the shapes that they had.
void TextRenderer::write_origin(const Event& event) {
  std::vector<std::string> origins;
  for (const auto& id : event.inputs) {
    const auto shape = shapes_.find(id);
    const bool has_shape = shape != shapes_.end() && !shape->second.empty();
    origins.push_back(id + (has_shape ? " [" + to_string(shape->second) + "]" : ""));
  }
  if (event.kind == Kind::input) return write_line("input", body_indent);
  if (origins.empty()) return;
  origins.front() = "from " + origins.front();
  for (const auto& line : pack(origins, ", ", style_.width - body_indent)) write_line(line, body_indent);
}

/// "weights[sat, cat] = exp(0.33) / (exp(0.12) + exp(0.33)) ≈ 0.5525", or where an entry is that of another
/// tensor "heads[0, sat, 1] = Q[sat, 1]". The id is written from that place on.
void TextRenderer::write_worked(const Event& event, std::size_t name_begins) {
  const auto at = entry_to_work_out(event);
  if (!at) return;
  const auto worked = event.worked(*at);
  if (!worked.is_finite()) return;
  const auto number = [this](const Worked& part) { return worked_number(part, style_.precision); };
  const auto full_name = printable(names_.name(event.id, *at));
  const auto name = full_name.substr(name_begins);
  std::vector<std::string> pieces;
  if (const auto* entry = worked.entry()) {
    pieces = {"= " + printable(names_.name(entry->tensor, entry->index)), "= " + number(worked)};
  } else {
    const auto text = text_on_page(worked, number);
    const auto result = worked_result(event, *at, worked.value(), text, style_.precision);
    pieces = before_operators("= " + text);
    const bool says_result = result == "= " + text || result == "≈ " + text;
    if (!says_result) pieces.push_back(result);
  }
  const bool has_room = display_width(name) + 30 < style_.width;
  const std::size_t indent = has_room ? display_width(name) + 1 : 2;
  if (!has_room) write_line(name, body_indent);
  auto start = has_room ? name + " " : std::string(indent, ' ');
  for (const auto& line : pack(pieces, " ", style_.width - body_indent - indent)) {
    write_line(start + line, body_indent);
    start = std::string(indent, ' ');
  }
}

void TextRenderer::write_legends(const Event& event) {
  const auto& tensor = *event.tensor;
  if (style_.plain || tensor.shape.empty()) return;
  if (tensor.dtype == Dtype::boolean) write_legend("1 = may be seen, · = hidden");
  if (has_hidden_keys(event) && text_.find("  ·") != text_.npos) write_legend("· = exactly 0");
  if (is_elided(tensor, style_)) write_legend("… = left out, shown with --full");
}

void TextRenderer::write_legend(const std::string& legend) {
  if (explained_.insert(legend).second) write_line(legend, body_indent);
}

void TextRenderer::write_outline() {
  if (outline_.empty()) return;
  write_line("");
  std::size_t id_width = 0, shape_width = 0;
  for (const auto& row : outline_) {
    id_width = std::max(id_width, display_width(row.id));
    shape_width = std::max(shape_width, display_width(row.shape));
  }
  const auto number_width = fmt::format("{}", outline_.size()).size();
  for (const auto& row : outline_) {
    auto line = fmt::format("{:>{}}  {}  {}", ++step_count_, number_width, pad_right(row.id, id_width),
                            row.formula.empty() ? row.shape : pad_right(row.shape, shape_width));
    const auto left = style_.width - std::min(style_.width, display_width(line) + 2);
    if (!row.formula.empty())
      line += "  " + shorten(fmt::format("{}", fmt::join(lines_of(row.formula), "; ")), left);
    write_line(line);
  }
  outline_.clear();
}

void TextRenderer::write_what_is_left_out() {
  if (left_out_.empty()) return;
  const auto count = left_out_.size();
  const auto line = [&](const std::string& names) {
    return fmt::format("{} more table{} of this run{}: --all shows {}.", count, count == 1 ? "" : "s", names,
                       count == 1 ? "it" : "them");
  };
  const auto with_names = line(fmt::format(" ({})", fmt::join(left_out_, ", ")));
  write_line("");
  write_line(display_width(with_names) <= style_.width ? with_names : line(""));
}

void TextRenderer::write_claims() {
  write_line("");
  write_heading("", "What holds on this run");
  for (const auto& claim : claims_) write_claim(claim);
  write_verdict();
}

/// "✓ each row of weights sums to 1                                off by less than 1e-12"
void TextRenderer::write_claim(const Event& claim) {
  const auto& measurement = *claim.measurement;
  const std::string sign = measurement.holds() ? "✓" : "✗";
  const auto mark = styled(sign, measurement.holds() ? ansi::green : ansi::red);
  const auto indent = body_indent + display_width(style_.plain ? in_ascii(sign) : sign) + 1;
  const auto result = measured(measurement, style_.precision);
  auto lines = wrap(measurement.claim, style_.width - indent);
  const auto room = style_.width - indent - display_width(lines.back());
  if (room >= display_width(result) + 2)
    lines.back() += std::string(room - display_width(result), ' ') + result;
  else
    lines.push_back(pad_left(result, style_.width - indent));
  std::string start = std::string(body_indent, ' ') + mark + ' ';
  for (const auto& line : lines) {
    write_line(start + printable(line));
    start = std::string(indent, ' ');
  }
  if (!style_.all && measurement.holds()) return;
  for (const auto& line : lines_of(claim.formula)) write_line(line, indent);
  write_prose(claim.note, indent);
}

void TextRenderer::write_verdict() {
  std::vector<std::string> broken;
  for (const auto& claim : claims_)
    if (!claim.measurement->holds()) broken.push_back(quoted(claim.measurement->claim));
  const std::size_t total = claims_.size(), holding = total - broken.size();
  auto verdict = fmt::format("{} of {} claim{} hold{}.", holding, total,
                             total == 1 && holding == 1 ? "" : "s", holding == 1 ? "s" : "");
  if (claims_left_out_ > 0)
    verdict += fmt::format(" So {} {} more, which --all shows.", claims_left_out_ == 1 ? "does" : "do",
                           claims_left_out_);
  if (!broken.empty())
    verdict += fmt::format(" {} not: {}.", broken.size() == 1 ? "This one does" : "These do",
                           fmt::join(broken, ", "));
  for (const auto& line : wrap(verdict, style_.width))
    write_line(styled(printable(line), broken.empty() ? ansi::green : ansi::red));
}

/// The start (a number, say) stands before the first line, the others are indented as far.
void TextRenderer::write_heading(const std::string& start, const std::string& heading) {
  if (heading.empty()) return;
  const std::size_t indent = display_width(start);
  std::string margin = start;
  for (const auto& line : wrap(heading, style_.width - indent)) {
    write_line(styled(margin + printable(line), ansi::bold));
    margin = std::string(indent, ' ');
  }
}

void TextRenderer::write_prose(const std::string& prose, std::size_t indent) {
  if (prose.empty()) return;
  for (const auto& line : wrap(prose, style_.width - 2 * indent)) write_line(printable(line), indent);
}

void TextRenderer::write_line(const std::string& line, std::size_t indent) {
  if (!line.empty()) text_.append(indent, ' ');
  text_ += line + '\n';
}

std::string TextRenderer::styled(const std::string& text, std::string_view style) const {
  return style_.color ? ansi::styled(text, style) : text;
}

}  // namespace attn
