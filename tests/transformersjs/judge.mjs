// Compares the answers of two ONNX Runtimes.

/**
 * What answers of a form may differ by. Sums of halves are rounded in another order, and where two tokens or classes score nearly the same,
 * the other one may win: from there on texts and masks differ. An 8-bit activation may round to the next integer, more often on a GPU, whose
 * sums have another order; that is less than half of what quantization itself changes.
 */
const HALVES = {values: 2e-2, pixels: 0.02, texts: false};
const LIMITS = {
  fp32: {values: 1e-4, pixels: 0, texts: true},
  q8: {values: 5e-3, pixels: 0, texts: true},
  'q8 webgpu': {values: 6e-2, pixels: 0.02, texts: false},
  q4: {values: 1e-4, pixels: 0, texts: true},
  fp16: HALVES,
  q4f16: HALVES,
};

/** The form of the reference: onnxruntime-web on wasm is further from the same weights in fp32 than what is judged. */
export const REFERENCES = {fp16: 'fp32', q4f16: 'q4'};

/** Steps of 8 bits that a picture's bytes, and pixels that a box's edges, may be rounded to another side by. */
const ROUNDED = 1;

function bytesDiffer(wanted, made, share) {
  if (wanted.length !== made?.length) return `${made?.length} bytes instead of ${wanted.length}`;
  const wrong = wanted.filter((value, at) => Math.abs(value - made[at]) > ROUNDED).length;
  return wrong > share * wanted.length ? `${wrong} of ${wanted.length} bytes differ` : '';
}

/** The first difference that is too large, or an empty text. */
export function difference(wanted, made, form, target, place = '') {
  const limits = LIMITS[`${form} ${target}`] ?? LIMITS[form];
  if (typeof wanted === 'number' && typeof made === 'number') {
    const most = /\.box\./.test(place) && Number.isInteger(wanted) ? ROUNDED : limits.values * Math.max(1, Math.abs(wanted));
    return Math.abs(wanted - made) <= most ? '' : `${place}: ${made} instead of ${wanted}`;
  }
  if (typeof wanted === 'string' && /text$/.test(place) && !limits.texts) return typeof made === 'string' ? '' : `${place}: no text`;
  if (wanted === null || typeof wanted !== 'object') return wanted === made ? '' : `${place}: ${JSON.stringify(made)} instead of ${JSON.stringify(wanted)}`;
  if (/\.bytes$/.test(place)) return bytesDiffer(wanted, made, limits.pixels);
  if (Array.isArray(wanted) && wanted.length !== made?.length) return `${place}: ${made?.length} entries instead of ${wanted.length}`;
  for (const key of Object.keys(wanted)) {
    const found = difference(wanted[key], made?.[key], form, target, `${place}.${key}`);
    if (found) return found;
  }
  return '';
}
