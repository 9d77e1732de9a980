#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "document/document.hpp"
#include "formula/parse.hpp"

namespace lessons {

/// What `act` returns; what is wrong with a formula in it is said with its place in the document.
template <class Act>
auto at_place(const document::Place& place, const Act& act) {
  try {
    return act();
  } catch (const formula::Error& error) {
    throw document::Error(place, error.what());
  }
}

/// The same of a formula's text.
template <class Act>
auto at_place(const document::Source& text, const Act& act) {
  try {
    return act();
  } catch (const formula::Error& error) {
    throw document::Error(text.place_of(error.at()), error.what());
  }
}

/// The same of the formula of a step, within which documents may be read.
template <class Act>
auto at_formula(const document::Block& block, const Act& act) {
  try {
    return act();
  } catch (const document::Error&) {
    throw;
  } catch (const formula::Error& error) {
    throw document::Error(block.code.place_of(error.at()), error.what());
  }
}

/// What a document calls by a name. Throws document::Error where the lesson has none of it.
template <class Map>
const auto& named(const Map& functions, const std::string& name, const document::Place& place) {
  const auto found = functions.find(name);
  if (found != functions.end()) return found->second;
  std::vector<std::string> valid;
  for (const auto& one : functions) valid.push_back(one.first);
  throw document::Error(place, fmt::format("{} is no function of the lesson; valid: {}", name,
                                           valid.empty() ? "a formula, since it has none"
                                                         : fmt::format("{}", fmt::join(valid, ", "))));
}

}  // namespace lessons
