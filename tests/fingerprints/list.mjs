// Reads, writes and compares lists of fingerprints. A line of a list is `MODEL/TARGET,OPTION HASH PART=HASH ...`. Parts are
// the manifest, the kernels, the functions of the plan and the weights; kernels may have equal names.

/** The list of this repository. */
export const LIST = 'tests/fingerprints/packages.txt';

const HEADER = `# Hashes of packages and of the texts of their kernels, by model, target and options.
# Written by \`make fingerprints ARGS=--update\`; tests/fingerprints/suite.mjs explains them.
`;

/** Parses a list into a map from package names to {hash, parts: [{name, hash}]}. */
export function parseList(text) {
  const packages = new Map();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [name, hash, ...parts] = line.split(' ');
    packages.set(name, {
      hash,
      parts: parts.map((part) => {
        const at = part.lastIndexOf('=');
        return {name: part.slice(0, at), hash: part.slice(at + 1)};
      }),
    });
  }
  return packages;
}

const byName = ([a], [b]) => (a < b ? -1 : 1);

/** Prints such a map as a list, sorted by names. */
export function printList(packages) {
  const lines = [...packages].sort(byName).map(([name, {hash, parts}]) =>
    [name, hash, ...parts.map((part) => `${part.name}=${part.hash}`)].join(' '));
  return `${HEADER}${lines.join('\n')}\n`;
}

/** Splits a package's name into {model, target, options}. */
export function splitName(name) {
  const [model, rest] = name.split('/');
  const [target, ...options] = rest.split(',');
  return {model, target, options};
}

/**
 * Compares the parts of two versions of a package: [{name, before, after}] for those that differ, with their hashes or
 * undefined where a version lacks the part. Kernels of the same name are compared in order. `renamed` is the former name
 * of a kernel whose text is unchanged.
 */
export function compareParts(before, after) {
  const old = [...before];
  const take = (wanted) => {
    const at = old.findIndex(wanted);
    return at < 0 ? undefined : old.splice(at, 1)[0];
  };
  const differing = after.filter(({name, hash}) => !take((each) => each.name === name && each.hash === hash));
  const renamed = new Map(differing.map((part) => [part, take(({hash}) => hash === part.hash)?.name]));
  return [
    ...differing.map((part) => {
      const {name, hash} = part;
      if (renamed.get(part)) return {name, before: hash, after: hash, renamed: renamed.get(part)};
      return {name, before: take((each) => each.name === name)?.hash, after: hash};
    }),
    ...old.map(({name, hash}) => ({name, before: hash, after: undefined})),
  ];
}

/** Compares two lists: [{name, was, is, parts}] for packages that differ; `was` is undefined for a new one, `is` for one that is gone. */
export function compareLists(before, after) {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names
    .map((name) => ({name, was: before.get(name), is: after.get(name)}))
    .filter(({was, is}) => !was || !is || was.hash !== is.hash)
    .map((each) => ({...each, parts: each.was && each.is ? compareParts(each.was.parts, each.is.parts) : []}));
}
