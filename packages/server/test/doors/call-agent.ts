// A coding agent that asks before each call, over the hook or the permission tool: what both doors share.
import { expect } from 'vitest';
import { replaced } from './conversation.ts';
import {
  type Asked,
  type Decision,
  each,
  HIDDEN,
  type NotApplicable,
  notApplicable,
  type OpenDoor,
  OVERSIZED,
  type Reply,
  together,
} from './door.ts';
import type { Payment } from './house.ts';
import type { World } from './world.ts';

export type AskedAgent = Asked & { readonly id: string; readonly callId: string };

type Agent = {
  /** The message by which the agent asks for this call. */
  bodyOf(call: Payment & { readonly callId: string; readonly tool?: string }): string;
  /** Sends it; `input` is what the agent was allowed to run. */
  send(body: string): Promise<Reply & { readonly input?: Payment }>;
  /** Messages that the agent cannot have meant. */
  readonly malformed: readonly string[];
  /** Sends a message that is too large. */
  oversized(body: string): Promise<Reply>;
  readonly forged: ((asked: AskedAgent) => readonly string[]) | NotApplicable;
  /** Asks in a process of its own, which is killed while it waits for ann. */
  killed(body: string, isWaiting: () => Promise<unknown>): Promise<void>;
};

/** The agent runs what it is allowed to, each time that it is. */
export function agentDoor(world: World, agent: Agent): OpenDoor<AskedAgent> {
  const run = async (body: string): Promise<Reply> => {
    const { input, ...reply } = await agent.send(body);
    if (reply.accepted && input) world.pay(input);
    return reply;
  };
  const again = (asked: AskedAgent) => run(agent.bodyOf(asked));
  const { forged } = agent;
  /** Ambiguous messages are refused, not asked about: what ann would see may not be what runs. */
  const strictly = async (to: string, body: string): Promise<Reply> => {
    const reply = await run(body);
    return (await world.requests(to)).length > 1 || reply.text.includes('waits for a person')
      ? { accepted: true, text: 'A person was asked about an ambiguous call.' }
      : reply;
  };
  return {
    ask: async (payment) => {
      const callId = `toolu_${crypto.randomUUID()}`;
      await run(agent.bodyOf({ ...payment, callId }));
      const { id, runId } = await world.request(payment.to);
      return { ...payment, id, runId, callId };
    },
    decide: async (asked, decision: Decision = 'approve') => {
      await world.decide(asked.id, decision);
      return again(asked);
    },
    hostile: {
      forged: typeof forged === 'function' ? (asked, { sent }) => each(forged(asked), sent, run) : forged,
      replayed: (asked, { sent }) => each([1, 2], sent, () => again(asked)),
      outdated: (asked, { sent }) => each([{ ...asked, amount: 7_000 }], sent, again),
      "other person's": notApplicable(
        'the agent runs as one person on their machine; who may open the store is a right of the file',
      ),
      "other run's": async (asked, { other, sent }) => {
        const { callId } = await other();
        return each([{ ...asked, callId }], sent, again);
      },
      'without rights': notApplicable('the agent asks and never decides; ann decides through another door'),
      oversized: (asked, { sent }) =>
        each([{ ...asked, to: 'x'.repeat(OVERSIZED) }], sent, async (large) => {
          const reply = await agent.oversized(agent.bodyOf(large));
          return (await world.requests(large.to)).length > 0
            ? { accepted: true, text: 'A person was asked about 12 MB.' }
            : reply;
        }),
      malformed: (_asked, { sent }) => each(agent.malformed, sent, run),
      'duplicate keys': (asked, { sent }) => {
        const body = agent.bodyOf({ ...asked, callId: `${asked.callId}-2` });
        const bodies = [
          replaced(body, '"amount":', '"amount":1,"amount":'),
          replaced(body, '"tool_name":', '"tool_name":"Read","tool_name":'),
          replaced(body, '"amount":', '"Amount":1,"amount":'),
        ];
        return each(bodies, sent, (one) => strictly(asked.to, one));
      },
      'hidden characters': (asked, { sent }) =>
        each([`Pay${HIDDEN}`, `${HIDDEN}Pay`], sent, (tool) => run(agent.bodyOf({ ...asked, tool }))),
      'wrong digest': notApplicable(
        'the agent sends no decision; ann decides through another door, on the digest of the card',
      ),
      'after the end': (asked, { sent }) => each([asked], sent, again),
      'two at once': async (asked, { sent }) => {
        await world.decide(asked.id, 'approve');
        return together([1, 2, 3, 4], sent, () => again(asked));
      },
      killed: async (asked, { sent }) => {
        sent();
        const second = { ...asked, to: `${asked.to}-killed`, callId: `toolu_${crypto.randomUUID()}` };
        await agent.killed(agent.bodyOf(second), () => world.request(second.to));
        await world.decide((await world.request(second.to)).id, 'approve');
        const replies = await each([1, 2], sent, () => again(second));
        // A process that starts again may be another conversation, in which the call is asked again.
        expect(world.paid(second.to).length).toBeLessThanOrEqual(1);
        await world.decide(asked.id, 'approve');
        return [...replies, await again(asked)];
      },
    },
  };
}
