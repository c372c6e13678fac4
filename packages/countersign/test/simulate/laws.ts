// The laws that every schedule must keep, checked from the record and the world alone.
import { isDeepStrictEqual } from 'node:util';
import type { Vote } from '../../src/core/authority/policy.ts';
import { evidenceText, verifyEvidence } from '../../src/index.ts';
import { collectEvidence } from '../../src/runs/evidence/evidence.ts';
import { ruleProblem } from '../../src/runs/evidence/verify-evidence.ts';
import { inspectChain } from '../../src/runs/port/chain.ts';
import type { Store } from '../../src/runs/port/store.ts';
import { BEGIN } from '../../src/testing/simulate/timeline.ts';
import type { SimulatedEffect, World } from '../../src/testing/simulate/world.ts';
import { FINANCE, type Told } from './bank.ts';
import type { Started } from './clients.ts';
import { type Acts, keyOf, type Said } from './people.ts';
import type { RecordedCall, RecordedRun } from './record.ts';

/** Everything that is left of a schedule. */
export type Remains = {
  readonly store: Store;
  readonly world: World;
  readonly records: readonly RecordedRun[];
  readonly acts: Acts;
  readonly started: readonly Started[];
  readonly told: readonly Told[];
  /** Since when the channel is known in the store. */
  readonly toldSince: number;
};

type Law = (remains: Remains) => readonly string[] | Promise<readonly string[]>;

export const LAWS: Readonly<Record<string, Law>> = {
  'a call has at most one effect': ({ world }) => {
    const counts = new Map<string, number>();
    for (const { name, key } of world.effects) counts.set(`${name} ${key}`, (counts.get(`${name} ${key}`) ?? 0) + 1);
    return [...counts].flatMap(([place, count]) => (count > 1 ? [`${place} happened ${count} times`] : []));
  },

  'an effect happens only after authority': (remains) =>
    remains.world.effects.flatMap((effect) => withoutAuthority(remains, effect) ?? []),

  'a rejected call has no effect': ({ records, world }) =>
    records.flatMap(({ requests }) =>
      requests.flatMap((request) => {
        const [type, key] = [said(request), keyOf(request)];
        if (request.kind !== 'approval' || (type !== 'reject' && type !== 'cancel')) return [];
        const isApproved = requests.some((other) => keyOf(other) === key && said(other) === 'approve');
        const effect = world.effects.find((one) => one.key === key);
        return effect && !isApproved ? [`${request.tool} ${key} was rejected and happened`] : [];
      }),
    ),

  'an acknowledged decision is recorded': (remains) => remains.acts.said.flatMap((one) => lost(remains, one) ?? []),

  'a grant is never overdrawn': (remains) => overdrawn(remains),

  'the model is told what happened': ({ records, world }) =>
    records.flatMap(({ calls }) => [...calls.values()].flatMap((call) => untrue(world, call) ?? [])),

  'every started run exists': ({ records, started }) =>
    started.flatMap(({ id, isKnown, isDeleted }) => {
      const isThere = records.some(({ run }) => run.id === id);
      return isThere || !isKnown || isDeleted ? [] : [`${id} is lost`];
    }),

  'every run ends': ({ records }) =>
    records.flatMap(({ run }) =>
      run.status === 'done' || run.status === 'cancelled' ? [] : [`${run.id} is ${run.status}`],
    ),

  'nothing is left claimed or pending': async ({ store, records }) => {
    const left = (await store.queue()).flatMap(({ agent, due, claimed }) =>
      due + claimed > 0 ? [`${agent}: ${due} due, ${claimed} claimed`] : [],
    );
    const pending = records.flatMap(({ run, requests }) =>
      run.status === 'done' || run.status === 'cancelled'
        ? requests.flatMap(({ id, settledAt }) => (settledAt === null ? [`${id} is pending in an ended run`] : []))
        : [],
    );
    return [...left, ...pending];
  },

  'every notice is delivered': ({ records, told, toldSince }) =>
    records.flatMap(({ requests }) =>
      requests.flatMap(({ id, kind, settledAt }) => {
        // What was over before the channel existed is not announced.
        if (settledAt !== null && settledAt < toldSince) return [];
        const types = new Set(told.filter(({ requestId }) => requestId === id).map(({ type }) => type));
        const opened = types.has(kind === 'doubt' ? 'doubt' : 'opened');
        const ended = settledAt === null || types.has('decided') || types.has('expired') || types.has('withdrawn');
        return opened && ended ? [] : [`${id}: people were told only ${[...types].join() || 'nothing'}`];
      }),
    ),

  'the record verifies': async ({ records, store }) => {
    const problems: string[] = [];
    for (const { run } of records) {
      const loaded = await store.read(run.id);
      if (!loaded || loaded.events.length < loaded.run.version) continue;
      const found = (await inspectChain(loaded)).problem ?? (await ruleProblem(loaded));
      if (found) problems.push(`${run.id}: ${found}`);
      const evidence = await verifyEvidence(evidenceText(await collectEvidence(store, loaded)));
      for (const { where, problem } of evidence.problems) problems.push(`evidence of ${run.id}: ${where}: ${problem}`);
    }
    return problems;
  },
};

/** Nothing is to be done any more: no claim is held, and everybody was told. */
export async function isQuiet(remains: Remains): Promise<boolean> {
  const left = ['nothing is left claimed or pending', 'every notice is delivered'];
  for (const law of left) if ((await LAWS[law]?.(remains))?.length) return false;
  return true;
}

const said = ({ settlement }: { readonly settlement: unknown }): string | undefined =>
  (settlement as { decision?: { type?: string } } | null)?.decision?.type;

