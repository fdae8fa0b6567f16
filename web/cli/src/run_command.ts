/** gossamer run: a model or a package in this process, with inputs from files. */
import {readFile} from 'node:fs/promises';
import type {Output} from '@gossamer/runtime';
import {type Command, Option} from 'commander';
import {labelsOf} from '../../runtime/page/labels.ts';
import {overridable} from '../../ort/src/signature.ts';
import {addNativeOnly, collect, type Target, targetNamed, whole} from './compile_options.ts';
import {addImageOptions, defaultsOf, readFeeds} from './feeds.ts';
import {addFixedInputs, type FixedInputs, readFixed} from './fixed_inputs.ts';
import {isCompiled, openModel} from './model_file.ts';
import {lengthsOf, openPackage, openRunnable, refuseFixed} from './open_runnable.ts';
import {classesOf, classLine, emptyLines, jsonOf, lineOf, save, type Values} from './outputs.ts';
import type {ImageOptions} from './pictures.ts';
import {Progress} from './progress.ts';
import {addRecordOptions, type RecordOptions} from './records.ts';

interface Options extends FixedInputs, ImageOptions, RecordOptions {
  readonly target?: Target;
  readonly input?: readonly string[];
  readonly labels?: string;
  readonly top: number;
  readonly runs: number;
  readonly save?: string;
  readonly threads: number;
  readonly json?: boolean;
}

type Result = Output | readonly Output[] | undefined;

const valuesOf = async (output: Output): Promise<Values> => ({name: output.name, dtype: output.dtype, shape: output.shape, data: await output.data()});

async function run(path: string, options: Options): Promise<void> {
  const {target, input: inputs = [], labels, top, runs, threads, json} = options;
  const progress = new Progress(json === true);
  try {
    const names = labels === undefined ? [] : labelsOf(await readFile(labels, 'utf8'));
    progress.show('loading', 0);
    const fixed = await readFixed(options);
    let model;
    let defaults: ReadonlySet<string> = new Set();
    if (await isCompiled(path)) {
      refuseFixed(path, fixed);
      const opened = await openPackage(path, target, threads);
      defaults = defaultsOf(opened.parts.manifest);
      model = opened;
    } else {
      const file = await openModel(path);
      defaults = new Set(overridable(file.model));
      const lengths = lengthsOf(inputs, fixed.lengths);
      model = await openRunnable(file, path, target ?? 'wasm', inputs, {...fixed, ...(lengths && {lengths})}, options, threads, progress);
    }
    const feeds = await readFeeds(model.inputs, model.groups, {inputs, image: options, instead: undefined, defaults});
    let ms = Infinity;
    let outputs: Values[] = [];
    for (let turn = 0; turn < runs; ++turn) {
      progress.show('running', turn / runs);
      const begin = performance.now();
      const results = Object.values(await model.run<Result>(feeds));
      outputs = await Promise.all(results.flatMap((result) => result ?? []).map(valuesOf));
      ms = Math.min(ms, performance.now() - begin);
    }
    progress.end();
    if (options.save !== undefined) await save(options.save, outputs);
    const [first] = outputs;
    const classes = names.length > 0 && first ? classesOf(first, names, top) : undefined;
    if (json) console.log(jsonOf(ms, classes, outputs));
    else console.log([...(classes ? classes.map(classLine) : [...outputs.map(lineOf), ...emptyLines(model.groups)]), `${ms.toFixed(3)} ms`].join('\n'));
    model.dispose();
  } finally {
    progress.end();
  }
}

export function addRun(program: Command): void {
  const command = program
    .command('run').description('run a model in this process')
    .argument('<model>', 'an ONNX file, a GGUF file, a folder with safetensors files, or a package')
    .addOption(new Option('-t, --target <target>', 'wasm (default), or webgpu where the npm package "webgpu" is installed').argParser(targetNamed))
    .option('-i, --input <NAME=FILE>', 'for each input: .npy, .pb (as ONNX keeps test data), .json (strings), .png or .jpg; for a sequence once for each element', collect);
  addFixedInputs(command);
  command
    .option('--labels <file>', 'class names, one a line: print the best ones')
    .option('--top <count>', 'how many of them', whole('--top', 1, 100_000), 5)
    .option('--runs <count>', 'how often to run; the fastest time is printed', whole('--runs', 1, 1_000_000), 1)
    .option('--save <folder>', 'folder for the outputs as .npy, strings as .json')
    .option('--threads <count>', 'for wasm; 0: the default of the run time', whole('--threads', 0, 1024), 0);
  addRecordOptions(command, 'of an ONNX file: as compile --records');
  addImageOptions(command);
  command.option('--json', 'machine-readable output');
  addNativeOnly(command, {'--cpu <name>': '', '--timeout <seconds>': 'end this process yourself, such as by the command timeout'});
  command.action(run);
}
