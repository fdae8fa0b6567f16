// How each source is compiled. The build compiles several as one (cmake/precompiled.cmake); here each is alone.
import {readFileSync} from 'node:fs';
import path from 'node:path';

/** @returns {{file: string, command: string, directory: string}[]} */
export function commandsOfSources(build) {
  const commands = JSON.parse(readFileSync(path.join(build, 'compile_commands.json'), 'utf8'));
  return commands.flatMap((entry) => {
    if (!entry.file.endsWith('.cxx')) return [entry];
    const sources = [...readFileSync(entry.file, 'utf8').matchAll(/^#include "(.+)"/gm)].map((match) => match[1]);
    return sources.map((file) => ({...entry, file, command: entry.command.replaceAll(entry.file, file)}));
  });
}
