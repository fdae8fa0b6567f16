#include "stages/program.h"

#include <algorithm>

namespace gossamer::stages {

Entry::Entry(Stage stage) : what_(std::move(stage)) {}
Entry::Entry(Step step) : what_(std::move(step)) {}
Entry::Entry(const Entry&) = default;
Entry::Entry(Entry&&) noexcept = default;
Entry& Entry::operator=(const Entry&) = default;
Entry& Entry::operator=(Entry&&) noexcept = default;
Entry::~Entry() = default;

std::vector<Buffer> Entry::inputs() const {
  if (const Stage* one = stage()) return inputs_of(*one);
  const Buffer& from = std::get<Step>(what_).from;
  return from ? std::vector{from} : std::vector<Buffer>();
}

const Buffer& Entry::output() const {
  const Stage* one = stage();
  return one ? one->output : std::get<Step>(what_).to;
}

void Entry::set_output(Buffer buffer) {
  Stage* one = stage();
  (one ? one->output : std::get<Step>(what_).to) = std::move(buffer);
}

void replace_inputs(Entry& entry, const ir::BufferMap& map) {
  if (Stage* stage = entry.stage()) return replace_inputs(*stage, map);
  Buffer& from = entry.step()->from;
  if (const auto found = map.find(from.get()); found != map.end()) from = found->second;
}

std::string print(const Entry& entry) {
  return entry.stage() ? print(*entry.stage()) : print(*entry.step());
}

std::vector<Var> variables_of(const Program& program) {
  std::vector<Var> variables;
  for (const Entry& entry : program) {
    if (!entry.step()) continue;
    for (const Var& var : entry.step()->variables) {
      if (std::ranges::none_of(variables, [&](const Var& known) { return known.same(var); }))
        variables.push_back(var);
    }
  }
  return variables;
}

std::vector<int> blocks_of(const Program& program) {
  std::vector<int> blocks, open{0};
  int count = 0;
  for (const Entry& entry : program) {
    const bool closes = entry.is(StepKind::end) || entry.is(StepKind::otherwise);
    if (closes && open.size() > 1) open.pop_back();
    blocks.push_back(open.back());
    if (entry.is(StepKind::branch) || entry.is(StepKind::loop) || entry.is(StepKind::otherwise))
      open.push_back(++count);
  }
  return blocks;
}

}  // namespace gossamer::stages
