#pragma once

#include <algorithm>
#include <iterator>

/// Questions about whole lists and maps.
namespace attn {

/// Whether it holds for one of the list.
template <class List, class Holds>
bool any_of(const List& list, Holds holds) {
  return std::any_of(std::begin(list), std::end(list), holds);
}

/// Whether it holds for each of the list.
template <class List, class Holds>
bool all_of(const List& list, Holds holds) {
  return std::all_of(std::begin(list), std::end(list), holds);
}

/// Whether it is in the list.
template <class List>
bool contains(const List& list, const typename List::value_type& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

/// What the map has under that key; null where it has nothing.
template <class Map>
auto* value_in(Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace attn
