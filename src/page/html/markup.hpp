#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "page/page.hpp"
#include "page/svg/drawing.hpp"

/// The parts of pages of HTML. All of it is well-formed XML, whatever the text.
namespace attn::html {

/// The files style.css and page.js of this folder, as they stand in the elements of a page.
std::string_view style_sheet();
std::string_view page_script();

/// The Content-Security-Policy under which a page runs nothing but that script and has no style but that
/// sheet, and fetches nothing.
std::string content_policy();

/// The file pieces.html of this folder, and a piece of it by its name.
std::string_view pieces();
std::string piece_named(std::string_view name);

/// That piece with these parts in it.
template <class... Parts>
std::string filled(std::string_view name, const Parts&... parts) {
  return fmt::format(fmt::runtime(piece_named(name)), parts...);
}

/// A document with what stands in its body; `attributes` are those of the body, with a blank before each.
std::string document(const std::string& policy, const std::string& title, std::string_view style,
                     const std::string& attributes, const std::string& body, bool is_for_paper = false);

/// Words as the text of an element or the value of an attribute in double quotes, in HTML as in XML: no
/// character of theirs ends it, moves a cursor, reorders a line or is forbidden in a document.
using svg::escaped;

/// JSON as it may stand in a script element: without "<", ">", "&" and those others.
std::string in_script(std::string_view json, std::string_view others);

/// Words as a JSON string that may stand in a script element: it has no "<", ">" or "&".
std::string json_string(std::string_view words);

/// Bytes in base 64 (RFC 4648), and bytes given as two hexadecimal digits each.
std::string base64(std::string_view bytes);
std::string base64_of_hex(std::string_view hex);

/// A paragraph for each line that is not empty; `style` is its attributes, with a blank before them.
std::string paragraphs(const std::vector<std::string>& lines, const char* style = "");
std::string paragraphs(const std::string& prose, const char* style = "");

/// A formula in plain Unicode maths, of one line, as MathML: "Q Kᵀ / √d_k" becomes a fraction with a root
/// below its line, ᵢ and _k subscripts, ᵀ and ^2 superscripts. A "/" between spaces is the line of a
/// fraction, another one stands in a name (encoder/h) or in the line. Words stay words.
std::string mathml(std::string_view formula);

/// What stands in each column of a terminal; a wide character takes two, of which the second is empty.
using Columns = std::vector<std::string>;
Columns columns_of(const std::string& line);

/// Text, called `name`, in which each character keeps its place: code, a drawing.
std::string preformatted(const std::string& text, const std::string& name);

/// The lines of a note, called `name`. Those that are laid out in columns become tables, with a header for
/// each row and, where the first line has words over numbers or begins in the second column, for each column;
/// a line that goes on in a single later column belongs to the row above it. The sentences between two tables
/// become paragraphs. Where nothing is laid out in columns, the text is preformatted.
std::string note_markup(const std::string& text, const std::string& name);

/// Where the box of a tensor leads, as an address on the page: by its name and its shape as the diagram has
/// them ("weights", "4×4"; empty without one); empty where no step of the page is meant.
using Target = std::function<std::string(const std::string& name, const std::string& shape)>;

/// The address of a box that is no link.
inline constexpr const char* nowhere = "#";

/// A diagram of text as an SVG drawing: `name [shape]` becomes a box that is a link where it has a target,
/// other words stay words, which may be links, and box-drawing characters and arrows become lines that reach
/// the words beside them.
svg::Drawing flow_drawing(const std::string& diagram, const Target& target);

/// What stands in the cell of an element, for paper: without shades, and nothing where there is a blank to
/// write in.
using Written = std::function<std::string(std::size_t offset)>;

/// A table as markup: every grid has a table of its own, side by side or one at a time as the reader chooses.
/// Cells are shaded by their values, shares of attention from 0 to 1, other numbers by their size and sign.
/// Rows of attention end with the key that has the largest share of it. `id` is the tensor's and `number`
/// what the page's script calls it.
std::string table_markup(const std::string& id, const page::Table& table, std::size_t number,
                         const Written& written = {});

}  // namespace attn::html
