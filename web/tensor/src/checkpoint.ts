/**
 * Computing again instead of keeping: what a checkpoint's function makes is forgotten when the forward pass has gone on, and made
 * a second time when gradients come back to it. The second time hangs on these gradients, so that no compiler may take it for
 * the first.
 */
import {Core} from './core.ts';
import {type Again, Origin} from './origin.ts';
import {position, seek} from './random.ts';
import {constant, integers, recordNode, type Recorded, Value} from './recording.ts';
import {wrong} from './shape.ts';
import {traced, tracing} from './tracing.ts';
import type {Tensor} from './tensor.ts';

/**
 * fn(...inputs), of which gradients keep the inputs alone: for less memory than the tensors that fn makes, it is computed a second
 * time in the backward pass (PyTorch's torch.utils.checkpoint). fn is called again then, with the same random numbers; it must
 * give the same. Gradients go through it once.
 */
export function checkpoint<Made extends Tensor | Tensor[]>(fn: (...inputs: Tensor[]) => Made, ...inputs: Tensor[]): Made {
  const start = position();
  const made = fn(...inputs);
  const list = [made].flat() as Tensor[];
  if (!tracing() || !list.some(({origin}) => origin)) return made;
  Core.stepwise = stepwise;
  let kept: Core[] | undefined = inputs.map((each) => each.make(each.value.hold(), each.origin).keep());
  const outputs: Origin<Core>[] = [];
  const again: Again<Core> = {
    get inputs(): readonly Core[] {
      if (kept) return kept;
      throw wrong('backward: it has gone through this checkpoint before; go once, for the sum');
    },
    outputs,
    compute(given) {
      const now = position();
      seek(start);
      try {
        return [traced(true, () => fn(...(given as Tensor[])))].flat();
      } finally {
        seek(now);
      }
    },
    end() {
      kept?.forEach((each) => each.dispose());
      kept = undefined;
    },
  };
  const sealed = list.map((each): Tensor => {
    if (!each.origin) return each;
    const [stopped] = recordNode('ai.gossamer::StopGradient', [each.value.recorded]);
    const value = new Value(stopped as Recorded, each.device, true);
    const origin = new Origin([each.origin], value, undefined, again);
    outputs.push(origin);
    if (!inputs.includes(each)) each.dispose();
    return each.make(value, origin);
  });
  return (Array.isArray(made) ? sealed : sealed[0]) as Made;
}

/** Places that a gradient has from `start` on, as far as it goes without anything being computed again. */
function reached(start: readonly Origin<Core>[], wanted: ReadonlySet<Origin<Core>>): Origin<Core>[] {
  const seen = new Set<Origin<Core>>(start);
  for (const each of seen) if (!each.again) each.parents.forEach((parent) => seen.add(parent));
  return [...seen].filter((each) => each.again ?? wanted.has(each)).sort((a, b) => a.value.serial - b.value.serial);
}

/** `x`, where it is no use before `after` is computed. */
function deferred(x: Core, after: Core): Core {
  const flat = after.apply('Reshape', [after, integers([-1])]);
  const [first] = recordNode('Gather', [flat.value.recorded, constant('i64', [], [0])], {axis: 0});
  const never = recordNode('And', ['IsNaN', 'IsInf'].map((op) => recordNode(op, [first as Recorded])[0] as Recorded))[0] as Recorded;
  return x.apply('Where', [never, constant(x.dtype, [], [0]), x]);
}

const filled = (like: Core, dtype: Core['dtype'], shape: readonly number[], value: number): Core =>
  like.make(new Value(recordNode('Expand', [constant(dtype, [], [value]), integers(shape)])[0] as Recorded, like.device, false));

/** Nothing where all is recorded. */
function stepwise(y: Core, places: readonly Origin<Core>[], seed: Core | undefined): Core[] | undefined {
  const wanted = new Set(places);
  if (!reached([y.origin as Origin<Core>], wanted).some(({again}) => again)) return undefined;
  return traced(false, () => {
    const sums = new Map<Origin<Core>, Core>();
    /** Inputs that took the place of others. */
    const stands = new Map<Origin<Core>, Core>();
    const done = new Set<Origin<Core>>();
    const gone: Again<Core>[] = [];
    const add = (to: Origin<Core>, gradient: Core): void => {
      const before = sums.get(to);
      sums.set(to, before ? before.apply('Add', [before, gradient]) : gradient);
    };
    /** Hands a gradient that has come to `of` on to what that was computed from. */
    const spread = (of: Core, gradient: Core | undefined): void => {
      const origin = of.origin as Origin<Core>;
      if (origin.again ?? wanted.has(origin)) add(origin, gradient ?? filled(of, of.dtype, of.shape, 1));
      const xs = origin.again ? [] : reached(origin.parents, wanted);
      if (xs.length > 0) of.differentiate(xs, gradient).forEach((made, at) => add(xs[at] as Origin<Core>, made));
    };
    spread(y, seed);
    for (;;) {
      // The latest first: what was computed from it has been gone through.
      const [next] = [...sums.keys()].filter((each) => (each.again ?? stands.has(each)) && !done.has(each)).sort((a, b) => b.value.serial - a.value.serial);
      if (!next) break;
      const gradient = sums.get(next) as Core;
      const {again} = next;
      done.add(next);
      if (!again) {
        spread(stands.get(next) as Core, gradient);
        continue;
      }
      const seeds = again.outputs.map((each) => sums.get(each));
      again.outputs.forEach((each) => done.add(each));
      const given = again.inputs.map((each) => {
        const stand = deferred(each, gradient);
        if (!each.origin) return stand;
        stand.requiresGrad = true;
        wanted.add(stand.origin as Origin<Core>);
        stands.set(stand.origin as Origin<Core>, each);
        return stand;
      });
      gone.push(again);
      again.compute(given).filter(({origin}) => origin).forEach((each, at) => seeds[at] && spread(each, seeds[at]));
    }
    gone.forEach((each) => each.end());
    return places.map((place) => sums.get(place) ?? filled(y, place.value.dtype, place.value.shape, 0));
  });
}
