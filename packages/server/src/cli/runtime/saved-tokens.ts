// The tokens that `countersign login` has got, one per server, in a file that only this user can read.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isRecord } from '../../is-record.ts';

type SavedToken = { readonly token: string; readonly person: string; readonly expiresAt: number | null };

/** Beside the settings of other programs of this user. */
function tokensFile(): string {
  const { XDG_CONFIG_HOME, APPDATA } = process.env;
  const folder = process.platform === 'win32' ? APPDATA : XDG_CONFIG_HOME;
  return join(folder || join(homedir(), '.config'), 'countersign', 'tokens.json');
}

/** The token for exactly this server; undefined if there is none, or it has expired. */
export function savedToken(url: string): SavedToken | undefined {
  const saved = read()[url];
  return saved && (saved.expiresAt === null || saved.expiresAt > Date.now()) ? saved : undefined;
}

export function saveToken(url: string, token: SavedToken): void {
  write({ ...read(), [url]: token });
}

/** Returns false if there was none. */
export function forgetToken(url: string): boolean {
  const { [url]: found, ...others } = read();
  if (found) write(others);
  return found !== undefined;
}

/** A file that cannot be read, or is not ours, has no tokens. */
function read(): Readonly<Record<string, SavedToken>> {
  try {
    const saved: unknown = JSON.parse(readFileSync(tokensFile(), 'utf8'));
    const entries = isRecord(saved) ? Object.entries(saved) : [];
    return Object.fromEntries(
      entries.filter(
        (entry): entry is [string, SavedToken] => isRecord(entry[1]) && typeof entry[1].token === 'string',
      ),
    );
  } catch {
    return {};
  }
}

/** As a whole: a command that ends in the middle leaves the file as it was. */
function write(tokens: Readonly<Record<string, SavedToken>>): void {
  const file = tokensFile();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify(tokens, null, 2)}\n`, { mode: 0o600 });
    chmodSync(draft, 0o600);
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}
