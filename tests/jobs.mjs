// How many cases a suite may run at a time: GOSSAMER_JOBS, which the test runner sets as it runs suites at the same
// time, or one for each core.
import os from 'node:os';

export const jobs = process.env.GOSSAMER_JOBS ?? String(os.availableParallelism());
