// Starts a worker, and sends it orders.
import { fork } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const WORKER = join(import.meta.dirname, 'worker.mjs');

export async function startWorker(system, options) {
  const log = openSync(join(options.folder, 'log'), 'a');
  const child = fork(WORKER, [system, JSON.stringify(options)], { stdio: ['ignore', log, log, 'ipc'] });
  closeSync(log);
  const open = new Map();
  let count = 0;
  const ended = new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      for (const { settle } of open.values()) settle({ failed: 'the process ended' });
      resolve(signal ?? code);
    });
  });
  await new Promise((resolve, reject) => {
    child.on('message', (message) => {
      if (message.ready) return resolve();
      open.get(message.order)?.settle(message);
      open.delete(message.order);
    });
    void ended.then((how) =>
      reject(
        new Error(
          `The worker of ${system} ended: ${how}\n${readFileSync(join(options.folder, 'log'), 'utf8').slice(-1_500)}`,
        ),
      ),
    );
  });
  return {
    child,
    ended,
    /** Resolves to `{ said }`, `{ failed }` or `{ missing }`, and to `{ late }` if nothing comes in time. */
    order(method, args = [], timeoutMs = 15_000) {
      const order = ++count;
      return new Promise((resolve) => {
        const timer = setTimeout(() => settle({ late: true, failed: 'no answer in time' }), timeoutMs);
        const settle = (answer) => {
          clearTimeout(timer);
          resolve(answer);
        };
        open.set(order, { settle });
        child.send({ order, method, args }, (error) => error && settle({ failed: 'the process ended' }));
      });
    },
    async stop(signal = 'SIGKILL') {
      child.kill(signal);
      await ended;
    },
  };
}
