// Sends jobs to a database: one by one while there is little to do, in batches under load. A batch costs the database and
// this process far less, and becomes durable at once.

export type Batches<Job, Result> = (job: Job) => Promise<Result | undefined>;

export type BatchOptions<Job, Result> = {
  /** Sends one or several jobs. Returns a result for each; undefined for those that have none. */
  readonly send: (jobs: readonly Job[]) => Promise<readonly (Result | undefined)[]>;
  /** Jobs with the same key never share a batch. A batch is sorted by key. */
  readonly keyOf: (job: Job) => string;
  /** After this error it is certain that no job of the batch happened, so each can be sent alone. */
  readonly canBeSentAlone: (error: unknown) => boolean;
};

type Waiting<Job, Result> = {
  readonly job: Job;
  readonly resolve: (result: Result | undefined) => void;
  readonly reject: (error: unknown) => void;
};

/** How many batches are sent at the same time: while one waits for the disk, the next is processed. */
const CONCURRENT = 2;
const LARGEST = 32;
/** The first batch is smaller: if all jobs went at once, this process and the database would wait for each other in turn. */
const LARGEST_FIRST = 16;

export function createBatches<Job, Result>(options: BatchOptions<Job, Result>): Batches<Job, Result> {
  const { send, keyOf, canBeSentAlone } = options;
  let waiting: Waiting<Job, Result>[] = [];
  let sending = 0;
  let comeAlone = true;

  function sendWaiting(): void {
    while (sending < CONCURRENT && waiting.length > 0) {
      const taken = takeWaiting(sending === 0 ? LARGEST_FIRST : LARGEST);
      sending += 1;
      comeAlone = taken.length === 1;
      void sendAll(taken).finally(() => {
        sending -= 1;
        sendWaiting();
      });
    }
  }

  function takeWaiting(most: number): readonly Waiting<Job, Result>[] {
    if (waiting.length === 1) return waiting.splice(0);
    const taken = new Map<string, Waiting<Job, Result>>();
    const left: Waiting<Job, Result>[] = [];
    for (const one of waiting) {
      const key = keyOf(one.job);
      if (taken.size < most && !taken.has(key)) taken.set(key, one);
      else left.push(one);
    }
    waiting = left;
    return [...taken].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  }

  async function sendAll(all: readonly Waiting<Job, Result>[]): Promise<void> {
    try {
      const results = await send(all.map(({ job }) => job));
      all.forEach(({ resolve }, index) => {
        resolve(results[index]);
      });
    } catch (error) {
      if (all.length > 1 && canBeSentAlone(error)) for (const one of all) await sendAll([one]);
      else for (const { reject } of all) reject(error);
    }
  }

  return (job) =>
    new Promise((resolve, reject) => {
      waiting.push({ job, resolve, reject });
      if (waiting.length > 1) return;
      // Waits for jobs that are about to come: a tick while jobs come alone, otherwise a turn of the event loop.
      if (comeAlone && sending === 0) process.nextTick(sendWaiting);
      else setImmediate(sendWaiting);
    });
}
