import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Message } from '../../core/messages/message.ts';
import type { ModelRequest, ToolSpec } from '../../models/model.ts';
import { standInModel } from './stand-in-model.ts';

const spec = (name: string, description: string, inputSchema: z.ZodType): ToolSpec => ({
  name,
  description,
  inputSchema: z.toJSONSchema(inputSchema, { io: 'input' }),
});

const Payment = z.object({
  to: z.string().min(1).max(100),
  amount: z.number().positive().max(10_000),
  currency: z.enum(['EUR', 'USD', 'GBP']),
  reference: z.string().max(140),
});
const payInvoice = spec('payInvoice', 'Pays an invoice from the account of the company.', Payment);
const sendMail = spec(
  'sendMail',
  'Sends a mail.',
  z.object({ to: z.email(), subject: z.string().min(1).max(60), body: z.string() }),
);
const askQuestion = spec(
  'askQuestion',
  'Asks the user a question with a few choices.',
  z.object({ question: z.string(), choices: z.array(z.string()).min(2) }),
);
const lookUpAccount = spec(
  'lookUpAccount',
  'Tells who owns an account and what it holds.',
  z.object({ account: z.string().regex(/^\d{1,10}$/) }),
);
const OFFICE = [payInvoice, sendMail, askQuestion, lookUpAccount];

const user = (text: string): Message => ({ role: 'user', content: [{ text }] });

async function reply(
  said: string | readonly Message[],
  tools: readonly ToolSpec[] = OFFICE,
  more: Partial<ModelRequest> = {},
) {
  const messages = typeof said === 'string' ? [user(said)] : said;
  const { content, finishReason } = await standInModel().reply({
    messages,
    tools,
    toolChoice: 'auto',
    config: {},
    ...more,
  });
  const calls = content.flatMap((part) => ('toolRequest' in part ? [part.toolRequest] : []));
  const text = content.map((part) => ('text' in part ? part.text : '')).join('');
  return { text, finishReason, calls: calls.map(({ name, input }) => [name, input] as const) };
}

