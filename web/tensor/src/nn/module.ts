/** Modules: parameters and other modules under names, and what is done with all of them. */
import {GossamerError, shapeText} from '../../../runtime/src/values/types.ts';
import {MAKE} from '../core.ts';
import type {Data} from '../elements.ts';
import {flushOlder} from '../execution.ts';
import {type Given, optionsOf} from '../options.ts';
import type {Device} from '../recording.ts';
import {loadSafetensors, saveSafetensors} from '../safetensors.ts';
import {type MakeOptions, Tensor} from '../tensor.ts';

const PARAMETER = {...MAKE, requiresGrad: true};

/** A tensor that a module learns. */
export class Parameter extends Tensor {
  constructor(data: Tensor | Data, given?: MakeOptions) {
    const {requiresGrad, ...options} = optionsOf('Parameter', PARAMETER, [given]);
    if (data instanceof Tensor) super(data.value.hold());
    else super(data, options);
    this.requiresGrad = requiresGrad;
    this.keep();
  }
}

/** Statistics of a module that it does not learn, but that belong to its state. */
export class BufferTensor extends Tensor {
  /** Whether it is part of stateDict(). */
  readonly persistent: boolean;

  constructor(data: Tensor, persistent = true) {
    super(data.value.hold());
    this.persistent = persistent;
    this.keep();
  }
}

/** Takes a hook off again. */
export interface HookHandle {
  remove(): void;
}

type Inputs = readonly unknown[];
/** Called before forward(); may return other inputs: a list, or the only one. */
export type ForwardPreHook = (module: Module, inputs: Inputs) => unknown;
/** Called after forward(); may return another output. */
export type ForwardHook = (module: Module, inputs: Inputs, output: unknown) => unknown;

interface Hooks {
  readonly before: Set<ForwardPreHook>;
  readonly after: Set<ForwardHook>;
}
const HOOKS = new WeakMap<Module, Hooks>();

export type StateDict = Readonly<Record<string, Tensor>>;

/** As PyTorch would call a property: runningMean is running_mean. */
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * Something with parameters. Properties that are parameters, buffers or modules are found by themselves, in the order in which they
 * were set; state_dict names are PyTorch's.
 */
export abstract class Module {
  /** Whether it learns: dropout drops, normalisation takes statistics of the batch. */
  training = true;

  // Modules differ in what they take; each says it in its own signature.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  abstract forward(...inputs: any[]): any;

