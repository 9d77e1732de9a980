#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "attn/lists.hpp"
#include "attn/text/trim.hpp"
#include "corpora/sequences.hpp"
#include "english/lexicon.hpp"

namespace english {

namespace {

using Words = AboutGrammar::Words;

/// What a noun phrase or a pronoun stands for.
struct Entity {
  std::size_t at;
  bool is_plural;
  std::string kind = "p";   ///< letter of the noun's class: p, a, f, t, l, g, q
  std::string gender = "";  ///< "m", "w" or none
  int person = 3;

  bool is_being() const { return kind == "p" || kind == "a"; }
  bool is_singular() const { return !is_plural && person == 3; }
};

/// Whether the same pronoun may stand for both.
bool share_pronoun(const Entity& a, const Entity& b) {
  if (a.is_plural != b.is_plural) return false;
  if (a.is_plural) return true;
  if ((a.kind == "p") != (b.kind == "p")) return false;
  return a.kind != "p" || a.gender.empty() || b.gender.empty() || a.gender == b.gender;
}

/// What a noun phrase may be like.
struct Phrase {
  bool may_be_long = true;  ///< with a relative clause or a preposition behind it
  std::optional<bool> is_plural = {};
  bool is_indefinite = false;
};

enum class Tense { past, present, negated, modal, progressive, perfect };

/// Wherever words stand between spaces, one of them is drawn.
class Writer {
 public:
  Writer(const Words& words, attn::Random& random) : words_(words), random_(random) {}

  AboutSentence sentence() {
    const std::pair<std::size_t, void (Writer::*)()> kinds[] = {
        {12, &Writer::when_first}, {17, &Writer::question},  {21, &Writer::there_is},
        {25, &Writer::imperative}, {33, &Writer::says_that}, {37, &Writer::fragment},
        {100, &Writer::statement}};
    const auto r = percent();
    (this->*std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& one) {
              return r < one.first;
            })->second)();
    if (once_in(2) && !is_question_) put(once_in(8) ? "!" : ".");
    if (once_in(25) && result_.words.size() > 4) break_off();
    auto& first = result_.words.front();
    if (!once_in(3) && first.front() >= 'a' && first.front() <= 'z') first = proper(first);
    return std::move(result_);
  }

 private:
  bool once_in(std::size_t times) { return corpora::draw_once_in(random_, times); }
  std::size_t percent() { return corpora::draw_index(random_, 100); }
  bool chance(std::size_t of_hundred) { return percent() < of_hundred; }
  const std::string& any(const std::vector<std::string>& items) { return corpora::draw_from(random_, items); }
  std::string one_of(const std::string& words) { return any(attn::split(words, ' ')); }

  /// About another word, or about itself. Returns its place.
  std::size_t put(const std::string& words, std::optional<std::size_t> about = {}) {
    const auto at = next();
    result_.words.push_back(one_of(words));
    result_.about.push_back(about.value_or(at));
    return at;
  }
  std::size_t next() const { return result_.words.size(); }

  struct Pointer {
    std::size_t from, to;
  };

  /// The first word is about the second one, which may be put after it.
  void point(const Pointer& pointer) { result_.about[pointer.from] = pointer.to; }

  /// Slides and titles break off: what a lost word was to say is said of none.
  void break_off() {
    const auto kept = corpora::draw_between(random_, 3, result_.words.size() - 1);
    result_.words.resize(kept);
    result_.about.resize(kept);
    for (std::size_t i = 0; i < kept; ++i)
      if (result_.about[i] >= kept) result_.about[i] = i;
  }

  std::string plural(const std::string& noun) const {
    const auto* irregular = attn::value_in(words_.irregular_plurals, noun);
    return irregular != nullptr ? *irregular : plural_of(noun);
  }
  std::string past(const std::string& verb) {
    const auto* irregular = attn::value_in(words_.irregular, verb);
    return irregular != nullptr ? any(*irregular) : form_of(verb, Form::past);
  }
  std::string gerund() { return form_of(any(words_.acts_on_things), Form::gerund); }