describe('a tool is chosen by the words of the message', () => {
  test.each<readonly [string, readonly (readonly [string, unknown])[]]>([
    [
      'Pay ACME 950 euros for invoice 7',
      [['payInvoice', { to: 'ACME', amount: 950, currency: 'EUR', reference: 'invoice 7' }]],
    ],
    [
      'Could you please pay $1,250.50 to Birch Office Supplies for paper?',
      [['payInvoice', { to: 'Birch Office Supplies', amount: 1250.5, currency: 'USD', reference: 'paper' }]],
    ],
    [
      'Pay ACME 950 euros for paper and Birch 182.40 pounds for ink',
      [
        ['payInvoice', { to: 'ACME', amount: 950, currency: 'EUR', reference: 'paper' }],
        ['payInvoice', { to: 'Birch', amount: 182.4, currency: 'GBP', reference: 'ink' }],
      ],
    ],
    ['What is on account 4711?', [['lookUpAccount', { account: '4711' }]]],
    [
      'Write to bob@example.com that the report is ready',
      [['sendMail', { to: 'bob@example.com', subject: 'The report is ready', body: 'The report is ready' }]],
    ],
    [
      'Pay Lantern 20 USD for hosting, then send a mail to ann@example.org about the hosting',
      [
        ['payInvoice', { to: 'Lantern', amount: 20, currency: 'USD', reference: 'hosting' }],
        ['sendMail', { to: 'ann@example.org', subject: 'Hosting', body: 'Hosting' }],
      ],
    ],
    [
      'Ask me which day suits: Tuesday, Wednesday or Friday?',
      [
        [
          'askQuestion',
          {
            question: 'Ask me which day suits: Tuesday, Wednesday or Friday?',
            choices: ['Tuesday', 'Wednesday', 'Friday'],
          },
        ],
      ],
    ],
  ])('%s', async (said, calls) => {
    expect((await reply(said)).calls).toEqual(calls);
  });

  const ACME = { to: 'ACME', amount: 950, currency: 'EUR', reference: 'invoice 7' };
  test.each([
    'Pay ACME 950 euros for invoice 7. Please pay it today.',
    'I have to pay an invoice: pay ACME 950 euros for invoice 7',
    'Please make a payment. Pay ACME 950 euros for invoice 7, it must be paid by Friday.',
    'Pay ACME 950 euros for invoice 7. Invoice 7 is from May 12, and the payment is urgent.',
    'Pay ACME 950 euros for invoice 7. I said: pay ACME 950 euros for invoice 7',
    'Pay ACME 950 euros for invoice 7 and pay it before noon',
  ])('a verb that comes twice asks for one call: %s', async (said) => {
    expect((await reply(said)).calls).toEqual([['payInvoice', ACME]]);
  });

  test.each(['Pay Smith and Sons 950 euros for ink', 'Pay 950 euros to Smith and Sons for ink'])(
    'a name with `and` is one payee: %s',
    async (said) => {
      expect((await reply(said)).calls).toMatchObject([['payInvoice', { to: 'Smith and Sons', amount: 950 }]]);
    },
  );

  test('an address of a person comes from the conversation, and is never made up', async () => {
    const said = 'Write to Bob that the report is ready';
    expect(await reply(said)).toMatchObject({
      calls: [],
      text: 'Stand-in model: To send mail, I need to know the to.',
    });
    const system: Message = {
      role: 'system',
      content: [{ text: 'Bob is bob@acme.example, Ann is ann@acme.example.' }],
    };
    expect((await reply([system, user(said)])).calls).toMatchObject([['sendMail', { to: 'bob@acme.example' }]]);
  });

  test('a tool can be named as it is written in the code', async () => {
    const tools = [spec('bookRoom', '', z.object({ room: z.int(), guest: z.string() })), ...OFFICE];
    expect((await reply('bookRoom guest Ann Lee, room 12', tools)).calls).toEqual([
      ['bookRoom', { room: 12, guest: 'Ann Lee' }],
    ]);
  });

  test('a clause with the name of a property adds a value, and a verb asks for another call', async () => {
    const tools = [spec('bookRoom', '', z.object({ room: z.int(), guest: z.string() }))];
    expect((await reply('Book room 12 for Ann and then book room 14 for Bob', tools)).calls).toEqual([
      ['bookRoom', { room: 12, guest: 'Ann' }],
      ['bookRoom', { room: 14, guest: 'Bob' }],
    ]);
  });

  test('another action on the same thing is not confused with it', async () => {
    const remove = spec('deleteInvoice', 'Deletes an invoice.', z.object({ id: z.string() }));
    expect((await reply('Delete invoice 7', [payInvoice, remove])).calls).toEqual([['deleteInvoice', { id: '7' }]]);
    expect((await reply('Delete invoice 7', [payInvoice])).calls).toEqual([]);
  });

  test('without a fitting tool, the reply lists the tools and an example that works', async () => {
    for (const strange of ['sing!', '🙂', ' ']) {
      const { text, calls, finishReason } = await reply(strange);
      expect({ calls, finishReason }).toEqual({ calls: [], finishReason: 'stop' });
      expect(text).toMatch(/^Stand-in model: no tool fits/);
      for (const { name } of OFFICE) expect(text).toContain(`- ${name}: `);
    }
    const example = (await reply('sing!')).text.split('for example: ')[1] ?? '';
    expect((await reply(example)).calls).toMatchObject([['payInvoice', { to: 'ACME', amount: 950 }]]);
    expect((await reply('sing!', [])).text).toContain('this agent has no tools');
  });

  test('the tool choice of the request is kept', async () => {
    expect((await reply('Pay ACME 950 euros for ink', OFFICE, { toolChoice: 'none' })).calls).toEqual([]);
    expect((await reply('sing!', OFFICE, { toolChoice: 'required' })).calls).toMatchObject([['payInvoice', {}]]);
    const { calls } = await reply('Pay ACME 950', OFFICE, { toolChoice: { tool: 'sendMail' } });
    expect(calls.map(([name]) => name)).toEqual(['sendMail']);
  });

  test('a long message is answered in time', async () => {
    for (const long of ['pay x '.repeat(5_000), 'a,'.repeat(50_000), '1 '.repeat(50_000), `pay ${'A '.repeat(50_000)}`])
      expect((await reply(long)).text).toMatch(/^Stand-in model:/);
  });
});

