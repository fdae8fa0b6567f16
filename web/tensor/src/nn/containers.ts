/** Modules that hold others. */
import {tidy} from '../core.ts';
import {wrong} from '../shape.ts';
import type {Tensor} from '../tensor.ts';
import * as layers from './layers.ts';
import {Module, Parameter} from './module.ts';
import * as norms from './norms.ts';
import {PLAIN} from './plain_layers.ts';

/** Layers of which it is known that they keep neither what they take nor what they give. */
const KEEPS_NOTHING = new Set<unknown>([...PLAIN, ...Object.values(layers), ...Object.values(norms)]);
const keepsNothing = (layer: Module): boolean => KEEPS_NOTHING.has(layer.constructor) && !Object.hasOwn(layer, 'forward');

/** One after the other; names are their places, or those of an object. */
export class Sequential extends Module {
  readonly layers: readonly Module[];
  readonly #names: readonly string[];
  constructor(...layers: Module[] | [readonly Module[]] | [Readonly<Record<string, Module>>]) {
    super();
    const [first] = layers;
    const named = first && !(first instanceof Module) && !Array.isArray(first) ? (first as Readonly<Record<string, Module>>) : undefined;
    this.layers = named ? Object.values(named) : (layers as Module[]).flat();
    this.#names = named ? Object.keys(named) : this.layers.map((_, at) => String(at));
  }
  override namedChildren(): [string, Module][] {
    return this.layers.map((each, at) => [this.#names[at] ?? String(at), each]);
  }
  /** What lies between layers that keep nothing goes at once. */
  forward(x: Tensor): Tensor {
    let value = x;
    let own = false;
    for (const each of this.layers) {
      const plain = keepsNothing(each);
      const next = plain ? tidy(() => each.forward(value) as Tensor) : (each.forward(value) as Tensor);
      if (next === value) continue;
      if (own && plain) value.dispose();
      value = next;
      own = plain;
    }
    return value;
  }
}

/** Modules by place, for a module of one's own. */
export class ModuleList extends Module {
  readonly list: Module[];
  constructor(modules: readonly Module[] = []) {
    super();
    this.list = [...modules];
  }
  get length(): number {
    return this.list.length;
  }
  at(place: number): Module | undefined {
    return this.list.at(place);
  }
  append(module: Module): this {
    this.list.push(module);
    return this;
  }
  [Symbol.iterator](): Iterator<Module> {
    return this.list[Symbol.iterator]();
  }
  override namedChildren(): [string, Module][] {
    return this.list.map((each, at) => [String(at), each]);
  }
  forward(): never {
    throw wrong('ModuleList: it only holds modules; call them');
  }
}

/** Modules by name, for a module of one's own. */
export class ModuleDict extends Module {
  readonly dict: Map<string, Module>;
  constructor(modules: Readonly<Record<string, Module>> = {}) {
    super();
    this.dict = new Map(Object.entries(modules));
  }
  get(name: string): Module | undefined {
    return this.dict.get(name);
  }
  set(name: string, module: Module): this {
    this.dict.set(name, module);
    return this;
  }
  keys(): string[] {
    return [...this.dict.keys()];
  }
  override namedChildren(): [string, Module][] {
    return [...this.dict];
  }
  forward(): never {
    throw wrong('ModuleDict: it only holds modules; call them');
  }
}

/** Parameters by place, for a module of one's own. */
export class ParameterList extends Module {
  readonly list: Parameter[];
  constructor(parameters: Iterable<Tensor> = []) {
    super();
    this.list = Array.from(parameters, parameterOf);
  }
  get length(): number {
    return this.list.length;
  }
  at(place: number): Parameter | undefined {
    return this.list.at(place);
  }
  append(parameter: Tensor): this {
    this.list.push(parameterOf(parameter));
    return this;
  }
  [Symbol.iterator](): Iterator<Parameter> {
    return this.list[Symbol.iterator]();
  }
  protected override ownTensors(): [string, Tensor][] {
    return this.list.map((each, at) => [String(at), each]);
  }
  forward(): never {
    throw wrong('ParameterList: it only holds parameters');
  }
}

/** Parameters by name, for a module of one's own. */
export class ParameterDict extends Module {
  readonly dict: Map<string, Parameter>;
  constructor(parameters: Readonly<Record<string, Tensor>> = {}) {
    super();
    this.dict = new Map(Object.entries(parameters).map(([name, each]) => [name, parameterOf(each)]));
  }
  get(name: string): Parameter | undefined {
    return this.dict.get(name);
  }
  set(name: string, parameter: Tensor): this {
    this.dict.set(name, parameterOf(parameter));
    return this;
  }
  keys(): string[] {
    return [...this.dict.keys()];
  }
  protected override ownTensors(): [string, Tensor][] {
    return [...this.dict];
  }
  forward(): never {
    throw wrong('ParameterDict: it only holds parameters');
  }
}

const parameterOf = (tensor: Tensor): Parameter => (tensor instanceof Parameter ? tensor : new Parameter(tensor));
