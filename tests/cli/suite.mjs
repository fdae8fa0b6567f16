// Bad input through the command line: exit code 1 (2 for bad usage), one line on stderr that names the file or the
// node and the reason, and no partial package. The models are made here; broken ones, shared or damaged here, may
// neither crash nor hang.
//
//   node tests/cli/suite.mjs
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {graph, model, node, npy, npyOf, stored, tensor, value} from './models.mjs';
import {mutants} from '../hostile/mutants.mjs';
import {testdata} from '../shared.mjs';
import {llama} from '../state/llama.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const shared = testdata(root);
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-cli-'));
const inside = path.join(work, 'model'); // models lie here, so that work/ is outside their folder
mkdirSync(inside);

const tally = new Tally();

const run = (args, timeout = 60_000) =>
  spawnSync(gossamer, args, {cwd: work, encoding: 'utf8', timeout, killSignal: 'SIGKILL'});

// What is wrong with a failed command's exit code, its message, or what it left behind.
function judge({status, signal, stderr, stdout}, code, words) {
  const problems = [];
  if (status !== code) problems.push(`exit code ${status ?? signal}, not ${code}`);
  const lines = stderr.split('\n').filter((line) => line !== '');
  if (lines.length !== 1) problems.push(`${lines.length} lines on stderr: ${stderr.slice(0, 300)}`);
  for (const word of words)
    if (!stderr.includes(word)) problems.push(`no "${word}" in: ${stderr.trim().slice(0, 300)}`);
  if (stdout !== '') problems.push(`stdout: ${stdout.slice(0, 100)}`);
  for (const left of readdirSync(work))
    if (left !== 'model' && !left.endsWith('.npy') && left !== 'secret.bin') {
      problems.push(`left ${left}`);
      rmSync(path.join(work, left), {recursive: true});
    }
  return problems;
}

// Every one of `targets` must refuse this model with these words, and so must `run` and a page of one file.
function refused(name, bytes, words, {targets = ['wasm', 'webgpu', 'webgl', 'cpu'], run: runs = true} = {}) {
  const file = path.join(inside, `${name}.onnx`);
  if (bytes) writeFileSync(file, bytes);
  for (const target of targets) {
    const result = run(['compile', file, '--target', target, '-o', 'out']);
    tally.record(`${name} for ${target}`, judge(result, 1, words));
  }
  if (runs) tally.record(`run ${name}`, judge(run(['run', file, '--target', 'cpu']), 1, words));
  const html = run(['compile', file, '--target', 'wasm', '-o', 'out.html', '--single-file']);
  tally.record(`${name} as a page`, judge(html, 1, words));
}

const vector = (name, extent = 4) => value(name, 'f32', [extent]);
const sum = {
  nodes: [node('Add', ['a', 'b'], ['c'], {name: 'the sum'})],
  inputs: [vector('a'), vector('b')],
  outputs: [vector('c')],
};
const good = model(sum);

