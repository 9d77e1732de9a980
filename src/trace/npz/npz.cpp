#include "trace/npz/npz.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
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
#include "trace/element_type.hpp"
#include "trace/id.hpp"
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
  decltype(&zip_error_init) error_init = LibZipFunction("zip_error_init");
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
  decltype(&zip_source_buffer) source_buffer = LibZipFunction("zip_source_buffer");
  decltype(&zip_source_buffer_create) source_buffer_create = LibZipFunction("zip_source_buffer_create");
  decltype(&zip_source_close) source_close = LibZipFunction("zip_source_close");
  decltype(&zip_source_filep_create) source_filep_create = LibZipFunction("zip_source_filep_create");
  decltype(&zip_source_free) source_free = LibZipFunction("zip_source_free");
  decltype(&zip_source_keep) source_keep = LibZipFunction("zip_source_keep");
  decltype(&zip_source_open) source_open = LibZipFunction("zip_source_open");
  decltype(&zip_source_read) source_read = LibZipFunction("zip_source_read");
  decltype(&zip_source_stat) source_stat = LibZipFunction("zip_source_stat");
  decltype(&zip_stat_index) stat_index = LibZipFunction("zip_stat_index");
  decltype(&zip_stat_init) stat_init = LibZipFunction("zip_stat_init");
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

/// Deflate packs no more than 258 bytes into 2 bits.
constexpr std::uint64_t densest = 1032;

std::string message_of(zip_error_t* error) {
  std::string message = libzip().error_strerror(error);
  libzip().error_fini(error);
  return message;
}

[[noreturn]] void refuse_archive(const File& file, zip_error_t* error) {
  refuse(file.path(), fmt::format("it is no whole ZIP archive: {}", message_of(error)), valid_archive);
}

zip_t* open_archive(const File& file) {
  zip_error_t error;
  libzip().error_init(&error);
  std::FILE* stream = file.stream();
  zip_source_t* source = libzip().source_filep_create(stream, 0, -1, &error);
  if (source == nullptr) {
    std::fclose(stream);
    refuse_archive(file, &error);
  }
  zip_t* archive = libzip().open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    libzip().source_free(source);
    refuse_archive(file, &error);
  }
  return archive;
}

/// One line of the directory, which claims no more than could be true.
zip_stat_t directory_entry(const File& file, zip_t* archive, std::uint64_t index) {
  zip_stat_t entry;
  libzip().stat_init(&entry);
  constexpr zip_uint64_t needed =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (libzip().stat_index(archive, index, 0, &entry) != 0 || (entry.valid & needed) != needed)
    refuse(file.path(), fmt::format("its directory is broken at member {}", index), valid_archive);
  const auto place = fmt::format("{}: member {}", file.path(), in_message(entry.name));
  if (entry.encryption_method != ZIP_EM_NONE) refuse(place, "it is encrypted", "no encryption");
  const bool is_stored = entry.comp_method == ZIP_CM_STORE;
  if (!is_stored && entry.comp_method != ZIP_CM_DEFLATE)
    refuse(place, fmt::format("it is packed by method {}", entry.comp_method), "stored or deflated");
  const bool is_possible =
      is_stored ? entry.size == entry.comp_size : entry.size / densest <= entry.comp_size;
  if (entry.comp_size > file.size() || !is_possible)
    refuse(place, fmt::format("it claims {} bytes packed into {}", entry.size, entry.comp_size),
           "sizes that are true");
  return entry;
}

struct ZipMember {
  std::string name;
  std::uint64_t size = 0;  ///< unpacked, by the directory; no more than the file can hold
  bool is_packed = false;  ///< deflated, not stored
};

/// A ZIP archive that is read, with what its directory claims held against the size of the file.
/// All functions throw Error.
class ZipArchive {
 public:
  explicit ZipArchive(File file) : file_(std::move(file)), archive_(open_archive(file_)) {
    std::uint64_t packed = 0;
    for (std::uint64_t i = 0; i < member_count(); ++i)
      packed += directory_entry(file_, archive_.get(), i).comp_size;
    if (packed > file_.size())
      refuse(path(), fmt::format("its members claim {} packed bytes, but it has {}", packed, file_.size()),
             "members that do not overlap");
  }

