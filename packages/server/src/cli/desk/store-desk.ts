// The desk on a store: reads and decides directly. It drives nothing; whoever works on the store goes on with the runs.
import { type Countersign, countersign, type DecisionInput, type RunInterrupt, tool, z } from 'countersign';
import type { Store } from 'countersign/store';
import { interruptCard, misfitOf } from 'countersign/ui';
import { holdsOf, releaseHold, removeHold, takeHold } from '../../api/holds.ts';
import { CommandFailure, EXIT, usageFailure } from '../failure.ts';
import type { Desk, DeskCard, DeskRunView } from './desk.ts';

export type StoreDeskOptions = {
  readonly ai: Countersign;
  readonly where: string;
  /** Who decides. */
  readonly person: string;
  /** For runs of agents that `ai` does not know; absent where `ai` brings its own store. */
  readonly store?: Store;
  readonly close: () => Promise<void>;
};

/** How often it is looked whether something changed. */
const LOOK_EVERY_MS = 1_000;

export function storeDesk({ ai, where, person, store, close }: StoreDeskOptions): Desk {
  const { runs } = ai;
  const cardsOf = async (interrupts: readonly RunInterrupt[]): Promise<readonly DeskCard[]> => {
    const holds = await holdsOf(
      runs.notes,
      interrupts.filter(({ settledAt }) => settledAt === null).map(({ id }) => id),
    );
    return interrupts.map((interrupt) => cardOf(interrupt, holds.get(interrupt.id) ?? null));
  };
  const cardOf = (interrupt: RunInterrupt, hold: DeskCard['hold']): DeskCard => {
    const { runId, agent, startedBy } = interrupt;
    return { ...interruptCard(interrupt, ai.agents.get(agent), true), runId, agent, startedBy, hold };
  };
  const view = async (runId: string): Promise<DeskRunView> => {
    const { hash: _hash, wakeAt: _wakeAt, outcome: _outcome, ...rest } = await runs.get(runId);
    return rest;
  };
  return {
    where,
    person,
    runs: async (query) => {
      const page = await runs.list(query);
      const items = page.items.map(({ hash: _hash, wakeAt: _wakeAt, outcome: _outcome, ...run }) => run);
      return { ...page, items };
    },
    run: view,
    events: async (runId, after = 0) => {
      await runs.get(runId);
      const loaded = await runs.find(runId, { after });
      return (loaded?.events ?? []).map((event, index) => ({ ...event, seq: after + index + 1 }));
    },
    follow: (runId, signal) => runs.events(runId, { signal }),
    cards: async (query) => {
      const page = await runs.interrupts(query);
      return { ...page, items: await cardsOf(page.items) };
    },
    card: async (interruptId) => {
      const interrupt = await runs.interrupt(interruptId);
      return cardOf(interrupt, (await holdsOf(runs.notes, [interruptId])).get(interruptId) ?? null);
    },
    decide: async (interruptId, decision, how = {}) => {
      const interrupt = await runs.interrupt(interruptId);
      const deciding = ai.agents.has(interrupt.agent) ? ai : standIn(cardOf(interrupt, null), decision, store);
      const decided = await deciding.runs.decide(interruptId, decision, {
        ...how,
        by: person,
        channel: 'cli',
        drive: false,
      });
      // It is recorded; a hold that stays lapses by itself.
      await removeHold(runs.notes, interruptId).catch(() => undefined);
      return decided;
    },
    hold: (interruptId) => takeHold(runs.notes, interruptId, person),
    release: (interruptId) => releaseHold(runs.notes, interruptId, person),
    watch(changed) {
      const timer = setInterval(changed, LOOK_EVERY_MS);
      return () => clearInterval(timer);
    },
    close,
  };
}

/**
 * Decides for an agent that is not defined here. What is recorded anyway can be approved, rejected or cancelled, because
 * whoever drives the run checks the input again; an edit or an answer has to be checked against the tool's schema now.
 */
function standIn(card: DeskCard, decision: DecisionInput, store: Store | undefined): Countersign {
  const { agent: name, tool: toolName } = card;
  const misfit = card.status === 'pending' ? misfitOf(card, decision) : undefined;
  if (misfit !== undefined) throw usageFailure(misfit);
  if (store === undefined || needsSchema(decision))
    throw new CommandFailure(
      EXIT.failure,
      'unknown-agent',
      `The agent ${name} is not defined here, so that nothing can check what you give to ${toolName}.`,
      { hint: 'Say where it is defined with --agents <file>, or decide through a server with --url' },
    );
  const ai = countersign({ store });
  const never = tool({ name: toolName, description: 'Stands in.', inputSchema: z.unknown() }, () => {
    throw new Error('A stand-in drives nothing.');
  });
  // The limit of the agent is not known here; whoever drives the run keeps it.
  ai.defineAgent({ name, tools: [never], maxTurns: Number.MAX_SAFE_INTEGER });
  return ai;
}

function needsSchema(decision: DecisionInput): boolean {
  if (typeof decision === 'string') return false;
  switch (decision.type) {
    case 'approve':
      return decision.edit !== undefined;
    case 'restart':
      return decision.replaceInput !== undefined;
    case 'respond':
      return true;
    case 'reject':
    case 'cancel':
      return false;
  }
}
