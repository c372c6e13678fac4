// Reads the list of tools of an MCP server, page by page.
import { isRecord, type Params, type RpcResponse } from './messages.ts';
import type { McpTool } from './rules.ts';

const MOST_PAGES = 100;

/** A server that does not list its tools has none here, and the rules for unknown ones apply. */
export async function listTools(ask: (params: Params) => Promise<RpcResponse>): Promise<ReadonlyMap<string, McpTool>> {
  const tools = new Map<string, McpTool>();
  let cursor: unknown;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const { result } = await ask(cursor === undefined ? {} : { cursor });
    for (const tool of Array.isArray(result?.tools) ? result.tools : [])
      if (isRecord(tool) && typeof tool.name === 'string') tools.set(tool.name, tool as McpTool);
    cursor = result?.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}
