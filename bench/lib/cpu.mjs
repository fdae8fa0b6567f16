// cpu packages in a process of their own (cpu/serve.cc, linked against a build folder's libraries).
import {execFileSync, spawn} from 'node:child_process';
import {existsSync, mkdirSync, statSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {createInterface} from 'node:readline';

const bench = resolve(import.meta.dirname, '..');
const root = resolve(bench, '..');

/** The program, linked again when a library is newer. */
export function buildServe(build) {
  const cache = join(bench, '.cache');
  mkdirSync(cache, {recursive: true});
  const program = join(cache, 'serve');
  const wanted = ['runtime', 'package', 'ir', 'base'].map((name) => join(build, `libgossamer_${name}.a`));
  const libraries = wanted.filter((file) => existsSync(file));
  const sources = [join(bench, 'cpu/serve.cc')];
  const newest = Math.max(...[...libraries, ...sources].map((file) => statSync(file).mtimeMs));
  if (existsSync(program) && statSync(program).mtimeMs > newest) return program;
  const flags = ['-std=c++23', '-O2', '-fuse-ld=lld-19', `-I${join(root, 'src')}`, `-I${join(root, 'include')}`, `-I${root}`];
  const system = ['-ldl', '-lpthread'];
  execFileSync('clang++-19', [...flags, ...sources, '-o', program, ...libraries, ...system], {stdio: 'inherit'});
  return program;
}

/** Opens a cpu package: {run(N), profile(N), save(FILE), close()}, one command at a time. */
export async function openCpu(folder, {build = join(root, 'build'), threads = 1, dims = [], profile = true} = {}) {
  const flags = [...(profile ? ['--profile'] : []), ...dims.map(String)];
  const process = spawn(buildServe(build), [folder, String(threads), ...flags], {stdio: ['pipe', 'pipe', 'inherit']});
  const lines = createInterface({input: process.stdout})[Symbol.asyncIterator]();
  const answer = async () => {
    const {value, done} = await lines.next();
    if (done) throw new Error(`bench/cpu/serve stopped on ${folder}`);
    return JSON.parse(value);
  };
  const ask = (command) => {
    process.stdin.write(`${command}\n`);
    return answer();
  };
  const {device} = await answer();
  return {
    device,
    run: (count) => ask(`run ${count}`),
    profile: (count) => ask(`profile ${count}`),
    save: (file) => ask(`save ${file}`),
    close: () => process.stdin.end(),
  };
}
