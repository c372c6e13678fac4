// The attacks, each written once. A door says how its client sends the hostile messages; what must hold afterwards is the same
// for every door, and is read outside: the payments that were made, and the record.
import { expect } from 'vitest';
import { type Asked, type AttackName, HIDDEN, type Hostile, type OpenDoor, type Reply, type Setting } from './door.ts';
import type { Mortal, World } from './world.ts';

export type Cell = {
  readonly world: World;
  readonly door: OpenDoor;
  /** Undefined if the house is killed, after an honest decision. */
  readonly hostile: Hostile<Asked> | undefined;
  readonly payment: { readonly to: string; readonly amount: number };
  sent(): void;
  /** The same door of a house in another process, which its first payment kills. */
  mortal(): Promise<{ readonly world: Mortal; readonly door: OpenDoor }>;
};

type Attack = (cell: Cell) => Promise<void>;

export const CHECKS: { readonly [name in AttackName]: Attack } = {
  forged: refused,
  replayed,
  outdated,
  "other person's": refused,
  "other run's": refused,
  'without rights': refused,
  oversized: refused,
  malformed: refused,
  'duplicate keys': refused,
  'hidden characters': hidden,
  'wrong digest': refused,
  'after the end': afterTheEnd,
  'sent back': sentBack,
  'two at once': twoAtOnce,
  killed,
};

/** The door refuses, nothing is recorded or paid, and the honest decision still works, once. */
async function refused(cell: Cell): Promise<void> {
  const { world, door } = cell;
  const asked = await door.ask(cell.payment);
  const { setting, others } = settingOf(cell, asked);
  refusesAll(await cell.hostile?.(asked, setting));
  for (const one of [asked, ...others]) await isUntouched(world, one);
  expect(await door.decide(asked)).toMatchObject({ accepted: true });
  await isPaidOnce(world, asked);
  for (const one of others) await isUntouched(world, one);
}

/** Repeated bytes change nothing: they get the recorded outcome, or a refusal. */
async function replayed({ world, door, hostile, payment, ...cell }: Cell): Promise<void> {
  const asked = await door.ask(payment);
  expect(await door.decide(asked)).toMatchObject({ accepted: true });
  await isPaidOnce(world, asked);
  const before = await settlementOf(world, asked);
  const { setting } = settingOf({ world, door, hostile, payment, ...cell }, asked);
  for (const reply of (await hostile?.(asked, setting)) ?? []) expect(reply.isFault ?? false, reply.text).toBe(false);
  expect(await settlementOf(world, asked)).toEqual(before);
  await isPaidOnce(world, asked);
}

/** The decision on the earlier version counts for nothing: ann has no vote on the changed request. */
async function outdated(cell: Cell): Promise<void> {
  const { world, door } = cell;
  const asked = await door.ask({ ...cell.payment, amount: 5_000 });
  const { setting } = settingOf(cell, asked);
  refusesAll(await cell.hostile?.(asked, setting));
  expect(world.paid(asked.to)).toEqual([]);
  if (asked.id === undefined) return;
  const { settlement, progress } = await world.request(asked.to);
  expect(settlement).toBeNull();
  expect(progress?.votes.filter(({ by }) => by === 'ann') ?? []).toEqual([]);
}

async function hidden(cell: Cell): Promise<void> {
  const payment = { ...cell.payment, to: `${cell.payment.to}${HIDDEN}exe` };
  if (cell.door.shown) {
    const text = await cell.door.shown(await cell.door.ask({ ...payment, to: `${payment.to}2` }));
    cell.sent();
    expect(text).toContain(cell.payment.to);
    for (const character of HIDDEN) expect(text).not.toContain(character);
  }
  await refused({ ...cell, payment });
}

async function afterTheEnd(cell: Cell): Promise<void> {
  const { world, door } = cell;
  const asked = await door.ask(cell.payment);
  await world.ai.runs.cancel(asked.runId, { by: 'carl' });
  const { setting } = settingOf(cell, asked);
  refusesAll(await cell.hostile?.(asked, setting));
  expect(world.paid(asked.to)).toEqual([]);
  expect(await world.ai.runs.get(asked.runId)).toMatchObject({ status: 'cancelled' });
}

