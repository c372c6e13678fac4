// docs/reference/errors.md, made from ERROR_CODES so that the list of codes cannot fall behind the code.
import { join } from 'node:path';
import { writeOrCompare } from './generated.mjs';

const root = join(import.meta.dirname, '..');
const { ERROR_CODES } = await import(join(root, 'packages/countersign/src/core/errors.ts'));

const rows = Object.entries(ERROR_CODES).map(([code, advice]) => `| \`${code}\` | ${advice.replaceAll('|', '\\|')} |`);

const text = `# Error codes

Made by \`npm run docs\` from \`packages/countersign/src/core/errors.ts\`; do not edit.

Every error that Countersign throws has a \`code\`, a \`message\` that says what happened to which id, and \`details\` as data.
Codes are stable: match on them, not on the message.

| code | what to do |
|---|---|
${rows.join('\n')}
`;

writeOrCompare(join(root, 'docs/reference/errors.md'), text, 'npm run docs');
