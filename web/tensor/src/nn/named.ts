/** Classes keep their names in bundles: people read them in consoles and errors. */

/** Gives each class the name that it is exported under, the first one. */
export function named(classes: object): void {
  for (const [name, each] of Object.entries(classes)) {
    if (typeof each === 'function' && /^[A-Z]/.test(name) && !done.has(each)) {
      done.add(each);
      Object.defineProperty(each, 'name', {value: name});
    }
  }
}
const done = new Set<unknown>();
