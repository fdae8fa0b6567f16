/** The fields of manifest.json. Written from src/package/manifest.def by tools/check/manifest.mjs: change that instead. */
import type {Num} from './fields.ts';
import {
  count, dtype, extents, flag, index, integer, list, number, or, pair, plain, range, record, records, scalar, sets, size, stepsOf, text, when, type Read, type Rows,
} from './manifest_rows.ts';
import type {DType} from '../values/types.ts';

export type Step = LaunchStep | ReadStep | PlanStep | SetStep | BranchStep | LoopStep | CopyStep;

const steps: Read<readonly Step[]> = stepsOf(() => STEPS);

export interface LaunchStep {
  /** The launches [first, end), on one device. */
  readonly launch: readonly [number, number];
}

const LAUNCH_STEP: Rows<LaunchStep> = {
  launch: pair('run', 1),
};

export interface ReadStep {
  /** Integers or booleans. */
  readonly read: number;
  /** The first variable. */
  readonly dims: number;
  /** Elements and variables. */
  readonly count: number;
}

const READ_STEP: Rows<ReadStep> = {
  read: index('tensors'),
  dims: index('dims', 1),
  count: index('dims', 1),
};

export interface PlanStep {
  /** The segment to compute. */
  readonly plan: number;
}

const PLAN_STEP: Rows<PlanStep> = {
  plan: index('plans'),
};

export interface SetStep {
  /** All values are read before any is set. */
  readonly set: readonly (readonly [number, Num])[];
}

const SET_STEP: Rows<SetStep> = {
  set: sets,
};

export interface BranchStep {
  /** The condition. */
  readonly if: Num;
  /** Where it is not 0. */
  readonly then: readonly Step[];
  /** Where it is 0. */
  readonly else: readonly Step[];
}

const BRANCH_STEP: Rows<BranchStep> = {
  if: integer,
  then: steps,
  else: steps,
};

export interface LoopStep {
  /** Rounds at most. */
  readonly loop: Num;
  /** Counts the rounds. */
  readonly dim: number;
  /** Ends the loop when it is 0. */
  readonly while?: number;
  readonly body: readonly Step[];
}

const LOOP_STEP: Rows<LoopStep> = {
  loop: integer,
  dim: index('dims'),
  while: or(index('dims')),
  body: steps,
};

export interface CopyStep {
  /** Of one type, on two devices. */
  readonly copy: readonly [number, number];
}

const COPY_STEP: Rows<CopyStep> = {
  copy: pair('tensors'),
};

const STEPS: readonly Rows<Step>[] = [LAUNCH_STEP, READ_STEP, PLAN_STEP, SET_STEP, BRANCH_STEP, LOOP_STEP, COPY_STEP];

export interface SideEntry {
  /** `wasm`, or `cpu`: the target that computes what the package's own cannot. */
  readonly target: string;
  /** The file with its kernels, one of `files`. */
  readonly code: string;
}

const SIDE: Rows<SideEntry> = {
  target: text,
  code: text,
};

export interface FileEntry {
  /** Unique. */
  readonly name: string;
  /** Its size. */
  readonly bytes: number;
  /** 16 hexadecimal digits: XXH3 of 64 bits. */
  readonly xxh3: string;
  /** 64 hexadecimal digits. */
  readonly sha256: string;
  /** SHA-256 of each 4 MiB of a larger file. */
  readonly pieces: readonly string[];
  /** Stored in the folder above the package. */
  readonly above: boolean;
}

const FILE: Rows<FileEntry> = {
  name: plain,
  bytes: size,
  xxh3: text,
  sha256: or(text, ''),
  pieces: list(text),
  above: flag,
};

export interface PortEntry {
  /** Unique. */
  readonly name: string;
  /** That of its tensor. */
  readonly dtype: DType;
  /** At most the tensor's elements. */
  readonly shape: readonly (Num | string)[];
  /** Inputs: of segment 0. */
  readonly tensor: number;
  /** The bytes of strings; the next port has the lengths. */
  readonly strings: boolean;
}

