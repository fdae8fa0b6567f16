import {firstThatWorks, KINDS, openBackend} from '../devices/choose.ts';
import type {Device, Executable, Fallback, PlanSize, Program} from '../devices/device.ts';
import {Home} from '../devices/home.ts';
import {DOTS, forAdapter, type Manifest, MODULE, RELAXED} from '../package/manifest.ts';
import {Model, type ModelExtras} from './model.ts';
import {findPackages, maybeStale, type Package, readFiles} from '../package/packages.ts';
import type {Pieces} from '../package/pieces.ts';
import {createPlan, type PlanMemory} from '../package/plan_module.ts';
import {type Loss, type ModelParts, Recovery, type Reload} from './recovery.ts';
import {Session} from './session.ts';
import {type Files, openChecked, openSource, type Requests} from '../package/source.ts';
import type {ComputeDevice, StatePairs} from '../tensors/tensors.ts';
import {type DeviceKind, disposed, GossamerError} from '../values/types.ts';
import {WeightFiles} from '../package/weights.ts';

/** How far loading is; `done` of `total` are bytes, of kernels that are compiled their number. Weights arrive while others are uploaded. */
export interface Progress {
  readonly stage: 'download' | 'compile' | 'upload';
  readonly done: number;
  readonly total: number;
}

export interface LoadOptions extends Requests {
  /**
   * 'auto' (the default) takes the first of webgpu, webgl, wasm that the package has and the browser
   * can run, and says in report() why not a better one. Any other value is that device or an error: a kind, or
   * what openDevice() gave, which the model shares with others and leaves there when it is disposed of.
   */
  readonly device?: 'auto' | DeviceKind | ComputeDevice | undefined;
  /** For wasm. Default: up to 4 in cross-origin isolated pages, else 1. */
  readonly threads?: number | undefined;
  /** Anything less than what was asked for is an error instead of a line in report(). */
  readonly strict?: boolean | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether files of weights are kept in Cache Storage ("gossamer-weights") by the SHA-256 of their content, so that they are
   * fetched once, and a load that was broken off goes on with what is missing. Default: where a package has several.
   */
  readonly cache?: boolean | undefined;
  /**
   * True: when the device is lost (the driver crashed, the browser took it away), the package is loaded again,
   * on the same device where that comes back, else on the next that 'auto' would take. Runs under way or asked
   * for meanwhile are done there, with the feeds as they were at the call; report() tells. After six losses and
   * failed attempts without a run between them, runs reject with 'lost'. False (the default): they do at once.
   * Not with a device of openDevice(), whose tensors go with it.
   */
  readonly recover?: boolean | undefined;
  /**
   * Inputs that are what an output was in the run before, as {input: output}; true: each past... with its present... They stay on
   * the device, and neither is given to or by run(): model.state has them. Not with `recover`.
   */
  readonly state?: StatePairs | undefined;
  /**
   * How many rows states have room for at once, where the package was compiled to write them in place (`state` of the compiler): the longest
   * that a sequence becomes. Default: half as much again whenever there is too little.
   */
  readonly stateRows?: number | undefined;
  /**
   * By name, elements as they lie in memory of weights that are in no file of the package (`holdExternal` of the compiler); the array is
   * load()'s from then on.
   */
  readonly weights?: ((name: string) => Promise<Uint8Array> | undefined) | undefined;
  /** Called after each loss, also of an idle model, before it is loaded again. */
  readonly onLost?: ((loss: Loss) => void) | undefined;
}

/** What one of the package's devices compiles: 0 is the target, 1 the side. */
function makeProgram(
  manifest: Manifest,
  files: ReadonlyMap<string, Pieces>,
  device: number,
): Program {
  const {target, side} = manifest;
  const wasm = target === 'wasm' || device === 1;
  let sources: unknown;
  if (!wasm) {
    const text = files.get('kernels.json')?.take();
    try {
      sources = text && JSON.parse(new TextDecoder().decode(text));
    } catch {
      // Reported below: nothing in it can be found.
    }
  }
  const origins = new Map(
    [...manifest.run, ...manifest.init].reverse().map(({kernel, origin}) => [kernel, origin]),
  );
  const mine = [...manifest.kernels.entries()].filter(([, kernel]) => kernel.device === device);
  const kernels = mine.map(([at, {name, entry, group, buffers, writes, scalars, code}]) => {
    const found = code === undefined ? undefined : (sources as unknown[] | null | undefined)?.[code];
    if (!wasm && typeof found !== 'string') {
      throw new GossamerError('damaged', `kernels.json has no source for kernel "${name}"`);
    }
    const origin = origins.get(at) ?? '';
    return {name, origin, entry, group, buffers, writes, scalars, code: found as string | undefined};
  });
  const [, module] = [...files].find(([file]) => (device === 1 ? file === side?.code : MODULE.test(file))) ?? [];
  return {kernels, module: wasm ? module?.take() : undefined, plan: wasm && device === 0 ? planSize(manifest) : undefined};
}

