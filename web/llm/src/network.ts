/** What compilations of a folder's network take and are made of. */
import type {Bytes} from './folder.ts';

/** How weights are stored, by Transformers.js' names. */
export type WeightType = 'q4f16' | 'q4' | 'q8' | 'int8' | 'uint8' | 'fp16' | 'fp32';

export interface Network {
  /** The files in the folder that it depends on. */
  readonly sources: readonly string[];
  readonly model: Uint8Array;
  readonly externalData: ReadonlyMap<string, Bytes>;
}

/** As LoadOptions has them. */
export interface NetworkOptions {
  readonly dtype?: WeightType | undefined;
  readonly file?: string | undefined;
  readonly ggufWasm?: string | URL | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type Told = (done: number, total: number) => void;