function models() {
  refused('missing', null, ['missing.onnx', 'no such file']);
  refused('empty', Buffer.alloc(0), ['empty.onnx']);
  refused('text', Buffer.from('this is no model, it is a sentence.\n'), ['text.onnx', 'text that begins with "this is no model']);
  // What a download or an export gives in place of a model: the message names it and what to do.
  const others = {
    page: ['<!doctype html><html><head><title>404', 'HTML page', 'check the address'],
    pointer: ['version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n', 'Git LFS pointer', 'git lfs pull'],
    checkpoint: ['PK\x03\x04\x00\x00archive/data.pkl', 'PyTorch checkpoint', 'torch.onnx.export'],
    pickle: ['\x80\x02}q\x00.', 'Python pickle', 'torch.onnx.export'],
    safetensors: ['\x02\0\0\0\0\0\0\0{}', 'safetensors', 'export the model'],
    gguf: ['GGUF\x03\0\0\0', 'the GGUF file is cut', 'downloaded completely'],
    json: ['{"error": "Unauthorized"}', 'JSON', '.onnx'],
  };
  for (const [name, [text, ...words]] of Object.entries(others))
    refused(name, Buffer.from(text, 'latin1'), [`${name}.onnx`, ...words], {targets: ['wasm']});
  for (const part of [0.3, 0.6, 0.95])
    refused(`cut at ${part}`, good.subarray(0, Math.floor(good.length * part)), [`cut at ${part}.onnx`], {
      targets: ['wasm'],
    });
  const strange = [node('Frobnicate', ['a', 'b'], ['c'], {name: 'strange one'})];
  refused('unknown operator', model({...sum, nodes: strange}), ['Frobnicate', 'strange one', 'unknown']);
  const shapes = model({...sum, inputs: [vector('a', 3), vector('b', 4)]});
  refused('shapes', shapes, ['the sum', '[3]', '[4]']);
  const types = model({...sum, inputs: [vector('a'), value('b', 'i64', [4])]});
  refused('types', types, ['the sum', 'f32', 'i64']);
  refused('dangling', model({...sum, inputs: [vector('a')]}), ['the sum', '"b"']);
  const huge = [2 ** 20, 2 ** 20, 2 ** 20];
  const product = {
    nodes: [node('Add', ['a', 'a'], ['c'], {name: 'too large'})],
    inputs: [value('a', 'f32', huge)],
    outputs: [value('c', 'f32', huge)],
  };
  refused('huge', model(product), ['"a"', 'more elements than any machine holds']);
  const wrapped = {...product, inputs: [value('a', 'f32', [2 ** 32, 2 ** 32])], outputs: [vector('c')]};
  refused('huge beyond 64 bits', model(wrapped), ['"a"']);
  // Inputs that fit, a result that does not: more than 32 bits count on the web, 281 TB anywhere.
  const web = ['wasm', 'webgpu', 'webgl'];
  for (const [bits, targets, why] of [[16, web, '4294967296 elements'], [23, [...web, 'cpu'], 'too large for any device']]) {
    const outer = {
      nodes: [node('Add', ['a', 'b'], ['c'], {name: 'outer sum'})],
      inputs: [value('a', 'f32', [2 ** bits, 1]), value('b', 'f32', [1, 2 ** bits])],
      outputs: [value('c', 'f32', [2 ** bits, 2 ** bits])],
    };
    refused(`result of ${2 * bits} bits`, model(outer), ['outer sum', why], {targets, run: bits > 16});
  }
}

// A size that dimensions decide names them, and what fixes them.
function openSizes() {
  const repeats = stored({type: 'i64', shape: [1], data: BigInt64Array.of(2n ** 41n)}, 'repeats');
  const tiled = model({
    nodes: [node('Tile', ['x', 'repeats'], ['y'], {name: 'the tiles'})],
    inputs: [value('x', 'f32', ['rows'])], outputs: [value('y', 'f32', ['many'])], weights: [repeats],
  });
  refused('open size', tiled, ['the tiles', '2199023255552', 'open dimension rows', '--dim rows=N']);
}

// `gossamer chat` is another program, which gets all words as they are.
function chat() {
  const absent = run(['chat', 'model']);
  tally.record('chat without the Python package', judge(absent, 1, ['gossamer-chat', 'pip install']));
  const folder = mkdtempSync(path.join(os.tmpdir(), 'gossamer-chat-'));
  const program = path.join(folder, 'gossamer-chat');
  writeFileSync(program, '#!/bin/sh\necho "$#:$*"\nexit 7\n', {mode: 0o755});
  const {status, stdout} = spawnSync(gossamer, ['chat', 'a b', '--help', '-p', 'x', '--', '--json'], {encoding: 'utf8', env: {...process.env, PATH: `${folder}:${process.env.PATH}`}});
  tally.record('chat hands over', status === 7 && stdout === '6:a b --help -p x -- --json\n' ? undefined : `${status}: ${stdout}`);
  // A folder with a tokenizer is a language model's.
  writeFileSync(path.join(folder, 'tokenizer.json'), '{}');
  tally.record('serve without the Python package', judge(run(['serve', folder]), 1, ['gossamer-serve', 'pip install']));
  writeFileSync(path.join(folder, 'gossamer-serve'), '#!/bin/sh\necho "$#:$*"\nexit 7\n', {mode: 0o755});
  const served = spawnSync(gossamer, ['serve', '--max-batch', '4', folder, '--name', 'x'], {encoding: 'utf8', env: {...process.env, PATH: `${folder}:${process.env.PATH}`}});
  tally.record('serve hands over a language model', served.status === 7 && served.stdout === `5:--max-batch 4 ${folder} --name x\n` ? undefined : `${served.status}: ${served.stdout}`);
  rmSync(folder, {recursive: true});
}

