// Where a classic script is, in pages and in workers that import it.
export const scriptAddress = globalThis.document?.currentScript?.src || globalThis.location?.href;
