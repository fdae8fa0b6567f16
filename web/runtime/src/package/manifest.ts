/** manifest.json: read by manifest_table.ts, then checked, so that no other code needs to. */
import {BLOCK} from './blocks.ts';
import {Fields} from './fields.ts';
import {or, readRows, record} from './manifest_rows.ts';
import {
  type CallEntry, type DimEntry as DimRow, type GroupEntry, type KernelEntry as KernelRow, type LaunchEntry, MANIFEST, type ManifestEntry, PLAN, type SlotEntry,
  type Step, type TensorEntry, type WeightEntry as WeightRow,
} from './manifest_table.ts';
import {type Port, valuePorts} from '../session/ports.ts';
import {bytesOf, type DType, type DeviceKind, GossamerError, product} from '../values/types.ts';

export type {Num} from './fields.ts';
export type {CallEntry, CheckEntry, FileEntry, LaunchEntry, SlotEntry, Step, TensorEntry} from './manifest_table.ts';

/** 2: one file of weights in the package's folder; 3: several, or in the folder above; 4: states that grow. */
const VERSIONS: readonly unknown[] = [2, 3, 4];

/** A value that is not a single tensor: a sequence, or an optional that holds nothing. */
export type Group = GroupEntry & {readonly kind: 'sequence' | 'optional'};

export interface DimEntry extends DimRow {
  readonly axis: number;
}

export interface WeightEntry extends Omit<WeightRow, 'file'> {
  /** The name of the file that has it. */
  readonly file: string;
}

export interface KernelEntry extends KernelRow {
  /** Its place in the package, in a manifest for one kind of adapter. */
  readonly number?: number;
}

export interface Manifest extends Omit<ManifestEntry, 'target' | 'inputs' | 'outputs' | 'groups' | 'dims' | 'weights' | 'kernels'> {
  readonly target: DeviceKind;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly groups: readonly Group[];
  readonly dims: readonly DimEntry[];
  readonly weights: readonly WeightEntry[];
  readonly kernels: readonly KernelEntry[];
}

const SHA256 = /^[0-9a-f]{64}$/;

const isNumber = (each: unknown): each is number => typeof each === 'number';

/** Whether the size is known before anything runs. */
export const isStatic = ({bytes, height}: SlotEntry): boolean => isNumber(bytes ?? height);

/** How many bytes of a tensor a slot of known size has room for. */
const roomOf = ({bytes, width = 0, height, layers = 0}: SlotEntry): number =>
  isNumber(bytes) ? bytes : isNumber(height) ? width * height * layers * 16 : Infinity;

/**
 * Floats are stored as f32 where not as they are, integers and codes in 32 bits; GPUs have little else but
 * types of one and two bytes, of which a word holds four and two.
 */
const storable = (dtype: DType, storage: DType, kind: DeviceKind): boolean =>
  (storage === dtype || (/^b?f\d+$/.test(dtype) ? storage === 'f32' : /^[iu]32$/.test(storage))) &&
  (kind === 'wasm' || /^[fiu]32$/.test(storage) || bytesOf(storage) <= 2);

