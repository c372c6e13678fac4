// The people of the simulation: they decide at random, contradict each other, vote, edit, give and revoke grants, and delegate.

import type { DecideResult, DecisionInput, Json, RunRequest } from '../../src/index.ts';
import { FREEZES } from '../../src/runs/port/store.ts';
import type { Life } from '../../src/testing/simulate/life.ts';
import { keyOf } from '../../src/testing/simulate/records.ts';
import { type Bank, FINANCE, PEOPLE, refuseBug, SECRET } from './bank.ts';
import { UNDO } from './controls/undo-names.ts';

/** What a person has sent, and what came back. */
export type Said = {
  readonly person: string;
  readonly card: RunRequest;
  /** The key of the call, as its effects have it. */
  readonly key: string;
  readonly type: string;
  /** What the person lets run. */
  readonly input: unknown;
  readonly at: number;
  readonly grant?: { readonly uses: number; readonly total: number; readonly each: number };
  /** The digest of another card was sent: a mistake of the screen, which must be refused. */
  readonly isMisdirected: boolean;
  /** Undefined if no answer came. */
  answer?: DecideResult;
};

export type Absent = { readonly person: string; readonly delegate: string; readonly at: number };
export type Revoked = { readonly grantId: string; readonly at: number };

/** Everything that people did. */
export class Acts {
  readonly said: Said[] = [];
  readonly absent: Absent[] = [];
  readonly revoked: Revoked[] = [];
  /** Since when a person knows of a freeze of every call, and when one begins to lift it. */
  readonly frozen: { readonly id: string; readonly at: number }[] = [];
  readonly lifting = new Map<string, number>();
}

/** Who a person is. Once `isLate`, nobody hesitates. One who is not there comes back then, and decides only what others cannot. */
export type Person = { readonly name: string; readonly isThere: boolean; readonly isLate: () => boolean };

export async function person(life: Life<Bank>, acts: Acts, { name, isThere, isLate }: Person): Promise<void> {
  const { chance } = life;
  const diligence = chance.pick([0.2, 0.6, 0.9]);
  /** What this person need not decide again once all is calm. */
  const done = new Set<string>();
  for (;;) {
    await life.pause(isLate() ? chance.between(500, 2_500) : chance.delay(1_500));
    // A freeze whose answer was lost may come late.
    const { value } = (isLate() && (await life.store.notes.get(...FREEZES))) || { value: null };
    if (Array.isArray(value) && value.length > 0) await liftAll(life, acts, name);
    if (!isLate() && chance.is(0.03)) await somethingElse(life, acts, name);
    if (!isLate() && (!isThere || !chance.is(diligence))) continue;
    // A look into the store first: whoever has nothing to decide would only be slow.
    const { items } = await life.store.listRequests({ limit: 20 });
    if (items.every(({ id }) => isLate() && done.has(id))) continue;
    const listed = await life.ask(`${name} lists`, ({ ai }) => ai.runs.requests({ limit: 20 }));
    if (listed.status !== 'done') continue;
    const open = listed.value.items.filter(({ id }) => !isLate() || !done.has(id));
    if (open.length === 0) continue;
    const card = chance.pick(open);
    const decision = decisionOn(life, card, isLate(), isThere);
    if (decision !== undefined && (await decide(life, acts, name, card, decision))) done.add(card.id);
  }
}

