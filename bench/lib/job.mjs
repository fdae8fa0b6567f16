// Which comparisons are made: from the tables of models and parties, and what was asked for.
import {modelOf, models} from '../models/table.mjs';
import {partiesFor} from '../parties.mjs';

const listed = (given) => given?.split(',').map((each) => each.trim());

// With more threads only where it is asked for: models and products.
const THREADED = ['models', 'matmul', 'training', 'decoding'];

/**
 * devices, names (of models), parts (of the table), without (parties): lists; undefined: all. threads: of wasm and cpu.
 * Rows whose files are not here are left out. Throws for a name or a part that is in no table.
 */
export function comparisonsOf({devices, names, parts, without = [], threads = [1]}) {
  const unknown = names?.find((name) => !models.some((model) => model.name === name));
  if (unknown) throw new Error(`no model "${unknown}"; there are ${models.map(({name}) => name).join(', ')}`);
  const strange = parts?.find((part) => !models.some((model) => model.part === part));
  if (strange) throw new Error(`no part "${strange}"; there are ${[...new Set(models.map(({part}) => part))].join(', ')}`);
  const wanted = models.filter(({name, part, here = () => true}) => here() && (!names || names.includes(name)) && (!parts || parts.includes(part)));
  const counts = (device) => (device === 'wasm' || device === 'cpu' ? threads : [1]);
  return devices.flatMap((device) =>
    counts(device).flatMap((count, nth) =>
      wanted
        .filter(({devices: its}) => !its || its.includes(device))
        .filter(({part, training, decoding}) => (nth === 0 || THREADED.includes(part)) && !((training || decoding) && device === 'cpu')) // tensors and state are of the page
        .map((model) => {
          const parties = partiesFor(model, device).filter(({once}) => nth === 0 || !once);
          return {model: model.name, device, threads: count, parties: parties.map(({name}) => name).filter((name) => !without.includes(name))};
        }),
    ),
  );
}

/**
 * Of the comparisons that are left, with what `row` says about their parties: of one family of growth, whoever was too
 * slow at a size is not tried at a larger one.
 */
export function withoutTheSlow(left, row, limitMs) {
  const {family, count} = modelOf(row.model);
  const slow = row.parties.filter(({overMs, median}) => overMs || median > limitMs).map(({name, overMs, median}) => ({name, overMs: overMs ?? median, problem: 'not tried: too slow with less data'}));
  if (!family || !slow.length) return left;
  return left.map((each) => {
    const model = modelOf(each.model);
    if (model.family !== family || model.count < count || each.device !== row.device || each.threads !== row.threads) return each;
    return {...each, out: [...(each.out ?? []), ...slow]};
  });
}

export {listed};
