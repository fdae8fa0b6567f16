#include "gossamer/judge/verdict_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/files.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

std::string key_of(int number) {
  const std::string digits = cat(number);
  return std::string(32 - digits.size(), 'a') + digits;
}

Verdict verdict_named(const std::string& name) {
  Verdict verdict;
  verdict.name = name;
  verdict.status = Verdict::pass;
  verdict.message = "line\nwith \"quotes\"";
  verdict.known = "axes, shape";
  verdict.elsewhere = 3;
  verdict.ratio = 0.1234567890123456;
  verdict.milliseconds = 1e-3;
  return verdict;
}

class VerdictStoreTest : public testing::Test {
 protected:
  const TemporaryFolder temporary_ = *TemporaryFolder::create();
  const fs::path& folder_ = temporary_.path();

  VerdictStore open(uint64_t limit = VerdictStore::usual_limit) {
    auto store = VerdictStore::open(folder_, "cpu", limit);
    EXPECT_TRUE(store.has_value());
    return *std::move(store);
  }
  uint64_t bytes_of(const char* name) {
    std::error_code error;
    const uint64_t size = fs::file_size(folder_ / name, error);
    return error ? 0 : size;
  }
};

TEST_F(VerdictStoreTest, GivesBackWhatWasAdded) {
  EXPECT_FALSE(open().find(key_of(1)));
  {
    VerdictStore store = open();
    store.add(key_of(1), key_of(2), verdict_named("a"));
    store.add(key_of(3), key_of(3), verdict_named("b"));
  }
  const VerdictStore store = open();
  const auto found = store.find(key_of(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->package_key, key_of(2));
  EXPECT_EQ(to_json(found->verdict), to_json(verdict_named("a")));
  ASSERT_TRUE(store.find(key_of(3)));
  EXPECT_EQ(store.find(key_of(3))->verdict.name, "b");
  EXPECT_FALSE(store.find(key_of(2)));
  EXPECT_FALSE(store.find(""));
  EXPECT_FALSE(store.find(key_of(1).substr(1)));
}

TEST_F(VerdictStoreTest, KeepsPassesAlone) {
  Verdict failed = verdict_named("a");
  failed.status = Verdict::fail;
  open().add(key_of(1), key_of(1), failed);
  EXPECT_FALSE(open().find(key_of(1)));
}

TEST_F(VerdictStoreTest, TakesTheLastWholeLineOfAKey) {
  open().add(key_of(1), key_of(1), verdict_named("a"));
  const std::string line = *read_text(folder_ / "cpu.new");
  for (size_t end = 0; end < line.size(); ++end) {
    const std::string text = line + line.substr(0, end);
    ASSERT_TRUE(write_file(folder_ / "cpu.new", std::as_bytes(std::span(text))));
    EXPECT_TRUE(open().find(key_of(1))) << end;
  }
}

TEST_F(VerdictStoreTest, LeavesOutDamagedLines) {
  open().add(key_of(1), key_of(1), verdict_named("a"));
  const std::string line = *read_text(folder_ / "cpu.new");
  for (size_t at = 0; at + 1 < line.size(); ++at) {
    std::string text = line;
    text[at] = text[at] == 'b' ? 'c' : 'b';
    ASSERT_TRUE(write_file(folder_ / "cpu.new", std::as_bytes(std::span(text))));
    EXPECT_FALSE(open().find(key_of(1))) << at;
    text = line.substr(0, at);
    ASSERT_TRUE(write_file(folder_ / "cpu.new", std::as_bytes(std::span(text))));
    EXPECT_FALSE(open().find(key_of(1))) << at;
    open().add(key_of(2), key_of(2), verdict_named("b"));
    open().add(key_of(3), key_of(3), verdict_named("c"));
    EXPECT_TRUE(open().find(key_of(3))) << at;
  }
}

TEST_F(VerdictStoreTest, DropsWhatIsNotUsed) {
  const uint64_t line = [&] {
    open().add(key_of(0), key_of(0), verdict_named("a"));
    return bytes_of("cpu.new");
  }();
  const uint64_t limit = 20 * line;
  for (int turn = 1; turn < 200; ++turn) {
    VerdictStore store = open(limit);
    EXPECT_TRUE(store.find(key_of(0))) << turn;
    store.add(key_of(0), key_of(0), verdict_named("a"));  // as a run that uses it does
    store.add(key_of(turn), key_of(turn), verdict_named("a"));
    EXPECT_LE(bytes_of("cpu.new") + bytes_of("cpu.old"), 2 * limit + 8 * line) << turn;
  }
  const VerdictStore store = open(limit);
  EXPECT_TRUE(store.find(key_of(199)));
  EXPECT_FALSE(store.find(key_of(1)));
}

TEST_F(VerdictStoreTest, WritesNoLineThatIsThere) {
  for (int turn = 0; turn < 3; ++turn) open().add(key_of(1), key_of(1), verdict_named("a"));
  const std::string text = *read_text(folder_ / "cpu.new");
  EXPECT_EQ(lines_of(text).size(), 1u);
}

TEST_F(VerdictStoreTest, TakesLinesOfTwoProcesses) {
  constexpr int count = 1000;
  std::vector<pid_t> processes;
  for (const int first : {0, count}) {
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      VerdictStore store = open();
      for (int at = first; at < first + count; ++at)
        store.add(key_of(at), key_of(at), verdict_named("a"));
      _exit(0);
    }
    processes.push_back(process);
  }
  for (const pid_t process : processes) waitpid(process, nullptr, 0);
  const VerdictStore store = open();
  for (int at = 0; at < 2 * count; ++at) EXPECT_TRUE(store.find(key_of(at))) << at;
}

// All find the file too long; one of them retires it.
TEST_F(VerdictStoreTest, LosesNothingWhereSeveralRetireTheFile) {
  open().add(key_of(1), key_of(1), verdict_named("a"));
  std::vector<pid_t> processes;
  for (int at = 0; at < 8; ++at) {
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      open(10);
      _exit(0);
    }
    processes.push_back(process);
  }
  for (const pid_t process : processes) waitpid(process, nullptr, 0);
  EXPECT_TRUE(open().find(key_of(1)));
}

TEST_F(VerdictStoreTest, SaysWhereItCannotWrite) {
  const auto store = VerdictStore::open(folder_ / "nowhere", "cpu");
  ASSERT_FALSE(store.has_value());
  EXPECT_NE(store.error().to_string().find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace gossamer::command
