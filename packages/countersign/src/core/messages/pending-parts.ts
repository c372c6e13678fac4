// The requests that wait in messages.

import { isObject } from '../json.ts';
import { isToolRequest, type Message, type ToolRequestPart } from './message.ts';

/** The requests that wait for a person, those inside tools included; these carry the `path` that leads to them. */
export function pendingParts(messages: readonly Message[], path: readonly string[] = []): readonly ToolRequestPart[] {
  const open = messages.findLast((message) => message.role === 'model');
  return (open?.content ?? []).filter(isToolRequest).flatMap((part) => {
    const metadata = part.metadata ?? {};
    if ('pendingOutput' in metadata) return [];
    const { inner } = metadata;
    if (isObject(inner) && inner.waiting === true)
      return pendingParts(inner.messages as readonly Message[], [...path, part.toolRequest.ref]);
    if (!('interrupt' in metadata)) return [];
    return [path.length > 0 ? { ...part, metadata: { ...metadata, path } } : part];
  });
}
