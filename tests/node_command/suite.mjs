// The command of @gossamer/cli next to the native one: the same options, the same files byte for byte, the same answers and messages.
//
//   node tests/node_command/suite.mjs [--only run]
import {spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';
import {isDeepStrictEqual, parseArgs} from 'node:util';
import {model, node, npy, npyOf, stored, tensor, value} from '../cli/models.mjs';
import {writeTinyModel} from '../llm/tiny_model.mjs';
import {OWN} from '../models/own.mjs';
import {llama} from '../state/llama.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const native = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const program = path.join(root, 'web/cli/dist/gossamer.js');
const digits = path.join(root, 'examples/digits');
const digitsModel = path.join(digits, 'model.onnx');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-node-command-'));
process.on('exit', () => rmSync(work, {recursive: true, force: true}));
const {values: {only}} = parseArgs({options: {only: {type: 'string'}}});
const tally = new Tally();

const start = (file, words, options) => spawnSync(file, words, {cwd: work, encoding: 'utf8', timeout: 120_000, maxBuffer: 1 << 28, ...options});
const ours = (words, options = {}) => start(process.execPath, [program, ...words], options);
const theirs = (words, options = {}) => start(native, words, options);

/** What is wrong with a run that should pass. */
const problem = ({status, signal, stderr}) => (status === 0 ? [] : [`exit code ${status ?? signal}: ${stderr.trim().slice(-300)}`]);

function part(name, body) {
  if (only && only !== name) return;
  try {
    body();
  } catch (error) {
    tally.record(name, String(error.stack ?? error));
  }
}

/** Every file below a folder. */
const files = (folder) => readdirSync(path.join(work, folder), {recursive: true, withFileTypes: true}).filter((entry) => entry.isFile())
  .map((entry) => path.relative(path.join(work, folder), path.join(entry.parentPath, entry.name))).sort();

function differences(a, b) {
  const [left, right] = [files(a), files(b)];
  const all = [...new Set([...left, ...right])];
  return all.filter((name) => !left.includes(name) || !right.includes(name) || !readFileSync(path.join(work, a, name)).equals(readFileSync(path.join(work, b, name))))
    .map((name) => `${name} differs`);
}

const optionsOf = (help) => new Set([...help.split('\n').map((line) => /^ {2,6}(-\S.*?)(  |$)/.exec(line)?.[1] ?? '').join('\n').matchAll(/--[a-z0-9-]+/g)].map(([name]) => name));

// Options of this command that the native one does not have.
const OWN_OPTIONS = {run: ['--records']};

part('options', () => {
  for (const command of ['compile', 'run', 'bench', 'inspect', 'chat']) {
    const help = ours([command, '--help']);
    tally.record(`${command} --help`, [...problem(help), ...(/^Usage: gossamer \w+ \[options\] <model>/.test(help.stdout) ? [] : ['no usage'])]);
    if (command === 'chat') continue;
    const [mine, all] = [optionsOf(help.stdout), optionsOf(theirs([command, '--help']).stdout)];
    tally.record(`${command} has no option of its own`, [...mine].filter((name) => !all.has(name) && !OWN_OPTIONS[command]?.includes(name)));
    for (const name of all) {
      if (mine.has(name) || mine.has(name.replace('--', '--no-'))) continue;
      const {status, stderr} = ours([command, digitsModel, name, ...(['--records-exact'].includes(name) ? [] : ['1'])]);
      tally.record(`${command} ${name} is of the native command`, status === 2 && stderr.includes('needs the native command') ? [] : `exit code ${status}: ${stderr}`);
    }
  }
});

/** A model whose weights are in a file next to it, more than what passes through the compiler's memory. */
function external() {
  mkdirSync(path.join(work, 'apart'), {recursive: true});
  writeFileSync(path.join(work, 'apart/weights.bin'), Buffer.from(Float32Array.from({length: 512 * 640}, (_, at) => Math.sin(at)).buffer));
  writeFileSync(path.join(work, 'apart/model.onnx'), model({
    nodes: [node('MatMul', ['x', 'w'], ['y'])], inputs: [value('x', 'f32', ['rows', 512])], outputs: [value('y', 'f32', ['rows', 640])],
    weights: [tensor('w', 'f32', [512, 640], {location: 'weights.bin'})],
  }));
  return path.join(work, 'apart/model.onnx');
}

/** A sum whose second input has a default. */
const withDefault = () => model({
  nodes: [node('Add', ['a', 'b'], ['c'])], inputs: [value('a', 'f32', [2, 3]), value('b', 'f32', [3])], outputs: [value('c', 'f32', [2, 3])],
  weights: [stored({type: 'f32', shape: [3], data: Float32Array.of(1, 2, 3)}, 'b')],
});

function ownModel(name) {
  const file = path.join(work, `${name}.onnx`);
  writeFileSync(file, OWN[name]().file());
  return file;
}

part('compile', () => {
  writeFileSync(path.join(work, 'default.onnx'), withDefault());
  writeFileSync(path.join(work, 'b.npy'), npyOf('<f4', [3], Buffer.from(Float32Array.of(5, 6, 7).buffer)));
  writeFileSync(path.join(work, 'labels.txt'), Array.from({length: 10}, (_, at) => `digit ${at}`).join('\n'));
  mkdirSync(path.join(work, 'llm'));
  writeTinyModel(path.join(work, 'llm'));
  const cases = {
    'one target': [digitsModel, '--target', 'wasm'],
    'three targets and a page with labels': [digitsModel, '-t', 'webgpu,webgl,wasm', '--labels', 'labels.txt', '--name', 'my <digits>'],
    'a package alone': [digitsModel, '-t', 'webgpu', '--emit', 'package', '--no-winograd', '--adapters', 'hardware', '--limits', 'mobile'],
    'no relaxed SIMD': [digitsModel, '-t', 'wasm', '--emit', 'package', '--no-relaxed-simd'],
    'weights in another file': [external(), '-t', 'wasm,webgpu', '--emit', 'package', '--shard-bytes', '500KB'],
    'a fixed dimension': [external(), '-t', 'webgl', '--emit', 'package', '--dim', 'rows=4'],
    'a shape': [external(), '-t', 'wasm', '--emit', 'package', '--shape', 'x=?,512'],
    'a constant': ['default.onnx', '-t', 'wasm', '--emit', 'package', '--constant', 'b=b.npy'],
    'a kept input': ['default.onnx', '-t', 'wasm', '--emit', 'package', '--keep-input', 'b'],
    'records of a class': [ownModel('network'), '-t', 'webgpu,wasm', '--emit', 'package', '--device-class', 'nvidia'],
    'records of no class': [path.join(work, 'network.onnx'), '-t', 'webgpu', '--emit', 'package', '--device-class', 'none'],
    'a language model': [path.join(work, 'llm/onnx/model.onnx'), '-t', 'wasm', '--emit', 'package', '--state', '--generate', '--dim', 'b=1'],
  };
  for (const [name, words] of Object.entries(cases)) {
    const results = [ours(['compile', ...words, '-o', 'ours']), theirs(['compile', ...words, '-o', 'theirs'])];
    const problems = results.flatMap(problem);
    // The native command also says how much memory and, of open dimensions, how many instructions.
    const lines = results.map(({stdout}) => stdout.split('\n').filter((line) => / kernels, .* KB in /.test(line)).map((line) => line.replace(/ [\d.]+ MB of memory,/, '').replace(/[\d.]+ ms -> .*/, '')).join('\n'));
    tally.record(`compile ${name}`, problems.length > 0 ? problems : [...differences('ours', 'theirs'), ...(lines[0] === lines[1] && lines[0] !== '' ? [] : [`says ${lines.join(' / ')}`])]);
    rmSync(path.join(work, 'ours'), {recursive: true, force: true});
    rmSync(path.join(work, 'theirs'), {recursive: true, force: true});
  }
  const pages = [[ours, 'ours.html'], [theirs, 'theirs.html']].map(([run, file]) => {
    const words = ['compile', digitsModel, '--target', 'wasm,webgl', '--single-file', '--labels', 'labels.txt', '-o', file];
    return [...problem(run(words)), readFileSync(path.join(work, file), 'utf8')];
  });
  tally.record('compile --single-file', pages[0].join() === pages[1].join() ? [] : 'the pages differ');
  const {stdout} = ours(['compile', digitsModel, '--target', 'wasm', '--emit', 'package', '-o', 'json', '--json']);
  const {output, packages: [{target, kernels, files: listed}]} = JSON.parse(stdout);
  tally.record('compile --json', output === 'json' && target === 'wasm' && kernels > 0 && listed.some(({name}) => name === 'kernels.wasm') ? [] : stdout);
});

/** Elements of [name, dtype, shape, data] of both. */
function compare(mine, other) {
  const [a, b] = [mine, other].map(({stdout}) => JSON.parse(stdout).outputs);
  const heads = [a, b].map((outputs) => JSON.stringify(outputs.map(({name, dtype, shape}) => [name, dtype, shape])));
  if (heads[0] !== heads[1]) return `${heads[0]} and ${heads[1]}`;
  for (const [at, {name, data}] of a.entries()) {
    const expected = b[at].data;
    const largest = Math.max(...expected.map((each) => Math.abs(each)));
    const wrong = data.findIndex((each, place) => (typeof each === 'number' ? !(Math.abs(each - expected[place]) <= 1e-5 + 1e-4 * largest) : each !== expected[place]));
    if (wrong >= 0 || data.length !== expected.length) return `${name}[${wrong}] is ${data[wrong]}, not ${expected[wrong]}`;
  }
  return [];
}

/** A picture of four coloured fields as PNG, or as JPEG with an orientation. */
function pictures() {
  const require = createRequire(path.join(root, 'web/cli/package.json'));
  const {PNG} = require('pngjs');
  const jpeg = require('jpeg-js');
  const [width, height] = [48, 32];
  const image = new PNG({width, height});
  const colours = [[250, 10, 10], [10, 250, 10], [10, 10, 250], [240, 240, 10]];
  for (let at = 0; at < width * height; ++at) {
    const field = (at % width < width / 2 ? 0 : 1) + (at < (width * height) / 2 ? 0 : 2);
    image.data.set([...colours[field], 255], 4 * at);
  }
  writeFileSync(path.join(work, 'fields.png'), PNG.sync.write(image));
  const plain = jpeg.encode({width, height, data: image.data}, 95).data;
  writeFileSync(path.join(work, 'fields.jpg'), plain);
  for (let orientation = 2; orientation <= 8; ++orientation) {
    const exif = Buffer.from(`457869660000 4d4d002a00000008 0001 0112 0003 00000001 000${orientation}0000 00000000`.replaceAll(' ', ''), 'hex');
    const segment = Buffer.concat([Buffer.from([0xff, 0xe1, 0, exif.length + 2]), exif]);
    writeFileSync(path.join(work, `turned${orientation}.jpg`), Buffer.concat([plain.subarray(0, 2), segment, plain.subarray(2)]));
  }
}

part('run', () => {
  const drawn = path.join(digits, 'drawn/3.png');
  const both = (words) => [ours(['run', ...words, '--json']), theirs(['run', ...words, '--json'])];
  const same = (name, words) => {
    const [mine, other] = both(words);
    const problems = [...problem(mine), ...problem(other)];
    tally.record(`run ${name}`, problems.length > 0 ? problems : compare(mine, other));
  };
  same('digits', [digitsModel, '--input', `image=${drawn}`]);
  same('digits by an input without a name', [digitsModel, '-i', drawn]);
  same('digits by a .pb', [digitsModel, '-i', `image=${path.join(digits, 'test_data_set_1/input_0.pb')}`]);
  writeFileSync(path.join(work, 'x.npy'), npyOf('<f4', [3, 512], Buffer.from(Float32Array.from({length: 3 * 512}, (_, at) => Math.cos(at)).buffer)));
  same('weights in another file and an open dimension', [external(), '-i', 'x=x.npy']);
  writeFileSync(path.join(work, 'default.onnx'), withDefault());
  writeFileSync(path.join(work, 'a.npy'), npy('<f4', [2, 3]));
  writeFileSync(path.join(work, 'b.npy'), npyOf('<f4', [3], Buffer.from(Float32Array.of(5, 6, 7).buffer)));
  same('without an input that has a default', ['default.onnx', '-i', 'a=a.npy']);
  same('with an input that has a default', ['default.onnx', '-i', 'a=a.npy', '-i', 'b=b.npy']);
  // What only a run knows: the compiler asks for it.
  writeFileSync(path.join(work, 'axes.onnx'), model({
    nodes: [node('ReduceSum', ['a', 'axes'], ['c'])], inputs: [value('a', 'f32', [2, 3]), value('axes', 'i64', [1])], outputs: [value('c', 'f32', undefined)],
  }));
  writeFileSync(path.join(work, 'axes.npy'), npyOf('<i8', [1], Buffer.from(BigInt64Array.of(1n).buffer)));
  same('by feeds that the compiler asks for', ['axes.onnx', '-i', 'a=a.npy', '-i', 'axes=axes.npy']);
  writeFileSync(path.join(work, 'sequence.onnx'), model({
    nodes: [node('ConcatFromSequence', ['s'], ['c'], {integers: {axis: 0}})], inputs: [value('s', 'f32', [2, 3], {sequence: true})], outputs: [value('c', 'f32', ['n', 3])],
  }));
  same('a sequence of two elements', ['sequence.onnx', '-i', 's=a.npy', '-i', 's=a.npy']);
  pictures();
  writeFileSync(path.join(work, 'image.onnx'), model({
    nodes: [node('Identity', ['image'], ['same'])], inputs: [value('image', 'f32', [1, 3, 'h', 'w'])], outputs: [value('same', 'f32', [1, 3, 'h', 'w'])],
  }));
  for (const words of [[], ['--scale', '1'], ['--mean', '0.5', '--std', '0.5'], ['--mean', '1,2,3', '--std', '1,2,4', '--height', '20', '--width', '20']]) {
    same(`a picture with ${words.join(' ') || 'the defaults'}`, ['image.onnx', '-i', 'image=fields.png', ...words]);
  }
  // Decoders of JPEG round differently, most at the borders of fields: fields are compared in their middles.
  for (const file of ['fields.jpg', ...Array.from({length: 7}, (_, at) => `turned${at + 2}.jpg`)]) {
    const [mine, other] = both(['image.onnx', '-i', `image=${file}`, '--scale', '1']).map(({stdout}) => JSON.parse(stdout).outputs[0]);
    const [, , height, width] = other.shape;
    const middles = [0, 1, 2].flatMap((channel) => [0.25, 0.75].flatMap((y) => [0.25, 0.75].map((x) => (channel * height + Math.round(y * height)) * width + Math.round(x * width))));
    const wrong = middles.filter((at) => !(Math.abs(mine.data[at] - other.data[at]) <= 4));
    tally.record(`run ${file}`, mine.shape.join() === other.shape.join() ? wrong.map((at) => `${mine.data[at]} at ${at}, not ${other.data[at]}`) : `${mine.shape} and ${other.shape}`);
  }
  // Packages.
  ours(['compile', digitsModel, '--target', 'wasm,webgpu', '-o', 'site']);
  const expected = theirs(['run', digitsModel, '-i', drawn, '--json']);
  for (const words of [['site', '-t', 'wasm'], ['site/wasm']]) {
    const ran = ours(['run', ...words, '-i', drawn, '--json']);
    tally.record(`run ${words.join(' ')}`, problem(ran).length > 0 ? problem(ran) : compare(ran, expected));
  }
  // Lines for people. Values of wasm and of machine code differ in their last digits.
  writeFileSync(path.join(work, 'labels.txt'), 'zero\none\ntwo\nthree\nfour\nfive\n');
  for (const words of [[digitsModel, '-i', drawn, '--labels', 'labels.txt', '--top', '2'], ['axes.onnx', '-i', 'a=a.npy', '-i', 'axes=axes.npy'], [external(), '-i', 'x=x.npy', '--save', 'saved']]) {
    const [mine, other] = [ours(['run', ...words]), theirs(['run', ...words])].map(({stdout}) => stdout.replace(/[\d.]+ ms/, 'ms').replace(/-?\d+\.\d{3,}(e-\d+)?/g, (number) => Number(number).toPrecision(3)));
    tally.record(`run ${words.slice(1).join(' ')}`, mine === other ? [] : `${mine} and ${other}`);
  }
  tally.record('run --save', files('saved').join() === 'y.npy' ? [] : files('saved').join());
  const runs = ours(['run', digitsModel, '-i', drawn, '--runs', '3', '--threads', '2']);
  tally.record('run --runs --threads', problem(runs));
});

part('bench', () => {
  const plain = ours(['bench', digitsModel, '--target', 'wasm', '--runs', '4']);
  tally.record('bench', [...problem(plain), .../^\S+ on wasm: WebAssembly.*\n[\d.]+ ms a run, the median of 4; the fastest [\d.]+ ms\n$/.test(plain.stdout) ? [] : [plain.stdout]]);
  writeFileSync(path.join(work, 'speaker.onnx'), llama({layers: 1, hidden: 64, inner: 64}).file);
  tally.record('bench takes defaults', problem(ours(['bench', 'speaker.onnx', '--target', 'wasm', '--state', '--generate', '--runs', '2'])));
  const {model: name, device, runs, runMs, fastestMs} = JSON.parse(ours(['bench', digitsModel, '--target', 'wasm', '--runs', '3', '--json']).stdout);
  tally.record('bench --json', device === 'wasm' && name && runs === 3 && runMs >= fastestMs && fastestMs > 0 ? [] : 'fields are missing');
  const profile = ours(['bench', digitsModel, '--target', 'wasm', '--runs', '2', '--profile', '--trace', 'trace.json']);
  tally.record('bench --profile', [...problem(profile), ...(profile.stdout.includes('ms in kernels') ? [] : [profile.stdout]), ...(JSON.parse(readFileSync(path.join(work, 'trace.json'), 'utf8')).traceEvents?.length > 0 ? [] : ['the trace is empty'])]);
});

part('inspect', () => {
  writeFileSync(path.join(work, 'network.onnx'), OWN.network().file());
  for (const words of [[], ['--stages'], ['--kernels', '--device-class', 'nvidia'], ['--space', '--points', '3'], ['--json', '--space', '--points', '2'], ['--json', '--no-winograd']]) {
    const all = ['inspect', 'network.onnx', ...words, '--target', 'webgpu,webgl,wasm'];
    const [mine, other] = [ours(all), theirs(all)];
    tally.record(`inspect ${words.join(' ')}`, [...problem(mine), ...(mine.stdout === other.stdout ? [] : ['it prints something else'])]);
  }
  for (const [run, folder] of [[ours, 'ours'], [theirs, 'theirs']]) run(['inspect', digitsModel, '--target', 'webgpu,wasm', '--dump', folder]);
  tally.record('inspect --dump', [...differences('ours', 'theirs'), ...(files('ours').some((name) => name.endsWith('.wgsl')) ? [] : ['no shaders'])]);
  const documentOf = (name) => JSON.parse(/id="view">(.*?)<\/script>/s.exec(readFileSync(path.join(work, name), 'utf8'))?.[1] ?? 'null');
  writeFileSync(path.join(work, 'wasm.json'), ours(['bench', digitsModel, '--target', 'wasm', '--runs', '1', '--profile', '--json']).stdout);
  for (const [run, name] of [[ours, 'ours.html'], [theirs, 'theirs.html']]) {
    const made = run(['inspect', digitsModel, '--target', 'webgpu,wasm', '--html', name, '--profile', 'wasm.json']);
    tally.record(`inspect --html ${name}`, [...problem(made), ...(made.stdout === '' ? [] : [made.stdout.slice(0, 200)])]);
  }
  const [one, other] = [documentOf('ours.html'), documentOf('theirs.html')];
  tally.record('inspect --html: one document', isDeepStrictEqual(one, other) && one?.nodes?.length > 10 && one.profiles[0]?.device === 'wasm' ? [] : 'the documents differ');
  tally.record('inspect --profile without --html', ours(['inspect', digitsModel, '--profile', 'wasm.json']).status === 2 ? [] : 'it was accepted');
  writeFileSync(path.join(work, 'other.json'), '{}');
  const refused = ours(['inspect', digitsModel, '--html', 'no.html', '--profile', 'other.json']);
  tally.record('inspect --html with another file as profile', refused.status === 1 && refused.stderr.includes('other.json: is not a profile') ? [] : refused.stderr);
  const opened = ['inspect', external(), '--target', 'wasm'];
  tally.record('inspect weights in another file', ours(opened).stdout === theirs(opened).stdout ? [] : 'it prints something else');
});

part('chat', () => {
  const folder = path.join(work, 'tiny');
  mkdirSync(folder);
  writeTinyModel(folder);
  const env = {...process.env, XDG_CACHE_HOME: path.join(work, 'cache')};
  const words = ['chat', folder, '--target', 'wasm', '--seed', '4', '--temperature', '1', '--max-tokens', '12'];
  const answer = ours([...words, '--prompt', 'hello world', '--stats'], {env});
  tally.record('chat --prompt', [...problem(answer), ...(answer.stdout.length > 1 ? [] : ['no answer']), ...(/\d+ \+ 12 tokens, first after [\d.]+ s, then [\d.]+ tokens\/s, length/.test(answer.stderr) ? [] : [answer.stderr])]);
  const piped = ours(words, {env, input: 'hello world\n'});
  tally.record('chat reads standard input', piped.stdout === answer.stdout ? [] : `${piped.stdout} and ${answer.stdout}`);
});

part('errors', () => {
  writeFileSync(path.join(work, 'text.onnx'), 'this is no model, it is a sentence.\n');
  writeFileSync(path.join(work, 'default.onnx'), withDefault());
  mkdirSync(path.join(work, 'full'));
  writeFileSync(path.join(work, 'full/notes.txt'), '');
  const drawn = path.join(digits, 'drawn/3.png');
  // The same message as natively, exit code 1.
  const same = {
    'a missing model': ['compile', 'missing.onnx', '--target', 'wasm', '-o', 'out'],
    'what is not a model': ['compile', 'text.onnx', '--target', 'wasm', '-o', 'out'],
    'a folder of something else': ['compile', digitsModel, '--target', 'wasm', '-o', 'full'],
    'a dimension': ['compile', digitsModel, '--target', 'wasm', '--dim', 'x', '-o', 'out'],
    'an input that is not given': ['run', digitsModel],
    'an input of another name': ['run', digitsModel, '--input', `x=${drawn}`],
    'a file of an unknown input': ['run', 'default.onnx', '--input', 'c=a.npy'],
    'what inspect cannot read': ['inspect', 'text.onnx'],
  };
  for (const [name, words] of Object.entries(same)) {
    const [mine, other] = [ours(words), theirs(words)];
    tally.record(`error: ${name}`, mine.status === 1 && other.status === 1 && mine.stderr === other.stderr && mine.stdout === '' ? [] : `${mine.status}: ${mine.stderr}${mine.stdout} instead of ${other.status}: ${other.stderr}`);
  }
  // Messages of this command.
  const own = {
    'no command': [[], 2, ['a command is required']],
    'an unknown command': [['compil'], 2, ['compil']],
    'an unknown option': [['run', digitsModel, '--inptu', 'x'], 2, ['--inptu']],
    'a native target': [['compile', digitsModel, '--target', 'cpu', '-o', 'out'], 2, ['--target cpu needs the native command', 'wasm']],
    'a library': [['compile', digitsModel, '--target', 'wasm', '--emit', 'wasi', '-o', 'out'], 2, ['--emit wasi needs the native command']],
    'a command of the native program': [['serve', digitsModel], 2, ['serve is a command of the native program']],
    'WebGL in Node.js': [['run', digitsModel, '--target', 'webgl'], 2, ['webgl', 'browser']],
    'a target named twice': [['compile', digitsModel, '--target', 'wasm,wasm', '-o', 'out'], 2, ['twice']],
    'no target': [['bench', digitsModel], 2, ['--target is required']],
    'a count': [['run', digitsModel, '--runs', '0'], 2, ['--runs', 'whole number']],
    'a folder without a model': [['run', 'full'], 1, ['is not a package']],
    'a picture that is damaged': [['run', digitsModel, '-i', 'image=broken.png'], 1, ['broken.png', 'PNG or JPEG']],
    'a folder that is not a language model': [['chat', 'full'], 1, ['tokenizer.json']],
  };
  writeFileSync(path.join(work, 'broken.png'), Buffer.concat([readFileSync(drawn).subarray(0, 60)]));
  for (const [name, [words, code, texts]] of Object.entries(own)) {
    const {status, stderr, stdout} = ours(words);
    const lines = stderr.trim().split('\n');
    tally.record(`error: ${name}`, status === code && lines.length === 1 && stdout === '' && texts.every((text) => stderr.includes(text)) ? [] : `${status}: ${stderr}${stdout}`);
  }
  const {status, stdout} = ours(['run', digitsModel, '--json']);
  tally.record('errors as JSON', status === 1 && JSON.parse(stdout).error.where === 'input "image"' ? [] : stdout);
});
tally.end();
