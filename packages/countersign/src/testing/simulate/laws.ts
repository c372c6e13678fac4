// The laws that every program must keep, checked from the record and the world alone.
import { collectEvidence, evidenceText } from '../../runs/evidence/evidence.ts';
import { verifyEvidence } from '../../runs/evidence/verify-evidence.ts';
import type { Store } from '../../runs/port/store.ts';
import { decidedAs, keyOf, type RecordedRun } from './records.ts';
import type { World } from './world.ts';

/** What is left of a schedule. */
export type Left = { readonly store: Store; readonly world: World; readonly records: readonly RecordedRun[] };

/** Returns what breaks the law. */
export type Law<T = Left> = (left: T) => readonly string[] | Promise<readonly string[]>;

export const oneEffect: Law = ({ world }) => {
  const counts = new Map<string, number>();
  for (const { name, key } of world.effects) counts.set(`${name} ${key}`, (counts.get(`${name} ${key}`) ?? 0) + 1);
  return [...counts].flatMap(([place, count]) => (count > 1 ? [`${place} happened ${count} times`] : []));
};

export const noneAfterRejection: Law = ({ records, world }) =>
  records.flatMap(({ requests }) =>
    requests.flatMap((request) => {
      const [type, key] = [decidedAs(request), keyOf(request)];
      if (request.kind !== 'approval' || (type !== 'reject' && type !== 'cancel')) return [];
      const isApproved = requests.some((other) => keyOf(other) === key && decidedAs(other) === 'approve');
      const effect = world.effects.find((one) => one.key === key);
      return effect && !isApproved ? [`${request.tool} ${key} was rejected and happened`] : [];
    }),
  );

const hasEnded = ({ run }: RecordedRun): boolean => run.status === 'done' || run.status === 'cancelled';

export const everyRunEnds: Law = ({ records }) =>
  records.flatMap((record) => (hasEnded(record) ? [] : [`${record.run.id} is ${record.run.status}`]));

export const nothingLeft: Law = async ({ store, records }) => {
  const left = (await store.queue()).flatMap(({ agent, due, claimed }) =>
    due + claimed > 0 ? [`${agent}: ${due} due, ${claimed} claimed`] : [],
  );
  const open = records
    .filter(hasEnded)
    .flatMap(({ requests }) => requests.filter(({ settledAt }) => settledAt === null));
  return [...left, ...open.map(({ id }) => `${id} is pending in an ended run`)];
};

export const recordVerifies: Law = async ({ records, store }) => {
  const problems: string[] = [];
  for (const { run } of records) {
    const loaded = await store.read(run.id);
    if (!loaded || loaded.events.length < loaded.run.version) continue;
    // The check of the evidence follows the chain and replays the events: what it finds, reading the record would find too.
    const evidence = await verifyEvidence(evidenceText(await collectEvidence(store, loaded)));
    for (const { where, problem } of evidence.problems) problems.push(`evidence of ${run.id}: ${where}: ${problem}`);
  }
  return problems;
};
