// The recipe, low level: the page knows which tool asks, and answers with a text in place of the result.
'use client';

import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { useState } from 'react';
import type { LowLevelMessage } from '../app/api/low-level/route.ts';
import type { ModelName } from '../chat/top-bar.tsx';
import { Confirmation, PlainChat, Trace } from './plain-chat.tsx';

export function LowLevelChat({ model }: { readonly model: ModelName }) {
  const { messages, addToolOutput, sendMessage, status, error } = useChat<LowLevelMessage>({
    transport: new DefaultChatTransport({ api: '/api/low-level' }),
  });
  const [answers, setAnswers] = useState<ReadonlyMap<string, boolean>>(new Map());
  const isPending = messages.some(({ parts }) =>
    parts.some((part) => part.type === 'tool-getWeatherInformation' && part.state === 'input-available'),
  );

  return (
    <PlainChat
      page="/low-level"
      title="The recipe, low level"
      about="The recipe's first version, unchanged. It trusts the browser: choose it to compare, not for an app."
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
          if (part.type !== 'tool-getWeatherInformation') return null;
          const { toolCallId, input, state } = part;
          const answer = answers.get(toolCallId);
          if (answer !== undefined)
            return (
              <Trace key={key} yes={answer}>
                get weather information for {input?.city}
              </Trace>
            );
          if (state !== 'input-available') return null;
          return (
            <Confirmation
              key={key}
              onAnswer={async (yes) => {
                setAnswers(new Map(answers).set(toolCallId, yes));
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
