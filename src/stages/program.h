// Stages, and the steps of the host program between them, in the order in which they run.
#pragma once

#include <variant>
#include <vector>

#include "stages/stage.h"
#include "stages/step.h"

namespace gossamer::stages {

class Entry {
 public:
  // Defined in the .cc file: every source that copies a program would otherwise compile them again.
  Entry(Stage stage);
  Entry(Step step);
  Entry(const Entry&);
  Entry(Entry&&) noexcept;
  Entry& operator=(const Entry&);
  Entry& operator=(Entry&&) noexcept;
  ~Entry();

  // Null where it is a step.
  const Stage* stage() const { return std::get_if<Stage>(&what_); }
  Stage* stage() { return std::get_if<Stage>(&what_); }
  // Null where it is a stage.
  const Step* step() const { return std::get_if<Step>(&what_); }
  Step* step() { return std::get_if<Step>(&what_); }
  bool is(StepKind kind) const { return step() && step()->kind == kind; }

  // The tensors that it reads, see inputs_of(Stage).
  std::vector<Buffer> inputs() const;
  // What it writes; null for a step other than a copy.
  const Buffer& output() const;
  void set_output(Buffer buffer);

 private:
  std::variant<Stage, Step> what_;
};

// Buffers that several entries write (states of loops, results of branches) are written before
// every read; their shapes may use variables that steps set.
using Program = std::vector<Entry>;

void replace_inputs(Entry&, const ir::BufferMap&);
std::string print(const Entry&);

// The stages of a program, which must outlive it: for (const Stage& stage : stages_of(program)).
template <class Entries, class Element>
class StagesOf {
 public:
  explicit StagesOf(Entries& entries) : entries_(&entries) {}

  class Iterator {
   public:
    Iterator(Entries& entries, size_t at) : entries_(&entries), at_(at) { skip_steps(); }
    Element& operator*() const { return *(*entries_)[at_].stage(); }
    Iterator& operator++() {
      ++at_;
      skip_steps();
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void skip_steps() {
      while (at_ < entries_->size() && !(*entries_)[at_].stage()) ++at_;
    }
    Entries* entries_;
    size_t at_;
  };
  Iterator begin() const { return {*entries_, 0}; }
  Iterator end() const { return {*entries_, entries_->size()}; }

 private:
  Entries* entries_;
};
inline StagesOf<const Program, const Stage> stages_of(const Program& program) {
  return StagesOf<const Program, const Stage>(program);
}
inline StagesOf<Program, Stage> stages_of(Program& program) {
  return StagesOf<Program, Stage>(program);
}

// The variables that steps set, in order of appearance.
std::vector<Var> variables_of(const Program& program);

// For each entry the block it stands in: 0 outside of all branches and loops; both parts of a
// branch have their own. Steps that open or close a block count as outside of it.
std::vector<int> blocks_of(const Program& program);

}  // namespace gossamer::stages
