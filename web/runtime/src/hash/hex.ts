/** A hash in hexadecimal, as manifests have it. */
export const hexOf = (hash: ArrayBuffer): string =>
  Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
