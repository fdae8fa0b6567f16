/**
 * Losing devices while a model loads and runs: at a chosen call into WebGPU or WebGL, at a random moment, or
 * from outside (losses.ts ends the GPU process). Each run must be right or, without recover, 'lost'; nothing
 * may be under way for ever.
 */
import {
  GossamerError,
  load,
  type LoadOptions,
  type Model,
  tensor,
} from '../../runtime/src/index.ts';
import {getGpu} from '../../runtime/src/devices/webgpu/adapter.ts';
import {findContext} from '../../runtime/src/devices/webgl/context.ts';
import {sidePackage} from '../fixtures/side.ts';
import {STEP_CASES, stepsPackage} from '../fixtures/steps.ts';
import {type FileMap, tinyFolder, tinyPackage} from '../fixtures/tiny.ts';
import {k, same} from './check.ts';

type Gpu = 'webgpu' | 'webgl';

/** What happened, in numbers; `problems` says what should not have. */
export interface Figures {
  rounds: number;
  /** Devices that were taken away, and losses that models saw. */
  injected: number;
  losses: number;
  recoveries: number;
  /** Runs that were right, and those that ended with 'lost'. */
  right: number;
  lost: number;
  wrong: number;
  hangs: number;
  problems: string[];
}

const figures: Figures = {
  rounds: 0, injected: 0, losses: 0, recoveries: 0, right: 0, lost: 0, wrong: 0, hangs: 0, problems: [],
};

/** A small generator, so that a round is known by its seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed * 2654435761 + 1;
  return (below) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    return ((state ^ (state >>> 15)) >>> 0) % below;
  };
}

async function takeAway(kind: Gpu): Promise<void> {
  ++figures.injected;
  if (kind === 'webgpu') (await getGpu()).device.destroy();
  else {
    const context = findContext();
    if (typeof context !== 'string') context.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}

/** Calls after which a device may go: all that loading, recording, submitting and reading make. */
const CALLS = {
  webgpu: () =>
    [
      [GPUDevice.prototype, 'createBuffer'], [GPUDevice.prototype, 'createComputePipelineAsync'],
      [GPUDevice.prototype, 'createBindGroup'], [GPUDevice.prototype, 'createCommandEncoder'],
      [GPUDevice.prototype, 'createShaderModule'], [GPUDevice.prototype, 'popErrorScope'],
      [GPUQueue.prototype, 'writeBuffer'], [GPUQueue.prototype, 'submit'],
      [GPUQueue.prototype, 'onSubmittedWorkDone'], [GPUBuffer.prototype, 'mapAsync'],
      [GPUBuffer.prototype, 'getMappedRange'],
    ] as const,
  webgl: () => {
    const {prototype} = WebGL2RenderingContext;
    const names = [
      'createTexture', 'texStorage2D', 'framebufferTexture2D', 'checkFramebufferStatus', 'clearBufferfv',
      'createShader', 'linkProgram', 'getProgramParameter', 'getUniformLocation', 'useProgram',
      'texSubImage2D', 'drawArrays', 'getError', 'fenceSync', 'clientWaitSync', 'bufferData', 'readPixels',
      'getBufferSubData', 'flush',
    ];
    return names.map((name) => [prototype, name] as const);
  },
};

let countdown = Infinity;
let before = false;

/** From now on the device goes at the `countdown`th of these calls, before or after it. */
function watchCalls(kind: Gpu): void {
  for (const [prototype, name] of CALLS[kind]()) {
    const owner = prototype as unknown as Record<string, (...given: unknown[]) => unknown>;
    const real = owner[name] as (...given: unknown[]) => unknown;
    owner[name] = function (this: {getExtension?: (name: string) => {loseContext(): void} | null}, ...given) {
      const now = --countdown === 0;
      const lose = (): void => {
        if (this.getExtension) {
          ++figures.injected;
          this.getExtension('WEBGL_lose_context')?.loseContext();
        } else void takeAway('webgpu');
      };
      if (now && before) lose();
      const result = real.apply(this, given);
      if (now && !before) lose();
      return result;
    };
  }
}

