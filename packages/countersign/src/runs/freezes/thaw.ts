// Lets the calls of runs go on whose freeze has ended.
import { defined } from '../../core/json.ts';
import { type Call, frozenIn, type State } from '../../core/run/call.ts';
import { event } from '../../core/run/event.ts';
import { subAgentState } from '../../core/run/sub-agents.ts';
import type { Drives } from '../driving/driving.ts';
import { readRun } from '../port/read-run.ts';
import { unknownRun } from '../port/run-id.ts';
import type { Store } from '../port/store.ts';
import { loadRun, record } from '../requests/recording.ts';
import { stateOfRun } from '../requests/view.ts';
import { bookOf } from './book.ts';

/** How long a run may be remembered without a frozen call: its process has yet to record the freeze. */
const REMEMBERED_MS = 600_000;

/** Continues the runs whose freezes have ended, wherever they wait. Returns how many there were. */
export async function thawAll(drives: Drives, drive = true): Promise<number> {
  const book = bookOf(drives.store);
  let thawed = 0;
  for (let after: string | undefined; ; ) {
    const { items, cursor } = await book.frozenRuns(after);
    for (const note of items) {
      const seen = await thaw(drives, note.key, drive);
      if (seen === 'thawed') thawed += 1;
      const isOld = drives.clock() - Number(note.value) > REMEMBERED_MS;
      // Not if it was remembered again meanwhile.
      if (seen === 'thawed' || seen === 'gone' || (seen === 'open' && isOld)) await book.forget(note);
    }
    if (cursor === null) return thawed;
    after = cursor;
  }
}

/** How often a worker looks whether a freeze was lifted. */
const LOOK_EVERY_MS = 30_000;

/** Continues what a process left that died after it had lifted a freeze. While no freeze changes, this reads one note. */
export class Thaws {
  readonly #drives: Drives;
  #lookedAt = performance.now();
  /** Of the freezes, when all runs were looked at. */
  #version = 0;

  constructor(drives: Drives) {
    this.#drives = drives;
  }

  async look(): Promise<void> {
    if (performance.now() - this.#lookedAt < LOOK_EVERY_MS) return;
    this.#lookedAt = performance.now();
    const { version } = await bookOf(this.#drives.store).read();
    if (version === this.#version) return;
    await thawAll(this.#drives);
    this.#version = version;
  }
}

/** `frozen`: by a freeze that stands. `open`: nothing in it is frozen. */
export async function thaw(
  drives: Drives,
  runId: string,
  drive = true,
): Promise<'thawed' | 'frozen' | 'open' | 'gone'> {
  await drives.time.tell();
  for (;;) {
    const read = await readRun(drives.store, runId);
    if (!read) return 'gone';
    const loaded = await loadRun(drives, runId, () => unknownRun(runId), read);
    if (loaded.state.ended) return 'gone';
    const frozen = frozenIn(loaded.state);
    if (!frozen) return 'open';
    const { freezes } = await bookOf(drives.store).read();
    if (freezes.some(({ id }) => id === frozen.id)) return 'frozen';
    const isHere = drive && drives.agents.has(loaded.run.agent);
    const options = isHere ? {} : { drive: false };
    if (await record(drives, loaded, (run) => run.record(event({ type: 'run-unfrozen' })), options, false)) continue;
    if (isHere) drives.look(runId);
    return 'thawed';
  }
}

/** A call that has started and has no result yet, as far as the record of its run says. */
export type RunningCall = {
  readonly runId: string;
  readonly agent: string;
  readonly tool: string;
  readonly startedBy: string | null;
  readonly since: number | null;
  /** How far it has come: `unknown`, or whether it has passed its commit point. */
  readonly progress: string;
  /** The steps of its body that are done. */
  readonly steps: readonly string[];
};

/** How many runs are looked at for running calls, of each kind. */
const MOST_RUNS = 500;

/** Calls that run now, and that such a freeze covers. */
export async function runningCalls(
  store: Store,
  covers: (call: {
    tool: string;
    agents: readonly string[];
    people: readonly (string | null | undefined)[];
  }) => boolean,
): Promise<readonly RunningCall[]> {
  const found: RunningCall[] = [];
  // A program outside that runs its call has a deadline to report, so its run waits.
  for (const status of ['running', 'waiting'] as const) {
    const { items } = await store.listRuns({ status, order: 'newest', limit: MOST_RUNS });
    for (const { id, agent, startedBy, wakeAt } of items) {
      if (status === 'waiting' && wakeAt === null) continue;
      const loaded = await readRun(store, id);
      if (!loaded) continue;
      const state = await stateOfRun(loaded);
      const people = [startedBy, state.spokenBy];
      for (const { call, agents } of startedIn(state, [agent])) {
        if (!covers({ tool: call.name, agents, people }) || call.phase.at !== 'started') continue;
        const { since = null, progress } = call.phase;
        const about = { runId: id, agent, tool: call.name, startedBy, since, progress };
        found.push(defined({ ...about, steps: [...call.steps.keys()] }) as RunningCall);
      }
    }
  }
  return found;
}

function startedIn(
  { turn }: State,
  agents: readonly string[],
): readonly { readonly call: Call; readonly agents: readonly string[] }[] {
  return (turn?.calls ?? []).flatMap((call) => {
    if (call.phase.at !== 'started') return [];
    return call.phase.progress === 'sub-agent'
      ? startedIn(subAgentState(call), [...agents, call.name])
      : [{ call, agents }];
  });
}
