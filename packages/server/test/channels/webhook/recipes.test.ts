import { discordMessage, pagerDutyEvent, teamsMessage, webhook } from '@countersign/server';
import type { Notice } from 'countersign';
import { beforeAll, describe, expect, test } from 'vitest';
import { type NoticedRequest, noticedRequest } from '../notice.ts';
import { startReceiver } from './receiver.ts';

const pagerDuty = (notice: Notice) => pagerDutyEvent(notice, { routingKey: 'R0' });

let request: NoticedRequest;
let opened: Notice;
let decided: Notice;
beforeAll(async () => {
  request = await noticedRequest();
  opened = await request.notice('opened', { expiresAt: Date.UTC(2026, 10, 18, 12, 0) });
  const { ai, card, notice } = await noticedRequest();
  const { id, digest } = await card();
  await ai.runs.decide(id, { type: 'approve', edit: { to: 'bob', amount: 900 } }, { by: 'ann', digest });
  decided = await notice('decided');
});

/** Every text in a message, in order. */
function texts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : [];
}

const asking = async (question: string): Promise<Notice> => (await noticedRequest(`ask ${question}`)).notice();

describe.each([
  ['Teams', teamsMessage],
  ['Discord', discordMessage],
  ['PagerDuty', pagerDuty],
])('%s', (_name, transform) => {
  test('gets JSON that says what waits, shows all of it and links to the request', () => {
    const said = texts(transform(opened)).join('\n');
    expect(said).toContain('Waiting for approval');
    for (const shown of ['Pay 950 to bob', '950', 'isNew', opened.links?.request ?? '']) expect(said).toContain(shown);
    expect(JSON.parse(JSON.stringify(transform(opened)))).toEqual(transform(opened));
  });

  test('never gets a decision link, which would let anyone in the channel decide', () => {
    const links = { request: 'https://a.test/requests/1', decide: 'https://a.test/decide/TOKEN' };
    expect(JSON.stringify(transform({ ...opened, links }))).not.toContain('TOKEN');
  });

  test('gets a link instead of a request that does not fit, and nothing of the request', async () => {
    for (const question of ['x'.repeat(120_000), `begin ${'word '.repeat(22_000)}`]) {
      const said = texts(transform(await asking(question))).join('\n');
      expect(said).toContain('Open the request to see all of it.');
      expect(said).not.toMatch(/xxx|begin/);
      expect(said).toContain('https://approvals.example.com/requests/');
    }
  });

  test('gets the name of the tool instead of a headline that does not fit', () => {
    const said = texts(transform({ ...opened, title: 'Pay '.repeat(8_000) })).join('\n');
    expect(said).not.toContain('Pay Pay');
    expect(said).toContain('Open the request to see all of it.');
  });

  test('gets only the headline if the tool keeps the request out of notices', () => {
    const said = texts(transform({ ...opened, card: null })).join('\n');
    expect(said).toContain('Pay 950 to bob');
    expect(said).not.toContain('isNew');
  });

  test('shows characters that hide or reverse text as codes', async () => {
    const said = texts(transform(await asking('pay \u202Eevil\u200B'))).join('\n');
    expect(said).toMatch(/pay \\?<U\+202E\\?>evil\\?<U\+200B\\?>/);
  });

  test('is posted by a webhook without a secret', async () => {
    const { url, received } = await startReceiver();
    const signal = new AbortController().signal;
    await webhook({ url, allow: 'private', transform }).deliver(opened, { signal });
    expect(JSON.parse(received[0]?.body ?? '')).toEqual(transform(opened));
  });

  test('gets no links from a server without a public address', () => {
    expect(JSON.stringify(transform({ ...opened, links: null }))).not.toContain('approvals.example.com');
  });
});

