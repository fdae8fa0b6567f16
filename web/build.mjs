// Builds the workspaces that have a build, side by side: node build.mjs
import {spawn} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

const here = import.meta.dirname;
const read = (folder) => JSON.parse(readFileSync(join(here, folder, 'package.json'), 'utf8'));
const present = read('.').workspaces.filter((folder) => existsSync(join(here, folder, 'package.json')));
const folders = present.filter((folder) => read(folder).scripts?.build);
/** They take compiler.wasm out of its dist. */
const afterCompiler = ['tensor', 'ort', 'examples'];

function build(folder) {
  return new Promise((resolve) => {
    const made = spawn('npm', ['run', '--silent', 'build', '-w', folder], {cwd: here, stdio: 'inherit'});
    made.on('close', (code) => {
      if (code !== 0) {
        console.error(`${folder} is not built`);
        process.exitCode = 1;
      }
      resolve(code === 0);
    });
  });
}

const compiler = build('compiler');
const rest = folders.filter((folder) => folder !== 'compiler');
await Promise.all(
  rest.map(async (folder) => {
    if (!afterCompiler.includes(folder) || (await compiler)) await build(folder);
  }),
);
await compiler;
