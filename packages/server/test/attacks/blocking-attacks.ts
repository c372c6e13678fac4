// The worst requests within the limits to each route: large, deep and many.
import { createHmac } from 'node:crypto';

type Server = { readonly url: string; readonly tokens: Readonly<Record<string, string>> };
export type World = {
  readonly main: Server;
  /** With channels. */
  readonly side: Server;
  readonly large: Asked;
  /** As large as the first, which is one of them. */
  readonly others: readonly Asked[];
  readonly granted: Asked;
  readonly other: Asked;
  readonly pending: readonly Asked[];
  readonly linked: Asked;
  /** A decision link to the request `linked`. */
  readonly link: string;
};
type Asked = { readonly id: string; readonly runId: string; readonly digest: string };
type More = {
  /** The person with all rights is refused, which must cost little too. */
  readonly refused?: true;
  readonly headers?: Readonly<Record<string, string>>;
  readonly on?: 'side';
  /** The answer stays open. */
  readonly isStream?: true;
};
export type Attack = readonly [what: string, path: string, body?: unknown, more?: More];

const many = <T>(length: number, item: (index: number) => T): T[] => Array.from({ length }, (_, index) => item(index));
const TEXT = 'x'.repeat(900_000);
const ITEMS = many(9_500, (index) => index);
const FIELDS = Object.fromEntries(many(4_500, (index) => [`f${index}`, index]));
const VALUES: Readonly<Record<string, unknown>> = { 'a long text': TEXT, 'many items': ITEMS, 'many fields': FIELDS };
const SCHEMAS: Readonly<Record<string, object>> = {
  alternatives: { items: { anyOf: many(1_500, (index) => ({ const: index })) } },
  'listed values': { items: { enum: many(4_000, (index) => index) } },
  'nested schemas': nested(7),
};
const inputs = (path: string, body: (value: unknown) => object, more: More = {}): Attack[] =>
  Object.entries(VALUES).map(([what, value]) => [what, path, body(value), more]);
const registration = {
  ...{ id: 'x'.repeat(20_000), rawId: 'x'.repeat(20_000), type: 'public-key' },
  response: { clientDataJSON: 'x'.repeat(20_000), attestationObject: 'x'.repeat(20_000) },
};
const keys = { p256dh: Buffer.alloc(65, 4).toString('base64url'), auth: Buffer.alloc(16).toString('base64url') };
const REFUSED = { refused: true } as const;
/** Checking the input against these would take too many steps. */
const COSTLY: Readonly<Record<string, More>> = { alternatives: REFUSED, 'nested schemas': REFUSED };
const lists = (path: string): Attack[] => [['a full page', `${path}?limit=200`]];

function nested(depth: number): object {
  const inner = depth === 0 ? { items: { type: 'number' } } : nested(depth - 1);
  return { allOf: [inner, inner] };
}