/** The manifest's content. Throws 'version' or 'damaged'; `where` names the package in messages. */
export function parseManifest(text: string, where: string): Manifest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (problem) {
    throw new GossamerError('damaged', `${where}: manifest.json is not JSON`, {cause: problem});
  }
  const root = new Fields(json, 'manifest.json: package');
  if (root.value('format') !== 'gossamer-package') {
    throw new GossamerError('damaged', `${where}: manifest.json is not that of a gossamer package`);
  }
  const version = root.value('version');
  if (!VERSIONS.includes(version)) {
    throw new GossamerError(
      'version',
      `${where} has package version ${version as string}, this run time knows ${VERSIONS.join(' and ')}: ` +
        `use the run time that came with the compiler`,
    );
  }
  const target = root.text('target') as DeviceKind;
  if (target !== 'webgpu' && target !== 'webgl' && target !== 'wasm') {
    throw new GossamerError('unsupported', `${where} is compiled for ${target as string}, not for browsers`);
  }
  const {values = 0, segments = 1}: Partial<ManifestEntry['plan']> = or(record(PLAN), {})(root, 'plan', {});
  const bounds: Record<string, number> = {
    values, segments, plans: values && segments, devices: root.has('side') ? 2 : 1, textures: Number(target === 'webgl'),
  };
  for (const key in MANIFEST) {
    const value = root.value(key);
    if (Array.isArray(value)) bounds[key] = value.length;
  }
  const manifest = readRows(root, MANIFEST, bounds) as unknown as Manifest;
  const {side, files, slots, tensors, kernels, inputs, outputs, dims, run, steps} = manifest;

  // All indices are within their lists. C++ has the same checks in the same order (runtime/manifest.cc).
  /** Calls check(fields, entry) for each entry of a list. */
  function each<K extends 'files' | 'tensors' | 'kernels' | 'inputs' | 'outputs' | 'groups' | 'dims' | 'weights' | 'init' | 'run'>(
    key: K,
    check: (from: Fields, entry: (typeof manifest)[K][number], at: number) => void,
  ): void {
    root.list(key, (list, at) => check(list.fields(at), manifest[key][at] as never, at));
  }
  const slotOf = (tensor: number): SlotEntry => slots[tensors[tensor]?.slot ?? 0] as SlotEntry;
  /** A port or weight has its tensor's type, and fits where its size is known. */
  const checkStored = (
    from: Fields,
    {dtype, shape, tensor}: {readonly dtype: DType; readonly shape: readonly unknown[]; readonly tensor: number},
  ): void => {
    const entry = tensors[tensor] as TensorEntry;
    if (entry.dtype !== dtype) from.wrong('dtype', `that of its tensor, ${entry.dtype}`);
    if (shape.every(isNumber) && isNumber(entry.elements) && product(shape) > entry.elements) {
      from.wrong('shape', 'within its tensor');
    }
  };

  if (side) {
    const from = root.fields('side');
    if (side.target !== 'wasm') from.wrong('target', 'wasm');
    if (target === 'wasm') from.wrong('target', 'beside a GPU');
    if (!files.some((file) => file.name === side.code)) from.wrong('code', 'one of the files');
  }
  for (const key of ['files', 'inputs', 'outputs'] as const) {
    const seen = new Set<string>();
    each(key, (from, {name}) => {
      if (seen.has(name)) from.wrong('name', 'unique');
      seen.add(name);
    });
  }
  each('files', (from, {bytes, xxh3, sha256, pieces}) => {
    if (!/^[0-9a-f]{16}$/.test(xxh3)) from.wrong('xxh3', '16 hexadecimal digits');
    if (from.has('sha256') && !SHA256.test(sha256)) from.wrong('sha256', '64 hexadecimal digits');
    if (from.has('pieces') && (pieces.length !== Math.ceil(bytes / BLOCK) || !pieces.every((piece) => SHA256.test(piece)))) {
      from.wrong('pieces', `64 hexadecimal digits for each ${BLOCK} bytes`);
    }
  });
  each('tensors', (from, {dtype, storage, elements, slot}) => {
    const memory = slots[slot] as SlotEntry;
    if (!storable(dtype, storage, memory.device === 0 ? target : 'wasm')) {
      from.wrong('storage', `a storage type of ${dtype} there`);
    }
    if (isNumber(elements) && elements * bytesOf(storage) > roomOf(memory)) from.wrong('elements', 'within its slot');
  });
  each('kernels', (from, {device, code, writes, buffers}) => {
    if (target !== 'wasm' && device === 0 && code === undefined) from.wrong('code', 'an integer in range');
    if (writes > buffers) from.wrong('writes', `in [1, ${buffers + 1})`);
  });
  for (const key of ['inputs', 'outputs'] as const) {
    each(key, (from, port) => {
      checkStored(from, port);
      if (key === 'inputs' && slotOf(port.tensor).segment > 0) from.wrong('tensor', 'in memory of the first segment');
    });
    // The bytes of strings have one axis more than their lengths, the next port.
    each(key, (from, {strings, dtype, shape}, at) => {
      const next = manifest[key][at + 1];
      if (strings && (!next || next.strings || dtype !== 'u8' || next.dtype !== 'i32' || shape.length !== next.shape.length + 1)) {
        from.wrong('strings', 'before its lengths');
      }
    });
  }
  each('groups', (from, group) => {
    const {kind} = group;
    if (kind !== 'sequence' && kind !== 'optional') from.wrong('kind', 'sequence or optional');
    const key = group.outputs ? 'outputs' : 'inputs';
    const [first, size] = group[key] ?? from.wrong(key, '2 items long');
    if (first + size > valuePorts(manifest[key]).length) from.wrong(key, `part of ${key}`);
    if (kind === 'optional' && size > 0) from.wrong('kind', 'that of something');
  });
  const named = new Set<unknown>();
  const grown = new Set<number>();
  each('dims', (from, {name, input, axis, output}) => {
    if (input === undefined && output === undefined) return;
    const {shape, tensor} = inputs[from.count('input', inputs.length)] as Port;
    from.count('axis', shape.length);
    if (output === undefined) {
      if (shape[axis] !== name || named.has(name)) from.wrong('name', 'that of its axis, once');
      named.add(name);
    } else {
      const next = outputs[output] as Port;
      if (next.tensor !== tensor || next.shape.length !== shape.length || grown.has(tensor)) from.wrong('input', 'what its output alone continues');
      grown.add(tensor);
    }
  });
  if (inputs.some(({shape}) => shape.some((extent) => typeof extent === 'string' && !named.has(extent)))) {
    root.wrong('dims', 'complete');
  }
  each('weights', (from, weight) => {
    checkStored(from, weight);
    if (!isStatic(slotOf(weight.tensor))) from.wrong('tensor', 'in memory of known size');
    const {file}: {readonly file?: unknown} = weight; // its place, until here
    (weight as {file: string}).file = files[file as number]?.name ?? 'weights.safetensors';
  });
  const checkLaunch = (from: Fields, launch: LaunchEntry): SlotEntry[] => {
    const touched = launch.tensors.map(slotOf);
    const checkCall = (call: Fields, {kernel: number, scalars}: CallEntry): void => {
      const kernel = kernels[number] as KernelEntry;
      if (touched.length !== kernel.buffers) call.wrong('kernel', 'one with a buffer a tensor');
      if (scalars.length !== kernel.scalars) call.wrong('scalars', 'one number a scalar of the kernel');
      if (touched.some(({device}) => device !== kernel.device)) call.wrong('kernel', 'on the device of its tensors');
      if (touched.some((slot, at) => at >= touched.length - kernel.writes && touched.indexOf(slot) < at)) {
        from.wrong('tensors', 'apart from what the kernel writes');
      }
    };
    checkCall(from, launch);
    if (launch.hardware) checkCall(from.fields('hardware'), launch.hardware);
    return touched;
  };
  each('init', (from, launch) => {
    if (!checkLaunch(from, launch).every(isStatic)) from.wrong('tensors', 'in memory of known size');
  });
  each('run', checkLaunch);
  const launches = run.map(({kernel}) => (kernels[kernel] as KernelEntry).device);
  const checkSteps = (parent: Fields, key: string, list: readonly Step[]): void => {
    parent.list(key, (items, at) => {
      const from = items.fields(at);
      const step = list[at] as Step;
      if ('launch' in step) {
        const [first, last] = step.launch;
        if (last < first) from.wrong('launch', 'a part of run');
        if (new Set(launches.slice(first, last)).size > 1) from.wrong('launch', 'a part of run on one device');
      } else if ('copy' in step) {
        const [source, to] = step.copy;
        if (tensors[source]?.dtype !== tensors[to]?.dtype || slotOf(source).device === slotOf(to).device) {
          from.wrong('copy', 'a pair of tensors of one type on two devices');
        }
      } else if ('read' in step) {
        if (/f/.test(tensors[step.read]?.dtype ?? '')) from.wrong('read', 'a tensor of integers');
        from.count('dims', dims.length - step.count + 1);
      } else if ('if' in step) {
        checkSteps(from, 'then', step.then);
        checkSteps(from, 'else', step.else);
      } else if ('loop' in step) {
        checkSteps(from, 'body', step.body);
      }
    });
  };
  checkSteps(root, 'steps', steps);
  if (steps.length > 0 && grown.size > 0) root.wrong('steps', 'absent where states grow');
  if (steps.length === 0 && launches.includes(1)) root.wrong('steps', 'there to copy to the side');
  if (steps.length === 0 && segments > 1) root.fields('plan').wrong('segments', 'a number of segments that steps run');
  return manifest;
}

