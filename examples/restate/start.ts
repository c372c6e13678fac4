// Starts everything on this machine: a Restate server, the services, and a Countersign server with the inbox. Ctrl-C stops it.
// Run it with: node examples/restate/start.ts
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: '.data/restate' },
    port: { type: 'string', default: '3000' },
    services: { type: 'string', default: '9080' },
    ingress: { type: 'string', default: '8080' },
    admin: { type: 'string', default: '9070' },
    node: { type: 'string', default: '5122' },
  },
});
const data = resolve(values.data);
mkdirSync(data, { recursive: true });
const env = {
  ...process.env,
  INGRESS: `http://127.0.0.1:${values.ingress}`,
  ADMIN: `http://127.0.0.1:${values.admin}`,
  LISTS: join(data, 'lists.sqlite'),
  SERVICES_PORT: values.services,
};
const children: ChildProcess[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);

const config = join(data, 'restate.toml');
writeFileSync(
  config,
  `node-name = "example"
base-dir = "${data}"
bind-ip = "127.0.0.1"
bind-port = ${values.node}
listen-mode = "tcp"
disable-telemetry = true
rocksdb-total-memory-size = "256 MiB"
default-num-partitions = 4
[ingress]
bind-address = "127.0.0.1:${values.ingress}"
[admin]
bind-address = "127.0.0.1:${values.admin}"
disable-web-ui = true
`,
);
start(restateServer(), ['--no-logo', '--config-file', config], 'ignore');
await answer(`${env.ADMIN}/health`);
start(process.execPath, [join(import.meta.dirname, 'services.ts')], 'inherit');
await register(`http://127.0.0.1:${values.services}`);
const countersign = join(import.meta.dirname, '../../packages/server/bin/countersign.js');
start(process.execPath, [countersign, 'dev', join(import.meta.dirname, 'agents.ts'), '--port', values.port], 'inherit');

function start(command: string, args: readonly string[], output: 'inherit' | 'ignore'): void {
  const child = spawn(command, args, { env, stdio: ['ignore', output, output] });
  // Without one of its parts, the example is over.
  child.once('exit', stop);
  children.push(child);
}

function stop(): void {
  for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
}

function restateServer(): string {
  const launcher = createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json');
  return createRequire(launcher).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  );
}

async function answer(address: string): Promise<void> {
  while (
    !(await fetch(address).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await delay(100);
}

/** Tells Restate where the services are. In production: once per release. */
async function register(uri: string): Promise<void> {
  const body = JSON.stringify({ uri, force: true });
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  while (
    !(await fetch(`${env.ADMIN}/deployments`, request).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await delay(100);
}
