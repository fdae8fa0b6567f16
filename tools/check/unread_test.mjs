import assert from 'node:assert/strict';
import {test} from 'node:test';
import {fieldsOf, sources, unreadProblems} from './unread.mjs';

const real = sources();

// The repository's sources with a piece of text replaced in one of them.
function planted(file, from, to) {
  assert.ok(real.get(file)?.includes(from), `${file} has no ${from}`);
  return unreadProblems(new Map(real).set(file, real.get(file).replace(from, to)));
}

test('the sources as they are have no problem', () => {
  assert.deepEqual(unreadProblems(real), []);
});

test('an option that nothing reads is found, and so is its flag', () => {
  const found = planted('src/compiler/compile.h', 'bool groups = false;', 'bool groups = false; bool dead = false;');
  assert.deepEqual(found, ['src/compiler/compile.h: nothing reads Options::dead']);
  const row = planted('include/gossamer/options.def', 'GS_OPTION(bool, f16,', 'GS_OPTION(bool, dead, false, GS_WORDS(), "Nothing")\nGS_OPTION(bool, f16,');
  assert.deepEqual(row, ['include/gossamer/options.def: nothing reads Options::dead']);
  const flag = planted(
    'tools/gossamer/commands/compile_command.cc',
    '  command.add_flag("--single-file"',
    '  command.add_flag("--dead", options->compile.dead, "Nothing");\n  command.add_flag("--single-file"',
  );
  assert.deepEqual(flag, ['tools/gossamer/commands/compile_command.cc: nothing reads what --dead sets']);
});

test('setting is not reading', () => {
  const header = 'src/target/capabilities.h';
  const texts = new Map(real).set(header, real.get(header).replace('int unroll = 4;', 'int unroll = 4; int dead = 1;'));
  const setter = 'src/compiler/compile.cc';
  texts.set(setter, `${real.get(setter)}\nvoid f(Capabilities& caps) { caps.dead = 2; } // caps.dead\n`);
  assert.deepEqual(unreadProblems(texts), [`${header}: nothing reads Capabilities::dead`]);
  texts.set(setter, `${real.get(setter)}\nbool f(Capabilities& caps) { return caps.dead == 2; }\n`);
  assert.deepEqual(unreadProblems(texts), []);
});

test('fields of stages and of operators', () => {
  assert.deepEqual(planted('src/stages/stage.def', 'GS_STAGE(plain, bool, view)', 'GS_STAGE(plain, bool, view)\nGS_STAGE(plain, bool, dead)'), [
    'src/stages/stage.def: nothing reads Stage::dead',
  ]);
  assert.deepEqual(planted('src/stages/step.h', 'ir::Expr rounds;', 'ir::Expr rounds, dead;'), ['src/stages/step.h: nothing reads Step::dead']);
  assert.deepEqual(planted('src/ops/opdef.h', 'CaseSource cases;', 'CaseSource cases;\n  std::function<int(int)> dead = {};'), [
    'src/ops/opdef.h: nothing reads OpDef::dead',
    'src/ops/opdef.h: no entry gives OpDef::dead',
  ]);
});

test('kinds that nothing makes', () => {
  assert.deepEqual(planted('src/stages/stage.h', 'enum class StageKind : uint8_t { compute,', 'enum class StageKind : uint8_t { compute, dead,'), [
    'src/stages/stage.h: nothing makes StageKind::dead',
    'src/stages/stage.h: nothing asks for StageKind::dead',
  ]);
  assert.deepEqual(planted('src/stages/step.h', 'enum class StepKind : uint8_t {', 'enum class StepKind : uint8_t { dead,'), [
    'src/stages/step.h: nothing makes StepKind::dead',
    'src/stages/step.h: nothing asks for StepKind::dead',
  ]);
  assert.deepEqual(planted('src/ir/nodes.def', 'GS_STMT(Block,', 'GS_STMT(Dead, F(Expr, e))\nGS_STMT(Block,'), [
    'src/ir/nodes.def: nothing makes Dead',
  ]);
  // A constructor that nobody calls makes nothing.
  const texts = new Map(real);
  texts.set('src/ir/nodes.def', `${real.get('src/ir/nodes.def')}GS_STMT(Dead, F(Expr, e))\n`);
  const build = 'src/ir/build_stmt.cc';
  texts.set(build, `${real.get(build)}\nStmt dead(Expr e) {\n  auto* node = new Dead();\n  return Stmt(node);\n}\n`);
  assert.deepEqual(unreadProblems(texts), ['src/ir/nodes.def: nothing makes Dead']);
  texts.set('src/passes/new.cc', 'Stmt f(Expr e) {\n  return dead(e);\n}\n');
  assert.deepEqual(unreadProblems(texts), []);
});

test('fields of a struct, whatever their types', () => {
  const header = `struct S {\n  int a = f(1), b;\n  std::function<Result<>(Builder&)> c = {};\n  enum E : int { x, y } d = x;
    std::vector<std::pair<int, int>> e;\n  bool operator==(const S&) const = default;\n  int g() const { return a; }\n};`;
  assert.deepEqual(fieldsOf(header, 'S').filter((name) => ['c', 'e', 'g', 'x'].includes(name)), ['c', 'e']);
});
