// A process that starts runs with one payment each, all at the same moment, and reports how they ended.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Json, Rule } from '../../src/index.ts';
import { openStore, type Place } from '../crash/bank.ts';
import { openPayer } from './kit.ts';

/** With `rules`, no payment asks for itself. Each payment is a line of the file `paid`. */
export type RaceOptions = {
  readonly place: Place;
  readonly paid?: string;
  readonly rules?: readonly Rule[];
  readonly leaseMs?: number;
};
export type Race = { readonly at: number; readonly runs: number; readonly amount: number };
/** How many payments were made here, and how many runs wait for a person. */
export type Raced = { readonly paid: number; readonly waiting: number };

const options: RaceOptions = JSON.parse(process.argv[2] ?? '{}');
const { place, rules, paid: file, leaseMs } = options;
const act = async (_name: string, key: string, output: Json): Promise<Json> => {
  if (file) appendFileSync(file, `${key}\n`);
  return output;
};
const open = rules ? { act, rules, ...(leaseMs && { leaseMs }) } : {};
const { ai, start, paid } = openPayer(openStore(place), rules ? { needsApproval: false } : {}, open);
await ai.runs.list({ limit: 1 });
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const { at, runs, amount }: Race = JSON.parse(line);
  await delay(Math.max(0, at - Date.now()));
  const ended = await Promise.all(Array.from({ length: runs }, () => start([{ to: 'ACME', amount }])));
  const raced: Raced = { paid: paid.length, waiting: ended.filter(({ status }) => status === 'waiting').length };
  process.stdout.write(`${JSON.stringify(raced)}\n`);
}
// Its parent is gone.
process.exit();