  const std::string& adjective_for(const std::string& kind) {
    const auto group = kind == "p" || kind == "a" ? "b" : kind == "f" ? "f" : "t";
    return any(words_.adjectives.at(chance(40) && kind != "q" && kind != "g" ? group : "-"));
  }
  const std::string& act_without_object(const Entity& subject) {
    return any(subject.is_being() ? words_.acts_alone : words_.happens);
  }
  const std::string& act_on(const Entity& object) {
    return any(object.is_being() ? words_.acts_on_beings : words_.acts_on_things);
  }

  Entity noun_phrase(const std::string& kinds, const Phrase& phrase = {}) {
    const auto kind = one_of(kinds);
    if (kind == "p" && !phrase.is_indefinite && !phrase.is_plural.value_or(false) && chance(22))
      return name();
    const bool is_place_or_group = kind == "l" || kind == "g";
    if (is_place_or_group && !phrase.is_plural && chance(20))
      return {put(proper(any(words_.nouns.at(kind)))), false, kind};
    const bool is_plural = phrase.is_plural.value_or(chance(30));
    const bool is_mass = !is_plural && (kind == "q" || kind == "f") && chance(35);
    const auto begin = next();
    std::string gender;
    const auto noun = kind == "p" && chance(55) ? gendered(gender) : any(words_.nouns.at(kind));
    if (!is_mass && chance(is_plural ? 65 : 96)) determiner(is_plural, phrase.is_indefinite);
    for (auto count = corpora::draw_index(random_, 10) * 2 / 9; count > 0 && !is_mass; --count)
      adjectives(kind);
    if (is_mass && once_in(4)) put(adjective_for(kind));
    if ((is_place_or_group || kind == "t" || kind == "q") && chance(20))
      put(once_in(4) ? made_name() : any(words_.nouns.at(one_of("t t q q f l"))));
    const auto at = put(is_plural ? plural(noun) : noun);
    point_before(begin, at);
    const Entity entity = {at, is_plural, kind, gender};
    if (phrase.may_be_long) extend(entity);
    return entity;
  }

  /// Of one of these kinds, with nothing behind it.
  Entity short_noun(const std::string& kinds) { return noun_phrase(kinds, {.may_be_long = false}); }

  void determiner(bool is_plural, bool is_indefinite) {
    static constexpr const char* determiners[2][2] = {
        {"the the the the a a an this that my her his our your its their every each another one",
         "a a an another no"},
        {"the the the these those my our his their some two three all many her most",
         "some many two three several"}};
    if (chance(14))
      possessor();
    else
      put(determiners[is_plural][is_indefinite]);
  }

  /// All words from `begin` on that are about none yet are about the noun: not those of a possessor.
  void point_before(std::size_t begin, std::size_t noun) {
    for (auto i = begin; i < noun; ++i)
      if (result_.about[i] == i && stands_alone_.count(i) == 0) result_.about[i] = noun;
  }

  void adjectives(const std::string& kind) {
    if (once_in(6)) return point({put("very really quite so too"), put(adjective_for(kind))});
    put(adjective_for(kind));
    if (once_in(10)) stands_alone_.insert(put(", and")), put(adjective_for(kind));
  }

  /// "Maria's", "the dog's": the 's is about what is owned, as "my" is.
  void possessor() {
    if (chance(50))
      put(any_name(once_in(2)));
    else
      point({put("the my her this"), put(any(words_.nouns.at(one_of("p a g l"))))});
    stands_alone_.insert(next() - 1);
    put("'s");
  }

  static std::string proper(std::string name) {
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
    return name;
  }

  std::string gendered(std::string& gender) {
    gender = once_in(2) ? "m" : "w";
    return any(words_.nouns.at("p" + gender));
  }

  std::string any_name(bool is_man) { return proper(any(is_man ? words_.men : words_.women)); }

  /// A name that no list has.
  std::string made_name() {
    std::string made;
    for (auto i = corpora::draw_between(random_, 2, 3); i > 0; --i)
      made += one_of("ba ro mi ta lu ke sha vi no do pe ri zo gu") + (once_in(3) ? one_of("n r l k s") : "");
    return proper(made);
  }

