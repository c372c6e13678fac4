// A run that is handed over: one process saves its messages at the pause, another one decides and continues.
//   node examples/hand-over.ts                                  starts a run and decides it in a second process
//   node examples/hand-over.ts start <folder>                   starts a run and leaves it in the folder
//   node examples/hand-over.ts decide <folder> approve|reject   continues it
// A file cannot keep two processes from deciding at the same time; a store can.
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approve, countersign, type Message, type ModelInput, reject, tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';

/** Payments are lines of a file, so that it shows who really paid, and when. */
const payTool = (folder: string) =>
  tool(
    {
      name: 'pay',
      description: 'Pays a bill.',
      inputSchema: z.object({ to: z.string(), amount: z.number() }),
      needsApproval: true,
    },
    ({ to, amount }) => {
      appendFileSync(join(folder, 'payments.txt'), `$${amount} to ${to}, by process ${process.pid}\n`);
      return { status: 'PAID' };
    },
  );

export async function start(model: ModelInput, folder: string): Promise<string> {
  const response = await countersign({ model }).generate({ prompt: 'Pay the butcher.', tools: [payTool(folder)] });
  writeFileSync(join(folder, 'messages.json'), JSON.stringify(response.messages, null, 2));
  return `Process ${process.pid} started a run; ${response.interrupts.length} call waits for a person.`;
}

export async function decide(model: ModelInput, folder: string, verdict: string): Promise<string> {
  const ai = countersign({ model });
  const file = join(folder, 'messages.json');
  const messages: Message[] = JSON.parse(readFileSync(file, 'utf8'));
  // A chat that starts with saved messages knows their pending questions.
  const chat = ai.chat({ messages, tools: [payTool(folder)] });
  if (chat.interrupts.length === 0) return 'Nothing is pending.';
  const response = await chat.send({
    resume:
      verdict === 'approve'
        ? { approve: chat.interrupts.map((interrupt) => approve(interrupt)) }
        : { reject: chat.interrupts.map((interrupt) => reject(interrupt, 'Not this month.')) },
  });
  writeFileSync(file, JSON.stringify(response.messages, null, 2));
  return `Process ${process.pid} decided: ${verdict}. The model says: ${response.text}`;
}

/** Each process has a separate model, which knows only the messages. */
export const butcherScript = () =>
  scriptedModel(({ messages }) => {
    const [result] = messages.at(-1)?.content ?? [];
    if (!result || !('toolResponse' in result))
      return { calls: [{ name: 'pay', input: { to: 'butcher', amount: 184 } }] };
    return result.metadata?.outcome === 'rejected' ? 'I paid nothing.' : 'The butcher is paid.';
  });

if (import.meta.main) {
  const [command, folder = mkdtempSync(join(tmpdir(), 'hand-over-')), verdict = 'approve'] = process.argv.slice(2);
  if (command === 'decide') console.log(await decide(butcherScript(), folder, verdict));
  else console.log(await start(butcherScript(), folder));
  if (command === undefined) {
    const script = [import.meta.filename, 'decide', folder, verdict];
    process.exitCode = spawnSync(process.execPath, script, { stdio: 'inherit' }).status ?? 1;
    console.log(`Paid: ${readFileSync(join(folder, 'payments.txt'), 'utf8').trim()}`);
    rmSync(folder, { recursive: true });
  }
}
