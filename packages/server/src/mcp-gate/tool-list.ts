// Reads the list of tools of an MCP server, page by page.
import { isRecord } from '../is-record.ts';
import { METHOD_NOT_FOUND, type Params, type RpcResponse } from './messages.ts';
import type { McpTool } from './rules.ts';

const MOST_PAGES = 100;

/** Of a server that cannot list tools, none is known, and the rules for unknown ones apply. Rejects if the list cannot be read. */
export async function listTools(ask: (params: Params) => Promise<RpcResponse>): Promise<ReadonlyMap<string, McpTool>> {
  const tools = new Map<string, McpTool>();
  let cursor: unknown;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const { result, error } = await ask(cursor === undefined ? {} : { cursor });
    if (error && error.code !== METHOD_NOT_FOUND) throw new Error(`The tools cannot be listed: ${error.message}`);
    for (const tool of Array.isArray(result?.tools) ? result.tools : [])
      if (isRecord(tool) && typeof tool.name === 'string') tools.set(tool.name, tool as McpTool);
    cursor = result?.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}