function externalData() {
  writeFileSync(path.join(work, 'secret.bin'), Buffer.alloc(16));
  symlinkSync(path.join(work, 'secret.bin'), path.join(inside, 'link.bin'));
  const absolute = path.join(work, 'secret.bin');
  // The reader judges the path, the command line what a link leads to.
  for (const location of ['../secret.bin', 'sub/../../secret.bin', absolute, 'link.bin']) {
    const bytes = model({...sum, inputs: [vector('a')], weights: [tensor('b', 'f32', [4], {location})]});
    const name = `external ${path.basename(location)} ${location.length}`;
    refused(name, bytes, [location, "the model's folder"], {targets: ['wasm', 'cpu']});
  }
  const absent = model({...sum, inputs: [vector('a')], weights: [tensor('b', 'f32', [4], {location: 'no.bin'})]});
  refused('external absent', absent, ['no.bin', 'no such file', 'the model wants "no.bin"'], {targets: ['wasm']});
  writeFileSync(path.join(inside, 'short.bin'), Buffer.alloc(8));
  const short = model({...sum, inputs: [vector('a')], weights: [tensor('b', 'f32', [4], {location: 'short.bin'})]});
  refused('external short', short, ['"b"', 'bytes'], {targets: ['wasm']});
}

// Weights go from their file to the package's by pieces: compiling takes less memory than they do.
function largeWeights() {
  const extent = 2 ** 26, file = path.join(inside, 'large.bin');
  writeFileSync(file, Buffer.of(1, 2, 3, 4));
  truncateSync(file, 4 * extent);
  const large = {nodes: [node('Add', ['a', 'b'], ['c'])], inputs: [vector('a', extent)], outputs: [vector('c', extent)], weights: [tensor('b', 'f32', [extent], {location: 'large.bin'})]};
  writeFileSync(path.join(inside, 'large.onnx'), model(large));
  const {status, stderr} = spawnSync('sh', ['-c', 'ulimit -d 131072; exec "$@"', 'sh', gossamer, 'compile', 'model/large.onnx', '--target', 'wasm', '--emit', 'package', '-o', 'model/large'], {cwd: work, encoding: 'utf8', timeout: 60_000});
  tally.record('256 MiB of weights in 128 MiB of memory', status === 0 ? [] : `${status}: ${stderr}`);
  if (status === 0) {
    const {files} = JSON.parse(readFileSync(path.join(inside, 'large/manifest.json'), 'utf8'));
    const {name, bytes, sha256} = files.find((one) => one.name.endsWith('.safetensors'));
    const written = readFileSync(path.join(inside, 'large', name));
    tally.record('and are whole', written.length === bytes && bytes > 4 * extent && createHash('sha256').update(written).digest('hex') === sha256 ? [] : `${name} is another file`);
  }
  rmSync(path.join(inside, 'large'), {recursive: true, force: true});
  rmSync(file);
}

// A folder of packages for several targets is none itself.
function packages() {
  const file = path.join(inside, 'good.onnx');
  const site = path.join(inside, 'site');
  writeFileSync(file, good);
  run(['compile', file, '--target', 'wasm,webgl', '--emit', 'package', '-o', site]);
  const words = ['several targets: wasm, webgl', path.join(site, 'wasm'), path.join(site, 'webgl')];
  tally.record('run of several packages', judge(run(['run', site]), 1, words));
  tally.record('bench of several packages', judge(run(['bench', site]), 1, words));
  tally.record('bench of a package for another target', judge(run(['bench', site, '--target', 'cpu']), 1, words));
  tally.record('run of a model that is called a package', judge(run(['run', inside]), 1, ['no manifest.json', 'gossamer compile']));
  // With --target it is that one: the inputs are what is missing.
  const {stderr} = run(['run', site, '--target', 'webgl']);
  tally.record('run of one of several packages', /several targets/.test(stderr) ? [stderr] : []);
}