  Entity name() {
    const bool is_man = once_in(2);
    if (once_in(8)) return {put(made_name()), false};
    return {put(any_name(is_man)), false, "p", is_man ? "m" : "w"};
  }

  void extend(const Entity& entity) {
    const auto r = percent();
    if (r < 8) {
      prepositional();
    } else if (r < 13) {
      point({put("of"), short_noun("t l q g p t").at});
    } else if (r < 24 && entity.is_being()) {
      relative_of_subject(entity);
    } else if (r < 27) {
      relative_of_object(entity);
    } else if (r < 29 && entity.is_being()) {
      put(gerund(), entity.at);
      short_noun("t f q");
    }
  }

  /// "the boy who likes the girls"
  void relative_of_subject(const Entity& entity) {
    put(entity.kind == "p" ? "who who that" : "that that which", entity.at);
    predicate(entity, true);
  }

  /// "the book that the girl read"
  void relative_of_object(const Entity& entity) {
    if (!once_in(4)) put(entity.kind == "p" ? "whom that who" : "that that which", entity.at);
    const auto subject = chance(40) ? personal_pronoun() : short_noun("p p a");
    verb(subject, act_on(entity), simple_tense());
  }

  /// "on the mat", "after crossing the river" where somebody does so. The noun, where there is one.
  std::optional<Entity> prepositional(const std::optional<Entity>& subject = {}) {
    if (subject && subject->is_being() && once_in(12)) {
      point({put("after before by without while for of when"), put(gerund(), subject->at)});
      return short_noun("t f q l");
    }
    const auto preposition =
        put("on in at under over near behind across with through from to for by into about against after "
            "before between during around along without toward as like past");
    const auto* other = once_in(14)  ? "2008 1999 2024 1945 42 7 100 12"
                        : chance(10) ? "me you us him her them it"
                                     : nullptr;
    const auto object = other ? Entity{put(other), false} : short_noun("t t l l f q a p g d");
    point({preposition, object.at});
    if (other) return {};
    if (once_in(8)) {
      put("and");
      short_noun("t l f q");
    }
    if (once_in(12)) prepositional();
    return object;
  }

  /// "I" and "you" stand for nobody in the sentence but themselves.
  Entity personal_pronoun(const std::string& words = "I I you we he she they it") {
    const auto word = one_of(words);
    const bool is_plural = word == "you" || word == "we" || word == "they";
    const auto* gender = word == "he" ? "m" : word == "she" ? "w" : "";
    return {put(word), is_plural, word == "it" ? "a" : "p", gender, word == "I" ? 1 : 3};
  }

  Entity subject(const std::string& kinds) {
    const auto kind = one_of(kinds);
    if (chance(20) && (kind == "p" || kind == "a")) return personal_pronoun();
    if (once_in(25)) return {put("this this that everything something"), false, "t"};
    if (once_in(60)) return {put("these those some many"), true, "t"};
    if (!once_in(14)) return noun_phrase(kind);
    const auto first = short_noun(kind);
    put("and");
    short_noun(kind);
    return {first.at, true, kind};
  }

  Tense simple_tense() { return once_in(2) ? Tense::past : Tense::present; }

  Tense tense() {
    const auto r = percent();
    return r < 36   ? Tense::past
           : r < 62 ? Tense::present
           : r < 74 ? Tense::negated
           : r < 83 ? Tense::modal
           : r < 93 ? Tense::progressive
                    : Tense::perfect;
  }

  static const char* is(const Entity& subject) {
    if (subject.person == 1) return "am 'm was";
    return subject.is_plural ? "are were are 're" : "is was is was 's";
  }

  /// Verbs that are function words elsewhere: "likes", "has", "did".
  std::size_t main_verb(const Entity& subject) {
    if (once_in(3)) return verb(subject, one_of("like need"), Tense::negated);
    return put_verb(
        subject.is_singular() ? "likes has had did does needs liked" : "like have had did do need liked",
        subject.at);
  }

  /// Gives the adverb before a verb its verb.
  std::size_t put_verb(const std::string& words, std::size_t subject) {
    const auto at = put(words, subject);
    if (waiting_) point({*waiting_, at});
    waiting_.reset();
    return at;
  }

