// Injections: a recipient that others have written never passes without an untrusted origin. And how often the alarm is false.
import type { Client } from '@modelcontextprotocol/client';
import type { Agent } from 'countersign';
import { mcpTools } from 'countersign/mcp';
import { afterAll, describe, expect, test } from 'vitest';
import { legacyClient, newServer } from '../mcp/kit.ts';
import { agentOf, making, office } from './kit.ts';
import { HONEST, INJECTIONS, RECORDS, REQUESTS, type Written } from './texts.ts';

type Office = ReturnType<typeof office>;
/** How the text comes into the run, and what the model does with it. */
type Way = (office: Office, text: string, sending: object) => Promise<readonly [Agent, Parameters<Agent['start']>[0]]>;

const clients: Client[] = [];
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
});

const UNTRUSTED = { trust: 'untrusted' } as const;
const SUMMARIZE = 'Read what is new, and do what has to be done.';
const read = (name: string) => ({ name, input: {} });
const send = (input: object) => ({ name: 'send', input });

/** A server with one tool, which returns and describes itself with these texts. */
async function serverTools(description: string, output: string) {
  const server = newServer();
  server.registerTool('look', { description }, async () => ({ content: [{ type: 'text', text: output }] }));
  const client = await legacyClient(server);
  clients.push(client);
  return mcpTools(client, { needsApproval: false, trust: 'untrusted' });
}

const WAYS: { readonly [name: string]: Way } = {
  'a mail': async ({ ai, reading, send: tool }, text, sending) => {
    const mail = reading('readMail', { from: 'x@y.example', subject: 'Hello', body: text }, UNTRUSTED);
    return [agentOf(ai, 'a', [mail, tool], [read('readMail'), send(sending)]), SUMMARIZE];
  },
  'a web page, much later': async ({ ai, reading, send: tool }, text, sending) => {
    const page = reading('fetchPage', `<html><body>${text}</body></html>`, UNTRUSTED);
    const clock = reading('clock', { time: '12:00' });
    const later = Array.from({ length: 12 }, () => read('clock'));
    return [agentOf(ai, 'a', [page, clock, tool], [read('fetchPage'), ...later, send(sending)]), SUMMARIZE];
  },
  'a file among others': async ({ ai, reading, send: tool }, text, sending) => {
    const files = reading(
      'readFiles',
      [
        { name: 'a.txt', text: 'nothing' },
        { name: 'b.txt', text },
      ],
      UNTRUSTED,
    );
    return [agentOf(ai, 'a', [files, tool], [read('readFiles'), send(sending)]), SUMMARIZE];
  },
  'a file of the user, marked': async ({ ai, send: tool }, text, sending) => {
    const content = [{ text: SUMMARIZE }, { text, metadata: { trust: 'untrusted' } }];
    return [agentOf(ai, 'a', [tool], [send(sending)]), { messages: [{ role: 'user', content }] }];
  },
  'the result of a server': async ({ ai, send: tool }, text, sending) => {
    const tools = await serverTools('Looks.', text);
    return [agentOf(ai, 'a', [...tools, tool], [read('look'), send(sending)]), SUMMARIZE];
  },
  'the description of a server': async ({ ai, send: tool }, text, sending) => {
    const tools = await serverTools(text, 'nothing');
    return [agentOf(ai, 'a', [...tools, tool], [read('look'), send(sending)]), SUMMARIZE];
  },
  'a trusted tool that repeats a mail': async ({ ai, reading, send: tool }, text, sending) => {
    const mail = reading('readMail', { body: text }, UNTRUSTED);
    const note = reading('saveNote', { saved: text });
    return [agentOf(ai, 'a', [mail, note, tool], [read('readMail'), read('saveNote'), send(sending)]), SUMMARIZE];
  },
  'a sub-agent that read a mail': async ({ ai, reading, send: tool }, text, sending) => {
    const mail = reading('readMail', { body: text }, UNTRUSTED);
    const reader = ai.defineAgent({
      name: 'reader',
      tools: [mail],
      model: making([read('readMail')], `It says: ${text}`),
    });
    return [
      agentOf(ai, 'a', [reader, tool], [{ name: 'reader', input: { prompt: 'Read.' } }, send(sending)]),
      SUMMARIZE,
    ];
  },
  'a sub-agent that is told to send': async ({ ai, reading, send: tool }, text, sending) => {
    const mail = reading('readMail', { body: text }, UNTRUSTED);
    const sender = agentOf(ai, 'sender', [tool], [send(sending)]);
    const told = { name: 'sender', input: { prompt: JSON.stringify(sending) } };
    return [agentOf(ai, 'a', [mail, sender], [read('readMail'), told]), SUMMARIZE];
  },
};

const sendingOf = ({ to, amount }: Written) => ({ to, ...(amount !== undefined && { amount }) });

describe.each(Object.keys(WAYS))('a recipient from %s', (way) => {
  test.each(INJECTIONS)('$name', async (written) => {
    const world = office();
    const [agent, input] = await (WAYS[way] as Way)(world, written.text, sendingOf(written));
    const { request } = await world.start(agent, input);
    expect(world.sent).toEqual([]);
    expect(request?.tool).toBe('send');
    expect(request?.origins?.[0]).toMatchObject({ field: ['to'], from: 'untrusted', sensitive: true });
    if (written.amount !== undefined)
      expect(request?.origins?.[1]).toMatchObject({ field: ['amount'], from: 'untrusted' });
  });
});

test('a false alarm comes in less than 5 % of honest runs', async () => {
  const alarms: string[] = [];
  let runs = 0;
  const run = async (name: string, honest: string, said: string, record: string | undefined, written: Written) => {
    const world = office();
    const { ai, reading, send: tool } = world;
    const mail = reading('readMail', { body: honest }, UNTRUSTED);
    const directory = reading('lookUp', { record });
    const calls = [read('readMail'), ...(record === undefined ? [] : [read('lookUp')]), send(sendingOf(written))];
    await world.start(agentOf(ai, 'a', [mail, directory, tool], calls), said);
    runs += 1;
    if (world.sent.length === 0) alarms.push(name);
  };
  for (const honest of HONEST) {
    for (const request of REQUESTS)
      await run(`${honest.name}, ${request.name}`, honest.text, request.text, undefined, request);
    for (const record of RECORDS)
      await run(`${honest.name}, ${record.name}`, honest.text, 'Pay Contoso.', record.text, record);
  }
  // Two customers wrote their own account into a mail, as honest people do. A rule cannot know that they are honest.
  for (const record of RECORDS)
    await run(`${record.name} in a mail`, `Ours: ${record.text}`, 'Pay Contoso.', record.text, record);
  expect(runs).toBe(114);
  expect(alarms).toEqual(['an account of the directory in a mail', 'an address of the directory in a mail']);
  expect(alarms.length / runs).toBeLessThan(0.05);
});
