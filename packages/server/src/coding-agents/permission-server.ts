// An MCP server with one tool, which coding agents call to ask for permission: `--permission-prompt-tool`.
import { randomUUID } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { McpServer } from '@modelcontextprotocol/server';
import { overStdio } from '../mcp/over-stdio.ts';
import { type PermitOptions, permit } from './permits.ts';

const Input = z.object({
  tool_name: z.string().min(1),
  input: z.looseObject({}),
  tool_use_id: z.string().optional(),
});

const TICK_MS = 15_000;

/** Serves on standard input and output. Resolves once the client is gone. */
export function servePermissions(options: Omit<PermitOptions, 'reportsEnd'>, stop: Promise<unknown>): Promise<void> {
  // The agent starts one server per conversation.
  const session = randomUUID();
  const create = () => {
    const server = new McpServer({ name: 'countersign', version: '1.0.0' }, { capabilities: { tools: {} } });
    const description = 'Asks a person whether a tool may run.';
    server.registerTool('approve', { description, inputSchema: Input }, async (asked, context) => {
      const { tool_name: tool, input, tool_use_id: id } = asked;
      const progressToken = context.mcpReq._meta?.progressToken;
      let progress = 0;
      const ticking = setInterval(() => {
        if (progressToken === undefined) return;
        progress += 1;
        const params = { progressToken, progress, message: 'Waiting for a person to approve' };
        void context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
      }, TICK_MS);
      try {
        const given = await permit(
          { agent: 'claude-code', tool, input, session, id },
          { ...options, reportsEnd: false },
        );
        return answer(
          given.allowed ? { behavior: 'allow', updatedInput: given.input } : { behavior: 'deny', message: given.text },
        );
      } catch (error) {
        return answer({
          behavior: 'deny',
          message: `It was not run, because asking failed: ${(error as Error).message}`,
        });
      } finally {
        clearInterval(ticking);
      }
    });
    return server;
  };
  return overStdio(create, stop);
}

const answer = (behavior: object) => ({ content: [{ type: 'text' as const, text: JSON.stringify(behavior) }] });
