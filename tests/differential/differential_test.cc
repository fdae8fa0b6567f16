// Every case of the catalog on every target.
#include "differential/differential.h"

namespace gossamer::differential {
namespace {

using Parameter = std::tuple<const OpDef*, TargetKind>;
class DifferentialTest : public testing::TestWithParam<Parameter> {};

std::vector<const OpDef*> all_entries() {
  std::vector<const OpDef*> entries;
  for (const OpDef& def : ops::builtin_catalog().entries()) entries.push_back(&def);
  return entries;
}

TEST_P(DifferentialTest, KernelsComputeWhatStagesSay) {
  const auto& [def, target] = GetParam();
  const ops::Cases cases = def->cases();
  ASSERT_FALSE(cases.empty());
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    const Example example = example_of(*def, test);
    ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
    compare_forms(target, example);
  }
}

std::string name_of_run(const testing::TestParamInfo<Parameter>& info) {
  const auto& [def, target] = info.param;
  std::string domain = def->domain.empty() ? "" : def->domain + "_";
  std::ranges::replace(domain, '.', '_');
  return cat(domain, def->name, "_", name_of(target));
}

INSTANTIATE_TEST_SUITE_P(Catalog, DifferentialTest,
                         testing::Combine(testing::ValuesIn(all_entries()),
                                          testing::ValuesIn(targets)),
                         name_of_run);

}  // namespace
}  // namespace gossamer::differential
