// Layouts that records set: whose they are, and what becomes of the stages that read them.
#include "records/layout_records.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "autoschedule/test_stages.h"
#include "layout/layout.h"
#include "records/records.h"
#include "rewrite/winograd.h"

namespace gossamer::records {
namespace {

using autoschedule::blocked;
using ir::Buffer;
using ir::DType;
using ir::Var;
using stages::Stage;
using target::Capabilities;

std::string layout_key(const Stage& stage) { return choice_key_of(stage, StageChoice::Of::layout); }

TEST(LayoutRecords, TextsReadBack) {
  for (const StageChoice choice : {layout_along(-1), layout_along(0), layout_along(3),
                                   by_tiles_of(direct), by_tiles_of(2), by_tiles_of(4)})
    EXPECT_EQ(*parse_choice(to_string(choice)), choice);
  EXPECT_EQ(to_string(layout_along(3)), "axis=3");
  EXPECT_EQ(to_string(by_tiles_of(4)), "winograd=4");
  for (const char* text : {"", "axis=", "axis=-1", "axis=x", "axis=1 ", "axis=99999999999", "Plain",
                           "winograd=", "winograd=3", "winograd=4x", "Direct"})
    EXPECT_FALSE(parse_choice(text)) << text;
}

TEST(LayoutRecords, TheKeyIsOfStagesWhateverTheirLayouts) {
  const std::string key = layout_key(autoschedule::twice(ir::index(3), ir::index(12)));
  EXPECT_EQ(key, layout_key(autoschedule::twice(ir::index(3), ir::index(12), blocked)));
  EXPECT_NE(key, layout_key(autoschedule::twice(ir::index(3), ir::index(13))));
  EXPECT_NE(key, layout_key(autoschedule::product()));
  EXPECT_NE(key, key_of(single_group(autoschedule::twice(ir::index(3), ir::index(12)))));
  Stage renamed = autoschedule::twice(ir::index(3), ir::index(12));
  renamed.name = renamed.origin = "other";
  EXPECT_EQ(key, layout_key(renamed));
}

// A product and a map that reads it, none of them at a port but the inputs and the last output.
struct Chain {
  Stage first = autoschedule::product(ir::index(32), ir::index(16), ir::index(48));
  Stage second;
  Stage third;

  Chain() {
    const ir::Buffer d = ir::buffer("D", DType::f32, first.output->shape);
    const Var i = ir::var("i"), j = ir::var("j"), k = ir::var("k");
    second.name = "twice";
    second.output = d;
    second.axes = {i, j};
    second.extents = d->shape;
    second.result = ir::load(first.output, {i, j}) * 2.0;
    third = autoschedule::sum(ir::buffer("E", DType::f32, {ir::index(32)}), {k}, {j},
                              {ir::index(48)}, ir::load(d, {k, j}));
  }

