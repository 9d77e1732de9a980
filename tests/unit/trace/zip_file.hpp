#pragma once

#include <string>
#include <vector>

struct ZipEntry {
  std::string name, content;
};

/// The bytes of a ZIP archive, its members stored or deflated, with checksums that are right.
std::string zip_of(const std::vector<ZipEntry>& entries, bool deflated = false);

/// An array of the .npy format, version 1.0, with that header and those elements.
std::string npy_of(const std::string& header, const std::string& elements);
