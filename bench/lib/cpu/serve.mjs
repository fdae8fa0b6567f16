// cpu packages in a process of their own (cpu/serve.cc, linked against the libraries of the checkout it measures).
import {execFileSync, spawn} from 'node:child_process';
import {existsSync, mkdirSync, statSync} from 'node:fs';
import {basename, join} from 'node:path';
import {createInterface} from 'node:readline';
import {bench, root} from '../layout.mjs';

/** The program, linked again when a library is newer. from: the root of the sources; build: their build folder. */
export function buildServe(from = root, build = join(from, 'build')) {
  const cache = join(bench, '.cache');
  mkdirSync(cache, {recursive: true});
  const program = join(cache, from === root ? 'serve' : `serve_${basename(from)}`);
  const wanted = ['runtime', 'package', 'ir', 'base'].map((name) => join(build, `libgossamer_${name}.a`));
  const libraries = wanted.filter((file) => existsSync(file));
  const sources = [join(bench, 'cpu/serve.cc')];
  const newest = Math.max(...[...libraries, ...sources].map((file) => statSync(file).mtimeMs));
  if (existsSync(program) && statSync(program).mtimeMs > newest) return program;
  const flags = ['-std=c++23', '-O2', '-fuse-ld=lld-19', `-I${join(from, 'src')}`, `-I${join(from, 'include')}`, `-I${from}`];
  execFileSync('clang++-19', [...flags, ...sources, '-o', program, ...libraries, '-ldl', '-lpthread'], {stdio: 'inherit'});
  return program;
}

/** A process that answers each line with one of JSON: {ask(line), pid, hello: its first answer, close()}. */
export async function openProcess(program, args, what = basename(program)) {
  const child = spawn(program, args, {stdio: ['pipe', 'pipe', 'inherit']});
  const failed = new Promise((_, reject) => child.once('error', reject));
  const lines = createInterface({input: child.stdout})[Symbol.asyncIterator]();
  const answer = async () => {
    const {value, done} = await Promise.race([lines.next(), failed]);
    if (done) throw new Error(`${what} stopped`);
    return JSON.parse(value);
  };
  const hello = await answer();
  return {
    hello,
    pid: child.pid,
    ask: (command) => {
      child.stdin.write(`${command}\n`);
      return answer();
    },
    close: () => child.kill('SIGKILL'),
  };
}

/** Opens a cpu package: {device, pid, run(N), profile(N), save(STEM), close()}, one command at a time. inputs: {name, shape, file}. */
export async function openCpu(folder, {from = root, build, threads = 1, dims = [], inputs = [], profile = true} = {}) {
  const given = inputs.map(({name, shape, file}) => `${name}=${shape.join('x')}=${file}`);
  const args = [folder, String(threads), ...(profile ? ['--profile'] : []), ...given, ...dims.map(String)];
  const {hello, pid, ask, close} = await openProcess(buildServe(from, build), args, `bench/cpu/serve on ${basename(folder)}`);
  return {
    device: hello.device,
    pid,
    run: (count) => ask(`run ${count}`),
    profile: (count) => ask(`profile ${count}`),
    save: (stem) => ask(`save ${stem}`),
    close,
  };
}
