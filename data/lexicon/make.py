#!/usr/bin/env python3
"""english.txt from WordNet 3.0 (Debian's wordnet-base) and by_hand.txt. README.md tells how a line is read.

usage: make.py [FOLDER OF WORDNET] > english.txt
"""
import collections
import pathlib
import re
import sys

wordnet = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/wordnet")
most_words = 31_000

# The lexicographer's files of nouns (lexnames(5WN)), by number.
noun_class = {5: "animal", 6: "thing", 8: "thing", 13: "food", 14: "group", 15: "place", 17: "thing", 18: "person",
              20: "thing", 21: "thing", 27: "thing", 28: "day"}
letters = {"person": "p", "man": "pm", "woman": "pw", "man-name": "pmn", "woman-name": "pwn", "animal": "a", "food": "f", "thing": "t", "place": "l",
           "group": "g", "day": "d", "quality": "q"}
# The sentence frames of verbs (wninput(5WN)).
subject_is_thing = {1, 3, 4, 5, 6, 7, 11, 12, 13, 34}
subject_is_body = set(range(2, 36)) - {3, 4, 5, 6, 7, 11, 12, 13, 34}
no_object, object_is_thing, object_is_body = {1, 2, 3, 4, 22}, {8, 11, 21, 31}, {9, 10}
kinds_of_adjective = {"beings": "b", "things": "t", "food": "f", "adjective": "-"}
hand_classes = {"man", "woman", "man-name", "woman-name", "person", "animal", "thing", "group", "place", "quality"}


def is_word(lemma):
    return re.fullmatch(r"[a-z]{2,}", lemma)


def tag_counts():
    """How often the tagged texts have a lemma as a part of speech: 1 noun, 2 verb, 3 and 5 adjective, 4 adverb."""
    counts = collections.Counter()
    for line in open(wordnet / "cntlist.rev"):
        key, _, count = line.split()
        lemma, rest = key.split("%")
        counts[lemma, rest[0].replace("5", "3")] += int(count)
    return counts


def synsets(part):
    """offset: (lexicographer's file, words, similar offsets, frames)"""
    found = {}
    for line in open(wordnet / f"data.{part}"):
        if line.startswith("  "):
            continue
        field = line.split(" | ")[0].split()
        words = [re.sub(r"\(.*\)", "", word) for word in field[4:4 + 2 * int(field[3], 16):2]]
        at = 4 + 2 * len(words)
        pointers = [field[at + 1 + 4 * i:at + 5 + 4 * i] for i in range(int(field[at]))]
        frames = set()
        if part == "verb":
            at += 1 + 4 * len(pointers)
            frames = {int(field[at + 2 + 3 * i]) for i in range(int(field[at]))}
        similar = [offset for symbol, offset, _, _ in pointers if symbol == "&"]
        found[field[0]] = (int(field[1]), words, similar, frames)
    return found


def senses(part):
    """lemma: the offsets of its senses, the commonest first"""
    found = {}
    for line in open(wordnet / f"index.{part}"):
        if not line.startswith("  "):
            field = line.split()
            if is_word(field[0]):
                found[field[0]] = field[-int(field[2]):]
    return found


def by_hand():
    """class: its words"""
    words = collections.defaultdict(list)
    for line in open(pathlib.Path(__file__).parent / "by_hand.txt"):
        if line.startswith("#") or not line.strip():
            continue
        field = line.split()
        if not line.startswith(" "):
            name, *field = field
        words[name] += field
    return words


def irregular_forms():
    """form: [(part, lemma)], of those that no rule makes"""
    forms = collections.defaultdict(list)
    for part in ("noun", "verb"):
        for line in open(wordnet / f"{part}.exc"):
            form, lemma, *_ = line.split()
            if is_word(form) and is_word(lemma):
                forms[form].append((part, lemma))
    return forms


def adjectives_by_kind(hand, of_adjective, adjective_sets):
    """Words that say something of beings, things or food: those by hand, and what WordNet calls similar."""
    kinds = {}
    for name in ("food", "beings", "things"):
        for seed in hand[name]:
            kinds[seed] = kinds_of_adjective[name]
    for seed, kind in list(kinds.items()):
        for offset in adjective_sets[of_adjective[seed][0]][2] if seed in of_adjective else ():
            for word in adjective_sets[offset][1]:
                kinds.setdefault(word, kind)
    # What may be said of anything is no sign.
    for word in ("big small large little old new good bad beautiful ugly fast slow strong weak warm cold hot clean dirty "
                 "great short tall high low dark light black white red green blue brown yellow nice important").split():
        kinds[word] = "-"
    return kinds


