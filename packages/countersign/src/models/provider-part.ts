// Parts of kinds that the conversation has no shape for: kept as data, sent back where the provider needs them.
import { isObject, toJson } from '../core/json.ts';
import type { DataPart, Metadata } from '../core/messages/message.ts';
import { inputObject } from './call-input.ts';
import { fileOf } from './media.ts';
import type { PromptPart, ProviderData, SpecificationVersion } from './specification.ts';

/** Keeps what a provider said beside the conversation: `metadata.providerPart` names its kind. */
export function keptPart(kind: string, data: object, providerMetadata: ProviderData | undefined): DataPart {
  const json = toJson(data);
  return {
    data: json.ok ? json.value : { problem: json.problem },
    metadata: { providerPart: kind, ...savable('providerMetadata', providerMetadata) },
  };
}

/** Returns a provider's note as a part keeps it, without values that are not JSON. */
export function savable(key: string, value: unknown): Metadata {
  if (value === undefined) return {};
  const json = toJson(value);
  return json.ok ? { [key]: json.value } : {};
}

/**
 * The part as the model's provider knows it. `undefined` where no prompt takes it back: sources, requests for
 * approval, and what a specification version has no word for.
 */
export function sentBack(part: DataPart, version: SpecificationVersion): PromptPart | undefined {
  const { data } = part;
  if (!isObject(data)) return undefined;
  switch (part.metadata?.providerPart) {
    case 'tool-call':
      return { type: 'tool-call', ...idsOf(data), input: inputObject(data.input), providerExecuted: true };
    case 'tool-result':
      return {
        type: 'tool-result',
        ...idsOf(data),
        output: { type: data.isError === true ? 'error-json' : 'json', value: data.result ?? null },
      };
    case 'custom':
      return version === 'v4' ? { type: 'custom', kind: String(data.kind) } : undefined;
    case 'reasoning-file': {
      if (version !== 'v4') return undefined;
      const contentType = String(data.mediaType);
      return { type: 'reasoning-file', ...fileOf({ url: String(data.url), contentType }, version) };
    }
    default:
      return undefined;
  }
}

const idsOf = (data: { readonly [key: string]: unknown }) => ({
  toolCallId: String(data.toolCallId),
  toolName: String(data.toolName),
});
