/** manifest.json, as docs/specs/package.md has it, checked once so that nothing else has to. */
import {Fields, type Num, readNumber, readSize} from './fields.ts';
import {readSteps, type Step} from './steps.ts';
import {valuePorts} from './strings.ts';
import {type DType, type DeviceKind, GossamerError} from './types.ts';

export type {Num} from './fields.ts';

export const FORMAT_VERSION = 1;

export interface Port {
  readonly name: string;
  readonly dtype: DType;
  /** Inputs: a number or a dimension's name; outputs: numbers or plan values. */
  readonly shape: readonly (Num | string)[];
  readonly tensor: number;
  /** The bytes of a tensor of strings; the next port has the lengths. */
  readonly strings: boolean;
}

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

/** A variable of the host program: a dimension of an input, or one that steps set. */
export interface DimEntry {
  readonly name: string;
  readonly input: number | undefined;
  readonly axis: number;
}

export interface CheckEntry {
  readonly value: Num;
  readonly message: string;
  readonly segment: number;
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
  readonly device: number;
}

export interface LaunchEntry {
  readonly kernel: number;
  readonly tensors: readonly number[];
  readonly scalars: readonly Num[];
  readonly range: Num;
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
      strings: port.value('strings') === true,
    };
  });
}

function readGroup(group: Fields, ports: {inputs: number; outputs: number}): Group {
  const side = group.has('outputs') ? 'outputs' : 'inputs';
  const kind = group.text('kind');
  if (kind !== 'sequence' && kind !== 'optional') group.wrong('kind', 'sequence or optional');
  const [first, count] = group.list(side, Number);
  const inside = (first as number) >= 0 && (count as number) >= 0;
  if (!inside || (first as number) + (count as number) > ports[side]) group.wrong(side, `part of ${side}`);
  return {name: group.text('name'), kind, [side]: [first, count]};
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
  const plan = root.has('plan') ? new Fields(root.value('plan'), 'package.plan') : undefined;
  const planValues = plan?.count('values', 1 << 20) ?? 0;
  const planSegments = plan?.count('segments', 1 << 16, 1) ?? 1;
  if (planSegments === 0 || (planSegments > 1 && !root.has('steps'))) {
    plan?.wrong('segments', 'a number of segments that steps run');
  }
  let side: string | undefined;
  if (root.has('side')) {
    const fields = new Fields(root.value('side'), 'package.side');
    if (fields.text('target') !== 'wasm' || target === 'wasm') fields.wrong('target', 'wasm beside a GPU');
    side = fields.text('code');
  }
  const deviceOf = (fields: Fields): number => fields.count('device', side === undefined ? 1 : 2, 0);
  const segmentOf = (fields: Fields): number => fields.count('segment', planSegments, 0);
  const number = (fields: Fields, key: string): Num =>
    readSize(fields.value(key), key, planValues);

  const slots = root.objects('slots', (slot): SlotEntry => {
    const device = deviceOf(slot);
    const common = {persistent: slot.value('persistent') === true, segment: segmentOf(slot), device};
    return target === 'webgl' && device === 0
      ? {
          width: slot.count('width', 1 << 16),
          height: number(slot, 'height'),
          layers: slot.count('layers', 9),
          ...common,
        }
      : {bytes: number(slot, 'bytes'), ...common};
  });
  const tensors = root.objects('tensors', (tensor): TensorEntry => ({
    name: tensor.text('name', ''),
    dtype: tensor.dtype('dtype'),
    storage: tensor.dtype('storage'),
    elements: number(tensor, 'elements'),
    slot: tensor.count('slot', slots.length),
  }));
  const places = tensors.map(({slot}) => slots[slot]?.device ?? 0);
  const kernels = root.objects('kernels', (kernel): KernelEntry => ({
    name: kernel.text('name'),
    entry: kernel.text('entry'),
    ...(target === 'wasm' || deviceOf(kernel) === 1 ? {} : {code: kernel.count('code')}),
    group: kernel.count('group', 1 << 16, 1),
    buffers: kernel.count('buffers', 1 << 16),
    scalars: kernel.count('scalars', 1 << 16),
    schedule: kernel.text('schedule', ''),
    device: deviceOf(kernel),
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
      reason: launch.has('reason') ? launch.text('reason') : undefined,
    };
    if (entry.tensors.some((tensor) => places[tensor] !== kernels[kernel]?.device)) {
      launch.wrong('tensors', 'on the device of the kernel');
    }
    if (entry.tensors.length !== kernels[kernel]?.buffers) {
      launch.wrong('tensors', 'one tensor a buffer of the kernel');
    }
    if (entry.scalars.length !== kernels[kernel].scalars) {
      launch.wrong('scalars', 'one number a scalar of the kernel');
    }
    return entry;
  };
  const inputs = readPorts(root, 'inputs', tensors.length, planValues);
  for (const {name, tensor} of inputs) {
    if (slots[tensors[tensor]?.slot ?? 0]?.segment !== 0) {
      throw new GossamerError('damaged', `manifest.json: input "${name}" lies in a later segment`);
    }
  }
  const dims = root.objects('dims', (dim): DimEntry => {
    const name = dim.text('name');
    if (!dim.has('input')) return {name, input: undefined, axis: 0};
    const input = dim.count('input', inputs.length);
    return {name, input, axis: dim.count('axis', inputs[input]?.shape.length ?? 0)};
  });
  const outputs = readPorts(root, 'outputs', tensors.length, planValues);
  for (const output of outputs) {
    if (output.shape.some((extent) => typeof extent === 'string')) {
      throw new GossamerError('damaged', `manifest.json: output "${output.name}" has no known shape`);
    }
  }
  const run = root.objects('run', readLaunch);
  const launches = run.map(({kernel}) => kernels[kernel]?.device ?? 0);
  if (!root.has('steps') && launches.includes(1)) root.wrong('steps', 'there to copy to the side');
  return {
    name: root.text('name', ''),
    target,
    side,
    needs: root.list('needs', (need) => String(need)),
    files: root.objects('files', (file) => ({
      name: file.text('name'),
      bytes: file.count('bytes'),
      xxh3: file.text('xxh3'),
    })),
    inputs,
    outputs,
    groups: root.objects('groups', (group) =>
      readGroup(group, {inputs: valuePorts(inputs).length, outputs: valuePorts(outputs).length}),
    ),
    dims,
    checks: root.objects('checks', (check) => ({
      value: readNumber(check.value('value'), 'checks.value', planValues),
      message: check.text('message'),
      segment: segmentOf(check),
    })),
    planValues,
    planSegments,
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
    run,
    steps: readSteps(root, 'steps', {
      dims: dims.length,
      launches,
      places,
      planValues,
      planSegments,
      tensors,
    }),
  };
}
