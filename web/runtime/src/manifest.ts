/** manifest.json, as docs/specs/package.md has it, checked once so that nothing else has to. */
import {BLOCK} from './blocks.ts';
import {ANY, Fields, type Num} from './fields.ts';
import {type Port, valuePorts} from './ports.ts';
import {readSteps, type Step} from './steps.ts';
import {bytesOf, type DType, type DeviceKind, GossamerError, product} from './types.ts';

export type {Num} from './fields.ts';

/** What is read: packages whose weights lie in one file of their own are of version 2, those with states that grow of version 4. */
const VERSIONS: readonly unknown[] = [2, 3, 4];

/** A value that is no single tensor: parts are the first input (output) and how many there are. */
export interface Group {
  readonly name: string;
  /** An optional listed here holds nothing. */
  readonly kind: 'sequence' | 'optional';
  readonly inputs?: readonly [number, number];
  readonly outputs?: readonly [number, number];
}

export interface FileEntry {
  readonly name: string;
  readonly bytes: number;
  readonly xxh3: string;
  /** "": not told. */
  readonly sha256: string;
  /** The SHA-256 of each BLOCK bytes of a larger file; none: the manifest does not list them. */
  readonly pieces: readonly string[];
  /** It lies in the folder above. */
  readonly above: boolean;
}

export interface TensorEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly storage: DType;
  readonly elements: Num;
  readonly slot: number;
}

export interface SlotEntry {
  readonly bytes?: Num;
  readonly width?: number;
  readonly height?: Num;
  readonly layers?: number;
  readonly persistent: boolean;
  /** Of the plan, after which the size is known. */
  readonly segment: number;
  /** 0: the target, 1: the side. */
  readonly device: number;
}

/** A variable of the host program: a dimension of an input, one that steps set, or how many rows states have room for. */
export interface DimEntry {
  readonly name: string;
  readonly input: number | undefined;
  readonly axis: number;
  /**
   * Of a state: the output that is the same tensor as the input, whose memory's extent along the axis this is. The run time chooses it,
   * at least `rows`, a value of the plan which does not hang on it.
   */
  readonly output?: number;
  readonly rows?: Num;
}

export interface CheckEntry {
  readonly value: Num;
  readonly message: string;
  readonly segment: number;
  /** Not 0: the value counts elements, and this is the most there may be. */
  readonly most: number;
}

export interface WeightEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly tensor: number;
  /** The name of the file that has it. */
  readonly file: string;
}

export interface KernelEntry {
  readonly name: string;
  readonly entry: string;
  readonly code?: number;
  readonly group: number;
  readonly buffers: number;
  readonly writes: number;
  readonly scalars: number;
  readonly schedule: string;
  readonly device: number;
  /** Its place in the package, where only the kernels of one kind of adapter are here. */
  readonly number?: number;
}

export interface CallEntry {
  readonly kernel: number;
  readonly scalars: readonly Num[];
  readonly range: Num;
}

export interface LaunchEntry extends CallEntry {
  readonly tensors: readonly number[];
  /** What computes the same on GPUs in hardware, or with relaxed SIMD, where that differs from others. */
  readonly hardware: CallEntry | undefined;
  /** Of its arithmetic, for profiles; 0: none, or not known. */
  readonly operations: Num;
  readonly origin: string;
  /** Why it runs on the side. */
  readonly reason: string | undefined;
}

export interface Manifest {
  readonly name: string;
  readonly target: DeviceKind;
  /** The file with the code of what the target cannot compute, for wasm. */
  readonly side: string | undefined;
  readonly needs: readonly string[];
  readonly files: readonly FileEntry[];
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly groups: readonly Group[];
  readonly dims: readonly DimEntry[];
  readonly checks: readonly CheckEntry[];
  /** 0: everything is static. */
  readonly planValues: number;
  readonly planSegments: number;
  readonly tensors: readonly TensorEntry[];
  readonly slots: readonly SlotEntry[];
  readonly weights: readonly WeightEntry[];
  readonly kernels: readonly KernelEntry[];
  readonly init: readonly LaunchEntry[];
  readonly run: readonly LaunchEntry[];
  /** Empty: all of run, in order. */
  readonly steps: readonly Step[];
}

