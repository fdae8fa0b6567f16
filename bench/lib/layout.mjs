// Where the page finds things: the first parts of its addresses, and the folders of this checkout that are served
// there, or copied into a pack. An edition is Gossamer as built from one commit: `now` this checkout, `before` another one.
import {existsSync} from 'node:fs';
import {join, resolve} from 'node:path';

export const bench = resolve(import.meta.dirname, '..');
export const root = resolve(bench, '..');

/** {address: folder}; the page itself is bench/page/index.html. */
export function layout({before, packages} = {}) {
  const edition = (name, from) => ({[`${name}/runtime`]: join(from, 'web/runtime/dist'), [`${name}/compiler`]: join(from, 'web/compiler/dist')});
  return {
    bench,
    peers: join(bench, 'node_modules'),
    ...edition('now', root),
    'now/tensor': join(root, 'web/tensor/dist'),
    ...(before ? edition('before', before) : {}),
    ...(packages ? {packages} : {}),
  };
}

/** The folder with an earlier build that bench/before.sh has made, if it has. */
export function builtBefore(commit = '6d51169') {
  const folder = join(root, 'third_party/cache/before', commit);
  return existsSync(join(folder, '.built')) ? folder : undefined;
}