// Commands that read models and folders without compiling for the web.
function inspect() {
  for (const name of ['missing', 'empty', 'text', 'cut at 0.6', 'unknown operator'])
    tally.record(`inspect ${name}`, judge(run(['inspect', path.join(inside, `${name}.onnx`)]), 1, [name]));
  // A dump has a shader a kernel, in the target's language.
  const dump = path.join(work, 'dump');
  const endings = {webgpu: 'wgsl', webgl: 'glsl', opencl: 'cl', opengl: 'glsl', wasm: undefined, cpu: undefined};
  writeFileSync(path.join(inside, 'good.onnx'), good);
  const {status, stderr} = run(['inspect', path.join(inside, 'good.onnx'), '--target', Object.keys(endings).join(','), '--dump', dump]);
  tally.record('inspect --dump', status === 0 ? [] : [stderr.slice(0, 300)]);
  for (const [target, ending] of Object.entries(endings)) {
    const files = existsSync(path.join(dump, target)) ? readdirSync(path.join(dump, target)) : [];
    const kernels = files.filter((name) => name.endsWith('.ir')).map((name) => name.slice(0, -3));
    const shaders = files.filter((name) => !/\.(ir|txt)$/.test(name)).sort().join();
    const wanted = ending ? kernels.map((name) => `${name}.${ending}`).sort().join() : '';
    tally.record(`inspect --dump of ${target}`, kernels.length > 0 && shaders === wanted ? [] : [`${kernels.length} kernels, ${shaders}`]);
  }
  rmSync(dump, {recursive: true, force: true});
  // A page shows models that cannot be compiled, too.
  const page = path.join(inside, 'view.html');
  const shown = run(['inspect', path.join(inside, 'unknown operator.onnx'), '--html', page]);
  tally.record('inspect --html of an unknown operator', shown.status === 0 && readFileSync(page, 'utf8').includes('is an unknown operator') ? [] : shown.stderr.slice(0, 300));
  tally.record('inspect --html of a text', judge(run(['inspect', path.join(inside, 'text.onnx'), '--html', page]), 1, ['text']));
  tally.record('inspect --html into a missing folder', judge(run(['inspect', path.join(inside, 'good.onnx'), '--html', path.join(work, 'nowhere/view.html')]), 1, ['nowhere']));
  tally.record('inspect --profile without --html', judge(run(['inspect', path.join(inside, 'good.onnx'), '--profile', page]), 2, ['--html']));
  tally.record('inspect --html with a page as profile', judge(run(['inspect', path.join(inside, 'good.onnx'), '--html', page, '--profile', page]), 1, ['is not a profile', 'gossamer bench']));
  rmSync(page, {force: true});
  tally.record('test of a missing folder', judge(run(['test', 'nowhere', '--target', 'cpu']), 1, ['nowhere']));
}

function feeds() {
  const file = path.join(inside, 'good.onnx');
  writeFileSync(file, good);
  const save = (name, bytes) => (writeFileSync(path.join(work, name), bytes), name);
  const right = save('right.npy', npy('<f4', [4]));
  const b = ['--input', `b=${right}`];
  const cases = [
    ['wrong name', ['--input', `x=${right}`, ...b], ['x=', 'it has a, b']],
    ['no input', b, ['"a"', 'not given']],
    ['wrong type', ['--input', `a=${save('types.npy', npy('<i8', [4]))}`, ...b], ['"a"', 'i64', 'f32']],
    ['wrong shape', ['--input', `a=${save('shape.npy', npy('<f4', [5]))}`, ...b], ['"a"', '[5]', '[4]']],
    ['wrong rank', ['--input', `a=${save('rank.npy', npy('<f4', [2, 2]))}`, ...b], ['"a"', '[2, 2]', '[4]']],
    ['missing file', ['--input', 'a=none.npy', ...b], ['none.npy', 'no such file']],
    ['cut file', ['--input', `a=${save('cut.npy', npy('<f4', [4]).subarray(0, -5))}`, ...b], ['cut.npy']],
    ['no tensor', ['--input', `a=${save('text.npy', Buffer.from('not a tensor'))}`, ...b], ['text.npy']],
  ];
  for (const target of ['cpu', 'interp'])
    for (const [name, args, words] of cases)
      tally.record(`${name} on ${target}`, judge(run(['run', file, '--target', target, ...args]), 1, words));
  // The counter-example: the same command with the right file works.
  const {status, stdout} = run(['run', file, '--target', 'cpu', '--input', `a=${right}`, ...b]);
  tally.record('right input', status === 0 && stdout.startsWith('c: f32') ? [] : [`exit code ${status}: ${stdout}`]);
}

