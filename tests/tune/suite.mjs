// gossamer tune: searches that end, go on, survive what candidates and people do to them, and whose records are right.
//
//   node tests/tune/suite.mjs [layouts | searches]     one of its parts: layouts are compared by whole runs, so it runs alone
import {spawn, spawnSync} from 'node:child_process';
import {appendFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {model, node, stored, value} from '../cli/models.mjs';
import {writeOwn} from '../models/own.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-tune-'));
const tally = new Tally();

const check = (name, good, why) => tally.record(name, good ? [] : [String(why).slice(0, 500)]);
const linesOf = (file) => readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line));

function call(...args) {
  const {status, stdout, stderr} = spawnSync(gossamer, args, {encoding: 'utf8', timeout: 240_000, maxBuffer: 1 << 28});
  return {status, stdout: stdout ?? '', stderr: stderr ?? ''};
}

function writeModel(rows = 128) {
  const file = path.join(work, `products${rows}.onnx`);
  writeFileSync(file, model({
    // A softmax over columns: over rows all would be one kernel, which no search changes.
    // The weights' packing at load is a kernel, too, and none of a run's; other machines have other kernels.
    nodes: [node('MatMul', ['a', 'w'], ['c']), node('Softmax', ['c'], ['d'], {integers: {axis: 0}}), node('MatMul', ['d', 'b'], ['e'])],
    weights: [stored({type: 'f32', shape: [128, 128], data: Float32Array.from({length: 128 * 128}, (_, at) => Math.sin(at))}, 'w')],
    inputs: [value('a', 'f32', [rows, 128]), value('b', 'f32', [128, 128])],
    outputs: [value('e', 'f32', [rows, 128])],
  }));
  return file;
}

