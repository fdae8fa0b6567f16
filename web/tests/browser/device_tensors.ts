/** Tensors that stay on a device, and devices that models share. */
import {
  type ComputeDevice, type DeviceKind, type DeviceTensor, load, type Model, openDevice, type Output, type State, tensor,
} from '../../runtime/src/index.ts';
import {STEP_CASES, stepsPackage} from '../fixtures/steps.ts';
import {type FileMap, tinyPackage, withManifest} from '../fixtures/tiny.ts';
import {check, k, ramp, rejects, same} from './check.ts';

type Body = (kind: DeviceKind) => Promise<void>;
type OnDevice = Record<string, DeviceTensor>;

const times5 = (values: readonly number[], turns = 1): number[] =>
  turns === 0 ? [...values] : times5(values.map((value) => 5 * value + 3), turns - 1);

const DEVICE = {location: 'device'} as const;
const run = (model: Model, feeds: Parameters<Model['run']>[0], more: object = {}): Promise<OnDevice> =>
  model.run<DeviceTensor>(feeds, {...DEVICE, ...more});

/** What is made on a device comes back, whatever its type. */
async function roundTrips(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  same(device.kind, kind, 'kind');
  const values = Float32Array.of(1, -2.5, 3e-20);
  const first = device.tensor(values);
  values.fill(NaN); // the caller's again
  const all: [DeviceTensor, unknown][] = [
    [first, [1, -2.5, Math.fround(3e-20)]],
    [device.tensor([1, 2, 3, 4, 5, 6], {shape: [2, 3], dtype: 'i32'}), [1, 2, 3, 4, 5, 6]],
    [device.tensor([1.5, 2], {dtype: 'f16'}), [1.5, 2]],
    [device.tensor(BigInt64Array.of(-7n, 2n ** 31n - 1n)), [-7n, 2n ** 31n - 1n]],
    [device.tensor([true, false, true]), [1, 0, 1]],
    [device.tensor(Uint8Array.of(255, 0)), [255, 0]],
    [device.tensor(Float64Array.of(Math.PI)), [Math.PI]],
    [device.tensor([]), []],
    [device.tensor([9], {shape: []}), [9]],
  ];
  for (const [each, wanted] of all) same(await each.data(), wanted, each.dtype);
  same([all[1]?.[0].shape, all[1]?.[0].dtype, all[8]?.[0].shape], [[2, 3], 'i32', []], 'shapes');
  same(device.memory().tensors, all.length, 'tensors');
  const {shape} = device.empty({shape: [3, 5]});
  same(shape, [3, 5], 'empty');
  all.forEach(([each]) => each.dispose());
  same(device.memory().tensors, 1, 'tensors');
  await rejects(first.data(), 'disposed', /a tensor of f32 \[3\] was disposed of/);
}

/** Only the part that is asked for comes to the host, wherever it begins. */
async function parts(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  // Wider than a row of a texture.
  const values = Array.from({length: 2 * 5 * 1201}, (_, at) => at % 2039);
  for (const dtype of ['f32', 'f16', 'i64', 'u8'] as const) {
    using all = device.tensor(values.map((value) => (dtype === 'u8' ? value % 256 : value)), {shape: [2, 5, 1201], dtype});
    const whole = Array.from(await all.data() as Iterable<number | bigint>);
    const wanted: [readonly number[], number, number][] = [
      [[], 0, 12010], [[1], 6005, 6005], [[-1, -1], 10809, 1201], [[0, 3], 3603, 1201], [[0, 0], 0, 1201], [[1, 2, 7], 8414, 1],
    ];
    for (const [at, begin, count] of wanted) {
      same(Array.from(await all.data({at}) as Iterable<number | bigint>), whole.slice(begin, begin + count), `${dtype} [${at.join()}]`);
    }
    for (const at of [[2], [0, -6], [0, 0, 0.5], [0, 0, 0, 0]]) {
      await rejects(all.data({at}), 'input', /there is no element \[.*\] in a tensor of shape \[2, 5, 1201\]/);
    }
  }
  using model = await load(await tinyPackage(kind, {n: 4}), {device});
  const {y} = await model.run({x: ramp(4), k}, {fetches: ['m']});
  same(await y?.data(), times5([0, 1, 2, 3]), 'y, which is then on the host alone');
}

