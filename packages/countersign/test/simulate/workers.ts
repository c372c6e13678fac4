// Starts processes that run blocks of schedules.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Block, BlockResult } from './worker.ts';

/** Sources compiled before: a process begins in half of the time. */
const compiled = fileURLToPath(new URL('../../../../node_modules/.cache/countersign-compiled', import.meta.url));

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export type SimulationWorker = { run(block: Block): Promise<BlockResult>; stop(): void };

/** A process that runs one block at a time. `planted`: the fault in its sources. */
export function startWorker(planted?: string): SimulationWorker {
  const child = fork(here('worker.ts'), {
    // A larger nursery: what a schedule makes is dropped at once, and would else be copied first.
    execArgv: ['--max-semi-space-size=64', ...(planted === undefined ? [] : ['--import', here('planted/plant.ts')])],
    env: {
      NODE_COMPILE_CACHE: compiled,
      ...process.env,
      ...(planted !== undefined && { COUNTERSIGN_PLANTED: planted }),
    },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr?.on('data', (data) => {
    said = (said + data).slice(-4_000);
  });
  return {
    run: (block) =>
      new Promise((resolve, reject) => {
        const ended = () => reject(new Error(`A process of the simulation has ended. ${said}`));
        child.once('exit', ended);
        child.once('message', (result) => {
          child.off('exit', ended);
          resolve(result as BlockResult);
        });
        child.send(block);
      }),
    stop: () => child.disconnect(),
  };
}
