#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <vector>

#include "attn/random/random.hpp"
#include "lab/check/checked.hpp"
#include "trace/csv.hpp"

namespace lab {

namespace {

namespace fs = std::filesystem;

/// Whether rows of the one shape, one after another, can be those of the other: CSV has rows alone.
bool has_rows_of(const attn::Shape& shape, const attn::Shape& other) {
  return attn::element_count(shape) == attn::element_count(other) && !shape.empty() && !other.empty() &&
         shape.back() == other.back();
}

/// Whether the dump has inputs of the probe, with its numbers, and none with others. Masks and lengths, which
/// many probes share, do not tell.
bool has_inputs_of(const attn::StoredTrace& dump, const attn::StoredTrace& probe) {
  bool has_one = false;
  for (const auto& input : probe.tensors()) {
    const auto* theirs = dump.find(input.id);
    if (theirs == nullptr || !attn::is_floating(input.dtype) || !has_rows_of(theirs->shape, input.shape))
      continue;
    const auto a = dump.read(input.id), b = probe.read(input.id);
    if (distance({a.dtype(), input.shape, a.view().data}, b.view()) > distance_of_other_probe) return false;
    has_one = true;
  }
  return has_one;
}

void refuse_other_name(const attn::StoredTrace& dump, const std::string& path, const std::string& probe) {
  const auto wanted = named_probe(dump), found = named_probe(*attn::open_trace(probe));
  if (!wanted.empty() && !found.empty() && wanted != found)
    throw OtherProbe(
        fmt::format("{} is of the probe {}, and {} is the probe {}; valid: --probe with that of {}", path,
                    wanted, probe, found, wanted));
}

}  // namespace

std::vector<std::filesystem::path> probes_in(const std::string& folder) {
  const std::set<std::string> endings = {".npz", ".safetensors", ".json"};
  std::vector<fs::path> probes;
  for (const auto& entry : fs::directory_iterator(folder))
    if (endings.count(entry.path().extension().string()) > 0) probes.push_back(entry.path());
  std::sort(probes.begin(), probes.end());
  return probes;
}

double distance(const attn::TensorView& tensor, const attn::TensorView& other) {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  if (tensor.shape != other.shape) return infinity;
  double largest = 0.0, difference = 0.0;
  for (std::size_t i = 0; i < attn::element_count(other.shape); ++i) {
    largest = std::max(largest, std::abs(other.at(i)));
    const double one = tensor.at(i) == other.at(i) ? 0.0 : std::abs(tensor.at(i) - other.at(i));
    difference = std::isnan(one) ? infinity : std::max(difference, one);
  }
  return difference == 0.0 ? 0.0 : difference / largest;
}

std::string id_of_probe(const attn::Tensors& inputs) {
  std::string text;
  for (const auto& [id, tensor] : inputs) {
    text += fmt::format("{} {}", id, attn::to_string(tensor.shape()));
    const auto view = tensor.view();
    for (std::size_t i = 0; i < attn::element_count(view.shape); ++i)
      text += fmt::format(" {:.6f}", view.at(i) + 0.0);
  }
  return fmt::format("{:08x}", attn::crc32(text));
}

std::string named_probe(const attn::StoredTrace& file) {
  return file.header().text("probe");
}

std::string probe_of(const std::string& probe, const attn::StoredTrace& dump, const std::string& path) {
  if (!fs::is_directory(probe) || attn::has_csv_files(probe)) {
    refuse_other_name(dump, path, probe);
    return probe;
  }
  const auto probes = probes_in(probe);
  const auto first = [&](auto is_its) {
    const auto found = std::find_if(probes.begin(), probes.end(), is_its);
    return found == probes.end() ? std::string() : found->string();
  };
  const auto stem = fs::path(path).stem(), folder = fs::path(path).parent_path().filename();
  auto found = first([&](const fs::path& one) { return one.stem() == stem; });
  if (found.empty()) found = first([&](const fs::path& one) { return one.stem() == folder; });
  if (!found.empty()) refuse_other_name(dump, path, found);
  const auto wanted = named_probe(dump);
  if (found.empty() && !wanted.empty())
    found = first([&](const fs::path& one) { return named_probe(*attn::open_trace(one)) == wanted; });
  if (found.empty())
    found = first([&](const fs::path& one) { return has_inputs_of(dump, *attn::open_trace(one)); });
  if (!found.empty()) return found;
  const auto message = fmt::format(
      "--probe {} has no probe of {}: none of its name, none {}; valid: a probe named {}.npz, or config or "
      "an "
      "input in the dump",
      probe, path, wanted.empty() ? "whose inputs it has" : "with the id " + wanted, stem.string());
  if (wanted.empty()) throw UnknownProbe(message);
  throw OtherProbe(message);
}

}  // namespace lab
