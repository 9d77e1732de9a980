#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "trace/any_tensor.hpp"
#include "trace/archives.hpp"
#include "trace/file.hpp"
#include "trace/json/json.hpp"

namespace attn {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Stays open until the program ends.
void* library() {
  static void* const opened = dlopen(ATTN_LIBZIP, RTLD_LAZY | RTLD_LOCAL);
  if (opened == nullptr)
    throw Error(fmt::format("libzip, which reads and writes archives, cannot be loaded: {}", dlerror()));
  return opened;
}

/// A function of libzip, of whatever type. Finding one throws Error where it is not there.
class LibZipFunction {
 public:
  explicit LibZipFunction(const char* name) : address_(dlsym(library(), name)) {
    if (address_ == nullptr)
      throw Error(fmt::format("{} has no function {}; valid: libzip 1.7 or later", ATTN_LIBZIP, name));
  }

  template <class Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(address_);
  }

 private:
  void* address_;
};

/// The functions of libzip that are used here.
struct LibZip {
  decltype(&zip_close) close = LibZipFunction("zip_close");
  decltype(&zip_discard) discard = LibZipFunction("zip_discard");
  decltype(&zip_error_fini) error_fini = LibZipFunction("zip_error_fini");
  decltype(&zip_error_strerror) error_strerror = LibZipFunction("zip_error_strerror");
  decltype(&zip_fclose) fclose = LibZipFunction("zip_fclose");
  decltype(&zip_file_add) file_add = LibZipFunction("zip_file_add");
  decltype(&zip_file_set_dostime) file_set_dostime = LibZipFunction("zip_file_set_dostime");
  decltype(&zip_file_strerror) file_strerror = LibZipFunction("zip_file_strerror");
  decltype(&zip_fopen_index) fopen_index = LibZipFunction("zip_fopen_index");
  decltype(&zip_fread) fread = LibZipFunction("zip_fread");
  decltype(&zip_get_num_entries) get_num_entries = LibZipFunction("zip_get_num_entries");
  decltype(&zip_open_from_source) open_from_source = LibZipFunction("zip_open_from_source");
  decltype(&zip_set_file_compression) set_file_compression = LibZipFunction("zip_set_file_compression");
  decltype(&zip_source_buffer_create) source_buffer_create = LibZipFunction("zip_source_buffer_create");
  decltype(&zip_source_close) source_close = LibZipFunction("zip_source_close");
  decltype(&zip_source_free) source_free = LibZipFunction("zip_source_free");
  decltype(&zip_source_keep) source_keep = LibZipFunction("zip_source_keep");
  decltype(&zip_source_open) source_open = LibZipFunction("zip_source_open");
  decltype(&zip_source_read) source_read = LibZipFunction("zip_source_read");
  decltype(&zip_source_stat) source_stat = LibZipFunction("zip_source_stat");
  decltype(&zip_stat_index) stat_index = LibZipFunction("zip_stat_index");
  decltype(&zip_strerror) strerror = LibZipFunction("zip_strerror");
};

/// libzip, which the first call loads. It brings a library of cryptography with it, and a program that loads
/// both at its start takes 4 ms longer, as long as a small lesson itself; few runs read or write an archive.
/// Throws Error where it is not there.
const LibZip& libzip() {
  static const LibZip functions;
  return functions;
}

constexpr std::string_view valid_archive = "a ZIP archive as numpy.savez writes it";
constexpr std::string_view valid_array = "an array of the .npy format";
constexpr std::string_view valid_header =
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } with the type, order and shape";
constexpr std::string_view valid_types = "bool, int8 to int64, uint8 to uint64, float16, float32 and float64";

constexpr std::string_view magic = "\x93NUMPY", ending = ".npy";

/// "objects" for NumPy's dtype '|O', and so on; the code itself where there is no word for it.
std::string words_for(std::string_view code) {
  static const std::map<char, std::string> words = {{'O', "objects"},         {'f', "floats of another size"},
                                                    {'c', "complex numbers"}, {'S', "texts"},
                                                    {'U', "texts"},           {'M', "times"},
                                                    {'m', "times"},           {'V', "records"}};
  const auto found = words.find(code.empty() ? '\0' : code[0]);
  return found == words.end() ? "elements of an unknown type" : found->second;
}

