/** Profiles: every kernel is named, every launch timed, and the sums are what a run may take. */
import {type DeviceKind, load, type Model, type Profile, tensor} from '../../runtime/src/index.ts';
import {sidePackage} from '../fixtures/side.ts';
import {STEP_CASES, stepsPackage, type StepPackage} from '../fixtures/steps.ts';
import {tinyPackage} from '../fixtures/tiny.ts';
import {checkTrace} from '../fixtures/trace.ts';
import {check, k, ramp, same} from './check.ts';

function checkProfile(model: Model, found: Profile, launches?: number): void {
  const {kernels, runMs, kernelMs, limits, device} = found;
  const reported = model.report().kernels;
  for (const {name} of reported) check(kernels.some((each) => each.name === name), `no line of kernel ${name}`);
  const ran = reported.reduce((all, {times}) => all + times, 0);
  same(found.launches.length, launches ?? ran, 'launches');
  same(kernels.reduce((all, each) => all + each.launches, 0), ran, 'launches of kernels');
  const sum = found.launches.reduce((all, {ms}) => all + ms, 0);
  check(Math.abs(sum - kernelMs) < 1e-9 && sum > 0, `${sum} ms of launches, ${kernelMs} in all`);
  check(kernelMs < 2 * runMs + 1, `${kernelMs} ms of kernels in a run of ${runMs}`);
  for (const {device: kind, copyRate, arithmeticRate} of limits) {
    check(copyRate > 0.05 && copyRate < 1e5, `${kind}: a copy at ${copyRate} GB/s`);
    check(arithmeticRate > 0.05 && arithmeticRate < 1e6, `${kind}: multiply-adds at ${arithmeticRate} GFLOP/s`);
  }
  for (const each of kernels) {
    const {copyRate = 0, arithmeticRate = 0} = limits.find((limit) => limit.device === each.device) ?? {};
    const least = Math.max(each.bytes / copyRate, each.operations / arithmeticRate) / 1e6;
    check(each.ms === 0 || Math.abs(each.share - least / each.ms) <= 1e-9 * each.share, `${each.name}: share ${each.share}`);
  }
  const table = found.table();
  for (const {name} of found.launches) check(table.includes(name), `${name} is not in\n${table}`);
  const events = checkTrace(found.trace());
  same(events.map(({name}) => name), found.launches.map(({name}) => name), 'events');
  check(device === model.report().device, device);
}

async function tiny(kind: DeviceKind): Promise<void> {
  for (const n of [4096, undefined]) {
    using model = await load(await tinyPackage(kind, {n}), {device: kind});
    const feeds = {x: ramp(kind === 'webgpu' ? 512 : 4096), k};
    if (kind === 'webgpu' && n !== undefined) continue; // its kernel has no more than eight groups
    checkProfile(model, await model.profile(feeds, {runs: 3, minMs: 2}), kind === 'webgl' ? 3 : 2);
    const {launches} = await model.profile(feeds, {runs: 1, minMs: 1});
    // x, w and y of the first; the layers between on webgl.
    const {length} = feeds.x.data;
    const bytes = kind === 'webgl' ? [2 * 4 * length + 4, 2 * 4 * length] : [2 * 4 * length + 4];
    same(launches.slice(0, bytes.length).map((each) => each.bytes), bytes, 'bytes');
    // As its manifest counts them: one an element, and two of the other.
    same([launches[0]?.operations, launches.at(-1)?.operations], [length, 2], 'operations');
    const {y} = await model.run(feeds);
    const wanted = Float32Array.from({length}, (_, at) => 5 * at + 3);
    same(await y?.data(), wanted, 'a run after the profile');
  }
}

/** As searches ask: of some kernels, and launches that are alike are timed once. */
async function ofSome(kind: DeviceKind): Promise<void> {
  using model = await load(await tinyPackage(kind, {often: 3}), {device: kind});
  const feeds = {x: ramp(kind === 'webgpu' ? 512 : 4096), k};
  const {kernels, launches} = await model.profile(feeds, {runs: 1, minMs: 1, kernels: [0]});
  const [first = 0, ...others] = launches.filter(({name}) => name === 'scale').map(({ms}) => ms);
  check(first > 0, `${first} ms of a kernel that was asked for`);
  same(others, [first, first], 'launches that are alike');
  const rest = launches.filter(({name}) => name !== 'scale');
  check(rest.length > 0 && rest.every(({ms}) => ms === 0), 'other kernels are timed, too');
  check(Math.abs((kernels.find(({name}) => name === 'scale')?.ms ?? 0) - 3 * first) < 1e-9, 'a sum over launches');
}

async function withSteps(kind: DeviceKind): Promise<void> {
  const loop = STEP_CASES[0] as StepPackage;
  using model = await load(await stepsPackage(kind, loop), {device: kind});
  const feeds = {x: tensor(Float32Array.of(1, 2, 3)), m: tensor(BigInt64Array.of(9n))};
  // Next to other work, an empty launch may take as long as those of three elements, which then count as 0.
  let found = await model.profile(feeds, {runs: 1, minMs: 1});
  for (let left = 3; left > 0 && found.kernelMs === 0; --left) found = await model.profile(feeds, {runs: 1, minMs: 1});
  checkProfile(model, found, 19);
  same(found.kernels.map(({launches}) => launches).sort((a, b) => b - a).slice(0, 2), [10, 9], 'launches of kernels');
}

async function besides(): Promise<void> {
  using model = await load(await sidePackage('webgpu'));
  const found = await model.profile(undefined, {runs: 1, minMs: 1, dims: {n: 100}});
  checkProfile(model, found);
  same([...new Set(found.launches.map(({device}) => device))].sort(), ['wasm', 'webgpu'], 'devices');
  check(found.table().includes('(wasm)'), 'the table does not say what runs beside the GPU');
}

/** Without timestamps launches are timed by repeating them, with about the same result. */
async function withoutTimestamps(): Promise<void> {
  using model = await load(await tinyPackage('webgpu'));
  const feeds = {x: ramp(512), k};
  const first = await model.profile(feeds, {runs: 1, minMs: 3});
  const owner = GPUSupportedFeatures.prototype as {has: (this: GPUSupportedFeatures, name: string) => boolean};
  const {has: real} = owner;
  owner.has = function (name) {
    return name !== 'timestamp-query' && real.call(this, name);
  };
  try {
    const second = await model.profile(feeds, {runs: 1, minMs: 3});
    checkProfile(model, second, 2);
    same(second.method, 'repetition', 'method');
    if (first.method === 'timestamps') {
      // Other work on the machine may slow one of them down, not three times.
      const times = [second.kernelMs];
      const isNear = (ms: number): boolean => first.kernelMs / ms > 0.02 && first.kernelMs / ms < 50;
      while (times.length < 3 && !times.some(isNear)) times.push((await model.profile(feeds, {runs: 1, minMs: 3})).kernelMs);
      check(times.some(isNear), `${first.kernelMs} ms by timestamps, ${times.join(', ')} by repetition`);
    }
  } finally {
    owner.has = real;
  }
}

export function addProfiles(tests: Map<string, () => Promise<void>>): void {
  for (const kind of ['webgpu', 'webgl', 'wasm'] as const) {
    tests.set(`${kind}: a profile names all kernels and times all launches`, () => tiny(kind));
    tests.set(`${kind}: a profile of steps`, () => withSteps(kind));
    tests.set(`${kind}: a profile of some kernels`, () => ofSome(kind));
  }
  tests.set('webgpu: a profile of what runs on the side', besides);
  tests.set('webgpu: a profile without timestamps', withoutTimestamps);
}
