/** The options of a compilation: names and meaning are those of include/gossamer/options.def, with which a test compares them. */
import {Option, type Command} from 'commander';
import type {CompileOptions} from '@gossamer/compiler';
import {UsageError} from './failure.ts';

export type Target = CompileOptions['target'];
export const TARGETS: readonly Target[] = ['webgpu', 'webgl', 'wasm'];
const NATIVE_TARGETS = ['cpu', 'opencl', 'opengl', 'interp'];

/** What this program lacks, with what has it. */
export const nativeOnly = (what: string, instead = ''): UsageError =>
  new UsageError(`${what} needs the native command, which runs on Linux; ${instead || 'docs/install.md says how to build it'}`);

/** A target of pages. Throws a UsageError. */
export function targetNamed(name: string): Target {
  const target = TARGETS.find((each) => each === name);
  if (target) return target;
  if (NATIVE_TARGETS.includes(name)) throw nativeOnly(`--target ${name}`, `use --target ${TARGETS.join(', ')} here, or build that (docs/install.md)`);
  throw new UsageError(`--target: "${name}" is none of ${TARGETS.join(', ')} (see gossamer --help)`);
}

/** Several, separated by commas. */
export function targetsNamed(text: string, before: readonly Target[] = []): Target[] {
  const targets = [...before, ...text.split(',').map(targetNamed)];
  if (new Set(targets).size < targets.length) throw new UsageError('--target names one target twice');
  return targets;
}

export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

/** A whole number within limits. */
export const whole = (name: string, least: number, most: number) => (text: string): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new UsageError(`${name}: ${text} is not a whole number from ${least} to ${most} (see gossamer --help)`);
};

export const real = (name: string) => (text: string): number => {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new UsageError(`${name}: ${text} is not a number (see gossamer --help)`);
};

const UNITS: Readonly<Record<string, number>> = {'': 1, b: 1};
for (const [at, unit] of ['k', 'm', 'g', 't'].entries()) Object.assign(UNITS, {[unit]: 1000 ** (at + 1), [`${unit}b`]: 1000 ** (at + 1), [`${unit}ib`]: 1024 ** (at + 1)});

/** 64MB, 500KB, 1GiB, or a number of bytes. */
function bytes(text: string): number {
  const [, number, unit = ''] = /^\s*(\d+)\s*([a-z]*)\s*$/i.exec(text) ?? [];
  const size = Number(number) * (UNITS[unit.toLowerCase()] ?? NaN);
  if (size >= 1 && size <= 2 ** 40) return size;
  throw new UsageError(`--shard-bytes: ${text} is not a size from 1 byte to 1 TiB, such as 64MB (see gossamer --help)`);
}

/** Options of this name that only the native command has; it says so when one is given. */
export function addNativeOnly(command: Command, options: Readonly<Record<string, string>>): void {
  for (const [flags, instead] of Object.entries(options)) {
    const option = new Option(flags).hideHelp().argParser(() => {
      throw nativeOnly(flags.replace(/ .*/, ''), instead);
    });
    command.addOption(option);
    if (!flags.includes('<')) {
      command.on(`option:${option.name()}`, () => {
        throw nativeOnly(flags, instead);
      });
    }
  }
}

export function addCompileOptions(command: Command): void {
  command
    .option('--name <name>', "the model's name")
    .option('--no-relaxed-simd', 'wasm: no kernels with relaxed SIMD next to the others')
    .option('--no-winograd', 'no convolutions by Winograd\'s algorithm, which is faster, rounds otherwise and takes more memory for weights')
    .option('--f16', 'webgpu: store f16 tensors as such; the device needs shader-f16')
    .option('--state', 'caches of keys and values: outputs that continue an input by rows are written in place (not on webgl)')
    .option('--generate', 'language models, with --state: choose the next token on the device, for generate() of the run time')
    .option('--speculate', 'with --generate: a run can check several guessed tokens')
    .addOption(new Option('--limits <device>', 'GPUs: keep the limits of mobile devices, or of OpenGL ES 3.1').choices(['mobile', 'es31']))
    .addOption(new Option('--adapters <kind>', 'webgpu: kernels for GPUs in hardware, for software that acts as one, or both; wasm: hardware is for engines with relaxed SIMD alone').choices(['any', 'hardware', 'software']))
    .option('--shard-bytes <size>', 'weights of more bytes are split into several files of at most this size (64MB)', bytes)
    // Accepted where it is turned on, which it is.
    .addOption(new Option('--relaxed-simd').hideHelp())
    .addOption(new Option('--winograd').hideHelp());
  addNativeOnly(command, {'--cpu <name>': 'the targets here are compiled for no particular processor'});
}

/** Parsed options by the compiler's names; what was not given is absent. */
export function compileOptionsOf(given: Readonly<Record<string, unknown>>): Partial<CompileOptions> {
  const names = ['name', 'relaxedSimd', 'winograd', 'f16', 'state', 'generate', 'speculate', 'limits', 'adapters', 'shardBytes'] as const;
  return Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])));
}