/** A chain of runs of several models, none waited for. */
async function chains(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind, {threads: 2});
  using first = await load(await tinyPackage(kind, {n: 4}), {device});
  using second = await load(await tinyPackage(kind), {device});
  using x = device.tensor([0, 1, 2, 3], {shape: [1, 4]});
  same(first.report().device, kind, 'device');
  let y = x;
  let m: Output | typeof k = k;
  for (let turn = 0; turn < 6; ++turn) {
    const out: OnDevice = await run(turn % 2 ? second : first, {x: y, k: m});
    if (y !== x) y.dispose();
    if (turn > 0) (m as Output).dispose();
    y = out['y'] as DeviceTensor;
    m = out['m'] as DeviceTensor;
    same([y.name, y.dtype, y.shape], ['y', 'f32', [1, 4]], 'an output');
  }
  same(await y.data(), times5([0, 1, 2, 3], 6), 'y');
  same(await (m as Output).data(), [7n, -2n], 'm');
  same(await x.data(), [0, 1, 2, 3], 'x');
  second.dispose();
  const {y: after} = await first.run({x, k});
  same(await after?.data(), times5([0, 1, 2, 3]), 'after the other was disposed');
  same(await y.data(), times5([0, 1, 2, 3], 6), 'its tensors are the device\'s');
}

/** Outputs have memory of their own; that of disposed ones is used again. */
async function outputsStay(kind: DeviceKind): Promise<void> {
  for (const n of [4, undefined]) {
    using device = await openDevice(kind);
    using model = await load(await tinyPackage(kind, {n}), {device});
    const outs: OnDevice[] = [];
    for (let turn = 0; turn < 5; ++turn) {
      outs.push(await run(model, {x: tensor(Float32Array.of(turn, 1, 2, 3), [1, 4]), k}));
    }
    for (const [turn, {y}] of outs.entries()) same(await y?.data(), times5([turn, 1, 2, 3]), `y of turn ${turn}`);
    const before = device.memory();
    same(before.tensors, 10, 'tensors');
    for (const {y, m} of outs) [y, m].forEach((each) => each?.dispose());
    same(device.memory(), {tensors: 0, bytes: 0, pooled: before.bytes}, 'memory that waits');
    const again = await run(model, {x: ramp(4), k});
    same(device.memory().bytes + device.memory().pooled, before.bytes, 'no more memory');
    same(await again['y']?.data(), times5([0, 1, 2, 3]), 'y');
  }
}

/** Some outputs are read with the run, others when they are asked for. */
async function fetched(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  using model = await load(await tinyPackage(kind, {n: 4}), {device});
  const {y, m} = await model.run({x: ramp(4), k}, {fetches: ['m']});
  const next = await model.run({x: tensor([9, 9, 9, 9], [1, 4]), k}, {fetches: []});
  same(await m?.data(), [2n, -7n], 'm');
  check(device.memory().tensors === 3, 'tensors');
  const {bytes} = device.memory();
  same(await y?.data(), times5([0, 1, 2, 3]), 'y');
  check(device.memory().bytes < bytes, 'memory of what was read');
  same(await y?.data(), times5([0, 1, 2, 3]), 'y again');
  y?.dispose();
  await rejects(y?.data() ?? Promise.resolve(), 'disposed', /tensor "y" was disposed of/);
  same(await next['y']?.data(), times5([9, 9, 9, 9]), 'the next y');
  next['m']?.dispose();
  const mixed = await model.run({x: ramp(4), k}, {location: {y: 'device'}});
  const over = await model.run({x: mixed['y'], k}, {location: 'device', fetches: ['y']});
  same(await over['y']?.data(), times5([0, 1, 2, 3], 2), 'y of y');
  same([over['y'], over['m'], mixed['m']].map((each) => each && 'device' in each), [false, true, false], 'where');
  await rejects(model.run({x: ramp(4), k}, {fetches: ['z']}), 'input', /no output "z"/);
  await rejects(model.run({x: ramp(4), k}, {location: {z: 'host'}}), 'input', /no output "z"/);
  await rejects(model.run({x: ramp(4), k}, {location: 'moon' as 'host'}), 'input', /no location "moon"/);
}

