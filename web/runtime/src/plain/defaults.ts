/** Values of inputs that run() may leave out: defaults.safetensors, which packages with such inputs have. */
import {decode} from '../values/encoding.ts';
import type {Pieces} from '../package/pieces.ts';
import {type Port, valuePorts} from '../session/ports.ts';
import {readSafetensors, storedType} from '../package/safetensors.ts';
import {bytesOf, GossamerError, product} from '../values/types.ts';

/** The inputs with their defaults. Throws 'damaged' for a default that does not fit its input. */
export function withDefaults(inputs: readonly Port[], file: Pieces): Port[] {
  const where = 'defaults.safetensors';
  const stored = readSafetensors(file, where);
  const whole = new Set(valuePorts(inputs).map(({name, dtype}) => (dtype === 'string' ? '' : name)));
  return inputs.map((port): Port => {
    const found = whole.has(port.name) ? stored.get(port.name) : undefined;
    if (!found) return port;
    const {name, dtype} = port;
    const {shape, begin, end} = found;
    const fits =
      found.dtype === storedType(dtype) && shape.length === port.shape.length && end - begin === product(shape) * bytesOf(dtype) &&
      port.shape.every((extent, axis) => typeof extent !== 'number' || extent === shape[axis]);
    if (!fits) throw new GossamerError('damaged', `${where}: the default does not fit input "${name}"`);
    return {...port, value: {dtype: dtype, shape, data: decode(file.take(begin, end), dtype)}};
  });
}
