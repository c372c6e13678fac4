// What the attacks look at: the house, the payments that were made outside, and the record. Every world has its own store.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToken, type NewToken } from '@countersign/server';
import type { Countersign, DecisionInput, RunRequest } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { expect } from 'vitest';
import { openPostOffice, type PostOffice } from '../channels/mail/post-office.ts';
import { type LocalSlack, openSlack } from '../channels/slack/local-slack.ts';
import { defineHouse, openHouse, type Payment } from './house.ts';

export type Decision = 'approve' | 'reject' | 'revise';

/** The decision as the API takes it. */
export const said = (type: Decision) => (type === 'revise' ? { type, comment: 'Only half.' } : { type });

export type World = {
  /** The server. */
  readonly url: string;
  /** The routes of an app. */
  readonly appUrl: string;
  /** On the store of the house: reads the record and starts runs. */
  readonly ai: Countersign;
  readonly file: string;
  readonly ledger: string;
  readonly slack: LocalSlack;
  readonly office: PostOffice;
  path(name: string): string;
  /** The payments that were made to this payee. */
  paid(to: string): readonly Payment[];
  tokenFor(person: string, options?: Partial<NewToken>): Promise<string>;
  /** Starts a run of carl that asks for this payment, and waits until it does. */
  start(payment: Payment): Promise<RunRequest>;
  /** The pending request for this payee, once there is one. */
  request(to: string): Promise<RunRequest>;
  /** All pending requests for this payee. */
  requests(to: string): Promise<readonly RunRequest[]>;
  /** Ann decides a request on the record, for doors through which a program asks. */
  decide(id: string, decision: Decision): Promise<void>;
  /** A program outside makes a payment. */
  pay(payment: Payment): void;
  /** The same house in another process, on a store of its own. The process dies of its first payment. */
  mortal(): Promise<Mortal>;
};

export type Mortal = World & {
  /** Ends the process, or waits for its end, and starts a worker on the store. */
  takeOver(signal?: 'SIGKILL'): Promise<void>;
};

/** Another process takes over after this time. */
const LEASE_MS = 2_000;

export type OwnWorld = World & { close(): Promise<void> };

export async function openWorld(): Promise<OwnWorld> {
  const closing: (() => unknown)[] = [];
  const onEnd = (close: () => unknown) => void closing.unshift(close);
  const folder = mkdtempSync(join(tmpdir(), 'countersign-doors-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
  const [slack, office] = [await openSlack(onEnd), await openPostOffice({}, {}, onEnd)];
  const plan = { ledger: join(folder, 'ledger'), slackApi: `${slack.base}/api` };
  const file = join(folder, 'runs.sqlite');
  const house = await openHouse({ ...plan, file });
  onEnd(() => house.close());

  const worldOn = (place: {
    readonly url: string;
    readonly appUrl: string;
    readonly ai: Countersign;
    readonly file: string;
  }) => {
    const { ai } = place;
    const requests = async (to: string) =>
      (await ai.runs.requests({ limit: 200 })).items.filter((card) => payeeOf(card) === to);
    const request = async (to: string): Promise<RunRequest> => {
      let found: readonly RunRequest[] = [];
      await expect
        .poll(async () => {
          found = await requests(to);
          return found.length;
        })
        .toBeGreaterThan(0);
      return found[0] as RunRequest;
    };
    return {
      ...place,
      ledger: plan.ledger,
      slack,
      office,
      path: (name: string) => join(folder, name),
      paid: (to: string) => paymentsIn(plan.ledger).filter((payment) => payment.to === to),
      tokenFor: async (person: string, options: Partial<NewToken> = {}) =>
        (await createToken(ai.runs.notes, { person, ...options })).token,
      start: async (payment: Payment) => {
        const run = await ai.agents.get('teller')?.start(`pay ${JSON.stringify(payment)}`, { by: 'carl' });
        const [id = ''] = (await ai.runs.wait(run?.id ?? '')).pending;
        return ai.runs.request(id);
      },
      request,
      requests,
      // She may decide everything, also what a program asked.
      decide: async (id: string, decision: Decision) =>
        void (await ai.runs.decide(id, said(decision) as DecisionInput, { by: 'ann', roles: ['server:everything'] })),
      pay: (payment: Payment) => appendFileSync(plan.ledger, `${JSON.stringify(payment)}\n`),
      mortal,
    };
  };

  let mortals = 0;
  async function mortal(): Promise<Mortal> {
    const own = join(folder, `mortal-${++mortals}.sqlite`);
    const child = spawn(
      process.execPath,
      [
        join(import.meta.dirname, 'house-child.ts'),
        JSON.stringify({ ...plan, file: own, isLethal: true, leaseMs: LEASE_MS }),
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    const ended = once(child, 'close');
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const store = sqliteStore(own);
    const ai = defineHouse({ store, leaseMs: LEASE_MS }, () => undefined);
    onEnd(async () => {
      child.kill('SIGKILL');
      await ended;
      await ai.runs.settled();
      await store.close();
    });
    const takeOver = async (signal?: 'SIGKILL') => {
      if (signal) child.kill(signal);
      await ended;
      const worker = ai.runs.work({ pollMs: 100 });
      onEnd(() => worker.stop());
    };
    return {
      ...worldOn({ ...(JSON.parse(line.toString()) as { url: string; appUrl: string }), ai, file: own }),
      takeOver,
    };
  }

  return {
    ...worldOn({ ...house, file }),
    close: async () => {
      for (const close of closing) await close();
    },
  };
}

const payeeOf = ({ input }: RunRequest): unknown => (input as { readonly to?: unknown } | null)?.to;

function paymentsIn(ledger: string): readonly Payment[] {
  if (!existsSync(ledger)) return [];
  return readFileSync(ledger, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Payment);
}
