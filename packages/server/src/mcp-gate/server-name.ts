// The name of an MCP server, from the command or the address that its operator wrote. The server's own word does not count.

const RUNNERS = new Set([
  'npx',
  'npm',
  'pnpm',
  'yarn',
  'bunx',
  'bun',
  'uvx',
  'uv',
  'node',
  'deno',
  'python',
  'python3',
  'exec',
  'dlx',
  'run',
  'x',
  'tool',
]);

/** As in `server-filesystem` for `npx -y @modelcontextprotocol/server-filesystem@1.2 /tmp`. */
export function nameOfCommand(words: readonly string[]): string {
  const [first = 'mcp', ...rest] = words.filter((word) => !word.startsWith('-'));
  const named = [first, ...rest].find((word) => !RUNNERS.has(fileOf(word))) ?? first;
  return cleaned(
    fileOf(named)
      .replace(/(?<=.)@.*$/, '')
      .replace(/\.(m?[jt]s|py|cjs)$/, ''),
  );
}

export const nameOfUrl = (url: string): string => cleaned(new URL(url).host);

const fileOf = (word: string): string => word.split('/').findLast((part) => part !== '') ?? word;

const cleaned = (name: string): string =>
  name
    .replaceAll(/[^\w-]+/g, '-')
    .replaceAll(/__+/g, '_')
    .slice(0, 40)
    .replaceAll(/^-+|[-_]+$/g, '') || 'mcp';
