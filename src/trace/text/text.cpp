#include "trace/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "attn/text/width.hpp"
#include "trace/text/ansi.hpp"
#include "trace/text/lines.hpp"
#include "trace/text/plot.hpp"

namespace attn {

namespace {

constexpr std::size_t body_indent = 2;
constexpr std::size_t formula_indent = 4;
constexpr std::size_t narrowest = 20;  // columns that a text needs at least

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start <= text.size();) {
    const auto end = std::min(text.find('\n', start), text.size());
    lines.push_back(printable(text.substr(start, end - start)));
    start = end + 1;
  }
  return lines;
}

std::string quoted(const std::string& text) {
  return '"' + printable(text) + '"';
}

/// "d_model=8"; a flag is its name alone. Nothing for what is unset, and nothing for tokens, which stand
/// beside the tensors.
std::string option_text(const std::string& name, const ConfigValue& value) {
  return std::visit(
      [&](const auto& set) -> std::string {
        using T = std::decay_t<decltype(set)>;
        if constexpr (std::is_same_v<T, bool>) {
          return set ? name : "";
        } else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
          return fmt::format("{}={}", name, set);
        } else if constexpr (std::is_same_v<T, std::string>) {
          const bool is_word = !set.empty() && set.find(' ') == std::string::npos;
          return fmt::format("{}={}", name, is_word ? printable(set) : quoted(set));
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return set.empty() ? "" : fmt::format("{}={}", name, fmt::join(set, ","));
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          std::vector<std::string> texts;
          for (const auto& text : set) texts.push_back(quoted(text));
          return set.empty() ? "" : fmt::format("{}={}", name, fmt::join(texts, " "));
        } else {
          return "";
        }
      },
      value);
}

/// "[query 6 × key 6]", or "[scalar]".
std::string named_shape(const Event& event) {
  std::vector<std::string> axes;
  for (std::size_t i = 0; i < event.axes.size(); ++i)
    axes.push_back(fmt::format("{} {}", event.axes[i], event.tensor->shape[i]));
  return axes.empty() ? "[scalar]" : fmt::format("[{}]", fmt::join(axes, " × "));
}

/// "scores = Q Kᵀ", "entropy = −Σ w ln w = 1.2500": the further lines of a formula stand below its first one.
std::vector<std::string> equation_of(const Event& event, const TextStyle& style) {
  auto lines = lines_of(event.id + (event.formula.empty() ? "" : " = " + event.formula));
  const std::string margin(display_width(event.id + " = "), ' ');
  for (std::size_t i = 1; i < lines.size(); ++i) lines[i] = margin + lines[i];
  if (event.tensor->shape.empty()) lines.back() += " = " + format_scalar(*event.tensor, style);
  return lines;
}

/// A measured value such that what rounding leaves of an exact 0 looks the same on every machine: in units of
/// the limit's power of ten where the limit is a tolerance.
std::string measured(const Measurement& measurement, int precision) {
  const auto& [claim, value, limit] = measurement;
  const double shown = value == 0.0 ? 0.0 : value;  // no negative zero
  const bool is_tolerance =
      limit.comparison == Limit::Comparison::at_most && limit.bound > 0.0 && limit.bound < 0.1;
  if (is_tolerance && std::abs(value) <= limit.bound) {
    const int exponent = static_cast<int>(std::floor(std::log10(limit.bound) + 1e-9));
    const auto units = fmt::format("{:.1f}", value / std::pow(10.0, exponent));
    return fmt::format("{}e{:+03d}", units == "-0.0" ? "0.0" : units, exponent);
  }
  if (limit.comparison == Limit::Comparison::equal) return fmt::format("{:g}", shown);
  return fmt::format("{:.{}g}", shown, std::max(precision, 1));
}

}  // namespace

TextRenderer::TextRenderer(const Header& header, const TextStyle& style) : style_(style) {
  style_.width = std::max(style.width, narrowest);
  write_header(header);
}

void TextRenderer::write_header(const Header& header) {
  write_heading("", fmt::format("{}: {}", header.lesson, header.title));
  std::string rule;
  for (std::size_t i = 0; i < style_.width; ++i) rule += "─";
  write_line(rule);
  std::vector<std::string> options;
  for (const auto& [name, value] : header.config) options.push_back(option_text(name, value));
  for (const auto& line : pack(options, "  ", style_.width - body_indent)) write_line(line, body_indent);
}

void TextRenderer::receive(const Event& event) {
  if (event.tensor) shapes_[event.id] = event.tensor->shape;
  names_.see(event);
  if (event.tensor) ++tensor_count_;
  if (event.tensor && event.tensor->data == nullptr) {
    outline_.push_back({fmt::format("{}", tensor_count_), event.id, named_shape(event), event.formula});
    return;
  }
  write_outline();
  if (event.measurement) {
    claims_.push_back(event);
  } else if (event.tensor) {
    write_tensor(event);
  } else {
    write_note(event);
  }
}

std::string TextRenderer::finish() {
  write_outline();
  if (!claims_.empty()) write_claims();
  return std::exchange(text_, {});
}

void TextRenderer::write_note(const Event& event) {
  write_line("");
  write_heading(event.kind == Kind::mistake ? "Mistake: " : "", event.title);
  write_prose(event.note, body_indent);
  if (event.formula.empty()) return;
  if (!event.note.empty()) write_line("");
  for (const auto& line : lines_of(event.formula)) write_line(line, formula_indent);
}