// y = x s, where s is an input with the default 2: what is given replaces it, also where it is compiled in otherwise.
function defaults() {
  const file = path.join(inside, 'scaled.onnx');
  const vector = (...values) => ({type: 'f32', shape: [values.length], data: Float32Array.from(values)});
  writeFileSync(file, model({
    nodes: [node('Mul', ['x', 's'], ['y'])],
    inputs: [value('s', 'f32', [1]), value('x', 'f32', [2])], outputs: [value('y', 'f32', [2])],
    weights: [stored(vector(2), 's')],
  }));
  const save = (name, ...values) => {
    writeFileSync(path.join(work, name), npyOf('<f4', [values.length], Buffer.from(Float32Array.from(values).buffer)));
    return name;
  };
  const x = ['--input', `x=${save('x.npy', 1, 3)}`];
  const s = ['--input', `s=${save('s.npy', 10)}`];
  const gives = (name, args, wanted) => {
    const {status, stdout, stderr} = run(['run', ...args]);
    tally.record(name, status === 0 && stdout.startsWith(`y: f32[2] ${wanted}`) ? [] : [stdout + stderr]);
  };
  for (const target of ['cpu', 'interp']) {
    gives(`default on ${target}`, [file, '--target', target, ...x], '2 6');
    gives(`overridden default on ${target}`, [file, '--target', target, ...x, ...s], '10 30');
    gives(`constant in place of a default on ${target}`, [file, '--target', target, ...x, '--constant', 's=s.npy'], '10 30');
  }
  const out = path.join(inside, 'scaled');
  for (const [kept, ...without] of [[[], [...x, ...s], 's=s.npy', 'it has x', '--keep-input'], [['--keep-input', 's']]]) {
    run(['compile', file, '--target', 'cpu', ...kept, '-o', out]);
    gives(`package ${kept.join(' ')} without the input`, [out, ...x], '2 6');
    if (kept.length > 0) gives('package with the input', [out, ...x, ...s], '10 30');
    else tally.record('package that has the default as a constant', judge(run(['run', out, ...without[0]]), 1, without.slice(1)));
  }
  tally.record('kept input that is none', judge(run(['compile', file, '--target', 'cpu', '--keep-input', 'q', '-o', 'out']), 1, ['"q"', 'names no input', 'it has s, x']));
  tally.record('shape of a default', judge(run(['compile', file, '--target', 'cpu', '--shape', 's=1', '-o', 'out']), 1, ['"s"', 'default', '--keep-input s']));
  // Test data for all inputs, by name or in order, and for those without a default.
  const data = path.join(inside, 'case');
  const judged = (name, inputs, output) => {
    mkdirSync(path.join(data, 'test_data_set_0'), {recursive: true});
    writeFileSync(path.join(data, 'model.onnx'), readFileSync(file));
    inputs.forEach((bytes, at) => writeFileSync(path.join(data, 'test_data_set_0', `input_${at}.pb`), bytes));
    writeFileSync(path.join(data, 'test_data_set_0', 'output_0.pb'), stored(vector(...output)));
    for (const target of ['cpu', 'interp', 'c']) {
      const {status, stdout} = run(['test', data, '--target', target]);
      tally.record(`${name} on ${target}`, status === 0 ? [] : [stdout]);
    }
    rmSync(data, {recursive: true});
  };
  judged('test data by order', [stored(vector(10)), stored(vector(1, 3))], [10, 30]);
  judged('test data by name', [stored(vector(1, 3), 'x'), stored(vector(10), 's')], [10, 30]);
  judged('test data with the default', [stored(vector(2)), stored(vector(1, 3))], [2, 6]);
  judged('test data without the default', [stored(vector(1, 3))], [2, 6]);
  // Made-up values of inputs that choose tokens would be refused.
  writeFileSync(path.join(inside, 'speaker.onnx'), llama({layers: 1, hidden: 64, inner: 64}).file);
  const {status, stderr} = run(['bench', path.join(inside, 'speaker.onnx'), '--target', 'cpu', '--state', '--generate', '--runs', '2']);
  tally.record('bench takes defaults', status === 0 ? [] : [stderr]);
}

