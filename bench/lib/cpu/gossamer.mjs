// Gossamer's cpu packages.
import {buildServe, openServed} from './serve.mjs';

/** checkout: the root it was built in; build: its build folder; folder: the package, on disk. */
export const open = ({checkout, build, folder, threads, graph}) => openServed(buildServe(checkout, build), [folder, String(threads)], graph);