/** Tools that need nobody's word, or whose word is another one. */
const FREE: ReadonlySet<string> = new Set(['look', 'reserve']);

function withoutAuthority({ acts, records }: Remains, effect: SimulatedEffect): string | undefined {
  const { name, key, at, input } = effect;
  if (FREE.has(name)) return undefined;
  const what = `${name} ${key} of ${JSON.stringify(input)}`;
  const before = acts.said.filter(
    (one) => one.key === key && one.at <= at && (one.type === 'approve' || one.type === 'restart'),
  );
  const run = records.find(({ calls }) => [...calls.values()].some((call) => call.key === key));
  const call = run && [...run.calls.values()].find((one) => one.key === key);
  if (name === 'book') return before.some(({ type }) => type === 'restart') ? undefined : `${what}: nobody said so`;
  const own = before.filter((one) => one.card.kind !== 'doubt' && isDeepStrictEqual(one.input, input));
  if (name === 'wire') {
    const voters = new Set(own.flatMap(({ person, at: said }) => standsFor(acts, person, said)));
    voters.delete(run?.run.startedBy ?? '');
    return voters.size >= 2 ? undefined : `${what}: only ${[...voters].join() || 'nobody'} approved it`;
  }
  if (own.length > 0) return undefined;
  if (name === 'late') {
    // A run that was deleted leaves no record.
    if (!run) return undefined;
    const expiry = run.requests.find((one) => one.kind === 'approval' && keyOf(one) === key)?.expiresAt;
    return expiry && BEGIN + at >= expiry ? undefined : `${what}: its deadline had not come`;
  }
  const isGranted = call?.events.some(({ type }) => type === 'call-granted') ?? false;
  if (name === 'spend' && (isGranted || !run))
    return acts.said.some((one) => one.grant && one.at <= at) ? undefined : `${what}: nobody gave a grant`;
  return `${what}: nobody approved it`;
}

/** The members of finance whose vote this person can give. */
const standsFor = ({ absent }: Acts, person: string, at: number): readonly string[] =>
  FINANCE.includes(person)
    ? [person]
    : absent.flatMap((one) => (one.delegate === person && one.at <= at ? [one.person] : []));

function lost({ records, started }: Remains, one: Said): string | undefined {
  const { answer, card, person } = one;
  if (!answer) return undefined;
  const run = records.find((record) => record.run.id === card.runId);
  if (!run)
    return started.some(({ id, isDeleted }) => id === card.runId && isDeleted) ? undefined : `${card.runId} is lost`;
  const request = run.requests.find(({ id }) => id === card.id);
  if (answer.status === 'settled') {
    const { decision, by } = (request?.settlement ?? {}) as { decision?: unknown; by?: unknown };
    const isKept = isDeepStrictEqual(decision, answer.decision) && by === answer.by;
    const kept = `${JSON.stringify(decision)} by ${by}`;
    return isKept
      ? undefined
      : `${person} was told ${JSON.stringify(answer.decision)} by ${answer.by} on ${card.id}, but kept is ${kept}`;
  }
  const requests = [request, run.requests.find(({ id }) => id === answer.requestId)];
  const votes = requests.flatMap((of) => [
    ...((of?.settlement as { votes?: readonly Vote[] } | null)?.votes ?? []),
    ...(of?.progress?.votes ?? []),
  ]);
  const isOver = requests.some((of) => of?.settlement && !('votes' in of.settlement));
  // The vote of an absent person replaces that of their delegate.
  const own = answer.votes.find(({ by }) => by === person);
  const voter = own?.onBehalfOf ?? person;
  return isOver || votes.some(({ by, onBehalfOf = by }) => onBehalfOf === voter)
    ? undefined
    : `the vote of ${person} on ${card.id} was lost`;
}

function overdrawn({ acts, records, world }: Remains): readonly string[] {
  const limits = new Map(acts.said.flatMap((one) => (one.grant ? [[one.card.id, one.grant] as const] : [])));
  const used = new Map<string, number[]>();
  for (const { calls } of records)
    for (const call of calls.values())
      for (const event of call.events)
        if (event.type === 'call-granted') {
          const effect = world.effects.find(({ key }) => key === call.key);
          if (effect)
            used.set(event.grantId, [...(used.get(event.grantId) ?? []), (effect.input as { amount: number }).amount]);
        }
  const most = [...limits.values()];
  const [total, uses] = [
    Math.max(0, ...most.map((limit) => limit.total)),
    Math.max(0, ...most.map((limit) => limit.uses)),
  ];
  return [...used].flatMap(([id, amounts]) => {
    const sum = amounts.reduce((a, b) => a + b, 0);
    const isWithin = amounts.length <= uses && sum <= total && amounts.every((amount) => amount <= 1_000);
    return isWithin ? [] : [`${id} let ${amounts.join(' + ')} run, more than ${uses} uses or ${total}`];
  });
}

function untrue({ effects }: World, { key, tool, events }: RecordedCall): string | undefined {
  if (['ask', 'helper', 'assistant', 'book', 'look'].includes(tool)) return undefined;
  const settled = events.findLast(({ type }) => type === 'call-settled');
  if (settled?.type !== 'call-settled') return undefined;
  const { result } = settled;
  const hasActed = effects.some((effect) => effect.key === key);
  const isTrue = result.type === 'output' ? hasActed : result.mayHaveActed === true || !hasActed;
  return isTrue
    ? undefined
    : `${tool} ${key} ${hasActed ? 'acted' : 'never acted'}, but is recorded as ${JSON.stringify(result)}`;
}