// Each round appends the sum of x without its first three elements, of which x has fewer.
function smallInputs() {
  const list = (name, ...numbers) => stored({type: 'i64', shape: [numbers.length], data: BigInt64Array.from(numbers, BigInt)}, name);
  const body = graph({
    nodes: [
      node('Pad', ['x', 'pads'], ['rest'], {name: 'the cut'}),
      node('ReduceSum', ['rest', 'first'], ['sum']),
      node('Concat', ['sums', 'sum'], ['longer'], {integers: {axis: 0}}),
      node('Identity', ['going'], ['again']),
    ],
    inputs: [value('i', 'i64', []), value('going', 'bool', []), value('sums', 'f32', ['m'])],
    outputs: [value('again', 'bool', []), value('longer', 'f32', ['k'])],
  });
  const file = path.join(inside, 'growing.onnx');
  writeFileSync(file, model({
    nodes: [node('Loop', ['n', '', 's'], ['y'], {graphs: {body}})],
    inputs: [value('n', 'i64', []), value('s', 'f32', [1]), value('x', 'f32', ['N'])],
    outputs: [value('y', 'f32', ['M'])],
    weights: [list('pads', -3, 0), list('first', 0)],
  }));
  const save = (name, bytes) => (writeFileSync(path.join(work, name), bytes), name);
  const given = ['--input', `n=${save('two.npy', npyOf('<i8', [], Buffer.from(BigInt64Array.of(2n).buffer)))}`,
    '--input', `s=${save('one.npy', npy('<f4', [1]))}`];
  for (const target of ['cpu', 'interp']) {
    const of = (extent) => run(['run', file, '--target', target, ...given, '--input', `x=${save('x.npy', npy('<f4', [extent]))}`]);
    tally.record(`too small for a loop on ${target}`, judge(of(1), 1, ['the cut', 'too small']));
    const {status, stdout, stderr} = of(4);
    tally.record(`enough for a loop on ${target}`, status === 0 && stdout.startsWith('y: f32[3]') ? [] : [`exit code ${status}: ${stdout}${stderr}`]);
  }
}

// y = a a w; the gradient by an input is 2 a w, by a weight a a.
function gradients() {
  const file = path.join(inside, 'squares.onnx');
  const out = path.join(inside, 'gradients.onnx');
  const w = stored({type: 'f32', shape: [4], data: Float32Array.of(1, 2, 3, 4)}, 'w');
  writeFileSync(file, model({
    nodes: [node('Mul', ['a', 'a'], ['squared']), node('Mul', ['squared', 'w'], ['y'])],
    inputs: [vector('a')], outputs: [vector('y')], weights: [w],
  }));
  const a = Float32Array.of(1, -2, 3, 0.5);
  writeFileSync(path.join(work, 'a.npy'), npyOf('<f4', [4], Buffer.from(a.buffer)));
  const cases = [[[], {a: [2, -8, 18, 4]}], [['--by', 'w', '--by', 'a'], {w: [1, 4, 9, 0.25], a: [2, -8, 18, 4]}]];
  for (const [by, wanted] of cases) {
    const made = run(['gradient', file, '--of', 'y', ...by, '-o', out]);
    const {status, stdout, stderr} = run(['run', out, '--target', 'cpu', '--input', 'a=a.npy', '--save', 'model/saved']);
    const problems = made.status === 0 && status === 0 ? [] : [made.stderr + stderr + stdout];
    for (const [name, values] of problems.length === 0 ? Object.entries(wanted) : []) {
      const bytes = readFileSync(path.join(inside, 'saved', `${name}.gradient.npy`));
      const is = [...new Float32Array(bytes.buffer.slice(bytes.byteOffset + bytes.length - 16, bytes.byteOffset + bytes.length))];
      if (is.join() !== values.join()) problems.push(`${name}.gradient is ${is.join()}, not ${values.join()}`);
    }
    tally.record(`gradient ${by.join(' ')}`, problems);
  }
  for (const [name, args, words] of [['of nothing', ['--of', 'q'], ['"q"']], ['by nothing', ['--of', 'y', '--by', 'q'], ['"q"']]])
    tally.record(`gradient ${name}`, judge(run(['gradient', file, ...args, '-o', 'g.onnx']), 1, words));
}

