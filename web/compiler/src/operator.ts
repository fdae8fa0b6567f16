/**
 * A user's own operator, composed of known ones. It becomes an ONNX function of the model (docs/specs/operator.md), so
 * every target takes it and fusion sees through it.
 *
 *     const squaredSwish = operator({
 *       domain: 'com.example',
 *       name: 'SquaredSwish',
 *       inputs: ['x'],
 *       attributes: {alpha: float(1)},
 *       define: (call, {x}, {alpha}) =>
 *         call('Mul', call('Mul', x, x), call('Sigmoid', call('Mul', x, alpha))),
 *     });
 *     const files = await compile(onnx, {target: 'webgpu', operators: [squaredSwish]});
 */
import {encode, type Field, Float} from './protobuf.ts';

/** A tensor within a definition. */
export class Value {
  readonly id: string;
  constructor(id: string) {
    this.id = id;
  }
}

/** What the node says for an attribute of the operator; known when a model is compiled. */
export class AttributeRef {
  readonly name: string;
  readonly kind: Kind;
  constructor(name: string, kind: Kind) {
    this.name = name;
    this.kind = kind;
  }
}

/** Whole numbers are ints unless written as `float(2)`. */
export type AttributeValue = number | string | Float | readonly number[] | readonly string[];

export const float = (value: number): Float => new Float(value);

/** Numbers, and numeric attributes, become constants of the type of the call's first tensor. */
export type Operand = Value | AttributeRef | number | Float | null;
export type CallAttributes = Readonly<Record<string, AttributeValue | AttributeRef>>;

/** An operator of ai.onnx, or 'domain::Name': its operands (null: an optional one left out), then attributes. */
export type Call = (operator: string, ...given: (Operand | CallAttributes)[]) => Value;

export interface OperatorDefinition<Input extends string, Attribute extends string> {
  readonly domain: string;
  readonly name: string;
  readonly inputs: readonly Input[];
  /** Default: one, "y". */
  readonly outputs?: readonly string[];
  /** Names and defaults. */
  readonly attributes?: Readonly<Record<Attribute, AttributeValue>>;
  /** Version of ai.onnx that the definition is written for. Default: 20. */
  readonly opset?: number;
  /** The outputs in order, or the only one. */
  readonly define: (
    call: Call,
    inputs: Readonly<Record<Input, Value>>,
    attributes: Readonly<Record<Attribute, AttributeRef>>,
  ) => Value | readonly Value[];
}

export interface Operator {
  readonly domain: string;
  readonly name: string;
  /** Field `functions` of ModelProto. */
  readonly bytes: Uint8Array;
}

// AttributeProto.type
const KINDS = {f: 1, i: 2, s: 3, floats: 6, ints: 7, strings: 8} as const;
type Kind = keyof typeof KINDS;

function kindOf(value: AttributeValue): Kind {
  if (value instanceof Float) return 'f';
  if (typeof value === 'string') return 's';
  if (typeof value === 'number') return Number.isInteger(value) ? 'i' : 'f';
  if (value.every((item) => typeof item === 'string')) return value.length ? 'strings' : 'ints';
  return value.every((item) => Number.isInteger(item)) ? 'ints' : 'floats';
}

function attribute(name: string, value: AttributeValue | AttributeRef): Uint8Array {
  const fields: Field[] = [[1, name]];
  if (value instanceof AttributeRef) {
    return encode([...fields, [20, KINDS[value.kind]], [21, value.name]]);
  }
  const kind = kindOf(value);
  if (value instanceof Float) fields.push([2, value]);
  else if (typeof value === 'string') fields.push([4, value]);
  else if (typeof value === 'number') fields.push(kind === 'i' ? [3, BigInt(value)] : [2, new Float(value)]);
  else {
    for (const item of value) {
      if (typeof item === 'string') fields.push([9, item]);
      else fields.push(kind === 'ints' ? [8, BigInt(item)] : [7, new Float(item)]);
    }
  }
  return encode([...fields, [20, KINDS[kind]]]);
}

class Body {
  readonly nodes: Uint8Array[] = [];
  readonly domains = new Set<string>();
  readonly #name: string;
  readonly #where: string;
  constructor(domain: string, name: string) {
    this.#name = name;
    this.#where = `operator ${domain}::${name}`;
  }

