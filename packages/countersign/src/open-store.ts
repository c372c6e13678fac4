// What an instance has if it has a store: runs, notices, grants, and who is absent.
import type { CountersignOptions } from './countersign-options.ts';
import type { Context } from './loop/tool/definition.ts';
import { randomId, sleep } from './random-id.ts';
import { Absences } from './runs/absences.ts';
import { Appends } from './runs/driving/appends.ts';
import { Drives } from './runs/driving/driving.ts';
import type { AgentPort } from './runs/driving/open-run.ts';
import { Freezes } from './runs/freezes/freezes.ts';
import { Grants } from './runs/grants/grants.ts';
import { Notices } from './runs/notices/notices.ts';
import { directoryOf } from './runs/people.ts';
import type { Store } from './runs/port/store.ts';
import { Runs } from './runs/runs.ts';

/** The parts of an instance that need a store. */
export type Stored<C extends Context = Context> = {
  readonly drives: Drives;
  readonly appends: Appends;
  readonly runs: Runs<C>;
  readonly notices: Notices;
  readonly grants: Grants;
  readonly freezes: Freezes;
  readonly people: Absences;
};

/** `agents` may still grow. */
export function openStore<C extends Context>(
  store: Store,
  options: CountersignOptions<C>,
  agents: ReadonlyMap<string, AgentPort>,
): Stored<C> {
  const { contextFor = () => undefined, drills, notify = {}, people = {}, freezes = {} } = options;
  const { leaseMs = 7_500, graceMs = 10_000, clock = Date.now } = options;
  const { maxRunSize = 8_388_608, maxRunEvents = 50_000 } = options;
  const appends = new Appends();
  const absences = new Absences(store, people);
  const drives = new Drives({
    ...{ store, agents, contextFor, leaseMs, graceMs, clock, sleep },
    // Ids of runs and claims must be unique across processes; the user's `newId` may only count.
    newId: randomId,
    runLimit: { size: maxRunSize, events: maxRunEvents },
    people: directoryOf(people, absences),
    onAppended: appends.tell,
  });
  const notices = new Notices(drives, notify);
  const runs = new Runs<C>(drives, drills, notices);
  return {
    drives,
    appends,
    runs,
    notices,
    grants: new Grants(store),
    freezes: new Freezes(drives, freezes),
    people: absences,
  };
}
