// The backend on a running server, through its API. The token names the person.
import type { DecideResult, DecisionInput } from 'countersign';
import type { Undoing } from 'countersign/store';
import { allItems } from '../../all-items.ts';
import type { FreezeRequest } from '../../client/client.ts';
import { ApiError, type Client, createClient, type Decide, type Decision } from '../../client/index.ts';
import { failureOf } from '../failure.ts';
import type { Backend, DecidesAs } from './backend.ts';
import { unansweredDecision, unreachableFailure } from './unreachable.ts';
import { watchedFetch } from './watched-fetch.ts';

export async function serverBackend(url: string, token: string | undefined, channel: DecidesAs): Promise<Backend> {
  const watchers = new Set<(isConnected: boolean) => void>();
  const client = createClient(url, {
    channel,
    fetch: watchedFetch((isConnected) => {
      for (const onConnection of watchers) onConnection(isConnected);
    }),
    ...(token !== undefined && { token }),
  });
  const call = <T>(response: Promise<T>) => withFailures(url, response);
  const { id } = await call(client.me());
  const closing = new AbortController();
  return {
    where: url,
    person: id,
    runs: (query) => call(client.runs.list(query)),
    run: (runId) => call(client.runs.get(runId)),
    events: (runId) =>
      call(allItems(({ cursor }) => client.runs.events(runId, { limit: 200, ...(cursor && { cursor }) }))),
    async *follow(runId, signal, onConnection = () => {}) {
      watchers.add(onConnection);
      try {
        yield* client.runs.follow(runId, { signal });
      } finally {
        watchers.delete(onConnection);
      }
    },
    evidence: (runId) => call(client.runs.evidence(runId)),
    cards: ({ settled, ...query }) =>
      call(
        client.requests.list({ ...query, ...(settled !== undefined && { status: settled ? 'settled' : 'pending' }) }),
      ),
    card: (requestId) => call(client.requests.get(requestId)),
    decide: async (requestId, decision, options = {}) => {
      const response = call(
        client.requests.decide(requestId, {
          decision: decisionObject(decision),
          ...(options as Omit<Decide, 'decision'>),
        }),
      );
      const decided = await response.catch((error: unknown) => {
        throw unansweredDecision(error);
      });
      return decided as DecideResult;
    },
    decideMany: (items, { onProgress = () => {}, ...options }) =>
      call(
        client.requests.decideMany(
          { items: [...items], ...options },
          { onProgress: ({ length }) => onProgress(length) },
        ),
      ),
    take: async (requestId) => void (await call(client.requests.take(requestId))),
    release: async (requestId) => void (await call(client.requests.release(requestId))),
    grants: (query) => call(client.grants.list(query)),
    grant: (grantId) => call(client.grants.get(grantId)),
    plan: (requestId) => call(client.requests.plan(requestId)),
    revokeGrant: (grantId, reason) => call(client.grants.revoke(grantId, reason === undefined ? {} : { reason })),
    freezes: {
      list: async (lifted) => (await call(client.freezes.list(lifted ? { lifted } : {}))).items,
      freeze: (freeze) => call(client.freezes.freeze(freeze as FreezeRequest)),
      lift: (freezeId, note) => call(client.freezes.lift(freezeId, note)),
    },
    assign: async (requestId, to) => void (await call(client.requests.assign(requestId, to))),
    comment: async (requestId, text) => void (await call(client.requests.comment(requestId, text))),
    recall: async (requestId, reason) => (await call(client.requests.recall(requestId, { reason }))) as DecideResult,
    undo: (id) => call(id.includes(':') ? client.requests.undo(id) : client.runs.undo(id)) as Promise<Undoing>,
    absences: {
      list: () => call(client.absences.list()),
      set: async (absent) => (await call(client.absences.set(absent))).absence,
      end: async (person) => void (await call(client.absences.end(person === undefined ? {} : { person }))),
    },
    notices: {
      channels: () => call(client.notices.channels()),
      dead: (query) => call(client.notices.dead(query)),
      retry: (letter) => call(client.notices.retry(letter)),
    },
    gate: {
      ask: (asked) => call(client.gate.ask(asked)),
      get: (runId, options) => call(client.gate.get(runId, options)),
      start: (runId, start) =>
        call(
          client.gate.start(runId, start).catch((error: unknown) => {
            const refused = error instanceof ApiError ? error.problem?.gate : undefined;
            if (refused) return refused;
            throw error;
          }),
        ),
      finish: (runId, report) => call(client.gate.finish(runId, report)),
    },
    insights: (filters) => call(client.insights(filters)),
    watch(changed, onConnection = () => {}) {
      const stop = new AbortController();
      watchers.add(onConnection);
      void listen(client, AbortSignal.any([stop.signal, closing.signal]), changed);
      return () => {
        watchers.delete(onConnection);
        stop.abort();
      };
    },
    close: async () => closing.abort(),
  };
}

/** Ends if the server refuses the stream, as after the token was revoked; every other request says so, too. */
async function listen(client: Client, signal: AbortSignal, changed: () => void): Promise<void> {
  try {
    for await (const _runId of client.changes({ signal })) changed();
  } catch {}
}

const decisionObject = (decision: DecisionInput): Decision =>
  typeof decision === 'string' ? { type: decision } : decision;

/** Turns an error of the server into a failure of the command, with every problem that the server names. */
async function withFailures<T>(url: string, response: Promise<T>): Promise<T> {
  try {
    return await response;
  } catch (error) {
    const unreachable = unreachableFailure(url, error);
    if (unreachable || !(error instanceof ApiError)) throw unreachable ?? failureOf(error);
    const { problems = [], settlement } = error.problem ?? {};
    const list = problems.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': ')).join('; ');
    const failure = failureOf(error, {
      ...(problems.length > 0 && { problems }),
      ...(settlement !== undefined && { settlement }),
    });
    throw failure.message.includes(list) ? failure : failure.saying(`${failure.message} ${list}`);
  }
}