describe('the status', () => {
  test.each([
    ['opened', {}, 'Waiting for approval'],
    ['opened', { kind: 'question' }, 'Waiting for an answer'],
    ['doubt', {}, 'Outcome unknown, please check'],
    ['reminded', {}, 'Reminder: still waiting'],
    ['escalated', {}, 'Escalated: still waiting'],
    ['assigned', { to: [{ person: 'ben', why: 'assignee', contact: {} }] }, 'Assigned to ben'],
    ['assigned', { to: [] }, 'Assigned'],
    ['decided', {}, 'Approved with changes by ann. Running'],
    [
      'done',
      { outcome: { state: 'done', at: 1, text: 'receipt 12' } },
      'Approved with changes by ann. Done: receipt 12',
    ],
    [
      'failed',
      { outcome: { state: 'failed', at: 1, text: 'No funds.', mayHaveActed: true } },
      'Failed: No funds. It may have taken effect. Approved with changes by ann',
    ],
    [
      'decided',
      { outcome: { state: 'not-run', at: 1, why: 'changed' } },
      'Not run: what would happen has changed, so it was asked again',
    ],
    ['decided', { settlement: { decision: { type: 'reject' }, by: null, at: 1 }, outcome: null }, 'Rejected'],
    ['decided', { outcome: { state: 'not-run', at: 1, why: 'edited' } }, 'Changes proposed by ann'],
    [
      'decided',
      { settlement: { decision: { type: 'respond', output: 1 }, by: 'ann', at: 1 }, outcome: null },
      'Answered by ann',
    ],
    [
      'expired',
      { settlement: { decision: { type: 'reject' }, by: 'deadline', at: 1 } },
      'Expired: rejected automatically',
    ],
    ['withdrawn', { settlement: { withdrawn: true, at: 1 } }, 'Withdrawn'],
  ])('of %s %o is %s', (type, changes, status) => {
    const base = ['decided', 'done', 'failed'].includes(type) ? decided : opened;
    const { embeds } = discordMessage({ ...base, type, ...changes } as Notice) as any;
    expect(embeds[0].author.name).toBe(status);
  });
});

test('a large request that is over needs no link to be understood', async () => {
  const settlement = { withdrawn: true, at: 1 } as const;
  const notice = {
    ...(await asking('x'.repeat(120_000))),
    type: 'withdrawn',
    title: 'Which one?',
    settlement,
  } as const;
  for (const transform of [teamsMessage, discordMessage]) {
    const said = texts(transform(notice)).join('\n');
    expect(said).toContain('Which one?');
    expect(said).not.toContain('Open the request to see');
  }
});

describe('an Adaptive Card for Teams', () => {
  test('is the attachment of a message, has a button, and its texts are not Markdown', async () => {
    const question = '[Approve](https://evil.test) **now**';
    const message = teamsMessage(await asking(question)) as any;
    expect(message).toMatchObject({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: {
            type: 'AdaptiveCard',
            version: '1.4',
            actions: [{ type: 'Action.OpenUrl', title: 'Open request' }],
          },
        },
      ],
    });
    const { body } = message.attachments[0].content;
    // Only text blocks read Markdown.
    expect(body.map(({ type }: any) => type)).not.toContain('TextBlock');
    expect(texts(body).join('\n')).toContain(question);
  });

  test('says the deadline in the time zone of the reader, while it counts', () => {
    const blocks = (notice: Notice) => (teamsMessage(notice) as any).attachments[0].content.body;
    const deadline = {
      type: 'TextBlock',
      text: 'Decide by {{DATE(2026-11-18T12:00:00Z, SHORT)}} {{TIME(2026-11-18T12:00:00Z)}}',
    };
    expect(blocks(opened)).toContainEqual(expect.objectContaining(deadline));
    expect(JSON.stringify(blocks({ ...decided, expiresAt: opened.expiresAt }))).not.toContain('Decide by');
  });

  test('stays below the limit of Teams, also with characters of several bytes', async () => {
    for (const question of ['é'.repeat(9_500), 'é'.repeat(9_000), `${'a\n'.repeat(300)}`]) {
      const message = teamsMessage(await asking(question));
      expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThanOrEqual(20_000);
    }
  });
});

