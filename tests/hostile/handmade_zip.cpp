#include "tests/hostile/handmade_zip.hpp"

namespace {

constexpr std::uint64_t in_64_bits = 0xFFFFFFFF;

/// A number in `size` bytes, the lowest first.
std::string bytes_of(std::uint64_t number, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
  return bytes;
}

/// Version, flags, method, time, date and checksum.
std::string properties_of(const ZipClaim& member) {
  return bytes_of(45, 2) + bytes_of(0, 2) + bytes_of(member.method, 2) + bytes_of(0, 2) + bytes_of(0x21, 2) +
         bytes_of(0, 4);
}

std::string local_header_of(const ZipClaim& member) {
  return "PK\3\4" + properties_of(member) + bytes_of(member.content.size(), 4) +
         bytes_of(member.content.size(), 4) + bytes_of(member.name.size(), 2) + bytes_of(0, 2) + member.name;
}

std::string directory_entry_of(const ZipClaim& member, std::uint64_t offset) {
  const auto sizes =
      bytes_of(1, 2) + bytes_of(16, 2) + bytes_of(member.unpacked, 8) + bytes_of(member.packed, 8);
  return "PK\1\2" + bytes_of(45, 2) + properties_of(member) + bytes_of(in_64_bits, 4) +
         bytes_of(in_64_bits, 4) + bytes_of(member.name.size(), 2) + bytes_of(sizes.size(), 2) +
         bytes_of(0, 2) + bytes_of(0, 2) + bytes_of(0, 2) + bytes_of(0, 4) + bytes_of(offset, 4) +
         member.name + sizes;
}

std::string end_of(std::uint64_t count, std::uint64_t directory, std::uint64_t size) {
  const auto end = directory + size;
  return "PK\6\6" + bytes_of(44, 8) + bytes_of(45, 2) + bytes_of(45, 2) + bytes_of(0, 4) + bytes_of(0, 4) +
         bytes_of(count, 8) + bytes_of(count, 8) + bytes_of(size, 8) + bytes_of(directory, 8) + "PK\6\7" +
         bytes_of(0, 4) + bytes_of(end, 8) + bytes_of(1, 4) + "PK\5\6" + bytes_of(0, 2) + bytes_of(0, 2) +
         bytes_of(0xFFFF, 2) + bytes_of(0xFFFF, 2) + bytes_of(in_64_bits, 4) + bytes_of(in_64_bits, 4) +
         bytes_of(0, 2);
}

}  // namespace

std::string zip_claiming(const std::vector<ZipClaim>& members, std::uint64_t member_count) {
  std::string contents, directory;
  for (const auto& member : members) {
    directory += directory_entry_of(member, member.shares_content ? 0 : contents.size());
    if (!member.shares_content) contents += local_header_of(member) + member.content;
  }
  const auto end =
      end_of(member_count == 0 ? members.size() : member_count, contents.size(), directory.size());
  return contents + directory + end;
}