/** One more output, u, in the memory of x, whose first element a launch overwrites with 2 w = 5. */
const inPlace = async (kind: DeviceKind): Promise<FileMap> =>
  withManifest(await tinyPackage(kind, {n: 4}), (manifest) => {
    const {tensors, run: launches, outputs} = manifest as Record<string, object[]>;
    const at = tensors?.push({name: 'u', dtype: 'f32', storage: 'f32', elements: 4, slot: 0}) ?? 0;
    launches?.push({kernel: 1, tensors: [1, at - 1], scalars: [], range: 1, origin: 'Update "u"'});
    outputs?.push({name: 'u', dtype: 'f32', shape: [4], tensor: at - 1});
  });

async function inputsKept(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  using model = await load(await inPlace(kind), {device});
  // A draw writes whole texels.
  const updated = (rest: readonly number[]): number[] => (kind === 'webgl' ? [5, 0, 0, 0] : [5, ...rest]);
  const x = device.tensor([7, 8, 9, 10], {shape: [1, 4]});
  for (let turn = 0; turn < 3; ++turn) {
    const {y, u} = await run(model, {x, k});
    same(await u?.data(), updated([8, 9, 10]), 'u');
    same(await y?.data(), times5([7, 8, 9, 10]), 'y');
    const host = await model.run({x, k});
    same(await host['u']?.data(), updated([8, 9, 10]), 'u on the host');
  }
  same(await x.data(), [7, 8, 9, 10], 'an input that a launch updates');
  const late = x.data(); // asked for before it is given away
  const {bytes} = device.memory();
  const {u, y, m} = await run(model, {x, k}, {donate: ['x']});
  same(await late, [7, 8, 9, 10], 'x');
  same(await u?.data(), updated([8, 9, 10]), 'u of a given x');
  await rejects(x.data(), 'disposed', /a tensor of f32 \[1, 4\] was given away to a run/);
  await rejects(run(model, {x, k}), 'disposed', /input "x": a tensor of .* was given away/);
  [y, m].forEach((each) => each?.dispose());
  // This package's textures have another width than the compiler's, so that x is copied.
  check(kind === 'webgl' || device.memory().bytes <= bytes, 'u has the memory of x');
  await rejects(run(model, {x: ramp(4), k}, {donate: ['z']}), 'input', /no input "z"/);
  // A model that was asked before and has not begun reads it as it was.
  using second = await load(await tinyPackage(kind, {n: 4}), {device});
  const both = device.tensor([1, 1, 1, 1], {shape: [1, 4]});
  const outs = [run(second, {x: both, k}), run(model, {x: both, k}, {donate: ['x']})] as const;
  same(await (await outs[0])['y']?.data(), times5([1, 1, 1, 1]), 'y of what another run is given');
  same(await (await outs[1])['u']?.data(), updated([1, 1, 1]), 'u');
  const fed = device.tensor([1, 2, 3, 4], {shape: [1, 4]});
  const {y: plain} = await run(model, {x: fed, k: device.tensor(BigInt64Array.of(1n, 2n))}, {donate: ['x', 'k']});
  same(await plain?.data(), times5([1, 2, 3, 4]), 'y');
}

/** The same element of memory, disposed of while runs wait. */
async function disposedEarly(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  using model = await load(await tinyPackage(kind), {device});
  const runs = Array.from({length: 20}, (_, turn) => {
    const x = device.tensor([turn, 1], {shape: [1, 2]});
    const running = run(model, {x, k});
    x.dispose();
    device.tensor([-1, -1], {shape: [1, 2]}).dispose(); // what would be written over it
    return running;
  });
  for (const [turn, running] of runs.entries()) {
    const {y, m} = await running;
    same(await y?.data(), times5([turn, 1]), `turn ${turn}`);
    [y, m].forEach((each) => each?.dispose());
  }
  same(device.memory().bytes, 0, 'bytes in use');
}

async function inSteps(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  for (const {name, runs, ...steps} of STEP_CASES) {
    using model = await load(await stepsPackage(kind, steps), {device});
    for (const [x, m, wanted] of [...runs, ...runs]) {
      // GPUs have 32 bits; what only steps read stays where it is.
      const count = BigInt64Array.of(m);
      const feeds = {x: device.tensor(Float32Array.from(x)), m: BigInt.asIntN(32, m) === m ? device.tensor(count) : tensor(count)};
      const {y} = await run(model, feeds);
      feeds.x.dispose();
      if ('dispose' in feeds.m) feeds.m.dispose();
      const {y: twice} = await model.run({x: y, m: tensor(BigInt64Array.of(m))}, {fetches: ['y']});
      same(await y?.data(), wanted, `${name}: y`);
      same(y?.shape, [wanted.length], 'shape');
      await twice?.data();
      y?.dispose();
    }
  }
  same(device.memory().tensors, 0, 'tensors');
}

