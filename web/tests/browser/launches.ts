/** What a run asks of a device: one command buffer, one map, nothing new; and kernels that models have in common. */
import {type DeviceKind, load, type Model, openDevice, type Output, tensor} from '../../runtime/src/index.ts';
import {STEP_CASES, stepsPackage} from '../fixtures/steps.ts';
import {tinyPackage} from '../fixtures/tiny.ts';
import {check, k, ramp, same} from './check.ts';
import {alternates, grows} from './device_tensors.ts';

type Body = () => Promise<void>;
type Method = (this: unknown, ...given: unknown[]) => unknown;
type Owner = Record<string, Method>;

/** How often each of these methods is called during `body`; `before` is told of every call. */
async function calls(
  owners: readonly (readonly [prototype: object, names: readonly string[]])[],
  body: Body,
  before: (name: string) => unknown = () => undefined,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const undo: (() => void)[] = [];
  for (const [prototype, names] of owners) {
    const owner = prototype as Owner;
    for (const name of names) {
      const real = owner[name] as Method;
      owner[name] = function (...given) {
        counts[name] = (counts[name] ?? 0) + 1;
        const wait = before(name);
        const result = real.apply(this, given);
        return wait instanceof Promise ? wait.then(() => result) : result;
      };
      undo.push(() => (owner[name] = real));
    }
  }
  try {
    await body();
  } finally {
    undo.forEach((each) => each());
  }
  return counts;
}

const gpuCalls = () =>
  [
    [
      GPUDevice.prototype,
      [
        'createBuffer', 'createBindGroup', 'createBindGroupLayout', 'createPipelineLayout', 'createShaderModule',
        'createComputePipelineAsync', 'createCommandEncoder', 'pushErrorScope',
      ],
    ],
    [GPUQueue.prototype, ['writeBuffer', 'submit', 'onSubmittedWorkDone']],
    [GPUCommandEncoder.prototype, ['beginComputePass', 'copyBufferToBuffer']],
    [GPUComputePassEncoder.prototype, ['dispatchWorkgroups']],
    [GPUBuffer.prototype, ['mapAsync', 'getMappedRange']],
  ] as const;

const glCalls = () =>
  [
    [
      WebGL2RenderingContext.prototype,
      [
        'createBuffer', 'bufferData', 'createTexture', 'createFramebuffer', 'createShader', 'createProgram',
        'linkProgram', 'fenceSync', 'readPixels', 'drawArrays', 'getError', 'flush',
      ],
    ],
  ] as const;

const feeds = (n: number, first = 0) => ({
  x: tensor(Float32Array.from({length: n}, (_, at) => first + at), [1, n]),
  k,
});

async function right({y, m}: Record<string, Output>, n: number, first = 0): Promise<void> {
  same(await y?.data(), Float32Array.from({length: n}, (_, at) => 5 * (first + at) + 3), 'y');
  same(await m?.data(), [2n, -7n], 'm');
}

async function warmGpu(): Promise<void> {
  for (const n of [8, undefined]) {
    using model = await load(await tinyPackage('webgpu', {n}));
    const run = async (): Promise<void> => right(await model.run(feeds(8)), 8);
    await run();
    same(
      await calls(gpuCalls(), run),
      {
        writeBuffer: 2, createCommandEncoder: 1, beginComputePass: 1, dispatchWorkgroups: 2, copyBufferToBuffer: 2,
        submit: 1, mapAsync: 1, getMappedRange: 1,
      },
      'calls of a run',
    );
  }
}

/** Outputs that stay are the next run's feeds: two sets of memory in turn, and neither new memory nor new bindings. */
async function warmOnDevice(kind: 'webgpu' | 'webgl'): Promise<void> {
  for (const n of [4, undefined]) {
    using device = await openDevice(kind);
    using model = await load(await tinyPackage(kind, {n}), {device});
    await alternates(device, model, 6);
    same(
      await calls(kind === 'webgpu' ? gpuCalls() : glCalls(), () => alternates(device, model, 6)),
      kind === 'webgpu'
        ? {writeBuffer: 7, createCommandEncoder: 6, beginComputePass: 6, dispatchWorkgroups: 12, submit: 6, onSubmittedWorkDone: 6}
        : {drawArrays: 18 + 1, flush: 12, fenceSync: 6}, // the first x has another width than its slot
      `calls of six runs, ${kind}`,
    );
  }
}

async function longerSequences(): Promise<void> {
  using device = await openDevice('webgpu');
  using model = await load(await tinyPackage('webgpu'), {device});
  await grows(device, model, 2, 6);
  const {createBindGroup, createBuffer} = await calls(gpuCalls(), () => grows(device, model, 8, 60));
  same([createBindGroup, createBuffer], [undefined, undefined], 'bindings and buffers');
}

async function warmGl(): Promise<void> {
  for (const n of [8, undefined]) {
    using model = await load(await tinyPackage('webgl', {n}));
    const run = async (): Promise<void> => right(await model.run(feeds(8)), 8);
    await run();
    const {flush, ...counts} = await calls(glCalls(), run);
    same(counts, {drawArrays: 3, createBuffer: 1, bufferData: 1, readPixels: 2, fenceSync: 1}, 'calls of a run');
    check((flush ?? 0) > 0, 'nothing was flushed');
  }
}

