#!/usr/bin/env node
/** The command `gossamer` of npm: compile, run, bench, inspect and chat, without anything native. */
import {Command, CommanderError} from 'commander';
import {addBench} from './bench_command.ts';
import {addChat} from './chat_command.ts';
import {addCompile} from './compile_command.ts';
import {report} from './failure.ts';
import {addInspect} from './inspect_command.ts';
import {addRun} from './run_command.ts';

declare const VERSION: string;

/** Commands of the native program alone. */
const NATIVE: Readonly<Record<string, string>> = {
  'cost-model': '', gradient: 'in JavaScript, @gossamer/tensor computes gradients', ops: 'docs/operators.md lists the operators', rpc: 'npx @gossamer/rpc makes this process a device of one',
  serve: 'in JavaScript, @gossamer/llm and @gossamer/runtime answer within your own server', targets: 'the targets here are webgpu, webgl and wasm', test: '', tune: 'in a page, tune() of a model searches',
};

const program = new Command('gossamer')
  .description('Gossamer compiles deep-learning models for the web. This is its command for any system with Node.js.')
  .version(`gossamer ${VERSION}`)
  .helpOption('-h, --help', 'print this help and exit')
  .helpCommand(false)
  .exitOverride()
  .configureOutput({writeErr: () => undefined, outputError: () => undefined});
addChat(program);
addCompile(program);
addRun(program);
addBench(program);
addInspect(program);
program.addHelpText('after', `\nCommands of the native program, which runs on Linux: ${Object.keys(NATIVE).join(', ')}.`);
for (const command of program.commands) command.helpOption('-h, --help', 'print this help and exit').configureOutput({writeErr: () => undefined, outputError: () => undefined}).exitOverride();

async function main(words: readonly string[]): Promise<number> {
  const [first = ''] = words;
  if (Object.hasOwn(NATIVE, first)) {
    console.error(`gossamer: ${first} is a command of the native program, which runs on Linux; ${NATIVE[first] || 'docs/install.md says how to build it'}`);
    return 2;
  }
  try {
    await program.parseAsync(words, {from: 'user'});
    return 0;
  } catch (problem) {
    if (!(problem instanceof CommanderError)) return report(problem, words.includes('--json'));
    // --help and --version.
    if (problem.exitCode === 0) return 0;
    const said = problem.code === 'commander.help' ? 'a command is required' : problem.message.replace(/^error: /, '').replaceAll('\n', ' ');
    console.error(`gossamer: ${said} (see gossamer --help)`);
    return 2;
  }
}

process.exitCode = await main(process.argv.slice(2));
