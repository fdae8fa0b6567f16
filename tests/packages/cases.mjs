// Packages of every kind and what a stranger may make of their manifests: each field in turn with values at and beyond
// every limit, and several fields at once.
import {sidePackage} from '../../web/tests/fixtures/side.ts';
import {STEP_CASES, stepsPackage} from '../../web/tests/fixtures/steps.ts';
import {seal, tinyPackage} from '../../web/tests/fixtures/tiny.ts';

const jsonOf = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
const copyOf = (json) => JSON.parse(JSON.stringify(json));

/** Numbers between 0 and 1, the same every time. */
export function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Inputs and outputs of strings, in groups. */
function withStrings(manifest) {
  const tensor = (name, dtype, elements, slot, storage = dtype) =>
    manifest.tensors.push({name, dtype, storage, elements, slot}) - 1;
  const wide = manifest.target === 'wasm' || manifest.target === 'cpu';
  const slot = manifest.slots.push({bytes: 256}) - 1;
  const bytes = tensor('words', 'u8', 32, slot, wide ? 'u8' : 'i32');
  const lengths = tensor('words.lengths', 'i32', 4, manifest.slots.push({bytes: 64}) - 1);
  const pair = (of) => [
    {name: of, dtype: 'u8', shape: [4, 8], tensor: bytes, strings: true},
    {name: `${of}.lengths`, dtype: 'i32', shape: [4], tensor: lengths},
  ];
  manifest.inputs.push(...pair('words'));
  manifest.outputs.push(...pair('said'));
  manifest.groups = [
    {name: 'all', kind: 'sequence', inputs: [0, 2]},
    {name: 'none', kind: 'optional', inputs: [1, 0]},
    {name: 'results', kind: 'sequence', outputs: [1, 2]},
  ];
}

/** A state that grows by rows: an output is an input's tensor, whose room the run time chooses. */
function withState(manifest) {
  const [{name, dtype, shape, tensor}] = manifest.inputs;
  manifest.version = 4;
  manifest.outputs.push({name: `${name}.next`, dtype, shape: shape.map((extent) => (typeof extent === 'number' ? extent : 1)), tensor});
  manifest.dims.push({name: `${name}.room`, input: 0, axis: shape.length - 1, output: manifest.outputs.length - 1, rows: {plan: 0}});
}

/** Packages written by hand: {name, files, manifest}. */
export async function seeds() {
  const all = [];
  const add = (name, files, change = () => undefined) => {
    const manifest = jsonOf(files.get('manifest.json'));
    change(manifest);
    all.push({name, files, manifest});
  };
  for (const target of ['wasm', 'webgpu', 'webgl']) {
    add(`static-${target}`, await tinyPackage(target, {n: 4}));
    add(`dynamic-${target}`, await tinyPackage(target));
    for (const at of [0, 1, 2]) {
      const change = (manifest) => manifest.steps.push({set: [[3, {plan: 2}], [1, -4]]});
      add(`steps${at}-${target}`, await stepsPackage(target, STEP_CASES[at], change));
    }
  }
  for (const target of ['webgpu', 'webgl']) add(`side-${target}`, await sidePackage(target));
  add('strings-wasm', await tinyPackage('wasm'), withStrings);
  add('strings-webgpu', await tinyPackage('webgpu', {n: 4}), withStrings);
  add('state-wasm', await tinyPackage('wasm'), withState);
  const cpu = (manifest) => (manifest.target = 'cpu');
  add('static-cpu', await tinyPackage('wasm', {n: 4}), cpu);
  add('steps-cpu', await stepsPackage('wasm', STEP_CASES[1]), cpu);
  return all;
}

const BIG = [2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 1e308];
const NUMBERS = [
  -1, 0, 1, 2, 3, 5, 7, 8, 9, 64, 65, 1024, 1025, 65535, 65536, 65537, 2 ** 20, 2 ** 20 + 1, ...BIG,
  -(2 ** 31), -(2 ** 31) - 1, -(2 ** 53), 0.5, -0.5,
];
const OTHERS = ['', '1', 'x', true, false, null, [], {}, [0], [[]], {plan: 0}, {plan: 1}, {plan: 12}, {plan: -1},
  {plan: 0.5}, {plan: '0'}, {plan: 2 ** 31}, {plan: {plan: 0}}];
