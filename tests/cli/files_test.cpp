#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"

namespace fs = std::filesystem;

namespace {

using Strings = std::vector<std::string>;

std::string output_to(const std::string& path, const std::string& arguments = "sdpa") {
  return arguments + " --output " + as_argument(path);
}

/// Runs it: what goes to a file does not go to standard output.
void check_written(const std::string& path, const std::string& arguments = "sdpa") {
  CHECK(output_of(output_to(path, arguments)) == "");
  CHECK((read_file(path) == output_of(arguments)));
}

fs::perms permissions_of(const fs::path& path) {
  return fs::status(path).permissions();
}

}  // namespace

TEST_CASE("a written file holds what would have been printed and nothing else is left beside it") {
  const Folder folder;
  check_written(folder.file("trace.txt"));
  check_written(folder.file("no ending"));
  check_written(folder.file(".hidden"), "multihead --heads 2");
  CHECK(folder.names() == Strings{".hidden", "no ending", "trace.txt"});
}

TEST_CASE("a lesson and the commands take -o for --output") {
  const Folder folder;
  const auto page = folder.file("page.txt"), book = folder.file("book.html"),
             probe = folder.file("probe.npz");
  output_of("sdpa -o " + as_argument(page));
  CHECK((read_file(page) == output_of("sdpa")));
  REQUIRE(run("book -o " + as_argument(book)).status == 0);
  CHECK(fs::exists(book));
  output_of("probe sdpa -o " + as_argument(probe));
  CHECK(fs::exists(probe));
}

TEST_CASE("the format follows the ending of the file unless it is given") {
  const Folder folder;
  const auto text = output_of("sdpa"), json = output_of("sdpa --format json");
  const auto written = [&](const std::string& name, const std::string& arguments) {
    output_of(output_to(folder.file(name), arguments));
    return read_file(folder.file(name));
  };
  CHECK((written("a.json", "sdpa") == json));
  CHECK((written("b.txt", "sdpa") == text));
  CHECK((written("c", "sdpa") == text));
  CHECK((written("d.json", "sdpa --format text") == text));
  CHECK((written("e.txt", "sdpa --format json") == json));
}

TEST_CASE("a file has no colours unless they are asked for") {
  const Folder folder;
  const auto path = folder.file("trace.txt");
  run(output_to(path), {.environment = {{"TERM", "xterm-256color"}}, .output = Output::terminal});
  CHECK(read_file(path).find('\x1b') == std::string::npos);
  run(output_to(path, "sdpa --color always"));
  CHECK(read_file(path).find('\x1b') != std::string::npos);
}

TEST_CASE("an old file is replaced whole") {
  const Folder folder;
  check_written(folder.write("long.txt", std::string(1'000'000, 'x')));
  check_written(folder.write("short.txt", "x"));
  CHECK(folder.names() == Strings{"long.txt", "short.txt"});
}

TEST_CASE("an old file keeps its permissions and a new one has the usual") {
  const Folder folder;
  const auto old = folder.write("old.txt", "old"), fresh = folder.file("new.txt");
  fs::permissions(old, fs::perms::owner_read | fs::perms::owner_write);
  check_written(old);
  check_written(fresh);
  CHECK(permissions_of(old) == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(permissions_of(fresh) == permissions_of(folder.write("usual.txt", "")));
}

TEST_CASE("the reader of an old file goes on reading the old one") {
  const Folder folder;
  const auto path = folder.write("trace.txt", "old");
  const fs::path second_name = folder.file("second name.txt");
  fs::create_hard_link(path, second_name);
  check_written(path);
  CHECK(read_file(second_name) == "old");
}

TEST_CASE("a symbolic link is followed and stays") {
  const Folder folder;
  fs::create_directory(folder.path() / "elsewhere");
  folder.write("elsewhere/trace.txt", "old");
  fs::create_symlink("elsewhere/trace.txt", folder.file("link.txt"));
  fs::create_symlink("link.txt", folder.file("link to link.txt"));
  check_written(folder.file("link to link.txt"));
  CHECK((read_file(folder.file("elsewhere/trace.txt")) == output_of("sdpa")));
  CHECK(fs::read_symlink(folder.file("link.txt")) == "elsewhere/trace.txt");
  CHECK(fs::read_symlink(folder.file("link to link.txt")) == "link.txt");
  CHECK(folder.names() == Strings{"elsewhere", "link to link.txt", "link.txt"});
}

TEST_CASE("a symbolic link to a file that is not there makes the file") {
  const Folder folder;
  fs::create_symlink("trace.txt", folder.file("link.txt"));
  check_written(folder.file("link.txt"));
  CHECK(fs::is_symlink(folder.file("link.txt")));
  CHECK(folder.names() == Strings{"link.txt", "trace.txt"});
}

TEST_CASE("symbolic links in a circle are refused") {
  const Folder folder;
  fs::create_symlink("b", folder.file("a"));
  fs::create_symlink("a", folder.file("b"));
  check_refused(output_to(folder.file("a")));
  CHECK(folder.names() == Strings{"a", "b"});
}

TEST_CASE("a symbolic link to a folder is part of a path") {
  const Folder folder;
  fs::create_directory(folder.path() / "elsewhere");
  fs::create_directory_symlink("elsewhere", folder.file("link"));
  check_written(folder.file("link/trace.txt"));
  CHECK(fs::exists(folder.file("elsewhere/trace.txt")));
}

TEST_CASE("a device is written to and not replaced") {
  CHECK(output_of(output_to("/dev/null")) == "");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a pipe is written to and not replaced") {
  const Folder folder;
  const auto path = folder.file("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  CHECK(output_of(output_to(path)) == "");
  std::string text(65536, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(reader, text.data(), text.size()), 0)));
  ::close(reader);
  CHECK((text == output_of("sdpa")));
  CHECK(fs::is_fifo(path));
}