/// A header, which is a literal of Python, as JSON: {'shape': (3, 4), } is {"shape": [3, 4]}.
std::string as_json(std::string_view literal) {
  constexpr std::string_view python = "()TF", of_json = "[]tf", closing = ")}]", opening = "([{,";
  std::string text;
  char quote = '\0';
  for (const char c : literal) {
    if (quote != '\0' ? c == quote : c == '\'' || c == '"') {
      text += '"';
      quote = quote == '\0' ? c : '\0';
    } else if (quote != '\0') {
      text += c;
    } else if (const auto known = python.find(c); known != python.npos || closing.find(c) != closing.npos) {
      const auto end = text.find_last_not_of(" \t\r\n");
      const bool ends_list =
          closing.find(c) != closing.npos && end != text.npos && end > 0 && text[end] == ',';
      if (ends_list && opening.find(text[end - 1]) == opening.npos) text.erase(end, 1);
      text += known == python.npos ? c : of_json[known];
    } else {
      text += c;
    }
  }
  return text;
}

/// The type and the order of the bytes that NumPy's '<f8' or '|b1' says.
void read_type(std::string_view descr, std::string_view place, Layout& layout) {
  const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != descr.npos;
  const auto code = descr.substr(has_order ? 1 : 0);
  layout.type = element_type_called(code, &ElementType::npy);
  if (layout.type != nullptr) {
    layout.big_endian = descr[0] == '>';
    if (layout.type->size == 1 || descr[0] == '<' || descr[0] == '>') return;
  }
  refuse(place, fmt::format("it holds {} (dtype {})", words_for(code), in_message(descr)), valid_types);
}

/// The header of an array, such as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }, with these
/// three names in any order.
Layout layout_in(std::string_view literal, std::string_view place) {
  json header;
  try {
    header = parse_json<json>(as_json(literal), place);
  } catch (const Error&) {  // which is told below
  }
  if (!header.is_object()) header = json::object();
  const auto type = header.value("descr", json()), order = header.value("fortran_order", json()),
             shape = header.value("shape", json());
  if (type.is_array()) refuse(place, "it holds records (a structured dtype)", valid_types);
  const auto tuple = literal.substr(std::min(literal.find('('), literal.size()));
  const bool is_number =  // as (3) is
      tuple.empty() || (shape.size() == 1 && tuple.substr(0, tuple.find(')')).find(',') == tuple.npos);
  if (header.size() != 3 || !type.is_string() || !order.is_boolean() || is_number || !is_shape(shape))
    refuse(place, fmt::format("its header is {}", in_message(literal)), valid_header);
  Layout layout;
  layout.shape = shape.get<Shape>();
  layout.fortran_order = order.get<bool>();
  read_type(type.get_ref<const std::string&>(), place, layout);
  return layout;
}

/// What stands before the elements in version 1.0, padded such that they are aligned.
std::string npy_header(const ElementType& type, const Shape& shape) {
  constexpr std::size_t alignment = 64, size_before_header = 10;
  auto header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                  type.size == 1 ? '|' : '<', type.npy, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  header.append(alignment - (size_before_header + header.size() + 1) % alignment, ' ');
  header += '\n';
  return std::string(magic) + '\x01' + '\0' + little_endian(header.size(), 2) + header;
}

/// The array as NumPy's `save` writes it; bfloat16, which it has not, as float32.
std::string npy_bytes(const TensorView& tensor) {
  const auto dtype = tensor.dtype == Dtype::bfloat16 ? Dtype::float32 : tensor.dtype;
  return npy_header(*element_type_of(dtype), tensor.shape) + encode(tensor, dtype);
}

struct CloseMember {
  void operator()(zip_file* member) const { libzip().fclose(member); }
};
struct DiscardArchive {
  void operator()(zip* archive) const { libzip().discard(archive); }
};
using OpenArchive = std::unique_ptr<zip, DiscardArchive>;

