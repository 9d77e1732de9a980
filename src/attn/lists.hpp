#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

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

/// What `f`, which may be a member, makes of each of the list.
template <class List, class F>
auto each_of(const List& list, F f) {
  std::vector<std::decay_t<std::invoke_result_t<F&, decltype(*std::begin(list))>>> results;
  for (const auto& one : list) results.push_back(std::invoke(f, one));
  return results;
}

/// What the map has under that key; null where it has nothing.
template <class Map>
auto* value_in(Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace attn
