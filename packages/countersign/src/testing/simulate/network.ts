// The store as one simulated process reaches it: over a network that is slow, loses requests and answers, and may be cut.
import { ProviderError } from '../../core/errors.ts';
import type { Notes } from '../../runs/port/notes.ts';
import type { Append, Store } from '../../runs/port/store.ts';
import { here, type Machine } from './timeline.ts';
import type { Weather } from './weather.ts';

/** What the network of a process depends on. */
export type Link = {
  readonly machine: Machine;
  /** The computer of the store. */
  readonly server: Machine;
  readonly weather: () => Weather;
  /** The process is cut off from the store. */
  readonly isCut: () => boolean;
  readonly die: () => void;
  readonly freeze: () => void;
};

/** Never resolves: whoever waits for it is dead. */
export const never = <T>(): Promise<T> => new Promise(() => undefined);

export function remoteStore(store: Store, link: Link): Store {
  const call = <T>(what: string, work: () => Promise<T>) => send(link, what, work);
  const { takeUntold, told } = store;
  return {
    append: (append) => call(`append ${wordsOf(append)}`, () => store.append(append)),
    read: (...args) => call('read', () => store.read(...args)),
    delete: (runId) => call('delete', () => store.delete(runId)),
    claim: (...args) => call(`claim ${args[0]}`, () => store.claim(...args)),
    renew: (...args) => call(`renew ${args[0]}`, () => store.renew(...args)),
    release: (...args) => call(`release ${args[0]}`, () => store.release(...args)),
    due: (...args) => call('due', () => store.due(...args)),
    queue: () => call('queue', () => store.queue()),
    ...(takeUntold && { takeUntold: (...args) => call('takeUntold', () => takeUntold.call(store, ...args)) }),
    ...(told && { told: (...args) => call('told', () => told.call(store, ...args)) }),
    listRuns: (query) => call('listRuns', () => store.listRuns(query)),
    listRequests: (query) => call('listRequests', () => store.listRequests(query)),
    request: (id) => call('request', () => store.request(id)),
    countRuns: () => call('countRuns', () => store.countRuns()),
    stats: (query) => call('stats', () => store.stats(query)),
    notes: remoteNotes(store.notes, call),
    now: () => call('now', () => store.now()),
    watch: (changed) => watched(store, link, changed),
    migrate: async () => undefined,
    close: async () => undefined,
  };
}

type Call = <T>(what: string, work: () => Promise<T>) => Promise<T>;

const remoteNotes = (notes: Notes, call: Call): Notes => ({
  get: (...args) => call(`note ${args[0]}`, () => notes.get(...args)),
  put: (...args) => call(`put note ${args[0]} ${args[1]}`, () => notes.put(...args)),
  remove: (...args) => call(`remove note ${args[0]} ${args[1]}`, () => notes.remove(...args)),
  getMany: (...args) => call(`notes ${args[0]}`, () => notes.getMany(...args)),
  list: (...args) => call(`list notes ${args[0]}`, () => notes.list(...args)),
});

const wordsOf = ({ runId, events, claim }: Append): string =>
  `${runId} ${events.map(({ type }) => type).join('+')}${claim ? ` (${claim.how})` : ''}`;

/** Sends one call to the store, and takes its answer back. */
export function send<T>(link: Link, what: string, work: () => Promise<T>): Promise<T> {
  const { machine, server, die, freeze } = link;
  if (!machine.isAlive) return never();
  const { timeline } = machine;
  const { chance } = timeline;
  const weather = link.weather();
  const dies = chance.is(weather.crash) ? chance.pick(['before', 'after'] as const) : undefined;
  if (dies === 'before') {
    die();
    return never();
  }
  const delay = () => chance.delay(weather.networkMs) + (chance.is(weather.slow) ? chance.between(100, 12_000) : 0);
  return new Promise<T>((resolve, reject) => {
    const fail = (ms: number) => timeline.after(ms, machine, `gets no answer: ${what}`, () => reject(noAnswer(what)));
    if (link.isCut() || chance.is(weather.lostRequest)) {
      fail(chance.pick([1, 1_000, 10_000]));
    } else {
      const arrive = () => {
        // A process that dies may take with it what it had not sent yet.
        if (!machine.isAlive && chance.is(0.5)) return;
        const answer = (settle: () => void, how: string) => {
          if (link.isCut() || chance.is(weather.lostAnswer)) return fail(chance.pick([1, 1_000, 10_000]));
          return timeline.after(delay(), machine, `${how} ${what}`, () => {
            // The process stands still just before it learns of the answer.
            if (chance.is(weather.freeze)) {
              freeze();
              timeline.after(0, machine, `learns of ${what}`, settle);
            } else settle();
          });
        };
        work().then(
          (value) => answer(() => resolve(value), 'did'),
          (error: unknown) => answer(() => reject(error), 'may not'),
        );
      };
      timeline.after(delay(), server, `<- ${machine.name} ${what}`, arrive);
    }
    if (dies === 'after') die();
  });
}

const noAnswer = (what: string): ProviderError =>
  new ProviderError('store-failed', {}, `The simulated store did not answer: ${what}.`, { retryable: true });

function watched(store: Store, { machine, server, weather, isCut }: Link, changed: (runId: string) => void) {
  const { timeline } = machine;
  const { chance } = timeline;
  let isOver = false;
  const tell = (runId: string): void => {
    if (isOver || !machine.isAlive || isCut()) return;
    const { lostNews, doubledNews, lateNews, networkMs } = weather();
    if (chance.is(lostNews)) return;
    for (let times = chance.is(doubledNews) ? 2 : 1; times > 0; times -= 1) {
      const ms = chance.delay(networkMs) + (chance.is(lateNews) ? chance.between(10, 5_000) : 0);
      timeline.after(ms, machine, '', () => isOver || changed(runId));
    }
  };
  const stop = here.run(server, () => store.watch(tell));
  return () => {
    isOver = true;
    stop();
  };
}