function usage() {
  const file = path.join(inside, 'good.onnx');
  const cases = [
    ['no command', []],
    ['unknown command', ['frobnicate']],
    ['no target', ['compile', file, '-o', 'out']],
    ['unknown target', ['compile', file, '--target', 'toaster', '-o', 'out']],
    ['target twice', ['compile', file, '--target', 'wasm,wasm', '-o', 'out']],
    ['cpu with wasm', ['compile', file, '--target', 'cpu,wasm', '-o', 'out']],
    ['page for cpu', ['compile', file, '--target', 'cpu', '--emit', 'page', '-o', 'out']],
    ['gradient of nothing', ['gradient', file, '-o', 'out']],
    ['no output', ['compile', file, '--target', 'wasm']],
    ['unknown option', ['compile', file, '--target', 'wasm', '-o', 'out', '--fast']],
    ['limits of another target', ['test', '.', '--target', 'webgl', '--limits', 'es31']],
    ['run on no target', ['run', file, '--target', 'toaster']],
  ];
  for (const [name, args] of cases) tally.record(name, judge(run(args), 2, ['gossamer']));
}

// What --shape, --dim and --constant name must be there and have the right form.
function fixed() {
  const file = path.join(inside, 'good.onnx');
  const cases = [
    ['shape of no input', ['--shape', 'q=1,2'], ['"q"', 'no input', 'a']],
    ['shape of letters', ['--shape', 'a=1,x'], ['--shape a=1,x', '"x"']],
    ['shape without a name', ['--shape', '1,2'], ['--shape NAME=']],
    ['shape of another rank', ['--shape', 'a=1,2,3,4'], ['"a"', 'dimensions']],
    ['no such dimension', ['--dim', 'batch=2'], ['"batch"', 'no dimension']],
    ['negative dimension', ['--dim', 'n=-1'], ['--dim n=-1']],
    ['constant without a file', ['--constant', 'a=none.npy'], ['none.npy']],
  ];
  for (const [name, args, words] of cases) {
    tally.record(name, judge(run(['compile', file, '--target', 'wasm', '-o', 'out', ...args]), 1, words));
    tally.record(`inspect: ${name}`, judge(run(['inspect', file, ...args]), 1, words));
  }
}

// What open dimensions cost is printed, and taken up by the options that are printed with it.
function opening() {
  const file = path.join(inside, 'open.onnx');
  writeFileSync(file, model({
    nodes: [node('Softmax', ['x'], ['y'])],
    inputs: [value('x', 'f32', ['rows', ''])], outputs: [value('y', 'f32', ['rows', ''])],
  }));
  const compiled = (...args) => run(['compile', file, '--target', 'wasm', '-o', 'out', '--emit', 'package', ...args]);
  const {stdout} = compiled();
  const line = /open: rows, x_1\. A run takes ([\d.]+)x the instructions .* with( --dim rows=\d+ --dim x_1=\d+), and 1 launches/.exec(stdout);
  tally.record('compile says what opening costs', line && Number(line[1]) >= 1 && Number(line[1]) < 3 ? [] : [stdout]);
  const fixed = compiled(...(line?.[2].trim().split(' ') ?? [])).stdout;
  tally.record('fixed dimensions cost nothing', line && fixed.includes('kernels') && !fixed.includes('open:') ? [] : [fixed]);
  const open = JSON.parse(compiled('--json').stdout).packages[0].open;
  tally.record('compile --json says what opening costs',
    open.instructions >= open.fixed_instructions && open.fixed_instructions > 0 && 'x_1' in open.dims ? [] : [JSON.stringify(open)]);
  rmSync(path.join(work, 'out'), {recursive: true, force: true});
}

