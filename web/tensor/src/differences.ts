/** As numericalGradient(), which fetches it. */
import type {Tensor as Type} from './tensor.ts';

export async function differences(Tensor: typeof Type, compute: (x: Type) => Type, x: Type, epsilon: number): Promise<Type> {
  const data = Float64Array.from(await x.data<Float32Array>());
  const made = new Float64Array(data.length);
  const at = async (place: number, by: number): Promise<number> => {
    const moved = data.slice();
    moved[place] = (moved[place] ?? 0) + by;
    return compute(new Tensor(moved, {shape: x.shape, dtype: x.dtype, device: x.device})).item();
  };
  for (let place = 0; place < data.length; ++place) made[place] = ((await at(place, epsilon)) - (await at(place, -epsilon))) / (2 * epsilon);
  return new Tensor(made, {shape: x.shape, dtype: x.dtype});
}
