/** gossamer bench: how long runs of a model take in this process, and each of its kernels. */
import {writeFile} from 'node:fs/promises';
import {type Command, Option} from 'commander';
import {time} from '../../rpc/src/job.ts';
import {addCompileOptions, addNativeOnly, collect, compileOptionsOf, type Target, targetNamed, whole} from './compile_options.ts';
import {Failure, UsageError} from './failure.ts';
import {defaultsOf, madeUp, readFeeds} from './feeds.ts';
import {addFixedInputs, type FixedInputs, readFixed} from './fixed_inputs.ts';
import {compileFor} from './compiled.ts';
import {isCompiled, openModel} from './model_file.ts';
import {lengthsOf, openFiles, openPackage, runsHere} from './open_runnable.ts';
import type {ImageOptions} from './pictures.ts';
import {Progress} from './progress.ts';
import {addRecordOptions, type RecordOptions} from './records.ts';

interface Options extends FixedInputs, ImageOptions, RecordOptions, Readonly<Record<string, unknown>> {
  readonly target?: Target;
  readonly input?: readonly string[];
  readonly runs: number;
  readonly threads: number;
  readonly profile?: boolean;
  readonly trace?: string;
  readonly json?: boolean;
}

async function run(path: string, options: Options): Promise<void> {
  const {target, input: inputs = [], runs, threads, profile, trace, json} = options;
  if (trace !== undefined && !profile) throw new UsageError('--trace is for --profile');
  const progress = new Progress(json === true);
  try {
    const compiled = await isCompiled(path);
    if (!compiled && !target) throw new UsageError('--target is required for an ONNX file');
    const fixed = await readFixed(options);
    const given = compileOptionsOf(options);
    if (compiled) {
      if (fixed.shapes ?? fixed.constants ?? fixed.lengths) throw new Failure(path, 'is compiled: of its inputs, --dim alone can say something');
      const [first] = Object.entries(given).filter(([, value]) => value !== true);
      if (first) throw new Failure(path, 'is compiled, with the options that were given then', `leave --${first[0]} out, or give the ONNX file`);
    }
    const lengths = lengthsOf(inputs, fixed.lengths);
    if (target) runsHere(target);
    const model = compiled
      ? await openPackage(path, target, threads)
      : await openFiles(await compileFor(target as Target, await openModel(path), path, {...given, ...fixed, ...(lengths && {lengths}), pieces: false}, options, progress), target as Target, threads, path);
    progress.end();
    const feeds = await readFeeds(model.inputs, model.groups, {inputs, image: options, instead: (port) => madeUp(port, fixed.dims), defaults: defaultsOf(model.parts.manifest)});
    const {adapter, device} = model.report();
    const bench = await time(model, feeds, {runs, bench: profile ? 'profile' : 'runs'});
    if (profile) {
      if (trace !== undefined) await writeFile(trace, bench.trace ?? '');
      console.log(json ? JSON.stringify(bench.profile) : bench.table);
    } else {
      const times = [...bench.times].sort((a, b) => a - b);
      const [median, fastest] = [times[times.length >> 1] as number, times[0] as number];
      const {name} = model.parts.manifest;
      if (json) console.log(JSON.stringify({model: name, device, adapter, runs: times.length, runMs: median, fastestMs: fastest}));
      else console.log(`${name} on ${device}: ${adapter}\n${median.toFixed(3)} ms a run, the median of ${times.length}; the fastest ${fastest.toFixed(3)} ms`);
    }
    model.dispose();
  } finally {
    progress.end();
  }
}

export function addBench(program: Command): void {
  const browser = 'a page measures in any browser: compile the model and open the folder from a web server, or use --device of the native command';
  const command = program
    .command('bench').description("time a model's runs in this process, or each of its kernels")
    .argument('<model>', 'an ONNX file, a GGUF file, a folder with safetensors files, or a package')
    .addOption(new Option('-t, --target <target>', 'wasm, or webgpu where the npm package "webgpu" is installed').argParser(targetNamed))
    .option('--profile', 'a line for each kernel: time, bytes, operations, and the share of the measured rate of the machine that it reaches')
    .option('--trace <file>', 'with --profile: write one run as a trace, for ui.perfetto.dev')
    .option('--runs <count>', 'whole runs that are timed', whole('--runs', 1, 1_000_000), 10)
    .option('-i, --input <NAME=FILE>', '.npy, .pb, .json (strings), .png or .jpg; inputs without one are made up: halves, and zeros where they are not floats', collect);
  addFixedInputs(command);
  addRecordOptions(command, 'of an ONNX file: as compile --records');
  command.option('--threads <count>', 'for wasm; 0: the default of the run time', whole('--threads', 0, 1024), 0);
  addCompileOptions(command);
  command.option('--json', 'machine-readable output');
  addNativeOnly(command, {'--timeout <seconds>': browser, '--browser <name>': browser, '--browser-path <file>': browser, '--browser-args <flags>': browser, '--device <address>': ''});
  command.action(run);
}
