#include "lab/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <map>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/width.hpp"
#include "trace/diagnosis/names.hpp"

namespace lab {

namespace {

using attn::Error;

constexpr std::size_t help_column = 32;
constexpr std::size_t help_width = 80;
constexpr std::size_t longest_value = 48;

std::string wrapped(std::string_view text, std::size_t width) {
  return fmt::format("{}", fmt::join(attn::wrap(text, width), "\n"));
}

}  // namespace

std::string help_paragraph(std::string_view text) {
  return wrapped(text, help_width);
}

std::string help_of_option(std::string_view text) {
  return wrapped(text, help_width - help_column);
}

std::string_view value_name(std::string_view value) {
  return value.size() <= longest_value ? value : "NAME";
}

std::string help_examples(const std::vector<std::string_view>& examples) {
  std::string text = "Examples:\n";
  for (const auto example : examples) text += fmt::format("  attnlab {}\n", example);
  return text;
}

void prepare(CLI::App& app, const std::string& footer) {
  app.get_formatter()->column_width(help_column);
  app.set_help_flag();
  app.allow_extras();
  app.footer(footer);
}

CLI::Option* add_text_option(CLI::App& app, std::string_view flag, std::string_view value, Values values,
                             const std::string& help, std::function<void(const std::string&)> assign_text) {
  const auto name = fmt::format("--{}", flag);
  const bool is_list = values == Values::list;
  auto* option = app.add_option(
      flag == "output" ? "-o," + name : name,
      [name, value = std::string(value), is_list, assign_text](const CLI::results_t& texts) {
        if (texts.size() > 1 && !is_list)
          throw Error(fmt::format("{} is given {} times: {}; valid: once", name, texts.size(),
                                  fmt::join(texts, ", ")));
        if (texts.front().empty() && !is_list)
          throw Error(fmt::format("{} \"\" has no value; valid: {} {}", name, name, value));
        for (const auto& text : texts) assign_text(text);
        return true;
      },
      help);
  option->type_name(std::string(value))->type_size(1)->expected(1)->allow_extra_args(false);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (value_name(value) != value) option->option_text(std::string(value_name(value)));
  return option;
}

CLI::Option* add_paging_option(CLI::App& app, Paging& paging) {
  return app.add_flag_callback(
      "--no-pager", [&] { paging = Paging::never; },
      help_of_option("print at once what is longer than the terminal's screen; "
                     "default: through $PAGER, or less -FRX"));
}

std::string valid_instead_of_lesson(std::string_view name, const std::vector<std::string>& valid) {
  static const std::map<std::string, std::string_view> lessons = {
      {"additiveattention", "scoring"},
      {"alibi", "positional"},
      {"attention", "self-attention"},
      {"bahdanau", "seq2seq"},
      {"backprop", "backward"},
      {"bert", "transformer-block"},
      {"causal", "masking"},
      {"causalattention", "masking"},
      {"decoder", "generate"},
      {"dotproductattention", "sdpa"},
      {"dropout", "training"},
      {"encoder", "transformer-block"},
      {"entropy", "patterns"},
      {"flash", "efficient"},
      {"flashattention", "efficient"},
      {"gpt", "generate"},
      {"gpt2", "generate"},
      {"gqa", "multihead"},
      {"gradient", "backward"},
      {"gradients", "backward"},
      {"groupedqueryattention", "multihead"},
      {"kvcache", "generate"},
      {"layernorm", "transformer-block"},
      {"linearattention", "efficient"},
      {"llama", "generate"},
      {"localattention", "efficient"},
      {"lstm", "seq2seq"},
      {"luong", "seq2seq"},
      {"mha", "multihead"},
      {"mqa", "multihead"},
      {"multiqueryattention", "multihead"},
      {"qkv", "self-attention"},
      {"ringattention", "ring"},
      {"rnn", "seq2seq"},
      {"rope", "positional"},
      {"rotary", "positional"},
      {"scaleddotproductattention", "sdpa"},
      {"slidingwindow", "efficient"},
      {"softmax", "stability"},
      {"translation", "seq2seq"},
  };
  const auto found = lessons.find(attn::folded(name));
  return attn::valid_instead_of(found == lessons.end() ? name : found->second, valid);
}

namespace {

OptionHelp described(const CLI::Option& option) {
  OptionHelp help{.names = {}, .value = {}, .text = option.get_description(), .group = option.get_group()};
  for (const auto& name : option.get_snames()) help.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) help.names.push_back("--" + name);
  if (help.names.empty()) {
    help.names.push_back(option.get_name());
    help.group.clear();
  }
  if (option.get_items_expected_max() > 0) help.value = option.get_type_name();
  return help;
}

CommandHelp described(const CLI::App& app) {
  CommandHelp help{.description = app.get_description(), .options = {}, .examples = app.get_footer()};
  for (const auto* option : app.get_options())
    if (!option->get_group().empty()) help.options.push_back(described(*option));
  return help;
}

}  // namespace

namespace {

/// CLI11 takes --causal=false for a flag that is not given.
void refuse_values_of_flags(const CLI::App& app, std::string_view command, int argc, char** argv) {
  for (const std::string argument : std::vector(argv + std::min(argc, 1), argv + argc)) {
    const auto name = argument.substr(0, argument.find('='));
    const auto* option = app.get_option_no_throw(name);
    if (name == argument || option == nullptr || option->get_items_expected_max() > 0) continue;
    const auto opposite = "--no-" + name.substr(name.find_first_not_of('-'));
    throw Error(fmt::format("{}: {} is a flag, which takes no value; valid: {}", command, argument,
                            app.get_option_no_throw(opposite) == nullptr
                                ? fmt::format("{}, or nothing", name)
                                : fmt::format("{}, or {}", name, opposite)));
  }
}

}  // namespace

std::optional<PrintText> read_arguments(CLI::App& app, std::string_view command, int argc, char** argv) {
  refuse_values_of_flags(app, command, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return PrintText{app.help(), described(app)};
  } catch (const CLI::ParseError& error) {
    throw Error(fmt::format("{}: {}; valid: see attnlab {} --help", command, error.what(), command));
  }
  return std::nullopt;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) names.push_back(option->get_name());
  return names;
}

void refuse_option(const CLI::App& app, std::string_view command, const std::string& name) {
  throw Error(fmt::format("{} has no option {}; did you mean {}?", command, name,
                          attn::nearest(name, option_names(app))));
}

void refuse_extras(const CLI::App& app, std::string_view command) {
  const auto extras = app.remaining();
  if (extras.empty()) return;
  if (extras.front().starts_with('-'))
    refuse_option(app, command, extras.front().substr(0, extras.front().find('=')));
  throw Error(fmt::format("{}: \"{}\" belongs to no option; valid: see attnlab {} --help", command,
                          extras.front(), command));
}

void refuse_choice(std::string_view flag, std::string_view text, const std::vector<std::string>& valid) {
  throw Error(fmt::format("--{} {} is unknown; {}", flag, text, attn::valid_instead_of(text, valid)));
}

}  // namespace lab
