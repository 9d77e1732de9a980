#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// A member of a handmade archive: what is there, and what the directory says of it.
struct ZipClaim {
  std::string name, content;
  std::uint64_t packed, unpacked;
  std::uint16_t method = 0;
  bool shares_content = false;  ///< lies where the first member lies
};

/// The bytes of a ZIP archive (with the 64-bit fields of PKWARE's APPNOTE) whose directory says what it is
/// told to. `member_count` is what its end says; as many as there are where it is 0.
std::string zip_claiming(const std::vector<ZipClaim>& members, std::uint64_t member_count = 0);