const HANG_MS = 30_000;

/** The promise's value; a hang is counted. */
async function watched<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      ++figures.hangs;
      reject(new Error(`${what} hangs`));
    }, HANG_MS);
  });
  try {
    return await Promise.race([promise, hang]);
  } finally {
    clearTimeout(timer);
  }
}

interface Subject {
  readonly files: FileMap;
  /** A run whose values are checked. */
  run(model: Model, random: (below: number) => number): Promise<void>;
}

const tinyRun = async (model: Model, n: number): Promise<void> => {
  const values = Float32Array.from({length: n}, (_, at) => at);
  const run = model.run({x: tensor(values, [1, n]), k});
  values.fill(NaN);
  const {y, m} = await run;
  same(await y?.data(), Float32Array.from({length: n}, (_, at) => 5 * at + 3), 'y');
  same(await m?.data(), [2n, -7n], 'm');
};

/** Models of all sorts: static, with dimensions, with steps, with a side, with other devices to go on to. */
async function subjects(kind: Gpu): Promise<Subject[]> {
  const steps = await Promise.all(
    STEP_CASES.slice(0, 3).map(async ({runs, ...each}): Promise<Subject> => ({
      files: await stepsPackage(kind, each),
      run: async (model, random) => {
        const [x, m, wanted] = runs[random(runs.length)] as (typeof runs)[number];
        const {y} = await model.run({x: tensor(Float32Array.from(x)), m: tensor(BigInt64Array.of(m))});
        same(await y?.data(), wanted, 'y');
      },
    })),
  );
  return [
    {files: await tinyPackage(kind, {n: 100}), run: (model) => tinyRun(model, 100)},
    {files: await tinyPackage(kind), run: (model, random) => tinyRun(model, 2 * random(250))},
    {files: await tinyFolder({n: 100}), run: (model) => tinyRun(model, 100)},
    ...steps,
    {
      files: await sidePackage(kind),
      run: async (model, random) => {
        const n = random(100);
        const {y, r} = await model.run({
          x: tensor(Float32Array.from({length: n}, (_, at) => at)),
          d: tensor(Float64Array.of(1, 2)),
          q: tensor(BigInt64Array.of(BigInt(n))),
        });
        same(await y?.data(), Float32Array.from({length: n}, (_, at) => at + 111), 'y');
        same(await r?.data(), [BigInt(n)], 'r');
      },
    },
  ];
}

const codeOf = (problem: unknown): string => (problem instanceof GossamerError ? problem.code : '');

function wrong(what: string, problem: unknown): void {
  ++figures.wrong;
  const text = problem instanceof Error ? (problem.stack ?? problem.message) : String(problem);
  figures.problems.push(`${what}: ${text.slice(0, 600)}`);
}

/** Checks a run; true when it was lost as it may be. */
async function judge(run: Promise<void>, recover: boolean, what: string): Promise<boolean> {
  try {
    await watched(run, what);
    ++figures.right;
    return false;
  } catch (problem) {
    const lost = !recover && codeOf(problem) === 'lost';
    if (lost) ++figures.lost;
    else if (!String(problem).includes('hangs')) wrong(what, problem);
    return lost;
  }
}

const made = new Map<Gpu, Promise<Subject[]>>();

export interface Rounds {
  readonly kind: Gpu;
  readonly first: number;
  readonly count: number;
}

