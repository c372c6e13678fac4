// Programs that stand in two places: those of examples/byo as templates of create-countersign and as the tabs of a page, and the
// agents file of the template `server`, which `countersign init` writes.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeOrCompare } from './generated.mjs';

const root = join(import.meta.dirname, '..');
const command = 'npm run programs';
/** Over HTTP, in other languages. */
const SCRIPTS = [
  ['gate/python/gate.py', 'Python'],
  ['gate/shell/deploy.sh', 'Shell'],
];
const FRAMEWORKS = [
  ['ai-sdk', 'AI SDK'],
  ['openai-agents', 'OpenAI Agents'],
  ['langgraph', 'LangGraph'],
  ['mastra', 'Mastra'],
  ['genkit', 'Genkit'],
];

// The AI SDK has a template of its own: `gate`.
for (const [name] of FRAMEWORKS) if (name !== 'ai-sdk') writeTemplate(name);
writePage();
writeAgentsFile();

/** The example with the settings of a project. Links to the repository have no target there. */
function writeTemplate(name) {
  const example = join(root, 'examples/byo', name);
  const template = join(root, 'packages/create-countersign/templates', name);
  const settings = join(root, 'packages/create-countersign/templates/gate');
  for (const file of globSync('*.{ts,md}', { cwd: example }).sort()) {
    const text = readFileSync(join(example, file), 'utf8');
    const alone = file.endsWith('.md') ? text.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1') : text;
    writeOrCompare(join(template, file), alone, command);
  }
  const manifest = JSON.parse(readFileSync(join(example, 'package.json'), 'utf8'));
  const { scripts, dependencies, overrides } = manifest;
  const whole = {
    name: `countersign-${name}`,
    private: true,
    type: 'module',
    engines: { node: '>=22.18' },
    scripts: { ...scripts, typecheck: 'tsc' },
    dependencies,
    devDependencies: { '@types/node': '^24.0.0', typescript: '^7.0.2' },
    ...(overrides && { overrides }),
  };
  writeOrCompare(join(template, 'package.json'), `${JSON.stringify(whole, null, 2)}\n`, command);
  for (const file of ['tsconfig.json', '_gitignore'])
    writeOrCompare(join(template, file), readFileSync(join(settings, file), 'utf8'), command);
}

/** One tab per framework, each the whole program. */
function writePage() {
  const path = join(root, 'docs/guides/bring-your-own-agent.md');
  const [before, rest] = readFileSync(path, 'utf8').split('<!-- programs -->\n');
  const after = rest.slice(rest.indexOf('<!-- end -->'));
  const programs = [...FRAMEWORKS.map(([name, title]) => [`byo/${name}/agent.ts`, title]), ...SCRIPTS];
  const tabs = programs.map(([file, title]) => `<<< ../../examples/${file} [${title}]\n`);
  const links = programs.map(([file, title]) => `[${title}](../../examples/${file})`).join(',\n');
  const text = `::: code-group\n\n${tabs.join('\n')}\n:::\n\nEach is a whole program that our tests run, in a folder with its own install: ${links}.\n`;
  writeOrCompare(path, `${before}<!-- programs -->\n\n${text}\n${after}`, command);
}

function writeAgentsFile() {
  const template = join(root, 'packages/create-countersign/templates/server/agents.ts');
  writeOrCompare(join(root, 'packages/server/templates/agents.ts'), readFileSync(template, 'utf8'), command);
}