/** Names that would lead out of the folder, or into trouble. */
export const HOSTILE_NAMES = [
  '', '.', '..', '../x', '../../etc/passwd', '/etc/passwd', 'a/b', 'a\\b', '..\\x', 'C:\\x', 'C:x', 'file:///etc/passwd',
  'https://other.test/x', '//other.test/x', 'data:,x', 'blob:x', '%2e%2e%2fx', '%2e%2e', 'a%2fb', 'a%00b', 'a\u0000b', 'a\n',
  ' ', 'a b', '?x', '#x', 'a?b', 'a;b', '-x', '.x', 'é', '\u202ex', 'a'.repeat(128), 'a'.repeat(129), '__proto__',
  'constructor', 'manifest.json', 'weights.safetensors', 'kernels.wasm', 'side.wasm', 'CON',
];
const WORDS = [
  ...HOSTILE_NAMES, 'f32', 'f16', 'f64', 'i64', 'i32', 'u8', 'u32', 'bool', 'i4', 'f8e4m3fn', 'string', 'index', 'wasm', 'webgpu',
  'webgl', 'cpu', 'n', 'x', 'k', 'm', 'sequence', 'optional', '0123456789abcdef', '0123456789ABCDEF', '0123456789abcde',
];

function parentOf(json, path) {
  return path.slice(0, -1).reduce((at, key) => at[key], json);
}

/** Every place in the manifest. */
function* placesOf(json, path = []) {
  if (path.length > 0) yield path;
  if (typeof json !== 'object' || json === null) return;
  for (const key of Object.keys(json)) yield* placesOf(json[key], [...path, Array.isArray(json) ? Number(key) : key]);
}

/** What may become of a place: functions of a fresh copy. */
function changesAt(json, path) {
  const key = path.at(-1);
  const value = parentOf(json, path)[key];
  const list = Array.isArray(parentOf(json, path));
  const put = (other) => (copy) => (parentOf(copy, path)[key] = other);
  const near = typeof value === 'number' ? [value - 1, value + 1, -value, value + 0.5, value * 4, value * 4 + 4] : [];
  const changes = [...near, ...NUMBERS, ...OTHERS].map(put);
  if (typeof value === 'string') changes.push(...WORDS.map(put), put(`${value}\u0000`), put(`${value} `));
  const remove = (copy) => (list ? parentOf(copy, path).splice(key, 1) : delete parentOf(copy, path)[key]);
  changes.push(Object.assign(remove, {absent: !list}));
  if (list) changes.push((copy) => parentOf(copy, path).splice(key, 0, copyOf(value)));
  if (list) changes.push((copy) => parentOf(copy, path).push(copyOf(value)));
  if (Array.isArray(value)) changes.push(put([...value].reverse()), put([...value, ...value]));
  return changes;
}

/** Fields that a package may have and these have not. */
const EXTRA = [
  ['side', {target: 'wasm', code: 'weights.safetensors'}], ['side', {target: 'wasm', code: 'gone.wasm'}],
  ['side', {target: 'wasm', code: '../side.wasm'}], ['side', {target: 'webgl', code: 'kernels.wasm'}],
  ['plan', {values: 1}], ['plan', {values: 2 ** 20}], ['plan', {values: 4, segments: 2}], ['plan', {values: 4, segments: 0}],
  ['steps', [{launch: [0, 1]}]], ['steps', [{plan: 0}]], ['steps', [{plan: 1}]], ['steps', [{}]],
  ['groups', [{name: 'g', kind: 'optional', inputs: [0, 0]}]], ['groups', [{name: 'g', kind: 'optional', inputs: [0, 1]}]],
  ['groups', [{name: 'g', kind: 'map', inputs: [0, 0]}]], ['groups', [{name: 'g', kind: 'sequence', outputs: [1, 3]}]],
];

