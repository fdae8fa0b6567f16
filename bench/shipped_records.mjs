// Makes a file of records that come with the compiler (src/shipped) out of what searches found, by the rule: a record wins at
// least 3 % on a model, and with the file no model is slower, those that were not searched for among them.
//
//   node bench/shipped_records.mjs --class swiftshader --target webgpu --model a.onnx,b.onnx --records found.jsonl,... [--turns 5] [--out FILE]
//   node bench/shipped_records.mjs --class nvidia --target opencl --results FOLDER --model resnet18=a.onnx,... --out FILE
//
// --seconds S searches each of the first --searched models before (`gossamer tune`), the others are held out. A model may be
// NAME=FILE and have more arguments: resnet18_2=resnet18.onnx:--shape:input=2,3,224,224. With --results nothing is run here but
// `inspect`: FOLDER has records.TARGET.jsonl and what `gossamer bench --json` said elsewhere, ship.TARGET.jsonl (whole runs) and
// profile.TARGET.jsonl, a line {turn, model, variant: "default" or "records", bench or profile}.
// GOSSAMER names another program than build/gossamer.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';

const WINS = 0.97; // of a kernel's time
const SLOWER = 1.01; // of a model's
const {values: given} = parseArgs({options: {
  class: {type: 'string'}, target: {type: 'string'}, model: {type: 'string', default: ''}, records: {type: 'string', default: ''},
  results: {type: 'string'}, turns: {type: 'string', default: '5'}, runs: {type: 'string', default: '10'}, seconds: {type: 'string'},
  searched: {type: 'string', default: '2'}, about: {type: 'string', default: ''}, out: {type: 'string'}, device: {type: 'string'},
  threads: {type: 'string', default: '0'},
}});
// Of a kernel's, which is timed less often; a machine of its own is quieter.
const KERNEL_SLOWER = given.results ? 1.02 : 1.05;
const gossamer = process.env.GOSSAMER ?? path.resolve(import.meta.dirname, '../build/gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-shipped-'));
const device = given.device ? ['--device', given.device] : [];
const models = given.model.split(',').reduce((all, word) => {
  // Shapes have commas, too.
  if (/[.]onnx|=/.test(word)) all.push(word);
  else all[all.length - 1] += `,${word}`;
  return all;
}, []).map((word) => {
  const [, name, rest] = /^(?:(\w+)=)?(.*)$/.exec(word);
  const [file, ...more] = rest.split(':');
  return {name: name ?? path.basename(file, '.onnx'), file, more};
});

function call(args, timeout = 600_000) {
  const {status, stdout, stderr, error} = spawnSync(gossamer, args, {encoding: 'utf8', timeout, maxBuffer: 1 << 29});
  if (status !== 0) throw new Error(`gossamer ${args.slice(0, 4).join(' ')}: ${error?.message ?? stderr.trim()}`);
  return stdout;
}
const linesOf = (file) => readFileSync(file, 'utf8').split('\n').filter((line) => line && !line.startsWith('#')).map((line) => JSON.parse(line));
const round = (number) => Math.round(number * 1000) / 1000;
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

function byGroup(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row]);
  return groups;
}

function search() {
  return models.slice(0, Number(given.searched)).map(({name, file, more}) => {
    const to = path.join(work, `${name}.jsonl`);
    call(['tune', file, '--target', given.target, '--device-class', 'none', '--seconds', given.seconds, '--output', to, '--json', '--threads', given.threads, ...more, ...device], 3_600_000);
    return to;
  });
}

/** The last line of each kernel that has a point: a better one, or the default one as the best known. */
function candidates(files) {
  const last = new Map();
  for (const file of files) {
    for (const line of linesOf(file)) {
      if (line.point === undefined || !line.structure) continue;
      const before = last.get(line.key);
      // Of two searches, the one that found something.
      if (!before || line.ratio <= Math.min(before.ratio, 1)) last.set(line.key, line);
    }
  }
  const good = [...last.values()].filter(({ratio}) => ratio < WINS);
  const structures = new Set(good.map(({structure}) => structure));
  const guards = [...last.values()].filter(({ratio, structure}) => ratio >= 1 && structures.has(structure));
  return [...good, ...guards];
}

