// A module for the world of service.wit as a component, by the tools that jco has inside: its own command finds no file with a WIT.
//
//   node encode.mjs MODULE WIT COMPONENT        exit code 127 where there is no jco on the PATH
import {existsSync, readFileSync, realpathSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [module, wit, output] = process.argv.slice(-3);
const jco = (process.env.PATH ?? '').split(path.delimiter).map((folder) => path.join(folder, 'jco')).find((file) => existsSync(file));
if (!jco) process.exit(127);
try {
  const tools = createRequire(realpathSync(jco)).resolve('@bytecodealliance/jco-transpile/wasm-tools');
  const {componentEmbed, componentNew} = await import(pathToFileURL(tools));
  const embedded = await componentEmbed({binary: readFileSync(module), witSource: readFileSync(wit, 'utf8'), worldName: 'service'});
  writeFileSync(output, await componentNew(embedded, []));
} catch (problem) {
  console.error(`jco: ${problem.message}`);
  process.exit(1);
}
