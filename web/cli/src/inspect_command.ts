/** gossamer inspect: what a model is, and what each target makes of it. The compiler prints it. */
import {mkdir, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import type {Command} from 'commander';
import {Option} from 'commander';
import {inspect} from '../../compiler/src/inspect.ts';
import {addCompileOptions, compileOptionsOf, type Target, TARGETS, targetsNamed, whole} from './compile_options.ts';
import {diagnosticOf, Failure} from './failure.ts';
import {addFixedInputs, type FixedInputs, readFixed} from './fixed_inputs.ts';
import {openModel} from './model_file.ts';
import {Progress} from './progress.ts';
import {addRecordOptions, type RecordOptions, recordsFor} from './records.ts';

interface Options extends FixedInputs, RecordOptions, Readonly<Record<string, unknown>> {
  readonly target?: readonly Target[];
  readonly stages?: boolean;
  readonly kernels?: boolean;
  readonly space?: boolean;
  readonly points: number;
  readonly dump?: string;
  readonly json?: boolean;
}

async function run(path: string, options: Options): Promise<void> {
  const {target: targets = TARGETS, stages, kernels, space, points, dump, json} = options;
  const progress = new Progress(json === true);
  try {
    const given = {...compileOptionsOf(options), ...(await readFixed(options))};
    const records = Object.fromEntries(await Promise.all(targets.map(async (target) => [target, (await recordsFor(target, options)) ?? ''] as const)));
    const {model, externalData} = await openModel(path);
    const files = await inspect(model, given, externalData, {targets, records, stages, kernels, space, points, json, dump: dump !== undefined}, {
      wasm: new URL(import.meta.resolve('@gossamer/compiler/tuner.wasm')), onProgress: (step, fraction) => progress.show(step, fraction),
    }).catch((problem: unknown) => {
      const {where, message, hint} = diagnosticOf(problem, path);
      throw new Failure(where, message, hint);
    });
    progress.end();
    for (const [name, bytes] of files) {
      if (name === 'text' || dump === undefined) continue;
      await mkdir(dirname(join(dump, name)), {recursive: true});
      await writeFile(join(dump, name), bytes);
    }
    process.stdout.write(files.get('text') ?? '');
  } finally {
    progress.end();
  }
}

export function addInspect(program: Command): void {
  const command = program
    .command('inspect').description("show a model's graph and what each target makes of it")
    .argument('<model>', 'an ONNX file, a GGUF file, or a folder with safetensors files')
    .addOption(new Option('-t, --target <targets>', `only these targets (${TARGETS.join(', ')})`).argParser(targetsNamed));
  addFixedInputs(command);
  addCompileOptions(command);
  command
    .option('--stages', 'print the stages after fusion')
    .option('--kernels', "print each kernel's schedule and origin")
    .option('--space', 'print points of the space that tuning searches for each kernel, for compile --records')
    .option('--points <count>', 'with --space: at most so many points of a kernel', whole('--points', 1, 1_000_000), 64);
  addRecordOptions(command, 'as compile --records; says which kernels take a recorded point, and whose');
  command
    .option('--dump <folder>', 'write stages, loop IR and shaders below this folder')
    .option('--json', 'machine-readable output')
    .action(run);
}
