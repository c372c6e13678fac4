// The tools of a connected MCP server as tools of our agents: gated, validated and recorded like any other.
import type { Tool as ServerTool } from '@modelcontextprotocol/client';
import { UsageError } from '../core/errors.ts';
import { defined } from '../core/json.ts';
import { aFunction, anything, aTimerMs, checkOptions, type OptionTable, oneOf } from '../core/options.ts';
import { describedSchema } from '../loop/tool/data-schema.ts';
import type { Tool, ToolConfig, Trust } from '../loop/tool/definition.ts';
import { makeTool, tool } from '../loop/tool/tool.ts';
import type { JsonSchema } from '../models/model.ts';
import { callServer } from './call-server.ts';
import { connectionOf, type McpClient } from './connection.ts';
import { continues } from './server-task.ts';

/** A tool as its server describes it. */
export type { ServerTool };

/** How one tool of the server asks, and what is known about it. */
export type McpToolOptions = Omit<
  ToolConfig,
  'name' | 'description' | 'inputSchema' | 'outputSchema' | 'inputJsonSchema' | 'outputJsonSchema' | 'commits'
> & {
  /** Its name for the model; the server's name with the prefix by default. */
  readonly name?: string;
  /** What the model is told; the server's description by default. */
  readonly description?: string;
};

/** The options of `mcpTools`. */
export type McpToolsOptions = {
  /** Added to each name, such as `files_`, so that the tools of two servers can be told apart. */
  readonly prefix?: string;
  /** Whether the tools ask before they run: `true` by default. Options of a tool take precedence. */
  readonly needsApproval?: NonNullable<ToolConfig['needsApproval']>;
  /** Options by the server's name of the tool, or a function of it. `false` leaves the tool out. */
  readonly tools?:
    | { readonly [name: string]: McpToolOptions | false }
    | ((tool: ServerTool) => McpToolOptions | false | undefined);
  /**
   * What the server's annotations may do. They are claims: a server can lie. `ignore`: nothing. `stricter` (default):
   * `destructiveHint` makes a call ask, with high risk. `trust`: also, `readOnlyHint` lets a tool run unasked, and
   * `idempotentHint` lets a call with an unknown outcome run again.
   */
  readonly annotations?: 'ignore' | 'stricter' | 'trust';
  /**
   * `untrusted`: anybody may have written what its tools return, and how they describe themselves. `trust` of a tool takes precedence for
   * its results.
   */
  readonly trust?: Trust;
  /** How long the server may be silent, in milliseconds; 60,000 by default. Progress counts, and people take as long as they need. */
  readonly timeoutMs?: number;
  /** Called with the new tools when the server's list has changed. */
  readonly onChange?: (tools: readonly Tool[]) => void;
};

const OPTIONS: OptionTable<McpToolsOptions> = {
  prefix: {
    is: 'letters, digits, "_" or "-"',
    fits: (value) => typeof value === 'string' && /^[\w-]{0,64}$/.test(value),
  },
  needsApproval: anything,
  tools: { is: 'an object or a function', fits: (value) => typeof value === 'object' || typeof value === 'function' },
  annotations: oneOf('ignore', 'stricter', 'trust'),
  trust: oneOf('trusted', 'untrusted'),
  timeoutMs: aTimerMs,
  onChange: aFunction,
};

const TIMEOUT_MS = 60_000;