const planSize = ({plan, dims}: Manifest): PlanSize | undefined =>
  plan && {...plan, dims: dims.length};

/** What GPUs have their plan in. */
function openPlan(manifest: Manifest, files: ReadonlyMap<string, Pieces>): Promise<PlanMemory> | undefined {
  const size = manifest.target === 'wasm' ? undefined : planSize(manifest);
  if (!size) return undefined;
  const module = files.get('plan.wasm')?.take();
  if (module) return createPlan(module, size);
  throw new GossamerError('damaged', 'the package has no plan.wasm');
}

async function start(found: Package, options: LoadOptions): Promise<Started> {
  let {manifest} = found;
  const {signal, onProgress, threads, device: given, cache} = options;
  const {source} = found;
  const executables: Executable[] = [];
  let weights: WeightFiles | undefined;
  const shared = typeof given === 'object' ? given.home : undefined;
  shared?.check();
  const {target, side, needs, files: listed} = manifest;
  const relaxed = listed.some(({name}) => name === RELAXED);
  // The devices first: what the browser lacks should not cost a download.
  const home = shared ?? new Home(await openBackend(target, threads, relaxed), threads);
  const {backend} = home;
  try {
    const lacking = backend.lacking?.(needs);
    if (lacking !== undefined) {
      throw new GossamerError('unsupported', `the package needs ${lacking}; ${backend.adapter} lacks it`);
    }
    const devices: Device[] = [backend];
    if (side) devices.push(await home.side());
    const dots = listed.some(({name}) => name === DOTS) && (await import('../dots/dots.ts')).hasRelaxedDots();
    manifest = forAdapter(manifest, (backend.software ?? false) || (target === 'wasm' && !relaxed), dots);
    const fallbacks = [
      ...devices.flatMap((device) => device.fallbacks),
      ...sideways(manifest),
    ];
    if (options.strict) refuse(fallbacks);
    const wanted = new Set(manifest.weights.map(({file}) => file));
    const apart = manifest.files.filter(({name}) => wanted.has(name));
    const others = manifest.files.filter(({name}) => !wanted.has(name));
    const bytes = manifest.files.reduce((sum, entry) => sum + entry.bytes, 0);
    let here = 0;
    const arrived = (count: number): void => {
      if (weights?.disposed) throw disposed();
      onProgress?.({stage: 'download', done: (here += count), total: bytes});
    };
    arrived(0);
    const keeps = source.cached && (cache ?? apart.length > 1);
    weights = new WeightFiles(apart, async (entry) => {
      const read = (): Pieces => openChecked(source, entry, arrived);
      return keeps && entry.sha256 ? (await import('../shards/shards.ts')).readKept(entry, read, arrived) : read();
    }, options.weights);
    const files = await readFiles(source, others, arrived);
    const defaults = files.get('defaults.safetensors');
    if (defaults) manifest = {...manifest, inputs: (await import('../plain/defaults.ts')).withDefaults(manifest.inputs, defaults)};
    signal?.throwIfAborted();
    const total = manifest.kernels.length;
    let before = 0;
    for (const [at, device] of devices.entries()) {
      const program = makeProgram(manifest, files, at);
      executables.push(
        await device.createExecutable(program, (done) =>
          onProgress?.({stage: 'compile', done: before + done, total}),
        ),
      );
      before += program.kernels.length;
      signal?.throwIfAborted();
    }
    const plan = await openPlan(manifest, files);
    const units = devices.map((device, at) => ({device, executable: executables[at] as Executable, plan}));
    const uploaded = (done: number, all: number): void => onProgress?.({stage: 'upload', done, total: all});
    const session = await Session.create(manifest, units, weights, uploaded, home, !shared);
    return {manifest, devices, home, session, fallbacks};
  } catch (problem) {
    weights?.dispose();
    executables.forEach((executable) => executable.dispose());
    if (!shared) home.dispose();
    return await backend.life.verdict(home.over ?? problem);
  }
}

interface Started {
  readonly manifest: Manifest;
  readonly devices: readonly Device[];
  readonly home: Home;
  readonly session: Session;
  readonly fallbacks: readonly Fallback[];
}

