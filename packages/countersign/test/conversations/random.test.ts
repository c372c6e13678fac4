// Random histories of a stored chat with a sub-agent: processes die, stall and lose the store's answers; people decide,
// contradict each other and send messages, in any order. No call may act twice, and every acknowledgement must be true.
//
// COUNTERSIGN_SEEDS and COUNTERSIGN_FIRST_SEED choose other seeds: how many, and the first one.
import { isDeepStrictEqual } from 'node:util';
import { type Message, memoryStore, type RunEvent, type RunRequest, type RunView } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { describe, expect, onTestFailed, test } from 'vitest';
import { campaignSize } from '../campaign-size.ts';
import { waiting } from '../sub-agents/kit.ts';
import { finish, type History, live, newHistory, RUN_ID } from './random-history.ts';

const { COUNTERSIGN_SEEDS, COUNTERSIGN_FIRST_SEED = '1' } = process.env;
const seeds = (usually: number): readonly number[] =>
  Array.from({ length: Number(COUNTERSIGN_SEEDS ?? usually) }, (_, index) => Number(COUNTERSIGN_FIRST_SEED) + index);

describe('a random history of a stored chat duplicates and loses nothing', () => {
  test.each(seeds(campaignSize(25, 600)))('in memory (seed %i)', (seed) => check(seed, (now) => memoryStore({ now })));
  test.each(seeds(campaignSize(6, 150)))('in SQLite (seed %i)', (seed) =>
    check(seed, (now) => sqliteStore({ path: ':memory:', now })),
  );
});

async function check(seed: number, openStore: (clock: () => number) => Store): Promise<void> {
  const history = newHistory(seed, openStore);
  const { store } = history.world;
  onTestFailed(() => console.error(`The history of seed ${seed}:\n${history.log.join('\n')}`));
  await store.migrate();
  await live(history, seed % 5 === 0);
  const last = await finish(history);
  const view = await last.runs.get(RUN_ID);
  const events = flat(await last.runs.recorded(RUN_ID));
  history.log.push('Recorded:', ...events.map((event) => JSON.stringify(event)));
  const questions = new Map<string, RunRequest>();
  for (const { card } of history.taken) questions.set(card.id, await last.runs.request(card.id));
  expect({
    problems: [
      ...history.problems,
      ...wrongActs(history, events),
      ...wrongWords(history, view),
      ...wrongDecisions(history, questions),
    ],
    hasEnded: view.status === 'done' || view.status === 'cancelled',
    chain: await last.runs.verify(RUN_ID),
    pending: view.pending,
    waiting: await waiting(last.runs),
  }).toEqual({ problems: [], hasEnded: true, chain: expect.objectContaining({ ok: true }), pending: [], waiting: [] });
  last.kill();
  await store.close();
}

/** Returns all events, including nested ones. */
const flat = (events: readonly RunEvent[]): readonly RunEvent[] =>
  events.flatMap((event) => (event.type === 'call-went-on' ? [event, ...flat(event.inside)] : [event]));

/** Each call acts at most once, and the model reads the truth about it. */
function wrongActs({ world: { acted } }: History, events: readonly RunEvent[]): readonly string[] {
  const twice = [...acted].filter(([, times]) => times > 1).map(([key, times]) => `${key} acted ${times} times`);
  const tools = toolsOf(events);
  const untrue = events.flatMap((event) => {
    if (event.type !== 'call-settled' || tools.get(event.callId) === 'helper') return [];
    const { callId, result } = event;
    const hasActed = acted.has(callId);
    const isTrue = result.type === 'output' ? hasActed : result.mayHaveActed || !hasActed;
    const did = hasActed ? 'acted' : 'never acted';
    return isTrue ? [] : [`${tools.get(callId)} ${callId} ${did}, but is recorded as ${JSON.stringify(result)}`];
  });
  return [...twice, ...untrue];
}

/** Maps each call to its tool. */
function toolsOf(events: readonly RunEvent[]): ReadonlyMap<string, string | undefined> {
  const tools = new Map<string, string | undefined>();
  for (const event of events) {
    if (event.type !== 'model-replied') continue;
    const names = event.content.flatMap((part) => ('toolRequest' in part ? [part.toolRequest.name] : []));
    event.calls.forEach(({ id }, index) => {
      tools.set(id, names[index]);
    });
  }
  return tools;
}

/** An acknowledged message is stored once, any other at most once. */
function wrongWords({ said }: History, { messages }: RunView): readonly string[] {
  const stored = messages.filter(({ role }) => role === 'user').map(textOf);
  return said.flatMap(({ text, isTaken }) => {
    const times = stored.filter((words) => words === text).length;
    return times === 1 || (times === 0 && !isTaken) ? [] : [`"${text}" (taken: ${isTaken}) is stored ${times} times`];
  });
}

const textOf = ({ content }: Message): string => content.map((part) => ('text' in part ? part.text : '')).join('');

/** An acknowledged decision is the recorded one. */
function wrongDecisions({ taken }: History, questions: ReadonlyMap<string, RunRequest>): readonly string[] {
  return taken.flatMap(({ card: { id }, decision }) => {
    const settlement = questions.get(id)?.settlement;
    if (isDeepStrictEqual(settlement?.decision, decision)) return [];
    return [`${id} was decided ${JSON.stringify(decision)}, but recorded is ${JSON.stringify(settlement)}`];
  });
}
