// A conversation without a client, with `generateText`: each step has a new gate, as each request would.
import { generateText, tool } from 'ai';
import type { Gated } from 'countersign/ai-sdk';
import { expect } from 'vitest';
import { z } from 'zod';
import { type Said, saying } from './model.ts';

export const inputSchema = z.object({ amount: z.number() });

/** Tools that need approval, by their bodies. */
export const toolsOf = <Bodies extends Record<string, (...given: any[]) => any>>(bodies: Bodies) =>
  Object.fromEntries(
    Object.entries(bodies).map(([name, execute]) => [name, tool({ inputSchema, needsApproval: true, execute })]),
  ) as { [Name in keyof Bodies]: any };

/** A model that calls `pay` once, always under the same id. */
export function calling() {
  return saying((prompt): Said => {
    if (prompt.at(-1)?.role === 'tool') return { text: 'Very well.' };
    return { calls: [{ id: 'call-1', tool: 'pay', input: { amount: 10 } }] };
  });
}

/** `ask` lets the model ask; `resume` decides and returns the tool's results. */
export function talk(bodies: Record<string, (...given: any[]) => any>, gateOf: (tools: any) => Gated<any>) {
  const { model } = calling();
  const prompt = [{ role: 'user' as const, content: 'pay' }];
  return {
    async ask() {
      const { content, response } = await generateText({
        model,
        messages: prompt,
        tools: gateOf(toolsOf(bodies)).tools,
      });
      const request = content.find(({ type }) => type === 'tool-approval-request') as
        | { approvalId: string }
        | undefined;
      expect(request).toBeDefined();
      return { approvalId: request?.approvalId ?? '', messages: response.messages };
    },
    async resume({ approvalId, messages }: { approvalId: string; messages: any[] }, approved: boolean) {
      const results: any[] = [];
      const answer = {
        role: 'tool' as const,
        content: [{ type: 'tool-approval-response' as const, approvalId, approved }],
      };
      const tools = gateOf(toolsOf(bodies)).tools;
      await generateText({
        model,
        messages: [...prompt, ...messages, answer],
        tools,
        onToolExecutionEnd: ({ toolOutput }: any) => void results.push(toolOutput),
      } as any);
      return results;
    },
  };
}