  const std::string& path() const { return file_.path(); }
  std::uint64_t file_size() const { return file_.size(); }
  std::uint64_t member_count() const {
    return static_cast<std::uint64_t>(libzip().get_num_entries(archive_.get(), 0));
  }
  ZipMember member(std::uint64_t index) const {
    const auto entry = directory_entry(file_, archive_.get(), index);
    return {entry.name, entry.size, entry.comp_method != ZIP_CM_STORE};
  }

  /// The unpacked bytes of one member.
  class Stream {
   public:
    Stream(const ZipArchive& archive, std::uint64_t index, std::string place)
        : place_(std::move(place)), file_(libzip().fopen_index(archive.archive_.get(), index, 0)) {
      if (!file_)
        refuse(place_, fmt::format("it cannot be read: {}", libzip().strerror(archive.archive_.get())),
               valid_archive);
    }

    /// Throws Error where there are no `count` bytes left.
    void read(void* to, std::size_t count) {
      for (std::size_t done = 0; done < count;) {
        const auto got = libzip().fread(file_.get(), static_cast<char*>(to) + done, count - done);
        if (got < 0)
          refuse(place_, fmt::format("it is broken: {}", libzip().file_strerror(file_.get())), valid_archive);
        if (got == 0) refuse(place_, "it ends before its size", valid_archive);
        done += static_cast<std::size_t>(got);
      }
    }

    /// Refuses a member that goes on, or whose checksum is wrong.
    void finish() {
      char beyond = 0;
      const auto got = libzip().fread(file_.get(), &beyond, 1);
      if (got < 0)
        refuse(place_, fmt::format("it is broken: {}", libzip().file_strerror(file_.get())), valid_archive);
      if (got > 0) refuse(place_, "it goes on after its size", valid_archive);
    }

   private:
    struct Close {
      void operator()(zip_file* file) const { libzip().fclose(file); }
    };
    std::string place_;
    std::unique_ptr<zip_file, Close> file_;
  };

 private:
  struct Discard {
    void operator()(zip* archive) const { libzip().discard(archive); }
  };

  File file_;
  std::unique_ptr<zip, Discard> archive_;
};

/// The .npy format, versions 1.0 to 3.0
/// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
struct Npy {
  Layout layout;
  std::uint64_t header_size = 0;  ///< bytes before the elements
};

constexpr std::string_view valid_header =
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } with the type, order and shape";
constexpr std::string_view valid_types = "bool, int8 to int64, uint8 to uint64, float16, float32 and float64";

constexpr std::array<std::pair<std::string_view, ElementType>, 12> types = {{{"b1", ElementType::boolean},
                                                                             {"i1", ElementType::int8},
                                                                             {"i2", ElementType::int16},
                                                                             {"i4", ElementType::int32},
                                                                             {"i8", ElementType::int64},
                                                                             {"u1", ElementType::uint8},
                                                                             {"u2", ElementType::uint16},
                                                                             {"u4", ElementType::uint32},
                                                                             {"u8", ElementType::uint64},
                                                                             {"f2", ElementType::float16},
                                                                             {"f4", ElementType::float32},
                                                                             {"f8", ElementType::float64}}};

