// The inbox as an MCP server over HTTP, with the client of the newest protocol. Ann confirms the card in her client.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
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

type AskedMcp = Asked & { readonly id: string };

const DECIDER = { scopes: ['read', 'decide'], reach: 'all' } as const;

type Twist = (body: string) => string;

export const mcpInbox: Door<AskedMcp> = {
  name: 'MCP inbox',
  open: async (world) => {
    const url = new URL(`${world.url}/mcp`);
    const clients: Client[] = [];
    /** A client whose messages can be changed on their way: `twists` get the first and the second leg of a decision. */
    async function connect(token: string) {
      const shown: string[] = [];
      const bodies: string[] = [];
      const state: { twist: Twist; onAsked: () => Promise<void> } = {
        twist: (body) => body,
        onAsked: async () => undefined,
      };
      const options = { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities: { elicitation: {} } };
      const client = new Client({ name: 'tests', version: '1.0.0' }, options);
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        shown.push(params.message);
        await state.onAsked();
        return { action: 'accept', content: { confirm: true } };
      });
      const twisting: typeof fetch = (to, init) => {
        const body =
          typeof init?.body === 'string' && init.body.includes('decide_request') ? state.twist(init.body) : init?.body;
        if (typeof body === 'string') bodies.push(body);
        return fetch(to, { ...init, ...(body !== undefined && { body: body as string }) });
      };
      const headers = { authorization: `Bearer ${token}` };
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers }, fetch: twisting }));
      clients.push(client);
      const decide = async (id: string, decision: string = 'approve', more: object = {}): Promise<Reply> => {
        try {
          const result = (await client.callTool({
            name: 'decide_request',
            arguments: { id, decision, ...more },
          })) as any;
          const text = String(result.content?.[0]?.text ?? JSON.stringify(result));
          return { accepted: result.isError !== true && text.includes('"status"'), text };
        } catch (error) {
          // An error of the protocol is a refusal, unless the server failed.
          return { accepted: false, isFault: /\b50\d\b/.test(String(error)), text: String(error) };
        }
      };
      return { shown, bodies, state, decide };
    }
    const ann = await connect(await world.tokenFor('ann', DECIDER));
    const raw = async (body: string, token: string): Promise<Reply> =>
      replyOf(
        await fetch(url, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body,
        }),
        (text) => text.includes('settled'),
      );
    const twisted = async (asked: AskedMcp, twist: Twist): Promise<Reply> => {
      ann.state.twist = twist;
      return ann.decide(asked.id).finally(() => {
        ann.state.twist = (body) => body;
      });
    };
    const second =
      (change: Twist): Twist =>
      (body) =>
        body.includes('inputResponses') ? change(body) : body;
    const token = await world.tokenFor('ann', DECIDER);
    return {
      ask: async (payment) => {
        const { id, runId } = await world.start(payment);
        return { ...payment, id, runId };
      },
      decide: async (asked, decision: Decision = 'approve') => {
        // Its tool has no way to ask for changes.
        if (decision === 'revise') await world.decide(asked.id, decision);
        return ann.decide(asked.id, decision);
      },
      shown: async ({ id }) => {
        await ann.decide(id, 'reject');
        return ann.shown.at(-1) ?? '';
      },
      close: async () => void (await Promise.allSettled(clients.map((client) => client.close()))),
      hostile: {
        forged: async (asked, { sent }) => [
          ...(await each(['', 'none', `${token}x`], sent, (given) => raw(ann.bodies.at(-1) ?? '{}', given))),
          ...(await each([/"requestState":"[^"]+"/, /.(?=","inputResponses|"[,}])/], sent, (part) =>
            twisted(
              asked,
              second((body) => body.replace(part, '"requestState":"Zm9yZ2Vk"')),
            ),
          )),
        ],
        replayed: (_asked, { sent }) => each(ann.bodies.slice(-1), sent, (body) => raw(body, token)),
        outdated: async (asked, { change, sent }) => {
          // The request changes while the person reads the card.
          ann.state.onAsked = change;
          return each([asked], sent, (one) => ann.decide(one.id)).finally(() => {
            ann.state.onAsked = async () => undefined;
          });
        },
        "other person's": async (asked, { sent }) => {
          const eve = await world.tokenFor('eve', DECIDER);
          const cleo = await world.tokenFor('cleo', DECIDER);
          // The confirmation of ann, sent by others.
          let confirmed = '';
          await twisted(
            asked,
            second((body) => {
              confirmed = body;
              return '{}';
            }),
          );
          return each([eve, cleo], sent, (given) => raw(confirmed, given));
        },
        "other run's": async (asked, { other, sent }) => {
          const foreign = await other();
          return each([1], sent, () =>
            twisted(
              asked,
              second((body) => replaced(body, asked.id, foreign.id)),
            ),
          );
        },
        'without rights': async (asked, { sent }) => {
          const tokens = [
            await world.tokenFor('bob', DECIDER),
            await world.tokenFor('ann'),
            await world.tokenFor('ann', { scopes: ['read'] }),
          ];
          return each(tokens, sent, async (given) => (await connect(given)).decide(asked.id));
        },
        oversized: (asked, { sent }) =>
          each([asked], sent, (one) => ann.decide(one.id, 'approve', { note: 'x'.repeat(OVERSIZED) })),
        malformed: async (asked, { sent }) => [
          ...(await each(MALFORMED, sent, (body) => raw(body, token))),
          ...(await each(['approved', '', 'APPROVE'], sent, (word) => ann.decide(asked.id, word))),
        ],
        'duplicate keys': (asked, { sent }) =>
          each(
            [
              (body: string) => replaced(body, '"decision":"approve"', '"decision":"reject","decision":"approve"'),
              (body: string) => replaced(body, '"decision":"approve"', '"Decision":"approve"'),
              (body: string) => replaced(body, '"decision":"approve"', '"decision":"approve","Decision":"reject"'),
              second((body) => replaced(body, '"confirm":true', '"confirm":false,"confirm":true')),
            ],
            sent,
            (twist) => twisted(asked, twist),
          ),
        'hidden characters': (asked, { sent }) =>
          each([`${asked.id}${HIDDEN}`, `${HIDDEN}${asked.id}`], sent, (id) => ann.decide(id)),
        'wrong digest': async (asked, { other, sent }) => {
          // The sealed state names the digest of the card that was confirmed: that of another request does not fit.
          const foreign = await other();
          let state = '';
          await twisted(
            foreign,
            second((body) => {
              state = /"requestState":"([^"]+)"/.exec(body)?.[1] ?? '';
              return '{}';
            }),
          );
          return each([state], sent, (given) =>
            twisted(
              asked,
              second((body) => body.replace(/"requestState":"[^"]+"/, `"requestState":"${given}"`)),
            ),
          );
        },
        'after the end': (asked, { sent }) => each([asked], sent, (one) => ann.decide(one.id)),
        'two at once': (asked, { sent }) =>
          together(['approve', 'reject', 'approve', 'reject'] as const, sent, (decision) =>
            ann.decide(asked.id, decision),
          ),
        killed: WITH_THE_HOUSE,
      },
    };
  },
};
