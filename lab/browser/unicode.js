// What unicode.cpp asks the browser; emscripten links these functions by their names.
mergeInto(LibraryManager.library, {
  // The bits of `Property` that are set for a character.
  browser_properties: function(code_point) {
    const character = String.fromCodePoint(code_point);
    const properties = [
      /\p{White_Space}/u, /\p{Default_Ignorable_Code_Point}/u, /[\p{Cc}\p{Mn}\p{Me}\p{Zl}\p{Zp}]/u, /\p{Emoji}/u,
      /\p{Extended_Pictographic}/u
    ];
    return properties.reduce((bits, property, i) => bits | (property.test(character) ? 1 << i : 0), 0);
  },

  // A copy of the text, changed, which the caller has to free.
  browser_changed__deps: ['malloc'],
  browser_changed: function(text, length, to_lower) {
    const before = UTF8ToString(text, length);
    const after = to_lower ? before.toLowerCase() : before.normalize('NFC');
    const size = lengthBytesUTF8(after) + 1;
    const copy = _malloc(size);
    stringToUTF8(after, copy, size);
    return copy;
  },

  // Where each segment ends, in bytes; the number of segments stands first. The caller has to free it.
  browser_ends__deps: ['malloc'],
  browser_ends: function(text, length, of_words) {
    const granularity = of_words ? 'word' : 'grapheme';
    Module.segmenters = Module.segmenters || {};
    const segmenter = Module.segmenters[granularity] =
      Module.segmenters[granularity] || new Intl.Segmenter('und', {granularity});
    const ends = [];
    let end = 0;
    for (const {segment} of segmenter.segment(UTF8ToString(text, length))) ends.push(end += lengthBytesUTF8(segment));
    const copy = _malloc(4 * (ends.length + 1));
    HEAP32.set([ends.length, ...ends], copy >> 2);
    return copy;
  }
});
