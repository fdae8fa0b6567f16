/** Files that the examples do not bring along: models and data of the user's. */
import {asked, byId, make, setState, tell} from './page.ts';

/** What `make examples` serves of the folder that it was given. */
const FOLDER = 'data';

async function fetched(address: string): Promise<Blob | undefined> {
  const response = await fetch(address).catch(() => undefined);
  // Servers that know no better answer with a page.
  if (!response?.ok || response.headers.get('Content-Type')?.startsWith('text/html')) return undefined;
  return response.blob();
}

/** Says which files are missing and how to give them; resolves when they were chosen. */
function chosen<Id extends string>(missing: readonly (readonly [Id, string])[]): Promise<Map<Id, Blob>> {
  const section = make('section', {id: 'given'});
  section.append(
    make('h2', {}, 'This page wants files that are not here'),
    make('p', {}, 'Start the server with a folder that has them, make examples ARGS=FOLDER, or choose them here. They stay in this page.'),
  );
  byId('trouble', HTMLElement).after(section);
  tell('status', 'Waiting for files.');
  setState('waiting');
  return new Promise((resolve) => {
    const have = new Map<Id, Blob>();
    for (const [id, path] of missing) {
      const control = make('input', {type: 'file', id: `given-${id}`});
      section.append(make('p', {}, make('label', {}, make('code', {}, path), ' ', control)));
      control.addEventListener('change', () => {
        const [file] = control.files ?? [];
        if (file) have.set(id, file);
        if (have.size < missing.length) return;
        section.remove();
        resolve(have);
      });
    }
  });
}

/**
 * Files by their names: from where the address says (?name=ADDRESS), else from their path in the folder that is served, else from
 * beside the page, where it brings one along (`own`), else as the user chooses them.
 */
export async function givenFiles<Id extends string>(
  wanted: Readonly<Record<Id, string>>,
  own: Readonly<Record<string, string | undefined>> = {},
): Promise<Readonly<Record<Id, Blob>>> {
  const all = Object.entries(wanted) as [Id, string][];
  const find = async ([id, path]: [Id, string]): Promise<Blob | undefined> => {
    const address = asked.get(id);
    const beside = address === null ? own[id] : undefined;
    return (await fetched(address ?? `${FOLDER}/${path}`)) ?? (beside === undefined ? undefined : fetched(beside));
  };
  const found = await Promise.all(all.map(find));
  const missing = all.filter((_, at) => !found[at]);
  const given = missing.length > 0 ? await chosen(missing) : undefined;
  return Object.fromEntries(all.map(([id], at) => [id, found[at] ?? given?.get(id)])) as Record<Id, Blob>;
}
