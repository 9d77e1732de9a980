#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/unit/temporary_file.hpp"
#include "tests/unit/trace/stored_files.hpp"
#include "tests/unit/trace/zip_file.hpp"

using Catch::Matchers::StartsWith;
using Strings = std::vector<std::string>;
using stored::elements_of;

namespace {

std::string npz_fixture(const std::string& name) {
  return ATTN_FIXTURES "/archives/" + name + ".npz";
}

/// Element i of the arrays that make_archives.py counts through.
template <class T>
T counted(int i);
template <>
double counted<double>(int i) {
  return 0.25 * i - 1;
}
template <>
std::int64_t counted<std::int64_t>(int i) {
  return i;
}
template <>
bool counted<bool>(int i) {
  return i % 3 == 0;
}

template <class T>
void check_counted(const attn::StoredTrace& trace, const std::string& id, const std::string& stored_dtype,
                   attn::Dtype dtype = attn::dtype_of<T>()) {
  std::vector<T> expected;
  for (int i = 0; i < 24; ++i) expected.push_back(counted<T>(i));
  CHECK((elements_of<T>(trace, id, dtype) == expected));
  CHECK(trace.find(id)->shape == attn::Shape{2, 3, 4});
  CHECK(trace.find(id)->stored_dtype == stored_dtype);
  CHECK_FALSE(trace.find(id)->kind);
  CHECK(trace.find(id)->axes.empty());
}

std::string npy_of_text(const std::string& text) {
  return npy_of("{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(text.size()) + ",)}",
                text);
}

const std::string header_of_two_doubles = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n";

/// What is said of an archive with one array of that header, for 16 bytes of elements.
std::string refusal_of_header(const std::string& header) {
  return stored::refusal(TemporaryFile(zip_of({{"a.npy", npy_of(header, std::string(16, '\0'))}})).path());
}

}  // namespace

TEST_CASE("arrays of every type are read as NumPy left them, in either byte order, stored or packed") {
  for (const std::string name : {"types", "big_endian", "packed"}) {
    INFO(name);
    const auto trace = attn::open_trace(npz_fixture(name));
    for (const std::string size : {"1", "2", "4", "8"}) {
      const auto bits = std::to_string(8 * std::stoi(size));
      check_counted<std::int64_t>(*trace, "i" + size, "int" + bits);
      check_counted<std::int64_t>(*trace, "u" + size, "uint" + bits);
    }
    check_counted<double>(*trace, "f2", "float16", attn::Dtype::float16);
    check_counted<double>(*trace, "f4", "float32", attn::Dtype::float32);
    check_counted<double>(*trace, "f8", "float64");
    check_counted<bool>(*trace, "b1", "bool");
  }
  const auto packed = attn::open_trace(npz_fixture("packed"));
  CHECK((elements_of<double>(*packed, "zeros") == std::vector<double>(10000)));
}

TEST_CASE("arrays in Fortran's order are read row by row") {
  const auto trace = attn::open_trace(npz_fixture("fortran"));
  check_counted<double>(*trace, "f8", "float64");
  check_counted<std::int64_t>(*trace, "big", "int16");
  check_counted<bool>(*trace, "b1", "bool");
  CHECK(elements_of<double>(*trace, "flat")[11] == counted<double>(11));
  CHECK(elements_of<double>(*trace, "flat")[1] == counted<double>(1));
  CHECK(elements_of<double>(*trace, "line") == std::vector<double>{-1, -0.75, -0.5, -0.25});
}

TEST_CASE("all three versions of the .npy format are read") {
  const auto trace = attn::open_trace(npz_fixture("versions"));
  for (const std::string version : {"v1", "v2", "v3"}) check_counted<double>(*trace, version, "float64");
}

TEST_CASE("scalars, empty arrays and many axes are read") {
  const auto trace = attn::open_trace(npz_fixture("shapes"));
  CHECK(trace->find("scalar")->shape.empty());
  CHECK(elements_of<double>(*trace, "scalar") == std::vector<double>{3.5});
  CHECK(trace->find("no_rows")->shape == attn::Shape{0, 4});
  CHECK(elements_of<double>(*trace, "no_rows").empty());
  CHECK(trace->find("no_columns")->shape == attn::Shape{4, 0});
  CHECK(trace->find("none")->shape == attn::Shape{0});
  CHECK(elements_of<double>(*trace, "ones") == std::vector<double>{2});
  CHECK(trace->find("axes")->shape == attn::Shape(32, 1));
}

