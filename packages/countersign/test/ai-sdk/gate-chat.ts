// The gate and a real chat client, which posts once everything is decided. Runs for each version of the AI SDK.
import { type AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { countersign, memoryStore } from 'countersign';
import { gateTools } from 'countersign/ai-sdk';
import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import type { BankOptions, Part } from './bank.ts';
import { open } from './run-attacks.ts';

type ChatOf = (options: { id: string; transport: any; sendAutomaticallyWhen: any }) => AbstractChat<any>;

const GATES: Record<string, () => NonNullable<BankOptions['gate']>> = {
  store: () => {
    const ai = countersign({ store: memoryStore() });
    return (tools, who) => gateTools(tools, { ...who, ai });
  },
  secret: () => (tools, who) => gateTools(tools, { ...who, secret: 'a secret that is long enough to be one' }),
};

export function gateChat(chatOf: ChatOf): void {
  describe.each(Object.keys(GATES))('a chat client and a gate with a %s', (kind) => {
    async function ask(text: string) {
      const bank = await open({ way: 'approval', gate: GATES[kind]?.() as NonNullable<BankOptions['gate']> });
      const transport = new DefaultChatTransport({ api: bank.url, headers: { 'x-person': 'ann' } });
      const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses;
      const chat = chatOf({ id: 'chat-1', transport, sendAutomaticallyWhen });
      await chat.sendMessage({ text });
      const parts = (): Part[] => chat.messages.at(-1)?.parts.filter((part: Part) => part.type === 'tool-transfer');
      const decide = async (...approved: boolean[]) => {
        for (const [index, part] of parts().entries())
          await chat.addToolApprovalResponse({ id: part.approval.id, approved: approved[index] ?? true });
        await eventually(() => expect(JSON.stringify(chat.messages.at(-1)?.parts.at(-1))).toContain('Very well.'));
        await eventually(() => expect(chat.status).toBe('ready'));
      };
      return { bank, chat, parts, decide };
    }

    test('approve: the tool runs once, and the client receives the result', async () => {
      const { bank, parts, decide } = await ask('pay');
      await decide(true);
      expect(bank.moved).toEqual([{ to: 'bob', amount: 10 }]);
      expect(parts()).toMatchObject([{ state: 'output-available', output: { receipt: 1 } }]);
    });

    test('deny: nothing runs, and the client receives the denial', async () => {
      const { bank, parts, decide } = await ask('pay');
      await decide(false);
      expect(bank.moved).toEqual([]);
      expect(parts()).toMatchObject([{ state: 'output-denied' }]);
    });

    test('after one of two calls is approved the conversation continues with another question', async () => {
      const { bank, chat, parts, decide } = await ask('pay twice');
      await decide(false, true);
      expect(bank.moved).toEqual([{ to: 'bob', amount: 20 }]);
      expect(parts().map(({ state }) => state)).toEqual(['output-denied', 'output-available']);
      await chat.sendMessage({ text: 'pay once more' });
      expect(JSON.stringify(bank.prompts.at(-1))).toContain('"receipt":1');
      await decide(true);
      expect(bank.moved).toHaveLength(2);
      expect(chat.messages).toHaveLength(4);
    });
  });
  test('an edit in the inbox to an input that needs no approval: the page answers, and gets the result', async () => {
    const store = memoryStore();
    const bank = await open({
      way: 'approval',
      needsApproval: ({ amount }) => amount > 5,
      gate: (tools, who) => gateTools(tools, { ...who, ai: countersign({ store }) }),
    });
    const { messages } = await bank.say('pay');
    const { runs } = countersign({ store });
    const [card] = (await runs.requests()).items;
    await runs.decide(card?.id ?? '', { type: 'approve', edit: { to: 'bob', amount: 5 } }, { by: 'ann' });
    const { messages: after } = await bank.post(bank.decided(messages, true));
    expect(after.at(-1)?.parts.filter(({ type }) => type === 'tool-transfer')).toMatchObject([
      { state: 'output-available', output: { receipt: 1 } },
    ]);
    expect(JSON.stringify(bank.prompts.at(-1))).toContain('"receipt":1');
    expect(bank.moved).toEqual([{ to: 'bob', amount: 5 }]);
  });
}