TEST_CASE("standard output by its name is written to") {
  CHECK((output_of(output_to("/dev/stdout")) == output_of("sdpa")));
}

TEST_CASE("the longest name that a file may have is a name like any other") {
  const Folder folder;
  check_written(folder.file(std::string(255, 'x')));
  CHECK(folder.names().size() == 1);
}

TEST_CASE("a target that may not be written stays as it was") {
  const Folder folder;
  const auto locked = folder.write("locked.txt", "old");
  fs::permissions(locked, fs::perms::owner_read);
  check_refused(output_to(locked));
  CHECK(read_file(locked) == "old");
  CHECK(folder.names() == Strings{"locked.txt"});
}

TEST_CASE("in a folder that may not be written nothing changes") {
  const Folder folder;
  const auto old = folder.write("old.txt", "old");
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  check_refused(output_to(old));
  check_refused(output_to(folder.file("new.txt")));
  CHECK(read_file(old) == "old");
  CHECK(folder.names() == Strings{"old.txt"});
}

TEST_CASE("a folder as a target stays a folder") {
  const Folder folder;
  fs::create_directory(folder.path() / "inner");
  folder.write("inner/file.txt", "old");
  check_refused(output_to(folder.file("inner")));
  check_refused(output_to(folder.file("inner/")));
  CHECK(read_file(folder.file("inner/file.txt")) == "old");
  CHECK(folder.names() == Strings{"inner"});
}

TEST_CASE("a run that is refused leaves an old file as it was and makes no new one") {
  const Folder folder;
  const auto old = folder.write("old.txt", "old");
  for (const char* arguments :
       {"sdpa --steps nothing", "multihead --heads 3", "multihead --d-model 1000000000000",
        "sdpa --sentence ''", "sdpa --heads 2"}) {
    check_refused(output_to(old, arguments));
    check_refused(output_to(folder.file("new.txt"), arguments));
  }
  CHECK(read_file(old) == "old");
  CHECK(folder.names() == Strings{"old.txt"});
}

TEST_CASE("on a disk that gets full the old file stays and nothing else is left") {
  const Folder folder;
  const auto old = folder.write("old.npz", "old");
  const auto size = output_of("sdpa --format npz").size();
  for (const std::size_t room : {std::size_t{1000}, size / 2, size - 1}) {
    INFO(room << " of " << size << " bytes");
    for (const auto& path : {old, folder.file("new.npz")}) {
      const auto result = run(output_to(path), {.largest_file = room});
      CHECK(result.status == 2);
      CHECK(result.out == "");
      CHECK(result.err.find(path) != std::string::npos);
      CHECK(result.err.find("; valid: ") != std::string::npos);
    }
    CHECK(read_file(old) == "old");
    CHECK(folder.names() == Strings{"old.npz"});
  }
  run(output_to(old), {.largest_file = size});
  CHECK(read_file(old).size() == size);
}

TEST_CASE("a run that is killed while it writes leaves the old file or the new one, whole") {
  const Folder folder;
  const auto lesson = "sdpa --sentence " + as_argument(sentence_of(300));
  const auto path = folder.file("trace.npz"), fresh = output_of(lesson + " --format npz"),
             old = fresh + "old";
  /// Bytes that are written beside the file by now.
  const auto written = [&] {
    std::error_code gone;
    std::uintmax_t size = 0;
    for (const auto& entry : fs::directory_iterator(folder.path()))
      if (entry.path() != path) size = std::max(size, fs::file_size(entry.path(), gone) + 1);
    return gone ? 0 : size;
  };
  int killed = 0;
  for (int moment = 0; moment < 24; ++moment) {
    folder.write("trace.npz", old);
    const auto enough = 1 + fresh.size() * static_cast<std::size_t>(moment) / 20;
    const auto result = run(output_to(path, lesson), {.killed_when = [&] { return written() >= enough; }});
    INFO("killed at " << enough << " of " << fresh.size() << " bytes, status " << result.status);
    killed += result.status == 128 + SIGKILL ? 1 : 0;
    const auto content = read_file(path);
    CHECK((content == old || content == fresh));
    for (const auto& name : folder.names())
      if (name != "trace.npz") fs::remove(folder.file(name));
  }
  CHECK(killed > 0);
}