/// "objects" for NumPy's dtype '|O', and so on; the code itself where there is no word for it.
std::string words_for(std::string_view code) {
  switch (code.empty() ? '\0' : code[0]) {
    case 'O':
      return "objects";
    case 'f':
      return "floats of another size";
    case 'c':
      return "complex numbers";
    case 'S':
    case 'U':
      return "texts";
    case 'M':
    case 'm':
      return "times";
    case 'V':
      return "records";
    default:
      return "elements of an unknown type";
  }
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
  for (const auto& [known, type] : types) {
    if (code != known) continue;
    layout.type = type;
    layout.big_endian = descr[0] == '>';
    if (size_of(type) == 1 || descr[0] == '<' || descr[0] == '>') return;
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
  const bool is_shape = shape.is_array() && !is_number &&
                        std::all_of(shape.begin(), shape.end(), std::mem_fn(&json::is_number_unsigned));
  if (header.size() != 3 || !type.is_string() || !order.is_boolean() || !is_shape)
    refuse(place, fmt::format("its header is {}", in_message(literal)), valid_header);
  Layout layout;
  layout.shape = shape.get<Shape>();
  layout.fortran_order = order.get<bool>();
  read_type(type.get_ref<const std::string&>(), place, layout);
  return layout;
}

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::string_view valid_array = "an array of the .npy format";
constexpr std::uint64_t longest_header = std::uint64_t{1} << 20;

/// Reads `count` bytes as a little-endian number.
std::uint64_t read_number(ZipArchive::Stream& stream, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char byte = 0;
    stream.read(&byte, 1);
    number |= std::uint64_t{byte} << (8 * i);
  }
  return number;
}

/// Bytes that the field of the header's length takes, by the version.
std::size_t read_preamble(ZipArchive::Stream& stream, std::uint64_t size, std::string_view place) {
  if (size < magic.size() + 4) refuse(place, fmt::format("it has {} bytes", size), valid_array);
  std::string found(magic.size(), '\0');
  stream.read(found.data(), found.size());
  if (found != magic) refuse(place, fmt::format("it begins with {}", in_message(found)), valid_array);
  const auto major = read_number(stream, 1), minor = read_number(stream, 1);
  if (major < 1 || major > 3 || minor != 0)
    refuse(place, fmt::format("it has version {}.{} of the .npy format", major, minor), "1.0, 2.0 and 3.0");
  return major == 1 ? 2 : 4;
}

/// NumPy's code for such elements, the lowest byte first.
std::string code_of(ElementType type) {
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const auto& known) { return known.second == type; });
  return (size_of(type) == 1 ? "|" : "<") + std::string(found->first);
}

/// "()", "(3,)", "(3, 4)".
std::string python_tuple(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// What stands before the elements, padded such that they are aligned.
std::string npy_preamble(ElementType type, const Shape& shape) {
  constexpr std::size_t alignment = 64, size_before_header = 10;
  auto header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", code_of(type),
                            python_tuple(shape));
  header.append(alignment - (size_before_header + header.size() + 1) % alignment, ' ');
  header += '\n';
  return fmt::format("{}\x01{:c}{:c}{:c}{}", magic, '\0', static_cast<char>(header.size() & 0xFF),
                     static_cast<char>(header.size() >> 8), header);
}

/// Reads the header of an array and leaves the stream at its elements. `size` is the number of bytes of
/// header and elements together. Throws Error, with `place`, for a header that is none or does not fit that
/// size, and for elements of a type that no tensor has: objects, complex numbers, texts, records.
Npy read_npy_header(ZipArchive::Stream& stream, std::uint64_t size, std::string_view place) {
  const auto length_size = read_preamble(stream, size, place);
  const auto length = read_number(stream, length_size);
  const auto header_size = magic.size() + 2 + length_size + length;
  if (length > longest_header || header_size > size)
    refuse(place, fmt::format("its header claims {} bytes", length),
           fmt::format("up to {} and no more than the array has", longest_header));
  std::string literal(length, '\0');
  stream.read(literal.data(), literal.size());
  const Npy npy{layout_in(literal, place), header_size};
  const std::uint64_t promised = stored_size(npy.layout, place), there = size - header_size;
  if (promised != there)
    refuse(place,
           fmt::format("its header promises {} of {}, which take {} bytes, but {} are there",
                       to_string(npy.layout.shape), name_of(npy.layout.type), promised, there),
           "as many as promised");
  return npy;
}

/// The array as NumPy's `save` writes it, in version 1.0; bfloat16, which it has not, as float32.
std::string npy_bytes(const TensorView& tensor) {
  const auto type = tensor.dtype == Dtype::bfloat16 ? ElementType::float32 : element_type_of(tensor.dtype);
  return npy_preamble(type, tensor.shape) + encode(tensor, type);
}

