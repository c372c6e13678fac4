// The response to a call, from what its gate says about it.
import { type GateResult, gateText } from 'countersign';
import { isRecord } from '../../is-record.ts';
import { jsonHash } from '../../json-hash.ts';
import { isModern, type Params, type RpcRequest, type RpcResponse, refusal } from '../messages.ts';

/** `input`: what the client asked for. */
export function responseOf(
  request: RpcRequest,
  { tool, input }: { readonly tool: string; readonly input: unknown },
  result: GateResult,
): RpcResponse {
  if (result.status !== 'done') return refusal(request, gateText(tool, result));
  const { output } = result;
  const own = isRecord(output) && Array.isArray(output.content);
  const found = own ? (output as Params) : enteredByPerson(output);
  const isEdited = jsonHash(result.input) !== jsonHash(input);
  const note = { type: 'text', text: `A person changed the arguments before it ran: ${JSON.stringify(result.input)}` };
  const content = [...((found.content as readonly unknown[]) ?? []), ...(isEdited ? [note] : [])];
  return {
    jsonrpc: '2.0',
    id: request.id,
    result: { ...(isModern(request) && { resultType: 'complete' }), ...found, content },
  };
}

/** The result of a call in doubt, as a person entered it. */
const enteredByPerson = (output: unknown): Params => ({
  content: [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }],
  ...(isRecord(output) && { structuredContent: output }),
});