/** Sizes, ranges and scalars of the targets have 32 bits. */
const INT = 2 ** 31;
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

function readUnique<T extends {readonly name: string}>(
  root: Fields,
  key: string,
  each: (fields: Fields) => T,
): T[] {
  const seen = new Set<string>();
  return root.objects(key, (fields) => {
    const entry = each(fields);
    if (seen.has(entry.name)) fields.wrong('name', 'unique');
    seen.add(entry.name);
    return entry;
  });
}

/** The bytes of strings have an axis more than their lengths, which follow. */
function checkStrings(fields: Fields, ports: readonly Port[], at: number): void {
  const {dtype, shape, strings} = ports[at] as Port;
  const next = ports[at + 1];
  if (!strings) return;
  if (
    !next ||
    next.strings ||
    dtype !== 'u8' ||
    next.dtype !== 'i32' ||
    shape.length !== next.shape.length + 1
  ) {
    fields.wrong('strings', 'before its lengths');
  }
}

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
      `${where} has package version ${String(version)}, this run time knows ${VERSIONS.join(' and ')}: ` +
        `use the run time that came with the compiler`,
    );
  }
  const target = root.text('target') as DeviceKind;
  if (target !== 'webgpu' && target !== 'webgl' && target !== 'wasm') {
    throw new GossamerError('unsupported', `${where} is compiled for ${String(target)}, not for browsers`);
  }
  const plan = root.has('plan') ? root.fields('plan') : undefined;
  const planValues = plan?.count('values', 2 ** 20 + 1, undefined, 1) ?? 0;
  const planSegments = plan?.count('segments', 2 ** 16, 1, 1) ?? 1;
  const beside = root.has('side') ? root.fields('side') : undefined;
  if (beside && beside.text('target') !== 'wasm') beside.wrong('target', 'wasm');
  if (beside && target === 'wasm') beside.wrong('target', 'beside a GPU');
  const side = beside?.text('code');
  const name = root.text('name', '');
  const needs = root.list('needs', (list, at) => list.text(at));
  const files = readUnique(root, 'files', (file): FileEntry => {
    const entry = {
      name: file.name('name'),
      bytes: file.count('bytes'),
      xxh3: file.text('xxh3'),
      sha256: file.text('sha256', ''),
      pieces: file.list('pieces', (list, at) => list.text(at)),
      above: file.flag('above'),
    };
    if (!/^[0-9a-f]{16}$/.test(entry.xxh3)) file.wrong('xxh3', '16 hexadecimal digits');
    if (file.has('sha256') && !SHA256.test(entry.sha256)) file.wrong('sha256', '64 hexadecimal digits');
    if (file.has('pieces') && (entry.pieces.length !== Math.ceil(entry.bytes / BLOCK) || !entry.pieces.every((piece) => SHA256.test(piece)))) {
      file.wrong('pieces', `64 hexadecimal digits for each ${BLOCK} bytes`);
    }
    return entry;
  });
  if (beside && !files.some((file) => file.name === side)) beside.wrong('code', 'one of the files');

  const deviceOf = (fields: Fields): number => fields.count('device', side === undefined ? 1 : 2, 0);
  const slots = root.objects('slots', (slot): SlotEntry => {
    const common = {
      persistent: slot.flag('persistent'),
      segment: slot.count('segment', planSegments, 0),
      device: deviceOf(slot),
    };
    return target === 'webgl' && common.device === 0
      ? {
          width: slot.count('width', 2 ** 16 + 1, undefined, 1),
          height: slot.number('height', planValues),
          layers: slot.count('layers', 9, undefined, 1),
          ...common,
        }
      : {bytes: slot.number('bytes', planValues), ...common};
  });
  const tensors = root.objects('tensors', (tensor): TensorEntry => {
    const entry = {
      name: tensor.text('name', ''),
      dtype: tensor.dtype('dtype'),
      storage: tensor.dtype('storage'),
      elements: tensor.number('elements', planValues),
      slot: tensor.count('slot', slots.length),
    };
    const {dtype, storage, elements, slot} = entry;
    const size = bytesOf(storage);
    const memory = slots[slot] as SlotEntry;
    if (!storable(dtype, storage, memory.device === 0 ? target : 'wasm')) {
      tensor.wrong('storage', `a storage type of ${dtype} there`);
    }
    if (isNumber(elements) && elements * size > roomOf(memory)) {
      tensor.wrong('elements', 'within its slot');
    }
    return entry;
  });
  const slotOf = (tensor: number): SlotEntry => slots[tensors[tensor]?.slot ?? 0] as SlotEntry;
  const places = tensors.map((_, at) => slotOf(at).device);
  const kernels = root.objects('kernels', (kernel): KernelEntry => {
    const device = deviceOf(kernel);
    const entry = {
      name: kernel.text('name'),
      entry: kernel.text('entry'),
      ...(target === 'wasm' || device === 1 ? {} : {code: kernel.count('code')}),
      group: kernel.count('group', 2 ** 16 + 1, 1, 1),
      buffers: kernel.count('buffers', 1025, undefined, 1),
      scalars: kernel.count('scalars', 1025),
      schedule: kernel.text('schedule', ''),
      device,
    };
    return {...entry, writes: kernel.count('writes', entry.buffers + 1, 1, 1)};
  });

  /** Of a port or weight: what is known fits its tensor, and the types are one. */
  const checkTensor = (
    fields: Fields,
    {dtype, shape, tensor}: {dtype: DType; shape: readonly unknown[]; tensor: number},
  ): void => {
    const entry = tensors[tensor] as TensorEntry;
    if (entry.dtype !== dtype) fields.wrong('dtype', `that of its tensor, ${entry.dtype}`);
    if (shape.every(isNumber) && isNumber(entry.elements) && product(shape) > entry.elements) {
      fields.wrong('shape', 'within its tensor');
    }
  };
  const readPorts = (key: 'inputs' | 'outputs'): Port[] => {
    const all: Fields[] = [];
    const ports = readUnique(root, key, (port): Port => {
      all.push(port);
      const entry = {
        name: port.text('name'),
        dtype: port.dtype('dtype'),
        shape: port.list('shape', (list, at) => {
          const symbol = list.value(at);
          if (key === 'outputs') return list.number(at, planValues);
          return typeof symbol === 'string' ? symbol : list.count(at);
        }),
        tensor: port.count('tensor', tensors.length),
        strings: port.flag('strings'),
      };
      checkTensor(port, entry);
      if (key === 'inputs' && slotOf(entry.tensor).segment > 0) {
        port.wrong('tensor', 'in memory of the first segment');
      }
      return entry;
    });
    all.forEach((port, at) => checkStrings(port, ports, at));
    return ports;
  };
  const inputs = readPorts('inputs');
  const outputs = readPorts('outputs');
  const groups = root.objects('groups', (group): Group => {
    const kind = group.text('kind') as Group['kind'];
    if (kind !== 'sequence' && kind !== 'optional') group.wrong('kind', 'sequence or optional');
    const key = group.has('outputs') ? 'outputs' : 'inputs';
    const most = valuePorts(key === 'outputs' ? outputs : inputs).length;
    const part = group.list(key, (list, at) => list.count(at, most + 1), 2) as [number, number];
    if (part[0] + part[1] > most) group.wrong(key, `part of ${key}`);
    if (kind === 'optional' && part[1] > 0) group.wrong('kind', 'that of something');
    return {name: group.text('name'), kind, [key]: part};
  });
  const named = new Set<unknown>();
  const grown = new Set<number>();
  const dims = root.objects('dims', (dim): DimEntry => {
    const entry = {name: dim.text('name'), input: undefined, axis: 0};
    if (!dim.has('input')) return entry;
    const input = dim.count('input', inputs.length);
    const {shape, tensor} = inputs[input] as Port;
    const axis = dim.count('axis', shape.length);
    if (dim.has('rows')) {
      const rows = dim.number('rows', planValues);
      const output = dim.count('output', outputs.length);
      const next = outputs[output] as Port;
      if (next.tensor !== tensor || next.shape.length !== shape.length || grown.has(tensor)) dim.wrong('input', 'what its output alone continues');
      grown.add(tensor);
      return {...entry, input, axis, output, rows};
    }
    if (shape[axis] !== entry.name || named.has(entry.name)) dim.wrong('name', 'that of its axis, once');
    named.add(entry.name);
    return {...entry, input, axis};
  });
  if (inputs.some(({shape}) => shape.some((each) => typeof each === 'string' && !named.has(each)))) {
    root.wrong('dims', 'complete');
  }
  const checks = root.objects('checks', (check): CheckEntry => ({
    value: check.number('value', planValues),
    message: check.text('message'),
    segment: check.count('segment', planSegments, 0),
    most: check.count('most', ANY, 0),
  }));
  const weights = root.objects('weights', (weight): WeightEntry => {
    const entry = {
      name: weight.text('name'),
      dtype: weight.dtype('dtype'),
      shape: weight.list('shape', (list, at) => list.count(at)),
      tensor: weight.count('tensor', tensors.length),
    };
    checkTensor(weight, entry);
    if (!isStatic(slotOf(entry.tensor))) weight.wrong('tensor', 'in memory of known size');
    const file = weight.has('file') ? files[weight.count('file', files.length)]?.name : undefined;
    return {...entry, file: file ?? 'weights.safetensors'};
  });
  /** Numbers of launches at load are known. */
  const readLaunch = (launch: Fields, values: number): LaunchEntry => {
    const own = launch.list('tensors', (list, at) => list.count(at, tensors.length));
    const touched = own.map(slotOf);
    const readCall = (call: Fields): CallEntry => {
      const entry = {
        kernel: call.count('kernel', kernels.length),
        scalars: call.list('scalars', (list, at) => list.number(at, values, INT, -INT)),
        range: call.number('range', values, INT),
      };
      const kernel = kernels[entry.kernel] as KernelEntry;
      if (touched.length !== kernel.buffers) call.wrong('kernel', 'one with a buffer a tensor');
      if (entry.scalars.length !== kernel.scalars) call.wrong('scalars', 'one number a scalar of the kernel');
      if (touched.some(({device}) => device !== kernel.device)) {
        call.wrong('kernel', 'on the device of its tensors');
      }
      if (touched.some((slot, at) => at >= touched.length - kernel.writes && touched.indexOf(slot) < at)) {
        launch.wrong('tensors', 'apart from what the kernel writes');
      }
      return entry;
    };
    const entry: LaunchEntry = {
      ...readCall(launch),
      tensors: own,
      hardware: launch.has('hardware') ? readCall(launch.fields('hardware')) : undefined,
      operations: launch.has('operations') ? launch.number('operations', values) : 0,
      origin: launch.text('origin', ''),
      reason: launch.has('reason') ? launch.text('reason') : undefined,
    };
    return entry;
  };
  const init = root.objects('init', (launch) => {
    const entry = readLaunch(launch, 0);
    if (!entry.tensors.map(slotOf).every(isStatic)) launch.wrong('tensors', 'in memory of known size');
    return entry;
  });
  const run = root.objects('run', (launch) => readLaunch(launch, planValues));
  const launches = run.map(({kernel}) => kernels[kernel]?.device ?? 0);
  const steps = readSteps(root, 'steps', {
    dims: dims.length, launches, places, planValues, planSegments, tensors,
  });
  if (steps.length > 0 && grown.size > 0) root.wrong('steps', 'absent where states grow');
  if (steps.length === 0 && launches.includes(1)) root.wrong('steps', 'there to copy to the side');
  if (steps.length === 0 && planSegments > 1) plan?.wrong('segments', 'a number of segments that steps run');
  return {
    name, target, side, needs, files, inputs, outputs, groups, dims, checks, planValues, planSegments,
    tensors, slots, weights, kernels, init, run, steps,
  };
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
    // Below: nothing that is no object lists any.
  }
  const variants = new Fields(json, 'index.json: index').fields('variants');
  return new Map(
    kinds.flatMap((kind) => (variants.has(kind) ? [[kind, variants.folder(kind)] as const] : [])),
  );
}