describe('a value that the message does not name', () => {
  const say = async (...texts: readonly string[]) => {
    const messages: Message[] = [];
    let last = await reply('');
    for (const text of texts) {
      messages.push(user(text));
      last = await reply(messages);
      messages.push({ role: 'model', content: [{ text: last.text }] });
    }
    return last;
  };

  test('is asked for, and nothing is called', async () => {
    expect(await say('Pay ACME')).toEqual({
      text: 'Stand-in model: To pay invoice, I need to know the amount, the currency (EUR, USD or GBP) and the reference.',
      finishReason: 'stop',
      calls: [],
    });
    expect((await say('Pay 950 euros for invoice 7')).text).toBe(
      'Stand-in model: To pay invoice, I need to know the to.',
    );
    expect((await say('Pay invoice 7')).calls).toEqual([]);
  });

  test('is taken from the answer', async () => {
    const call = ['payInvoice', { to: 'ACME', amount: 950, currency: 'EUR', reference: 'invoice 7' }];
    expect((await say('Pay ACME', '950 euros for invoice 7')).calls).toEqual([call]);
    expect((await say('Pay ACME 950 euros', 'invoice 7')).calls).toEqual([call]);
    expect((await say('Pay ACME', '950 euros', 'invoice 7')).calls).toEqual([call]);
    expect((await say('Pay 950 euros for invoice 7', 'ACME')).calls).toEqual([call]);
  });

  test('is forgotten with another request', async () => {
    expect((await say('Pay ACME', 'What is on account 4711?')).calls).toEqual([['lookUpAccount', { account: '4711' }]]);
    expect((await say('Pay ACME', 'Pay Birch 5 euros for ink')).calls).toMatchObject([['payInvoice', { to: 'Birch' }]]);
    expect(await say('Pay ACME', 'Pay Birch', 'sing!')).toMatchObject({ calls: [] });
  });

  test('does not stop another call of the message', async () => {
    expect(await say('Pay ACME 950 euros for ink, then write to ann@example.org')).toMatchObject({
      text: 'Stand-in model: I will pay ACME €950. To send mail, I need to know the subject.',
      calls: [['payInvoice', { to: 'ACME' }]],
    });
  });

  test('yes and no are answers', async () => {
    const tools = [spec('ship', 'Ships an order.', z.object({ order: z.string(), express: z.boolean() }))];
    const asked = await reply('Ship order A7', tools);
    expect(asked.text).toBe('Stand-in model: To ship, I need to know the express (yes or no).');
    const messages = (answer: string): Message[] => [
      user('Ship order A7'),
      { role: 'model', content: [{ text: asked.text }] },
      user(answer),
    ];
    for (const [answer, express] of [
      ['yes', true],
      ['no', false],
    ] as const)
      expect((await reply(messages(answer), tools)).calls).toEqual([['ship', { order: 'A7', express }]]);
  });
});

test('the reply says what it will do, in words', async () => {
  expect((await reply('Pay ACME 950 euros for invoice 7')).text).toBe('Stand-in model: I will pay ACME €950.');
  expect((await reply('Pay ACME 9500 pounds for ink and Birch 5 dollars for pens')).text).toBe(
    'Stand-in model: I will pay ACME £9,500 and pay Birch $5.',
  );
  expect((await reply('What is on account 4711?')).text).toBe('Stand-in model: I will look up account: 4711.');
});