TEST_CASE("an empty array has somewhere to point to") {
  const auto trace = attn::open_trace(npz_fixture("shapes"));
  const auto index = static_cast<std::size_t>(trace->find("no_rows") - trace->tensors().data());
  CHECK(trace->read(index).view().data != nullptr);
}

TEST_CASE("infinities, NaN, -0 and the ends of each float type are kept") {
  const auto trace = attn::open_trace(npz_fixture("special"));
  const auto check = [&](attn::Dtype dtype, const std::string& id, double max, double tiny,
                         double subnormal) {
    const auto read = elements_of<double>(*trace, id, dtype);
    CHECK(read[0] == std::numeric_limits<double>::infinity());
    CHECK(read[1] == -std::numeric_limits<double>::infinity());
    CHECK(std::isnan(read[2]));
    CHECK((read[3] == 0 && std::signbit(read[3])));
    CHECK(std::vector<double>(read.begin() + 4, read.begin() + 8) ==
          std::vector<double>{max, -max, tiny, subnormal});
  };
  check(attn::Dtype::float16, "f2", 65504, std::ldexp(1, -14), std::ldexp(1, -24));
  check(attn::Dtype::float32, "f4", std::numeric_limits<float>::max(), std::ldexp(1, -126),
        std::ldexp(1, -149));
  check(attn::Dtype::float64, "f8", std::numeric_limits<double>::max(), std::ldexp(1, -1022),
        std::ldexp(1, -1074));
  CHECK(elements_of<double>(*trace, "f8")[8] == 1.0 / 3);
  CHECK(elements_of<double>(*trace, "f4", attn::Dtype::float32)[8] == static_cast<double>(1.0F / 3));
}

TEST_CASE("whole numbers are read up to the ends of int64") {
  const auto trace = attn::open_trace(npz_fixture("limits"));
  using Limits = std::numeric_limits<std::int64_t>;
  CHECK(elements_of<std::int64_t>(*trace, "i8") == std::vector<std::int64_t>{Limits::min(), Limits::max()});
  CHECK(elements_of<std::int64_t>(*trace, "u8") == std::vector<std::int64_t>{0, Limits::max()});
  CHECK(elements_of<std::int64_t>(*trace, "i1") == std::vector<std::int64_t>{-128});
  CHECK(stored::refusal(npz_fixture("beyond")) ==
        "member \"a.npy\": it has the element 9223372036854775808; "
        "valid: whole numbers up to 9223372036854775807");
}

TEST_CASE("members are found by their ids, in the order of the archive") {
  const auto trace = attn::open_trace(npz_fixture("names"));
  CHECK(stored::ids_of(*trace) == Strings{"attention/weights", "temperature=0.1", "-.", "arr_0", "arr_1"});
  CHECK(trace->find("weights") == nullptr);
  CHECK(trace->header().lesson.empty());
  CHECK(trace->header().config.empty());
}

TEST_CASE("elements of a type that no tensor has are refused by its name") {
  const auto refused = [](const std::string& name, const std::string& what) {
    CHECK_THAT(stored::refusal(npz_fixture(name)),
               StartsWith("member \"a.npy\": it holds " + what + "; valid: bool, int8 "));
  };
  refused("objects", R"(objects (dtype "|O"))");
  refused("complex", R"(complex numbers (dtype "<c8"))");
  refused("texts", R"(texts (dtype "<U4"))");
  refused("bytes", R"(texts (dtype "|S4"))");
  refused("records", "records (a structured dtype)");
  refused("times", R"(times (dtype "<M8[D]"))");
  refused("longdouble", R"(floats of another size (dtype "<f16"))");
  CHECK_THAT(stored::refusal(npz_fixture("bool_of_two")),
             StartsWith("member \"a.npy\": it has the element 2 among its bools; valid: 0 or 1"));
}

TEST_CASE("a member's name may have blanks") {
  CHECK(stored::ids_of(*attn::open_trace(npz_fixture("blank"))) == std::vector<std::string>{"a b"});
}

TEST_CASE("members that are no arrays with a name are refused") {
  const auto refused = [](const std::string& name, const std::string& what) {
    CHECK_THAT(stored::refusal(npz_fixture(name)), StartsWith(what));
  };
  refused("no_name", R"(member ".npy": "" is no name; valid: a name of UTF-8)");
  refused("no_array", R"(member "readme.txt": it is no array; valid: members called ID.npy)");
  refused("twice", R"(member "a.npy": it is there twice; valid: each id once)");
  refused("pickle", R"(member "a.npy": it has 5 bytes; valid: an array of the .npy format)");
  refused("bzip2", R"(member "a.npy": it is packed by method 12; valid: stored or deflated)");
  refused("lzma", R"(member "a.npy": it is packed by method 14)");
}