/**
 * Makes tools of those that the server behind a connected client offers. Each asks for an approval unless the options say
 * otherwise. A request that the server asks during a call becomes a request to a person.
 * @example
 * const client = new Client({ name: 'my-app', version: '1.0.0' }, { capabilities: { elicitation: {} } });
 * await client.connect(new StdioClientTransport({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/data'] }));
 * const tools = await mcpTools(client, { prefix: 'files_', tools: { read_text_file: { needsApproval: false } } });
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<readonly Tool[]> {
  checkOptions('mcpTools', options, OPTIONS);
  const list = async (): Promise<readonly Tool[]> => {
    const { tools } = await client.listTools();
    return toolsOf(client, tools, options);
  };
  const { onChange } = options;
  if (onChange) {
    // A list that cannot be read, or does not fit the options, stays unchanged.
    const changed = () => list().then(onChange, () => undefined);
    client.setNotificationHandler('notifications/tools/list_changed', changed);
    if (client.getProtocolEra() === 'modern') await client.listen({ toolsListChanged: true });
  }
  return list();
}

function toolsOf(client: McpClient, listed: readonly ServerTool[], options: McpToolsOptions): readonly Tool[] {
  const { tools: byName } = options;
  if (typeof byName === 'object') refuseUnknown(byName, listed);
  const names = new Map<string, string>();
  return listed.flatMap((described) => {
    const own = typeof byName === 'function' ? byName(described) : byName?.[described.name];
    if (own === false) return [];
    const made = toolOf(client, described, options, own ?? {});
    const other = names.get(made.name);
    if (other !== undefined) {
      const message = `The tools ${other} and ${described.name} of the server would both be named ${made.name}. Give one a \`name\`.`;
      throw new UsageError('duplicate-tool', { tool: made.name }, message);
    }
    names.set(made.name, described.name);
    return [made];
  });
}

/** A misspelt name would leave a tool without the options that were meant for it. */
function refuseUnknown(byName: object, listed: readonly ServerTool[]): void {
  const known = new Set(listed.map(({ name }) => name));
  const unknown = Object.keys(byName).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  const message = `The server has no tool ${unknown.join(', ')}. It has: ${[...known].join(', ') || 'none'}.`;
  throw new UsageError('unknown-tool', { tools: unknown }, message);
}

function toolOf(client: McpClient, described: ServerTool, options: McpToolsOptions, own: McpToolOptions): Tool {
  const { prefix = '', timeoutMs = TIMEOUT_MS } = options;
  const connection = connectionOf(client);
  // Names of servers may have dots and slashes, which models do not accept.
  const { name = `${prefix}${described.name}`.replaceAll(/[^\w-]/g, '_').slice(0, 128), ...rest } = own;
  const { trust } = options;
  const { definition } = tool(
    {
      description: described.description ?? '',
      ...defined({ trust }),
      ...schemasOf(described),
      ...claims(described, options),
      ...defined(rest),
      name,
    },
    (input, ctx) => callServer(connection, { tool: described, timeoutMs }, input, ctx),
  );
  const isTask = connection.runsAsTask(described);
  return makeTool({ ...definition, ...(trust === 'untrusted' && { isForeign: true }), ...(isTask && { continues }) });
}

/** The server checks its inputs itself; ours is a first check, so that people are not asked about calls that cannot run. */
function schemasOf({ name, inputSchema, outputSchema }: ServerTool): Partial<ToolConfig> {
  const [input, output] = [inputSchema as JsonSchema, outputSchema as JsonSchema | undefined];
  return {
    inputSchema: describedSchema(input, `the inputSchema of tool ${name}`),
    inputJsonSchema: input,
    ...(output && {
      outputSchema: describedSchema(output, `the outputSchema of tool ${name}`),
      outputJsonSchema: output,
    }),
  };
}

/** What follows from the options for all tools and from the annotations, as far as these are believed. */
function claims({ annotations }: ServerTool, options: McpToolsOptions): Partial<ToolConfig> {
  const { needsApproval, annotations: use = 'stricter' } = options;
  const { readOnlyHint, destructiveHint, idempotentHint } = use === 'ignore' ? {} : (annotations ?? {});
  const isTrusted = use === 'trust';
  const isReadOnly = isTrusted && readOnlyHint === true;
  const isDestructive = destructiveHint === true && !isReadOnly;
  return {
    needsApproval: needsApproval === undefined ? !isReadOnly : needsApproval === false ? isDestructive : needsApproval,
    ...(isDestructive && { risk: 'high' as const }),
    ...(isTrusted && isReadOnly && { reversibility: 'read-only' as const }),
    ...(isTrusted && isDestructive && { reversibility: 'irreversible' as const }),
    ...(isTrusted && (isReadOnly || idempotentHint === true) && { idempotent: true }),
  };
}
