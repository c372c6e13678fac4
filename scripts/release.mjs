// Versions and publishing: `npm run release:version` raises the versions that the changesets ask for, and dates the changelog;
// `npm run release:publish` publishes what is not published yet; `npm run sbom` lists what users install, as CycloneDX.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CHANGESET = 'test-packages/node_modules/@changesets/cli/bin.js';
const PUBLISHED = ['countersign', 'react', 'restate', 'server', 'create-countersign'].map((name) => `packages/${name}`);

const [command, folder = process.cwd(), tools = process.cwd()] = process.argv.slice(2);
const changeset = (...args) =>
  execFileSync(process.execPath, [join(tools, CHANGESET), ...args], { cwd: folder, stdio: 'inherit' });

if (command === 'version') {
  const before = versionOf();
  changeset('version');
  const version = versionOf();
  if (version !== before) {
    dateChangelog(version);
    describeServer(version);
    const options = ['install', '--package-lock-only', '--ignore-scripts', '--prefer-offline'];
    execFileSync('npm', options, { cwd: folder, stdio: 'inherit' });
  }
} else if (command === 'publish') changeset('publish');
else if (command === 'sbom') process.stdout.write(bill());
else {
  console.error('Say what to do: node scripts/release.mjs version | publish | sbom');
  process.exitCode = 1;
}

/** What users install, at the versions of the lockfile: the packages without what only their development needs. */
function bill() {
  const copy = mkdtempSync(join(tmpdir(), 'countersign-sbom-'));
  const npm = (...args) => execFileSync('npm', args, { cwd: copy, encoding: 'utf8', maxBuffer: 2 ** 28 });
  try {
    const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
    const isKept = ([path, { link }]) => path.startsWith('node_modules/') && !link;
    lock.packages = Object.fromEntries(Object.entries(lock.packages).filter(isKept));
    writeFileSync(join(copy, 'package-lock.json'), JSON.stringify(lock));
    const { name, version } = manifestOf('.');
    writeFileSync(
      join(copy, 'package.json'),
      JSON.stringify({ name, version, private: true, workspaces: ['packages/*'] }),
    );
    for (const place of PUBLISHED) {
      const {
        devDependencies: _tools,
        peerDependenciesMeta: _optional,
        peerDependencies: _own,
        ...kept
      } = manifestOf(place);
      mkdirSync(join(copy, place), { recursive: true });
      writeFileSync(join(copy, place, 'package.json'), JSON.stringify(kept));
    }
    npm('install', '--package-lock-only', '--ignore-scripts', '--prefer-offline');
    return npm('sbom', '--sbom-format=cyclonedx', '--package-lock-only');
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** All packages have the same version. */
function versionOf() {
  return manifestOf('packages/countersign').version;
}

function manifestOf(place) {
  return JSON.parse(readFileSync(join(folder, place, 'package.json'), 'utf8'));
}

/** The entry of the MCP registry names the version that npm has. */
function describeServer(version) {
  const file = join(folder, 'packages/server/server.json');
  const entry = JSON.parse(readFileSync(file, 'utf8'));
  const packages = entry.packages.map((one) => ({ ...one, version }));
  writeFileSync(file, `${JSON.stringify({ ...entry, version, packages }, null, 2)}\n`);
}

function dateChangelog(version) {
  const file = join(folder, 'CHANGELOG.md');
  const date = new Date().toISOString().slice(0, 10);
  const text = readFileSync(file, 'utf8');
  if (!text.includes('\n## Unreleased\n')) throw new Error('CHANGELOG.md has no section "## Unreleased".');
  writeFileSync(file, text.replace('\n## Unreleased\n', `\n## Unreleased\n\n## ${version} (${date})\n`));
}