/** Launches of steps go together up to where a value is read back. */
async function stepsTogether(): Promise<void> {
  for (const {name, runs, ...steps} of STEP_CASES) {
    using model = await load(await stepsPackage('webgpu', steps));
    for (const [x, m, wanted] of runs) {
      const run = async (): Promise<void> => {
        const {y} = await model.run({x: tensor(Float32Array.from(x)), m: tensor(BigInt64Array.of(m))});
        same(await y?.data(), wanted, `${name}: y`);
      };
      await run();
      await run(); // memory that grew in the first made its bind groups old
      const {submit = 0, mapAsync = 0, createBindGroup, dispatchWorkgroups = 0} = await calls(gpuCalls(), run);
      // One for each time that values are read, besides what there is too much of at once.
      const most = mapAsync + Number(wanted.length === 0) + Math.floor(dispatchWorkgroups / 64);
      check(submit <= most, `${name}: ${submit} submissions for ${mapAsync} maps, ${dispatchWorkgroups} launches`);
      same(createBindGroup, undefined, `${name}: bind groups of a run like one before`);
    }
  }
}

/** Three runs, none of which may be answered before all are put in. */
async function inFlight(kind: DeviceKind): Promise<void> {
  for (const n of [8, undefined]) {
    using model = await load(await tinyPackage(kind, {n}));
    await right(await model.run(feeds(8)), 8);
    let open!: () => void;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let put = 0;
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      open();
    }, 30_000);
    const [what, times] = kind === 'webgpu' ? ['beginComputePass', 3] : ['readPixels', 6];
    const before = (name: string): unknown => {
      if (name === what && ++put === times) open();
      return name === 'mapAsync' || name === 'onSubmittedWorkDone' ? gate : undefined;
    };
    await calls(
      kind === 'webgpu' ? gpuCalls() : glCalls(),
      async () => {
        const runs = [0, 100, 200].map((first) => model.run(feeds(8, first)));
        if (kind === 'webgl') {
          // Its fences cannot be held back; nothing has passed before the next task.
          for (let at = 0; at < 20; ++at) await Promise.resolve();
          same(put, 6, 'outputs of three runs that are on their way');
        }
        for (const [at, run] of runs.entries()) await right(await run, 8, 100 * at);
      },
      before,
    );
    clearTimeout(timer);
    check(!late, 'the second run waited for the first');
  }
}

/** Dozens at once, of sizes that move the memory, while some results are never read. */
async function manyInFlight(kind: DeviceKind): Promise<void> {
  using model = await load(await tinyPackage(kind));
  const sizes = Array.from({length: 60}, (_, at) => 2 + 2 * ((at * 11) % 37));
  const runs = sizes.map((n, at) => model.run(feeds(n, at)));
  for (const [at, run] of runs.entries()) {
    if (at % 3 !== 1) await right(await run, sizes[at] ?? 0, at);
  }
  await Promise.all(runs);
}

async function disposedInFlight(kind: DeviceKind): Promise<void> {
  const model = await load(await tinyPackage(kind, {n: 8}));
  await right(await model.run(feeds(8)), 8);
  const runs = [0, 1, 2].map(async (first) => right(await model.run(feeds(8, first)), 8, first));
  model.dispose();
  for (const each of await Promise.allSettled(runs)) {
    if (each.status === 'rejected') same((each.reason as {code?: string}).code, 'disposed', 'code');
  }
}

const COMPILED: Record<string, string> = {webgpu: 'createComputePipelineAsync', webgl: 'linkProgram'};

async function sharedKernels(kind: 'webgpu' | 'webgl'): Promise<void> {
  const compiled = async (body: Body): Promise<number> => {
    const {[COMPILED[kind] ?? '']: count = 0} = await calls(kind === 'webgpu' ? gpuCalls() : glCalls(), body);
    return count;
  };
  const files = [await tinyPackage(kind, {n: 8}), await tinyPackage(kind, {n: 4, w: 3})] as const;
  const models: Model[] = [];
  const kernels = kind === 'webgpu' ? 3 : 4;
  const open = (at: 0 | 1): Body => async () => void models.push(await load(files[at]));
  same(await compiled(open(0)), kernels, 'kernels of the first model');
  same(await compiled(open(1)), 0, 'kernels of one with other shapes and weights');
  models.shift()?.dispose();
  const {y} = (await models[0]?.run({x: ramp(4), k})) ?? {};
  same(await y?.data(), [3, 9, 15, 21], 'after the first has gone');
  same(await compiled(open(0)), 0, 'kernels while the second is there');
  models.splice(0).forEach((model) => model.dispose());
  same(await compiled(open(0)), kernels, 'kernels when none was there');
  same(await compiled(() => Promise.all([open(0)(), open(1)()]).then(() => undefined)), 0, 'kernels of two at once');
  models.forEach((model) => model.dispose());
}

export function addLaunches(tests: Map<string, Body>): void {
  tests.set('webgpu: a run is one command buffer and one map, and makes nothing', warmGpu);
  tests.set('webgpu: launches of steps go together', stepsTogether);
  tests.set('webgpu: a longer sequence makes no bind group anew', longerSequences);
  tests.set('webgl: a run waits once for all outputs', warmGl);
  for (const kind of ['webgpu', 'webgl'] as const) {
    tests.set(`${kind}: runs on tensors of the device make nothing`, () => warmOnDevice(kind));
  }
  for (const kind of ['webgpu', 'webgl'] as const) {
    tests.set(`${kind}: runs do not wait for those before`, () => inFlight(kind));
    tests.set(`${kind}: kernels are compiled once for all models`, () => sharedKernels(kind));
  }
  for (const kind of ['webgpu', 'webgl', 'wasm'] as const) {
    tests.set(`${kind}: many runs in flight`, () => manyInFlight(kind));
    tests.set(`${kind}: disposed while runs are in flight`, () => disposedInFlight(kind));
  }
}
