#pragma once

#include <zip.h>

#include <memory>
#include <string>
#include <string_view>

#include "trace/file.hpp"
#include "trace/npz/npy.hpp"

struct zip;  // libzip's
struct zip_file;
namespace attn {

struct ZipMember {
  std::string name;
  std::uint64_t size = 0;  ///< unpacked, by the directory; no more than the file can hold
  bool is_packed = false;  ///< deflated, not stored
};

/// A ZIP archive that is read, with what its directory claims held against the size of the file.
/// All functions throw Error.
class ZipArchive {
 public:
  explicit ZipArchive(File file);

  const std::string& path() const { return file_.path(); }
  std::uint64_t file_size() const { return file_.size(); }
  std::uint64_t member_count() const;
  ZipMember member(std::uint64_t index) const;

  /// The unpacked bytes of one member.
  class Stream : public ByteStream {
   public:
    Stream(const ZipArchive& archive, std::uint64_t index, std::string place);
    void read(void* to, std::size_t count) override;

    /// Refuses a member that goes on, or whose checksum is wrong.
    void finish();

   private:
    struct Close {
      void operator()(zip_file* file) const;
    };
    std::string place_;
    std::unique_ptr<zip_file, Close> file_;
  };

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };

  File file_;
  std::unique_ptr<zip, Discard> archive_;
};

/// A function of libzip, of whatever type. Finding one throws Error where it is not there.
class LibZipFunction {
 public:
  explicit LibZipFunction(const char* name);

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
const LibZip& libzip();

}  // namespace attn
