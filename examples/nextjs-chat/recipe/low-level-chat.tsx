// The recipe, low level: the page knows which tool asks, and answers with a text in place of the result.
'use client';

import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import type { LowLevelMessage } from '../app/api/low-level/route.ts';
import type { ModelName } from '../chat/top-bar.tsx';
import { Confirmation, PlainChat } from './plain-chat.tsx';

export function LowLevelChat({ model }: { readonly model: ModelName }) {
  const { messages, addToolOutput, sendMessage, status, error } = useChat<LowLevelMessage>({
    transport: new DefaultChatTransport({ api: '/api/low-level' }),
  });
  const isPending = messages.some(({ parts }) =>
    parts.some((part) => part.type === 'tool-getWeatherInformation' && part.state === 'input-available'),
  );

  return (
    <PlainChat
      page="/low-level"
      title="The recipe, low level"
      about="The AI SDK's human-in-the-loop recipe in its first version. Ask for the weather in a city."
      model={model}
      isBusy={status === 'submitted' || status === 'streaming'}
      error={error}
      isPending={isPending}
      onSend={(text) => void sendMessage({ text })}
      messages={messages.map(({ id, role, parts }) => ({
        id,
        role,
        content: parts.map((part, index) => {
          const key = `${part.type}-${index}`;
          if (part.type === 'text') return <div key={key}>{part.text}</div>;
          if (part.type !== 'tool-getWeatherInformation' || part.state !== 'input-available') return null;
          const { toolCallId, input } = part;
          return (
            <Confirmation
              key={key}
              onAnswer={async (yes) => {
                const output = yes ? 'Yes, confirmed.' : 'No, denied.';
                await addToolOutput({ toolCallId, tool: 'getWeatherInformation', output });
                await sendMessage();
              }}
            >
              Get weather information for {input.city}?
            </Confirmation>
          );
        }),
      }))}
    />
  );
}
