// Clients of a fleet: orders are started, followed and decided through random servers, however often one is away.
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type Client, createClient, type Decision } from '@countersign/server/client';
import type { Random } from '../../../countersign/test/random.ts';
import { readLines } from './ledger.ts';
import type { Member } from './members.ts';
import { chatStreamEnd, followRun, type Seen } from './streams.ts';

/**
 * How an order goes. `contested`: one person approves and another rejects at the same moment. `expiring`: its deadline approves.
 * `held`: nobody decides before `release`.
 */
const KINDS = ['plain', 'plain', 'rejected', 'contested', 'expiring', 'expiring', 'chat'] as const;
export type Kind = (typeof KINDS)[number] | 'held';

export const kindOf = (order: string): Kind => order.split('-')[0] as Kind;

/** A decision that a server confirmed. */
export type Acknowledged = { readonly requestId: string; readonly by: string; readonly type: Decision['type'] };

/** What the clients saw of one order. */
export type Order = {
  readonly id: string;
  readonly seen: readonly Seen[];
  readonly acknowledged: readonly Acknowledged[];
  /** When the stream of the chat ended on a server that did not drive it; only of some chats. */
  readonly chatEndedAt: number | undefined;
  readonly problem: string | undefined;
};

export type TrafficOptions = {
  readonly servers: readonly Member[];
  readonly ledger: string;
  readonly tokens: { readonly ann: string; readonly bob: string };
  readonly random: Random;
};

/** An order that is not finished after this time is a problem. */
const ORDER_MS = 60_000;
/** The same for an order that waits for the whole deploy. */
const HELD_MS = 300_000;

export class Traffic {
  readonly #options: TrafficOptions;
  readonly #released = Promise.withResolvers<void>();
  #started = 0;
  readonly orders: Promise<Order>[] = [];

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /** Lets people decide the orders of the kind `held`. */
  release(): void {
    this.#released.resolve();
  }

  /** Takes order after order, so many at once, until the signal fires. */
  async keep(atOnce: number, stop: AbortSignal): Promise<void> {
    const lane = async () => {
      while (!stop.aborted) await this.begin(this.#options.random.pick(KINDS));
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
  }

  begin(kind: Kind): Promise<Order> {
    const order = this.#handle(`${kind}-${++this.#started}`);
    this.orders.push(order);
    return order;
  }

  async #handle(id: string): Promise<Order> {
    const seen: Seen[] = [];
    const acknowledged: Acknowledged[] = [];
    const patience = AbortSignal.timeout(kindOf(id) === 'held' ? HELD_MS : ORDER_MS);
    let chatEnd: Promise<number | undefined> | undefined;
    try {
      const starter = await this.#start(id);
      // Streams are never on the server that drives the run: neither the one that started it, nor the one that decides.
      let watched: Member | undefined;
      const other = () => {
        watched = this.#server(starter);
        return watched;
      };
      for await (const event of followRun(id, this.#options.tokens.ann, other, patience)) {
        const isFirst = seen.length === 0;
        seen.push(event);
        const watcher = isFirst && kindOf(id) === 'chat' ? other() : undefined;
        if (watcher) chatEnd = chatStreamEnd(watcher, id, this.#options.tokens.ann, patience);
        if (event.type === 'call-interrupted') acknowledged.push(...(await this.#decide(id, watched)));
      }
      const problem = patience.aborted ? `${id} did not end; its last event is ${seen.at(-1)?.type}` : undefined;
      return { id, seen, acknowledged, chatEndedAt: await chatEnd, problem };
    } catch (error) {
      return { id, seen, acknowledged, chatEndedAt: undefined, problem: `${id}: ${error}` };
    }
  }

  /** Returns the server that started it. */
  async #start(id: string): Promise<Member> {
    return this.#insist(async (member, client) => {
      if (kindOf(id) === 'chat') await this.#post(member, id);
      else await client.runs.start({ agent: 'clerk', prompt: id, runId: id }, { idempotencyKey: `start-${id}` });
      return member;
    });
  }

  /** Sends the message of a chat. Its response is read by nobody: the browser went away. */
  async #post({ url }: Member, id: string): Promise<void> {
    const message = { id: 'message-1', role: 'user', parts: [{ type: 'text', text: id }] };
    const response = await fetch(`${url}/api/v1/chat/clerk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#options.tokens.ann}`, 'content-type': 'application/json' },
      body: JSON.stringify({ id, messages: [message] }),
    });
    void response.body?.pipeTo(new WritableStream()).catch(() => undefined);
    if (!response.ok) throw new ApiError(response.status, 'chat', `The chat responded with ${response.status}.`);
  }

  async #decide(id: string, watched: Member | undefined): Promise<readonly Acknowledged[]> {
    const { ann, bob } = this.#options.tokens;
    const kind = kindOf(id);
    const { requests } = await this.#insist((_, client) => client.runs.get(id));
    const card = requests.find(({ status }) => status === 'pending');
    if (card === undefined) return [];
    const ask = async (by: 'ann' | 'bob', decision: Decision): Promise<readonly Acknowledged[]> => {
      const token = by === 'ann' ? ann : bob;
      const decided = await this.#insist(
        (_, client) =>
          client.requests
            .decide(card.id, { decision, digest: card.digest }, { idempotencyKey: `${by}-${card.id}` })
            .catch((error: unknown) => {
              if (error instanceof ApiError && error.code === 'already-decided') return undefined;
              throw error;
            }),
        { token, ...(watched && { not: watched }) },
      );
      return decided ? [{ requestId: card.id, by, type: decision.type }] : [];
    };
    if (card.kind === 'doubt') return ask('ann', this.#truth(id, card.tool));
    if (kind === 'expiring') return [];
    if (kind === 'held') await this.#released.promise;
    if (kind === 'contested')
      return (await Promise.all([ask('ann', { type: 'approve' }), ask('bob', { type: 'reject' })])).flat();
    return ask('ann', { type: kind === 'rejected' ? 'reject' : 'approve' });
  }

  /** Settles a doubt as a person does who looks at what happened. The process that was running the call is dead by then. */
  #truth(id: string, tool: string): Decision {
    const lines = readLines(this.#options.ledger);
    const happened = lines.some((line) => line.what === 'effect' && line.order === id && line.tool === tool);
    return happened ? { type: 'respond', output: { order: id, tool } } : { type: 'approve' };
  }

  #server(not?: Member): Member | undefined {
    const up = this.#options.servers.filter((server) => server.isUp && server !== not);
    return up.length === 0 ? undefined : this.#options.random.pick(up);
  }

  /** Asks random servers until one answers. */
  async #insist<T>(
    ask: (member: Member, client: Client) => Promise<T>,
    { token = this.#options.tokens.ann, not }: { readonly token?: string; readonly not?: Member } = {},
  ): Promise<T> {
    const until = performance.now() + ORDER_MS / 2;
    for (;;) {
      const member = this.#server(not);
      try {
        if (member) return await ask(member, createClient(member.url, { token }));
      } catch (error) {
        const isFinal = error instanceof ApiError && error.status > 0 && error.status !== 503 && error.status !== 409;
        if (isFinal || performance.now() > until) throw error;
      }
      if (performance.now() > until) throw new Error('No server answered.');
      await delay(50);
    }
  }
}
