// Starts Restate servers from npm for tests: each node with its own folder and free ports, ended by its process id.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { freePort } from '../../../scripts/free-port.mjs';

/** Small, because tests share a machine. */
const PARTITIONS = 2;
const MEMORY = '256 MiB';
const START_MS = 60_000;

export type RestateNode = {
  readonly ingress: string;
  readonly admin: string;
  readonly name: string;
  readonly folder: string;
  pid(): number | undefined;
  /** Resolves once the node is healthy. */
  start(): Promise<void>;
  /** Kills it at once, as a power cut would. */
  kill(): Promise<void>;
  /** Stops it in order. */
  stop(): Promise<void>;
};

/** Makes the nodes of one cluster without starting them. Every change is on as many nodes as `replication` says. */
export async function makeCluster(folder: string, nodes = 1, replication = Math.min(nodes, 2)): Promise<RestateNode[]> {
  const ports = await freePorts(nodes * 3);
  const places = Array.from({ length: nodes }, (_, index) => ({
    name: `n${index + 1}`,
    ...{ node: ports[3 * index] ?? 0, ingress: ports[3 * index + 1] ?? 0, admin: ports[3 * index + 2] ?? 0 },
  }));
  const members = places.map(({ node }) => `"http://127.0.0.1:${node}"`).join(', ');
  return places.map(({ name, node, ingress, admin }, index) => {
    const own = join(folder, name);
    mkdirSync(own, { recursive: true });
    const config = join(own, 'restate.toml');
    writeFileSync(
      config,
      `cluster-name = "countersign-test"
node-name = "${name}"
base-dir = "${own}"
auto-provision = ${index === 0}
default-replication = ${replication}
default-num-partitions = ${PARTITIONS}
bind-ip = "127.0.0.1"
bind-port = ${node}
advertised-address = "http://127.0.0.1:${node}"
listen-mode = "tcp"
disable-telemetry = true
rocksdb-total-memory-size = "${MEMORY}"
default-journal-retention = "0s"
[metadata-client]
type = "replicated"
addresses = [${members}]
[ingress]
bind-address = "127.0.0.1:${ingress}"
advertised-ingress-endpoint = "http://127.0.0.1:${ingress}"
[admin]
bind-address = "127.0.0.1:${admin}"
advertised-admin-endpoint = "http://127.0.0.1:${admin}"
disable-web-ui = true
[worker.invoker]
http2-keep-alive-interval = "1s"
http2-keep-alive-timeout = "2s"
connect-timeout = "2s"
`,
    );
    return nodeOf({
      name,
      folder: own,
      config,
      ingress: `http://127.0.0.1:${ingress}`,
      admin: `http://127.0.0.1:${admin}`,
    });
  });
}

type Place = Pick<RestateNode, 'name' | 'folder' | 'ingress' | 'admin'> & { readonly config: string };

function nodeOf({ config, ...place }: Place): RestateNode {
  let child: ChildProcess | undefined;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  return {
    ...place,
    pid: () => child?.pid,
    async start() {
      const log = openSync(join(place.folder, 'log'), 'a');
      child = spawn(serverPath(), ['--no-logo', '--config-file', config], { stdio: ['ignore', log, log] });
      await healthy(place, child);
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  };
}

/** The server's own binary: its launcher in npm would be one more process to end. */
function serverPath(): string {
  const launcher = createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json');
  const binary = `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`;
  return createRequire(launcher).resolve(binary);
}

async function healthy({ ingress, admin, folder }: Omit<Place, 'config'>, child: ChildProcess): Promise<void> {
  const addresses = [`${ingress}/restate/health`, `${admin}/health`];
  for (const startedAt = performance.now(); performance.now() - startedAt < START_MS; await delay(50)) {
    if (child.exitCode !== null) throw new Error(`restate-server ended with ${child.exitCode}, see ${folder}/log.`);
    const answers = await Promise.all(
      addresses.map((address) =>
        fetch(address).then(
          ({ ok }) => ok,
          () => false,
        ),
      ),
    );
    if (answers.every(Boolean)) return;
  }
  throw new Error(`restate-server did not become healthy, see ${folder}/log.`);
}

/** Makes the services at this address known to the cluster. */
export async function register(admin: string, port: number): Promise<void> {
  for (const startedAt = performance.now(); ; await delay(100)) {
    const response = await fetch(`${admin}/deployments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true }),
    }).catch((error: unknown) => new Response(String(error), { status: 503 }));
    if (response.ok) return;
    const answer = await response.text();
    if (performance.now() - startedAt > 20_000) throw new Error(`Restate did not take the services: ${answer}`);
  }
}

export async function freePorts(count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, freePort));
}