  std::size_t verb(const Entity& subject, const std::string& lemma, Tense tense) {
    const bool is_one = subject.is_singular();
    if (tense == Tense::negated) {
      put(is_one ? "did does did can could will would ca wo should"
                 : "did do did can could will would ca wo should",
          subject.at);
      put("not n't n't", subject.at);
    } else if (tense == Tense::modal) {
      put("will can could must would may should might 'll 'd", subject.at);
    } else if (tense == Tense::progressive) {
      put(is(subject), subject.at);
    } else if (tense == Tense::perfect) {
      put(is_one ? "has had 's" : "have had 've", subject.at);
      if (once_in(6)) put("not n't", subject.at);
    }
    if (tense != Tense::negated && once_in(tense == Tense::past ? 10 : 8))
      waiting_ = put("often always never really quickly slowly just still already also only");
    const bool is_past = tense == Tense::past || tense == Tense::perfect;
    return put_verb(is_past                             ? past(lemma)
                    : tense == Tense::progressive       ? form_of(lemma, Form::gerund)
                    : tense == Tense::present && is_one ? form_of(lemma, Form::third_person)
                                                        : lemma,
                    subject.at);
  }

  std::optional<Entity> predicate(const Entity& subject, bool is_short = false) {
    const auto r = percent();
    if (r < 26 || (!subject.is_being() && r < 60)) {
      being(subject);
      return {};
    }
    if (!subject.is_being() && r < 88) {
      passive(subject);
      return {};
    }
    std::optional<Entity> object;
    std::size_t at = 0;
    if (r < 48 || !subject.is_being()) {
      at = verb(subject, act_without_object(subject), tense());
      if (chance(55)) object = prepositional(subject);
    } else {
      const bool on_being = chance(36);
      at = once_in(9) ? main_verb(subject)
                      : verb(subject, any(on_being ? words_.acts_on_beings : words_.acts_on_things), tense());
      if (chance(10)) {
        put("it him her them me us you this that something everything");
      } else {
        object = noun_phrase(on_being ? "p p a" : "t t f l q a t", {.may_be_long = !is_short});
        if (once_in(12)) listed();
      }
      if (chance(18)) {
        const auto place = prepositional(subject);
        if (place && (!object || once_in(2))) object = place;
      }
    }
    after_verb(subject, at, is_short);
    return object;
  }

  void after_verb(const Entity& subject, std::size_t verb_at, bool is_short) {
    const auto r = percent();
    if (r < 12) {
      put(chance(60) ? "quickly slowly often again today yesterday well hard here there now too home soon"
                     : any(words_.adverbs),
          verb_at);
    } else if (r < 19 && !is_short && subject.is_being()) {
      infinitive(subject);
    } else if (r < 25 && !is_short) {
      put("and");
      verb(subject, act_without_object(subject), simple_tense());
      if (once_in(2)) prepositional();
    } else if (r < 28) {
      point({put("every this last next"), put("day morning week year night evening")});
    }
  }

  /// ", pears and plums"
  void listed() {
    if (once_in(2)) {
      put(",");
      short_noun("t f q");
    }
    put("and");
    short_noun("t f q");
  }

  /// "to deposit money"
  void infinitive(const Entity& subject) {
    point({put("to"), put(any(words_.acts_on_things), subject.at)});
    short_noun("t f q l");
  }

  void adjective_said_of(const Entity& subject, const std::string& adjective) {
    if (chance(40))
      point({put("too very so really quite too"), put(adjective, subject.at)});
    else
      put(adjective, subject.at);
  }

  void copula(const Entity& subject) {
    const auto r = percent();
    if (r < 72) {
      put(is(subject), subject.at);
    } else if (r < 86) {
      put("will would can could should must might may 'll", subject.at);
      if (once_in(4)) put("not", subject.at);
      put("be", subject.at);
      return;
    } else if (r < 92) {
      put(subject.is_singular() ? "has had" : "have had", subject.at);
      put("been", subject.at);
    } else {
      put(past(one_of("become seem look feel remain")), subject.at);
      return;
    }
    if (chance(16)) put("not n't never", subject.at);
    if (once_in(20)) put("always often still just", subject.at);
  }

