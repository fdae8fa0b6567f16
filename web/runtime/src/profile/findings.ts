/** What a profile says. */
import type {DeviceKind} from '../types.ts';

/** One launch of a run, in the order of the run. */
export interface LaunchProfile {
  /** As the compiler called it; of kernels[kernel]. */
  readonly name: string;
  readonly kernel: number;
  /** The nodes of the model that it computes. */
  readonly origin: string;
  readonly device: DeviceKind;
  readonly ms: number;
  /** Of the tensors that it reads and writes, each once. */
  readonly bytes: number;
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
}

export interface Profile {
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
  /** 10^9 bytes a second, read and written, of a plain copy of 16 MiB on the device. */
  readonly copyRate: number;
  /** Of every kernel of the package, those that take most first; some only run at load (0 launches). */
  readonly kernels: readonly KernelProfile[];
  readonly launches: readonly LaunchProfile[];
}
