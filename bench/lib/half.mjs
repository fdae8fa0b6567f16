/** The number of an f16's bits, for engines without Float16Array. */
export const halfOf = (bits) => {
  const exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const size = exponent === 0 ? fraction * 2 ** -24 : exponent < 31 ? (1024 + fraction) * 2 ** (exponent - 25) : fraction ? NaN : Infinity;
  return bits & 32768 ? -size : size;
};