def words_of_sentiment():
    """The words of ../corpora/sentiment.txt, (good, bad)"""
    good, bad = set(), set()
    for line in open(pathlib.Path(__file__).parent.parent / "corpora" / "sentiment.txt"):
        name, colon, words = line.partition(":")
        if colon and name.split()[0] in ("positive", "negative"):
            (good if name.startswith("positive") else bad).update(words.replace(",", " ").split())
    return good, bad


def alike(seeds, of_adjective, adjective_sets):
    """The seeds and what WordNet calls similar to the first sense of one, where that sense judges."""
    found = set(seeds)
    for seed in seeds - {"like", "original", "shallow"}:
        for offset in of_adjective.get(seed, ())[:1]:
            for other in [offset, *adjective_sets[offset][2]]:
                found.update(adjective_sets[other][1])
    return found


def main():
    counts, hand = tag_counts(), by_hand()
    noun_sets, verb_sets, adjective_sets = synsets("noun"), synsets("verb"), synsets("adj")
    nouns, verbs, adjectives, adverbs = (senses(part) for part in ("noun", "verb", "adj", "adv"))
    kinds = adjectives_by_kind(hand, adjectives, adjective_sets)
    readings = collections.defaultdict(dict)  # word: {reading: count}
    for word, offsets in nouns.items():
        proper = all(name[:1].isupper() for name in noun_sets[offsets[0]][1] if name.lower() == word)
        letter = letters[noun_class.get(noun_sets[offsets[0]][0], "quality")]
        if not proper or letter in "lg":
            readings[word]["n" + letter] = counts[word, "1"]
    for word, offsets in verbs.items():
        frames = set().union(*(verb_sets[offset][3] for offset in offsets[:2]))
        flags = [(subject_is_body, "b"), (subject_is_thing, "t"), (no_object, "i"), (object_is_thing, "o"),
                 (object_is_body, "w")]
        readings[word]["v" + "".join(flag for some, flag in flags if frames & some)] = counts[word, "2"]
    for word in adjectives:
        kind = kinds.get(word, "-")
        readings[word]["a" + kind] = counts[word, "3"] + (30 if kind != "-" else 0)
    for word in adverbs:
        if not word.endswith("ly"):
            readings[word]["r"] = counts[word, "4"]
    total = {word: sum(of_word.values()) for word, of_word in readings.items()}
    like_good, like_bad = (alike(words, adjectives, adjective_sets) for words in words_of_sentiment())
    good, bad, neutral = (set(hand.pop(name)) for name in ("good", "bad", "neutral"))
    number_of_senses, count_of_synonyms = collections.Counter(), collections.Counter()
    for part, sets in ((nouns, noun_sets), (verbs, verb_sets), (adjectives, adjective_sets)):
        for word, offsets in part.items():
            number_of_senses[word] += len(offsets)
            synonyms = [total.get(other.lower(), 0) for offset in offsets for other in sets[offset][1]]
            count_of_synonyms[word] = max([count_of_synonyms[word], *synonyms])
    chosen = sorted(readings, key=lambda word: (-total[word], -(number_of_senses[word] + min(count_of_synonyms[word], 5)),
                                                len(word), word))
    readings = {word: readings[word] for word in chosen[:most_words]}
    for form, lemmas in irregular_forms().items():
        for part, lemma in lemmas:
            if any(reading[0] == part[0] for reading in readings.get(lemma, {})):
                readings.setdefault(form, {})[f">{part[0]}{lemma}"] = counts[lemma, "1" if part == "noun" else "2"]
    for name, words in hand.items():
        for word in words:
            word, _, form = word.partition(":") if word != ":" else (word, "", "")
            mine = readings.setdefault(word, {})
            if name in hand_classes:
                for reading in [reading for reading in mine if reading[0] == "n" or reading.startswith(">n")]:
                    del mine[reading]
                mine["n" + letters[name] + ("s" if form else "")] = max(50, counts[word, "1"])
            elif name in kinds_of_adjective:
                for reading in [reading for reading in mine if reading[0] == "a"]:
                    del mine[reading]
                mine["a" + kinds_of_adjective[name]] = max(30, counts[word, "3"])
            else:
                mine["." + name] = 10_000
    for letter, words, seeds, others in (("g", like_good, good, like_bad | bad), ("x", like_bad, bad, like_good | good)):
        for word in ((words - others - neutral) | seeds) & set(readings):
            readings[word] = {reading + letter if reading[0] in "av" else reading: count
                              for reading, count in readings[word].items()}
    for word in sorted(readings, key=str.encode):
        ordered = sorted(readings[word].items(), key=lambda reading: (-reading[1], reading[0]))
        print(word, *(reading + (str(count) if count and reading[0] != "." else "") for reading, count in ordered))


main()