// What a search leaves behind, and that one that goes on measures nothing twice. In the rule's layouts: others, which a busy machine may
// take for faster ones, have kernels with fewer points.
function searches(file) {
  const records = path.join(work, 'cpu.jsonl');
  const first = call('tune', file, '--target', 'cpu', '--threads', '1', '--trials', '24', '--layout-share', '0', '--output', records, '--json');
  check('a search ends', first.status === 0, first.stderr);
  if (first.status !== 0) return;
  const outcome = JSON.parse(first.stdout);
  const trials = linesOf(records).filter((line) => line.trial);
  check('it measures as many points as it may', outcome.trials + outcome.failures === 24 && trials.length === 24,
    `${outcome.trials} and ${outcome.failures}; ${trials.length} lines`);
  check('its lines have keys of the model', trials.every(({key, ms, ratio, adapter}) =>
    outcome.kernels.some((kernel) => kernel.key === key) && ms > 0 && ratio > 0 && adapter), JSON.stringify(trials[0]));
  const told = linesOf(records).filter((line) => line.point);
  check('at the end each kernel has a record, by which others find it', outcome.kernels.every(({key, before, after}) => {
    const last = told.findLast((line) => line.key === key);
    return last?.point === after && (before === after ? last.ratio === 1 : last.ratio < 1) && last.structure && last.extents.length > 0;
  }), JSON.stringify(told));
  check('whole runs are compared', outcome.runMsBefore > 0 && outcome.runMsAfter > 0, first.stdout);

  appendFileSync(records, 'no record\n{"key": "0", "class": "cpu"}\n');
  const second = call('tune', file, '--target', 'cpu', '--threads', '1', '--trials', '12', '--layout-share', '0', '--output', records);
  check('a search goes on, past lines that are no records',
    second.status === 0 && second.stderr.includes('left out') && second.stdout.includes('12 points measured'),
    second.stdout + second.stderr);
  const all = readFileSync(records, 'utf8').split('\n').filter((line) => line.includes('"trial"')).map((line) => JSON.parse(line));
  const texts = all.map(({key, trial}) => `${key} ${trial}`);
  check('and measures nothing twice', texts.length === 36 && new Set(texts).size === 36, texts.join('\n'));

  const judged = call('cost-model', file, '--target', 'cpu', '--records', records, '--least', '6', '--json');
  const [{adapter, kernels = []} = {}] = judged.status === 0 ? JSON.parse(judged.stdout) : [];
  check('the model of costs is judged by kernels that were measured', adapter === all[0].adapter && kernels.length > 1 &&
    kernels.every(({key, best, inSpace: [place, of], inMeasured}) => texts.some((one) => one.startsWith(key)) &&
      best > 0 && place >= 1 && place <= of && inMeasured[1] <= of), judged.stdout + judged.stderr);
  const strange = call('cost-model', file, '--target', 'wasm', '--records', records);
  check('records of another target judge nothing', strange.status === 1 && strange.stderr.includes('for this target'), strange.stderr);

  // What was learned is a line, which judges and begins searches.
  const costs = path.join(work, 'costs.jsonl');
  const learned = call('cost-model', file, '--target', 'cpu', '--records', records, '--output', costs, '--json');
  const [line = {}] = learned.status === 0 ? linesOf(costs) : [];
  check('what was learned is written', line.costs === all[0].class && line.kernels > 1 && line.points >= texts.length && line.trees.length > 0,
    learned.stderr || JSON.stringify(line).slice(0, 300));
  const known = call('cost-model', file, '--target', 'cpu', '--records', records, '--costs', costs, '--measured', '--least', '2', '--json');
  const [{afterFirst = [], afterRandom = []} = {}] = known.status === 0 ? JSON.parse(known.stdout) : [];
  check('and judged by what first points gain', [afterFirst, afterRandom].every((shares) => shares.length === 4 &&
    shares.every((share, at) => share >= (shares[at - 1] ?? 0) && share <= 1)), known.stdout + known.stderr);
  const replayed = call('cost-model', file, '--target', 'cpu', '--records', records, '--costs', costs, '--replay', '3', '--seconds', '1', '--json');
  const [{ms, points, gain, leastGain, mostGain} = {}] = replayed.status === 0 ? JSON.parse(replayed.stdout) : [];
  check('and searches are replayed on what was measured', ms > 0 && points > 0 && leastGain <= gain && gain <= mostGain && mostGain < 1,
    replayed.stdout + replayed.stderr);
  writeFileSync(costs, readFileSync(costs, 'utf8').replace(/"costs":"[^"]*"/, '"costs":"webgl"'));
  const none = call('cost-model', file, '--target', 'cpu', '--records', records, '--costs', costs);
  check('costs of another class judge nothing', none.status === 1 && none.stderr.includes('no costs of'), none.stderr);
  const begun = path.join(work, 'begun.jsonl');
  writeFileSync(begun, `${JSON.stringify(line)}\n{"costs":"cpu","adapter":"","features":3,"trees":[]}\n`);
  const third = call('tune', file, '--target', 'cpu', '--threads', '1', '--trials', '4', '--layout-share', '0', '--output', begun);
  check('searches begin with them, past those of other features', third.status === 0 && third.stderr.includes('learns them anew') &&
    third.stdout.includes('4 points measured'), third.stdout + third.stderr);

  // The best points there are, whatever the machine found: the compiler takes them, and says so.
  const last = new Map(trials.map(({key, class: machine, trial}) => [key, {key, class: machine, point: trial}]));
  const taken = path.join(work, 'taken.jsonl');
  writeFileSync(taken, [...last.values()].map((line) => JSON.stringify(line)).join('\n'));
  const compiled = call('compile', file, '--target', 'cpu', '--records', taken, '--emit', 'package', '--json',
    '-o', path.join(work, 'package'));
  const {recorded = 0, refused = -1} = compiled.status === 0 ? JSON.parse(compiled.stdout).packages[0] : {};
  check('the compiler takes points that were measured', recorded >= last.size && refused === 0, compiled.stdout + compiled.stderr);
}

// A convolution whose output leaves the model, of a few steps more than the rule computes without a copy: its channels lie in vectors,
// and a copy follows that takes longer than it saves. The search finds that, other commands take and tell what it found, and a second search begins there.
function layouts() {
  const file = path.join(work, 'last_convolution.onnx');
  writeFileSync(file, model({
    nodes: [node('Conv', ['x', 'w'], ['y'])],
    weights: [stored({type: 'f32', shape: [16, 4, 3, 3], data: Float32Array.from({length: 576}, (_, at) => Math.sin(at))}, 'w')],
    inputs: [value('x', 'f32', [1, 4, 258, 258])],
    outputs: [value('y', 'f32', [1, 16, 256, 256])],
  }));
  const records = path.join(work, 'layouts.jsonl');
  const tune = (...args) => call('tune', file, '--no-winograd', '--target', 'cpu', '--threads', '1', '--trials', '4', '--layout-share', '1', '--output', records, ...args);
  const seen = (...args) => JSON.parse(call('inspect', file, '--no-winograd', '--target', 'cpu', '--json', ...args).stdout).targets[0];
  const copies = ({kernels}) => kernels.filter(({name}) => name.includes('unblock')).length;
  const [rule] = seen('--space').layouts;
  check('by the rule a copy follows', copies(seen()) === 1 && rule.layout === 'axis=1' && !rule.recorded && rule.layouts.includes('axis=3'), JSON.stringify(rule));
  const first = tune('--json');
  const {layouts: [found] = [], layoutTrials, layoutsGivenUp, runMsBefore, runMsAfter} = first.status === 0 ? JSON.parse(first.stdout) : {};
  check('a search finds a layout without', found?.key === rule.key && found.before === 'axis=1' && found.after !== 'axis=1' && layoutTrials > 0 && !layoutsGivenUp,
    first.stdout + first.stderr);
  check('whole runs are faster in it', runMsAfter < 0.9 * runMsBefore, `${runMsBefore} ms, now ${runMsAfter}`);
  const [taken] = seen('--records', records).layouts;
  check('inspect says which layout a record set', taken?.recorded && taken.layout === found?.after && taken.rule === 'axis=1' &&
    copies(seen('--records', records)) === 0, JSON.stringify(taken));
  const told = call('inspect', file, '--no-winograd', '--target', 'cpu', '--kernels', '--records', records).stdout;
  check('as text, too', told.includes(`${found?.after} by its record, axis=1 by the rule`), told);
  const compiled = call('compile', file, '--target', 'cpu', '--emit', 'package', '--records', records, '--json', '-o', path.join(work, 'laid_out'));
  check('the compiler takes it', compiled.status === 0 && JSON.parse(compiled.stdout).packages[0].layouts === 1, compiled.stdout + compiled.stderr);

  appendFileSync(records, '{"key": "a", "class": "cpu", "layout": "sideways"}\n{"class": "cpu", "layouts": 3}\n');
  const trials = () => readFileSync(records, 'utf8').split('\n').filter((line) => line.includes('"stage"') && line.includes('"layouts"'));
  const before = trials();
  const second = tune();
  check('a second search begins there, past lines that are no layouts', second.status === 0 && second.stderr.split('left out').length === 3 &&
    second.stdout.includes(`layout of conv: ${found?.after}, by the rule axis=1`), second.stdout + second.stderr);
  const keyed = trials().map((line) => JSON.stringify(JSON.parse(line).layouts));
  check('and measures no layout twice', before.length > 0 && new Set(keyed).size === keyed.length, keyed.join('\n'));
  const none = path.join(work, 'no_layouts.jsonl');
  const without = call('tune', file, '--target', 'cpu', '--threads', '1', '--trials', '2', '--layout-share', '0', '--output', none);
  check('a search may leave layouts alone', without.status === 0 && !readFileSync(none, 'utf8').includes('layout') && !without.stdout.includes('layout'), without.stdout + without.stderr);
}

// Convolutions by another algorithm: records say which, `inspect` lists them, and a search tries those that the rule did not choose.
function algorithms() {
  const file = path.join(work, 'convolution.onnx');
  writeFileSync(file, model({
    nodes: [node('Conv', ['x', 'w'], ['y']), node('Relu', ['y'], ['z'])],
    weights: [stored({type: 'f32', shape: [64, 64, 3, 3], data: Float32Array.from({length: 36_864}, (_, at) => Math.sin(at) / 9)}, 'w')],
    inputs: [value('x', 'f32', [1, 64, 58, 58])],
    outputs: [value('z', 'f32', [1, 64, 56, 56])],
  }));
  const seen = (...args) => JSON.parse(call('inspect', file, '--target', 'cpu', '--json', ...args).stdout).targets[0];
  const products = ({kernels}) => kernels.filter(({name}) => name === 'conv.products').length;
  const [rule] = seen('--space').layouts;
  check('a convolution is computed in tiles by the rule', rule.algorithm === 'winograd=4' && rule.layouts.join() === 'winograd=4,direct,winograd=2' && products(seen()) === 1,
    JSON.stringify(rule));
  check('and as it is where that is asked for', products(seen('--no-winograd')) === 0);
  const direct = path.join(work, 'direct.jsonl');
  writeFileSync(direct, JSON.stringify({key: rule.key, class: rule.class, algorithm: 'direct'}));
  const [taken] = seen('--records', direct).layouts;
  check('or where a record says so', taken?.recorded && taken.algorithm === 'direct' && taken.rule === 'winograd=4' && products(seen('--records', direct)) === 0, JSON.stringify(taken));
  const records = path.join(work, 'algorithms.jsonl');
  const tuned = call('tune', file, '--target', 'cpu', '--threads', '1', '--trials', '2', '--layout-share', '1', '--output', records);
  const tried = tuned.status === 0 ? readFileSync(records, 'utf8').split('\n').filter((line) => line.includes('"layouts"')) : [];
  check('a search tries the others', tried.some((line) => line.includes('"direct"')) && tried.some((line) => line.includes('"winograd=2"')), tuned.stdout + tuned.stderr);
}

// Kernels without a record take that of one near them, where it is legal, and it is said whose it is.
function nearest(file) {
  const other = writeModel(160);
  const far = writeModel(512);
  const inspect = (...args) => JSON.parse(call('inspect', ...args, '--target', 'cpu', '--space', '--json').stdout).targets[0].kernels;
  const products = inspect(file).filter(({name, points = []}) => name === 'matmul' && points.length > 1);
  const records = path.join(work, 'near.jsonl');
  const compile = (model, change, ...args) => {
    writeFileSync(records, products.map(({key, class: machine, structure, extents, points}) => JSON.stringify(
      {key, class: machine, point: points[1], kernel: 'matmul', structure, extents, ...change})).join('\n'));
    const {status, stdout, stderr} = call('compile', model, '--target', 'cpu', '--emit', 'package', '--records', records, '--json',
      '-o', path.join(work, 'near'), ...args);
    const {recorded, nearest, refused} = status === 0 ? JSON.parse(stdout).packages[0] : {};
    return {counts: [recorded, nearest, refused].join(), said: stdout + stderr};
  };
  const count = products.length;
  const cases = [
    ['its own', `${count},0,0`, file],
    ['of a kernel near it', `0,${count},0`, other],
    ['of one that is far', '0,0,0', far],
    ['of a kernel near it, not wanted', '0,0,0', other, {}, '--records-exact'],
    ['that is not legal', `0,0,${count}`, other, {point: 'contraction: tile(i7, 4) -> i7.tile, lane'}],
    ['of a kernel whose default point is the best', '0,0,0', other, {ratio: 1}],
    ['of another structure', '0,0,0', other, {structure: '0'}],
  ];
  check('there are products to record', count > 0, count);
  for (const [name, wanted, ...args] of cases) {
    const {counts, said} = compile(...args);
    check(`a record ${name}`, counts === wanted, said);
  }
  for (const extents of ['12', [1.5], [-1], undefined]) {
    const {counts, said} = compile(other, {extents});
    check(`extents ${extents} are no extents`, counts === '0,0,0' && said.includes('left out') && said.includes('extents'), said);
  }
  compile(other, {ratio: 0.9});
  const taken = inspect(other, '--records', records).filter(({record}) => record);
  check('inspect says whose record it is', taken.length === count && taken.every(({record, key}) =>
    products.some((one) => one.key !== key && record === `of matmul ${one.key.slice(0, 8)}, nearest`)), JSON.stringify(taken));
  const own = call('inspect', file, '--target', 'cpu', '--kernels', '--records', records);
  check('and which is its own', own.stdout.split('record: its own').length === count + 1, own.stdout);
}

// Somebody who has seen enough gets the table all the same; a device that ends is started again.
async function interrupted(file) {
  const records = path.join(work, 'interrupted.jsonl');
  const child = spawn(gossamer, ['tune', file, '--target', 'cpu', '--threads', '1', '--seconds', '600', '--output', records],
    {stdio: ['ignore', 'pipe', 'pipe']});
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal)));
  const measured = () => (existsSync(records) ? readFileSync(records, 'utf8').split('\n').length : 0);
  const until = async (holds) => {
    for (const end = Date.now() + 240_000; Date.now() < end && !holds(); ) await new Promise((resolve) => setTimeout(resolve, 50));
    return holds();
  };
  check('it begins', await until(() => measured() > 3), stderr);
  const {stdout: children} = spawnSync('pgrep', ['-P', String(child.pid), '-f', 'tuned-1'], {encoding: 'utf8'});
  const [device] = children.trim().split('\n').map(Number);
  check('candidates run in a process of their own', device > 0, children);
  if (device > 0) process.kill(device, 'SIGKILL');
  const seen = measured();
  check('a device that ends is no end of the search', await until(() => measured() > seen + 3), `${measured()} lines, ${stderr}`);
  child.kill('SIGINT');
  const code = await Promise.race([ended, new Promise((resolve) => setTimeout(() => resolve('late'), 240_000))]);
  check('Ctrl+C ends it with the table', code === 0 && stdout.includes('whole runs'), `${code} ${stdout} ${stderr}`);
  if (code === 'late') child.kill('SIGKILL');
}

