/** What a profile says. */
import type {DeviceKind} from '../values/types.ts';

/** One launch of a run, in the order of the run. */
export interface LaunchProfile {
  /** As the compiler called it; of kernels[kernel] in the package's manifest. */
  readonly name: string;
  readonly kernel: number;
  /** The nodes of the model that it computes. */
  readonly origin: string;
  readonly device: DeviceKind;
  readonly ms: number;
  /** Of the tensors that it reads and writes, each once. */
  readonly bytes: number;
  /** Of its arithmetic (docs/specs/package.md); 0: none, or not known. */
  readonly operations: number;
}

/** All launches of a kernel in one run; sums. */
export interface KernelProfile {
  readonly name: string;
  readonly origin: string;
  readonly schedule: string;
  readonly device: DeviceKind;
  readonly launches: number;
  readonly ms: number;
  readonly bytes: number;
  readonly operations: number;
  /** What it could not do without, at the rates of `limits`, for longer: moving its bytes or its arithmetic. */
  readonly limit: 'memory' | 'arithmetic';
  /** Of that limit's rate; more than 1 where data lies in caches or not all of a tensor is touched. */
  readonly share: number;
}

/** What plain kernels reach on a device, with all its threads. */
export interface Limits {
  readonly device: DeviceKind;
  /** 10^9 bytes a second, read and written, of a copy of 16 MiB. */
  readonly copyRate: number;
  /** 10^9 operations a second of multiply-adds of f32 in registers, each of which is two. */
  readonly arithmeticRate: number;
}

export interface Findings {
  readonly model: string;
  readonly device: DeviceKind;
  readonly adapter: string;
  readonly threads: number;
  /** How launches were timed: by the GPU's clock, or by repeating each. */
  readonly method: 'timestamps' | 'repetition';
  /** From feeds to values, the median of the runs: with uploads, reading back and waiting. */
  readonly runMs: number;
  /** The sum over launches. */
  readonly kernelMs: number;
  /** Of the target, and of the CPU beside it where that computes something. */
  readonly limits: readonly Limits[];
  /** Of every kernel of the package, those that take most first; some only run at load (0 launches). */
  readonly kernels: readonly KernelProfile[];
  readonly launches: readonly LaunchProfile[];
}

export interface Profile extends Findings {
  /** Text for people: a line a kernel. */
  table(): string;
  /** One run as a Chrome trace (JSON), which ui.perfetto.dev opens. */
  trace(): string;
}
