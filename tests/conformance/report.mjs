// The table of the conformance run and docs/conformance.md.
import {existsSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {excused, firstTable, packageSuite, suiteOf, suites, testdata, twinOf} from './conformance.mjs';
import {kinds, version} from './onnx_package.mjs';

// Of some verdicts: how many pass, how many of these ran wholly on the target, and how many had inputs that the
// compiler was told.
export function countsOf(verdicts) {
  const good = verdicts.filter(({status}) => status === 'pass');
  return {
    cases: verdicts.length,
    passed: good.length,
    wholly: good.filter(({elsewhere}) => !elsewhere).length,
    told: good.filter(({known}) => known).length,
  };
}

const share = (part, all) => `${(Math.floor((1000 * part) / all) / 10).toFixed(1)} %`;
const cell = ({cases, passed, wholly}) => (cases === 0 ? 'not run |' : `${passed} of ${cases} (${share(passed, cases)}) | ${share(wholly, cases)}`);

const ofSuite = (verdicts, suite) => verdicts.filter(({name}) => suiteOf(name) === suite);

// Without the cases of the package that are in the shared test data as well.
function once(verdicts) {
  const names = new Set(verdicts.map(({name}) => name));
  return verdicts.filter(({name}) => suiteOf(name) !== packageSuite || !names.has(twinOf(name)));
}

// One row a configuration: for each suite what passes, and the share that ran wholly on the target.
export function table(results, chosen = suites) {
  const names = [...chosen.map(({name}) => name), 'all, each once'];
  const rows = [...results].map(([configuration, verdicts]) => {
    const cells = chosen.map((suite) => cell(countsOf(ofSuite(verdicts, suite))));
    const whole = chosen.every((suite) => ofSuite(verdicts, suite).length > 0);
    return `| ${[configuration, ...cells, cell(countsOf(whole ? once(verdicts) : []))].join(' | ')} |`;
  });
  return [
    `| target | ${names.map((name) => `${name} | on it`).join(' | ')} |`,
    `|---|${names.map(() => '---|---|').join('')}`,
    ...rows,
  ].join('\n');
}

// ONNX Runtime's figures on the same folders, as they lie beside the cases.
function peer() {
  const file = path.join(testdata, 'ort_1.30_node_status.json');
  if (!existsSync(file)) return '';
  const counts = new Map();
  for (const [name, status] of Object.entries(JSON.parse(readFileSync(file, 'utf8')))) {
    const suite = name.slice(0, name.indexOf('/'));
    const [passed, all] = counts.get(suite) ?? [0, 0];
    counts.set(suite, [passed + (status === 'pass' ? 1 : 0), all + 1]);
  }
  return [...counts].map(([suite, [passed, all]]) => `${suite} ${passed} of ${all} (${share(passed, all)})`).join(', ');
}

// Every case that does not pass in some of these configurations: name → {targets, reason}.
function failures(results, list, configurations) {
  const rows = new Map();
  for (const target of configurations)
    for (const {name, status, message} of results.get(target)) {
      if (status === 'pass') continue;
      const row = rows.get(name) ?? {targets: [], reason: excused(list, name, target.split(' ')[0]) ?? `not listed: ${message}`};
      row.targets.push(target);
      rows.set(name, row);
    }
  return rows;
}

const escaped = (text) => text.replaceAll('|', '\\|');

const BEGIN = '<!-- drivers:begin -->';
const END = '<!-- drivers:end -->';
const EMPTY = `${BEGIN}\n${END}`;

/** The second table: this machine's drivers, by the suites that were run on them; commits: whose compiler ran what; rows: lines of earlier ones. */
export function driversSection(results, list, commits, rows) {
  const shown = [...results.keys()];
  const failing = [...failures(results, list, shown)].filter(([name]) => !list.get(name) || list.get(name).only);
  return `${BEGIN}
## On drivers of this machine

Without a browser, on drivers in software and in an engine: opencl on PoCL, opengl (compute shaders) and webgl (fragment shaders) on Mesa's llvmpipe, webgpu on Mesa's lavapipe through wgpu-native, wasm in wasmtime, an engine without JavaScript.
"es31" has kernels for the limits of OpenGL ES 3.1 (\`--limits es31\`). Written by \`node tests/conformance/run.mjs --drivers\` of the
last run of each suite, whose compiler need not be the first table's${rows.length > 0 ? '; rows of which no run is kept are as they were' : ''}. Commits:${[...commits].map(([commit, runs]) => `
${commit} ran ${[...runs].map(([suite, names]) => `${suite} on ${names.join(', ')}`).join('; ')}`).join('.')}.

${[table(results), ...rows].join('\n')}

${failing.length === 0 ? 'What does not pass is what does not pass on any target (below).' : `Besides what does not pass on any target (below) there do not pass:

| case | on | reason |
|---|---|---|
${failing.map(([name, row]) => `| ${escaped(name)} | ${row.targets.join(', ')} | ${escaped(row.reason)} |`).join('\n')}`}
${END}`;
}

/** A document with the second table of another text, which may be it alone. */
export function withDrivers(text, other) {
  const part = (all) => {
    const [begin, end] = [all.indexOf(BEGIN), all.indexOf(END)];
    return begin < 0 || end < begin ? undefined : [begin, end + END.length];
  };
  const [to, from] = [part(text), part(other)];
  if (!to) throw new Error(`docs/conformance.md has no lines ${BEGIN} and ${END}`);
  return from ? text.slice(0, to[0]) + other.slice(...from) + text.slice(to[1]) : text;
}

export function document(results, list) {
  const rows = failures(results, list, firstTable);
  const reasons = new Map();
  for (const [name, row] of rows) reasons.set(row.reason, [...(reasons.get(row.reason) ?? []), {name, ...row}]);
  const groups = [...reasons].sort((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1));
  const on = (row) => (row.targets.length === firstTable.length ? 'all' : row.targets.join(', '));
  const [verdicts] = results.values();
  const twins = verdicts.length - once(verdicts).length;
  const told = firstTable.map((target) => `${target} ${countsOf(results.get(target)).told}`).join(', ');
  return `# Conformance

Written by \`make conformance\` (tests/conformance). The cases are those of the shared test data: ONNX's own operator cases
(onnx_node) and its other ones, ONNX Runtime Web's operator cases (ort_web_ops), real models with outputs of ONNX
Runtime 1.30; and in the public onnx package ${version}, whose code makes them (onnx package: ${kinds()}). An output is right within the tolerances of [commands.md](commands.md#test). "on it" is the share of the
cases that is right without a launch outside of the target, by \`report()\`.

${table(results)}

- webgpu is Chromium's SwiftShader (no f16, subgroups of 4); "webgpu lavapipe" is Mesa's lavapipe (subgroups of 8), with f16 stored as such.
  "mobile" is the same browser held to the limits of phones: textures of 4,096 texels, 8 storage buffers of 128 MiB,
  groups of 256 with 16 KiB. A configuration that is not in the table has not been run with this compiler.
- Where an operator's axes, shapes or the like are inputs of the model and the compiler must know them, the case's values
  become constants. Passed cases with such inputs: ${told}.
- The onnx package's cases need no shared test data: without it \`make conformance\` runs the package's cases alone. It has ${twins} cases that
  the first two columns have, too; "all, each once" counts those once.
- models counts data sets: a model with several is several cases. squeezenet_winml_tensor has no expected output and is
  no case.
- ONNX Runtime 1.30's CPU provider on ONNX's cases, for comparison: ${peer()}.

${EMPTY}

## What does not pass

${rows.size} cases, by reason; the list that the tests hold is tests/conformance/known.tsv.

| reason | cases |
|---|---|
${groups.map(([reason, cases]) => `| ${escaped(reason)} | ${cases.length} |`).join('\n')}

| case | targets | reason |
|---|---|---|
${groups.flatMap(([reason, cases]) => cases.map((row) => `| ${escaped(row.name)} | ${on(row)} | ${escaped(reason)} |`)).join('\n')}
`;
}