/** A launch of one kernel that writes what it reads; deep steps; and other things that one change cannot make. */
function wholes(manifest) {
  const all = [];
  const change = (how) => {
    const copy = copyOf(manifest);
    how(copy);
    all.push(copy);
  };
  for (const [key, value] of EXTRA) change((copy) => (copy[key] = value));
  for (const [at, {tensors}] of manifest.run.entries()) {
    change((copy) => (copy.run[at].tensors[0] = tensors.at(-1)));
    change((copy) => (copy.run[at].scalars = [...copy.run[at].scalars, 1]));
  }
  for (const [at, {buffers}] of manifest.kernels.entries()) {
    for (const writes of [-1, 0, 2, buffers, buffers + 1, 0.5]) change((copy) => (copy.kernels[at].writes = writes));
  }
  // One value alone passes these limits, and a share of the changes need not have it.
  change((copy) => (copy.files[0].xxh3 = '0123456789abcdeF'));
  for (const sha256 of ['', 'x', 7, '0'.repeat(63), `${'0'.repeat(63)}F`, '0'.repeat(64)]) change((copy) => (copy.files[0].sha256 = sha256));
  const [digits, each] = ['0123456789abcdef'.repeat(4), 2 ** 22];
  for (const [bytes, pieces] of [[1, []], [1, [digits]], [1, [digits, digits]], [1, ['x']], [1, [7]], [1, 7], [1, null], [each, [digits]],
    [each + 1, [digits]], [each + 1, [digits, digits]], [each + 1, [digits, `${digits}0`]], [each + 1, []]]) {
    change((copy) => Object.assign(copy.files[0], {bytes, pieces}));
  }
  for (const above of [true, 1, null]) change((copy) => (copy.files[0].above = above));
  for (const version of [1, 3, 4, 5]) change((copy) => (copy.version = version));
  if (manifest.weights?.length > 0) {
    for (const file of [-1, 0, 1, 2, 20, '0', null]) change((copy) => (copy.weights[0].file = file));
    // A second one in memory that goes when loading is done.
    change((copy) => {
      const [weight] = copy.weights;
      copy.weights.push({...weight, tensor: copy.tensors.push({...copy.tensors[weight.tensor]}) - 1});
    });
  }
  for (const scalar of [-(2 ** 31) - 1, 2 ** 31]) change((copy) => (copy.run[0].scalars[0] = scalar));
  for (const operations of [-1, 2 ** 53, {plan: 2 ** 20}, 'x']) change((copy) => (copy.run[0].operations = operations));
  for (const depth of [200, 256, 257, 258, 600]) {
    let deep = [];
    for (let level = 0; level < depth; ++level) deep = [level % 2 ? {loop: 1, dim: 0, body: deep} : {if: 1, then: deep, else: []}];
    change((copy) => (copy.steps = deep));
  }
  for (const [from, to] of [[0, 1], [0, 4], [0, 6], [1, 1], [4, 4]]) change((copy) => (copy.steps = [{copy: [from, to]}]));
  for (const dims of [0, 1]) change((copy) => (copy.steps = [{read: 5, dims, count: 2}]));
  if (manifest.plan?.segments > 1) {
    change((copy) => (copy.steps = [{set: [[1, 0]]}]));
    change((copy) => (copy.steps = [{launch: [6, 8]}]));
  }
  // Each value of the plan in the places that count with it: loaders run plans that say anything.
  for (let value = 0; value < (manifest.plan?.values ?? 0); ++value) {
    const planned = {plan: value};
    change((copy) => (copy.run[0].scalars[0] = planned));
    change((copy) => (copy.run[0].range = planned));
    change((copy) => (copy.slots.at(-1)[copy.slots.at(-1).bytes === undefined ? 'height' : 'bytes'] = planned));
    change((copy) => (copy.tensors[1].elements = planned));
    if (manifest.side) change((copy) => ((copy.tensors[1].elements = planned), (copy.tensors[4].elements = planned)));
  }
  if (manifest.side) {
    change((copy) => (copy.steps = [{launch: [0, copy.run.length]}]));
    // What is copied has no memory yet, or none to go to.
    for (const at of [1, 4]) change((copy) => ((copy.slots[at].segment = 1), (copy.steps = [{copy: [1, 4]}])));
  }
  change((copy) => copy.init[0] && (copy.init[0].tensors[1] = 0));
  if (manifest.groups) {
    const ports = manifest.inputs.length - 2;
    const retype = (dtype, at) => change((copy) => {
      const {tensor} = copy.inputs[ports + at];
      for (const port of [...copy.inputs, ...copy.outputs]) if (port.tensor === tensor) port.dtype = dtype;
      copy.tensors[tensor].dtype = dtype;
      if (copy.target === 'wasm') copy.tensors[tensor].storage = dtype;
    });
    retype('i8', 0);
    retype('i64', 1);
    change((copy) => (copy.inputs[ports + 1].strings = true));
    change((copy) => (copy.groups[0].inputs = [1, copy.inputs.length - 1]));
    for (const key of ['inputs', 'outputs']) change((copy) => (copy[key].pop(), (copy.groups = [])));
  }
  change((copy) => copy.dims.push({name: '', input: 0, axis: 0}));
  const state = manifest.dims.find(({rows}) => rows);
  if (state) {
    change((copy) => copy.dims.push({...state}));
    change((copy) => copy.outputs[state.output].shape.pop());
    change((copy) => (copy.steps = [{launch: [0, 1]}]));
    for (const [input, output] of [[0, 0], [1, state.output], [1, 1]]) change((copy) => Object.assign(copy.dims.at(-1), {input, output}));
  }
  for (const name of ['__proto__', 'constructor', 'toString']) change((copy) => (copy.inputs[0].name = name));
  return all;
}

