// Cards as browsers get them: what a question shows, what fits it, and who may decide it.
import type { Interrupt } from '../core/event.ts';
import type { Json } from '../core/json.ts';
import type { ToolDefinition } from '../loop/tool.ts';
import type { JsonSchema } from '../models/model.ts';
import { digestOf, type PendingCard } from '../runs/card.ts';
import type { Allowed, InterruptCard } from './card.ts';

type Tools = ReadonlyMap<string, ToolDefinition>;

/** The card of a question that waits. `mayDecide` says whether the reader may decide it. */
export function cardOf(
  key: string,
  pending: PendingCard,
  at: number | undefined,
  tools: Tools,
  mayDecide: (card: InterruptCard) => boolean,
): InterruptCard {
  const { part, interrupt, kind } = pending;
  const { ref } = part.toolRequest;
  const path = pathOf(part.metadata?.path);
  const tool = toolAt(tools, path.length)?.get(pending.tool);
  const allows = allowsOf(kind);
  const card: InterruptCard = {
    id: key,
    toolCallId: [...path, ref].join('/'),
    tool: pending.tool,
    kind: kind === 'inside' ? 'interrupt' : kind,
    status: 'pending',
    input: pending.input,
    payload: pending.payload,
    risk: interrupt.risk ?? null,
    labels: interrupt.labels ?? [],
    createdAt: at ?? null,
    expiresAt: interrupt.expiresAt ?? null,
    onExpiry: interrupt.expiresAt === undefined ? null : (interrupt.onExpiry ?? 'reject'),
    allows,
    mayDecide: false,
    digest: digestOf(key, { part } as unknown as Json),
    inputSchema: allows.includes('edit') ? schemaOf(tool?.input) : null,
    answerSchema: allows.includes('respond') ? schemaOf(tool?.output) : null,
    decision: null,
    problems: [],
  };
  return { ...card, mayDecide: mayDecide(card) };
}

/** The tools of the agents that are so deep inside; the path names calls, so every agent of that depth is looked at. */
function toolAt(tools: Tools, depth: number): Tools {
  let found = tools;
  for (let left = depth; left > 0; left--)
    found = new Map([...found.values()].flatMap((tool) => [...(tool.innerTools?.() ?? [])]));
  return found;
}

function pathOf(path: unknown): readonly string[] {
  return Array.isArray(path) ? path.filter((ref) => typeof ref === 'string') : [];
}

/** Where there is no schema, any JSON is taken. */
function schemaOf(schema: ToolDefinition['input'] | undefined): JsonSchema | null {
  if (!schema) return null;
  try {
    return schema.json();
  } catch {
    // It validates but cannot be told; a form for any JSON does, and the server checks what comes.
    return {};
  }
}

/** What a person may decide about a question of this kind. */
export function allowsOf(kind: Interrupt['kind']): readonly Allowed[] {
  switch (kind) {
    case 'approval':
    case 'unavailable':
      return ['approve', 'edit', 'reject'];
    case 'question':
      return ['respond', 'reject'];
    case 'interrupt':
    case 'inside':
      return ['approve', 'edit', 'reject', 'respond', 'restart'];
    // It happened, with this result; it did not, so run it; leave it and tell the model.
    case 'unknown-outcome':
      return ['respond', 'approve', 'cancel'];
  }
}
