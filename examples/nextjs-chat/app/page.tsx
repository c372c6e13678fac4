// The page `/`: a chat whose questions are decided on cards. Its id is in the address, so a second tab shows the same.
import { Chat } from '../chat/chat.tsx';
import type { AppMessage } from '../chat/message.ts';
import { loadChat } from '../server/chat.ts';
import { chosenModel } from '../server/model.ts';

type Props = { readonly searchParams: Promise<{ readonly chat?: string | string[] }> };

export default async function Page({ searchParams }: Props) {
  const { chat } = await searchParams;
  const id = typeof chat === 'string' && /^[\w-]{1,64}$/.test(chat) ? chat : crypto.randomUUID();
  const loaded = await loadChat(id);
  const { name, isDemo } = await chosenModel();
  return (
    <Chat
      key={id}
      id={id}
      // What the route loads is typed by what this app says that its tools are.
      messages={(loaded?.messages ?? []) as unknown as AppMessage[]}
      isRunning={loaded?.status === 'running'}
      model={{ name, isDemo }}
    />
  );
}
