// The HTTP API: POST /api/v1/requests/{id}/decide with a token.
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
  said,
  together,
  WITH_THE_HOUSE,
} from './door.ts';

type AskedApi = Asked & { readonly id: string; readonly digest: string; again?: () => Promise<Reply> };

export const api: Door<AskedApi> = {
  name: 'API',
  open: async (world) => {
    const ann = await world.tokenFor('ann');
    const post = async (id: string, body: string, token = ann, headers: Record<string, string> = {}) =>
      replyOf(
        await fetch(`${world.url}/api/v1/requests/${encodeURIComponent(id)}/decide`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
          body,
        }),
      );
    const bodyOf = ({ digest }: AskedApi, type: Decision = 'approve', more: object = {}) =>
      JSON.stringify({ decision: said(type), digest, ...more });
    return {
      ask: async (payment) => {
        const { id, runId, digest } = await world.start(payment);
        return { ...payment, id, runId, digest };
      },
      decide: (asked, decision) => {
        asked.again = () => post(asked.id, bodyOf(asked, decision));
        return asked.again();
      },
      hostile: {
        forged: async (asked, { sent }) => {
          const [prefix = '', id = ''] = ann.split('_');
          const tokens = ['', 'none', `${ann}x`, ann.slice(0, -1), `${prefix}_${id}_${'A'.repeat(43)}`];
          return each(tokens, sent, (token) => post(asked.id, bodyOf(asked), token));
        },
        replayed: async ({ again }, { sent }) => each([again, again], sent, (send) => send?.() as Promise<Reply>),
        outdated: async (asked, { change, sent }) => {
          await change();
          return each([asked], sent, () => post(asked.id, bodyOf(asked)));
        },
        "other person's": async (asked, { sent }) =>
          each([await world.tokenFor('eve')], sent, (token) =>
            post(asked.id, bodyOf(asked), token, { 'x-forwarded-user': 'ann', 'x-user': 'ann' }),
          ),
        "other run's": async (asked, { other, sent }) => {
          const foreign = await other();
          return each([asked, foreign], sent, (one) =>
            post(one.id, bodyOf({ ...one, digest: one === asked ? foreign.digest : asked.digest })),
          );
        },
        'without rights': async (asked, { sent }) => {
          const tokens = [
            await world.tokenFor('bob', { reach: 'all' }),
            await world.tokenFor('ann', { scopes: ['read'] }),
          ];
          return each(tokens, sent, (token) => post(asked.id, bodyOf(asked), token));
        },
        oversized: async (asked, { sent }) =>
          each(['note', 'x'], sent, (key) =>
            post(asked.id, bodyOf(asked, 'approve', { [key]: 'x'.repeat(OVERSIZED) })),
          ),
        malformed: async (asked, { sent }) =>
          each(
            [
              ...MALFORMED,
              '{"decision":"approve"}',
              '{"decision":{"type":["approve"]}}',
              '{"decision":{"type":"revise"}}',
            ],
            sent,
            (body) => post(asked.id, body),
          ),
        'duplicate keys': async (asked, { sent }) =>
          each(
            [
              '{"decision":{"type":"reject"},"decision":{"type":"approve"}}',
              '{"decision":{"type":"reject","type":"approve"}}',
              '{"decision":{"type":"reject"},"Decision":{"type":"approve"}}',
              `{"DECISION":{"type":"approve"},"digest":"${asked.digest}"}`,
            ],
            sent,
            (body) => post(asked.id, body),
          ),
        'hidden characters': async (asked, { sent }) =>
          each([`${asked.id}${HIDDEN}`, `${HIDDEN}${asked.id}`], sent, (id) => post(id, bodyOf(asked))),
        'wrong digest': async (asked, { sent }) =>
          each(['', '0'.repeat(64), `${asked.digest}0`, asked.digest.toUpperCase()], sent, (digest) =>
            post(asked.id, bodyOf({ ...asked, digest })),
          ),
        'after the end': async (asked, { sent }) =>
          each([{ type: 'approve' }, { type: 'revise', comment: 'Less.' }], sent, (decision) =>
            post(asked.id, bodyOf(asked, 'approve', { decision })),
          ),
        'two at once': (asked, { sent }) =>
          together(['approve', 'reject', 'revise', 'approve', 'reject', 'revise'] as const, sent, (type) =>
            post(asked.id, bodyOf(asked, type)),
          ),
        killed: WITH_THE_HOUSE,
      },
    };
  },
};
