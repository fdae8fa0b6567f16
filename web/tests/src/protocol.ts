/** The lines between `gossamer test` and run_cases.mjs (README.md describes them for people). */
import type {DeviceKind, DType, Report} from '@gossamer/runtime';
import type {Bench} from '../../rpc/src/job.ts';

export interface CaseInput {
  readonly name: string;
  /** .npy, or raw little-endian elements with dtype and shape given; strings as one JSON array. */
  readonly file: string;
  readonly dtype?: DType | 'string';
  readonly shape?: readonly number[];
}

export interface CaseOptions {
  readonly device?: 'auto' | DeviceKind;
  readonly threads?: number;
  readonly strict?: boolean;
  /** How often to run; `ms` is the fastest. Default 1. */
  readonly runs?: number;
  /** Only times: of `runs` runs after one more, or of the kernels too. There are no outputs then. */
  readonly bench?: 'runs' | 'profile';
  /** After this long the page is given up. Default 120. */
  readonly timeout_s?: number;
}

export interface Case {
  readonly id: string | number;
  readonly package_dir: string;
  readonly inputs: readonly CaseInput[];
  readonly options?: CaseOptions;
}

export interface CaseOutput {
  readonly name: string;
  readonly dtype: DType | 'string';
  readonly shape: readonly number[];
  /** Raw little-endian elements; strings as one JSON array. */
  readonly file: string;
}

export interface Answer {
  readonly id: string | number;
  readonly ok: boolean;
  readonly error?: string;
  readonly outputs?: readonly CaseOutput[];
  readonly report?: Report;
  readonly load_ms?: number;
  readonly bench?: Bench;
  readonly ms?: number;
  /** What the page's console said, if anything. */
  readonly log?: readonly string[];
}

/** What the page is told: files by address. */
export interface PageCase {
  readonly base: string;
  readonly inputs: readonly {
    readonly name: string;
    readonly url: string;
    readonly dtype: DType | 'string';
    readonly shape: readonly number[];
  }[];
  readonly options: CaseOptions;
}

export interface PageAnswer {
  readonly error?: string;
  readonly outputs?: readonly {
    readonly name: string;
    readonly dtype: DType | 'string';
    readonly shape: readonly number[];
  }[];
  readonly report?: Report;
  readonly ms?: number;
  readonly bench?: Bench;
}