// Candidates share a device, their weights in its memory and the programs that are the same; each one's outputs are compared.
function onGpus(file) {
  for (const target of ['opencl', 'opengl']) {
    const records = path.join(work, `${target}.jsonl`);
    const {status, stdout, stderr} = call('tune', file, '--target', target, '--trials', '12', '--output', records, '--json');
    if (/there is no OpenCL device|no OpenGL|OpenGL .*not/.test(stdout + stderr)) {
      tally.skip(`${target} here`, (stdout + stderr).trim());
      continue;
    }
    const outcome = status === 0 ? JSON.parse(stdout) : {};
    check(`${target} here`, outcome.trials === 12 && outcome.failures === 0, stdout + stderr);
  }
}

// In the rule's layouts: a profile without records has no others' kernels.
function inBrowsers(file) {
  for (const target of ['wasm', 'webgpu']) {
    const records = path.join(work, `${target}.jsonl`);
    const {status, stdout, stderr} = call('tune', file, '--target', target, '--trials', '6', '--layout-share', '0', '--output', records, '--json');
    const outcome = status === 0 ? JSON.parse(stdout) : {};
    check(`${target} in Chromium`, outcome.trials + outcome.failures === 6 && outcome.runMsAfter > 0, stdout + stderr);
    const {stdout: profile} = call('bench', file, '--target', target, '--profile', '--json');
    const ran = JSON.parse(profile).kernels.filter(({launches}) => launches > 0).map(({name}) => name);
    const tuned = (outcome.kernels ?? []).map(({name}) => name);
    check(`${target}: what is tuned are the kernels that run`, tuned.length > 0 && tuned.sort().join() === ran.sort().join(),
      `${tuned}, not ${ran}`);
  }
}

