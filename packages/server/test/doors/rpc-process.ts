// A program in a process of its own that speaks JSON-RPC by lines, sent as they are: no client library corrects them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { vi } from 'vitest';

export type RpcAnswer = {
  readonly id?: unknown;
  readonly result?: { readonly isError?: boolean; readonly content?: readonly { readonly text: string }[] };
  readonly error?: { readonly message: string };
};

export const HOSTILE_MS = 4_000;
const PATIENCE = { timeout: 30_000, interval: 20 };

export function openProcess(args: readonly string[]) {
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  const ended = once(child, 'close');
  const answers: RpcAnswer[] = [];
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  // A killed process no longer reads.
  child.stdin.on('error', () => undefined);
  createInterface({ input: child.stdout }).on('line', (line) => {
    try {
      answers.push(JSON.parse(line) as RpcAnswer);
    } catch {
      said += line;
    }
  });
  /** A hostile message may get no answer, and is waited for less. */
  const answer = async (id: unknown, timeout = PATIENCE.timeout): Promise<RpcAnswer> => {
    const found = () => answers.find((one) => one.id === id);
    await vi.waitUntil(() => found() ?? child.exitCode !== null, { ...PATIENCE, timeout }).catch(() => undefined);
    return found() ?? { id, error: { message: `No answer. ${said}` } };
  };
  const send = (line: string) => void child.stdin.write(`${line}\n`);
  let pings = 0;
  /** Sends a message that may get no answer: that of a ping shows that it was read. */
  const sendUnanswered = async (line: string): Promise<RpcAnswer> => {
    send(line);
    const id = `ping-${++pings}`;
    send(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }));
    await answer(id, HOSTILE_MS);
    return { error: { message: 'No answer.' } };
  };
  return {
    send,
    sendUnanswered,
    answer,
    end: (text: string) => child.stdin.end(text),
    /** What it printed for people, once that matches. */
    says: async (pattern: RegExp): Promise<RegExpExecArray> => {
      await vi.waitUntil(() => pattern.test(said), PATIENCE);
      return pattern.exec(said) as RegExpExecArray;
    },
    initialize: async () => {
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
      send(JSON.stringify({ jsonrpc: '2.0', id: 'init', method: 'initialize', params }));
      await answer('init');
      send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export type RpcProcess = ReturnType<typeof openProcess>;