/** A new route must be listed here. */
export function attacks(
  { large, others, granted, other, pending }: World,
  person: string,
): Readonly<Record<string, readonly Attack[]>> {
  const request = encodeURIComponent(large.id);
  const chatOf = (value: unknown) => `chat-${person}-${typeof value === 'string' ? 'text' : Array.isArray(value)}`;
  let asked = 0;
  const ask = (more: object) => ({ tool: 'deploy', key: `${person}-${asked++}`, ...more });
  const { digest } = large;
  const decide = (edit: unknown) => ({ decision: { type: 'approve', edit }, digest });
  const grant = { uses: 1_000, serves: { people: ['ann'] } };
  const given = { ...grant, where: [{ field: 'to', equals: 'x' }], expiresAt: Date.now() + 3_600_000 };
  const decisions = pending.map(({ id, digest }, index) => ({
    requestId: id,
    digest,
    decision: index % 2 === 0 ? { type: 'approve', edit: { text: 'x'.repeat(1_600) } } : { type: 'reject' },
  }));
  const small: Attack[] = [['as it is', '']];
  return {
    'POST /gate': [
      ...inputs('', (input) => ask({ input })),
      ...Object.entries(SCHEMAS).map(
        ([what, schema]): Attack => [what, '', ask({ input: many(5_000, () => 7), schema }), COSTLY[what] ?? {}],
      ),
      ['fewer alternatives', '', ask({ input: many(500, () => 7), schema: SCHEMAS.alternatives })],
      ['unique items', '', ask({ input: ITEMS, schema: { uniqueItems: true } }), REFUSED],
      ['a pattern', '', ask({ input: 'a'.repeat(40), schema: { pattern: '^(a+)+$' } }), REFUSED],
      ['too many items', '', ask({ input: many(150_000, () => 1) }), REFUSED],
    ],
    'GET /gate/{id}': [['a large call', `/gate/${large.runId}`]],
    'POST /gate/{id}/started': [['a large call', `/gate/${large.runId}/started`, {}, REFUSED]],
    'POST /gate/{id}/renew': [
      ['a large call', `/gate/${large.runId}/renew`, { token: 'x'.repeat(200), lease: 86_400 }, REFUSED],
    ],
    'POST /gate/{id}/result': inputs(
      `/gate/${large.runId}/result`,
      (output) => ({ token: 'x'.repeat(20), output }),
      REFUSED,
    ),
    'POST /gate/{id}/withdraw': [['a long reason', `/gate/${other.runId}/withdraw`, { reason: 'x'.repeat(2_000) }]],
    'GET /requests': [
      ...['pending', 'settled'].flatMap((status): Attack[] => [
        ['a full page', `/requests?status=${status}&limit=200`],
        ['a filter that nothing passes', `/requests?status=${status}&tool=none`],
        [
          'a search with many words',
          `/requests?status=${status}&search=${many(100, (index) => String.fromCharCode(97 + (index % 26))).join('+')}`,
        ],
        ['a search that finds nothing', `/requests?status=${status}&search=nothing`],
      ]),
    ],
    'GET /requests.csv': [
      ['all settled ones', '/requests.csv?status=settled'],
      ['a search that finds nothing', '/requests.csv?status=settled&search=nothing'],
    ],
    'GET /requests/count': [
      ['all', '/requests/count'],
      ['those of a person', '/requests/count?for=me'],
    ],
    'GET /requests/{requestId}': [['a large request', `/requests/${request}`]],
    'GET /requests/{requestId}/plan': [['a large request', `/requests/${request}/plan`]],
    'GET /requests/{requestId}/files/{sha256}': [
      ['an unknown file', `/requests/${request}/files/${'0'.repeat(64)}`, undefined, REFUSED],
    ],
    'POST /requests/{requestId}/comments': [
      ['a long text', `/requests/${request}/comments`, { text: 'x'.repeat(1_000_000) }, REFUSED],
    ],
    'POST /requests/{requestId}/recall': [
      ['a long reason', `/requests/${request}/recall`, { reason: 'x'.repeat(1_000_000) }, REFUSED],
    ],
    'POST /requests/{requestId}/undo': [['a large request', `/requests/${request}/undo`, {}, REFUSED]],
    'POST /requests/{requestId}/assignee': [['a large request', `/requests/${request}/assignee`, { to: null }]],
    'DELETE /requests/{requestId}/assignee': [['a large request', `/requests/${request}/assignee`]],
    'POST /requests/{requestId}/challenge': inputs(`/requests/${request}/challenge`, decide, REFUSED),
    'POST /requests/{requestId}/decide': [
      ...Object.entries(VALUES).map(([what, edit], index): Attack => {
        const { id, digest } = others[index] ?? large;
        return [what, `/requests/${encodeURIComponent(id)}/decide`, { decision: { type: 'approve', edit }, digest }];
      }),
      [
        'a grant',
        `/requests/${encodeURIComponent(granted.id)}/decide`,
        { decision: { type: 'approve' }, digest: granted.digest, grant: given },
      ],
    ],
    'POST /decisions': [['500 decisions', '/decisions', { items: decisions }]],
    'POST /grants/simulate': [
      ...Object.entries(SCHEMAS).map(
        ([what, schema]): Attack => [what, '', { tool: 'deploy', grant: { ...grant, schema } }],
      ),
      ['a budget', '', { tool: 'deploy', grant: { ...grant, budget: { field: 'to', total: 5 } } }],
      [
        'long conditions',
        '',
        {
          tool: 'deploy',
          grant: { ...grant, where: many(50, (index) => ({ field: `f${index}`, oneOf: many(100, () => 'y') })) },
        },
      ],
    ],
    'GET /rules': [['the versions', '/rules']],
    'POST /rules/replay': [
      ['every call', '', { days: 3_660 }],
      [
        'many rules',
        '',
        { rules: many(100, (index) => ({ tool: `t${index}*`, where: [{ field: 'to', equals: 'x' }] })) },
      ],
    ],
    'GET /rules/suggestions': [['a year', '/rules/suggestions?days=366']],
    'GET /freezes': [['those that have ended', '/freezes?lifted=true']],
    'POST /freezes': [
      [
        'a hundred names of each kind',
        '/freezes',
        {
          reason: 'x'.repeat(2_000),
          ...Object.fromEntries(
            ['tools', 'agents', 'people'].map((kind) => [kind, many(100, (index) => `no-such-${index}-*`)]),
          ),
        },
      ],
    ],
    'POST /freezes/{freezeId}/lift': [
      ['an unknown one', '/freezes/freeze_x/lift', { note: 'x'.repeat(10_000) }, REFUSED],
    ],
    'GET /grants': lists('/grants'),
    'GET /grants/{grantId}': [['an unknown one', '/grants/grant_x', undefined, REFUSED]],
    'POST /grants/{grantId}/revoke': [
      ['an unknown one', '/grants/grant_x/revoke', { reason: 'x'.repeat(10_000) }, REFUSED],
    ],
    'GET /runs': [...lists('/runs'), ['a filter that nothing passes', '/runs?agent=none']],
    'GET /runs/{runId}': [
      ['a large run', `/runs/${large.runId}`],
      ['many requests', '/runs/old-0'],
    ],
    'GET /runs/{runId}/names': [
      ['a large run', `/runs/${large.runId}/names`],
      ['many requests', '/runs/old-0/names'],
    ],
    'GET /runs/{runId}/events': [['a large run', `/runs/${large.runId}/events`]],
    'GET /runs/{runId}/verify': [['a large run', `/runs/${large.runId}/verify`]],
    'GET /runs/{runId}/evidence': [
      ['a large run', `/runs/${large.runId}/evidence`],
      ['many requests', '/runs/old-0/evidence'],
    ],
    'POST /runs/{runId}/cancel': [['a long reason', `/runs/${other.runId}/cancel`, { reason: 'x'.repeat(2_000) }]],
    'POST /runs/{runId}/undo': [['a large run', `/runs/${large.runId}/undo`, {}, REFUSED]],
    'POST /runs/{runId}/drive': [['a large run', `/runs/${large.runId}/drive`, {}]],
    'POST /runs': [
      ['a long prompt', '/runs', { agent: 'parrot', prompt: 'x'.repeat(100_000) }],
      ['many items', '/runs', { agent: 'parrot', prompt: ITEMS }, REFUSED],
    ],
    'POST /chat/{agent}': inputs('/chat/parrot', (value) => ({
      id: chatOf(value),
      messages: [
        {
          id: 'm',
          role: 'user',
          parts: [
            { type: 'text', text: JSON.stringify(value).slice(0, 400_000) },
            { type: 'data-x', data: typeof value === 'string' ? '' : value },
          ],
        },
      ],
    })),
    'POST /agui/{agent}': inputs('/agui/parrot', (value) => ({
      threadId: chatOf(value),
      runId: 'r',
      state: value,
      tools: [],
      context: [],
      forwardedProps: {},
      messages: [{ id: 'm', role: 'user', content: 'hi' }],
    })),
    'GET /stats': [['a year', '/stats?days=366']],
    'GET /insights': [['a year', '/insights?days=366']],
    'GET /insights.csv': [['a year', '/insights.csv?days=366']],
    'GET /agents': small,
    'GET /chat/{agent}/{chatId}': [['a long chat', `/chat/parrot/${chatOf('')}`]],
    'GET /chat/{agent}/{chatId}/stream': [
      ['a long chat', `/chat/parrot/${chatOf('')}/stream`, undefined, { isStream: true }],
    ],
    'GET /chat/{agent}/{chatId}/watch': [
      ['a long chat', `/chat/parrot/${chatOf('')}/watch`, undefined, { isStream: true }],
    ],
    'GET /changes': [['as it is', '', undefined, { isStream: true }]],
    'GET /healthz': small,
    'GET /readyz': small,
    'GET /metrics': small,
    'GET /me': small,
    'GET /absences': small,
    'GET /me/absence': small,
    'POST /me/absence': [
      ['a long name', '', { until: 4e12, delegate: 'x'.repeat(200) }, REFUSED],
      ['many items', '', { until: 1, delegate: ITEMS }, REFUSED],
    ],
    'POST /me/absence/challenge': [['many items', '', { until: 1, delegate: ITEMS }, REFUSED]],
    'DELETE /me/absence': small,
    'GET /me/notices': small,
    'POST /me/notices': [
      ['many channels', '', { channels: Object.fromEntries(many(2_000, (index) => [`channel-${index}`, true])) }],
      ...inputs('', (value) => ({ channels: value }), REFUSED),
    ],
    'GET /notices/channels': small,
    'GET /notices/deliveries': lists('/notices/deliveries'),
    'GET /notices/dead': lists('/notices/dead'),
    'POST /notices/retry': [['a long id', '', { channel: 'slack', id: 'x'.repeat(500) }, { on: 'side' }]],
    'POST /notices/resend': [['a large request', '', { channel: 'slack', requestId: large.id }]],
    'GET /me/passkeys': small,
    'POST /me/passkeys': [
      ['long values', '', { name: 'x', response: registration }, REFUSED],
      ...inputs('', (value) => ({ name: 'x', response: { ...registration, value } }), REFUSED),
    ],
    'POST /me/passkeys/options': [['many items', '', { x: ITEMS }, REFUSED]],
    'POST /me/passkeys/{passkeyId}': [['a long name', '/me/passkeys/x', { name: 'x'.repeat(100) }, REFUSED]],
    'DELETE /me/passkeys/{passkeyId}': [['an unknown one', '/me/passkeys/x', undefined, REFUSED]],
    'GET /me/push': small,
    'POST /me/push': [
      [
        'a long address',
        '',
        { endpoint: `https://push.example.com/${'x'.repeat(1_900)}`, keys },
        { on: 'side', refused: true },
      ],
      ['a long key', '', { endpoint: 'https://push.example.com', keys: { ...keys, auth: TEXT } }, REFUSED],
    ],
    'DELETE /me/push': [['as it is', '', undefined, REFUSED]],
  };
}