/** What a person says about a request. Undefined: not now. */
function decisionOn(life: Life<Bank>, card: RunRequest, isLate: boolean, isThere: boolean): DecisionInput | undefined {
  const { chance, world } = life;
  const key = keyOf(card);
  if (card.kind === 'doubt') return truthAbout(life, card, key);
  if (card.kind === 'recall') return chance.is(0.1) ? { type: 'reject', reason: 'Wait.' } : undefined;
  // The boss comes back in the end, and leaves what has escalated to others.
  if (isLate && !isThere && card.kind === 'approval') return undefined;
  if (card.tool === 'ask') return { type: 'respond', output: chance.pick(['blue', 'red']) };
  const input = card.input as { amount: number };
  // Nobody decides some of those that have a deadline.
  if (card.tool === 'late' && card.kind === 'approval' && Math.floor(input.amount) % 2 === 0) return undefined;
  if (card.kind === 'interrupt' || card.tool === 'book')
    return chance.is(0.8) ? { type: 'restart', resumed: chance.pick(['yes', 'yes', 'again']) } : 'reject';
  if (world.isUnderWay(key) && chance.is(0.5)) return undefined;
  if (chance.is(0.15)) return { type: 'reject', reason: 'no' };
  if (chance.is(0.05)) return 'cancel';
  if (card.tool === 'plan') return (chance.is(0.4) && fewer(card.input)) || 'approve';
  if (card.tool !== UNDO && !isLate && chance.is(0.12))
    return { type: 'approve', edit: { ...input, amount: input.amount + 0.5 } };
  return 'approve';
}

/** Approves a plan without its first step, if it has others. */
function fewer(plan: unknown): DecisionInput | undefined {
  const [, ...steps] = (plan as { readonly steps: readonly Json[] }).steps;
  return steps.length > 0 ? { type: 'approve', edit: { steps } } : undefined;
}

/** A person who looks at what happened, and never says more than they know. */
function truthAbout({ chance, world }: Life<Bank>, card: RunRequest, key: string): DecisionInput | undefined {
  if (world.isUnderWay(key)) return undefined;
  const found = world.effects.filter((effect) => effect.key === key);
  const known = Object.keys((card.part.metadata?.steps ?? {}) as object);
  if (card.tool === 'book' && found.length > known.length) return { type: 'respond', output: { byHand: found.length } };
  const last = found.at(-1);
  if (last && card.tool !== 'book')
    return chance.is(0.9) ? { type: 'respond', output: last.output as never } : 'reject';
  return chance.is(0.7) ? 'approve' : 'reject';
}

/** Returns whether the decision was taken. */
async function decide(
  life: Life<Bank>,
  acts: Acts,
  name: string,
  card: RunRequest,
  decision: DecisionInput,
): Promise<boolean> {
  const { chance } = life;
  const said = typeof decision === 'string' ? { type: decision } : decision;
  const grant = grantWith(life, card, said.type);
  const recalls = card.kind === 'recall' && chance.is(0.7);
  const isMisdirected = chance.is(0.03) && !recalls;
  const one: Said = {
    person: name,
    card,
    key: keyOf(card),
    type: said.type,
    input: ('edit' in said && said.edit) || card.input,
    at: life.timeline.now,
    isMisdirected,
    ...(grant && { grant: { uses: grant.uses, total: grant.budget.total, each: 1_000 } }),
  };
  acts.said.push(one);
  const options = {
    by: name,
    digest: isMisdirected ? 'that-of-another' : card.digest,
    channel: 'inbox',
    context: { secret: SECRET },
    ...(grant && { grant }),
    drive: chance.is(0.8),
  };
  // Whoever gets no answer sends the same again, or lets it be.
  for (let times = 1 + chance.below(3); times > 0; times -= 1) {
    const what = `${name} decides ${card.id} ${said.type}`;
    const answer = await life.ask(what, ({ ai }) =>
      recalls ? ai.runs.recall(card.id, { by: name, channel: 'inbox' }) : ai.runs.decide(card.id, decision, options),
    );
    life.timeline.note(
      `${what}: ${answer.status} ${answer.status === 'refused' ? (answer.error as Error).message : ''}`,
    );
    if (answer.status === 'done') one.answer = answer.value;
    if (answer.status === 'refused') refuseBug(life, answer.error);
    if (answer.status !== 'silence') return answer.status === 'done';
    await life.pause(chance.delay(500));
  }
  return false;
}

