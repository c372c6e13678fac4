// The recipe with its abstraction: whichever tool asks, the page shows the call and answers with `APPROVAL`.
'use client';

import { useChat } from '@ai-sdk/react';
import { VisibleText } from '@countersign/react';
import { DefaultChatTransport, getStaticToolName, isStaticToolUIPart } from 'ai';
import { APPROVAL } from 'countersign/ai-sdk';
import { useState } from 'react';
import type { RecipeMessage, RecipeTools } from '../app/api/use-chat-human-in-the-loop/tools.ts';
import type { ModelName } from '../chat/top-bar.tsx';
import { Confirmation, PlainChat, Trace } from './plain-chat.tsx';

export type RecipeChatProps = {
  readonly model: ModelName;
  /** The names of the tools that ask; the tools themselves stay on the server. */
  readonly toolsRequiringConfirmation: readonly string[];
};

export function RecipeChat({ model, toolsRequiringConfirmation }: RecipeChatProps) {
  const { messages, addToolOutput, sendMessage, status, error } = useChat<RecipeMessage>({
    transport: new DefaultChatTransport({ api: '/api/use-chat-human-in-the-loop' }),
  });
  // The result takes the place of the answer in the message, so the page remembers what was said.
  const [answers, setAnswers] = useState<ReadonlyMap<string, boolean>>(new Map());
  const asks = (part: RecipeMessage['parts'][number]) =>
    isStaticToolUIPart(part) &&
    part.state === 'input-available' &&
    toolsRequiringConfirmation.includes(getStaticToolName(part));

  return (
    <PlainChat
      page="/use-chat-human-in-the-loop"
      title="The AI SDK's recipe, behind a gate"
      about="Your own streamText route; the gate records each question and runs a call once. Choose it to keep an existing route."
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
          if (!isStaticToolUIPart(part)) return null;
          const { toolCallId, input } = part;
          const tool = getStaticToolName<RecipeTools>(part);
          const answer = answers.get(toolCallId);
          if (answer !== undefined)
            return (
              <Trace key={key} yes={answer}>
                <code className="font-mono text-xs">{tool}</code> <VisibleText text={JSON.stringify(input)} />
              </Trace>
            );
          if (!asks(part)) return null;
          return (
            <Confirmation
              key={key}
              onAnswer={async (yes) => {
                setAnswers(new Map(answers).set(toolCallId, yes));
                await addToolOutput({ toolCallId, tool, output: yes ? APPROVAL.YES : APPROVAL.NO });
                await sendMessage();
              }}
            >
              Run <code className="font-mono text-sm">{tool}</code> with:
              <pre className="mt-2 rounded-md bg-sunken p-2 font-mono text-sm whitespace-pre-wrap">
                <VisibleText text={JSON.stringify(input, null, 2)} />
              </pre>
            </Confirmation>
          );
        }),
      }))}
    />
  );
}