async function wrongTensors(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  using other = await openDevice('wasm');
  using model = await load(await tinyPackage(kind, {n: 4}), {device});
  const x = device.tensor([0, 1, 2, 3], {shape: [1, 4]});
  const wrong: [object, RegExp][] = [
    [{x: other.tensor([0, 1, 2, 3], {shape: [1, 4]}), k}, /input "x": the tensor is on another device \(WebAssembly/],
    [{x: device.tensor([0, 1, 2], {shape: [1, 3]}), k}, /"x" wants f32 \[1, 4\], the tensor is f32 \[1, 3\]/],
    [{x, k: x}, /"k" wants i64 \[2\], the tensor is f32 \[1, 4\]/],
  ];
  for (const [feeds, message] of wrong) await rejects(run(model, feeds as never), 'input', message);
  await rejects(load(await tinyPackage(kind, {n: 4}), {device, recover: true}), 'input', /no recover with/);
  await rejects(openDevice('cpu' as 'wasm'), 'input', /"cpu" is no device/);
  const wide = kind === 'wasm' ? undefined : await caught(() => device.tensor(BigInt64Array.of(2n ** 40n)));
  check(kind === 'wasm' || /1099511627776; this device has i32 only/.test(wide ?? ''), `i64: ${wide}`);
  const {y} = await run(model, {x, k});
  device.dispose();
  for (const each of [x, y]) await rejects(each?.data() ?? Promise.resolve(), 'disposed', /the device was disposed/);
  await rejects(run(model, {x: ramp(4), k}), 'disposed', /the device was disposed/);
  await rejects(load(await tinyPackage(kind, {n: 4}), {device}), 'disposed', /the device was disposed/);
}

// eslint-disable-next-line @typescript-eslint/require-await -- what is thrown rejects
async function caught(body: () => unknown): Promise<string> {
  try {
    body();
    return '';
  } catch (problem) {
    return String(problem);
  }
}

/** Many programs come and go on one device. */
async function manyPrograms(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind, {threads: 2});
  const x = device.tensor([0, 1, 2, 3], {shape: [1, 4]});
  const models: Model[] = [];
  for (let at = 0; at < 12; ++at) {
    models.push(...(await Promise.all([1, 2].map(async (w) => load(await tinyPackage(kind, {n: 4, w}), {device})))));
    if (at % 3 === 2) models.splice(0, 4).forEach((model) => model.dispose());
    for (const [turn, model] of models.entries()) {
      const {y, m} = await run(model, {x, k});
      const w = turn % 2 ? 4 : 2;
      same(await y?.data(), [3, 3 + w, 3 + 2 * w, 3 + 3 * w], `y of ${turn}`);
      [y, m].forEach((each) => each?.dispose());
    }
  }
  models.forEach((model) => model.dispose());
  same(await x.data(), [0, 1, 2, 3], 'x');
}

export async function alternates(device: ComputeDevice, model: Model, turns: number): Promise<void> {
  let x = device.tensor([0, 1, 2, 3], {shape: [1, 4]});
  for (let turn = 0; turn < turns; ++turn) {
    const {y, m} = await run(model, {x, k});
    x.dispose();
    m?.dispose();
    x = y as DeviceTensor;
  }
  x.dispose();
}

/** A sequence that grows by two each run. */
export async function grows(device: ComputeDevice, model: Model, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n += 2) {
    const values = Array.from({length: n}, (_, at) => at - n);
    const x = device.tensor(values, {shape: [1, n]});
    const {y, m} = await run(model, {x, k});
    x.dispose();
    same(await y?.data(), times5(values), `y of ${n}`);
    [y, m].forEach((each) => each?.dispose());
  }
}