OpenArchive open_archive(const File& file) {
  zip_error_t error{};
  auto* const source = libzip().source_buffer_create(file.bytes().data(), file.bytes().size(), 0, &error);
  OpenArchive archive(source == nullptr ? nullptr : libzip().open_from_source(source, ZIP_RDONLY, &error));
  if (archive != nullptr) return archive;
  libzip().source_free(source);
  const std::string message = libzip().error_strerror(&error);
  libzip().error_fini(&error);
  refuse(file.path(), fmt::format("it is no whole ZIP archive: {}", message), valid_archive);
}

class NpzReader : public StoredTrace {
 public:
  explicit NpzReader(File file) : file_(std::move(file)), archive_(open_archive(file_)) {
    const auto count = static_cast<std::uint64_t>(libzip().get_num_entries(archive_.get(), 0));
    std::vector<zip_stat_t> members;
    std::uint64_t packed = 0;
    for (std::uint64_t i = 0; i < count; ++i) packed += members.emplace_back(directory_entry(i)).comp_size;
    if (packed > file_.bytes().size())
      refuse(file_.path(),
             fmt::format("its members claim {} packed bytes, but it has {}", packed, file_.bytes().size()),
             "members that do not overlap");
    for (const auto& member : members) add_member(member);
    if (config_) read_header_from(*config_);
  }

 private:
  struct Array {
    zip_stat_t member;
    std::string place;
    Layout layout{};
    std::size_t header_size = 0;  ///< bytes before the elements
  };

  std::string place_of(std::string_view name) const {
    return fmt::format("{}: member {}", file_.path(), in_message(name));
  }

  /// One line of the directory, which claims no more than could be true.
  zip_stat_t directory_entry(std::uint64_t index) const {
    constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                    ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    constexpr std::uint64_t densest = 1032;  // deflate packs no more than 258 bytes into 2 bits
    zip_stat_t entry{};
    if (libzip().stat_index(archive_.get(), index, 0, &entry) != 0 || (entry.valid & needed) != needed)
      refuse(file_.path(), fmt::format("its directory is broken at member {}", index), valid_archive);
    const auto place = place_of(entry.name);
    if (entry.encryption_method != ZIP_EM_NONE) refuse(place, "it is encrypted", "no encryption");
    const bool is_stored = entry.comp_method == ZIP_CM_STORE;
    if (!is_stored && entry.comp_method != ZIP_CM_DEFLATE)
      refuse(place, fmt::format("it is packed by method {}", entry.comp_method), "stored or deflated");
    const bool is_possible =
        is_stored ? entry.size == entry.comp_size : entry.size / densest <= entry.comp_size;
    if (entry.comp_size > file_.bytes().size() || !is_possible)
      refuse(place, fmt::format("it claims {} bytes packed into {}", entry.size, entry.comp_size),
             "sizes that are true");
    return entry;
  }

  /// The first bytes of a member, unpacked, for which memory is taken as they come. Of a whole one it is
  /// refused that it goes on, or that its checksum is wrong.
  std::string bytes_of(const Array& array, std::uint64_t count) const {
    constexpr std::uint64_t first_step = std::uint64_t{1} << 20;
    const std::unique_ptr<zip_file, CloseMember> member(
        libzip().fopen_index(archive_.get(), array.member.index, 0));
    if (!member)
      refuse(array.place, fmt::format("it cannot be read: {}", libzip().strerror(archive_.get())),
             valid_archive);
    const auto read = [&](char* to, std::uint64_t size) {
      const auto got = libzip().fread(member.get(), to, size);
      if (got < 0)
        refuse(array.place, fmt::format("it is broken: {}", libzip().file_strerror(member.get())),
               valid_archive);
      return static_cast<std::uint64_t>(got);
    };
    std::string bytes;
    for (std::uint64_t done = 0; done < count;) {
      bytes.resize(done + std::min(count - done, std::max(done, first_step)));
      const auto got = read(bytes.data() + done, bytes.size() - done);
      if (got == 0) refuse(array.place, "it ends before its size", valid_archive);
      done += got;
    }
    char beyond = 0;
    if (count == array.member.size && read(&beyond, 1) > 0)
      refuse(array.place, "it goes on after its size", valid_archive);
    return bytes;
  }