// What was learned of costs stands there, too, and stays.
const compact = ({key, class: machine, point, ratio, structure, extents, kernel, ...others}) => others.costs ? JSON.stringify(others) :
  JSON.stringify({key, class: machine, point, ratio: Math.min(1, Math.round(ratio * 1000) / 1000), structure, extents, kernel: kernel?.slice(0, 24), shipped: given.class});

function write(file, records, about = []) {
  writeFileSync(file, [...about.map((line) => `# ${line}`), ...records.map(compact)].map((line) => `${line}\n`).join(''));
}

/** Runs and profiles of all models with and without, in turns, in the form of --results. */
function measure(records, turns) {
  const file = path.join(work, 'records.jsonl');
  write(file, records);
  const packages = models.flatMap(({name, file: model, more}) => ['default', 'records'].map((variant) => {
    const to = path.join(work, `${name}.${variant}`);
    const side = given.device === 'native' && given.target !== 'wasm' ? ['--side', 'cpu'] : [];
    const with_ = variant === 'records' ? ['--records', file] : [];
    call(['compile', model, '--target', given.target, '--emit', 'package', '--device-class', 'none', ...side, ...more, ...with_, '-o', to]);
    return {model: name, variant, to};
  }));
  const rows = {runs: [], profiles: []};
  for (let turn = 0; turn < turns; ++turn) {
    for (const {model, variant, to} of turn % 2 ? packages.toReversed() : packages) {
      const bench = (...how) => JSON.parse(call(['bench', to, '--target', given.target, '--json', '--threads', given.threads, ...how, ...device]));
      rows.runs.push({turn, model, variant, bench: bench('--runs', given.runs)});
      if (turn < 3) rows.profiles.push({turn, model, variant, profile: bench('--profile', '--runs', '3')});
    }
  }
  for (const {to} of packages) rmSync(to, {recursive: true});
  return rows;
}

/** Of each model, records' time by default's: the fastest run of all turns, as `gossamer tune` has it; and the median over turns. */
function ratiosOf(runs) {
  const ratios = {};
  for (const [model, rows] of byGroup(runs, (row) => row.model)) {
    const turns = [...byGroup(rows, (row) => row.turn).values()].flatMap((turn) => {
      const of = (variant) => turn.find((row) => row.variant === variant)?.bench?.runMs;
      return of('records') && of('default') ? [of('records') / of('default')] : [];
    });
    const fastest = (variant) => Math.min(...rows.filter((row) => row.variant === variant).map(({bench}) => bench?.fastestMs ?? Infinity));
    ratios[model] = {ratio: round(fastest('records') / fastest('default')), median: round(median(turns)), ms: round(fastest('default')), turns: turns.length};
  }
  return ratios;
}

const nodeOf = (origin) => /"[^"]*"/.exec(origin)?.[0] ?? origin;

/** Of each record the kernels that take it, model by model: {model, key, after, before} in milliseconds, and how `inspect` sees the kernel. */
function usesOf(profiles, records) {
  const file = path.join(work, 'judged.jsonl');
  write(file, records);
  const uses = new Map(records.map(({key}) => [key, []]));
  for (const {name, file: model, more} of models) {
    const [seen] = JSON.parse(call(['inspect', model, '--target', given.target, '--space', '--json', '--device-class', 'none', '--records', file, ...more])).targets;
    const times = {default: new Map(), records: new Map()};
    for (const {variant, profile} of profiles.filter((row) => row.model === name && row.profile)) {
      for (const {origin, name: kernel, ms} of profile.kernels) {
        const at = `${kernel} ${nodeOf(origin)}`;
        times[variant].set(at, Math.min(times[variant].get(at) ?? Infinity, ms));
      }
    }
    for (const kernel of seen.kernels) {
      const {origin, record, key, class: machine} = kernel;
      if (!record || !records.some((one) => one.class === machine)) continue;
      const of = record.startsWith('its own') ? key : /([0-9a-f]{8}), nearest/.exec(record)?.[1];
      const whose = records.find((one) => of && one.key.startsWith(of));
      const at = `${kernel.name} ${nodeOf(origin)}`;
      const [before, after] = [times.default.get(at), times.records.get(at)];
      if (whose && before && after) uses.get(whose.key).push({model: name, key, before, after, kernel});
    }
  }
  return uses;
}

