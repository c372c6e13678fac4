// Reads one message of an MCP client, strictly. Only what was read here is sent to the server, written again from the value.
import { faultInJson, folded } from 'countersign/store';
import { isRecord } from '../is-record.ts';
import { INVALID_PARAMS, INVALID_REQUEST, type Params, type RequestId, type RpcMessage } from './messages.ts';

/** The answer to a message that is not forwarded. */
export type Refusal = {
  readonly jsonrpc: '2.0';
  readonly id: RequestId | null;
  readonly error: { readonly code: number; readonly message: string };
};

export type ReadMessage = { readonly message: RpcMessage } | { readonly refused: Refusal };

/** The longest message of a client, in bytes. */
export const MOST_BYTES = 4 * 1024 * 1024;

const LIMITS = { depth: 100, values: 200_000, isStrict: true };

const ENVELOPE = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
const CALL_PARAMS = ['name', 'arguments', '_meta', 'task', 'requestState', 'inputResponses'];

/** Refuses every message that two readers could understand differently: the gate and the server must see one call. */
export function readMessage(text: string): ReadMessage {
  const value = parsedJson(text);
  if (!isRecord(value)) return refuse(null, 'Expected one JSON-RPC message. Batches are not supported.');
  const id = isId(value.id) ? value.id : null;
  const fault = faultInJson(text, LIMITS);
  if (fault) return refuse(id, `The message is refused: ${fault.problem}.`);
  const problem = envelopeProblem(value);
  if (problem !== undefined) return refuse(id, problem);
  const callProblem = problemOfCall(value);
  if (callProblem !== undefined) return refuse(id, callProblem, INVALID_PARAMS);
  return { message: value as unknown as RpcMessage };
}

export const tooLong = (): ReadMessage => refuse(null, `The message is longer than ${MOST_BYTES} bytes.`);

/** Undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const refuse = (id: RequestId | null, why: string, code = INVALID_REQUEST): ReadMessage => ({
  refused: { jsonrpc: '2.0', id, error: { code, message: `${why} Nothing was run.` } },
});

function envelopeProblem(value: Params): string | undefined {
  const unknown = Object.keys(value).find((key) => !ENVELOPE.includes(key));
  if (unknown !== undefined) return `The message has the unknown field ${JSON.stringify(unknown)}.`;
  const { jsonrpc, id, method, params, result, error } = value;
  const has = (key: string) => key in value;
  if (jsonrpc !== '2.0') return 'The field jsonrpc must be "2.0".';
  if (has('id') && !isId(id)) return 'The field id must be a string or an integer.';
  if (has('params') && !isRecord(params)) return 'The field params must be an object.';
  if (has('method')) {
    if (typeof method !== 'string') return 'The field method must be a string.';
    // The newest protocol repeats it in a header, as it is.
    if (!/^[\x21-\x7e]{1,200}$/.test(method)) return 'The field method must be 1 to 200 visible ASCII characters.';
    return has('result') || has('error') ? 'The message is both a request and a response.' : undefined;
  }
  const isError = isRecord(error) && Number.isInteger(error.code) && typeof error.message === 'string';
  const isResponse = has('result') ? isRecord(result) && !has('error') : isError;
  return has('id') && !has('params') && isResponse ? undefined : 'The message is neither a request nor a response.';
}

/** What a server could take for a call of a tool must have exactly the shape of one. */
function problemOfCall({ id, method, params }: Params): string | undefined {
  if (typeof method !== 'string' || folded(method) !== 'tools/call') return undefined;
  if (method !== 'tools/call') return `Unknown method ${JSON.stringify(method)}.`;
  if (id === undefined) return 'A call of a tool needs an id.';
  const given = isRecord(params) ? params : {};
  const unknown = Object.keys(given).find((key) => !CALL_PARAMS.includes(key));
  if (unknown !== undefined) return `A call of a tool cannot have the field ${JSON.stringify(unknown)}.`;
  if (typeof given.name !== 'string') return 'The name of a tool must be a string.';
  return given.arguments === undefined || isRecord(given.arguments)
    ? undefined
    : 'The arguments of a tool must be an object.';
}

const isId = (id: unknown): id is RequestId => typeof id === 'string' || Number.isSafeInteger(id);
