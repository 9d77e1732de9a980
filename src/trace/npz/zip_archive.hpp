#pragma once

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

}  // namespace attn