/** What wins somewhere and loses nowhere. Kernels that lose by a record of another one get one of their own: the default point is better. */
function keep(records, uses) {
  const guards = new Map();
  const kept = records.filter((record) => {
    const all = uses.get(record.key) ?? [];
    if (record.ratio >= 1) return true;
    const wins = all.some(({before, after}) => after <= WINS * before);
    const slower = all.filter(({before, after}) => after > KERNEL_SLOWER * before);
    if (!wins || slower.some(({key}) => key === record.key)) return false;
    for (const {key, kernel} of slower) {
      const {name, structure, extents, points: [point]} = kernel;
      guards.set(key, {key, class: kernel.class, point, ratio: 1, structure, extents, kernel: name});
    }
    return true;
  });
  for (const {key} of kept) guards.delete(key);
  return [...kept, ...guards.values()];
}

const winners = (records) => records.filter(({ratio}) => ratio < 1).length;

function main() {
  const {class: name, target} = given;
  let records, rows;
  if (given.results) {
    const of = (what) => linesOf(path.join(given.results, `${what}.${target}.jsonl`));
    records = candidates([path.join(given.results, `records.${target}.jsonl`)]);
    rows = {runs: of('ship'), profiles: of('profile')};
    console.log('as it was measured:', ratiosOf(rows.runs));
    const uses = usesOf(rows.profiles, records);
    records = candidatesOf(keep(records, uses));
    const stays = new Set(records.map(({key}) => key));
    const taken = records.flatMap(({key}) => uses.get(key) ?? []).filter(({key, before, after}) => after < before || stays.has(key));
    console.log('of what is kept, milliseconds saved by its kernels:', Object.fromEntries(models.map(({name: model}) =>
      [model, round(taken.reduce((sum, use) => sum + (use.model === model ? use.before - use.after : 0), 0))])));
  } else {
    records = candidates([...given.records.split(',').filter(Boolean), ...(given.seconds ? search() : [])]);
    console.log(`${winners(records)} candidates`);
    for (let round = 0; winners(records) > 0 && round < 4; ++round) {
      rows = measure(records, Number(given.turns));
      const ratios = ratiosOf(rows.runs);
      const uses = usesOf(rows.profiles, records);
      console.log(`round ${round}: ${winners(records)} records`, ratios);
      const slower = Object.keys(ratios).filter((model) => ratios[model].ratio > SLOWER);
      let kept = keep(records, uses);
      // A kernel alone may gain what the ones around it lose: of a slower model, the half that saves least.
      if (slower.length > 0 && kept.length === records.length) {
        const savedBy = ({key}) => uses.get(key).reduce((sum, {model, before, after}) => sum + (slower.includes(model) ? before - after : 0), 0);
        const used = records.filter(({key, ratio}) => ratio < 1 && uses.get(key).some(({model}) => slower.includes(model)));
        const less = new Set(used.toSorted((a, b) => savedBy(a) - savedBy(b)).slice(0, Math.ceil(used.length / 2)));
        kept = kept.filter((one) => !less.has(one));
      }
      const done = kept.length === records.length;
      records = winners(kept) > 0 ? candidatesOf(kept) : [];
      if (done) break;
    }
  }
  const better = rows && Object.values(ratiosOf(rows.runs)).some(({ratio}) => ratio <= WINS);
  console.log(`${winners(records)} records win${better ? '' : ', and no model is 3 % faster'}`);
  if (rows && given.out) {
    mkdirSync(path.dirname(path.resolve(given.out)), {recursive: true});
    const before = existsSync(given.out) ? linesOf(given.out).filter((line) => line.costs || line.class.split('.')[0] !== target) : [];
    const heads = existsSync(given.out) ? readFileSync(given.out, 'utf8').split('\n').filter((line) => line.startsWith('# ') && !line.startsWith(`# ${target}: `)).map((line) => line.slice(2)) : [];
    write(given.out, [...before, ...records], [...heads, `${target}: ${given.about || name}`]);
  }
}

/** Guards of structures without winners are of no use. */
function candidatesOf(records) {
  const structures = new Set(records.filter(({ratio}) => ratio < 1).map(({structure}) => structure));
  return records.filter(({structure}) => structures.has(structure));
}

try {
  main();
} finally {
  rmSync(work, {recursive: true, force: true});
}
