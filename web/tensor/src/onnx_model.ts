/** An ONNX model as a module, and a module as an ONNX model. */
import {decode} from '../../runtime/src/values/encoding.ts';
import {uploaded} from './core.ts';
import type {DType} from './dtype.ts';
import type {DynamicAxes, ExportOptions} from './export_onnx.ts';
import {BufferTensor, Module, Parameter} from './nn/module.ts';
import {type OnnxNode, nodesOf} from './onnx_nodes.ts';
import {getRecorder, recordError, type Recorded, type Value} from './recording.ts';
import {optionsOf} from './options.ts';
import {wrong} from './shape.ts';
import {Tensor} from './tensor.ts';

export interface OnnxModelOptions {
  /** Bits in which weights of f32 are kept; computed with are 32. */
  readonly precision?: 16 | 32 | undefined;
  /** 'train': its weights are parameters that require gradients. Default: 'inference'. */
  readonly mode?: 'train' | 'inference' | undefined;
  readonly device?: Tensor['device'] | undefined;
}

export interface LoraOptions {
  readonly rank?: number | undefined;
  readonly alpha?: number | undefined;
  /** Which weights; default: all matrices that are trainable. */
  readonly which?: ((name: string) => boolean) | undefined;
}

/** Tensors in the order of a model's inputs, by their names, or the only one. */
export type OnnxInputs = Tensor | readonly Tensor[] | Readonly<Record<string, Tensor>>;

interface Imported {
  readonly handle: ReturnType<ReturnType<typeof getRecorder>['import']>;
  readonly leaves: readonly Leaf[];
}

/** A weight or constant of the model. What is not learnt is a weight of programs, too: packed, folded and uploaded once. */
class Leaf {
  readonly name: string;
  readonly tensor: Parameter | BufferTensor;
  readonly dtype: DType;
  #value: Value | undefined;
  /** Whether programs have #value as a weight. */
  #frozen = false;
  /** Calls with one value until it is a weight of programs; twice as many each time that one is replaced, as each makes other programs. */
  #patience = 0;
  #left = 0;

  constructor(name: string, tensor: Parameter | BufferTensor, dtype: DType) {
    this.name = name;
    this.tensor = tensor;
    this.dtype = dtype;
  }

