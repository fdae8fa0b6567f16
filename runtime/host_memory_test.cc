#include "runtime/host_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

namespace gossamer::runtime {
namespace {

#if !__has_feature(address_sanitizer) && !__has_feature(memory_sanitizer) && \
    !__has_feature(thread_sanitizer)
// The machine has it, but not for this process: `ulimit -v`.
TEST(HostMemory, HasNoRoomBeyondTheLimitOfTheProcess) {
  constexpr size_t most = size_t{1} << 30;
  const auto limited = [](size_t bytes) {
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
    std::_Exit(has_room(bytes) ? 0 : 1);
  };
  EXPECT_EXIT(limited(2 * most), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(limited(most / 8), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace gossamer::runtime
