// What the tests need beside npm's packages, found or installed one after the other: Chromium, Python and PostgreSQL.
// Tests run side by side; two installations at once would be in each other's way.
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { quickChromiumPath } from './chromium.mjs';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { startPostgres } from './postgres.mjs';
// biome-ignore lint/correctness/useImportExtensions: the types are beside the script, in a file that is never loaded.
import { pythonPath } from './python.mjs';

console.log(`Chromium: ${quickChromiumPath()}`);
console.log(`Python: ${pythonPath()}`);
const server = await startPostgres();
console.log(`PostgreSQL: answers on port ${server.port}`);
await server.stop();
