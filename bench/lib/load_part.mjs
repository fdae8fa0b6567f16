// What a page pays before the first result: each party alone in a fresh browser with an empty profile, in turns.
import {comparisonsOf} from './job.mjs';
import {median} from './measure.mjs';

export const LOADED = ['mobilenetv2', 'resnet50'];
const ROUNDS = 3;

/** run(comparison): gives the row of lib/drive.mjs, with peak and fetched. devices, without, names: of lib/job.mjs. */
export async function measureLoad({devices, without, names}, run) {
  const results = [];
  for (const {parties, ...comparison} of comparisonsOf({devices, without, names, threads: [1]})) {
    const rows = parties.map((name) => ({name, rounds: []}));
    for (let round = 0; round < ROUNDS; ++round) {
      for (const row of rows) {
        const {parties: [party], peak, fetched} = await run({...comparison, parties: [row.name]});
        row.rounds.push({...party, peak, ...fetched});
      }
    }
    const of = (rounds, key) => (rounds.every((each) => each[key] !== undefined) ? median(rounds.map((each) => each[key])) : undefined);
    const summed = rows.map(({name, rounds}) => {
      const problem = rounds.find((each) => each.problem)?.problem;
      return {name, problem, ...Object.fromEntries(['load', 'first', 'peak', 'code', 'weights'].map((key) => [key, of(rounds, key)]))};
    });
    results.push({...comparison, parties: summed});
  }
  return results;
}