/** Kernels of wasm packages with relaxed SIMD, where that makes a difference. */
export const RELAXED = 'kernels.relaxed.wasm';
/** The same with relaxed SIMD's dot product of bytes, where kernels have any. */
export const DOTS = 'kernels.dots.wasm';
/** Names of all of these. */
export const MODULE = /^kernels\..*wasm$/;

/**
 * The manifest as it is for one kind of adapter: its launches, the kernels that they call, the files that have these.
 * `dots`: it takes DOTS, which are there, instead of RELAXED.
 */
export function forAdapter(given: Manifest, software: boolean, dots: boolean): Manifest {
  const taken = software ? 'kernels.wasm' : dots ? DOTS : RELAXED;
  const manifest = {...given, files: given.files.filter(({name}) => name === taken || !MODULE.test(name))};
  if (!manifest.run.concat(manifest.init).some(({hardware}) => hardware)) return manifest;
  const numbers = new Map<number, number>();
  const pick = (launch: LaunchEntry): LaunchEntry => {
    const chosen = {...launch, ...(software ? undefined : launch.hardware)};
    const number = numbers.get(chosen.kernel) ?? numbers.size;
    numbers.set(chosen.kernel, number);
    return {...chosen, kernel: number};
  };
  const init = manifest.init.map(pick);
  const run = manifest.run.map(pick);
  const kernels = [...numbers.keys()].map((number) => ({...(manifest.kernels[number] as KernelEntry), number}));
  return {...manifest, init, run, kernels};
}

/** The folder of each package that index.json lists. Throws 'damaged'. */
export function parseIndex(text: string, kinds: readonly DeviceKind[]): Map<DeviceKind, string> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Reported below: it does not list any package.
  }
  const variants = new Fields(json, 'index.json: index').fields('variants');
  return new Map(
    kinds.flatMap((kind) => (variants.has(kind) ? [[kind, variants.folder(kind)] as const] : [])),
  );
}