/// A text as an array of its bytes (uint8).
std::string npy_bytes(const std::string& text) {
  return npy_preamble(ElementType::uint8, {text.size()}) + text;
}

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

constexpr zip_uint16_t midnight = 0, first_of_1980 = 0x21;  // the first day that a ZIP archive can name

void require(bool done, const char* action) {
  if (!done) throw std::logic_error(fmt::format("[NpzWriter] {}", action));
}

zip_source_t* new_source() {
  zip_source_t* source = libzip().source_buffer_create(nullptr, 0, 0, nullptr);
  require(source != nullptr, "no memory for the archive");
  return source;
}

/// All bytes of a source, which is freed.
std::string take_bytes(zip_source_t* source) {
  zip_stat_t status;
  libzip().stat_init(&status);
  require(libzip().source_stat(source, &status) == 0 && libzip().source_open(source) == 0,
          "the archive is not there");
  std::string bytes(status.size, '\0');
  const auto count = libzip().source_read(source, bytes.data(), bytes.size());
  libzip().source_close(source);
  libzip().source_free(source);
  require(count == static_cast<zip_int64_t>(bytes.size()), "the archive cannot be read back");
  return bytes;
}

/// An archive that is being written. libzip reads the members at the end, so that they have to stay until
/// then.
class Archive {
 public:
  Archive() : source_(new_source()) {
    libzip().source_keep(source_);
    zip_ = libzip().open_from_source(source_, ZIP_TRUNCATE, nullptr);
    require(zip_ != nullptr, "the archive cannot be opened");
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() {
    if (zip_ == nullptr) return;
    libzip().discard(zip_);
    libzip().source_free(source_);
  }

  void add(const std::string& id, const std::string& bytes) {
    zip_source_t* member = libzip().source_buffer(zip_, bytes.data(), bytes.size(), 0);
    require(member != nullptr, "no memory for a member");
    const auto added = libzip().file_add(zip_, (id + ".npy").c_str(), member, ZIP_FL_ENC_UTF_8);
    require(added >= 0, libzip().strerror(zip_));
    const auto index = static_cast<zip_uint64_t>(added);
    require(libzip().set_file_compression(zip_, index, ZIP_CM_STORE, 0) == 0, libzip().strerror(zip_));
    require(libzip().file_set_dostime(zip_, index, midnight, first_of_1980, 0) == 0, libzip().strerror(zip_));
  }

  std::string close() {
    require(libzip().close(zip_) == 0, libzip().strerror(zip_));
    zip_ = nullptr;
    return take_bytes(source_);
  }

 private:
  zip_source_t* source_;
  zip_t* zip_ = nullptr;
};

}  // namespace

std::unique_ptr<StoredTrace> open_npz(File file) {
  return std::make_unique<NpzReader>(std::move(file));
}

NpzWriter::NpzWriter(const Header& header) : config_(config_as_json(header)), description_("{") {
  config_.pop_back();  // the brace at its end
  append_member(description_, "schema", std::string(trace_schema));
  append_member(description_, "lesson", header.lesson);
  append_member(description_, "title", header.title);
  append_name(description_, "tensors");
  description_ += '{';
}

void NpzWriter::receive(const Event& event) {
  if (!event.tensor || !has_elements(*event.tensor)) return;
  members_.emplace_back(event.id, npy_bytes(with_one_nan(*event.tensor).view()));
  append_name(description_, event.id);
  description_ += description_as_json(event);
}

std::string NpzWriter::finish() {
  append_name(config_, "trace");
  const auto config = npy_bytes(std::exchange(config_, {}) + std::exchange(description_, {}) + "}}}");
  const auto members = std::exchange(members_, {});
  Archive archive;
  archive.add("config", config);
  for (const auto& [id, bytes] : members) archive.add(id, bytes);
  return archive.close();
}

}  // namespace attn
