// A device of the web run time that computes nothing and believes nothing: whatever would touch memory that is not
// there, or use what was never made, is written down.
import {Lifetime} from '../../web/runtime/src/devices/lifetime.ts';
import {GossamerError} from '../../web/runtime/src/values/types.ts';

const MOST = 2 ** 26; // bytes of a buffer
const OPERATIONS = 3000;

const sizeOf = (extent) => ('bytes' in extent ? extent.bytes : extent.width * extent.height * extent.layers * 16);
const whole = (number, least, below) => Number.isSafeInteger(number) && number >= least && number < below;

/** `plan(segment, at)` gives the values; `violations` collects what must not happen. */
export function checkedDevice(kind, plan, violations) {
  let operations = 0;
  const must = (fine, what) => {
    if (!fine) violations.push(what);
  };
  const spend = () => {
    if (++operations > OPERATIONS) throw new GossamerError('damaged', 'the test has seen enough');
  };
  const living = (buffer, what) => must(buffer?.alive, `${what}: no memory`);
  const device = {
    kind, adapter: 'checks', threads: 1, fallbacks: [], life: new Lifetime(),
    createBuffers(rooms) {
      spend();
      for (const {extent} of rooms) {
        for (const value of Object.values(extent)) must(whole(value, 0, 2 ** 53), `memory of ${value}`);
        must('bytes' in extent === (kind !== 'webgl'), 'memory of another kind');
      }
      const size = rooms.reduce((sum, {extent}) => sum + sizeOf(extent), 0);
      if (size > MOST) return Promise.reject(new GossamerError('damaged', `no room for ${size} bytes`));
      return Promise.resolve(
        rooms.map(({extent}) => {
          const buffer = {extent, alive: true, device, dispose: () => (buffer.alive = false)};
          return buffer;
        }),
      );
    },
    createExecutable: (program) => Promise.resolve(executable(program)),
    dispose: () => undefined,
    queue: {
      write(buffer, data) {
        spend();
        living(buffer, 'write');
        must(data.length <= sizeOf(buffer.extent), `write of ${data.length} bytes`);
      },
      submit(recordings, reads) {
        spend();
        for (const {alive, launches} of recordings) {
          must(alive, 'a recording that is gone');
          for (const launch of launches) launch.buffers.forEach((buffer) => living(buffer, 'launch'));
        }
        const data = reads.map(({buffer, bytes}) => {
          living(buffer, 'read');
          const fits = whole(bytes, 0, 2 ** 53) && bytes <= sizeOf(buffer.extent);
          must(fits, `read of ${bytes} bytes`);
          return new Uint8Array(fits ? bytes : 0).fill(1);
        });
        return {done: Promise.resolve(), accepted: Promise.resolve(), data: Promise.resolve(data)};
      },
    },
  };
  const executable = ({kernels, plan: size}) => ({
    plan(segment, dims) {
      spend();
      must(size && whole(segment, 0, size.segments) && dims.length === size.dims, `segment ${segment}`);
      must(dims.every((dim) => whole(dim, -(2 ** 31), 2 ** 53)), `variables ${dims.join()}`);
      return Promise.resolve(Float64Array.from({length: size?.values ?? 0}, (_, at) => plan(segment, at)));
    },
    record(launches) {
      spend();
      for (const {kernel, buffers, storage, scalars, range} of launches) {
        const known = kernels[kernel];
        must(known, `kernel ${kernel}`);
        must(buffers.length === known?.buffers && storage.length === buffers.length, `${buffers.length} buffers`);
        must(scalars.length === known?.scalars, `${scalars.length} scalars`);
        must(scalars.every((scalar) => whole(scalar, -(2 ** 31), 2 ** 31)), `scalars ${scalars.join()}`);
        must(whole(range, 0, 2 ** 31), `range ${range}`);
        for (const buffer of buffers) {
          living(buffer, 'record');
          must(buffer?.device === device, 'memory of another device');
        }
        for (let at = buffers.length - known.writes; at < buffers.length; ++at)
          must(buffers.indexOf(buffers[at]) === at, 'a launch that reads what it writes');
      }
      const recording = {launches, alive: true, dispose: () => (recording.alive = false)};
      return Promise.resolve(recording);
    },
    async update(recording, launches) {
      must(recording.alive, 'a recording that is gone');
      recording.launches = (await this.record(launches)).launches;
    },
    dispose: () => undefined,
  });
  return device;
}
