// Counts hashes and SQL statements, whoever makes them. Import this before anything that does.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import pg from 'pg';

export const counted = { hashes: 0, statements: 0 };

count(crypto, ['hash', 'createHash'], 'hashes');
count(crypto.webcrypto.subtle.constructor.prototype, ['digest'], 'hashes');
count(StatementSync.prototype, ['run', 'get', 'all', 'iterate'], 'statements');
count(DatabaseSync.prototype, ['exec'], 'statements');
count(pg.Client.prototype, ['query'], 'statements');
syncBuiltinESMExports();

function count(object, names, what) {
  for (const name of names) {
    const real = object[name];
    object[name] = function (...given) {
      counted[what] += 1;
      return real.apply(this, given);
    };
  }
}