  /** Runs forward() through the hooks, whatever calls it. */
  #hooks(): Hooks {
    const known = HOOKS.get(this);
    if (known) return known;
    const hooks: Hooks = {before: new Set(), after: new Set()};
    HOOKS.set(this, hooks);
    const compute = this.forward.bind(this) as (...inputs: Inputs) => unknown;
    const value = (...given: Inputs): unknown => {
      let inputs = given;
      for (const hook of hooks.before) {
        const other = hook(this, inputs);
        if (other !== undefined) inputs = Array.isArray(other) ? other : [other];
      }
      let output = compute(...inputs);
      for (const hook of hooks.after) output = hook(this, inputs, output) ?? output;
      return output;
    };
    Object.defineProperty(this, 'forward', {value, configurable: true});
    return hooks;
  }

  static #added<Hook>(hooks: Set<Hook>, hook: Hook): HookHandle {
    hooks.add(hook);
    return {remove: () => void hooks.delete(hook)};
  }

  /** Calls `hook` before each forward(). */
  registerForwardPreHook(hook: ForwardPreHook): HookHandle {
    return Module.#added(this.#hooks().before, hook);
  }

  /** Calls `hook` after each forward(). */
  registerForwardHook(hook: ForwardHook): HookHandle {
    return Module.#added(this.#hooks().after, hook);
  }

  /** Statistics that belong to its state, unless they are not `persistent`, but are not learnt. */
  registerBuffer(name: string, tensor: Tensor | null, ...given: Given<{readonly persistent?: boolean}, [persistent?: boolean]>): void {
    const {persistent} = optionsOf('registerBuffer', {persistent: true}, given);
    this.#set(name, tensor && new BufferTensor(tensor, persistent));
  }

  registerParameter(name: string, parameter: Parameter | null): void {
    this.#set(name, parameter);
  }

  registerModule(name: string, module: Module | null): void {
    this.#set(name, module);
  }

  addModule(name: string, module: Module | null): void {
    this.#set(name, module);
  }

  #set(name: string, value: unknown): void {
    if (!name || name.includes('.')) throw new GossamerError('input', `"${name}": a name is not empty and has no dots`);
    (this as unknown as Record<string, unknown>)[name] = value;
  }

  static #found<T>(kind: string, path: string, all: readonly [string, T][]): T {
    const found = all.find(([name]) => name === path);
    if (found) return found[1];
    throw new GossamerError('input', `there is no ${kind} "${path}"; there are ${all.map(([name]) => name).join(', ')}`);
  }

  /** By its name in stateDict(). */
  getParameter(path: string): Parameter {
    return Module.#found('parameter', path, this.#tensors(Parameter, false));
  }

  getBuffer(path: string): BufferTensor {
    return Module.#found('buffer', path, this.#tensors(BufferTensor, false));
  }

  getSubmodule(path: string): Module {
    return Module.#found('module', path, this.#paths(false));
  }

  /** Puts another module at a name. */
  setSubmodule(path: string, module: Module): void {
    const at = path.lastIndexOf('.');
    const parent = at < 0 ? this : this.getSubmodule(path.slice(0, at));
    const [, before] = parent.namedChildren().find(([each]) => each === path.slice(at + 1)) ?? [];
    const list = Object.values(parent).find((each): each is Module[] => Array.isArray(each) && each.includes(before));
    if (before && list) {
      list[list.indexOf(before)] = module;
      return;
    }
    const name = path.slice(at + 1).replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    parent.#set(name, module);
  }

  cpu(): this { return this.to('cpu'); }

  /** Calls `make` with all modules below, and then this. */
  apply(make: (module: Module) => void): this {
    this.children().forEach((child) => child.apply(make));
    make(this);
    return this;
  }

  /** What its text says in brackets. */
  extraRepr(): string {
    return '';
  }

  /** As PyTorch writes it: a line a module. */
  toString(): string {
    const below = this.namedChildren().map(([name, child]) => `\n  (${name}): ${child.toString().replaceAll('\n', '\n  ')}`);
    return `${this.constructor.name}(${this.extraRepr()}${below.join('')}${below.length > 0 ? '\n' : ''})`;
  }

  /** For console.log in Node.js. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  namedChildren(): [string, Module][] {
    return Object.entries(this).filter((entry): entry is [string, Module] => entry[1] instanceof Module)
      .map(([name, child]) => [snake(name), child]);
  }

  children(): Module[] {
    return this.namedChildren().map(([, child]) => child);
  }

  /** This and all modules below, each once. */
  modules(): Module[] {
    return this.namedModules().map(([, module]) => module);
  }

  /** The same with their names, as '0.conv1'. */
  namedModules(prefix = ''): [string, Module][] {
    return this.#paths(true, prefix);
  }

  /** Under all names that they have, or under the first of them. */
  #tensors<T extends Tensor>(type: abstract new (...args: never[]) => T, once: boolean): [string, T][] {
    const seen = new Set<Tensor>();
    return this.#paths(once).flatMap(([path, module]) =>
      module.ownTensors().flatMap(([name, value]): [string, T][] => {
        if (!(value instanceof type) || (once && seen.has(value))) return [];
        seen.add(value);
        return [[path ? `${path}.${name}` : name, value]];
      }),
    );
  }

  /** This and all modules below, with their names; one that is there twice once or under both. */
  #paths(once: boolean, prefix = '', seen = new Set<Module>()): [string, Module][] {
    if (once && seen.has(this)) return [];
    seen.add(this);
    return [[prefix, this], ...this.namedChildren().flatMap(([name, child]) => child.#paths(once, prefix ? `${prefix}.${name}` : name, seen))];
  }

  /** The parameters and buffers of this module alone. */
  protected ownTensors(): [string, Tensor][] {
    return Object.entries(this).filter((entry): entry is [string, Tensor] => entry[1] instanceof Tensor)
      .map(([name, tensor]) => [snake(name), tensor]);
  }

  /** Each once, also where several modules share it. */
  namedParameters(): [string, Parameter][] {
    return this.#tensors(Parameter, true);
  }

  parameters(): Parameter[] {
    return this.namedParameters().map(([, parameter]) => parameter);
  }

  namedBuffers(): [string, BufferTensor][] {
    return this.#tensors(BufferTensor, true);
  }

  buffers(): BufferTensor[] {
    return this.namedBuffers().map(([, buffer]) => buffer);
  }

  train(mode = true): this {
    this.modules().forEach((module) => (module.training = mode));
    return this;
  }

  eval(): this {
    return this.train(false);
  }

  /** Whether gradients are computed for its parameters. */
  setRequiresGrad(wanted: boolean): this {
    return this.#require(() => true, wanted);
  }

  #require(which: (name: string) => boolean, wanted: boolean): this {
    for (const [name, parameter] of this.namedParameters()) if (which(name)) parameter.requiresGrad = wanted;
    return this;
  }

  /** Leaves its parameters, or those with these names, as they are. */
  freeze(which: (name: string) => boolean = () => true): this {
    return this.#require(which, false);
  }

  unfreeze(which: (name: string) => boolean = () => true): this {
    return this.#require(which, true);
  }

  zeroGrad(): void {
    this.parameters().forEach((parameter) => (parameter.grad = null));
  }

  /** Its tensors, on another device from here on. */
  to(device: Device): this {
    for (const tensor of [...this.parameters(), ...this.buffers()]) tensor.move(device);
    return this;
  }

  /** to(). */
  toDevice(device: Device): this { return this.to(device); }

  /** Its state by name, a tensor that modules share under each of its names. */
  #state(): [string, Tensor][] {
    return [...this.#tensors(Parameter, false), ...this.#tensors(BufferTensor, false).filter(([, {persistent}]) => persistent)];
  }

  /** The tensors of its state by PyTorch's names. They are this moment's: later steps don't change them. */
  stateDict(): Record<string, Tensor> {
    return Object.fromEntries(this.#state().map(([name, tensor]) => [name, tensor.detach()]));
  }

  /**
   * Takes its state from tensors by name. Throws 'input', and keeps the old state, where a name or shape does not fit; with
   * `strict: false` names may be missing or be strange. PyTorch's counts of batches are passed over.
   */
  loadStateDict(state: StateDict, ...given: Given<{readonly strict?: boolean}, [strict?: boolean]>): void {
    const {strict} = optionsOf('loadStateDict', {strict: true}, given);
    const own = this.#state();
    const known = new Set(own.map(([name]) => name));
    const strange = Object.keys(state).filter((name) => !known.has(name) && !name.endsWith('num_batches_tracked'));
    const missing = own.filter(([name]) => !Object.hasOwn(state, name)).map(([name]) => name);
    const refuse = (what: string): never => {
      throw new GossamerError('input', `loadStateDict: ${what}`);
    };
    if (strict && missing.length > 0) refuse(`the state lacks ${missing.join(', ')}`);
    if (strict && strange.length > 0) refuse(`the module has no ${strange.join(', ')}`);
    for (const [name, tensor] of own) {
      const given = state[name];
      if (given && shapeText(given.shape) !== shapeText(tensor.shape)) {
        refuse(`"${name}" has shape ${shapeText(given.shape)}, the module wants ${shapeText(tensor.shape)}`);
      }
    }
    flushOlder();
    for (const [name, tensor] of own) {
      const given = state[name];
      if (given) tensor.assign(given.detach().cast(tensor.dtype).to(tensor.device));
    }
  }

  /** Its state as a safetensors file. */
  save(): Promise<Uint8Array> {
    return saveSafetensors(this.stateDict());
  }

  /** Takes its state from a safetensors file. Rejects with 'damaged' for one that is cut or changed, 'input' for another model's. */
  async load(file: Uint8Array | ArrayBuffer, ...given: Given<{readonly strict?: boolean}, [strict?: boolean]>): Promise<void> {
    this.loadStateDict(await loadSafetensors(file), ...given);
  }

  /** Lets go of its tensors. */
  dispose(): void {
    [...this.parameters(), ...this.buffers()].forEach((tensor) => tensor.dispose());
  }

  // TensorJS's names.
  getParameters(): Parameter[] { return this.parameters(); }
  getSubModules(): Module[] { return this.children(); }
  toBackend(backend: 'CPU' | 'WASM' | 'GPU' | Device): this { return this.to(backend === 'GPU' ? 'webgl' : backend === 'CPU' || backend === 'WASM' ? 'cpu' : backend); }
  toCPU(): this { return this.to('cpu'); }
  toWASM(): this { return this.to('cpu'); }
  toGPU(): this { return this.to('webgl'); }
  get backend(): Device { return this.parameters()[0]?.device ?? 'cpu'; }
  get mode(): 'train' | 'inference' { return this.training ? 'train' : 'inference'; }
  set mode(mode: 'train' | 'inference') { this.train(mode === 'train'); }
}

/** A module of one tensor to one. */
export abstract class Layer extends Module {
  abstract override forward(x: Tensor): Tensor;
}
