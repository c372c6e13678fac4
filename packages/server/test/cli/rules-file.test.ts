// `countersign.config.ts` beside the agents: its policies and rules are applied, and its mistakes end the command.

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore } from 'countersign';
import type { Policy } from 'countersign/request';
import { scriptedModel } from 'countersign/testing';
import { expect, onTestFinished, test } from 'vitest';
import { loadAgentsFile } from '../../src/cli/runtime/agents-file.ts';
import { findAgentsFile } from '../../src/cli/runtime/finding-agents-file.ts';

const DEFINES = `
  const pay = ai.defineTool({ name: 'pay', description: '', reversibility: 'irreversible' }, () => 'paid');
  const look = ai.defineTool({ name: 'look', description: '' }, () => 'seen');
  ai.defineAgent({ name: 'clerk', tools: [pay, look] });`;
const MAKER = `import { countersign } from 'countersign';
export default ({ store }) => { const ai = countersign({ store }); ${DEFINES} return ai; };`;
const INSTANCE = `import { countersign, memoryStore } from 'countersign';
export const ai = countersign({ store: memoryStore() }); ${DEFINES}`;
const CONFIG = `export const policies = { payments: { notRequester: true } };
export const rules = [{ reversibility: 'irreversible', policy: 'payments' }];`;

const DEFINED = `import { defineConfig } from '@countersign/server';
export default defineConfig({
  policies: { payments: { notRequester: true } },
  rules: [{ reversibility: 'irreversible', policy: 'payments' }],
  channels: [{ name: 'bot', deliver: async () => undefined }],
  server: { publicUrl: 'https://approvals.example.com' },
});`;

/** Loads the named file of a folder with these files, and says which policies calls of its tools wait for. */
async function rulesOf(files: Readonly<Record<string, string>>, named: string) {
  const loaded = await loadFrom(files, named);
  const environment = { store: memoryStore(), model: {} as never, providers: {}, env: {} };
  const ai = loaded.kind === 'instance' ? loaded.ai : await loaded.make(environment);
  const model = scriptedModel([{ calls: [{ name: 'pay' }, { name: 'look' }] }]);
  const { interrupts } = await ai.generate({ model, tools: ['pay', 'look'], prompt: 'Go.' });
  return interrupts.map(({ toolRequest, metadata }) => [
    toolRequest.name,
    (metadata?.policies as readonly Policy[] | undefined)?.map(({ name }) => name),
  ]);
}

async function loadFrom(files: Readonly<Record<string, string>>, named: string) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-rules-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(import.meta.dirname, '../../../../node_modules'), join(folder, 'node_modules'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const file = findAgentsFile(join(folder, named)) ?? '';
  const loaded = await loadAgentsFile(file);
  // Another command of this process may load it again.
  await loadAgentsFile(file);
  return loaded;
}

test.each<[string, Readonly<Record<string, string>>, string]>([
  ['beside agents.ts', { 'agents.ts': MAKER, 'countersign.config.ts': CONFIG }, 'agents.ts'],
  ['that is found first', { 'agents.ts': MAKER, 'countersign.config.ts': CONFIG }, 'countersign.config.ts'],
  ['beside an instance', { 'agents.js': INSTANCE, 'countersign.config.mjs': CONFIG }, 'agents.js'],
  ['with the agents', { 'countersign.config.ts': `${MAKER}\n${CONFIG}` }, 'countersign.config.ts'],
  ['made by defineConfig', { 'agents.ts': MAKER, 'countersign.config.ts': DEFINED }, 'countersign.config.ts'],
  ['in the agents file', { 'mine.ts': `${INSTANCE}\n${CONFIG}` }, 'mine.ts'],
])('a config %s is applied', async (_where, files, named) => {
  expect(await rulesOf(files, named)).toEqual([['pay', ['payments']]]);
});

test('the channels and the server options of a config are those of the server', async () => {
  const { server } = await loadFrom({ 'agents.ts': MAKER, 'countersign.config.ts': DEFINED }, 'agents.ts');
  expect(server).toMatchObject({ publicUrl: 'https://approvals.example.com', channels: [{ name: 'bot' }] });
  const wrong = 'export default { channels: [{ name: "a b" }] }';
  await expect(loadFrom({ 'agents.ts': MAKER, 'countersign.config.ts': wrong }, 'agents.ts')).rejects.toThrow(
    /countersign\.config\.ts: .*channels/,
  );
});

test.each([
  ['an unknown policy', "export const rules = [{ tool: 'pay', policy: 'none' }];", 'policy none, which is not defined'],
  ['an unknown tool', "export const rules = [{ tool: 'pai' }];", 'No agent has the tool pai. Known tools: pay, look'],
  ['an unknown condition', 'export const rules = [{ tools: 1 }];', '`rules[0]`: it has no tools'],
  ['rules that are no array', "export const rules = { tool: 'pay' };", 'must be an array'],
  ['an impossible policy', 'export const policies = { four: { quorum: 2 } };', 'The policy four cannot be used'],
  ['a syntax error', 'export const rules = [{;', 'failed to load'],
])('%s in it ends the command', async (_what, config, message) => {
  const loading = rulesOf({ 'agents.ts': INSTANCE, 'countersign.config.ts': config }, 'agents.ts');
  await expect(loading).rejects.toThrow(message);
  await expect(loading).rejects.toThrow('countersign.config.ts');
});

test('a tool can name a policy of the config', async () => {
  const agents = MAKER.replace("reversibility: 'irreversible'", "needsApproval: { policy: 'payments' }");
  const files = {
    'agents.ts': agents,
    'countersign.config.ts': 'export const policies = { payments: { notRequester: true } };',
  };
  expect(await rulesOf(files, 'agents.ts')).toEqual([['pay', ['payments']]]);
});

test('a config without agents beside it says what is missing', async () => {
  const loading = rulesOf({ 'countersign.config.ts': CONFIG }, 'countersign.config.ts');
  await expect(loading).rejects.toThrow('must export an instance');
});
