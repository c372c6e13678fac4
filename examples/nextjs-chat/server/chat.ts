// The chat of the page `/`: an agent with a store, and the route that `useChat` speaks to.
import { dirname, join } from 'node:path';
import { countersign } from 'countersign';
import { type ChatRoute, chatRoute, type LoadedChat } from 'countersign/ui';
import { openBank } from './bank.ts';
import { chosenModel } from './model.ts';
import { openStore, storePath } from './store.ts';
import { createTools } from './tools.ts';

// Next.js bundles pages and routes separately and reloads them during development; the process still has one chat.
const shared = globalThis as { countersignChat?: Promise<ChatRoute> };

/** Opened when it is first needed: building the app must not open a store. */
export function openChat(): Promise<ChatRoute> {
  shared.countersignChat ??= open();
  return shared.countersignChat;
}

/** The chat as the store has it; undefined if there is none with this id. */
export async function loadChat(id: string): Promise<LoadedChat | undefined> {
  const { GET } = await openChat();
  const response = await GET(new Request(`http://localhost/api/chat/${encodeURIComponent(id)}`));
  return response.ok ? response.json() : undefined;
}

async function open(): Promise<ChatRoute> {
  const { model } = await chosenModel();
  const ai = countersign({ model, store: openStore() });
  const assistant = ai.defineAgent({
    name: 'assistant',
    system: SYSTEM,
    tools: Object.values(createTools(openBank(join(dirname(storePath()), 'transfers.jsonl')))),
  });
  // Takes up what another process left behind, and the deadlines that pass.
  ai.runs.work({ onError: (error) => console.error(error) });
  return chatRoute(assistant, { demo: true, client: 7 });
}

const SYSTEM = `You are the assistant of a small company. Be brief.
Open invoices: Northwind Paper, 420.50 EUR, INV-1042; Contoso Hosting, 1280 EUR, INV-1043. Pay several with several calls at once.
Bob is bob@example.com, the team is team@example.com. When you need to know something, ask with askQuestion.
Payments and mails are shown to the user for approval by the app: call the tool, do not ask first.`;
