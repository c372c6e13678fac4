// The recipe's route and a real chat client, over real HTTP. Runs once for each version of the AI SDK.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type AbstractChat, DefaultChatTransport, getStaticToolName, isStaticToolUIPart, type UIMessage } from 'ai';
import { APPROVAL, getToolsRequiringConfirmation } from 'countersign/ai-sdk';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { serve } from './http.ts';
import { saying } from './model.ts';
import { writeRecipe } from './recipe-app.ts';

type ChatOf = (options: { id: string; transport: any; messages?: any[] }) => AbstractChat<any>;

export function recipeChat(chatOf: ChatOf): void {
  const { model, prompts } = saying((prompt) => {
    const last = prompt.at(-1);
    if (last?.role !== 'user') return { text: 'Take an umbrella.' };
    const asksTime = JSON.stringify(last.content).includes('time');
    if (asksTime) return { calls: [{ id: 'time-1', tool: 'getLocalTime', input: { location: 'Paris' } }] };
    return { calls: [{ id: 'weather-1', tool: 'getWeatherInformation', input: { city: 'Paris' } }] };
  });

  beforeEach(() => {
    // The recipe names its model by a string, which the AI SDK looks up here.
    vi.stubGlobal('AI_SDK_DEFAULT_PROVIDER', { specificationVersion: 'v3', languageModel: () => model });
    vi.spyOn(console, 'log').mockImplementation(() => undefined);
  });
  afterEach(() => void prompts.splice(0));

  /** The recipe's page without its styles: its messages and its two buttons. */
  async function page() {
    const folder = writeRecipe();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const url = (file: string) => pathToFileURL(join(folder, 'app/api/chat', file)).href;
    const { POST } = await import(/* @vite-ignore */ url('route.ts'));
    const { tools } = await import(/* @vite-ignore */ url('tools.ts'));
    const posts = vi.fn<(request: Request) => Promise<Response>>(POST);
    const server = await serve(posts);
    onTestFinished(() => server.close());
    const chat = chatOf({ id: 'chat-1', transport: new DefaultChatTransport({ api: server.url }) });
    const requiring = getToolsRequiringConfirmation(tools);
    const pending = () =>
      chat.messages.flatMap((message: UIMessage) =>
        message.parts.filter(
          (part) =>
            isStaticToolUIPart(part) && part.state === 'input-available' && requiring.includes(getStaticToolName(part)),
        ),
      ) as any[];
    const press = async (output: string) => {
      const [part] = pending();
      await chat.addToolOutput({ toolCallId: part.toolCallId, tool: getStaticToolName(part), output });
      await chat.sendMessage();
    };
    return { chat, pending, press, posts };
  }

  describe('the recipe, from the page to the model and back', () => {
    test('yes: the tool runs on the server, and the page and the model receive its result', async () => {
      const { chat, pending, press, posts } = await page();
      await chat.sendMessage({ text: 'What is the weather in Paris?' });
      expect(pending()).toMatchObject([{ input: { city: 'Paris' } }]);
      await press(APPROVAL.YES);
      expect(chat.status).toBe('ready');
      expect(posts).toHaveBeenCalledTimes(2);
      const parts = chat.messages.at(-1)?.parts as any[];
      expect(parts.find((part) => part.toolCallId === 'weather-1')).toMatchObject({
        state: 'output-available',
        output: expect.stringMatching(/^The weather in Paris is \w+\.$/),
      });
      expect(parts.at(-1)).toMatchObject({ type: 'text', text: 'Take an umbrella.' });
      expect(chat.messages).toHaveLength(2);
      expect(JSON.stringify(prompts.at(-1))).toContain('The weather in Paris is');
      expect(JSON.stringify(prompts.at(-1))).not.toContain(APPROVAL.YES);
    });

    test('no: nothing runs, and the model learns it', async () => {
      const { chat, press } = await page();
      await chat.sendMessage({ text: 'What is the weather in Paris?' });
      await press(APPROVAL.NO);
      expect(JSON.stringify(prompts.at(-1))).toContain('The user denied this call. The tool was not run.');
      expect(chat.messages.at(-1)?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Take an umbrella.' });
    });

    test('a tool with execute runs without a question, and the conversation continues', async () => {
      const { chat, pending, press } = await page();
      await chat.sendMessage({ text: 'What time is it in Paris?' });
      expect(pending()).toEqual([]);
      expect(JSON.stringify(prompts.at(-1))).toContain('10am');
      await chat.sendMessage({ text: 'And the weather?' });
      await press(APPROVAL.YES);
      expect(chat.status).toBe('ready');
      expect(chat.messages).toHaveLength(4);
    });
  });
}