  /// Reads the header of an array (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html),
  /// of versions 1.0 to 3.0. Refuses one that does not fit the size of its member, and elements of a type
  /// that no tensor has: objects, complex numbers, texts, records.
  void read_npy_header(Array& array) const {
    constexpr std::size_t of_version = magic.size() + 2, longest_preamble = of_version + 4;
    constexpr std::uint64_t longest_header = std::uint64_t{1} << 20;
    const auto& [member, place, layout, header_size] = array;
    if (member.size < longest_preamble - 2)
      refuse(place, fmt::format("it has {} bytes", member.size), valid_array);
    const auto start = bytes_of(array, std::min<std::uint64_t>(member.size, longest_preamble));
    if (!start.starts_with(magic))
      refuse(place, fmt::format("it begins with {}", in_message(start.substr(0, magic.size()))), valid_array);
    const int major = static_cast<unsigned char>(start[magic.size()]),
              minor = static_cast<unsigned char>(start[magic.size() + 1]);
    if (major < 1 || major > 3 || minor != 0)
      refuse(place, fmt::format("it has version {}.{} of the .npy format", major, minor), "1.0, 2.0 and 3.0");
    const std::size_t begin = of_version + (major == 1 ? 2 : 4);
    const auto length = little_endian(start.substr(of_version, begin - of_version));
    if (length > longest_header || begin + length > member.size)
      refuse(place, fmt::format("its header claims {} bytes", length),
             fmt::format("up to {} and no more than the array has", longest_header));
    array.header_size = begin + length;
    array.layout = layout_in(std::string_view(bytes_of(array, header_size)).substr(begin), place);
    const std::uint64_t promised = stored_size(layout, place), there = member.size - header_size;
    if (promised != there)
      refuse(place,
             fmt::format("its header promises {} of {}, which take {} bytes, but {} are there",
                         to_string(layout.shape), layout.type->name, promised, there),
             "as many as promised");
  }

  void add_member(const zip_stat_t& member) {
    Array array{member, place_of(member.name)};
    const std::string_view name = member.name;
    if (name.ends_with("data.pkl")) refuse_pickle(file_.path(), true);
    if (!name.ends_with(ending)) refuse(array.place, "it is no array", "members called ID.npy");
    const std::string id(name.substr(0, name.size() - ending.size()));
    if (!is_valid_name(id)) refuse(array.place, fmt::format("{} is no name", in_message(id)), valid_name);
    if (!ids_.insert(id).second) refuse(array.place, "it is there twice", "each id once");
    read_npy_header(array);
    refuse_bomb(array);
    if (id == "config")
      config_ = array;
    else
      add(stored_as(id, array.layout), [this, array] {
        const auto bytes = bytes_of(array, array.member.size);
        return decode(array.layout, std::string_view(bytes).substr(array.header_size), array.place);
      });
  }

  /// Numbers are packed a few times, a mask some tens of times.
  void refuse_bomb(const Array& array) {
    constexpr std::uint64_t small = std::uint64_t{64} << 20, densest_archive = 100;
    const auto& layout = array.layout;
    unpacked_ +=
        std::max<std::uint64_t>(array.member.size, element_count(layout.shape) * size_of(layout.type->dtype));
    if (unpacked_ > small && unpacked_ / densest_archive > file_.bytes().size())
      refuse(file_.path(), fmt::format("its {} bytes unpack to {} or more", file_.bytes().size(), unpacked_),
             fmt::format("up to {} times as many, or numpy.savez, which does not pack", densest_archive));
  }

