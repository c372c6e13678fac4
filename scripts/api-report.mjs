// The public names of each door of each package, with their declarations, as packages/*/api.md.
// A change of the public interface is thus seen in review. Reads the built .d.ts: run `npm run build` first.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SyntaxKind } from 'typescript/unstable/ast';
import { API, SymbolFlags } from 'typescript/unstable/sync';
import { writeOrCompare } from './generated.mjs';

for (const folder of ['countersign', 'server', 'react', 'restate']) {
  const packageDir = join(import.meta.dirname, '..', 'packages', folder);
  writeOrCompare(join(packageDir, 'api.md'), report(packageDir), 'npm run api');
}

function report(packageDir) {
  const manifest = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8'));
  const doors = Object.entries(manifest.exports)
    .filter(([, target]) => target.types !== undefined)
    .map(([door, target]) => ({ name: join(manifest.name, door), file: join(packageDir, target.types) }));
  const scratch = mkdtempSync(join(tmpdir(), 'countersign-api-'));
  const api = new API();
  try {
    const config = join(scratch, 'tsconfig.json');
    const compilerOptions = { module: 'nodenext', target: 'es2024', strict: true, noEmit: true, types: [] };
    writeFileSync(config, JSON.stringify({ compilerOptions, files: doors.map((door) => door.file) }));
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    const title = `# Public interface of \`${manifest.name}\`\n\nMade by \`npm run api\` from the built declarations; do not edit.\n`;
    return [title, ...doors.map((door) => section(project, door))].join('\n');
  } finally {
    api.close();
    rmSync(scratch, { recursive: true });
  }
}

function section(project, door) {
  const file = project.program.getSourceFile(door.file);
  if (!file) throw new Error(`${door.file} does not exist: run \`npm run build\` first.`);
  const symbols = [...project.checker.getExportsOfModule(project.checker.getSymbolAtLocation(file))];
  symbols.sort((left, right) => (left.name < right.name ? -1 : 1));
  const declarations = symbols.map((symbol) => declaration(project, symbol));
  return `## \`${door.name}\`\n\n\`\`\`ts\n${declarations.join('\n\n')}\n\`\`\`\n`;
}

function declaration({ checker, emitter }, symbol) {
  const target = symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const nodes = target.declarations.map((handle) => handle.resolve());
  if (nodes.length === 0) throw new Error(`${symbol.name} leads to no declaration: the build is broken.`);
  const from = nodes[0].getSourceFile().fileName;
  const foreign = from.slice(from.lastIndexOf('/node_modules/')).match(/^\/node_modules\/((?:@[^/]+\/)?[^/]+)/);
  if (foreign) return `export { ${symbol.name} } from '${foreign[1]}';`;
  // A variable is declared inside a statement that may declare others; its name and type are what counts.
  const text = nodes.map((node) =>
    node.kind === SyntaxKind.VariableDeclaration
      ? `export declare const ${emitter.printNode(node)};`
      : emitter.printNode(node),
  );
  const renamed = target.name === symbol.name ? [] : [`export { ${target.name} as ${symbol.name} };`];
  return [...text, ...renamed].join('\n');
}
