// A throw-away PostgreSQL of our own on a free loopback port, plus the counters case F reads.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import pg from 'pg';

// The folder of initdb and postgres: $PG_BIN, or where pg_config or the usual packages say.
function serverBin() {
  const debian = '/usr/lib/postgresql';
  const asked = () => {
    try {
      return [
        execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim(),
      ];
    } catch {
      return [];
    }
  };
  const packaged = () =>
    fs.existsSync(debian)
      ? fs
          .readdirSync(debian)
          .sort((a, b) => b - a)
          .map((v) => path.join(debian, v, 'bin'))
      : [];
  const found = [process.env.PG_BIN, ...asked(), ...packaged()].find(
    (dir) => dir && fs.existsSync(path.join(dir, 'postgres')),
  );
  if (!found) throw new Error('Case F needs a PostgreSQL server: set PG_BIN to the folder of its programs.');
  return found;
}

const freePort = () =>
  new Promise((res) => {
    const s = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = s.address();
      s.close(() => res(port));
    });
  });

// Durability settings are the defaults (fsync on, synchronous_commit on). Checkpoints and autovacuum are kept
// out of the measured window, and pg_stat_statements counts every statement, BEGIN and COMMIT included.
export async function startPostgres(dataDir, env = process.env) {
  const BIN = serverBin();
  const port = await freePort();
  const asUser =
    process.getuid?.() === 0
      ? { uid: +execFileSync('id', ['-u', 'postgres']), gid: +execFileSync('id', ['-g', 'postgres']) }
      : {};
  fs.rmSync(dataDir, { recursive: true, force: true });
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (asUser.uid) fs.chownSync(dataDir, asUser.uid, asUser.gid);
  execFileSync(path.join(BIN, 'initdb'), ['-D', dataDir, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C'], {
    ...asUser,
    stdio: 'ignore',
    cwd: '/',
  });
  const opts = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '512MB',
    checkpoint_timeout: '1h',
    max_wal_size: '8GB',
    autovacuum: 'off',
    shared_preload_libraries: 'pg_stat_statements',
    'pg_stat_statements.track': 'top',
    'pg_stat_statements.max': 10000,
    jit: 'off',
  };
  const child = spawn(
    path.join(BIN, 'postgres'),
    ['-D', dataDir, ...Object.entries(opts).flatMap(([k, v]) => ['-c', `${k}=${v}`])],
    {
      ...asUser,
      env,
      cwd: '/',
      stdio: ['ignore', 'ignore', fs.openSync(`${dataDir}.log`, 'w')],
    },
  );
  const url = (db) => `postgres://bench@127.0.0.1:${port}/${db}`;
  for (let i = 0; ; i++) {
    const c = new pg.Client({ connectionString: url('postgres') });
    try {
      await c.connect();
      await c.end();
      break;
    } catch (e) {
      if (i > 100) throw e;
      await new Promise((r) => setTimeout(r, 200));
    }
  }
  const admin = new pg.Client({ connectionString: url('postgres') });
  await admin.connect();
  await admin.query('CREATE EXTENSION pg_stat_statements');
  return {
    port,
    pid: child.pid,
    url,
    admin,
    async database(name) {
      await admin.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
      await admin.query(`CREATE DATABASE "${name}"`);
      return url(name);
    },
    // cumulative counters for one database (statements) and the whole server (WAL, CPU)
    async counters(name) {
      const s = await admin.query(
        `SELECT coalesce(sum(calls),0)::float8 AS statements,
                coalesce(sum(calls) FILTER (WHERE query !~* '^\\s*(begin|commit|rollback|start transaction|savepoint|release|set )'),0)::float8 AS data_statements
           FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)`,
        [name],
      );
      const w = await admin.query(`SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal`);
      return { ...s.rows[0], wal: w.rows[0].wal, cpuMs: serverCpuMs(child.pid) };
    },
    async statements(name) {
      return (
        await admin.query(
          `SELECT calls::int, query FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1) ORDER BY calls DESC LIMIT 40`,
          [name],
        )
      ).rows;
    },
    async size(name) {
      return +(await admin.query('SELECT pg_database_size($1)::float8 AS s', [name])).rows[0].s;
    },
    async stop() {
      await admin.end();
      child.kill('SIGINT'); // fast shutdown, by pid
      await new Promise((r) => child.once('exit', r));
      for (const left of [dataDir, `${dataDir}.log`]) fs.rmSync(left, { recursive: true, force: true });
    },
  };
}

const HZ = 100;
function serverCpuMs(pid) {
  const ticks = (p) => {
    try {
      const f = fs.readFileSync(`/proc/${p}/stat`, 'utf8').split(') ')[1].split(' ');
      return { ppid: +f[1], own: +f[11] + +f[12], kids: +f[13] + +f[14] };
    } catch {
      return null;
    }
  };
  const me = ticks(pid);
  let t = me.own + me.kids; // kids: reaped backends
  for (const p of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(p)) continue;
    const s = ticks(p);
    if (s && s.ppid === pid) t += s.own;
  }
  return (t * 1000) / HZ;
}

// Bytes this process sent to / received from the server, whichever client library the peer uses.
export function countSocketBytes(port) {
  const socks = new Set();
  const orig = net.Socket.prototype.connect;
  net.Socket.prototype.connect = function (...a) {
    const o = Array.isArray(a[0]) ? a[0][0] : a[0];
    if (+(typeof o === 'object' ? o?.port : o) === +port) socks.add(this);
    return orig.apply(this, a);
  };
  return () => {
    let out = 0,
      inn = 0;
    for (const s of socks) {
      out += s.bytesWritten ?? 0;
      inn += s.bytesRead ?? 0;
    }
    return { out, in: inn };
  };
}