// What is recorded is right on real models, too.
function rightAnswers() {
  for (const [name, place] of Object.entries(writeOwn({folder: path.join(work, 'own'), gossamer, names: ['network', 'lstm']}))) {
    const file = path.join(place, readdirSync(place).find((one) => one.endsWith('.onnx')));
    const records = path.join(work, `${name}.jsonl`);
    const tuned = call('tune', file, '--target', 'cpu', '--trials', '30', '--output', records);
    check(`${name} is tuned`, tuned.status === 0, tuned.stderr);
    const lines = linesOf(records).filter(({trial, failed}) => trial && !failed);
    const wild = new Map(lines.map(({key, class: machine, trial}) => [key, {key, class: machine, point: trial}]));
    writeFileSync(records, [...wild.values()].map((line) => JSON.stringify(line)).join('\n'));
    const tested = call('test', place, '--target', 'cpu', '--records', records);
    check(`${name} with ${wild.size} of its points answers right`, tested.status === 0 && /[1-9]\d* passed, 0 failed/.test(tested.stdout),
      tested.stdout.slice(-300) + tested.stderr);
  }
}

// A point each of the two products, which take most of the time, and of the softmax if its turn came as well.
function isFirstBatch({best = [], challengers = []} = {}) {
  const keys = new Set(challengers.map(({key}) => key));
  const products = best.filter(({point}) => point.startsWith('contraction')).map(({key}) => key);
  return best.length === 3 && keys.size === challengers.length && products.length === 2 && products.every((key) => keys.has(key)) &&
    [...keys].every((key) => best.some((one) => one.key === key));
}

