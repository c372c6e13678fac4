// A client that repeats its call in the moment in which it reads that the call waits.
import { countersign, memoryStore } from 'countersign';
import { expect, test } from 'vitest';
import type { Line } from '../../src/mcp-gate/line.ts';
import { McpGate } from '../../src/mcp-gate/mcp-gate.ts';
import type { RpcRequest, RpcResponse } from '../../src/mcp-gate/messages.ts';

test('a client that repeats its call as soon as it has the answer continues its request', async () => {
  const ai = countersign({ store: memoryStore() });
  const gate = await McpGate.open({ ai, name: 'bank', holdMs: 5 });
  const answers: RpcResponse[] = [];
  let repeated: Promise<void> = Promise.resolve();
  const lineOf = (deliver: Line['deliver']): Line => ({
    person: 'ada',
    client: 'one',
    by: 'ada',
    signal: new AbortController().signal,
    tool: async (name) => ({ name }),
    pass: () => Promise.reject(new Error('The call was passed on.')),
    send: () => Promise.reject(new Error('The call was sent.')),
    tick: () => undefined,
    deliver,
  });
  const call = (id: number): RpcRequest => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'pay', arguments: { amount: 5 } },
  });
  const second = lineOf(async (response) => void answers.push(response));
  const first = lineOf(async (response) => {
    answers.push(response);
    repeated = gate.handle(call(2), second);
    // The answer is on its way while the repeated call is handled.
    await repeated;
  });
  await gate.handle(call(1), first);
  await repeated;
  expect(answers.map(({ id }) => id)).toEqual([1, 2]);
  expect((await ai.runs.requests()).items).toHaveLength(1);
  await gate.close();
});
