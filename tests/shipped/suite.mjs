// Records that come with the compiler (src/shipped), as commands take them: by class of device, for near kernels, after the user's own.
//
//   node tests/shipped/suite.mjs
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {onnxFile} from '../../bench/models/onnx_file.mjs';
import {modelOf} from '../../bench/models/table.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-shipped-'));
const tally = new Tally();
const check = (name, good, why) => tally.record(name, good ? [] : [String(why).slice(0, 500)]);

function call(...args) {
  const {status, stdout, stderr} = spawnSync(gossamer, args, {encoding: 'utf8', timeout: 240_000, maxBuffer: 1 << 28});
  return {status, stdout: stdout ?? '', stderr: stderr ?? ''};
}

/** {recorded, nearest, shipped, refused, files} of a compilation. */
function compiled(model, target, ...more) {
  const {status, stdout, stderr} = call('compile', model, '--target', target, '--emit', 'package', '--json', '-o', path.join(work, 'package'), ...more);
  if (status !== 0) throw new Error(stderr || stdout);
  return JSON.parse(stdout).packages[0];
}

/** The kernels of the class, with the records that they take. */
function kernelsOf(model, target, machine, ...more) {
  const {stdout, stderr} = call('inspect', model, '--target', target, '--space', '--json', ...more);
  if (!stdout) throw new Error(stderr);
  return JSON.parse(stdout).targets[0].kernels.filter((kernel) => kernel.class === machine);
}

const file = (name) => {
  const to = path.join(work, `${name}.onnx`);
  writeFileSync(to, onnxFile(modelOf(name).graph()));
  return to;
};

/** Every class with what its lines are for. */
function classes() {
  return readdirSync(path.join(root, 'src/shipped')).filter((name) => name.endsWith('.jsonl')).map((name) => {
    const lines = readFileSync(path.join(root, 'src/shipped', name), 'utf8').split('\n').filter((line) => line && !line.startsWith('#'))
      .map((line) => JSON.parse(line)).filter(({costs}) => !costs); // those are no records: src/shipped/shipped_test.cc
    return {name: name.slice(0, -'.jsonl'.length), lines};
  });
}

// Code for other processors than this one has kernels of their class.
const PROCESSORS = {'cpu.256': ['--cpu', 'haswell']};

function ofAClass({name, lines}, models) {
  if (lines.some((line) => line.class === 'cpu.256') && process.arch !== 'x64') {
    tally.skip(name, 'machine code for x86-64 is made there alone');
    return;
  }
  for (const machine of new Set(lines.map((line) => line.class))) {
    const [target] = machine.split('.');
    const processor = PROCESSORS[machine] ?? [];
    const keys = new Set(lines.filter((line) => line.class === machine).map(({key}) => key));
    for (const model of models) {
      const what = `${name}: ${path.basename(model, '.onnx')} on ${target}`;
      const found = compiled(model, target, '--device-class', name, ...processor);
      // Another one may have no kernel near those of the file.
      const enough = found.shipped > 0 || model !== models[0];
      check(`${what} takes records, all of them legal`, enough && found.refused === 0, JSON.stringify(found));
      const none = compiled(model, target, '--device-class', 'none', ...processor);
      check(`${what} does without`, none.shipped === 0 && none.recorded === 0 && none.nearest === 0, JSON.stringify(none));
    }
    const [model] = models;
    const kernels = kernelsOf(model, target, machine, '--device-class', name, ...processor);
    const own = kernels.find(({key, record}) => keys.has(key) && record === `its own, shipped for ${name}`);
    check(`${name}: a kernel on ${target} says whose record it takes`, own, kernels.map(({record}) => record));
    if (!own) continue;
    const near = kernelsOf(model, target, machine, '--device-class', name, ...processor, '--shape', 'image=1,3,192,192');
    check(`${name}: kernels near those take theirs on ${target}`,
      near.some(({record}) => record?.endsWith(`nearest, shipped for ${name}`)), near.map(({record}) => record));
    const shipped = lines.find((line) => line.class === machine && line.key === own.key);
    const point = own.points.find((each) => each !== shipped.point);
    const records = path.join(work, 'mine.jsonl');
    const {key, structure, extents} = own;
    writeFileSync(records, JSON.stringify({key, class: machine, point, ratio: 0.5, structure, extents}));
    const mine = kernelsOf(model, target, machine, '--device-class', name, ...processor, '--records', records).find((kernel) => kernel.key === key);
    check(`${name}: the user's records come first on ${target}`, mine?.record === 'its own', mine?.record);
    writeFileSync(records, JSON.stringify({key, class: machine, point: own.points[0], ratio: 1, structure, extents}));
    const first = kernelsOf(model, target, machine, '--device-class', name, ...processor, '--records', records).find((kernel) => kernel.key === key);
    check(`${name}: the user's word that the default point is the best one ends it on ${target}`, first && !first.record, first?.record);
  }
}

try {
  const models = ['mobilenetv2', 'resnet18'].map(file);
  const found = classes();
  check('there are classes with records', found.length > 0, found.length);
  for (const one of found) ofAClass(one, models);
  const unknown = call('compile', models[0], '--target', 'wasm', '--device-class', 'voodoo', '-o', path.join(work, 'package'));
  check('an unknown class is refused, with those that there are', unknown.status !== 0 && unknown.stderr.includes('nvidia'), unknown.stderr);
  const processor = call('inspect', models[0], '--target', 'cpu', '--cpu', 'abacus');
  check('inspect is told the processor, and names one that there is not', processor.stdout.includes('LLVM knows no processor "abacus"'), processor.stdout + processor.stderr);
  // What is not known of the device when a page is compiled is left to --device-class.
  const page = kernelsOf(models[0], 'webgpu', 'webgpu.hardware');
  check('a package for pages has no records of hardware by itself', page.length > 0 && page.every(({record}) => !record), page.map(({record}) => record));
} catch (problem) {
  tally.record('the suite', problem.stack);
} finally {
  rmSync(work, {recursive: true, force: true});
}
tally.end();