  /** Settles, for the call that follows, whether programs are fed it. */
  settle(): Tensor {
    const {tensor} = this;
    const {value, requiresGrad} = tensor;
    if (value !== this.#value) {
      if (this.#frozen) this.#patience = Math.max(2, 2 * this.#patience);
      this.#left = this.#patience;
      this.#value = value;
      this.#frozen = false;
    }
    const wanted = !requiresGrad && !value.tracked && value.stored !== undefined && this.#left-- <= 0;
    if (wanted !== this.#frozen) this.#frozen = value.frozen = wanted;
    return tensor;
  }
}

/** A change of low rank to a weight (Hu et al.: LoRA, arXiv 2106.09685). */
class Adapter extends Module {
  readonly loraA: Parameter;
  readonly loraB: Parameter;
  readonly scale: number;

  constructor({shape: [rows = 1, columns = 1], device}: Tensor, rank: number, alpha: number) {
    super();
    const bound = 1 / Math.sqrt(rows);
    this.loraA = new Parameter(Tensor.uniform([rows, rank], -bound, bound, {device}));
    this.loraB = new Parameter(Tensor.zeros([rank, columns], {device}));
    this.scale = alpha / rank;
  }

  forward(weight: Tensor): Tensor {
    return weight.add(this.loraA.matmul(this.loraB).mul(this.scale));
  }
}

/**
 * An ONNX model as a module. Its parameters are the initializers that the exporter meant to be learnt, by their names: those that it
 * says are parameters (torch.export, exportOnnx), or floats, scalars too, that are only read as weights, directly or behind Identity,
 * Transpose, Reshape and the like. Constant nodes are not.
 */
export class OnnxModel extends Module {
  readonly #imported: Imported;
  readonly #bytes: Uint8Array;
  readonly #adapters = new Map<string, Adapter>();

  /** Throws 'input' for what is no model of tensors of numbers. */
  constructor(onnx: ArrayBuffer | Uint8Array, options?: OnnxModelOptions) {
    super();
    const known = {precision: 32, mode: 'inference', device: 'cpu' as Tensor['device']};
    const {precision, mode, device} = optionsOf('OnnxModel', known, [options]);
    this.#bytes = new Uint8Array(onnx instanceof Uint8Array ? onnx : new Uint8Array(onnx));
    let handle: Imported['handle'];
    try {
      handle = getRecorder().import(this.#bytes);
    } catch (problem) {
      throw recordError('OnnxModel', problem);
    }
    const leaves = handle.leaves.map(({name, dtype, shape, trainable, bytes}) => {
      const kept = precision === 16 && dtype === 'f32' ? 'f16' : dtype;
      const made = new Tensor(uploaded(kept as DType, shape, decode(bytes, dtype), device));
      const tensor = trainable ? new Parameter(made, {requiresGrad: mode === 'train'}) : new BufferTensor(made);
      made.dispose();
      return new Leaf(name, tensor, dtype as DType);
    });
    this.#imported = {handle: {...handle, leaves: handle.leaves.map((leaf) => ({...leaf, bytes: new Uint8Array()}))}, leaves};
    this.training = mode === 'train';
  }

  /** Names, types and shapes; dynamic dimensions are names. */
  get inputs(): Imported['handle']['inputs'] {
    return this.#imported.handle.inputs;
  }

  get outputs(): readonly string[] {
    return this.#imported.handle.outputs;
  }

  protected override ownTensors(): [string, Tensor][] {
    return this.#imported.leaves.map(({name, tensor}) => [name, tensor]);
  }

  override namedChildren(): [string, Module][] {
    return [...this.#adapters];
  }

  /** Its outputs, in order. Throws 'input' where inputs don't fit, with the node. */
  forward(given: OnnxInputs): Tensor[] {
    const list = this.#ordered(given);
    const leaves = this.#imported.leaves.map((leaf): Tensor => {
      const whole = leaf.settle().cast(leaf.dtype);
      return this.#adapters.get(leaf.name)?.forward(whole) ?? whole;
    });
    const first = list[0] ?? leaves[0];
    if (!first) throw wrong('OnnxModel: it has neither inputs nor weights');
    const count = list.length;
    return first.applied('OnnxModel', [...list, ...leaves], (all) => {
      const recorded = all as Recorded[];
      try {
        return getRecorder().apply(this.#imported.handle, recorded.slice(0, count), recorded.slice(count));
      } catch (problem) {
        throw recordError('OnnxModel', problem);
      }
    });
  }

  /** The first output. */
  call(given: OnnxInputs): Tensor {
    return this.forward(given)[0] as Tensor;
  }

  #ordered(given: OnnxInputs): Tensor[] {
    const names = this.inputs.map(({name}) => name);
    const list = given instanceof Tensor ? [given] : Array.isArray(given) ? (given as Tensor[]) : names.map((name) => (given as Record<string, Tensor>)[name]);
    if (list.length !== names.length || !list.every((each) => each instanceof Tensor)) {
      throw wrong(`OnnxModel: it takes ${names.length} tensors: ${names.join(', ')}`);
    }
    return list;
  }

  /**
   * Adds to matrices changes of low rank, which alone are learnt: everything else is frozen. Returns the new parameters.
   */
  lora(options?: LoraOptions): Parameter[] {
    const known = {rank: 4, alpha: undefined as number | undefined, which: (() => true) as (name: string) => boolean};
    const {rank, alpha = rank, which} = optionsOf('lora', known, [options]);
    this.freeze();
    for (const {name, tensor} of this.#imported.leaves) {
      if (!(tensor instanceof Parameter) || tensor.ndim !== 2 || !which(name) || this.#adapters.has(name)) continue;
      this.#adapters.set(name, new Adapter(tensor, rank, alpha));
    }
    if (this.#adapters.size === 0) throw wrong('lora: the model has no such matrices');
    return [...this.#adapters.values()].flatMap((adapter) => adapter.parameters());
  }

  /** The weight or constant of this name. */
  resolveConstant(name: string): Tensor | undefined {
    return this.#imported.leaves.find((each) => each.name === name)?.tensor;
  }

  getNodes(): OnnxNode[] {
    return nodesOf(this.#bytes);
  }
  getNodeWithOutput(name: string): OnnxNode | undefined {
    return this.getNodes().find(({outputs}) => outputs.includes(name));
  }
  getNodeWithInput(name: string): OnnxNode[] {
    return this.getNodes().filter(({inputs}) => inputs.includes(name));
  }

  // TensorJS's names. What optimize() and prune() do there the compiler does to every program.
  optimize(): this { return this; }
  prune(): this { return this; }
  delete(): void {
    this.dispose();
  }
}

/**
 * A module as an ONNX model of inputs with the types and shapes of `inputs`, as it is for inference; its parameters are the model's
 * weights, and so are, as `w` and their number, other tensors that it is computed from: positions, masks and first states that
 * forward() makes for the shapes of `inputs`. With `dynamicAxes` it is traced three times; what differs is computed from the dimensions,
 * also the elements of such tensors where zeros(), ones(), full(), arange(), linspace() or eye() made them.
 */
export async function exportOnnx(module: Module, inputs: readonly Tensor[], options: ExportOptions = {}): Promise<Uint8Array> {
  return (await import('./export_onnx.ts')).exportOnnx(module, inputs, options);
}
export type {DynamicAxes, ExportOptions, OnnxNode};