/** One round: load, runs one after the other and at once, and a loss somewhere among them. */
async function round(kind: Gpu, seed: number): Promise<void> {
  const random = randomOf(seed);
  let found = made.get(kind);
  if (!found) made.set(kind, (found = subjects(kind)));
  const all = await found;
  const subject = all[random(all.length)] as Subject;
  const recover = random(2) === 0;
  const whileLoading = random(4) === 0;
  const what = `${kind}, round ${seed}${recover ? ', recover' : ''}`;
  let told = 0;
  const options: LoadOptions = {recover, onLost: () => void ++told};
  const folder = subject === all[2];
  if (!folder) Object.assign(options, {device: kind});
  const arm = (): void => {
    before = random(2) === 0;
    if (random(4) === 0) setTimeout(() => void takeAway(kind), random(20));
    else countdown = 1 + random(whileLoading ? 80 : 120);
  };
  ++figures.rounds;
  if (whileLoading) arm();
  let model: Model;
  try {
    model = await watched(load(subject.files, options), `${what}, load`);
  } catch (problem) {
    // A loss while loading is tried once more; a second one is what the package cannot do without.
    if (codeOf(problem) === 'lost') ++figures.lost;
    else if (!String(problem).includes('hangs')) wrong(`${what}, load`, problem);
    countdown = Infinity;
    return;
  }
  if (!whileLoading) arm();
  const runs: Promise<boolean>[] = [];
  for (let turn = 0; turn < 6; ++turn) {
    runs.push(judge(subject.run(model, random), recover, `${what}, run ${turn}`));
    if (random(2) === 0) await Promise.all(runs);
  }
  if (random(8) === 0) {
    // Given up in the middle of whatever it does: runs may end with 'disposed' now.
    const late = subject.run(model, random).then(
      () => ++figures.right,
      (problem: unknown) => {
        if (!['disposed', 'lost'].includes(codeOf(problem))) wrong(`${what}, disposed`, problem);
      },
    );
    await Promise.all(runs);
    model.dispose();
    await watched(late, `${what}, disposed`).catch(() => undefined);
  }
  const ended = await Promise.all(runs);
  countdown = Infinity;
  const {losses} = model.report();
  figures.losses += losses.length;
  figures.recoveries += losses.filter(({instead}) => instead).length;
  if (ended.includes(true) && losses.length === 0) wrong(what, 'a run was lost and report() lists no loss');
  if (told !== losses.length) wrong(what, `onLost was called ${told} times, ${losses.length} losses`);
  model.dispose();
}

async function loseSome({kind, first, count}: Rounds): Promise<Figures> {
  for (let seed = first; seed < first + count; ++seed) await round(kind, seed);
  return figures;
}

interface Going {
  readonly kind: Gpu;
  readonly recover: boolean;
}

let running: {going: Going; model: Model; stop: boolean; ended: Promise<void>} | undefined;

/** A model of `kind`, or of what is left where that is not to be had now. */
async function loadFor({kind, recover}: Going): Promise<Model> {
  const files = await tinyFolder();
  const variants = {[kind]: `${kind}/`, wasm: 'wasm/'};
  files.set('index.json', new TextEncoder().encode(JSON.stringify({variants})));
  return watched(load(files, {recover}), 'load');
}

/** Runs for ever, two at a time, until told to stop; back on the GPU when the model had to leave it. */
async function beginRuns(going: Going): Promise<void> {
  const state = {going, model: await loadFor(going), stop: false, ended: Promise.resolve()};
  const random = randomOf(Date.now());
  state.ended = (async () => {
    while (!state.stop) {
      const some = [0, 1].map(() => judge(tinyRun(state.model, 2 * random(250)), going.recover, 'a run'));
      const lost = (await Promise.all(some)).includes(true);
      if (!lost && state.model.report().device === going.kind) continue;
      count(state.model);
      state.model.dispose();
      state.model = await loadFor(going);
      if (state.model.report().device === 'wasm') await new Promise((resolve) => setTimeout(resolve, 100));
    }
    count(state.model);
    state.model.dispose();
  })().catch((problem: unknown) => wrong('runs', problem));
  running = state;
}

function count(model: Model): void {
  const {losses} = model.report();
  figures.losses += losses.length;
  figures.recoveries += losses.filter(({instead}) => instead).length;
}

async function endRuns(): Promise<Figures> {
  if (running) running.stop = true;
  await running?.ended;
  running = undefined;
  return figures;
}

Object.assign(globalThis, {
  watchCalls,
  loseSome,
  beginRuns,
  endRuns,
  /** Where the model runs, and how many runs were right until now. */
  runsNow: () => ({device: running?.model.report().device, right: figures.right, lost: figures.lost}),
});
