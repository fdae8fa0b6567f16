/** A tensor: a value that is recorded, read when asked for, and let go of. */
import {arrayOf} from '../../runtime/src/values/tensor.ts';
import {bytesOf, GossamerError, product, shapeText, type TensorData} from '../../runtime/src/values/types.ts';
import {watch} from './anomaly.ts';
import {category, codeOf, type DType, type DTypeName, dtypeOf, isFloat} from './dtype.ts';
import {type Data, elements, type Nested, textOf} from './elements.ts';
import {engineOf} from './engine.ts';
import {ask, awaits, carries, decided, differentiated, flush, flushOlder, replace, type Variable} from './execution.ts';
import {optionsOf} from './options.ts';
import {Origin} from './origin.ts';
import {type Attributes, type Device, getRecorder, recordError, recordNode, type Recorded, type Stored, Value} from './recording.ts';
import {inferShape, shapeOf, wrong} from './shape.ts';
import {carry, onResults, traced, tracing} from './tracing.ts';

export interface TensorOptions {
  /** Of the elements in row-major order; one extent may be -1. Default: that of the nested arrays. */
  readonly shape?: readonly number[] | undefined;
  /** Default: the typed array's; f32 for plain numbers, bool for booleans, i64 for bigints. */
  readonly dtype?: DTypeName | undefined;
  /** Where it is computed with. Default: 'cpu', which is wasm. */
  readonly device?: Device | undefined;
  /** backward() computes the gradient with respect to it. */
  readonly requiresGrad?: boolean | undefined;
}

/** Options of all that makes tensors, with their defaults. */
export const MAKE = {dtype: undefined as DTypeName | undefined, device: 'cpu' as Device, requiresGrad: false};
const NEW = {shape: undefined as readonly number[] | undefined, ...MAKE};

/** What a tensor holds, for when it is gone itself. */
interface Cell {
  value: Value;
  /** See BALLAST. */
  ballast?: ArrayBuffer;
}

/**
 * Tensors are small to the collector, which waits until there are millions of them, with what they hold in wasm. So each of this many
 * comes with bytes that count, but are never touched and take no memory: V8 collects before there are 128 MB of them.
 */
const [HEAVY, BALLAST] = [8192, 48 * 2 ** 20];
let light = 0;

const handles = new FinalizationRegistry<Cell>(({value}) => {
  live -= 1;
  value.release();
});
let live = 0;

/** How many tensors are in use. */
export const liveTensors = (): number => live;

/** Tensors made since the innermost tidy() began, and others that were in it. */
let scope: Core[] | undefined;

/**
 * Tensors made outside of tidy(), and those made before them: most are disposed of before it is worth asking the collector to tell when
 * they are gone, as what it is asked about outlives it, with much behind it.
 */
let fresh: Core[] = [];
let older: Core[] = [];
const MOST_FRESH = 32;
let timer: unknown;

function register(): void {
  for (const each of older) each.register();
  older = fresh;
  fresh = [];
}

/** When the page has its turn. */
function registerLater(): void {
  timer ??= setTimeout(() => {
    timer = undefined;
    register();
    if (older[0]) registerLater();
  });
}

const isTensor = (value: unknown): value is Core => value instanceof Core;

function* tensorsIn(value: unknown): Iterable<Core> {
  if (isTensor(value)) yield value;
  else if (Array.isArray(value)) for (const each of value as unknown[]) yield* tensorsIn(each);
  else if (value && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    for (const each of Object.values(value)) yield* tensorsIn(each);
  }
}

// What is computed without gradients and given on is a state, mostly.
onResults((made) => {
  for (const each of tensorsIn(made)) if (each.current) carries(each.current);
});

/**
 * Disposes every tensor that `make` makes, but those that it returns (also in arrays and plain objects), parameters, what
 * optimizers and modules keep, gradients, and those on which keep() was called.
 */
export function tidy<T>(make: () => T): T {
  const outer = scope;
  const mine: Core[] = [];
  scope = mine;
  let made: T;
  try {
    made = make();
    if (made instanceof Promise) throw new GossamerError('input', 'tidy: it takes a function that is not async');
    for (const each of isTensor(made) ? [made] : tensorsIn(made)) each.leave(mine, outer);
  } finally {
    scope = outer;
    for (const each of mine) each.end(mine);
  }
  return made;
}

