// One comparison in a frame of its own, which is thrown away after it.
import {compare} from '../lib/compare.mjs';

const openers = async (module) => (await import(`./parties/${module}.mjs`)).open;

globalThis.compare = (comparison, settings, progress) => compare(comparison, settings, openers, progress);
parent.dispatchEvent(new CustomEvent('arena'));
