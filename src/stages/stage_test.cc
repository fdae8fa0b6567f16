#include "stages/stage.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace gossamer::stages {
namespace {

// A stage whose every field has a value.
Stage filled() {
  Stage stage;
  stage.accumulators.resize(1);
  visit_fields(stage, []<class T>(FieldRole, T& field) {
    if constexpr (std::is_same_v<T, Expr>) field = ir::boolean(true);
    if constexpr (std::is_same_v<T, std::vector<Expr>>) field = {ir::index(1), ir::index(2)};
    if constexpr (std::is_same_v<T, Var>) field = ir::var("v", ir::DType::i32);
    if constexpr (std::is_same_v<T, std::vector<Var>>) field = {ir::var("v", ir::DType::index)};
    if constexpr (std::is_same_v<T, Buffer>)
      field = ir::buffer("b", ir::DType::f32, {ir::index(2)});
  });
  return stage;
}

// The same with the field at this place changed; its role, none behind the last.
std::optional<FieldRole> change(Stage& stage, int place) {
  std::optional<FieldRole> changed;
  visit_fields(stage, [&]<class T>(FieldRole role, T& field) {
    if (place-- != 0) return;
    changed = role;
    if constexpr (std::is_same_v<T, Expr>) field = {};
    if constexpr (std::is_same_v<T, std::vector<Expr>>) field[1] = ir::index(3);
    if constexpr (std::is_same_v<T, Var>) field = ir::var("v", ir::DType::i32);
    if constexpr (std::is_same_v<T, std::vector<Var>>) field[0] = ir::var("v", ir::DType::index);
    if constexpr (std::is_same_v<T, Buffer>)
      field = ir::buffer("b", ir::DType::f16, {ir::index(2)});
    if constexpr (std::is_same_v<T, std::string>) field += "x";
    if constexpr (std::is_same_v<T, bool>) field = !field;
    if constexpr (std::is_same_v<T, StageKind>) field = StageKind::scan;
    if constexpr (std::is_same_v<T, size_t> || std::is_same_v<T, int64_t>) ++field;
  });
  return changed;
}

TEST(Stage, EveryFieldButLabelsIsPartOfWhatItComputes) {
  const Stage stage = filled();
  EXPECT_TRUE(same_computation(stage, stage));
  for (int place = 0;; ++place) {
    Stage other = stage;
    const auto role = change(other, place);
    if (!role) break;
    EXPECT_EQ(same_computation(stage, other), *role == FieldRole::label) << "field " << place;
  }
}

TEST(Stage, OutputsOfOneTypeAndLayoutAreAlike) {
  const Stage stage = filled();
  Stage other = stage;
  other.output = ir::buffer("other", ir::DType::f32, {ir::index(2)});
  EXPECT_TRUE(same_computation(stage, other));
}

TEST(Stage, InputsAreFoundAndReplacedInEveryFieldThatMayLoad) {
  const auto named = [](std::string name) {
    return ir::buffer(std::move(name), ir::DType::f32, {ir::index(2)});
  };
  Stage stage = filled();
  std::vector<Buffer> expected{stage.initial};
  visit_exprs(stage, may_load, [&](Expr& expr) {
    expected.push_back(named(cat("b", expected.size())));
    expr = ir::load(expected.back(), {ir::index(0)});
  });
  const std::vector<Buffer> inputs = inputs_of(stage);
  ASSERT_EQ(inputs.size(), expected.size());
  ir::BufferMap map;
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(inputs[i].same(expected[i])) << i;
    map[inputs[i].get()] = named(cat("c", i));
  }
  replace_inputs(stage, map);
  const std::vector<Buffer> replaced = inputs_of(stage);
  ASSERT_EQ(replaced.size(), inputs.size());
  for (size_t i = 0; i < replaced.size(); ++i) EXPECT_EQ(replaced[i]->name, cat("c", i));
}

}  // namespace
}  // namespace gossamer::stages