TEST_CASE("a file of torch.save is refused with the line of Python that converts it") {
  const TemporaryFile file(zip_of({{"mine/data.pkl", "\x80\x02}."}, {"mine/version", "3"}}));
  CHECK_THAT(stored::refusal(file.path()),
             StartsWith("it is a pickle of torch.save, which only Python reads; valid: ") &&
                 Catch::Contains("torch.load(\"" + file.path() + "\""));
}

TEST_CASE("an archive that unpacks to a hundred times its size and more than 64 MiB is refused") {
  CHECK_THAT(stored::refusal(npz_fixture("many_zeros")),
             StartsWith("its 8379 bytes unpack to 67116864 or more"));
}

TEST_CASE("a header may have its names in any order, and white space as Python has it") {
  for (const std::string& header :
       {header_of_two_doubles, std::string("{'shape': (2,), 'descr': '<f8', 'fortran_order': False}"),
        std::string(R"( { "fortran_order":True , "shape" : ( 2 , ) ,"descr":"<f8" , } )"),
        std::string("{'descr':'<f8','fortran_order':False,'shape':(2,1)}   \n")})
    CHECK(refusal_of_header(header) == "no error");
}

TEST_CASE("a header that is none is refused") {
  for (const std::string header :
       {"", "{}", "{", "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': [2]}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (2,)}", "{'descr': '<f8", "\x80\x04K\x01."}) {
    INFO(header);
    CHECK_THAT(refusal_of_header(header), StartsWith("member \"a.npy\": its header is \""));
  }
  CHECK_THAT(refusal_of_header(std::string("{\0}", 3)), StartsWith("member \"a.npy\": its header is \""));
  CHECK_THAT(refusal_of_header("{'descr': '|f8', 'fortran_order': False, 'shape': (2,)}"),
             StartsWith("member \"a.npy\": it holds floats of another size (dtype \"|f8\")"));
}

TEST_CASE("a header that promises more or less than is there is refused") {
  const auto refused = [](const std::string& shape, const std::string& what) {
    const auto header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + "), }\n";
    CHECK_THAT(refusal_of_header(header), StartsWith("member \"a.npy\": " + what));
  };
  refused("3,", "its header promises 3 of float64, which take 24 bytes, but 16 are there");
  refused("", "its header promises scalar of float64, which take 8 bytes, but 16 are there");
  refused("0,", "its header promises 0 of float64, which take 0 bytes, but 16 are there");
  refused("1152921504606846976,", "its shape 1152921504606846976 is beyond any memory");
  refused("4294967296, 4294967296", "its shape 4294967296×4294967296 is beyond any memory");
  refused("4294967296, 4294967296, 0", "its shape 4294967296×4294967296×0 is beyond any memory");
  std::string ones;
  for (int i = 0; i < 32; ++i) ones += "1,";
  refused(ones + "2", "it has 33 axes; valid: up to 32");
}

TEST_CASE("a header that claims to be longer than the array is refused") {
  auto bytes = npy_of(header_of_two_doubles, std::string(16, '\0'));
  bytes[9] = '\xFF';
  CHECK_THAT(stored::refusal(TemporaryFile(zip_of({{"a.npy", bytes}})).path()),
             StartsWith("member \"a.npy\": its header claims 65338 bytes; valid: up to"));
  bytes = npy_of(header_of_two_doubles, std::string(16, '\0'));
  bytes[6] = '\x04';
  CHECK_THAT(stored::refusal(TemporaryFile(zip_of({{"a.npy", bytes}})).path()),
             StartsWith("member \"a.npy\": it has version 4.0 of the .npy format; valid: 1.0, 2.0 and 3.0"));
}

