// The recipe with its abstraction: whichever tool asks, the page shows the call and answers with `APPROVAL`.
'use client';

import { useChat } from '@ai-sdk/react';
import { VisibleText } from '@countersign/react';
import { DefaultChatTransport, getStaticToolName, isStaticToolUIPart } from 'ai';
import { APPROVAL } from 'countersign/ai-sdk';
import type { RecipeMessage, RecipeTools } from '../app/api/use-chat-human-in-the-loop/tools.ts';
import type { ModelName } from '../chat/top-bar.tsx';
import { Confirmation, PlainChat } from './plain-chat.tsx';

export type RecipeChatProps = {
  readonly model: ModelName;
  /** The names of the tools that ask; the tools themselves stay on the server. */
  readonly toolsRequiringConfirmation: readonly string[];
};

export function RecipeChat({ model, toolsRequiringConfirmation }: RecipeChatProps) {
  const { messages, addToolOutput, sendMessage, status, error } = useChat<RecipeMessage>({
    transport: new DefaultChatTransport({ api: '/api/use-chat-human-in-the-loop' }),
  });
  const asks = (part: RecipeMessage['parts'][number]) =>
    isStaticToolUIPart(part) &&
    part.state === 'input-available' &&
    toolsRequiringConfirmation.includes(getStaticToolName(part));

  return (
    <PlainChat
      page="/use-chat-human-in-the-loop"
      title="The recipe"
      about="The AI SDK's human-in-the-loop recipe with processToolCalls, behind a gate that records every question in a store. Ask for the weather, which needs your confirmation, or for the time in a city, which does not."
      model={model}
      isBusy={status === 'submitted' || status === 'streaming'}
      error={error}
      isPending={messages.some(({ parts }) => parts.some(asks))}
      onSend={(text) => void sendMessage({ text })}
      messages={messages.map(({ id, role, parts }) => ({
        id,
        role,
        content: parts.map((part, index) => {
          const key = `${part.type}-${index}`;
          if (part.type === 'text') return <div key={key}>{part.text}</div>;
          if (!isStaticToolUIPart(part) || !asks(part)) return null;
          const { toolCallId, input } = part;
          const tool = getStaticToolName<RecipeTools>(part);
          return (
            <Confirmation
              key={key}
              onAnswer={async (yes) => {
                await addToolOutput({ toolCallId, tool, output: yes ? APPROVAL.YES : APPROVAL.NO });
                await sendMessage();
              }}
            >
              Run <code className="font-mono text-sm">{tool}</code> with:
              <pre className="mt-2 rounded-lg bg-stone-100 p-2 font-mono text-sm whitespace-pre-wrap dark:bg-stone-950">
                <VisibleText text={JSON.stringify(input, null, 2)} />
              </pre>
            </Confirmation>
          );
        }),
      }))}
    />
  );
}
