#include "lab/check/probe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "lab/check/audit.hpp"
#include "lab/output.hpp"
#include "trace/npz/npz.hpp"

namespace lab {

namespace {

constexpr std::size_t sheet_width = 80;

/// Passes inputs on, and keeps what the task sheet says of all.
class TaskSheet : public attn::Sink {
 public:
  explicit TaskSheet(attn::Sink& inputs) : inputs_(inputs) {}

  void receive(const attn::Event& event) override {
    if (!event.tensor) return;
    const bool is_input = event.kind == attn::Kind::input;
    if (is_input) inputs_.receive(event);
    auto& lines = is_input ? given_ : asked_;
    lines.push_back(line_of(event));
    if (!is_input) last_step_ = event.id;
  }

  std::string text(const lessons::Plan& plan, const std::string& file) const;

 private:
  struct Line {
    std::string id, shape, formula;
  };

  static Line line_of(const attn::Event& event) {
    std::vector<std::string> axes;
    for (std::size_t i = 0; i < event.axes.size(); ++i)
      axes.push_back(fmt::format("{} {}", event.axes[i], event.tensor->shape[i]));
    auto formula = event.formula.empty() ? event.title : event.formula;
    std::replace(formula.begin(), formula.end(), '\n', ' ');
    return {event.id, fmt::format("[{}]", fmt::join(axes, " × ")), formula};
  }

  static std::string table(const std::vector<Line>& lines) {
    std::size_t widest = 0;
    for (const auto& line : lines) widest = std::max(widest, attn::display_width(line.id));
    std::string text;
    for (const auto& line : lines) {
      text += fmt::format("  {}  {}\n", attn::pad_right(line.id, widest), line.shape);
      if (!line.formula.empty())
        for (const auto& part : attn::wrap(line.formula, sheet_width - widest - 6))
          text += fmt::format("  {}    {}\n", std::string(widest, ' '), part);
    }
    return text;
  }

  attn::Sink& inputs_;
  std::vector<Line> given_, asked_;
  std::string last_step_;
};

std::string options_of(const lessons::Plan& plan) {
  const auto& options = plan.options;
  std::vector<std::string> said;
  if (options.heads) said.push_back(fmt::format("{} heads", *options.heads));
  if (options.kv_heads && options.kv_heads != options.heads)
    said.push_back(fmt::format("{} key and value heads, each read by {} query heads in a row",
                               *options.kv_heads, *options.heads / *options.kv_heads));
  if (options.d_k) said.push_back(fmt::format("d_k = {}", *options.d_k));
  if (options.causal) said.push_back("causal: the last query stands beside the last key");
  if (options.window)
    said.push_back(fmt::format("a window: keys at most {} positions away", *options.window));
  return fmt::format("{}", fmt::join(said, "; "));
}

std::string paragraph(const std::string& words) {
  std::string text;
  for (const auto& line : attn::wrap(words, sheet_width - 2)) text += "  " + line + '\n';
  return text;
}

std::string TaskSheet::text(const lessons::Plan& plan, const std::string& file) const {
  auto text = fmt::format("probe {}: {} (seed {})\n\nThe task\n", plan.lesson->name, file, plan.options.seed);
  text += paragraph(fmt::format(
      "Compute the lesson {0} from the inputs in {1} with your own program, and save what you computed under "
      "the names below. Then: attnlab check {0} mine.npz --probe {1}",
      plan.lesson->name, file));
  text += paragraph("Each name that you save is checked by itself; {} alone will do.");
  const auto hole = text.find("{}");
  const auto& results = plan.lesson->probe->results;
  const auto result = results.empty() ? last_step_ : std::string(results.front());
  text.replace(hole, 2, result);
  if (const auto said = options_of(plan); !said.empty()) text += paragraph("This run has " + said + ".");
  if (plan.is_batched())
    text += paragraph(
        "The batch has samples of unequal length, in `lengths`: the tokens behind them are padding, which no "
        "query may see. A mask is true where a key may be seen.");
  text += "\nThe inputs\n" + table(given_) + "\nWhat to compute\n" + table(asked_);
  text += fmt::format(R"(
How to read and to save
  NumPy    given = np.load("{0}");  np.savez("mine.npz", {1}={1})
  PyTorch  np.savez("mine.npz", {1}={1}.detach().cpu().numpy())
  JAX      jnp.savez("mine.npz", {1}={1})
  Julia    using NPZ;  given = npzread("{0}");  npzwrite("mine.npz", Dict("{1}" => {1}))
  Rust     ndarray_npy::NpzWriter::new(File::create("mine.npz")?).add_array("{1}", &{1})?
  C++      cnpy::npz_save("mine.npz", "{1}", {1}.data(), {{{2}}}, "w");
  JSON     {{"{1}": [[[0.1, -2.5, …], …], …]}} in mine.json, all digits
  CSV      {1}.csv: a tensor of two axes, a row a line, all digits
)",
                      file, result, "B, T, d");
  return text;
}

}  // namespace

void run_probe(const MakeProbe& probe) {
  if (probe.is_audit) return show(audit(*probe.lesson, probe.options), probe.paging);
  const auto plan = lessons::plan_of_probe(*probe.lesson, probe.options);
  attn::NpzWriter writer(plan.header());
  TaskSheet sheet(writer);
  lessons::run(*probe.lesson, plan, sheet);
  write_to_file(*probe.output, writer.finish());
  show(sheet.text(plan, *probe.output), probe.paging);
}

}  // namespace lab
