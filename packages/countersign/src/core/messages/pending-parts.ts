// The requests that wait in messages.

import { isObject } from '../json.ts';
import { isToolRequest, type Message, type ToolRequestPart } from './message.ts';

/** The requests that wait for a person, those inside tools included; these carry the `path` that leads to them. */
export function pendingParts(messages: readonly Message[], path: readonly string[] = []): readonly ToolRequestPart[] {
  const pending: ToolRequestPart[] = [];
  addPending(messages, path, pending);
  return pending;
}

function addPending(messages: readonly Message[], path: readonly string[], pending: ToolRequestPart[]): void {
  const open = messages.findLast((message) => message.role === 'model');
  for (const part of open?.content ?? []) {
    if (!isToolRequest(part) || !part.metadata || 'pendingOutput' in part.metadata) continue;
    const { metadata } = part;
    const { inner } = metadata;
    if (isObject(inner) && inner.waiting === true)
      addPending(inner.messages as readonly Message[], [...path, part.toolRequest.ref], pending);
    else if ('interrupt' in metadata)
      pending.push(path.length > 0 ? { ...part, metadata: { ...metadata, path } } : part);
  }
}
