/** The files of a folder that is dropped on the page. */

function filesOf(entry: FileSystemEntry): Promise<(readonly [string, File])[]> {
  return new Promise((resolve, reject) => {
    if (entry.isFile) {
      (entry as FileSystemFileEntry).file((file) => resolve([[entry.fullPath.slice(1), file]]), reject);
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    const all: FileSystemEntry[] = [];
    // A folder is read in parts, the last of which is empty.
    const more = (): void => reader.readEntries((part) => {
      all.push(...part);
      if (part.length > 0) more();
      else Promise.all(all.map(filesOf)).then((found) => resolve(found.flat()), reject);
    }, reject);
    more();
  });
}

/** With their paths. The list of `transfer` must be read before the event ends, so this begins at once. */
export async function droppedFiles(transfer: DataTransfer): Promise<(readonly [string, File])[]> {
  const entries = Array.from(transfer.items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return Array.from(transfer.files, (file) => [file.name, file] as const);
  return (await Promise.all(entries.map(filesOf))).flat();
}
