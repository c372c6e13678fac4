// Random histories of a stored chat with a sub-agent: processes die, sleep and lose the store's answers; people decide,
// contradict each other and speak, in any order. Whatever happened, no call acts twice, and what was told is true.
//
// COUNTERSIGN_SEEDS and COUNTERSIGN_FIRST_SEED choose other seeds: how many, and from which on.
import { isDeepStrictEqual } from 'node:util';
import { type Message, memoryStore, type RunEvent, type RunInterrupt, type RunView } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import type { Store } from 'countersign/store';
import { describe, expect, onTestFailed, test } from 'vitest';
import { waiting } from '../sub-agents/kit.ts';
import { finish, type History, live, newHistory, RUN_ID } from './random-history.ts';

const { COUNTERSIGN_SEEDS, COUNTERSIGN_FIRST_SEED = '1' } = process.env;
const seeds = (usually: number): readonly number[] =>
  Array.from({ length: Number(COUNTERSIGN_SEEDS ?? usually) }, (_, index) => Number(COUNTERSIGN_FIRST_SEED) + index);

describe('whatever happens to a stored chat', () => {
  test.each(seeds(60))('in memory (seed %i)', (seed) => check(seed, (now) => memoryStore({ now })));
  test.each(seeds(15))('in SQLite (seed %i)', (seed) => check(seed, (now) => sqliteStore({ path: ':memory:', now })));
});

async function check(seed: number, openStore: (clock: () => number) => Store): Promise<void> {
  const history = newHistory(seed, openStore);
  const { store } = history.world;
  onTestFailed(() => console.error(`What happened with seed ${seed}:\n${history.log.join('\n')}`));
  await store.migrate();
  await live(history, seed % 5 === 0);
  const last = await finish(history);
  const view = await last.runs.get(RUN_ID);
  const events = flat(await last.runs.recorded(RUN_ID));
  history.log.push('On record:', ...events.map((event) => JSON.stringify(event)));
  const questions = new Map<string, RunInterrupt>();
  for (const { card } of history.taken) questions.set(card.id, await last.runs.interrupt(card.id));
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

/** All events, also those inside of calls. */
const flat = (events: readonly RunEvent[]): readonly RunEvent[] =>
  events.flatMap((event) => (event.type === 'call-went-on' ? [event, ...flat(event.inside)] : [event]));

/** Each call acts at most once, and what the model is told of it is what happened outside. */
function wrongActs({ world: { acted } }: History, events: readonly RunEvent[]): readonly string[] {
  const twice = [...acted].filter(([, times]) => times > 1).map(([key, times]) => `${key} acted ${times} times`);
  const tools = toolsOf(events);
  const untrue = events.flatMap((event) => {
    if (event.type !== 'call-settled' || tools.get(event.callId) === 'helper') return [];
    const { callId, result } = event;
    const hasActed = acted.has(callId);
    const isTrue = result.type === 'output' ? hasActed : result.mayHaveActed || !hasActed;
    const did = hasActed ? 'acted' : 'never acted';
    return isTrue ? [] : [`${tools.get(callId)} ${callId} ${did}, and is told as ${JSON.stringify(result)}`];
  });
  return [...twice, ...untrue];
}

/** The tool of each call. */
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

/** What was said is there once if it was taken, and at most once if nobody knows. */
function wrongWords({ said }: History, { messages }: RunView): readonly string[] {
  const heard = messages.filter(({ role }) => role === 'user').map(textOf);
  return said.flatMap(({ text, isTaken }) => {
    const times = heard.filter((words) => words === text).length;
    return times === 1 || (times === 0 && !isTaken) ? [] : [`"${text}" (taken: ${isTaken}) is there ${times} times`];
  });
}

const textOf = ({ content }: Message): string => content.map((part) => ('text' in part ? part.text : '')).join('');

/** What was taken is what is on record. */
function wrongDecisions({ taken }: History, questions: ReadonlyMap<string, RunInterrupt>): readonly string[] {
  return taken.flatMap(({ card: { id }, decision }) => {
    const settlement = questions.get(id)?.settlement;
    if (isDeepStrictEqual(settlement?.decision, decision)) return [];
    return [`${id} was decided ${JSON.stringify(decision)}, on record is ${JSON.stringify(settlement)}`];
  });
}