/** Elements of what is carried without being asked to: counts and running means, not masks of activations. */
const SMALL = 1024;
/** Once this many operations without gradients are recorded, they are computed: the memory of loops that read nothing stays bounded. */
const DEEPEST = 1024;

const dataOf = async (tensor: Core): Promise<TensorData> => ask(tensor.value);

async function itemOf(tensor: Core): Promise<number> {
  if (tensor.size !== 1) throw wrong(`item: a tensor of shape ${shapeText(tensor.shape)} has not one element`);
  return Number((await ask(tensor.value))[0]);
}

async function arrayOfElements(tensor: Core): Promise<Nested> {
  const data = await ask(tensor.value);
  const bools = tensor.dtype === 'bool';
  let at = 0;
  const build = (axis: number): Nested => {
    if (axis < tensor.ndim) return Array.from({length: tensor.shape[axis] ?? 0}, () => build(axis + 1));
    const element = data[at++] ?? 0;
    return bools ? element !== 0 : element;
  };
  return build(0);
}

/** What operations take: tensors, constants of the program, and nothing for an optional operand. */
export type Operand = Core | Recorded | null;

export class Core implements Variable {
  /** What operations give; the class that has all of them. */
  static type: new (value: Value, origin?: Origin<Core>) => Core;
  /** Gradients where some go through what is computed again; there once something is. */
  static stepwise: ((y: Core, places: readonly Origin<Core>[], seed: Core | undefined) => Core[] | undefined) | undefined;

  #value: Value;
  /** Once it is registered. */
  #cell: Cell | undefined;
  /** The tidy() that will dispose of it; else the garbage collector tells when it is gone. */
  #scope: Core[] | undefined;
  #origin: Origin<Core> | undefined;
  #disposed = false;
  #grad: Core | undefined;
  #retains = false;

  /** Throws 'input' where the elements don't fit the shape. */
  constructor(data: Data | Value, options?: TensorOptions | Origin<Core>) {
    if (data instanceof Value) {
      this.#value = data;
      this.#origin = options as Origin<Core> | undefined;
    } else {
      const {shape, dtype, device, requiresGrad} = optionsOf('Tensor', NEW, [options]);
      const given = elements(data, dtype === undefined ? undefined : dtypeOf(dtype));
      const size = given.data.length;
      const extents = shape ? inferShape(shape, size, 'Tensor') : given.shape;
      this.#value = uploaded(given.dtype, extents, given.data, device);
      if (requiresGrad) this.requiresGrad = true;
    }
    live += 1;
    this.leave(undefined, scope);
  }