/** The request for changes is the one decision: no later one counts, and nothing is paid. */
async function sentBack(cell: Cell): Promise<void> {
  const { world, door } = cell;
  const asked = await door.ask(cell.payment);
  const { isFault = false, text } = await door.decide(asked, 'revise');
  expect(isFault, text).toBe(false);
  const settlement = await settlementOf(world, asked);
  expect(settlement).toMatchObject({ type: 'revise', by: 'ann' });
  const { setting } = settingOf(cell, asked);
  refusesAll(await cell.hostile?.(asked, setting));
  expect(await settlementOf(world, asked)).toEqual(settlement);
  expect(world.paid(asked.to)).toEqual([]);
}

/** One decision is recorded, what was paid follows from it, and no sender was told anything else. */
async function twoAtOnce(cell: Cell): Promise<void> {
  const { world, door } = cell;
  const asked = await door.ask(cell.payment);
  const { setting } = settingOf(cell, asked);
  const replies = (await cell.hostile?.(asked, setting)) ?? [];
  for (const reply of replies) expect(reply.isFault ?? false, reply.text).toBe(false);
  expect(replies.some(({ accepted }) => accepted)).toBe(true);
  if (asked.id === undefined) return expect(world.paid(asked.to).length).toBeLessThanOrEqual(1);
  const type = (await settlementOf(world, asked))?.type;
  if (type === 'approve') return isPaidOnce(world, asked);
  expect(['reject', 'revise']).toContain(type);
  expect(world.paid(asked.to)).toEqual([]);
}

/** What was paid is recorded as approved, is never paid again, and where its end is unknown a person is asked. */
async function killed(cell: Cell): Promise<void> {
  if (cell.hostile) {
    const asked = await cell.door.ask(cell.payment);
    const { setting } = settingOf(cell, asked);
    for (const reply of await cell.hostile(asked, setting)) expect(reply.isFault ?? false, reply.text).toBe(false);
    return isPaidOnce(cell.world, asked);
  }
  const { world, door } = await cell.mortal();
  const asked = await door.ask(cell.payment);
  cell.sent();
  // The answer may be lost with the process.
  await door.decide(asked).catch(() => undefined);
  await world.takeOver();
  await isPaidOnce(world, asked);
  await expect
    .poll(async () => (await world.ai.runs.requests({ runId: asked.runId })).items.map(({ kind }) => kind))
    .toEqual(['doubt']);
  await isPaidOnce(world, asked);
}

function settingOf(cell: Cell, asked: Asked): { readonly setting: Setting<Asked>; readonly others: readonly Asked[] } {
  const { world, door, payment, sent } = cell;
  const others: Asked[] = [];
  const other = async () => {
    const one = await door.ask({ ...payment, to: `${payment.to}-other-${others.length}` });
    others.push(one);
    return one;
  };
  const change = async () => {
    const edit = { to: asked.to, amount: 4_000 };
    await world.ai.runs.decide(asked.id ?? '', { type: 'approve', edit }, { by: 'cleo' });
  };
  return { setting: { other, change, sent }, others };
}

function refusesAll(replies: readonly Reply[] = []): void {
  for (const { accepted, isFault = false, text } of replies)
    expect({ accepted, isFault }, text).toEqual({ accepted: false, isFault: false });
}

async function isUntouched(world: World, { id, to }: Asked): Promise<void> {
  expect(world.paid(to)).toEqual([]);
  if (id === undefined) return;
  const { settlement, progress } = await world.ai.runs.request(id);
  expect({ settlement, votes: progress?.votes ?? [] }).toEqual({ settlement: null, votes: [] });
}

async function isPaidOnce(world: World, asked: Asked): Promise<void> {
  const { to, amount } = asked;
  await expect.poll(() => world.paid(to)).toEqual([{ to, amount }]);
  if (asked.id !== undefined) expect(await settlementOf(world, asked)).toMatchObject({ type: 'approve', by: 'ann' });
}

/** Undefined where nothing is on record. */
async function settlementOf({ ai }: World, { id }: Asked) {
  if (id === undefined) return undefined;
  const { settlement } = await ai.runs.request(id);
  if (!settlement) return undefined;
  const { decision, by, at } = settlement;
  return { type: (decision as { readonly type: string }).type, by, at };
}
