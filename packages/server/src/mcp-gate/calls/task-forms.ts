// How calls look as tasks of MCP: in the protocol 2025-11-25, and in its extension since 2026-07-28 (SEP-2663).
import { isRecord } from '../../is-record.ts';
import {
  capabilitiesIn,
  failure,
  INVALID_PARAMS,
  isModern,
  isTaskRequest,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  metaOf,
  type Params,
  type RpcError,
  type RpcRequest,
  type RpcResponse,
  withCapabilities,
} from '../messages.ts';
import { judge, type McpRules, type McpTool } from '../rules.ts';
import { WEEK_SECONDS } from '../sealed-state.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const RELATED_TASK = 'io.modelcontextprotocol/related-task';
const FIRST_VERSION = '2025-11-25';

/** How far a task is, in the words of MCP. */
export type TaskState = {
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  readonly statusMessage?: string;
  readonly inputRequests?: Params;
  readonly result?: Params;
  readonly error?: RpcError;
};

/** A task. Times are in milliseconds. */
export type Task = TaskState & {
  readonly taskId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly ttl: number;
  readonly pollInterval: number;
};

const WEEK_MS = 1_000 * WEEK_SECONDS;
const POLL_MS = { least: 1_000, most: 15_000 };

/** Long waits need few looks. */
export function timesOf(
  createdAt: number,
  updatedAt = createdAt,
): Pick<Task, 'createdAt' | 'updatedAt' | 'ttl' | 'pollInterval'> {
  const wanted = Math.round((Date.now() - createdAt) / 20);
  const pollInterval = Math.min(POLL_MS.most, Math.max(POLL_MS.least, wanted));
  return { createdAt, updatedAt, ttl: WEEK_MS, pollInterval };
}

/** Whether the client of this request takes a task in place of a result, in the form of the extension. */
export const declaresTasks = (request: RpcRequest): boolean => isModern(request) && TASKS in extensionsIn(request);

/** Whether the client of an older protocol expects a task, and nothing else. */
export const isLegacyTask = (request: RpcRequest): boolean => !isModern(request) && isRecord(request.params?.task);

const extensionsIn = (request: Pick<RpcRequest, 'params'>): Params => {
  const { extensions } = capabilitiesIn(request);
  return isRecord(extensions) ? extensions : {};
};

/** Whether calls of this tool may be tasks, because rules may keep them from running. The tasks of the server itself stay its own. */
export function offersTask(rules: McpRules, tool: McpTool): boolean {
  const own = tool.execution?.taskSupport;
  if (own === 'optional' || own === 'required') return false;
  return judge(rules, { tool, input: {}, agent: 'gate' }).then !== 'run';
}

/** The parameters of a gated call as the server gets them: for it, the call is no task. */
export function sentParams(given: Params = {}, tool: McpTool): Params {
  const { requestState: _state, inputResponses: _responses, task: _task, ...params } = given;
  const { extensions: _extensions, ...capabilities } = capabilitiesIn({ params });
  const { [TASKS]: declared, ...extensions } = extensionsIn({ params });
  if (declared !== undefined) return withCapabilities(params, { ...capabilities, extensions });
  // It runs in no other way.
  return tool.execution?.taskSupport === 'required' ? { ...params, task: {} } : params;
}

/**
 * What the gateway adds to the response to this request: that it has tasks, even if the server has none. Undefined if it adds
 * nothing.
 */
export function addsTasks(request: RpcRequest, rules: McpRules): ((response: RpcResponse) => RpcResponse) | undefined {
  const add = ADDITIONS.get(request.method);
  if (isTaskRequest(request))
    return (response) => (response.error?.code === METHOD_NOT_FOUND ? taskNotFound(request) : response);
  if (!add || (request.method === 'tools/list' && isModern(request))) return undefined;
  return (response) => (response.result ? { ...response, result: add(response.result, rules) } : response);
}

const ADDITIONS: ReadonlyMap<string, (result: Params, rules: McpRules) => Params> = new Map([
  [
    'initialize',
    (result: Params) => {
      if (String(result.protocolVersion) < FIRST_VERSION || !isRecord(result.capabilities)) return result;
      const { tasks, ...capabilities } = result.capabilities;
      const own = isRecord(tasks) ? tasks : {};
      const requests = isRecord(own.requests) ? own.requests : {};
      const tools = { ...(isRecord(requests.tools) && requests.tools), call: {} };
      return {
        ...result,
        capabilities: { ...capabilities, tasks: { cancel: {}, ...own, requests: { ...requests, tools } } },
      };
    },
  ],
  [
    'server/discover',
    (result: Params) => {
      const { capabilities } = result;
      if (!isRecord(capabilities)) return result;
      const { extensions } = capabilities;
      return {
        ...result,
        capabilities: { ...capabilities, extensions: { [TASKS]: {}, ...(isRecord(extensions) && extensions) } },
      };
    },
  ],
  [
    'tools/list',
    (result: Params, rules: McpRules) => {
      if (!Array.isArray(result.tools)) return result;
      const offered = (tool: unknown) => {
        if (!isRecord(tool) || typeof tool.name !== 'string' || !offersTask(rules, tool as McpTool)) return tool;
        return { ...tool, execution: { ...(isRecord(tool.execution) && tool.execution), taskSupport: 'optional' } };
      };
      return { ...result, tools: result.tools.map(offered) };
    },
  ],
]);

/** The answer to a call that became a task. */
export function taskBegun(request: RpcRequest, task: Task): RpcResponse {
  const { result: _result, error: _error, inputRequests: _asked, ...begun } = task;
  return responding(
    request,
    isModern(request) ? { ...formOf(request, begun), resultType: 'task' } : { task: formOf(request, begun) },
  );
}

/** The answer to `tasks/get`, and to `tasks/cancel` of an older protocol. */
export const taskTold = (request: RpcRequest, task: Task): RpcResponse => responding(request, formOf(request, task));

/** The answer to `tasks/update`, and to `tasks/cancel` since 2026-07-28. */
export const acknowledged = (request: RpcRequest): RpcResponse => responding(request, { resultType: 'complete' });

/** The answer to `tasks/result`, of an older protocol. */
export function taskResult(request: RpcRequest, { taskId, result = {}, error }: Task): RpcResponse {
  if (error) return { jsonrpc: '2.0', id: request.id, error };
  return responding(request, { ...result, _meta: { ...metaOf(result), [RELATED_TASK]: { taskId } } });
}

function formOf(request: RpcRequest, task: Task): Params {
  const { createdAt, updatedAt, ttl, pollInterval, inputRequests, result, error, ...rest } = task;
  const times = { createdAt: new Date(createdAt).toISOString(), lastUpdatedAt: new Date(updatedAt).toISOString() };
  if (!isModern(request)) return { ...rest, ...times, ttl, pollInterval };
  const detail = { ...(inputRequests && { inputRequests }), ...(result && { result }), ...(error && { error }) };
  return { resultType: 'complete', ...rest, ...times, ttlMs: ttl, pollIntervalMs: pollInterval, ...detail };
}

const responding = ({ id }: RpcRequest, result: Params): RpcResponse => ({ jsonrpc: '2.0', id, result });

export const taskNotFound = (request: RpcRequest): RpcResponse => failure(request, INVALID_PARAMS, 'Task not found.');

/** Since 2026-07-28 only clients that declare tasks may ask for them. */
export const undeclared = ({ id }: RpcRequest): RpcResponse => ({
  jsonrpc: '2.0',
  id,
  error: {
    code: MISSING_CAPABILITY,
    message: 'Missing required client capability',
    data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
  },
});
