// What must hold for a real coding agent with the settings that `countersign agents install` writes.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { countersign } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { MAIN } from '../cli/workplace.ts';
import { COMMAND } from './guide.ts';
import { type Agent, binOf } from './installed-agent.ts';
import { startModel } from './scripted-model.ts';

const HANGS = '#!/bin/sh\nexec sleep 600\n';
/** For cases that end in a timeout: the same settings, but seconds instead of an hour. */
const short = (settings: string) =>
  settings.replace('"timeout": 3600', '"timeout": 4').replace('timeout 3550', 'timeout 2');
const installArgs = ({ name }: Agent) => [MAIN, 'agents', 'install', '--agent', name, '--yes'];

type Setup = { readonly command?: string; readonly settings?: (text: string) => string; readonly isTrusted?: boolean };

export function describeAgent(agent: Agent): void {
  describe(agent.title, { timeout: 300_000 }, () => {
    let program = '';
    const folders: string[] = [];
    beforeAll(() => {
      program = agent.install();
    }, 300_000);
    afterEach(() => {
      for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    });

    async function setUp({ command = COMMAND, settings = (text) => text, isTrusted = true }: Setup = {}) {
      const root = mkdtempSync(join(tmpdir(), 'countersign-agent-'));
      folders.push(root);
      const write = (path: string, content: string) => {
        mkdirSync(dirname(join(root, path)), { recursive: true });
        writeFileSync(join(root, path), content);
      };
      const place = (script: string) => {
        write('bin/countersign', script);
        chmodSync(join(root, 'bin/countersign'), 0o755);
      };
      place(COMMAND);
      const [home, project, effect] = [join(root, 'home'), join(root, 'project'), join(root, 'effect')];
      mkdirSync(project);
      mkdirSync(home);
      const PATH = [join(root, 'bin'), binOf(program), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter);
      const env = { HOME: home, PATH, USER: 'ada', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
      execFileSync(process.execPath, installArgs(agent), { cwd: project, env, stdio: 'pipe' });
      const file = join(home, agent.settingsFile);
      writeFileSync(file, settings(readFileSync(file, 'utf8')));
      if (command === '') rmSync(join(root, 'bin/countersign'));
      else place(command);
      if (isTrusted) await agent.trust(program, home, project);
      const started = async (file: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) => {
        const child = spawn(file, args, { cwd: project, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
        const [out, error] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
        return { code: child.exitCode, output: out + error };
      };
      return {
        home,
        store: join(home, '.countersign/agents.sqlite'),
        act: (word: string) => `echo ${word} >> ${effect}`,
        effects: () => (existsSync(effect) ? readFileSync(effect, 'utf8').trim().split('\n') : []),
        doctor: () => started(process.execPath, [MAIN, 'doctor', '--agents']),
        status: () => started(process.execPath, [MAIN, 'agents', 'status', '--agent', agent.name]),
        /** Runs the agent with a model that asks for these commands. Returns what the model was told. */
        async run(...commands: readonly string[]): Promise<readonly string[]> {
          const model = await startModel(commands);
          const { output } = await started(program, agent.args(model.url), agent.env(model.url));
          const told = model.results();
          model.close();
          if (told.length !== commands.length) throw new Error(`The agent ended early:\n${output}`);
          return told;
        },
      };
    }

    test('a call waits for a person, runs once if approved, never if rejected, and as edited', async () => {
      const { run, act, effects, store, status } = await setUp();
      const { code, output } = await status();
      expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('blocks if') });
      expect(output).toMatch(new RegExp(`^${agent.title} +\\d+\\.\\d+`, 'm'));
      const ai = countersign({ store: sqliteStore(store) });
      const next = async () => {
        await expect.poll(async () => (await ai.runs.requests()).items.length, { timeout: 60_000 }).toBe(1);
        const { items } = await ai.runs.requests();
        return items[0] ?? expect.unreachable();
      };
      const again = agent.takesEdits ? [] : [act('edited')];
      const running = run(act('once'), act('once'), act('raw'), ...again);
      const first = await next();
      expect(first).toMatchObject({ agent: agent.name, tool: agent.tool });
      expect(first.part.metadata?.title).toMatch(
        new RegExp(`^${agent.describes ? 'Scripted' : agent.tool}: echo once`),
      );
      expect(effects()).toEqual([]);
      await ai.runs.decide(first.id, 'approve', { by: 'bea' });
      await ai.runs.decide((await next()).id, 'reject', { by: 'bea' });
      const edit = { command: act('edited'), ...(agent.describes && { description: 'Edited' }) };
      await ai.runs.decide((await next()).id, { type: 'approve', edit }, { by: 'bea' });
      const [, repeated, changed] = await running;
      expect(repeated).toContain(`${agent.tool} was not run: a person rejected it.`);
      if (!agent.takesEdits) expect(changed).toContain('a person changed its input');
      expect(effects()).toEqual(['once', 'edited']);
      const { items } = await ai.runs.list();
      expect(items.map(({ status }) => status)).toEqual(items.map(() => 'done'));
      await ai.runs.store.close();
    });

    test('a call that is not decided in time does not run', async () => {
      const { run, act, effects } = await setUp({ settings: (text) => text.replace('--wait 3500', '--wait 0') });
      const [told] = await run(act('held'));
      expect(told).toContain("waits for a person's decision");
      expect(effects()).toEqual([]);
    });

    test.each([
      ['the command is missing', { command: '' }],
      ['the command crashes', { command: '#!/bin/sh\nkill -9 $$\n' }],
      ['the hook hangs', { command: HANGS, settings: short }],
    ])('no call runs if %s', async (_what, setup) => {
      const { run, act, effects } = await setUp(setup);
      await run(act('ungated'));
      expect(effects()).toEqual([]);
    });

    test('no call runs if the store is away, and the doctor says so', async () => {
      const { run, act, effects, store, doctor } = await setUp();
      // The sample call of the installation has made it.
      for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true });
      mkdirSync(store);
      const [told] = await run(act('ungated'));
      expect(told).toContain('The call is blocked');
      expect(effects()).toEqual([]);
      expect(await doctor()).toMatchObject({ code: 1, output: expect.stringContaining('it fails') });
    });

    if (agent.name === 'codex')
      test('the doctor finds a hook that Codex skips because it was not reviewed', async () => {
        const { run, act, effects, doctor } = await setUp({ isTrusted: false });
        expect(await doctor()).toMatchObject({ code: 1, output: expect.stringContaining('has not reviewed it') });
        await run(act('ungated'));
        // This is why the guide says what it says.
        expect(effects()).toEqual(['ungated']);
      });
  });
}