void TextRenderer::write_tensor(const Event& event) {
  write_line("");
  write_heading(fmt::format("{}  ", tensor_count_), event.title.empty() ? event.id : event.title);
  write_definition(event);
  write_worked(event);
  if (!event.note.empty()) {
    write_line("");
    write_prose(event.note, body_indent);
  }
  if (event.tensor->shape.empty()) return;
  write_line("");
  text_ += format_table(event, style_);
  write_legends(*event.tensor);
  if (event.curve) text_ += '\n' + format_plot(event, style_);
}

/// What the tensor is called, how it is computed, its shape and where it comes from: on one line if possible.
void TextRenderer::write_definition(const Event& event) {
  auto equation = equation_of(event, style_);
  const auto last = std::move(equation.back());
  equation.pop_back();
  for (const auto& line : equation) write_line(line, body_indent);
  for (const auto& line : pack({last, named_shape(event), origin(event)}, "   ", style_.width - body_indent))
    write_line(line, body_indent);
}

/// "weights[sat, cat] = exp(0.33) / (exp(0.12) + exp(0.33)) ≈ 0.5525", or where an entry is that of another
/// tensor "heads[0, sat, 1] = Q[sat, 1]".
void TextRenderer::write_worked(const Event& event) {
  const auto at = entry_to_work_out(event);
  if (!at) return;
  const auto worked = event.worked(*at);
  if (!worked.is_finite()) return;
  const auto number = [this](const Worked& part) { return worked_number(part, style_.precision); };
  const auto name = printable(names_.name(event.id, *at));
  std::vector<std::string> pieces;
  if (const auto* entry = worked.entry()) {
    pieces = {"= " + printable(names_.name(entry->tensor, entry->index)), "= " + number(worked)};
  } else {
    pieces = before_operators("= " + worked.text(number, most_terms_on_page));
    pieces.push_back("≈ " + worked_number(Worked({event.id, *at}, worked.value()), style_.precision));
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

/// "from Q [6×4], K [6×4]": the inputs of a step with the shapes that they had.
std::string TextRenderer::origin(const Event& event) const {
  if (event.kind == Kind::input) return "input";
  std::string text;
  for (const auto& id : event.inputs) {
    text += (text.empty() ? "from " : ", ") + id;
    const auto shape = shapes_.find(id);
    if (shape != shapes_.end() && !shape->second.empty()) text += " [" + to_string(shape->second) + "]";
  }
  return text;
}

void TextRenderer::write_legends(const TensorView& tensor) {
  if (tensor.dtype == Dtype::boolean) write_legend("1 = may be seen, · = hidden");
  if (is_elided(tensor, style_)) write_legend("… = left out, shown with --full");
}

void TextRenderer::write_legend(const std::string& legend) {
  if (explained_.insert(legend).second) write_line("\n  " + legend);
}

void TextRenderer::write_outline() {
  if (outline_.empty()) return;
  write_line("");
  std::size_t number_width = 0, id_width = 0, shape_width = 0;
  for (const auto& row : outline_) {
    number_width = std::max(number_width, display_width(row.number));
    id_width = std::max(id_width, display_width(row.id));
    shape_width = std::max(shape_width, display_width(row.shape));
  }
  for (const auto& row : outline_) {
    auto line = fmt::format("{}  {}  {}", pad_left(row.number, number_width), pad_right(row.id, id_width),
                            row.formula.empty() ? row.shape : pad_right(row.shape, shape_width));
    const auto left = style_.width - std::min(style_.width, display_width(line) + 2);
    if (!row.formula.empty())
      line += "  " + shorten(fmt::format("{}", fmt::join(lines_of(row.formula), "; ")), left);
    write_line(line);
  }
  outline_.clear();
}

void TextRenderer::write_claims() {
  write_line("");
  write_heading("", "What holds on this run");
  for (const auto& claim : claims_) write_claim(claim);
  write_line("");
  write_verdict();
}

void TextRenderer::write_claim(const Event& claim) {
  const auto& measurement = *claim.measurement;
  const auto mark = measurement.holds() ? styled("✓", ansi::green) : styled("✗", ansi::red);
  const std::size_t indent = body_indent + 2;
  std::string start = std::string(body_indent, ' ') + mark + ' ';
  for (const auto& line : wrap(measurement.claim, style_.width - indent)) {
    write_line(start + printable(line));
    start = std::string(indent, ' ');
  }
  auto pieces = lines_of(claim.formula);
  pieces.push_back(measured(measurement, style_.precision) + ' ' + to_string(measurement.limit));
  for (const auto& line : pack(pieces, "   ", style_.width - indent)) write_line(line, indent);
  write_prose(claim.note, indent);
}

void TextRenderer::write_verdict() {
  std::vector<std::string> broken;
  for (const auto& claim : claims_)
    if (!claim.measurement->holds()) broken.push_back("“" + claim.measurement->claim + "”");
  const std::size_t total = claims_.size(), holding = total - broken.size();
  auto verdict =
      fmt::format("{} of {} claim{} hold{}.", holding, total, total == 1 ? "" : "s", holding == 1 ? "s" : "");
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
