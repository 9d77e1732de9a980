#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lessons/workbench/options.hpp"

namespace CLI {
class App;
}

/// A range of seeds, a file each.
namespace lab {

/// Adds --seed N|FIRST-LAST in the place of the lesson's --seed: FIRST is the seed of `options`, LAST goes to
/// `last`, which stays empty for one seed.
void add_seeds_option(CLI::App& app, const std::string& group, const std::string& help,
                      lessons::Options& options, std::optional<std::uint32_t>& last);

/// Calls it with each seed, upwards.
void for_each_seed(std::uint32_t first, const std::optional<std::uint32_t>& last,
                   const std::function<void(std::uint32_t)>& call);

/// "sheet.txt" where there is one seed; of several "sheet-08.txt", in as many digits as the last has.
std::string path_of_seed(const std::string& path, std::uint32_t seed,
                         const std::optional<std::uint32_t>& last);

}  // namespace lab