// What the programs of a fleet say to each other, line by line; python/tests/test_fleet.py runs a whole one.
async function fleet(file) {
  const child = spawn(gossamer, ['tune', file, '--target', 'cpu', '--threads', '1', '--fleet', 'measure'], {stdio: ['pipe', 'pipe', 'ignore']});
  const lines = child.stdout.setEncoding('utf8').iterator({destroyOnReturn: false});
  const ended = new Promise((resolve) => child.on('exit', resolve));
  const {value: survey = ''} = await lines.next();
  const said = survey.endsWith('\n') ? JSON.parse(survey) : {kernels: []};
  check('a device says what it is', said.adapter?.startsWith('cpu') && said.kernels.length === 3, survey);
  child.stdin.write('{"number": 1}\n');
  const {value: wrong = ''} = await lines.next();
  check('a batch that is none ends it', wrong.includes('no kind of batch') && (await ended) === 1, wrong);

  const other = JSON.stringify({...said, adapter: 'cpu, 7 threads'});
  const older = JSON.stringify({...said, kernels: said.kernels.map((kernel) => ({...kernel, schedule: 'another'}))});
  const asked = ['next', 'survey {}', `survey ${older}`, `survey ${survey.trim()}`, `survey ${other}`, 'next', 'take {}', 'lose x', 'go', 'stop', 'next'];
  const records = path.join(work, 'plan.jsonl');
  const args = ['tune', file, '--target', 'cpu', '--threads', '1', '--fleet', 'plan', '--trials', '9', '--layout-share', '0', '--output', records];
  const {stdout} = spawnSync(gossamer, args, {encoding: 'utf8', input: asked.join('\n') + '\n', timeout: 240_000});
  const told = stdout.trim().split('\n').map((line) => JSON.parse(line));
  const wanted = [{files: []}, /no device/, /adapter/, /other kernels there/, {}, /is not what the others are/, 'batch', /spent|went/, /survey, next/, /survey, next/, {}, {wait: true}];
  for (const [at, want] of wanted.entries()) {
    const got = JSON.stringify(told[at]);
    const holds = want instanceof RegExp ? want.test(told[at]?.error) : want === 'batch' ? isFirstBatch(told[at]?.batch) : got === JSON.stringify(want);
    check(`the planner's answer to ${at > 0 ? asked[at - 1].slice(0, 12) : 'nothing'}`, holds, got);
  }
  const none = call('tune', file, '--target', 'cpu', '--fleet', 'plan', '--trials', '3');
  check('a planner wants a file of records', none.status === 2 && none.stderr.includes('--output'), none.stderr);
}

