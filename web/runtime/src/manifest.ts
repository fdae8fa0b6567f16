/** manifest.json, as docs/specs/package.md has it, checked once so that nothing else has to. */
import {type DType, type DeviceKind, GossamerError, isDType} from './types.ts';

export const FORMAT_VERSION = 1;

/** A number known now, or the index of a value that the plan function computes. */
export type Num = number | {readonly plan: number};

export interface Port {
  readonly name: string;
  readonly dtype: DType;
  /** Inputs: a number or a dimension's name; outputs: numbers or plan values. */
  readonly shape: readonly (Num | string)[];
  readonly tensor: number;
}

export interface FileEntry {
  readonly name: string;
  readonly bytes: number;
  readonly xxh3: string;
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
}

export interface WeightEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly tensor: number;
}

export interface KernelEntry {
  readonly name: string;
  readonly entry: string;
  readonly code?: number;
  readonly group: number;
  readonly buffers: number;
  readonly scalars: number;
  readonly schedule: string;
}

export interface LaunchEntry {
  readonly kernel: number;
  readonly tensors: readonly number[];
  readonly scalars: readonly Num[];
  readonly range: Num;
  readonly origin: string;
}

export interface Manifest {
  readonly name: string;
  readonly target: DeviceKind;
  readonly needs: readonly string[];
  readonly files: readonly FileEntry[];
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly dims: readonly {readonly name: string; readonly input: number; readonly axis: number}[];
  readonly checks: readonly {readonly value: Num; readonly message: string}[];
  readonly planValues: number;
  readonly tensors: readonly TensorEntry[];
  readonly slots: readonly SlotEntry[];
  readonly weights: readonly WeightEntry[];
  readonly kernels: readonly KernelEntry[];
  readonly init: readonly LaunchEntry[];
  readonly run: readonly LaunchEntry[];
}

type Json = Record<string, unknown>;

/** Reads fields and says where in the manifest something is not as it must be. */
class Fields {
  readonly #json: Json;
  readonly #where: string;
  constructor(json: unknown, where: string) {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new GossamerError('damaged', `manifest.json: ${where} is not an object`);
    }
    this.#json = json as Json;
    this.#where = where;
  }
  wrong(key: string, wanted: string): never {
    throw new GossamerError('damaged', `manifest.json: ${this.#where}.${key} is not ${wanted}`);
  }
  has(key: string): boolean {
    return this.#json[key] !== undefined;
  }
  text(key: string, otherwise?: string): string {
    const value = this.#json[key] ?? otherwise;
    return typeof value === 'string' ? value : this.wrong(key, 'a string');
  }
  /** An integer in [0, below). */
  count(key: string, below = Number.MAX_SAFE_INTEGER, otherwise?: number): number {
    const value = this.#json[key] ?? otherwise;
    return Number.isInteger(value) && (value as number) >= 0 && (value as number) < below
      ? (value as number)
      : this.wrong(key, below === Number.MAX_SAFE_INTEGER ? 'a count' : `in [0, ${below})`);
  }
  dtype(key: string): DType {
    const value = this.#json[key];
    return isDType(value) ? value : this.wrong(key, 'a known element type');
  }
  /** An array, absent meaning empty. */
  list<T>(key: string, each: (item: unknown, where: string) => T): T[] {
    const value = this.#json[key] ?? [];
    if (!Array.isArray(value)) return this.wrong(key, 'an array');
    return value.map((item, at) => each(item, `${this.#where}.${key}[${at}]`));
  }
  objects<T>(key: string, each: (fields: Fields) => T): T[] {
    return this.list(key, (item, where) => each(new Fields(item, where)));
  }
  value(key: string): unknown {
    return this.#json[key];
  }
}

function wrongNumber(where: string): never {
  throw new GossamerError('damaged', `manifest.json: ${where} is not a number or a plan value`);
}

function readNumber(value: unknown, where: string, planValues: number): Num {
  if (Number.isSafeInteger(value)) return value as number;
  const index = (value as {plan?: unknown} | null | undefined)?.plan;
  if (Number.isInteger(index) && (index as number) >= 0 && (index as number) < planValues) {
    return {plan: index as number};
  }
  return wrongNumber(where);
}

/** An extent or size: never negative. */
function readSize(value: unknown, where: string, planValues: number): Num {
  const size = readNumber(value, where, planValues);
  return typeof size === 'number' && size < 0 ? wrongNumber(where) : size;
}

function readPorts(root: Fields, key: string, tensors: number, planValues: number): Port[] {
  const seen = new Set<string>();
  return root.objects(key, (port) => {
    const name = port.text('name');
    if (seen.has(name)) port.wrong('name', 'unique');
    seen.add(name);
    return {
      name,
      dtype: port.dtype('dtype'),
      shape: port.list('shape', (extent, where) =>
        typeof extent === 'string' ? extent : readSize(extent, where, planValues),
      ),
      tensor: port.count('tensor', tensors),
    };
  });
}

