// Loads the chat that the URL names, or starts a new one.
import type { UIMessage } from 'ai';
import type { LoadedChat } from 'countersign/ui';
import { openChat } from '../server/chat.ts';
import { Chat } from './chat.tsx';

export default async function Page({ searchParams }: { readonly searchParams: Promise<{ readonly chat?: string }> }) {
  const { chat: id = crypto.randomUUID() } = await searchParams;
  const response = await openChat().GET(new Request(`http://localhost/api/chat/${encodeURIComponent(id)}`));
  const loaded: LoadedChat | undefined = response.ok ? await response.json() : undefined;
  const messages = (loaded?.messages ?? []) as unknown as UIMessage[];
  return <Chat key={id} id={id} messages={messages} resume={loaded?.status === 'running'} />;
}