  void being(const Entity& subject) {
    copula(subject);
    const auto r = percent();
    if (r < 62) {
      adjective_said_of(subject, adjective_for(subject.kind));
      if (once_in(8)) {
        put("and but ,");
        put(adjective_for(subject.kind), subject.at);
      }
      if (once_in(10))
        prepositional();
      else if (once_in(25))
        infinitive(subject);
    } else if (r < 80) {
      prepositional();
    } else {
      noun_phrase(subject.is_being() ? subject.kind + " p" : "q t l",
                  {.is_plural = subject.is_plural, .is_indefinite = once_in(2)});
    }
  }

  /// "was broken by the boy"
  void passive(const Entity& subject) {
    if (once_in(6))
      put("will can could must", subject.at), put("be", subject.at);
    else
      put(is(subject), subject.at);
    if (chance(12)) put("not n't never", subject.at);
    put(past(act_on(subject)), subject.at);
    if (chance(40))
      point({put("by"), short_noun("p p a g").at});
    else if (chance(40))
      prepositional();
  }

  void statement() {
    if (once_in(12)) {
      put("today yesterday now then often suddenly finally however later");
      if (once_in(2)) put(",");
    } else if (once_in(14)) {
      prepositional();
      put(",");
    }
    const auto first = subject("p p p a a t t f l q g d");
    const auto object = predicate(first);
    const auto r = percent();
    if (r < 58) {
      continued(first, object);
    } else if (r < 66) {
      put(".");
      about_one_of(first, object);
    }
  }

  /// A second clause, often about what a noun of the first one stands for.
  void continued(const Entity& first, const std::optional<Entity>& object) {
    if (once_in(4)) put(",");
    put("because because because but and and so when since while although if or as until after before");
    if (chance(22))
      predicate(once_in(2) ? personal_pronoun("I I you we") : subject("p a t f q"), true);
    else
      about_one_of(first, object);
  }

  std::size_t pronoun_for(const Entity& entity) {
    const auto& word = result_.words[entity.at];
    if (word == "I" || word == "you" || word == "we") return put(word);
    if (entity.is_plural) return put("they", entity.at);
    if (entity.kind != "p") return put("it", entity.at);
    return put(entity.gender == "m" ? "he" : entity.gender == "w" ? "she" : "he she", entity.at);
  }

  static std::string said_of(const Entity& entity) {
    return entity.is_being() ? "b" : entity.kind == "f" ? "f" : "t";
  }

  void about_one_of(const Entity& first, const std::optional<Entity>& object) {
    const bool is_about_object = object && once_in(2);
    const bool is_open = object && share_pronoun(first, *object);
    const bool is_decidable = is_open && said_of(first) != said_of(*object);
    auto meant = is_about_object && (!is_open || is_decidable) ? *object : first;
    meant.at = result_.about[pronoun_for(meant)];
    if (is_decidable)
      decided_by_what_is_said(meant);
    else
      predicate(meant, true);
  }

  /// "it was too tired": of beings, things or food. Or an act of a being.
  void decided_by_what_is_said(const Entity& meant) {
    if (meant.is_being() && once_in(3)) {
      verb(meant, any(words_.acts_alone), once_in(2) ? Tense::modal : tense());
    } else if (!meant.is_being() && once_in(6)) {
      passive(meant);
    } else {
      copula(meant);
      adjective_said_of(meant, any(words_.adjectives.at(said_of(meant))));
    }
  }

  void when_first() {
    put("when when if because although while since after before as");
    const auto first = subject("p p a t");
    const auto object = predicate(first, true);
    if (!once_in(3)) put(",");
    if (once_in(3))
      predicate(noun_phrase("p a t"), true);
    else
      about_one_of(first, object);
  }

  void question() {
    is_question_ = true;
    const auto r = percent();
    if (r < 40) {
      if (once_in(2)) put("when why where how what");
      const auto auxiliary = put("did does do will can could would should");
      const auto who = subject("p p a");
      point({auxiliary, who.at});
      put(any(words_.acts_alone), who.at);
      if (once_in(2)) prepositional();
    } else if (r < 75) {
      if (once_in(2)) put("where why how when who what");
      const auto is = put("is was are were is is");
      const auto what = subject("p a t f l");
      point({is, what.at});
      if (once_in(2)) adjective_said_of(what, adjective_for(what.kind));
    } else {
      predicate({put("who what who"), false}, true);
    }
    put("?");
  }