describe('an input that a program forces is filled so that the schema accepts it', () => {
  const address = z.object({ street: z.string(), zip: z.string().regex(/^\d{5}$/), country: z.string().length(2) });
  const expression: z.ZodType = z.union([z.number(), z.lazy(() => expression)]);
  type Tree = { name: string; children: Tree[] };
  const tree: z.ZodType<Tree> = z.object({ name: z.string(), children: z.lazy(() => z.array(tree)) });
  test.each<readonly [string, z.ZodType]>([
    ['nested objects', z.object({ customer: z.object({ name: z.string(), address }) })],
    ['arrays of objects', z.object({ items: z.array(z.object({ sku: z.string(), quantity: z.int().min(1) })).min(3) })],
    ['tuples', z.object({ point: z.tuple([z.number(), z.number()]) })],
    [
      'ranges',
      z.object({ a: z.int().gt(99).lt(101), b: z.number().min(0.25).max(0.5), c: z.int().multipleOf(25).min(30) }),
    ],
    ['negative ranges', z.object({ a: z.number().max(-5), b: z.int().lt(0) })],
    ['lengths', z.object({ short: z.string().max(3), long: z.string().min(80), exact: z.string().length(12) })],
    [
      'patterns',
      z.object({
        iban: z.string().regex(/^[A-Z]{2}\d{2}(?: \d{4}){4}$/),
        code: z.string().regex(/^(?:AB|CD)-\d{3,}[a-f]?$/),
        slug: z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/),
        version: z.string().regex(/^v\d+\.\d+\.\d+$/),
      }),
    ],
    [
      'formats',
      z.object({
        mail: z.email(),
        site: z.url(),
        day: z.iso.date(),
        at: z.iso.datetime(),
        clock: z.iso.time(),
        id: z.uuid(),
        host: z.ipv4(),
      }),
    ],
    ['unions', z.object({ kind: z.union([z.null(), z.literal('a')]), either: z.union([z.number(), z.string()]) })],
    ['nullable and optional values', z.object({ a: z.string().nullable(), b: z.number().optional(), c: z.boolean() })],
    ['records and anything', z.object({ tags: z.record(z.string(), z.string()), any: z.any(), unknown: z.unknown() })],
    ['recursive schemas', tree],
    ['recursive unions', z.object({ value: expression })],
    ['distinct enum items', z.object({ days: z.array(z.enum(['mon', 'tue', 'wed'])).min(2) })],
    ['literals and defaults', z.object({ version: z.literal(2), mode: z.string().default('fast') })],
    ['intersections', z.object({ both: z.intersection(z.object({ a: z.int() }), z.object({ b: z.string() })) })],
  ])('%s', async (_name, schema) => {
    const { calls } = await reply('Please process it', [spec('process', '', schema)], { toolChoice: 'required' });
    expect(calls).toHaveLength(1);
    expect(schema.safeParse(calls[0]?.[1]).error?.message).toBe(undefined);
  });

  test.each<readonly [string, z.ZodType, unknown]>([
    ['Order 3 chairs for 40 euros', z.object({ price: z.number(), quantity: z.int() }), { price: 40, quantity: 3 }],
    [
      'Order something with quantity 12',
      z.object({ quantity: z.int().optional(), note: z.string().optional() }),
      { quantity: 12 },
    ],
    ['Transfer from Ann to Bob', z.object({ from: z.string(), to: z.string() }), { from: 'Ann', to: 'Bob' }],
    ['Book a room on 5 May 2027', z.object({ date: z.iso.date() }), { date: '2027-05-05' }],
    ['Book a room on 2027-05-05 at 9:30', z.object({ start: z.iso.datetime() }), { start: '2027-05-05T09:30:00Z' }],
    ['Set the priority high', z.object({ priority: z.enum(['low', 'high']) }), { priority: 'high' }],
    ['Ship it, not express', z.object({ express: z.boolean() }), { express: false }],
    ['Ship it express', z.object({ express: z.boolean() }), { express: true }],
    ['Ship it with title "Two words"', z.object({ title: z.string() }), { title: 'Two words' }],
    ['Search for red shoes', z.object({ query: z.string() }), { query: 'red shoes' }],
    ['What is the weather in Berlin?', z.object({ city: z.string() }), { city: 'Berlin' }],
    [
      'Tell ann@x.org, bob@x.org',
      z.object({ recipients: z.array(z.email()) }),
      { recipients: ['ann@x.org', 'bob@x.org'] },
    ],
    [
      'Draw a circle',
      z.object({
        shape: z.discriminatedUnion('type', [
          z.object({ type: z.literal('square'), side: z.number() }),
          z.object({ type: z.literal('circle'), radius: z.number() }),
        ]),
      }),
      { shape: { type: 'circle', radius: 42 } },
    ],
  ])('%s', async (said, schema, input) => {
    const { calls } = await reply(said, [spec('work', '', schema)], { toolChoice: 'required' });
    expect(calls).toEqual([['work', input]]);
  });

  test('examples, defaults and constants of a JSON Schema are used, and references are followed', async () => {
    const inputSchema = {
      type: 'object',
      required: ['one', 'two', 'three', 'four'],
      properties: {
        one: { type: 'string', examples: ['an example'] },
        two: { type: 'string', default: 'a default' },
        three: { const: 3 },
        four: { $ref: '#/$defs/Four' },
      },
      $defs: { Four: { enum: [4, 5] } },
    };
    const tools = [{ name: 'work', description: '', inputSchema }];
    expect((await reply('Work', tools, { toolChoice: 'required' })).calls).toEqual([
      ['work', { one: 'an example', two: 'a default', three: 3, four: 4 }],
    ]);
  });

  test('an amount that the schema refuses is sent as it was said, so that the refusal can be seen', async () => {
    expect((await reply('Pay ACME 99000 euros for ink')).calls).toMatchObject([['payInvoice', { amount: 99_000 }]]);
  });

  test('a reply with an output schema is JSON that fits it', async () => {
    const Output = z.object({ city: z.string(), days: z.array(z.int()).length(2) });
    const { text } = await reply('Weather in Berlin', [], { outputSchema: z.toJSONSchema(Output) });
    expect(Output.parse(JSON.parse(text))).toMatchObject({ city: 'Berlin' });
  });
});

