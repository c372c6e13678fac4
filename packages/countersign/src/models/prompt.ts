// The prompt: our messages as a provider wants them.
import { isObject } from '../core/json.ts';
import type { Message, Metadata, Part, Role, ToolResponsePart } from '../core/messages/message.ts';
import { inputObject } from './call-input.ts';
import { conversations, textOf } from './converted-conversation.ts';
import { fileOf } from './media.ts';
import { sentBack } from './provider-part.ts';
import type { PromptMessage, PromptPart, ProviderData, SpecificationVersion, ToolOutput } from './specification.ts';

/** Returns a function from the messages of a request to their prompt. */
export function promptsFor(version: SpecificationVersion): (messages: readonly Message[]) => PromptMessage[] {
  return CONVERSATIONS[version];
}

/** Shared by all models of a version: the versions write files differently. */
const CONVERSATIONS = {
  v2: conversations((message) => messageOf(message, 'v2')),
  v3: conversations((message) => messageOf(message, 'v3')),
  v4: conversations((message) => messageOf(message, 'v4')),
};

function messageOf(message: Message, version: SpecificationVersion): PromptMessage {
  const text = textOf(message);
  if (text !== undefined && text !== '' && message.role !== 'tool') return textMessage(message.role, text);
  const options = message.metadata && optionsOf(message.metadata);
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content.map(plainText).join(''), ...options };
    case 'user':
      return { role: 'user', content: parts(message.content, (part) => shownPart(part, version)), ...options };
    case 'model':
      return { role: 'assistant', content: parts(message.content, (part) => saidPart(part, version)), ...options };
    case 'tool':
      return { role: 'tool', content: parts(message.content, resultPart), ...options };
  }
}

/** Most messages are nothing but a text. */
function textMessage(role: Exclude<Role, 'tool'>, text: string): PromptMessage {
  if (role === 'system') return { role, content: text };
  return { role: role === 'model' ? 'assistant' : role, content: [{ type: 'text', text }] };
}

/** Converts each part, puts the provider's own metadata back on it, and drops text that says nothing. */
function parts(content: readonly Part[], convert: (part: Part) => PromptPart | undefined): readonly PromptPart[] {
  const converted: PromptPart[] = [];
  for (const part of content) {
    const said = convert(part);
    if (!said) continue;
    const options = part.metadata && optionsOf(part.metadata);
    if (options?.providerOptions) converted.push({ ...said, ...options });
    else if (!('text' in said) || said.text !== '') converted.push(said);
  }
  return converted;
}

function shownPart(part: Part, version: SpecificationVersion): PromptPart | undefined {
  if ('media' in part) return { type: 'file', ...fileOf(part.media, version) };
  if ('text' in part || 'data' in part) return { type: 'text', text: plainText(part) };
  return undefined;
}

function saidPart(part: Part, version: SpecificationVersion): PromptPart | undefined {
  if ('reasoning' in part) return { type: 'reasoning', text: part.reasoning };
  if ('toolRequest' in part) {
    const { ref, name, input } = part.toolRequest;
    return { type: 'tool-call', toolCallId: ref, toolName: name, input: inputObject(input) };
  }
  if ('data' in part && part.metadata?.providerPart !== undefined) return sentBack(part, version);
  return shownPart(part, version);
}

function resultPart(part: Part): PromptPart | undefined {
  if (!('toolResponse' in part)) return undefined;
  const { ref, name } = part.toolResponse;
  return { type: 'tool-result', toolCallId: ref, toolName: name, output: outputOf(part) };
}

/** A refusal or a failure goes as text that says so: not every provider has a word for it, and models read text. */
function outputOf({ toolResponse: { output }, metadata }: ToolResponsePart): ToolOutput {
  const told = metadata?.outcome;
  if (told === 'error' || told === 'rejected' || told === 'cancelled')
    return { type: 'error-text', value: typeof output === 'string' ? output : (JSON.stringify(output) ?? '') };
  return typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output ?? null };
}

function plainText(part: Part): string {
  if ('text' in part) return part.text;
  return 'data' in part ? (JSON.stringify(part.data) ?? '') : '';
}

function optionsOf(metadata: Metadata): { readonly providerOptions?: ProviderData } {
  if (!isObject(metadata.providerMetadata)) return {};
  const options = metadata.providerMetadata as ProviderData;
  const changed = 'replacedInput' in metadata || 'providerRef' in metadata;
  return { providerOptions: changed ? withoutItems(options) : options };
}

/**
 * A provider that stores its replies reads an item by its id. For a call that was edited, or that got another `ref`, it
 * would show the model the old version.
 */
function withoutItems(options: ProviderData): ProviderData {
  return Object.fromEntries(
    Object.entries(options).map(([provider, noted]) => [provider, { ...noted, itemId: undefined }]),
  );
}
