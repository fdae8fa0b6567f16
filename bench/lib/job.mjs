// Which comparisons are made: from the tables of models and parties, and what was asked for.
import {models} from '../models/table.mjs';
import {partiesFor} from '../parties.mjs';

const listed = (given) => given?.split(',').map((each) => each.trim());

/**
 * devices, names (of models), parts (of the table), without (parties): lists; undefined: all. threads: of wasm and cpu.
 * Throws for a name that is in no table.
 */
export function comparisonsOf({devices, names, parts, without = [], threads = [1]}) {
  const unknown = names?.find((name) => !models.some((model) => model.name === name));
  if (unknown) throw new Error(`no model "${unknown}"; there are ${models.map(({name}) => name).join(', ')}`);
  const wanted = models.filter(({name, part}) => (!names || names.includes(name)) && (!parts || parts.includes(part)));
  return devices.flatMap((device) =>
    (device === 'wasm' || device === 'cpu' ? threads : [1]).flatMap((count) =>
      wanted.map((model) => {
        const parties = partiesFor(model, device).map(({name}) => name);
        return {model: model.name, device, threads: count, parties: parties.filter((name) => !without.includes(name))};
      }),
    ),
  );
}

export {listed};