test('the same conversation gets the same reply from every model', async () => {
  const request = {
    messages: [user('Pay ACME 950 euros for ink')],
    tools: OFFICE,
    toolChoice: 'auto',
    config: {},
  } as const;
  const one = standInModel();
  await one.reply(request);
  expect(await one.reply(request)).toEqual(await standInModel().reply(request));
});

test('a streamed reply is the same as the whole one, and can be aborted', async () => {
  const chunks: string[] = [];
  const request = {
    messages: [user('Pay ACME 950 euros for ink')],
    tools: OFFICE,
    toolChoice: 'auto',
    config: {},
  } as const;
  const { content } = await standInModel({ wordMs: 1 }).reply(request, (chunk) => {
    chunks.push(chunk.type === 'tool-input' ? chunk.delta : chunk.type === 'text' ? chunk.text : '');
  });
  const whole = content.map((part) =>
    'text' in part ? part.text : 'toolRequest' in part ? JSON.stringify(part.toolRequest.input) : '',
  );
  expect(chunks.join('')).toBe(whole.join(''));
  const stopped = standInModel({ wordMs: 60_000 }).reply(
    { ...request, signal: AbortSignal.timeout(5) },
    () => undefined,
  );
  await expect(stopped).rejects.toMatchObject({ name: expect.stringMatching(/AbortError|TimeoutError/) });
});