// An If whose branches differ in rank, by an extent that only the run knows, is compiled by the feeds.
function ranks() {
  const branch = (operator, inputs) => graph({nodes: [node(operator, inputs, ['t'])], inputs: [], outputs: [value('t', 'f32')]});
  const one = {type: 'i64', shape: [1], data: new Uint8Array(BigInt64Array.of(1n).buffer)};
  writeFileSync(path.join(inside, 'ranks.onnx'), model({
    nodes: [
      node('Shape', ['x'], ['shape']), node('Gather', ['shape', 'one'], ['n']), node('Equal', ['n', 'one'], ['c']),
      node('If', ['c'], ['y'], {graphs: {then_branch: branch('Squeeze', ['x', 'one']), else_branch: branch('Identity', ['x'])}}),
    ],
    inputs: [value('x', 'f32', ['b', 'n'])], outputs: [value('y', 'f32')], weights: [stored(one, 'one')],
  }));
  const file = path.join(inside, 'ranks.onnx');
  tally.record('ranks of the run: compile says what to fix', judge(run(['compile', file, '--target', 'wasm', '-o', 'out']), 1, ['rank', 'known when compiling']));
  for (const [shape, wanted] of [[[5, 1], 'y: f32[5]'], [[5, 3], 'y: f32[5, 3]']]) {
    const x = path.join(inside, 'ranks.npy');
    writeFileSync(x, npy('<f4', shape));
    const {status, stdout, stderr} = run(['run', file, '--input', `x=${x}`]);
    tally.record(`ranks of the run: [${shape}]`, status === 0 && stdout.startsWith(`${wanted} `) ? [] : [stdout + stderr]);
  }
}

// An output folder that is no package is not replaced, and a package is not harmed by a compilation that fails.
function outputs() {
  const good = path.join(inside, 'good.onnx');
  const bad = path.join(inside, 'types.onnx');
  const own = path.join(inside, 'own');
  mkdirSync(own);
  writeFileSync(path.join(own, 'letter.txt'), 'mine');
  const foreign = run(['compile', good, '--target', 'wasm', '--emit', 'package', '-o', own]);
  tally.record('a folder of somebody else', judge(foreign, 1, ['own', 'not a package']));
  tally.record('its content stays', existsSync(path.join(own, 'letter.txt')) ? [] : ['letter.txt is gone']);
  const out = path.join(inside, 'out');
  run(['compile', good, '--target', 'wasm', '--emit', 'package', '-o', out]);
  const before = readdirSync(out).join();
  tally.record('a failure over a package', judge(run(['compile', bad, '--target', 'wasm', '-o', out]), 1, ['the sum']));
  tally.record('the package stays', readdirSync(out).join() === before ? [] : ['its files changed']);
}

/** Broken models: a sample of the shared ones, or damaged ones of our own. */
function brokenModels() {
  const files = ['hostile', 'migraphx_invalid', 'models_must_fail_or_stretch'].filter((folder) => existsSync(path.join(shared, folder))).flatMap((folder) => {
    const all = readdirSync(path.join(shared, folder), {recursive: true}).filter((file) => file.endsWith('.onnx')).sort();
    // Every fifth, for time; the last folder has five in all.
    const sample = all.length < 20 ? all : all.filter((_, at) => at % 5 === 0);
    return sample.map((file) => ({name: `${folder}/${file}`, file: path.join(shared, folder, file)}));
  });
  if (files.length === 0) files.push(...mutants(path.dirname(gossamer), inside, 60));
  let refused = 0;
  for (const {name, file} of files) {
    const out = path.join(work, 'out');
    const result = run(['compile', file, '--target', 'wasm', '--emit', 'package', '-o', 'out'], 10_000);
    if (result.status === 0) {
      tally.record(name, existsSync(path.join(out, 'manifest.json')) ? [] : ['no manifest.json']);
      rmSync(out, {recursive: true, force: true});
    } else {
      tally.record(name, judge(result, 1, ['gossamer: ']));
      refused += 1;
    }
  }
  tally.record('most broken models are refused', 2 * refused > files.length ? [] : [`${refused} of ${files.length}`]);
}

try {
  models();
  externalData();
  largeWeights();
  chat();
  inspect();
  packages();
  openSizes();
  defaults();
  feeds();
  smallInputs();
  gradients();
  usage();
  fixed();
  opening();
  ranks();
  outputs();
  brokenModels();
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
