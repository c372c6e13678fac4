// The door `countersign/mcp`: tools of MCP servers as tools of agents.
export type { McpClient } from './connection.ts';
export { type McpToolOptions, type McpToolsOptions, mcpTools, type ServerTool } from './mcp-tools.ts';
