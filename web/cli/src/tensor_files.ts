/** Values of inputs in files, and of outputs as files. */
import {readFile} from 'node:fs/promises';
import {extname} from 'node:path';
import type {DType, StringTensor, Tensor} from '@gossamer/runtime';
import {readNpy} from '../../runtime/page/npy.ts';
import {readStrings, stands} from '../../runtime/page/tensor_file.ts';
import {readTensorProto} from '../../runtime/page/tensor_proto.ts';
import {Failure} from './failure.ts';

/** .npy, .pb or .json. Throws a Failure. */
export async function readTensor(file: string): Promise<StringTensor | Tensor> {
  // slice() of Node's Buffer makes no copy, which readers count on.
  const bytes = new Uint8Array(await readFile(file));
  const ending = extname(file).toLowerCase();
  try {
    if (ending === '.npy') return readNpy(bytes, file);
    if (ending === '.pb') return readTensorProto(bytes, file);
    if (ending === '.json') return readStrings(new TextDecoder().decode(bytes), file);
  } catch (problem) {
    throw new Failure('', (problem as Error).message);
  }
  throw new Failure(file, `"${ending}" is not a form of a tensor`, 'give .npy, .pb, .json (strings), .png or .jpg');
}

/** The same for an input of this type. */
export async function readFor(file: string, dtype: DType | 'string'): Promise<StringTensor | Tensor> {
  const given = await readTensor(file);
  if (given.dtype !== 'string' && dtype !== 'string' && stands(given.dtype, dtype)) return {...given, dtype};
  return given;
}
