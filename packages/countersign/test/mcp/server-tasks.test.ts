// Tools that their server runs as tasks, in the protocol 2025-11-25: started once, and waited for.
import type { Client } from '@modelcontextprotocol/client';
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { mcpTools } from 'countersign/mcp';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { agentWith, decide, legacyClient, pending, results } from './kit.ts';

const clients: Client[] = [];
afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

type End = 'completed' | 'failed' | 'cancelled' | 'forgotten';

/** A server whose tool `build` runs as a task that ends so after a moment, and whose tool `ask` asks its client within one. */
async function taskTools(taskSupport: 'optional' | 'required', end: End = 'completed') {
  const taskStore = new InMemoryTaskStore();
  const started: unknown[] = [];
  const server = new McpServer(
    { name: 'builder', version: '1.0.0' },
    {
      capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
      taskStore,
      taskMessageQueue: new InMemoryTaskMessageQueue(),
    },
  );
  const content = (text: string, more = {}) => ({ content: [{ type: 'text' as const, text }], ...more });
  const handlers = {
    getTask: async (_args: unknown, { taskId, taskStore: tasks }: any) => tasks.getTask(taskId),
    getTaskResult: async (_args: unknown, { taskId, taskStore: tasks }: any) => tasks.getTaskResult(taskId),
  };
  server.experimental.tasks.registerToolTask(
    'build',
    { inputSchema: z.object({ what: z.string() }) as never, execution: { taskSupport } },
    {
      ...handlers,
      createTask: async (args: unknown, extra: any) => {
        started.push(args);
        const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 100 });
        setTimeout(async () => {
          if (end === 'forgotten') taskStore.cleanup();
          else if (end === 'cancelled') await taskStore.updateTaskStatus(task.taskId, 'cancelled');
          else
            await taskStore.storeTaskResult(
              task.taskId,
              end,
              content(`was ${end}`, end === 'failed' ? { isError: true } : {}),
            );
        }, 50);
        return { task };
      },
    } as never,
  );
  server.experimental.tasks.registerToolTask('ask', { execution: { taskSupport } }, {
    ...handlers,
    createTask: async (extra: any) => {
      const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 100 });
      const requestedSchema = { type: 'object', properties: { row: { type: 'integer' } }, required: ['row'] };
      const params = { mode: 'form', message: 'Which row?', requestedSchema };
      setTimeout(async () => {
        const asked = { method: 'elicitation/create', params } as never;
        const answer = await extra.sendRequest(asked, ElicitResultSchema, { relatedTask: { taskId: task.taskId } });
        await taskStore.storeTaskResult(task.taskId, 'completed', content(`row ${answer.content?.row}`));
      }, 50);
      return { task };
    },
  } as never);
  const client = await legacyClient(server);
  clients.push(client);
  return { tools: await mcpTools(client, { timeoutMs: 5_000 }), started };
}

test.each(['optional', 'required'] as const)('a tool whose tasks are %s is waited for', async (taskSupport) => {
  const { tools, started } = await taskTools(taskSupport);
  const { ai, start } = agentWith(tools, { name: 'build', input: { what: 'house' } });
  const runId = await start();
  await decide(ai, runId, 'approve');
  expect(await results(ai, runId)).toEqual(['was completed']);
  expect(started).toEqual([{ what: 'house' }]);
  const steps = (await ai.runs.recorded(runId)).flatMap((event) => (event.type === 'step-done' ? [event.step] : []));
  expect(steps).toEqual(['task']);
});

test('a failed and a cancelled task are failures of the call', async () => {
  for (const end of ['failed', 'cancelled'] as const) {
    const { tools, started } = await taskTools('optional', end);
    const { ai, start } = agentWith(tools, { name: 'build', input: { what: 'house' } });
    const runId = await start();
    await decide(ai, runId, 'approve');
    expect(JSON.stringify(await results(ai, runId))).toContain(end);
    expect(started).toHaveLength(1);
  }
});

test('a task that its server forgets is a doubt, which names the task', async () => {
  const { tools, started } = await taskTools('optional', 'forgotten');
  const { ai, start } = agentWith(tools, { name: 'build', input: { what: 'house' } });
  const runId = await start();
  await decide(ai, runId, 'approve');
  const doubt = await pending(ai, runId);
  expect(doubt).toMatchObject({ kind: 'doubt' });
  const step = (await ai.runs.recorded(runId)).find((event) => event.type === 'step-done');
  expect(JSON.stringify(doubt.payload)).toContain(`the task ${(step as { output: string }).output}`);
  // The person lets it run again: it asks about the task again, and starts none.
  await decide(ai, runId, 'approve');
  expect(await pending(ai, runId)).toMatchObject({ kind: 'doubt' });
  expect(started).toHaveLength(1);
});

test('a question of the task is one to a person', async () => {
  const { tools } = await taskTools('optional');
  const { ai, start } = agentWith(tools, { name: 'ask' });
  const runId = await start();
  await decide(ai, runId, 'approve');
  expect(await pending(ai, runId)).toMatchObject({ kind: 'interrupt', payload: { message: 'Which row?' } });
  await decide(ai, runId, { type: 'respond', output: { row: 7 } });
  expect(await results(ai, runId)).toEqual(['row 7']);
});
