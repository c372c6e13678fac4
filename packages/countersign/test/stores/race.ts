// Starts processes that race for the same runs at once, and returns the winner of each.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** The task of the processes. */
export type Race = {
  /** The file or the address of the store. */
  readonly place: string;
  readonly task: 'create' | 'append' | 'settle' | 'claim' | 'note' | 'migrate';
  readonly processes: number;
  /** The number of runs they race for. */
  readonly runs?: number;
};

/** The runs that each process won, by its name. Fails if a process fails. */
export async function race({
  place,
  task,
  processes,
  runs = 0,
}: Race): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = Array.from({ length: processes }, (_, index) => `racer-${index}`);
  const racers = names.map((name) => startRacer([place, task, name, String(runs)]));
  try {
    await Promise.all(racers.map(({ next }) => next()));
    for (const { child } of racers) child.stdin?.write('go\n');
    const wins = await Promise.all(
      racers.map(async ({ next }): Promise<readonly string[]> => JSON.parse(await next())),
    );
    return new Map(names.map((name, index) => [name, wins[index] ?? []]));
  } finally {
    for (const { child } of racers) child.kill('SIGKILL');
  }
}

function startRacer(args: readonly string[]): { readonly child: ChildProcess; readonly next: () => Promise<string> } {
  const child = spawn(process.execPath, ['--no-warnings', `${import.meta.dirname}/racer.ts`, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`A process failed: ${args.join(' ')}`);
    return value;
  };
  return { child, next };
}
