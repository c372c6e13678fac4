// The desk on a running server, through its API: who decides is whoever the token belongs to.
import type { Decided, DecisionInput, Json } from 'countersign';
import { type Client, createClient, type Decision } from '../../client/index.ts';
import { CommandFailure, EXIT, failureOf } from '../failure.ts';
import type { Desk, DeskEvent } from './desk.ts';
import { notHeard, unansweredDecision } from './server-away.ts';
import { watchedFetch } from './watched-fetch.ts';

/** How often it is looked whether something changed, if the server cannot tell. */
const LOOK_EVERY_MS = 2_000;

export async function serverDesk(url: string, token: string | undefined): Promise<Desk> {
  const watchers = new Set<(isThere: boolean) => void>();
  const client = createClient(url, {
    channel: 'cli',
    fetch: watchedFetch((isThere) => {
      for (const reached of watchers) reached(isThere);
    }),
    ...(token !== undefined && { token }),
  });
  const told = <T>(asked: Promise<T>) => toldBy(url, asked);
  const { id } = await told(client.me());
  const closing = new AbortController();
  return {
    where: url,
    person: id,
    runs: (query) => told(client.runs.list(query)),
    run: (runId) => told(client.runs.get(runId)),
    events: (runId, after = 0) => told(allEvents(client, runId, after)),
    async *follow(runId, signal, reached = () => {}) {
      watchers.add(reached);
      try {
        yield* client.runs.follow(runId, { signal });
      } finally {
        watchers.delete(reached);
      }
    },
    cards: ({ settled, ...query }) =>
      told(
        client.interrupts.list({ ...query, ...(settled !== undefined && { status: settled ? 'settled' : 'pending' }) }),
      ),
    card: (interruptId) => told(client.interrupts.get(interruptId)),
    decide: async (interruptId, decision, how = {}) => {
      const asked = told(client.interrupts.decide(interruptId, { decision: spelledOut(decision), ...how }));
      const decided = await asked.catch((error: unknown) => {
        throw unansweredDecision(error);
      });
      return { ...decided, decision: decided.decision as Json } satisfies Decided;
    },
    hold: (interruptId) => told(client.interrupts.hold(interruptId)),
    release: (interruptId) => told(client.interrupts.release(interruptId)),
    watch(changed, reached = () => {}) {
      const stop = new AbortController();
      watchers.add(reached);
      void listen(client, AbortSignal.any([stop.signal, closing.signal]), changed);
      return () => {
        watchers.delete(reached);
        stop.abort();
      };
    },
    close: async () => closing.abort(),
  };
}

async function listen(client: Client, signal: AbortSignal, changed: () => void): Promise<void> {
  try {
    for await (const _runId of client.changes({ signal })) changed();
  } catch {
    // A server or a proxy that does not stream is asked now and then instead.
    const timer = setInterval(changed, LOOK_EVERY_MS);
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
    if (signal.aborted) clearInterval(timer);
  }
}

async function allEvents(client: Client, runId: string, after: number): Promise<readonly DeskEvent[]> {
  const events: DeskEvent[] = [];
  for (;;) {
    const page = await client.runs.events(runId, { after: events.at(-1)?.seq ?? after, limit: 200 });
    events.push(...page.items);
    if (page.cursor === null || page.items.length === 0) return events;
  }
}

const spelledOut = (decision: DecisionInput): Decision =>
  typeof decision === 'string' ? { type: decision } : decision;

/** What the server refused, as a failure of the command, with every fault that it names. */
async function toldBy<T>(url: string, asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    const away = notHeard(url, error);
    if (away) throw away;
    const { status, problem } = (error ?? {}) as {
      status?: unknown;
      problem?: { problems?: readonly { path: readonly string[]; message: string }[]; settlement?: unknown };
    };
    const failure = failureOf(error);
    const faults = problem?.problems ?? [];
    const list = faults
      .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
      .join('; ');
    const exitCode = typeof status === 'number' ? (BY_STATUS.get(status) ?? failure.exitCode) : failure.exitCode;
    throw new CommandFailure(
      exitCode,
      failure.code,
      list === '' || failure.message.includes(list) ? failure.message : `${failure.message} ${list}`,
      {
        ...(failure.hint !== undefined && { hint: failure.hint }),
        details: {
          ...failure.details,
          ...(faults.length > 0 && { problems: faults }),
          ...(problem?.settlement !== undefined && { settlement: problem.settlement }),
        },
        cause: error,
      },
    );
  }
}

const BY_STATUS: ReadonlyMap<number, 2 | 3 | 4> = new Map([
  [404, EXIT.notFound],
  [409, EXIT.conflict],
  [422, EXIT.usage],
]);
