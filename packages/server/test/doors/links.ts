// Decision links: a page without JavaScript, whose form is sent, confirmed and then recorded.
import { expect } from 'vitest';
import { Access } from '../../src/access.ts';
import { decisionLinks } from '../../src/links/decision-links.ts';
import { createLinkTokens } from '../../src/links/token.ts';
import { digestIn, open as visit } from '../links/linked-request.ts';
import {
  type Asked,
  type Decision,
  type Door,
  each,
  HIDDEN,
  notApplicable,
  OVERSIZED,
  type Reply,
  replyOf,
  together,
  WITH_THE_HOUSE,
} from './door.ts';
import type { World } from './world.ts';

const HIDDEN_LINE = '<span class="problem">This value has hidden characters: ';

type AskedLink = Asked & { readonly id: string; readonly digest: string; readonly link: string };

/** `linkOf` says how the link to a request reaches ann. */
export const linkDoor = (
  name: string,
  linkOf: (world: World, id: string, link: string) => Promise<string>,
): Door<AskedLink> => ({
  name,
  open: async (world) => {
    const { ai, url } = world;
    const links = decisionLinks({ ai, access: new Access(ai, { mayRead: () => true }, () => undefined) } as never, {
      publicUrl: url,
    });
    const send = async (link: string, form: string | URLSearchParams): Promise<Reply> =>
      replyOf(
        await fetch(link, {
          method: 'POST',
          body: form,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        }),
        (text) => /<h1>(Approved|Rejected|Changes asked for)<\/h1>|vote is recorded/.test(text),
      );
    const formOf = ({ digest }: { digest: string }, decision: string = 'approve', confirmed = 'yes') =>
      new URLSearchParams({ digest, decision, confirmed, ...(decision === 'revise' && { reason: 'Only half.' }) });
    const decide = (asked: AskedLink, decision: Decision = 'approve') => send(asked.link, formOf(asked, decision));
    const signed = async ({ id: requestId, digest }: AskedLink, changes: object) => {
      const whole = { requestId, person: 'ann', digest, expiresAt: Date.now() + 60_000, channel: 'mail', ...changes };
      return `${url}/decide/${await createLinkTokens(ai.runs.notes).sign(whole)}`;
    };
    const tokenOf = (link: string) => link.split('/').at(-1) ?? '';
    return {
      ask: async (payment) => {
        const card = await world.start(payment);
        const made = await links.make(card, { person: 'ann', contact: {} }, 'mail');
        const link = await linkOf(world, card.id, String(made));
        return { ...payment, id: card.id, runId: card.runId, digest: digestIn(await visit(link)), link };
      },
      decide,
      // The field for an edit has to hold the exact value, or sending the form would change it. The person reads it above, and
      // in the line before the field, with codes in place of the hidden characters.
      shown: async ({ link, to }) => {
        const { body } = await visit(link);
        const field = `${HIDDEN_LINE}<bdi>${to.replace(HIDDEN, '&lt;U+202E&gt;&lt;U+200B&gt;')}</bdi></span>
<input type="text" name="f0" value="${to}" dir="auto" autocomplete="off">`;
        expect(body).toContain(field);
        return body.replace(field, '');
      },
      hostile: {
        forged: (asked, { sent }) => {
          const [payload = '', signature = ''] = tokenOf(asked.link).split('.');
          const altered = Buffer.from(payload, 'base64url').toString().replace('"ann"', '"cleo"');
          const tokens = [
            `${Buffer.from(altered).toString('base64url')}.${signature}`,
            `${payload}.${'A'.repeat(43)}`,
            `${payload}.`,
            payload,
          ];
          return each(tokens, sent, (token) => send(`${url}/decide/${token}`, formOf(asked)));
        },
        replayed: (asked, { sent }) => each([1, 2], sent, () => decide(asked)),
        outdated: async (asked, { change, sent }) => {
          await change();
          return each([asked], sent, (one) => decide(one));
        },
        "other person's": notApplicable(
          'a link is itself the credential, and decides as the person it was sent to; `links.requireSignIn` also asks who holds it',
        ),
        "other run's": async (asked, { other, sent }) => {
          const foreign = await other();
          return each([asked, foreign], sent, (one) => send(one.link, formOf(one === asked ? foreign : asked)));
        },
        'without rights': async (asked, { sent }) =>
          each([await signed(asked, { person: 'bob' }), await signed(asked, { person: 'eve' })], sent, (link) =>
            send(link, formOf(asked)),
          ),
        oversized: (asked, { sent }) =>
          each([asked], sent, (one) => send(one.link, `${formOf(one)}&reason=${'x'.repeat(OVERSIZED)}`)),
        malformed: (asked, { sent }) =>
          each(
            ['', '&&&', 'decision', '%', 'decision=%E0%A4%A', `digest=${asked.digest}`, `${formOf(asked, 'restart')}`],
            sent,
            (form) => send(asked.link, form),
          ),
        'duplicate keys': (asked, { sent }) =>
          each(
            [
              `${formOf(asked, 'reject')}&decision=approve`,
              `${formOf(asked, 'approve')}&decision=reject`,
              `digest=${asked.digest}&Decision=approve&confirmed=yes`,
              `digest=${asked.digest}&decision[]=approve&confirmed=yes`,
            ],
            sent,
            (form) => send(asked.link, form),
          ),
        'hidden characters': async (asked, { sent }) => [
          ...(await each([`approve${HIDDEN}`, `${HIDDEN}approve`], sent, (word) =>
            send(asked.link, formOf(asked, word)),
          )),
          ...(await each([encodeURIComponent(HIDDEN)], sent, (hidden) =>
            send(`${asked.link}${hidden}`, formOf(asked)),
          )),
        ],
        'wrong digest': async (asked, { sent }) => {
          const zero = '0'.repeat(64);
          const wrong = await signed(asked, { digest: zero });
          return each(
            [
              [asked.link, zero],
              [asked.link, ''],
              [wrong, zero],
              [wrong, asked.digest],
            ] as const,
            sent,
            ([link, digest]) => send(link, formOf({ digest })),
          );
        },
        'after the end': (asked, { sent }) => each([asked], sent, (one) => decide(one)),
        'two at once': (asked, { sent }) =>
          together(['approve', 'reject', 'revise', 'approve', 'reject', 'revise'] as const, sent, (decision) =>
            decide(asked, decision),
          ),
        killed: WITH_THE_HOUSE,
      },
    };
  },
});

export const links = linkDoor('links', async (_world, _id, link) => link);
