// The user pages: their TypeScript compiles as strictly as the package, blocks marked `ts run` run, and every link
// has a target. A block marked `ts ignore` is neither compiled nor run.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { entryTypes } from '../entry-types.ts';

const root = resolve(import.meta.dirname, '../../../..');
const pages = [
  'README.md',
  'AGENTS.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'packages/countersign/README.md',
  ...globSync('docs/**/*.md', { cwd: root }).sort(),
];
const blocks = pages.flatMap(blocksOf);
const compiled = blocks.filter((block) => block.kind !== 'ts ignore');
const executed = blocks.filter((block) => block.kind === 'ts run');

/** Names that the blocks use without saying where they come from. Blocks marked `ts run` have none of them. */
const PRELUDE = `
import type { Agent, Countersign, GenerateResponse, Message, Tool, ToolRequestPart } from 'countersign';

declare global {
  const ai: Countersign;
  let response: GenerateResponse;
  const messages: Message[];
  const tools: Tool[];
  const interrupt: ToolRequestPart;
  const askQuestion: Tool<{ question: string; choices: string[] }, string>;
  const pay: Tool<{ to: string; amount: number }, string>;
  const planner: Agent;
  /** A person at the other end. */
  function askUser(input: { question: string; choices: string[] }): Promise<string>;
  /** A payment service. */
  const bank: {
    send(payment: { to: string; amount: number }, options?: { idempotencyKey?: string; signal?: AbortSignal }): Promise<string>;
    find(idempotencyKey: string): Promise<string | undefined>;
  };
}
`;

const CONFIG = {
  extends: join(root, 'tsconfig.base.json'),
  compilerOptions: {
    composite: false,
    declaration: false,
    declarationMap: false,
    noEmit: true,
    rewriteRelativeImportExtensions: false,
    rootDir: root,
    types: ['node'],
    paths: {
      '@countersign/restate': [entryTypes('restate', 'index')],
      '@countersign/server': [entryTypes('server', 'index')],
      '@countersign/server/client': [entryTypes('server', 'client/index')],
      countersign: [entryTypes('countersign', 'index')],
      'countersign/ai-sdk': [entryTypes('countersign', 'gates/ai-sdk/index')],
      'countersign/request': [entryTypes('countersign', 'request')],
      'countersign/mastra': [entryTypes('countersign', 'gates/mastra/index')],
      'countersign/mcp': [entryTypes('countersign', 'mcp/index')],
      'countersign/genkit': [entryTypes('countersign', 'gates/genkit/index')],
      'countersign/openai-agents': [entryTypes('countersign', 'gates/openai-agents/index')],
      'countersign/postgres': [entryTypes('countersign', 'stores/postgres/postgres')],
      'countersign/sqlite': [entryTypes('countersign', 'stores/sqlite/sqlite')],
      'countersign/store': [entryTypes('countersign', 'store')],
      'countersign/testing': [entryTypes('countersign', 'testing/index')],
      'countersign/ui': [entryTypes('countersign', 'ui/index')],
    },
  },
  files: [
    'prelude.d.ts',
    ...globSync('packages/countersign/src/**/*.d.ts', { cwd: root }).map((file) => join(root, file)),
    ...compiled.map((block) => block.file),
  ],
};

let folder: string;
let complaints: readonly string[];

beforeAll(() => {
  mkdirSync(join(root, '.tmp'), { recursive: true });
  folder = mkdtempSync(join(root, '.tmp/docs-'));
  writeFileSync(join(folder, 'prelude.d.ts'), PRELUDE);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
  for (const { file, text } of compiled) writeFileSync(join(folder, file), text);
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '--project', folder, '--pretty', 'false'],
    { cwd: folder, encoding: 'utf8' },
  );
  complaints = `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '');
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the pages have blocks, and the compiler reports no other errors', () => {
  expect(executed.length).toBeGreaterThan(0);
  expect(complaints.filter((line) => !compiled.some((block) => line.startsWith(block.file)))).toEqual([]);
});

describe('compiles', () => {
  test.each(compiled)('$where', ({ file }) => {
    expect(complaints.filter((line) => line.startsWith(file))).toEqual([]);
  });
});

describe('runs', () => {
  test.each(executed)('$where', async ({ file }) => {
    vi.spyOn(console, 'log').mockImplementation(() => undefined);
    await import(/* @vite-ignore */ pathToFileURL(join(folder, file)).href);
  });
});

describe('links have a target', () => {
  test.each(pages)('%s', (page) => {
    expect(linksOf(page).filter((link) => !leadsSomewhere(page, link))).toEqual([]);
  });
});

type Block = {
  readonly kind: 'ts' | 'ts run' | 'ts ignore';
  readonly where: string;
  /** Named after its page and line, so that a complaint says where to look. */
  readonly file: string;
  /** The code on the same lines as in the page. */
  readonly text: string;
};

function blocksOf(page: string): readonly Block[] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  return lines.flatMap((line, index): Block | [] => {
    const kind = /^```(ts(?: run| ignore)?)$/.exec(line)?.[1] as Block['kind'] | undefined;
    if (!kind) return /^\s*```(ts|typescript)\b/.test(line) ? unknownKind(page, index, line) : [];
    const end = lines.indexOf('```', index + 1);
    return {
      kind,
      where: `${page}:${index + 1}`,
      file: `${page.replaceAll(/[^\w]/g, '-')}-${index + 1}.ts`,
      text: `${'\n'.repeat(index + 1)}${lines.slice(index + 1, end).join('\n')}\nexport {};\n`,
    };
  });
}

function unknownKind(page: string, index: number, line: string): never {
  throw new Error(`${page}:${index + 1} begins a block with ${line}; say \`\`\`ts, \`\`\`ts run or \`\`\`ts ignore.`);
}

function linksOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] as string);
}

/** Pages of others are not asked; a file must be there, and a heading in it. */
function leadsSomewhere(page: string, link: string): boolean {
  if (/^https?:/.test(link)) return true;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? join(root, page) : join(root, dirname(page), path);
  if (!existsSync(target) || relative(root, target).startsWith('..')) return false;
  return anchor === undefined || anchorsOf(target).includes(anchor);
}

function anchorsOf(path: string): readonly string[] {
  const headings = readFileSync(path, 'utf8').match(/^#+ .*$/gm) ?? [];
  return headings.map((heading) =>
    heading
      .replace(/^#+ /, '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