const PORT: Rows<PortEntry> = {
  name: text,
  dtype,
  shape: extents,
  tensor: index('tensors'),
  strings: flag,
};

export interface GroupEntry {
  readonly name: string;
  /** `sequence`, or `optional`: holds nothing. */
  readonly kind: string;
  /** First and count; strings count once. */
  readonly inputs?: readonly [number, number];
  /** The same. */
  readonly outputs?: readonly [number, number];
}

const GROUP: Rows<GroupEntry> = {
  name: text,
  kind: text,
  inputs: or(pair('inputs', 1)),
  outputs: or(pair('outputs', 1)),
};

export interface DimEntry {
  /** That of the input's axis, once. */
  readonly name: string;
  /** The input that has it; absent: steps set it. */
  readonly input?: number;
  /** Of that input. */
  readonly axis?: number;
  /** A state's: the same tensor as the input. */
  readonly output?: number;
  /** The least extent of the state's memory. */
  readonly rows?: Num;
}

const DIM: Rows<DimEntry> = {
  name: text,
  input: or(index('inputs')),
  axis: or(count(0, 1023)),
  output: or(index('outputs')),
  rows: or(number),
};

export interface CheckEntry {
  /** Must not be 0. */
  readonly value: Num;
  /** The error; with `most`, names the elements. */
  readonly message: string;
  /** Checked after it. */
  readonly segment: number;
  /** The value may be this at most, and 0. */
  readonly most?: number;
}

const CHECK: Rows<CheckEntry> = {
  value: number,
  message: text,
  segment: or(index('segments'), 0),
  most: or(size),
};

export interface PlanEntry {
  /** What the plan computes. */
  readonly values: number;
  /** More than one: with `steps`. */
  readonly segments: number;
}

export const PLAN: Rows<PlanEntry> = {
  values: count(1, 1048576),
  segments: or(count(1, 65535), 1),
};

export interface TensorEntry {
  readonly name: string;
  /** Of the values. */
  readonly dtype: DType;
  /** As stored; see Storage types. */
  readonly storage: DType;
  /** With padding, at most the slot's. */
  readonly elements: Num;
  readonly slot: number;
}

const TENSOR: Rows<TensorEntry> = {
  name: or(text, ''),
  dtype,
  storage: dtype,
  elements: number,
  slot: index('slots'),
};

export interface SlotEntry {
  /** Linear memory; a texture has the next three fields. */
  readonly bytes?: Num;
  /** Texels. */
  readonly width?: number;
  /** Texels. */
  readonly height?: Num;
  readonly layers?: number;
  /** Filled once, at load: weights and results of `init`. */
  readonly persistent: boolean;
  /** Of the plan, after which the size is known. */
  readonly segment: number;
  /** 1: the side's memory. */
  readonly device: number;
}

const SLOT: Rows<SlotEntry> = {
  bytes: when(false, number),
  width: when(true, count(1, 65536)),
  height: when(true, number),
  layers: when(true, count(1, 8)),
  persistent: flag,
  segment: or(index('segments'), 0),
  device: or(index('devices'), 0),
};

export interface WeightEntry {
  /** Its key in the file. */
  readonly name: string;
  /** That of its tensor. */
  readonly dtype: DType;
  /** At most the tensor's elements. */
  readonly shape: readonly number[];
  /** In memory of known size. */
  readonly tensor: number;
  /** Absent: `weights.safetensors`. */
  readonly file?: number;
}

const WEIGHT: Rows<WeightEntry> = {
  name: text,
  dtype,
  shape: list(size),
  tensor: index('tensors'),
  file: or(index('files')),
};

