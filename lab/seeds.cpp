#include "lab/seeds.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "attn/error.hpp"
#include "lab/command_line.hpp"
#include "lab/option_values.hpp"

namespace lab {

namespace {

void parse_seeds(const std::string& text, lessons::Options& options, std::optional<std::uint32_t>& last) {
  constexpr std::uint32_t most_seeds = 1000;
  const lessons::OptionInfo seed{.key = "seed", .flag = "seed", .value = "N", .help = ""};
  if (text.find(',') != text.npos)
    throw attn::Error(fmt::format("--seed {}: valid: a whole number, or FIRST-LAST, as 1-3", text));
  const auto dash = text.find('-', 1);
  assign(seed, options.seed, text.substr(0, dash));
  options.typed.insert(seed.key);
  if (dash == text.npos) return;
  assign(seed, last.emplace(), text.substr(dash + 1));
  if (*last < options.seed || *last - options.seed >= most_seeds)
    throw attn::Error(
        fmt::format("--seed {}: valid: FIRST-LAST, upwards, for {} seeds at most", text, most_seeds));
}

}  // namespace

void add_seeds_option(CLI::App& app, const std::string& group, const std::string& help,
                      lessons::Options& options, std::optional<std::uint32_t>& last) {
  app.remove_option(app.get_option("--seed"));
  add_text_option(app, "seed", "N|FIRST-LAST", Values::one, help_of_option(help),
                  [&](const std::string& text) { parse_seeds(text, options, last); })
      ->group(group);
}

void for_each_seed(std::uint32_t first, const std::optional<std::uint32_t>& last,
                   const std::function<void(std::uint32_t)>& call) {
  for (std::uint64_t seed = first; seed <= last.value_or(first); ++seed)
    call(static_cast<std::uint32_t>(seed));
}

std::string path_of_seed(const std::string& path, std::uint32_t seed,
                         const std::optional<std::uint32_t>& last) {
  if (!last) return path;
  const std::filesystem::path whole(path);
  return (whole.parent_path() / fmt::format("{}-{:0{}}{}", whole.stem().string(), seed,
                                            std::to_string(*last).size(), whole.extension().string()))
      .string();
}

}  // namespace lab