/** Those that are not in the OpenAPI document. */
export function otherAttacks({ linked, link }: World, person: string): Readonly<Record<string, readonly Attack[]>> {
  const page = new URL(link).pathname;
  const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  const fields = many(5_000, (index) => `f${index}=${'x'.repeat(100)}`).join('&');
  const mcp = { headers: { accept: 'application/json, text/event-stream' } };
  const call = (name: string, args: object) => ({
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
  });
  return {
    'POST /gate': [
      [
        'a call with a grant',
        '/api/v1/gate',
        { tool: 'ship', key: `${person}-granted`, input: { ...FIELDS, to: 'x' } },
      ],
    ],
    'GET /decide/{token}': [['a large request', page]],
    'POST /decide/{token}': [
      ['a long reason', page, `digest=${linked.digest}&decision=reject&reason=${TEXT}`, { ...form, ...REFUSED }],
      ['many fields', page, `digest=${linked.digest}&decision=approve&${fields}`, { ...form, ...REFUSED }],
    ],
    'POST /mcp': [
      ['a list', '/mcp', call('list_requests', {}), mcp],
      ['a large request', '/mcp', call('read_request', { id: linked.id }), mcp],
      ...inputs('/mcp', (value) => call('read_request', { id: linked.id, value }), mcp),
    ],
    'POST /channels/slack/interactions': Object.entries(VALUES).map(([what, value]) => slackForm(what, value)),
  };
}

/** What Slack sends, signed, with a form of this content. */
function slackForm(what: string, value: unknown): Attack {
  const view = { callback_id: 'x', private_metadata: 'x', state: { values: { b: { a: { value: 'x' } } } } };
  const payload = { type: 'view_submission', user: { id: 'U1' }, view: { ...view, value } };
  const body = `payload=${encodeURIComponent(JSON.stringify(payload))}`;
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', 's'.repeat(32)).update(`v0:${timestamp}:${body}`).digest('hex');
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': `v0=${signature}`,
  };
  return [what, '/channels/slack/interactions', body, { headers, on: 'side' }];
}
