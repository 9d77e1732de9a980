#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "attn/text/utf8.hpp"
#include "attn/text/width.hpp"

/// Prints what ICU says of every character, and of random texts in every script: words, clusters, forms.
namespace {

std::string utf8(char32_t character) {
  if (character < 0x80) return {static_cast<char>(character)};
  std::string bytes;
  int shift = character < 0x800 ? 6 : character < 0x10000 ? 12 : 18;
  bytes += static_cast<char>((shift == 6 ? 0xC0 : shift == 12 ? 0xE0 : 0xF0) | (character >> shift));
  for (shift -= 6; shift >= 0; shift -= 6) bytes += static_cast<char>(0x80 | ((character >> shift) & 0x3F));
  return bytes;
}

bool is_surrogate(char32_t character) {
  return character >= 0xD800 && character <= 0xDFFF;
}

void print(std::string_view text) {
  for (const auto& part : {attn::word_segments(text), attn::grapheme_clusters(text)}) {
    for (const auto piece : part) std::printf("%zu ", piece.size());
    std::printf("| ");
  }
  std::printf("%s | %s | %zu\n", attn::nfc(text).c_str(), attn::lower_case(text).c_str(),
              attn::display_width(text));
}

/// Texts of forty characters of each block of 128, which is about a script, with a few of others.
void print_texts_of(char32_t first, std::mt19937& generator) {
  const std::u32string others = U" .,'’\u200D\uFE0Fa1中の\U0001F469\u0301";
  for (int i = 0; i < 20; ++i) {
    std::string text;
    for (int length = 0; length < 40; ++length)
      text += utf8(generator() % 8 == 0 ? others[generator() % others.size()]
                                        : first + static_cast<char32_t>(generator() % 128));
    print(text);
  }
}

}  // namespace

int main() {
  std::mt19937 generator(42);
  for (char32_t character = 1; character < 0x110000; ++character)
    if (!is_surrogate(character) && (character < 0x20000 || character % 64 == 0)) print(utf8(character));
  for (char32_t first = 0x80; first < 0x20000; first += 128)
    if (!is_surrogate(first)) print_texts_of(first, generator);
  for (const std::string_view text :
       {"我喜欢猫，因为它们很安静。中华人民共和国成立于一九四九年",
        "吾輩は猫である。名前はまだ無い。カタカナもある", "แมวตัวเล็กนั่งบนเสื่อเพราะมันเหนื่อย",
        "ឆ្មាតូចអង្គុយលើកន្ទេលព្រោះវាហត់", "ແມວນ້ອຍນັ່ງເທິງເສື່ອເພາະມັນເມື່ອຍ", "ကြောင်လေးသည်ဖျာပေါ်တွင်ထိုင်နေသည်",
        "고양이가 매트 위에 앉았다", "J'aime l'été; the cat's 3.14, e.g. Mr. X",
        "👩‍👩‍👧 🇫🇷🇩🇪 ❤️ ☎ e\u0301",
        "Übergröße, Привет! Ελλάδα שלום مرحبا नमस्ते வணக்கம்"})
    print(text);
}
