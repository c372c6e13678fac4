// What the stand-in says: about the results of its calls, and about the tools that it can call.
import { isObject } from '../../core/json.ts';
import type { Message, ToolRequestPart, ToolResponsePart } from '../../core/messages/message.ts';
import type { ToolSpec } from '../../models/model.ts';
import { wordsOf } from './words.ts';

/** The first words of every reply, so that no reader mistakes it for a model. */
export const STAND_IN = 'Stand-in model:';

/** One sentence for each result. Undefined if there is none yet. */
export function reportOf(since: readonly Message[]): string | undefined {
  const parts = since.flatMap(({ content }) => content);
  const requests = parts.filter((part): part is ToolRequestPart => 'toolRequest' in part);
  const responses = parts.filter((part): part is ToolResponsePart => 'toolResponse' in part);
  if (responses.length === 0) return undefined;
  const sentences = responses.map((response) =>
    sentence(
      response,
      requests.find(({ toolRequest }) => toolRequest.ref === response.toolResponse.ref),
    ),
  );
  return `${STAND_IN} ${sentences.join(' ')}`;
}

function sentence({ toolResponse, metadata = {} }: ToolResponsePart, request: ToolRequestPart | undefined): string {
  const { name, output } = toolResponse;
  // The output of a call that did not run, or failed, is a text that says why.
  if (metadata.outcome === 'error') return `${name} failed: ${shown(output)}.`;
  if (metadata.outcome !== undefined) return `${shown(output)}.`;
  if (metadata.interruptResponse !== undefined) return `The answer to ${name} is ${shown(output)}.`;
  return `${name} ${how(request)} ${shown(output)}.`;
}

function how(request: ToolRequestPart | undefined): string {
  const { replacedInput, decision } = request?.metadata ?? {};
  if (replacedInput !== undefined) return `ran with the edited input ${shown(request?.toolRequest.input)} and returned`;
  const { type } = isObject(decision) ? decision : { type: undefined };
  return type === 'approve' ? 'was approved and returned' : 'returned';
}

/** Says which tools there are, and how to ask for one. */
export function helpWith(tools: readonly ToolSpec[]): string {
  if (tools.length === 0)
    return `${STAND_IN} this agent has no tools, and a stand-in cannot answer by itself. Define a tool, or set a model.`;
  const list = tools.map(({ name, description }) => `- ${name}${description === '' ? '' : `: ${description}`}`);
  const example = exampleFor(tools[0] as ToolSpec);
  return [
    `${STAND_IN} no tool fits your message. A stand-in does not think: it picks a tool by the words of your message. The tools are:`,
    ...list,
    `Name a tool and its values, for example: ${example}`,
  ].join('\n');
}

/** A message that calls this tool. */
function exampleFor({ name, inputSchema }: ToolSpec): string {
  const { properties, required } = inputSchema;
  const needed = Object.entries(isObject(properties) ? properties : {}).filter(
    ([property]) => !Array.isArray(required) || required.includes(property),
  );
  const values = needed.map(([property, schema]) => `${wordsOf(property).join(' ')} ${exampleValue(schema)}`);
  const words = wordsOf(name).join(' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${values.length > 0 ? ` ${values.join(', ')}` : ''}`;
}

function exampleValue(schema: unknown): string {
  const { type, format, enum: choices } = isObject(schema) ? schema : {};
  if (Array.isArray(choices)) return String(choices[0]);
  if (type === 'number' || type === 'integer') return '950';
  return format === 'email' ? 'ann@example.com' : 'ACME';
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
  return cut.replace(/\.$/, '');
}

const LONGEST = 2_000;
