// The MCP gateway before a server that reads carelessly: what both transports share. The client calls `pay`, ann decides.
import { rmSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { replaced } from './conversation.ts';
import {
  type Asked,
  type Decision,
  each,
  HIDDEN,
  type Hostile,
  MALFORMED,
  type NotApplicable,
  notApplicable,
  type OpenDoor,
  OVERSIZED,
  type Reply,
  together,
} from './door.ts';
import type { RpcAnswer } from './rpc-process.ts';
import type { World } from './world.ts';

export type AskedCall = Asked & { readonly id: string; readonly call: string; readonly first: Promise<Reply> };

export type Sending = { readonly credential?: string; readonly isHostile?: boolean };

/** The id of messages that get no answer. */
export const UNANSWERED = -1;

export type Gateway = {
  /** Sends a message as it is, and waits for its answer. */
  send(message: string, id: number, options?: Sending): Promise<RpcAnswer>;
  kill(): Promise<void>;
};

type Options = {
  start(): Promise<Gateway>;
  readonly hang: string;
  readonly otherPerson:
    | ((asked: AskedCall, send: (message: string, credential: string) => Promise<Reply>) => Promise<Reply>)
    | NotApplicable;
};

const VERSION = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}';

export async function gatewayDoor(world: World, { start, hang, otherPerson }: Options): Promise<OpenDoor<AskedCall>> {
  let gateway = await start();
  let last = 100;
  const replyOf = ({ result, error }: RpcAnswer): Reply => ({
    accepted: result !== undefined && result.isError !== true && error === undefined,
    text: result?.content?.[0]?.text ?? error?.message ?? JSON.stringify(result ?? null),
  });
  const send = async (message: string, id: number = last, options?: Sending): Promise<Reply> =>
    replyOf(await gateway.send(message, id, options));
  const callOf = ({ to, amount }: { to: string; amount: number }) =>
    `{"jsonrpc":"2.0","id":${++last},"method":"tools/call","params":{"name":"pay","arguments":{"to":${JSON.stringify(to)},"amount":${amount}}}}`;
  const again = (asked: AskedCall): Promise<Reply> => send(callOf(asked));
  /** Ambiguous messages are refused, not asked about: what ann would see may not be what runs. */
  const strictly = async (to: string, message: string, id: number = last): Promise<Reply> => {
    const reply = await send(message, id, { isHostile: true });
    return (await world.requests(to)).length > 1
      ? { accepted: true, text: 'A person was asked about an ambiguous call.' }
      : { ...reply, accepted: reply.accepted && reply.text === 'paid' };
  };
  const ending = async (asked: AskedCall): Promise<Reply> => {
    const first = await asked.first;
    return first.accepted ? first : again(asked);
  };
  const hostileOther: Hostile<AskedCall> | NotApplicable =
    typeof otherPerson === 'function'
      ? async (asked, { sent }) =>
          each([asked], sent, (one) => otherPerson(one, (message, credential) => send(message, last, { credential })))
      : otherPerson;
  return {
    ask: async (payment) => {
      const call = callOf(payment);
      const first = send(call);
      const { id, runId } = await world.request(payment.to);
      return { ...payment, id, runId, call, first };
    },
    decide: async (asked, decision: Decision = 'approve') => {
      await world.decide(asked.id, decision);
      return ending(asked);
    },
    close: () => gateway.kill(),
    hostile: {
      forged: (asked, { sent }) =>
        each(['forged', 'e30.c2lnbmF0dXJl', ''], sent, (state) =>
          send(replaced(callOf(asked), '"name":', `${VERSION},"requestState":"${state}","name":`)),
        ),
      replayed: (asked, { sent }) =>
        each([asked.call], sent, (call) => send(replaced(call, '"id":', '"again":1,"id":'), last)),
      outdated: (asked, { sent }) => each([{ ...asked, amount: 7_000 }], sent, again),
      "other person's": hostileOther,
      "other run's": async (asked, { other, sent }) => {
        const foreign = await other();
        // The state of a call is sealed; an id of a request is none.
        return each([foreign.id, asked.id], sent, (state) =>
          send(replaced(callOf(asked), '"name":', `${VERSION},"requestState":${JSON.stringify(state)},"name":`)),
        );
      },
      'without rights': notApplicable(
        'the gateway gives no rights: the credentials of the client go to the server, and ann decides through another door',
      ),
      oversized: (asked, { sent }) =>
        each(['x'.repeat(OVERSIZED)], sent, async (to) => {
          const reply = await send(callOf({ ...asked, to }), last, { isHostile: true });
          return (await world.requests(to)).length > 0
            ? { accepted: true, text: 'A person was asked about 12 MB.' }
            : reply;
        }),
      malformed: async (asked, { sent }) => {
        const call = callOf(asked);
        const noId = replaced(call, `"id":${last},`, '');
        return [
          ...(await each(MALFORMED, sent, (message) => send(message, UNANSWERED, { isHostile: true }))),
          ...(await each([noId, replaced(noId, '"jsonrpc"', '"id":null,"jsonrpc"'), `[${call}]`], sent, (message) =>
            strictly(asked.to, message, UNANSWERED),
          )),
          ...(await each([replaced(call, '"pay"', '["pay"]')], sent, (message) => strictly(asked.to, message))),
        ];
      },
      'duplicate keys': (asked, { sent }) => {
        const changes: readonly (readonly [string, string])[] = [
          ['"amount":', '"amount":1,"amount":'],
          ['"amount":', '"Amount":1,"amount":'],
          ['"name":"pay"', '"Name":"pay","name":"look"'],
          ['"arguments":', '"Arguments":{"to":"mallory","amount":1},"arguments":'],
          ['"method":"tools/call"', '"Method":"tools/call","method":"ping"'],
          ['"method":"tools/call"', '"METHOD":"tools/call"'],
          ['"method":"tools/call"', '"method":"tools/call","method":"ping"'],
          ['"params":', '"params":{"name":"look"},"params":'],
        ];
        return each(changes, sent, async ([text, by]) => {
          const reply = await strictly(asked.to, replaced(callOf(asked), text, by));
          return { ...reply, accepted: reply.accepted || world.paid('mallory').length > 0 };
        });
      },
      'hidden characters': (asked, { sent }) =>
        each([`pay${HIDDEN}`, `${HIDDEN}pay`], sent, async (name) => {
          const reply = await send(
            replaced(callOf({ ...asked, to: `${asked.to}-named` }), '"pay"', JSON.stringify(name)),
          );
          return reply;
        }),
      'wrong digest': notApplicable(
        'the client sends no decision; ann decides through another door, on the digest of the card',
      ),
      'after the end': async (asked, { sent }) => [
        ...(await each([asked], sent, (one) => one.first)),
        ...(await each([asked], sent, again)),
      ],
      'two at once': async (asked, { sent }) => {
        const twins = together([1, 2], sent, () => again(asked));
        await world.decide(asked.id, 'approve');
        return [await ending(asked), ...(await twins)];
      },
      killed: async (asked, { sent }) => {
        writeFileSync(hang, '');
        await world.decide(asked.id, 'approve');
        await expect
          .poll(() => world.paid(asked.to).length, { timeout: 10_000 })
          .toBe(1)
          .catch(async () => {
            // The client had its answer that the call waits, and calls again.
            void again(asked);
            await expect.poll(() => world.paid(asked.to).length).toBe(1);
          });
        await gateway.kill();
        rmSync(hang);
        gateway = await start();
        // A call that may have happened is never a plain new request.
        return each([asked], sent, async (one) => {
          const reply = await again(one);
          const plain = (await world.requests(one.to)).filter(({ kind }) => kind !== 'doubt');
          return { ...reply, isFault: plain.length > 0, text: `${reply.text}; asked as plain: ${plain.length}` };
        });
      },
    },
  };
}
