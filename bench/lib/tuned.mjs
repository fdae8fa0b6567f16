// What tuning gains: a model tuned on a target from nothing, and whole runs and kernels before and after, in turns, as
// `gossamer tune` compares them at its end.
import {spawnSync} from 'node:child_process';
import {rmSync} from 'node:fs';

const sum = (kernels, key) => kernels.reduce((all, kernel) => all + kernel[key], 0);

/**
 * model: its file; records: the file that they are written to, anew; more: arguments of `gossamer tune`. Gives a row of
 * lib/report.mjs. Throws what the command says.
 */
export function tuneModel({gossamer, name, model, target, seconds, records, more = []}) {
  rmSync(records, {force: true});
  const args = ['tune', model, '--target', target, '--seconds', String(seconds), '--output', records, '--json', ...more];
  const {status, stdout, stderr, error} = spawnSync(gossamer, args, {encoding: 'utf8', maxBuffer: 1 << 28});
  if (status !== 0) throw new Error(error?.message ?? stderr.trim());
  const {kernels, adapter, runMsBefore, runMsAfter, trials, failures} = JSON.parse(stdout);
  return {
    model: name, target, adapter, seconds, trials, failures, runMsBefore, runMsAfter,
    kernelMsBefore: sum(kernels, 'msBefore'), kernelMsAfter: sum(kernels, 'msAfter'),
    changed: kernels.filter(({before, after}) => before !== after).length, kernels: kernels.length,
  };
}
