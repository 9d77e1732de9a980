#include "page/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "page/text/plain.hpp"
#include "trace/filter.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

constexpr std::size_t body_indent = 2;
constexpr std::size_t formula_indent = 6;       // less where a formula would be too wide
constexpr std::size_t narrowest = 20;           // columns that a text needs at least
constexpr std::size_t columns_of_command = 76;  // with its remark on the same line

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
std::string definition_of(const page::Step& step) {
  const std::string_view equals = step.id.find('=') == step.id.npos ? " = " : ": ";
  auto lines = step.formula.lines;
  lines.front() = step.id + (lines.front().empty() ? "" : std::string(equals) + lines.front());
  const std::string margin(display_width(step.id) + equals.size(), ' ');
  for (std::size_t i = 1; i < lines.size(); ++i) lines[i] = margin + lines[i];
  if (!step.scalar.empty()) lines.back() += " = " + step.scalar;
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// Of commands "attnlab sdpa --causal   hide the words to come", or the remark on a line of its own.
std::vector<std::string> text_lines(const page::Block& block) {
  auto lines = block.lines;
  for (const auto& [command, remark] : block.commands) {
    const auto whole = command + "   " + remark;
    const bool fits = remark.empty() || display_width(whole) <= columns_of_command;
    lines.push_back(remark.empty() || !fits ? command : whole);
    if (!fits) lines.push_back("    " + remark);
  }
  return lines;
}

/// "= a + b / c" as "= a", "+ b", "/ c": a line of an expression begins with an operator.
std::vector<std::string> before_operators(const std::string& expression) {
  std::vector<std::string> pieces;
  std::size_t start = 0;
  int depth = 0;  // of brackets: "weights[sat, cat]" stays on one line
  for (std::size_t i = 1; i < expression.size(); ++i) {
    depth += expression[i] == '[' ? 1 : expression[i] == ']' ? -1 : 0;
    if (expression[i] != ' ' || depth > 0) continue;
    const auto next = expression.substr(i, 3);
    if (next != " + " && next != " / " && expression[i - 1] != ',') continue;
    pieces.push_back(expression.substr(start, i - start));
    start = i + 1;
  }
  pieces.push_back(expression.substr(start));
  return pieces;
}

/// Writes one page.
class TextWriter {
 public:
  TextWriter(const page::Page& page, const PageStyle& style) : page_(page), style_(style) {
    style_.width = std::max(style.width, narrowest);
    for (const auto& section : page.sections)
      if (const auto* step = std::get_if<page::Step>(&section.content);
          step != nullptr && section.form != page::Form::line)
        ids_.insert(step->id);
  }

  std::string write() {
    write_header();
    write_outline();
    write_sections();
    write_what_is_left_out();
    if (!page_.claims.empty()) write_claims();
    if (page_.next) write(*page_.next);
    return style_.plain ? in_ascii(text_) : std::move(text_);
  }

 private:
  void write_header() {
    const auto& header = page_.header;
    write_heading(fmt::format("{}: {}", header.lesson, header.title));
    if (!style_.plain) write_line(rule(style_.width));
    std::vector<std::string> options;
    for (const auto& [name, value] : header.config)
      if (style_.all || header.usual.count(name) == 0) options.push_back(option_text(name, value));
    write_packed(options, "  ");
  }

  /// Lines of earlier lessons' steps stand side by side: "K = X W_K [6×8]".
  void write_sections() {
    std::vector<std::string> lines;
    const auto write_lines = [&] {
      if (lines.empty()) return;
      write_line("");
      write_packed(lines, ", ");
      lines.clear();
    };
    for (const auto& section : page_.sections) {
      const auto* step = std::get_if<page::Step>(&section.content);
      if (section.form == page::Form::line && step != nullptr) {
        lines.push_back(definition_of(*step) +
                        (step->shape.empty() ? "" : fmt::format(" [{}]", to_string(step->shape))));
        continue;
      }
      write_lines();
      if (step != nullptr)
        write(*step, section.form == page::Form::whole);
      else
        write(std::get<page::Note>(section.content));
    }
    write_lines();
  }

  /// A plain page has no drawings.
  void write(const page::Note& note) {
    const auto lines = note.block ? text_lines(*note.block) : std::vector<std::string>();
    if (style_.plain && is_drawing(fmt::format("{}", fmt::join(lines, "\n")))) return;
    write_line("");
    write_heading(note.title);
    write_prose(fmt::format("{}", fmt::join(note.paragraphs, "\n")), body_indent);
    if (note.block && !note.paragraphs.empty()) write_line("");
    std::size_t widest = 0;
    for (const auto& line : lines) widest = std::max(widest, display_width(line));
    const auto room = style_.width - std::min(style_.width, widest);
    const auto most_indent = note.paragraphs.empty() ? body_indent : formula_indent;
    for (const auto& line : lines) write_line(line, std::clamp(room, body_indent, most_indent));
  }

  void write(const page::Step& step, bool has_title) {
    write_line("");
    write_definition(step, has_title ? step.title : "");
    if (style_.all || style_.plain) write_origins(step);
    write_worked(step);
    if (step.table) {
      const auto table = format_table(step.id, *step.table, style_);
      text_ += table.lines;
      for (const auto& legend : table.legends)
        if (explained_.insert(legend).second) write_line(legend, body_indent);
    }
    if (step.curves && !style_.plain) text_ += '\n' + format_plot(*step.curves, style_.width);
    write_prose(step.notice, body_indent);
    write_prose(step.note, body_indent);
  }

  /// "3  weights = softmax(scaled)   each row becomes shares          [query 6 × key 6]": on one line if
  /// possible, else the title below.
  void write_definition(const page::Step& step, const std::string& title) {
    const auto number = fmt::format("{}  ", ++step_count_);
    const std::string margin(display_width(number), ' ');
    std::vector<std::string> heading;
    for (const auto& line : lines_of(definition_of(step)))
      heading.push_back((heading.empty() ? number : margin) + line);
    heading = with_title(std::move(heading), title, step.named_shape, style_.width, margin.size());
    for (const auto& line : heading)
      for (const auto& part : wrapped(line, style_.width, margin.size()))
        write_line(styled(part, ansi::bold));
  }

  /// "from Q [6×4], K [6×4]": the inputs of a step with the shapes that they had.
  void write_origins(const page::Step& step) {
    if (step.is_input) return write_line("input", body_indent);
    std::vector<std::string> origins;
    for (const auto& origin : step.origins) origins.push_back(origin.name);
    if (origins.empty()) return;
    origins.front() = "from " + origins.front();
    write_packed(origins, ", ");
  }

  /// "weights[sat, cat] = exp(0.33) / (exp(0.12) + exp(0.33)) ≈ 0.5525", or where an entry is that of another
  /// tensor "heads[0, sat, 1] = Q[sat, 1]". The groups of the id, whose "/" would read as a division, are
  /// left out unless the rest is the name of another step.
  void write_worked(const page::Step& step) {
    if (!step.worked) return;
    const auto& [full_name, expression, result] = *step.worked;
    const auto last_part = last_of_path(step.id);
    const auto of_groups = step.id.size() - last_part.size();
    const bool is_name_of_another = of_groups > 0 && ids_.contains(std::string(last_part));
    const auto name = full_name.substr(is_name_of_another ? 0 : of_groups);
    auto pieces = before_operators("= " + expression);
    if (!result.empty()) pieces.push_back(result);
    const bool has_room = display_width(name) + 30 < style_.width;
    const std::size_t indent = has_room ? display_width(name) + 1 : 2;
    if (!has_room) write_line(name, body_indent);
    const auto start = has_room ? name + " " : std::string(indent, ' ');
    text_ += hanging(std::string(body_indent, ' ') + start,
                     pack(pieces, " ", style_.width - body_indent - indent), body_indent + indent);
  }

  void write_outline() {
    if (page_.outline.empty()) return;
    write_line("");
    std::size_t id_width = 0, shape_width = 0;
    for (const auto& row : page_.outline) {
      id_width = std::max(id_width, display_width(row.id));
      shape_width = std::max(shape_width, display_width(row.named_shape));
    }
    const auto number_width = fmt::format("{}", page_.outline.size()).size();
    for (const auto& row : page_.outline) {
      const auto& formula = row.formula.lines;
      const bool has_formula = !formula.front().empty();
      auto line = fmt::format("{:>{}}  {}  {}", ++step_count_, number_width, pad_right(row.id, id_width),
                              pad_right(row.named_shape, has_formula ? shape_width : 0));
      const auto left = style_.width - std::min(style_.width, display_width(line) + 2);
      if (has_formula) line += "  " + shorten(fmt::format("{}", fmt::join(formula, "; ")), left);
      write_line(line);
    }
  }

  void write_what_is_left_out() {
    std::vector<std::string> left_out;
    for (const auto& section : page_.more)
      if (const auto* step = std::get_if<page::Step>(&section.content)) left_out.push_back(step->id);
    if (left_out.empty()) return;
    const auto count = left_out.size();
    const auto line = [&](const std::string& names) {
      return fmt::format("{} more table{} of this run{}: --all shows {}.", count, count == 1 ? "" : "s",
                         names, count == 1 ? "it" : "them");
    };
    const auto with_names = line(fmt::format(" ({})", fmt::join(left_out, ", ")));
    write_line("");
    write_line(display_width(with_names) <= style_.width ? with_names : line(""));
  }

  void write_claims() {
    write_line("");
    write_heading("What holds on this run");
    for (const auto& claim : page_.claims) write_claim(claim);
    write_verdict();
  }

  /// "✓ each row of weights sums to 1                                off by less than 1e-12". On the short
  /// page the mark alone says that rounding explains what is off.
  void write_claim(const page::Claim& claim) {
    const auto& measurement = claim.measurement;
    const std::string sign = measurement.holds() ? "✓" : "✗";
    const auto mark = styled(sign, measurement.holds() ? ansi::green : ansi::red);
    const auto indent = body_indent + display_width(style_.plain ? in_ascii(sign) : sign) + 1;
    const bool mark_is_enough = !style_.all && measurement.holds() && measurement.limit.is_of_rounding;
    const auto result = mark_is_enough ? std::string() : measured(measurement, style_.precision);
    auto lines = wrap(measurement.claim, style_.width - indent);
    if (const auto whole = with_end(lines.back(), result, style_.width - indent))
      lines.back() = *whole;
    else
      lines.push_back(pad_left(result, style_.width - indent));
    text_ += hanging(std::string(body_indent, ' ') + mark + ' ', lines, indent);
    if (!style_.all && measurement.holds()) return;
    for (const auto& line : claim.formula) write_line(line, indent);
    write_prose(claim.note, indent);
  }

  void write_verdict() {
    std::vector<std::string> broken;
    for (const auto& claim : page_.claims)
      if (!claim.measurement.holds()) broken.push_back(quoted(claim.measurement.claim));
    auto verdict = page::verdict_on(page_.claims);
    const auto left_out = page_.more_claims.size();
    if (left_out > 0)
      verdict += fmt::format(" So {} {} more, which --all shows.", left_out == 1 ? "does" : "do", left_out);
    if (!broken.empty())
      verdict += fmt::format(" {} not: {}.", broken.size() == 1 ? "This one does" : "These do",
                             fmt::join(broken, ", "));
    for (const auto& line : wrap(verdict, style_.width))
      write_line(styled(printable(line), broken.empty() ? ansi::green : ansi::red));
  }

  void write_heading(const std::string& heading) {
    if (heading.empty()) return;
    for (const auto& line : wrap(heading, style_.width)) write_line(styled(printable(line), ansi::bold));
  }

  void write_prose(const std::string& prose, std::size_t indent) {
    if (prose.empty()) return;
    for (const auto& line : wrap(prose, style_.width - 2 * indent)) write_line(printable(line), indent);
  }

  void write_packed(const std::vector<std::string>& pieces, const std::string& separator) {
    for (const auto& line : pack(pieces, separator, style_.width - body_indent))
      write_line(line, body_indent);
  }

  void write_line(const std::string& line, std::size_t indent = 0) {
    if (!line.empty()) text_.append(indent, ' ');
    text_ += line + '\n';
  }

  std::string styled(const std::string& text, std::string_view style) const {
    return style_.color ? ansi::styled(text, style) : text;
  }

  const page::Page& page_;
  PageStyle style_;
  std::string text_;
  std::size_t step_count_ = 0;
  std::set<std::string> ids_;        ///< of the steps that the page works out
  std::set<std::string> explained_;  ///< legends that stand in the text already
};

constexpr std::size_t all_terms = std::numeric_limits<std::size_t>::max();

/// What is to be said of an entry that follows from no other, since a mask hides its key.
std::string why_hidden(const Event& event, const Index& at, const Worked& worked) {
  bool has_entries = false;
  worked.for_each_entry([&](const Operand&, double) { has_entries = true; });
  if (has_entries) return "";
  if (worked.value() == -std::numeric_limits<double>::infinity()) return "−∞: the mask hides this key";
  return is_hidden(event, at) ? "0: the mask hides this key. Its score is −∞, and exp(−∞) = 0." : "";
}

/// What the second number in exp(2.5 − 40) is, which softmax is worked with where scores are large.
std::string why_shifted(const Event& event, const std::string& numbers) {
  const auto exponent = numbers.find("exp(");
  if (!event.distribution || exponent == numbers.npos) return "";
  const auto end = numbers.find(')', exponent);
  if (numbers.substr(exponent, end - exponent).find(" − ") == std::string::npos) return "";
  return "  What each exponent subtracts is the row's largest score. That changes no share and keeps exp "
         "small.\n";
}

}  // namespace

