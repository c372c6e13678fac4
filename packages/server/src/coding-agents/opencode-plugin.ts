// The plugin through which OpenCode asks. OpenCode has no hooks that run a command, so the plugin runs it.
import type { HookCommands } from './configured-hook.ts';

/** A plugin that throws keeps the call from running, so every failure throws. */
export const pluginText = ({ ask, end }: HookCommands): string => `// Written by: countersign agents install
import { spawn } from 'node:child_process';

const ASK = ${JSON.stringify(ask)};
const END = ${JSON.stringify(end)};

const run = (command, event) =>
  new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command]);
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (said[name] += text));
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve(said.stdout) : reject(new Error(said.stderr || 'The hook failed.'))));
    child.stdin.on('error', () => {}).end(JSON.stringify(event));
  });

export const Countersign = async ({ directory }) => {
  const call = ({ tool, sessionID, callID }, args) => ({
    session_id: sessionID,
    tool_use_id: callID,
    tool_name: tool,
    tool_input: args,
    cwd: directory,
  });
  return {
    'tool.execute.before': async (input, output) => {
      const text = await run(ASK, { hook_event_name: 'PreToolUse', ...call(input, output.args) });
      if (text.trim() === '') return;
      const answer = JSON.parse(text).hookSpecificOutput;
      if (answer.permissionDecision !== 'allow') throw new Error(answer.permissionDecisionReason);
      for (const name of Object.keys(output.args)) delete output.args[name];
      Object.assign(output.args, answer.updatedInput);
    },
    'tool.execute.after': async (input, { output }) => {
      const event = { hook_event_name: 'PostToolUse', ...call(input, input.args), tool_response: output ?? null };
      await run(END, event).catch(() => {});
    },
  };
};
`;
