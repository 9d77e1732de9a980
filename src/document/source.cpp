#include "document/source.hpp"

#include <algorithm>

#include "attn/text/trim.hpp"
#include "formula/parse.hpp"

namespace document {

Source::Source(const Place& place, std::string_view text)
    : file_(place.file), text_(text), runs_({{0, place}}) {
  for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1))
    runs_.push_back({at + 1, {place.file, runs_.back().place.line + 1, 1}});
}

Place Source::place_of(std::size_t byte) const {
  if (runs_.empty()) return {file_};
  byte = std::min(byte, text_.size());
  const auto run =
      std::find_if(runs_.rbegin(), runs_.rend(), [&](const Run& one) { return one.begin <= byte; });
  auto place = run->place;
  place.column += formula::place_of(std::string_view(text_).substr(run->begin), byte - run->begin).column - 1;
  return place;
}

void Source::append(const Source& more) {
  if (file_.empty()) file_ = more.file_;
  for (const auto& run : more.runs_) runs_.push_back({run.begin + text_.size(), run.place});
  text_ += more.text_;
}

Source Source::part(std::size_t begin, std::size_t end) const {
  begin = std::min(begin, text_.size());
  end = std::max(begin, std::min(end, text_.size()));
  Source part;
  part.file_ = file_;
  part.text_ = text_.substr(begin, end - begin);
  part.runs_ = {{0, place_of(begin)}};
  for (const auto& run : runs_)
    if (run.begin > begin && run.begin <= end) part.runs_.push_back({run.begin - begin, run.place});
  return part;
}

Source Source::without_blanks() const {
  const auto inner = attn::trimmed(text_);
  if (inner.empty()) return part(text_.size());
  const auto begin = static_cast<std::size_t>(inner.data() - text_.data());
  return part(begin, begin + inner.size());
}

}  // namespace document
