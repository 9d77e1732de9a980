#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "trace/any_tensor.hpp"
#include "trace/archives.hpp"
#include "trace/file.hpp"
#include "trace/json/json.hpp"

namespace attn {

namespace {

using nlohmann::json;

constexpr std::uint64_t length_size = 8, longest_json_header = 100'000'000;
constexpr std::string_view valid_entry =
    R"({"dtype":"F32","shape":[3,4],"data_offsets":[0,48]} with offsets that fit)";

/// A list of whole numbers, none below 0.
Shape numbers_from(const json& list, std::string_view place) {
  const bool is_valid =
      list.is_array() && std::all_of(list.begin(), list.end(), std::mem_fn(&json::is_number_unsigned));
  if (!is_valid)
    refuse(place, fmt::format("it has {} where whole numbers belong", in_message(list.dump())), valid_entry);
  return list.get<Shape>();
}

class SafetensorsReader : public StoredTrace {
 public:
  explicit SafetensorsReader(File file) : file_(std::move(file)), bytes_(file_.bytes()) {
    const auto length = little_endian(bytes_.substr(0, length_size));
    const auto most = std::min(longest_json_header, bytes_.size() - length_size);
    if (length > most)
      refuse(file_.path(), fmt::format("its header claims {} bytes", length),
             fmt::format("up to {} for this file", most));
    const auto text = bytes_.substr(length_size, length);
    bytes_.remove_prefix(length_size + length);
    if (!text.starts_with('{')) refuse(file_.path(), "its header does not begin with {", "a JSON object");
    const auto header = parse_json<json>(text, file_.path());
    for (const auto& [name, entry] : header.items())
      if (name != "__metadata__") add_entry(name, entry);
    settle_order();
    if (header.contains("__metadata__")) read_metadata(header["__metadata__"]);
    for (const auto& [tensor, layout, begin, end] : entries_)
      add(tensor, [place = place_of(tensor.id), layout = layout, stored = bytes_.substr(begin, end - begin)] {
        return decode(layout, stored, place);
      });
  }

 private:
  struct Entry {
    StoredTensor tensor;
    Layout layout;
    std::uint64_t begin = 0, end = 0;  ///< from the end of the header
  };

  std::string place_of(const std::string& name) const {
    return fmt::format("{}: tensor {}", file_.path(), in_message(name));
  }

  void add_entry(const std::string& id, const json& entry) {
    const auto place = place_of(id);
    if (!is_valid_name(id)) refuse(place, "its name has control characters or none", valid_name);
    const bool is_valid = entry.is_object() && entry.size() == 3 && entry.contains("dtype") &&
                          entry.contains("shape") && entry.contains("data_offsets");
    if (!is_valid) refuse(place, fmt::format("its entry is {}", in_message(entry.dump())), valid_entry);
    const auto& code = entry["dtype"];
    const auto type =
        element_type_called(code.is_string() ? code.get<std::string>() : "", &StoredType::safetensors);
    if (!type)
      refuse(place, fmt::format("its dtype is {}", in_message(code.dump())),
             "F16, BF16, F32, F64, BOOL, I8 to I64 and U8 to U64");
    const Layout layout{.type = *type, .shape = numbers_from(entry["shape"], place)};
    const auto offsets = numbers_from(entry["data_offsets"], place);
    const auto size = stored_size(layout, place);
    const auto& name = properties_of(*type).name;
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != size)
      refuse(place,
             fmt::format("its shape {} of {} takes {} bytes, its offsets are {}", to_string(layout.shape),
                         name, size, in_message(entry["data_offsets"].dump())),
             valid_entry);
    entries_.push_back({stored_as(id, layout), layout, offsets[0], offsets[1]});
  }

  /// The order of the elements in the file, which have to follow each other from its header to its end.
  void settle_order() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.begin, a.end, a.tensor.id) < std::tie(b.begin, b.end, b.tensor.id);
    });
    std::uint64_t end = 0;
    for (const auto& entry : entries_) {
      if (entry.begin != end)
        refuse(place_of(entry.tensor.id),
               fmt::format("its elements begin at {} where those before end at {}", entry.begin, end),
               "elements without gap or overlap");
      end = entry.end;
    }
    if (end != bytes_.size())
      refuse(file_.path(), fmt::format("its tensors take {} bytes, but {} are there", end, bytes_.size()),
             "as many as the header says");
  }

  void read_metadata(const json& metadata) {
    const bool is_valid =
        metadata.is_object() && std::all_of(metadata.begin(), metadata.end(), std::mem_fn(&json::is_string));
    if (!is_valid) refuse(file_.path(), "its __metadata__ is no object of texts", R"({"name":"text"})");
    metadata_ = metadata.get<std::map<std::string, std::string>>();
    if (metadata.value("schema", "") != trace_schema) return;
    read_lesson(metadata, header_, file_.path());
    read_config(parse_json<nlohmann::ordered_json>(metadata.value("config", "{}"), file_.path()), header_,
                file_.path());
    for (auto& entry : entries_) {
      const auto description = metadata.find("tensor:" + entry.tensor.id);
      if (description == metadata.end()) continue;
      const auto place = place_of(entry.tensor.id);
      read_description(parse_json<json>(description->get_ref<const std::string&>(), place), entry.tensor,
                       place);
    }
  }

  File file_;
  std::string_view bytes_;  ///< in the end the elements alone
  std::vector<Entry> entries_;
};

static_assert(std::endian::native == std::endian::little, "elements are stored as they are");

}  // namespace

void SafetensorsFile::describe(std::string_view name, const std::string& text) {
  append_member(metadata_, name, json_text(text));
}

void SafetensorsFile::add(std::string_view id, const TensorView& tensor, ElementType type) {
  const auto begin = elements_.size();
  elements_ += encode(tensor, type);
  append_member(entries_, id,
                json_text({{"dtype", properties_of(type).safetensors},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, elements_.size()}}}));
}

std::string SafetensorsFile::finish() {
  constexpr std::size_t alignment = 8;
  auto header =
      fmt::format("{{\"__metadata__\":{{{}}}{}{}}}", metadata_, entries_.empty() ? "" : ",", entries_);
  header.append((alignment - header.size() % alignment) % alignment, ' ');
  return little_endian(header.size(), length_size) + header + elements_;
}

SafetensorsWriter::SafetensorsWriter(const Header& header) {
  file_.describe("schema", std::string(trace_schema));
  file_.describe("lesson", header.lesson);
  file_.describe("title", header.title);
  file_.describe("config", '{' + config_as_json(header) + '}');
}

void SafetensorsWriter::receive(const Event& event) {
  if (!event.tensor || !has_elements(*event.tensor)) return;
  const auto copy = with_one_nan(*event.tensor);
  file_.describe("tensor:" + event.id, description_as_json(event));
  file_.add(event.id, copy.view(), element_type_of(copy.dtype()));
}

std::unique_ptr<StoredTrace> open_safetensors(File file) {
  return std::make_unique<SafetensorsReader>(std::move(file));
}

}  // namespace attn
