// Starts processes that race for the same runs at once, task after task, and tells the winner of each run.
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** What the processes race for. */
export type Race = {
  /** The file or the address of the store. */
  readonly place: string;
  readonly task: 'create' | 'append' | 'settle' | 'claim' | 'note' | 'migrate';
  /** The number of runs they race for. */
  readonly runs?: number;
};

export type Racers = {
  /** Returns the runs that each process won, by its name. Fails if a process fails. */
  race(race: Race): Promise<ReadonlyMap<string, readonly string[]>>;
  close(): void;
};

/** Starts the processes. To start is most of what one costs, so they stay for all races. Each opens a store of its own for each place. */
export async function startRacers(processes: number): Promise<Racers> {
  const names = Array.from({ length: processes }, (_, index) => `racer-${index}`);
  const racers = names.map(startRacer);
  await Promise.all(racers.map(({ next }) => next()));
  return {
    async race(race) {
      for (const { child } of racers) child.stdin?.write(`${JSON.stringify(race)}\n`);
      const wins = await Promise.all(
        racers.map(async ({ next }): Promise<readonly string[]> => JSON.parse(await next())),
      );
      return new Map(names.map((name, index) => [name, wins[index] ?? []]));
    },
    close() {
      for (const { child } of racers) child.kill('SIGKILL');
    },
  };
}

function startRacer(name: string): { readonly child: ChildProcess; readonly next: () => Promise<string> } {
  const child = spawn(process.execPath, ['--no-warnings', `${import.meta.dirname}/racer.ts`, name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`The process ${name} failed.`);
    return value;
  };
  return { child, next };
}
