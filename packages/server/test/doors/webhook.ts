// Webhooks: the server posts a signed event to a program of the user, which verifies it and decides through the API.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { webhook as webhookChannel } from '@countersign/server';
import { Webhook } from 'standardwebhooks';
import { noticeOn } from '../channels/notice.ts';
import { NEVER } from '../channels/slack/local-slack.ts';
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
  said,
  together,
  WITH_THE_HOUSE,
} from './door.ts';

type Event = { readonly headers: Record<string, string>; readonly body: string };
type AskedEvent = Asked & { readonly id: string; readonly event: Event };

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;

export const webhook: Door<AskedEvent> = {
  name: 'webhooks',
  open: async (world) => {
    const ann = await world.tokenFor('ann');
    /** The program of the user: what the signature does not cover is not read. */
    const receive = async ({ headers, body }: Event, type: Decision = 'approve'): Promise<Reply> => {
      let event: { readonly data: { readonly requestId: string; readonly request: { readonly digest: string } } };
      try {
        event = new Webhook(SECRET).verify(body, headers) as typeof event;
      } catch (error) {
        return { accepted: false, text: String(error) };
      }
      const { requestId, request } = event.data;
      const response = await fetch(`${world.url}/api/v1/requests/${encodeURIComponent(requestId)}/decide`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ann}`, 'content-type': 'application/json' },
        body: JSON.stringify({ decision: said(type), digest: request.digest }),
      });
      return replyOf(response);
    };
    const events: Event[] = [];
    let answer = '';
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      events.push({ headers: request.headers as Record<string, string>, body });
      response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const channel = webhookChannel({ url: `http://127.0.0.1:${port}/hook`, secret: SECRET, allow: ['127.0.0.1'] });
    const deliver = async (id: string, said = ''): Promise<Event> => {
      answer = said;
      await channel.deliver(noticeOn(await world.ai.runs.request(id), 'opened'), NEVER).catch(() => undefined);
      return events.at(-1) as Event;
    };
    const answered = (asked: AskedEvent, answers: readonly string[], sent: () => void) =>
      each(answers, sent, async (said) => {
        await deliver(asked.id, said);
        return { accepted: false, text: said.slice(0, 50) };
      });
    const altered = ({ headers, body }: Event, text: string, by: string): Event => ({
      headers,
      body: body.replaceAll(text, by),
    });
    const digestOf = ({ body }: Event): string => JSON.parse(body).data.request.digest;
    return {
      ask: async (payment) => {
        const { id, runId } = await world.start(payment);
        return { ...payment, id, runId, event: await deliver(id) };
      },
      decide: ({ event }, decision) => receive(event, decision),
      close: async () => {
        server.closeAllConnections();
        server.close();
      },
      hostile: {
        forged: async ({ event, amount }, { sent }) => {
          const { 'webhook-signature': _signature, ...unsigned } = event.headers;
          const old = { ...event.headers, 'webhook-timestamp': '1700000000' };
          const wrong = { ...event.headers, 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` };
          const forged = [
            { ...event, headers: unsigned },
            { ...event, headers: old },
            { ...event, headers: wrong },
            altered(event, String(amount), '1'),
          ];
          return each(forged, sent, (one) => receive(one));
        },
        replayed: ({ event }, { sent }) => each([1, 2], sent, () => receive(event)),
        outdated: async ({ event }, { change, sent }) => {
          await change();
          return each([event], sent, (one) => receive(one));
        },
        "other person's": notApplicable(
          'an event carries no credential; the program that receives it decides with its own token: see API',
        ),
        "other run's": async ({ id, event }, { other, sent }) => {
          const foreign = await other();
          return each(
            [altered(event, id, foreign.id), altered(event, digestOf(event), digestOf(foreign.event))],
            sent,
            (one) => receive(one),
          );
        },
        'without rights': notApplicable(
          'an event gives no rights; the program that receives it has those of its token: see API',
        ),
        oversized: (asked, { sent }) => answered(asked, ['x'.repeat(OVERSIZED)], sent),
        malformed: (asked, { sent }) =>
          answered(asked, ['{', '{"decision":{"type":"approve"}}', '\u0000', '<h1>Approved</h1>'], sent),
        'duplicate keys': notApplicable(
          'the signature covers the bytes of the event, and the answer of the receiver is not read as JSON',
        ),
        'hidden characters': ({ id, event }, { sent }) =>
          each([altered(event, id, `${id}${HIDDEN}`)], sent, (one) => receive(one)),
        'wrong digest': ({ event }, { sent }) =>
          each([altered(event, digestOf(event), '0'.repeat(64))], sent, (one) => receive(one)),
        'after the end': ({ event }, { sent }) => each([event], sent, (one) => receive(one)),
        'two at once': ({ event }, { sent }) =>
          together(['approve', 'reject', 'revise', 'approve', 'reject', 'revise'] as const, sent, (decision) =>
            receive(event, decision),
          ),
        killed: WITH_THE_HOUSE,
      },
    };
  },
};