  void there_is() {
    put("there");
    const bool is_plural = chance(40);
    const auto is = put(is_plural ? "are were" : "is was 's");
    const auto what =
        noun_phrase("p a t f q", {.may_be_long = false, .is_plural = is_plural, .is_indefinite = true});
    point({is, what.at});
    if (once_in(2)) prepositional();
    if (once_in(3)) relative_of_subject({what.at, is_plural, what.is_being() ? what.kind : "t"});
  }

  void imperative() {
    if (once_in(3)) put("please");
    if (once_in(4)) put("do"), put("not n't");
    put(any(words_.acts_on_things));
    noun_phrase("t f l q");
    if (once_in(3)) prepositional();
  }

  /// "The nurse told the doctor that she was late"
  void says_that() {
    const auto first = subject("p p p a");
    std::optional<Entity> object;
    verb(first, one_of("say think know believe hope see tell tell ask show"), tense());
    if (result_.words.back().starts_with('t') && once_in(2)) object = short_noun("p");
    if (once_in(6)) {  // "know who did it"
      predicate({put("who what which"), false}, true);
      return;
    }
    if (!once_in(4)) put("that that that if where why how");
    if (once_in(2))
      about_one_of(first, object);
    else
      predicate(subject("p a t f q"), true);
  }

  /// "machine learning", "hello world", "your journey"
  void fragment() {
    const auto what = noun_phrase("q t l p q");
    if (once_in(3)) put(any(words_.acts_on_things), what.at), noun_phrase("p t q");
  }

  const Words& words_;
  attn::Random& random_;
  AboutSentence result_;
  std::set<std::size_t> stands_alone_;  ///< words before a noun that are not about it
  std::optional<std::size_t> waiting_;  ///< an adverb whose verb follows
  bool is_question_ = false;
};

void sort_in(Words& words, const Reading& reading, const std::string& word) {
  const auto has = [&](char letter) { return reading.kind.find(letter) != std::string::npos; };
  if (reading.part == "noun" && has('n')) {
    (has('m') ? words.men : words.women).push_back(word);
  } else if (reading.part == "noun") {
    words.nouns[reading.kind.substr(0, 1)].push_back(word);
    if (reading.kind.size() > 1) words.nouns[reading.kind].push_back(word);
  } else if (reading.part == "adjective") {
    words.adjectives[reading.kind].push_back(word);
  } else if (reading.part == "adverb") {
    words.adverbs.push_back(word);
  } else if (reading.part == "verb") {
    if (has('i') && has('b')) words.acts_alone.push_back(word);
    if (has('i') && has('t')) words.happens.push_back(word);
    if (has('o')) words.acts_on_things.push_back(word);
    if (has('w')) words.acts_on_beings.push_back(word);
  }
}

}  // namespace

AboutGrammar::AboutGrammar(const Lexicon& lexicon, const std::function<bool(const std::string&)>& is_used) {
  constexpr double least_share = 0.3;
  constexpr std::string_view digits = "0123456789";
  for (const auto& [word, readings] : lexicon.entries()) {
    bool is_common = false;
    for (const auto& text : readings) {
      is_common |= digits.find(text.back()) != digits.npos;
      const auto lemma = text.front() == '>' ? text.substr(2, text.find_first_of(digits) - 2) : "";
      if (text.starts_with(">n")) words_.irregular_plurals[lemma] = word;
      if (text.starts_with(">v") && !word.ends_with("ing")) words_.irregular[lemma].push_back(word);
    }
    if (!is_common || !is_used(word) || word.size() < 2) continue;
    for (const auto& reading : lexicon.readings(word))
      if (reading.lemma == word && reading.form == Form::base && reading.share >= least_share)
        sort_in(words_, reading, word);
  }
}

AboutSentence AboutGrammar::draw(attn::Random& random) const {
  return Writer(words_, random).sentence();
}

}  // namespace english