/** The manifest's content. Throws 'version' or 'damaged'; `where` names the package in messages. */
export function parseManifest(text: string, where: string): Manifest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (problem) {
    throw new GossamerError('damaged', `${where}: manifest.json is not JSON`, {cause: problem});
  }
  const root = new Fields(json, 'package');
  if (root.value('format') !== 'gossamer-package') {
    throw new GossamerError('damaged', `${where}: manifest.json is not that of a gossamer package`);
  }
  const version = root.value('version');
  if (version !== FORMAT_VERSION) {
    throw new GossamerError(
      'version',
      `${where} has package version ${String(version)}, this run time knows ${FORMAT_VERSION}: ` +
        `use the run time that came with the compiler`,
    );
  }
  const target = root.text('target');
  if (target !== 'webgpu' && target !== 'webgl' && target !== 'wasm') {
    throw new GossamerError('unsupported', `${where} is compiled for ${target}, not for browsers`);
  }
  const planValues = root.has('plan')
    ? new Fields(root.value('plan'), 'package.plan').count('values', 1 << 20)
    : 0;
  const number = (fields: Fields, key: string): Num =>
    readSize(fields.value(key), key, planValues);

  const slots = root.objects('slots', (slot): SlotEntry => {
    const persistent = slot.value('persistent') === true;
    return target === 'webgl'
      ? {
          width: slot.count('width', 1 << 16),
          height: number(slot, 'height'),
          layers: slot.count('layers', 9),
          persistent,
        }
      : {bytes: number(slot, 'bytes'), persistent};
  });
  const tensors = root.objects('tensors', (tensor): TensorEntry => ({
    name: tensor.text('name', ''),
    dtype: tensor.dtype('dtype'),
    storage: tensor.dtype('storage'),
    elements: number(tensor, 'elements'),
    slot: tensor.count('slot', slots.length),
  }));
  const kernels = root.objects('kernels', (kernel): KernelEntry => ({
    name: kernel.text('name'),
    entry: kernel.text('entry'),
    ...(target === 'wasm' ? {} : {code: kernel.count('code')}),
    group: kernel.count('group', 1 << 16, 1),
    buffers: kernel.count('buffers', 1 << 16),
    scalars: kernel.count('scalars', 1 << 16),
    schedule: kernel.text('schedule', ''),
  }));
  const readLaunch = (launch: Fields): LaunchEntry => {
    const kernel = launch.count('kernel', kernels.length);
    const index = (item: unknown): number =>
      Number.isInteger(item) && (item as number) >= 0 && (item as number) < tensors.length
        ? (item as number)
        : launch.wrong('tensors', 'a list of tensors');
    const entry: LaunchEntry = {
      kernel,
      tensors: launch.list('tensors', index),
      scalars: launch.list('scalars', (item, at) => readNumber(item, at, planValues)),
      range: number(launch, 'range'),
      origin: launch.text('origin', ''),
    };
    if (entry.tensors.length !== kernels[kernel]?.buffers) {
      launch.wrong('tensors', 'one tensor a buffer of the kernel');
    }
    if (entry.scalars.length !== kernels[kernel].scalars) {
      launch.wrong('scalars', 'one number a scalar of the kernel');
    }
    return entry;
  };
  const inputs = readPorts(root, 'inputs', tensors.length, planValues);
  const dims = root.objects('dims', (dim) => {
    const input = dim.count('input', inputs.length);
    return {
      name: dim.text('name'),
      input,
      axis: dim.count('axis', inputs[input]?.shape.length ?? 0),
    };
  });
  const outputs = readPorts(root, 'outputs', tensors.length, planValues);
  for (const output of outputs) {
    if (output.shape.some((extent) => typeof extent === 'string')) {
      throw new GossamerError('damaged', `manifest.json: output "${output.name}" has no known shape`);
    }
  }
  return {
    name: root.text('name', ''),
    target,
    needs: root.list('needs', (need) => String(need)),
    files: root.objects('files', (file) => ({
      name: file.text('name'),
      bytes: file.count('bytes'),
      xxh3: file.text('xxh3'),
    })),
    inputs,
    outputs,
    dims,
    checks: root.objects('checks', (check) => ({
      value: readNumber(check.value('value'), 'checks.value', planValues),
      message: check.text('message'),
    })),
    planValues,
    tensors,
    slots,
    weights: root.objects('weights', (weight) => ({
      name: weight.text('name'),
      dtype: weight.dtype('dtype'),
      shape: weight.list('shape', (extent) => Number(extent)),
      tensor: weight.count('tensor', tensors.length),
    })),
    kernels,
    init: root.objects('init', readLaunch),
    run: root.objects('run', readLaunch),
  };
}
