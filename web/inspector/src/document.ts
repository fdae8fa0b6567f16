/** The document that the inspector shows, as src/inspect/document.h writes it. */

/** A number, a dimension by its name, an operation ["*", 4, "batch"], or null: known in a run only. */
export type Expr = number | string | null | readonly [string, ...Expr[]];

export interface Weight {
  readonly bytes: number;
  /** Absent where the bytes were not given. */
  readonly elements?: number;
  /** How many of the elements, evenly spread, the numbers below are about. */
  readonly seen?: number;
  readonly zeros?: number;
  readonly notFinite?: number;
  readonly least?: number;
  readonly most?: number;
  readonly mean?: number;
  readonly deviation?: number;
  readonly bins?: readonly number[];
}

export interface Value {
  readonly name: string;
  readonly dtype: string;
  /** Absent: it could not be inferred. */
  readonly shape?: readonly Expr[];
  readonly weight?: Weight;
}

export interface Problem {
  readonly where?: string;
  readonly message: string;
  readonly hint?: string;
}

export interface GraphNode {
  readonly op: string;
  readonly domain?: string;
  readonly name: string;
  /** Places in `values`; null: an absent input or an unused output. */
  readonly inputs: readonly (number | null)[];
  readonly outputs: readonly (number | null)[];
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** The node whose region has it, and which region. */
  readonly parent?: number;
  readonly region?: string;
  readonly problem?: Problem;
  /** Its inputs depend on a node with a problem. */
  readonly unchecked?: boolean;
}

/** As the manifest of a package has it: a value of the plan, or a number. */
export type Planned = number | {readonly plan: number};

export interface Launch {
  readonly kernel: number;
  readonly tensors: readonly number[];
  readonly range: Planned;
  readonly operations?: Planned;
  readonly origin?: string;
  readonly reason?: string;
  readonly hardware?: {readonly kernel: number; readonly range: Planned};
}

export interface Slot {
  readonly bytes?: Planned;
  readonly width?: number;
  readonly height?: Planned;
  readonly layers?: number;
  readonly device?: number;
}

/** What the inspector reads of docs/specs/package.md. */
export interface Manifest {
  readonly tensors: readonly {readonly name?: string; readonly dtype: string; readonly storage: string; readonly elements: Planned; readonly slot: number}[];
  readonly slots: readonly Slot[];
  readonly kernels: readonly {readonly name: string; readonly group?: number; readonly writes?: number; readonly schedule?: string; readonly device?: number}[];
  readonly init: readonly Launch[];
  readonly run: readonly Launch[];
  readonly inputs: readonly {readonly name: string; readonly tensor: number}[];
  readonly outputs: readonly {readonly name: string; readonly tensor: number}[];
  readonly weights: readonly {readonly tensor: number}[];
  readonly side?: {readonly target: string};
  readonly steps?: readonly unknown[];
}

export interface Kernel {
  readonly origin: string;
  /** Loops, of kernels that are no text. */
  readonly ir?: string;
  /** A shader. */
  readonly code?: string;
  /** How long the text is where the document has only its beginning. */
  readonly letters?: number;
  readonly record?: string;
  readonly key?: string;
  readonly class?: string;
  readonly points?: readonly string[];
}

export interface Layout {
  readonly name: string;
  readonly origin: string;
  readonly of: string;
  readonly choice: string;
  readonly recorded: boolean;
  readonly choices: readonly string[];
}

export interface Compiled {
  readonly target: string;
  readonly memoryBytes: number;
  readonly weightBytes: number;
  readonly packageBytes: number;
  readonly plan: readonly Expr[];
  readonly manifest: Manifest;
  readonly layouts: readonly Layout[];
  readonly kernels: readonly Kernel[];
}

export interface Refused {
  readonly target: string;
  readonly problem: string;
  readonly where: string;
}

export type TargetView = Compiled | Refused;

/** As `gossamer bench --profile --json` and model.profile() give it. */
export interface Profile {
  /** What it was measured for; absent: for what its user gave `bench`. */
  readonly dims?: Readonly<Record<string, number>>;
  readonly device: string;
  readonly adapter: string;
  readonly runMs: number;
  readonly kernelMs: number;
  readonly launches: readonly {readonly kernel: number; readonly name: string; readonly origin: string; readonly ms: number}[];
}

export interface View {
  readonly format: 'gossamer-view';
  readonly version: number;
  readonly name: string;
  readonly bytes: number;
  readonly dims: readonly {readonly name: string; readonly estimate: number}[];
  readonly values: readonly Value[];
  readonly nodes: readonly GraphNode[];
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  readonly targets: readonly TargetView[];
  readonly profiles: readonly Profile[];
}

export const isCompiled = (view: TargetView): view is Compiled => !('problem' in view);

/** Throws an error that says what the text is instead. */
export function parseView(text: string): View {
  const view = JSON.parse(text) as Partial<View>;
  if (view.format !== 'gossamer-view') throw new Error('this is not a document of the inspector: write one by `gossamer inspect MODEL --html FILE`');
  if (view.version !== 1) throw new Error(`the document has version ${view.version}, and this page reads version 1`);
  return view as View;
}

export const isProfile = (given: unknown): given is Profile =>
  typeof given === 'object' && given !== null && 'device' in given && 'launches' in given && Array.isArray(given.launches);
