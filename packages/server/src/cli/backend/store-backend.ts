// The backend on a store: reads and decides directly. It drives nothing; a server or a worker resumes the runs.

import { type Countersign, type DecisionInput, evidenceText, type RunRequest } from 'countersign';
import { EVERYTHING } from 'countersign/request';
import { type GateReport, internalsOf, type RunRecord } from 'countersign/store';
import { Access, wholeCard } from '../../access.ts';
import { listRequests } from '../../api/request-list.ts';
import { runSummaries } from '../../api/runs/run-summaries.ts';
import { assigneesOf, forgetReviewer, releaseRequest, takeRequest } from '../../assignees.ts';
import { settleDueCalls } from '../../coding-agents/permits.ts';
import { defined } from '../../defined.ts';
import { askForCall, recordedCalls } from '../../gate-calls.ts';
import { PeopleNames, peopleOn } from '../../identity/names.ts';
import { personOf } from '../../identity/person.ts';
import { insightsOf, readSettled } from '../../insights/settled-requests.ts';
import { type McpOptions, refuseOwnRequests } from '../../mcp/own-requests.ts';
import { refusedOutcome } from '../../refused-outcome.ts';
import type { DecisionOutcome } from '../../schemas/decisions.ts';
import type { Backend, Card, CardQuery, DecidesAs } from './backend.ts';

export type StoreBackendOptions = {
  readonly ai: Countersign;
  readonly where: string;
  readonly person: string;
  readonly roles: readonly string[];
  readonly channel: DecidesAs;
  /** Who may decide through MCP. */
  readonly mcp: McpOptions | false;
  readonly close: () => Promise<void>;
};

const POLL_EVERY_MS = 1_000;
const DEFAULT_LIMIT = 50;

