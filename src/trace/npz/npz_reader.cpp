#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "attn/error.hpp"
#include "trace/id.hpp"
#include "trace/json/values.hpp"
#include "trace/npz/npz.hpp"
#include "trace/npz/zip_archive.hpp"

namespace attn {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view ending = ".npy";
constexpr std::uint64_t small = std::uint64_t{64} << 20, densest_archive = 100;

/// The id in ID.npy.
std::string id_from(std::string_view name, std::string_view place) {
  if (!name.ends_with(ending)) refuse(place, "it is no array", "members called ID.npy");
  name.remove_suffix(ending.size());
  if (!is_valid_name(name)) refuse(place, fmt::format("{} is no name", in_message(name)), valid_name);
  return std::string(name);
}

class NpzReader : public StoredTrace {
 public:
  explicit NpzReader(File file) : archive_(std::move(file)) {
    for (std::uint64_t i = 0; i < archive_.member_count(); ++i) add_member(i);
    if (config_) read_header_from(*config_);
  }

  AnyTensor read(std::size_t index) const override {
    const auto& array = arrays_.at(index);
    return decode(array.npy.layout, elements_of(array), array.place);
  }

 private:
  struct Array {
    std::uint64_t index;  ///< in the archive
    std::string place;
    std::uint64_t size;  ///< of its header and its elements
    bool is_packed;
    Npy npy;
  };

  void add_member(std::uint64_t index) {
    const auto member = archive_.member(index);
    const auto place = fmt::format("{}: member {}", archive_.path(), in_message(member.name));
    if (member.name.ends_with("data.pkl")) refuse_pickle(archive_.path(), true);
    const auto id = id_from(member.name, place);
    if (!ids_.insert(id).second) refuse(place, "it is there twice", "each id once");
    ZipArchive::Stream stream(archive_, index, place);
    const Array array{index, place, member.size, member.is_packed,
                      read_npy_header(stream, member.size, place)};
    refuse_bomb(array);
    if (id == "config") {
      config_ = array;
      return;
    }
    const auto& layout = array.npy.layout;
    tensors_.push_back({.id = id,
                        .dtype = dtype_for(layout.type),
                        .stored_dtype = std::string(name_of(layout.type)),
                        .shape = layout.shape});
    arrays_.push_back(array);
  }

  /// Numbers are packed a few times, a mask some tens of times.
  void refuse_bomb(const Array& array) {
    const auto& layout = array.npy.layout;
    unpacked_ +=
        std::max<std::uint64_t>(array.size, element_count(layout.shape) * size_of(dtype_for(layout.type)));
    if (unpacked_ > small && unpacked_ / densest_archive > archive_.file_size())
      refuse(archive_.path(),
             fmt::format("its {} bytes unpack to {} or more", archive_.file_size(), unpacked_),
             fmt::format("up to {} times as many, or numpy.savez, which does not pack", densest_archive));
  }

  /// The bytes after the header. Memory for a packed array is taken as its elements come.
  std::vector<std::byte> elements_of(const Array& array) const {
    ZipArchive::Stream stream(archive_, array.index, array.place);
    std::string header(array.npy.header_size, '\0');
    stream.read(header.data(), header.size());
    constexpr std::size_t first_step = std::size_t{1} << 20;
    const auto size = static_cast<std::size_t>(array.size - array.npy.header_size);
    std::vector<std::byte> bytes;
    while (bytes.size() < size) {
      const auto done = bytes.size();
      const auto step = array.is_packed ? std::max(done, first_step) : size;
      bytes.resize(done + std::min(step, size - done));
      stream.read(bytes.data() + done, bytes.size() - done);
    }
    stream.finish();
    return bytes;
  }

  /// An archive of somebody else may have anything in `config`.
  void read_header_from(const Array& config) {
    ordered_json options;
    try {
      options = json_in(config);
    } catch (const Error&) {
      return;
    }
    const auto trace = options.is_object() ? json(options.value("trace", ordered_json())) : json();
    if (trace.is_object() && trace.value("schema", json()) == trace_schema) {
      options.erase("trace");
      read_lesson(trace, header_, config.place);
      describe_tensors(trace.value("tensors", json::object()));
      read_config(options, header_, config.place);
    } else {
      try {
        read_config(options, header_, config.place);
      } catch (const Error&) {
        header_.config.clear();
      }
    }
  }

  /// The document that an array of bytes is.
  ordered_json json_in(const Array& array) const {
    if (array.npy.layout.type != ElementType::uint8) refuse(array.place, "it is no text", "uint8");
    const auto bytes = elements_of(array);
    return parse_json<ordered_json>({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, array.place);
  }

  void describe_tensors(const json& descriptions) {
    if (!descriptions.is_object()) return;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (const auto found = descriptions.find(tensors_[i].id); found != descriptions.end())
        read_description(*found, tensors_[i], arrays_[i].place);
  }

  ZipArchive archive_;
  std::vector<Array> arrays_;  ///< as many as tensors
  std::optional<Array> config_;
  std::unordered_set<std::string> ids_;
  std::uint64_t unpacked_ = 0;
};

}  // namespace

std::unique_ptr<StoredTrace> open_npz(File file) {
  return std::make_unique<NpzReader>(std::move(file));
}

}  // namespace attn