/** A loop without work for a device would only take long. */
function tame(steps) {
  if (!Array.isArray(steps)) return false;
  let works = false;
  for (const step of steps) {
    if (typeof step !== 'object' || step === null) continue;
    const inner = [step.then, step.else, step.body].map(tame).includes(true);
    const here = step.launch?.[1] > step.launch?.[0] || step.read !== undefined || step.plan !== undefined || step.copy;
    if (step.loop !== undefined && !inner && typeof step.body === 'object') {
      if (step.loop > 100 && step.loop < 2 ** 53) step.loop = 100;
      if (step.loop?.plan >= 0) step.loop = 3;
    }
    works ||= Boolean(inner || here);
  }
  return works;
}

const WEIGHTS = [
  ['dtype', ['F16', 'I32', 'x', 7, null, '__proto__', 'constructor']],
  ['shape', [[], [0], [1, 1], [2], ['1'], [-1], [0.5], [null], {}, 1, [2 ** 53]]],
  ['data_offsets', [[0, 5], [0, 3], [1, 5], [4, 4], [4, 0], [-1, 3], [0], [0, 4, 4], [0.5, 4.5], ['0', '4'], {}, null, [0, 2 ** 53], [2 ** 40, 2 ** 40 + 4]]],
];

/** weights.safetensors of static packages, changed: texts of the header, or whole files. */
function weightFiles(file) {
  const header = jsonOf(file.subarray(8, 64));
  const make = (text, length = text.length) => {
    const bytes = new Uint8Array(8 + text.length + 4);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
    bytes.set(new TextEncoder().encode(text), 8);
    bytes.set(file.subarray(64), 8 + text.length);
    return bytes;
  };
  const all = [null, [], 7, 'x', {}, {w: null}, {w: 7}, {w: []}, {w: header.w, v: {}}, {v: header.w}, {w: header.w, v: header.w}, {v: {...header.w, data_offsets: [0, 0]}, w: header.w}].map((json) => make(JSON.stringify(json)));
  for (const [key, values] of WEIGHTS) {
    for (const value of values) all.push(make(JSON.stringify({w: {...header.w, [key]: value}})));
    all.push(make(JSON.stringify({w: {...header.w, [key]: undefined}})));
  }
  const text = JSON.stringify(header);
  all.push(make('{'), make(text, 0), make(text, text.length + 4), make(text, text.length + 5), make(text, 2 ** 40), make(text, 2 ** 32 + text.length));
  return [...all, new Uint8Array(0), new Uint8Array(7), new Uint8Array(8)];
}

async function withWeights({manifest, files}, bytes) {
  const others = new Map([...files].filter(([name]) => name !== 'manifest.json'));
  return jsonOf((await seal(manifest, others.set('weights.safetensors', bytes))).get('manifest.json'));
}

/** All cases of these packages: {seed, manifest, weights}; `share` of the single changes, and so many at random. */
export async function* casesOf(packages, {share, combined, seed}) {
  const random = randomNumbers(seed);
  for (const one of packages) {
    const {name, manifest, files} = one;
    const finish = (copy) => {
      tame(copy.steps);
      return {seed: name, manifest: JSON.stringify(copy)};
    };
    const places = [...placesOf(manifest)];
    yield finish(copyOf(manifest));
    for (const copy of wholes(manifest)) yield finish(copy);
    const text = JSON.stringify(manifest);
    for (const part of ['', '{', text.slice(0, -1), `${text}}`, text.slice(0, text.length / 2)]) yield {seed: name, manifest: part};
    for (const path of places) {
      for (const change of changesAt(manifest, path)) {
        // What is absent is always tried: few other changes have its effects.
        if (!change.absent && random() >= share) continue;
        const copy = copyOf(manifest);
        change(copy);
        yield finish(copy);
      }
    }
    for (let at = 0; at < combined; ++at) {
      const copy = copyOf(manifest);
      for (let turn = 0; turn < 2 + at % 3; ++turn) {
        const path = places[Math.floor(random() * places.length)];
        const changes = changesAt(manifest, path);
        try {
          changes[Math.floor(random() * changes.length)](copy);
        } catch {
          // An earlier change took the place away.
        }
      }
      yield finish(copy);
    }
    const weights = files.get('weights.safetensors');
    if (!name.startsWith('static') || !weights || manifest.weights.length !== 1) continue;
    for (const bytes of weightFiles(weights)) {
      const changed = await withWeights(one, bytes);
      yield {...finish(changed), weights: Buffer.from(bytes).toString('hex')};
    }
  }
}

