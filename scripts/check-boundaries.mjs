// Proves that the compiler and the linter refuse what STYLE forbids: in a copy of the configuration, a clean tree must
// pass, and each planted violation must be refused, by the rule that is meant to refuse it.
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root, run, tool } from './run.mjs';

const CLEAN = {
  'core/clean.ts': 'export const two = (one: number): number => one + one;',
  'core/clean.test.ts': "import { two } from './clean.ts';\nexport const time = async () => two(Date.now());",
  'core/authority/schemas.ts': "import { z } from 'zod';\nexport const name = z.string();",
  'core/asyncName.ts': 'export class Names {\n  asyncName(): string {\n    return "async";\n  }\n}',
  'loop/drive.ts': "import { two } from '../core/clean.ts';\nexport const four = two(2);",
  'models/port.ts': "import type { two } from '../core/clean.ts';\nexport type Port = typeof two;",
  'prompts/prompt.ts': "import { four } from '../loop/drive.ts';\nexport const eight = four + four;",
  'runs/run.ts': "import { four } from '../loop/drive.ts';\nexport const five = four + 1;",
  'stores/store.ts': "import { five } from '../runs/run.ts';\nexport const six = five + 1;",
  'ui/route.ts': "import { five } from '../runs/run.ts';\nexport const seven = five + 2;",
  'testing/script.ts': "import type { Port } from '../models/port.ts';\nexport type Script = Port;",
};

/** The server is linted only: its own compilation needs the engine. */
const CLEAN_SERVER = {
  'text/line.ts': 'export const line = (text: string): string => text.trim();',
  'cli/failure.ts': "import { line } from '../text/line.ts';\nexport const fail = line;",
  'cli/main.ts': "import { fail } from './failure.ts';\nexport const main = fail;",
};

const REFUSED = [
  ['core/outwards.ts', "import { four } from '../loop/drive.ts';\nexport const x = four;", 'TS6059'],
  ['core/node.ts', "import { readFileSync } from 'node:fs';\nexport const x = readFileSync;", 'TS2591'],
  ['core/package.ts', "import { z } from 'zod';\nexport const x = z;", 'noRestrictedImports'],
  ['core/authority/policy.ts', "import { z } from 'zod';\nexport const x = z;", 'noRestrictedImports'],
  ['core/timer.ts', 'export const x = setTimeout(() => {}, 1);', 'TS2304'],
  ['core/fetch.ts', "export const x = fetch('/');", 'TS2304'],
  ['core/crypto.ts', 'export const x = crypto.randomUUID();', 'TS2304'],
  ['core/log.ts', 'console.log(1);\nexport {};', 'TS2584'],
  ['core/clock.ts', 'export const x = Date.now();', 'noRestrictedGlobals'],
  ['core/chance.ts', 'export const x = Math.random();', 'noRestrictedGlobals'],
  ['core/global.ts', 'export const x = globalThis.Date;', 'noRestrictedGlobals'],
  ['core/promise.ts', 'export const x = Promise.resolve(1);', 'noRestrictedGlobals'],
  ['core/promiseType.ts', 'export type X = Promise<number>;', 'noRestrictedGlobals'],
  ['core/async.ts', 'export async function x() {}', 'No async in core/'],
  ['core/asyncArrow.ts', 'export const x = async () => 1;', 'No async in core/'],
  ['core/asyncMethod.ts', 'export class X {\n  static async x() {}\n}', 'No async in core/'],
  ['core/await.ts', 'export const x = await 1;', 'No async in core/'],
  ['core/cycle.ts', "import type { Y } from './cycle2.ts';\nexport type X = Y;", 'noImportCycles'],
  ['core/cycle2.ts', "import type { X } from './cycle.ts';\nexport type Y = X;", 'noImportCycles'],
  [
    'loop/toPrompts.ts',
    "import { eight } from '../prompts/prompt.ts';\nexport const x = eight;",
    'noRestrictedImports',
  ],
  [
    'loop/toTesting.ts',
    "import type { Script } from '../testing/script.ts';\nexport type X = Script;",
    'noRestrictedImports',
  ],
  ['models/toLoop.ts', "import { four } from '../loop/drive.ts';\nexport const x = four;", 'noRestrictedImports'],
  ['models/toDoor.ts', "import type { X } from 'countersign';\nexport type Y = X;", 'noRestrictedImports'],
  [
    'prompts/toTesting.ts',
    "import type { Script } from '../testing/script.ts';\nexport type X = Script;",
    'noRestrictedImports',
  ],
  ['runs/toStores.ts', "import { six } from '../stores/store.ts';\nexport const x = six;", 'noRestrictedImports'],
  ['stores/toLoop.ts', "import { four } from '../loop/drive.ts';\nexport const x = four;", 'noRestrictedImports'],
  ['ui/toStores.ts', "import { six } from '../stores/store.ts';\nexport const x = six;", 'noRestrictedImports'],
  ['ui/toDoor.ts', "import type { X } from 'countersign';\nexport type Y = X;", 'noRestrictedImports'],
  ['loop/floating.ts', 'export async function x() {}\nexport function y() {\n  x();\n}', 'noFloatingPromises'],
  ['loop/every.ts', "export * from './drive.ts';", 'noReExportAll'],
  [
    'text/toCli.ts',
    "import { fail } from '../cli/failure.ts';\nexport const x = fail;",
    'noRestrictedImports',
    'server',
  ],
  ['toCli.ts', "import { fail } from './cli/failure.ts';\nexport const x = fail;", 'noRestrictedImports', 'server'],
];