export interface KernelEntry {
  /** For messages and reports. */
  readonly name: string;
  /** The exported function, or the shader's entry point. */
  readonly entry: string;
  /** Of shaders: the place of its source in `kernels.json`. */
  readonly code?: number;
  /** Invocations of a workgroup. */
  readonly group: number;
  readonly buffers: number;
  /** The last buffers are written; at most `buffers`. */
  readonly writes: number;
  readonly scalars: number;
  /** As text. */
  readonly schedule: string;
  /** 1: on the side. */
  readonly device: number;
}

const KERNEL: Rows<KernelEntry> = {
  name: text,
  entry: text,
  code: or(size),
  group: or(count(1, 65536), 1),
  buffers: count(1, 1024),
  writes: or(count(1, 1024), 1),
  scalars: count(0, 1024),
  schedule: or(text, ''),
  device: or(index('devices'), 0),
};

export interface CallEntry {
  readonly kernel: number;
  /** One for each scalar of the kernel. */
  readonly scalars: readonly Num[];
  /** Extent of the grid loop. */
  readonly range: Num;
}

const CALL: Rows<CallEntry> = {
  kernel: index('kernels'),
  scalars: list(scalar),
  range,
};

export interface LaunchEntry {
  /** On the device of the tensors. */
  readonly kernel: number;
  /** One for each buffer of the kernel. */
  readonly tensors: readonly number[];
  /** One for each scalar of the kernel. */
  readonly scalars: readonly Num[];
  /** Extent of the grid loop. */
  readonly range: Num;
  /** The same on GPUs in hardware, or with relaxed SIMD. */
  readonly hardware?: CallEntry;
  /** Arithmetic operations, for profiles. */
  readonly operations: Num;
  /** Nodes of the model, for reports. */
  readonly origin: string;
  /** Why the side runs it. */
  readonly reason?: string;
}

const LAUNCH: Rows<LaunchEntry> = {
  kernel: index('kernels'),
  tensors: list(index('tensors')),
  scalars: list(scalar),
  range,
  hardware: or(record(CALL)),
  operations: or(number, 0),
  origin: or(text, ''),
  reason: or(text),
};

export interface ManifestEntry {
  /** The model's. */
  readonly name: string;
  readonly target: string;
  /** On GPUs, if something needs the CPU. */
  readonly side?: SideEntry;
  /** Features that the run time must have. */
  readonly needs: readonly string[];
  /** The package's other files. */
  readonly files: readonly FileEntry[];
  readonly inputs: readonly PortEntry[];
  readonly outputs: readonly PortEntry[];
  /** Sequences and optionals. */
  readonly groups: readonly GroupEntry[];
  /** The plan's dimensions; each that inputs name, and variables of steps. */
  readonly dims: readonly DimEntry[];
  /** Conditions on values of the plan. */
  readonly checks: readonly CheckEntry[];
  /** Absent: everything is static. */
  readonly plan?: PlanEntry;
  readonly tensors: readonly TensorEntry[];
  /** Device memory. */
  readonly slots: readonly SlotEntry[];
  readonly weights: readonly WeightEntry[];
  readonly kernels: readonly KernelEntry[];
  /** Run once, after the weights are uploaded. */
  readonly init: readonly LaunchEntry[];
  /** A run's launches. */
  readonly run: readonly LaunchEntry[];
  /** Absent: all of `run`, in order. */
  readonly steps: readonly Step[];
}

export const MANIFEST: Rows<ManifestEntry> = {
  name: or(text, ''),
  target: text,
  side: or(record(SIDE)),
  needs: list(text),
  files: records(FILE),
  inputs: records(PORT, {fed: 1, values: 0}),
  outputs: records(PORT),
  groups: records(GROUP),
  dims: records(DIM),
  checks: records(CHECK),
  plan: or(record(PLAN)),
  tensors: records(TENSOR),
  slots: records(SLOT),
  weights: records(WEIGHT),
  kernels: records(KERNEL),
  init: records(LAUNCH, {values: 0}),
  run: records(LAUNCH),
  steps: or(steps, []),
};
