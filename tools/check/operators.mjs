// No operator's name may occur where any operator is compiled: from src/target to src/group, src/passes, src/codegen.
// A name is found
//   - as a quoted string, in ONNX's spelling ("Conv"), whatever the operator;
//   - inside an identifier, in any spelling (conv_tile, MatMulSchedule, layer_normalization), unless all
//     its words are words of the loop language itself (reduce_max, Select, is_nan).
// Comments may name operators: an example often says best why a line is there.
import {execFileSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import path from 'node:path';
import {allFiles, read, report, root} from './repository.mjs';

const watched = /^src\/(target|online|schedule|autoschedule|records|rewrite|layout|group|passes|codegen)\/.*\.(cc|h|def|c)$/;

// Words that the loop language, its targets and its schedules use with their own meaning; the names of
// scalar operations (src/ir/ops.def) join them.
const ordinary = new Set(
  `abs add and arg bit bitwise cast ceil clip compress constant copy cumulative dimension div dynamic
   equal exp expand flatten floor gather greater identity if index inverse is inf less like linear local
   log loop max mean mid min mod mul nan neg non not of optional or pad permute pow product random range
   reciprocal reduce reshape resize round row scalar scan scatter select sequence shape shift shrink sign size
   slice split sqrt square squeeze string sub sum tile transpose uniform unique unsqueeze upper where
   window xor zero`.split(/\s+/),
);

function loopWords() {
  if (!existsSync(path.join(root, 'src/ir/ops.def'))) return [];
  const body = read('src/ir/ops.def').replace(/\/\/.*$/gm, '');
  return [...body.matchAll(/\b[a-z][a-z0-9_]*\b/g)].flatMap((match) => match[0].split('_'));
}

// From the compiler where it is built, else from the entries' source.
function operatorNames() {
  const program = path.join(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
  if (existsSync(program)) {
    try {
      const listed = JSON.parse(
        execFileSync(program, ['ops', '--json'], {encoding: 'utf8', maxBuffer: 64 << 20}),
      );
      const entries = Array.isArray(listed) ? listed : (listed.operators ?? listed.ops);
      const names = entries.map((entry) => (typeof entry === 'string' ? entry : entry.name));
      if (names.length > 0) return new Set(names);
    } catch {
      // Half built, or older than the option: the source says it too.
    }
  }
  const names = new Set();
  for (const file of allFiles()) {
    if (!/^src\/ops\/.*\.cc$/.test(file) || file.endsWith('_test.cc')) continue;
    for (const match of read(file).matchAll(/\.name\s*=\s*"([A-Z]\w+)"/g)) names.add(match[1]);
    // Families also write entries through short functions, name and one-line doc: unary("Abs", "The ...").
    for (const match of read(file).matchAll(/[({]\s*"([A-Z][A-Za-z0-9]+)"\s*,\s*"[^"]* [^"]*"/g)) {
      names.add(match[1]);
    }
  }
  return names;
}

// 'MatMulSchedule' and 'mat_mul_schedule' → ['mat', 'mul', 'schedule'].
function words(identifier) {
  return identifier
    .replaceAll('NaN', 'Nan')
    .split('_')
    .flatMap((part) => part.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+/g) ?? [])
    .map((word) => word.toLowerCase());
}

// Comments become blanks of the same shape, so line numbers stay.
function withoutComments(text) {
  return text.replace(/"(?:\\.|[^"\\\n])*"|\/\/.*|\/\*[^]*?\*\//g, (match) =>
    match.startsWith('"') ? match : match.replace(/[^\n]/g, ' '),
  );
}

// The operator names in one source text: [{line, name, text}]. `plain` are the words that do not count.
export function namedOperators(source, names, plain) {
  const special = new Map(); // 'matmul' → 'MatMul'
  for (const name of names) {
    const parts = words(name);
    if (!parts.every((word) => plain.has(word))) special.set(parts.join(''), name);
  }
  const hits = [];
  withoutComments(source)
    .split('\n')
    .forEach((line, index) => {
      if (/^\s*#\s*include\b/.test(line)) return;
      const found = new Set();
      for (const match of line.matchAll(/"([A-Za-z0-9]+)"/g)) {
        if (names.has(match[1])) found.add(match[1]);
      }
      for (const match of line.matchAll(/[A-Za-z_][A-Za-z0-9_]*/g)) {
        const parts = words(match[0]);
        for (let first = 0; first < parts.length; first++) {
          for (let last = first + 1; last <= parts.length; last++) {
            const name = special.get(parts.slice(first, last).join(''));
            if (name) found.add(name);
          }
        }
      }
      for (const name of found) hits.push({line: index + 1, name, text: line.trim()});
    });
  return hits;
}

export function plainWords() {
  return new Set([...ordinary, ...loopWords()]);
}

export function checkOperators() {
  const names = operatorNames();
  const plain = plainWords();
  return allFiles()
    .filter((file) => watched.test(file))
    .flatMap((file) =>
      namedOperators(read(file), names, plain).map(
        ({line, name, text}) => `${file}:${line}: names the operator ${name}: ${text}`,
      ),
    );
}

if (process.argv[1] === import.meta.filename) {
  process.exit(report('operator names', checkOperators()) ? 0 : 1);
}
