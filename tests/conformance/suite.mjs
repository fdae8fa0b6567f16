// A fixed tenth of the conformance cases on each target, against known.tsv: what is not listed must pass, what is
// listed must not. `make conformance` (run.mjs) runs all of them.
//
// On drivers in software less than a tenth (SHARE).
//
//   node tests/conformance/suite.mjs [TARGET...]
//
// 'webgpu native', 'webgl native' and 'wasm native' are without a browser, the first and the last where the environment names a library
// for it (tools/setup/webgpu.sh, wasmtime.sh).
// 'opengl es31' has kernels for the limits of OpenGL ES 3.1, 'cpu avx2' and 'cpu sse' machine code for older processors than this one.
import {allCases, excused, packageSuite, presentSuites, readList, runCases, sample, suiteOf, suites, targets,
  twinOf} from './conformance.mjs';
import {Tally} from '../tally.mjs';

const NATIVE = 'webgpu native';
const DRAWN = 'webgl native';
const ENGINE = 'wasm native';
const LEAST = 'opengl es31';
const WIDE = 'cpu avx2';
const NARROW = 'cpu sse';
const EXTRA = {
  native: ['--device', 'native'],
  es31: ['--limits', 'es31'],
  avx2: ['--cpu', 'haswell'],
  sse: ['--cpu', 'x86-64-v2'],
};
const configurations = [...targets, NATIVE, DRAWN, ENGINE, LEAST, ...(process.arch === 'x64' ? [WIDE, NARROW] : [])];
const chosen = process.argv.length > 2 ? process.argv.slice(2) : configurations;
// Drivers in software compile each kernel for seconds, and what runs there is what runs on webgpu: a share of the tenth.
const SHARE = {opencl: 6, opengl: 3, [NATIVE]: 3, [DRAWN]: 3, [LEAST]: 6, [WIDE]: 3, [NARROW]: 3};
const NEEDS = {
  [NATIVE]: {variable: 'GOSSAMER_WEBGPU_LIBRARY', script: 'tools/setup/webgpu.sh'},
  [ENGINE]: {variable: 'GOSSAMER_WASMTIME_LIBRARY', script: 'tools/setup/wasmtime.sh'},
};
// A case that does not end would cost its whole time limit on each target at every make test.
const endless = /^does not end/;

const tally = new Tally();

async function main() {
  const {list, problems} = readList();
  for (const problem of problems) tally.record('the list', problem);
  const present = presentSuites(suites, ({name}, reason) => tally.skip(name, reason));
  if (present.length === 0) return;
  const every = await allCases(present);
  const names = new Set(every.map(({name}) => name));
  if (present.length === suites.length)
    for (const name of list.keys()) if (!names.has(name)) tally.record('known.tsv', `there is no case ${name}`);
  // What ../shared has, too, is run once.
  const cases = every.filter(({name}) => suiteOf(name) !== packageSuite || !names.has(twinOf(name)));
  for (const configuration of chosen) {
    const [target, form] = configuration.split(' ');
    const needed = NEEDS[configuration];
    if (needed && !process.env[needed.variable]) {
      tally.skip(configuration, `${needed.variable} names no library; ${needed.script} installs one`);
      continue;
    }
    const picked = sample(cases)
      .filter((name, at) => at % (SHARE[configuration] ?? 1) === 0 && !endless.test(excused(list, name, target) ?? ''));
    const started = Date.now();
    const verdicts = await runCases({chosen: present, target, names: picked, timeout: 300, extra: EXTRA[form] ?? []});
    for (const {name, status, message} of verdicts) {
      const reason = excused(list, name, target);
      const passes = reason && 'passes: take it off tests/conformance/known.tsv';
      tally.record(`${configuration}: ${name}`, status === 'pass' ? passes : !reason && (message || status));
    }
    const good = verdicts.filter(({status}) => status === 'pass').length;
    console.log(`${configuration}: ${good} of ${picked.length} pass, ${((Date.now() - started) / 1000).toFixed(0)} s`);
  }
}

try {
  await main();
} catch (problem) {
  tally.record('the suite', problem.stack);
}
tally.end();