describe('a message for Discord', () => {
  const embedOf = (notice: Notice) => (discordMessage(notice) as any).embeds[0];

  test('mentions nobody, and shows Markdown and links as text', async () => {
    const question = '@everyone **now** [click](https://evil.test) <@1> `x` ||y||\n# big\n- item\n1. one\n> said';
    const message = discordMessage(await asking(question)) as any;
    expect(message.allowed_mentions).toEqual({ parse: [] });
    const { description } = message.embeds[0];
    expect(description).toContain(
      '\\*\\*now\\*\\* \\[click\\]\\(https\\://evil.test\\) \\<@1\\> \\`x\\` \\|\\|y\\|\\|',
    );
    expect(description.match(/│.*(big|item|one|said)$/gm)).toEqual(['│ # big', '│ - item', '│ 1. one', '│ \\> said']);
    const { title } = embedOf({ ...opened, title: '# [Pay](https://evil.test)' });
    expect(title).toBe('\\# \\[Pay\\]\\(https\\://evil.test\\)');
    expect(embedOf({ ...opened, title: '12. Pay' }).title).toBe('12\\. Pay');
  });

  test('says the deadline in the time zone of the reader', () => {
    expect(embedOf(opened).description).toContain(`Decide by <t:${(opened.expiresAt ?? 0) / 1_000}:f>`);
  });

  test('keeps the limits of an embed', async () => {
    const notices = [
      opened,
      decided,
      await asking('y'.repeat(4_000)),
      await asking('y'.repeat(4_050)),
      await asking('*'.repeat(2_100)),
    ];
    const lengths = notices.map(embedOf).map(({ description = '' }) => description.length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(4_096);
    expect(lengths[2]).toBeGreaterThan(4_000);
    expect(embedOf({ ...opened, title: 'a'.repeat(256) }).title).toBe('a'.repeat(256));
    expect(embedOf({ ...opened, title: 'a'.repeat(257) }).title).toBe('pay');
  });
});

describe('an event for PagerDuty', () => {
  test('opens an alert with the fields of the Events API', () => {
    expect(pagerDuty(opened)).toMatchObject({
      routing_key: 'R0',
      event_action: 'trigger',
      dedup_key: opened.requestId,
      client: 'Countersign',
      client_url: opened.links?.request,
      links: [{ href: opened.links?.request, text: 'Open request' }],
      payload: {
        summary: 'Waiting for approval: Pay 950 to bob',
        source: 'teller · pay',
        severity: 'critical',
        timestamp: new Date(opened.at).toISOString(),
        component: 'pay',
        group: 'teller',
        class: 'approval',
        custom_details: { Input: 'to      bob\namount  950', 'Decide by': '2026-11-18T12:00:00.000Z' },
      },
    });
  });

  test.each([
    ['opened', 'trigger'],
    ['doubt', 'trigger'],
    ['reminded', 'trigger'],
    ['escalated', 'trigger'],
    ['assigned', 'acknowledge'],
    ['decided', 'resolve'],
    ['expired', 'resolve'],
    ['withdrawn', 'resolve'],
  ] as const)('%s is a %s of the same alert', (type, action) => {
    const event = pagerDuty({ ...opened, type });
    expect(event).toMatchObject({ event_action: action, dedup_key: opened.requestId });
    expect('payload' in event).toBe(action === 'trigger');
  });

  test.each([
    ['high', 'opened', 'critical'],
    ['medium', 'opened', 'warning'],
    ['low', 'opened', 'info'],
    [null, 'opened', 'warning'],
    ['low', 'doubt', 'error'],
  ] as const)('risk %s, %s: %s', (risk, type, severity) => {
    expect(pagerDuty({ ...opened, risk, type })).toMatchObject({ payload: { severity } });
  });

  test('keeps the limits of its key and its summary', () => {
    const { dedup_key } = pagerDuty({ ...opened, requestId: 'r'.repeat(256) });
    expect(dedup_key).toMatch(/^[\da-f]{64}$/);
    const { payload } = pagerDuty({ ...opened, title: 'a'.repeat(1_020) }) as any;
    expect(payload.summary).toBe('Waiting for approval: pay');
  });
});