std::string text_of(const page::Page& page, const PageStyle& style) {
  return TextWriter(page, style).write();
}

Explanation::Explanation(const std::vector<std::string>& wanted, int precision, std::size_t width, bool full)
    : precision_(precision), width_(width), full_(full) {
  for (const auto& entry : wanted) {
    const auto open = entry.find('[');
    Wanted one{std::string(trimmed(std::string_view(entry).substr(0, open), " "))};
    if (one.id.empty() || (open != entry.npos && entry.back() != ']'))
      throw Error(
          fmt::format("--explain {} names no entry; valid: ID[row, column], as weights[2, 0]", entry));
    if (open != entry.npos)
      for (const auto& place : split(entry.substr(open + 1, entry.size() - open - 2), ','))
        one.places.emplace_back(trimmed(place, " "));
    wanted_.push_back(std::move(one));
  }
}

void Explanation::receive(const Event& event) {
  names_.see(event);
  if (!event.tensor) return;
  ids_.push_back(event.id);
  for (auto& wanted : wanted_)
    if (wanted.id == event.id) wanted.text = explain(event, names_.find(wanted.id, wanted.places));
}

std::string Explanation::explain(const Event& event, const Index& at) const {
  const auto name = names_.name(event.id, at);
  const double element = element_at(*event.tensor, at);
  const auto value = worked_number(Worked(operand_of(event, at), element), precision_);
  if (!event.worked)
    return fmt::format(
        "{} = {}\n  {}\n", name, value,
        event.kind == Kind::input ? "an input of this run" : "no single entry of this step is worked out");
  const auto worked = event.worked(at);
  const auto number = [this](const Worked& part) { return worked_number(part, precision_); };
  const auto entry_or_number = [&](const Worked& part) {
    return part.entry() == nullptr ? number(part) : names_.name(part.entry()->tensor, part.entry()->index);
  };
  const auto formula = fmt::format("{}", fmt::join(lines_of(event.formula), ",  "));
  const auto symbols = equation(name, formula) + equation("", in_terms(worked, entry_or_number));
  if (worked.entry() != nullptr) return symbols + "  = " + value + "\n";
  const auto numbers = in_terms(worked, number);
  if (const auto why = why_hidden(event, at, worked); !why.empty())
    return equation(name, formula) + equation("", why);
  return symbols + equation("", numbers) + "  " + worked_result(event, at, element, numbers, precision_) +
         "\n" + why_shifted(event, numbers);
}

std::string Explanation::in_terms(const Worked& worked,
                                  const std::function<std::string(const Worked&)>& term) const {
  return full_ ? with_raised_exponents(worked.text(term, all_terms)) : text_on_page(worked, term);
}

std::string Explanation::equation(const std::string& start, const std::string& expression) const {
  if (expression.empty()) return start + "\n";
  const auto begin = start.empty() ? "  = " : start + " = ";
  const auto margin = display_width(begin);
  return hanging(begin, pack(before_operators(expression), " ", width_ - std::min(width_ / 2, margin)),
                 margin);
}

std::string Explanation::finish() const {
  std::string text;
  for (const auto& wanted : wanted_) {
    if (wanted.text.empty())
      throw Error(fmt::format("--explain {} is no input or step of this run; valid: {}", wanted.id,
                              fmt::join(ids_like(wanted.id, ids_), ", ")));
    text += (text.empty() ? "" : "\n") + wanted.text;
  }
  return text;
}

}  // namespace attn
