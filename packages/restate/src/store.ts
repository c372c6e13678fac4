// The store on Restate: every change of a run goes to its object, and lists come from the copy of all runs in another store.
import { ConflictError, InvariantError, ProviderError, UsageError } from 'countersign';
import {
  type Append,
  type Appended,
  checkAppend,
  createNotes,
  isStorable,
  type LoadedRun,
  type RequestRecord,
  readEventLimit,
  type Store,
} from 'countersign/store';
import { Admin } from './admin.ts';
import { StoreClock } from './clock.ts';
import { Ingress } from './ingress.ts';
import { RestateNotes } from './notes.ts';
import { laneOf } from './starts-object.ts';
import {
  type AppendAnswer,
  appendRequest,
  appendText,
  type ClaimRequest,
  type Refusal,
  readLoaded,
  runName,
  startsName,
} from './wire.ts';

/** Options of `restateStore`. */
export type RestateStoreOptions = {
  /** The ingress address of each node, such as `http://10.0.0.1:8080`. If one does not answer, the next is asked. */
  readonly ingress: string | readonly string[];
  /** The store that lists, searches and statistics come from; the same as that of the services. It is closed with this one. */
  readonly lists: Store;
  /** The address of the admin API, such as `http://10.0.0.1:9070`, for the lag of the lists and to rebuild them. */
  readonly admin?: string;
  /** What the names of the services begin with. Default: `countersign`. */
  readonly name?: string;
  /** How long a call may take, over all nodes, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number;
};

/** Larger appends are refused: Restate would retry one of more than 32 MiB forever, and block its run. */
const LARGEST_APPEND = 8 * 1024 * 1024;

/** Keeps runs in Restate. A run is a virtual object: it survives the loss of a node, and one change happens at a time. */
export function restateStore(options: RestateStoreOptions): Store {
  const { ingress, lists, admin, name = 'countersign', timeoutMs = 10_000 } = options;
  const addresses = typeof ingress === 'string' ? [ingress] : ingress;
  if (addresses.length === 0 || typeof lists?.listRuns !== 'function')
    throw new UsageError(
      'invalid-options',
      {},
      '`restateStore` needs `ingress`, an address or several, and `lists`, a store.',
    );
  const nodes = new Ingress({ addresses, timeoutMs });
  const clock = new StoreClock(nodes, name, timeoutMs);
  /** Runs with a change of unknown outcome: it may still be in the queue of the run. */
  const unsure = new Set<string>();

  const ask = async (runId: string, handler: string, body?: unknown): Promise<string> =>
    nodes.call({ service: runName(name), key: runId, handler, ...(body !== undefined && { body }), changes: false });

  async function change(runId: string, handler: string, body?: unknown, starts = false): Promise<string> {
    const place = starts ? { service: startsName(name), key: laneOf(runId) } : { service: runName(name), key: runId };
    try {
      return await nodes.call({ ...place, handler, ...(body !== undefined && { body }), changes: true });
    } catch (error) {
      unsure.add(runId);
      throw error;
    }
  }

  /** Behind a change of unknown outcome, in its lane too. */
  async function readInLine(runId: string, options: object): Promise<string> {
    const place = { service: startsName(name), key: laneOf(runId), handler: 'readInLine' };
    return nodes.call({ ...place, body: [runId, options], changes: true });
  }

  async function read(runId: string, options: object): Promise<LoadedRun | undefined> {
    if (!unsure.has(runId)) return readLoaded(await ask(runId, 'read', options));
    const loaded = readLoaded(await readInLine(runId, options));
    unsure.delete(runId);
    return loaded;
  }

  async function questionOf(runId: string, id: string): Promise<RequestRecord | undefined> {
    const [question] = JSON.parse(await ask(runId, 'questions', [id])) as readonly RequestRecord[];
    return question;
  }

  const claimRequest = async (token: string, leaseMs: number): Promise<ClaimRequest> => ({
    ...{ token, leaseMs, notAfter: await clock.notAfter() },
  });

  return {
    notes: createNotes(new RestateNotes(nodes, name, lists, clock)),

    async append(append): Promise<Appended> {
      checkAppend(append);
      // Made before anything is awaited: the caller may change its objects later.
      const text = appendText(append);
      const size = Buffer.byteLength(text);
      if (size > LARGEST_APPEND) throw tooLarge(append.runId, size);
      await refuseForeignIds(append, lists);
      const giveUpAt = performance.now() + timeoutMs / 2;
      for (;;) {
        const request = appendRequest(text, await clock.notAfter());
        const sentAt = Date.now();
        const answer = JSON.parse(
          await change(append.runId, 'append', request, append.freezes !== undefined),
        ) as AppendAnswer;
        clock.heard(answer.at, sentAt);
        if ('refused' in answer) throw errorOf(answer.refused);
        if ('claimed' in answer) return { claimed: answer.claimed };
        // Nothing was written. If the call was not slow, the clock of the services was ahead of their last answer.
        if (performance.now() > giveUpAt) throw gaveUp(append.runId);
      }
    },

    async read(runId, { after = 0, limit } = {}) {
      const most = readEventLimit(limit);
      return isKey(runId) ? read(runId, { after, limit: most }) : undefined;
    },

    async delete(runId) {
      return isKey(runId) && JSON.parse(await change(runId, 'remove'));
    },

    async claim(runId, token, leaseMs) {
      return isKey(runId) ? readLoaded(await change(runId, 'claim', await claimRequest(token, leaseMs))) : undefined;
    },

    async renew(runId, token, leaseMs) {
      return isKey(runId) && JSON.parse(await change(runId, 'renew', await claimRequest(token, leaseMs)));
    },

    async release(runId, token) {
      if (isKey(runId)) await change(runId, 'release', { token });
    },

    async request(id) {
      if (!isStorable(id)) return undefined;
      // The ids of the engine begin with the id of their run.
      const [runId = ''] = id.split(':', 1);
      const own = runId === '' || runId === id ? undefined : await questionOf(runId, id);
      if (own !== undefined) return own;
      const listed = await lists.request(id);
      return listed && questionOf(listed.runId, id);
    },

    due: (limit, agents) => lists.due(limit, agents),
    queue: () => lists.queue(),
    ...untoldIn(lists),
    listRuns: (query) => lists.listRuns(query),
    listRequests: (query) => lists.listRequests(query),
    countRuns: () => lists.countRuns(),
    stats: (query) => lists.stats(query),
    now: () => clock.ask(),
    watch: (changed) => lists.watch(changed),
    migrate: () => lists.migrate(),
    close: () => lists.close(),
    ...(admin !== undefined && { projection: new Admin(admin, name, nodes) }),
  };
}

/** The lists mark a request when its change arrives there. A rebuild of them marks it again, which does no harm. */
function untoldIn(lists: Store): Pick<Store, 'takeUntold' | 'told'> {
  if (!lists.takeUntold || !lists.told) return {};
  return { takeUntold: lists.takeUntold.bind(lists), told: lists.told.bind(lists) };
}

/** Nothing is stored under other ids. */
const isKey = (runId: string): boolean => runId !== '' && isStorable(runId);

/** An object knows the requests of its own run only. Ids that begin with the id of their run cannot meet in two runs. */
async function refuseForeignIds({ runId, opened }: Append, lists: Store): Promise<void> {
  for (const { id } of opened) {
    if (id.startsWith(`${runId}:`)) continue;
    const listed = await lists.request(id);
    if (listed === undefined || listed.runId === runId) continue;
    const message = `Interrupt ${id} of run ${runId} cannot be opened: its id is in use. Nothing was written.`;
    throw new InvariantError('invariant', { runId, requestId: id }, message);
  }
}

function errorOf({ type, code, details, message }: Refusal): Error {
  return type === 'conflict' ? new ConflictError(code, details, message) : new InvariantError(code, details, message);
}

function tooLarge(runId: string, size: number): ProviderError {
  const message = `An append to run ${runId} has ${size} bytes, and Restate takes at most ${LARGEST_APPEND} at once. Nothing was written. Keep large files elsewhere, and pass their addresses.`;
  return new ProviderError('store-failed', { runId, size }, message, { retryable: false });
}

/** Certain: nothing was written. */
function gaveUp(runId: string): ProviderError {
  const message = `Restate reached an append to run ${runId} too late, and did not write it. Try again.`;
  return new ProviderError('store-failed', { runId }, message, { retryable: true });
}
