// AG-UI: ann joins the thread of the run and answers its interrupt.

import { replaced } from './conversation.ts';
import {
  type Asked,
  type Decision,
  type Door,
  each,
  HIDDEN,
  MALFORMED,
  OVERSIZED,
  type Reply,
  replyOf,
  together,
  WITH_THE_HOUSE,
} from './door.ts';

type AskedAgui = Asked & { readonly id: string; readonly digest: string };

export const agui: Door<AskedAgui> = {
  name: 'AG-UI',
  open: async (world) => {
    const ann = await world.tokenFor('ann');
    const post = async (body: string, token = ann): Promise<Reply> =>
      replyOf(
        await fetch(`${world.url}/agui/teller`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            accept: 'text/event-stream',
          },
          body,
        }),
        // A refused answer is told by a custom event.
        (text) => text.includes('"outcome":{"type":"success"}') && !text.includes('"type":"CUSTOM"'),
      );
    const bodyOf = ({ runId, id, digest }: AskedAgui, decision: Decision = 'approve', entry: object = {}) =>
      JSON.stringify({
        threadId: runId,
        runId: crypto.randomUUID(),
        messages: [],
        tools: [],
        context: [],
        resume: [
          {
            interruptId: `${id}@${digest}`,
            status: 'resolved',
            payload: { approved: decision === 'approve' },
            ...entry,
          },
        ],
      });
    const decide = (asked: AskedAgui, decision?: Decision) => post(bodyOf(asked, decision));
    return {
      ask: async (payment) => {
        const { id, runId, digest } = await world.start(payment);
        return { ...payment, id, runId, digest };
      },
      decide: async (asked, decision) => {
        // Its protocol has no way to ask for changes.
        if (decision === 'revise') await world.decide(asked.id, decision);
        return decide(asked, decision);
      },
      hostile: {
        forged: (asked, { sent }) => each(['', 'none', `${ann}x`], sent, (token) => post(bodyOf(asked), token)),
        replayed: (asked, { sent }) => each([1, 2], sent, () => decide(asked)),
        outdated: async (asked, { change, sent }) => {
          await change();
          return each([asked], sent, (one) => decide(one));
        },
        "other person's": async (asked, { sent }) =>
          each([await world.tokenFor('eve')], sent, (token) => post(bodyOf(asked), token)),
        "other run's": async (asked, { other, sent }) => {
          const foreign = await other();
          const bodies = [
            bodyOf({ ...asked, runId: foreign.runId }),
            bodyOf({ ...foreign, runId: asked.runId }),
            bodyOf({ ...asked, digest: foreign.digest }),
          ];
          return each(bodies, sent, (body) => post(body));
        },
        'without rights': async (asked, { sent }) => {
          const tokens = [
            await world.tokenFor('bob', { reach: 'all' }),
            await world.tokenFor('ann', { scopes: ['read'] }),
          ];
          return each(tokens, sent, (token) => post(bodyOf(asked), token));
        },
        oversized: (asked, { sent }) =>
          each([asked], sent, (one) => post(bodyOf(one, 'approve', { note: 'x'.repeat(OVERSIZED) }))),
        malformed: (asked, { sent }) =>
          each(
            [
              ...MALFORMED,
              bodyOf(asked, 'approve', { payload: true }),
              bodyOf(asked, 'approve', { status: 'approved' }),
            ],
            sent,
            (body) => post(body),
          ),
        'duplicate keys': (asked, { sent }) => {
          const body = bodyOf(asked);
          const bodies = [
            replaced(body, '"approved":true', '"approved":false,"approved":true'),
            replaced(body, '"payload":', '"payload":{"approved":false},"payload":'),
            replaced(body, '"approved":true', '"Approved":true'),
            replaced(body, '"resume":', '"Resume":'),
          ];
          return each(bodies, sent, (one) => post(one));
        },
        'hidden characters': (asked, { sent }) =>
          each([`${asked.id}${HIDDEN}@${asked.digest}`, `${asked.id}@${asked.digest}${HIDDEN}`], sent, (interruptId) =>
            post(bodyOf(asked, 'approve', { interruptId })),
          ),
        'wrong digest': (asked, { sent }) =>
          each(['0'.repeat(64), '', asked.digest.toUpperCase()], sent, (digest) => post(bodyOf({ ...asked, digest }))),
        'after the end': (asked, { sent }) => each([asked], sent, (one) => decide(one)),
        'two at once': (asked, { sent }) =>
          together(['approve', 'reject', 'approve', 'reject'] as const, sent, (decision) => decide(asked, decision)),
        killed: WITH_THE_HOUSE,
      },
    };
  },
};