/** Kernels that run on the side, and why. */
function sideways({run, kernels}: Manifest): Fallback[] {
  const all = run.flatMap(({kernel, origin, reason}): (readonly [string, Fallback])[] => {
    const {device, name = ''} = kernels[kernel] ?? {};
    if (device !== 1) return [];
    const what = `${origin || name} on wasm`;
    return [[what, {what, reason: reason || 'the package says no reason'}]];
  });
  return [...new Map(all).values()];
}

function refuse(fallbacks: readonly Fallback[]): void {
  const first = fallbacks[0];
  if (first) throw new GossamerError('unsupported', `strict: ${first.what}: ${first.reason}`);
}

/** The devices to try, in order. Throws 'unsupported'. */
function kindsOf(
  packages: ReadonlyMap<DeviceKind, unknown>,
  wanted: 'auto' | DeviceKind,
  where: string,
): DeviceKind[] {
  const kinds = KINDS.filter((kind) => packages.has(kind) && (wanted === 'auto' || wanted === kind));
  if (kinds.length > 0) return kinds;
  const has = [...packages.keys()].join(', ') || 'nothing';
  throw new GossamerError(
    'unsupported',
    wanted === 'auto'
      ? `${where} lists no package for webgpu, webgl or wasm`
      : `${where} is compiled for ${has}, not for ${wanted}: compile it with --target ${wanted}`,
  );
}

/** Files that know how to compile their model otherwise. */
interface Mutable {
  readonly extrasWith?: (loader: typeof load) => ModelExtras | undefined;
}

/**
 * Loads a package from its folder's URL, from a folder with index.json that lists several
 * ({"variants": {"webgpu": "webgpu/", ...}}), or from files in memory under the same names.
 * An address may have a query, which goes to every file. Rejects with a GossamerError (see ErrorCode), or
 * with the signal's reason.
 */
export async function load(from: string | URL | Files, options: LoadOptions = {}): Promise<Model> {
  let time = performance.now();
  // The signal is for loading; reloading ends with the model.
  const stop = new AbortController();
  const {signal, onLost, recover, strict, state, device = 'auto'} = options;
  const wanted = typeof device === 'object' ? device.kind : device;
  if (recover && (state !== undefined || typeof device === 'object')) {
    throw new GossamerError('input', 'no recover with device or state');
  }
  const abort = (): void => stop.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  try {
    const {source, file} = openSource(from, stop.signal, options);
    const packages = await findPackages(source, file);
    const kinds = kindsOf(packages, wanted, source.where);
    const known = new Map<DeviceKind, Package>();
    const passed: Fallback[] = [];
    const attempt = async (kind: DeviceKind): Promise<Started> => {
      let found = known.get(kind) ?? (await packages.get(kind)?.());
      if (!found) throw new GossamerError('source', `${source.where} has no package for ${kind}`);
      const begun = (): Promise<Started> => start(found as Package, {...options, signal: stop.signal});
      const started = await begun().catch(async (problem: unknown) => {
        const lost = problem instanceof GossamerError && problem.code === 'lost';
        const newer = maybeStale(problem) ? await found?.renewed() : undefined;
        if (!lost && !newer) throw problem;
        found = newer ?? found;
        return begun();
      });
      // Kept, so that a model is the same after a reload whatever the server has by then.
      known.set(kind, found);
      return started;
    };
    const begin = async (
      some: readonly DeviceKind[],
      instead: readonly Fallback[],
    ): Promise<ModelParts> => {
      const choice = await firstThatWorks(some, attempt);
      const parts = choice.result;
      const worse = choice.passed.length > 0 ? choice.passed : instead;
      if (strict && worse.length > 0) {
        parts.session.dispose();
        refuse(worse);
      }
      passed.push(...worse);
      const fallbacks = [...passed, ...parts.fallbacks];
      return {...parts, fallbacks, loadMs: performance.now() - time};
    };
    const reload: Reload = (lost, reason, tries) => {
      const at = kinds.indexOf(lost);
      const some = tries < 2 || strict ? [lost] : kinds.slice(tries < 3 || !kinds[at + 1] ? at : at + 1);
      time = performance.now();
      return begin(some, some[0] === lost ? [] : [{what: `not ${lost}`, reason}]);
    };
    const recovery = new Recovery(await begin(kinds, []), stop, recover ? reload : undefined, onLost);
    const model = new Model(recovery, (from as Mutable).extrasWith?.(load));
    try {
      if (state) model.state = (await import('../tensors/tensors.ts')).stateOf(model, state, options.stateRows);
    } catch (problem) {
      model.dispose();
      throw problem;
    }
    return model;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}