const scratch = mkdtempSync(join(tmpdir(), 'countersign-boundaries-'));
try {
  prepare();
  const clean = check();
  if (clean.code !== 0) throw new Error(`A clean tree is refused, so a refusal proves nothing:\n${clean.output}`);

  for (const [file, text, , folder] of REFUSED) plant(file, text, folder);
  const lines = check().output.split('\n');
  const accepted = REFUSED.filter(
    ([file, , rule, folder = 'countersign']) =>
      !lines.some((line) => line.includes(`${folder}/src/${file}`) && line.includes(rule)),
  );
  for (const [file, text, rule] of accepted)
    console.error(`Accepted, though ${rule} should refuse it: ${file}\n${text}\n`);
  if (accepted.length > 0) process.exitCode = 1;
  console.log(`${REFUSED.length - accepted.length} of ${REFUSED.length} planted violations were refused`);
} finally {
  rmSync(scratch, { recursive: true });
}

function prepare() {
  const configuration = ['biome.json', '.gitignore', 'package.json', 'tsconfig.base.json', 'scripts/lint'];
  const own = ['package.json', 'tsconfig.json', 'src/core/tsconfig.json'].map((file) => `packages/countersign/${file}`);
  for (const path of [...configuration, ...own]) cpSync(join(root, path), join(scratch, path), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(scratch, 'node_modules'));
  for (const [file, text] of Object.entries(CLEAN)) plant(file, text);
  for (const [file, text] of Object.entries(CLEAN_SERVER)) plant(file, text, 'server');
}

function plant(file, text, folder = 'countersign') {
  const path = join(scratch, 'packages', folder, 'src', file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${text}\n`);
}

/** What tsc and Biome say of the tree: one fault per line, with its file and its rule. */
function check() {
  const [tsc, ...build] = [...tool('typescript', 'tsc'), '-b', 'packages/countersign', '--pretty', 'false'];
  const [biome, ...lint] = [...tool('@biomejs/biome', 'biome'), 'lint', '--reporter=concise', '--max-diagnostics=none'];
  const results = [
    run(tsc, build, { cwd: scratch }),
    run(biome, [...lint, 'packages/countersign/src', 'packages/server/src'], { cwd: scratch }),
  ];
  return {
    code: Math.max(...results.map((result) => result.code)),
    output: results.map((result) => result.output).join('\n'),
  };
}
