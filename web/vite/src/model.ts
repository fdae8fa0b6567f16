/** What an import of a model gives. */
import type {Feed, LoadOptions, Model, Output} from '@gossamer/runtime';

/** A model whose inputs and outputs have names that are known. */
export interface TypedModel<Inputs extends string, Outputs extends string> extends Omit<Model, 'run'> {
  run(feeds: Readonly<Record<Inputs, Feed>>): Promise<Record<Outputs, Output>>;
}

export interface CompiledModel<Inputs extends string = string, Outputs extends string = string> {
  /** The folder of the package, for load() of @gossamer/runtime elsewhere, such as in a worker. */
  readonly url: string;
  /** As load() of @gossamer/runtime. */
  load(options?: LoadOptions): Promise<TypedModel<Inputs, Outputs>>;
}