  // Of C, D and E, by name.
  std::map<std::string, ir::Layout> layouts(const PointSource* records, TargetKind target,
                                            const Capabilities* hardware = nullptr) {
    stages::Program program{first, second, third};
    std::vector<std::pair<Buffer, Buffer>> replaced;
    std::set<const ir::BufferNode*> inputs;
    for (const Buffer& input : stages::inputs_of(first)) inputs.insert(input.get());
    layout::choose_layouts(program, {inputs, {third.output.get()}, {}},
                           target::capabilities_of(target), replaced, records, hardware);
    std::map<std::string, ir::Layout> all;
    for (const auto& [old, fresh] : replaced) all[fresh->name] = fresh->layout;
    return all;
  }
};

TEST(LayoutRecords, AStageIsLaidOutAsRecordedAndTheRuleCarriesItOn) {
  for (TargetKind target : {TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu}) {
    Chain chain;
    const std::string machine = class_of(target::capabilities_of(target));
    const auto by_rule = chain.layouts(nullptr, target);
    EXPECT_TRUE(by_rule.at("C").axes.empty() || by_rule.at("C").axes.back().dim == 1);
    Records records;
    records.add(LayoutRecord{layout_key(chain.first), machine, layout_along(0)});
    const auto recorded = chain.layouts(&records, target);
    EXPECT_EQ(recorded.at("C").axes.back().dim, 0) << name_of(target);
    EXPECT_EQ(recorded.at("D").axes.back().dim, 0) << name_of(target);
    EXPECT_TRUE(recorded.at("E").axes.empty()) << "a port";
    // A map may leave it.
    records.add(LayoutRecord{layout_key(chain.second), machine, layout_along(1)});
    EXPECT_EQ(chain.layouts(&records, target).at("C").axes.back().dim, 0);
    EXPECT_EQ(chain.layouts(&records, target).at("D"), by_rule.at("D"));
  }
}

TEST(LayoutRecords, WhatIsNotOfTheStageOrTheClassIsLeftAlone) {
  Chain chain;
  const auto by_rule = chain.layouts(nullptr, TargetKind::wasm);
  Records records;
  records.add(LayoutRecord{layout_key(chain.first), "cpu", layout_along(0)});
  records.add(LayoutRecord{"0123456789abcdef", "wasm", layout_along(0)});
  EXPECT_EQ(chain.layouts(&records, TargetKind::wasm), by_rule);
  records.add(LayoutRecord{layout_key(chain.first), "wasm", layout_along(2)});  // it has two axes
  EXPECT_EQ(chain.layouts(&records, TargetKind::wasm), by_rule);
  records.add(LayoutRecord{layout_key(chain.first), "wasm", std::nullopt});
  EXPECT_EQ(chain.layouts(&records, TargetKind::wasm), by_rule);
}

TEST(LayoutRecords, TheUsersComeFirst) {
  Chain chain;
  const Capabilities caps = target::capabilities_of(TargetKind::wasm);
  const std::string key = layout_key(chain.first);
  Records records, mine;
  records.add(LayoutRecord{key, "wasm", layout_along(1), "v8"});
  EXPECT_EQ(records.axis_of(chain.first, caps, 1), 1);
  mine.add(LayoutRecord{key, "wasm", layout_along(0)});
  records.add(std::move(mine));
  EXPECT_EQ(records.axis_of(chain.first, caps, 1), 0);
  // The user has found that the rule's is the best one.
  records.add(LayoutRecord{key, "wasm", std::nullopt});
  EXPECT_EQ(records.axis_of(chain.first, caps, 1), std::nullopt);
}

TEST(LayoutRecords, AProgramForBothKindsOfAdaptersTakesThatOfHardware) {
  Chain chain;
  Capabilities hardware = target::capabilities_of(TargetKind::webgpu);
  hardware.hardware = true;
  Records records;
  records.add(LayoutRecord{layout_key(chain.first), "webgpu.software", layout_along(1)});
  records.add(LayoutRecord{layout_key(chain.first), "webgpu.hardware", layout_along(0)});
  EXPECT_EQ(chain.layouts(&records, TargetKind::webgpu, &hardware).at("C").axes.back().dim, 0);
  const auto software = chain.layouts(&records, TargetKind::webgpu).at("C");
  EXPECT_TRUE(software.axes.empty() || software.axes.back().dim == 1);
}

TEST(LayoutWatch, NotesWhatIsAsked) {
  Chain chain;
  Records records;
  records.add(LayoutRecord{layout_key(chain.first), "wasm", layout_along(0)});
  const LayoutWatch notes(nullptr, &records, LayoutWatch::Mode::note);
  EXPECT_EQ(chain.layouts(&notes, TargetKind::wasm), chain.layouts(nullptr, TargetKind::wasm));
  const LayoutWatch applies(&records, &records);
  EXPECT_EQ(chain.layouts(&applies, TargetKind::wasm), chain.layouts(&records, TargetKind::wasm));
  for (const LayoutWatch* watch : {&notes, &applies}) {
    ASSERT_EQ(watch->seen().size(), 3u);
    const auto& [first, second, third] =
        std::tie(watch->seen()[0], watch->seen()[1], watch->seen()[2]);
    EXPECT_EQ(first.recorded, layout_along(0));
    EXPECT_EQ(first.rule, layout_along(1));
    EXPECT_EQ(first.choice(), layout_along(0));
    EXPECT_EQ(first.machine, "wasm");
    EXPECT_EQ(first.choices(), (std::vector{layout_along(0), layout_along(1), layout_along(-1)}));
    EXPECT_EQ(first.work, 32 * 16 * 48);
    EXPECT_EQ(second.recorded, std::nullopt);
    EXPECT_EQ(second.reads, (std::vector<size_t>{0}));
    EXPECT_EQ(second.rule, layout_along(watch == &notes ? 1 : 0)) << "it follows";
    EXPECT_EQ(third.reads, (std::vector<size_t>{1}));
  }
}

}  // namespace
}  // namespace gossamer::records