export function storeBackend(options: StoreBackendOptions): Backend {
  const { ai, where, person, roles, channel, mcp, close } = options;
  const { runs } = ai;
  const names = new PeopleNames(ai, () => {});
  const summariesOf = runSummaries(runs);
  const access = new Access(ai, {}, () => undefined);
  const reader = personOf({ id: person, reach: 'all', roles });
  const cardsOf = async (requests: readonly RunRequest[]): Promise<readonly Card[]> => {
    const pending = requests.filter(({ settledAt }) => settledAt === null);
    const assignees = await assigneesOf(runs.notes, pending);
    const cards = requests.map((request) =>
      wholeCard(ai, request, { person, assignee: assignees.get(request.id) ?? null, mayDecide: true }),
    );
    return Promise.all(cards.map(async (card) => ({ ...card, names: await names.of(peopleOn(card)) })));
  };
  const decide: Backend['decide'] = async (requestId, decision, options = {}) => {
    const request = await runs.request(requestId);
    if (channel === 'mcp') refuseOwnRequests(request, { id: person, scopes: ['read', 'decide'] }, mcp);
    // Whoever can open the store may decide everything that no policy reserves for others.
    const recorded = { ...options, by: person, roles: [...roles, EVERYTHING], channel, drive: false } as const;
    const decided = await runs.decide(requestId, decision, recorded);
    // The decision is recorded; a note that remains expires.
    await forgetReviewer(runs.notes, requestId).catch(() => undefined);
    return decided;
  };
  return {
    where,
    person,
    runs: async (query) => {
      const page = await runs.list(query);
      return { ...page, items: await summariesOf(page.items) };
    },
    run: async (runId) => withoutInternals(await runs.get(runId)),
    events: async (runId) => {
      await runs.get(runId);
      const loaded = await internalsOf(runs).find(runId);
      return (loaded?.events ?? []).map((event, index) => ({ ...event, seq: index + 1 }));
    },
    follow: (runId, signal) => runs.events(runId, { signal }),
    evidence: async (runId) => evidenceText(await runs.evidence(runId)),
    cards: async (query) => {
      await settleDueCalls({ ai });
      if (query.for || query.decidedBy !== undefined)
        return listRequests({ ai, access }, { limit: DEFAULT_LIMIT, ...query }, reader);
      const page = await runs.requests(withoutTurn(query));
      return { ...page, items: await cardsOf(page.items) };
    },
    card: async (requestId) => {
      const [card] = await cardsOf([await runs.request(requestId)]);
      return card as Card;
    },
    decide,
    decideMany: async (items, { note, onProgress = () => {} }) => {
      const outcomes: DecisionOutcome[] = [];
      for (const { requestId, decision, digest } of items) {
        const recorded = decide(requestId, decision as DecisionInput, {
          digest,
          ...(note !== undefined && { note }),
        });
        outcomes.push(
          await recorded.then(
            (decided) => decided as DecisionOutcome,
            (error: unknown) => refusedOutcome(requestId, error),
          ),
        );
        onProgress(outcomes.length);
      }
      return outcomes;
    },
    take: async (requestId) => void (await takeRequest(runs.notes, await runs.request(requestId), person)),
    release: (requestId) => releaseRequest(runs.notes, requestId, person),
    assign: async (requestId, to) => {
      await runs.assign(requestId, { to, by: person });
      await forgetReviewer(runs.notes, requestId);
    },
    comment: async (requestId, text) => void (await runs.comment(requestId, { text, by: person })),
    recall: (requestId, reason) => runs.recall(requestId, { by: person, channel, ...defined({ reason }) }),
    undo: (id) => runs.undo(id, { by: person, roles: [...roles, EVERYTHING] }),
    absences: {
      list: () => ai.people.absences(),
      set: ({ person: absent = person, delegate, from, until }) =>
        ai.people.absent(absent, { delegate, until, by: person, ...(from !== undefined && { from }) }),
      end: async (absent = person) => void (await ai.people.present(absent)),
    },
    notices: {
      channels: () => ai.notices.channels(),
      dead: async (query) => {
        const { items, cursor } = await ai.notices.dead(query);
        return { items: items.map((letter) => ({ ...letter, types: [...letter.types] })), cursor };
      },
      retry: ({ channel, id }) => ai.notices.retry(channel, id),
    },
    gate: {
      ask: (asked) => askForCall(ai, { id: person }, asked),
      get: (runId, { wait }) => recordedCalls(ai).wait(runId, { timeout: wait * 1_000 }),
      start: async (runId, { lease, token }) => {
        const start = await recordedCalls(ai).start(runId, defined({ lease: lease && lease * 1_000, token }));
        if (start.status !== 'granted') return start;
        const { status: _granted, ...granted } = start;
        return granted;
      },
      finish: (runId, { token, ...report }) => recordedCalls(ai).finish(runId, token, report as GateReport),
    },
    insights: (filters) => insightsOf((period) => readSettled(ai, period), filters),
    grants: (query) => ai.grants.list(query),
    plan: (requestId) => ai.grants.plan(requestId),
    grant: (grantId) => ai.grants.get(grantId),
    revokeGrant: (grantId, reason) =>
      ai.grants.revoke(grantId, { by: person, ...(reason !== undefined && { reason }) }),
    freezes: {
      list: (lifted) => ai.freezes.list({ lifted }),
      freeze: (freeze) => ai.freezes.freeze(freeze, { by: person, roles, channel }),
      lift: (freezeId, note) =>
        ai.freezes.lift(freezeId, { by: person, roles, channel, drive: false, ...defined({ note }) }),
    },
    watch(onChange) {
      const timer = setInterval(onChange, POLL_EVERY_MS);
      return () => clearInterval(timer);
    },
    close,
  };
}

const withoutTurn = ({ for: _for, decidedBy: _decidedBy, ...query }: CardQuery) => query;

const withoutInternals = <T extends RunRecord>({ hash: _hash, wakeAt: _wakeAt, outcome: _outcome, ...run }: T) => run;
