/** The files that a user gives: one, several, or a folder of them. */

/** By their paths from what was given. */
export type GivenFiles = Map<string, File>;

/** The folder of a path, with its slash; '' at the top. */
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);

export const fromControl = (files: Iterable<File>): GivenFiles =>
  new Map([...files].map((file) => [file.webkitRelativePath || file.name, file]));

async function walk(entry: FileSystemEntry, all: GivenFiles): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    all.set(entry.fullPath.replace(/^\//, ''), file);
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A folder comes in batches; an empty one is the end.
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return;
    for (const each of batch) await walk(each, all);
  }
}

/** What was dropped, folders with all that is in them. */
export async function fromDrop({items, files}: DataTransfer): Promise<GivenFiles> {
  // Entries are there during the event only, so all are taken before the first wait.
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return fromControl(files);
  const all: GivenFiles = new Map();
  for (const entry of entries) await walk(entry, all);
  return all;
}

/** The file that a model means by a location beside it: in its folder, or given by its name alone. */
export function beside(files: GivenFiles, model: string, location: string): File | undefined {
  const exact = files.get(folderOf(model) + location);
  if (exact) return exact;
  const [, name = location] = /([^/]*)$/.exec(location) ?? [];
  return location.split('/').includes('..') ? undefined : files.get(name);
}