async function growing(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  using model = await load(await tinyPackage(kind), {device});
  await grows(device, model, 2, 120);
  await grows(device, model, 2, 20);
  // y = 5 x + n
  const dynamic = withManifest(await tinyPackage(kind), (manifest) => {
    const {scalars} = (manifest['run'] as {scalars: unknown[]}[])[0] ?? {scalars: []};
    scalars[scalars.length - 1] = {plan: 0};
  });
  using other = await load(dynamic, {device});
  for (let n = 2; n < 40; n += 2) {
    const x = device.tensor(new Float32Array(n), {shape: [1, n]});
    const {y, m} = await run(other, {x, k});
    same(await y?.data(), new Float32Array(n).fill(n), `n in y of ${n}`);
    [x, y, m].forEach((each) => each?.dispose());
  }
  using host = await load(await tinyPackage(kind));
  for (let turn = 0; turn < 60; ++turn) {
    const n = 2 + 2 * ((turn * 7) % 50);
    const {y} = await host.run({x: ramp(n), k});
    same(await y?.data(), times5(Array.from({length: n}, (_, at) => at)), `y of ${n}`);
  }
}

async function statefulRuns(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  const states: State[] = [];
  for (const own of [false, true]) {
    using model = await load(await tinyPackage(kind, {n: 4}), {state: {x: 'y'}, ...(own ? {device: kind} : {device})});
    const state = model.state as State;
    states.push(state);
    same(state.names, ['x'], 'names');
    const first = await model.run({k});
    same([Object.keys(first), await first['m']?.data()], [['m'], [2n, -7n]], 'what is no state');
    same(await state.get('x')?.data(), times5([0, 0, 0, 0]), 'after zeros');
    await Promise.all([1, 2, 3].map(() => model.run({k}))); // each sees what the one before has left
    same(await state.get('x')?.data(), times5([0, 0, 0, 0], 4), 'after four');
    const refused = model.run({k: ramp(4)});
    await rejects(refused, 'input', /"k" wants i64/);
    await rejects(model.run({x: ramp(4), k}), 'input', /input "x" is state: state\.set/);
    const {m} = await model.run({k}, {location: 'device'});
    check('device' in (m as Output), 'm stays');
    same(await state.get('x')?.data(), times5([0, 0, 0, 0], 5), 'a run that failed is none');
    state.reset();
    if (!own) state.set('x', tensor([1, 2, 3, 4], [1, 4]));
    await model.run({k}, {fetches: []});
    same(await state.get('x')?.data(), times5(own ? [0, 0, 0, 0] : [1, 2, 3, 4]), 'from what was set');
    await rejects(Promise.resolve().then(() => state.get('k')), 'input', /"k" is no state of the model; x are/);
    m?.dispose();
  }
  same(device.memory().tensors, 1, 'tensors that runs kept without being read');
  same(states.length, 2, 'states that cannot be collected before');
  const wrong: [true | Record<string, string>, RegExp][] = [
    [true, /no inputs past\.\.\. with outputs present/],
    [{z: 'y'}, /no input "z" that could be state/],
    [{x: 'z'}, /no output "z" that could continue "x"/],
    [{x: 'm'}, /state "x" is f32 of 2 axes, "m" is i64 of 1 axes/],
  ];
  for (const [state, message] of wrong) await rejects(load(await tinyPackage(kind, {n: 4}), {device, state}), 'input', message);
  await rejects(load(await tinyPackage(kind, {n: 4}), {state: {x: 'y'}, recover: true}), 'input', /no recover with/);
  const named = withManifest(await tinyPackage(kind, {n: 4}), ({inputs, outputs}) => {
    Object.assign((inputs as object[])[0] as object, {name: 'past_key_values.0.key'});
    Object.assign((outputs as object[])[0] as object, {name: 'present.0.key'});
  });
  using found = await load(named, {device, state: true});
  same(found.state?.names, ['past_key_values.0.key'], 'found by name');
}

const TESTS: Readonly<Record<string, Body>> = {
  'parts of a tensor come to the host': parts,
  'tensors of all types come back from a device': roundTrips,
  'models on one device feed each other': chains,
  'outputs on the device stay, and their memory is used again': outputsStay,
  'outputs are read with the run, or when they are asked for': fetched,
  'inputs on the device are not written, unless they are given away': inputsKept,
  'tensors may be disposed of as soon as run() has returned': disposedEarly,
  'device tensors where a run has steps': inSteps,
  'a sequence that grows from run to run': growing,
  'state stays on the device from run to run': statefulRuns,
  'wrong tensors and disposed devices': wrongTensors,
  'programs come and go on one device': manyPrograms,
};

export function addDeviceTensors(tests: Map<string, () => Promise<void>>, kinds: readonly DeviceKind[]): void {
  for (const kind of kinds) {
    for (const [name, body] of Object.entries(TESTS)) tests.set(`${kind}: ${name}`, () => body(kind));
  }
}
