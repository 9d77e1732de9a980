#include "trace/safetensors/safetensors_writer.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <utility>

#include "trace/any_tensor.hpp"
#include "trace/element_type.hpp"
#include "trace/json/json_values.hpp"

namespace attn {

namespace {

static_assert(std::endian::native == std::endian::little, "elements are stored as they are");

std::string safetensors_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
      return "F64";
    case Dtype::float32:
      return "F32";
    case Dtype::float16:
      return "F16";
    case Dtype::bfloat16:
      return "BF16";
    case Dtype::int64:
      return "I64";
    case Dtype::boolean:
      return "BOOL";
  }
  return "";
}

/// Eight bytes, the lowest first.
std::string little_endian(std::uint64_t number) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(number >> shift & 0xFF);
  return bytes;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const Header& header) {
  metadata_ = "{";
  append_member(metadata_, "schema", std::string(trace_schema));
  append_member(metadata_, "lesson", header.lesson);
  append_member(metadata_, "title", header.title);
  append_member(metadata_, "config", config_as_json(header));
}

void SafetensorsWriter::receive(const Event& event) {
  if (!event.tensor || !has_elements(*event.tensor)) return;
  const auto copy = with_one_nan(*event.tensor);
  const auto tensor = copy.view();
  const auto begin = elements_.size();
  elements_ += encode(tensor, element_type_of(tensor.dtype));
  append_member(metadata_, "tensor:" + event.id, description_as_json(event));
  std::string entry = "{";
  append_member(entry, "dtype", safetensors_name(tensor.dtype));
  append_member(entry, "shape", tensor.shape);
  append_member(entry, "data_offsets", std::vector<std::size_t>{begin, elements_.size()});
  entries_ += fmt::format(",\"{}\":{}}}", event.id, entry);
}

std::string SafetensorsWriter::finish() {
  constexpr std::size_t alignment = 8;
  auto header =
      fmt::format("{{\"__metadata__\":{}}}{}}}", std::exchange(metadata_, {}), std::exchange(entries_, {}));
  header.append((alignment - header.size() % alignment) % alignment, ' ');
  return little_endian(header.size()) + header + std::exchange(elements_, {});
}

}  // namespace attn
