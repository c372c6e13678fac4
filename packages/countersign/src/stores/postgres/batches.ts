// Sends jobs to a database: at once while little is under way, together while much is. That costs the database and this
// process far less than one by one, and what is written together becomes durable together.

export type Together<Job, Result> = (job: Job) => Promise<Result | undefined>;

export type TogetherOptions<Job, Result> = {
  /** One job, or several. A result for each, undefined for those that have none. */
  readonly send: (jobs: readonly Job[]) => Promise<readonly (Result | undefined)[]>;
  /** Two of the same key never go together. Those that do are in the order of their keys. */
  readonly keyOf: (job: Job) => string;
  /** After this error of several it is certain that none has happened, so that each can be sent alone. */
  readonly canBeSentAlone: (error: unknown) => boolean;
};

type Waiting<Job, Result> = {
  readonly job: Job;
  readonly resolve: (result: Result | undefined) => void;
  readonly reject: (error: unknown) => void;
};

/** How often something is under way at once: while one waits for the disk, the next is at work. */
const UNDER_WAY = 2;
/** How many jobs go together at most. */
const MOST = 32;
/**
 * While nothing is under way, no more than these: if all went at once, all would come back at once, and this process and
 * the database would wait for each other in turn.
 */
const MOST_AT_FIRST = 16;

export function createTogether<Job, Result>(options: TogetherOptions<Job, Result>): Together<Job, Result> {
  const { send, keyOf, canBeSentAlone } = options;
  let waiting: Waiting<Job, Result>[] = [];
  let underWay = 0;
  let comeAlone = true;

  function sendWaiting(): void {
    while (underWay < UNDER_WAY && waiting.length > 0) {
      const taken = takeWaiting(underWay === 0 ? MOST_AT_FIRST : MOST);
      underWay += 1;
      comeAlone = taken.length === 1;
      void sendAll(taken).finally(() => {
        underWay -= 1;
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
      // Others that are about to ask go along: while few ask, those that are ready now, otherwise those of this turn of
      // the event loop.
      if (comeAlone && underWay === 0) process.nextTick(sendWaiting);
      else setImmediate(sendWaiting);
    });
}
