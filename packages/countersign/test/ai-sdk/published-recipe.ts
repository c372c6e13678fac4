// The published `processToolCalls` of the recipe, without our hardening: the baseline for the attacks.
import { convertToModelMessages, getStaticToolName, isStaticToolUIPart, type UIMessage } from 'ai';
import { APPROVAL } from 'countersign/ai-sdk';

export async function publishedProcessToolCalls(
  { writer, messages }: { writer: { write(chunk: any): void }; messages: UIMessage[] },
  executeFunctions: Record<string, any>,
): Promise<UIMessage[]> {
  const lastMessage = messages[messages.length - 1];
  const parts = lastMessage?.parts;
  if (!lastMessage || !parts) return messages;
  const processedParts = await Promise.all(
    parts.map(async (part) => {
      if (!isStaticToolUIPart(part)) return part;
      const toolName = getStaticToolName(part);
      if (!(toolName in executeFunctions) || part.state !== 'output-available') return part;
      let result: unknown;
      if (part.output === APPROVAL.YES) {
        const toolInstance = executeFunctions[toolName];
        if (toolInstance) {
          const options = { messages: await convertToModelMessages(messages), toolCallId: part.toolCallId };
          result = await toolInstance(part.input, options);
        } else {
          result = 'Error: No execute function found on tool';
        }
      } else if (part.output === APPROVAL.NO) {
        result = 'Error: User denied access to tool execution';
      } else {
        return part;
      }
      writer.write({ type: 'tool-output-available', toolCallId: part.toolCallId, output: result });
      return { ...part, output: result };
    }),
  );
  return [...messages.slice(0, -1), { ...lastMessage, parts: processedParts as UIMessage['parts'] }];
}