TEST_CASE("the config of a trace tells what it is") {
  const auto array = npy_of(header_of_two_doubles, std::string(16, '\0'));
  const std::string config =
      R"({"seed":42,"causal":true,"heads":null,"weight_scale":0.5,"d_k":[1,2],)"
      R"("sentence":["a b"],"tokens":[["a","b"]],"dtype":"float64","steps":[],)"
      R"("trace":{"schema":"attnlab.trace/1","lesson":"sdpa","title":"attention","tensors":{)"
      R"("X":{"kind":"input","axes":["token"],"labels":[["a","b"]]},)"
      R"("Y":{"kind":"step","axes":["token"],"labels":[null]}}}})";
  const auto file =
      TemporaryFile(zip_of({{"X.npy", array}, {"config.npy", npy_of_text(config)}, {"Y.npy", array}}));
  const auto trace = attn::open_trace(file.path());
  CHECK(stored::ids_of(*trace) == Strings{"X", "Y"});
  CHECK(trace->header().lesson == "sdpa");
  CHECK(trace->header().title == "attention");
  using Options = std::vector<std::pair<std::string, attn::ConfigValue>>;
  CHECK((trace->header().config == Options{{"seed", std::int64_t{42}},
                                           {"causal", true},
                                           {"heads", std::monostate{}},
                                           {"weight_scale", 0.5},
                                           {"d_k", std::vector<std::int64_t>{1, 2}},
                                           {"sentence", Strings{"a b"}},
                                           {"tokens", std::vector<Strings>{{"a", "b"}}},
                                           {"dtype", std::string("float64")},
                                           {"steps", Strings{}}}));
  CHECK(trace->find("X")->kind == attn::Kind::input);
  CHECK(trace->find("X")->axes == Strings{"token"});
  CHECK(trace->find("X")->labels[0].lists == std::vector<Strings>{{"a", "b"}});
  CHECK(trace->find("Y")->kind == attn::Kind::step);
  CHECK(trace->find("Y")->labels[0].empty());
}

TEST_CASE("a broken config is ignored in a foreign archive and refused in a trace") {
  const auto array = npy_of(header_of_two_doubles, std::string(16, '\0'));
  const auto said_of = [&](const std::string& config) {
    return stored::refusal(TemporaryFile(zip_of({{"X.npy", array}, {"config.npy", config}})).path());
  };
  const auto said_of_tensor = [&](const std::string& tensor, const std::string& options = "") {
    return said_of(npy_of_text(
        "{" + options + R"("trace":{"schema":"attnlab.trace/1","lesson":"sdpa","title":"t","tensors":{"X":)" +
        tensor + "}}}"));
  };
  CHECK(said_of(array) == "no error");
  for (const std::string config : {"made by hand", "{", "[]", R"({"a":{}})",
                                   R"({"trace":{"schema":"somebody.else/1"}})", R"({"trace":1})"})
    CHECK(said_of(npy_of_text(config)) == "no error");
  CHECK(said_of_tensor("{}") == "no error");
  CHECK_THAT(said_of_tensor("{}", R"("a":{},)"),
             StartsWith("member \"config.npy\": its config has the value"));
  CHECK_THAT(said_of_tensor("7"), StartsWith("member \"X.npy\": its description is no JSON object"));
  CHECK_THAT(said_of_tensor(R"({"kind":"claim"})"), StartsWith(R"(member "X.npy": its kind is "\"claim\"")"));
  CHECK_THAT(said_of_tensor(R"({"axes":[]})"), StartsWith(R"(member "X.npy": its axes "[]" do not fit its)"));
  CHECK_THAT(said_of_tensor(R"({"axes":["key"],"labels":[["a"]]})"),
             StartsWith(R"(member "X.npy": the labels of axis 0 ("key") do not fit its shape 2)"));
  CHECK_THAT(said_of_tensor(R"({"axes":["key"],"labels":[[["a","b"],["c","d"]]]})"),
             StartsWith(R"(member "X.npy": the labels of axis 0 ("key") do not fit its shape 2)"));
  CHECK_THAT(said_of(npy_of_text(R"({"trace":{"schema":"attnlab.trace/1"}})")),
             StartsWith("member \"config.npy\": it has no text \"lesson\""));
}

TEST_CASE("an archive without members is read, and one that is cut off is refused") {
  const auto empty = std::string("PK\5\6") + std::string(18, '\0');
  CHECK(attn::open_trace(TemporaryFile(empty).path())->tensors().empty());
  const auto whole = zip_of({{"a.npy", npy_of(header_of_two_doubles, std::string(16, '\0'))}});
  for (const std::size_t length : {std::size_t{4}, whole.size() / 2, whole.size() - 1})
    CHECK_THAT(stored::refusal(TemporaryFile(whole.substr(0, length)).path()),
               StartsWith("it is no whole ZIP archive: "));
}

TEST_CASE("elements that do not agree with the checksum are refused") {
  auto bytes = zip_of({{"a.npy", npy_of(header_of_two_doubles, "0123456789abcdef")}});
  bytes[bytes.find("0123456789abcdef")] = '1';
  CHECK_THAT(stored::refusal(TemporaryFile(bytes).path()), StartsWith("member \"a.npy\": it is broken: CRC"));
}
