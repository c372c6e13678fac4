// A server that asks in the middle of a call: its question is one of ours, and the call is started once.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { memoryStore } from 'countersign';
import { mcpTools } from 'countersign/mcp';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentWith, decide, fixture, legacyClient, newLegacyServer, pending, processClient, results } from './kit.ts';

const clients: Client[] = [];
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-questions-'));
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  rmSync(folder, { recursive: true });
});

const ROW = { type: 'object' as const, properties: { row: { type: 'integer' as const } }, required: ['row'] };
const logged = (): readonly string[] => readFileSync(join(folder, 'log'), 'utf8').trim().split('\n');

/** The tools of the server of 2026-07-28, in a process of its own. */
async function modernTools() {
  const client = await processClient(fixture('asking-server.ts'), [join(folder, 'log')], 'modern');
  clients.push(client);
  return mcpTools(client);
}

describe('a server of 2026-07-28', () => {
  test('is answered by a person, with the state that it gave', async () => {
    const { ai, start } = agentWith(await modernTools(), { name: 'book' });
    const runId = await start();
    await decide(ai, runId, 'approve');
    const asked = await pending(ai, runId);
    expect(asked).toMatchObject({ kind: 'interrupt', payload: { message: 'Which row?' } });
    expect(asked.part.metadata?.answerSchema).toMatchObject(ROW);
    expect(JSON.stringify(asked.part.metadata?.interrupt)).not.toContain('offer-7');
    await expect(decide(ai, runId, { type: 'respond', output: { row: 'x' } })).rejects.toThrow('does not fit');
    await decide(ai, runId, { type: 'respond', output: { row: 0 } });
    expect(await results(ai, runId)).toEqual(['row 0']);
    expect(logged()).toEqual(['called first unanswered', 'called offer-7 accept']);
    expect((await ai.runs.verify(runId)).ok).toBe(true);
  });

  test('hears a rejection as decline', async () => {
    const { ai, start } = agentWith(await modernTools(), { name: 'book' });
    const runId = await start();
    await decide(ai, runId, 'approve');
    await decide(ai, runId, { type: 'reject', reason: 'no' });
    expect(await results(ai, runId)).toEqual(['no seat: decline']);
    expect((await ai.runs.verify(runId)).ok).toBe(true);
  });

  test('is continued by another process with another connection', async () => {
    const store = memoryStore();
    const first = agentWith(await modernTools(), { name: 'book' }, store);
    const runId = await first.start();
    await decide(first.ai, runId, 'approve');
    await clients.pop()?.close();
    const { ai } = agentWith(await modernTools(), 'none', store);
    await ai.runs.decide((await pending(ai, runId)).id, { type: 'respond', output: { row: 3 } }, { by: 'ann' });
    await ai.runs.wait(runId);
    expect(await results(ai, runId)).toEqual(['row 3']);
    expect(logged()).toEqual(['called first unanswered', 'called offer-7 accept']);
  });

  test('that only asks for patience is called again with its state', async () => {
    const { ai, start } = agentWith(await modernTools(), { name: 'patience' });
    const runId = await start();
    await decide(ai, runId, 'approve');
    expect(await results(ai, runId)).toEqual(['after working']);
  });

  test('that is killed after it acted leaves a doubt', async () => {
    const { ai, start } = agentWith(await modernTools(), { name: 'die' });
    const runId = await start();
    await decide(ai, runId, 'approve');
    expect((await pending(ai, runId)).kind).toBe('doubt');
    expect(logged()).toEqual(['acted']);
  });
});

describe('an older server', () => {
  let starts = 0;
  let heard: unknown[] = [];

  async function legacyTools() {
    starts = 0;
    heard = [];
    const server = newLegacyServer();
    server.registerTool('book', {}, async () => {
      starts += 1;
      const answer = await server.server.elicitInput({ message: 'Which row?', requestedSchema: ROW });
      heard.push(answer);
      const second = await server.server.elicitInput({ message: 'Which row?', requestedSchema: ROW });
      heard.push(second);
      return { content: [{ type: 'text', text: answer.action === 'accept' ? `row ${answer.content?.row}` : 'none' }] };
    });
    server.registerTool('look', {}, () => ({ content: [{ type: 'text', text: 'free' }] }));
    const client = await legacyClient(server);
    clients.push(client);
    return mcpTools(client, { needsApproval: false });
  }

  test('keeps its open request while a person answers, and others are called meanwhile', async () => {
    const tools = await legacyTools();
    const { ai, start } = agentWith(tools, { name: 'book' });
    const runId = await start();
    const other = agentWith(tools, { name: 'look' });
    expect(await results(other.ai, await other.start())).toEqual(['free']);
    await decide(ai, runId, { type: 'respond', output: { row: 1 } });
    expect(await pending(ai, runId)).toMatchObject({ kind: 'interrupt', payload: { message: 'Which row?' } });
    await decide(ai, runId, 'reject');
    expect(heard).toEqual([{ action: 'accept', content: { row: 1 } }, { action: 'decline' }]);
    expect(await results(ai, runId)).toEqual(['row 1']);
    expect(starts).toBe(1);
  });

  test('whose question outlives the process leaves a doubt, and is not called twice', async () => {
    const store = memoryStore();
    const first = agentWith(await legacyTools(), { name: 'book' }, store);
    const runId = await first.start();
    expect(starts).toBe(1);
    const { ai } = agentWith(await legacyTools(), 'none', store);
    await decide(ai, runId, { type: 'respond', output: { row: 1 } });
    expect((await pending(ai, runId)).kind).toBe('doubt');
    // A person who lets it run again learns that it cannot be continued.
    await decide(ai, runId, 'approve');
    expect((await results(ai, runId))[0]).toMatch(/connection that waited for the answer is lost/);
    expect(starts).toBe(0);
  });
});
