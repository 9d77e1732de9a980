#include "trace/npz/npz_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "attn/error.hpp"
#include "trace/json/description.hpp"
#include "trace/json/strict_json.hpp"
#include "trace/npz/zip_archive.hpp"
#include "trace/json/json_values.hpp"
#include "trace/id.hpp"

namespace attn {

namespace {

using nlohmann::json;

constexpr std::string_view ending = ".npy";
constexpr std::uint64_t small = std::uint64_t{64} << 20, densest_archive = 100;

/// Whether the archive says that this program wrote it; what it then says beside the arrays has to be right.
std::optional<json> own_comment(const ZipArchive& archive) {
  try {
    auto comment = parse_json<json>(archive.comment(), archive.path());
    if (comment.is_object() && comment.value("schema", json()) == trace_schema) return comment;
  } catch (const Error&) {  // a foreign archive may have any comment
  }
  return std::nullopt;
}

/// The id in ID.npy.
std::string id_from(std::string_view name, std::string_view place) {
  if (!name.ends_with(ending)) refuse(place, "it is no array", "members called ID.npy");
  name.remove_suffix(ending.size());
  if (!is_valid_id(name))
    refuse(place, fmt::format("{} is no id", in_message(name)), "letters, digits and _ . / = -");
  return std::string(name);
}

class NpzReader : public StoredTrace {
 public:
  explicit NpzReader(File file) : archive_(std::move(file)) {
    const auto comment = own_comment(archive_);
    if (comment) read_lesson(*comment, header_, archive_.path());
    for (std::uint64_t i = 0; i < archive_.member_count(); ++i) add_member(i, comment.has_value());
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

  void add_member(std::uint64_t index, bool is_own) {
    const auto member = archive_.member(index);
    const auto place = fmt::format("{}: member {}", archive_.path(), in_message(member.name));
    const auto id = id_from(member.name, place);
    if (!ids_.insert(id).second) refuse(place, "it is there twice", "each id once");
    ZipArchive::Stream stream(archive_, index, place);
    const Array array{index, place, member.size, member.is_packed,
                      read_npy_header(stream, member.size, place)};
    refuse_bomb(array);
    if (id == "config") return read_config_of(array, is_own);
    const auto& layout = array.npy.layout;
    tensors_.push_back({.id = id,
                        .dtype = dtype_for(layout.type),
                        .stored_dtype = std::string(name_of(layout.type)),
                        .shape = layout.shape});
    if (is_own && !member.comment.empty())
      read_description(parse_json<json>(member.comment, place), tensors_.back(), place);
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

  void read_config_of(const Array& array, bool is_own) {
    const auto& place = array.place;
    try {
      if (array.npy.layout.type != ElementType::uint8) refuse(place, "it is no text", "uint8");
      const auto bytes = elements_of(array);
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      read_config(parse_json<nlohmann::ordered_json>(text, place), header_, place);
    } catch (const Error&) {
      if (is_own) throw;
      header_.config.clear();
    }
  }

  ZipArchive archive_;
  std::vector<Array> arrays_;
  std::unordered_set<std::string> ids_;
  std::uint64_t unpacked_ = 0;
};

}  // namespace

std::unique_ptr<StoredTrace> open_npz(File file) {
  return std::make_unique<NpzReader>(std::move(file));
}

}  // namespace attn
