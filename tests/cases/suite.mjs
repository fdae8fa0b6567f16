// Models with known outputs on every target, each by one `gossamer test` with one browser or driver: a fixed share of the
// conformance cases and of the catalog's, random graphs, the small models of this project, open dimensions, and the zoo.
//
//   node tests/cases/suite.mjs [--all] [--corpus NAME,NAME] [--device rpc://HOST:PORT/NAME?token=TOKEN] [CONFIGURATION...]
//
// A configuration is a target, or a target and one of the forms below ("wasm native"). --all runs every case of a corpus.
import {parseArgs} from 'node:util';
import * as catalog from '../catalog/cases.mjs';
import {runCases} from '../conformance/conformance.mjs';
import * as conformance from '../conformance/share.mjs';
import * as graphs from '../fuzz/graphs.mjs';
import * as models from '../models/own.mjs';
import * as open from '../open/cases.mjs';
import {Tally} from '../tally.mjs';
import * as zoo from '../zoo/cases.mjs';

// planFor(configuration, {all, tally}) of each gives undefined, or {folders, names, judge(verdict), end(verdicts)}: cases
// below folders, what is wrong with a verdict (null: it does not count), and with all of them. Names start with a
// folder's own name, which differs between corpora.
const corpora = {conformance, catalog, graphs, models, open, zoo};

const forms = {
  native: ['--device', 'native'], // no browser: wgpu-native, OpenGL, wasmtime
  es31: ['--limits', 'es31'],
  mobile: ['--limits', 'mobile'],
  avx2: ['--cpu', 'haswell'],
  sse: ['--cpu', 'x86-64-v2'],
};
const needs = {
  'webgpu native': {variable: 'GOSSAMER_WEBGPU_LIBRARY', script: 'tools/setup/webgpu.sh'},
  'wasm native': {variable: 'GOSSAMER_WASMTIME_LIBRARY', script: 'tools/setup/wasmtime.sh'},
};

const {values: options, positionals} = parseArgs({allowPositionals: true, options: {
  all: {type: 'boolean', default: false},
  corpus: {type: 'string', default: Object.keys(corpora).join(',')},
  device: {type: 'string'},
}});
const chosen = options.corpus.split(',').map((name) => {
  if (!corpora[name]) throw new Error(`there is no corpus "${name}": ${Object.keys(corpora).join(', ')}`);
  return [name, corpora[name]];
});
const configurations = ['cpu', 'wasm', 'webgpu', 'webgl', 'opencl', 'opengl', 'webgpu native', 'webgl native', 'wasm native', 'opengl es31',
  'webgpu mobile', 'webgl mobile', ...(process.arch === 'x64' ? ['cpu avx2', 'cpu sse'] : [])];
const tally = new Tally();

async function onConfiguration(configuration) {
  const [target, form] = configuration.split(' ');
  const needed = needs[configuration];
  if (needed && !process.env[needed.variable]) {
    tally.skip(configuration, `${needed.variable} names no library; ${needed.script} installs one`);
    return;
  }
  const plans = [];
  for (const [corpus, {planFor}] of chosen) {
    const plan = await planFor(configuration, {all: options.all, tally});
    if (plan?.names.length > 0) plans.push({corpus, ...plan});
  }
  if (plans.length === 0) return;
  const started = Date.now();
  const extra = [...(form ? forms[form] : []), ...(target === 'cpu' ? ['--threads', '2'] : []), ...(options.device ? ['--device', options.device] : [])];
  const verdicts = await runCases({folders: plans.flatMap(({folders}) => folders), names: plans.flatMap(({names}) => names), target, timeout: 300, extra});
  for (const {corpus, names, judge, end} of plans) {
    const wanted = new Set(names);
    const its = verdicts.filter(({name}) => wanted.has(name));
    for (const verdict of its) {
      const problem = judge(verdict);
      if (problem !== null) tally.record(`${configuration}: ${verdict.name}`, problem);
    }
    if (end) tally.record(`${configuration}: ${corpus}`, end(its));
    const [good, kept] = [its.filter(({status}) => status === 'pass').length, its.filter((verdict) => verdict.kept).length];
    console.log(`${configuration}: ${corpus}: ${good} of ${names.length} pass${kept ? `, ${kept} of them unchanged since an earlier run` : ''}`);
  }
  console.log(`${configuration}: ${((Date.now() - started) / 1000).toFixed(0)} s`);
}

for (const configuration of positionals.length > 0 ? positionals : configurations) {
  try {
    await onConfiguration(configuration);
  } catch (problem) {
    tally.record(configuration, problem.stack);
  }
}
tally.end();
