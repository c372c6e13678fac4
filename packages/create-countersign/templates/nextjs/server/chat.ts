// The chat: the agent on its store, and the route that `useChat` talks to.
import { mkdirSync } from 'node:fs';
import { sqliteStore } from 'countersign/sqlite';
import { type ChatRoute, chatRoute } from 'countersign/ui';
import { createAgent } from './agent.ts';
import { model } from './model.ts';

// Next.js loads this file several times and reloads it during development; the process still has one chat.
const shared = globalThis as { countersignChat?: ChatRoute };

/** Opens the store on first use: `next build` must not open it. */
export function openChat(): ChatRoute {
  shared.countersignChat ??= open();
  return shared.countersignChat;
}

function open(): ChatRoute {
  mkdirSync('.data', { recursive: true });
  const { ai, agent } = createAgent({ model, store: sqliteStore('.data/chat.sqlite') });
  // Resumes crashed runs and applies deadlines.
  ai.runs.work({ onError: (error) => console.error(error) });
  // `demo` treats every visitor as one person. Before you deploy, identify your users instead:
  // chatRoute(agent, { authorize: async (request) => ({ id: (await sessionOf(request)).userId }) })
  return chatRoute(agent, { demo: true });
}