function grantWith({ chance, server }: Life<Bank>, card: RunRequest, type: string) {
  if (card.tool !== 'spend' || card.kind !== 'approval' || type !== 'approve' || !chance.is(0.6)) return undefined;
  return {
    uses: 1 + chance.below(3),
    budget: { field: 'amount', total: chance.pick([500, 1_500, 3_000]) },
    where: [{ field: 'amount', atMost: 1_000 }],
    expiresAt: server.wallClock() + chance.pick([5_000, 30_000, 600_000]),
  } as const;
}

type Acting = { readonly life: Life<Bank>; readonly acts: Acts; readonly name: string; readonly other: string };

/** What people do beside deciding: the first that is likely enough. One line for each kind of act; `other` is another person. */
const OTHER_ACTS: readonly {
  readonly likely: number;
  readonly may?: (name: string) => boolean;
  readonly act: (acting: Acting) => Promise<unknown>;
}[] = [
  { likely: 0.4, act: freezeAWhile },
  { likely: 0.4, may: (name) => FINANCE.includes(name), act: nameDelegate },
  { likely: 0.5, act: revokeGrant },
  { likely: 1, act: assignOrComment },
];

async function somethingElse(life: Life<Bank>, acts: Acts, name: string): Promise<void> {
  const other = life.chance.pick(PEOPLE.filter((known) => known !== name));
  const chosen = OTHER_ACTS.find(
    ({ likely, may }) => (may?.(name) ?? true) && (likely === 1 || life.chance.is(likely)),
  );
  await chosen?.act({ life, acts, name, other });
}

async function nameDelegate({ life, acts, name, other }: Acting): Promise<void> {
  acts.absent.push({ person: name, delegate: other, at: life.timeline.now });
  const until = life.server.wallClock() + 30_000;
  await life.ask(`${name} is away`, ({ ai }) => ai.people.absent(name, { delegate: other, until, by: name }));
}

async function revokeGrant({ life, acts, name }: Acting): Promise<void> {
  const grants = await life.ask(`${name} lists grants`, ({ ai }) => ai.grants.list({ status: 'active' }));
  const [grant] = grants.status === 'done' ? grants.value.items : [];
  if (!grant) return;
  const done = await life.ask(`${name} revokes ${grant.id}`, ({ ai }) => ai.grants.revoke(grant.id, { by: name }));
  if (done.status === 'done') acts.revoked.push({ grantId: grant.id, at: life.timeline.now });
}

async function freezeAWhile({ life, acts, name }: Acting): Promise<void> {
  const made = await life.ask(`${name} freezes`, ({ ai }) => ai.freezes.freeze({ reason: 'Stop.' }, { by: name }));
  if (made.status === 'done') acts.frozen.push({ id: made.value.id, at: life.server.wallClock() });
  await life.pause(life.chance.between(1_000, 8_000));
  await liftAll(life, acts, name);
}

async function liftAll(life: Life<Bank>, acts: Acts, name: string): Promise<void> {
  const listed = await life.ask(`${name} lists freezes`, ({ ai }) => ai.freezes.list());
  for (const { id } of listed.status === 'done' ? listed.value : []) {
    if (!acts.lifting.has(id)) acts.lifting.set(id, life.server.wallClock());
    await life.ask(`${name} lifts ${id}`, ({ ai }) => ai.freezes.lift(id, { by: name }));
  }
}

async function assignOrComment({ life, name, other }: Acting): Promise<void> {
  const listed = await life.ask(`${name} looks`, ({ ai }) => ai.runs.requests({ limit: 5 }));
  const [card] = listed.status === 'done' ? listed.value.items : [];
  if (!card) return;
  if (life.chance.is(0.5))
    await life.ask(`${name} assigns`, ({ ai }) => ai.runs.assign(card.id, { to: other, by: name } as never));
  else await life.ask(`${name} comments`, ({ ai }) => ai.runs.comment(card.id, { text: 'Why?', by: name } as never));
}