  /** @internal A scope ends: it goes, if it is in it. */
  end(from: Core[]): void {
    if (this.#scope === from) this.dispose();
  }

  /** @internal Goes to another scope, if it is in this one. */
  leave(from: Core[] | undefined, to: Core[] | undefined): void {
    if (this.#scope !== from) return;
    this.#scope = to;
    if (to) to.push(this);
    else {
      if (fresh.push(this) === MOST_FRESH) register();
      registerLater();
    }
  }

  /** @internal From here on the collector tells when it is gone. */
  register(): void {
    if (this.#disposed) return;
    this.#cell = {value: this.#value};
    if (++light === HEAVY) {
      light = 0;
      this.#cell.ballast = new ArrayBuffer(BALLAST);
    }
    handles.register(this, this.#cell, this);
  }

  /** @internal Undefined once it was disposed of. */
  get current(): Value | undefined {
    return this.#disposed ? undefined : this.#value;
  }

  /** @internal */
  get value(): Value {
    if (this.#disposed) throw new GossamerError('disposed', `this tensor of shape ${shapeText(this.#value.shape)} was disposed`);
    return this.#value;
  }

  /** @internal */
  get origin(): Origin<Core> | undefined {
    return this.#origin;
  }

  get dtype(): DType {
    return this.#value.dtype;
  }

  get shape(): readonly number[] {
    return this.#value.shape;
  }

  get device(): Device {
    return this.#value.device;
  }

  /** How many axes. */
  get ndim(): number {
    return this.#value.shape.length;
  }

  /** How many elements. */
  get size(): number {
    return product(this.#value.shape);
  }

  numel(): number {
    return this.size;
  }

  /** Whether gradients are computed for it, or flow through it. */
  get requiresGrad(): boolean {
    return this.#origin !== undefined;
  }

  /** Throws 'input' for types that have no gradient, and for what was computed. */
  set requiresGrad(wanted: boolean) {
    if (wanted === this.requiresGrad) return;
    if (this.#origin && !this.isLeaf) throw wrong('requiresGrad: this was computed; detach() it');
    if (wanted && !isFloat(this.dtype)) throw wrong(`requiresGrad: gradients are of floats, this tensor is ${this.dtype}`);
    this.#origin = wanted ? new Origin([], this.value, this) : undefined;
  }

  /** Whether it was not computed, as far as gradients care. */
  get isLeaf(): boolean {
    return !this.#origin || this.#origin.parents.length === 0;
  }

  /** The gradient that backward() has summed up; null before. */
  get grad(): this | null {
    return (this.#grad as this | undefined) ?? null;
  }

  set grad(grad: this | null) {
    this.#grad?.dispose();
    this.#grad = grad?.keep();
  }

  /** Keeps the gradient of what was computed, too. */
  retainGrad(): this {
    if (!this.#origin) throw wrong('retainGrad: no gradient flows through this tensor');
    this.#retains = true;
    this.#origin.owner = this;
    return this;
  }

  /** Row-major elements. They are computed, with all else that is asked for in the same turn, in one program. */
  data<T extends TensorData = TensorData>(): Promise<T> {
    return carry(dataOf(this)) as Promise<T>;
  }

  /** The only element. Rejects with 'input' where there are others. */
  item(): Promise<number> {
    return carry(itemOf(this));
  }

  /** The elements as nested arrays; of bool as booleans, of 64-bit integers as bigints. */
  array(): Promise<Nested> {
    return carry(arrayOfElements(this));
  }

  /** The same elements without a past: gradients stop here. */
  detach(): this {
    if (this.value.past) carries(this.value);
    return this.make(this.value.hold());
  }

  /** Stays when the tidy() around it ends. */
  keep(): this {
    if (this.#scope) this.leave(this.#scope, undefined);
    return this;
  }

  /** Lets go of it. What was computed from it stays. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    live -= 1;
    this.#scope = undefined;
    if (this.#cell) handles.unregister(this);
    this.#grad?.dispose();
    this.#value.release();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** What it is, and its values where they are in the page's memory: those that were read, or were given. */
  toString(): string {
    const said = `${this.dtype} ${shapeText(this.shape)}, ${this.device}${this.requiresGrad ? ', requiresGrad' : ''}`;
    const host = this.#disposed ? undefined : this.#value.stored?.host;
    return `Tensor(${host ? `${textOf(host, this.shape, this.dtype)}, ` : ''}${said}${this.#disposed ? ', disposed' : host ? '' : ', not read yet'})`;
  }

  /** For console.log in Node.js; a page's console shows the class and `Symbol.toStringTag`. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  get [Symbol.toStringTag](): string {
    return `Tensor ${this.dtype} ${shapeText(this.shape)}`;
  }

  /** @internal */
  make(value: Value, origin?: Origin<Core>): this {
    return new Core.type(value, origin) as this;
  }

  /**
   * Any operator of the catalog (docs/operators.md) on this tensor and others, as "domain::Name" or the name of one of ONNX's
   * own. Throws 'input' with the operator and the shapes where they don't fit.
   */
  apply(op: string, inputs: readonly Operand[] = [this], attributes?: Attributes): this {
    return this.applyAll(op, inputs, attributes, 1)[0] as this;
  }

  /** The same for several outputs. */
  applyAll(op: string, inputs: readonly Operand[], attributes: Attributes | undefined, outputs: number): this[] {
    return this.applied(op, inputs, (recorded) => recordNode(op, recorded, attributes, outputs));
  }

  /** @internal The same of what `record` records. */
  applied(op: string, inputs: readonly Operand[], record: (recorded: (Recorded | null)[]) => Recorded[]): this[] {
    let device: Device | undefined;
    let single: Device | undefined;
    let parents: Origin<Core>[] | undefined;
    let past = false;
    let apartFrom = false;
    let depth = 0;
    const traces = tracing();
    const recorded = inputs.map((input) => {
      if (!(input instanceof Core)) return input;
      const {value} = input;
      // As in PyTorch, a single number is at home everywhere.
      if (value.shape.length === 0) single ??= value.device;
      else if (device !== undefined && device !== value.device) throw apart(op, device, value.device);
      else device = value.device;
      if (traces && input.#origin) parents = parents ? [...parents, input.#origin] : [input.#origin];
      else apartFrom ||= value.past;
      past ||= value.past;
      if (value.depth > depth && !value.stored) depth = value.depth;
      return value.recorded;
    });
    if (parents && apartFrom) {
      inputs.forEach((input, at) => {
        if (input instanceof Core && !input.#origin && input.value.past && isFloat(input.dtype)) recorded[at] = input.value.stopped;
      });
    }
    const place = device ?? single ?? 'cpu';
    const made = record(recorded);
    watch(op, recorded, made, place);
    return made.map((each) => {
      const tracked = parents !== undefined && isFloat(each.dtype);
      const value = new Value(each, place, tracked, past);
      if (tracked) return this.make(value, new Origin(parents as Origin<Core>[], value));
      if (past && traces && product(value.shape) <= SMALL) carries(value);
      value.depth = depth + 1;
      if (value.depth === DEEPEST) {
        carries(value);
        flush();
      }
      return this.make(value);
    });
  }

  /** Outputs of an operator on this, whose shapes hang on the elements: it runs now. No gradient flows through. */
  protected async found(op: string, outputs: number, attributes?: Attributes): Promise<this[]> {
    const values = await decided(this.device, recordNode(op, [this.value.recorded], attributes, outputs));
    return values.map((value) => this.make(value));
  }

  /** As another type. Floats become integers by cutting off, as in PyTorch. */
  cast(dtype: DTypeName): this {
    const wanted = dtypeOf(dtype);
    return wanted === this.dtype ? this : this.apply('Cast', [this], {to: codeOf(wanted)});
  }

  /** Itself if it is of floats, else as f32. */
  protected floating(): this {
    return isFloat(this.dtype) ? this : this.cast('f32');
  }

  /** Throws 'input' unless this is of floats. */
  protected wantFloats(op: string): void {
    if (category(this.dtype) < 2) throw wrong(`${op} is of floats, this tensor is ${this.dtype}: cast() it`);
  }

  /** to() of a device, under TensorJS's kind of name. */
  toDevice(device: Device): this { return this.to(device); }

  /** Puts it on another device, or makes it of another type. Gradients flow through. */
  to(where: Device | DTypeName): this {
    if (where !== 'cpu' && where !== 'webgpu' && where !== 'webgl') return this.cast(where);
    if (where === this.device) return this;
    const {value} = this;
    const from = tracing() ? this.#origin : undefined;
    const stored = from ? undefined : value.stored;
    if (stored) return this.make(uploaded(this.dtype, this.shape, stored.read(), where));
    const [same] = recordNode('Identity', [value.recorded]);
    const moved = new Value(same as Recorded, where, from !== undefined);
    return this.make(moved, from && new Origin([from], moved));
  }

  /**
   * Sums the gradients of this with respect to the leaves that require them up in their `grad`; lazily, nothing runs. `grad`: that
   * of what is computed from this, in its shape. Throws 'input' where there is no gradient, where `grad` is needed and
   * where a step has replaced a parameter since.
   */
  backward(grad?: this): void {
    const origin = this.#origin;
    if (!origin) throw wrong('backward: nothing that this was computed from requires a gradient');
    flushOlder();
    differentiated(this.value);
    const owners = origin.owned().filter(({owner}) => owner && (owner.isLeaf || owner.#retains) && !owner.#disposed);
    const gradients = this.gradients(owners, grad);
    gradients.forEach((gradient, at) => {
      const owner = owners[at]?.owner as this;
      const before = owner.#grad as this | undefined;
      owner.#grad = (before ? before.apply('Add', [before, gradient]) : gradient).keep();
      awaits(owner.#grad.value, Origin.round);
      before?.dispose();
      if (before) gradient.dispose();
    });
  }

  /** @internal The gradients at these places. */
  gradients(places: readonly Origin<Core>[], grad: Core | undefined, createGraph = false): this[] {
    if (!grad && this.size !== 1) {
      throw wrong(`backward: of a shape of ${shapeText(this.shape)} it needs the gradient; only a single number does without`);
    }
    if (grad && shapeText(grad.shape) !== shapeText(this.shape)) {
      throw wrong(`backward: the gradient has shape ${shapeText(grad.shape)}, the tensor ${shapeText(this.shape)}`);
    }
    for (const {owner, value} of places) {
      if (owner?.isLeaf && owner.value !== value) {
        throw wrong(`backward: a parameter of shape ${shapeText(owner.shape)} was replaced since this was computed from it`);
      }
    }
    const stepwise = Core.stepwise?.(this, places, grad) as this[] | undefined;
    if (stepwise && createGraph) throw wrong('grad: a checkpoint has no gradients of gradients: compute without it');
    return stepwise ?? this.differentiate(places, grad, createGraph);
  }

  /** @internal The same within what is recorded. */
  differentiate(places: readonly Origin<Core>[], grad: Core | undefined, createGraph = false): this[] {
    const xs = places.map(({value}) => value.recorded);
    let made: Recorded[];
    try {
      made = getRecorder().gradient(this.value.recorded, xs, grad?.value.recorded);
    } catch (problem) {
      throw recordError(`backward from shape ${shapeText(this.shape)}`, problem);
    }
    watch('backward', [this.value.recorded], made, this.device);
    const parents = createGraph ? [...places, ...(this.#origin ? [this.#origin] : []), ...(grad?.origin ? [grad.origin] : [])] : [];
    return made.map((each, at) => {
      const value = new Value(each, places[at]?.value.device ?? this.device, createGraph);
      return this.make(value, createGraph ? new Origin(parents, value) : undefined);
    });
  }

  /** @internal Puts it on another device, in place. */
  move(device: Device): void {
    if (device === this.device) return;
    const moved = traced(false, () => this.to(device));
    const before = this.value;
    Core.#take(this, moved.value.hold());
    moved.dispose();
    before.release();
  }

  // Static, as a private method would mark every tensor that is made.
  static #take(tensor: Core, value: Value): void {
    tensor.#value = value;
    if (tensor.#cell) tensor.#cell.value = value;
    if (tensor.#origin) tensor.#origin = new Origin([], value, tensor);
  }

  /** @internal In place: takes elements and past of what was computed from it. */
  become(made: Core, name: string, reshapes = false): this {
    if (tracing() && this.#origin && this.isLeaf) throw wrong(`${name}: this is a leaf that requires a gradient; do it within noGrad()`);
    if (category(made.dtype) > category(this.dtype)) throw wrong(`${name}: a tensor of ${this.dtype} cannot become one of ${made.dtype}; cast() it`);
    if (!reshapes && shapeText(made.shape) !== shapeText(this.shape)) throw wrong(`${name}: a tensor of shape ${shapeText(this.shape)} cannot become one of ${shapeText(made.shape)}`);
    if (made === this) return this;
    const next = made.cast(this.dtype);
    if (reshapes || (tracing() && next.#origin)) {
      const before = this.value;
      this.#value = next.value.hold();
      if (this.#cell) this.#cell.value = this.#value;
      this.#origin = next.#origin;
      before.release();
      next.dispose();
    } else this.assign(next);
    if (next !== made) made.dispose();
    return this;
  }

  /** @internal Takes the value of `next`, which is disposed; it is computed with what is read next. */
  assign(next: Core | Value): void {
    flushOlder();
    const before = this.value;
    // Mostly one array, as the recorder tells each shape once.
    const alike = next.shape === before.shape || shapeText(next.shape) === shapeText(before.shape);
    if (!alike || next.dtype !== before.dtype) {
      throw wrong(`assign: ${before.dtype} ${shapeText(before.shape)} cannot become ${next.dtype} ${shapeText(next.shape)}`);
    }
    if (next instanceof Core) {
      Core.#take(this, next.value.hold());
      next.dispose();
    } else Core.#take(this, next);
    replace(this, before);
  }
}

const apart = (op: string, a: Device, b: Device): GossamerError =>
  wrong(`${op}: its tensors are on ${a} and ${b}; bring them together with to()`);

/** A leaf with these elements, which must not change any more. */
export function uploaded(dtype: DType, shape: readonly number[], data: TensorData | Promise<TensorData>, device: Device): Value {
  return leafOn({dtype, shape: [...shapeOf(shape, 'Tensor')]}, device, engineOf(device).upload({dtype, shape}, data));
}

/** A leaf of elements that are there. */
export function leafOn({dtype, shape}: {readonly dtype: DType; readonly shape: readonly number[]}, device: Device, stored: Stored): Value {
  const value = new Value(getRecorder().leaf(dtype, shape), device, false);
  value.stored = stored;
  return value;
}

/** An array of this many elements of a type. */
export const arrayFor = (dtype: DType, count: number): TensorData => arrayOf(dtype, count);

export const byteSize = (tensor: Core): number => tensor.size * bytesOf(tensor.dtype);