  /// The JSON that an array of bytes is.
  ordered_json json_in(const Array& array) const {
    if (array.layout.type->name != "uint8") refuse(array.place, "it is no text", "uint8");
    const auto bytes = bytes_of(array, array.member.size);
    return parse_json<ordered_json>(std::string_view(bytes).substr(array.header_size), array.place);
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
    const bool is_ours = trace.is_object() && trace.value("schema", json()) == trace_schema;
    if (is_ours) {
      options.erase("trace");
      read_lesson(trace, header_, config.place);
      const auto descriptions = trace.value("tensors", json::object());
      for (auto& tensor : tensors_)
        if (descriptions.contains(tensor.id))
          read_description(descriptions[tensor.id], tensor, place_of(tensor.id + std::string(ending)));
    }
    try {
      read_config(options, header_, config.place);
    } catch (const Error&) {
      if (is_ours) throw;
      header_.config.clear();
    }
  }

  File file_;
  OpenArchive archive_;
  std::optional<Array> config_;
  std::unordered_set<std::string> ids_;
  std::uint64_t unpacked_ = 0;
};

/// An archive of these members, which libzip reads at its end: each is NAME.npy, and none is packed.
std::string archive_of(const std::vector<std::pair<std::string, std::string>>& members) {
  constexpr zip_uint16_t midnight = 0, first_of_1980 = 0x21;  // the first day that a ZIP archive can name
  const auto& zip = libzip();
  const auto require = [](bool is_done, std::string_view problem) {
    if (!is_done) throw std::logic_error(fmt::format("[NpzWriter] {}", problem));
  };
  auto* const source = zip.source_buffer_create(nullptr, 0, 0, nullptr);
  require(source != nullptr, "no memory for the archive");
  zip.source_keep(source);  // after it is written, too
  const std::unique_ptr<zip_source, void (*)(zip_source*)> kept(source, zip.source_free);
  OpenArchive archive(zip.open_from_source(source, ZIP_TRUNCATE, nullptr));
  require(archive != nullptr, "the archive cannot be opened");
  for (const auto& [id, bytes] : members) {
    const auto index =
        zip.file_add(archive.get(), (id + std::string(ending)).c_str(),
                     zip.source_buffer_create(bytes.data(), bytes.size(), 0, nullptr), ZIP_FL_ENC_UTF_8);
    const auto added = static_cast<zip_uint64_t>(index);
    require(index >= 0 && zip.set_file_compression(archive.get(), added, ZIP_CM_STORE, 0) == 0 &&
                zip.file_set_dostime(archive.get(), added, midnight, first_of_1980, 0) == 0,
            zip.strerror(archive.get()));
  }
  require(zip.close(archive.get()) == 0, zip.strerror(archive.get()));
  archive.release();
  zip_stat_t status{};
  require(zip.source_stat(source, &status) == 0 && zip.source_open(source) == 0, "it is not there");
  std::string whole(status.size, '\0');
  const auto count = zip.source_read(source, whole.data(), whole.size());
  zip.source_close(source);
  require(count == static_cast<zip_int64_t>(whole.size()), "the archive cannot be read back");
  return whole;
}

}  // namespace

std::unique_ptr<StoredTrace> open_npz(File file) {
  return std::make_unique<NpzReader>(std::move(file));
}

NpzWriter::NpzWriter(const Header& header) : config_(config_as_json(header)) {
  append_member(description_, "schema", json_text(trace_schema));
  append_member(description_, "lesson", json_text(header.lesson));
  append_member(description_, "title", json_text(header.title));
}

void NpzWriter::receive(const Event& event) {
  if (!event.tensor || !has_elements(*event.tensor)) return;
  members_.emplace_back(event.id, npy_bytes(with_one_nan(*event.tensor).view()));
  append_member(tensors_, event.id, description_as_json(event));
}

std::string NpzWriter::finish() {
  append_member(description_, "tensors", '{' + tensors_ + '}');
  append_member(config_, "trace", '{' + description_ + '}');
  const auto config = '{' + config_ + '}';
  auto members = std::exchange(members_, {});
  members.insert(members.begin(), {"config", npy_header(*element_type_called("uint8"), {config.size()}) +
                                                 config});  // as uint8
  return archive_of(members);
}

}  // namespace attn
