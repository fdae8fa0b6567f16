/** Answers of a given form: what requests ask for, as constraints of the model's tokens. Loaded when a request asks for one. */
import type {ResponseFormat, Tool} from '../api_types.ts';
import {badRequest} from '../errors.ts';
import type {Tokenizer} from '../tokenizer.ts';
import {CLOSE, OPEN} from '../tool_calls.ts';
import {choice, Grammar, GrammarError, type Part, repeat, sequence, text} from './automaton.ts';
import {ANY, character} from './code_points.ts';
import {Constraint} from './constraint.ts';
import {without} from './deterministic.ts';
import {ebnf} from './ebnf.ts';
import {anyJson} from './json_text.ts';
import {Machine} from './machine.ts';
import {pattern} from './patterns.ts';
import {SchemaGrammar} from './schema.ts';
import {checkStrict} from './strict.ts';
import {Vocabulary} from './vocabulary.ts';

/** What an answer may be. */
export interface Wanted {
  readonly format?: ResponseFormat | undefined;
  readonly tools?: {
    readonly all: readonly Tool[];
    /** Whether there must be a call. */
    readonly isForced: boolean;
    /** Whether there may be several. */
    readonly isParallel: boolean;
  } | undefined;
}

/** Grammars that are kept with their masks. */
const MOST_KEPT = 16;

function rootOf(grammar: Grammar, part: Part): number {
  const root = grammar.declare('root');
  grammar.define(root, part);
  return root;
}

function formatPart(grammar: Grammar, format: ResponseFormat): Part {
  switch (format.type) {
    case 'json_object':
      return anyJson(grammar).object;
    case 'json_schema': {
      const {schema = {type: 'object'}, strict} = format.json_schema;
      if (strict === true) checkStrict(schema);
      return new SchemaGrammar(grammar, schema).part(schema);
    }
    case 'regex':
      return pattern(format.pattern, character, true);
    case 'grammar':
    case 'text':
      throw new GrammarError(`the form "${format.type}" cannot be joined with tools`);
  }
}

/** Arguments that the tool's schema allows. One that is not strict may have what is not supported: any object, then. */
function argumentsOf(grammar: Grammar, {function: {name, parameters, strict}}: Tool): Part {
  if (parameters === undefined) return text('{}');
  try {
    if (strict === true) checkStrict(parameters);
    return new SchemaGrammar(grammar, parameters, CLOSE).part({type: 'object', ...parameters});
  } catch (problem) {
    if (!(problem instanceof GrammarError)) throw problem;
    if (strict === true) throw new GrammarError(`of the function "${name}": ${problem.message}`);
    return anyJson(grammar, CLOSE).object;
  }
}

function callsPart(grammar: Grammar, {all, isForced, isParallel}: NonNullable<Wanted['tools']>, content: Part | undefined): Part {
  const call = choice(...all.map((tool) => sequence(text(`${OPEN}\n{"name": ${JSON.stringify(tool.function.name)}, "arguments": `), argumentsOf(grammar, tool), text(`}\n${CLOSE}`))));
  const calls = sequence(call, repeat(sequence(text('\n'), call), 0, isParallel ? Infinity : 0));
  if (isForced) return calls;
  if (content) return choice(content, calls);
  const any = repeat(character(ANY), 0);
  const free = without(any, sequence(any, text(OPEN), any));
  return sequence(free, repeat(sequence(call, free), 0, isParallel ? Infinity : 1));
}

function grammarOf({format, tools}: Wanted): {grammar: Grammar; root: number} {
  if (format?.type === 'grammar' && !tools) return ebnf(format.grammar);
  const grammar = new Grammar();
  const content = format && format.type !== 'text' && !tools?.isForced ? formatPart(grammar, format) : undefined;
  return {grammar, root: rootOf(grammar, tools ? callsPart(grammar, tools, content) : (content as Part))};
}

export class Structures {
  readonly #vocabulary: Vocabulary;
  readonly #first: Vocabulary;
  readonly #stops: readonly number[];
  readonly #machines = new Map<string, Machine>();

  /** Of a model of so many tokens, some of which end a text. */
  constructor(tokenizer: Tokenizer, words: number, stops: readonly number[]) {
    const texts = Array.from({length: words}, (_, id) => tokenizer.isShown(id) && !stops.includes(id));
    this.#stops = stops;
    this.#vocabulary = new Vocabulary(texts.map((isText, id) => (isText ? tokenizer.pieceOf(id).bytes : undefined)));
    // Decoders of bytes have one text for a token everywhere.
    this.#first = texts.every((isText, id) => !isText || tokenizer.bytesOf(id))
      ? this.#vocabulary
      : new Vocabulary(texts.map((isText, id) => (isText ? tokenizer.firstBytesOf(id) : undefined)));
  }

  /** A new text of the form. Throws a 400 with `param` for a form that is wrong or cannot be met. */
  constraint(wanted: Wanted, param: string): Constraint {
    const key = JSON.stringify(wanted);
    let machine = this.#machines.get(key);
    this.#machines.delete(key);
    try {
      const {grammar, root} = machine ? {grammar: undefined, root: 0} : grammarOf(wanted);
      machine ??= new Machine(grammar as Grammar, root, this.#vocabulary, this.#stops);
    } catch (problem) {
      if (!(problem instanceof GrammarError)) throw problem;
      throw badRequest(`Invalid '${param}': ${problem.message}.`, param, 'invalid_value');
    }
    this.#machines.set(key, machine);
    if (this.#machines.size > MOST_KEPT) this.#machines.delete(this.#machines.keys().next().value as string);
    return new Constraint(machine, this.#vocabulary, this.#first);
  }
}
