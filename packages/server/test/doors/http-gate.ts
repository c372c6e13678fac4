// The gate over HTTP: a program asks with a key, ann decides, and the program starts the call, makes the payment and reports.
import { expect } from 'vitest';
import { replaced } from './conversation.ts';
import {
  type Asked,
  type Decision,
  type Door,
  each,
  HIDDEN,
  MALFORMED,
  notApplicable,
  OVERSIZED,
  type Reply,
  replyOf,
  together,
} from './door.ts';

type AskedCall = Asked & { readonly id: string; readonly key: string; readonly token: string };

export const httpGate: Door<AskedCall> = {
  name: 'HTTP gate',
  open: async (world) => {
    const ci = await world.tokenFor('ci', { scopes: ['start'] });
    const call = (path: string, body: string, token = ci) =>
      fetch(`${world.url}/api/v1/gate${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
      });
    const bodyOf = ({ to, amount, key }: { to: string; amount: number; key: string }) =>
      JSON.stringify({ tool: 'pay', input: { to, amount }, key });
    /** Asks again: only an answer that lets the program act counts as accepted. */
    const ask = async (body: string, token?: string) =>
      replyOf(await call('', body, token), (text) => /"status":"approved"/.test(text));
    /** Starts the call, and pays if that was granted. */
    const start = async ({ runId, token }: Pick<AskedCall, 'runId' | 'token'>, credential?: string): Promise<Reply> => {
      const response = await call(`/${runId}/started`, JSON.stringify({ token, lease: 1 }), credential);
      const granted = response.clone();
      const reply = await replyOf(response);
      if (reply.accepted) world.pay(((await granted.json()) as { input: { to: string; amount: number } }).input);
      return reply;
    };
    const finish = async ({ runId, token }: Pick<AskedCall, 'runId' | 'token'>, credential?: string) =>
      replyOf(await call(`/${runId}/result`, JSON.stringify({ token, output: 'paid' }), credential));
    return {
      ask: async (payment) => {
        const key = `key-${crypto.randomUUID()}`;
        const { id, runId } = (await (await call('', bodyOf({ ...payment, key }))).json()) as {
          id: string;
          runId: string;
        };
        return { ...payment, id, runId, key, token: crypto.randomUUID() };
      },
      decide: async (asked, decision: Decision = 'approve') => {
        await world.decide(asked.id, decision);
        const started = await start(asked);
        await finish(asked);
        return started;
      },
      hostile: {
        forged: async (asked, { sent }) => [
          ...(await each(['', 'none', `${ci}x`], sent, (token) => start(asked, token))),
          // A result of a call that was never started.
          ...(await each(['guessed-token', asked.token], sent, (token) => finish({ ...asked, token }))),
        ],
        replayed: async (asked, { sent }) => [
          ...(await each([asked.token, 'another-token'], sent, (token) => start({ ...asked, token }))),
          ...(await each([bodyOf(asked)], sent, (body) => ask(body))),
          ...(await each([asked], sent, (one) => finish(one))),
        ],
        outdated: (asked, { sent }) => each([{ ...asked, amount: 7_000 }], sent, (other) => ask(bodyOf(other))),
        "other person's": async (asked, { sent }) => {
          const eve = await world.tokenFor('eve');
          return each([start, finish], sent, (send) => send(asked, eve));
        },
        "other run's": async (asked, { other, sent }) => {
          const foreign = await other();
          return [
            // A key that looks like the id of another call is a key.
            ...(await each([bodyOf({ ...asked, key: foreign.runId, to: `${asked.to}-third` })], sent, (body) =>
              ask(body),
            )),
            ...(await each([foreign.key, asked.key], sent, (key) => start({ ...asked, runId: key }))),
            ...(await each([foreign.token], sent, (token) => finish({ ...asked, token }))),
          ];
        },
        'without rights': async (asked, { sent }) => {
          const tokens = [await world.tokenFor('ci', { scopes: ['read', 'decide'] }), await world.tokenFor('ann')];
          return each(tokens, sent, (token) => start(asked, token));
        },
        oversized: (asked, { sent }) =>
          each([{ ...asked, to: 'x'.repeat(OVERSIZED) }], sent, (large) => ask(bodyOf(large))),
        malformed: async (asked, { sent }) => [
          ...(await each(MALFORMED, sent, (body) => ask(body))),
          ...(await each(MALFORMED.slice(1), sent, async (body) =>
            replyOf(await call(`/${asked.runId}/started`, body)),
          )),
        ],
        'duplicate keys': (asked, { sent }) => {
          const body = bodyOf(asked);
          const bodies = [
            replaced(body, '"amount":', '"amount":1,"amount":'),
            replaced(body, '"input":', '"input":{},"input":'),
            replaced(body, '"input":', '"Input":{"amount":1},"input":'),
          ];
          return each(bodies, sent, async (one) => replyOf(await call('', one)));
        },
        'hidden characters': (asked, { sent }) =>
          each([`${asked.runId}${encodeURIComponent(HIDDEN)}`, `${asked.runId}%E2%80%8B`], sent, (runId) =>
            start({ ...asked, runId }),
          ),
        'wrong digest': notApplicable(
          'the program sends no decision; ann decides through another door, and a start is bound to the call by its token',
        ),
        'after the end': async (asked, { sent }) => [
          ...(await each([asked], sent, (one) => start(one))),
          ...(await each([asked], sent, (one) => finish(one))),
        ],
        'two at once': async (asked, { sent }) => {
          await world.decide(asked.id, 'approve');
          return together(['a', 'b', 'c', 'd'], sent, (token) => start({ ...asked, token: `${token}-${asked.token}` }));
        },
        killed: async (asked, { sent }) => {
          // The program pays and dies before it reports. Another one asks with the same key.
          await world.decide(asked.id, 'approve');
          await start(asked);
          const token = crypto.randomUUID();
          const replies = await each([bodyOf(asked)], sent, (body) => ask(body));
          await expect.poll(async () => (await world.requests(asked.to)).map(({ kind }) => kind)).toEqual(['doubt']);
          return [...replies, ...(await each([token], sent, () => start({ ...asked, token })))];
        },
      },
    };
  },
};