  #node(name: string, inputs: readonly string[], output: string, attributes: CallAttributes): void {
    const [domain = '', type = ''] = name.includes('::') ? name.split('::') : ['', name];
    if (domain) this.domains.add(domain);
    this.nodes.push(
      encode([
        ...inputs.map((input): Field => [1, input]),
        [2, output],
        [3, `${this.#name}/${output}`],
        [4, type],
        ...Object.entries(attributes).map(([key, value]): Field => [5, attribute(key, value)]),
        [7, domain],
      ]),
    );
  }

  #fresh(): string {
    return `v${this.nodes.length}`;
  }

  /** A number of the type of `like`. */
  #constant(value: number | Float | AttributeRef, like: Value): Value {
    if (value instanceof AttributeRef && value.kind !== 'f' && value.kind !== 'i') {
      throw new TypeError(`${this.#where}: attribute ${value.name} is not a number and cannot be an operand`);
    }
    const raw = this.#fresh();
    const whole = value instanceof AttributeRef && value.kind === 'i';
    const given = typeof value === 'number' ? new Float(value) : value;
    this.#node('Constant', [], raw, {[whole ? 'value_int' : 'value_float']: given});
    const result = this.#fresh();
    this.#node('CastLike', [raw, like.id], result, {});
    return new Value(result);
  }

  call(name: string, given: readonly (Operand | CallAttributes)[]): Value {
    const isOperand = (item: Operand | CallAttributes): item is Operand =>
      item === null ||
      typeof item === 'number' ||
      [Value, AttributeRef, Float].some((type) => item instanceof type);
    const operands = given.filter(isOperand);
    const last = given.at(-1);
    const attributes = given.length > operands.length ? (last as CallAttributes) : {};
    if (given.length - operands.length > 1 || (given.length > operands.length && isOperand(last ?? null))) {
      throw new TypeError(`${this.#where}: ${name} takes operands, then attributes`);
    }
    const first = operands.find((item) => item instanceof Value);
    const inputs = operands.map((item) => {
      if (item === null) return '';
      if (item instanceof Value) return item.id;
      if (!first) throw new TypeError(`${this.#where}: ${name} has only numbers`);
      return this.#constant(item, first).id;
    });
    const output = this.#fresh();
    this.#node(name, inputs, output, attributes);
    return new Value(output);
  }

  rename(from: Value, to: string): void {
    this.#node('Identity', [from.id], to, {});
  }
}

/** Throws a TypeError where the definition cannot be one. */
export function operator<Input extends string, Attribute extends string = never>(
  definition: OperatorDefinition<Input, Attribute>,
): Operator {
  const {domain, name, inputs, outputs = ['y'], opset = 20, define} = definition;
  const attributes: Readonly<Record<string, AttributeValue>> = definition.attributes ?? {};
  const where = `operator ${domain}::${name}`;
  if (!domain || !name) throw new TypeError(`${where}: it needs a domain and a name`);
  const names = [...inputs, ...outputs];
  if (new Set(names).size !== names.length || outputs.length === 0) {
    throw new TypeError(`${where}: inputs and outputs need names of their own`);
  }
  const body = new Body(domain, name);
  const values = Object.fromEntries(inputs.map((input) => [input, new Value(`in_${input}`)]));
  const refs = Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [key, new AttributeRef(key, kindOf(value))]),
  );
  const made = define(
    (called, ...given) => body.call(called, given),
    values as Record<Input, Value>,
    refs as Record<Attribute, AttributeRef>,
  );
  const results = made instanceof Value ? [made] : made;
  if (results.length !== outputs.length || !results.every((result) => result instanceof Value)) {
    throw new TypeError(`${where}: define gives ${results.length} values for ${outputs.length} outputs`);
  }
  results.forEach((result, at) => body.rename(result, `out_${outputs[at] ?? ''}`));
  const versions = [['', opset], ...[...body.domains].map((each) => [each, 1] as const)] as const;
  const proto = encode([
    [1, name],
    ...inputs.map((input): Field => [4, `in_${input}`]),
    ...outputs.map((output): Field => [5, `out_${output}`]),
    ...Object.entries(attributes).map(([key, value]): Field => [11, attribute(key, value)]),
    ...body.nodes.map((node): Field => [7, node]),
    ...versions.map(([from, version]): Field => [9, encode([[1, from], [2, version]])]),
    [10, domain],
  ]);
  return {domain, name, bytes: encode([[25, proto]])};
}

/** The model with these operators in it: a message's fields may stand in any order. */
export function withOperators(model: Uint8Array, operators: readonly Operator[]): Uint8Array {
  const parts = [model, ...operators.map(({bytes}) => bytes)];
  const whole = new Uint8Array(parts.reduce((sum, {length}) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
