/** What the command line says of a model's inputs before it is compiled. */
import type {Command} from 'commander';
import type {CompileOptions} from '@gossamer/compiler';
import {encode} from '../../runtime/src/values/encoding.ts';
import {collect} from './compile_options.ts';
import {Failure} from './failure.ts';
import {readTensor} from './tensor_files.ts';

export interface FixedInputs {
  readonly shape?: readonly string[];
  readonly dim?: readonly string[];
  readonly constant?: readonly string[];
  readonly keepInput?: readonly string[];
  readonly sequence?: readonly string[];
}

export function addFixedInputs(command: Command): void {
  command
    .option('--shape <NAME=1,3,224,?>', "fixes an input's shape; ? leaves a dimension open", collect)
    .option('--dim <NAME=8>', 'fixes a named dimension of the inputs', collect)
    .option('--constant <NAME=FILE>', 'makes an input a constant of the package (.npy, .pb)', collect)
    .option('--keep-input <NAME>', 'keeps an input that has a default (an initializer), which is compiled in otherwise', collect)
    .option('--sequence <NAME=3>', 'how many elements an input has that is a sequence, called NAME.0, NAME.1, ...; NAME=none leaves an optional input out', collect);
}

/** Names may contain '=', values never do. */
function split(option: string, text: string, form: string): [name: string, value: string] {
  const at = text.lastIndexOf('=');
  if (at <= 0) throw new Failure(`${option} ${text}`, 'names nothing', `write ${option} ${form}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function extent(place: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Failure(place, `"${text}" is not a dimension`);
}

const entries = <T>(texts: readonly string[] | undefined, one: (text: string) => readonly [string, T]): Record<string, T> | undefined =>
  texts && Object.fromEntries(texts.map(one));

/** As compile() takes it. Throws a Failure. */
export async function readFixed({shape, dim, constant, keepInput, sequence}: FixedInputs): Promise<Partial<CompileOptions>> {
  const shapes = entries(shape, (text) => {
    const [name, value] = split('--shape', text, 'NAME=1,3,224,?');
    return [name, value === '' ? [] : value.split(',').map((one) => (one === '?' ? null : extent(`--shape ${text}`, one)))];
  });
  const dims = entries(dim, (text) => {
    const [name, value] = split('--dim', text, 'NAME=8');
    return [name, extent(`--dim ${text}`, value)];
  });
  const lengths = entries(sequence, (text) => {
    const [name, value] = split('--sequence', text, 'NAME=3 or NAME=none');
    return [name, value === 'none' ? -1 : extent(`--sequence ${text}`, value)];
  });
  const constants = constant && Object.fromEntries(await Promise.all(constant.map(async (text) => {
    const [name, file] = split('--constant', text, 'NAME=FILE');
    const {data, shape: extents, dtype} = await readTensor(file);
    if (dtype === 'string') throw new Failure(file, 'has strings, which cannot be a constant here');
    return [name, {data: encode(data, dtype), shape: extents, dtype}] as const;
  })));
  return {...(shapes && {shapes}), ...(dims && {dims}), ...(lengths && {lengths}), ...(constants && {constants}), ...(keepInput && {keepInputs: keepInput})};
}
