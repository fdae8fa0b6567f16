// What a profile says of each launch, and its trace.
#include <rapidjson/document.h>

#include "gossamer/gossamer.hpp"
#include "runtime/model_test.h"

namespace gossamer::runtime {
namespace {

TEST_F(ModelTest, ProfilesSayWhatEachLaunchDoes) {
  put_package();
  auto model = Model::load(folder);
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  const HostTensor x = ramp(64);
  const auto profile = (*model)->profile({&x, 1}, {3});
  ASSERT_TRUE(profile.has_value()) << profile.error().to_string();
  ASSERT_EQ(profile->launches.size(), 1u);
  const LaunchProfile& launch = profile->launches[0];
  EXPECT_EQ(launch.name, "add");
  EXPECT_EQ(launch.bytes, 4 * (64 + 4 + 64));
  EXPECT_EQ(launch.operations, 64);
  EXPECT_GT(launch.ms, 0);
  EXPECT_EQ(profile->kernel_ms, launch.ms);
  EXPECT_LT(profile->kernel_ms, 2 * profile->run_ms + 0.1);
  const Limits& limits = profile->limits;
  EXPECT_GT(limits.copy_rate, 0.1);
  EXPECT_GT(limits.arithmetic_rate, 0.1);
  ASSERT_EQ(profile->kernels.size(), 2u);  // `twice` runs at load
  const KernelProfile& kernel = profile->kernels[0];
  EXPECT_EQ(kernel.launches, 1);
  EXPECT_EQ(profile->kernels[1].launches, 0);
  EXPECT_EQ(kernel.limit, "memory");
  EXPECT_DOUBLE_EQ(kernel.share, kernel.bytes / limits.copy_rate / 1e6 / kernel.ms);
  EXPECT_SAYS(profile->table(), "Add \"sum\"");
  EXPECT_EQ(profile->table().find("twice"), std::string::npos) << profile->table();
  // The model still computes, and its errors are those of a run.
  auto outputs = (*model)->run({&x, 1});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().to_string();
  expect_sum((*outputs)[0], 64);
  const HostTensor odd = ramp(6);
  const auto refused = (*model)->profile({&odd, 1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_SAYS(refused.error().to_string(), "n must be a multiple of 4");
}

TEST_F(ModelTest, TracesOfProfilesAreInOrder) {
  put_package();
  auto model = gossamer::load(folder);
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  const std::vector<float> values(8, 1.0f);
  auto profile = model->profile({{"x", Tensor::of<float>({8}, values)}}, {2});
  ASSERT_TRUE(profile.has_value()) << profile.error().to_string();
  profile->launches.push_back(profile->launches[0]);
  rapidjson::Document trace;
  trace.Parse(profile->trace().c_str());
  ASSERT_FALSE(trace.HasParseError()) << profile->trace();
  double end = 0;
  size_t events = 0;
  for (const auto& event : trace["traceEvents"].GetArray()) {
    for (const char* key : {"name", "ph", "pid", "tid"}) ASSERT_TRUE(event.HasMember(key)) << key;
    if (event["ph"] == "M") continue;
    EXPECT_STREQ(event["ph"].GetString(), "X");
    EXPECT_NEAR(event["ts"].GetDouble(), end, 1e-6);
    end = event["ts"].GetDouble() + event["dur"].GetDouble();
    ++events;
  }
  EXPECT_EQ(events, 2u);
  EXPECT_NEAR(end, 2000 * profile->kernel_ms, 2e-3);
}

}  // namespace
}  // namespace gossamer::runtime