function mistakes(file) {
  const records = path.join(work, 'never.jsonl');
  const cases = [
    ['no end is told', 2, '--seconds', ['--target', 'cpu', '--output', records]],
    ['no target', 2, '--target', ['--trials', '3', '--output', records]],
    ['no such device', 1, 'is `gossamer rpc` running', ['--target', 'cpu', '--trials', '3', '--output', records, '--device', 'rpc://127.0.0.1:1/x?token=y']],
    ['no such folder', 1, 'nowhere', ['--target', 'cpu', '--trials', '3', '--output', path.join(work, 'nowhere/records')]],
    ['an input that is none', 1, 'names no input', ['--target', 'cpu', '--trials', '3', '--output', records, '--input', 'z=z.npy']],
  ];
  for (const [name, wanted, word, args] of cases) {
    const {status, stderr} = call('tune', file, ...args);
    check(name, status === wanted && stderr.includes(word) && stderr.trim().split('\n').length === 1, `${status}: ${stderr}`);
  }
  const {status, stderr} = call('tune', path.join(work, 'missing.onnx'), '--target', 'cpu', '--trials', '3', '--output', records);
  check('no such model', status === 1 && stderr.includes('missing.onnx'), stderr);
}

const [part] = process.argv.slice(2);
if (part !== 'searches') layouts();
if (part !== 'layouts') {
  const file = writeModel();
  mistakes(file);
  await fleet(file);
  searches(file);
  algorithms();
  nearest(file);
  await interrupted(file);
  rightAnswers();
  onGpus(file);
  inBrowsers(file);
}
rmSync(work, {recursive: true, force: true});
tally.end();
